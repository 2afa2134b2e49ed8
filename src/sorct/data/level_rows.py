"""Level rows: rows of a table in which long categories are not written out.

A category has one column per level, and a row has a 1 in at most one of them. Where
levels are many, rows hold the place of that column instead: what training takes then
grows with the number of variables, not of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray

#: A category with more columns than this is not written out.
LONG = 64


@dataclass(frozen=True)
class LevelRows:
    """Some rows of a table; stands for a matrix of shape (n_columns, n).

    Attributes
    ----------
    n_columns : int
    dense : array of shape (n_dense,)
        Columns that are written out, in rising order.
    x : array of shape (n_dense, n)
        Their cells.
    level : array of shape (n_categories, n)
        The column of each long category that is 1, or -1 where none is.
    """

    n_columns: int
    dense: IntArray
    x: FloatArray
    level: IntArray

    # Products with arrays are ours to make.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of columns and rows."""
        return self.n_columns, self.x.shape[1]

    def __len__(self) -> int:
        return self.n_columns

    @property
    def width(self) -> int:
        """Numbers that are held of a row: cells, and places of levels."""
        return len(self.x) + len(self.level)

    def __getitem__(self, chosen: Any) -> LevelRows:
        """Some rows, as ``[:, rows]``, or some columns, as ``[columns]``."""
        if isinstance(chosen, tuple):
            return self.some_rows(chosen[1])
        columns = np.arange(self.n_columns)[chosen]
        place = np.full(self.n_columns + 1, -1)
        place[columns] = np.arange(columns.size)
        new = place[self.dense]
        kept = np.flatnonzero(new >= 0)
        kept = kept[np.argsort(new[kept])]
        return LevelRows(columns.size, new[kept], self.x[kept], place[self.level])

    def some_rows(self, rows: AnyArray | slice) -> LevelRows:
        """Some rows of all columns."""
        return replace(self, x=self.x[:, rows], level=self.level[:, rows])

    def __rmatmul__(self, weights: FloatArray) -> FloatArray:
        """Weighted sums of the columns, of shape (..., n)."""
        sums = np.asarray(weights[..., self.dense] @ self.x)
        # A place of -1 finds the 0 that is put last.
        last = np.zeros((*weights.shape[:-1], 1))
        padded = np.concatenate([weights, last], axis=-1)
        for level in self.level:
            sums += padded[..., level]
        return sums

    def column_sums(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted sums of the columns, and of their squares."""
        centre, square = np.zeros((2, self.n_columns))
        centre[self.dense] = self.x @ weight
        square[self.dense] = (self.x * self.x) @ weight
        for level in self.level:
            own = np.bincount(level + 1, weight, self.n_columns + 1)[1:]
            centre, square = centre + own, square + own
        return centre, square

    def written_out(self) -> FloatArray:
        """All cells."""
        cells = np.zeros(self.shape)
        cells[self.dense] = self.x
        for level in self.level:
            own = np.flatnonzero(level >= 0)
            cells[level[own], own] = 1.0
        return cells


#: Rows of a table in [0, 1], column by column: all cells, or without long categories.
Cells: TypeAlias = FloatArray | LevelRows


def written_out(cells: Cells) -> FloatArray:
    """All cells as a matrix (n_columns, n)."""
    return cells.written_out() if isinstance(cells, LevelRows) else cells


def column_sums(cells: Cells, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted sums of the columns, and of their squares."""
    if isinstance(cells, LevelRows):
        return cells.column_sums(weight)
    return cells @ weight, (cells * cells) @ weight


def side_by_side(parts: Sequence[Cells]) -> Cells:
    """Rows of all parts, one part after the other."""
    short = [one for one in parts if isinstance(one, LevelRows)]
    if not short:
        # Columns side by side in memory, however the parts lie there.
        return np.ascontiguousarray(np.hstack([written_out(one) for one in parts]))
    x, level = [one.x for one in short], [one.level for one in short]
    return replace(short[0], x=np.hstack(x), level=np.hstack(level))


def same_rows(one: Cells, two: Cells) -> AnyArray:
    """Which rows are equal."""
    if isinstance(one, LevelRows) and isinstance(two, LevelRows):
        levels = (one.level == two.level).all(axis=0)
        return np.asarray(same_rows(one.x, two.x) & levels)
    return np.asarray(np.all(one == two, axis=0))


def contiguous(cells: Cells) -> Cells:
    """The same cells, those of a column side by side in memory."""
    return cells if isinstance(cells, LevelRows) else np.ascontiguousarray(cells)


def laid_flat(parts: Sequence[Cells], n_columns: int) -> dict[str, Any]:
    """Cells of one block after the other, by their names in ``Samples``."""
    dense, x, level = np.arange(n_columns), [], [np.zeros(0, dtype=np.int64)]
    for cells in parts:
        if isinstance(cells, LevelRows):
            dense = cells.dense
            x.append(cells.x.ravel())
            level.append(cells.level.ravel())
        else:
            x.append(cells.ravel())
    return {
        "x": np.concatenate(x),
        "n_columns": n_columns,
        "dense": dense,
        "level": np.concatenate(level),
    }


def held_arrays(cells: Cells) -> dict[str, AnyArray]:
    """What is held of the cells, to be kept in a file."""
    if isinstance(cells, LevelRows):
        return {"encoded": cells.x, "level": cells.level}
    return {"encoded": cells}
