"""Table parts: a table in batches as rows that come in parts, encoded in every pass."""

from __future__ import annotations

from typing import Protocol

from sorct._typing import IntArray
from sorct.data.parts import Sums, Task, add_up
from sorct.data.sources import Source
from sorct.data.survey import EncodedTask, Encoding


class Journal(Protocol):
    """Where sums are kept, so that a pass need not be made twice."""

    def find(self, number: int) -> Sums | None:
        """Sums of a pass, if it was made before."""

    def keep(self, number: int, sums: Sums) -> None:
        """Keep the sums of a pass."""


class TableParts:
    """Rows of a source, encoded batch by batch in every pass.

    Parameters
    ----------
    source : Source
    encoding : Encoding
    n_rows : int
    journal : Journal or None
    """

    def __init__(
        self,
        source: Source,
        encoding: Encoding,
        n_rows: int,
        journal: Journal | None = None,
    ) -> None:
        self.n_rows = n_rows
        self.n_passes = 0
        self._source = source
        self._encoding = encoding
        self._journal = journal

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._encoding.encoder.n_columns

    def total(self, task: Task, stop: IntArray | None = None) -> Sums:
        """Sum of what a task says of every batch: one pass, or one made before."""
        self.n_passes += 1
        if self._journal is not None:
            known = self._journal.find(self.n_passes)
            if known is not None:
                return known
        results = self._source.gather(EncodedTask(self._encoding, task))
        sums = add_up(results, stop)
        if self._journal is not None:
            self._journal.keep(self.n_passes, sums)
        return sums
