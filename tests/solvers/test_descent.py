"""One descent: down, inside the box, to a certified point, in place."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from sorct.problem.evaluation import never
from sorct.problem.kernels import make_buffers
from sorct.search.annealing import anneal
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import Descent, descend
from tests.cases import problem_of
from tests.problem.doors import evaluate

TOL = 1e-6
trees = pytest.mark.parametrize(
    "options",
    [
        {"depth": 1, "n_classes": 2},
        {"depth": 2, "n_classes": 3, "alpha_local": 2.0**-4},
        {"depth": 2, "n_classes": 4, "alpha_global": 2.0**-4, "gamma": 512.0},
        {"depth": 3, "n_classes": 5, "alpha_local": 2.0**-6, "alpha_global": 2.0**-6},
        {"depth": 2, "n_classes": 3, "alpha_local": 1e3, "gamma": 4.0},
    ],
    ids=["free", "local", "global", "both", "empty"],
)
floors = pytest.mark.parametrize("multiplier", [0.0, 0.5], ids=["free", "pressed"])


def value_at(samples, sub, point):
    """Penalised Lagrangian of a point."""
    renewed = np.zeros_like(sub.floors.share)
    buffers = make_buffers(*point.coef.shape, renewed.size)
    return evaluate(samples, sub, point, renewed, buffers)


def start(case, multiplier):
    """Return samples, a sub with floors of .8 if a multiplier presses, and a tree."""
    n_classes = case.truth.n_classes
    constraint = replace(
        case.problem.constraint, floor=np.full(n_classes, 0.8 * (multiplier > 0.0))
    )
    problem = replace(case.problem, constraint=constraint)
    sub = problem.subproblem(np.full(n_classes, multiplier), 2.0)
    return problem.data.samples, sub, problem.point(case.tree)


@pytest.mark.every_value
@trees
@floors
@pytest.mark.parametrize("max_iter", [1, 7, 50, 5000])
def test_descent_goes_down_and_stays_in_the_box(
    draw_case, options, multiplier, max_iter
):
    """However early it ends, the point is a better tree with all classes present."""
    samples, sub, point = start(draw_case(**options), multiplier)
    first = value_at(samples, sub, point)
    progress = descend(samples, sub, point, TOL, max_iter, never())
    assert progress.objective <= first + 1e-15
    assert progress.objective == pytest.approx(value_at(samples, sub, point), abs=1e-13)
    assert np.all(np.abs(point.coef) <= 1.0)
    assert np.all(np.abs(point.threshold) <= len(point.coef))
    assert set(point.label) == set(range(sub.floors.share.size))


@trees
@floors
def test_residual_certifies_where_descent_ends(draw_case, options, multiplier):
    """Below tol, and the reference's own residual agrees."""
    case = draw_case(**options)
    samples, sub, point = start(case, multiplier)
    progress = descend(samples, sub, point, TOL, 20_000, never())
    assert progress.residual <= TOL
    tree = case.problem.params(point)
    recall = case.truth.recall(tree)
    renewed = np.maximum(0.0, multiplier + 2.0 * (sub.floors.floor - recall))
    assert case.truth.residual(tree, renewed) <= 2.0 * TOL


@trees
def test_a_stationary_point_is_left_where_it_is(draw_case, options):
    """Descending again costs one evaluation and moves nothing."""
    samples, sub, point = start(draw_case(**options), 0.0)
    descend(samples, sub, point, TOL, 20_000, never())
    before = [part.copy() for part in point]
    progress = descend(samples, sub, point, TOL, 20_000, never())
    assert progress.n_evaluations == 1
    for part, kept in zip(point, before, strict=True):
        np.testing.assert_array_equal(part, kept)


@trees
def test_descent_is_deterministic(draw_case, options):
    """The same start gives the same tree, to the last bit."""
    case = draw_case(**options)
    ends = []
    for _ in range(2):
        samples, sub, point = start(case, 0.0)
        descend(samples, sub, point, TOL, 500, never())
        ends.append(point)
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_constant_feature_is_dropped(draw_case):
    """Under a penalty, coefficients of a column of zeros become exact zeros."""
    case = draw_case(depth=2, n_features=5, alpha_local=2.0**-6)
    X = case.truth.X * (np.arange(5) != 2)
    problem = problem_of(replace(case.truth, X=X))
    point = problem.point(case.tree)
    assert np.all(point.coef[2] != 0.0)
    descend(problem.data.samples, problem.subproblem(), point, TOL, 20_000, never())
    assert np.all(point.coef[2] == 0.0)


def test_without_features_a_single_cut_goes_to_the_box(draw_case):
    """The cost is then linear in F(-gamma mu), so that mu = -1 or 1 exactly is best."""
    case = draw_case(depth=1, alpha_local=1e4, gamma=4.0)
    samples, sub, point = start(case, 0.0)
    descend(samples, sub, point, TOL, 20_000, never())
    tree = case.problem.params(point)
    share = np.bincount(case.truth.y, case.truth.weight) / case.truth.weight.sum()
    cheap, dear = np.sort(share @ case.truth.cost_matrix)
    best = expit(4.0) * cheap + expit(-4.0) * dear
    assert not tree.coef.any()
    assert abs(tree.threshold[0]) == 1.0
    assert case.truth.cost(tree) == pytest.approx(best, abs=1e-12)


@trees
@floors
def test_a_descent_with_used_memory_is_that_with_new_memory(
    draw_case, options, multiplier
):
    """Nothing that the first of two descents left behind changes the second."""
    samples, sub, point = start(draw_case(**options), multiplier)
    until = TOL, 40, never()
    used = Descent(samples, sub._replace(slope=0.25 * sub.slope), point, *until)
    used.step()
    fresh = point._replace(
        cuts=point.cuts.copy(), label=point.label.copy(), logit=point.logit.copy()
    )
    used.again(sub)
    used.step()
    assert used.progress == descend(samples, sub, fresh, *until)
    assert np.array_equal(point.cuts, fresh.cuts)
    assert np.array_equal(point.label, fresh.label)


@trees
def test_a_problem_lends_its_memory_to_every_start(draw_case, options):
    """Whatever descended before, and whatever for; a copy of the problem has none."""
    case = draw_case(**options)
    problem, asked = case.problem, AugmentedLagrangian(TOL, 40)
    mirrored = replace(case.tree, coef=-case.tree.coef)
    first = asked.solve(problem, mirrored)
    anneal(problem, mirrored, never())
    (memory,) = problem.idle
    used, fresh = (asked.solve(p, case.tree) for p in (problem, replace(problem)))
    assert problem.idle == [memory]
    assert not pickle.loads(pickle.dumps(problem)).idle
    for found in (used, asked.solve(problem, case.tree)):
        assert found.objective == fresh.objective
        assert found.n_evaluations == fresh.n_evaluations
        np.testing.assert_array_equal(found.params.coef, fresh.params.coef)
        np.testing.assert_array_equal(found.mass, fresh.mass)
    again = asked.solve(replace(problem), mirrored)
    np.testing.assert_array_equal(first.mass, again.mass)
    np.testing.assert_array_equal(first.params.coef, again.params.coef)
