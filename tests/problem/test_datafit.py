"""Datafits: the paper's expected cost and the entropy, against their slow twins."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint, recall_of
from sorct.problem.datafit import Entropy, ExpectedCost
from sorct.problem.kernels import make_buffers
from sorct.problem.penalty import Penalty
from sorct.problem.problem import Problem
from sorct.solvers.descent import leaf_masses
from sorct.tree.params import Params
from sorct.tree.topology import Topology
from tests.cases import problem_of
from tests.problem.doors import evaluate, renew_leaves
from tests.reference import entropy, entropy_payoff


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", [8.0, 512.0])
def test_value_and_recall_are_the_papers(rng, draw_case, depth, gamma):
    """Equal to sums over single samples, for costs of any sign, right ones included."""
    costs = rng.normal(size=(2, 2))
    problem, truth, tree = draw_case(depth=depth, gamma=gamma, cost_matrix=costs)
    mass = leaf_masses(problem, tree)
    value = problem.datafit.value(mass, tree.leaf_class)
    recall = recall_of(mass, tree.leaf_class, problem.data.share)
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
    cost, data = ExpectedCost(costs), TrainingSet.from_data(X, y, weight, 2)
    tree = Params(np.ones((1, 1)), np.zeros(1), np.array([1, 0]))
    parts = Penalty.none(1), Constraint.none(2), Topology(1), np.log(3.0)
    mass = leaf_masses(Problem(data, cost, *parts), tree)
    expected = [[3 / 8, 3 / 8], [3 / 16, 1 / 16]]
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-15)
    assert cost.value(mass, tree.leaf_class) == pytest.approx(0.5, abs=1e-15)
    recall = recall_of(mass, tree.leaf_class, data.share)
    np.testing.assert_allclose(recall, [0.5, 0.75], rtol=0, atol=1e-15)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_mirrored_tree_has_mirrored_leaves(draw_case, depth):
    """Negated cuts with children swapped send the same mass to reversed leaves."""
    problem, _, tree = draw_case(depth=depth, n_classes=3)
    levels = [np.arange(2**d - 1, 2 ** (d + 1) - 1)[::-1] for d in range(depth)]
    order = np.concatenate(levels)
    coef = np.ascontiguousarray(-tree.coef[:, order])
    mirrored = Params(coef, -tree.threshold[order], tree.leaf_class)
    mass = leaf_masses(problem, mirrored)
    expected = leaf_masses(problem, tree)[:, ::-1]
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-14)


def test_permuted_features_change_nothing(rng, draw_case):
    """Columns and rows of coef in another order give the same masses."""
    problem, truth, tree = draw_case(n_features=6)
    order = rng.permutation(6)
    other = problem_of(replace(truth, X=truth.X[:, order]))
    mass = leaf_masses(other, replace(tree, coef=tree.coef[order]))
    expected = leaf_masses(problem, tree)
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-13)


def test_renamed_classes_change_nothing(rng, draw_case):
    """Codes, costs and labels renamed together give the same expected cost."""
    problem, truth, tree = draw_case(n_classes=4, depth=3)
    name = rng.permutation(4)
    costs = np.empty_like(truth.cost_matrix)
    costs[np.ix_(name, name)] = truth.cost_matrix
    other = problem_of(replace(truth, y=name[truth.y], cost_matrix=costs))
    values = [
        p.datafit.value(leaf_masses(p, tree), label)
        for p, label in ((problem, tree.leaf_class), (other, name[tree.leaf_class]))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-14)


@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 3), (3, 5)])
def test_the_entropy_is_its_slow_twin(draw_case, depth, n_classes):
    """Value in Python, and the compiled tangent that is renewed at these masses."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes)
    sub, point = problem.flattened(problem.gamma), problem.point(tree)
    buffers = make_buffers(*point.coef.shape, n_classes)
    evaluate(problem.data.samples, sub, point, np.zeros(n_classes), buffers)
    assert renew_leaves(sub, point, np.zeros(n_classes), buffers)
    mass = truth.mass(tree)
    np.testing.assert_allclose(buffers.payoff, entropy_payoff(mass), rtol=1e-10)
    value = Entropy().value(mass, tree.leaf_class)
    assert value == pytest.approx(entropy(mass), abs=1e-13)
    # The leaves are renewed: a second time changes nothing, and labels are kept.
    assert not renew_leaves(sub, point, np.zeros(n_classes), buffers)
    np.testing.assert_array_equal(point.label, tree.leaf_class)


@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 3)])
def test_the_gradient_under_the_tangent_is_the_entropys(draw_case, depth, n_classes):
    """Central differences of the slow entropy in every threshold and coefficient."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes, n_features=3)
    sub, point = problem.flattened(problem.gamma), problem.point(tree)
    buffers, none = make_buffers(*point.coef.shape, n_classes), np.zeros(n_classes)
    evaluate(problem.data.samples, sub, point, none, buffers)
    renew_leaves(sub, point, none, buffers)
    evaluate(problem.data.samples, sub, point, none, buffers)
    step = np.cbrt(np.finfo(float).eps) / truth.gamma
    for index in np.ndindex(point.cuts.shape):
        ends = []
        for side in (step, -step):
            moved = point.cuts.copy()
            moved[index] += 3 * side
            there = problem.params(point._replace(cuts=moved))
            ends.append(entropy(truth.mass(there)))
        slope = (ends[0] - ends[1]) / (6 * step)
        assert buffers.gradient[index] == pytest.approx(slope, abs=1e-7 * truth.gamma)
