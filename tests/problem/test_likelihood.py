"""The likelihood: against a slow twin, finite differences and logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import PSEUDO, Likelihood
from sorct.problem.evaluation import never
from sorct.problem.kernels import make_buffers
from sorct.problem.penalty import Penalty, Strengths
from sorct.problem.problem import Problem
from sorct.search.starts import draw_start, empty_tree
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.tree.params import Params
from sorct.tree.topology import Topology
from tests.problem.doors import evaluate, log, renew_leaves
from tests.reference import LogReference


def make_problem(depth, n_classes, learned, *, n=60, p=4, alpha=0.0, slope=6.0, seed=0):
    rng = np.random.default_rng(seed)
    X, codes = rng.random((n, p)), np.arange(n) % n_classes
    weight = rng.uniform(0.5, 2.0, n)
    topology = Topology(depth)
    problem = Problem(
        TrainingSet.from_data(X, codes, weight, n_classes),
        Likelihood(0.5 * (1.0 - np.eye(n_classes)), -1, learned),
        Penalty.of(Strengths(alpha), p, topology.n_branches),
        Constraint.none(n_classes),
        topology,
        slope * p,
    )
    truth = LogReference(
        X=X,
        y=codes,
        weight=weight,
        depth=depth,
        gamma=slope * p,
        cost_matrix=problem.datafit.cost_matrix,
        floor=np.zeros(n_classes),
        alpha_local=alpha,
        alpha_global=0.0,
        pseudo=PSEUDO,
    )
    return problem, truth


def random_params(problem, rng, learned):
    topology, n_classes = problem.topology, problem.data.n_codes
    proba = rng.dirichlet(np.ones(n_classes), topology.n_leaves).T
    return Params(
        rng.uniform(-1.0, 1.0, (problem.data.n_columns, topology.n_branches)),
        rng.uniform(-0.3, 0.3, topology.n_branches),
        np.arange(topology.n_leaves) % n_classes,
        proba if learned else None,
    )


def evaluated(problem, params):
    sub, point = problem.subproblem(), problem.point(params)
    buffers = make_buffers(
        problem.data.n_columns, problem.topology.n_branches, problem.data.n_codes
    )
    renewed = np.zeros(problem.data.n_codes)
    value = evaluate(problem.data.samples, sub, point, renewed, buffers)
    return value, sub, point, buffers


def test_log_is_numpys():
    x = np.exp(np.random.default_rng(0).uniform(-340.0, 10.0, 2000))
    x = np.append(x, [1.0, 0.5, np.sqrt(0.5), 1.0 - 2**-53, 1e-150])
    got = np.array([log(one) for one in x])
    np.testing.assert_allclose(got, np.log(x), rtol=4e-16, atol=1e-17)


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 3), (3, 2), (4, 4)])
def test_value_and_gradient(depth, n_classes, learned):
    problem, truth = make_problem(depth, n_classes, learned, alpha=0.3)
    params = random_params(problem, np.random.default_rng(depth), learned)
    value, _, _, buffers = evaluated(problem, params)
    assert value == pytest.approx(truth.objective(params), rel=1e-13)
    in_coef, in_threshold, in_logit = truth.slopes(params)
    p = problem.n_groups
    np.testing.assert_allclose(buffers.gradient[:-1], in_coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        p * buffers.gradient[-1], in_threshold, rtol=1e-6, atol=1e-8
    )
    if learned:
        got = buffers.logit_gradient
        np.testing.assert_allclose(got, in_logit, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_renewed_leaves_never_raise_the_objective(seed):
    problem, truth = make_problem(2, 3, True, seed=seed)
    params = random_params(problem, np.random.default_rng(seed), True)
    value, sub, point, buffers = evaluated(problem, params)
    for _ in range(5):
        renew_leaves(sub, point, np.zeros(3), buffers)
        renewed, _, point, buffers = evaluated(problem, problem.params(point))
        assert renewed <= value + 1e-14
        value = renewed
    assert truth.objective(problem.params(point)) == pytest.approx(value)


def test_leaves_of_a_new_tree_become_the_classes_in_them():
    problem, truth = make_problem(2, 3, True)
    params = random_params(problem, np.random.default_rng(1), False)
    _, sub, point, buffers = evaluated(problem, params)
    renew_leaves(sub, point, np.zeros(3), buffers)
    mass = truth.mass(params) + problem.datafit.pseudo(problem.data.share)[:, None]
    expected = mass / mass.sum(axis=0)
    np.testing.assert_allclose(problem.params(point).leaf_proba, expected, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_one_cut_between_pure_leaves_is_l1_logistic_regression(seed, alpha):
    rng = np.random.default_rng(seed)
    n, p, steep = 300, 8, 64.0
    X = rng.random((n, p))
    score = (X - 0.5) @ rng.normal(size=p) * 3.0 + rng.logistic(size=n)
    y = (score > 0.0).astype(int)
    problem = Problem(
        TrainingSet.from_data(X, y, np.ones(n), 2),
        Likelihood(0.5 * (1.0 - np.eye(2)), -1, False),
        Penalty.of(Strengths(alpha), p, 1),
        Constraint.none(2),
        Topology(1),
        steep * p,
    )
    assert problem.is_convex
    found = AugmentedLagrangian(1e-9).solve(problem, empty_tree(problem)[0])
    strength = n * alpha / (p * steep)
    rival = LogisticRegression(
        C=1.0 / strength, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=1_000_000
    ).fit(X, y)
    sign = 1.0 if found.params.leaf_class[0] == 1 else -1.0
    coef = sign * steep * found.params.coef[:, 0]
    np.testing.assert_allclose(coef, rival.coef_[0], atol=1e-6)
    intercept = -sign * steep * p * found.params.threshold[0]
    assert intercept == pytest.approx(rival.intercept_[0], abs=1e-6)


@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 2), (2, 3), (3, 2)])
def test_solutions_are_stationary(depth, n_classes):
    problem, truth = make_problem(depth, n_classes, True, alpha=0.05, n=80)
    start = draw_start(problem, 0, 1, never()).params
    found = AugmentedLagrangian(1e-7, 20_000).solve(problem, start)
    assert found.residual <= 1e-7
    assert truth.residual(found.params) <= 2e-7
    assert found.objective == pytest.approx(truth.objective(found.params), rel=1e-12)


def test_the_empty_tree_says_what_the_sample_says():
    for learned in (True, False):
        problem, truth = make_problem(1, 2, learned)
        params, _ = empty_tree(problem)
        share = problem.data.share
        entropy = -np.sum(share * np.log(share))
        assert truth.objective(params) == pytest.approx(entropy, rel=1e-12)


@pytest.mark.parametrize("learned", [False, True])
def test_solving_from_a_tree_leaves_that_tree_as_it_is(learned):
    """A path goes on from trees that it has already found."""
    problem, _ = make_problem(2, 3, learned, alpha=0.1)
    params = random_params(problem, np.random.default_rng(0), learned)
    before = params.coef.copy(), params.threshold.copy(), params.leaf_class.copy()
    proba = None if params.leaf_proba is None else params.leaf_proba.copy()
    AugmentedLagrangian().solve(problem, params)
    for one, other in zip(
        (*before, proba),
        (params.coef, params.threshold, params.leaf_class, params.leaf_proba),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("error")
def test_a_leaf_that_leaves_a_class_nothing_is_a_start_like_others(rng):
    """Steep starts round small probabilities to 0; the tree found is finite."""
    problem, _ = make_problem(2, 3, learned=True)
    start = random_params(problem, rng, learned=True)
    start.leaf_proba[:, 0] = [0.0, 0.0, 1.0]
    assert np.isfinite(problem.fit(start, np.zeros((3, 4)), 0.0))
    found = AugmentedLagrangian(1e-6, 500).solve(problem, start)
    assert np.isfinite(found.objective)
    assert (found.params.leaf_proba > 0.0).all()
