"""Parts: rows that come in parts, and sums over all of them.

All that training asks of very many rows are sums: masses, gradients, counts. ``Parts``
is whatever can add them up, one pass over the rows for each question: samples in memory
on several threads (``SampleParts``), tables in files, or on a cluster
(``table_parts.py``). Parts are always added in the same order, so that sums have the
same bits for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sorct._typing import AnyArray, IntArray
from sorct.data.in_order import in_order
from sorct.data.samples import Rows, Samples, TrainingSet

#: Blocks of a part of samples in memory: some 16 000 rows. It must not depend on the
#: number of threads, or sums would.
PART_BLOCKS = 64


class OutOfTimeError(Exception):
    """A pass over the rows was stopped before its end."""


class Sums(dict[str, AnyArray]):
    """Arrays by name that add up over rows."""

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: value + other[name] for name, value in self.items()})


Task = Callable[[Samples], Sums]


class Parts(Protocol):
    """Very many rows, of which sums can be asked."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def n_passes(self) -> int:
        """Passes over the rows so far."""

    def total(self, task: Task, stop: IntArray | None = None) -> Sums:
        """Sum of what a task says of every part, in a fixed order: one pass.

        An ``OutOfTimeError`` is raised soon after ``stop`` was set.
        """


def total(rows: Samples | Parts, task: Task) -> Sums:
    """Sums over all rows, whether they lie in memory as one or come in parts."""
    return task(rows) if isinstance(rows, Samples) else rows.total(task)


def add_up(results: Iterator[Sums], stop: IntArray | None) -> Sums:
    """Add in the order given; end early when asked to."""
    found: Sums | None = None
    for result in results:
        found = result if found is None else found + result
        if stop is not None and stop[0] != 0:
            raise OutOfTimeError
    if found is None:
        raise ValueError("Expected at least one row, got none.")
    return found


class Blocks(Protocol):
    """Rows in memory of which some blocks at a time become samples."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    def part(self, first: int, last: int) -> Samples:
        """Blocks from first to last, without the last."""


class SampleParts:
    """Samples in memory, taken in parts by several threads."""

    def __init__(self, samples: Blocks, n_threads: int | None = None) -> None:
        self.samples = samples
        self.n_passes = 0
        self._n_threads = n_threads or os.cpu_count() or 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.samples.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.samples.n_columns

    def total(self, task: Task, stop: IntArray | None = None) -> Sums:
        """Sum of what a task says of every part: one pass."""
        self.n_passes += 1
        n_blocks = self.samples.n_blocks

        def work(first: int) -> Sums:
            if stop is not None and stop[0] != 0:
                raise OutOfTimeError
            last = min(first + PART_BLOCKS, n_blocks)
            return task(self.samples.part(first, last))

        firsts = range(0, n_blocks, PART_BLOCKS)
        return add_up(in_order(work, firsts, self._n_threads), stop)


class ColumnParts:
    """Some columns of rows that come in parts."""

    def __init__(self, parts: Parts, columns: IntArray) -> None:
        self._parts, self._columns = parts, columns

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._parts.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._columns)

    @property
    def n_passes(self) -> int:
        """Passes over the rows so far, for whatever columns."""
        return self._parts.n_passes

    def total(self, task: Task, stop: IntArray | None = None) -> Sums:
        """Sum of what a task says of every part: one pass."""
        return self._parts.total(_OfColumns(task, self._columns), stop)


@dataclass(frozen=True)
class _OfColumns:
    """A task on some columns, for rows that may lie on other machines."""

    task: Task
    columns: IntArray

    def __call__(self, samples: Samples) -> Sums:
        return self.task(samples.some_columns(self.columns))


@dataclass(frozen=True)
class PartedSet(TrainingSet):
    """A training set whose rows come in parts.

    Attributes
    ----------
    samples : Parts
    drawn : Rows
        What a search looks at: at most about ``MANY_ROWS`` rows.
    """

    samples: Any
    drawn: Rows

    @classmethod
    def of_samples(cls, data: TrainingSet, n_threads: int | None = None) -> PartedSet:
        """The same set, its rows taken in parts by several threads."""
        parts = SampleParts(data.blocks, n_threads)
        return cls(parts, data.share, data.centre, data.variance, data.rows)

    @property
    def rows(self) -> Rows:
        """Rows for a search."""
        return self.drawn

    def some_columns(self, columns: IntArray) -> PartedSet:
        """The same rows with some of their columns."""
        return PartedSet(
            ColumnParts(self.samples, columns),
            self.share,
            self.centre[columns],
            self.variance[columns],
            self.drawn._replace(X=self.drawn.X[columns]),
        )

    @cached_property
    def subsampled(self) -> TrainingSet:
        """The set of ``rows``, in memory."""
        return TrainingSet.from_rows(self.drawn, self.n_codes)
