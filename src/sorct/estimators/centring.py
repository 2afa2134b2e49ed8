"""Centring: weights of levels lie around 0, where a level never seen has its place.

Every row is of one level, or has a missing cell. So one number added to all weights of
a variable changes nothing but the threshold, and where nothing is paid for weights they
may lie anywhere. A penalty, which asks for small ones, centres them by itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sorct._typing import BoolArray, FloatArray
from sorct.data.variables import Variable, levels_of
from sorct.tree.tree import Tree


def centred(tree: Tree, free: BoolArray) -> Tree:
    """The tree with as large weights of levels above 0 as below; it says the same.

    Of variables that are free of charge; coefficients of cuts stay within [-1, 1].
    """
    coef, threshold = tree.coef.copy(), tree.threshold.copy()
    slope, value = tree.leaf_coef, tree.leaf_value
    slope = None if slope is None else slope.copy()
    value = None if value is None else value.copy()
    for i, variable in enumerate(tree.encoder.variables):
        if not free[i] or not _is_whole(variable):
            continue
        own, n_levels = tree.encoder.columns_of(i), len(levels_of(variable))
        middle = _centre(coef[own], n_levels, 1.0)
        threshold -= middle / tree.encoder.n_groups
        if slope is not None and value is not None:
            value += _centre(slope[own], n_levels, np.inf)
    return replace(
        tree, coef=coef, threshold=threshold, leaf_coef=slope, leaf_value=value
    )


def _is_whole(variable: Variable) -> bool:
    """Whether each of several levels has a column of its own."""
    if variable.separate or variable.ordered or len(levels_of(variable)) < 2:
        return False
    return bool((variable.encode_choices().sum(axis=1) == 1.0).all())


def _centre(weights: FloatArray, n_levels: int, most: float) -> FloatArray:
    """Take the middle of the levels' weights off, in place; return it.

    Less of it, where the weight of missing cells or of others would pass ``most``.
    """
    levels = weights[:n_levels]
    middle = 0.5 * (levels.max(axis=0) + levels.min(axis=0))
    middle = np.clip(middle, weights.max(axis=0) - most, weights.min(axis=0) + most)
    weights -= middle
    if n_levels == 2:
        # To the last bit: then rules tell one of the two.
        near = np.abs(weights[0] + weights[1]) < 1e-12
        weights[1, near] = -weights[0, near]
    return np.asarray(middle)
