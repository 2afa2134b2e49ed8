"""Compiled evaluation of a tree on all samples: mass matrix and gradient in one pass.

With u_t(x) = slope (a_t . x - level_t), where slope = gamma / p and level = p mu:

    branch_proba_t = F(u_t)                                  probability of going left
    reach_left = reach * branch_proba, reach_right = reach - reach_left
    mass[k, l] = sum of the reach of leaf l over the samples of class k
    value_t = branch_proba_t value_left + (1 - branch_proba_t) value_right
    d cost / d u_t = reach_t (value_left - value_right) F'(u_t)

where the value of leaf l for a sample of class k is ``payoff[k, l]``, the derivative of
the smooth objective with respect to ``mass[k, l]``. Where a factor of some payoffs is
known only after the pass, as with floors on recall, they go apart: a class marked so
has a second gradient, of <payoff[n_classes + k], mass[k]>, for which only its own
samples are looked at.

Samples are sorted by class and lie in blocks, feature by feature inside a block, so
that vector instructions run across samples. A segment is the part of a block that
belongs to one class, so a class needs no look-up per sample. Loops over a segment take
a view of it first: indices that begin at 0 cannot be negative, and without that doubt
vector instructions are used there too. No classes, no checks, no allocation in loops.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import (
    bits_of_float,
    compiled,
    compiled_apart,
    compiled_in_order,
    compiled_inside,
    float_of_bits,
)

BLOCK = 256
LANES = 8

# A block whose samples pull on a cut by less than this in total cannot change a
# gradient of size 1e-6 (the tightest anyone asks for) in the digits it has.
_NEGLIGIBLE = 1e-20


class Samples(NamedTuple):
    """Training samples in blocks; samples that pad the last block have weight 0.

    ``x`` holds block after block, each as a (n_features, size) array, and ``start``
    where each begins (one more entry than blocks). Block b consists of the segments
    from ``first_segment[b]`` to ``first_segment[b + 1]``, of which ``segment_start``
    and ``segment_class`` tell where each begins and its class. Weights sum to 1.
    """

    x: FloatArray
    start: IntArray
    weight: FloatArray
    first_segment: IntArray
    segment_start: IntArray
    segment_class: IntArray


class Buffers(NamedTuple):
    """Scratch and results of one evaluation; allocated once per solve.

    ``payoff`` has a second half for the classes apart, ``side[k]`` their gradients, the
    level's below the coefficients'. ``value`` has a row to spare. Few arrays are quick
    to compile.
    """

    mass: FloatArray
    payoff: FloatArray
    grad_coef: FloatArray
    grad_level: FloatArray
    apart: IntArray
    side: FloatArray
    branch: FloatArray
    reach: FloatArray
    value: FloatArray
    pull: FloatArray
    columns: IntArray


def make_buffers(n_features: int, n_branches: int, n_classes: int) -> Buffers:
    """Allocate the buffers for a tree."""
    n_leaves = n_branches + 1
    return Buffers(
        np.zeros((n_classes, n_leaves)),
        np.zeros((2 * n_classes, n_leaves)),
        np.zeros((n_features, n_branches)),
        np.zeros(n_branches),
        np.zeros(n_classes, dtype=np.int64),
        np.zeros((n_classes, n_features + 1, n_branches)),
        np.zeros((n_branches, BLOCK)),
        np.zeros((n_branches + n_leaves, BLOCK)),
        np.zeros((n_branches + n_leaves + 1, BLOCK)),
        np.zeros(n_branches),
        np.zeros(n_features, dtype=np.int64),
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
def used_columns(coef: FloatArray, columns: IntArray) -> int:
    """List the columns that some cut uses; return how many there are."""
    n_columns = 0
    for j in range(coef.shape[0]):
        for t in range(coef.shape[1]):
            if coef[j, t] != 0.0:
                columns[n_columns] = j
                n_columns += 1
                break
    return n_columns


@compiled_inside
def _score_one(
    x: FloatArray,
    columns: IntArray,
    n_columns: int,
    coef: FloatArray,
    level: FloatArray,
    slope: float,
    t: int,
    branch: FloatArray,
) -> None:
    """Scores of cut t, four columns at a time."""
    n = x.shape[1]
    for i in range(n):
        branch[t, i] = -level[t] * slope
    c = 0
    while c + 3 < n_columns:
        j0, j1, j2, j3 = columns[c], columns[c + 1], columns[c + 2], columns[c + 3]
        a0, a1 = coef[j0, t] * slope, coef[j1, t] * slope
        a2, a3 = coef[j2, t] * slope, coef[j3, t] * slope
        for i in range(n):
            branch[t, i] += (
                a0 * x[j0, i] + a1 * x[j1, i] + a2 * x[j2, i] + a3 * x[j3, i]
            )
        c += 4
    while c < n_columns:
        j0 = columns[c]
        a0 = coef[j0, t] * slope
        for i in range(n):
            branch[t, i] += a0 * x[j0, i]
        c += 1


@compiled_inside
def _score_three(
    x: FloatArray,
    columns: IntArray,
    n_columns: int,
    coef: FloatArray,
    level: FloatArray,
    slope: float,
    t: int,
    branch: FloatArray,
) -> None:
    """Scores of cuts t, t + 1, t + 2, two columns at a time: each x is read once."""
    n = x.shape[1]
    for i in range(n):
        branch[t, i] = -level[t] * slope
        branch[t + 1, i] = -level[t + 1] * slope
        branch[t + 2, i] = -level[t + 2] * slope
    c = 0
    while c < n_columns:
        j0 = columns[c]
        a0, b0, c0 = (
            coef[j0, t] * slope,
            coef[j0, t + 1] * slope,
            coef[j0, t + 2] * slope,
        )
        if c + 1 < n_columns:
            j1 = columns[c + 1]
            a1, b1 = coef[j1, t] * slope, coef[j1, t + 1] * slope
            c1 = coef[j1, t + 2] * slope
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
    coef: FloatArray,
    level: FloatArray,
    slope: float,
    branch: FloatArray,
) -> None:
    """Scores u of all cuts on one block; 2^D - 1 cuts are threes and at most a one."""
    n_branches = coef.shape[1]
    for t in range(0, n_branches - 2, 3):
        _score_three(x, columns, n_columns, coef, level, slope, t, branch)
    for t in range(n_branches - n_branches % 3, n_branches):
        _score_one(x, columns, n_columns, coef, level, slope, t, branch)


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
    d, pull, grad = buffers.branch, buffers.pull, buffers.grad_coef
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
        buffers.grad_level[t] -= slope * total


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
            mass[samples.segment_class[s], leaf] += total


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
            payoff = buffers.payoff[samples.segment_class[s], leaf]
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
def _dot(one: FloatArray, other: FloatArray) -> float:
    """Sum of products of two rows."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


@compiled_apart
def _add_apart(
    samples: Samples, b: int, x: FloatArray, slope: float, buffers: Buffers
) -> None:
    """Add a block's share of the gradients of the classes apart.

    The same as for the whole block, on few samples and so one cut at a time.
    """
    n_branches, first = buffers.pull.size, samples.start[b]
    branch, reach, value = buffers.branch, buffers.reach, buffers.value
    p, n_classes = x.shape[0], buffers.apart.size
    for s in range(samples.first_segment[b], samples.first_segment[b + 1]):
        k = samples.segment_class[s]
        if buffers.apart[k] == 0:
            continue
        begin = samples.segment_start[s] - first
        end = samples.segment_start[s + 1] - first
        for leaf in range(n_branches + 1):
            for i in range(begin, end):
                value[n_branches + leaf, i] = buffers.payoff[n_classes + k, leaf]
        pull = value[2 * n_branches + 1, begin:end]
        for step in range(n_branches):
            t = n_branches - 1 - step
            for i in range(begin, end):
                gain = value[2 * t + 1, i] - value[2 * t + 2, i]
                value[t, i] = value[2 * t + 2, i] + branch[t, i] * gain
                pull[i - begin] = reach[t, i] * gain * density(branch[t, i])
            for j in range(p):
                buffers.side[k, j, t] += slope * _dot(pull, x[j, begin:end])
            for i in range(pull.size):
                buffers.side[k, p, t] -= slope * pull[i]


@compiled_inside
def _clear(buffers: Buffers, with_gradient: bool) -> None:
    for k in range(buffers.mass.shape[0]):
        for leaf in range(buffers.mass.shape[1]):
            buffers.mass[k, leaf] = 0.0
    if with_gradient:
        for t in range(buffers.grad_level.size):
            buffers.grad_level[t] = 0.0
            for j in range(buffers.grad_coef.shape[0]):
                buffers.grad_coef[j, t] = 0.0
        for k in range(buffers.apart.size):
            for j in range(buffers.side.shape[1]):
                for t in range(buffers.grad_level.size):
                    buffers.side[k, j, t] = 0.0


@compiled
def accumulate(
    samples: Samples,
    coef: FloatArray,
    level: FloatArray,
    slope: float,
    with_gradient: bool,
    buffers: Buffers,
) -> None:
    """Fill ``mass`` and, if asked, the gradient of <payoff, mass> in coef and level.

    With it come the gradients of the classes marked ``apart``.
    """
    p, n_branches = coef.shape
    _clear(buffers, with_gradient)
    n_columns = used_columns(coef, buffers.columns)
    for b in range(samples.start.size - 1):
        first, last = samples.start[b], samples.start[b + 1]
        n = last - first
        x = samples.x[p * first : p * last].reshape(p, n)
        fill_scores(x, buffers.columns, n_columns, coef, level, slope, buffers.branch)
        fill_cdf(buffers.branch, n_branches, n)
        _descend_reach(samples, b, buffers)
        if with_gradient:
            _add_apart(samples, b, x, slope, buffers)
            _ascend_value(samples, b, buffers)
            _add_gradient(x, slope, buffers)
