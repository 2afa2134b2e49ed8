"""Compiled evaluation of a tree on all samples: masses and gradients in one pass.

With u_t(x) = slope (a_t . x - threshold_t), where slope = gamma / n_groups and the
threshold is in the solver's units, n_groups times the model's (a group is a variable,
or a column where columns are chosen one by one):

    branch_proba_t = F(u_t)                                  probability of going left
    reach_left = reach * branch_proba, reach_right = reach - reach_left
    mass[k, l] = sum of the reach of leaf l over the samples of code k
    value_t = branch_proba_t value_left + (1 - branch_proba_t) value_right
    d loss / d u_t = factor reach_t (value_left - value_right) F'(u_t)

where the value of leaf l for a sample of code k is ``payoff[k, l]``. The value of the
root is V = sum over leaves of reach x payoff, and the factor is the derivative of a
loss of V: 1 for the loss V itself (``_ascend_value``), -1 / V for the loss -log V, and
for a quantity the derivative of a loss of response - V (``_ascend_loss`` and
``_ascend_residual``: values first, from the leaves to the root, then the factor of
every sample). The latter two also sum up the loss, and ``drawn[k, l]``, minus the
derivative in ``payoff[k, l]``: the reach of leaf l times minus the factor, over the
samples of code k.

Leaves may have linear models: the matrix of cuts then has a column of slopes per leaf
after those of the cuts, and the value of leaf l is payoff[0, l] + unit w_l . x. Slopes
are scored like cuts, in the same loops.

Constraints add payoffs times a multiplier that is known only after all samples were
seen. So a code k has a second payoff as well: the gradient of <second_payoff[k],
mass[k]>, which depends on the samples of that code alone, is accumulated apart (for the
codes marked in ``has_second``) and multiplied afterwards.

Samples are sorted by code and lie in blocks, column by column inside a block, so that
vector instructions run across samples. A segment is the part of a block that belongs to
one code, so a code needs no look-up per sample. Loops over a segment first take a view
of it: where indices begin at 0, the compiler knows that none is negative, and only then
uses vector instructions. There are no classes, no checks and no allocation in loops.
The products of samples and cuts are in ``products.py``, F and log in ``elementary.py``.
Children of node t are written 2t + 1 and 2t + 2 here, as in ``tree/topology.py``.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.cache_lines import on_a_line
from sorct.data.samples import BLOCK, Samples
from sorct.problem.compilation import (
    compiled_apart,
    compiled_fully,
    compiled_inside,
    larger,
    smaller,
)
from sorct.problem.elementary import density, fill_cdf, log
from sorct.problem.products import (
    add_gradient,
    add_level_gradient,
    add_level_scores,
    fill_scores,
    used_columns,
)

# Least probability that a tree can give to a sample's class: products of two are not 0.
_LEAST = 1e-150


class Buffers(NamedTuple):
    """Scratch and results of one evaluation; allocated once per solve.

    Gradients have the shape of the cuts, (n_columns + 1, n_branches): the thresholds'
    are the last row. ``second_gradient`` has one such matrix per code. ``value`` has a
    row more than there are nodes, which ``_add_second`` uses as scratch. There are few
    arrays because each takes time to compile.
    """

    mass: FloatArray
    payoff: FloatArray
    second_payoff: FloatArray
    has_second: IntArray
    gradient: FloatArray
    second_gradient: FloatArray
    branch: FloatArray
    reach: FloatArray
    value: FloatArray
    pull: FloatArray
    columns: IntArray
    drawn: FloatArray
    loss: FloatArray
    logit_gradient: FloatArray


def make_buffers(
    n_columns: int, n_branches: int, n_codes: int, n_slopes: int = 0
) -> Buffers:
    """Allocate the buffers for a tree; ``n_slopes`` leaves have linear models."""
    n_leaves, n_scores = n_branches + 1, n_branches + n_slopes
    return Buffers(
        np.zeros((n_codes, n_leaves)),
        np.zeros((n_codes, n_leaves)),
        np.zeros((n_codes, n_leaves)),
        np.zeros(n_codes, dtype=np.int64),
        np.zeros((n_columns + 1, n_scores)),
        np.zeros((n_codes, n_columns + 1, n_branches)),
        on_a_line((n_scores, BLOCK)),
        on_a_line((n_branches + n_leaves, BLOCK)),
        on_a_line((n_branches + n_leaves + 1, BLOCK)),
        np.zeros(n_scores),
        np.zeros(n_columns, dtype=np.int64),
        np.zeros((n_codes, n_leaves)),
        np.zeros(1),
        np.zeros((n_codes, n_leaves)),
    )


@compiled_fully
def _descend_reach(samples: Samples, b: int, buffers: Buffers) -> None:
    """Reach from the root down; the reach of the leaves is added to the mass."""
    branch, reach, mass = buffers.branch, buffers.reach, buffers.mass
    first, n = samples.start[b], samples.start[b + 1] - samples.start[b]
    for i in range(n):
        reach[0, i] = samples.weight[first + i]
    n_branches = mass.shape[1] - 1
    for t in range(n_branches):
        for i in range(n):
            left = reach[t, i] * branch[t, i]
            reach[2 * t + 1, i] = left
            reach[2 * t + 2, i] = reach[t, i] - left
    for s in range(samples.first_segment[b], samples.first_segment[b + 1]):
        begin = samples.segment_start[s] - first
        end = samples.segment_start[s + 1] - first
        for leaf in range(n_branches + 1):
            own = reach[n_branches + leaf, begin:end]
            total = 0.0
            for i in range(own.size):
                total += own[i]
            mass[samples.segment_code[s], leaf] += total


@compiled_fully
def _ascend_value(samples: Samples, b: int, buffers: Buffers) -> None:
    """Values from the leaves up; derivatives of the scores replace probabilities."""
    branch, reach, value = buffers.branch, buffers.reach, buffers.value
    n_branches = buffers.pull.size
    first, n = samples.start[b], samples.start[b + 1] - samples.start[b]
    for s in range(samples.first_segment[b], samples.first_segment[b + 1]):
        begin = samples.segment_start[s] - first
        end = samples.segment_start[s + 1] - first
        for leaf in range(n_branches + 1):
            payoff = buffers.payoff[samples.segment_code[s], leaf]
            own = value[n_branches + leaf, begin:end]
            for i in range(own.size):
                own[i] = payoff
    for step in range(n_branches):
        t = n_branches - 1 - step
        pull = 0.0
        for i in range(n):
            gain = value[2 * t + 1, i] - value[2 * t + 2, i]
            value[t, i] = value[2 * t + 2, i] + branch[t, i] * gain
            d = reach[t, i] * gain * density(branch[t, i])
            branch[t, i] = d
            pull += abs(d)
        buffers.pull[t] = pull


@compiled_inside
def _fill_factor(value: FloatArray, reach: FloatArray, factor: FloatArray) -> float:
    """Weighted sum of -log V; the factors 1 / V."""
    loss = 0.0
    for i in range(value.size):
        v = larger(value[i], _LEAST)
        loss -= reach[i] * log(v)
        factor[i] = 1.0 / v
    return loss


@compiled_inside
def _fill_residual_factor(
    shape: FloatArray,
    value: FloatArray,
    response: FloatArray,
    reach: FloatArray,
    factor: FloatArray,
) -> float:
    """Weighted sum of a loss of r = response - V; its derivatives in r.

    The loss is tilt r + bend min(r^2, 2 width |r| - width^2): see ``residual.py``.
    """
    tilt, bend, width, loss = shape[0], shape[1], shape[2], 0.0
    for i in range(value.size):
        r = response[i] - value[i]
        near = smaller(larger(r, -width), width)
        # 2 near r - near^2 is r^2 inside the width and its tangent outside.
        loss += reach[i] * (tilt * r + bend * near * (2.0 * r - near))
        factor[i] = tilt + 2.0 * bend * near
    return loss


@compiled_inside
def _add_extra(
    extra: FloatArray,
    value: FloatArray,
    response: FloatArray,
    reach: FloatArray,
    factor: FloatArray,
) -> float:
    """Weighted sum of the samples' own terms a r + b r^2; adds their derivatives."""
    loss = 0.0
    for i in range(value.size):
        r, bent = response[i] - value[i], extra[2 * i + 1]
        loss += reach[i] * r * (extra[2 * i] + bent * r)
        factor[i] += extra[2 * i] + 2.0 * bent * r
    return loss


@compiled_apart
def _ascend_residual(
    samples: Samples,
    b: int,
    shape: FloatArray,
    ratio: float,
    with_gradient: bool,
    buffers: Buffers,
) -> None:
    """Values from the leaves up, then a loss of response - V and what hangs on it.

    To the loss comes shape[3] times the variance of what leaves say of a sample around
    V. ``ratio`` is what a leaf's value changes by per unit of the score of its slopes.
    """
    branch, reach, value = buffers.branch, buffers.reach, buffers.value
    n_branches, mixing = buffers.mass.shape[1] - 1, shape[3]
    first, n = samples.start[b], samples.start[b + 1] - samples.start[b]
    slopes = branch.shape[0] > n_branches
    for leaf in range(n_branches + 1):
        node = n_branches + leaf
        for i in range(n):
            value[node, i] = buffers.payoff[0, leaf]
        if slopes:
            for i in range(n):
                value[node, i] += ratio * branch[node, i]
    _ascend(n_branches, n, branch, value)
    factor, root, weight = value[2 * n_branches + 1, :n], value[0, :n], reach[0, :n]
    response, loss = samples.response[first : first + n], 0.0
    loss = _fill_residual_factor(shape, root, response, weight, factor)
    if samples.extra.size > 0:
        extra = samples.extra[2 * first : 2 * (first + n)]
        loss += _add_extra(extra, root, response, weight, factor)
    for leaf in range(n_branches + 1):
        node = n_branches + leaf
        for i in range(n):
            apart = value[node, i] - root[i]
            loss += mixing * reach[node, i] * (apart * apart)
    buffers.loss[0] += loss
    if not with_gradient:
        return
    # Minus the derivatives in the values of leaves, then in their reach.
    for i in range(n):
        factor[i] += 2.0 * mixing * root[i]
    for leaf in range(n_branches + 1):
        node, drawn, pull = n_branches + leaf, 0.0, 0.0
        for i in range(n):
            own = reach[node, i] * (factor[i] - 2.0 * mixing * value[node, i])
            drawn += own
            pull += abs(own)
            if slopes:
                branch[node, i] = -ratio * own
            value[node, i] *= factor[i] - mixing * value[node, i]
        buffers.drawn[0, leaf] += drawn
        if slopes:
            buffers.pull[node] = ratio * pull
    _ascend(n_branches, n, branch, value)
    for t in range(n_branches):
        pull = 0.0
        for i in range(n):
            gain = value[2 * t + 2, i] - value[2 * t + 1, i]
            d = reach[t, i] * gain * density(branch[t, i])
            branch[t, i] = d
            pull += abs(d)
        buffers.pull[t] = pull


@compiled_inside
def _ascend(n_branches: int, n: int, branch: FloatArray, value: FloatArray) -> None:
    """Values of the cuts from those of the leaves."""
    for step in range(n_branches):
        t = n_branches - 1 - step
        for i in range(n):
            gain = value[2 * t + 1, i] - value[2 * t + 2, i]
            value[t, i] = value[2 * t + 2, i] + branch[t, i] * gain


@compiled_apart
def _ascend_loss(
    samples: Samples, b: int, with_gradient: bool, buffers: Buffers
) -> None:
    """Values from the leaves up, then the loss -log V and what hangs on it."""
    branch, reach, value = buffers.branch, buffers.reach, buffers.value
    n_branches = buffers.mass.shape[1] - 1
    first, n = samples.start[b], samples.start[b + 1] - samples.start[b]
    for s in range(samples.first_segment[b], samples.first_segment[b + 1]):
        begin = samples.segment_start[s] - first
        end = samples.segment_start[s + 1] - first
        for leaf in range(n_branches + 1):
            payoff = buffers.payoff[samples.segment_code[s], leaf]
            own = value[n_branches + leaf, begin:end]
            for i in range(own.size):
                own[i] = payoff
    _ascend(n_branches, n, branch, value)
    factor, root, weight = value[2 * n_branches + 1, :n], value[0, :n], reach[0, :n]
    buffers.loss[0] += _fill_factor(root, weight, factor)
    if not with_gradient:
        return
    for s in range(samples.first_segment[b], samples.first_segment[b + 1]):
        begin = samples.segment_start[s] - first
        end = samples.segment_start[s + 1] - first
        for leaf in range(n_branches + 1):
            own = reach[n_branches + leaf, begin:end]
            drawn = _dot(own, factor[begin:end])
            buffers.drawn[samples.segment_code[s], leaf] += drawn
    for t in range(n_branches):
        pull = 0.0
        for i in range(n):
            gain = value[2 * t + 2, i] - value[2 * t + 1, i]
            d = factor[i] * reach[t, i] * gain * density(branch[t, i])
            branch[t, i] = d
            pull += abs(d)
        buffers.pull[t] = pull


@compiled_inside
def _dot(one: FloatArray, other: FloatArray) -> float:
    """Sum of products of two rows."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


@compiled_apart
def _add_second(
    samples: Samples,
    b: int,
    x: FloatArray,
    level: IntArray,
    slope: float,
    buffers: Buffers,
) -> None:
    """Add a block's share of the gradients of the second payoffs.

    The same as for the whole block, on few samples and so one cut at a time.
    """
    n_branches, first = buffers.pull.size, samples.start[b]
    branch, reach, value = buffers.branch, buffers.reach, buffers.value
    dense, gradient = samples.dense, buffers.second_gradient
    p, n = gradient.shape[1] - 1, x.shape[1]
    for s in range(samples.first_segment[b], samples.first_segment[b + 1]):
        k = samples.segment_code[s]
        if buffers.has_second[k] == 0:
            continue
        begin = samples.segment_start[s] - first
        end = samples.segment_start[s + 1] - first
        for leaf in range(n_branches + 1):
            for i in range(begin, end):
                value[n_branches + leaf, i] = buffers.second_payoff[k, leaf]
        pull = value[2 * n_branches + 1, begin:end]
        for step in range(n_branches):
            t = n_branches - 1 - step
            for i in range(begin, end):
                gain = value[2 * t + 1, i] - value[2 * t + 2, i]
                value[t, i] = value[2 * t + 2, i] + branch[t, i] * gain
                pull[i - begin] = reach[t, i] * gain * density(branch[t, i])
            for r in range(dense.size):
                gradient[k, dense[r], t] += slope * _dot(pull, x[r, begin:end])
            for place in range(begin, level.size, n):
                for i in range(pull.size):
                    j = level[place + i]
                    if j >= 0:
                        gradient[k, j, t] += slope * pull[i]
            for i in range(pull.size):
                gradient[k, p, t] -= slope * pull[i]


@compiled_fully
def _clear(buffers: Buffers, with_gradient: bool) -> None:
    buffers.loss[0] = 0.0
    for k in range(buffers.mass.shape[0]):
        for leaf in range(buffers.mass.shape[1]):
            buffers.mass[k, leaf] = 0.0
            buffers.drawn[k, leaf] = 0.0
    if with_gradient:
        for t in range(buffers.pull.size):
            for j in range(buffers.gradient.shape[0]):
                buffers.gradient[j, t] = 0.0
        for k in range(buffers.has_second.size):
            if buffers.has_second[k] != 0:
                for j in range(buffers.gradient.shape[0]):
                    for t in range(buffers.second_gradient.shape[2]):
                        buffers.second_gradient[k, j, t] = 0.0


@compiled_apart
def accumulate(
    samples: Samples,
    cuts: FloatArray,
    slope: float,
    by_loss: bool,
    shape: FloatArray,
    unit: float,
    with_gradient: bool,
    buffers: Buffers,
) -> None:
    """Fill ``mass`` and, if asked, the gradient in the cuts of <payoff, mass>.

    With it come the gradients of the codes that have a second payoff. If ``by_loss``,
    the gradient is that of the sum of a loss of V, which is filled as well: -log V, or
    that of a residual if it has a ``shape``. ``unit`` is the unit of slopes.
    """
    dense, n_branches = samples.dense, buffers.mass.shape[1] - 1
    p, n_levels = dense.size, samples.level.size // samples.weight.size
    ratio = unit / slope
    _clear(buffers, with_gradient)
    n_second = 0
    for k in range(buffers.has_second.size):
        n_second += buffers.has_second[k]
    n_columns = used_columns(cuts, dense, buffers.columns)
    for b in range(samples.start.size - 1):
        first, last = samples.start[b], samples.start[b + 1]
        n = last - first
        x = samples.x[p * first : p * last].reshape(p, n)
        level = samples.level[n_levels * first : n_levels * last]
        fill_scores(x, dense, buffers.columns, n_columns, cuts, slope, buffers.branch)
        add_level_scores(level, n, cuts, slope, buffers.branch)
        fill_cdf(buffers.branch, n_branches, n)
        _descend_reach(samples, b, buffers)
        if shape.size > 0:
            _ascend_residual(samples, b, shape, ratio, with_gradient, buffers)
        elif by_loss:
            _ascend_loss(samples, b, with_gradient, buffers)
        elif with_gradient:
            if n_second > 0:
                _add_second(samples, b, x, level, slope, buffers)
            _ascend_value(samples, b, buffers)
        if with_gradient:
            d, gradient = buffers.branch, buffers.gradient
            add_gradient(x, dense, d, buffers.pull, slope, gradient)
            add_level_gradient(level, n, d, slope, gradient)
