"""Group bounds: how much a tree may be wrong about named groups of rows.

The mean residual of a group (observed minus predicted) lies within a bound, or its root
mean square error below one. What is asked for is checked here, and multipliers are
renewed; ``bound_problem.py`` solves for trees within the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sorct._typing import FloatArray, IntArray
from sorct.data.plain import is_finite_number
from sorct.data.wording import listed, shown

MEASURES = ("residual", "error")
# Multipliers are renewed faster where they have brought too little, and slower where
# they have brought too much.
_FASTER, _SLOWER, _ENOUGH = 1.6, 0.5, 0.7
_SLOWEST, _FASTEST = 1e-3, 100.0
# Where trees follow slowly: the slowest rate that they can follow, and the share of a
# renewal that stays for the rounds to come.
_SLOWEST_DAMPED, _KEPT = 0.2, 0.5
# Bounds are aimed at from a little inside, and met to that share of them.
_INSIDE, _SETTLED = 1e-3, 5e-3


@dataclass(frozen=True)
class AskedBounds:
    """Bounds on groups of rows as a user asked for them."""

    bounds: Any
    groups: Any
    measure: str


@dataclass(frozen=True)
class GroupBounds:
    """Bounds on groups of rows, in spreads of y.

    Attributes
    ----------
    labels : list of the groups that are bound
    code : array of shape (n_samples,), group of every row, -1 where none is bound
    bound : array of shape (n_groups,)
    measure : "residual" or "error"
    """

    labels: list[Any]
    code: IntArray
    bound: FloatArray
    measure: str

    @classmethod
    def of(
        cls, bounds: Any, groups: Any, measure: str, n_samples: int, spread: float
    ) -> GroupBounds:
        """Check what a user asked for."""
        if not isinstance(measure, str) or measure not in MEASURES:
            raise ValueError(
                f"group_measure must be one of {MEASURES}, got {shown(measure)}."
            )
        if groups is None:
            raise ValueError(
                "group_bounds needs groups=, the group of every row, in fit."
            )
        given = np.asarray(groups)
        if given.shape != (n_samples,):
            raise ValueError(
                f"groups must have one entry for each of the {n_samples} rows, got "
                f"shape {given.shape}."
            )
        missing = np.flatnonzero(pd.isna(given))
        if missing.size:
            raise ValueError(
                f"groups has {missing.size} missing entries, the first in row "
                f"{missing[0] + 1}; name a group for them too, and leave it out of "
                "group_bounds if it is not to be bound, or leave such rows out."
            )
        # Numbers and text have no order among each other.
        every = sorted(set(given.tolist()), key=lambda one: (type(one).__name__, one))
        named = _by_group(bounds, every)
        labels = list(named)
        code = np.full(n_samples, -1)
        for k, label in enumerate(labels):
            code[given == label] = k
        return cls(labels, code, np.array(list(named.values())) / spread, measure)

    def attained(self, residual: FloatArray, weight: FloatArray) -> FloatArray:
        """Mean residual or root mean square error of every group."""
        bound = self.code >= 0
        code, weight, residual = self.code[bound], weight[bound], residual[bound]
        n = len(self.labels)
        mass = np.maximum(np.bincount(code, weight, n), 1e-300)
        if self.measure == "residual":
            return np.asarray(np.bincount(code, weight * residual, n) / mass)
        return np.sqrt(np.bincount(code, weight * residual**2, n) / mass)

    def violation(self, attained: FloatArray) -> float:
        """By how much the worst group misses its bound, in spreads of y."""
        return float((np.abs(attained) - self.bound).max())

    def renewed(
        self, multiplier: FloatArray, rate: FloatArray, attained: FloatArray
    ) -> FloatArray:
        """Multipliers after a round, the proximal step of the dual.

        A bound that does not bind has multiplier 0; that of a mean residual has the
        sign of the residual.
        """
        bound = (1.0 - _INSIDE) * self.bound
        if self.measure == "error":
            gap = attained**2 - bound**2
            return np.maximum(0.0, multiplier + rate * gap / bound**2)
        moved = multiplier + rate * attained
        return np.asarray(moved - np.clip(moved, -rate * bound, rate * bound))

    def on_rows(self, multiplier: FloatArray) -> FloatArray:
        """The multiplier of every row's group, 0 where none is bound."""
        return np.append(multiplier, 0.0)[self.code]


class Multipliers:
    """Multipliers of the bounds, renewed round by round.

    Attributes
    ----------
    value : array of shape (n_groups,)
    settled : bool
        Whether the last tree meets every bound, and none that has a multiplier by more
        than needed.
    """

    def __init__(self, bounds: GroupBounds, *, damped: bool) -> None:
        self._bounds = bounds
        self._slowest, self._kept = (
            (_SLOWEST_DAMPED, _KEPT) if damped else (_SLOWEST, 1.0)
        )
        self.value = np.zeros(len(bounds.labels))
        self.settled = False
        self._from = self.value
        self._rate = np.ones(self.value.size)
        self._faster = np.full(self.value.size, _FASTER)
        self._before = np.zeros(self.value.size)

    def renew(self, attained: FloatArray) -> None:
        """Renew them by what a tree has come to."""
        gap, before = self._gap(attained), self._before
        unit = 1.0 if self._bounds.measure == "error" else self._bounds.bound
        far = np.abs(gap) > _SETTLED * unit
        self.settled = not far.any()
        beyond = far & (gap * before < 0.0)
        slow = far & (gap * before > 0.0) & (np.abs(gap) > _ENOUGH * np.abs(before))
        self._rate[beyond] = np.maximum(_SLOWER * self._rate[beyond], self._slowest)
        # A rate that went too far grows by less afterwards, so that rates settle.
        self._faster[beyond] **= _SLOWER
        self._rate[slow] = np.minimum((self._faster * self._rate)[slow], _FASTEST)
        self.value = self._bounds.renewed(self._from, self._rate, attained)
        self._from = self._from + self._kept * (self.value - self._from)
        self._before = gap

    def _gap(self, attained: FloatArray) -> FloatArray:
        """What multipliers would be changed by, per unit of the rate: 0 at the end."""
        renewed = self._bounds.renewed(self._from, self._rate, attained)
        return np.asarray((renewed - self._from) / self._rate)


def check_group_options(bounds: Any, groups: Any, *, in_batches: bool) -> None:
    """Refuse groups without bounds, and both for tables that come in batches."""
    if groups is not None and bounds is None:
        raise ValueError("groups needs group_bounds, which say what holds of them.")
    if bounds is not None and in_batches:
        raise ValueError(
            "group_bounds needs the group of every row and goes over all rows in many "
            "rounds, so it takes a table in memory; got one that comes in batches. "
            "Read it first, as by sorct.read_table, or train on a sample of its rows."
        )


def _by_group(bounds: Any, labels: list[Any]) -> dict[Any, float]:
    """Bound of every group named; a number is for all."""
    named = bounds if isinstance(bounds, Mapping) else dict.fromkeys(labels, bounds)
    if not named:
        raise ValueError("group_bounds is empty; expected a bound, or None for none.")
    strange = [label for label in named if label not in labels]
    if strange:
        raise ValueError(
            f"group_bounds names groups that no row has: {listed(strange)}. Expected "
            f"some of {listed(labels)}."
        )
    for label, bound in named.items():
        if not (is_finite_number(bound) and bound > 0):
            raise ValueError(
                f"group_bounds must be a positive number for {label!r}, got "
                f"{shown(bound)}."
            )
    return {label: float(bound) for label, bound in named.items()}
