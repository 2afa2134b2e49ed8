"""Reading: a cut as people read it.

A cut stays the same when it is multiplied by a positive number, or when its sign and
its two sides are swapped. So it is shown such that the summand with the largest scaled
coefficient has weight 1, and that a larger value of it makes "yes" more probable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sorct._typing import FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.terms import OTHER, Summand, Term
from sorct.data.variables import Variable, is_truth

#: A number is printed such that its rounding moves a cut by less than this share of its
#: largest term, also for columns far from zero.
ROUNDING = 1e-3
# Scales that differ by more than this cannot be compared: products would overflow.
_LEAST = 1e-150

#: What variables add to a cut, by their positions in the table.
Terms: TypeAlias = dict[int, Term]


@dataclass(frozen=True)
class Piece:
    """What of a cut is printed together: a variable, or a column chosen by itself.

    Weights are those of the reading.

    Attributes
    ----------
    name : str
        Name of the variable.
    places : tuple of int
        Positions of its summands in the reading.
    levels : tuple of pairs
        Of a category, all its levels and what each adds; empty for all else.
    base : float
        What is taken off the weights of levels and missing cells, and off the
        threshold: of two levels, one adds what the other takes, and one is told.
    others : float or None
        What any other level adds, None if there can be none.
    halfway : bool
        Whether that is halfway between its two levels.
    missing : float or None
        What a missing cell adds in place of all that; None if it has no own weight.
    """

    name: str
    places: tuple[int, ...]
    levels: tuple[tuple[Any, float], ...] = ()
    base: float = 0.0
    others: float | None = None
    halfway: bool = False
    missing: float | None = None


@dataclass(frozen=True)
class Reading:
    """A cut as people read it: "yes" when the sum is above the threshold.

    Attributes
    ----------
    summands : tuple of Summand
        Largest weight in scaled units first, but for parts of one number.
    columns, variables : tuple of int
        The column of every summand, and the position of its variable.
    weights : tuple of float
        Weights on raw columns, the first being 1.
    threshold : float
        In the units of the first.
    pieces : tuple of Piece
        The same by what is printed together, in the order of the first summands.
    """

    summands: tuple[Summand, ...]
    columns: tuple[int, ...]
    variables: tuple[int, ...]
    weights: tuple[float, ...]
    threshold: float
    pieces: tuple[Piece, ...] = ()

    @classmethod
    def of(cls, encoder: TableEncoder, terms: Terms, threshold: float) -> Reading:
        """Read "the sum of the terms is above the threshold", in scaled units."""
        found = _by_size(terms)
        summands = tuple(summand for summand, _ in found)
        if not _comparable(summands):
            summands = tuple(summand.scaled() for summand in summands)
        for column in np.argsort(
            [s.column + encoder.first_column[i] for s, i in found]
        ):
            threshold += summands[column].begins
        lead = summands[0].raw_weight if summands else 1.0
        variables = tuple(i for _, i in found)
        pieces = tuple(_pieces(encoder, terms, summands, variables))
        base = sum(piece.base for piece in pieces)
        return cls(
            summands=summands,
            columns=tuple(encoder.columns_of(i).start + s.column for s, i in found),
            variables=variables,
            weights=tuple(s.raw_weight / lead for s in summands),
            # A threshold of 0 has no sign, whichever way the cut is turned.
            threshold=threshold / lead - base + 0.0,
            pieces=pieces,
        )

    @property
    def is_left(self) -> bool:
        """Whether "yes" means left: the first summand speaks for "yes"."""
        return not self.summands or self.summands[0].raw_weight > 0.0

    @property
    def base(self) -> float:
        """What is taken off the sum and off the threshold."""
        return sum(piece.base for piece in self.pieces)

    @property
    def sided(self) -> set[int]:
        """Columns of two levels of which one is told."""
        places = [k for piece in self.pieces if piece.base for k in piece.places]
        return {self.columns[k] for k in places}

    @property
    def untold(self) -> set[int]:
        """Columns of the other ones, which are not told."""
        weighed = zip(self.columns, self.weights, strict=True)
        return {k for k, weight in weighed if weight < 0.0} & self.sided

    def margins(self, scaled: FloatArray) -> FloatArray:
        """Sum minus threshold of rows, of scaled columns in shape (n_summands, n)."""
        total = np.full(scaled.shape[1], -self.threshold - self.base)
        for summand, weight, values in zip(
            self.summands, self.weights, scaled, strict=True
        ):
            if summand.is_missing:
                # Scaled columns are 0 there, and add what they do at their lower ends.
                weight -= summand.instead / self.summands[0].raw_weight
            total += weight * (summand.lower + summand.span * values)
        return total


def _by_size(terms: Terms) -> list[tuple[Summand, int]]:
    """Summands and their variables, largest first; a missing cell after its variable.

    It counts as much as its variable, lest a cut be read in units of what is missing.
    Parts of a bent number stand together, where the largest of them would: that one,
    and the others from left to right, so that the shape of the curve can be read.
    """
    found = []
    for i, term in terms.items():
        summands = term.summands()
        bent = _are_bent(summands)
        known = [abs(s.weight) for s in summands if not s.is_missing]
        for summand in summands:
            told = summand.is_missing and bent
            if summand.weight == 0.0 and _are_apart(summands) and not told:
                continue
            follows, size = summand.is_missing and bool(known), abs(summand.weight)
            rank = max(known) if follows or bent else size
            begin = -np.inf
            if summand.part is not None and size < rank:
                begin = summand.part[0]
            place = (i, follows, begin) if bent else (-1, follows, begin)
            found.append(((-rank, *place), summand, i))
    found.sort(key=lambda entry: entry[0])
    return [(summand, i) for _, summand, i in found]


def _are_apart(summands: tuple[Summand, ...]) -> bool:
    """Whether a variable is printed column by column, as levels are in the paper."""
    levels = any(s.is_level and s.member is None for s in summands)
    return levels or _are_bent(summands)


def _are_bent(summands: tuple[Summand, ...]) -> bool:
    """Whether some are parts of a bent number."""
    return any(summand.part is not None for summand in summands)


def _comparable(summands: tuple[Summand, ...]) -> bool:
    """Whether raw columns can be weighed in the units of the first of them."""
    if not summands:
        return True
    first = summands[0].span
    sizes = [max(s.span, s.largest) for s in summands]
    # What a missing cell adds may be next to nothing, or nothing.
    weighed = [s for s in summands if not s.is_missing]
    return all(_LEAST < size / first < 1.0 / _LEAST for size in sizes) and all(
        s.span / first > _LEAST and abs(s.weight) > _LEAST for s in weighed
    )


def _pieces(
    encoder: TableEncoder,
    terms: Terms,
    summands: tuple[Summand, ...],
    variables: tuple[int, ...],
) -> Iterator[Piece]:
    """Summands of a variable together, unless its columns are chosen by themselves."""
    lead = summands[0].raw_weight if summands else 1.0
    apart = {i: _are_apart(terms[i].summands()) for i in set(variables)}
    places: dict[tuple[int, int], list[int]] = {}
    for k, i in enumerate(variables):
        place = k if apart[i] else -1
        if summands[k].is_missing and _are_bent(terms[i].summands()):
            # A missing cell comes with the largest part of its variable.
            place = next((n for own, n in places if own == i), place)
        places.setdefault((i, place), []).append(k)
    for (i, place), own in places.items():
        known = [k for k in own if not summands[k].is_missing]
        if not known or (place >= 0 and summands[own[0]].is_level):
            yield Piece(encoder.names[i], tuple(own))
            continue
        blank = [k for k in own if k not in known]
        missing = summands[blank[0]].raw_weight / lead if blank else None
        piece = Piece(encoder.names[i], (*known, *blank), missing=missing)
        if summands[known[0]].is_level:
            piece = _with_levels(piece, terms[i], encoder.variables[i], lead)
        yield piece


def _with_levels(piece: Piece, term: Term, variable: Variable, lead: float) -> Piece:
    """Piece of a category with what its levels and all others add."""
    choices = [one for one in variable.choices or () if one is not None]
    levels = [(one, term.value(one) / lead) for one in choices if one is not OTHER]
    others = None
    if not (is_truth(variable) or term.refuses_unknown):
        # An object is a level that training never saw.
        others = term.value(object()) / lead
    elif OTHER in choices:
        others = term.value(OTHER) / lead
    piece = replace(piece, levels=tuple(levels), others=others)
    return _with_base(piece) if term.is_two_sided else piece


def _with_base(piece: Piece) -> Piece:
    """The piece of two levels as what one adds to the other."""
    base = min(weight for _, weight in piece.levels)
    levels = tuple((level, weight - base) for level, weight in piece.levels)
    if piece.others is None:
        return replace(piece, levels=levels, base=base)
    others = piece.others - base
    return replace(piece, levels=levels, base=base, others=others, halfway=True)
