"""Multistart: independent starts, each to its own stationary tree.

Start k has its own random stream and its own solve, so the result is the same for any
number of jobs, and the first starts are the same for any number of starts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from sorct._typing import IntArray
from sorct.problem.problem import Problem
from sorct.search.log import Descent, SearchCallback, SearchLog, SearchResult
from sorct.search.polish import Polisher
from sorct.search.starts import Start, draw_start
from sorct.search.workers import Workers, deadline
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import never
from sorct.solvers.solution import Solution, Status


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
        self, problem: Problem, seed: int, callback: SearchCallback | None = None
    ) -> SearchResult:
        """Run the starts; a callback that returns True stops the search."""
        unit = problem.trivial_cost
        log, stop = SearchLog(callback, unit, self.n_starts), never()
        with deadline(self.time_limit, stop), Workers(self.n_jobs, stop) as workers:
            polisher = Polisher.of(problem, self.solver, stop)
            calls = (
                partial(self._start, polisher, seed, k, stop)
                for k in range(self.n_starts)
            )
            for descent in workers.run(calls):
                if descent is not None:
                    log.add(descent)
                if descent is None or log.stopped:
                    break
        assert log.best is not None  # start 0 always gives a tree
        best, status = log.best, self._status(log, log.best)
        if not log.stopped:
            late = status is Status.TIME_LIMIT
            log.ended = "time limit" if late else "as many as asked"
        return log.result(best, status, best.objective)

    def _start(
        self, polisher: Polisher, seed: int, k: int, stop: IntArray
    ) -> Descent | None:
        """Solve start k; None, but never for start 0, if the search was over before."""
        begun = time.perf_counter()
        if stop[0] != 0:
            return None if k > 0 else too_late(polisher, k, begun)
        start = draw_start(polisher.problem, seed, k, stop)
        return finish(polisher, start, k, stop, begun)

    def _status(self, log: SearchLog, best: Solution) -> Status:
        if log.stopped:
            return Status.STOPPED
        if len(log.starts) < self.n_starts or any(
            start.status is Status.TIME_LIMIT for start in log.starts
        ):
            return Status.TIME_LIMIT
        return best.status


def too_late(polisher: Polisher, run: int, begun: float) -> Descent:
    """The tree without features, where time is up before there is another."""
    solution = replace(polisher.empty, status=Status.TIME_LIMIT)
    return Descent.of("empty", run, solution, time.perf_counter() - begun)


def finish(
    polisher: Polisher,
    start: Start,
    run: int,
    stop: IntArray,
    begun: float,
    bar: float | None = None,
) -> Descent:
    """Descend from a start and account for what making it took.

    A move comes with a bar, the objective it should beat, and needs no help where it
    ends poorly.
    """
    if bar is None:
        solution = polisher.polish(start.params, stop)
    else:
        solution = polisher.descend(start.params, stop, bar)
    spent = start.n_evaluations + solution.n_evaluations
    solution = replace(solution, n_evaluations=spent)
    return Descent.of(start.kind, run, solution, time.perf_counter() - begun)
