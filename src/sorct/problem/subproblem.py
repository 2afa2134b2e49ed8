"""Subproblem: a problem as compiled code sees it, and what a method needs of it.

``Subproblem`` is a problem as arrays and numbers, with the multipliers of the moment;
``Point`` is a tree in the solver's variables. ``evaluate``, ``residual`` and
``renew_leaves`` are all that a first-order method asks for: value and gradient, the
distance from a stationary point, better leaves at fixed cuts. Its steps need only the
gradient and the ``Simple`` part; the rest is asked for through ``evaluation.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import Samples
from sorct.problem.compilation import (
    compiled_apart,
    compiled_here,
    compiled_inside,
    larger,
)
from sorct.problem.constraints import (
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
from sorct.problem.penalty import Penalty, count_groups, penalty_value, prox
from sorct.problem.thresholds import clip_scaled

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


class Gradient(NamedTuple):
    """Gradient of the smooth part: in the cuts and in the logits of the leaves."""

    cuts: FloatArray
    logit: FloatArray


class Simple(NamedTuple):
    """The part of a subproblem that steps treat exactly: penalty and bounds.

    ``centre`` is the mean sample, around which cuts turn; ``shape`` has the bounds of
    the values of leaves.
    """

    centre: FloatArray
    penalty: Penalty
    shape: FloatArray


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

    @property
    def simple(self) -> Simple:
        """The part that steps treat exactly."""
        return Simple(self.centre, self.penalty, self.shape)


@compiled_here
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
        fill_second_payoff(sub.floors, point.label, buffers.second_payoff)
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
        add_second_gradient(renewed, buffers.second_gradient, buffers.gradient)
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
            whole = Gradient(buffers.gradient, buffers.logit_gradient)
            value += _add_tilt(sub.tilt, sub.hold, point, whole)
    return value + penalty_value(sub.penalty, point.cuts)


@compiled_apart
def _add_tilt(tilt: FloatArray, hold: float, point: Point, gradient: Gradient) -> float:
    """Add <tilt, move> + hold ||move||^2 / 2, the move being that from the anchor."""
    value, i = 0.0, 0
    for j in range(point.cuts.shape[0]):
        for t in range(point.cuts.shape[1]):
            move = point.cuts[j, t] - tilt[1, i]
            value += move * (tilt[0, i] + 0.5 * hold * move)
            gradient.cuts[j, t] += tilt[0, i] + hold * move
            i += 1
    for k in range(point.logit.shape[0]):
        for leaf in range(point.logit.shape[1]):
            move = point.logit[k, leaf] - tilt[1, i]
            value += move * (tilt[0, i] + 0.5 * hold * move)
            gradient.logit[k, leaf] += tilt[0, i] + hold * move
            i += 1
    return value


@compiled_inside
def residual(
    simple: Simple,
    point: Point,
    gradient: Gradient,
    scratch: FloatArray,
    wanted: FloatArray,
) -> float:
    """Largest change of a coordinate in one proximal gradient step.

    It is zero exactly at the stationary points of the penalised problem in its box. The
    step length is n_groups, so that the number means the same for every table: changes
    of a / n_groups and of the threshold, which is how a cut uses them. For the logits
    of leaves it is 1: the mass by which a leaf misses what its rows are. ``scratch``
    and ``wanted`` have the shapes of the cuts and of all logits.
    """
    p, n_branches = simple.centre.size, point.cuts.shape[1]
    worst, step = 0.0, count_groups(simple.penalty)
    for j in range(p):
        for t in range(n_branches):
            scratch[j, t] = point.cuts[j, t] - step * gradient.cuts[j, t]
    prox(simple.penalty, 1.0 * step, scratch)
    for j in range(p):
        for t in range(n_branches):
            worst = larger(worst, abs(scratch[j, t] - point.cuts[j, t]))
    for t in range(n_branches):
        moved = clip_scaled(point.cuts[p, t] - step * gradient.cuts[p, t], step)
        worst = larger(worst, abs(moved - point.cuts[p, t]))
    if simple.shape.size > 0:
        for leaf in range(wanted.size):
            wanted[leaf] = point.logit[0, leaf] - gradient.logit[0, leaf]
        for leaf in range(wanted.size):
            bound = bound_value(simple.shape, wanted, leaf)
            worst = larger(worst, abs(bound - point.logit[0, leaf]))
        return worst
    for k in range(point.logit.shape[0]):
        for leaf in range(point.logit.shape[1]):
            worst = larger(worst, abs(gradient.logit[k, leaf]))
    return worst


@compiled_here
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
