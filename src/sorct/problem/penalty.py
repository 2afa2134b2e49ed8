"""Penalty: what coefficients cost and which values they may have, as numbers in arrays.

    alpha_local mean_{g,t} max_{j in g} |a_jt|
    + alpha_global mean_g max(0, max_{j in g, t} |a_jt| - free_g)

over groups g of columns and cuts t, with lower_j <= a_jt <= upper_j. A group is what is
chosen or left out as one: the columns of a variable. The first term takes groups out of
single cuts, the second out of the whole tree. Because they are means, a strength means
the same on every data set; the paper's grid value 2^r is exactly alpha = 2^r. In the
paper every column is its own group (the first term is an l1 norm then), nothing is free
and the box is [-1, 1].

Nothing outside this file and ``penalty_face.py`` knows these terms: solvers and search
call the functions here. A group's coefficients are neighbouring rows of the matrix of
cuts, whose further rows (the thresholds) are not touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside, larger, smaller

# More columns than any matrix has, and a size that none reaches.
_ALL, _ENDLESS = 1 << 30, 1e300
_NOTHING: FloatArray = np.zeros((0, 0))
# A strength that no fit can pay, and what stands for a price of 0 in a denominator.
_UNPAYABLE, _TINY = 1e9, 1e-300


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
        Of a group's largest size in a cut, times ``local[g]``: the paper's lambda^L.
    linf_strength : float
        Of a group's largest size in the tree, times ``linf[g]``: the paper's lambda^G.
    start : array of shape (n_groups + 1,)
        First column of every group, and the number of columns.
    local : array of shape (n_groups,), strength of a group beside that of others
    lower, upper : arrays of shape (n_columns,)
        Bounds of a column's coefficients: -1 or 0, and 0 or 1.
    linf : array of shape (n_groups,), strength of a group beside that of others
    free : array of shape (n_groups,)
        Size up to which a group's coefficients have no global penalty.
    boxed : int
        Columns of the matrix of coefficients before this one are cuts and lie in the
        box [-1, 1]; those after are slopes of leaves, whose signs alone are bound.
    barred : array of shape (n_groups, n_branches), or without entries
        1 where a group may not be used by a cut, 0 elsewhere.
    """

    local_strength: float
    linf_strength: float
    start: IntArray
    local: FloatArray
    lower: FloatArray
    upper: FloatArray
    linf: FloatArray
    free: FloatArray
    boxed: int = _ALL
    barred: FloatArray = _NOTHING

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
            _numbers(local, 1.0, n_groups),
            _numbers(lower, -1.0, n_columns),
            _numbers(upper, 1.0, n_columns),
            _numbers(linf, 1.0, n_groups),
            _numbers(free, 0.0, n_groups),
        )
        _check(penalty, n_columns)
        return penalty.at(strengths, n_branches)

    @classmethod
    def priced(cls, start: IntArray, price: FloatArray, sign: FloatArray) -> Penalty:
        """What groups cost beside others, in a cut as in the tree; no strengths yet.

        ``sign`` is +1 for columns whose coefficients may not be negative, -1 for those
        that may not be positive, 0 for all others.
        """
        lower, upper = np.where(sign > 0, 0.0, -1.0), np.where(sign < 0, 0.0, 1.0)
        given = {"local": price, "linf": price, "lower": lower, "upper": upper}
        return cls.of(Strengths(), sign.size, 1, start=start, **given)

    @classmethod
    def none(cls, n_columns: int) -> Penalty:
        """Only the box [-1, 1]."""
        return cls.of(Strengths(), n_columns, 1)

    def at(self, strengths: Strengths, n_branches: int) -> Penalty:
        """The same groups under other strengths."""
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

    def shared_by(self, n_trees: int) -> Penalty:
        """The penalty of the cuts of a forest, its fits being summed, not averaged."""
        return self._replace(linf_strength=n_trees * self.linf_strength)

    def with_free(self, size: FloatArray) -> Penalty:
        """The same where groups have no global penalty up to a size, (n_groups,)."""
        return self._replace(free=size)

    def within(self, size: FloatArray) -> Penalty:
        """The local part alone, groups being no larger than a size, (n_groups,)."""
        return self._replace(linf_strength=_UNPAYABLE, free=size)

    def with_cuts(self, n_cuts: int) -> Penalty:
        """The same where coefficients after those of so many cuts are slopes."""
        return self._replace(boxed=n_cuts)

    def with_barred(self, barred: FloatArray) -> Penalty:
        """The same where groups are barred from cuts, (n_groups, n_branches)."""
        return self._replace(barred=barred)

    def columns_of(self, groups: IntArray) -> IntArray:
        """Columns of some groups, at least one."""
        start = self.start
        return np.concatenate([np.arange(start[g], start[g + 1]) for g in groups])

    def restricted(self, groups: IntArray) -> Penalty:
        """The same of some groups alone, at least one; they cost what they did."""
        columns = self.columns_of(groups)
        return self._replace(
            start=np.append(0, np.cumsum(np.diff(self.start)[groups])),
            local=self.local[groups],
            lower=self.lower[columns],
            upper=self.upper[columns],
            linf=self.linf[groups],
            free=self.free[groups],
            barred=self.barred[groups] if self.barred.size else self.barred,
        )

    @property
    def n_groups(self) -> int:
        """Number of groups of columns."""
        return self.linf.size

    @property
    def active(self) -> bool:
        """Whether any coefficient costs anything."""
        return self.local_strength > 0.0 or self.linf_strength > 0.0

    def norms(self, coef: FloatArray) -> tuple[float, float]:
        """Local and global part per unit of strength; coef has a row per column."""
        size = np.abs(coef)
        if self.local.size < len(coef):
            size = np.maximum.reduceat(size, self.start[:-1])
        paid = np.maximum(size.max(axis=1, initial=0.0) - self.free, 0.0)
        return float(self.local @ size.sum(axis=1)), float(self.linf @ paid)

    def value_of(self, norms: tuple[float, float]) -> float:
        """Penalty of a tree whose norms are known."""
        return self.local_strength * norms[0] + self.linf_strength * norms[1]

    def value(self, coef: FloatArray) -> float:
        """Penalty of coefficients of shape (n_columns, n_branches)."""
        return self.value_of(self.norms(coef))

    def sizes(self, coef: FloatArray) -> FloatArray:
        """Largest |a| of every group in the tree; coef has a row per column."""
        largest = np.abs(coef).max(axis=1)
        return np.asarray(np.maximum.reduceat(largest, self.start[:-1]))

    def per_price(self, worth: FloatArray) -> FloatArray:
        """What groups are worth per price in a cut, from the worth of every column."""
        return np.add.reduceat(worth, self.start[:-1]) / (self.local + _TINY)

    def emptying_alpha(self, gradient: FloatArray) -> float:
        """The alpha_local from which on no group leaves the empty tree of one cut.

        That is the largest fall of the fit, of which ``gradient`` has a row per column,
        per unit of a group's size; groups that cost nothing are left out.
        """
        # A coefficient that may not have the sign which would help does not help.
        lower, upper = self.lower[:, np.newaxis], self.upper[:, np.newaxis]
        down = np.where(gradient > 0.0, -lower * gradient, -upper * gradient)
        fall = np.add.reduceat(down.sum(axis=1), self.start[:-1])
        slope = np.where(self.local > 0.0, fall / np.maximum(self.local, _TINY), 0.0)
        return float(np.max(slope) * self.n_groups)

    def draw_cuts(self, n_cuts: int, rng: np.random.Generator) -> FloatArray:
        """Uniform coefficients within their bounds, of shape (n_columns, n_cuts)."""
        lower, width = self.lower[:, np.newaxis], self.upper - self.lower
        return lower + width[:, np.newaxis] * rng.random((width.size, n_cuts))

    def draw(self, chosen: BoolArray, rng: np.random.Generator) -> FloatArray:
        """The same for the places chosen alone, in their order."""
        column = np.nonzero(chosen)[0]
        lower = self.lower[column]
        # The same numbers as of ``rng.uniform``, which takes long for many bounds.
        return lower + (self.upper[column] - lower) * rng.random(column.size)

    def clip(self, coef: FloatArray) -> FloatArray:
        """Nearest coefficients within their bounds; coef has a row per column."""
        if self.barred.size > 0:
            size = np.diff(self.start)
            coef = np.where(np.repeat(self.barred, size, axis=0) > 0.0, 0.0, coef)
        lower, upper = self.lower[:, np.newaxis], self.upper[:, np.newaxis]
        if self.boxed >= coef.shape[1]:
            # Quicker than ``np.clip`` where arrays are small.
            return np.asarray(np.minimum(np.maximum(coef, lower), upper))
        # Signs alone bind slopes: a bound is 0 or has no end.
        width = np.where(np.arange(coef.shape[1]) < self.boxed, 1.0, np.inf)
        with np.errstate(invalid="ignore"):
            low, high = np.nan_to_num(lower * width), np.nan_to_num(upper * width)
        coef = np.clip(coef, low, high)
        coef[self.lower + self.upper != 0.0, : self.boxed] = 0.0
        return coef


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
    sizes = {"lower": n_columns, "upper": n_columns}
    sizes |= dict.fromkeys(("local", "linf", "free"), n_groups)
    for name, size in sizes.items():
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
def count_groups(penalty: Penalty) -> int:
    """``Penalty.n_groups`` for compiled code, which sees no properties."""
    return penalty.linf.size


@compiled_inside
def size_in_cut(penalty: Penalty, g: int, t: int, coef: FloatArray) -> float:
    """Largest |a| of a group in a cut."""
    largest = 0.0
    for j in range(penalty.start[g], penalty.start[g + 1]):
        largest = larger(largest, abs(coef[j, t]))
    return largest


@compiled_inside
def largest_size(penalty: Penalty, g: int, coef: FloatArray) -> float:
    """Largest |a| of a group in the tree."""
    largest = 0.0
    for j in range(penalty.start[g], penalty.start[g + 1]):
        for t in range(coef.shape[1]):
            largest = larger(largest, abs(coef[j, t]))
    return largest


@compiled_inside
def penalty_value(penalty: Penalty, coef: FloatArray) -> float:
    """Penalty of the coefficients."""
    value = 0.0
    for g in range(penalty.linf.size):
        largest, total = 0.0, 0.0
        for t in range(coef.shape[1]):
            size = size_in_cut(penalty, g, t, coef)
            total += penalty.local[g] * size
            largest = larger(largest, size)
        strength = penalty.linf_strength * penalty.linf[g]
        paid = strength * larger(largest - penalty.free[g], 0.0)
        value += penalty.local_strength * total + paid
    return value


@compiled_inside
def _keep_signs(penalty: Penalty, j: int, coef: FloatArray) -> None:
    """Signs that a column may not have become 0.

    Beside linear leaves a column that has a direction is in no cut.
    """
    if penalty.upper[j] + penalty.lower[j] != 0.0 and penalty.boxed < coef.shape[1]:
        for t in range(penalty.boxed):
            coef[j, t] = 0.0
    for t in range(coef.shape[1]):
        if penalty.upper[j] == 0.0:
            coef[j, t] = smaller(coef[j, t], 0.0)
        if penalty.lower[j] == 0.0:
            coef[j, t] = larger(coef[j, t], 0.0)


@compiled_inside
def _shrink(amount: float, j: int, coef: FloatArray) -> None:
    """Soft threshold of a column: the prox of amount * |a| in every cut."""
    for t in range(coef.shape[1]):
        size = abs(coef[j, t]) - amount
        if size <= 0.0:
            coef[j, t] = 0.0
        elif coef[j, t] > 0.0:
            coef[j, t] = size
        else:
            coef[j, t] = -size


@compiled_apart
def _size_after_prox(part: FloatArray, amount: float) -> float:
    """Find the size tau >= 0 to which the prox of amount * l-inf cuts a matrix.

    tau solves sum max(|v| - tau, 0) = amount. Entries below the running value of tau
    leave the sum until none does, which takes a finite number of rounds.
    """
    n_active, tau = part.size + 1, -1.0
    while True:
        total, n_above = 0.0, 0
        for j in range(part.shape[0]):
            for t in range(part.shape[1]):
                if abs(part[j, t]) > tau:
                    total += abs(part[j, t])
                    n_above += 1
        # Stop unless the list became shorter: rounding could bring entries back.
        if n_above >= n_active or n_above == 0:
            return tau
        if tau < 0.0 and total <= amount:
            return 0.0
        n_active = n_above
        tau = (total - amount) / n_active


@compiled_apart
def _cut_to(part: FloatArray, size: float) -> None:
    """Cut all entries to a size."""
    for j in range(part.shape[0]):
        for t in range(part.shape[1]):
            part[j, t] = smaller(larger(part[j, t], -size), size)


@compiled_apart
def prox_group(penalty: Penalty, g: int, step: float, coef: FloatArray) -> None:
    """Replace a group's coefficients by the proximal step of step * penalty.

    That is the minimiser over x within the bounds of ||x - v||^2 / 2 + step * penalty.
    Allowed signs, l-inf within every cut, l-inf over all cuts, box, in this order: from
    the inside out, as the parts of a cut lie within the group, the composition is exact
    (Jenatton et al. 2011). Sizes are never cut below what is free. Zeros are exact.
    """
    first, last, limit = penalty.start[g], penalty.start[g + 1], _ENDLESS
    n_boxed = penalty.boxed if penalty.boxed < coef.shape[1] else coef.shape[1]
    amount = step * penalty.local_strength * penalty.local[g]
    for j in range(first, last):
        _keep_signs(penalty, j, coef)
        if last - first == 1:
            _shrink(amount, j, coef)
    if last - first > 1 and amount > 0.0:
        for t in range(coef.shape[1]):
            part = coef[first:last, t : t + 1]
            _cut_to(part, _size_after_prox(part, amount))
    amount = step * penalty.linf_strength * penalty.linf[g]
    if amount > 0.0:
        tau = _size_after_prox(coef[first:last, :], amount)
        if tau > 1.0 and n_boxed < coef.shape[1]:
            # The box holds what is boxed, so slopes alone go on to share the amount.
            tau = larger(1.0, _size_after_prox(coef[first:last, n_boxed:], amount))
        limit = larger(tau, penalty.free[g])
    _cut_to(coef[first:last, n_boxed:], limit)
    _cut_to(coef[first:last, :n_boxed], smaller(limit, 1.0))


@compiled_apart
def _keep_out(penalty: Penalty, coef: FloatArray) -> None:
    """Groups leave the cuts that they are barred from."""
    for g in range(penalty.barred.shape[0]):
        for j in range(penalty.start[g], penalty.start[g + 1]):
            for t in range(coef.shape[1]):
                if penalty.barred[g, t] > 0.0:
                    coef[j, t] = 0.0


@compiled_inside
def _prox_column(penalty: Penalty, g: int, step: float, coef: FloatArray) -> None:
    """``prox_group`` of a group of one column in a tree without slopes, in line."""
    j, limit = penalty.start[g], 1.0
    if penalty.upper[j] - penalty.lower[j] < 2.0:
        _keep_signs(penalty, j, coef)
    amount = step * penalty.local_strength * penalty.local[g]
    if amount > 0.0:
        _shrink(amount, j, coef)
    amount = step * penalty.linf_strength * penalty.linf[g]
    if amount > 0.0:
        tau = _size_after_prox(coef[j : j + 1, :], amount)
        limit = smaller(larger(tau, penalty.free[g]), 1.0)
    for t in range(coef.shape[1]):
        coef[j, t] = smaller(larger(coef[j, t], -limit), limit)


@compiled_inside
def prox(penalty: Penalty, step: float, coef: FloatArray) -> None:
    """Proximal step of all groups, in place."""
    if penalty.barred.shape[0] > 0:
        _keep_out(penalty, coef)
    for g in range(penalty.linf.size):
        alone = penalty.start[g + 1] - penalty.start[g] == 1
        if alone and penalty.boxed >= coef.shape[1]:
            _prox_column(penalty, g, step, coef)
        else:
            prox_group(penalty, g, step, coef)
