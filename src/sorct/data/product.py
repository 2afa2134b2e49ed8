"""Products: weighted sums of the scaled columns of a table, for many rows at a time.

Prediction asks for nothing else of a table. Scaling is folded into the weights, so that
raw numbers are multiplied as they are; where that would lose digits, columns are scaled
first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sorct._typing import FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.table import Table

# Scaling is folded into the weights unless that loses digits: where a range is narrower
# than this, or
_NARROW = 1e-250
# so far from zero that (distance / width) x (largest sum) is more than this. Rounding
# changes a sum by less than 1e-10 otherwise.
_FAR = 1e5
# Sums that BLAS makes at the same time: so many are not slower than one.
_TOGETHER = 4
# Multiplications up to which BLAS takes rows as they are; others it lays out anew.
_AS_THEY_ARE = 1_000_000
# Rows at a time, at least.
_FEWEST_ROWS = 1024


class Product(Protocol):
    """Sums ``weights . x - threshold`` of a table's scaled columns x."""

    def __call__(self, table: Table, rows: slice) -> FloatArray:
        """Sums of some rows, shape (n_sums, n_rows)."""


def make_product(
    encoder: TableEncoder, weights: FloatArray, threshold: FloatArray, largest: float
) -> Product:
    """Product for weights (n_columns, n_sums) and thresholds (n_sums,).

    ``largest`` bounds the size of what the columns add to a sum.
    """
    folded, shifted = np.zeros(weights.shape), threshold
    for j in np.flatnonzero(weights.any(axis=1)):
        affine = encoder.variables[encoder.column_variable[j]].affine
        lower, span = (0.0, 1.0) if affine is None else affine
        if span < _NARROW or abs(lower) / span * largest > _FAR:
            return _ScaledProduct(encoder, weights, threshold)
        folded[j] = weights[j] / span
        shifted = shifted + folded[j] * lower
    parts = [folded[encoder.columns_of(i)] for i in range(len(encoder.variables))]
    numbers = [parts[i] for i in encoder.side_by_side]
    encoded = {
        i: part
        for i, part in enumerate(parts)
        if i not in encoder.side_by_side and part.any()
    }
    return _FoldedProduct(
        encoder, np.concatenate([folded[:0], *numbers]), encoded, shifted
    )


@dataclass(frozen=True)
class _ScaledProduct:
    """Columns are scaled first, then multiplied."""

    encoder: TableEncoder
    weights: FloatArray
    threshold: FloatArray

    def __call__(self, table: Table, rows: slice) -> FloatArray:
        self.encoder.check_finite(table, rows)
        used = np.flatnonzero(self.weights.any(axis=1))
        sums = self.weights[used].T @ self.encoder.scale(table, rows, used)
        sums -= self.threshold[:, np.newaxis]
        return np.asarray(sums)


@dataclass(frozen=True)
class _FoldedProduct:
    """Raw numbers are multiplied as they are.

    NaN or infinity in any number makes a sum NaN or infinite, also where its weight is
    0. So numbers are checked one by one only where a sum is not finite.
    """

    encoder: TableEncoder
    numbers: FloatArray
    encoded: dict[int, FloatArray]
    threshold: FloatArray

    def __call__(self, table: Table, rows: slice) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self._of_numbers(table.numbers[rows])
            for i, weight in self.encoded.items():
                sums += self._said(i, weight, table, rows)
            if not np.isfinite(sums.sum()):
                self.encoder.check_finite(table, rows)
                sums = np.nan_to_num(sums, nan=0.0)
        return np.asarray(sums)

    def _of_numbers(self, numbers: FloatArray) -> FloatArray:
        """What plain numbers add, less the thresholds; a few rows at a time."""
        (n_rows, n_numbers), n_sums = numbers.shape, self.threshold.size
        width = -(-n_sums // _TOGETHER) * _TOGETHER
        weights = np.zeros((n_numbers, width))
        weights[:, :n_sums] = self.numbers
        size = max(_AS_THEY_ARE // max(weights.size, 1), _FEWEST_ROWS)
        sums, buffer = np.empty((n_sums, n_rows)), np.empty(width * min(size, n_rows))
        # As the cells lie in memory, so the product does: BLAS takes half the time.
        by_columns = numbers.strides[0] < numbers.strides[1]
        for first in range(0, n_rows, size):
            few, own = numbers[first : first + size], sums[:, first : first + size]
            out, n_few = buffer[: width * len(few)], len(few)
            if by_columns:
                found = np.dot(weights.T, few.T, out=out.reshape(width, n_few))
            else:
                found = np.dot(few, weights, out=out.reshape(n_few, width)).T
            np.subtract(found[:n_sums], self.threshold[:, np.newaxis], out=own)
        return sums

    def _said(
        self, i: int, weight: FloatArray, table: Table, rows: slice
    ) -> FloatArray:
        """What a variable that is no plain number adds."""
        if i not in self.encoder.long_categories:
            return np.asarray(weight.T @ self.encoder.encoded(table, i, rows).T)
        # The first choice may have no column, and a level never seen (-1) has none.
        n_choices, one = len(self.encoder.variables[i].choices or ()), weight[:1]
        none = np.zeros((n_choices - len(weight), one.size))
        every = np.concatenate([none, weight, np.zeros_like(one)])
        return np.asarray(every[table.codes[i][rows]].T)
