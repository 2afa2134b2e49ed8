"""Trees of a quantity drawn at random: those of classes with other leaves."""

from dataclasses import replace

import numpy as np

from sorct.data.quantity import Quantity


def valued(rng, tree, *, linear, log=False):
    """The tree with leaves that say numbers, or sums in which some slopes are 0.

    They are logarithms, if asked for.
    """
    slopes = None
    if linear:
        slopes = rng.normal(0.0, 3.0, (tree.n_columns, tree.n_leaves))
        slopes[rng.random(slopes.shape) < 0.4] = 0.0
    n_leaves, target = tree.n_leaves, Quantity(10.0, 5.0, -20.0, 40.0)
    value = rng.normal(10.0, 5.0, n_leaves)
    if log:
        target = Quantity(10.0, 5.0, 1.0, 40.0, "log", 2.0, 0.5)
        value, slopes = 0.2 * value, None if slopes is None else 0.2 * slopes
    return replace(
        tree,
        target=target,
        leaf_class=np.zeros(n_leaves, dtype=np.int64),
        cost_matrix=np.zeros((1, 1)),
        mass=tree.mass.sum(axis=0, keepdims=True) / tree.mass.sum(),
        leaf_proba=None,
        decision_cost=None,
        calibration=None,
        routed=None,
        leaf_value=value,
        leaf_mean=target.told(value) if log else None,
        leaf_coef=slopes,
    )
