"""Constraints: mean rewards of the samples of a code, and floors under them."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.problem.constraints import Constraint, recall_of
from sorct.problem.datafit import ExpectedCost
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import leaf_masses
from sorct.solvers.solution import FEASIBLE, Status
from tests.problem.doors import renew_multipliers

shapes = pytest.mark.parametrize(
    ("depth", "n_classes"), [(1, 2), (2, 2), (2, 4), (3, 5)]
)


@shapes
def test_recall_is_the_papers(draw_case, depth, n_classes):
    """Equation 8: the mean probability of the own label over a class, in [0, 1]."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes)
    recall = recall_of(truth.mass(tree), tree.leaf_class, problem.data.share)
    np.testing.assert_allclose(recall, truth.recall(tree), rtol=0, atol=1e-14)
    assert np.all((recall >= 0.0) & (recall <= 1.0 + 1e-14))


@shapes
def test_recall_is_an_expected_cost(draw_case, depth, n_classes):
    """Charging 1 for every error on class k costs share_k (1 - recall_k)."""
    problem, _, tree = draw_case(depth=depth, n_classes=n_classes)
    mass, share = leaf_masses(problem, tree), problem.data.share
    recall = problem.constraint.attained(mass, tree.leaf_class, share)
    for k in range(n_classes):
        errors = np.zeros((n_classes, n_classes))
        errors[k] = np.arange(n_classes) != k
        value = ExpectedCost(errors).value(mass, tree.leaf_class)
        assert value == pytest.approx(share[k] * (1.0 - recall[k]), abs=1e-14)


@shapes
def test_the_lagrangians_terms_are_those_of_slacks(rng, draw_case, depth, n_classes):
    """For any rewards: multiplier x gap + stiffness / 2 gap^2 at the best slack."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes)
    reward = rng.normal(size=(n_classes, n_classes))
    floor, multiplier = rng.normal(size=n_classes), rng.random(n_classes)
    constraint, share = Constraint(floor, reward), problem.data.share
    mass, renewed = truth.mass(tree), np.zeros(n_classes)
    attained = constraint.attained(mass, tree.leaf_class, share)
    floors = constraint.floors(share, multiplier, 3.0)
    value = renew_multipliers(0.5, floors, mass, tree.leaf_class, renewed)
    gap = floor - attained
    missed = np.maximum(gap, -multiplier / 3.0)
    expected = 0.5 + np.sum(multiplier * missed + 1.5 * missed**2)
    assert value == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(renewed, np.maximum(0.0, multiplier + 3.0 * gap))


def test_a_class_without_leaf_has_no_recall(rng):
    """Its samples are all misclassified."""
    mass = rng.random((3, 4))
    assert recall_of(mass, np.array([0, 0, 2, 2]), mass.sum(axis=1))[1] == 0.0


@pytest.mark.parametrize(
    ("recall", "expected"),
    [([0.5, 0.9], 0.0), ([0.6, 1.0], 0.0), ([0.4, 0.9], 0.1), ([0.4, 0.2], 0.7)],
)
def test_violation_is_the_worst_gap(recall, expected):
    """Floors of .5 and .9; met floors do not make up for missed ones."""
    constraint = Constraint.min_recall(np.array([0.5, 0.9]))
    assert constraint.violation(np.array(recall)) == pytest.approx(expected, abs=1e-15)


def test_no_demand_is_never_violated():
    """Floors of zero accept a recall of zero."""
    assert Constraint.none(3).violation(np.zeros(3)) == 0.0


def test_raised_floors_stay_between_the_old_ones_and_the_best():
    """By the error of a share, .4 of 24 rows being .1; what demands nothing stays."""
    floor = np.array([0.4, 0.0, 1.0])
    raised = Constraint.min_recall(floor).raised(np.array([24, 10, 10])).floor
    np.testing.assert_allclose(raised, [0.5, 0.0, 1.0])
    free = Constraint(np.full(2, -np.inf), -np.ones((2, 2)))
    assert np.all(free.raised(np.array([5, 5])).floor == -np.inf)


def test_a_ceiling_on_the_cost_of_a_class_is_another_reward(draw_case):
    """Class 1 may cost .1 a sample at most: minus its costs, the floor -.1."""
    problem, truth, tree = draw_case(
        depth=2, cost_matrix=np.array([[0.0, 1.0], [0.2, 0.0]]), alpha_local=2.0**-4
    )
    paid = np.array([[0.0, 0.0], [2.0, 0.0]])
    ceiling = Constraint(np.array([-np.inf, -0.1]), -paid)
    solver = AugmentedLagrangian(tol=1e-6, max_iter=5000)
    free = solver.solve(problem, tree)
    bound = solver.solve(replace(problem, constraint=ceiling), tree)
    assert 2.0 * (1.0 - truth.recall(free.params)[1]) > 0.11
    assert 2.0 * (1.0 - truth.recall(bound.params)[1]) <= 0.1 + FEASIBLE
    assert bound.status is Status.CONVERGED
    assert bound.multiplier[1] > 0.0
