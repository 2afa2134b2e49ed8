"""Questions: a cut as the page shows it, in words and as rows with bars.

Texts are those of the rules; sizes are in scaled units, positive for "yes".
"""

from __future__ import annotations

from typing import Any

from sorct.show.cuts import cut_text, missing_text, plain_question
from sorct.show.folds import folds
from sorct.show.numbers import plain_number, printed_threshold, printed_weight
from sorct.show.report.rows import DIGITS
from sorct.tree.reading import Piece, Reading
from sorct.tree.view import Cut

# Terms of a cut that is written out, at most.
_TERMS = 3


def question(cut: Cut) -> dict[str, Any]:
    """A cut as printed; ``size`` of a term is its coefficient in scaled units.

    ``words`` is the question with plain numbers, where that makes a difference.
    """
    reading = cut.reading
    if not reading.summands:
        return {"question": cut_text(cut), "threshold": None, "terms": []}
    terms = [_term(reading, piece) for piece in reading.pieces]
    threshold = printed_threshold(reading)
    asked, words = (
        cut_text(cut, write=write)
        if len(terms) <= _TERMS
        else f"sum of {len(terms)} terms > {write(threshold)}"
        for write in (str, plain_number)
    )
    # A plain question, such as "variable is level", has no threshold.
    shown = None if plain_question(reading) else threshold
    told = {"question": asked, "threshold": shown, "terms": terms}
    return told if words == asked else {**told, "words": words}


def _term(reading: Reading, piece: Piece) -> dict[str, Any]:
    """A piece of a sum; only what is no plain column has more than a weight."""
    k = piece.places[0]
    summand, weight = reading.summands[k], reading.weights[k]
    number = printed_weight(reading, k)
    told: dict[str, Any] = {
        "column": reading.columns[k],
        "weight": _minus(f"-{number}" if weight < 0 else number),
        "size": _short(_side(reading) * summand.weight),
    }
    if piece.levels:
        return {**told, "levels": _levels(reading, piece)}
    named = summand.points or summand.part or summand.is_missing
    if named or summand.origin is not None:
        told["name"] = summand.text
    if summand.points and not summand.is_score:
        told["curve"] = weight
    if piece.missing is not None:
        size = _side(reading) * reading.summands[piece.places[1]].weight
        text = missing_text(reading, piece).removeprefix("+")
        told["missing"] = {"weight": _minus(text), "size": _short(size)}
    return told


def _levels(reading: Reading, piece: Piece) -> list[dict[str, Any]]:
    """Levels of a category by their weights."""
    unit = abs(reading.summands[0].raw_weight)
    return [
        {
            "names": fold.names,
            "weights": [_minus(number) for number in dict.fromkeys(fold.numbers)],
            "low": _short(unit * fold.low),
            "high": _short(unit * fold.high),
        }
        for fold in folds(reading, piece)
    ]


def _side(reading: Reading) -> float:
    return 1.0 if reading.is_left else -1.0


def _minus(number: str) -> str:
    """A number with a minus of its own width."""
    return f"−{number[1:]}" if number.startswith("-") else number


def _short(size: float) -> float:
    return float(f"{size:.{DIGITS}g}")
