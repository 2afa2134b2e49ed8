"""Multistart: independent starts, each to its own stationary tree.

Start k has its own random stream and its own solve, so the result is the same for any
number of jobs, and the first starts are the same for any number of starts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from sorct._typing import IntArray
from sorct.data.parts import OutOfTimeError, PartedSet
from sorct.problem.evaluation import never
from sorct.problem.problem import Problem
from sorct.search.log import (
    NO_RUN,
    Logged,
    SearchCallback,
    SearchLog,
    SearchMemory,
    SearchResult,
)
from sorct.search.polish import Polisher
from sorct.search.starts import Start, draw_start
from sorct.search.workers import Workers, deadline
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution, Status

# Share of the time limit for starts on some of the rows, the rest being for all rows.
_SEARCH_SHARE = 0.75


@dataclass(frozen=True)
class Multistart:
    """Independent starts, each to its own stationary tree.

    Parameters
    ----------
    solver : AugmentedLagrangian
    n_starts : int
    n_jobs : int or None, as in joblib
    time_limit : float or None, seconds
    memory : SearchMemory or None
        Where starts on some of the rows are kept before the best is finished on all.
    """

    solver: AugmentedLagrangian
    n_starts: int = 20
    n_jobs: int | None = None
    time_limit: float | None = None
    memory: SearchMemory | None = None

    def run(
        self, problem: Problem, seed: int, callback: SearchCallback | None = None
    ) -> SearchResult:
        """Run the starts; a callback that returns True stops the search."""
        unit = problem.trivial_cost
        log, stop = SearchLog(callback, unit, self.n_starts), never()
        if isinstance(problem.data, PartedSet):
            return self._run_on_some(problem, seed, log, stop)
        with deadline(self.time_limit, stop), Workers(self.n_jobs, stop) as workers:
            self._make_starts(problem, seed, log, stop, workers)
        assert log.best is not None  # start 0 always gives a tree
        best, status = log.best, self._status(log, log.best)
        if not log.stopped:
            log.ended = self._why(status)
        return log.result(best, status, best.objective)

    def _run_on_some(
        self, problem: Problem, seed: int, log: SearchLog, stop: IntArray
    ) -> SearchResult:
        """Make the starts on some of the rows, and finish the best tree on all."""
        hard, limit, memory = never(), self.time_limit, self.memory
        soft_limit = None if limit is None else _SEARCH_SHARE * limit
        with (
            deadline(limit, hard),
            deadline(soft_limit, stop),
            Workers(self.n_jobs, stop, hard) as workers,
        ):
            known = None if memory is None else memory.find_search()
            if known is None:
                self._make_starts(problem.subsampled, seed, log, stop, workers)
            else:
                log.go_on(known)
            assert log.best is not None  # start 0 always gives a tree
            some = log.best
            status = self._status(log, some)
            log.ended = log.ended if log.stopped else self._why(status)
            if memory is not None and known is None:
                memory.keep_search(log.searched(some))
            best = finished_on_all(problem, some, self.solver, workers, log, hard)
        if status is some.status:
            status = best.status
        return log.result(best, status, some.objective)

    @staticmethod
    def _why(status: Status) -> str:
        """Why there were no more starts."""
        return "time limit" if status is Status.TIME_LIMIT else "as many as asked"

    def _make_starts(
        self,
        problem: Problem,
        seed: int,
        log: SearchLog,
        stop: IntArray,
        workers: Workers,
    ) -> None:
        # Within a thread of the workers, compiled code needs none of its own.
        prepare = partial(Polisher.of, problem, self.solver, stop)
        polisher = next(workers.run([prepare]))
        calls = (
            partial(self._start, polisher, seed, k, stop) for k in range(self.n_starts)
        )
        for descent in workers.run(calls):
            if descent is not None:
                log.add(descent)
            if descent is None or log.stopped:
                break

    def _start(
        self, polisher: Polisher, seed: int, k: int, stop: IntArray
    ) -> Logged | None:
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


def too_late(polisher: Polisher, run: int, begun: float) -> Logged:
    """The tree without features, where time is up before there is another."""
    solution = replace(polisher.empty, status=Status.TIME_LIMIT)
    return Logged.of("empty", run, solution, time.perf_counter() - begun)


def finish(
    polisher: Polisher,
    start: Start,
    run: int,
    stop: IntArray,
    begun: float,
    bar: float | None = None,
) -> Logged:
    """Descend from a start and account for what making it took.

    A move comes with a bar, the objective that it should beat: if it ends above, it is
    dropped instead of polished.
    """
    if bar is None:
        solution = polisher.polish(start.params, stop)
    else:
        solution = polisher.descend(start.params, stop, bar)
    spent = start.n_evaluations + solution.n_evaluations
    solution = replace(solution, n_evaluations=spent)
    return Logged.of(start.kind, run, solution, time.perf_counter() - begun)


def finished_on_all(
    problem: Problem,
    solution: Solution,
    solver: AugmentedLagrangian,
    workers: Workers,
    log: SearchLog,
    stop: IntArray,
) -> Solution:
    """Solve to the end on all rows, from a tree that was found on some of them.

    Rows come in parts: few passes, all cores. Where time is up before the first pass
    has ended, the tree stays as it was found.
    """
    if not isinstance(problem.data, PartedSet):
        problem = replace(problem, data=PartedSet.of_samples(problem.data))
    start = Start("polished", solution.params, 0)

    def polish() -> Logged:
        begun = time.perf_counter()
        try:
            polisher = Polisher.of(problem, solver, stop)
            return finish(polisher, start, NO_RUN, stop, begun)
        except OutOfTimeError:
            late = replace(solution, status=Status.TIME_LIMIT)
            seconds = time.perf_counter() - begun
            return Logged.of("polished", NO_RUN, late, seconds)

    (found,) = workers.run([polish])
    log.add(found)
    return found.solution
