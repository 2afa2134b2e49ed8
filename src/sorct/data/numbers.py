"""Numbers as people write them: 8,113.06 or 8 113,06, 62%, $1,200, (300).

Which of point and comma is the decimal mark is not told by a cell alone: 1,234 may be
either number. A column *shows* a mark if its cells are numbers with that one and not
with the other: 3,5 and 1.234,5 show the comma, 3.5 and 1,234,567 the point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sorct._typing import BoolArray, FloatArray

POINT, COMMA = ".", ","
_BLANKS = " \u00a0\u2009\u202f"
_CURRENCIES = (
    *"$€£¥₹₩₽₺₪₫฿₴₦₱",
    "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK", "DKK",
)  # fmt: skip
# Cells that tell of most columns whether they are numbers, and with which mark.
_FIRST = 200


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    """Every line, with its text as a group if that is a number."""
    mark, other = re.escape(decimal), re.escape(COMMA if decimal == POINT else POINT)
    groups = "|".join(
        rf"[1-9]\d{{0,2}}(?:[{one}]\d{{3}})+" for one in (other, _BLANKS, "'’")
    )
    digits = rf"(?:(?:{groups}|\d+)(?:{mark}\d*)?|{mark}\d+)"
    money = rf"(?:{'|'.join(map(re.escape, _CURRENCIES))})"
    unit = rf"(?:[{_BLANKS}]?(?:[%‰]|{money}))?"
    body = rf"(?:{money}[{_BLANKS}]?)?{digits}"
    number = rf"[-+−]?{body}{unit}|{money}[-−]{digits}|\({body}{unit}\)"
    return re.compile(rf"^(?:({number}|[-+−]?{digits}[eE][-+]?\d+)|[^\n]*)$", re.M)


@cache
def _plain(decimal: str) -> dict[int, Any]:
    """What each character of a number becomes in one that Python reads."""
    other = COMMA if decimal == POINT else POINT
    changed = {decimal: ".", "−": "-", "(": "-", "%": "e-2", "‰": "e-3"}
    return str.maketrans({**dict.fromkeys([*_BLANKS, *"'’)+", other]), **changed})


@dataclass(frozen=True, eq=False)
class NumberCells:
    """Cells read as numbers.

    Attributes
    ----------
    values : array of floats, NaN where a cell is no number
    mixed : bool
        Whether cells have different currencies, or only some a percent sign.
    """

    values: FloatArray
    mixed: bool

    @property
    def read(self) -> BoolArray:
        """Which cells are numbers."""
        return ~np.isnan(self.values)


def read_numbers(cells: Sequence[str], decimal: str) -> NumberCells:
    """Numbers of stripped cells, to the last bit as Python reads them."""
    found = _matches(cells, decimal)
    text = "\n".join(filter(None, found))
    currencies = [one for one in _CURRENCIES if one in text]
    for name in currencies:
        text = text.replace(name, "")
    n_parts = text.count("%") + text.count("‰")
    values = np.full(len(cells), np.nan)
    is_number = np.fromiter(map(bool, found), dtype=bool, count=len(found))
    if text:
        numbers = text.translate(_plain(decimal)).split("\n")
        values[is_number] = list(map(float, numbers))
    mixed = len(currencies) > 1 or n_parts not in (0, int(is_number.sum()))
    return NumberCells(values, mixed)


def _matches(cells: Sequence[str], decimal: str) -> list[str]:
    """Every cell that is a number, and "" for the others."""
    text = "\n".join(cells)
    if text.count("\n") != len(cells) - 1:
        text = "\n".join(cell.replace("\n", "\0") for cell in cells)
    # One search over all cells is several times as quick as one for each.
    return _pattern(decimal).findall(text)


def mark_shown(cells: Sequence[str]) -> str | None:
    """The decimal mark with which alone all cells are numbers, if there is one."""
    # Most columns tell by their first cells what they are.
    for some in (cells[:_FIRST], cells):
        whole = [mark for mark in (POINT, COMMA) if all(_matches(some, mark))]
        if len(whole) < 2:
            return whole[0] if whole else None
    return None


def looks_like_numbers(cells: Sequence[str]) -> bool:
    """Whether any of the first cells is a number, with one mark or the other."""
    return any(any(_matches(cells[:_FIRST], mark)) for mark in (POINT, COMMA))
