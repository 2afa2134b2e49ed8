"""Numbers: columns scaled by their range, or along a curve of a few points.

A date is a number of days. How scales are learned is in ``scales.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.dates import as_days, days_of, iso_date
from sorct.data.plain import expect, field, number, numbers
from sorct.data.terms import CurveTerm, LinearTerm, Term
from sorct.data.variables import CellError, is_missing
from sorct.data.wording import shown

# A column whose span is lost in the rounding of its values is constant.
_CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
# One over a narrower span would overflow.
_NARROWEST = 1e-305
#: Points of a curve, at most.
MOST_POINTS = 20


class Continuum:
    """What all numbers have in common.

    Attributes
    ----------
    name : str
    whole : bool
        Whether all values of training were whole numbers.
    median : float or None
        Median of training; None where it is not known, as in files of version 0.1.0.
    origin : str or None
        For a date, the day from which days are counted.
    """

    name: str
    whole: bool
    median: float | None
    origin: str | None

    choices = None
    bends: tuple[float, ...] = ()
    separate = False
    ordered = True
    takes_missing = False

    @property
    def column_names(self) -> tuple[str, ...]:
        """Its own name."""
        return (self.name,)

    @property
    def typical(self) -> Any:
        """Median of training, or the middle of its range."""
        middle = self.decode(0.5) if self.median is None else self.median
        return middle if self.origin is None else iso_date(middle, self.origin)

    def numbers(self, column: Any) -> FloatArray:
        """Cells as numbers; dates as days since the origin."""
        if self.origin is not None:
            try:
                return days_of(column, self.origin)
            except ValueError as error:
                raise ValueError(f"Column {self.name!r} {error}.") from error
        if hasattr(column, "to_numpy"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column, dtype=np.float64)

    def codes(self, column: Any, unknown: str = "error") -> IntArray:
        """Numbers cannot be listed."""
        raise TypeError(f"Column {self.name!r} is a continuum; it has no choices.")

    def encode_codes(self, codes: IntArray) -> FloatArray:
        """Numbers have no positions."""
        raise TypeError(f"Column {self.name!r} is a continuum; it has no choices.")

    def encode_choices(self) -> FloatArray:
        """Numbers cannot be listed."""
        raise TypeError(f"Column {self.name!r} is a continuum; it has no choices.")

    def decode(self, place: float) -> float:
        """Number at a place from 0 to 1."""
        raise NotImplementedError

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Numbers, finite and no truth values; missing cells stay missing."""
        given = np.asarray(cells)
        if self.origin is not None:
            return self._take_dates(given.tolist())
        if given.dtype.kind in "iuf":
            found = given.astype(np.float64)
        else:
            found = np.array([_number(cell) for cell in given.tolist()], dtype=float)
        for row in np.flatnonzero(np.isnan(found)).tolist():
            cell = given.tolist()[row]
            if not is_missing(cell):
                raise CellError(f"must hold numbers, got {shown(cell)}", row)
        for row in np.flatnonzero(np.isinf(found))[:1].tolist():
            raise CellError(f"must hold finite numbers, got {found[row]}", row)
        return found

    def _take_dates(self, cells: list[Any]) -> AnyArray:
        days = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells):
            if not is_missing(cell):
                days[row] = as_days(cell, str(self.origin))
                if np.isnan(days[row]):
                    raise CellError(f"must hold dates, got {shown(cell)}", row)
        origin = np.datetime64(str(self.origin), "D")
        missing = np.isnan(days)
        dates = origin + np.where(missing, 0.0, days).astype("timedelta64[D]")
        dates[missing] = np.datetime64("NaT")
        return np.asarray(dates, dtype="datetime64[ns]")

    def _plain(self) -> dict[str, Any]:
        """Plain data of what is known."""
        known: dict[str, Any] = {}
        if self.whole:
            known["whole"] = True
        if self.median is not None:
            known["median"] = self.median
        if self.origin is not None:
            known["origin"] = self.origin
        return known


@dataclass(frozen=True)
class Numeric(Continuum):
    """A number, scaled as (x - lower) / span; span 0 means constant."""

    name: str
    lower: float = 0.0
    span: float = 0.0
    whole: bool = False
    median: float | None = None
    origin: str | None = None

    @classmethod
    def of_range(cls, name: str, lower: float, upper: float) -> Self:
        """Variable with a range; one that is lost in rounding counts as none."""
        with np.errstate(over="ignore"):
            span = float(upper) - float(lower)
        if np.isinf(span):
            raise ValueError(
                f"Column {name!r} spans more than the largest float; rescale it."
            )
        narrow = span <= _CONSTANT * max(abs(lower), abs(upper)) or span < _NARROWEST
        return cls(name, float(lower), 0.0 if narrow else span)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Check plain data."""
        name = field(data, "name", str)
        lower, span = number(data, "lower"), number(data, "span")
        expect(span >= 0, f"range of variable {name!r} is negative")
        wide = span == 0.0 or (span >= _NARROWEST and np.isfinite(lower + span))
        expect(bool(wide), f"range of variable {name!r} is beyond what floats can hold")
        return cls(name, lower, span, **known_fields(data))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        own = {"name": self.name, "lower": self.lower, "span": self.span}
        return own | self._plain()

    @property
    def affine(self) -> tuple[float, float] | None:
        """Lower end and span; a date is no number until it is counted in days."""
        return (self.lower, self.span) if self.origin is None else None

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Column scaled to [0, 1] over the range of training."""
        values = np.asarray(numbers, dtype=np.float64).reshape(-1, 1)
        if self.span == 0.0:
            return np.zeros_like(values)
        return np.asarray((values - self.lower) / self.span)

    def decode(self, place: float) -> float:
        """Number at a place from 0 to 1."""
        return self.lower + self.span * place

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Linear term; a constant has none."""
        if self.span == 0.0 or weights[0] == 0.0:
            return None
        return LinearTerm(
            self.name, self.lower, self.span, float(weights[0]), self.origin
        )


@dataclass(frozen=True)
class Curve(Continuum):
    """A number, scaled along straight lines between points; flat beyond the ends.

    ``at`` are the values of the points, rising, and ``place`` what they become, rising
    from 0 to 1. Two points clip a column with wild cells, more follow the quantiles of
    one with a long tail.
    """

    name: str
    at: tuple[float, ...] = ()
    place: tuple[float, ...] = ()
    whole: bool = False
    median: float | None = None
    origin: str | None = None

    affine = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Check plain data."""
        name = field(data, "name", str)
        at, place = numbers(data, "at", (None,)), numbers(data, "place", (None,))
        fits = at.size == place.size and 2 <= at.size <= 10 * MOST_POINTS
        expect(fits, f"variable {name!r} must have as many places as points")
        rising = (np.diff(at) > 0.0).all() and (np.diff(place) > 0.0).all()
        expect(bool(rising), f"points of variable {name!r} must rise")
        ends = place[0] == 0.0 and place[-1] == 1.0
        expect(bool(ends), f"places of variable {name!r} must go from 0 to 1")
        with np.errstate(over="ignore"):
            steep, span = np.diff(place) / np.diff(at), at[-1] - at[0]
        finite = bool(np.isfinite(steep).all() and np.isfinite(span))
        expect(finite, f"points of variable {name!r} are beyond what floats can hold")
        return cls(
            name, tuple(at.tolist()), tuple(place.tolist()), **known_fields(data)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        own = {"name": self.name, "at": list(self.at), "place": list(self.place)}
        return own | self._plain()

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Column scaled to [0, 1] along the curve."""
        values = np.asarray(numbers, dtype=np.float64).ravel()
        return np.interp(values, self.at, self.place)[:, np.newaxis]

    def decode(self, place: float) -> float:
        """Number at a place from 0 to 1."""
        return float(np.interp(place, self.place, self.at))

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Term along the curve."""
        if weights[0] == 0.0:
            return None
        return CurveTerm(self.name, self.at, self.place, float(weights[0]), self.origin)


def known_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Check what all numbers may have in plain data."""
    known: dict[str, Any] = {}
    if "whole" in data:
        known["whole"] = field(data, "whole", bool)
    if "median" in data:
        known["median"] = number(data, "median")
    if "origin" in data:
        known["origin"] = field(data, "origin", str)
        day = np.datetime64(known["origin"][:10], "D") if known["origin"] else None
        right = str(day) == known["origin"]
        expect(right, "'origin' must be a date such as 2020-01-31")
    return known


def _number(cell: Any) -> float:
    """A cell as a number, NaN if it is not one."""
    # float() takes 1_000 for a number; people do not write that.
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return np.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan
