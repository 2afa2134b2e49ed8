"""Problem: everything that defines one training problem, and its compiled face.

``Problem`` is the frozen bundle that solvers get: samples, datafit, penalty,
constraint, depth and gamma. ``Subproblem`` is the same as arrays and numbers for
compiled code, with the multipliers of the moment; ``evaluate``, ``residual`` and
``renew_leaves`` are what a first-order method needs of it. ``Point`` is a tree in the
solver's variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import Samples, TrainingSet
from sorct.problem.compilation import compiled_apart, compiled_here, compiled_inside
from sorct.problem.constraints import (
    Constraint,
    Floors,
    add_second_gradient,
    fill_second_payoff,
    gradient_missing,
    renew_multipliers,
)
from sorct.problem.datafit import (
    LABELS,
    LEARNED,
    PURE,
    RESIDUAL,
    TANGENT,
    Datafit,
    Entropy,
    ExpectedCost,
    bound_value,
    fill_logit_gradient,
    fill_payoff,
    fill_value_gradient,
    fit_value,
    renew_logits,
    renew_tangent,
    shift_payoff,
)
from sorct.problem.kernels import Buffers, accumulate
from sorct.problem.labels import (
    Labelling,
    best_labels,
    best_ordered_labels,
    too_late,
)
from sorct.problem.penalty import Penalty, Strengths, penalty_value, prox
from sorct.problem.residual import SLOPE_UNIT, Residual, leaf_losses, with_values
from sorct.problem.thresholds import clip_scaled, clip_thresholds
from sorct.tree.params import Params
from sorct.tree.topology import Topology

# A labelling must be better by more than this.
_BETTER = 1e-14


class Point(NamedTuple):
    """Cuts and leaves in the solver's variables.

    ``cuts`` has shape (n_columns + 1, n_branches): the coefficients, a row per column,
    and below them the thresholds times n_groups, so that gradients of coefficients and
    of thresholds are of similar size. ``logit`` has shape (n_codes, n_leaves) where
    leaves learn distributions, (1, n_leaves) where they have values (those at the mean
    sample), and no rows elsewhere. Slopes of linear leaves are further columns of
    ``cuts``, with a threshold of 0.
    """

    cuts: FloatArray
    label: IntArray
    logit: FloatArray

    @property
    def coef(self) -> FloatArray:
        """Coefficients, a view of shape (n_columns, n_branches)."""
        return self.cuts[:-1]

    @property
    def threshold(self) -> FloatArray:
        """Thresholds times n_groups, a view."""
        return np.asarray(self.cuts[-1])


class Subproblem(NamedTuple):
    """A problem for compiled code, with the multipliers of the moment.

    The samples go beside it: compiled functions that do not need them compile faster
    without. ``slope`` is gamma / n_groups, ``first`` the label whose leaves come first.
    ``tilt`` has no rows, or two: what is added to the gradient, and the point around
    which ``hold`` keeps the tree (see ``solvers/in_parts.py``); flat, the cuts before
    the logits. Leaves are not renewed then.
    ``shape`` has the loss of a residual and what binds the values of leaves (see
    ``Residual.shape``), and is empty for all else; ``unit`` is that of the slopes of
    linear leaves.
    """

    rule: int
    first: int
    slope: float
    table: FloatArray
    centre: FloatArray
    floors: Floors
    penalty: Penalty
    pseudo: FloatArray
    tilt: FloatArray
    hold: float
    shape: FloatArray
    unit: float


@dataclass(frozen=True)
class Problem:
    """One S-ORCT training problem (paper, equations 1 to 6, with 8 as constraints)."""

    data: TrainingSet
    datafit: ExpectedCost | Residual
    penalty: Penalty
    constraint: Constraint
    topology: Topology
    gamma: float

    def at(self, strengths: Strengths) -> Problem:
        """The problem under other penalties."""
        penalty = self.penalty.at(strengths, self.n_penalised)
        return replace(self, penalty=penalty)

    def subproblem(
        self, multiplier: FloatArray | None = None, stiffness: float = 1.0
    ) -> Subproblem:
        """Compiled face of the problem."""
        if multiplier is None:
            multiplier = np.zeros(self.data.n_codes)
        floors = self.constraint.floors(self.data.share, multiplier, stiffness)
        return self._face(self.datafit, self.penalty, floors, self.gamma)

    def flattened(self, gamma: float) -> Subproblem:
        """Compiled face at another gamma, without penalties and floors.

        Classes are parted by the entropy in the leaves instead of their labels.
        """
        n_codes = self.data.n_codes
        none = Constraint.none(n_codes, self.datafit.n_labels)
        floors = none.floors(self.data.share, np.zeros(n_codes), 1.0)
        datafit = self.datafit if self.of_quantity else Entropy()
        return self._face(datafit, self.penalty.scaled(0.0), floors, gamma)

    def _face(
        self, datafit: Datafit, penalty: Penalty, floors: Floors, gamma: float
    ) -> Subproblem:
        return Subproblem(
            datafit.rule,
            datafit.first,
            float(gamma) / self.n_groups,
            # Another layout would be another type, for which all is compiled anew.
            np.ascontiguousarray(datafit.table(self.data.n_codes)),
            self.data.centre,
            floors,
            penalty,
            datafit.pseudo(self.data.share),
            np.zeros((0, 0)),
            0.0,
            datafit.shape if isinstance(datafit, Residual) else np.zeros(0),
            datafit.unit if isinstance(datafit, Residual) else 0.0,
        )

    @property
    def learns_leaves(self) -> bool:
        """Whether leaves learn distributions."""
        return self.datafit.rule == LEARNED

    @property
    def of_quantity(self) -> bool:
        """Whether a quantity is predicted: leaves have values."""
        return self.datafit.rule == RESIDUAL

    @property
    def costs(self) -> ExpectedCost:
        """The datafit, where classes are predicted."""
        assert isinstance(self.datafit, ExpectedCost)
        return self.datafit

    @property
    def has_slopes(self) -> bool:
        """Whether leaves are linear."""
        return isinstance(self.datafit, Residual) and self.datafit.linear

    @property
    def n_penalised(self) -> int:
        """Number of cuts and of leaves with slopes: what a mean over cuts is over."""
        n_slopes = self.topology.n_leaves if self.has_slopes else 0
        return self.topology.n_branches + n_slopes

    @property
    def is_convex(self) -> bool:
        """Whether every stationary tree is the best.

        That is so for one cut between pure leaves, and for a single linear leaf.
        """
        pure = self.datafit.rule == PURE and self.topology.depth == 1
        return pure or self.topology.depth == 0

    @property
    def n_groups(self) -> int:
        """Number of groups of columns: what the sum in a cut is divided by.

        Every group adds at most its largest coefficient to the sum, as only one level
        of a category is met, so that thresholds in [-1, 1] reach every sum.
        """
        return self.penalty.linf.size

    @property
    def trivial_cost(self) -> float:
        """Fit of the best tree that treats all samples alike."""
        if isinstance(self.datafit, Residual):
            rows = self.data.rows
            assert rows.response is not None
            return float(rows.weight @ self.datafit.loss(rows.response))
        return self.datafit.empty_value(self.data.share)

    def fit(self, params: Params, mass: FloatArray, loss: float) -> float:
        """Datafit of a tree whose masses and sum of -log V are known."""
        value = self.datafit.value(mass, params.leaf_class, loss)
        if self.of_quantity:
            ridge = self.datafit.pseudo(self.data.share)[0]
            return value + float(ridge * np.sum(self._logit(params) ** 2))
        if not self.learns_leaves or params.leaf_proba is None:
            return value
        share = self.data.share[:, np.newaxis]
        surprise = np.log(share / params.leaf_proba)
        return value + float(np.sum(self.datafit.pseudo(share) * surprise))

    @property
    def subsampled(self) -> Problem:
        """The problem on ``data.rows`` alone: itself, unless there are very many.

        Floors are raised, so that a tree that meets them on these rows is likely to do
        so on all.
        """
        data = self.data.subsampled
        if data is self.data:
            return self
        count = np.bincount(self.data.rows.codes, minlength=data.n_codes)
        return replace(self, data=data, constraint=self.constraint.raised(count))

    def point(self, params: Params) -> Point:
        """Tree in the solver's variables (a copy), within its bounds, leaves in order.

        Whatever a search proposes, only such trees are solved.
        """
        threshold = self.n_groups * params.threshold
        if self.of_quantity:
            params = self.valued(params)
        coef = self.penalty.clip(params.penalised)
        threshold = np.append(threshold, np.zeros(coef.shape[1] - threshold.size))
        label = self.datafit.in_order(params.leaf_class).copy()
        return Point(np.vstack([coef, threshold]), label, self._logit(params))

    def valued(self, params: Params) -> Params:
        """The tree with values in its leaves: the best ones, where it has none."""
        if params.leaf_value is not None or not isinstance(self.datafit, Residual):
            return params
        return with_values(params, self.data, self.datafit, self.gamma, self.n_groups)

    def best_fit(self, params: Params, mass: FloatArray) -> float:
        """Fit of a tree when its leaves have what suits them best."""
        if self.of_quantity:
            return float(self.leaf_losses(replace(params, leaf_value=None), mass).sum())
        return self.costs.best_value(mass)

    def leaf_losses(self, params: Params, mass: FloatArray) -> FloatArray:
        """What every leaf adds to the fit."""
        if isinstance(self.datafit, Residual):
            known = self.data, self.datafit, self.gamma, self.n_groups
            return leaf_losses(self.valued(params), *known)
        return self.datafit.leaf_losses(mass, params.leaf_class)

    def _logit(self, params: Params) -> FloatArray:
        """Logits of the leaves; those of a new tree say what the whole sample says."""
        if params.leaf_value is not None:
            value = params.leaf_value
            if params.leaf_coef is not None:
                value = value + SLOPE_UNIT * (self.data.centre @ params.leaf_coef)
            return value[np.newaxis]
        if not self.learns_leaves:
            return np.zeros((0, self.topology.n_leaves))
        if params.leaf_proba is not None:
            return np.log(params.leaf_proba)
        share = np.log(self.data.share)[:, np.newaxis]
        return np.repeat(share, self.topology.n_leaves, axis=1)

    def params(self, point: Point) -> Params:
        """Tree in the model's variables (a copy)."""
        if isinstance(self.datafit, Residual):
            return self._params_of_quantity(point)
        threshold = clip_thresholds(point.threshold / self.n_groups)
        if not self.learns_leaves:
            return Params(point.coef.copy(), threshold, point.label.copy())
        raised = np.exp(point.logit - point.logit.max(axis=0))
        proba = raised / raised.sum(axis=0)
        label = self.datafit.leaf_labels(proba)
        return Params(point.coef.copy(), threshold, label, proba)

    def _params_of_quantity(self, point: Point) -> Params:
        """Cuts, values and slopes apart; values are for columns that are 0."""
        n_branches, value = self.topology.n_branches, point.logit[0].copy()
        threshold = clip_thresholds(point.threshold[:n_branches] / self.n_groups)
        coef, slopes = point.coef[:, :n_branches].copy(), None
        if self.has_slopes:
            slopes = point.coef[:, n_branches:].copy()
            value -= SLOPE_UNIT * (self.data.centre @ slopes)
        return Params(coef, threshold, point.label.copy(), None, value, slopes)


@compiled_inside
def lagrangian(
    sub: Subproblem,
    buffers: Buffers,
    label: IntArray,
    logit: FloatArray,
    renewed: FloatArray,
) -> float:
    """Datafit plus the constraint's terms; fills the renewed multipliers."""
    value = fit_value(
        sub.rule,
        sub.table,
        sub.pseudo,
        sub.floors.share,
        buffers.payoff,
        buffers.mass,
        buffers.loss[0],
        label,
        logit,
    )
    return renew_multipliers(value, sub.floors, buffers.mass, label, renewed)


@compiled_here
def evaluate(
    samples: Samples,
    sub: Subproblem,
    point: Point,
    renewed: FloatArray,
    with_gradient: bool,
    buffers: Buffers,
) -> float:
    """Penalised Lagrangian; fills masses, multipliers and the smooth part's gradient.

    The multiplier of a code is known only after all masses are, so the gradient of its
    mean reward is accumulated apart, for the codes that had a multiplier at the last
    evaluation. Should another code get one now, a second pass over the data is made.
    """
    value, known, by_loss = 0.0, False, sub.rule >= PURE
    shape, unit = sub.shape, sub.unit
    fill_payoff(sub.rule, sub.table, point.label, point.logit, buffers.payoff)
    if sub.rule == RESIDUAL:
        shift_payoff(unit, sub.centre, point.cuts, buffers.payoff)
    else:
        fill_second_payoff(sub.floors, point.label, buffers)
    while not known:
        for k in range(renewed.size):
            buffers.has_second[k] = 1 if renewed[k] > 0.0 else 0
        # Where there are no rows, the buffers hold sums over rows that came in parts.
        if samples.weight.size > 0:
            accumulate(
                samples,
                point.cuts,
                sub.slope,
                by_loss,
                shape,
                unit,
                with_gradient,
                buffers,
            )
        value = lagrangian(sub, buffers, point.label, point.logit, renewed)
        known = not (with_gradient and gradient_missing(renewed, buffers.has_second))
    if with_gradient:
        add_second_gradient(renewed, buffers)
        if sub.rule == LEARNED:
            drawn, gradient = buffers.drawn, buffers.logit_gradient
            fill_logit_gradient(sub.pseudo, buffers.payoff, drawn, gradient)
        elif sub.rule == RESIDUAL:
            fill_value_gradient(
                sub.pseudo[0],
                unit,
                sub.centre,
                point.logit,
                buffers.drawn,
                buffers.logit_gradient,
                buffers.gradient,
            )
        if sub.tilt.size > 0:
            value += _add_tilt(sub.tilt, sub.hold, point, buffers)
    return value + penalty_value(sub.penalty, point.cuts)


@compiled_apart
def _add_tilt(tilt: FloatArray, hold: float, point: Point, buffers: Buffers) -> float:
    """Add <tilt, move> + hold ||move||^2 / 2, the move being that from the anchor."""
    value, i = 0.0, 0
    for j in range(point.cuts.shape[0]):
        for t in range(point.cuts.shape[1]):
            move = point.cuts[j, t] - tilt[1, i]
            value += move * (tilt[0, i] + 0.5 * hold * move)
            buffers.gradient[j, t] += tilt[0, i] + hold * move
            i += 1
    for k in range(point.logit.shape[0]):
        for leaf in range(point.logit.shape[1]):
            move = point.logit[k, leaf] - tilt[1, i]
            value += move * (tilt[0, i] + 0.5 * hold * move)
            buffers.logit_gradient[k, leaf] += tilt[0, i] + hold * move
            i += 1
    return value


@compiled_apart
def residual(
    sub: Subproblem, point: Point, buffers: Buffers, scratch: FloatArray
) -> float:
    """Largest change of a coordinate in one proximal gradient step.

    It is zero exactly at the stationary points of the penalised problem in its box. The
    step length is n_groups, so that the number means the same for every table: changes
    of a / n_groups and of the threshold, which is how a cut uses them. For the logits
    of leaves it is 1: the mass by which a leaf misses what its rows are.
    """
    gradient = buffers.gradient
    p, n_branches = sub.centre.size, point.cuts.shape[1]
    worst, step = 0.0, sub.penalty.linf.size
    for j in range(p):
        for t in range(n_branches):
            scratch[j, t] = point.cuts[j, t] - step * gradient[j, t]
    prox(sub.penalty, 1.0 * step, scratch)
    for j in range(p):
        for t in range(n_branches):
            worst = max(worst, abs(scratch[j, t] - point.cuts[j, t]))
    for t in range(n_branches):
        moved = clip_scaled(point.cuts[p, t] - step * gradient[p, t], step)
        worst = max(worst, abs(moved - point.cuts[p, t]))
    if sub.shape.size > 0:
        wanted = buffers.drawn[0]
        for leaf in range(wanted.size):
            wanted[leaf] = point.logit[0, leaf] - buffers.logit_gradient[0, leaf]
        for leaf in range(wanted.size):
            bound = bound_value(sub.shape, wanted, leaf)
            worst = max(worst, abs(bound - point.logit[0, leaf]))
        return worst
    for k in range(point.logit.shape[0]):
        for leaf in range(point.logit.shape[1]):
            worst = max(worst, abs(buffers.logit_gradient[k, leaf]))
    return worst


@compiled_apart
def _relabel(
    sub: Subproblem,
    point: Point,
    renewed: FloatArray,
    buffers: Buffers,
    labelling: Labelling,
    stop: IntArray,
) -> bool:
    """Give the leaves their best labels at fixed cuts; tell whether any changed.

    With floors the multipliers of the moment enter the costs of labels, and a change
    is kept only if the Lagrangian itself falls. Nothing changes if time is up before
    very many labels are known.
    """
    mass, cost, floors = buffers.mass, labelling.cost, sub.floors
    for k in range(cost.shape[0]):
        if too_late(cost.shape[0], stop):
            return False
        for leaf in range(point.label.size):
            cost[k, leaf] = 0.0
        # Leaves inside: where there are many classes, memory decides the speed.
        for true in range(mass.shape[0]):
            for leaf in range(point.label.size):
                cost[k, leaf] += sub.table[true, k] * mass[true, leaf]
    for true in range(mass.shape[0]):
        for k in range(cost.shape[0]):
            weight = renewed[true] * floors.reward[true, k]
            if weight != 0.0:
                for leaf in range(point.label.size):
                    cost[k, leaf] -= weight * mass[true, leaf] / floors.share[true]
    if sub.first < 0:
        known = best_labels(labelling, stop)
    else:
        known = best_ordered_labels(labelling, sub.first, stop)
    if not known:
        return False
    label, trial = labelling.label, labelling.renewed
    now = lagrangian(sub, buffers, point.label, point.logit, trial)
    if lagrangian(sub, buffers, label, point.logit, trial) >= now - _BETTER:
        return False
    for leaf in range(point.label.size):
        point.label[leaf] = label[leaf]
    return True


@compiled_here
def renew_leaves(
    sub: Subproblem,
    point: Point,
    renewed: FloatArray,
    buffers: Buffers,
    labelling: Labelling,
    stop: IntArray,
) -> bool:
    """Renew the leaves at fixed cuts by the datafit's rule; tell if any changed."""
    changed = False
    if sub.rule == LABELS:
        changed = _relabel(sub, point, renewed, buffers, labelling, stop)
    elif sub.rule == TANGENT:
        changed = renew_tangent(buffers.mass, buffers.payoff)
    elif sub.rule == LEARNED:
        changed = renew_logits(sub.pseudo, buffers.payoff, buffers.drawn, point.logit)
    return changed
