"""Penalties strong enough to make the tree without columns stationary, or the best.

Theorems 2 and 3 of the paper in closed form: at coefficients of zero the gradient of
the expected cost needs of the data only the sums of every column by class. Columns are
made one at a time; no tree is trained and nothing is compiled. ``docs/bounds.md`` has
the proofs and says what the bounds do not promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.options import TableOptions
from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.checks import (
    check_real,
    checked_cost_matrix,
    checked_samples,
    checked_topology,
    refuse_no_columns,
)
from sorct.estimators.fitting import Model


@dataclass(frozen=True)
class PenaltyBounds:
    """Strengths above which the empty tree (all coefficients zero) needs no column.

    They hold without floors on recall, for the ``sigma``, ``gamma`` and ``depth`` given
    and in the units of ``SORCTClassifier``. Both of a pair are needed together.

    Attributes
    ----------
    alpha_local, alpha_global : float
        From here on the empty tree is stationary in its coefficients, whatever its
        thresholds and labels (Theorem 2). Columns may still be worth their price.
    best_local, best_global : float
        From here on no tree has a lower objective than the best empty one.
    alpha_saturated : float or None
        Theorem 3, for one cut and two classes, else None: from here on the empty tree
        with its threshold at -1 or 1 is stationary. Practically 0 for a steep cut,
        which decides the same for all samples there: no sign that the penalty won.
    sigma : float
        Share of the global penalty.
    depth : int
    gamma : float
    column_names : tuple of str
        Names of the columns after encoding.
    column_slope : array of shape (n_columns,)
        Largest n_groups |dg / da_jt| of the expected cost g at coefficients of zero,
        over thresholds and labels: gamma / 4 range_c sum_k W[k, c] E[x_j; class k]. The
        largest sum over a variable makes ``alpha_local`` and ``alpha_global``.
    """

    alpha_local: float
    alpha_global: float
    best_local: float
    best_global: float
    alpha_saturated: float | None
    sigma: float
    depth: int
    gamma: float
    column_names: tuple[str, ...] = field(repr=False)
    column_slope: FloatArray = field(repr=False, compare=False)


def penalty_bounds(
    X: Any,
    y: Any,
    depth: int | None = None,
    *,
    sigma: float = 0.5,
    gamma: float | str = "auto",
    cost_matrix: Any = None,
    sample_weight: Any = None,
    loss: str = "cost",
    followable: bool = True,
    **table: Any,
) -> PenaltyBounds:
    """Compute strengths above which the tree without columns is stationary, or best.

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_variables)
    y : array of shape (n_samples,)
    depth : int or None, default=None
        Depth of the tree; None means the smallest with a leaf for every class.
    sigma : float, default=0.5
        Share of the work left to the global penalty: with 0 ``alpha_global`` is 0, with
        1 ``alpha_local`` is.
    gamma : "auto" or float, default="auto"
        Steepness of the cuts, as in ``SORCTClassifier``; the bounds are proportional to
        it.
    cost_matrix : array of shape (n_classes, n_classes) or None, default=None
        As in ``SORCTClassifier``; None means 0.5 off the diagonal.
    sample_weight : array of shape (n_samples,) or None, default=None
        Weight 2 is the sample twice, weight 0 the sample left out.
    loss : {"cost"}, default="cost"
        There are bounds for the expected cost alone.
    followable : bool
        No bound depends on it. It is taken because ``sorct.PAPER`` holds it, so that
        ``penalty_bounds(X, y, **sorct.PAPER)`` can be written.
    **table
        How the table is read: ``categorical``, ``scaling`` and so on, as in
        ``SORCTClassifier``.

    Returns
    -------
    PenaltyBounds

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import penalty_bounds
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> bounds = penalty_bounds(X, y, sigma=0.0, gamma=512.0)
    >>> round(bounds.alpha_local, 1), bounds.alpha_global
    (47.5, 0.0)
    """
    _check_share(sigma)
    model = Model(gamma=gamma, loss=loss)
    model.check()
    if model.by_log:
        raise ValueError(
            f'penalty_bounds needs loss="cost", got {shown(loss)}: the bounds are on '
            "the slope of the expected cost."
        )
    if y is None:
        raise ValueError(
            "penalty_bounds requires y to be passed, but the target y is None."
        )
    X, y, weight = checked_samples(X, y, sample_weight)
    options = _table_options(table)
    encoder = TableEncoder.learn(X, options, weight)
    classes = Classes.learn(y, weight)
    topology = checked_topology(depth, len(classes))
    costs = checked_cost_matrix(cost_matrix, classes)
    refuse_no_columns(encoder)
    sums = _class_sums(encoder.columns(X), classes.codes(y), weight / weight.sum())
    # In the empty tree all samples share one distribution over the labels, so the slope
    # is bounded by the range of the summed costs. Once a column is used every sample
    # can have its own, and the bound is the sum of the samples' ranges.
    at_zero = _range(sums @ costs)
    anywhere = sums @ _range(costs)
    # A group is worth what its columns can do together.
    groups = encoder.group_start[:-1]
    steepness = model.steepness(groups.size)
    # (1 - sigma) lambda^L p B and sigma lambda^G p, for a slope of 1.
    alpha_local = (1.0 - sigma) * topology.n_branches / 4.0 * steepness
    alpha_global = sigma * _most_variation(topology.depth) * steepness
    steep, steepest = (
        float(np.add.reduceat(slope, groups).max()) for slope in (at_zero, anywhere)
    )
    only_cut = topology.depth == 1 and len(classes) == 2
    return PenaltyBounds(
        alpha_local=alpha_local * steep,
        alpha_global=alpha_global * steep,
        best_local=alpha_local * steepest,
        best_global=alpha_global * steepest,
        alpha_saturated=_density_at_one(steepness) * steep if only_cut else None,
        sigma=float(sigma),
        depth=topology.depth,
        gamma=steepness,
        column_names=encoder.column_names,
        column_slope=_frozen(steepness / 4.0 * at_zero),
    )


def _table_options(given: dict[str, Any]) -> TableOptions:
    known = [field.name for field in fields(TableOptions)]
    strange = [name for name in given if name not in known]
    if strange:
        raise TypeError(
            f"penalty_bounds has no option {strange[0]!r}; expected some of "
            f"{', '.join(known)}."
        )
    options = TableOptions(**given)
    options.check()
    return options


def _check_share(sigma: Any) -> None:
    expected = "a number in [0, 1]"
    check_real("sigma", sigma, expected)
    if sigma > 1:
        raise ValueError(f"sigma must be {expected}, got {shown(sigma)}.")


def _class_sums(
    columns: Sequence[FloatArray], codes: IntArray, weight: FloatArray
) -> FloatArray:
    """Weighted sum of every column over every class, shape (n_columns, n_classes)."""
    n_classes = int(codes.max()) + 1
    sums = np.empty((len(columns), n_classes))
    for j in range(len(columns)):
        sums[j] = np.bincount(codes, weight * columns[j], n_classes)
    return sums


def _range(costs: FloatArray) -> FloatArray:
    """Dearest minus cheapest label of every row, the labels being the columns."""
    widest: FloatArray = costs.max(axis=1) - costs.min(axis=1)
    return widest


def _most_variation(depth: int) -> float:
    """Bound on sum_t reach_t q_t (1 - q_t) |V_left - V_right|, leaf values in [0, 1].

    From the root to a leaf V is a martingale, and the sum half of its expected
    variation. With d = |V_left - V_right|, a node adds q (1 - q) d and takes
    q (1 - q) d^2 from V (1 - V), so that for any A >= 1, by induction from a tree of
    one cut, where the sum is V (1 - V),

        sum <= A V (1 - V) + (depth - 1) max_{q,d} q (1 - q) (d - A d^2)
            <= A / 4 + (depth - 1) / (16 A).

    The least over A is attained by a tree for depths up to 3.
    """
    slant = max(1.0, math.sqrt(depth - 1) / 2.0)
    return slant / 4.0 + (depth - 1) / (16.0 * slant)


def _density_at_one(gamma: float) -> float:
    """Slope of F(gamma z) at z = 1 or -1; 0 where it underflows."""
    tail = math.exp(-gamma)
    return gamma * tail / (1.0 + tail) ** 2


def _frozen(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
