"""Sweep: the best tree at every point of a grid of penalties, each from its neighbours.

A pool of trees is carried from point to point, as in the paper (section 4.1). Trees
that have become equal are carried once, and some places left go to moves of the best.
Then points learn from each other until none can gain: what a tree of one point is worth
at another is known without looking at the data, since only the penalties differ. At the
end no point has a tree that another point's tree beats, so the objective is monotone in
either penalty.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.problem.problem import Problem
from sorct.search.moves import Chain
from sorct.search.polish import AS_IT_IS, HOLD, ROUGH, Polisher, without_idle_cuts
from sorct.search.pool import (
    GAIN,
    carried_on,
    distinct,
    gains,
    moved,
    raced,
    same_signs,
    started,
)
from sorct.search.starts import empty_tree
from sorct.search.workers import Workers, deadline
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution, Status
from sorct.tree.params import Params

# After a quick descent, a tree of the pool or of another point whose objective is above
# the best by more than this share is not solved further.
_POOL_MARGIN = 0.01
# A tree that is better by more than this replaces a point's own.
_BEATEN = 1e-5
# Rounds of moves at the first point: at most so many, ended by so many without a gain;
# fewer where trees only serve to be scored.
_MOST_ROUNDS, _IDLE_ROUNDS, _BRIEF_ROUNDS = 6, 2, 2
# Moves at other points at most, as a share of the pool.
_MOVES_SHARE = 0.1
# Rounds in which points learn from each other, and take over trees, at most.
_LEARNING_ROUNDS, _SETTLING_ROUNDS = 6, 3
# Size of the pool of gentler cuts, and how exactly they are solved.
_GENTLE_SOLUTIONS, _GENTLE_TOL = 4, 1e-4


@dataclass(frozen=True)
class SweepProgress:
    """What a callback learns after every grid point."""

    n_done: int
    n_points: int
    alpha_local: float
    alpha_global: float
    objective: float
    seconds: float


SweepCallback = Callable[[SweepProgress], object]


@dataclass(frozen=True)
class Grid:
    """Pairs of penalties, the local one outermost; points are numbered in that order.

    Strengths are in rising order.
    """

    alphas_local: tuple[float, ...]
    alphas_global: tuple[float, ...]

    @property
    def strengths(self) -> list[Strengths]:
        """Strengths of every point."""
        return [Strengths(a, b) for a in self.alphas_local for b in self.alphas_global]

    def scaled(self, share: float) -> Grid:
        """The same with a share of every strength."""
        axes = self.alphas_local, self.alphas_global
        return Grid(*(tuple(share * alpha for alpha in axis) for axis in axes))

    def begins_row(self, k: int) -> bool:
        """Whether point k has the least global penalty."""
        return k % len(self.alphas_global) == 0

    def neighbours(self, k: int) -> list[int]:
        """Points that differ from point k by a step of one penalty, larger first."""
        n_global = len(self.alphas_global)
        n_points = n_global * len(self.alphas_local)
        i, j = divmod(k, n_global)
        steps = [(i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1)]
        inside = [(a, b) for a, b in steps if a >= 0 and 0 <= b < n_global]
        return [n for a, b in inside if (n := a * n_global + b) < n_points]


@dataclass(frozen=True)
class Swept:
    """Best solution of every grid point, and the seconds it took."""

    solutions: tuple[Solution, ...]
    seconds: FloatArray


@dataclass(frozen=True)
class Sweep:
    """Sweep over a grid of penalties.

    Parameters
    ----------
    solver : AugmentedLagrangian
        For the best tree of a point; the pool uses a rougher one.
    n_solutions : int
        Size of the pool.
    n_jobs : int or None, as in joblib
    time_limit : float or None, seconds
        When it is over, the points left get the best of the trees found so far.
    brief : bool
        Whether the trees only serve to be scored: the search ends sooner.
    gentler : float or None
        A steepness below the problem's, whose path is swept first; callbacks hear
        nothing of that.
    begins : tuple of Params
        Trees that are known before, as they are: a point is begun from the best too.
    """

    solver: AugmentedLagrangian
    n_solutions: int = 20
    n_jobs: int | None = None
    time_limit: float | None = None
    brief: bool = False
    gentler: float | None = None
    begins: tuple[Params, ...] = ()

    def run(
        self,
        problem: Problem,
        grid: Grid,
        seed: int,
        callback: SweepCallback | None = None,
        stop: IntArray | None = None,
    ) -> Swept:
        """Sweep; a callback that returns True, or ``stop``, ends it like the limit."""
        stop = never() if stop is None else stop
        with deadline(self.time_limit, stop), Workers(self.n_jobs, stop) as workers:
            sweep = _SweepState(self, problem, grid, seed, callback, workers, stop)
            if workers.n_threads == 1 and callback is None:
                # All in one thread: nothing is handed over and back.
                list(workers.run([sweep.go]))
            else:
                sweep.go()
            late = stop[0] != 0
        stop[0] = late  # which workers set when they leave
        solutions = (_late(one, self.solver) if late else one for one in sweep.best)
        return Swept(tuple(solutions), np.array(sweep.seconds))


@dataclass
class _SweepState:
    """A sweep under way, with the best trees so far."""

    options: Sweep
    problem: Problem
    grid: Grid
    seed: int
    callback: SweepCallback | None
    workers: Workers
    stop: IntArray
    begun: float = field(default_factory=time.perf_counter)
    best: list[Solution] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    polisher: Polisher | None = None
    known: list[Solution] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.strengths = self.grid.strengths
        self.problems = [self.problem.at(pair) for pair in self.strengths]
        self.subsampled = self.problem.subsampled

    def go(self) -> None:
        """Sweep in the way that suits the problem."""
        if self.problem.is_convex:
            self.downward()
            return
        for step in (self.begin, self.forward, self.learn, self.settle):
            step()

    # -- downward: one tree from point to point, where that is enough -----------------

    def downward(self) -> None:
        """From the strongest penalties to the weakest, each from the one before.

        Strong penalties leave few columns, and few columns are quick to solve for.
        """
        n_points = len(self.strengths)
        found: list[Solution] = []
        for k in reversed(range(n_points)):
            begun = time.perf_counter()
            before = found[-1].params if found else empty_tree(self.problem)[0]
            (solution,) = self.workers.run([partial(self._descended, k, before)])
            found.append(solution)
            self.best = found[::-1]
            self.seconds.insert(0, time.perf_counter() - begun)
            self._tell(k, n_points - k, solution)

    def _descended(self, k: int, params: Params) -> Solution:
        """Solve point k from a tree, first on some of the rows where there are many."""
        if self.subsampled is not self.problem:
            some = self.subsampled.at(self.strengths[k])
            params = ROUGH.solve(some, params, stop=self.stop).params
        found = self.options.solver.solve(self.problems[k], params, stop=self.stop)
        return without_idle_cuts(self.problems[k], found)

    # -- begin: steep cuts know the path of gentler ones ------------------------------

    def begin(self) -> None:
        """Note the trees that are known; sweep with gentler cuts first, if asked for.

        Steep cuts can do what these do, with smaller coefficients, under penalties that
        are stronger in the same proportion.
        """
        gamma, solver = self.options.gentler, self.options.solver
        self.known = [
            AS_IT_IS.solve(self.problem, one, stop=self.stop)
            for one in self.options.begins
        ]
        if gamma is None:
            return
        gentle, share = replace(self.problem, gamma=gamma), gamma / self.problem.gamma
        options = replace(
            self.options,
            solver=replace(solver, tol=max(solver.tol, _GENTLE_TOL)),
            n_solutions=min(self.options.n_solutions, _GENTLE_SOLUTIONS),
            brief=True,
            gentler=None,
            begins=(),
        )
        sweep = _SweepState(
            options, gentle, self.grid.scaled(share), self.seed, None, self.workers,
            self.stop,
        )  # fmt: skip
        sweep.go()
        flattened = [self._flattened(one, share) for one in sweep.best]
        self.known += flattened
        self.spent = sweep.seconds
        steepest = max(np.abs(one.params.coef).max() for one in flattened)
        if self.options.brief and 0.0 < steepest < share:
            # No cut would be steeper if it could: to be scored these trees will do.
            self.options = replace(self.options, n_solutions=1)

    def _flattened(self, solution: Solution, share: float) -> Solution:
        """The same tree as one of this problem, whose cuts are steeper."""
        params = solution.params.flattened(share)
        norms = self.problem.penalty.norms(params.penalised)
        return replace(solution, params=params, norms=norms)

    # -- forward: the pool from point to point ---------------------------------------

    def forward(self) -> None:
        """First pass over the grid; rows begin with the pool that began the last."""
        pool: list[Solution] = []
        row_pool: list[Solution] = []
        for k in range(len(self.strengths)):
            begun = time.perf_counter()
            if k > 0 and self.stop[0] != 0:
                solution = self._borrowed(k)
            else:
                pool = self._pool(k, row_pool if self.grid.begins_row(k) else pool)
                row_pool = pool if self.grid.begins_row(k) else row_pool
                solution = self._finished(k, pool[0])
            self.best.append(solution)
            spent = self.spent[k] if self.spent else 0.0
            self.seconds.append(time.perf_counter() - begun + spent)
            self._tell(k, k + 1, solution)

    def _pool(self, k: int, carried: list[Solution]) -> list[Solution]:
        """Distinct trees of point k, the best first, from those of another point."""
        problem = self.subsampled.at(self.strengths[k])
        polisher = self._polisher(problem)
        found = self._started(polisher) if k == 0 else self._carried(problem, carried)
        found += self._begun(problem)
        pool, n_most = distinct([*found, polisher.empty]), self.options.n_solutions
        if k == 0:
            return [self._searched(polisher, pool), *pool][:n_most]
        n_free = min(n_most - len(pool), math.ceil(_MOVES_SHARE * n_most))
        return self._moved(polisher, pool, n_free, (k, 0))

    def _polisher(self, problem: Problem) -> Polisher:
        """Without floors the tree without features is the same at every point."""
        same = self.options.brief and not problem.constraint.floor.any()
        if self.polisher is None or not same:
            self.polisher = Polisher.of(problem, ROUGH, self.stop)
        return replace(self.polisher, problem=problem)

    def _started(self, polisher: Polisher) -> list[Solution]:
        """Random starts, polished."""
        calls = [
            partial(started, polisher, self.seed, n, self.stop)
            for n in range(self.options.n_solutions)
        ]
        return list(self.workers.run(calls))

    def _carried(self, problem: Problem, pool: list[Solution]) -> list[Solution]:
        """Pool of another point: the best tree first, then those that may beat it."""
        calls = [
            partial(raced, problem, tree.params, tree.multiplier, stop=self.stop)
            for tree in pool
        ]
        (leader,) = self.workers.run([partial(calls[0], at_once=self.options.brief)])
        bar = (1.0 + _POOL_MARGIN) * leader.objective if leader.feasible else np.inf
        return [leader, *self.workers.run([partial(c, bar=bar) for c in calls[1:]])]

    def _begun(self, problem: Problem) -> list[Solution]:
        """The tree of gentler cuts that is best at a point, taken further."""
        if not self.known:
            return []
        tree = min(self.known, key=lambda one: _worth(one, problem))
        call = partial(raced, problem, tree.params, tree.multiplier, stop=self.stop)
        return list(self.workers.run([partial(call, at_once=True)]))

    def _searched(self, polisher: Polisher, pool: list[Solution]) -> Solution:
        """Best tree after rounds of moves; the pool itself stays as diverse as it is.

        Without penalties many trees are nearly as good, and which of them will be the
        best with penalties is not known yet.
        """
        n_idle = 0
        for n in range(_BRIEF_ROUNDS if self.options.brief else _MOST_ROUNDS):
            leader = pool[0]
            pool = self._moved(polisher, pool, self.options.n_solutions, (0, n))
            n_idle = 0 if gains(pool[0], leader) else n_idle + 1
            if n_idle == _IDLE_ROUNDS:
                break
        return pool[0]

    def _moved(
        self,
        polisher: Polisher,
        pool: list[Solution],
        n_moves: int,
        key: tuple[int, int],
    ) -> list[Solution]:
        """Pool with so many moves of its best tree; the worst make room."""
        if n_moves <= 0 or self.stop[0] != 0:
            return pool[: self.options.n_solutions]
        chain = Chain(pool[0], tuple(pool[1:]))
        calls = [
            partial(moved, polisher, chain, (self.seed, *key, n), self.stop)
            for n in range(n_moves)
        ]
        return distinct([*pool, *self.workers.run(calls)])[: self.options.n_solutions]

    def _borrowed(self, k: int) -> Solution:
        """Best tree that is known for the penalties of point k, as it is."""
        trees = [*self.best, *self.known]
        return self._still(k, trees[int(np.argmin(self._values(k, trees)))])

    def _tell(self, k: int, n_done: int, solution: Solution) -> None:
        if self.callback is None:
            return
        alphas, seconds = self.strengths[k], time.perf_counter() - self.begun
        progress = SweepProgress(
            n_done, len(self.strengths), alphas.alpha_local, alphas.alpha_global,
            solution.objective, seconds,
        )  # fmt: skip
        if self.callback(progress):
            self.stop[0] = 1

    # -- learning from other points --------------------------------------------------

    def learn(self) -> None:
        """Let points try the trees of others, from the last to the first and back."""
        tried: list[list[Solution]] = [[] for _ in self.strengths]
        order = list(range(len(self.strengths)))
        for _ in range(1 if self.options.brief else _LEARNING_ROUNDS):
            order.reverse()
            if not sum([self._learns(k, tried[k]) for k in order]):
                break

    def _learns(self, k: int, tried: list[Solution]) -> bool:
        """Try the neighbours' trees and the one that is best as it is, at point k."""
        begun, before = time.perf_counter(), self.best[k]
        values = self._values(k, self.best)
        others = self.grid.neighbours(k)[: 1 if self.options.brief else None]
        if values.min() < values[k] * (1.0 - GAIN):
            others = [int(np.argmin(values)), *others]
        for n in others:
            other = self.best[n]
            known = any(one is other for one in tried)
            if known or same_signs(other, self.best[k]) or self.stop[0] != 0:
                continue
            tried.append(other)
            solution = self._finished(k, other, bar=float(values[k]))
            if solution.better_than(self.best[k]):
                self.best[k] = solution
        self.seconds[k] += time.perf_counter() - begun
        return gains(self.best[k], before)

    def settle(self) -> None:
        """Take over every tree that still beats a point's own, as it is if need be.

        Each such tree makes its point better, which may help another point: until none
        is left.
        """
        for _ in range(_SETTLING_ROUNDS):
            beaten = False
            for k in reversed(range(len(self.strengths))):
                trees = [*self.best, *self.known]
                values = self._values(k, trees)
                n = int(np.argmin(values))
                if values[n] < values[k] * (1.0 - _BEATEN):
                    found = [self._held(k, trees[n]), self._still(k, trees[n])]
                    worth = self._values(k, found)
                    if worth.min() < values[k]:
                        self.best[k], beaten = found[int(np.argmin(worth))], True
            if not beaten:
                break

    def _values(self, k: int, solutions: Sequence[Solution]) -> FloatArray:
        """Objective of trees under the penalties of point k; infinite if infeasible.

        A tree counts as feasible if it misses a floor by very little. It must not win
        by that, so what it gains is added to its objective: the miss times the larger
        of the floor's multipliers, at the point and of the tree.
        """
        penalty, floor = self.problems[k].penalty, self.problem.constraint.floor
        here = self.best[k].multiplier if k < len(self.best) else np.zeros_like(floor)
        values = np.full(len(solutions), np.inf)
        for n, tree in enumerate(solutions):
            if tree.feasible:
                missed = np.maximum(floor - tree.attained, 0.0)
                gained = missed @ np.maximum(here, tree.multiplier)
                values[n] = tree.cost + gained + penalty.value_of(tree.norms)
        return values

    def _finished(self, k: int, solution: Solution, bar: float = np.inf) -> Solution:
        """Solve point k to the end from a tree, and take idle cuts away.

        A tree that stays above the bar after a rough descent is not solved to the end.
        """
        problem = self.problems[k]
        at_once = self.options.brief and not np.isfinite(bar)

        def solve() -> Solution:
            found, margin = solution, (1.0 + _POOL_MARGIN) * bar
            if not at_once:
                tree = solution.params, solution.multiplier
                found = raced(problem, *tree, stop=self.stop, bar=margin)
            if at_once or found.objective < bar:
                found = carried_on(self.options.solver, problem, found, self.stop)
            return without_idle_cuts(problem, found)

        return next(self.workers.run([solve]))

    def _held(self, k: int, tree: Solution) -> Solution:
        """Solve point k from a tree, by steps that never lead higher."""
        problem = self.problems[k]
        careful = replace(self.options.solver, monotone=True)
        found = careful.solve(
            problem, tree.params, multiplier=tree.multiplier, stiffness=HOLD,
            stop=self.stop,
        )  # fmt: skip
        return without_idle_cuts(problem, found)

    def _still(self, k: int, solution: Solution) -> Solution:
        """The same tree, with its certificate at point k."""
        problem = self.problems[k]
        still = replace(self.options.solver, max_iter=1, max_rounds=1)
        return carried_on(still, problem, solution, never())


def _worth(solution: Solution, problem: Problem) -> tuple[float, float]:
    """What a tree comes to under the penalties of a problem; less is better."""
    if not solution.feasible:
        return solution.violation, 0.0
    return 0.0, solution.cost + problem.penalty.value_of(solution.norms)


def _late(solution: Solution, solver: AugmentedLagrangian) -> Solution:
    """Solution with the status that time ran out, if it has not converged."""
    if solution.residual <= solver.tol or not solution.feasible:
        return solution
    return replace(solution, status=Status.TIME_LIMIT)
