"""Given columns: a table in [0, 1], column by column, as samples are made of it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.level_rows import Cells, LevelRows


class GivenColumns(Protocol):
    """Columns of a table in [0, 1] that may be made when they are asked for."""

    def __len__(self) -> int: ...

    @property
    def width(self) -> int:
        """Numbers that are held of a row: cells, and places of levels."""

    def some_rows(self, rows: IntArray | slice) -> Cells:
        """Some rows of all columns, shape (n_columns, n)."""


class HeldColumns(list[FloatArray]):
    """Columns that are held as they are."""

    @property
    def width(self) -> int:
        """Their number."""
        return len(self)

    def some_rows(self, rows: IntArray | slice) -> FloatArray:
        """Some rows of all columns, shape (n_columns, n)."""
        return np.stack([column[rows] for column in self])


def held(cells: Cells) -> GivenColumns:
    """Columns of rows that are held."""
    return cells if isinstance(cells, LevelRows) else HeldColumns(cells)
