"""The comparison of a quantity: LASSO, least squares, CART and our tree."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold

from sorct.estimators.compare.comparison import compare
from sorct.estimators.compare.kinds import ComparedQuantity
from sorct.estimators.compare.rivals import lasso_strengths
from sorct.estimators.compare.verdict import Sizes, Verdict, all_tests

SMALL = {"cv": 2, "alphas_local": 0.5, "n_solutions": 1, "random_state": 0}
#: Nothing is left to a race.
SMALL["options"] = {"leaf": "constant", "mixed": 0.1, "link": "identity"}
SMALL["options"] |= {"scaling": "auto", "gamma": "auto", "relax": False}


@pytest.fixture(scope="module")
def table():
    """A number that is linear in two of four columns, nearly without noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["one", "two", "three"])
    X["level"] = rng.choice(["a", "b"], 120)
    y = 5.0 * X["one"].to_numpy() + 4.0 * X["two"].to_numpy()
    return X, y + rng.normal(0.0, 0.2, 120)


@pytest.fixture(scope="module")
def found(table):
    """Compare on two folds, the LASSO with five strengths in place of 25."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sorct.estimators.compare.rivals._STRENGTHS", 5)
        return compare(*table, task="quantity", folds=2, depths=1, **SMALL)


def test_the_frame_has_means_over_the_folds(table, found):
    X, y = table
    order = ["CART", "LASSO", "OLS", "sorct", "mean", "median"]
    assert found.frame.index.tolist() == order
    assert found.scoring == "r2"
    folds = found.folds.groupby("method")[["r2", "rmse", "mae", "score"]].mean()
    pd.testing.assert_frame_equal(
        found.frame[["r2", "rmse", "mae", "score"]], folds.loc[order]
    )
    # The seed draws the folds, which are those of scikit-learn.
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    errors = [
        np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
        for train, test in KFold(2, shuffle=True, random_state=seed).split(X)
    ]
    own = found.folds[found.folds["method"] == "mean"]["rmse"]
    np.testing.assert_allclose(sorted(own), sorted(errors))


def test_rivals_count_variables_of_the_table(found):
    used = found.frame["variables"]
    assert 2.0 <= used["LASSO"] <= used["OLS"] == 4.0
    assert used["mean"] == 0.0


def test_every_pair_is_tested(found):
    assert len(found.tests) == 6 + 4
    assert (found.tests["other"] == "mean").sum() == 4


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([0.5, 0.9, 0.9, 0.9, 0.0], "speak against axis-parallel cuts"),
        ([0.5, 0.5, 0.4, 0.9, 0.0], "These data support oblique cuts"),
        ([0.0, 0.0, 0.0, 0.0, 0.0], "none of the four"),
    ],
)
def test_the_sentence_names_what_is_shown(rng, means, said):
    """Ten folds with the given means, hardly any noise and no fewer variables."""
    names = ["CART", "LASSO", "OLS", "sorct", "mean"]
    scores = pd.DataFrame(rng.normal(means, 1e-3, (10, 5)), columns=names)
    frame = pd.DataFrame(
        {"score": scores.mean(), "standard_error": 1e-3, "variables": 3.0}
    )
    kinds = ComparedQuantity.of(np.arange(5.0)).kinds(
        pd.DataFrame({"cuts": [1], "most_variables_per_cut": [2]})
    )
    among = names[:-1], "mean"
    tests = all_tests(scores, Sizes(90, 10), *among)
    assert said in Verdict(frame, tests, kinds, "r2", 0.05, *among).sentence()


@pytest.mark.slow
def test_noise_supports_nothing(rng):
    X = rng.normal(size=(60, 2))
    said = compare(
        X, rng.normal(size=60), task="quantity", folds=3, depths=1, **SMALL
    ).sentence
    assert "none of the four" in said
    assert "always answering the mean" in said


def test_the_first_strength_of_the_lasso_selects_nothing(rng):
    X, y = rng.normal(size=(50, 4)), rng.normal(3.0, 2.0, 50)
    X -= X.mean(axis=0)
    first, second, *_ = lasso_strengths(X, y)
    assert not Lasso(alpha=1.0000001 * first).fit(X, y).coef_.any()
    assert Lasso(alpha=second).fit(X, y).coef_.any()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "numbers"}, "task must be one of"),
        ({"task": "classes"}, "Pass task='quantity'"),
        ({"y": np.ones(120)}, "y is 1 in all rows"),
        ({"y": ["a"] * 120}, "y must be numbers"),
        ({"y": np.ones((120, 2))}, "several outputs"),
        ({"scoring": "accuracy"}, "does not work with numbers"),
        ({"scoring": "roc_auc"}, "does not work with numbers"),
    ],
)
def test_what_does_not_suit_is_refused_before_any_work(table, changes, said):
    given = {"X": table[0], "y": table[1], "task": "quantity", **SMALL, **changes}
    with pytest.raises((TypeError, ValueError), match=said):
        compare(given.pop("X"), given.pop("y"), **given)
