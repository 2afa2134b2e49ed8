"""Sparse tables: matrices most of whose cells are 0, never written out as a whole.

Zeros are real zeros: a column is scaled by its range, implicit zeros included. What is
asked of all columns are sums over rows, which take one sparse product; scaling is
folded into them. Only some columns at a time are written out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from sorct._typing import FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.numeric import Numeric
from sorct.data.options import TableOptions


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse matrix, checked.

    Attributes
    ----------
    cells : sparse array in columns (CSC) of shape (n_rows, n_columns)
    """

    cells: Any

    @classmethod
    def of(cls, X: Any) -> SparseTable:
        """Check a sparse matrix of any format; nothing may be missing."""
        X = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64)
        return cls(sparse.csc_array(X))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.cells.shape[1])

    def take(self, rows: IntArray) -> SparseTable:
        """Some of the rows."""
        return SparseTable(sparse.csc_array(sparse.csr_array(self.cells)[rows]))

    def written_out(self, columns: IntArray) -> FloatArray:
        """Some columns with all their cells, shape (n_rows, n)."""
        return np.asarray(self.cells[:, columns].toarray())

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        """Lower end and span of every column, 0 where it does not vary."""
        lower = self.cells.min(axis=0).toarray().ravel()
        upper = self.cells.max(axis=0).toarray().ravel()
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        spans = [Numeric.of_range(f"x{j}", *two).span for j, two in enumerate(ends)]
        return lower, np.array(spans)

    def scaled_sums(self, weight: FloatArray) -> FloatArray:
        """Sums over rows of weight times scaled column, of weights (n_rows, k).

        A scaled cell is (x - lower) / span: the shift takes the sum of all weights.
        """
        lower, span = self._scales
        sums = self.cells.T @ weight - lower[:, np.newaxis] * weight.sum(axis=0)
        varies = span > 0.0
        sums[varies] /= span[varies, np.newaxis]
        sums[~varies] = 0.0
        return np.asarray(sums)

    def encoder(self, columns: IntArray, options: TableOptions) -> TableEncoder:
        """Variables of some columns, named after their places."""
        plain = replace(options, scaling="minmax", categorical_features=None)
        found = TableEncoder.learn(self.written_out(columns), plain)
        named: list[Any] = [
            replace(variable, name=f"x{j}")  # type: ignore[type-var]
            for j, variable in zip(columns.tolist(), found.variables, strict=True)
        ]
        return replace(found, variables=tuple(named), named=True)


def some_columns(X: Any, columns: IntArray) -> FloatArray:
    """Some columns of a matrix, sparse or not, with all their cells."""
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64)
    part = X[:, columns]
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


def raised(values: FloatArray, columns: IntArray, n_columns: int) -> FloatArray:
    """Values of some columns as those of all, with zeros for the rest."""
    whole = np.zeros((n_columns, *values.shape[1:]))
    whole[columns] = values
    return whole
