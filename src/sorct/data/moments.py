"""Moments: what a quantity is like, of rows that come in parts.

Means and squared deviations of parts are put together without differences of large sums
(Chan, Golub and LeVeque, 1979), so a quantity far from 0 loses no digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sorct._typing import FloatArray
from sorct.data.quantity import Quantity, check_width


@dataclass(frozen=True)
class Moments:
    """Weight, mean, weighted squared deviations, least and largest of some numbers."""

    weight: float
    mean: float
    squares: float
    low: float
    high: float

    @classmethod
    def of(cls, y: FloatArray, weight: FloatArray) -> Moments:
        """Measure the numbers of a part; there is at least one, of weight > 0."""
        low, high = float(y.min()), float(y.max())
        check_width(low, high)
        total = math.fsum(weight)
        share = weight / total
        mean = low + math.fsum(share * (y - low))
        squares = total * math.fsum(share * (y - mean) ** 2)
        return cls(total, mean, squares, low, high)

    def __add__(self, other: Moments) -> Moments:
        low, high = min(self.low, other.low), max(self.high, other.high)
        check_width(low, high)
        total, gap = self.weight + other.weight, other.mean - self.mean
        between = gap * gap * self.weight * (other.weight / total)
        return Moments(
            total,
            self.mean + gap * (other.weight / total),
            self.squares + other.squares + between,
            low,
            high,
        )

    def quantity(self) -> Quantity:
        """The target; a quantity that does not vary has spread 1."""
        if self.low == self.high:
            return Quantity(self.low, 1.0, self.low, self.high)
        spread = math.sqrt(self.squares / self.weight)
        if not math.isfinite(spread):
            raise ValueError(
                f"y ranges from {self.low:g} to {self.high:g}, more than can be "
                "computed with in parts; divide it by a power of ten."
            )
        return Quantity(self.mean, spread, self.low, self.high)
