"""Penalty: what coefficients cost and which values they may have, as numbers in arrays.

    alpha_local mean_{j,t} |a_jt|  +  alpha_global mean_g max(0, max |a_g| - free_g)

over columns j, cuts t and groups g of columns, with lower_j <= a_jt <= upper_j. The
first term empties single cuts, the second drops a whole group, such as the columns of
one variable, from the tree. Because they are means, a strength means the same on every
data set; the paper's grid value 2^r is exactly alpha = 2^r. In the paper every column
is its own group, nothing is free and the box is [-1, 1].

Nothing outside this file and ``penalty_face.py`` knows these terms: solvers and search
call the functions here. A group's coefficients are neighbouring rows of the matrix of
cuts, whose further rows (the thresholds) are not touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside


@dataclass(frozen=True)
class Strengths:
    """How strong the local (l1) and the global (l-infinity) penalty are."""

    alpha_local: float = 0.0
    alpha_global: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha_local", "alpha_global"):
            strength = getattr(self, name)
            if not (np.isfinite(strength) and strength >= 0):
                raise ValueError(
                    f"{name} must be a finite number >= 0, got {strength!r}."
                )


class Penalty(NamedTuple):
    """The penalty of all columns, for compiled code and for Python.

    Attributes
    ----------
    local_strength : float
        Of every |a_jt|, times ``local[j]``: the paper's lambda^L.
    linf_strength : float
        Of every group's largest size, times ``linf[g]``: the paper's lambda^G.
    start : array of shape (n_groups + 1,)
        First column of every group, and the number of columns.
    local : array of shape (n_columns,), price of a column beside that of others
    lower, upper : arrays of shape (n_columns,)
        Bounds of a column's coefficients: -1 or 0, and 0 or 1.
    linf : array of shape (n_groups,), price of a group beside that of others
    free : array of shape (n_groups,)
        Size up to which a group's coefficients have no global penalty.
    """

    local_strength: float
    linf_strength: float
    start: IntArray
    local: FloatArray
    lower: FloatArray
    upper: FloatArray
    linf: FloatArray
    free: FloatArray

    @classmethod
    def of(
        cls,
        strengths: Strengths,
        n_columns: int,
        n_branches: int,
        *,
        start: IntArray | None = None,
        local: FloatArray | None = None,
        lower: FloatArray | None = None,
        upper: FloatArray | None = None,
        linf: FloatArray | None = None,
        free: FloatArray | None = None,
    ) -> Penalty:
        """Fill in the paper's setting for all that is not given, and check the rest."""
        start = np.arange(n_columns + 1) if start is None else np.asarray(start)
        n_groups = start.size - 1
        penalty = cls(
            0.0,
            0.0,
            start.astype(np.int64),
            _numbers(local, 1.0, n_columns),
            _numbers(lower, -1.0, n_columns),
            _numbers(upper, 1.0, n_columns),
            _numbers(linf, 1.0, n_groups),
            _numbers(free, 0.0, n_groups),
        )
        _check(penalty, n_columns)
        return penalty.at(strengths, n_branches)

    @classmethod
    def none(cls, n_columns: int) -> Penalty:
        """Only the box [-1, 1]."""
        return cls.of(Strengths(), n_columns, 1)

    def at(self, strengths: Strengths, n_branches: int) -> Penalty:
        """The same columns and groups under other strengths."""
        return self._replace(
            local_strength=strengths.alpha_local / (self.local.size * n_branches),
            linf_strength=strengths.alpha_global / self.linf.size,
        )

    def scaled(self, share: float) -> Penalty:
        """Both strengths times a share; with share 0 only the bounds are left."""
        return self._replace(
            local_strength=share * self.local_strength,
            linf_strength=share * self.linf_strength,
        )

    @property
    def active(self) -> bool:
        """Whether any coefficient costs anything."""
        return self.local_strength > 0.0 or self.linf_strength > 0.0

    def norms(self, coef: FloatArray) -> tuple[float, float]:
        """Local and global part per unit of strength; coef has a row per column."""
        size = np.abs(coef)
        largest = np.maximum.reduceat(size.max(axis=1), self.start[:-1])
        paid = np.maximum(largest - self.free, 0.0)
        return float(self.local @ size.sum(axis=1)), float(self.linf @ paid)

    def value_of(self, norms: tuple[float, float]) -> float:
        """Penalty of a tree whose norms are known."""
        return self.local_strength * norms[0] + self.linf_strength * norms[1]

    def value(self, coef: FloatArray) -> float:
        """Penalty of coefficients of shape (n_columns, n_branches)."""
        return self.value_of(self.norms(coef))

    def draw(self, chosen: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Uniform coefficients within their bounds for the places chosen."""
        column = np.nonzero(chosen)[0]
        return rng.uniform(self.lower[column], self.upper[column])

    def clip(self, coef: FloatArray) -> FloatArray:
        """Nearest coefficients within their bounds; coef has a row per column."""
        bounds = self.lower, self.upper
        return np.clip(coef, *(bound[:, np.newaxis] for bound in bounds))


def _numbers(given: FloatArray | None, default: float, size: int) -> FloatArray:
    if given is None:
        return np.full(size, default)
    return np.array(given, dtype=np.float64)


def _check(penalty: Penalty, n_columns: int) -> None:
    """Refuse what is no penalty; messages name the array."""
    start, n_groups = penalty.start, penalty.start.size - 1
    if start[0] != 0 or start[-1] != n_columns or np.any(np.diff(start) <= 0):
        raise ValueError(
            f"start must rise from 0 to the {n_columns} columns, got {start.tolist()}."
        )
    sizes = {"local": n_columns, "lower": n_columns, "upper": n_columns}
    for name, size in (sizes | {"linf": n_groups, "free": n_groups}).items():
        given = getattr(penalty, name)
        if given.shape != (size,):
            raise ValueError(f"{name} must have {size} numbers, got {given.shape}.")
    for name, allowed in (("lower", (-1.0, 0.0)), ("upper", (0.0, 1.0))):
        given = getattr(penalty, name)
        if not np.isin(given, allowed).all():
            raise ValueError(f"{name} must be of {allowed}, got {given.tolist()}.")
    for name in ("local", "linf", "free"):
        given = getattr(penalty, name)
        if not (np.isfinite(given) & (given >= 0.0)).all():
            raise ValueError(f"{name} must be finite and >= 0, got {given.tolist()}.")


@compiled_inside
def largest_size(penalty: Penalty, g: int, coef: FloatArray) -> float:
    """Largest |a| of a group."""
    largest = 0.0
    for j in range(penalty.start[g], penalty.start[g + 1]):
        for t in range(coef.shape[1]):
            largest = max(largest, abs(coef[j, t]))
    return largest


@compiled_inside
def penalty_value(penalty: Penalty, coef: FloatArray) -> float:
    """Penalty of the coefficients."""
    value = 0.0
    for g in range(penalty.linf.size):
        largest, total = 0.0, 0.0
        for j in range(penalty.start[g], penalty.start[g + 1]):
            for t in range(coef.shape[1]):
                size = abs(coef[j, t])
                total += penalty.local[j] * size
                largest = max(largest, size)
        strength = penalty.linf_strength * penalty.linf[g]
        paid = strength * max(largest - penalty.free[g], 0.0)
        value += penalty.local_strength * total + paid
    return value


@compiled_inside
def _shrink(penalty: Penalty, j: int, step: float, coef: FloatArray) -> None:
    """Signs that a column may not have become 0, then the soft threshold."""
    amount = step * penalty.local_strength * penalty.local[j]
    for t in range(coef.shape[1]):
        a = min(coef[j, t], 0.0) if penalty.upper[j] == 0.0 else coef[j, t]
        a = max(a, 0.0) if penalty.lower[j] == 0.0 else a
        size = abs(a) - amount
        if size <= 0.0:
            coef[j, t] = 0.0
        elif a > 0.0:
            coef[j, t] = size
        else:
            coef[j, t] = -size


@compiled_inside
def _size_after_prox(
    penalty: Penalty, g: int, amount: float, coef: FloatArray
) -> float:
    """Find the size tau >= 0 to which the prox of amount * l-inf cuts a group.

    tau solves sum max(|v| - tau, 0) = amount. Entries below the running value of tau
    leave the sum until none does, which takes a finite number of rounds.
    """
    first, last = penalty.start[g], penalty.start[g + 1]
    n_active, tau = (last - first) * coef.shape[1] + 1, -1.0
    while True:
        total, n_above = 0.0, 0
        for j in range(first, last):
            for t in range(coef.shape[1]):
                if abs(coef[j, t]) > tau:
                    total += abs(coef[j, t])
                    n_above += 1
        # Rounding may bring an entry back; only a shorter list goes on.
        if n_above >= n_active or n_above == 0:
            return tau
        if tau < 0.0 and total <= amount:
            return 0.0
        n_active = n_above
        tau = (total - amount) / n_active


@compiled_apart
def prox_group(penalty: Penalty, g: int, step: float, coef: FloatArray) -> None:
    """Replace a group's coefficients by the proximal step of step * penalty.

    That is the minimiser over x within the bounds of ||x - v||^2 / 2 + step * penalty.
    Allowed signs, soft threshold, l-inf, box, in this order: each keeps the
    subdifferential of the ones before it, so that the composition is exact. Above a
    size that is free the l-inf step cuts no deeper than there. Zeros are exact zeros.
    """
    limit = 1.0
    for j in range(penalty.start[g], penalty.start[g + 1]):
        _shrink(penalty, j, step, coef)
    amount = step * penalty.linf_strength * penalty.linf[g]
    if amount > 0.0:
        tau = _size_after_prox(penalty, g, amount, coef)
        limit = min(limit, max(tau, penalty.free[g]))
    for j in range(penalty.start[g], penalty.start[g + 1]):
        for t in range(coef.shape[1]):
            coef[j, t] = min(max(coef[j, t], -limit), limit)


@compiled_inside
def prox(penalty: Penalty, step: float, coef: FloatArray) -> None:
    """Proximal step of all groups, in place."""
    for g in range(penalty.linf.size):
        prox_group(penalty, g, step, coef)
