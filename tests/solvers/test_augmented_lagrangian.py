"""Every solution keeps its promises: box, labels, certificate, floors or a plain no."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import FEASIBLE, Status

SOLVER = AugmentedLagrangian(tol=1e-6, max_iter=5000)
sizes = pytest.mark.parametrize(
    ("depth", "n_classes"), [(1, 2), (2, 2), (2, 3), (2, 4), (3, 5)]
)
strengths = pytest.mark.parametrize(
    ("alpha_local", "alpha_global"),
    [(0.0, 0.0), (2.0**-4, 0.0), (0.0, 2.0**-4), (2.0**-6, 2.0**-5)],
)


def fit_multiplier(truth, tree):
    """Multipliers of the active floors that come closest to stationary cuts."""
    d_free = free_slope(truth, tree, np.zeros(truth.n_classes))
    near = np.abs(truth.floor - truth.recall(tree)) <= 1e-4
    active = near & (truth.floor > 0.0)
    columns = [
        free_slope(truth, tree, unit) - d_free for unit in np.eye(truth.n_classes)
    ]
    matrix = np.array(columns).T * active
    return np.linalg.lstsq(matrix, -d_free)[0] * active


def free_slope(truth, tree, renewed):
    """Slope of the Lagrangian in the variables that meet neither zero nor the box."""
    d_coef, d_threshold = truth.smooth_gradient(tree, renewed)
    d_coef = d_coef + truth.alpha_local / d_coef.size * np.sign(tree.coef)
    free_coef = (tree.coef != 0.0) & (np.abs(tree.coef) < 1.0)
    free_threshold = np.abs(tree.threshold) < 1.0
    return np.concatenate([d_coef[free_coef], d_threshold[free_threshold]])


@pytest.mark.every_value
@sizes
@strengths
@pytest.mark.parametrize("floor", [0.0, 0.6])
def test_solutions_keep_their_promises(
    draw_case, depth, n_classes, alpha_local, alpha_global, floor
):
    """Box, labels, numbers, floors and status are what they say."""
    problem, truth, tree = draw_case(
        depth=depth,
        n_classes=n_classes,
        gamma=512.0,
        alpha_local=alpha_local,
        alpha_global=alpha_global,
        floor=np.full(n_classes, floor),
    )
    solution = SOLVER.solve(problem, tree)
    params = solution.params
    assert np.all(np.abs(params.coef) <= 1.0)
    assert np.all(np.abs(params.threshold) <= 1.0)
    assert set(params.leaf_class) == set(range(n_classes))
    assert solution.objective == pytest.approx(truth.objective(params), abs=1e-12)
    assert solution.cost == pytest.approx(truth.cost(params), abs=1e-12)
    np.testing.assert_allclose(solution.recall, truth.recall(params), atol=1e-11)
    np.testing.assert_allclose(solution.mass, truth.mass(params), atol=1e-12)
    missed = np.max(truth.floor - truth.recall(params), initial=0.0)
    assert solution.violation == pytest.approx(missed, abs=1e-11)
    assert solution.feasible or solution.status is Status.INFEASIBLE
    assert solution.status is not Status.CONVERGED or solution.residual <= SOLVER.tol


@sizes
@strengths
def test_an_unconstrained_solution_is_stationary_by_the_reference(
    draw_case, depth, n_classes, alpha_local, alpha_global
):
    """Converged means a residual at most tol, computed independently."""
    problem, truth, tree = draw_case(
        depth=depth,
        n_classes=n_classes,
        gamma=512.0,
        alpha_local=alpha_local,
        alpha_global=alpha_global,
    )
    solution = SOLVER.solve(problem, tree)
    outside = truth.residual(solution.params, np.zeros(n_classes))
    assert outside == pytest.approx(solution.residual, abs=1e-9)
    assert (outside <= 1.001 * SOLVER.tol) == (solution.status is Status.CONVERGED)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("alpha_local", [2.0**-4, 2.0**-2])
def test_a_solution_on_its_floors_has_multipliers(draw_case, depth, alpha_local):
    """Some multipliers >= 0 of active floors make the reference's residual vanish."""
    problem, truth, tree = draw_case(
        depth=depth,
        cost_matrix=np.array([[0.0, 1.0], [0.1, 0.0]]),
        floor=np.array([0.0, 0.7]),
        alpha_local=alpha_local,
    )
    solution = SOLVER.solve(problem, tree)
    assert solution.status is Status.CONVERGED
    renewed = fit_multiplier(truth, solution.params)
    assert np.all(renewed >= 0.0)
    assert truth.residual(solution.params, renewed) <= 1e-4


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("alpha_local", [0.0, 2.0**-4, 100.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_nothing_tells_apart_are_reported_infeasible(
    rng, draw_case, depth, alpha_local, n_classes
):
    """Equal rows in every class: recalls sum to 1, so floors of 1 are missed by far."""
    if 2**depth < n_classes:
        depth = 2
    rows = rng.random((20, 3))
    problem, _, tree = draw_case(
        depth=depth,
        n_features=3,
        n_classes=n_classes,
        alpha_local=alpha_local,
        X=np.tile(rows, (n_classes, 1)),
        y=np.repeat(np.arange(n_classes), 20),
        weight=np.ones(20 * n_classes),
        floor=np.ones(n_classes),
    )
    solution = SOLVER.solve(problem, tree)
    assert solution.status is Status.INFEASIBLE
    assert not solution.feasible
    assert solution.violation >= 1.0 - 1.0 / n_classes - 1e-9
    assert solution.recall.sum() == pytest.approx(1.0, abs=1e-9)


@sizes
@pytest.mark.parametrize("name", ["alpha_local", "alpha_global"])
def test_a_huge_penalty_leaves_exact_zeros(draw_case, depth, n_classes, name):
    """No feature survives a strength above any slope of the cost."""
    problem, _, tree = draw_case(depth=depth, n_classes=n_classes, **{name: 1e4})
    solution = SOLVER.solve(problem, tree)
    assert np.all(solution.params.coef == 0.0)
    assert solution.objective == solution.cost


@pytest.mark.every_value
@sizes
@strengths
@pytest.mark.parametrize("max_iter", [1, 5, 5000])
@pytest.mark.parametrize("gamma", [8.0, 512.0])
def test_a_monotone_solve_never_ends_above_its_start(
    draw_case, depth, n_classes, alpha_local, alpha_global, max_iter, gamma
):
    """Without floors, from several starts each, under the start's own labels."""
    solver = AugmentedLagrangian(tol=1e-6, max_iter=max_iter, monotone=True)
    for sparse in (False, True, False):
        problem, truth, tree = draw_case(
            depth=depth,
            n_classes=n_classes,
            gamma=gamma,
            sparse=sparse,
            alpha_local=alpha_local,
            alpha_global=alpha_global,
        )
        began = truth.objective(tree)
        solution = solver.solve(problem, tree)
        assert solution.objective <= began + 1e-13
        assert truth.objective(solution.params) <= began + 1e-13
        # Nor does going on from there lead up again.
        again = solver.solve(problem, solution.params)
        assert again.objective <= solution.objective + 1e-13


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 4)])
@strengths
def test_no_step_of_a_monotone_solve_leads_up(
    draw_case, depth, n_classes, alpha_local, alpha_global
):
    """Ended one iteration later, the same solve is nowhere higher.

    Labels are chosen anew where a solve ends, so only solves that keep theirs count.
    """
    n_told = 0
    for _ in range(4):
        problem, _, tree = draw_case(
            depth=depth,
            n_classes=n_classes,
            gamma=512.0,
            alpha_local=alpha_local,
            alpha_global=alpha_global,
        )
        ends = [
            AugmentedLagrangian(1e-6, max_iter, monotone=True).solve(problem, tree)
            for max_iter in range(3, 40)
        ]
        if len({tuple(end.params.leaf_class) for end in ends}) == 1:
            assert np.diff([end.objective for end in ends]).max() <= 1e-13
            n_told += 1
    assert n_told > 0


@pytest.mark.parametrize(
    ("stop", "status"), [(0, Status.MAX_ITER), (1, Status.TIME_LIMIT)]
)
def test_an_early_end_is_said(draw_case, stop, status):
    """One iteration does not converge; who ended it shows in the status."""
    problem, truth, tree = draw_case(depth=2, n_classes=3)
    solver = AugmentedLagrangian(tol=1e-6, max_iter=1)
    solution = solver.solve(problem, tree, stop=np.array([stop]))
    assert solution.status is status
    assert solution.residual > solver.tol
    assert solution.objective == pytest.approx(truth.objective(solution.params))


def test_the_start_is_not_overwritten(draw_case):
    """The caller keeps the tree it began with."""
    problem, _, tree = draw_case(depth=2, n_classes=3)
    before = deepcopy(tree)
    solution = SOLVER.solve(problem, tree)
    for name in ("coef", "threshold", "leaf_class"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(before, name))
    assert np.any(solution.params.coef != tree.coef)


def test_feasible_solutions_come_before_infeasible_ones(draw_case):
    """Then the smaller violation, then the smaller objective; equals do not replace."""
    problem, _, tree = draw_case()
    base = SOLVER.solve(problem, tree)
    ranked = [
        replace(base, violation=violation, objective=objective)
        for violation, objective in [
            (0.0, 0.1),
            (FEASIBLE, 0.2),
            (0.1, 0.05),
            (0.2, 0.0),
        ]
    ]
    for i, one in enumerate(ranked):
        assert not one.better_than(one)
        for other in ranked[i + 1 :]:
            assert one.better_than(other)
            assert not other.better_than(one)


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_sentence(status):
    """People read a sentence, not a code."""
    assert status.sentence.endswith(".")
