"""Inputs: what displays are made from, checked.

Fitted estimators become trees, labelled rows the shares that land in leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from sorct._typing import FloatArray
from sorct.data.target import data_given
from sorct.tree.forest import Forest
from sorct.tree.tree import Tree


def tree_of(estimator: Any) -> Tree:
    """Tree of a fitted estimator."""
    if isinstance(estimator, Tree):
        raise TypeError("Expected a fitted estimator, got a Tree; use from_tree.")
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    if isinstance(estimator, Forest) or hasattr(estimator, "forest_"):
        raise TypeError(
            "This display is made for single trees, and a forest has many. Use "
            "from_predictions with what the forest predicts where the display has "
            "it, ImportanceDisplay or PartialDisplay for all trees together, or "
            "from_tree with one of them (forest.trees[0])."
        )
    tree = getattr(estimator, "tree_", None)
    if not isinstance(tree, Tree):
        raise TypeError(
            "Expected a fitted SORCTClassifier, SORCTRegressor or one with CV, got "
            f"{type(estimator).__name__}."
        )
    return tree


def forest_of(estimator: Any) -> Forest:
    """Forest of a fitted estimator."""
    if isinstance(estimator, Forest):
        raise TypeError("Expected a fitted estimator, got a Forest; use from_forest.")
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    forest = getattr(estimator, "forest_", None)
    if not isinstance(forest, Forest):
        raise TypeError(
            "Expected a fitted SORCTForestClassifier or SORCTForestRegressor, got "
            f"{type(estimator).__name__}."
        )
    return forest


def leaf_mass(tree: Tree, X: Any, y: Any, hard: bool = False) -> FloatArray | None:
    """Share of the rows of each class that lands in each leaf, (n_classes, n_leaves).

    By hard routes, every row to one leaf, or by soft ones. Without data it is None,
    which means the training sample.
    """
    if not data_given(X, y):
        return None
    codes = tree.target.known_codes(y)
    check_consistent_length(X, codes)
    mass = np.zeros(tree.mass.shape)
    if hard:
        np.add.at(mass, (codes, tree.apply(X)), 1.0)
    else:
        np.add.at(mass, codes, tree.leaf_reach(X))
    return mass / len(codes)
