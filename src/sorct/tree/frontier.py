"""Frontier: choosing among trees by how good and how sparse they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sorct._typing import BoolArray, FloatArray


def unbeaten(goods: FloatArray) -> BoolArray:
    """Rows that no other row beats; of equal rows the last.

    A row beats another if it is nowhere smaller and somewhere larger.
    """
    kept = np.ones(len(goods), dtype=np.bool_)
    for k, row in enumerate(goods):
        no_worse = (goods >= row).all(axis=1)
        equal = (goods == row).all(axis=1)
        kept[k] = not (no_worse & ~equal).any() and not equal[k + 1 :].any()
    return kept


def sparsest(
    good: ArrayLike,
    n_variables: ArrayLike,
    local_sparsity: ArrayLike,
    within: ArrayLike = 0.0,
) -> int:
    """Position of the sparsest tree among those almost as good as the best.

    The sparsest has the fewest variables, then the fewest columns per cut; of trees
    equal in both the better one is taken, and of equally good ones the last.

    Parameters
    ----------
    good : array of shape (n_trees,)
        To be large; NaN counts as worse than anything.
    n_variables, local_sparsity : arrays of shape (n_trees,)
    within : float or array of shape (n_trees,)
        How far below the best still counts as almost as good. Of an array, such as the
        standard errors of all trees, the entry of the best tree is used.
    """
    given = np.asarray(good, dtype=np.float64)
    good = np.where(np.isnan(given), -np.inf, given)
    best = int(np.argmax(good))
    margin = float(np.nan_to_num(np.broadcast_to(within, good.shape)[best]))
    # Rounding must not part trees that are equally good.
    rounding = 1e-12 * max(abs(good[best]), 1.0) if np.isfinite(good[best]) else 0.0
    near = np.flatnonzero(good >= good[best] - margin - rounding)
    used, local = np.asarray(n_variables)[near], np.asarray(local_sparsity)[near]
    order = np.lexsort((-near, -good[near], -local, used))
    return int(near[order[0]])
