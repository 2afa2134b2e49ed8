"""The joint polish of a forest: its prox, its optimum, and that it shares a budget."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import Likelihood
from sorct.problem.evaluation import never
from sorct.problem.penalty import Penalty, Strengths
from sorct.problem.penalty_wide import joint_prox
from sorct.problem.problem import Problem
from sorct.search.starts import empty_tree
from sorct.search.workers import Workers
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.jointly import JointPolish
from sorct.tree.topology import Topology
from tests.problem.doors import prox

GAMMA = 12.0


@pytest.mark.parametrize("free", [0.0, 0.3])
@pytest.mark.parametrize("boxed", [1 << 30, 2])
def test_the_joint_prox_is_that_of_all_trees_side_by_side(rng, free, boxed):
    """One tree with all cuts of the forest has the same proximal step."""
    penalty = Penalty.of(
        Strengths(0.7, 0.9),
        6,
        3,
        start=np.array([0, 1, 4, 5, 6]),
        lower=np.array([-1.0, -1.0, 0.0, -1.0, -1.0, 0.0]),
        upper=np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0]),
        linf=np.array([1.0, 2.0, 0.0, 1.0]),
        free=np.full(4, free),
    )._replace(boxed=boxed)
    coef = rng.normal(0.0, 1.0, (6, 4, 3))
    # Slopes of all trees come after cuts of all trees in the one matrix.
    order = np.argsort(np.tile(np.arange(3) >= boxed, 4), kind="stable")
    flat = coef.reshape(6, -1)[:, order]
    wide = penalty._replace(boxed=int((np.tile(np.arange(3), 4) < boxed).sum()))
    for step in (0.0, 0.1, 1.0, 30.0):
        found = joint_prox(penalty, step, coef).reshape(6, -1)[:, order]
        np.testing.assert_allclose(found, prox(wide, flat, step), atol=1e-12)


def logistic_problems(rng, alpha_global, n_trees=3, p=3, n=40):
    """One cut between two pure leaves on bags of rows: logistic regressions."""
    X = rng.random((n, p))
    codes = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(0.0, 0.3, n) > 0.75).astype(int)
    found = []
    for _ in range(n_trees):
        weight = rng.integers(1, 4, n).astype(float)
        data = TrainingSet.from_data(X, codes, weight, 2)
        found.append(
            Problem(
                data,
                Likelihood(0.5 * (1.0 - np.eye(2)), -1, False),
                Penalty.of(Strengths(0.0, alpha_global), p, 1),
                Constraint.none(2),
                Topology(1),
                GAMMA,
            )
        )
    return found


def best_value(problems, alpha_global):
    """Optimum by a general solver: a bound on |a_v| of all trees costs alpha / p."""
    p, n_trees = problems[0].data.n_columns, len(problems)
    rows = [problem.data.rows for problem in problems]

    def split(z):
        return z[: p * n_trees].reshape(n_trees, p), z[p * n_trees : -p], z[-p:]

    def value(z):
        coef, threshold, bound = split(z)
        total = alpha_global * bound.mean()
        for a, mu, one in zip(coef, threshold, rows, strict=True):
            left = GAMMA * (a @ one.X / p - mu)
            own = np.where(one.codes == labels[0], left, -left)
            total += one.weight @ np.logaddexp(0.0, -own) / n_trees
        return total

    labels = empty_tree(problems[0])[0].leaf_class
    limits = [
        {"type": "ineq", "fun": lambda z, s=s: (split(z)[2] + s * split(z)[0]).ravel()}
        for s in (-1.0, 1.0)
    ]
    size = n_trees * (p + 1) + p
    solved = minimize(
        value,
        np.concatenate([np.zeros(size - p), np.full(p, 0.1)]),
        method="SLSQP",
        bounds=[(-1.0, 1.0)] * size,
        constraints=limits,
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("alpha_global", [0.05, 0.3])
def test_it_finds_the_optimum_of_a_convex_forest(rng, alpha_global):
    problems = logistic_problems(rng, alpha_global)
    start = [empty_tree(problem)[0] for problem in problems]
    polish = JointPolish(AugmentedLagrangian(1e-6), tol=1e-5, max_rounds=200)
    with Workers(1, never()) as workers:
        end = polish.solve(problems, start, workers)
    assert end.objective == pytest.approx(best_value(problems, alpha_global), abs=2e-5)
    coef = np.hstack([one.coef for one in end.params])
    fits = [
        one.weight
        @ np.logaddexp(
            0.0,
            np.where(one.codes == tree.leaf_class[0], -1.0, 1.0)
            * GAMMA
            * (tree.coef[:, 0] @ one.X / 3.0 - tree.threshold[0]),
        )
        for tree, one in zip(end.params, (p.data.rows for p in problems), strict=True)
    ]
    told = np.mean(fits) + alpha_global * np.abs(coef).max(axis=1).mean()
    assert end.objective == pytest.approx(told, abs=1e-9)


def test_no_step_leads_higher_and_a_strong_penalty_leaves_nothing(rng):
    problems = logistic_problems(rng, 0.1)
    start = [empty_tree(problem)[0] for problem in problems]
    with Workers(2, never()) as workers:
        values = [
            JointPolish(AugmentedLagrangian(1e-4), max_rounds=n)
            .solve(problems, start, workers)
            .objective
            for n in (1, 3, 10)
        ]
        assert values[0] >= values[1] >= values[2]
        strong = [
            replace(p, penalty=p.penalty._replace(linf_strength=5.0)) for p in problems
        ]
        end = JointPolish(AugmentedLagrangian(1e-4)).solve(strong, start, workers)
    assert not any(one.coef.any() for one in end.params)
