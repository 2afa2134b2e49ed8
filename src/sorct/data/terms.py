"""Terms: what one variable adds to the sum of a cut, on raw values.

A term is made by its variable (``Variable.term``) from the weights that a cut gives to
the variable's columns. It knows its value on a raw cell and how it reads; exporters
have a table with one row per kind of term.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

from sorct.data.wording import printable, readable


class Summand(NamedTuple):
    """A part of a term as it is printed: weight (x - lower) / span, for a column x.

    Attributes
    ----------
    text : str
        Name of the column, "[variable is level]" for the indicator of a level.
    weight : float
        Weight of the column scaled to [0, 1].
    lower, span : float
        Range of the raw column in training; 0 and 1 for an indicator.
    column : int
        Position among the columns of the variable.
    is_level : bool
        Whether x is the indicator of a level.
    is_scaled : bool
        Whether x is the column scaled to [0, 1] instead of the raw one.
    """

    text: str
    weight: float
    lower: float
    span: float
    column: int = 0
    is_level: bool = False
    is_scaled: bool = False

    def scaled(self) -> Summand:
        """The same on the column scaled to [0, 1], where raw numbers do not serve."""
        text = f"[{self.text} scaled to 0..1]"
        return self._replace(text=text, lower=0.0, span=1.0, is_scaled=True)

    @property
    def largest(self) -> float:
        """Largest size of the raw column in training."""
        return max(abs(self.lower), abs(self.lower + self.span))


class Term(Protocol):
    """What a variable adds to the sum of a cut."""

    @property
    def name(self) -> str:
        """Name of the variable."""

    @property
    def size(self) -> float:
        """Most that the term adds or takes over the range seen in training."""

    def value(self, cell: Any) -> float:
        """What a raw value of the variable adds."""

    def times(self, factor: float) -> Self:
        """The term with all its weights multiplied."""

    def summands(self) -> tuple[Summand, ...]:
        """The term as it is printed, in the order of the variable's columns."""

    def raw(self, cell: Any) -> tuple[float, ...]:
        """Raw columns of a value that the summands weigh, in their order."""


@dataclass(frozen=True)
class LinearTerm:
    """A number: it adds weight (x - lower) / span."""

    name: str
    lower: float
    span: float
    weight: float

    @property
    def size(self) -> float:
        """Most that the term adds or takes over the range seen in training."""
        return abs(self.weight)

    def value(self, cell: Any) -> float:
        """What a raw value adds."""
        return self.weight * ((float(cell) - self.lower) / self.span)

    def times(self, factor: float) -> LinearTerm:
        """The term with its weight multiplied."""
        return replace(self, weight=factor * self.weight)

    def summands(self) -> tuple[Summand, ...]:
        """The one column."""
        return (Summand(readable(self.name), self.weight, self.lower, self.span),)

    def raw(self, cell: Any) -> tuple[float, ...]:
        """The number itself."""
        return (float(cell),)


@dataclass(frozen=True)
class LevelTerm:
    """A category: it adds the weight of its level, 0 for the first.

    ``others`` is what a level unknown to training adds, None if that is an error.
    """

    name: str
    weights: dict[Any, float]
    others: float | None = None

    @property
    def size(self) -> float:
        """Most that the term adds or takes."""
        return max(abs(weight) for weight in self.weights.values())

    def value(self, cell: Any) -> float:
        """What a level adds."""
        if cell not in self.weights and self.others is None:
            raise ValueError(
                f"Column {self.name!r} has the level {cell!r}, never seen in training."
            )
        return self.weights.get(cell, self.others or 0.0)

    def times(self, factor: float) -> LevelTerm:
        """The term with all its weights multiplied."""
        return replace(
            self, weights={level: factor * w for level, w in self.weights.items()}
        )

    def summands(self) -> tuple[Summand, ...]:
        """The levels that add something."""
        _, *levels = self.weights.items()
        return tuple(
            Summand(
                f"[{readable(self.name)} is {printable(level)}]",
                weight, 0.0, 1.0, column, is_level=True,
            )
            for column, (level, weight) in enumerate(levels)
            if weight != 0.0
        )  # fmt: skip

    def raw(self, cell: Any) -> tuple[float, ...]:
        """1 for the level that it is, 0 for the others."""
        _, *levels = self.weights.items()
        return tuple(float(cell == level) for level, weight in levels if weight != 0.0)
