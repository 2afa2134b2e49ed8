"""The log of a search: what every descent led to, the best tree, and a summary."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from sorct.solvers.solution import FEASIBLE, Solution, Status

logger = logging.getLogger("sorct")

# Objectives that differ by less than this, relatively or as a share of the cost of the
# cheapest class, are the same.
_SAME, _SAME_OF_TRIVIAL = 1e-3, 1e-4
# In place of the number of a run: a search on some of the rows is finished by a descent
# on all rows, which belongs to no run.
NO_RUN = -1


@dataclass(frozen=True)
class SearchProgress:
    """What a callback learns after every descent; n_starts is None if not fixed."""

    n_done: int
    n_starts: int | None
    objective: float
    seconds: float


SearchCallback = Callable[[SearchProgress], object]


@dataclass(frozen=True)
class StartResult:
    """What a start led to, and in which independent run that was.

    The tree itself is not kept: a search has too many of them.
    """

    kind: str
    run: int
    first: float
    objective: float
    violation: float
    residual: float
    status: Status
    n_evaluations: int
    seconds: float

    @property
    def feasible(self) -> bool:
        """Whether every floor is met."""
        return self.violation <= FEASIBLE


class Logged(NamedTuple):
    """A solution, and the line of the log that tells how it was found."""

    result: StartResult
    solution: Solution

    @classmethod
    def of(cls, kind: str, run: int, solution: Solution, seconds: float) -> Logged:
        """Write the line of a solution."""
        result = StartResult(
            kind,
            run,
            solution.first,
            solution.objective,
            solution.violation,
            solution.residual,
            solution.status,
            solution.n_evaluations,
            seconds,
        )
        logger.debug("%s: %.6g after %.3f s", kind, solution.objective, seconds)
        return cls(result, solution)


@dataclass(frozen=True)
class SearchSummary:
    """How sure one can be that there is no better tree.

    Attributes
    ----------
    ended : str
        Why the search ended.
    n_descents : int
        Starts and moves that were followed downhill, most of them to a loose tolerance.
    n_runs : int
        Independent runs among them; every start is one if ``n_starts`` is a number.
    n_refound : int
        Runs that ended at the best objective (within 0.1 %).
    n_optima : int
        Different objectives that the descents ended at (0.1 % apart).
    share_near_best : float
        Share of the descents that ended within 1 % of the best.
    n_evaluations : int
    seconds : float
    """

    ended: str
    n_descents: int
    n_runs: int
    n_refound: int
    n_optima: int
    share_near_best: float
    n_evaluations: int
    seconds: float

    def __str__(self) -> str:
        runs = "run" if self.n_runs == 1 else "runs"
        return (
            f"{self.n_refound} of {self.n_runs} independent {runs} ended at this "
            f"objective; {descents_text(self.n_descents)} ({self.ended})"
        )


def descents_text(n: int) -> str:
    """So many descents, in words."""
    return f"{n} descent{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class SearchResult:
    """All descents in order, the best tree, and a summary."""

    starts: tuple[StartResult, ...]
    best: Solution
    status: Status
    summary: SearchSummary


@dataclass(frozen=True)
class Searched:
    """What a search on some rows has found, before it is finished on all."""

    best: Solution
    starts: tuple[StartResult, ...]
    ended: str


class SearchMemory(Protocol):
    """Where a search is kept, so that it need not be made twice."""

    def find_search(self) -> Searched | None:
        """The search, if it was made before."""

    def keep_search(self, searched: Searched) -> None:
        """Keep a search that has ended."""


def best_of(solutions: list[Solution]) -> Solution:
    """Best feasible solution, or the least infeasible; the first among equals."""
    best = solutions[0]
    for solution in solutions[1:]:
        if solution.better_than(best):
            best = solution
    return best


@dataclass
class SearchLog:
    """What has happened in a search so far.

    ``unit`` is the cost of the cheapest class, the scale on which objectives are equal.
    In a ``rough`` search, most descents are made on fewer rows than the last one of
    every run: only that one tells whether a run has found the best tree again.
    """

    callback: SearchCallback | None
    unit: float
    n_starts: int | None = None
    begun: float = field(default_factory=time.perf_counter)
    starts: list[StartResult] = field(default_factory=list)
    best: Solution | None = None
    n_evaluations: int = 0
    stopped: bool = False
    ended: str = "stopped by callback"
    rough: bool = False

    def add(self, logged: Logged) -> None:
        """Take note of a descent; ask the callback whether to go on."""
        self.starts.append(logged.result)
        self.n_evaluations += logged.result.n_evaluations
        if self.best is None or logged.solution.better_than(self.best):
            self.best = logged.solution
        if self.callback is not None and not self.stopped:
            progress = SearchProgress(
                len(self.starts), self.n_starts, self.best.objective, self.seconds
            )
            self.stopped = bool(self.callback(progress))

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self.begun

    def same(self, one: float, other: float) -> bool:
        """Whether two objectives count as one optimum."""
        slack = _SAME * max(abs(one), abs(other)) + _SAME_OF_TRIVIAL * self.unit
        return abs(one - other) <= slack

    def searched(self, best: Solution) -> Searched:
        """What was found so far."""
        return Searched(best, tuple(self.starts), self.ended)

    def go_on(self, searched: Searched) -> Solution:
        """Begin where a search has ended."""
        self.starts[:] = searched.starts
        self.best, self.ended = searched.best, searched.ended
        return searched.best

    def result(self, best: Solution, status: Status, searched: float) -> SearchResult:
        """Close the log with a tree; searched is its objective during the search."""
        summary = self._summary(searched)
        return SearchResult(tuple(self.starts), best, status, summary)

    def _summary(self, best: float) -> SearchSummary:
        """Count optima, and how often the best was found."""
        starts = [s for s in self.starts if s.run != NO_RUN]
        every = np.sort([s.objective for s in starts if s.feasible])
        n_optima, last = 0, 0.0
        for objective in every:
            if n_optima == 0 or not self.same(last, objective):
                n_optima, last = n_optima + 1, objective
        near = every <= best + 0.01 * abs(best) + _SAME_OF_TRIVIAL * self.unit
        ends = [s for s in starts if s.kind == "polished" or not self.rough]
        refound = {s.run for s in ends if s.feasible and self.same(s.objective, best)}
        return SearchSummary(
            ended=self.ended,
            n_descents=len(starts),
            n_runs=len({s.run for s in starts}),
            n_refound=len(refound),
            n_optima=n_optima,
            share_near_best=float(near.sum()) / len(starts),
            n_evaluations=sum(s.n_evaluations for s in starts),
            seconds=self.seconds,
        )
