"""How near leaves should say what their rows are: inner folds of training rows.

    SORCT_REAL=folder python -m experiments.leaves boston concrete

For several shares of the loss that a leaf drawn at random pays (``MIXED`` in
``problem/residual.py``), with and without bounds on constant leaves, it prints R² of
``predict`` and of rules followed by hand on three folds of the training part of the
first split (at most 900 rows), means over two strengths, and the root mean square of
what leaves say minus what their rows are, in spreads of y. No test row is looked at.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, train_test_split

from experiments.real_tables import load
from sorct.data.options import TableOptions
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.penalty import Strengths
from sorct.problem.residual import Residual
from sorct.search.multistart import Multistart
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.tree.tree import Tree

SHAPES = (("constant", 2), ("constant", 3), ("linear", 1), ("linear", 2))
#: Shares, and whether constant leaves are bound.
WAYS = ((0.0, False), (0.0, True), (0.05, True), (0.1, True), (0.2, True), (0.5, True))
ALPHAS, MOST_ROWS = (0.3, 1.5), 900
_SOLVER = AugmentedLagrangian(tol=1e-3, max_iter=300)
_ENDLESS = 1e300


def fitted(
    X: Any, y: Any, leaf: str, depth: int, alpha: float, way: tuple[float, bool]
) -> Tree:
    """A tree of six starts."""
    table = TableOptions(handle_missing="typical", handle_unknown="other")
    model = Model(depth, loss="square", of_quantity=True, leaf=leaf, table=table)
    prepared = Prepared.of(X, y, None, model)
    problem = prepared.problem.at(Strengths(alpha))
    assert isinstance(problem.datafit, Residual)
    datafit = replace(problem.datafit, mixed=way[0])
    if not way[1]:
        datafit = replace(datafit, low=-_ENDLESS, high=_ENDLESS)
    problem = replace(problem, datafit=datafit)
    found = Multistart(_SOLVER, 6, 1, None, None).run(problem, 0).best
    return prepared.tree(found, (alpha, 0.0))


def scored(X: Any, y: np.ndarray, leaf: str, depth: int, way: Any) -> list[float]:
    """Means over folds and strengths of the three numbers."""
    rows = []
    for alpha in ALPHAS:
        for train, test in KFold(3, shuffle=True, random_state=1).split(X):
            tree = fitted(X.iloc[train], y[train], leaf, depth, alpha, way)
            own, seen = X.iloc[test], y[test]
            row = [r2_score(seen, tree.predict(own)), r2_score(seen, tree.follow(own))]
            gap = np.nan
            if leaf == "constant":
                square = (tree.leaf_value - tree.leaf_mean) ** 2
                gap = np.sqrt(np.average(square, weights=tree.routed[0] + 1e-9))
            rows.append([*row, gap / y.std()])
    return [float(one) for one in np.mean(rows, axis=0)]


def main(names: list[str]) -> None:
    """Print a line per table, kind of leaf, depth and way."""
    for name in names or ["boston", "concrete"]:
        X, y = load(name)
        X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0)
        X, y = X.iloc[:MOST_ROWS], np.asarray(y, dtype=float)[:MOST_ROWS]
        for leaf, depth in SHAPES:
            for way in WAYS:
                r2, by_hand, gap = scored(X, y, leaf, depth, way)
                print(
                    f"{name} {leaf} {depth} mixed {way[0]:g} bound {way[1]}: "
                    f"R² {r2:.3f}, by hand {by_hand:.3f}, apart {gap:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
