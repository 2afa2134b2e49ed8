"""The fit of a quantity: against a slow twin, finite differences and least squares."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import Lasso

from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint
from sorct.problem.evaluation import never
from sorct.problem.kernels import make_buffers
from sorct.problem.penalty import Penalty, Strengths
from sorct.problem.problem import Problem
from sorct.problem.residual import MIXED, RIDGE, ROUNDED, SLOPE_UNIT, Residual
from sorct.problem.restriction import Restriction
from sorct.search.chains import IteratedSearch
from sorct.search.starts import draw_start, empty_tree
from sorct.search.strongest import emptying_strength
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.tree.params import Params
from sorct.tree.topology import Topology
from tests.problem.doors import bound_value, evaluate, prox
from tests.reference import ValueReference

LOSSES = {
    "square": np.square,
    "huber": lambda r: np.where(np.abs(r) < 1.0, r**2, 2.0 * np.abs(r) - 1.0),
    "absolute": np.abs,
    "quantile": lambda r: np.where(r > 0.0, 0.9 * r, -0.1 * r),
}


def make_problem(depth, *, loss="square", linear=False, n=70, p=3, alpha=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X, weight = rng.random((n, p)), rng.uniform(0.5, 2.0, n)
    y = np.where(X[:, 0] > 0.5, 2.0 * X[:, 1], -1.0) + 0.2 * rng.normal(size=n)
    mean = np.average(y, weights=weight)
    y = (y - mean) / np.sqrt(np.average((y - mean) ** 2, weights=weight))
    topology = Topology(depth)
    penalty = Penalty.none(p)._replace(boxed=topology.n_branches)
    problem = Problem(
        TrainingSet.from_data(X, np.zeros(n, dtype=np.int64), weight, 1, y),
        Residual.of(loss, 0.9, linear=linear),
        penalty,
        Constraint.none(1),
        topology,
        6.0 * p,
    ).at(Strengths(alpha, 0.5 * alpha))
    truth = ValueReference(
        X=X,
        y=y,
        weight=weight,
        depth=depth,
        gamma=6.0 * p,
        cost_matrix=np.zeros((1, 1)),
        floor=np.zeros(1),
        alpha_local=alpha,
        alpha_global=0.5 * alpha,
        loss=LOSSES[loss],
        ridge=RIDGE,
        unit=SLOPE_UNIT,
        mixed=MIXED,
    )
    return problem, truth


def random_params(problem, seed):
    rng, topology, p = np.random.default_rng(seed), problem.topology, problem.n_groups
    return Params(
        rng.uniform(-1.0, 1.0, (p, topology.n_branches)),
        rng.uniform(-0.3, 0.3, topology.n_branches),
        np.zeros(topology.n_leaves, dtype=np.int64),
        leaf_value=rng.normal(size=topology.n_leaves),
        leaf_coef=rng.normal(0.0, 0.1, (p, topology.n_leaves))
        if problem.has_slopes
        else None,
    )


def evaluated(problem, params):
    point, p = problem.point(params), problem.data.n_columns
    n_branches = problem.topology.n_branches
    buffers = make_buffers(p, n_branches, 1, point.cuts.shape[1] - n_branches)
    sub, samples = problem.subproblem(), problem.data.samples
    return evaluate(samples, sub, point, np.zeros(1), buffers), buffers


@pytest.mark.parametrize(("depth", "linear"), [(0, True), (1, False), (2, True)])
def test_terms_of_single_rows_come_beside_the_loss(depth, linear):
    """As bounds on groups of rows need them: a r + b r^2, other numbers for each."""
    problem, truth = make_problem(depth, loss="huber", linear=linear, n=300)
    rows, rng = problem.data.rows, np.random.default_rng(1)
    n, n_padded = rows.weight.size, problem.data.samples.weight.size
    extra = np.zeros((n_padded, 2))
    extra[:n] = rng.normal(size=(n, 2))
    samples = problem.data.samples._replace(extra=extra.ravel())
    problem = replace(problem, data=replace(problem.data, samples=samples))

    def loss(r):
        return problem.datafit.loss(r) + r * (extra[:n, 0] + extra[:n, 1] * r)

    own = {"X": rows.X.T, "y": rows.response, "weight": rows.weight, "loss": loss}
    truth, params = replace(truth, **own), random_params(problem, depth)
    value, buffers = evaluated(problem, params)
    assert value == pytest.approx(truth.objective(params), rel=1e-12)
    close = {"rtol": 1e-5, "atol": 1e-7}
    in_value = truth.slope(params, "leaf_value")
    np.testing.assert_allclose(buffers.logit_gradient[0], in_value, **close)
    cuts = buffers.gradient[:-1, : problem.topology.n_branches]
    np.testing.assert_allclose(cuts, truth.slope(params, "coef"), **close)
    # Parts and columns keep them.
    part = samples.part(1, samples.n_blocks)
    np.testing.assert_array_equal(part.extra, samples.extra[2 * samples.start[1] :])
    assert samples.some_columns(np.array([0])).extra is samples.extra


@pytest.mark.parametrize("loss", ["square", "huber", "quantile"])
@pytest.mark.parametrize(
    ("depth", "linear"), [(0, True), (1, False), (2, True), (3, False), (3, True)]
)
def test_value_and_gradient(depth, linear, loss):
    problem, truth = make_problem(depth, loss=loss, linear=linear, alpha=0.3, n=300)
    params = random_params(problem, depth)
    truth = replace(truth, loss=problem.datafit.loss)
    value, buffers = evaluated(problem, params)
    assert value == pytest.approx(truth.objective(params), rel=1e-12)
    p, n_branches = problem.n_groups, problem.topology.n_branches
    close = {"rtol": 1e-2 if loss == "quantile" else 1e-5, "atol": 1e-7}
    cuts = buffers.gradient[:, :n_branches]
    np.testing.assert_allclose(cuts[:-1], truth.slope(params, "coef"), **close)
    np.testing.assert_allclose(p * cuts[-1], truth.slope(params, "threshold"), **close)
    in_value = truth.slope(params, "leaf_value")
    np.testing.assert_allclose(buffers.logit_gradient[0], in_value, **close)
    if linear:
        # The solver holds the value at the mean sample when a slope changes.
        mean = SLOPE_UNIT * problem.data.centre[:, np.newaxis] * in_value
        in_coef = truth.slope(params, "leaf_coef") - mean
        got = buffers.gradient[:-1, n_branches:]
        np.testing.assert_allclose(got, in_coef, rtol=1e-3, atol=2e-6)
        assert not buffers.gradient[-1, n_branches:].any()


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_losses_are_what_they_are_called(loss):
    r = np.linspace(-3.0, 3.0, 301)
    given = Residual.of(loss, 0.9).loss(r)
    slack = ROUNDED if loss in {"absolute", "quantile"} else 1e-12
    np.testing.assert_allclose(given, LOSSES[loss](r), atol=slack)


@pytest.mark.parametrize(
    ("depth", "linear"), [(1, False), (2, False), (3, False), (2, True)]
)
def test_values_of_a_new_tree_are_those_of_least_squares(depth, linear):
    """One big system: a row per sample, per sample and leaf, and per leaf."""
    problem, truth = make_problem(depth, linear=linear)
    params = replace(random_params(problem, depth), leaf_value=None)
    value = problem.valued(params).leaf_value
    share, reach = truth.weight / truth.weight.sum(), truth.leaf_reach(params)
    sloped = truth.said(replace(params, leaf_value=np.zeros(value.size)))
    mean = np.sum(reach * sloped, axis=1)
    parts = [np.sqrt(share)[:, np.newaxis] * reach]
    wanted = [np.sqrt(share) * (truth.y - mean)]
    for leaf in range(value.size):
        root = np.sqrt(MIXED * share * reach[:, leaf])
        parts.append(root[:, np.newaxis] * (np.eye(value.size)[leaf] - reach))
        wanted.append(root * (mean - sloped[:, leaf]))
    parts.append(RIDGE**0.5 * np.eye(value.size))
    wanted.append(-(RIDGE**0.5) * np.average(sloped, axis=0, weights=share))
    expected = np.linalg.lstsq(np.vstack(parts), np.concatenate(wanted), rcond=None)[0]
    np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("falling", [False, True])
def test_bound_values_are_the_best_within_their_bounds(falling):
    """SciPy, given the cuts that a descent has found, finds no better values."""
    problem, truth = make_problem(2, n=120)
    bound = replace(problem.datafit, low=-0.8, high=0.7, falling=falling)
    problem = replace(problem, datafit=bound)
    start = draw_start(problem, 0, 1, never()).params
    found = AugmentedLagrangian(tol=1e-8).solve(problem, start)
    value = found.params.leaf_value
    assert found.residual <= 1e-8
    assert value.min() >= -0.8
    assert value.max() <= 0.7
    order = {"type": "ineq", "fun": lambda v: -np.diff(v)}
    best = minimize(
        lambda v: truth.cost(replace(found.params, leaf_value=v)),
        np.zeros(4),
        bounds=[(-0.8, 0.7)] * 4,
        constraints=[order] if falling else [],
        method="SLSQP",
        tol=1e-12,
    )
    assert found.cost <= best.fun + 1e-9
    assert not falling or (np.diff(value) <= 0.0).all()


@pytest.mark.parametrize("seed", range(3))
def test_falling_values_are_those_of_isotonic_regression(seed):
    wanted = np.random.default_rng(seed).normal(size=8)
    shape = Residual(low=-1.0, high=1.0, falling=True).shape
    got = [bound_value(shape, wanted, leaf) for leaf in range(8)]
    expected = np.clip(isotonic_regression(wanted, increasing=False), -1.0, 1.0)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_descent_ends_where_scipy_cannot_improve(linear):
    problem, truth = make_problem(1, linear=linear)
    start = draw_start(problem, 0, 1, never()).params
    found = AugmentedLagrangian(tol=1e-7).solve(problem, start)
    assert found.residual <= 1e-7
    params = found.params
    assert found.objective == pytest.approx(truth.objective(params), rel=1e-11)
    shapes = [params.coef, params.threshold, params.leaf_value]
    shapes += [params.leaf_coef] if linear else []
    names = ["coef", "threshold", "leaf_value", "leaf_coef"]
    ends = np.cumsum([one.size for one in shapes])[:-1]

    def objective(flat):
        parts = [
            a.reshape(b.shape)
            for a, b in zip(np.split(flat, ends), shapes, strict=True)
        ]
        return truth.objective(replace(params, **dict(zip(names, parts, strict=False))))

    flat = np.concatenate([one.ravel() for one in shapes])
    n_cuts = params.coef.size + params.threshold.size
    bounds = [(-1.0, 1.0)] * n_cuts + [(None, None)] * (flat.size - n_cuts)
    better = minimize(objective, flat, bounds=bounds, options={"maxiter": 30})
    assert better.fun >= found.objective - 1e-7


@pytest.mark.parametrize("alpha", [0.001, 0.02, 0.1])
def test_one_linear_leaf_is_the_lasso(alpha):
    problem, truth = make_problem(0, linear=True, n=120, p=6)
    # r^2 + alpha_local mean |w / unit|  is twice  r^2 / 2 + alpha |w|.
    problem = problem.at(Strengths(2.0 * alpha * 6 * SLOPE_UNIT))
    found = AugmentedLagrangian(tol=1e-10).solve(problem, empty_tree(problem)[0])
    lasso = Lasso(alpha=alpha, tol=1e-14, max_iter=100_000)
    lasso.fit(truth.X, truth.y, sample_weight=truth.weight)
    slopes = SLOPE_UNIT * found.params.leaf_coef[:, 0]
    np.testing.assert_allclose(slopes, lasso.coef_, atol=1e-7)
    assert found.params.leaf_value[0] == pytest.approx(lasso.intercept_, abs=1e-7)
    np.testing.assert_array_equal(slopes == 0.0, lasso.coef_ == 0.0)


def test_the_strength_that_empties_the_lasso_is_known():
    problem, truth = make_problem(0, linear=True)
    strongest = emptying_strength(problem, 0)
    for share, empty in ((1.001, True), (0.99, False)):
        at = problem.at(Strengths(share * strongest))
        found = AugmentedLagrangian(tol=1e-9).solve(at, empty_tree(at)[0])
        assert (not found.params.leaf_coef.any()) == empty
    centred = truth.X - np.average(truth.X, axis=0, weights=truth.weight)
    share = truth.weight / truth.weight.sum()
    steepest = np.abs(centred.T @ (share * truth.y)).max()
    assert strongest == pytest.approx(2.0 * steepest * 3 * SLOPE_UNIT)


@pytest.mark.parametrize("seed", range(4))
def test_prox_leaves_slopes_out_of_the_box(seed):
    """The minimiser by SciPy: sizes of cuts are at most 1, those of slopes are not."""
    rng = np.random.default_rng(seed)
    penalty = Penalty.of(Strengths(0.8, 2.5), 1, 5)._replace(boxed=3)
    v = rng.normal(0.0, 3.0, (1, 5))

    def value(parts):
        x = parts[:5] - parts[5:10]
        size = parts[:5] + parts[5:10]
        l1, most = penalty.local_strength, penalty.linf_strength
        gap = np.sum((x - v[0]) ** 2) / 2.0
        return gap + l1 * size.sum() + most * parts[10]

    over = {"type": "ineq", "fun": lambda z: z[10] - z[:5] - z[5:10]}
    bounds = ([(0.0, 1.0)] * 3 + [(0.0, None)] * 2) * 2 + [(0.0, None)]
    start = np.append(np.zeros(10), 1.0)
    found = minimize(
        value, start, bounds=bounds, constraints=over, method="SLSQP", tol=1e-13
    )
    expected = found.x[:5] - found.x[5:10]
    np.testing.assert_allclose(prox(penalty, v, 1.0)[0], expected, atol=1e-5)


def test_a_tree_survives_restriction():
    problem, truth = make_problem(2, linear=True)
    params = random_params(problem, 0)
    for array in (params.coef, params.leaf_coef):
        array[1] = 0.0
    small = Restriction.of(problem, np.array([0, 2]))
    value, _ = evaluated(small.part, small.down(params))
    assert value == pytest.approx(truth.objective(params), rel=1e-12)
    back = small.up(small.down(params))
    np.testing.assert_allclose(back.threshold, params.threshold)
    np.testing.assert_array_equal(back.leaf_coef, params.leaf_coef)


@pytest.mark.parametrize("linear", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_search_finds_a_planted_tree(linear):
    problem, _ = make_problem(2, linear=linear, n=200, alpha=0.01)
    found = IteratedSearch(AugmentedLagrangian()).run(problem, 0)
    assert found.best.residual <= 1e-6
    assert found.best.cost < (0.2 if linear else 0.3) * problem.trivial_cost


@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
def test_solving_from_a_tree_leaves_that_tree_as_it_is(linear):
    """A path goes on from trees that it has already found."""
    problem, _ = make_problem(2, linear=linear, alpha=0.1)
    params = AugmentedLagrangian().solve(problem, random_params(problem, 0)).params
    before = [
        None if one is None else one.copy()
        for one in (params.coef, params.threshold, params.leaf_value, params.leaf_coef)
    ]
    AugmentedLagrangian().solve(problem.at(Strengths(2.0, 1.0)), params)
    after = params.coef, params.threshold, params.leaf_value, params.leaf_coef
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
