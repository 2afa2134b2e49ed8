"""Quantity: a number to predict, how it is scaled inside, and what suits it.

Training sees (y - centre) / spread, so that strengths of penalties, tolerances and
losses mean the same on every table. The centre is the best constant prediction: the
mean, or the quantile that is asked for. The spread is the standard deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, RepeatedKFold, check_cv

from sorct._typing import AnyArray, FloatArray
from sorct.data.plain import expect, number

# Numbers of a leaf are told to so many digits of what it misses by.
_DIGITS = 2
# From so many digits before the point on, they are grouped by threes.
_GROUPED = 5


@dataclass(frozen=True)
class Quantity:
    """A number to predict.

    Attributes
    ----------
    centre, spread : float
        Units that leaf values are in while training.
    low, high : float
        The least and the largest number of training.
    """

    centre: float
    spread: float
    low: float
    high: float

    @classmethod
    def learn(
        cls, y: FloatArray, weight: FloatArray, level: float | None = None
    ) -> Quantity:
        """Measure the responses; the centre is their mean, or a quantile by its level.

        A quantity that does not vary has spread 1.
        """
        low, high = float(y.min()), float(y.max())
        # Halved numbers have a finite difference, however large they are.
        width = 2.0 * (0.5 * high - 0.5 * low)
        if not math.isfinite(width):
            raise ValueError(
                f"y ranges from {low:g} to {high:g}, more than can be computed with; "
                "divide it by a power of ten."
            )
        if width == 0.0:
            return cls(low, 1.0, low, high)
        part = (y - low) / width
        # Exact sums: the order of the rows does not matter.
        share = weight / math.fsum(weight)
        mean = math.fsum(share * part)
        spread = math.sqrt(math.fsum(share * (part - mean) ** 2))
        centre = mean if level is None else _quantile(part, share, level)
        return cls(low + width * centre, width * spread, low, high)

    def scaled(self, y: FloatArray) -> FloatArray:
        """Numbers as training sees them."""
        return np.asarray((y - self.centre) / self.spread)

    # -- what suits a quantity ---------------------------------------------------------

    def folds(self, cv: Any, y: AnyArray) -> Any:
        """Splitter as scikit-learn reads ``cv``."""
        try:
            return check_cv(cv, y, classifier=False)
        except ValueError as error:
            raise ValueError(f"cv: {error!s:.300}") from error

    @staticmethod
    def splitter(n_folds: int, seed: int, repeats: int | None = None) -> Any:
        """Splitter of shuffled folds."""
        if repeats is None:
            return KFold(n_folds, shuffle=True, random_state=seed)
        return RepeatedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)

    # -- what a leaf says --------------------------------------------------------------

    def value_text(self, value: float, miss: float | None = None) -> str:
        """A number in words, such as "212 000 (± 18 000)", to the digits that count."""
        unit = miss if miss else self.spread / 10.0
        if miss is None or miss == 0.0:
            return grouped(value, _step(unit))
        step = _step(miss)
        return f"{grouped(value, step)} (± {grouped(miss, step)})"

    # -- files -------------------------------------------------------------------------

    def to_dict(self) -> dict[str, float]:
        """Plain data."""
        return {
            "centre": self.centre,
            "spread": self.spread,
            "low": self.low,
            "high": self.high,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Quantity:
        """Check plain data."""
        found = cls(*(number(data, key) for key in ("centre", "spread", "low", "high")))
        expect(found.spread > 0.0, "'spread' must be positive")
        expect(found.low <= found.high, "'low' must not be above 'high'")
        return found


def _quantile(values: FloatArray, share: FloatArray, level: float) -> float:
    """Least value with at least so large a share of the weight up to it."""
    order = np.lexsort((share, values))
    total = np.cumsum(share[order])
    place = int(np.searchsorted(total, level * total[-1] * (1.0 - 1e-12)))
    return float(values[order[min(place, values.size - 1)]])


def _step(size: float) -> int:
    """Power of ten of the last digit that counts."""
    return math.floor(math.log10(abs(size))) - _DIGITS + 1


def grouped(value: float, step: int) -> str:
    """A number rounded at a power of ten, large ones in groups of three digits."""
    rounded = round(value, -step) + 0.0
    text = f"{rounded:.{max(-step, 0)}f}"
    whole, point, rest = text.partition(".")
    if len(whole.lstrip("-")) >= _GROUPED:
        whole = f"{int(whole):,}".replace(",", " ")
    return whole + point + rest
