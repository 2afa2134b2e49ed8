"""ExpectedCost: the training sample as the solver sees it, and its expected cost.

Left of this module there are names and units, from here on only float64 in [0, 1].
Rows are put in a canonical order and equal rows are merged, their weights added: a
permutation of the rows changes nothing, to the last bit, and weight 2 is the same
problem as the row twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.problem.constraints import fill_recall
from sorct.problem.kernels import BLOCK, LANES, Samples, accumulate, make_buffers
from sorct.tree.params import Params

# Rows that a search looks at; the tree it finds is finished on all.
MANY_ROWS = 16_384


def _row_keys(columns: Sequence[FloatArray], n_rows: int) -> IntArray:
    """Hash every row by its bits (sums of odd multiples modulo 2^64)."""
    odd = 2 * np.random.default_rng(0).integers(1, 2**62, len(columns), np.int64) + 1
    keys = np.zeros(n_rows, dtype=np.int64)
    for j in range(len(columns)):
        # Adding 0 turns -0.0 into 0.0, which has other bits but is equal.
        bits = (columns[j] + 0.0).view(np.int64)
        mixed = (bits ^ (bits >> 29)) * odd[j]
        keys += mixed ^ (mixed >> 32)
    return keys


def _merge_equal_rows(
    columns: Sequence[FloatArray], codes: IntArray, weight: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Order rows by class, then key; return the rows kept and their total weights."""
    keys = _row_keys(columns, len(codes))
    order = np.lexsort((keys, codes))
    above, below = order[:-1], order[1:]
    equal = (codes[above] == codes[below]) & (keys[above] == keys[below])
    pairs = np.flatnonzero(equal)
    for j in range(len(columns) if pairs.size else 0):
        column = columns[j]
        equal[pairs] &= column[above[pairs]] == column[below[pairs]]
    begins = np.flatnonzero(np.append(True, ~equal))
    return order[begins], _sum_groups(weight[order], begins)


def _sum_groups(values: FloatArray, begins: IntArray) -> FloatArray:
    """Sum of every group, rounded once: neither order nor repetition matters."""
    total = values[begins]
    ends = np.append(begins[1:], len(values))
    for group in np.flatnonzero(ends - begins > 1):
        total[group] = math.fsum(values[begins[group] : ends[group]])
    return total


def make_samples(
    columns: Sequence[FloatArray],
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
) -> Samples:
    """Lay the samples out for the kernels (see ``_kernels.Samples``)."""
    rows, total = _merge_equal_rows(columns, codes, weight)
    return _lay_out(columns, rows, codes[rows], total, n_classes)


def _lay_out(
    columns: Sequence[FloatArray],
    rows: IntArray,
    codes: IntArray,
    total: FloatArray,
    n_classes: int,
) -> Samples:
    """Blocks of the rows given, which come with their codes, sorted, and weights."""
    n_rows, p = len(rows), len(columns)
    n_padded = -(-n_rows // LANES) * LANES
    start = np.append(np.arange(0, n_padded, BLOCK), n_padded)
    x, padded = np.zeros(p * n_padded), np.zeros(n_padded)
    padded[:n_rows] = total / total.sum()
    n_whole = n_rows // BLOCK
    whole = x[: p * BLOCK * n_whole].reshape(n_whole, p, BLOCK)
    rest = x[p * BLOCK * n_whole :].reshape(p, -1)
    for j in range(p):
        column = columns[j][rows]
        whole[:, j] = column[: BLOCK * n_whole].reshape(n_whole, BLOCK)
        rest[j, : n_rows - BLOCK * n_whole] = column[BLOCK * n_whole :]
    # Samples that only pad count as of the last class, with weight 0.
    class_start = np.searchsorted(codes, np.arange(n_classes))
    segment_start = np.union1d(start, class_start)
    segment_class = np.searchsorted(class_start, segment_start[:-1], side="right") - 1
    first_segment = np.searchsorted(segment_start, start)
    return Samples(x, start, padded, first_segment, segment_start, segment_class)


def _spread(codes: IntArray, n_classes: int, n_most: int) -> IntArray:
    """Positions of at most n_most of the samples, which are sorted by class."""
    if codes.size <= n_most:
        return np.arange(codes.size)
    parts = []
    for k in range(n_classes):
        first, last = np.searchsorted(codes, [k, k + 1])
        size = last - first
        quota = max(n_most // (2 * n_classes), 1) + n_most // 2 * size // codes.size
        n_taken = min(size, quota)
        parts.append(first + np.arange(n_taken) * size // n_taken)
    return np.concatenate(parts)


class Rows(NamedTuple):
    """Samples as a table: X of shape (n_features, n), codes and weights > 0."""

    X: FloatArray
    codes: IntArray
    weight: FloatArray

    def take(self, which: AnyArray | slice) -> Rows:
        """Part of the rows, by a mask, positions or a slice."""
        return Rows(self.X[:, which], self.codes[which], self.weight[which])


@dataclass(frozen=True)
class ExpectedCost:
    """Expected misclassification cost of a tree on a training sample (paper, g).

    g = sum_{k,l} cost_matrix[k, leaf_class[l]] mass[k, l], with weights that sum to 1.

    Attributes
    ----------
    samples : Samples
    cost_matrix : array of shape (n_classes, n_classes)
        Cost of predicting the column's class for a sample of the row's class.
    share : array of shape (n_classes,), weight of every class, sums to 1
    centre : array of shape (n_features,), weighted mean of every column
    spread : array of shape (n_features,), weighted variance of every column
    """

    samples: Samples
    cost_matrix: FloatArray
    share: FloatArray
    centre: FloatArray
    spread: FloatArray

    @classmethod
    def from_columns(
        cls,
        columns: Sequence[FloatArray],
        codes: IntArray,
        weight: FloatArray,
        cost_matrix: FloatArray,
    ) -> ExpectedCost:
        """Prepare samples given column by column, with class codes and weights > 0.

        Columns may be made when asked for: one at a time is held.
        """
        samples = make_samples(columns, codes, weight, len(cost_matrix))
        return cls._of_samples(samples, len(columns), cost_matrix)

    @classmethod
    def _of_samples(
        cls, samples: Samples, p: int, cost_matrix: FloatArray
    ) -> ExpectedCost:
        centre, square = np.zeros(p), np.zeros(p)
        for b in range(len(samples.start) - 1):
            x, block_weight = _block(samples, b, p)
            centre += x @ block_weight
            square += (x * x) @ block_weight
        share = np.zeros(len(cost_matrix))
        segment_weight = np.add.reduceat(samples.weight, samples.segment_start[:-1])
        np.add.at(share, samples.segment_class, segment_weight)
        spread = np.maximum(square - centre**2, 0.0)
        return cls(samples, cost_matrix, share, centre, spread)

    @classmethod
    def from_data(
        cls,
        X: FloatArray,
        codes: IntArray,
        weight: FloatArray,
        cost_matrix: FloatArray,
    ) -> ExpectedCost:
        """Prepare samples X in [0, 1] of shape (n_samples, n_features)."""
        return cls.from_columns(list(X.T), codes, weight, cost_matrix)

    @classmethod
    def from_rows(cls, rows: Rows, cost_matrix: FloatArray) -> ExpectedCost:
        """Prepare rows taken from another sample, where equal ones were merged."""
        order = np.argsort(rows.codes, kind="stable")
        codes, weight = rows.codes[order], rows.weight[order]
        samples = _lay_out(list(rows.X), order, codes, weight, len(cost_matrix))
        return cls._of_samples(samples, len(rows.X), cost_matrix)

    @property
    def n_features(self) -> int:
        """Number of columns of the scaled table."""
        return len(self.centre)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.share)

    @property
    def trivial_cost(self) -> float:
        """Expected cost of always predicting the cheapest class."""
        return float((self.share @ self.cost_matrix).min())

    @cached_property
    def rows(self) -> Rows:
        """All samples as a table, or at most about ``MANY_ROWS`` of them.

        Those are spread evenly within every class, and small classes come whole: a rare
        class must not get lost. Their weights are such that every class keeps its own.
        """
        samples = self.samples
        n_real = int(np.count_nonzero(samples.weight))
        codes = np.repeat(samples.segment_class, np.diff(samples.segment_start))[
            :n_real
        ]
        chosen = _spread(codes, self.n_classes, MANY_ROWS)
        codes, weight = codes[chosen], samples.weight[chosen]
        kept = np.bincount(codes, weight, self.n_classes)
        X = np.empty((self.n_features, chosen.size))
        for b in range(len(samples.start) - 1):
            first, last = np.searchsorted(chosen, samples.start[b : b + 2])
            block = _block(samples, b, self.n_features)[0]
            X[:, first:last] = block[:, chosen[first:last] - samples.start[b]]
        return Rows(X, codes, weight * (self.share / kept)[codes])

    def mass(self, params: Params, gamma: float) -> FloatArray:
        """Class-by-leaf mass matrix of shape (n_classes, n_leaves), sums to 1."""
        p = self.n_features
        buffers = make_buffers(p, params.threshold.size, self.n_classes)
        level = p * params.threshold
        accumulate(self.samples, params.coef, level, gamma / p, False, buffers)
        return buffers.mass

    def value(self, mass: FloatArray, leaf_class: IntArray) -> float:
        """Expected cost for given masses and labels."""
        return float(np.sum(self.cost_matrix[:, leaf_class] * mass))

    def recall(self, mass: FloatArray, leaf_class: IntArray) -> FloatArray:
        """Expected recall of every class for given masses and labels."""
        recall = np.zeros(self.n_classes)
        fill_recall(mass, self.share, leaf_class, recall)
        return recall


def _block(samples: Samples, b: int, p: int) -> tuple[FloatArray, FloatArray]:
    """Columns (n_features, size) and weights of block b."""
    first, last = samples.start[b], samples.start[b + 1]
    x = samples.x[p * first : p * last].reshape(p, last - first)
    return x, samples.weight[first:last]
