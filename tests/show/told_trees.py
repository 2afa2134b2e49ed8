"""Trees whose leaves say shares, decide by costs, are calibrated, know hard routes."""

from dataclasses import replace

import numpy as np

from sorct.tree.calibration import Calibration, CurveMap, LogisticMap

CALIBRATIONS = {
    "logistic": LogisticMap(0.6, 0.3),
    "curve": CurveMap((0.1, 0.4, 0.9), (0.05, 0.5, 0.8)),
}


def routed_by_hand(tree, X, y):
    """Shares by class and leaf, one row after the other along the printed answers."""
    share = np.zeros((len(tree.classes), tree.n_leaves))
    scaled = tree.encoder.encode(X)
    for row, label in zip(scaled, y, strict=True):
        node = 0
        while node < tree.n_branches:
            sum_ = row @ tree.coef[:, node] / tree.encoder.n_groups
            node = 2 * node + (1 if sum_ > tree.threshold[node] else 2)
        share[tree.classes.tolist().index(label), node - tree.n_branches] += 1
    return share / len(scaled)


def told_tree(tree, X, y, *, leaves=True, calibration=None, cost=None, **training):
    """The tree with all that training says of it on some rows.

    Leaves say what the rows are that they get by soft routes, smoothed.
    """
    n_classes, said = len(tree.classes), None
    if leaves:
        codes = tree.target.codes(y)
        said = np.eye(n_classes)[codes].T @ tree.leaf_reach(X) + 0.5 / n_classes
        said = said / said.sum(axis=0)
    maps = None
    if calibration is not None:
        one = CALIBRATIONS[calibration]
        maps = Calibration((one,) * (1 if n_classes == 2 else n_classes))
    tree = replace(
        tree,
        leaf_proba=said,
        decision_cost=cost,
        calibration=maps,
        routed=routed_by_hand(tree, X, y),
    )
    predicted = tree.predict(X)
    right = predicted == np.asarray(y)
    rates = [
        tuple(
            float(right[rows == c].mean() if (rows == c).any() else 0.0)
            for c in tree.classes
        )
        for rows in (np.asarray(y), predicted)
    ]
    told = replace(
        tree.training,
        followed=float((tree.follow(X) == predicted).mean()),
        found=rates[0],
        precision=rates[1],
        **{"loss": "log" if leaves else "cost", **training},
    )
    return replace(tree, training=told)
