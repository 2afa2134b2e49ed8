"""ExpectedCost: the paper's g, unmoved by the order of rows, features and classes."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.problem import datafit as objective
from sorct.problem.datafit import ExpectedCost
from sorct.problem.kernels import BLOCK
from sorct.tree.params import Params
from tests.conftest import problem_of

sizes = pytest.mark.parametrize("n", [1, 2, 9, 2 * BLOCK + 3])
repeats = pytest.mark.parametrize("equal", [False, True], ids=["distinct", "equal"])


def draw_rows(rng, n, equal):
    """Distinct rows of any weight, or many equal ones with weights that add exactly."""
    y = rng.integers(0, 3, n)
    if equal:
        return rng.integers(0, 3, (n, 2)) / 2.0, y, rng.integers(1, 5, n) / 4.0
    return rng.random((n, 2)), y, rng.random(n) + 0.1


def cost_of(X, y, weight):
    """Prepare three classes under 0/1 costs."""
    return ExpectedCost.from_data(X, y, weight, 1.0 - np.eye(3))


def assert_identical(one, other):
    """Every array of the samples is the same to the last bit."""
    for a, b in zip(one.samples, other.samples, strict=True):
        np.testing.assert_array_equal(a, b)


@sizes
@repeats
def test_permuted_rows_are_the_same_samples(rng, n, equal):
    """To the last bit, whatever the weights of equal rows."""
    X, y, _ = draw_rows(rng, n, equal)
    weight, order = rng.random(n), rng.permutation(n)
    assert_identical(cost_of(X, y, weight), cost_of(X[order], y[order], weight[order]))


@sizes
@repeats
def test_weight_two_is_the_row_twice(rng, n, equal):
    """To the last bit, wherever the second one stands."""
    X, y, weight = draw_rows(rng, n, equal)
    times = rng.integers(1, 3, n)
    rows = rng.permutation(np.repeat(np.arange(n), times))
    assert_identical(
        cost_of(X, y, weight * times), cost_of(X[rows], y[rows], weight[rows])
    )


@sizes
@repeats
def test_scaling_all_weights_changes_nothing(rng, n, equal):
    """By a power of two, to the last bit: weights are shares."""
    X, y, weight = draw_rows(rng, n, equal)
    assert_identical(cost_of(X, y, weight), cost_of(X, y, 8.0 * weight))


@sizes
def test_shares_and_moments_are_weighted_averages(rng, n):
    """Share, centre and spread against numpy.average; samples weigh 1 in all."""
    X, y, weight = rng.random((n, 4)), rng.integers(0, 3, n), rng.random(n) + 0.1
    cost = cost_of(X, y, weight)
    centre = np.average(X, axis=0, weights=weight)
    spread = np.average((X - centre) ** 2, axis=0, weights=weight)
    share = np.average(np.eye(3)[y], axis=0, weights=weight)
    np.testing.assert_allclose(cost.centre, centre, rtol=1e-13)
    np.testing.assert_allclose(cost.spread, spread, rtol=0, atol=1e-14)
    np.testing.assert_allclose(cost.share, share, rtol=0, atol=1e-14)
    assert cost.samples.weight.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("most", [100, 333, 999, 1000, 5000])
def test_rows_are_samples_with_their_classes_and_weights(rng, monkeypatch, most):
    """All of them, or evenly spread ones, at most as many as may come.

    Weights keep their ratios within a class, and every class its share.
    """
    monkeypatch.setattr(objective, "MANY_ROWS", most)
    X, y = rng.random((1000, 3)), rng.integers(0, 3, 1000)
    weight = rng.random(1000) + 0.1
    rows = cost_of(X, y, weight).rows
    n_kept = rows.weight.size
    assert min(most, 1000) / 2 < n_kept <= most
    assert n_kept == 1000 or most < 1000
    expected = {
        (*row, k): w for *row, k, w in np.column_stack([X, y, weight / weight.sum()])
    }
    found = dict(zip(zip(*rows.X, rows.codes, strict=True), rows.weight, strict=True))
    assert len(found) == n_kept
    ratio = np.array([w / expected[key] for key, w in found.items()])
    for k in range(3):
        np.testing.assert_allclose(ratio[rows.codes == k], ratio[rows.codes == k][0])
    share = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(np.bincount(rows.codes, rows.weight), share, rtol=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", [8.0, 512.0])
def test_value_and_recall_are_the_papers(rng, draw_case, depth, gamma):
    """Equal to sums over single samples, for costs of any sign, right ones included."""
    costs = rng.normal(size=(2, 2))
    problem, truth, tree = draw_case(depth=depth, gamma=gamma, cost_matrix=costs)
    mass = problem.cost.mass(tree, gamma)
    value = problem.cost.value(mass, tree.leaf_class)
    recall = problem.cost.recall(mass, tree.leaf_class)
    assert value == pytest.approx(truth.cost(tree), abs=1e-12)
    np.testing.assert_allclose(recall, truth.recall(tree), rtol=0, atol=1e-12)


def test_one_cut_and_two_samples_by_hand():
    """Class 0 at x = 0 (weight 3), class 1 at x = 1 (weight 1); gamma = log 3.

    The cut z = x gives F(0) = 1/2 and F(log 3) = 3/4 on the left. With labels 1, 0
    class 0 is missed by 1/2 at cost 1, class 1 by 1/4 at cost 2, and the expected cost
    is 3/4 * 1/2 * 1 + 1/4 * 1/4 * 2 = 1/2.
    """
    costs = np.array([[0.0, 1.0], [2.0, 0.0]])
    X, y, weight = np.array([[0.0], [1.0]]), np.array([0, 1]), np.array([3.0, 1.0])
    cost = ExpectedCost.from_data(X, y, weight, costs)
    tree = Params(np.ones((1, 1)), np.zeros(1), np.array([1, 0]))
    mass = cost.mass(tree, np.log(3.0))
    expected = [[3 / 8, 3 / 8], [3 / 16, 1 / 16]]
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-15)
    assert cost.value(mass, tree.leaf_class) == pytest.approx(0.5, abs=1e-15)
    recall = cost.recall(mass, tree.leaf_class)
    np.testing.assert_allclose(recall, [0.5, 0.75], rtol=0, atol=1e-15)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_mirrored_tree_has_mirrored_leaves(draw_case, depth):
    """Negated cuts with children swapped send the same mass to reversed leaves."""
    problem, _, tree = draw_case(depth=depth, n_classes=3)
    levels = [np.arange(2**d - 1, 2 ** (d + 1) - 1)[::-1] for d in range(depth)]
    order = np.concatenate(levels)
    coef = np.ascontiguousarray(-tree.coef[:, order])
    mirrored = Params(coef, -tree.threshold[order], tree.leaf_class)
    mass = problem.cost.mass(mirrored, problem.gamma)
    expected = problem.cost.mass(tree, problem.gamma)[:, ::-1]
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-14)


def test_permuted_features_change_nothing(rng, draw_case):
    """Columns and rows of coef in another order give the same masses."""
    problem, truth, tree = draw_case(n_features=6)
    order = rng.permutation(6)
    other = problem_of(replace(truth, X=truth.X[:, order]))
    mass = other.cost.mass(replace(tree, coef=tree.coef[order]), other.gamma)
    expected = problem.cost.mass(tree, problem.gamma)
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-13)


def test_renamed_classes_change_nothing(rng, draw_case):
    """Codes, costs and labels renamed together give the same expected cost."""
    problem, truth, tree = draw_case(n_classes=4, depth=3)
    name = rng.permutation(4)
    costs = np.empty_like(truth.cost_matrix)
    costs[np.ix_(name, name)] = truth.cost_matrix
    other = problem_of(replace(truth, y=name[truth.y], cost_matrix=costs))
    values = [
        p.cost.value(p.cost.mass(tree, p.gamma), label)
        for p, label in ((problem, tree.leaf_class), (other, name[tree.leaf_class]))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-14)
