"""Outside truth: IPOPT finds no better tree, of a quantity or of a likelihood."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine

from benchmarks.quantity_ipopt import LikelihoodModel, QuantityModel
from sorct.data.options import TableOptions
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.penalty import Strengths
from sorct.search.chains import IteratedSearch
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

pytest.importorskip("casadi")

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("depth", "leaf", "alpha"),
    [
        pytest.param(1, "linear", 5.0, marks=SLOW),
        pytest.param(2, "constant", 1.0, marks=SLOW),
        pytest.param(2, "linear", 5.0, marks=SLOW),
    ],
)
def test_ipopt_cannot_improve(depth, leaf, alpha):
    """By 1e-5 of the variance of y, which is 1 inside."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = X.iloc[::3], y.iloc[::3]
    table = TableOptions(scaling="minmax")
    model = Model(depth, loss="square", of_quantity=True, leaf=leaf, table=table)
    problem = Prepared.of(X, y, None, model).problem.at(Strengths(alpha))
    ours = IteratedSearch(AugmentedLagrangian(max_iter=20_000)).run(problem, 0).best
    assert ours.residual <= 1e-6
    found = QuantityModel(problem, keep_start=True).solve(ours.params)
    assert np.isfinite(found.objective)
    assert found.objective >= ours.objective - 1e-5
    # It computes the same thing: where it ends, our formulas give its objective.
    there = AugmentedLagrangian(max_iter=1, max_rounds=1).solve(problem, found.params)
    assert there.objective == pytest.approx(found.objective, abs=1e-5)


@pytest.mark.parametrize(
    ("load", "depth", "alpha"),
    [
        pytest.param(load_iris, 2, 8.0, marks=SLOW),
        pytest.param(load_wine, 2, 16.0, marks=SLOW),
    ],
)
def test_ipopt_cannot_improve_a_likelihood(load, depth, alpha):
    """By 1e-5, leaves included."""
    X, y = load(return_X_y=True, as_frame=True)
    model = Model(depth, loss="log", table=TableOptions(scaling="minmax"))
    problem = Prepared.of(X.iloc[::2], y.iloc[::2], None, model).problem
    problem = problem.at(Strengths(alpha))
    ours = IteratedSearch(AugmentedLagrangian(max_iter=20_000)).run(problem, 0).best
    assert ours.residual <= 1e-6
    found = LikelihoodModel(problem, keep_start=True).solve(ours.params)
    assert found.objective >= ours.objective - 1e-5
    there = AugmentedLagrangian(max_iter=1, max_rounds=1).solve(problem, found.params)
    assert there.objective == pytest.approx(found.objective, abs=1e-5)
