"""Iterated search: chains that improve by moves, run anew until runs agree.

A run has a few chains that begin with starts of different kinds; then every round each
chain tries one move of its incumbent and keeps it if it is better. A run ends when its
best tree has not improved for a while. Runs know nothing of each other, so a value that
two of them reach is unlikely to be beaten by a third: that ends the search. The chains
of a round see each other as they were before it, so the result is the same for any
number of jobs.

Where there are very many rows, a search looks at some of them, and its chains at fewer
still: a number of rows that grows with the number of columns. At the end of a run its
best tree is solved to the end on all rows of the search, and it is compared with the
trees of other runs on these rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import effective_n_jobs

from sorct._typing import IntArray
from sorct.problem.evaluation import never
from sorct.problem.problem import Problem
from sorct.search.log import (
    Logged,
    SearchCallback,
    SearchLog,
    SearchMemory,
    SearchResult,
    best_of,
    logger,
)
from sorct.search.moves import Chain, move
from sorct.search.multistart import finish, finished_on_all, too_late
from sorct.search.polish import Polisher
from sorct.search.starts import Start, make_start
from sorct.search.work import (
    MAX_WORK,
    WIDE,
    bounded,
    is_wide,
    work_of,
    work_per_second,
)
from sorct.search.workers import Workers, deadline
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution, Status

_CHAINS = 4
_DESCENT = AugmentedLagrangian(tol=1e-4, max_iter=200)
# A run ends after so many descents without a better tree, plus so many per cut (or,
# with one cut, after so many). A descent that leads back to the best tree counts twice:
# it is a sign that there is little left to find.
_IDLE, _IDLE_PER_CUT, _IDLE_ONE_CUT = 33, 1, 120
# Less than this is no improvement, relatively.
_BETTER = 1e-5
# The search ends when so many runs agree. With one cut, where chains cannot exchange
# parts, so many chains must agree as well.
_AGREE, _AGREE_CHAINS = 2, 6
# At most so many runs, of which none begins after ``MAX_WORK``.
_MAX_RUNS = 16
# Most that a run does; where columns or cuts are very many, it is ``MAX_WORK``.
_MAX_WORK_OF_RUN = 4e11
# Rows that chains look at where there are very many: so many per column,
_ROWS_PER_COLUMN = 64
# but not more than so many cells,
_MOST_CELLS = 2**24
# and at least so many. With one cut it is all rows of the search, unless they have more
# cells.
_FEWEST_ROWS = 4096
# Evaluations of a descent, about.
_USUAL_EVALUATIONS = 150
# Descents on more rows than chains look at.
_LAST_DESCENTS = 8
# A search that may take so many seconds says so beforehand.
_LONG = 30.0
_LATE = "time limit"
_WORKED = "work limit"
# Share of the time limit for searching, the rest being for the polish.
_SEARCH_SHARE = 0.93
# The same where the polish is on many more rows than the search.
_SEARCH_SHARE_MANY_ROWS = 0.75


@dataclass(frozen=True)
class IteratedSearch:
    """Search until independent runs agree on the best tree.

    Parameters
    ----------
    solver : AugmentedLagrangian
        For the polish; chains use a rougher one.
    n_jobs : int or None, as in joblib; more than the four chains do not help
        With very many rows, None means all cores, as for their finish.
    time_limit : float or None, seconds
    memory : SearchMemory or None
        Where a search on some of the rows is kept before it is finished on all.
    """

    solver: AugmentedLagrangian
    n_jobs: int | None = None
    time_limit: float | None = None
    memory: SearchMemory | None = None

    def run(
        self, problem: Problem, seed: int, callback: SearchCallback | None = None
    ) -> SearchResult:
        """Search; a callback that returns True stops with the best tree so far."""
        begun, limit = time.perf_counter(), self.time_limit
        log = SearchLog(callback, unit=problem.trivial_cost)
        subsampled = problem.subsampled
        many = subsampled is not problem
        wide = problem.data.n_columns > WIDE
        log.rough = many and (problem.topology.depth > 1 or wide)
        rough = subsampled.fewer(_few(subsampled)) if log.rough else subsampled
        n_jobs = effective_n_jobs(-1 if many and self.n_jobs is None else self.n_jobs)
        soft, hard = never(), never()
        if limit is not None:
            # Drawing very many rows, or wide ones, takes its time.
            limit = max(limit - (time.perf_counter() - begun), 0.0)
        share = _SEARCH_SHARE_MANY_ROWS if many else _SEARCH_SHARE
        with (
            deadline(limit, hard),
            deadline(None if limit is None else share * limit, soft),
            Workers(min(n_jobs, _CHAINS), soft, hard) as workers,
        ):
            search = _Search(
                subsampled, rough, self.solver, seed, log, workers, soft, hard
            )
            known = None if self.memory is None else self.memory.find_search()
            best = search.in_time(limit) if known is None else log.go_on(known)
            searched = best.objective
            if self.memory is not None and known is None:
                self.memory.keep_search(log.searched(best))
            if many:
                best = finished_on_all(problem, best, self.solver, workers, log, hard)
        status = best.status
        if log.stopped:
            status = Status.STOPPED
        elif log.ended == _LATE:
            status = Status.TIME_LIMIT
        return log.result(best, status, searched)


@dataclass(frozen=True)
class _Search:
    """A search under way; ``soft`` ends the search, ``hard`` also the polish.

    ``rough`` is the problem that chains look at: the same, or on fewer rows.
    """

    problem: Problem
    rough: Problem
    solver: AugmentedLagrangian
    seed: int
    log: SearchLog
    workers: Workers
    soft: IntArray
    hard: IntArray

    def in_time(self, limit: float | None) -> Solution:
        """Best of as many runs as it takes, or as there is time for.

        What is under way when the time is over is still evaluated, and the tree is made
        ready: with many classes that takes about as long as the empty tree does here.
        """
        self._say_how_long()
        begun = time.perf_counter()
        polisher = Polisher.of(self.rough, _DESCENT, self.soft)
        took = time.perf_counter() - begun
        left = None if limit is None else limit - 2.0 * took
        with deadline(left, self.soft), deadline(left, self.hard):
            return self._until_agreed(polisher)

    def _until_agreed(self, polisher: Polisher) -> Solution:
        """Best of as many runs as it takes."""
        if self.problem.is_convex:
            self.log.ended = "convex: no tree is better"
            return self.finish(self.problem, polisher.empty, 0)
        chains: list[Solution] = []
        ends: list[Solution] = []
        for run in range(_MAX_RUNS):
            found = self._run(polisher, run)
            in_time = self.soft[0] == 0
            chains += found
            ends.append(self._polish(best_of(found), run))
            best = best_of(ends)
            ended = self._ended(best, ends, chains, in_time=in_time)
            if ended is not None or self.log.stopped:
                break
        if not self.log.stopped:
            self.log.ended = ended or "run limit"
        return best

    def _ended(
        self,
        best: Solution,
        ends: list[Solution],
        chains: list[Solution],
        *,
        in_time: bool,
    ) -> str | None:
        """Why no further run should begin; None if one should."""
        if self._perfect(best):
            return "nothing left to gain"
        if not in_time:
            return _LATE
        if self._agreed(best, ends, chains):
            return "runs agree"
        if len(ends) > 1 and not best.feasible:
            return "no run met the floors"
        return _WORKED if self._work > MAX_WORK else None

    def _say_how_long(self) -> None:
        """Tell in the log what a long search will take, about."""
        n_descents = _AGREE * _patience(self.problem)
        work = min(n_descents * _USUAL_EVALUATIONS * self._size, self._most_work)
        speed = work_per_second(self.problem)
        seconds = work / speed / self.workers.n_threads
        if self.rough is not self.problem:
            # Runs end on more rows than their chains look at, and so does the finish.
            last = _LAST_DESCENTS * _USUAL_EVALUATIONS * work_of(self.problem)
            seconds += last / speed
        if seconds > _LONG and not self.problem.is_convex:
            logger.info(
                "searching %d rows x %d columns x %d cuts may take %.0f s or more; "
                "time_limit ends it sooner",
                self.rough.data.samples.n_rows, self.rough.data.n_columns,
                self.problem.topology.n_branches, seconds,
            )  # fmt: skip

    @property
    def _most_work(self) -> float:
        """Work of a run, at most."""
        return MAX_WORK if is_wide(self.problem) else _MAX_WORK_OF_RUN

    @property
    def _size(self) -> float:
        """Work of an evaluation in a chain."""
        return work_of(self.rough)

    @property
    def _work(self) -> float:
        """Work done so far: rows x columns x cuts x evaluations."""
        return self._size * self.log.n_evaluations

    def _agreed(
        self, best: Solution, ends: list[Solution], chains: list[Solution]
    ) -> bool:
        """Whether more runs are unlikely to find better."""
        needed = _AGREE_CHAINS if self.problem.topology.depth == 1 else 0
        return (
            self._n_same(ends, best) >= _AGREE and self._n_same(chains, best) >= needed
        )

    def _perfect(self, best: Solution) -> bool:
        """Whether there is nothing left to gain: no objective is below 0."""
        return best.feasible and self.log.same(best.objective, 0.0)

    def _n_same(self, solutions: list[Solution], best: Solution) -> int:
        """How many are as good as the best."""
        return sum(
            solution.feasible and self.log.same(solution.objective, best.objective)
            for solution in solutions
        )

    def _run(self, polisher: Polisher, run: int) -> list[Solution]:
        """One run: rounds of one descent per chain until they stop paying."""
        chains: list[Solution] = []
        best: Solution | None = None
        n_idle, n_rounds, patience = 0, 0, _patience(self.problem)
        most = self._work + self._most_work
        while best is None or (n_idle < patience and not self.log.stopped):
            found = list(self._round(polisher, chains, run, n_rounds))
            chains = _kept(chains, found)
            n_rounds, leader = n_rounds + 1, best_of(chains)
            if best is None or _clearly_better(leader, best):
                best, n_idle = leader, 0
            else:
                n_idle += len(found) + self._n_same(found, best)
            if self.soft[0] != 0 or self._perfect(best) or self._work > most:
                break
        return chains

    def _round(
        self, polisher: Polisher, chains: list[Solution], run: int, n_rounds: int
    ) -> Iterator[Solution]:
        """One descent per chain, shared out among the threads."""
        key = (self.seed, run, n_rounds)
        calls = [
            partial(_steps, polisher, chains, key, part, self.soft)
            for part in np.array_split(np.arange(_CHAINS), self.workers.n_threads)
        ]
        for part in self.workers.run(calls):
            for found in part:
                self.log.add(found)
                yield found.solution
            if self.log.stopped:
                self.soft[0] = 1

    def finish(self, problem: Problem, solution: Solution, run: int) -> Solution:
        """Solve to the end from a tree that was found roughly, or on fewer rows."""
        start = Start("polished", solution.params, 0)

        def polish() -> Logged:
            begun = time.perf_counter()
            polisher = Polisher.of(problem, bounded(self.solver, problem), self.hard)
            return finish(polisher, start, run, self.hard, begun)

        (found,) = self.workers.run([polish])
        self.log.add(found)
        return found.solution

    def _polish(self, solution: Solution, run: int) -> Solution:
        """Solve to the end; if that should lead higher, keep what there was."""
        if self.hard[0] != 0:
            return solution
        polished = self.finish(self.problem, solution, run)
        if self.rough is not self.problem:
            return polished
        # A rough tree may gain a little by missing its floors a little.
        if self._n_same([polished], solution) or polished.better_than(solution):
            return polished
        if solution.feasible and solution.residual > self.solver.tol:
            return replace(solution, status=Status.MAX_ITER)
        return solution


def _steps(
    polisher: Polisher,
    chains: list[Solution],
    round_key: tuple[int, int, int],
    part: IntArray,
    stop: IntArray,
) -> list[Logged]:
    """One descent of every chain in a part; none when the search is over.

    The first chain of a run always has a tree, be it the one without features.
    """
    return [
        _step(polisher, chains, (*round_key, int(c)), stop)
        for c in part
        if stop[0] == 0 or (c == 0 and not chains)
    ]


def _step(
    polisher: Polisher,
    chains: list[Solution],
    key: tuple[int, int, int, int],
    stop: IntArray,
) -> Logged:
    """One descent of one chain."""
    seed, run, n_rounds, c = key
    begun = time.perf_counter()
    sequence = np.random.SeedSequence(seed, spawn_key=(run, n_rounds, c))
    rng = np.random.default_rng(sequence)
    if not chains:
        if stop[0] != 0:
            return too_late(polisher, run, begun)
        kinds = _start_kinds(polisher.problem)
        start = make_start(polisher.problem, kinds[c], run + c, rng, stop)
        return finish(polisher, start, run, stop, begun)
    # Deep trees have so many parts that all chains work on the best one.
    deep = polisher.problem.topology.is_deep
    incumbent = best_of(chains) if deep else chains[c]
    others = tuple(chain for chain in chains if chain is not incumbent)
    start = move(polisher, Chain(incumbent, others), rng, stop)
    bar = incumbent.objective if incumbent.feasible else np.inf
    return finish(polisher, start, run, stop, begun, bar)


def _few(problem: Problem) -> int:
    """Rows that chains look at where there are very many."""
    most = _MOST_CELLS // problem.data.samples.width
    return max(min(_ROWS_PER_COLUMN * problem.data.n_columns, most), _FEWEST_ROWS)


def _patience(problem: Problem) -> int:
    """Descents without a better tree that end a run."""
    if problem.topology.depth == 1:
        return _IDLE_ONE_CUT
    return _IDLE + _IDLE_PER_CUT * problem.topology.n_branches


def _start_kinds(problem: Problem) -> tuple[str, ...]:
    """Kinds of the chains' starts; with one cut, growing it is annealing it."""
    if problem.topology.depth == 1:
        return ("plain", "annealed", "plain", "plain")
    if problem.topology.depth == 2:
        return ("plain", "annealed", "grown", "node-wise")
    return ("annealed", "annealed", "grown", "node-wise")


def _kept(chains: list[Solution], found: list[Solution]) -> list[Solution]:
    """Incumbents after a round: every chain keeps the better of old and new."""
    kept = [
        new if _clearly_better(new, old) else old
        for old, new in zip(chains, found, strict=False)
    ]
    return kept + chains[len(found) :] if chains else found


def _clearly_better(new: Solution, old: Solution) -> bool:
    if new.feasible and old.feasible:
        return new.objective < old.objective - _BETTER * abs(old.objective)
    return new.better_than(old)
