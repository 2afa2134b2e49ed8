"""Table parts: a table in batches as rows that come in parts, encoded in every pass."""

from __future__ import annotations

from typing import Protocol

from sorct._typing import IntArray
from sorct.data.fingerprint import fingerprint
from sorct.data.parts import Sums, Task, add_up
from sorct.data.sources import Source
from sorct.data.survey import EncodedTask, Encoding


class Journal(Protocol):
    """Where sums are kept, so that a pass need not be made twice."""

    def find(self, key: str) -> Sums | None:
        """Sums of a pass, if it was made before."""

    def keep(self, key: str, sums: Sums) -> None:
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
        if self._journal is None:
            return self._gathered(task, stop)
        # By what is asked: a fit that ran out of time asked other things at its end.
        key = fingerprint(task)
        known = self._journal.find(key)
        if known is None:
            known = self._gathered(task, stop)
            self._journal.keep(key, known)
        return known

    def _gathered(self, task: Task, stop: IntArray | None) -> Sums:
        results = self._source.gather(EncodedTask(self._encoding, task))
        return add_up(results, stop)
