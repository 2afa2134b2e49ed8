"""Floors on recall: small functions of the class-by-leaf mass matrix."""

import numpy as np
import pytest

from sorct.problem.constraints import MinRecall, fill_recall
from sorct.problem.datafit import ExpectedCost

shapes = pytest.mark.parametrize(
    ("depth", "n_classes"), [(1, 2), (2, 2), (2, 4), (3, 5)]
)


@shapes
def test_recall_is_the_papers(draw_case, depth, n_classes):
    """Equation 8: the mean probability of the own label over a class, in [0, 1]."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes)
    recall = np.full(n_classes, np.nan)
    mass = truth.mass(tree)
    fill_recall(mass, problem.cost.share, tree.leaf_class, recall)
    np.testing.assert_allclose(recall, truth.recall(tree), rtol=0, atol=1e-14)
    assert np.all((recall >= 0.0) & (recall <= 1.0 + 1e-14))


@shapes
def test_recall_is_an_expected_cost(draw_case, depth, n_classes):
    """Charging 1 for every error on class k costs share_k (1 - recall_k)."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes)
    mass = problem.cost.mass(tree, problem.gamma)
    recall = problem.cost.recall(mass, tree.leaf_class)
    for k in range(n_classes):
        errors = np.zeros((n_classes, n_classes))
        errors[k] = np.arange(n_classes) != k
        cost = ExpectedCost.from_data(truth.X, truth.y, truth.weight, errors)
        missed = problem.cost.share[k] * (1.0 - recall[k])
        assert cost.value(mass, tree.leaf_class) == pytest.approx(missed, abs=1e-14)


def test_a_class_without_leaf_has_no_recall(rng):
    """Its samples are all misclassified."""
    mass = rng.random((3, 4))
    recall = np.full(3, np.nan)
    fill_recall(mass, mass.sum(axis=1), np.array([0, 0, 2, 2]), recall)
    assert recall[1] == 0.0


@pytest.mark.parametrize(
    ("recall", "expected"),
    [([0.5, 0.9], 0.0), ([0.6, 1.0], 0.0), ([0.4, 0.9], 0.1), ([0.4, 0.2], 0.7)],
)
def test_violation_is_the_worst_gap(recall, expected):
    """Floors of .5 and .9; met floors do not make up for missed ones."""
    constraint = MinRecall(np.array([0.5, 0.9]))
    assert constraint.violation(np.array(recall)) == pytest.approx(expected, abs=1e-15)


def test_no_demand_is_never_violated():
    """Floors of zero accept a recall of zero."""
    assert MinRecall.none(3).violation(np.zeros(3)) == 0.0
