"""Cells: a column of text, and whether it is one of numbers, dates or words.

A column becomes numbers or dates only if all its cells do that are not missing. What
comes close is said: most cells are numbers and a few are not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, IntArray
from sorct.data.numbers import COMMA, POINT, looks_like_numbers, read_numbers
from sorct.data.sheet import ReadOptions
from sorct.data.wording import listed, shown
from sorct.data.written_dates import read_dates

if TYPE_CHECKING:
    import pandas as pd

NUMBER, DATE, TRUTH, TEXT = "number", "date", "true/false", "text"
#: A column of which no cell can be used.
UNUSABLE = "unusable"
# Cells that are looked through for one to tell of.
_LOOKED_AT = 1000


@dataclass(frozen=True, eq=False)
class TextCells:
    """Distinct stripped cells of a column, and which of them each row has.

    Attributes
    ----------
    codes : array of the positions in ``values``, -1 where a cell is missing
    values : list of str
    changed : bool
        Whether blanks were taken off, or words taken for missing.
    """

    codes: IntArray
    values: list[str]
    changed: bool

    @classmethod
    def of(cls, column: pd.Series[Any], missing: Collection[str]) -> TextCells:
        """Cells of a column; some words are missing cells."""
        import pandas as pd

        codes, found = pd.factorize(column)
        given = [v if type(v) is str else str(v) for v in found.tolist()]
        stripped = [text.strip() for text in given]
        # Beside a plus a minus is no gap.
        words = set(missing) - ({"-"} if "+" in stripped else set())
        if given == stripped and words.isdisjoint(given):
            return cls(codes, given, False)
        index: dict[str, int] = {}
        place = [
            -1 if text in words else index.setdefault(text, len(index))
            for text in stripped
        ]
        # Rows that pandas found missing have the code -1: the last place.
        return cls(np.array([*place, -1])[codes], list(index), True)

    @property
    def n_missing(self) -> int:
        """Number of rows without a value."""
        return int((self.codes < 0).sum())

    def spread(self, values: AnyArray) -> AnyArray:
        """An array with something for every value and at last for missing, by row."""
        spread: AnyArray = values[self.codes]
        return spread

    def words(self, like: pd.Series[Any]) -> pd.Series[Any]:
        """The column as text of the same type."""
        import pandas as pd

        if not self.changed:
            return like
        cells = np.array([*self.values, None], dtype=object)
        dtype: Any = str if like.dtype.name == "category" else like.dtype
        words: pd.Series[Any] = pd.Series(
            self.spread(cells), index=like.index, name=like.name, dtype=dtype
        )
        return words


@dataclass(frozen=True, eq=False)
class Found:
    """What a column of text turned out to be.

    Attributes
    ----------
    column : pandas.Series
    kind : {"number", "date", "true/false", "text", "unusable"}
    notes, warnings, problems : list of str
        What was done; what is hardly meant so; what nobody but the user can decide.
    """

    column: pd.Series[Any]
    kind: str
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_text(
    column: pd.Series[Any],
    cells: TextCells,
    decimal: str | None,
    options: ReadOptions,
) -> Found:
    """Numbers, dates, truth or text, whatever all cells are."""
    if not cells.values:
        return Found(cells.words(column), TEXT)
    if {value.lower() for value in cells.values[:3]} <= {"true", "false"}:
        return _truth(column, cells)
    found = Found(cells.words(column), TEXT)
    if looks_like_numbers(cells.values):
        found = _numbers(column, cells, decimal, is_given=options.decimal is not None)
    if found.kind == TEXT and not found.warnings:
        found = _dates(column, cells, options.dates) or found
    return found


def _truth(column: pd.Series[Any], cells: TextCells) -> Found:
    import pandas as pd

    lower = [value.lower() for value in cells.values]
    if not set(lower) <= {"true", "false"}:
        return Found(cells.words(column), TEXT)
    values = np.array([*(text == "true" for text in lower), None], dtype=object)
    dtype: Any = "boolean" if cells.n_missing else bool
    truth = pd.Series(
        cells.spread(values), index=column.index, name=column.name, dtype=dtype
    )
    return Found(truth, TRUTH)


# -- numbers ---------------------------------------------------------------------------


def _numbers(
    column: pd.Series[Any], cells: TextCells, decimal: str | None, *, is_given: bool
) -> Found:
    """Numbers if all cells are some with one decimal mark, else text."""
    import pandas as pd

    first = decimal or POINT
    found = {first: read_numbers(cells.values, first)}
    settled = decimal is not None and (is_given or bool(found[first].read.all()))
    if not settled:
        other = COMMA if first == POINT else POINT
        found[other] = read_numbers(cells.values, other)
    whole = [m for m, one in found.items() if one.read.all() and not one.mixed]
    if not whole:
        best = max(found.values(), key=lambda one: int(one.read.sum()))
        return _no_numbers(column, cells, best.read, mixed=best.mixed)
    values = found[whole[0]].values
    numbers = pd.Series(
        cells.spread(np.append(values, np.nan)), index=column.index, name=column.name
    )
    problems = []
    if decimal is None and len(whole) == 2:
        others = found[whole[1]].values
        k = int(np.argmax(values != others))
        if values[k] != others[k]:
            problems.append(
                f"column {str(column.name)!r} has {cells.values[k]!r}, which is "
                f"{values[k]:g} or {others[k]:g}; say which with decimal={whole[0]!r} "
                f"or decimal={whole[1]!r}."
            )
    return Found(numbers, NUMBER, _example(cells, values), [], problems)


def _example(cells: TextCells, values: AnyArray) -> list[str]:
    """How a cell was read that Python alone would not read."""
    for text, value in zip(cells.values[:_LOOKED_AT], values.tolist(), strict=False):
        try:
            plain = float(text)
        except ValueError:
            plain = None
        if plain != value:
            return [f"{text!r} is read as {value!r}"]
    return []


def _no_numbers(
    column: pd.Series[Any], cells: TextCells, read: Any, *, mixed: bool
) -> Found:
    """Text; if most values are numbers, say which are not."""
    told: list[str] = []
    n_read, n_values = int(read.sum()), len(cells.values)
    if mixed and n_read == n_values:
        told.append(
            f"is read as text, for its numbers differ in their units, such as "
            f"{listed(cells.values, 3)}; write all in one unit"
        )
    elif 2 * n_read > n_values:
        told.append(_odd(cells, read, "numbers"))
    return Found(cells.words(column), TEXT, warnings=told)


def _odd(cells: TextCells, read: Any, what: str) -> str:
    odd = [cells.values[k] for k in np.flatnonzero(~read)]
    rows = np.flatnonzero(np.isin(cells.codes, np.flatnonzero(~read)))
    return (
        f"is read as text, but {len(cells.values) - len(odd)} of its "
        f"{len(cells.values)} distinct values are {what}; the others are "
        f"{listed([shown(text, 40)[1:-1] for text in odd], 3)}, first in row "
        f"{rows[0] + 1} (missing={odd[0]!r} would make that one a missing cell)"
    )


# -- dates -----------------------------------------------------------------------------


def _dates(column: pd.Series[Any], cells: TextCells, order: str | None) -> Found | None:
    """Dates if all cells are some, text with a warning if most are."""
    import pandas as pd

    found = read_dates(cells.values, order)
    if found is None:
        return None
    read = np.asarray(found.values.notna())
    if not read.all():
        told = [_odd(cells, read, "dates")] if 2 * read.sum() > len(read) else []
        return Found(cells.words(column), TEXT, warnings=told)
    values = found.values.append(pd.DatetimeIndex([pd.NaT]))
    dates = pd.Series(values[cells.codes], index=column.index, name=column.name)
    notes = ["times with an offset are told in UTC"] if found.in_utc else []
    problems = []
    if found.ambiguous:
        problems.append(
            f"column {str(column.name)!r} has dates such as {cells.values[0]!r}, of "
            "which day and month may be either way round; say which with "
            "dates='day-first' or dates='month-first'."
        )
    return Found(dates, DATE, notes, [], problems)
