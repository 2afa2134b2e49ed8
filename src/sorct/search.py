"""Search: many starts, in parallel, to the best feasible tree.

Start k has its own random stream and its own solve, so the result is the same for any
number of jobs, and the first starts are the same for any number of starts. Compiled
code holds no lock, so threads suffice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event

from joblib import Parallel, delayed

from sorct.params import Params
from sorct.penalties import Sparsity
from sorct.problem import Problem
from sorct.solution import Solution, Status
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.starts import draw_start, empty_tree

logger = logging.getLogger("sorct")

# Stiffness of the floors on recall when descending from a tree that meets them.
_HOLD = 1e3


@dataclass(frozen=True)
class SearchProgress:
    """What a callback learns after every start."""

    n_done: int
    n_starts: int
    objective: float
    seconds: float


@dataclass(frozen=True)
class StartResult:
    """A start and the solution it led to."""

    kind: str
    solution: Solution
    seconds: float


@dataclass(frozen=True)
class SearchResult:
    """All starts that ran, in order, and the best of them."""

    starts: tuple[StartResult, ...]
    status: Status

    @property
    def best(self) -> Solution:
        """Best feasible solution, or the least infeasible; the first among equals."""
        best = self.starts[0].solution
        for start in self.starts[1:]:
            if start.solution.better_than(best):
                best = start.solution
        return best


@dataclass(frozen=True)
class Multistart:
    """Independent starts, each to its own stationary tree.

    Parameters
    ----------
    solver : AugmentedLagrangian
    n_starts : int
    n_jobs : int or None, as in joblib
    time_limit : float or None, seconds
    """

    solver: AugmentedLagrangian
    n_starts: int = 20
    n_jobs: int | None = None
    time_limit: float | None = None

    def run(
        self,
        problem: Problem,
        seed: int,
        callback: Callable[[SearchProgress], object] | None = None,
    ) -> SearchResult:
        """Run the starts; a callback that returns True stops the search."""
        begun = time.perf_counter()
        stop = Event()

        def keep_going() -> bool:
            late = self.time_limit is not None and (
                time.perf_counter() - begun > self.time_limit
            )
            return not (late or stop.is_set())

        empty = self._solve_empty(problem, keep_going)
        jobs = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")(
            delayed(self._solve_start)(problem, seed, k, empty, keep_going)
            for k in range(self.n_starts)
        )
        done: list[StartResult] = []
        stopped = False
        try:
            for result in jobs:
                if result is None:
                    continue
                done.append(result)
                if callback is not None and not stopped:
                    seconds = time.perf_counter() - begun
                    stopped = self._report(callback, done, seconds)
                    if stopped:
                        stop.set()
        finally:
            stop.set()
        return self._result(tuple(done), stopped)

    def _report(
        self,
        callback: Callable[[SearchProgress], object],
        done: list[StartResult],
        seconds: float,
    ) -> bool:
        best = SearchResult(tuple(done), Status.CONVERGED).best.objective
        return callback(SearchProgress(len(done), self.n_starts, best, seconds)) is True

    def _solve_empty(
        self, problem: Problem, keep_going: Callable[[], bool]
    ) -> tuple[Solution, Solution]:
        """Best tree without features, and where a descent leads from there."""
        params, multiplier = empty_tree(problem)
        fixed = replace(self.solver, max_iter=1)
        empty = fixed.solve(problem, params, multiplier=multiplier)
        below = self.solver.solve(
            problem, params, multiplier=multiplier, keep_going=keep_going
        )
        return empty, below if below.better_than(empty) else empty

    def _solve_start(
        self,
        problem: Problem,
        seed: int,
        k: int,
        empty: tuple[Solution, Solution],
        keep_going: Callable[[], bool],
    ) -> StartResult | None:
        """Solve start k; None if the search was over before it began (never start 0).

        A start that ends worse than the tree without features begins again from that
        tree: saturated thresholds hide it from a descent that begins elsewhere.
        """
        if k > 0 and not keep_going():
            return None
        begun = time.perf_counter()
        start = draw_start(problem, seed, k)
        solution = self.solver.solve(problem, start.params, keep_going=keep_going)
        if not solution.feasible:
            solution = self._restore(problem, start.params, solution, keep_going)
        if empty[0].better_than(solution):
            solution = empty[1]
        n_evaluations = start.n_evaluations + solution.n_evaluations
        solution = replace(solution, n_evaluations=n_evaluations)
        seconds = time.perf_counter() - begun
        logger.debug(
            "start %d: objective %.6g in %.3f s", k, solution.objective, seconds
        )
        return StartResult(start.kind, solution, seconds)

    def _restore(
        self,
        problem: Problem,
        params: Params,
        failed: Solution,
        keep_going: Callable[[], bool],
    ) -> Solution:
        """Meet the floors without penalties first, then hold on to them stiffly.

        Strong penalties can empty a tree before the floors on recall have their say.
        """
        free = replace(problem, penalty=Sparsity())
        found = self.solver.solve(free, params, keep_going=keep_going)
        solution = self.solver.solve(
            problem, found.params, stiffness=_HOLD, keep_going=keep_going
        )
        spent = failed.n_evaluations + found.n_evaluations + solution.n_evaluations
        best = solution if solution.better_than(failed) else failed
        return replace(best, n_evaluations=spent)

    def _result(self, done: tuple[StartResult, ...], stopped: bool) -> SearchResult:
        best = SearchResult(done, Status.CONVERGED).best
        cut_short = len(done) < self.n_starts or any(
            start.solution.status is Status.TIME_LIMIT for start in done
        )
        if stopped:
            status = Status.STOPPED
        elif cut_short:
            status = Status.TIME_LIMIT
        else:
            status = best.status
        return SearchResult(done, status)
