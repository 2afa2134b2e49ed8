"""Options: the values that flags take, checked while the command line is read."""

from __future__ import annotations

import argparse
import codecs
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sorct.data.options import SCALINGS
from sorct.data.sheet import DELIMITERS

Value = TypeVar("Value")


def whole(least: int) -> Callable[[str], int]:
    """Type of a whole number that is not less than some."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"expected a whole number >= {least}, got {text!r}"
            )
        return number

    return parse


def real(*, positive: bool) -> Callable[[str], float]:
    """Type of a finite number >= 0, or > 0."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not np.isfinite(number) or number < 0 or (positive and number == 0):
            sign = ">" if positive else ">="
            raise argparse.ArgumentTypeError(
                f"expected a finite number {sign} 0, got {text!r}"
            )
        return number

    return parse


def any_number(text: str) -> float:
    """Type of a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = np.inf
    if not np.isfinite(number):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {text!r}")
    return number


def several(parse_one: Callable[[str], Value]) -> Callable[[str], list[Value]]:
    """Type of one or several values, separated by commas."""

    def parse(text: str) -> list[Value]:
        return [parse_one(part.strip()) for part in text.split(",")]

    return parse


def steepness(text: str) -> float | str:
    """Type of a steepness: a number, or auto."""
    if text in ("auto", "choose"):
        return text
    try:
        return real(positive=True)(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"expected auto or a finite number > 0, got {text!r}"
        ) from None


def class_weight(text: str) -> tuple[str | None, float]:
    """Type of a class and its weight; balanced, for all classes, has no name."""
    if text == "balanced":
        return None, 1.0
    name, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = 0.0
    if not name or not np.isfinite(weight) or weight <= 0.0:
        raise argparse.ArgumentTypeError(
            "expected balanced, or a class and a finite number > 0, such as fraud=5, "
            f"got {text!r}"
        )
    return name, weight


def confidence(text: str) -> float:
    """Type of a probability that a promise holds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(
            f"expected a number between 0 and 1, such as 0.95, got {text!r}"
        )
    return number


def jobs(text: str) -> int:
    """Type of a number of jobs, as in joblib."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number == 0:
        raise argparse.ArgumentTypeError(
            f"expected a whole number other than 0 (-1: all cores), got {text!r}"
        )
    return number


def n_starts(text: str) -> int | str:
    """Type of a number of starts."""
    return text if text == "auto" else whole(1)(text)


def recall(text: str) -> tuple[str | None, float]:
    """Type of a floor: a rate, or a class and its rate."""
    name, equals, rate = text.rpartition("=")
    try:
        floor = float(rate)
    except ValueError:
        floor = -1.0
    if not 0.0 <= floor <= 1.0:
        raise argparse.ArgumentTypeError(
            f"expected a rate from 0 to 1, such as 0.8 or fraud=0.9, got {text!r}"
        )
    return (name if equals else None), floor


def group_bound(text: str) -> tuple[str | None, float]:
    """Type of a bound: a number, or a group and its bound."""
    name, equals, number = text.rpartition("=")
    try:
        bound = float(number)
    except ValueError:
        bound = 0.0
    if not (bound > 0.0 and bound < float("inf")):
        raise argparse.ArgumentTypeError(
            f"expected a number above 0, such as 5 or north=5, got {text!r}"
        )
    return (name if equals else None), bound


def frequency(text: str) -> int | float:
    """Type of a number of rows, or of a share of them."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0.0 < number < 1.0:
        return number
    if not number >= 1.0 or number % 1.0 != 0.0:
        raise argparse.ArgumentTypeError(
            "expected a whole number of rows >= 1, or a share between 0 and 1, got "
            f"{text!r}"
        )
    return int(number)


def scaling(text: str) -> tuple[str | None, str]:
    """Type of a scaling, or of a column and its scaling."""
    name, equals, kind = text.rpartition("=")
    if kind not in SCALINGS:
        raise argparse.ArgumentTypeError(
            f"expected {', '.join(SCALINGS)}, or one of these for a column, such as "
            f"income=quantile, got {text!r}"
        )
    return (name if equals else None), kind


def order(text: str) -> str:
    """Type of a column and its levels in order; which is which, the table tells."""
    name, _, levels = text.partition("=")
    if not name or "," not in levels:
        raise argparse.ArgumentTypeError(
            "expected a column and its levels from low to high, such as "
            f"grade=low,mid,high, got {text!r}"
        )
    return text


def direction(text: str) -> tuple[str, int]:
    """Type of a column and its direction."""
    name, _, sign = text.rpartition("=")
    if not name or sign not in ("+1", "1", "-1"):
        raise argparse.ArgumentTypeError(
            f"expected a column and +1 or -1, such as debt=+1, got {text!r}"
        )
    return name, int(sign)


def price(text: str) -> tuple[str | None, float | str]:
    """Type of a column and its price, or of a file of prices."""
    name, equals, number = text.rpartition("=")
    if not equals:
        return None, text
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not name or not np.isfinite(value) or value < 0.0:
        raise argparse.ArgumentTypeError(
            "expected a column and a finite number >= 0, such as mri=400, or a CSV "
            f"file, got {text!r}"
        )
    return name, value


def encoding(text: str) -> str:
    """Type of the name of a text encoding."""
    try:
        b"a".decode(text, errors="replace")
        return codecs.lookup(text).name
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(
            f"there is no encoding {text!r}; expected one such as cp1252 or utf-16"
        ) from None


def delimiter(text: str) -> str:
    """Type of a delimiter: a character, or the name of one."""
    found = DELIMITERS.get(text, "\t" if text == "\\t" else text)
    if len(found) != 1 or found in '"\r\n':
        raise argparse.ArgumentTypeError(
            f"expected one character, or comma, semicolon or tab, got {text!r}"
        )
    return found


def scoring(text: str) -> str:
    """Type of the name of a scorer of scikit-learn."""
    from sorct.estimators.scorers import refuse_unknown_scorer

    try:
        refuse_unknown_scorer(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
