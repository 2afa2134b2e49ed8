"""Residual: the datafit of a quantity, a loss of what the tree's value misses.

The tree predicts V(x) = sum over leaves of reach x leaf value, and a sample of response
y pays a loss of r = y - V. All losses are of one family,

    tilt r + bend min(r^2, 2 width |r| - width^2),

a parabola up to ``width`` and its tangents beyond, leaning by ``tilt``. Responses come
centred and scaled (see ``data/quantity.py``), so the numbers mean the same everywhere:

- square: r^2.
- huber: r^2 up to one spread of y, linear beyond.
- absolute: |r|, rounded off within ``ROUNDED`` spreads of 0, so that steps can use it.
- quantile: r (level - [r < 0]), rounded off likewise; V is a quantile of y.

Leaves have a value each and, if they are linear, slopes: V = sum of reach x (value +
SLOPE_UNIT w . x). Slopes lie beside the cuts in the matrix that penalties see, so that
a variable is counted once whether cuts or leaves use it. Every leaf also pays
``RIDGE`` times its squared value (at the mean sample): values of leaves that few
samples reach, or that always come together, stay finite.

What a leaf says should be what its rows are. Mixing leaves by flat cuts can draw a
straight line between numbers that no row has, so a sample also pays ``MIXED`` times the
variance of what leaves say of it, sum of reach x (leaf - V)^2, as if that share of the
loss were paid by a leaf drawn at random instead of the mean of all. Constant leaves
also stay within the least and the largest response.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import Rows, TrainingSet
from sorct.problem.datafit import RESIDUAL
from sorct.tree.link import cdf
from sorct.tree.params import MIXED, Params
from sorct.tree.topology import Topology

#: What every leaf pays for its squared value: a mass that pulls it to the mean.
RIDGE = 1e-3
#: Change of a leaf's value, in spreads of y, over the range of a column whose slope is
#: 1. So slopes and coefficients of cuts that matter as much are of the same size.
SLOPE_UNIT = 16.0
#: Spreads of y within which the kinks of absolute and quantile losses are rounded off.
ROUNDED = 0.02
_ENDLESS = 1e300


@dataclass(frozen=True)
class Residual:
    """Mean loss of response minus value.

    Attributes
    ----------
    tilt, bend, width : float
        The loss, see above.
    linear : bool
        Whether leaves have slopes.
    mixed : float
        See ``MIXED``.
    low, high : float
        Bounds of the values of leaves.
    falling : bool
        Whether values must not rise from a leaf to the next, from left to right.
    """

    tilt: float = 0.0
    bend: float = 1.0
    width: float = _ENDLESS
    linear: bool = False
    mixed: float = MIXED
    low: float = -_ENDLESS
    high: float = _ENDLESS
    falling: bool = False

    rule = RESIDUAL
    first = -1
    n_labels = 1

    @classmethod
    def of(cls, loss: str, level: float = 0.5, *, linear: bool = False) -> Residual:
        """Loss by its name; ``level`` is that of a quantile."""
        if loss == "square":
            return cls(linear=linear)
        if loss == "huber":
            return cls(width=1.0, linear=linear)
        if loss == "absolute":
            return cls(0.0, 0.5 / ROUNDED, ROUNDED, linear)
        return cls(level - 0.5, 0.25 / ROUNDED, ROUNDED, linear)

    @property
    def shape(self) -> FloatArray:
        """Numbers for compiled code: the loss, then what binds values."""
        loss = self.tilt, self.bend, self.width, self.mixed
        return np.array([*loss, self.low, self.high, float(self.falling)])

    def within(self, response: FloatArray, *, falling: bool = False) -> Residual:
        """The same with constant leaves between the least and largest response.

        If ``falling``, they are in order, as directions of columns need it.
        """
        if self.linear:
            return self
        low, high = float(response.min()), float(response.max())
        return replace(self, low=low, high=high, falling=falling)

    @property
    def unit(self) -> float:
        """Unit of slopes."""
        return SLOPE_UNIT

    def bound(self, value: FloatArray) -> FloatArray:
        """Nearest values within the bounds; ``datafit.bound_value`` is its twin."""
        if self.falling:
            from sklearn.isotonic import isotonic_regression

            value = isotonic_regression(value, increasing=False)
        return np.clip(value, self.low, self.high)

    def loss(self, residual: FloatArray) -> FloatArray:
        """Loss of residuals."""
        near = np.clip(residual, -self.width, self.width)
        bent = near * (2.0 * residual - near)
        return np.asarray(self.tilt * residual + self.bend * bent)

    def table(self, n_codes: int) -> FloatArray:
        """No labels, so no table of theirs."""
        return np.zeros((n_codes, 0))

    def pseudo(self, share: FloatArray) -> FloatArray:
        """What a leaf pays for its squared value."""
        return np.full_like(share, RIDGE)

    def value(self, mass: FloatArray, label: IntArray, loss: float = 0.0) -> float:
        """The loss, which masses do not tell."""
        return loss

    def in_order(self, label: IntArray) -> IntArray:
        """Labels as they are: they mean nothing here."""
        return label

    def leaf_labels(self, leaf_proba: FloatArray) -> IntArray:
        """No labels are chosen."""
        return np.zeros(leaf_proba.shape[1], dtype=np.int64)


def leaf_reach(rows: Rows, params: Params, gamma: float, n_groups: int) -> FloatArray:
    """Reach of every leaf, (n_leaves, n), of rows of weight 1 each."""
    topology = Topology.of_branches(params.threshold.size)
    score = cut_scores(rows, params, gamma, n_groups)
    return topology.reach(cdf(score))[topology.n_branches :]


def cut_scores(rows: Rows, params: Params, gamma: float, n_groups: int) -> FloatArray:
    """Scores of every cut, (n_branches, n)."""
    sums = params.coef.T @ rows.X / n_groups
    return np.asarray(gamma * (sums - params.threshold[:, np.newaxis]))


def with_values(
    params: Params, data: TrainingSet, datafit: Residual, gamma: float, n_groups: int
) -> Params:
    """The tree with leaf values of least squares, given its cuts and slopes.

    Where there are very many rows, those that searches look at decide.
    """
    rows = data.rows
    reach = leaf_reach(rows, params, gamma, n_groups)
    slopes = params.leaf_coef
    if slopes is None and datafit.linear:
        slopes = np.zeros((data.n_columns, len(reach)))
    assert rows.response is not None
    sloped, shift = np.zeros_like(reach), np.zeros(len(reach))
    if slopes is not None:
        sloped = SLOPE_UNIT * (slopes.T @ rows.X)
        shift = SLOPE_UNIT * (data.centre @ slopes)
    value = solve_values(
        reach, rows.weight, rows.response, sloped, shift, datafit.mixed
    )
    return replace(params, leaf_value=datafit.bound(value), leaf_coef=slopes)


def solve_values(
    reach: FloatArray,
    weight: FloatArray,
    response: FloatArray,
    sloped: FloatArray,
    shift: FloatArray,
    mixed: float = MIXED,
) -> FloatArray:
    """Values v of least squares, for given cuts and slopes.

    They minimise the sum of weight (response - V)^2, with V = sum of reach (v +
    sloped), and of weight mixed reach (v + sloped - V)^2, and RIDGE |v + shift|^2.
    ``sloped`` is what slopes add, ``shift`` what they add at the mean sample.
    """
    weighted = reach * weight
    mean = np.sum(reach * sloped, axis=0)
    normal = (1.0 - mixed) * (weighted @ reach.T) + np.diag(
        mixed * weighted.sum(axis=1) + RIDGE
    )
    right = weighted @ (response - (1.0 - mixed) * mean) - RIDGE * shift
    return np.asarray(
        np.linalg.solve(normal, right - mixed * np.sum(weighted * sloped, axis=1))
    )


def leaf_losses(
    params: Params, data: TrainingSet, datafit: Residual, gamma: float, n_groups: int
) -> FloatArray:
    """What the samples of every leaf add to the fit, by their reach."""
    rows = data.rows
    params = (
        params
        if params.leaf_value is not None
        else with_values(params, data, datafit, gamma, n_groups)
    )
    reach = leaf_reach(rows, params, gamma, n_groups)
    assert rows.response is not None
    loss = datafit.loss(rows.response - predicted(rows, params, reach))
    return np.asarray(reach @ (rows.weight * loss))


def predicted(rows: Rows, params: Params, reach: FloatArray) -> FloatArray:
    """V of rows whose reach is known."""
    return np.asarray(np.sum(reach * said_by_leaves(rows, params), axis=0))


def said_by_leaves(rows: Rows, params: Params) -> FloatArray:
    """What leaves say of rows, (n_leaves, n), or (n_leaves, 1) if all the same."""
    assert params.leaf_value is not None
    said = params.leaf_value[:, np.newaxis]
    if params.leaf_coef is None:
        return said
    return np.asarray(said + SLOPE_UNIT * (params.leaf_coef.T @ rows.X))
