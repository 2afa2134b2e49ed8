"""What leaves may say: distributions, costs to decide by, calibration, drawn at random.

Every function takes a random generator and a tree, and returns the tree with more.
"""

from dataclasses import replace

import numpy as np

from sorct.tree.calibration import Calibration, CurveMap, LogisticMap

#: Maps with numbers as large and as small as files may hold, and with next to nothing.
ODD_MAPS = [
    LogisticMap(0.0, 0.3),
    LogisticMap(0.0, -800.0),
    LogisticMap(1e-300, 5e-324),
    LogisticMap(1e70, -1e70),
    LogisticMap(-1e75, 1e75),
    LogisticMap(30.0, 12.0),
    LogisticMap(-3.0, 100.0),
    LogisticMap(1.0 + 1e-8, 0.0),
    CurveMap((0.25,), (0.4,)),
    CurveMap((0.0, 1.0), (0.3, 0.3)),
    CurveMap((0.0, 5e-324, 1.0), (0.0, 1e-320, 1.0)),
    CurveMap((0.1, 0.2, 0.9), (1e-300, 2e-300, 3e-300)),
    CurveMap((-1e-12, 1e-300, 1.0 + 1e-12), (0.0, 0.5, 1.0)),
    CurveMap(tuple(np.linspace(0, 1, 60).tolist()), tuple(np.linspace(0, 1, 60) ** 2)),
]
#: And so are shares of leaves and costs.
ODD_SHARES, ODD_COSTS = [1e-310, 1e-200, 1e-70, 1e-9], [0.0, 1e-300, 1e-40, 1.0, 1e70]


def odd_trees(rng, tree):
    """Trees with each odd map in turn, and odd shares and costs."""
    n_classes = len(tree.classes)
    for one in ODD_MAPS:
        yield replace(tree, calibration=Calibration((one,) * n_maps(tree)))
    shares = rng.choice(ODD_SHARES, (n_classes, tree.n_leaves))
    shares[tree.leaf_class, np.arange(tree.n_leaves)] = 1.0
    cost = rng.choice(ODD_COSTS, (n_classes, n_classes))
    yield replace(tree, leaf_proba=shares / shares.sum(axis=0), decision_cost=cost)
    yield replace(tree, decision_cost=0.0 * cost)


def n_maps(tree):
    """As many maps as a calibration has: one for two classes."""
    n_classes = len(tree.classes)
    return 1 if n_classes == 2 else n_classes


def with_shares(rng, tree, zeros=0.0):
    """Leaves that say shares of the classes, some 0; two leaves say the same."""
    shares = rng.dirichlet(np.ones(len(tree.classes)), tree.n_leaves).T
    shares[rng.random(shares.shape) < zeros] = 0.0
    shares[tree.leaf_class, np.arange(tree.n_leaves)] += 0.1
    shares[:, -1] = shares[:, 0]
    shares /= shares.sum(axis=0)
    routed = rng.dirichlet(np.ones(shares.size)).reshape(shares.shape)
    return replace(tree, leaf_proba=shares, routed=routed)


def with_decision(rng, tree):
    """Costs that differ by class, and are 0 for what is right."""
    n_classes = len(tree.classes)
    cost = rng.uniform(0.2, 5.0, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    return replace(tree, decision_cost=cost)


def logistic_map(rng):
    """Draw a straight line of log-odds; few fall."""
    slope = rng.uniform(0.2, 2.5) * rng.choice([1.0, 1.0, 1.0, -1.0])
    return LogisticMap(float(slope), float(rng.normal()))


def curve_map(rng):
    """Draw straight lines that rise or are flat, between at least one point."""
    n = int(rng.integers(1, 7))
    points = np.sort(rng.choice(np.linspace(0.0, 1.0, 21), n, replace=False))
    values = np.sort(rng.uniform(0.0, 1.0, n).round(1))
    return CurveMap(tuple(points.tolist()), tuple(values.tolist()))


def with_maps(rng, tree, *draws):
    """Calibration by maps of these kinds in turn."""
    maps = tuple(draws[k % len(draws)](rng) for k in range(n_maps(tree)))
    return replace(tree, calibration=Calibration(maps))


def with_all(rng, tree):
    """Leaves with shares, both kinds of maps, and costs."""
    tree = with_maps(rng, with_shares(rng, tree, 0.3), logistic_map, curve_map)
    return with_decision(rng, tree)


def margin(tree, proba):
    """How much better the class that is predicted is than the next."""
    values = proba
    if tree.decision_cost is not None:
        values = -(proba @ tree.decision_cost) / max(tree.decision_cost.max(), 1e-300)
    ranked = np.sort(values, axis=1)
    return ranked[:, -1] - ranked[:, -2]
