"""Bound problem: trees that keep bounds on groups of rows.

A bound enters by its multiplier, as a term of every row beside its loss. With the
residual r of a row as training sees it, that is a multiple of r for the mean residual
of a group and one of r^2 for its mean square error: a linear and a square term are all
that the kernels know (``Samples.extra``), whatever the loss is. Each round solves the
problem with such terms from the tree of the round before, then multipliers are renewed.
Rounds end where bounds are met and those that have a multiplier are not met by more
than needed: there the tree is stationary for the problem with its bounds. Where rounds
do not come to that, the best tree within the bounds that they came by is taken.

Trees of the logarithm are bound in units of y, too. How much a prediction moves with
what the tree says differs from row to row there, and all predictions move with the
factor that mends the mean; each round takes the derivatives from the tree of the round
before. Rows then pay a little for moving away from that tree, as they do under losses
without curvature, where small changes of a multiplier would change trees a lot. That
vanishes as rounds come to rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.quantity import Quantity, number_column
from sorct.data.wording import listed, told_within
from sorct.estimators.checks import checked_samples
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.group_bounds import AskedBounds, GroupBounds, Multipliers
from sorct.estimators.quantities import raised_by, raising

if TYPE_CHECKING:
    from sorct.data.samples import Rows, TrainingSet
    from sorct.estimators.fitting import Prepared
    from sorct.problem.penalty import Strengths
    from sorct.problem.problem import Problem
    from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
    from sorct.solvers.solution import Solution
    from sorct.tree.params import Params

# Rounds at most, those after the first tree within the bounds, and those that may bring
# the worst group no nearer to its bound, by that share.
_ROUNDS, _MORE, _STALLED, _NEARER = 200, 80, 40, 0.99
# Rounds have come to rest where predictions change by no more than that, in spreads.
_AT_REST = 1e-3
# Groups that an error tells of.
_TOLD = 5
# What rows of a group pay for the square of moving, by measure: a multiplier on errors
# brings curvature of its own.
_RESTING = {"residual": 0.3, "error": 0.03}


@dataclass(frozen=True)
class _Predicted:
    """What a tree predicts of rows, in spreads of y, and how that moves.

    Attributes
    ----------
    inner : array of shape (n_samples,), residual as training sees it
    residual : array of shape (n_samples,), observed minus predicted
    slope : array of shape (n_samples,)
        How much a prediction moves with what the tree says; 1 but for logarithms.
    bend : array of shape (n_samples,), how much the slope does
    raising : array of shape (n_samples,)
        How much more all leaves will say if the tree says more of a row, per weight.
    """

    inner: FloatArray
    residual: FloatArray
    slope: FloatArray
    bend: FloatArray
    raising: FloatArray

    def pulled(self, pull: FloatArray, weight: FloatArray) -> FloatArray:
        """Derivative of sum weight x pull x residual in each row's inner residual.

        It is divided by the row's weight. ``raising`` is a shift of all leaves, which
        moves all rows.
        """
        own = pull * self.slope
        return np.asarray(own + self.raising * (weight @ own))


@dataclass(frozen=True)
class BoundProblem:
    """A problem whose rows pay what multipliers add.

    Attributes
    ----------
    problem : Problem
        With its penalties.
    rows : Rows
        All rows; only those of one group are merged.
    data : TrainingSet, the same laid out
    bounds : GroupBounds
        With the groups of these rows.
    target : Quantity
    raised : callable
        What all leaves of a tree will say more once it is brought back to units of y.
    rests : bool
        Whether rows pay for moving away from the tree of the round before.
    kept : array of int or None
        Variables that the tree may use, by their places; None means all.
    """

    problem: Problem
    rows: Rows
    data: TrainingSet
    bounds: GroupBounds
    target: Quantity
    raised: Callable[[Params], float]
    rests: bool
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
        from sorct.data.samples import Rows, TrainingSet, merged_rows

        n_rows, counted = len(X), np.arange(len(X))
        if sample_weight is not None:
            counted = np.flatnonzero(np.asarray(sample_weight) > 0)
        X, y, weight = checked_samples(X, y, sample_weight, number_column)
        target = prepared.target
        assert isinstance(target, Quantity)
        own = asked.bounds, asked.groups, asked.measure
        given = GroupBounds.of(*own, n_rows, target.spread)
        code = given.code[counted] + 1
        _refuse_weightless(given.labels, code)
        columns = prepared.encoder.columns(X)
        merged = merged_rows(columns, code, weight, target.scaled(y))
        places, code, share, response = merged
        cells = columns.some_rows(places)
        rows = Rows(cells, np.zeros(code.size, dtype=np.int64), share, response)
        return cls(
            problem,
            rows,
            TrainingSet.from_rows(rows, 1),
            replace(given, code=code - 1),
            target,
            partial(raised_by, prepared),
            target.is_log or prepared.loss != "square",
        )

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
        """The best tree within the bounds that rounds come by."""
        damped = self.rests and self.bounds.measure == "residual"
        solver, multipliers = effort.solver(), Multipliers(self.bounds, damped=damped)
        seen, moved, least = self._seen(best.params), 0.0, np.inf
        found: Solution | None = None
        nearest, n_left = self.bounds.bound, _STALLED
        for _ in range(_ROUNDS):
            attained = self.bounds.attained(seen.residual, self.rows.weight)
            missed = self.bounds.violation(attained)
            multipliers.renew(attained)
            if missed <= 0.0:
                n_left = _MORE if found is None else n_left
                found = self._better(found, best)
                if multipliers.settled and moved <= _AT_REST:
                    break
            elif found is None and missed <= _NEARER * least:
                least, nearest, n_left = missed, attained, _STALLED
            n_left -= 1
            if stop[0] != 0 or n_left == 0:
                break
            problem = self._moved(multipliers, seen)
            best = self._solution(solver, problem, best.params, stop)
            before, seen = seen, self._seen(best.params)
            if self.rests:
                change = (seen.inner - before.inner) ** 2
                moved = float(np.sqrt(self.rows.weight @ change))
        if found is None:
            raise self._error(nearest, " before time_limit" if stop[0] else "")
        return found

    def _better(self, found: Solution | None, other: Solution) -> Solution:
        """The better of two trees within the bounds, by the objective without."""
        told = self._told(other)
        return told if found is None or told.objective < found.objective else found

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
        own = replace(self.problem, data=self.data)
        here = AugmentedLagrangian().solve(own, solution.params, stop=at_once)
        return replace(solution, objective=here.objective, cost=here.cost)

    def _moved(self, multipliers: Multipliers, seen: _Predicted) -> Problem:
        """The problem whose rows pay for what multipliers are on.

        That is, with r the residual of a row, pull (r - r0) + bend (r - r0)^2 around
        the r0 of the tree seen.
        """
        weight, measure = self.rows.weight, self.bounds.measure
        on_rows = self.bounds.on_rows(multipliers.value)
        if measure == "error":
            pull = seen.pulled(2.0 * on_rows * seen.residual, weight)
            bend = on_rows * seen.slope**2
        else:
            # A multiplier of 1 is a shift of squared residuals by 1.
            pull = seen.pulled(2.0 * on_rows, weight)
            bend = np.maximum(-on_rows * seen.bend, 0.0)
        if self.rests:
            resting = np.where(self.bounds.code >= 0, _RESTING[measure], 0.0)
            bend = bend + resting * seen.slope**2
        extra = np.zeros((self.data.samples.weight.size, 2))
        extra[: weight.size, 0] = pull - 2.0 * bend * seen.inner
        extra[: weight.size, 1] = bend
        samples = self.data.samples._replace(extra=extra.ravel())
        return replace(self.problem, data=replace(self.data, samples=samples))

    def _seen(self, params: Params) -> _Predicted:
        """What a tree predicts of every row, and how that moves."""
        from sorct.problem.residual import leaf_reach, predicted

        rows, own, target = self.rows, self.problem, self.target
        response = rows.response
        assert response is not None
        reach = leaf_reach(rows, params, own.gamma, own.n_groups)
        said = predicted(rows, params, reach)
        inner, ones = response - said, np.ones(said.size)
        if not target.is_log:
            return _Predicted(inner, inner, ones, 0.0 * ones, 0.0 * ones)
        more = self.raised(params)
        told = target.in_spreads(said + more)
        residual, slope = target.in_spreads(response) - told, target.slope(said + more)
        lifted = 0.0 * ones
        if more != 0.0:
            # Of very many rows some tell what leaves are raised by; as all would.
            lifted = raising(target, said, response, rows.weight)
        return _Predicted(inner, residual, slope, target.unit * slope, lifted)

    def _error(self, attained: FloatArray, late: str) -> InfeasibleError:
        """The bounds could not be met, and by how much they are missed."""
        spread, bounds = self.target.spread, self.bounds
        reached = {
            label: float(spread * value)
            for label, value in zip(bounds.labels, attained, strict=True)
        }
        what = "mean residual" if bounds.measure == "residual" else "error"
        missed = np.abs(attained) - bounds.bound
        worst = [k for k in np.argsort(-missed) if missed[k] > 0.0]
        told = ", ".join(
            f"{bounds.labels[k]!r}: "
            f"{told_within(spread * attained[k], spread * missed[k])} "
            f"(asked {spread * bounds.bound[k]:.4g})"
            for k in worst[:_TOLD]
        )
        more = f" and {len(worst) - _TOLD} others" if len(worst) > _TOLD else ""
        time_text = "raise time_limit, " if late else ""
        return InfeasibleError(
            f"group_bounds could not be met{late}. The {what} of the groups came to "
            f"{told}{more}. Widen the bounds, {time_text}lower the alphas, raise "
            "depth, or give columns that tell the groups apart.",
            reached,
        )


def _refuse_weightless(labels: list[Any], code: IntArray) -> None:
    """Refuse bounds on groups all of whose rows have weight 0; codes count from 1."""
    without = [label for k, label in enumerate(labels, 1) if not (code == k).any()]
    if without:
        raise ValueError(
            f"group_bounds names {listed(without)}, whose rows all have weight 0; "
            "leave it out, or give its rows a weight."
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
