"""Jointly: the trees of a forest under one penalty, a variable counting once for all.

    sum_b fit_b(tree_b) + penalty of all cuts of all trees side by side

where every tree has its own rows and the penalty sees one wide matrix: the l-inf part
is of a variable's largest coefficient in the whole forest. Going round the trees, each
under what the others leave free, gets stuck where largest coefficients tie: no tree
can lower a maximum alone. So two kinds of steps take turns:

- spectral proximal steps of all cuts of all trees at once, which change the largest
  coefficients, leaves being fixed;
- descents of every tree for itself, leaves included, within the largest coefficients
  that the forest has: nothing that a tree does there changes what it pays.

Neither leads higher, and where neither leads lower the forest is stationary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.evaluation import never
from sorct.problem.penalty import Penalty
from sorct.problem.penalty_wide import joint_prox
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction
from sorct.problem.subproblem import Point, Subproblem
from sorct.problem.thresholds import clip_thresholds
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import Descent
from sorct.tree.params import Params

# Spectral steps in a row, values that a step is compared with, and the lengths of
# steps.
_STEPS, _MEMORY = 8, 4
_SHORTEST, _LONGEST = 1e-12, 1e10
_DECREASE, _ROUNDING = 1e-4, 1e-14
# Rounds whose gain is a smaller share of the objective end the polish.
_GAIN = 1e-7

Result = TypeVar("Result")


class Runner(Protocol):
    """Who makes calls, side by side if it can, and gives their results in order."""

    def run(self, calls: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """Results of the calls."""


def side_by_side(coefs: Sequence[FloatArray]) -> FloatArray:
    """Coefficients of all trees as one matrix, (n_columns, n_trees, n_cuts)."""
    return np.stack(coefs, axis=1)


@dataclass(frozen=True)
class JointEnd:
    """Trees of a forest, and how near they are to be stationary together."""

    params: tuple[Params, ...]
    objective: float
    residual: float
    n_rounds: int


@dataclass(frozen=True)
class JointPolish:
    """Polishes the trees of a forest together.

    Parameters
    ----------
    solver : AugmentedLagrangian
        For the descents of single trees.
    tol : float
        Bound on the residual: that of ``problem.residual``, over all trees.
    max_rounds : int
    """

    solver: AugmentedLagrangian
    tol: float = 1e-4
    max_rounds: int = 30

    def solve(
        self,
        problems: Sequence[Problem],
        params: Sequence[Params],
        runner: Runner,
        stop: IntArray | None = None,
    ) -> JointEnd:
        """Polish from given trees.

        All problems have the same penalty, topology and datafit's rule. The objective
        is the mean fit plus the penalty.
        """
        stop = never() if stop is None else stop
        state = _Joint.of(problems, params, runner)
        before, n_rounds = np.inf, 0
        while n_rounds < self.max_rounds and stop[0] == 0:
            n_rounds += 1
            for _ in range(_STEPS):
                if not state.step():
                    break
            if state.residual <= self.tol:
                break
            state.descend(self.solver, stop)
            if before - state.value <= _GAIN * abs(state.value):
                break
            before = state.value
        found = tuple(p.params(x) for p, x in zip(problems, state.points, strict=True))
        return JointEnd(found, state.value / len(problems), state.residual, n_rounds)


@dataclass
class _Joint:
    """A polish under way: the trees of the moment, their fits and gradients."""

    problems: Sequence[Problem]
    subs: list[Subproblem]
    penalty: Penalty
    points: list[Point]
    runner: Runner
    fit: float
    slope: FloatArray
    history: list[float]
    length: float = 0.0
    n_steps: int = 0

    @classmethod
    def of(
        cls, problems: Sequence[Problem], params: Sequence[Params], runner: Runner
    ) -> _Joint:
        """Look at the trees to begin with."""
        points = [p.point(x) for p, x in zip(problems, params, strict=True)]
        subs = [_plain(p, x) for p, x in zip(problems, points, strict=True)]
        penalty = problems[0].penalty.shared_by(len(problems))
        state = cls(problems, subs, penalty, points, runner, 0.0, np.zeros(0), [])
        state.fit, state.slope = state.look(points)
        state.history = [state.value]
        return state

    @property
    def cuts(self) -> FloatArray:
        """Coefficients and, in the last row, thresholds."""
        return side_by_side([point.cuts for point in self.points])

    @property
    def value(self) -> float:
        """Sum of the fits, and the penalty."""
        return self.fit + self.penalty.value(_flat(self.cuts[:-1]))

    @property
    def residual(self) -> float:
        """Largest change of a coordinate in a proximal step of length n_groups."""
        n_groups, cuts = float(self.penalty.n_groups), self.cuts
        return float(np.abs(self._moved(cuts, n_groups) - cuts).max())

    def look(self, points: Sequence[Point]) -> tuple[float, FloatArray]:
        """Sum of the fits, and the gradient in the cuts."""
        calls = [
            partial(_look, problem, sub, point)
            for problem, sub, point in zip(
                self.problems, self.subs, points, strict=True
            )
        ]
        fits, gradients = zip(*self.runner.run(calls), strict=True)
        return float(sum(fits)), side_by_side(gradients)

    def _moved(self, cuts: FloatArray, length: float) -> FloatArray:
        """Proximal gradient step; thresholds stay in their box."""
        moved, n_groups = cuts - length * self.slope, self.penalty.n_groups
        moved[:-1] = joint_prox(self.penalty, length, moved[:-1])
        moved[-1] = clip_thresholds(moved[-1], n_groups)
        return np.asarray(moved)

    def step(self) -> bool:
        """One spectral step that leads lower than the last few; False if none does."""
        cuts, bar = self.cuts, max(self.history[-_MEMORY:])
        if self.length == 0.0:
            self.length = 0.1 / max(float(np.abs(self.slope).max()), 1e-8)
        while self.length >= _SHORTEST:
            trial = self._moved(cuts, self.length)
            move = trial - cuts
            points = [
                Point(np.ascontiguousarray(trial[:, b]), x.label, x.logit)
                for b, x in enumerate(self.points)
            ]
            fit, slope = self.look(points)
            value = fit + self.penalty.value(_flat(trial[:-1]))
            fall = float(np.sum(move * move)) / (2.0 * self.length)
            if value <= bar - _DECREASE * fall + _ROUNDING * abs(value):
                self._accept(points, fit, slope, move, value)
                return fall > 0.0
            self.length *= 0.25
        self.length = 0.0
        return False

    def _accept(
        self,
        points: list[Point],
        fit: float,
        slope: FloatArray,
        move: FloatArray,
        value: float,
    ) -> None:
        change, self.n_steps = slope - self.slope, self.n_steps + 1
        self.points, self.fit, self.slope = points, fit, slope
        self.history.append(value)
        along, square = float(np.sum(move * change)), float(np.sum(move * move))
        if along <= 1e-14 * square:
            self.length = min(2.0 * self.length, _LONGEST)
            return
        short = self.n_steps % 2 == 0
        length = along / float(np.sum(change * change)) if short else square / along
        self.length = min(max(length, _SHORTEST), _LONGEST)

    def descend(self, solver: AugmentedLagrangian, stop: IntArray) -> None:
        """Let every tree descend within the largest coefficients of the forest."""
        allowed = self.penalty.sizes(_flat(self.cuts[:-1]))
        bar = self.value
        params = [p.params(x) for p, x in zip(self.problems, self.points, strict=True)]
        calls = [
            partial(_within, problem, one, allowed, solver, stop)
            for problem, one in zip(self.problems, params, strict=True)
        ]
        found = list(self.runner.run(calls))
        points = [p.point(x) for p, x in zip(self.problems, found, strict=True)]
        fit, slope = self.look(points)
        coef = _flat(side_by_side([point.coef for point in points]))
        if fit + self.penalty.value(coef) <= bar:
            self.points, self.fit, self.slope = points, fit, slope
        self.history = [self.value]


def _flat(coef: FloatArray) -> FloatArray:
    return coef.reshape(len(coef), -1)


def _plain(problem: Problem, point: Point) -> Subproblem:
    """Compiled face without penalty, whose leaves are not renewed."""
    sub = replace(problem, penalty=problem.penalty.scaled(0.0)).subproblem()
    return sub._replace(tilt=np.zeros((2, point.cuts.size + point.logit.size)))


def _look(problem: Problem, sub: Subproblem, point: Point) -> tuple[float, FloatArray]:
    """Fit and gradient of a tree."""
    seen = Point(point.cuts.copy(), point.label.copy(), point.logit.copy())
    descent = Descent(problem.data.samples, sub, seen, 0.0, 1, never())
    descent.step()
    return descent.progress.objective, descent.evaluator.buffers.gradient


def _within(
    problem: Problem,
    params: Params,
    allowed: FloatArray,
    solver: AugmentedLagrangian,
    stop: IntArray,
) -> Params:
    """Descend within sizes that groups may have; those of size 0 are left out."""
    groups = np.flatnonzero(allowed > 0.0)
    if groups.size == 0:
        return params
    held = replace(problem, penalty=problem.penalty.within(allowed))
    small = Restriction.of(held, groups)
    found = solver.solve(small.part, small.down(params), stop=stop)
    return small.up(found.params)
