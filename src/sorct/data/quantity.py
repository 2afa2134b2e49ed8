"""Quantity: a number to predict, how it is scaled inside, and what suits it.

Training sees (y - centre) / spread, so that strengths of penalties, tolerances and
losses mean the same on every table. The centre is the best constant prediction: the
mean, or the quantile that is asked for. The spread is the standard deviation.

With the link "log" the tree is one of the logarithm: training sees that, centred and
scaled likewise, and what leaves say is mixed before it is made a number again, within
those of training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import (
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, RepeatedKFold, check_cv
from sklearn.utils import assert_all_finite, column_or_1d

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.plain import expect, number
from sorct.data.table import refuse_gaps, refuse_masked
from sorct.data.wording import shown

LINKS = ("identity", "log")
# Numbers of a leaf are told to so many digits of what it misses by.
_DIGITS = 2
# Numbers whose last digit is beyond these powers of ten are not written out.
_SMALLEST, _LARGEST = -9, 12
# The square of a range beyond this is no finite number.
_WIDEST = 1e150
# A miss of no more than this share of a number is rounding,
_OF_NUMBER = 16.0 * np.finfo(np.float64).eps
# or than this one of the spread.
_OF_SPREAD = 1e-12
_LOG = ("link", "log_centre", "log_spread")
# From so many digits before the point on, they are grouped by threes.
_GROUPED = 5


@dataclass(frozen=True)
class Quantity:
    """A number to predict.

    Attributes
    ----------
    centre, spread : float
        Best constant prediction and standard deviation, in units of y.
    low, high : float
        The least and the largest number of training.
    link : "identity" or "log"
        Whether trees are of the number or of its logarithm.
    log_centre, log_spread : float
        Centre and spread of the logarithms, with the link "log".
    """

    centre: float
    spread: float
    low: float
    high: float
    link: str = "identity"
    log_centre: float = 0.0
    log_spread: float = 1.0
    #: What can be shown of trees on given rows, and how it is called.
    measure_names: ClassVar[dict[str, str]] = {
        "r2": "R²",
        "rmse": "root mean squared error",
        "mae": "mean absolute error",
    }

    @classmethod
    def learn(
        cls,
        y: FloatArray,
        weight: FloatArray,
        level: float | None = None,
        link: str = "identity",
    ) -> Quantity:
        """Measure the responses; the centre is their mean, or a quantile by its level.

        A quantity that does not vary has spread 1.
        """
        own = cls._measured(y, weight, level)
        if link == "identity":
            return own
        check_positive(own.low)
        return own.of_log(cls._measured(np.log(y), weight, level))

    @classmethod
    def _measured(
        cls, y: FloatArray, weight: FloatArray, level: float | None
    ) -> Quantity:
        low, high = float(y.min()), float(y.max())
        width = check_width(low, high)
        if width == 0.0:
            return cls(low, 1.0, low, high)
        part = (y - low) / width
        # Exact sums: the order of the rows does not matter.
        share = weight / math.fsum(weight)
        mean = math.fsum(share * part)
        spread = math.sqrt(math.fsum(share * (part - mean) ** 2))
        centre = mean if level is None else quantile_of(part, share, level)
        return cls(low + width * centre, width * spread, low, high)

    def of_log(self, logs: Quantity) -> Quantity:
        """The same quantity by its logarithms, which were measured, too."""
        told = logs.centre, logs.spread
        return replace(self, link="log", log_centre=told[0], log_spread=told[1])

    # -- units -------------------------------------------------------------------------

    @property
    def is_log(self) -> bool:
        """Whether trees are of the logarithm."""
        return self.link == "log"

    @property
    def origin(self) -> float:
        """What leaves of a tree that says 0 in training say."""
        return self.log_centre if self.is_log else self.centre

    @property
    def unit(self) -> float:
        """What leaves of a tree say more for each unit of training."""
        return self.log_spread if self.is_log else self.spread

    def linked(self, y: FloatArray) -> FloatArray:
        """Numbers as leaves say them: their logarithms with that link."""
        return np.log(y) if self.is_log else y

    def told(self, said: Any) -> Any:
        """What leaves say, mixed, as numbers in units of y.

        Powers soon are wild beyond the rows of training: of a logarithm, no number is
        told that is below the least or above the largest of training.
        """
        return np.exp(np.clip(said, *self.log_ends)) if self.is_log else said

    @property
    def log_ends(self) -> tuple[float, float]:
        """Logarithms of the least and the largest number of training."""
        return math.log(self.low), math.log(self.high)

    def scaled(self, y: FloatArray) -> FloatArray:
        """Numbers as training sees them."""
        return np.asarray((self.linked(y) - self.origin) / self.unit)

    def in_spreads(self, scaled: FloatArray) -> FloatArray:
        """What training sees, in spreads of y around its centre."""
        if not self.is_log:
            return scaled
        told = self.told(self.origin + self.unit * scaled)
        return np.asarray((told - self.centre) / self.spread)

    def slope(self, scaled: FloatArray) -> FloatArray:
        """By how much ``in_spreads`` grows with what training sees: its derivative."""
        if not self.is_log:
            return np.ones(scaled.size)
        said, (low, high) = self.origin + self.unit * scaled, self.log_ends
        within = (said > low) & (said < high)
        return np.where(within, self.unit / self.spread * self.told(said), 0.0)

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

    @staticmethod
    def default_score(cost_matrix: FloatArray) -> str:
        """Name of the score that trees are shown by; errors have no other costs."""
        return "R²"

    # -- measures ----------------------------------------------------------------------

    @staticmethod
    def known_codes(y: Any) -> IntArray:
        """Code of every number where classes have one each: there is but one."""
        return np.zeros(len(number_column(y)), dtype=np.intp)

    @staticmethod
    def read(y: Any) -> FloatArray:
        """Numbers to compare predictions with; an error if some are not numbers."""
        return number_column(y)

    @staticmethod
    def agreement(y: AnyArray, predicted: AnyArray, weight: Any = None) -> float:
        """R², the share of the variance that is explained: 1 is the best."""
        return float(r2_score(y, predicted, sample_weight=weight))

    @classmethod
    def measures(
        cls, cost_matrix: FloatArray | None, y: AnyArray, predicted: AnyArray
    ) -> dict[str, float]:
        """R², root of the mean squared error, mean absolute error."""
        return {
            "r2": cls.agreement(y, predicted),
            "rmse": float(root_mean_squared_error(y, predicted)),
            "mae": float(mean_absolute_error(y, predicted)),
        }

    # -- what a leaf says --------------------------------------------------------------

    def value_text(self, value: float, miss: float | None = None) -> str:
        """A number in words, such as "212 000 (± 18 000)", to the digits that count."""
        number, missed = self.value_parts(value, miss)
        return f"{number} ({missed})" if missed else number

    def value_parts(self, value: float, miss: float | None = None) -> tuple[str, str]:
        """The two parts of such words, "212 000" and "± 18 000" or nothing."""
        if miss and miss <= max(_OF_NUMBER * abs(value), _OF_SPREAD * self.spread):
            miss = None
        step = _step(miss or self.spread / 10.0)
        return grouped(value, step), f"± {grouped(miss, step)}" if miss else ""

    # -- files -------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "centre": self.centre,
            "spread": self.spread,
            "low": self.low,
            "high": self.high,
            **({name: getattr(self, name) for name in _LOG} if self.is_log else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Quantity:
        """Check plain data."""
        centre, spread = number(data, "centre"), number(data, "spread")
        found = cls(centre, spread, number(data, "low"), number(data, "high"))
        expect(found.spread > 0.0, "'spread' must be positive")
        expect(found.low <= found.high, "'low' must not be above 'high'")
        if data.get("link", "identity") == "identity":
            return found
        expect(data["link"] == "log", "'link' must be 'identity' or 'log'")
        expect(found.low > 0.0, "'low' must be positive with the link 'log'")
        logs = number(data, "log_centre"), number(data, "log_spread")
        expect(logs[1] > 0.0, "'log_spread' must be positive")
        return replace(found, link="log", log_centre=logs[0], log_spread=logs[1])


def check_positive(low: float) -> None:
    """Refuse numbers that have no logarithm."""
    if not low > 0.0:
        raise ValueError(
            f"link='log' needs positive numbers, the least of y is {low:g}; take "
            "link='identity'."
        )


def check_width(low: float, high: float) -> float:
    """Width of a range; an error if it is more than can be computed with."""
    # Halved numbers have a finite difference, however large they are.
    if 0.5 * high - 0.5 * low > 0.5 * _WIDEST:
        raise ValueError(
            f"y ranges from {low:g} to {high:g}, more than can be computed with; "
            "divide it by a power of ten."
        )
    return high - low


def number_column(y: Any) -> FloatArray:
    """Responses as numbers; a clear error if some are not numbers."""
    refuse_masked(y, "y")
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] > 1:
        raise ValueError(
            f"Expected one number per sample, got y of shape {given.shape}: several "
            "outputs are not supported. Fit one tree per output."
        )
    if hasattr(y, "isna"):
        refuse_gaps(y, "numbers")
    y = column_or_1d(y, warn=True)
    refuse_gaps(y, "numbers")
    if y.dtype.kind not in "biufO":
        raise ValueError(_no_number(y))
    if np.iscomplexobj(y):
        raise ValueError("y must be numbers, got complex ones.")
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(_no_number(y)) from error
    assert_all_finite(numbers, input_name="y")
    return numbers


def _no_number(y: AnyArray) -> str:
    return (
        f"y must be numbers, got {shown(y.tolist()[0])}; to predict classes take "
        "SORCTClassifier."
    )


def quantile_of(values: FloatArray, share: FloatArray, level: float) -> float:
    """Least value with at least so large a share of the weight up to it."""
    order = np.lexsort((share, values))
    total = np.cumsum(share[order])
    place = int(np.searchsorted(total, level * total[-1] * (1.0 - 1e-12)))
    return float(values[order[min(place, values.size - 1)]])


def _step(size: float) -> int:
    """Power of ten of the last digit that counts."""
    return math.floor(math.log10(abs(size))) - _DIGITS + 1


def grouped(value: float, step: int) -> str:
    """A number rounded at a power of ten, large ones in groups of three digits.

    Very large and very small ones have an exponent.
    """
    rounded = round(value, -step) + 0.0
    if not _SMALLEST <= step <= _LARGEST:
        return f"{rounded:.{_DIGITS + 1}g}"
    text = f"{rounded:.{max(-step, 0)}f}"
    whole, point, rest = text.partition(".")
    if len(whole.lstrip("-")) >= _GROUPED:
        whole = f"{int(whole):,}".replace(",", " ")
    return whole + point + rest
