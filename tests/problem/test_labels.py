"""Leaf labels are the best of all labellings in which every class owns a leaf."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.problem.doors import assign, best_labels


def draw_costs(rng, shape, kind):
    """Random costs: of any sign, of few values, or such that one class owns all."""
    if kind == "tied":
        return rng.integers(-1, 2, shape).astype(float)
    cost = rng.normal(size=shape)
    if kind == "one-sided":
        cost[0] -= 10.0
    return cost


kinds = pytest.mark.parametrize("kind", ["any", "tied", "one-sided"])


@kinds
@pytest.mark.parametrize(
    ("n_classes", "n_leaves"), [(2, 2), (2, 8), (3, 4), (4, 4), (4, 8)]
)
def test_no_labelling_is_cheaper(rng, n_classes, n_leaves, kind):
    """Brute force over all labellings that cover the classes."""
    every = np.array(list(product(range(n_classes), repeat=n_leaves)))
    covers = np.all([(every == k).any(axis=1) for k in range(n_classes)], axis=0)
    every, leaf = every[covers], np.arange(n_leaves)
    for _ in range(10):
        cost = draw_costs(rng, (n_classes, n_leaves), kind)
        label = best_labels(cost)
        assert set(label) == set(range(n_classes))
        least = cost[every, leaf].sum(axis=1).min()
        assert cost[label, leaf].sum() == pytest.approx(least, abs=1e-12)


def test_costs_are_not_overwritten(rng):
    """The caller keeps the costs."""
    cost = draw_costs(rng, (3, 4), "one-sided")
    before = cost.copy()
    best_labels(cost)
    np.testing.assert_array_equal(cost, before)


@kinds
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 3), (4, 9), (8, 8), (12, 30)])
def test_assignment_costs_what_scipy_pays(rng, shape, kind):
    """Every row its own column, at SciPy's total."""
    for _ in range(20):
        cost = draw_costs(rng, shape, kind)
        column = assign(cost)
        assert len(set(column)) == shape[0]
        paid = cost[np.arange(shape[0]), column].sum()
        expected = cost[linear_sum_assignment(cost)].sum()
        assert paid == pytest.approx(expected, abs=1e-12)
