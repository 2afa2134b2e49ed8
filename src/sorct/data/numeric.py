"""Numbers: columns scaled by their range, or along a curve of a few points.

A wild cell or a long tail would crush all other values of a column into a corner of
[0, 1]. ``learn_number`` sees that: wild cells are clipped, a long tail is scaled by its
quantiles. A date is a number of days.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
# Rows at each end, at least a share and a number, that say nothing about the middle.
_END_SHARE, _END_ROWS = 0.01, 3
# A value is wild if it is further from the middle than so many times its width.
_FAR = 3.0
# A column is crushed if nine tenths of its rows lie within this share of its range.
_CRUSHED = 0.3
# Quantiles of longer columns are those of every k-th row.
_MOST_ROWS = 200_000
# Rows by which the middle of longer columns is looked for.
_FEW_ROWS = 10_000


class _Continuum:
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
class Numeric(_Continuum):
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
        return cls(name, lower, span, **_known(data))

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
class Curve(_Continuum):
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
        return cls(name, tuple(at.tolist()), tuple(place.tolist()), **_known(data))

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


def _known(data: dict[str, Any]) -> dict[str, Any]:
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


# -- learning --------------------------------------------------------------------------


def learn_number(
    name: str, values: FloatArray, count: FloatArray | None, scaling: str
) -> Numeric | Curve:
    """Scale, median and wholeness of finite numbers; NaN is passed over.

    ``count`` says how many rows every value stands for; None means one each.
    """
    known = ~np.isnan(values)
    if not known.all():
        values = values[known]
        count = None if count is None else count[known]
    if values.size == 0:
        return Numeric(name)
    return learn_spread(name, Spread.of(values, count), scaling)


@dataclass(frozen=True, eq=False)
class Spread:
    """How the known values of a column are spread: all that a scale is learned from.

    Attributes
    ----------
    lower, upper : float
        Least and largest value.
    whole : bool
        Whether all values are whole numbers.
    median : float
    known : array
        Values to take the ends of the tame ones from, where some are wild.
    tally : callable
        Gives the tally, which not every scale needs.
    """

    lower: float
    upper: float
    whole: bool
    median: float
    known: FloatArray
    tally: Callable[[], Tally]

    @classmethod
    def of(cls, values: FloatArray, count: FloatArray | None) -> Spread:
        """Spread of finite values, at least one; quantiles of many by some rows."""
        # Most columns that are not whole show it in their first values.
        whole = all((v == np.floor(v)).all() for v in (values[:100], values))
        ends, step = (values.min(), values.max()), -(-values.size // _MOST_ROWS)
        some = None if count is None else count[::step]

        def tally() -> Tally:
            return Tally.of(values[::step], some)

        return cls(*ends, whole, _median(values, count), values, tally)


def learn_spread(name: str, spread: Spread, scaling: str) -> Numeric | Curve:
    """Scale, median and wholeness of a column whose spread is known."""
    scale = _scale(name, spread, scaling)
    return replace(scale, whole=spread.whole, median=spread.median)


def _scale(name: str, spread: Spread, scaling: str) -> Numeric | Curve:
    plain = Numeric.of_range(name, spread.lower, spread.upper)
    if scaling in ("minmax", "standard") or plain.span == 0.0:
        return plain
    tally = spread.tally()
    if tally.value.size < 3:
        return plain
    low, high = _ends(spread, tally)
    if scaling == "quantile" or _width(tally, 0.05) < _CRUSHED * (high - low):
        return _quantile_curve(name, tally, low, high) or plain
    if low > spread.lower or high < spread.upper:
        return Curve(name, (low, high), (0.0, 1.0))
    return plain


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct values, rising, and how many rows are no greater than each.

    Whatever is learned from it cannot tell a row of weight 2 from the row twice.
    """

    value: FloatArray
    upto: FloatArray

    @classmethod
    def of(cls, values: FloatArray, count: FloatArray | None) -> Tally:
        """Tally of values, each of which stands for some rows."""
        if count is None:
            value, rows = np.unique(values, return_counts=True)
            return cls(value, np.cumsum(rows).astype(np.float64))
        order = np.argsort(values, kind="stable")
        value, first = np.unique(values[order], return_index=True)
        return cls(value, np.cumsum(np.add.reduceat(count[order], first)))

    @property
    def n_rows(self) -> float:
        """Number of rows."""
        return float(self.upto[-1])

    @property
    def middle(self) -> FloatArray:
        """Values of the two rows in the middle."""
        half = (self.n_rows - 1.0) / 2.0
        return np.array([self.row(np.floor(half)), self.row(np.ceil(half))])

    def row(self, k: float) -> float:
        """Value of row k, from 0, if all rows stood in order."""
        # Rounding in sums of counts must not lead to the next value.
        place = np.searchsorted(self.upto, k + 1e-9 * self.n_rows, side="right")
        return float(self.value[np.clip(place, 0, self.value.size - 1)])


def _width(tally: Tally, tail: float) -> float:
    """Width of what is left without a share of the rows at each end."""
    first = np.ceil(tail * tally.n_rows - 0.5)
    last = np.ceil((1.0 - tail) * tally.n_rows - 0.5) - 1.0
    return tally.row(max(last, 0.0)) - tally.row(first)


def _ends(spread: Spread, tally: Tally) -> tuple[float, float]:
    """Smallest and largest value that are not wild."""
    n_rows = tally.n_rows
    n_end = max(int(np.ceil(_END_SHARE * n_rows)), _END_ROWS)
    if n_rows <= 4 * n_end:
        return float(spread.lower), float(spread.upper)
    first, last = tally.row(n_end), tally.row(n_rows - 1 - n_end)
    room = _FAR * (last - first)
    if room == 0.0:
        return float(spread.lower), float(spread.upper)
    if spread.lower >= first - room and spread.upper <= last + room:
        return float(spread.lower), float(spread.upper)
    known = spread.known
    tame = known[(known >= first - room) & (known <= last + room)]
    return float(tame.min()), float(tame.max())


def _quantile_curve(name: str, tally: Tally, low: float, high: float) -> Curve | None:
    """Points at even quantiles, rounded such that people can read them."""
    value, upto = tally.value, tally.upto / tally.n_rows
    steps = np.linspace(0.0, 1.0, MOST_POINTS)
    # Rounding in the shares must not lead to the next value.
    at = np.clip(value[np.searchsorted(upto, steps - 1e-9)], low, high)
    unit = 10.0 ** (np.floor(np.log10(high - low)) - 3)
    at = np.unique(np.concatenate([[low], np.round(at[1:-1] / unit) * unit, [high]]))
    at = at[(at >= low) & (at <= high)]
    below = np.append(0.0, upto)
    left = np.searchsorted(value, at, side="left")
    right = np.searchsorted(value, at, side="right")
    place = 0.5 * (below[left] + below[right])
    place = (place - place[0]) / (place[-1] - place[0])
    keep = np.concatenate([[True], np.diff(place) > 1e-6])
    keep[-1] = True
    at, place = at[keep], place[keep]
    if at.size > 2 and place[-1] - place[-2] <= 1e-6:
        at, place = np.delete(at, -2), np.delete(place, -2)
    place[0], place[-1] = 0.0, 1.0
    if at.size < 2 or not np.isfinite(np.diff(place) / np.diff(at)).all():
        return None
    return Curve(name, tuple(at.tolist()), tuple(place.tolist()))


def _median(values: FloatArray, count: FloatArray | None) -> float:
    return median_of(values if count is None else Tally.of(values, count).middle)


def _middle(values: FloatArray) -> FloatArray:
    """Values of the two rows in the middle, found between two quantiles of some rows.

    All that are below count, few are put in order: quicker than the median of all.
    """
    low, high = np.quantile(values[:: values.size // _FEW_ROWS], [0.48, 0.52])
    n_below = int(np.count_nonzero(values < low))
    between = values[(values >= low) & (values <= high)]
    places = np.array([(values.size - 1) // 2, values.size // 2]) - n_below
    if places[0] < 0 or places[1] >= between.size:
        return values
    return np.asarray(np.partition(between, places)[places])


def median_of(values: FloatArray) -> float:
    """Median, which lies between the two in the middle also where their sum is inf."""
    if values.size > _MOST_ROWS:
        values = _middle(values)
    # ``np.median`` takes three times as long on the columns of small tables.
    places = [(values.size - 1) // 2, values.size // 2]
    low, high = np.partition(values, places)[places].tolist()
    median: float = (low + high) / 2.0
    return median if np.isfinite(median) else low / 2.0 + high / 2.0


def _number(cell: Any) -> float:
    """A cell as a number, NaN if it is not one."""
    # float() takes 1_000 for a number; people do not write that.
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return np.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan
