"""Outside truth: IPOPT finds no better tree of a quantity from where ours ended."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from benchmarks.quantity_ipopt import QuantityModel
from sorct.data.options import TableOptions
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.penalty import Strengths
from sorct.search.starts import draw_start
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import never

pytest.importorskip("casadi")

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("depth", "leaf", "alpha"),
    [
        (1, "linear", 5.0),
        pytest.param(2, "constant", 1.0, marks=SLOW),
        pytest.param(2, "linear", 5.0, marks=SLOW),
        pytest.param(3, "constant", 1.0, marks=SLOW),
    ],
)
def test_ipopt_cannot_improve(depth, leaf, alpha):
    """By 1e-5 of the variance of y, which is 1 inside."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = X.iloc[::3], y.iloc[::3]
    table = TableOptions(scaling="minmax")
    model = Model(depth, loss="square", of_quantity=True, leaf=leaf, table=table)
    problem = Prepared.of(X, y, None, model).problem.at(Strengths(alpha))
    start = draw_start(problem, 0, 1, never()).params
    ours = AugmentedLagrangian(tol=1e-7, max_iter=20_000).solve(problem, start)
    assert ours.residual <= 1e-6
    found = QuantityModel(problem, keep_start=True).solve(ours.params)
    assert np.isfinite(found.objective)
    assert found.objective >= ours.objective - 1e-5
    # It computes the same thing: where it ends, our formulas give its objective.
    there = AugmentedLagrangian(max_iter=1, max_rounds=1).solve(problem, found.params)
    assert there.objective == pytest.approx(found.objective, abs=1e-5)
