"""Search: many starts, in parallel, to the best feasible tree.

Start k has its own random stream and its own solve, so the result is the same for any
number of jobs, and the first starts are the same for any number of starts. Compiled
code holds no lock, so threads suffice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from threading import TIMEOUT_MAX, Lock, Timer

import numpy as np
from joblib import effective_n_jobs

from sorct._typing import IntArray
from sorct.params import Params
from sorct.penalties import Sparsity
from sorct.problem import Problem
from sorct.solution import Solution, Status
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.starts import draw_start, empty_tree

logger = logging.getLogger("sorct")

# Stiffness of the floors on recall when descending from a tree that meets them.
_HOLD = 1e3
# Shares of the penalties through which a start is led that failed with all at once.
_SHARES = (0.0, 2.0**-6, 2.0**-4, 2.0**-2, 1.0)
_ROUGH = AugmentedLagrangian(tol=1e-3, max_iter=100)


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
        """Run the starts; a callback that returns True stops the search.

        Starts run in threads of their own even when there is only one, so that the
        calling thread can be interrupted and compiled code can be told to stop.
        """
        begun = time.perf_counter()
        stop = np.zeros(1, dtype=np.int64)
        empty = self._empty(problem)
        done: list[StartResult] = []
        stopped = False
        solve = partial(self._solve_start, problem, seed, empty=empty, stop=stop)
        with _deadline(self.time_limit, stop), self._threads() as pool:
            try:
                for result in self._in_order(pool, solve):
                    done.append(result)
                    seconds = time.perf_counter() - begun
                    stopped = self._report(callback, done, seconds)
                    if stopped:
                        break
            finally:
                # Whatever ended the loop, nothing may go on without us.
                stop[0] = 1
        return self._result(tuple(done), stopped)

    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(effective_n_jobs(self.n_jobs))

    def _in_order(
        self, pool: ThreadPoolExecutor, solve: Callable[[int], StartResult | None]
    ) -> Iterator[StartResult]:
        """Results of the starts, 0 first, until one says that the search is over.

        Every thread is set to work once and then takes the next start by itself: an
        interrupt while a pool takes a task would leave the pool locked.
        """
        numbers, lock = iter(range(self.n_starts)), Lock()
        finished: SimpleQueue[tuple[int, StartResult | None | Exception]]
        finished = SimpleQueue()

        def work() -> None:
            result: StartResult | None | Exception = None
            while True:
                with lock:
                    k = next(numbers, None)
                if k is None:
                    return
                try:
                    result = solve(k)
                except Exception as error:
                    result = error
                finished.put((k, result))
                if not isinstance(result, StartResult):
                    return

        for _ in range(effective_n_jobs(self.n_jobs)):
            pool.submit(work)
        early: dict[int, StartResult | None | Exception] = {}
        for k in range(self.n_starts):
            while k not in early:
                number, result = finished.get()
                early[number] = result
            result = early.pop(k)
            if isinstance(result, Exception):
                raise result
            if result is None:
                return
            yield result

    def _report(
        self,
        callback: Callable[[SearchProgress], object] | None,
        done: list[StartResult],
        seconds: float,
    ) -> bool:
        if callback is None:
            return False
        best = SearchResult(tuple(done), Status.CONVERGED).best.objective
        progress = SearchProgress(len(done), self.n_starts, best, seconds)
        return bool(callback(progress))

    def _empty(self, problem: Problem) -> Solution:
        """Best tree without features, not moved."""
        params, multiplier = empty_tree(problem)
        return replace(self.solver, max_iter=1).solve(
            problem, params, multiplier=multiplier
        )

    def _solve_start(
        self, problem: Problem, seed: int, k: int, *, empty: Solution, stop: IntArray
    ) -> StartResult | None:
        """Solve start k; None if the search was over before it began (never start 0).

        A start that misses its floors or ends no better than the tree without features
        descends once more, first without penalties. If that tree is still the better
        one, the start continues from there: saturated thresholds hide it from a descent
        that begins elsewhere.
        """
        if k > 0 and stop[0] != 0:
            return None
        begun = time.perf_counter()
        start = draw_start(problem, seed, k, stop)
        solution = self.solver.solve(problem, start.params, stop=stop)
        spent = start.n_evaluations + solution.n_evaluations
        if not solution.feasible or not solution.better_than(empty):
            restored = self._restore(problem, start.params, stop)
            spent += restored.n_evaluations
            solution = restored if restored.better_than(solution) else solution
        if empty.better_than(solution):
            below = self._descend_from_empty(problem, stop)
            spent += below.n_evaluations
            solution = below if below.better_than(empty) else empty
        solution = replace(solution, n_evaluations=spent)
        seconds = time.perf_counter() - begun
        logger.debug("start %d: %.6g after %.3f s", k, solution.objective, seconds)
        return StartResult(start.kind, solution, seconds)

    def _descend_from_empty(self, problem: Problem, stop: IntArray) -> Solution:
        params, multiplier = empty_tree(problem)
        return self.solver.solve(problem, params, multiplier=multiplier, stop=stop)

    def _restore(self, problem: Problem, params: Params, stop: IntArray) -> Solution:
        """Descend without penalties first, then with more and more of them.

        Strong penalties can empty a tree before the data or the floors on recall have
        their say. Floors that are met are held on to stiffly.
        """
        spent, stiffness = 0, 10.0
        for share in _SHARES:
            local, spread = problem.penalty.alpha_local, problem.penalty.alpha_global
            eased = replace(problem, penalty=Sparsity(share * local, share * spread))
            solver = self.solver if share == 1.0 else _ROUGH
            solution = solver.solve(eased, params, stiffness=stiffness, stop=stop)
            params, stiffness = solution.params, _HOLD
            spent += solution.n_evaluations
        return replace(solution, n_evaluations=spent)

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


@contextmanager
def _deadline(seconds: float | None, stop: IntArray) -> Iterator[None]:
    """Set ``stop`` when the time is over."""
    if seconds is None:
        yield
        return
    timer = Timer(min(seconds, TIMEOUT_MAX), stop.fill, args=(1,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
