"""Outside truth: IPOPT on the paper's smooth formulation finds nothing better."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from benchmarks.ipopt import PaperModel, Point, evaluate, random_points
from sorct import SORCTClassifier

pytest.importorskip("casadi")

FLOOR = 0.1
CELLS = [(load_iris, 2), (load_wine, 2), (load_breast_cancer, 1)]
ALPHAS = [(0.0, 0.0), (2.0**-4, 0.0), (0.0, 2.0**-4), (2.0**-4, 2.0**-4)]


class Cell(NamedTuple):
    """A training problem, our tree for it and its value by the paper's formulas."""

    X: np.ndarray
    y: np.ndarray
    depth: int
    terms: dict[str, float]
    tree: Point
    leaf_class: np.ndarray
    objective: float

    def model(self, **options):
        """Build the paper's formulation of this problem."""
        return PaperModel(self.X, self.y, self.depth, **self.terms, **options)


@pytest.fixture(
    scope="module",
    params=[(*cell, *alphas) for cell in CELLS for alphas in ALPHAS],
    ids=lambda cell: f"{cell[0].__name__[5:]}-{cell[2]}-{cell[3]}",
)
def cell(request):
    """Train on three quarters of a data set, scaled to [0, 1]."""
    load, depth, alpha_local, alpha_global = request.param
    X, y = load(return_X_y=True)
    X, _, y, _ = train_test_split(X, y, train_size=0.75, stratify=y, random_state=0)
    X = minmax_scale(X)
    alphas = {"alpha_local": alpha_local, "alpha_global": alpha_global}
    clf = SORCTClassifier(depth, **alphas, min_recall=FLOOR, random_state=0).fit(X, y)
    share = np.eye(len(clf.classes_))[:, clf.leaf_class_]
    tree = Point(clf.coef_, clf.threshold_, share)
    terms = {**alphas, "min_recall": FLOOR}
    ours = evaluate(X, y, tree, **terms)
    assert ours.objective == pytest.approx(clf.objective_, abs=1e-10)
    assert ours.violation <= 1e-4
    return Cell(X, y, depth, terms, tree, clf.leaf_class_, ours.objective)


def test_ipopt_cannot_improve_our_tree(cell):
    """Started at our cuts and with our labels it gains less than 1e-5."""
    model = cell.model(leaf_class=cell.leaf_class, keep_start=True)
    result = model.solve(cell.tree)
    assert result.status in ("Solve_Succeeded", "Solved_To_Acceptable_Level")
    assert result.violation <= 1e-6
    assert cell.objective - result.objective < 1e-5


def test_twenty_starts_of_ipopt_are_no_better(cell):
    """The best of 20 random starts, labels free, is at least our best of 20."""
    model = cell.model()
    n_classes = len(cell.tree.label_share)
    starts = random_points(cell.X.shape[1], n_classes, cell.depth, 20)
    results = [model.solve(start) for start in starts]
    feasible = [result.objective for result in results if result.violation <= 1e-6]
    assert len(feasible) >= 10
    assert cell.objective <= min(feasible) + 1e-6
