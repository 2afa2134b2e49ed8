"""Sketches: what variables learn from, of columns that are never in memory as a whole.

A sketch takes a part of a column at a time, is of bounded size, and two of them add up
to that of both parts. It depends on the cells alone: any parts in any order give the
same one, to the last bit where rows have no weights.

Numbers are counted in buckets. At first every distinct value is a bucket, and the
sketch is exact. When there are too many, neighbours are merged, everywhere alike: the
last ``level`` bits of every float are dropped. Counts stay exact; a quantile is off by
no more than the width of its bucket, 2^(level - 52) of the value itself. Levels of a
category are counted one by one, and too many of them are an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.categorical import counted_levels, sorted_levels
from sorct.data.dates import days_of
from sorct.data.scales import Spread, Tally, median_of

#: Buckets of a column of numbers, at most; of a table with many columns fewer.
MOST_BUCKETS, _FEWEST_BUCKETS, _BUCKETS_OF_TABLE = 16_384, 1_024, 2**22
#: Levels of a category, at most.
MOST_LEVELS = 100_000
_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
# Days are counted from here until the earliest is known.
_EPOCH = "1970-01-01"


def buckets_for(n_columns: int) -> int:
    """Buckets of every column of a table."""
    return int(np.clip(_BUCKETS_OF_TABLE // n_columns, _FEWEST_BUCKETS, MOST_BUCKETS))


class Sketch(Protocol):
    """What is known of the cells of a column so far."""

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""

    def __add__(self, other: Any) -> Sketch: ...


def _ordered(values: FloatArray) -> IntArray:
    """Whole numbers in the order of the floats; neighbours are neighbours."""
    # Adding 0 turns -0.0 into 0.0.
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ _SIGN, bits)


def _n_bits(numbers: IntArray) -> IntArray:
    """Number of bits from the first 1 to the last bit, counted without a sign."""
    unsigned = numbers.view(np.uint64)
    high, low = unsigned >> np.uint64(32), unsigned & np.uint64(0xFFFFFFFF)
    # Halves are exact as floats, whose exponent is the number of bits.
    n_high, n_low = np.frexp(high)[1], np.frexp(low)[1]
    return np.asarray(np.where(n_high > 0, 32 + n_high, n_low), dtype=np.int64)


def _floats(keys: IntArray) -> FloatArray:
    """Floats of such whole numbers."""
    return np.where(keys < 0, keys ^ _SIGN, keys).view(np.float64)


@dataclass(frozen=True)
class NumberSketch:
    """Counts of numbers in buckets.

    Attributes
    ----------
    key : array of the buckets, rising: ordered bits without the last ``level``
    count, weight : arrays, rows of every bucket and what they weigh
    level : int
    most : int
        Buckets, at most.
    lower, upper : float
        Ends of all values, exact.
    whole : bool
    n_missing : int
    """

    key: IntArray
    count: IntArray
    weight: FloatArray
    level: int
    most: int
    lower: float
    upper: float
    whole: bool
    n_missing: int

    @classmethod
    def of(
        cls,
        values: FloatArray,
        weight: FloatArray | None = None,
        most: int = MOST_BUCKETS,
    ) -> NumberSketch:
        """Sketch of finite numbers, NaN where missing."""
        missing = np.isnan(values)
        n_missing = int(np.count_nonzero(missing))
        if n_missing:
            values = values[~missing]
            weight = None if weight is None else weight[~missing]
        if values.size == 0:
            none = np.zeros(0, dtype=np.int64)
            ends = np.inf, -np.inf
            return cls(none, none, np.zeros(0), 0, most, *ends, True, n_missing)
        keys = _ordered(values)
        if weight is None:
            keys = np.sort(keys)
            own = np.ones(keys.size)
        else:
            order = np.argsort(keys, kind="stable")
            keys, own = keys[order], weight[order]
        count = np.ones(keys.size, dtype=np.int64)
        whole = bool((values[:100] == np.floor(values[:100])).all())
        whole = whole and bool((values == np.floor(values)).all())
        ends = float(values.min()), float(values.max())
        sketch = cls(keys, count, own, 0, most, *ends, whole, n_missing)
        return sketch._merged()

    def __add__(self, other: NumberSketch) -> NumberSketch:
        level = max(self.level, other.level)
        one, two = self._at(level), other._at(level)
        keys = np.concatenate([one.key, two.key])
        order = np.argsort(keys, kind="stable")
        return replace(
            one,
            key=keys[order],
            count=np.concatenate([one.count, two.count])[order],
            weight=np.concatenate([one.weight, two.weight])[order],
            lower=min(one.lower, two.lower),
            upper=max(one.upper, two.upper),
            whole=one.whole and two.whole,
            n_missing=one.n_missing + two.n_missing,
        )._merged()

    def _at(self, level: int) -> NumberSketch:
        return replace(self, key=self.key >> (level - self.level), level=level)

    def _merged(self) -> NumberSketch:
        """Equal keys as one bucket; coarser ones until there are few enough."""
        sketch = self._joined()
        if sketch.key.size <= self.most:
            return sketch
        # Neighbours become one bucket when as many bits are dropped as it takes to
        # drop all in which they differ.
        bits = np.sort(_n_bits(sketch.key[1:] ^ sketch.key[:-1]))
        dropped = int(bits[sketch.key.size - 1 - self.most])
        return sketch._at(sketch.level + dropped)._joined()

    def _joined(self) -> NumberSketch:
        if self.key.size == 0:
            return self
        first = np.flatnonzero(np.append(True, self.key[1:] != self.key[:-1]))
        if first.size == self.key.size:
            return self
        return replace(
            self,
            key=self.key[first],
            count=np.add.reduceat(self.count, first),
            weight=np.add.reduceat(self.weight, first),
        )

    @property
    def value(self) -> FloatArray:
        """Lower end of every bucket, or the value itself where buckets have one."""
        return np.clip(_floats(self.key << self.level), self.lower, self.upper)

    @property
    def bucket_end(self) -> FloatArray:
        """Largest value that every bucket can hold."""
        last = ((self.key + 1) << self.level) - 1
        return np.clip(_floats(last), self.lower, self.upper)

    @property
    def exact(self) -> bool:
        """Whether every distinct value has a bucket of its own."""
        return self.level == 0

    def spread(self, rows_per_weight: float = 1.0) -> Spread | None:
        """What a scale is learned from; None where all cells are missing."""
        if self.key.size == 0:
            return None
        value = self.value
        known = value if self.exact else np.append(value, self.upper)
        tally = Tally(value, np.cumsum(self.weight) * rows_per_weight)
        middle = median_of(tally.middle)
        ends = self.lower, self.upper
        return Spread(*ends, self.whole, middle, known, lambda: tally)


@dataclass(frozen=True)
class DateSketch:
    """Counts of days."""

    days: NumberSketch

    @classmethod
    def of(
        cls, column: Any, weight: FloatArray | None = None, most: int = MOST_BUCKETS
    ) -> DateSketch:
        """Sketch of a column of dates."""
        return cls(NumberSketch.of(days_of(column, _EPOCH), weight, most))

    def __add__(self, other: DateSketch) -> DateSketch:
        return DateSketch(self.days + other.days)

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return self.days.n_missing

    @property
    def origin(self) -> str:
        """The earliest day."""
        if self.days.key.size == 0:
            return _EPOCH
        return str(
            np.datetime64(_EPOCH, "D") + np.timedelta64(int(self.days.lower), "D")
        )

    def spread(self, rows_per_weight: float = 1.0) -> Spread | None:
        """Spread of the days since the earliest."""
        spread, first = self.days.spread(rows_per_weight), self.days.lower
        if spread is None:
            return None
        tally = spread.tally()
        since = replace(tally, value=tally.value - first)
        return replace(
            spread,
            lower=0.0,
            upper=spread.upper - first,
            median=spread.median - first,
            known=spread.known - first,
            tally=lambda: since,
        )


@dataclass(frozen=True)
class LevelSketch:
    """Counts of levels.

    ``declared`` are the categories of the column's type if all parts have the same,
    else None; ``ordered`` whether their order was declared as well.
    """

    name: str
    counts: Counter[Any]
    declared: tuple[Any, ...] | None
    ordered: bool
    n_missing: int

    @classmethod
    def of(
        cls, name: str, column: Any, weight: FloatArray | None = None
    ) -> LevelSketch:
        """Sketch of a column of levels."""
        counts, _ = counted_levels(name, column, weight)
        declared, ordered = None, False
        if column.dtype.name == "category":
            ordered = bool(column.cat.ordered)
            declared = tuple(column.cat.categories.tolist())
        n_missing = int(column.isna().sum())
        return cls(name, counts, declared, ordered, n_missing)._checked()

    def __add__(self, other: LevelSketch) -> LevelSketch:
        if (self.ordered or other.ordered) and self.declared != other.declared:
            raise ValueError(
                f"Column {self.name!r} has ordered categories, but not the same ones "
                f"in all parts of the table: {self.declared} and {other.declared}. "
                "Declare them alike before the parts are written."
            )
        declared = self.declared if self.declared == other.declared else None
        n_missing = self.n_missing + other.n_missing
        counts = self.counts + other.counts
        return LevelSketch(
            self.name, counts, declared, self.ordered, n_missing
        )._checked()

    def _checked(self) -> LevelSketch:
        if len(self.counts) > MOST_LEVELS:
            raise ValueError(
                f"Column {self.name!r} has more than {MOST_LEVELS} levels, such as "
                f"{next(iter(self.counts))!r}; it looks like an id or free text. Leave "
                "it out, or write fewer levels."
            )
        return self

    @property
    def levels(self) -> list[Any]:
        """Levels that occur, in their order."""
        if self.declared is not None:
            return [level for level in self.declared if level in self.counts]
        return sorted_levels(list(self.counts), self.name)
