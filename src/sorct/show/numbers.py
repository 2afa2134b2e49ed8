"""Numbers: how those of a cut are rounded and written."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from sorct.tree.view import Reading

# A number is printed such that its rounding moves a cut by less than this share of its
# largest term, also for columns far from zero.
ROUNDING = 1e-3
# Other numbers are not written out.
_SMALLEST, _LARGEST = Decimal("1e-4"), Decimal("1e9")


def printed_weights(reading: Reading, decimals: int | None = None) -> list[str]:
    """Sizes of the weights, rounded, without their signs."""
    error = allowed_error(reading)
    return [
        rounded(abs(weight), error / summand.largest, decimals)
        for summand, weight in zip(reading.summands, reading.weights, strict=True)
    ]


def printed_threshold(reading: Reading, decimals: int | None = None) -> str:
    """Threshold, rounded."""
    return rounded(reading.threshold, allowed_error(reading), decimals)


def allowed_error(reading: Reading) -> float:
    """By how much one of the numbers may move a cut, the first weight being 1."""
    return ROUNDING * reading.summands[0].span / len(reading.pieces)


def rounded(number: float, error: float, decimals: int | None = None) -> str:
    """Four digits, or as many as keep the rounding below the error, written out."""
    if decimals is not None:
        text = f"{number:.{decimals}f}"
        return text if float(text) != 0.0 or number == 0.0 else f"{number:.1g}"
    digits = 4
    if number != 0.0 and 0.0 < error < np.inf:
        places = np.floor(np.log10(abs(number))) + 1 - np.floor(np.log10(2.0 * error))
        digits = int(np.clip(places, 4, 17))
    return write_out(f"{number:.{digits}g}")


def plain_number(text: str) -> str:
    """A rounded number written out where people can read it so, thousands apart."""
    number = Decimal(text)
    if number and not _SMALLEST <= abs(number) < _LARGEST:
        return text
    # Four digits stay together, as in a year.
    mark = "," if abs(number) >= 10_000 else ""
    return f"{number:{mark}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def write_out(text: str) -> str:
    """The same with all digits together."""
    return plain_number(text).replace("\N{NARROW NO-BREAK SPACE}", "")
