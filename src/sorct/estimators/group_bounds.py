"""Group bounds: how much a tree may be wrong about named groups of rows.

The mean residual of a group (observed minus predicted) lies within a bound, or its root
mean square error below one. Both enter by multipliers, and for squared losses a
multiplier is nothing new: on the mean residual of a group it is a shift of the group's
responses, on its mean square error a factor on the weights of its rows. So each round
solves the problem as it is, on other responses or weights, from the tree of the round
before; then multipliers are renewed (the proximal step of the dual). Where rounds end
within the bounds, the tree is stationary for the problem with its bounds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sorct._typing import FloatArray, IntArray
from sorct.data.plain import is_finite_number
from sorct.data.quantity import Quantity, number_column
from sorct.data.wording import listed, shown
from sorct.estimators.checks import checked_samples
from sorct.estimators.effort import Effort, InfeasibleError

if TYPE_CHECKING:
    from sorct.data.given_columns import GivenColumns
    from sorct.estimators.fitting import Prepared
    from sorct.problem.penalty import Strengths
    from sorct.problem.problem import Problem
    from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
    from sorct.solvers.solution import Solution
    from sorct.tree.params import Params

MEASURES = ("residual", "error")
_ROUNDS = 60
# Multipliers are renewed faster where they have brought too little.
_FASTER, _FASTEST = 1.6, 50.0
# Bounds are aimed at from a little inside.
_INSIDE = 1e-3


@dataclass(frozen=True)
class AskedBounds:
    """Bounds on groups of rows as a user asked for them."""

    bounds: Any
    groups: Any
    measure: str


@dataclass(frozen=True)
class GroupBounds:
    """Bounds on groups of rows, in spreads of y.

    Attributes
    ----------
    labels : list of the groups that are bound
    code : array of shape (n_samples,), group of every row, -1 where none is bound
    bound : array of shape (n_groups,)
    measure : "residual" or "error"
    """

    labels: list[Any]
    code: IntArray
    bound: FloatArray
    measure: str

    @classmethod
    def of(
        cls, bounds: Any, groups: Any, measure: str, n_samples: int, spread: float
    ) -> GroupBounds:
        """Check what a user asked for."""
        if not isinstance(measure, str) or measure not in MEASURES:
            raise ValueError(
                f"group_measure must be one of {MEASURES}, got {shown(measure)}."
            )
        if groups is None:
            raise ValueError(
                "group_bounds needs groups=, the group of every row, in fit."
            )
        given = np.asarray(groups)
        if given.shape != (n_samples,):
            raise ValueError(
                f"groups must have one entry for each of the {n_samples} rows, got "
                f"shape {given.shape}."
            )
        if pd.isna(given).any():
            raise ValueError(
                "groups has missing entries; name a group for them too, and leave it "
                "out of group_bounds if it is not to be bound."
            )
        named = _by_group(bounds, np.unique(given).tolist())
        labels = list(named)
        code = np.full(n_samples, -1)
        for k, label in enumerate(labels):
            code[given == label] = k
        return cls(labels, code, np.array(list(named.values())) / spread, measure)

    def attained(self, residual: FloatArray, weight: FloatArray) -> FloatArray:
        """Mean residual or root mean square error of every group."""
        bound = self.code >= 0
        code, weight, residual = self.code[bound], weight[bound], residual[bound]
        n = len(self.labels)
        mass = np.maximum(np.bincount(code, weight, n), 1e-300)
        if self.measure == "residual":
            return np.asarray(np.bincount(code, weight * residual, n) / mass)
        return np.sqrt(np.bincount(code, weight * residual**2, n) / mass)

    def violation(self, attained: FloatArray) -> float:
        """By how much the worst group misses its bound, in spreads of y."""
        return float((np.abs(attained) - self.bound).max())

    def renewed(
        self, multiplier: FloatArray, rate: float, attained: FloatArray
    ) -> FloatArray:
        """Multipliers after a round."""
        bound = (1.0 - _INSIDE) * self.bound
        if self.measure == "error":
            gap = attained**2 - bound**2
            return np.maximum(0.0, multiplier + rate * gap / bound**2)
        moved = multiplier + rate * attained
        return np.asarray(moved - np.clip(moved, -rate * bound, rate * bound))

    def on_rows(self, multiplier: FloatArray) -> FloatArray:
        """The multiplier of every row's group, 0 where none is bound."""
        return np.append(multiplier, 0.0)[self.code]


def check_group_options(
    bounds: Any, groups: Any, loss: Any, link: Any = "identity"
) -> None:
    """Refuse groups without bounds, and bounds under a loss or link that has none."""
    if groups is not None and bounds is None:
        raise ValueError("groups needs group_bounds, which say what holds of them.")
    if bounds is not None and loss != "square":
        raise ValueError(f"group_bounds needs loss='square', got loss={shown(loss)}.")
    if bounds is not None and link == "log":
        raise ValueError("group_bounds needs link='identity', got link='log'.")


def _by_group(bounds: Any, labels: list[Any]) -> dict[Any, float]:
    """Bound of every group named; a number is for all."""
    named = bounds if isinstance(bounds, Mapping) else dict.fromkeys(labels, bounds)
    if not named:
        raise ValueError("group_bounds is empty; expected a bound, or None for none.")
    strange = [label for label in named if label not in labels]
    if strange:
        raise ValueError(
            f"group_bounds names groups that no row has: {listed(strange)}. Expected "
            f"some of {listed(labels)}."
        )
    for label, bound in named.items():
        if not (is_finite_number(bound) and bound > 0):
            raise ValueError(
                f"group_bounds must be a positive number for {label!r}, got "
                f"{shown(bound)}."
            )
    return {label: float(bound) for label, bound in named.items()}


@dataclass(frozen=True)
class BoundProblem:
    """A problem whose responses and weights multipliers change.

    Attributes
    ----------
    problem : Problem
        With its penalties.
    columns : GivenColumns, the encoded table
    response, weight : arrays of shape (n_samples,)
    bounds : GroupBounds
    spread : float
        Unit of responses.
    kept : array of int or None
        Variables that the tree may use, by their places; None means all.
    """

    problem: Problem
    columns: GivenColumns
    response: FloatArray
    weight: FloatArray
    bounds: GroupBounds
    spread: float
    kept: IntArray | None = None

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        problem: Problem,
        X: Any,
        y: Any,
        sample_weight: Any,
        asked: AskedBounds,
    ) -> BoundProblem:
        """Check the bounds against the rows, and lay these out."""
        n_rows, counted = len(X), np.arange(len(X))
        if sample_weight is not None:
            counted = np.flatnonzero(np.asarray(sample_weight) > 0)
        X, y, weight = checked_samples(X, y, sample_weight, number_column)
        target = prepared.target
        assert isinstance(target, Quantity)
        own = asked.bounds, asked.groups, asked.measure
        given = GroupBounds.of(*own, n_rows, target.spread)
        found = replace(given, code=given.code[counted])
        columns = prepared.encoder.columns(X)
        return cls(problem, columns, target.scaled(y), weight, found, target.spread)

    def solve(
        self, best: Solution, effort: Effort, seconds: float | None = None
    ) -> Solution:
        """A tree within the bounds, from the best tree without; or an error.

        The error also comes where so many seconds were not enough.
        """
        from sorct.problem.evaluation import never
        from sorct.search.workers import deadline

        stop = never()
        with deadline(seconds, stop):
            return self._solved(best, effort, stop)

    def _solved(self, best: Solution, effort: Effort, stop: IntArray) -> Solution:
        solver, rate = effort.solver(), 1.0
        multiplier = np.zeros(len(self.bounds.labels))
        attained = self._attained(best.params)
        least = np.inf
        for _ in range(_ROUNDS):
            missed = self.bounds.violation(attained)
            if missed <= 0.0:
                return self._told(best)
            if missed > 0.7 * least:
                rate = min(_FASTER * rate, _FASTEST)
            least = min(least, missed)
            multiplier = self.bounds.renewed(multiplier, rate, attained)
            if stop[0] != 0:
                raise self._error(attained, " before time_limit")
            best = self._solution(solver, self._moved(multiplier), best.params, stop)
            attained = self._attained(best.params)
        raise self._error(attained)

    def _solution(
        self,
        solver: AugmentedLagrangian,
        problem: Problem,
        params: Params,
        stop: IntArray,
    ) -> Solution:
        """The solution from a tree on, with its own variables where these are kept."""
        if self.kept is None:
            return solver.solve(problem, params, stop=stop)
        from sorct.problem.restriction import Restriction

        small = Restriction.of(problem, self.kept)
        found = solver.solve(small.part, small.down(params), stop=stop)
        return replace(found, params=small.up(found.params))

    def _told(self, solution: Solution) -> Solution:
        """The solution with its cost and objective without multipliers."""
        from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

        at_once = np.ones(1, dtype=np.int64)
        here = AugmentedLagrangian().solve(self.problem, solution.params, stop=at_once)
        return replace(solution, objective=here.objective, cost=here.cost)

    def _moved(self, multiplier: FloatArray) -> Problem:
        """The problem with responses shifted, or rows weighted, by multipliers."""
        from sorct.data.samples import TrainingSet

        response, weight, own = self.response, self.weight, self.problem
        penalty = own.penalty
        if self.bounds.measure == "residual":
            response = response + self.bounds.on_rows(multiplier)
        else:
            weight = weight * (1.0 + self.bounds.on_rows(multiplier))
            # Weights sum to 1 inside: the penalty keeps its size beside a row.
            penalty = penalty.scaled(self.weight.sum() / weight.sum())
        codes = np.zeros(response.size, dtype=np.int64)
        data = TrainingSet.from_columns(self.columns, codes, weight, 1, response)
        return replace(own, data=data, penalty=penalty)

    def _attained(self, params: Params) -> FloatArray:
        from sorct.data.samples import Rows
        from sorct.problem.residual import leaf_reach, predicted

        zeros = np.zeros(self.response.size, dtype=np.int64)
        X = self.columns.some_rows(slice(None))
        rows = Rows(X, zeros, self.weight, self.response)
        own = self.problem
        reach = leaf_reach(rows, params, own.gamma, own.n_groups)
        residual = self.response - predicted(rows, params, reach)
        return self.bounds.attained(residual, self.weight)

    def _error(self, attained: FloatArray, late: str = "") -> InfeasibleError:
        """The bounds could not be met, and by how much they are missed."""
        spread, bounds = self.spread, self.bounds
        reached = {
            label: float(spread * value)
            for label, value in zip(bounds.labels, attained, strict=True)
        }
        what = "mean residual" if bounds.measure == "residual" else "error"
        told = ", ".join(
            f"{label!r}: {value:.4g} (asked {spread * bound:.4g})"
            for (label, value), bound in zip(reached.items(), bounds.bound, strict=True)
        )
        return InfeasibleError(
            f"group_bounds could not be met{late}. The {what} of the groups came to "
            f"{told}. Widen the bounds, lower the alphas, raise depth, or give columns "
            "that tell the groups apart.",
            reached,
        )


def within_bounds(
    bound: BoundProblem,
    points: list[tuple[Solution, Strengths]],
    effort: Effort,
    begun: float,
) -> list[tuple[Solution, Strengths]]:
    """Points of a path, the weakest penalty first, with trees within the bounds.

    Strong penalties may leave too few variables to tell groups apart: what the tree of
    a point does not lead to, that of the point before may. Every point gets, of all
    trees found, the one that is best under its penalties; if there is none, the error
    of the first tells what was reached.
    """
    found: list[Solution] = []
    missed: InfeasibleError | None = None
    for solution, strengths in points:
        own = replace(bound, problem=bound.problem.at(strengths))
        for start in (solution, *found[-1:]):
            left = effort.seconds_left(time.perf_counter() - begun)
            try:
                found.append(own.solve(start, effort, left))
                break
            except InfeasibleError as error:
                missed = missed or error
    if not found:
        assert missed is not None
        raise missed
    return [(_best(bound, found, one), one) for _, one in points]


def _best(bound: BoundProblem, found: list[Solution], strengths: Strengths) -> Solution:
    """The best of some trees under given penalties, with its objective."""
    penalty = bound.problem.at(strengths).penalty
    worth = [one.cost + penalty.value_of(one.norms) for one in found]
    k = int(np.argmin(worth))
    return replace(found[k], objective=worth[k])


def relaxed_within(
    bound: BoundProblem, eased: Problem, solution: Solution, effort: Effort
) -> Solution:
    """A relaxed tree within the bounds, with its variables; or an error."""
    from sorct.problem.restriction import used_groups

    used = used_groups(eased, solution.params)
    return replace(bound, problem=eased, kept=used).solve(solution, effort)
