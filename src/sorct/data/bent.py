"""Bent numbers: straight lines whose slope may change at a few values.

A cut or a linear leaf gives a bent number a curve of its own: every part between two
neighbouring bends is a column, chosen by itself, and has its own slope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sorct._typing import FloatArray
from sorct.data.numeric import Continuum, known_fields
from sorct.data.plain import expect, field, numbers
from sorct.data.terms import BentTerm, Term

#: Bends of a number, at most as many as files may have.
MOST_BENDS = 50


@dataclass(frozen=True)
class Bent(Continuum):
    """A number along straight lines that bend; flat beyond the ends.

    ``bends`` are rising values, at least three: both ends of the range, and where a
    line may bend between them. The column of the part from a to b is
    min(max((x - a) / (b - a), 0), 1).
    """

    name: str
    bends: tuple[float, ...] = ()
    whole: bool = False
    median: float | None = None
    origin: str | None = None

    affine = None
    separate = True

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Check plain data."""
        name = field(data, "name", str)
        bends = numbers(data, "bends", (None,))
        expect(
            3 <= bends.size <= MOST_BENDS,
            f"variable {name!r} must have 3 to {MOST_BENDS} bends",
        )
        expect(bool((np.diff(bends) > 0.0).all()), f"bends of {name!r} must rise")
        with np.errstate(over="ignore"):
            finite = np.isfinite([*(1.0 / np.diff(bends)), bends[-1] - bends[0]])
        expect(bool(finite.all()), f"bends of {name!r} are beyond what floats can hold")
        return cls(name, tuple(bends.tolist()), **known_fields(data))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        return {"name": self.name, "bends": list(self.bends)} | self._plain()

    @property
    def parts(self) -> tuple[tuple[float, float], ...]:
        """Beginning and end of every column."""
        return tuple(zip(self.bends, self.bends[1:], strict=False))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of its parts."""
        every = self.term(np.ones(len(self.parts)))
        assert isinstance(every, BentTerm)
        return tuple(f"{self.name} {text}" for text in every.part_texts)

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Share of every part that lies below a number."""
        values = np.asarray(numbers, dtype=np.float64).reshape(-1, 1)
        begin, end = np.array(self.parts).T
        inside = np.minimum(np.maximum(values, begin), end)
        return np.asarray((inside - begin) / (end - begin))

    def decode(self, place: float) -> float:
        """Number at a place of its range from 0 to 1."""
        return float(np.interp(place, [0.0, 1.0], [self.bends[0], self.bends[-1]]))

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Term with the parts that have a say."""
        used = np.flatnonzero(weights).tolist()
        if not used:
            return None
        return BentTerm(
            self.name,
            tuple(self.parts[k] for k in used),
            tuple(float(weights[k]) for k in used),
            tuple(used),
            self.origin,
        )
