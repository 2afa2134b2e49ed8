"""Value, gradient, residual and labels of a problem with multipliers on floors."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sorct.problem.kernels import make_buffers
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from tests.problem.doors import evaluate, renew_leaves, residual

STIFFNESS = 7.0
problems = pytest.mark.parametrize(
    "options",
    [
        {"depth": 1, "n_classes": 2, "alpha_local": 0.3},
        {"depth": 2, "n_classes": 3, "alpha_global": 0.2, "gamma": 512.0},
        {"depth": 3, "n_classes": 4, "alpha_local": 0.1, "alpha_global": 0.4},
        {"depth": 4, "n_classes": 5, "sparse": True, "alpha_local": 0.2},
    ],
    ids=lambda options: f"depth{options['depth']}",
)
floored = pytest.mark.parametrize("floors", [False, True], ids=["free", "floors"])


def draw_multiplier(rng, case, floors):
    """Floors that press on every second class; multipliers that fit."""
    presses = np.arange(case.truth.n_classes) % 2 == 0
    floor = np.where(presses & floors, 0.95, 0.0)
    multiplier = np.where(presses & floors, rng.uniform(0.5, 2.0, floor.size), 0.0)
    truth = replace(case.truth, floor=floor)
    constraint = replace(case.problem.constraint, floor=floor)
    problem = replace(case.problem, constraint=constraint)
    return case._replace(truth=truth, problem=problem), multiplier


def renewed_of(truth, tree, multiplier):
    """Multipliers after the step that a floor's gap demands."""
    gap = truth.floor - truth.recall(tree)
    return np.maximum(0.0, multiplier + STIFFNESS * gap)


def run(case, multiplier, guess=0.0):
    """Evaluate at the case's tree, starting from a guess of the multipliers."""
    sub = case.problem.subproblem(multiplier, STIFFNESS)
    point = case.problem.point(case.tree)
    renewed = np.full_like(multiplier, guess)
    buffers = make_buffers(*point.coef.shape, multiplier.size)
    value = evaluate(case.problem.data.samples, sub, point, renewed, buffers)
    return sub, point, renewed, buffers, value


@problems
@floored
@pytest.mark.parametrize("guess", [0.0, 1.0])
def test_value_and_gradient_are_the_references(rng, draw_case, options, floors, guess):
    """Penalised Lagrangian and smooth gradient, whatever multipliers came before."""
    case, multiplier = draw_multiplier(rng, draw_case(**options), floors)
    _, _, renewed, buffers, value = run(case, multiplier, guess)
    truth, tree, p = case.truth, case.tree, len(case.tree.coef)
    expected = truth.lagrangian(tree, multiplier, STIFFNESS) + truth.penalty(tree)
    assert value == pytest.approx(expected, abs=1e-11)
    expected_multiplier = renewed_of(truth, tree, multiplier)
    assert np.any(expected_multiplier > 0.0) == floors
    np.testing.assert_allclose(renewed, expected_multiplier, rtol=0, atol=1e-11)
    d_coef, d_threshold = truth.smooth_gradient(tree, expected_multiplier)
    exact = {"rtol": 0, "atol": 1e-12 * truth.gamma}
    np.testing.assert_allclose(buffers.gradient[:-1], d_coef, **exact)
    np.testing.assert_allclose(p * buffers.gradient[-1], d_threshold, **exact)


@problems
@floored
def test_gradient_is_the_slope_of_the_lagrangian(rng, draw_case, options, floors):
    """Central differences of the reference along random directions.

    A step of cbrt(eps) / gamma moves scores by cbrt(eps): truncation and rounding are
    then both about 1e-10 of the curvature, here stiffness / share^2 or so.
    """
    case, multiplier = draw_multiplier(rng, draw_case(**options), floors)
    _, _, _, buffers, _ = run(case, multiplier)
    truth, tree, p = case.truth, case.tree, len(case.tree.coef)
    step = np.cbrt(np.finfo(float).eps) / truth.gamma
    for _ in range(5):
        by_coef = rng.choice([-1.0, 1.0], tree.coef.shape)
        by_threshold = rng.choice([-1.0, 1.0], tree.threshold.shape)
        ends = [
            truth.lagrangian(
                replace(
                    tree,
                    coef=tree.coef + side * step * by_coef,
                    threshold=tree.threshold + side * step * by_threshold,
                ),
                multiplier,
                STIFFNESS,
            )
            for side in (1.0, -1.0)
        ]
        slope = np.sum(buffers.gradient[:-1] * by_coef)
        slope += p * np.sum(buffers.gradient[-1] * by_threshold)
        difference = (ends[0] - ends[1]) / (2.0 * step)
        assert slope == pytest.approx(difference, abs=1e-7 * truth.gamma)


@problems
@floored
def test_residual_is_the_references(rng, draw_case, options, floors):
    """The largest move of a proximal step of length p, positive at a random tree."""
    case, multiplier = draw_multiplier(rng, draw_case(**options), floors)
    sub, point, renewed, buffers, _ = run(case, multiplier)
    got = residual(sub, point, buffers)
    expected = case.truth.residual(case.tree, renewed)
    assert got == pytest.approx(expected, abs=1e-11 * case.truth.gamma)
    assert got > 1e-6


@problems
def test_residual_vanishes_at_a_solution(draw_case, options):
    """Computed by the reference at a tree that descent calls converged."""
    case = draw_case(**options)
    solver = AugmentedLagrangian(tol=1e-6, max_iter=20_000)
    solution = solver.solve(case.problem, case.tree)
    assert solution.residual <= 1e-6
    no_multiplier = np.zeros(case.truth.n_classes)
    assert case.truth.residual(solution.params, no_multiplier) <= 2e-6


@problems
@floored
def test_relabelling_never_raises_the_lagrangian(rng, draw_case, options, floors):
    """It falls if labels change, and a second time nothing changes without floors."""
    case, multiplier = draw_multiplier(rng, draw_case(**options), floors)
    sub, point, renewed, buffers, _ = run(case, multiplier)
    changed = renew_leaves(sub, point, renewed, buffers)
    tree = replace(case.tree, leaf_class=point.label)
    before = case.truth.lagrangian(case.tree, multiplier, STIFFNESS)
    after = case.truth.lagrangian(tree, multiplier, STIFFNESS)
    assert changed == np.any(tree.leaf_class != case.tree.leaf_class)
    assert (after < before) if changed else (after == before)
    assert floors or not renew_leaves(sub, point, renewed, buffers)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_relabelling_without_floors_is_optimal(draw_case, n_classes):
    """No labelling that covers the classes is cheaper at these cuts."""
    case = draw_case(n_classes=n_classes, depth=2)
    sub, point, renewed, buffers, _ = run(case, np.zeros(n_classes))
    renew_leaves(sub, point, renewed, buffers)
    costs = [
        case.truth.cost(replace(case.tree, leaf_class=np.array(label)))
        for label in product(range(n_classes), repeat=4)
        if len(set(label)) == n_classes
    ]
    best = case.truth.cost(replace(case.tree, leaf_class=point.label))
    assert best == pytest.approx(min(costs), abs=1e-12)


def test_point_and_params_are_copies_of_one_tree(draw_case):
    """There and back is the same tree, in other memory."""
    problem, _, tree = draw_case(n_features=4)
    point = problem.point(tree)
    back = problem.params(point)
    for name in ("coef", "threshold", "leaf_class"):
        np.testing.assert_array_equal(getattr(back, name), getattr(tree, name))
        assert not np.shares_memory(getattr(back, name), getattr(tree, name))
    assert not np.shares_memory(point.coef, tree.coef)
    assert not np.shares_memory(point.label, tree.leaf_class)
