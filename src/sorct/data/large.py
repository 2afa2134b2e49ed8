"""Large: very many rows in memory, laid out part by part when they are asked for.

Training asks for sums over them, a pass each (``parts.py``). What a pass has laid out
is held for the next one, but for a share of the rows, which every pass lays out anew:
all that is held, and all else that is known of the rows, take no more room than the
table itself. Whoever needs samples as one (``LargeSet.samples``) gets them, for a copy
of the table.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data import parts as in_parts
from sorct.data import samples as in_memory
from sorct.data.given_columns import GivenColumns
from sorct.data.level_rows import contiguous
from sorct.data.parts import PartedSet, SampleParts, Sums
from sorct.data.samples import (
    BLOCK,
    Rows,
    Samples,
    TrainingSet,
    lay_out,
    merged_rows,
    threads_for,
)

# Share of the rows whose samples are held; all if they take no more than so many bytes.
_HELD, _SMALL = 0.75, 2**26


class LargeRows:
    """Rows of a table in the order of samples, with what is known of each.

    Parameters
    ----------
    columns : GivenColumns
    rows : array of shape (n,), places in the table, by code
    codes : array of shape (n,), in rising order
    weight : array of shape (n,), sums to 1
    n_codes : int
    response : array of shape (n,) or None
    """

    def __init__(
        self,
        columns: GivenColumns,
        rows: IntArray,
        codes: IntArray,
        weight: FloatArray,
        n_codes: int,
        response: FloatArray | None,
    ) -> None:
        self.columns = columns
        self.weight = weight
        self.response = response
        self.n_rows, self.n_columns = len(rows), len(columns)
        self.n_blocks = -(-self.n_rows // BLOCK)
        self._code_start = np.searchsorted(codes, np.arange(n_codes + 1))
        fits = len(rows) < np.iinfo(np.int32).max and rows.max() < 2**31
        self._rows: Any = rows.astype(np.int32) if fits else rows
        self._held: dict[int, Samples] = {}
        small = 8.0 * self.n_rows * columns.width <= _SMALL
        share = 1.0 if small else _HELD * self.n_columns / columns.width
        self._most_held = int(share * self.n_blocks / in_parts.PART_BLOCKS)

    @property
    def codes(self) -> IntArray:
        """Code of every row, in rising order."""
        return self._codes(0, self.n_rows)

    def _codes(self, begin: int, end: int) -> IntArray:
        size = np.diff(self._code_start.clip(begin, end))
        return np.repeat(np.arange(size.size), size)

    def part(self, first: int, last: int) -> Samples:
        """Blocks from first to last, without the last, as samples of their own."""
        usual = last - first == in_parts.PART_BLOCKS
        if usual and first in self._held:
            return self._held[first]
        made = self._laid_out(BLOCK * first, min(BLOCK * last, self.n_rows))
        if usual and len(self._held) < self._most_held:
            self._held[first] = made
        return made

    def whole(self) -> Samples:
        """All rows as samples; what was held is let go."""
        self._held.clear()
        return self._laid_out(0, self.n_rows, threads_for(self.n_rows))

    def _laid_out(self, begin: int, end: int, n_threads: int = 1) -> Samples:
        some = slice(begin, end)
        response = None if self.response is None else self.response[some]
        n_codes = self._code_start.size - 1
        return lay_out(
            self.columns, self._rows[some], self._codes(begin, end), self.weight[some],
            n_codes, response, n_threads,
        )  # fmt: skip

    def taken(self, chosen: IntArray) -> Rows:
        """Some rows as a table, by their positions in rising order."""
        X = contiguous(self.columns.some_rows(self._rows[chosen]))
        codes = np.searchsorted(self._code_start[1:], chosen, side="right")
        response = None if self.response is None else self.response[chosen]
        return Rows(X, codes, self.weight[chosen], response)


class _FewerColumns:
    """Some columns of large rows; these are held."""

    def __init__(self, large: Any, columns: IntArray) -> None:
        self._large, self._columns = large, columns
        self._held: dict[tuple[int, int], Samples] = {}
        self.n_rows, self.n_blocks = large.n_rows, large.n_blocks
        self.n_columns = len(columns)

    @property
    def codes(self) -> IntArray:
        return np.asarray(self._large.codes)

    @property
    def weight(self) -> FloatArray:
        return np.asarray(self._large.weight)

    def part(self, first: int, last: int) -> Samples:
        if (first, last) not in self._held:
            part = self._large.part(first, last)
            self._held[first, last] = part.some_columns(self._columns)
        return self._held[first, last]

    def whole(self) -> Samples:
        return Samples(*self._large.whole()).some_columns(self._columns)

    def taken(self, chosen: IntArray) -> Rows:
        rows: Rows = self._large.taken(chosen)
        return rows._replace(X=rows.X[self._columns])


class _Measured(NamedTuple):
    share: FloatArray
    centre: FloatArray
    variance: FloatArray


class LargeSet(TrainingSet):
    """A training set of very many rows in memory."""

    _blocks: Any

    def __init__(self, blocks: Any, known: _Measured) -> None:
        fields = {"_blocks": blocks, **known._asdict()}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_large(cls, rows: LargeRows, n_codes: int) -> LargeSet:
        """Measure the rows: the first pass over them."""
        sums = SampleParts(rows).total(_measure)
        share = np.bincount(rows.codes, rows.weight, n_codes).astype(np.float64)
        centre = sums["centre"]
        variance = np.maximum(sums["square"] - centre**2, 0.0)
        return cls(rows, _Measured(share, centre, variance))

    @property
    def blocks(self) -> Any:
        """Rows that become samples some blocks at a time."""
        return self._blocks

    @cached_property
    def samples(self) -> Samples:
        """All rows laid out as one."""
        whole: Samples = self._blocks.whole()
        return whole

    @cached_property
    def all_rows(self) -> SampleParts:
        """What sums over all rows are asked of."""
        return SampleParts(self.blocks)

    def parted(self) -> PartedSet:
        """The same set, its rows taken in parts."""
        return PartedSet.of_samples(self)

    def taken(self, chosen: IntArray) -> Rows:
        """Some rows as a table, by their positions in rising order."""
        rows: Rows = self.blocks.taken(chosen)
        return rows

    def some_columns(self, columns: IntArray) -> LargeSet:
        """The same rows with some of their columns."""
        known = _Measured(self.share, self.centre[columns], self.variance[columns])
        return LargeSet(_FewerColumns(self.blocks, columns), known)


def _measure(samples: Samples) -> Sums:
    centre, square = samples.column_sums()
    return Sums(centre=centre, square=square)


def training_set(
    columns: GivenColumns,
    codes: IntArray,
    weight: FloatArray,
    n_codes: int,
    response: FloatArray | None = None,
) -> TrainingSet:
    """Training set of samples given by columns, with codes and weights > 0."""
    rows, codes, share, response = merged_rows(columns, codes, weight, response)
    if len(rows) <= in_memory.MANY_ROWS:
        made = lay_out(columns, rows, codes, share, n_codes, response)
        return TrainingSet.of(made, n_codes)
    large = LargeRows(columns, rows, codes, share, n_codes, response)
    return LargeSet.of_large(large, n_codes)
