"""Penalties by spread: scaling="standard" is what standardising columns does."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from sorct import SORCTClassifier
from sorct.data.options import TableOptions
from sorct.estimators.fitting import Model, Prepared


@pytest.fixture(scope="module")
def uneven():
    """Columns of very different spreads, within their ranges too."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=300),
            rng.random(300) < 0.05,
            1000.0 * rng.random(300),
            rng.standard_t(3, 300),
        ]
    ).astype(float)
    score = X[:, 0] + 2.0 * X[:, 1] + X[:, 2] / 500.0 - 1.0 + 0.3 * X[:, 3]
    return X, (score + rng.logistic(size=300) > 0.0).astype(int)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_one_cut_is_l1_logistic_regression_on_standardised_columns(uneven, alpha):
    """To 1e-5 in the coefficients of the standardised columns."""
    X, y = uneven
    clf = SORCTClassifier(
        1, alpha, loss="log", scaling="standard", tol=1e-9, max_iter=100_000
    ).fit(X, y)
    tree = clf.tree_
    # A quarter of the range is the usual spread.
    strength = len(y) * alpha * 4.0 / tree.gamma
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rival = LogisticRegression(
        C=1.0 / strength, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=1_000_000
    ).fit(Z, y)
    sign = 1.0 if tree.leaf_class[0] == 1 else -1.0
    slope = sign * tree.gamma / X.shape[1] * tree.coef[:, 0]
    standardised = slope * X.std(axis=0) / np.ptp(X, axis=0)
    np.testing.assert_allclose(standardised, rival.coef_[0], atol=1e-5)


def penalty_of(X, y, scaling):
    """Strengths of the variables of a table."""
    model = Model(depth=1, loss="log", table=TableOptions(scaling=scaling))
    return Prepared.of(X, y, None, model).problem.penalty.local


def test_variables_pay_by_what_they_can_add(uneven):
    """Standard deviations, of two levels twice that; others pay as they did."""
    X, y = uneven
    table = pd.DataFrame(X[:, [0, 2]], columns=["a", "b"])
    table["two"] = np.where(X[:, 1] > 0, "rare", "usual")
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    spread = np.append(scaled.std(axis=0)[[0, 2]], 2.0 * scaled.std(axis=0)[1])
    np.testing.assert_allclose(penalty_of(table, y, "standard"), spread / 0.25)
    np.testing.assert_array_equal(penalty_of(table, y, "auto"), np.ones(3))
    mixed = penalty_of(table, y, {"b": "standard"})
    np.testing.assert_allclose(mixed, [1.0, spread[1] / 0.25, 1.0])


def test_weight_two_is_the_row_twice(uneven):
    """Spreads count rows by their weights."""
    X, y = uneven
    weight = np.where(np.arange(300) % 3 == 0, 2, 1)
    model = Model(depth=1, loss="log", table=TableOptions(scaling="standard"))
    weighted = Prepared.of(X, y, weight, model).problem.penalty.local
    twice = np.repeat(np.arange(300), weight)
    repeated = Prepared.of(X[twice], y[twice], None, model).problem.penalty.local
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
