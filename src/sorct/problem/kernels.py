"""Compiled evaluation of a tree on all samples: masses and gradients in one pass.

With u_t(x) = slope (a_t . x - threshold_t), where slope = gamma / n_columns and the
threshold is in the solver's units, n_columns times the model's:

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
Children of node t are written 2t + 1 and 2t + 2 here, as in ``tree/topology.py``.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import BLOCK, Samples
from sorct.problem.compilation import (
    bits_of_float,
    compiled_apart,
    compiled_in_order,
    compiled_inside,
    float_of_bits,
)

# A block is skipped for a cut if the derivatives of its samples add up to less than
# this: that changes no digit of a gradient of size 1e-6, the smallest that matters.
_NEGLIGIBLE = 1e-20
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
        np.zeros((n_scores, BLOCK)),
        np.zeros((n_branches + n_leaves, BLOCK)),
        np.zeros((n_branches + n_leaves + 1, BLOCK)),
        np.zeros(n_scores),
        np.zeros(n_columns, dtype=np.int64),
        np.zeros((n_codes, n_leaves)),
        np.zeros(1),
        np.zeros((n_codes, n_leaves)),
    )


@compiled_in_order
def _exp(x: float) -> float:
    """exp(x) for |x| <= 708 to about one unit in the last place, without a branch.

    x = n log 2 + r with |r| <= log(2) / 2; the Taylor polynomial of degree 13 in r is
    exact to 1e-17 there; adding n to the exponent bits multiplies by 2^n.
    """
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10
    e = 1.0 / 6227020800.0
    e = e * r + 1.0 / 479001600.0
    e = e * r + 1.0 / 39916800.0
    e = e * r + 1.0 / 3628800.0
    e = e * r + 1.0 / 362880.0
    e = e * r + 1.0 / 40320.0
    e = e * r + 1.0 / 5040.0
    e = e * r + 1.0 / 720.0
    e = e * r + 1.0 / 120.0
    e = e * r + 1.0 / 24.0
    e = e * r + 1.0 / 6.0
    e = e * r + 0.5
    e = e * r + 1.0
    e = e * r + 1.0
    power = bits_of_float(shifted) << 52
    return float(float_of_bits(bits_of_float(e) + power))


@compiled_in_order
def _log(x: float) -> float:
    """log(x) for normal x > 0 to about one unit in the last place, without a branch.

    x = 2^n m with m in [sqrt(1/2), sqrt(2)]; log m = 2 artanh s, s = (m - 1) / (m + 1),
    whose series to s^21 is exact to 1e-17 there. Numbers become float64 by their bits:
    2^52 + n has n as its last bits.
    """
    bits = bits_of_float(x)
    m = float_of_bits((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)
    n = float_of_bits((bits >> 52) | 0x4330000000000000) - 4503599627371518.0
    low = m < 0.7071067811865476
    m = m + m if low else m
    n = n - 1.0 if low else n
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    e = 1.0 / 21.0
    e = e * q + 1.0 / 19.0
    e = e * q + 1.0 / 17.0
    e = e * q + 1.0 / 15.0
    e = e * q + 1.0 / 13.0
    e = e * q + 1.0 / 11.0
    e = e * q + 1.0 / 9.0
    e = e * q + 1.0 / 7.0
    e = e * q + 1.0 / 5.0
    e = e * q + 1.0 / 3.0
    rest = 2.0 * s * q * e + n * 1.90821492927058770002e-10
    return float(2.0 * s + rest + n * 6.93147180369123816490e-01)


@compiled_in_order
def fill_cdf(branch: FloatArray, n_branches: int, n: int) -> None:
    """Replace scores u by F(u), the logistic CDF (see ``link.py``)."""
    for t in range(n_branches):
        for i in range(n):
            u = branch[t, i]
            u = -708.0 if u < -708.0 else u
            u = 708.0 if u > 708.0 else u
            branch[t, i] = 1.0 / (1.0 + _exp(-u))


@compiled_inside
def density(proba: float) -> float:
    """F'(u) written in F(u)."""
    return proba * (1.0 - proba)


@compiled_inside
def used_columns(cuts: FloatArray, columns: IntArray) -> int:
    """List the columns that some cut uses; return how many there are."""
    n_columns = 0
    for j in range(columns.size):
        for t in range(cuts.shape[1]):
            if cuts[j, t] != 0.0:
                columns[n_columns] = j
                n_columns += 1
                break
    return n_columns


@compiled_inside
def _score_one(
    x: FloatArray,
    columns: IntArray,
    n_columns: int,
    cuts: FloatArray,
    slope: float,
    t: int,
    branch: FloatArray,
) -> None:
    """Scores of cut t, four columns at a time."""
    p, n = x.shape
    for i in range(n):
        branch[t, i] = -cuts[p, t] * slope
    c = 0
    while c + 3 < n_columns:
        j0, j1, j2, j3 = columns[c], columns[c + 1], columns[c + 2], columns[c + 3]
        a0, a1 = cuts[j0, t] * slope, cuts[j1, t] * slope
        a2, a3 = cuts[j2, t] * slope, cuts[j3, t] * slope
        for i in range(n):
            branch[t, i] += (
                a0 * x[j0, i] + a1 * x[j1, i] + a2 * x[j2, i] + a3 * x[j3, i]
            )
        c += 4
    while c < n_columns:
        j0 = columns[c]
        a0 = cuts[j0, t] * slope
        for i in range(n):
            branch[t, i] += a0 * x[j0, i]
        c += 1


@compiled_inside
def _score_three(
    x: FloatArray,
    columns: IntArray,
    n_columns: int,
    cuts: FloatArray,
    slope: float,
    t: int,
    branch: FloatArray,
) -> None:
    """Scores of cuts t, t + 1, t + 2, two columns at a time: each x is read once."""
    p, n = x.shape
    for i in range(n):
        branch[t, i] = -cuts[p, t] * slope
        branch[t + 1, i] = -cuts[p, t + 1] * slope
        branch[t + 2, i] = -cuts[p, t + 2] * slope
    c = 0
    while c < n_columns:
        j0 = columns[c]
        a0, b0, c0 = (
            cuts[j0, t] * slope,
            cuts[j0, t + 1] * slope,
            cuts[j0, t + 2] * slope,
        )
        if c + 1 < n_columns:
            j1 = columns[c + 1]
            a1, b1 = cuts[j1, t] * slope, cuts[j1, t + 1] * slope
            c1 = cuts[j1, t + 2] * slope
            for i in range(n):
                x0, x1 = x[j0, i], x[j1, i]
                branch[t, i] += a0 * x0 + a1 * x1
                branch[t + 1, i] += b0 * x0 + b1 * x1
                branch[t + 2, i] += c0 * x0 + c1 * x1
        else:
            for i in range(n):
                x0 = x[j0, i]
                branch[t, i] += a0 * x0
                branch[t + 1, i] += b0 * x0
                branch[t + 2, i] += c0 * x0
        c += 2


@compiled_inside
def fill_scores(
    x: FloatArray,
    columns: IntArray,
    n_columns: int,
    cuts: FloatArray,
    slope: float,
    branch: FloatArray,
) -> None:
    """Scores u of all cuts (and slopes) on one block, three at a time, then singly.

    2^D - 1 cuts are threes and at most a one.
    """
    n_scores = cuts.shape[1]
    for t in range(0, n_scores - 2, 3):
        _score_three(x, columns, n_columns, cuts, slope, t, branch)
    for t in range(n_scores - n_scores % 3, n_scores):
        _score_one(x, columns, n_columns, cuts, slope, t, branch)


@compiled_inside
def _gradient_one(
    x: FloatArray, d: FloatArray, t: int, slope: float, grad: FloatArray
) -> None:
    """Add sum_i d_ti x_ji to column t, four rows at a time."""
    p, n = x.shape
    j = 0
    while j + 3 < p:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            s0 += d[t, i] * x[j, i]
            s1 += d[t, i] * x[j + 1, i]
            s2 += d[t, i] * x[j + 2, i]
            s3 += d[t, i] * x[j + 3, i]
        grad[j, t] += slope * s0
        grad[j + 1, t] += slope * s1
        grad[j + 2, t] += slope * s2
        grad[j + 3, t] += slope * s3
        j += 4
    while j < p:
        s0 = 0.0
        for i in range(n):
            s0 += d[t, i] * x[j, i]
        grad[j, t] += slope * s0
        j += 1


@compiled_inside
def _gradient_three(
    x: FloatArray, d: FloatArray, t: int, slope: float, grad: FloatArray
) -> None:
    """Add sum_i d_ti x_ji to columns t, t + 1, t + 2, two rows at a time."""
    p, n = x.shape
    j = 0
    while j + 1 < p:
        s0, s1, s2, r0, r1, r2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            x0, x1 = x[j, i], x[j + 1, i]
            d0, d1, d2 = d[t, i], d[t + 1, i], d[t + 2, i]
            s0 += d0 * x0
            s1 += d1 * x0
            s2 += d2 * x0
            r0 += d0 * x1
            r1 += d1 * x1
            r2 += d2 * x1
        grad[j, t] += slope * s0
        grad[j, t + 1] += slope * s1
        grad[j, t + 2] += slope * s2
        grad[j + 1, t] += slope * r0
        grad[j + 1, t + 1] += slope * r1
        grad[j + 1, t + 2] += slope * r2
        j += 2
    if j < p:
        for u in range(t, t + 3):
            s0 = 0.0
            for i in range(n):
                s0 += d[u, i] * x[j, i]
            grad[j, u] += slope * s0


@compiled_inside
def _add_gradient(x: FloatArray, slope: float, buffers: Buffers) -> None:
    """Add the block's share of the gradient; cuts with no sample near are skipped."""
    d, pull, grad = buffers.branch, buffers.pull, buffers.gradient
    for t in range(0, pull.size - 2, 3):
        if pull[t] + pull[t + 1] + pull[t + 2] > _NEGLIGIBLE:
            _gradient_three(x, d, t, slope, grad)
    for t in range(pull.size - pull.size % 3, pull.size):
        if pull[t] > _NEGLIGIBLE:
            _gradient_one(x, d, t, slope, grad)
    for t in range(pull.size):
        total = 0.0
        for i in range(x.shape[1]):
            total += d[t, i]
        grad[x.shape[0], t] -= slope * total


@compiled_inside
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


@compiled_inside
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
        v = max(value[i], _LEAST)
        loss -= reach[i] * _log(v)
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

    The loss is tilt r + bend min(r^2, 2 width |r| - width^2): see ``datafit.Residual``.
    """
    tilt, bend, width, loss = shape[0], shape[1], shape[2], 0.0
    for i in range(value.size):
        r = response[i] - value[i]
        near = min(max(r, -width), width)
        # 2 near r - near^2 is r^2 inside the width and its tangent outside.
        loss += reach[i] * (tilt * r + bend * near * (2.0 * r - near))
        factor[i] = tilt + 2.0 * bend * near
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
    for leaf in range(n_branches + 1):
        node = n_branches + leaf
        for i in range(n):
            loss += mixing * reach[node, i] * (value[node, i] - root[i]) ** 2
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
    samples: Samples, b: int, x: FloatArray, slope: float, buffers: Buffers
) -> None:
    """Add a block's share of the gradients of the second payoffs.

    The same as for the whole block, on few samples and so one cut at a time.
    """
    n_branches, first = buffers.pull.size, samples.start[b]
    branch, reach, value = buffers.branch, buffers.reach, buffers.value
    p, gradient = x.shape[0], buffers.second_gradient
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
            for j in range(p):
                gradient[k, j, t] += slope * _dot(pull, x[j, begin:end])
            for i in range(pull.size):
                gradient[k, p, t] -= slope * pull[i]


@compiled_inside
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
    p, n_branches = buffers.columns.size, buffers.mass.shape[1] - 1
    ratio = unit / slope
    _clear(buffers, with_gradient)
    n_columns = used_columns(cuts, buffers.columns)
    for b in range(samples.start.size - 1):
        first, last = samples.start[b], samples.start[b + 1]
        n = last - first
        x = samples.x[p * first : p * last].reshape(p, n)
        fill_scores(x, buffers.columns, n_columns, cuts, slope, buffers.branch)
        fill_cdf(buffers.branch, n_branches, n)
        _descend_reach(samples, b, buffers)
        if shape.size > 0:
            _ascend_residual(samples, b, shape, ratio, with_gradient, buffers)
        elif by_loss:
            _ascend_loss(samples, b, with_gradient, buffers)
        elif with_gradient:
            _add_second(samples, b, x, slope, buffers)
            _ascend_value(samples, b, buffers)
        if with_gradient:
            _add_gradient(x, slope, buffers)
