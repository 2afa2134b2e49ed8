"""Numbers: how those of a cut are rounded and written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sorct.data.wording import plain_number, write_out
from sorct.tree.reading import ROUNDING, Reading

# A change below this share of the largest one is told as none.
_NOTHING = 1e-4

__all__ = [
    "allowed_error",
    "plain_number",
    "printed_threshold",
    "printed_weight",
    "quantity_text",
    "rounded",
    "signed",
    "thousands_apart",
    "write_out",
]


def printed_weight(reading: Reading, k: int, decimals: int | None = None) -> str:
    """Size of the weight of summand k, rounded, without its sign."""
    error = allowed_error(reading) / reading.summands[k].largest
    return rounded(abs(reading.weights[k]), error, decimals)


def printed_threshold(reading: Reading, decimals: int | None = None) -> str:
    """Threshold, rounded."""
    return rounded(reading.threshold, allowed_error(reading), decimals)


def allowed_error(reading: Reading) -> float:
    """By how much one of the numbers may move a cut, the first weight being 1."""
    return ROUNDING * reading.summands[0].span / len(reading.pieces)


def signed(
    number: float, digits: int, most: float, write: Callable[[str], str] = write_out
) -> str:
    """A change with its sign, written out; "about 0" if the largest one dwarfs it."""
    if abs(number) <= _NOTHING * most:
        return "0" if number == 0.0 else "about 0"
    text = write(f"{number:.{digits}g}")
    return f"+{text}" if number > 0.0 else text


def quantity_text(number: float, digits: int = 6) -> str:
    """A number of a quantity, written out, large ones in groups of three digits."""
    return thousands_apart(f"{number:.{digits}g}")


def thousands_apart(text: str) -> str:
    """A rounded number with spaces between groups, as leaves have them."""
    return plain_number(text).replace("\N{NARROW NO-BREAK SPACE}", " ")


def rounded(number: float, error: float, decimals: int | None = None) -> str:
    """Four digits, or as many as keep the rounding below the error, written out."""
    if decimals is not None:
        text = f"{number:.{decimals}f}"
        return text if float(text) != 0.0 or number == 0.0 else f"{number:.1g}"
    digits = 4
    if number != 0.0 and 0.0 < error < np.inf:
        places = np.floor(np.log10(abs(number))) + 1 - np.floor(np.log10(2.0 * error))
        digits = int(min(max(places, 4), 17))
    return write_out(f"{number:.{digits}g}")
