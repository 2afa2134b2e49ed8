"""Scaled columns: a table as its encoder scales it, made piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.level_rows import Cells
from sorct.data.table import Table

if TYPE_CHECKING:
    from sorct.data.encoder import TableEncoder


class ScaledColumns(Sequence[FloatArray]):
    """The columns of a table in [0, 1]; only the table itself is held."""

    def __init__(self, encoder: TableEncoder, table: Table) -> None:
        self._encoder = encoder
        self._table = table

    def __len__(self) -> int:
        return self._encoder.n_columns

    @property
    def width(self) -> int:
        """Numbers that are held of a row: cells, and places of levels."""
        return self._encoder.width

    def __getitem__(self, j: Any) -> Any:
        return self._encoder.scale(self._table, slice(None), np.array([j]))[0]

    def some_rows(self, rows: IntArray | slice) -> Cells:
        """Some rows of all columns, shape (n_columns, n)."""
        return self._encoder.scale_all(self._table.take(rows), own=True)
