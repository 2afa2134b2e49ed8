"""Cuts: one cut of a tree in words.

A cut is a sum of pieces above a threshold: numbers with their weights, categories with
what each level adds. A cut that asks for one thing alone reads as a plain question.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sorct.data.dates import iso_date
from sorct.data.wording import readable
from sorct.show.folds import folds, named, quoted
from sorct.show.numbers import (
    allowed_error,
    printed_threshold,
    printed_weight,
    rounded,
)
from sorct.tree.reading import ROUNDING, Piece, Reading
from sorct.tree.view import Cut

# Days that a calendar has, from the year 1 to 9999.
_FIRST_DAY, _LAST_DAY = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")


def cut_text(
    cut: Cut, decimals: int | None = None, write: Callable[[str], str] = str
) -> str:
    """A cut as a sparse combination in original units, largest weight first.

    The first summand has weight 1, so that the sum is in its units; of two levels one
    is told, by what it adds to the other. A cut with one
    term alone reads "variable > threshold", or "variable is level". ``write`` may give
    the rounded numbers another form.
    """
    return " ".join(cut_parts(cut, decimals, write))


def cut_parts(
    cut: Cut,
    decimals: int | None = None,
    write: Callable[[str], str] = str,
    every: bool = False,
) -> list[str]:
    """Terms of a cut with their signs, and its threshold; or with ``every`` level."""
    if cut.left_proba is not None:
        return [_text_without_variables(cut.left_proba)]
    reading = cut.reading
    question = _question_parts(reading, decimals, write, every)
    if question is not None:
        name, (first, *rest) = question
        return [f"{name} {first}", *rest]
    parts: list[str] = []
    for n, piece in enumerate(reading.pieces):
        first, *rest = _piece_parts(reading, piece, decimals, write, every)
        if n == 0:
            first = first.removeprefix("+ ")
        parts += [first, *rest]
    return [*parts, f"> {write(printed_threshold(reading, decimals))}"]


def _piece_parts(
    reading: Reading,
    piece: Piece,
    decimals: int | None,
    write: Callable[[str], str],
    every: bool,
) -> list[str]:
    """A piece of a sum with its sign; a category may be broken between its levels."""
    if piece.levels:
        told = [fold.parts(write) for fold in folds(reading, piece, decimals, every)]
        many = any("," in text or " more " in text for one in told for text in one)
        for one in told[:-1]:
            one[-1] += ";" if many else ","
        told[0][0] = f"+ ({readable(piece.name)}: {told[0][0]}"
        told[-1][-1] += ")"
        return [text for one in told for text in one]
    k = piece.places[0]
    summand, weight = reading.summands[k], reading.weights[k]
    size = f"{write(printed_weight(reading, k, decimals))} " if k else ""
    text = f"{'-' if weight < 0 else '+'} {size}{summand.text}"
    if piece.missing is not None:
        text += f" (missing: {missing_text(reading, piece, decimals, write)})"
    return [text]


def missing_text(
    reading: Reading,
    piece: Piece,
    decimals: int | None = None,
    write: Callable[[str], str] = str,
) -> str:
    """What a missing cell adds, with its sign."""
    weight = piece.missing or 0.0
    size = write(rounded(abs(weight), allowed_error(reading), decimals))
    return f"{'-' if weight < 0 else '+' if weight > 0 else ''}{size}"


def _text_without_variables(proba: float) -> str:
    """A cut that uses nothing; "yes" is left there."""
    if min(proba, 1.0 - proba) < 5e-4:
        return f"(no variable: always {'yes' if proba > 0.5 else 'no'})"
    return f"(no variable: yes with probability {proba:.3f})"


# -- plain questions -------------------------------------------------------------------


def plain_question(
    reading: Reading, decimals: int | None = None, write: Callable[[str], str] = str
) -> tuple[str, str] | None:
    """What a cut asks of which variable, if it asks for one thing alone, else None.

    Such as ("purpose", "is car or house") or ("signup", "> 2019-05-03").
    """
    found = _question_parts(reading, decimals, write, every=False)
    return None if found is None else (found[0], " ".join(found[1]))


def _question_parts(
    reading: Reading, decimals: int | None, write: Callable[[str], str], every: bool
) -> tuple[str, list[str]] | None:
    """The same, what is asked in parts between which a line may be broken."""
    if len(reading.pieces) != 1:
        return None
    (piece,), name = reading.pieces, readable(reading.pieces[0].name)
    if piece.levels:
        asked = _levels_asked(reading, piece, every)
        return None if asked is None else (name, asked)
    text = _number_asked(reading, piece, decimals, write)
    return None if text is None else (name, [text])


def _number_asked(
    reading: Reading, piece: Piece, decimals: int | None, write: Callable[[str], str]
) -> str | None:
    """What a cut asks of a number, a date or a single column of a category."""
    first, inside = reading.summands[0], 0.0 < reading.threshold < 1.0
    if first.is_level:
        return first.asks if inside else None
    if first.points:
        asked = _point_asked(reading, decimals, write) if inside else None
    elif first.part is not None:
        asked = _part_asked(reading, decimals, write)
    else:
        asked = _day_asked(reading.threshold, first.origin)
    if asked is None:
        return None
    if piece.missing is not None:
        answer = "yes" if piece.missing > reading.threshold else "no"
        asked += f" (missing: {answer})"
    return asked


def _levels_asked(reading: Reading, piece: Piece, every: bool) -> list[str] | None:
    """Which levels a cut asks for, if all of them have one of two weights."""
    weights = [(quoted(level, whole=every), weight) for level, weight in piece.levels]
    if piece.missing is not None:
        weights.append(("missing", piece.missing))
    error, threshold, others = allowed_error(reading), reading.threshold, piece.others
    values = {rounded(weight + 0.0, error): weight for _, weight in weights}
    if len(values) != 2 or not min(values.values()) < threshold < max(values.values()):
        return None
    others_say_yes = others is not None and others > threshold
    as_told = others is None or rounded(others + 0.0, error) in values
    if as_told and others_say_yes:
        rest = [name for name, weight in weights if weight <= threshold]
        if rest == ["missing"] and piece.missing is not None:
            return ["is known"]
        none = "not" if len(rest) == 1 else "none of"
        first, *more = named(rest, every, " and ")
        return [f"is {none} {first}", *more]
    asked = [name for name, weight in weights if weight > threshold]
    first, *more = named(asked, every, " or ", " or one of ")
    told = [f"is {first}", *more]
    if not as_told:
        told[-1] += f" (others: {'yes' if others_say_yes else 'no'})"
    return told


def _point_asked(
    reading: Reading, decimals: int | None, write: Callable[[str], str]
) -> str | None:
    """Where a curve comes above the threshold, in units of the variable."""
    first, threshold = reading.summands[0], reading.threshold
    at, place = zip(*first.points, strict=True)
    k = next(n for n, one in enumerate(place) if one > threshold)
    if first.is_score:
        return f"is {at[k]}" if k == len(at) - 1 else f"is {at[k]} or above"
    slope = (at[k] - at[k - 1]) / (place[k] - place[k - 1])
    number = at[k - 1] + slope * (threshold - place[k - 1])
    if first.origin is not None:
        return _day_asked(number, first.origin)
    text = rounded(number, ROUNDING * slope, decimals)
    return f"> {write(text)}"


def _part_asked(
    reading: Reading, decimals: int | None, write: Callable[[str], str]
) -> str | None:
    """Where a part of a bent number comes above the threshold, if inside."""
    first = reading.summands[0]
    if first.part is None or not 0.0 < reading.threshold < first.span:
        return None
    number = first.part[0] + reading.threshold
    if first.origin is not None:
        return _day_asked(number, first.origin)
    return f"> {write(rounded(number, ROUNDING * first.span, decimals))}"


def _day_asked(days: float, origin: str | None) -> str | None:
    """A threshold of a date as a day, if a calendar has it."""
    if origin is None:
        return None
    start = np.datetime64(origin, "D")
    low, high = ((end - start).astype(float) for end in (_FIRST_DAY, _LAST_DAY))
    return f"> {iso_date(days, origin)}" if low <= days <= high else None
