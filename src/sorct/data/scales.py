"""Scales: what is learned from a column of numbers.

A wild cell or a long tail would crush all other values of a column into a corner of
[0, 1]. ``learn_number`` sees that: wild cells are clipped, a long tail is scaled by its
quantiles. Where lines may bend is learned from quantiles, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sorct._typing import FloatArray
from sorct.data.bent import Bent
from sorct.data.numeric import MOST_POINTS, Curve, Numeric

# Share of the rows at each end that says nothing about the middle.
_END_SHARE = 0.01
# Fewest rows at each end that do not.
_END_ROWS = 3
# A value is wild if it is further from the middle than so many times its width.
_FAR = 3.0
# A column is crushed if nine tenths of its rows lie within this share of its range.
_CRUSHED = 0.3
# Bends between the ends of a number, at most.
_BENDS = 3
# Values that a number needs to bend at all.
_FEWEST_VALUES = 6
# Quantiles of longer columns are those of every k-th row.
_MOST_ROWS = 200_000
# Rows by which the middle of longer columns is looked for.
_FEW_ROWS = 10_000


Number: TypeAlias = Numeric | Curve | Bent


def learn_number(
    name: str, values: FloatArray, count: FloatArray | None, scaling: str
) -> Number:
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


def learn_spread(name: str, spread: Spread, scaling: str) -> Number:
    """Scale, median and wholeness of a column whose spread is known."""
    scale = _scale(name, spread, scaling)
    return replace(scale, whole=spread.whole, median=spread.median)


def _scale(name: str, spread: Spread, scaling: str) -> Number:
    plain = Numeric.of_range(name, spread.lower, spread.upper)
    if scaling in ("minmax", "standard") or plain.span == 0.0:
        return plain
    tally = spread.tally()
    if tally.value.size < 3:
        return plain
    low, high = _ends(spread, tally)
    if scaling == "bent" and (bent := _bent(name, tally, low, high)) is not None:
        return bent
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
        """Number of rows, whose sum of weights hangs on their order by a rounding."""
        return float(np.round(self.upto[-1], 6))

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


def _bent(name: str, tally: Tally, low: float, high: float) -> Bent | None:
    """Bends at even quantiles that people can read; None if there is no room."""
    if tally.value.size < _FEWEST_VALUES:
        return None
    steps = np.linspace(0.0, 1.0, _BENDS + 2)[1:-1]
    upto = tally.upto / tally.n_rows
    # Rounding in the shares must not lead to the next value.
    inside = tally.value[np.searchsorted(upto, steps - 1e-9)]
    unit = 10.0 ** (np.floor(np.log10(high - low)) - 2)
    inside = np.unique(np.round(inside / unit) * unit)
    inside = inside[(inside > low + unit) & (inside < high - unit)]
    if inside.size == 0:
        return None
    # Fifteen digits: 0.3, and not 0.30000000000000004.
    told = [float(f"{bend:.15g}") for bend in inside.tolist()]
    return Bent(name, (low, *told, high))


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
