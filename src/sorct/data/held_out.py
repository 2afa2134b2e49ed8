"""Held out: some rows of one class are kept apart from a table that comes in batches.

Which rows these are is told by their numbers among the rows of the class, in the order
of the table. One pass counts the rows of every class, batch by batch; a second takes
the rows that are held out; for all further passes they are not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from sorct._typing import BoolArray, IntArray
from sorct.data.in_order import sum_of
from sorct.data.sources import Batch, Source
from sorct.data.table import is_frame, take_rows

Found = TypeVar("Found")


@dataclass(frozen=True)
class Census:
    """Rows of every class in every batch, and their least and largest weights."""

    counts: dict[tuple[int, int], Counter[Any]] = field(default_factory=dict)
    lightest: dict[Any, float] = field(default_factory=dict)
    heaviest: dict[Any, float] = field(default_factory=dict)

    def __add__(self, other: Census) -> Census:
        labels = {**self.lightest, **other.lightest}
        return Census(
            {**self.counts, **other.counts},
            {one: _of_both(min, self.lightest, other.lightest, one) for one in labels},
            {one: _of_both(max, self.heaviest, other.heaviest, one) for one in labels},
        )

    @property
    def labels(self) -> list[Any]:
        """The classes."""
        return list(self.lightest)

    def n_rows(self, label: Any) -> int:
        """Rows of a class."""
        return sum(count[label] for count in self.counts.values())

    def by_batch(self, label: Any, rows: IntArray) -> dict[tuple[int, int], IntArray]:
        """Numbers of rows among those of their class and batch, from those in all."""
        found, rows, before = dict[tuple[int, int], IntArray](), np.sort(rows), 0
        for place in sorted(self.counts):
            after = before + self.counts[place][label]
            first, last = np.searchsorted(rows, [before, after])
            if last > first:
                found[place] = rows[first:last] - before
            before = after
        return found


def _of_both(
    choose: Callable[[float, float], float],
    one: dict[Any, float],
    two: dict[Any, float],
    label: Any,
) -> float:
    if label not in one or label not in two:
        return one.get(label, two.get(label, 0.0))
    return choose(one[label], two[label])


def count_classes(batch: Batch) -> Census:
    """Count the rows of every class."""
    labels, codes = np.unique(batch.y, return_inverse=True)
    weight, names = batch.weights, labels.tolist()
    least, most = np.full(labels.size, np.inf), np.zeros(labels.size)
    np.minimum.at(least, codes, weight)
    np.maximum.at(most, codes, weight)
    counts = Counter(dict(zip(names, np.bincount(codes).tolist(), strict=True)))
    return Census(
        {batch.place: counts},
        dict(zip(names, least.tolist(), strict=True)),
        dict(zip(names, most.tolist(), strict=True)),
    )


@dataclass(frozen=True)
class _Apart:
    """Which rows of a batch are held out."""

    label: Any
    rows: dict[tuple[int, int], IntArray]

    def own(self, batch: Batch) -> BoolArray:
        """Rows of the class."""
        return np.asarray(batch.y == self.label, dtype=np.bool_)

    def held(self, batch: Batch) -> IntArray:
        """Rows of the batch that are held out."""
        chosen = self.rows.get(batch.place, np.zeros(0, dtype=np.int64))
        return np.flatnonzero(self.own(batch))[chosen]


@dataclass(frozen=True)
class _TakeHeld:
    """The question which rows are held out."""

    apart: _Apart

    def __call__(self, batch: Batch) -> list[Any]:
        rows = self.apart.held(batch)
        return [take_rows(batch.X, rows)] if rows.size else []


@dataclass(frozen=True)
class _OnOthers:
    """A task on the rows that are left; None if a batch has none."""

    task: Callable[[Batch], Any]
    apart: _Apart
    factor: float

    def __call__(self, batch: Batch) -> Any:
        weight = np.where(self.apart.own(batch), self.factor, 1.0) * batch.weights
        left = np.ones(batch.n_rows, dtype=np.bool_)
        left[self.apart.held(batch)] = False
        kept = np.flatnonzero(left)
        if kept.size == 0:
            return None
        X = batch.X if kept.size == left.size else take_rows(batch.X, kept)
        return self.task(Batch(X, batch.y[kept], weight[kept], batch.place))


class HeldOut:
    """A table without some rows of one class; the others of it count for them.

    Parameters
    ----------
    source : Source
    census : Census
        Of the source.
    label : the class
    rows : array
        Numbers of the rows that are held out, among those of the class.
    """

    def __init__(
        self, source: Source, census: Census, label: Any, rows: IntArray
    ) -> None:
        self.target = source.target
        self._source = source
        self._apart = _Apart(label, census.by_batch(label, rows))
        n_own = census.n_rows(label)
        self._factor = n_own / (n_own - rows.size)

    @property
    def identity(self) -> dict[str, Any]:
        """That of the whole table: which rows are held out follows from the call."""
        return self._source.identity

    def held(self) -> Any:
        """Rows that are held out, without their labels: a pass."""
        tables = sum_of(self._source.gather(_TakeHeld(self._apart)))
        if not is_frame(tables[0]):
            return np.concatenate(tables)
        import pandas as pd

        return pd.concat(tables, ignore_index=True)

    def gather(self, task: Callable[[Batch], Found]) -> Iterator[Found]:
        """What a task says of the rows that are left."""
        return self._source.gather(_OnOthers(task, self._apart, self._factor))
