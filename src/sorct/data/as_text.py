"""Numbers and dates that a frame holds as text: every cell would become a level."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from sorct.data.numbers import COMMA, POINT, read_numbers
from sorct.data.wording import listed
from sorct.data.written_dates import read_dates

# Cells that tell of most columns of text that they hold neither.
_FIRST = 200


def warn_of_text(X: Any, names: list[Any]) -> None:
    """Warn of columns in which every cell is a number or a date, written as text."""
    for what, hold, cure in (
        ("Numbers", numbers_as_text, "Turn them into numbers"),
        ("Dates", dates_as_text, "Turn them into dates with pandas.to_datetime"),
    ):
        told = [str(name) for name in names if hold(X[name])]
        if told:
            warnings.warn(
                f"{what} as text in column {listed(told)}: every one is taken for a "
                f"level of its own. {cure} (sorct.read_table does so for files), or "
                "name them in categorical_features if they are meant as names.",
                UserWarning,
                stacklevel=2,
            )


def numbers_as_text(column: Any) -> bool:
    """Whether a column of a frame holds text of which every cell is a number.

    Missing cells do not count; a column of pandas categories is meant as it is.
    """
    return _every_cell(column, _are_numbers)


def dates_as_text(column: Any) -> bool:
    """Whether a column of a frame holds text of which every cell is a date."""
    return _every_cell(column, _are_dates)


def _every_cell(column: Any, are: Callable[[list[str]], bool]) -> bool:
    if not str(column.dtype.name).startswith(("object", "str", "large_string")):
        return False
    for cells in (column.iloc[:_FIRST].dropna().tolist(), column.dropna().tolist()):
        if cells and not all(isinstance(cell, str) for cell in cells):
            return False
        if cells and not are(list({cell.strip() for cell in cells})):
            return False
    return bool(cells)


def _are_numbers(values: list[str]) -> bool:
    return any(bool(read_numbers(values, mark).read.all()) for mark in (POINT, COMMA))


def _are_dates(values: list[str]) -> bool:
    # Also if day and month may be either way round: then a person has to say it.
    found = read_dates(values, None)
    return found is not None and bool(found.values.notna().all())
