"""The penalty of very many coefficients at once, in NumPy.

Compiled code takes the proximal step of one tree at a time (``penalty.py``). Here the
coefficients of all trees of a forest are one wide matrix, (n_columns, n_trees, n_cuts),
and a sparse table can have far more columns than a tree is ever solved with.
"""

from __future__ import annotations

import numpy as np

from sorct._typing import BoolArray, FloatArray
from sorct.problem.penalty import Penalty


def joint_prox(penalty: Penalty, step: float, coef: FloatArray) -> FloatArray:
    """Proximal step of step * penalty on coefficients (n_columns, n_trees, n_cuts).

    The same composition as ``penalty.prox_group``, all groups at once: signs, l-inf
    within cuts, l-inf over the forest, box.
    """
    lower, upper = penalty.lower, penalty.upper
    shape = (-1, 1, 1)
    kept = np.where((upper == 0.0).reshape(shape), np.minimum(coef, 0.0), coef)
    kept = np.where((lower == 0.0).reshape(shape), np.maximum(kept, 0.0), kept)
    boxed = np.arange(coef.shape[2]) < penalty.boxed
    if not boxed.all():
        # Where leaves are linear, a column that has a direction is used by leaves only.
        kept = np.where((lower + upper != 0.0).reshape(shape) & boxed, 0.0, kept)
    size = np.diff(penalty.start)
    group = np.repeat(np.arange(size.size), size)
    place = np.arange(group.size) - penalty.start[group]
    wide = np.zeros((size.size, int(size.max()), *coef.shape[1:]))
    wide[group, place] = kept
    amount = step * penalty.local_strength * penalty.local
    by_cut = np.moveaxis(wide, 1, -1)
    tau = _cut_size(np.abs(by_cut), amount.reshape(-1, 1, 1, 1))[:, np.newaxis]
    wide = np.clip(wide, -tau, tau)
    limit = _largest_allowed(penalty, step, np.abs(wide), boxed)
    limit = np.where(boxed, np.minimum(limit, 1.0), limit)[:, np.newaxis, np.newaxis]
    return np.asarray(np.clip(wide, -limit, limit)[group, place])


def _largest_allowed(
    penalty: Penalty, step: float, size: FloatArray, boxed: BoolArray
) -> FloatArray:
    """Size that every group is cut to, (n_groups, 1)."""
    amount = step * penalty.linf_strength * penalty.linf
    if not amount.any():
        return np.full((size.shape[0], 1), np.inf)
    tau = _cut_size(size.reshape(len(size), -1), amount[:, np.newaxis])
    if not boxed.all():
        # Coefficients of cuts end at 1, where their box does. Above 1 the slopes of
        # leaves share the amount among themselves.
        slopes = size[..., ~boxed].reshape(len(size), -1)
        alone = np.maximum(_cut_size(slopes, amount[:, np.newaxis]), 1.0)
        tau = np.where(tau > 1.0, alone, tau)
    tau = np.where(amount > 0.0, tau, np.inf)
    return np.maximum(tau, penalty.free)[:, np.newaxis]


def _cut_size(size: FloatArray, amount: FloatArray) -> FloatArray:
    """The tau >= 0 with sum max(size - tau, 0) = amount along the last axis, or 0."""
    if size.shape[-1] == 1:
        return np.maximum(size - amount, 0.0)[..., 0]
    falling = -np.sort(-size, axis=-1)
    total = np.cumsum(falling, axis=-1)
    n = np.arange(1, size.shape[-1] + 1)
    tau = (total - amount) / n
    last = np.maximum((falling > tau).sum(axis=-1) - 1, 0)
    found = np.take_along_axis(tau, last[..., np.newaxis], axis=-1)[..., 0]
    return np.asarray(np.maximum(found, 0.0))


def unused_excess(penalty: Penalty, gradient: FloatArray) -> FloatArray:
    """By how much the gradient (n_columns, n_cuts) of unused columns beats the penalty.

    Every column is a group of its own. A coefficient of 0 is stationary if the gradient
    is u + v for some u with |u_t| <= l and some v with sum |v_t| <= g, where l and g
    are what a coefficient costs in one cut and in the tree. So the column is rightly
    left out if what exceeds l in the cuts sums to at most g: if the result is <= 0.
    """
    over = np.maximum(np.abs(gradient) - penalty.local_strength, 0.0)
    return np.asarray(over.sum(axis=1) - penalty.linf_strength)
