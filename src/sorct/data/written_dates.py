"""Dates as people write them: 2024-01-31, 31.01.2024, 1/31/2024, 31 Jan 2024.

Whether 01/02/2024 is in January or in February is not told by the cell: some cell of
the column must have a number above 12, or the order must be said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

ORDERS = {"day-first": "%d{0}%m{0}", "month-first": "%m{0}%d{0}"}
# A column is told by its first values.
_FIRST = 20
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?"
_ISO = re.compile(
    rf"\d{{4}}([-/])\d{{1,2}}(?:\1\d{{1,2}}{_TIME} ?(Z|[-+]\d\d:?\d\d)?)?"
)
_NUMERIC = re.compile(
    rf"(?P<one>\d{{1,2}})(?P<mark>[./-])(?P<two>\d{{1,2}})(?P=mark)"
    rf"(?:\d{{4}}|(?<=/)\d{{2}}|(?<=\d\d.)\d{{2}})(?P<time>{_TIME})"
)
_NAMED = re.compile(
    r"(?:\d{1,2}\D{1,3})?[A-Za-z]{3,9}\W{1,2}(?:\d{1,2}\W{1,2})?\d{2,4}"
)
_NAMED_FORMATS = (
    "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%d. %B %Y", "%d. %b %Y",
    "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%b %Y", "%B %Y", "%b-%Y",
    "%B-%Y",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DateCells:
    """Cells read as dates.

    Attributes
    ----------
    values : pandas.DatetimeIndex, NaT where a cell is no date
    in_utc : bool
        Whether cells had an offset, so that they are told in universal time.
    ambiguous : bool
        Whether day and month may be either way round in every cell.
    """

    values: pd.DatetimeIndex
    in_utc: bool = False
    ambiguous: bool = False


def read_dates(cells: Sequence[str], order: str | None) -> DateCells | None:
    """Dates of stripped cells; None if none of the first looks like one."""
    for cell in cells[:_FIRST]:
        if _ISO.fullmatch(cell):
            return _iso(cells)
        if _NUMERIC.fullmatch(cell):
            return _numeric(cells, order)
        if _NAMED.fullmatch(cell):
            return _named(cells, cell)
    return None


def _parsed(cells: Any, **options: Any) -> Any:
    import pandas as pd

    return pd.to_datetime(pd.Index(cells, dtype=object), errors="coerce", **options)


def _iso(cells: Sequence[str]) -> DateCells:
    """Year first. Words that pandas knows, such as today, are no dates."""
    matches = [_ISO.fullmatch(cell) for cell in cells]
    plain = [m[0].replace("/", "-") if m else None for m in matches]
    values = _parsed(plain, format="ISO8601", utc=True).tz_localize(None)
    return DateCells(values, in_utc=any(m is not None and m[2] for m in matches))


def _numeric(cells: Sequence[str], order: str | None) -> DateCells:
    """Day or month first: as said, or as the cells show."""
    matches = [_NUMERIC.fullmatch(cell) for cell in cells]
    pairs = np.array([(int(m["one"]), int(m["two"])) for m in matches if m])
    # With points between them the day comes first, everywhere.
    pointed = next(m["mark"] for m in matches if m) == "."
    above = [bool((column > 12).any()) for column in pairs.T]
    ambiguous = False
    if order is None:
        ambiguous = not pointed and not any(above) and bool(np.ptp(pairs, axis=1).any())
        order = "month-first" if above[1] and not above[0] else "day-first"
    plain = [m[0] if m else None for m in matches]
    return DateCells(_in_order(plain, matches, ORDERS[order]), ambiguous=ambiguous)


def _in_order(plain: list[Any], matches: list[Any], order: str) -> pd.DatetimeIndex:
    """Dates of which day and month are in an order; years may have two digits."""
    first = next(m for m in matches if m)
    years = "%Y" if re.search(r"\d{4}", first[0].split(" ")[0]) else "%y"
    time = first["time"].count(":")
    clock = ("", " %H:%M", " %H:%M:%S")[time]
    if "T" in first["time"]:
        clock = clock.replace(" ", "T")
    values: pd.DatetimeIndex = _parsed(
        plain, format=order.format(first["mark"]) + years + clock
    )
    return values


def _named(cells: Sequence[str], first: str) -> DateCells | None:
    """Dates in the format that reads most, of those that read one: May is short."""
    fit = [f for f in _NAMED_FORMATS if _parsed([first], format=f).notna().all()]
    found = [DateCells(_parsed(cells, format=form)) for form in fit]
    return max(found, key=lambda one: one.values.dropna().size, default=None)
