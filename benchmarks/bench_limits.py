"""Sharp limits: classes told by a tree whose cuts ask for one column each, like CART's.

Tables are drawn from random trees of three levels over fifteen uniform columns, three
classes, with one label in twenty drawn anew. Accuracy on new rows (at best 96.7 %) and
variables kept, by default and without greedy trees, beside CART whose pruning is chosen
by cross-validation, a random forest and L1 logistic regression.

Two tables are of greedy trees as they are: how often they are right when they are grown
from the root down, when every cut is improved in turn, and when cuts are drawn anew;
and in how many of a hundred tables of noise they keep a cut.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import print_table
from sorct import SORCTClassifierCV
from sorct.data.samples import TrainingSet
from sorct.problem.datafit import PSEUDO
from sorct.problem.evaluation import never
from sorct.search.axis import MOST_DRAWN, AxisSearch, AxisTree
from sorct.tree.topology import Topology

N_COLUMNS, N_CLASSES, DEPTH, FLIPPED = 15, 3, 3, 0.05
N_ROWS, N_TEST, SEEDS = (300, 1000, 3000), 10_000, range(5)
ALPHAS = (0.0, *np.logspace(-4, -1.5, 11))
# Tables of trees as they are, and their rows; rows and columns of noise.
MANY_SEEDS, FEW_ROWS = range(20), (300, 1000)
NOISE = ((100, 5), (300, 20), (1000, 200))


def run() -> None:
    """Print the tables."""
    print_table(
        f"Greedy trees as they are: accuracy on new rows, %, {len(MANY_SEEDS)} tables",
        ("rows", "grown", "improved", f"{MOST_DRAWN} cuts drawn anew", "s"),
        [_as_they_are(n_rows) for n_rows in FEW_ROWS],
    )
    print_table(
        "Noise: of 100 tables, those of which a greedy tree keeps a cut",
        ("rows", "columns", "at the price of a cut", "at twice the price"),
        [_of_noise(*size) for size in NOISE],
    )
    names = ("rows", "ours", "without greedy trees", "CART", "random forest", "L1")
    print_table(
        f"Sharp limits: accuracy on new rows, % (variables), {len(SEEDS)} tables each; "
        "seconds in the last columns",
        (*names, "s", "s without", "s CART"),
        [_row(n_rows) for n_rows in N_ROWS],
    )


def _as_they_are(n_rows: int) -> list[str]:
    found, seconds = [], 0.0
    for seed in MANY_SEEDS:
        rng = np.random.default_rng(seed)
        planted = _drawn_tree(rng)
        search = _search(*_rows(planted, n_rows, rng))
        new = _search(*_rows(planted, N_TEST, rng))
        trees = [search.grown, search.settled(search.grown)]
        begun = time.perf_counter()
        trees.append(search.settled(search.best()))
        seconds += (time.perf_counter() - begun) / len(MANY_SEEDS)
        found.append([_share_right(tree, search, new) for tree in trees])
    right = np.mean(found, axis=0)
    return [str(n_rows), *(f"{100 * one:.1f}" for one in right), f"{seconds:.2f}"]


def _of_noise(n_rows: int, n_columns: int) -> list[str]:
    kept = np.zeros(2, dtype=int)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        search = _search(rng.random((n_rows, n_columns)), rng.integers(0, 2, n_rows))
        for k, times in enumerate((1.0, 2.0)):
            dearer = replace(search, price=times * search.price)
            kept[k] += dearer.settled(dearer.best()).n_cuts > 0
    return [str(n_rows), str(n_columns), *map(str, kept.tolist())]


def _search(X: Any, y: Any) -> AxisSearch:
    """A search for trees of three levels, as the library has it."""
    data = TrainingSet.from_data(X, y, np.ones(len(y)), int(y.max()) + 1)
    return AxisSearch.of(
        data.rows, data.n_codes, Topology(DEPTH), PSEUDO, len(y), never()
    )


def _share_right(tree: AxisTree, search: AxisSearch, new: AxisSearch) -> float:
    """Share of new rows whose class is the most frequent one of their leaf."""
    label = search.masses(tree).argmax(axis=1)
    return float(new.masses(tree)[np.arange(label.size), label].sum())


def _row(n_rows: int) -> list[str]:
    found = np.array([_on_table(n_rows, seed) for seed in SEEDS])
    right, used, seconds = found.mean(axis=0).T
    told = [f"{100 * a:.1f} ({k:.1f})" for a, k in zip(right, used, strict=True)]
    return [str(n_rows), *told, *(f"{one:.1f}" for one in seconds[:3])]


def _on_table(n_rows: int, seed: int) -> list[tuple[float, int, float]]:
    """Accuracy, variables and seconds of every method."""
    rng = np.random.default_rng(seed)
    tree = _drawn_tree(rng)
    train, new = _rows(tree, n_rows, rng), _rows(tree, N_TEST, rng)
    return [_told(method, train, new) for method in _methods()]


def _methods() -> list[Any]:
    grid = {"ccp_alpha": ALPHAS}
    return [
        SORCTClassifierCV(random_state=0),
        SORCTClassifierCV(preselect="none", random_state=0),
        GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=5),
        RandomForestClassifier(300, random_state=0),
        LogisticRegressionCV(
            Cs=10, l1_ratios=(1,), solver="saga", scoring="neg_log_loss", max_iter=500
        ),
    ]


def _told(method: Any, train: Any, new: Any) -> tuple[float, int, float]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        method.fit(*train)
    seconds = time.perf_counter() - begun
    return np.mean(method.predict(new[0]) == new[1]), _n_used(method), seconds


def _n_used(method: Any) -> int:
    if hasattr(method, "tree_"):
        return len(method.tree_.variables_used)
    if hasattr(method, "coef_"):
        return int(np.count_nonzero(method.coef_.any(axis=0)))
    best = getattr(method, "best_estimator_", method)
    return int(np.count_nonzero(best.feature_importances_))


def _drawn_tree(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Column and limit of every cut, class of every leaf; siblings differ."""
    column = rng.integers(N_COLUMNS, size=2**DEPTH - 1)
    limit = rng.uniform(0.25, 0.75, size=2**DEPTH - 1)
    first = rng.integers(N_CLASSES, size=2 ** (DEPTH - 1))
    other = (first + rng.integers(1, N_CLASSES, size=first.size)) % N_CLASSES
    return column, limit, np.column_stack([first, other]).ravel()


def _rows(
    tree: tuple[Any, Any, Any], n: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    column, limit, leaf = tree
    X, at = rng.random((n, N_COLUMNS)), np.zeros(n, dtype=int)
    for _ in range(DEPTH):
        above = X[np.arange(n), column[at]] > limit[at]
        at = 2 * at + 1 + above
    y = leaf[at - (2**DEPTH - 1)]
    anew = rng.random(n) < FLIPPED
    return X, np.where(anew, rng.integers(N_CLASSES, size=n), y)
