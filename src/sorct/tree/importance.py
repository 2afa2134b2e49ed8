"""Importance: how much the variables of a table matter to the cuts of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray
from sorct.tree.topology import Topology

if TYPE_CHECKING:
    from sorct.tree.tree import Tree


def variable_importances(tree: Tree) -> FloatArray:
    """Importance of every variable of the table; they sum to 1, or are all 0.

    Variable v counts in cut t by how far it can move the sum: the range of what its
    values add, max(0, max_j a_jt) - min(0, min_j a_jt) over its columns j, which for a
    number is |a_jt|. Cuts count by the share of the training rows that come to them (of
    classes that were weighted in training, by their own shares). Slopes of linear
    leaves count likewise, in spreads of the quantity.
    """
    topology = Topology(tree.depth)
    passing = [
        tree.mass[:, topology.leaves_below(node)].sum()
        for node in range(tree.weights.shape[1])
    ]
    weights = plain_weights(tree)
    importance = np.zeros(len(tree.encoder.names))
    for v in tree.variables_at():
        own = weights[tree.encoder.columns_of(v)]
        moved = np.maximum(own.max(axis=0), 0.0) - np.minimum(own.min(axis=0), 0.0)
        importance[v] = moved @ np.array(passing)
    total = importance.sum()
    return importance / total if total > 0.0 else importance


def plain_weights(tree: Tree) -> FloatArray:
    """Coefficients of all cuts, then slopes of linear leaves in spreads of y."""
    if tree.leaf_coef is None:
        return tree.coef
    return np.hstack([tree.coef, tree.leaf_coef / tree.quantity.unit])
