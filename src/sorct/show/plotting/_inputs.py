"""Inputs: what displays are made from, checked.

Fitted estimators become trees, labels become positions among a tree's classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.tree.tree import Tree


def tree_of(estimator: Any) -> Tree:
    """Tree of a fitted classifier."""
    check_is_fitted(estimator)
    tree = getattr(estimator, "tree_", None)
    if not isinstance(tree, Tree):
        raise TypeError(
            "Expected a fitted SORCTClassifier or SORCTClassifierCV, got "
            f"{type(estimator).__name__}."
        )
    return tree


def codes_of(classes: AnyArray, y: Any) -> IntArray:
    """Position of every label among the classes."""
    place = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    labels = column_or_1d(y).tolist()
    unknown = [label for label in dict.fromkeys(labels) if label not in place]
    if unknown:
        raise ValueError(
            f"y has labels that are not among the classes: {unknown[:5]}. Expected "
            f"some of {list(place)[:10]}; leave the other rows out."
        )
    return np.array([place[label] for label in labels], dtype=np.intp)


def leaf_mass(tree: Tree, X: Any, y: Any) -> FloatArray:
    """Share of the rows of each class that lands in each leaf, (n_classes, n_leaves).

    Without data, that of the training sample.
    """
    if (X is None) != (y is None):
        raise ValueError("Expected both X and y or neither, got one of them.")
    if X is None:
        return tree.mass
    codes = codes_of(tree.classes, y)
    check_consistent_length(X, codes)
    mass = np.zeros(tree.mass.shape)
    np.add.at(mass, codes, tree.leaf_reach(X))
    return mass / len(codes)
