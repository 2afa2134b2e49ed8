"""Summands: parts of a term as they are printed, on raw columns.

A variable makes a term, and a term its summands; what is asked of these on the way to
a page, they answer themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self


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
    asks : str
        Of an indicator, what it asks: "is level" or "is missing"; empty for all else.
    member : str or None
        Name of the level, or "missing", where a variable is printed once per cut.
    points : tuple of pairs
        Of a curve or a score, values of the variable and what they become.
    is_score : bool
        Whether these values are levels, between which there is nothing.
    clipped : bool
        Whether values beyond the range count as its ends.
    origin : str or None
        Day from which the days of a date are counted.
    instead : float
        Of missing cells, what the raw columns of the variable add at 0.
    is_missing : bool
        Whether x tells that the cell is missing.
    part : pair of float or None
        Of a part of a bent number, where it begins and ends.
    """

    text: str
    weight: float
    lower: float
    span: float
    column: int = 0
    asks: str = ""
    member: str | None = None
    points: tuple[tuple[Any, float], ...] = ()
    is_score: bool = False
    clipped: bool = False
    origin: str | None = None
    instead: float = 0.0
    is_missing: bool = False
    part: tuple[float, float] | None = None

    @classmethod
    def of_indicator(cls, name: str, asks: str, weight: float, **more: Any) -> Self:
        """Whether a variable is a level, or missing: 1 or 0."""
        return cls(f"[{name} {asks}]", weight, 0.0, 1.0, asks=asks, **more)

    @property
    def is_level(self) -> bool:
        """Whether x is an indicator, 1 or 0."""
        return self.asks != ""

    def scaled(self) -> Summand:
        """The same on the column scaled to [0, 1], where raw numbers do not serve."""
        if self.is_level or self.points:
            return self._replace(instead=0.0)
        text = f"[{self.text} scaled to 0..1]"
        return self._replace(text=text, lower=0.0, span=1.0)

    @property
    def begins(self) -> float:
        """What a printed sum has at the lower end of the range, where a term has 0."""
        return self.weight * (self.lower / self.span)

    @property
    def raw_weight(self) -> float:
        """Weight of the raw column."""
        return (self.weight + self.instead) / self.span

    @property
    def largest(self) -> float:
        """Largest size of the raw column in training."""
        return max(abs(self.lower), abs(self.lower + self.span))
