"""Terms: what one variable adds to the sum of a cut, on raw values.

A term is made by its variable (``Variable.term``) from the weights that a cut gives to
the variable's columns. It knows its value on a raw cell and how it reads; exporters
have a table with one row per kind of term.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from sorct.data.dates import as_days, iso_date

# Who writes a term finds here what it is made of.
from sorct.data.summands import Summand as Summand
from sorct.data.wording import Unnamed, apart, printable, readable, told_within


class Other:
    """The choice that stands for all levels of a category that have no own column."""

    def __repr__(self) -> str:
        return "other"


OTHER = Other()


def other_among(levels: Collection[Any]) -> Unnamed:
    """What OTHER is called where levels have names: "(other)" if one is called so."""
    return Unnamed(f"({OTHER})" if str(OTHER) in levels else str(OTHER))


class Term(Protocol):
    """What a variable adds to the sum of a cut."""

    @property
    def name(self) -> str:
        """Name of the variable."""

    @property
    def size(self) -> float:
        """Most that the term adds or takes over the range seen in training."""

    @property
    def refuses_unknown(self) -> bool:
        """Whether a level never seen in training is an error."""

    @property
    def of_numbers(self) -> bool:
        """Whether cells are numbers, of which NaN is one; no dates, text or truths."""

    @property
    def is_two_sided(self) -> bool:
        """Whether it has two levels, one adding what the other takes, and no more."""

    def value(self, cell: Any) -> float:
        """What a raw value of the variable adds."""

    def times(self, factor: float) -> Self:
        """The term with all its weights multiplied."""

    def summands(self) -> tuple[Summand, ...]:
        """The term as it is printed, in the order of the variable's columns."""

    def raw(self, cell: Any) -> tuple[float, ...]:
        """Raw columns of a value that the summands weigh, in their order."""


def _number(cell: Any, origin: str | None) -> float:
    return float(cell) if origin is None else as_days(cell, origin)


def _since(name: str, origin: str | None) -> str:
    """Name of a number; of a date, with the day from which days are counted."""
    return (
        readable(name)
        if origin is None
        else f"(days of {readable(name)} since {origin})"
    )


class _NumberTerm:
    """What terms of all numbers have in common; those of a date have an origin."""

    origin: str | None

    refuses_unknown = False
    is_two_sided = False

    @property
    def of_numbers(self) -> bool:
        """Whether cells are numbers and no dates."""
        return self.origin is None


@dataclass(frozen=True)
class LinearTerm(_NumberTerm):
    """A number: it adds weight (x - lower) / span; of a date, x is in days."""

    name: str
    lower: float
    span: float
    weight: float
    origin: str | None = None

    @property
    def size(self) -> float:
        """Most that the term adds or takes over the range seen in training."""
        return abs(self.weight)

    def value(self, cell: Any) -> float:
        """What a raw value adds."""
        return self.weight * ((_number(cell, self.origin) - self.lower) / self.span)

    def times(self, factor: float) -> LinearTerm:
        """The term with its weight multiplied."""
        return replace(self, weight=factor * self.weight)

    def summands(self) -> tuple[Summand, ...]:
        """The one column."""
        text = _since(self.name, self.origin)
        return (Summand(text, self.weight, self.lower, self.span, origin=self.origin),)

    def raw(self, cell: Any) -> tuple[float, ...]:
        """The number itself."""
        return (_number(cell, self.origin),)


@dataclass(frozen=True)
class CurveTerm(_NumberTerm):
    """A number along straight lines: it adds weight times the place between points."""

    name: str
    at: tuple[float, ...]
    place: tuple[float, ...]
    weight: float
    origin: str | None = None

    @property
    def size(self) -> float:
        """Most that the term adds or takes."""
        return abs(self.weight)

    @property
    def values(self) -> tuple[float, ...]:
        """What the term adds at its points."""
        return tuple(self.weight * place for place in self.place)

    def place_of(self, cell: Any) -> float:
        """Place from 0 to 1 of a raw value."""
        x, at = _number(cell, self.origin), self.at
        if not at[0] < x < at[-1]:
            return x if x != x else (0.0 if x <= at[0] else 1.0)
        k = bisect_right(at, x)
        share = (x - at[k - 1]) / (at[k] - at[k - 1])
        return self.place[k - 1] + share * (self.place[k] - self.place[k - 1])

    def value(self, cell: Any) -> float:
        """What a raw value adds."""
        return self.weight * self.place_of(cell)

    def times(self, factor: float) -> CurveTerm:
        """The term with its weight multiplied."""
        return replace(self, weight=factor * self.weight)

    @property
    def _is_straight(self) -> bool:
        return len(self.at) == 2

    def summands(self) -> tuple[Summand, ...]:
        """The clipped column, or the place on the curve."""
        text = _since(self.name, self.origin)
        if self._is_straight:
            low, high = self.at
            return (
                Summand(
                    text, self.weight, low, high - low, clipped=True, origin=self.origin
                ),
            )
        points = tuple(zip(self.at, self.place, strict=True))
        return (
            Summand(
                f"curve({readable(self.name)})",
                self.weight, 0.0, 1.0, points=points, origin=self.origin,
            ),
        )  # fmt: skip

    def raw(self, cell: Any) -> tuple[float, ...]:
        """The number between the ends, or its place."""
        place = self.place_of(cell)
        if not self._is_straight:
            return (place,)
        return (self.at[0] + place * (self.at[1] - self.at[0]),)


@dataclass(frozen=True)
class BentTerm(_NumberTerm):
    """A bent number: it adds weights times the shares of its parts below the number.

    Attributes
    ----------
    name : str
    parts : tuple of pairs
        Beginning and end of every part that has a say, from low to high.
    weights : tuple of float
    columns : tuple of int
        Positions of the parts among the columns of the variable.
    origin : str or None
        For a date, the day from which days are counted.
    """

    name: str
    parts: tuple[tuple[float, float], ...]
    weights: tuple[float, ...]
    columns: tuple[int, ...]
    origin: str | None = None

    @property
    def at(self) -> tuple[float, ...]:
        """Where its line bends, and both ends."""
        return tuple(sorted({end for part in self.parts for end in part}))

    @property
    def values(self) -> tuple[float, ...]:
        """What the term adds at these."""
        return tuple(self._added(x) for x in self.at)

    @property
    def size(self) -> float:
        """Most that the term adds or takes."""
        return max(abs(value) for value in self.values)

    def _added(self, x: float) -> float:
        return sum(
            weight * ((min(max(x, a), b) - a) / (b - a))
            for weight, (a, b) in zip(self.weights, self.parts, strict=True)
        )

    def value(self, cell: Any) -> float:
        """What a raw value adds."""
        x = _number(cell, self.origin)
        return x if x != x else self._added(x)

    def times(self, factor: float) -> BentTerm:
        """The term with all its weights multiplied."""
        return replace(self, weights=tuple(factor * one for one in self.weights))

    def summands(self) -> tuple[Summand, ...]:
        """Its parts, each counted from where it begins."""
        told = zip(self.part_texts, self.weights, self.parts, self.columns, strict=True)
        return tuple(
            Summand(
                f"({readable(self.name)} {text})",
                weight, 0.0, b - a, column, origin=self.origin, part=(a, b),
            )
            for text, weight, (a, b), column in told
        )  # fmt: skip

    @property
    def part_texts(self) -> list[str]:
        """Parts as people read them, such as "from 20 to 35"."""
        return [f"from {self._told(a)} to {self._told(b)}" for a, b in self.parts]

    def _told(self, end: float) -> str:
        """An end of a part; of a date, the day."""
        if self.origin is not None:
            return iso_date(end, self.origin)
        return told_within(end, min(b - a for a, b in self.parts))

    def raw(self, cell: Any) -> tuple[float, ...]:
        """How far the number comes into every part."""
        x = _number(cell, self.origin)
        return tuple(min(max(x, a), b) - a for a, b in self.parts)


@dataclass(frozen=True)
class LevelTerm:
    """A category: it adds the weight of its level.

    Attributes
    ----------
    name : str
    weights : dict from level to weight
    others : float or None
        What a level unknown to training adds, None if that is an error.
    together : bool
        Whether the variable is printed once per cut, with all its levels.
    column_of : tuple of levels
        The level that every column of the variable stands for; empty for a score.
    pooled : float or None
        Weight of the column for all other levels, if there is one.
    rare : tuple of levels
        Levels that are known and have that weight.
    scores : bool
        Whether weights are those of an ordered category.
    """

    name: str
    weights: dict[Any, float]
    others: float | None = None
    together: bool = False
    column_of: tuple[Any, ...] = ()
    pooled: float | None = None
    rare: tuple[Any, ...] = ()
    scores: bool = False

    @property
    def refuses_unknown(self) -> bool:
        """Whether a level never seen in training is an error."""
        return self.others is None

    @property
    def of_numbers(self) -> bool:
        """Whether levels are numbers."""
        return not isinstance(next(iter(self.weights), ""), (bool, str))

    @property
    def is_two_sided(self) -> bool:
        """Whether two levels, neither of them pooled, have opposite weights."""
        weights = list(self.weights.values())
        plain = not self.scores and self.pooled is None and not self.others
        return plain and len(weights) == 2 and weights[0] == -weights[1] != 0.0

    @property
    def size(self) -> float:
        """Most that the term adds or takes."""
        return max(
            abs(weight) for weight in (*self.weights.values(), self.pooled or 0.0)
        )

    def value(self, cell: Any) -> float:
        """What a level adds."""
        if cell is OTHER:
            return self.pooled or 0.0
        if cell not in self.weights and self.others is None:
            raise ValueError(
                f"Column {self.name!r} has the level {cell!r}, never seen in training."
            )
        return self.weights.get(cell, self.others or 0.0)

    def times(self, factor: float) -> LevelTerm:
        """The term with all its weights multiplied."""
        return replace(
            self,
            weights={level: factor * w for level, w in self.weights.items()},
            others=None if self.others is None else factor * self.others,
            pooled=None if self.pooled is None else factor * self.pooled,
        )

    def summands(self) -> tuple[Summand, ...]:
        """The levels that add something, or the score of an ordered category."""
        if self.scores:
            *_, top = self.weights.values()
            places = [w / top for w in self.weights.values()]
            levels = [apart(level) for level in self.weights]
            points = tuple(zip(levels, places, strict=True))
            text = f"score({readable(self.name)})"
            return (Summand(text, top, 0.0, 1.0, points=points, is_score=True),)
        return tuple(
            Summand.of_indicator(
                readable(self.name),
                f"is {apart(level)}",
                self.value(level),
                column=column,
                member=printable(level) if self.together else None,
            )
            for column, level in enumerate(self.column_of)
            if self.value(level) != 0.0
        )

    def raw(self, cell: Any) -> tuple[float, ...]:
        """1 for the level that it is, 0 for the others; or its score."""
        if self.scores:
            *_, top = self.weights.values()
            return (self.value(cell) / top,)
        level = self._counted_as(cell)
        return tuple(
            float(level is one or (level is not OTHER and level == one))
            for one in self.column_of
            if self.value(one) != 0.0
        )

    def _counted_as(self, cell: Any) -> Any:
        """The level whose column a cell has: a rare or new one has another's."""
        if cell in self.weights and cell not in self.rare:
            return cell
        as_first = cell is not OTHER and cell not in self.rare
        as_first = as_first and self.others not in (None, self.pooled or 0.0)
        return next(iter(self.weights)) if as_first else OTHER


@dataclass(frozen=True)
class MissingTerm:
    """A variable with missing cells: what it adds, or the weight of missing.

    ``known`` is None if cells that are known add nothing; ``column`` is the position of
    the column for missing among those of the variable. Where that is None, training had
    no missing cell, and one counts as the ``typical`` value.
    """

    name: str
    known: Any
    weight: float
    column: int | None = None
    typical: Any = None

    @property
    def is_two_sided(self) -> bool:
        """Whether two levels are all there is; a missing cell is a third thing."""
        return self.column is None and getattr(self.known, "is_two_sided", False)

    @property
    def refuses_unknown(self) -> bool:
        """Whether a level never seen in training is an error."""
        return self.known is not None and bool(self.known.refuses_unknown)

    @property
    def of_numbers(self) -> bool:
        """Whether known cells are numbers, as far as the term knows."""
        return self.known is not None and bool(self.known.of_numbers)

    @property
    def size(self) -> float:
        """Most that the term adds or takes."""
        return max(abs(self.weight), 0.0 if self.known is None else self.known.size)

    def value(self, cell: Any) -> float:
        """What a raw value adds, or the weight of a missing one."""
        if is_missing(cell):
            return self.weight
        return 0.0 if self.known is None else float(self.known.value(cell))

    def times(self, factor: float) -> MissingTerm:
        """The term with all its weights multiplied."""
        known = None if self.known is None else self.known.times(factor)
        return replace(self, known=known, weight=factor * self.weight)

    def summands(self) -> tuple[Summand, ...]:
        """Those of the variable, and the indicator of missing if it has a column."""
        known: tuple[Summand, ...] = () if self.known is None else self.known.summands()
        if self.column is None:
            return known
        # Raw columns count as 0 where they are missing, scaled ones as well.
        instead = sum(s.begins for s in known)
        missing = Summand.of_indicator(
            readable(self.name),
            "is missing",
            self.weight,
            column=self.column,
            member="missing",
            instead=instead,
            is_missing=True,
        )
        return (*known, missing)

    def raw(self, cell: Any) -> tuple[float, ...]:
        """Raw columns, all 0 but the last where the cell is missing."""
        if self.column is None:
            return tuple(self.known.raw(self.typical if is_missing(cell) else cell))
        missing = is_missing(cell)
        n_known = 0 if self.known is None else len(self.known.summands())
        known = (0.0,) * n_known
        if not missing and self.known is not None:
            known = self.known.raw(cell)
        return (*known, float(missing))


def is_missing(cell: Any) -> bool:
    """Whether a single cell is missing: None, NaN, NaT or pandas' NA."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)  # noqa: PLR0124
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"
