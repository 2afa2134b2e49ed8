"""Samples: training rows as the solver sees them, in blocks, and what is known of them.

Left of this module there are names and units, from here on only float64 in [0, 1] and
codes. A code is whatever a table of payoffs has a row for: a class, for a classifier.
Where a quantity is predicted there is one code, and every sample has a response.
Rows are put in a canonical order and equal rows are merged, their weights added: a
permutation of the rows changes nothing, to the last bit, and weight 2 is the same
problem as the row twice.

What training needs of a block of rows (masses and gradients) adds up over blocks, so
rows may as well come in parts (``parts.py``). NumPy only; ``problem/kernels.py`` reads
the layout.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.cache_lines import on_a_line
from sorct.data.given_columns import GivenColumns, HeldColumns, held
from sorct.data.in_order import in_order
from sorct.data.level_rows import (
    Cells,
    LevelRows,
    column_sums,
    laid_flat,
    same_rows,
    side_by_side,
    written_out,
)

# Rows of a block; a block has a multiple of LANES of them, which vector instructions
# take together.
BLOCK = 256
LANES = 8
# Where columns are more than so many, a block has so few rows that it stays near the
# processor between scores and gradients.
_MANY_COLUMNS, _SMALL_BLOCK = 4096, 32

# Rows that a search looks at; the tree it finds is finished on all.
MANY_ROWS = 16_384
# Cells that a thread encodes, or hashes, at a time: they stay near the processor.
_AT_ONCE, _HASHED_AT_ONCE = 2**18, 2**16


class Samples(NamedTuple):
    """Training samples in blocks; samples that pad the last block have weight 0.

    ``x`` holds block after block, each as a (n_dense, size) array, and ``start`` where
    each begins (one more entry than blocks). ``dense`` are the columns written out in
    it: all of them, unless there are long categories; then ``level`` has, laid out
    alike, the column of each that is 1, or -1 (see ``level_rows.py``). Block b consists
    of the segments from ``first_segment[b]`` to ``first_segment[b + 1]``: the parts of
    it that belong to one code. ``segment_start`` and ``segment_code`` tell where each
    begins and its code. Weights sum to 1. ``response`` has the quantity to predict,
    sample by sample; it is empty where there is none. ``extra`` is empty, or has two
    numbers a, b per sample: it pays a r + b r^2 beside the loss of its residual r.
    """

    x: FloatArray
    weight: FloatArray
    start: IntArray
    first_segment: IntArray
    segment_start: IntArray
    segment_code: IntArray
    response: FloatArray
    n_columns: int
    dense: IntArray
    level: IntArray
    extra: FloatArray = np.zeros(0)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.start) - 1

    @property
    def n_rows(self) -> int:
        """Number of samples, without those that only pad."""
        return int(np.count_nonzero(self.weight))

    @property
    def width(self) -> int:
        """Numbers that are held of a sample: cells, and places of levels."""
        return (len(self.x) + len(self.level)) // len(self.weight)

    @property
    def codes(self) -> IntArray:
        """Code of every sample, without those that only pad; in rising order."""
        size = np.diff(self.segment_start)
        return np.repeat(self.segment_code, size)[: self.n_rows]

    def cells(self, b: int) -> Cells:
        """Cells of block b, of shape (n_columns, size)."""
        first, last = self.start[b], self.start[b + 1]
        q, n_levels = self.dense.size, self.level.size // self.weight.size
        x = self.x[q * first : q * last].reshape(q, last - first)
        if n_levels == 0:
            return x
        level = self.level[n_levels * first : n_levels * last].reshape(n_levels, -1)
        return LevelRows(self.n_columns, self.dense, x, level)

    def block(self, b: int) -> tuple[FloatArray, FloatArray]:
        """Columns (n_columns, size) and weights of block b."""
        rows = slice(self.start[b], self.start[b + 1])
        return written_out(self.cells(b)), self.weight[rows]

    def column_sums(self) -> tuple[FloatArray, FloatArray]:
        """Weighted sums of the columns, and of their squares, block by block."""
        centre, square = np.zeros((2, self.n_columns))
        for b in range(self.n_blocks):
            weight = self.weight[self.start[b] : self.start[b + 1]]
            own = column_sums(self.cells(b), weight)
            centre += own[0]
            square += own[1]
        return centre, square

    def some_columns(self, columns: IntArray) -> Samples:
        """The same rows with some of their columns."""
        parts = [self.cells(b)[columns] for b in range(self.n_blocks)]
        return self._replace(**laid_flat(parts, len(columns)))

    def part(self, first: int, last: int) -> Samples:
        """Blocks from first to last, without the last; views, nothing is copied."""
        begin, end = self.start[first], self.start[last]
        low, high = self.first_segment[first], self.first_segment[last]
        q, n_levels = self.dense.size, self.level.size // self.weight.size
        return Samples(
            self.x[q * begin : q * end],
            self.weight[begin:end],
            self.start[first : last + 1] - begin,
            self.first_segment[first : last + 1] - low,
            self.segment_start[low : high + 1] - begin,
            self.segment_code[low:high],
            self.response[begin:end],
            self.n_columns,
            self.dense,
            self.level[n_levels * begin : n_levels * end],
            self.extra[2 * begin : 2 * end],
        )


class Rows(NamedTuple):
    """Samples as a table: X of shape (n_columns, n), codes and weights > 0.

    ``response`` is None where no quantity is predicted.
    """

    X: Cells
    codes: IntArray
    weight: FloatArray
    response: FloatArray | None = None

    def take(self, which: AnyArray | slice) -> Rows:
        """Part of the rows, by a mask, positions or a slice."""
        response = None if self.response is None else self.response[which]
        return Rows(self.X[:, which], self.codes[which], self.weight[which], response)

    def with_shares(self, share: FloatArray) -> Rows:
        """The same rows with weights such that every code has a given share."""
        kept = np.bincount(self.codes, self.weight, share.size)
        return self._replace(weight=self.weight * (share / kept)[self.codes])


def make_samples(
    columns: GivenColumns,
    codes: IntArray,
    weight: FloatArray,
    n_codes: int,
    response: FloatArray | None = None,
) -> Samples:
    """Order, merge and lay out samples given by columns, with weights > 0."""
    n_threads = threads_for(len(codes))
    rows, codes, share, response = merged_rows(columns, codes, weight, response)
    return lay_out(columns, rows, codes, share, n_codes, response, n_threads)


def merged_rows(
    columns: GivenColumns,
    codes: IntArray,
    weight: FloatArray,
    response: FloatArray | None,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray | None]:
    """Put rows in order, equal ones merged: their places, codes, shares, responses."""
    n_threads = threads_for(len(codes))
    rows, total = merge_equal_rows(columns, codes, weight, response, n_threads)
    response = None if response is None else response[rows]
    return rows, codes[rows], total / total.sum(), response


def lay_out_part(
    columns: GivenColumns,
    codes: IntArray,
    weight: FloatArray,
    n_codes: int,
    response: FloatArray | None = None,
) -> Samples:
    """Lay out some of the rows, with their shares of the weight of all of them."""
    order = np.argsort(codes, kind="stable")
    response = None if response is None else response[order]
    return lay_out(columns, order, codes[order], weight[order], n_codes, response)


def row_keys(columns: GivenColumns, n_rows: int, n_threads: int = 1) -> IntArray:
    """Hash every row by its bits (sums of odd multiples modulo 2^64)."""
    odd = 2 * np.random.default_rng(0).integers(1, 2**62, len(columns), np.int64) + 1
    size = _whole_blocks(_HASHED_AT_ONCE, len(columns))

    def keys(first: int) -> IntArray:
        return _keys(columns.some_rows(slice(first, first + size)), odd)

    firsts = range(0, n_rows, size)
    return np.concatenate(list(in_order(keys, firsts, n_threads)))


def _whole_blocks(n_cells: int, n_columns: int) -> int:
    """Rows of as many blocks as have about so many cells."""
    return max(n_cells // (BLOCK * max(n_columns, 1)), 1) * BLOCK


def _keys(cells: Cells, odd: IntArray) -> IntArray:
    if isinstance(cells, LevelRows):
        # Zeros add nothing, a one what the column's own key is.
        keys, ones = _keys(cells.x, odd[cells.dense]), np.ones(odd.size + 1)
        of_one = _mixed(ones, np.append(odd, 0))
        return np.asarray(keys + of_one[cells.level].sum(axis=0))
    return np.asarray(_mixed(cells, odd[:, np.newaxis]).sum(axis=0))


def _mixed(x: FloatArray, odd: IntArray) -> IntArray:
    # Adding 0 turns -0.0 into 0.0, which has other bits but is equal.
    bits = (x + 0.0).view(np.int64)
    mixed = bits >> 29
    mixed ^= bits
    mixed *= odd
    np.right_shift(mixed, 32, out=bits)
    mixed ^= bits
    return mixed


def threads_for(n_rows: int) -> int:
    """Threads that work on a table as a whole: one, unless it has very many rows."""
    return 1 if n_rows <= MANY_ROWS else os.cpu_count() or 1


def merge_equal_rows(
    columns: GivenColumns,
    codes: IntArray,
    weight: FloatArray,
    response: FloatArray | None = None,
    n_threads: int = 1,
) -> tuple[IntArray, FloatArray]:
    """Order rows by code, key and response; return rows kept and total weights."""
    keys = row_keys(columns, len(codes), n_threads)
    # Keys before responses: the first rows of a code are as good as any.
    order = np.argsort(keys) if response is None else np.lexsort((response, keys))
    order = order[np.argsort(_narrow(codes)[order], kind="stable")]
    above, below = order[:-1], order[1:]
    equal = (codes[above] == codes[below]) & (keys[above] == keys[below])
    if response is not None:
        equal &= response[above] == response[below]
    pairs = np.flatnonzero(equal)
    size = _whole_blocks(_AT_ONCE, len(columns))
    for first in range(0, pairs.size, size):
        some = pairs[first : first + size]
        both = columns.some_rows(above[some]), columns.some_rows(below[some])
        equal[some] &= same_rows(*both)
    begins = np.flatnonzero(np.append(True, ~equal))
    return order[begins], _sum_groups(weight[order], begins)


def _narrow(codes: IntArray) -> IntArray:
    """Codes as numbers of two bytes, which are sorted quickest, if they fit."""
    return codes.astype(np.uint16) if codes.max(initial=0) < 2**16 else codes


def _sum_groups(values: FloatArray, begins: IntArray) -> FloatArray:
    """Exact sum of every group, rounded once, so that the order does not matter."""
    total = values[begins]
    ends = np.append(begins[1:], len(values))
    for group in np.flatnonzero(ends - begins > 1):
        total[group] = math.fsum(values[begins[group] : ends[group]])
    return total


def lay_out(
    columns: GivenColumns,
    rows: IntArray,
    codes: IntArray,
    total: FloatArray,
    n_codes: int,
    response: FloatArray | None,
    n_threads: int = 1,
) -> Samples:
    """Blocks of the rows given, which come with their codes, sorted, and the rest."""
    n_rows, n_padded = len(rows), -(-len(rows) // LANES) * LANES
    padded = on_a_line(n_padded)
    padded[:n_rows] = total
    size = _whole_blocks(_AT_ONCE, len(columns))
    given = columns.some_rows(rows[:size])
    dense, n_levels = np.arange(len(columns)), 0
    if isinstance(given, LevelRows):
        dense, n_levels = given.dense, len(given.level)
    x, level = on_a_line(dense.size * n_padded), np.full(n_levels * n_padded, -1)
    block = BLOCK if dense.size <= _MANY_COLUMNS else _SMALL_BLOCK
    start = np.append(np.arange(0, n_padded, block), n_padded)

    def fill(first: int) -> None:
        cells = given if first == 0 else columns.some_rows(rows[first : first + size])
        if isinstance(cells, LevelRows):
            _fill_blocks(level, first, cells.level, block)
            cells = cells.x
        _fill_blocks(x, first, cells, block)

    for _ in in_order(fill, range(0, n_rows, size), n_threads):
        pass
    # Samples that only pad count as of the last code, with weight 0.
    code_start = np.searchsorted(codes, np.arange(n_codes))
    segment_start = np.union1d(start, code_start)
    segment_code = np.searchsorted(code_start, segment_start[:-1], side="right") - 1
    first_segment = np.searchsorted(segment_start, start)
    after = np.zeros(n_padded - n_rows)
    responses = after[:0] if response is None else np.append(response, after)
    return Samples(
        x, padded, start, first_segment, segment_start, segment_code, responses,
        len(columns), dense, level,
    )  # fmt: skip


def _fill_blocks(out: AnyArray, first: int, given: AnyArray, size: int) -> None:
    """Lay out rows (p, n), of which the first begins a block; the last may be cut."""
    p, n = given.shape
    if p == 0:
        return
    n_padded, n_whole = len(out) // p, n // size
    last = first + size * n_whole
    blocks = out[p * first : p * last].reshape(n_whole, p, size)
    blocks[:] = given[:, : last - first].reshape(p, n_whole, size).transpose(1, 0, 2)
    if first + n > last:
        block = out[p * last : p * min(last + size, n_padded)].reshape(p, -1)
        block[:, : first + n - last] = given[:, last - first :]


def quotas(share: FloatArray, n_most: int) -> IntArray:
    """How many rows of every code come to a search that looks at n_most in all.

    Half of the places are shared out evenly among the codes, half by their shares.
    """
    even = max(n_most // (2 * share.size), 1)
    # Shares are sums: a rounding must not cost a row.
    return even + np.floor(n_most // 2 * share + 1e-6).astype(np.int64)


def _pick(codes: IntArray, share: FloatArray, n_most: int) -> IntArray:
    """Positions of at most n_most of the samples, which are sorted by code.

    Of every code the first ones come. Samples are in the order of their keys, which is
    as good as any random order.
    """
    if codes.size <= n_most:
        return np.arange(codes.size)
    first = np.searchsorted(codes, np.arange(share.size + 1))
    n_taken = np.minimum(np.diff(first), quotas(share, n_most))
    return np.concatenate(
        [begin + np.arange(n) for begin, n in zip(first, n_taken, strict=False)]
    )


@dataclass(frozen=True)
class TrainingSet:
    """Samples and what is known of them without any tree.

    Attributes
    ----------
    samples : Samples
    share : array of shape (n_codes,), weight of every code, sums to 1
    centre : array of shape (n_columns,), weighted mean of every column
    variance : array of shape (n_columns,), weighted variance of every column
    """

    samples: Samples
    share: FloatArray
    centre: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, samples: Samples, n_codes: int) -> TrainingSet:
        """Measure the samples, block by block."""
        centre, square = samples.column_sums()
        share = np.zeros(n_codes)
        segment_weight = np.add.reduceat(samples.weight, samples.segment_start[:-1])
        np.add.at(share, samples.segment_code, segment_weight)
        variance = np.maximum(square - centre**2, 0.0)
        return cls(samples, share, centre, variance)

    @classmethod
    def from_columns(
        cls,
        columns: GivenColumns,
        codes: IntArray,
        weight: FloatArray,
        n_codes: int,
        response: FloatArray | None = None,
    ) -> TrainingSet:
        """Prepare samples given by columns, with codes and weights > 0."""
        return cls.of(make_samples(columns, codes, weight, n_codes, response), n_codes)

    @classmethod
    def from_data(
        cls,
        X: FloatArray,
        codes: IntArray,
        weight: FloatArray,
        n_codes: int,
        response: FloatArray | None = None,
    ) -> TrainingSet:
        """Prepare samples X in [0, 1] of shape (n_samples, n_columns)."""
        return cls.from_columns(HeldColumns(X.T), codes, weight, n_codes, response)

    @classmethod
    def from_rows(cls, rows: Rows, n_codes: int) -> TrainingSet:
        """Prepare rows taken from another set, where equal ones were merged."""
        order = np.argsort(rows.codes, kind="stable")
        codes, weight = rows.codes[order], rows.weight[order]
        weight = weight / weight.sum()
        response = None if rows.response is None else rows.response[order]
        laid = lay_out(held(rows.X), order, codes, weight, n_codes, response)
        return cls.of(laid, n_codes)

    def some_columns(self, columns: IntArray) -> TrainingSet:
        """The same rows with some of their columns."""
        samples = self.samples.some_columns(columns)
        centre, variance = self.centre[columns], self.variance[columns]
        return TrainingSet(samples, self.share, centre, variance)

    @property
    def n_columns(self) -> int:
        """Number of columns of the scaled table."""
        return len(self.centre)

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.share)

    @property
    def blocks(self) -> Any:
        """What rows are taken from, block by block: samples, or what becomes such."""
        return self.samples

    @property
    def all_rows(self) -> Any:
        """What sums over all rows are asked of: samples, or parts."""
        return self.samples

    @cached_property
    def rows(self) -> Rows:
        """All samples as a table, or at most about ``MANY_ROWS`` of them."""
        return self.drawn_rows(MANY_ROWS)

    def drawn_rows(self, n_most: int) -> Rows:
        """All samples as a table, or at most about so many of them.

        Those are drawn by their keys within every code, and small codes come whole: a
        rare class must not get lost. Their weights are such that every code keeps its
        own.
        """
        return self.taken(self.drawn_places(n_most)).with_shares(self.share)

    def drawn_places(self, n_most: int) -> IntArray:
        """Positions of the samples that ``drawn_rows`` has."""
        return _pick(self.blocks.codes, self.share, n_most)

    def taken(self, chosen: IntArray) -> Rows:
        """Some samples as a table, by their positions in rising order."""
        samples, parts = self.samples, []
        for b in range(samples.n_blocks):
            first, last = np.searchsorted(chosen, samples.start[b : b + 2])
            parts.append(samples.cells(b)[:, chosen[first:last] - samples.start[b]])
        X = side_by_side(parts)
        response = samples.response[chosen] if samples.response.size else None
        return Rows(X, samples.codes[chosen], samples.weight[chosen], response)

    @property
    def subsampled(self) -> TrainingSet:
        """The set of ``rows``: itself, unless there are very many."""
        if (n := self.blocks.n_rows) <= MANY_ROWS or self.rows.weight.size == n:
            return self
        return TrainingSet.from_rows(self.rows, self.n_codes)

    def fewer(self, n_most: int) -> TrainingSet:
        """A set of at most about so many of the rows."""
        return TrainingSet.from_rows(self.drawn_rows(n_most), self.n_codes)
