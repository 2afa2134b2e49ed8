"""Compiled products of samples and cuts: scores forwards, gradients backwards.

Both run over one block of samples, which lies column by column, so that vector
instructions run across samples. Three cuts (or slopes of leaves) are done at a time,
the rest singly: a number that was loaded once is then used three times.
"""

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_inside

# A block is skipped for a cut if the derivatives of its samples add up to less than
# this: that changes no digit of a gradient of size 1e-6, the smallest that matters.
_NEGLIGIBLE = 1e-20


@compiled_inside
def used_columns(cuts: FloatArray, dense: IntArray, columns: IntArray) -> int:
    """List the places in x of columns that some cut uses; return how many there are."""
    n_columns = 0
    for r in range(dense.size):
        for t in range(cuts.shape[1]):
            if cuts[dense[r], t] != 0.0:
                columns[n_columns] = r
                n_columns += 1
                break
    return n_columns


@compiled_inside
def _score_one(
    x: FloatArray,
    dense: IntArray,
    columns: IntArray,
    n_columns: int,
    cuts: FloatArray,
    slope: float,
    t: int,
    branch: FloatArray,
) -> None:
    """Scores of cut t, four columns at a time."""
    p, n = cuts.shape[0] - 1, x.shape[1]
    for i in range(n):
        branch[t, i] = -cuts[p, t] * slope
    c = 0
    while c + 3 < n_columns:
        j0, j1, j2, j3 = columns[c], columns[c + 1], columns[c + 2], columns[c + 3]
        a0, a1 = cuts[dense[j0], t] * slope, cuts[dense[j1], t] * slope
        a2, a3 = cuts[dense[j2], t] * slope, cuts[dense[j3], t] * slope
        for i in range(n):
            branch[t, i] += (
                a0 * x[j0, i] + a1 * x[j1, i] + a2 * x[j2, i] + a3 * x[j3, i]
            )
        c += 4
    while c < n_columns:
        j0 = columns[c]
        a0 = cuts[dense[j0], t] * slope
        for i in range(n):
            branch[t, i] += a0 * x[j0, i]
        c += 1


@compiled_inside
def _score_three(
    x: FloatArray,
    dense: IntArray,
    columns: IntArray,
    n_columns: int,
    cuts: FloatArray,
    slope: float,
    t: int,
    branch: FloatArray,
) -> None:
    """Scores of cuts t, t + 1, t + 2, two columns at a time: each x is read once."""
    p, n = cuts.shape[0] - 1, x.shape[1]
    for i in range(n):
        branch[t, i] = -cuts[p, t] * slope
        branch[t + 1, i] = -cuts[p, t + 1] * slope
        branch[t + 2, i] = -cuts[p, t + 2] * slope
    c = 0
    while c < n_columns:
        j0 = columns[c]
        a0, b0, c0 = (
            cuts[dense[j0], t] * slope,
            cuts[dense[j0], t + 1] * slope,
            cuts[dense[j0], t + 2] * slope,
        )
        if c + 1 < n_columns:
            j1 = columns[c + 1]
            a1, b1 = cuts[dense[j1], t] * slope, cuts[dense[j1], t + 1] * slope
            c1 = cuts[dense[j1], t + 2] * slope
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
    dense: IntArray,
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
        _score_three(x, dense, columns, n_columns, cuts, slope, t, branch)
    for t in range(n_scores - n_scores % 3, n_scores):
        _score_one(x, dense, columns, n_columns, cuts, slope, t, branch)


@compiled_inside
def _gradient_one(
    x: FloatArray,
    dense: IntArray,
    d: FloatArray,
    t: int,
    slope: float,
    grad: FloatArray,
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
        grad[dense[j], t] += slope * s0
        grad[dense[j + 1], t] += slope * s1
        grad[dense[j + 2], t] += slope * s2
        grad[dense[j + 3], t] += slope * s3
        j += 4
    while j < p:
        s0 = 0.0
        for i in range(n):
            s0 += d[t, i] * x[j, i]
        grad[dense[j], t] += slope * s0
        j += 1


@compiled_inside
def _gradient_three(
    x: FloatArray,
    dense: IntArray,
    d: FloatArray,
    t: int,
    slope: float,
    grad: FloatArray,
) -> None:
    """Add sum_i d_ti x_ji to columns t, t + 1, t + 2, two rows at a time."""
    p, n = x.shape
    if n < 1:
        # Where sums cannot be empty, each is multiplied and added in one instruction.
        return
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
        grad[dense[j], t] += slope * s0
        grad[dense[j], t + 1] += slope * s1
        grad[dense[j], t + 2] += slope * s2
        grad[dense[j + 1], t] += slope * r0
        grad[dense[j + 1], t + 1] += slope * r1
        grad[dense[j + 1], t + 2] += slope * r2
        j += 2
    if j < p:
        for u in range(t, t + 3):
            s0 = 0.0
            for i in range(n):
                s0 += d[u, i] * x[j, i]
            grad[dense[j], u] += slope * s0


@compiled_inside
def add_gradient(
    x: FloatArray,
    dense: IntArray,
    d: FloatArray,
    pull: FloatArray,
    slope: float,
    grad: FloatArray,
) -> None:
    """Add the block's share of the gradient, d being the derivatives of the scores.

    Cuts with no sample near, whose ``pull`` is the sum of |d|, are skipped.
    """
    for t in range(0, pull.size - 2, 3):
        if pull[t] + pull[t + 1] + pull[t + 2] > _NEGLIGIBLE:
            _gradient_three(x, dense, d, t, slope, grad)
    for t in range(pull.size - pull.size % 3, pull.size):
        if pull[t] > _NEGLIGIBLE:
            _gradient_one(x, dense, d, t, slope, grad)
    for t in range(pull.size):
        total = 0.0
        for i in range(x.shape[1]):
            total += d[t, i]
        grad[grad.shape[0] - 1, t] -= slope * total


@compiled_inside
def add_level_scores(
    level: IntArray, n: int, cuts: FloatArray, slope: float, branch: FloatArray
) -> None:
    """Add to the scores what the levels of long categories weigh.

    ``level`` has n entries, one per row, of one category after the other.
    """
    for first in range(0, level.size, n):
        for i in range(n):
            j = level[first + i]
            if j >= 0:
                for t in range(cuts.shape[1]):
                    branch[t, i] += slope * cuts[j, t]


@compiled_inside
def add_level_gradient(
    level: IntArray, n: int, d: FloatArray, slope: float, grad: FloatArray
) -> None:
    """Add to the gradient the derivatives of the rows that have a level."""
    for first in range(0, level.size, n):
        for i in range(n):
            j = level[first + i]
            if j >= 0:
                for t in range(grad.shape[1]):
                    grad[j, t] += slope * d[t, i]
