"""Notes: what a reader needs to know to follow the rules, printed below them.

Curves and scores get a small table of points, clipped columns their ends, missing cells
what they count as.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sorct.data.dates import iso_date
from sorct.data.encoder import TableEncoder
from sorct.data.terms import Summand
from sorct.data.variables import is_truth
from sorct.data.wording import apart, readable
from sorct.show.cuts import cut_parts, plain_question
from sorct.show.numbers import rounded
from sorct.tree.view import Cut, View

# Straight lines between the points that are told come so close to a curve.
_CLOSE = 0.0045
_PARTS = (
    "(x from a to b) is how far x comes into that part: 0 up to a, b - a from b on."
)
_HALFWAY = (
    "Where a variable has two levels, one that training did not have is halfway "
    "between them."
)
_MISSING_IN_LEAF = (
    "[x is missing] in a leaf is 1 where the cell is missing, and then the rest of x "
    "adds nothing there; 0 elsewhere."
)
# Letters of a line, and a space at which none is broken.
_WIDTH, _TIED = 88, "\x1f"


def notes(encoder: TableEncoder, view: View) -> list[str]:
    """What is to be known of the variables in the cuts of a view, each told once."""
    found = [note for cut in view.cuts for note in _cut_notes(encoder, cut)]
    for leaf in view.leaves:
        for i, term in leaf.terms.items():
            closed = term.refuses_unknown or is_truth(encoder.variables[i])
            if term.is_two_sided and not closed:
                found.append(_HALFWAY)
            for summand in term.summands():
                found += _summand_notes(readable(encoder.names[i]), summand)
                if summand.is_missing and summand.raw_weight != 0.0:
                    found.append(_MISSING_IN_LEAF)
    found += _typical_note(encoder, view)
    return [line for note in dict.fromkeys(found) for line in wrapped(note)]


def folding_note(view: View, decimals: int | None) -> list[str]:
    """How to see all levels, where cuts only count or shorten some."""
    if all(
        cut_parts(cut, decimals, every=True) == cut_parts(cut, decimals)
        for cut in view.cuts
    ):
        return []
    call = f'export_text(tree,{_TIED}levels="all")'
    return wrapped(f"Not all levels are told in full: {call} does.")


def wrapped(note: str) -> list[str]:
    """Lines of a note, never broken inside a point."""
    lines = textwrap.wrap(
        note, _WIDTH, subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(_TIED, " ") for line in lines]


def _cut_notes(encoder: TableEncoder, cut: Cut) -> Iterator[str]:
    reading = cut.reading
    plain = plain_question(reading) is not None
    for summand, i in zip(reading.summands, reading.variables, strict=True):
        told = _summand_notes(readable(encoder.names[i]), summand)
        # A plain question is in units of the variable.
        yield from () if plain and not summand.clipped else told
    if not plain and any(piece.halfway for piece in reading.pieces):
        yield _HALFWAY
    weighed = any(p.missing is not None and not p.levels for p in reading.pieces)
    if weighed and not plain:
        yield (
            "(missing: ...) is what a missing cell adds, in place of the variable and "
            "its weight."
        )


def _summand_notes(name: str, summand: Summand) -> list[str]:
    """What is to be known of a summand."""
    if summand.part is not None:
        return [_PARTS]
    if summand.clipped:
        return [_clip_text(name, summand)]
    return [_points_text(summand)] if summand.points else []


def _points_text(summand: Summand) -> str:
    """Values and places of a curve, or levels and their scores."""
    if summand.is_score:
        told = ", ".join(f"{one}{_TIED}{place:.3g}" for one, place in summand.points)
        return f"{summand.text}: {told}."
    span = summand.points[-1][0] - summand.points[0][0]
    told = ", ".join(
        f"{place:.3g}{_TIED}at{_TIED}{written(at, summand.origin, 1e-4 * span)}"
        for at, place in fewer_points(summand.points)
    )
    return f"{summand.text}: {told} (straight lines between, flat beyond)."


def fewer_points(
    points: Sequence[tuple[Any, float]],
) -> Sequence[tuple[Any, float]]:
    """As few points of a curve as nearly give it."""
    at, place = (np.array(values) for values in zip(*points, strict=True))
    kept = [0, len(at) - 1]
    while True:
        gap = np.abs(np.interp(at, at[kept], place[kept]) - place)
        if gap.max() <= _CLOSE:
            return [points[k] for k in kept]
        kept = sorted([*kept, int(np.argmax(gap))])


def _clip_text(name: str, summand: Summand) -> str:
    low, high = (
        written(end, summand.origin, 1e-4 * summand.span)
        for end in (summand.lower, summand.lower + summand.span)
    )
    return f"{name} below {low} counts as {low}, above {high} as {high}."


def _typical_note(encoder: TableEncoder, view: View) -> list[str]:
    """What counts where a cell is missing and training had no such."""
    if encoder.missing == "error":
        return []
    used = dict.fromkeys(i for node in view.nodes.values() for i in node.terms)
    told = [
        f"{readable(variable.name)} {given_text(variable.typical)}"
        for variable in (encoder.variables[i] for i in used)
        if not variable.takes_missing
    ]
    return [f"A missing cell counts as typical: {', '.join(told)}."] if told else []


def written(number: float, origin: str | None, error: float) -> str:
    """A value of a number to four digits or more, of a date the day."""
    if origin is not None:
        return iso_date(number, origin)
    return rounded(number, error)


def value_text(value: Any) -> str:
    """A value of a variable as people write it."""
    return f"{value:.15g}" if isinstance(value, float) else apart(value)


def given_text(value: Any) -> str:
    """A value that was given; one of single precision is as short as it was there."""
    if isinstance(value, float) and not value.is_integer():
        single = np.float32(value)
        value = float(str(single)) if float(single) == value else value
    return value_text(value)


def short_text(value: Any) -> str:
    """The same with seven digits, or all those of a whole part."""
    if not isinstance(value, float) or not 1e-4 <= abs(value) < 1e15:
        return value_text(value)
    decimals = max(6 - int(np.floor(np.log10(abs(value)))), 0)
    return value_text(round(value, decimals))
