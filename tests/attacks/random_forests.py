"""Random forests: trees of any depth that share a table, and how much each counts."""

from dataclasses import replace

import numpy as np

from sorct.tree.forest import Forest, ForestRecord
from tests.attacks.random_trees import (
    random_cuts,
    random_decision,
    random_shares,
    with_values,
)


def _regrown(rng, tree, rows):
    """Draw another tree on the same table, of any depth, that predicts the same."""
    depth = int(rng.integers(1, max(tree.depth, 2) + 1))
    n_leaves, n_classes = 2**depth, len(tree.mass)
    coef, threshold = random_cuts(rng, tree.encoder, depth, rows)
    mass = rng.random((n_classes, n_leaves)) + 1e-3
    none = dict.fromkeys(("leaf_proba", "leaf_value", "leaf_coef", "leaf_mean"))
    other = replace(
        tree,
        coef=coef,
        threshold=threshold,
        leaf_class=rng.integers(0, n_classes, n_leaves),
        mass=mass / mass.sum(),
        **{**none, "leaf_miss": None, "routed": None, "calibration": None},
        followed_at=None,
    )
    if tree.of_quantity:
        told = with_values(rng, other, log=tree.quantity.is_log)
        return replace(told, target=tree.target)
    if rng.random() < 0.7:
        other = replace(other, leaf_proba=random_shares(rng, other), routed=other.mass)
    return other


def random_forest(rng, tree, rows):
    """Draw a forest around a tree, whose calibration and costs are not of the mean."""
    plain = replace(tree, calibration=None, decision_cost=None)
    trees = [plain]
    trees += [_regrown(rng, plain, rows) for _ in range(int(rng.integers(0, 6)))]
    weights = rng.dirichlet(np.full(len(trees), rng.choice([0.3, 5.0])))
    weights = np.maximum(weights, 1e-6)
    costs = None
    if not tree.of_quantity and rng.random() < 0.3:
        costs = random_decision(rng, len(tree.classes))
    used = sorted({name for one in trees for name in one.variables_used})
    told = ForestRecord(
        oob_score=0.5, oob_scoring="accuracy", n_samples=99, status="converged",
        drop=dict.fromkeys(used, 0.1), permutation=dict.fromkeys(used, 1e-3),
        versions={"sorct": "0.1.0"}, call="SORCTForestClassifier()", target="y",
    )  # fmt: skip
    return Forest(tuple(trees), weights / weights.sum(), costs, told)
