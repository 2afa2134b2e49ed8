"""Calibration: from what a tree says to what held-out rows have shown.

A map per class takes the tree's probability to the share of rows that were of the
class where the tree said so. With two classes the second has a map and the first gets
the rest; with more, every class has one and the results are divided by their sum. Maps
are plain data, numbers of Python: saved with the tree and written into every export.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sorct._typing import FloatArray
from sorct.data.plain import expect, field, number, numbers
from sorct.tree.link import cdf

#: Probabilities are clipped to [LITTLE, 1 - LITTLE] before their log-odds are taken:
#: nearer to 0 or 1, their rounding would move log-odds by more than 1e-8.
LITTLE = 1e-8
#: Where all maps together say no more than this, the tree's own word stands.
SILENT = 1e-6
# Products of numbers no larger than this are finite.
_LARGEST = 1e75
# Probabilities that a curve was learned from may be beyond 0 and 1 by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LogisticMap:
    """Platt's map on log-odds: F(slope log(p / (1 - p)) + shift)."""

    slope: float
    shift: float

    def __post_init__(self) -> None:
        for name in ("slope", "shift"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def __call__(self, proba: FloatArray) -> FloatArray:
        """Calibrated probabilities."""
        inside = np.clip(proba, LITTLE, 1.0 - LITTLE)
        return cdf(self.slope * np.log(inside / (1.0 - inside)) + self.shift)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"slope": self.slope, "shift": self.shift}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LogisticMap:
        """Check plain data."""
        slope, shift = number(data, "slope"), number(data, "shift")
        modest = max(abs(slope), abs(shift)) <= _LARGEST
        expect(modest, f"'slope' and 'shift' must be at most {_LARGEST:g} in size")
        return cls(slope, shift)


@dataclass(frozen=True)
class CurveMap:
    """Isotonic regression: straight lines between points, level beyond them."""

    points: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("points", "values"):
            plain = tuple(map(float, getattr(self, name)))
            object.__setattr__(self, name, plain)

    def __call__(self, proba: FloatArray) -> FloatArray:
        """Calibrated probabilities."""
        return np.asarray(np.interp(proba, self.points, self.values))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"points": list(self.points), "values": list(self.values)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CurveMap:
        """Check plain data."""
        points = numbers(data, "points", (None,))
        values = numbers(data, "values", (len(points),))
        expect(len(points) > 0, "a curve has no points")
        expect(bool((np.diff(points) > 0).all()), "'points' must rise")
        expect(bool((np.diff(values) >= 0).all()), "'values' must not fall")
        inside = float(values[0]) >= 0.0 and float(values[-1]) <= 1.0
        expect(inside, "'values' must lie in [0, 1]")
        inside = float(points[0]) >= -_ROUNDING and float(points[-1]) <= 1.0 + _ROUNDING
        expect(inside, "'points' must lie in [0, 1]")
        return cls(tuple(points.tolist()), tuple(values.tolist()))


Map: TypeAlias = LogisticMap | CurveMap


@dataclass(frozen=True)
class Calibration:
    """Maps of the classes: one, of the second class, where there are two."""

    maps: tuple[Map, ...]

    def __call__(self, proba: FloatArray) -> FloatArray:
        """Calibrated probabilities, a row per class as given."""
        if len(self.maps) == 1:
            second = self.maps[0](proba[1])
            return np.stack([1.0 - second, second])
        mapped = np.stack([one(p) for one, p in zip(self.maps, proba, strict=True)])
        total = mapped.sum(axis=0)
        told = total > SILENT
        return np.where(told, mapped / np.where(told, total, 1.0), proba)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"maps": [one.to_dict() for one in self.maps]}

    @classmethod
    def from_dict(cls, data: dict[str, Any], n_classes: int) -> Calibration:
        """Check plain data."""
        listed = field(data, "maps", list)
        right = len(listed) == (1 if n_classes == 2 else n_classes)
        expect(right, "'calibration' must have a map per class, one for two classes")
        expect(all(isinstance(one, dict) for one in listed), "'maps' must be objects")
        kinds = [CurveMap if "points" in one else LogisticMap for one in listed]
        pairs = zip(kinds, listed, strict=True)
        return cls(tuple(kind.from_dict(one) for kind, one in pairs))
