"""Leaf labels are the best of all labellings in which every class owns a leaf."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from sorct.problem.kernels import make_buffers
from sorct.solvers.descent import leaf_masses
from tests.problem.doors import (
    assign,
    best_labels,
    best_ordered_labels,
    renew_leaves,
)


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


@pytest.mark.parametrize(("n_classes", "n_assigned"), [(64, 64), (65, 0)])
def test_an_assignment_of_many_classes_looks_at_the_stop(rng, n_classes, n_assigned):
    """Set from the start, it ends it at once; few classes take no time anyway."""
    cost = draw_costs(rng, (n_classes, 128), "any")
    assert len(assign(cost, stop=1)) == n_assigned


@pytest.mark.parametrize(("n_classes", "changed"), [(64, True), (65, False)])
def test_leaves_of_many_classes_keep_their_labels_when_time_is_up(
    draw_case, n_classes, changed
):
    """A labelling that is not finished is none."""
    problem, _, tree = draw_case(n=260, n_classes=n_classes, depth=7)
    sub, point = problem.subproblem(), problem.point(tree)
    buffers = make_buffers(problem.data.n_columns, 127, n_classes)
    buffers.mass[:] = leaf_masses(problem, tree)
    none = np.zeros(n_classes)
    assert renew_leaves(sub, point, none, buffers, stop=1) == changed
    assert (point.label != tree.leaf_class).any() == changed
    assert renew_leaves(sub, point, none, buffers) != changed


@pytest.mark.parametrize(("n_labels", "n_leaves"), [(2, 2), (2, 8), (3, 4), (4, 4)])
def test_ordered_labels_are_the_best_of_all_that_are_in_order(rng, n_labels, n_leaves):
    """Among all labellings with every class, those of one class in front."""
    every = [
        label
        for label in product(range(n_labels), repeat=n_leaves)
        if len(set(label)) == n_labels
    ]
    for first in range(n_labels):
        cost = rng.normal(size=(n_labels, n_leaves))
        fine = [
            label
            for label in every
            if sorted(label, key=lambda k: k != first) == list(label)
        ]
        label = best_ordered_labels(cost, first)
        assert tuple(label) in fine
        leaves = range(n_leaves)
        least = min(cost[list(one), leaves].sum() for one in fine)
        assert cost[label, leaves].sum() == pytest.approx(least)
