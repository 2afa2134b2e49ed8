"""Fitted classifiers answer what scikit-learn's users ask them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

from sorct import SORCTClassifier
from sorct.tree.decision import decision_scores, predicted_codes, preferences


def model(**options):
    """Make a classifier with few starts."""
    return SORCTClassifier(**{"n_starts": 2, "random_state": 0, **options})


@pytest.fixture(scope="module")
def iris():
    """Load three named classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()


@pytest.fixture(scope="module")
def pair(iris):
    """Take the two classes that overlap."""
    X, y = iris
    return X[y != "setosa"], y[y != "setosa"]


def with_costs(clf, costs):
    """Let a fitted classifier decide by other costs."""
    clf.tree_ = replace(clf.tree_, decision_cost=np.array(costs))
    return clf


def draws(n_classes, n=20_000):
    """Draw probabilities, many of them 0, 1 or equal to each other."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(n_classes, 0.05), n).T
    proba[:, : n // 4] = np.round(proba[:, : n // 4], 1)
    return proba


# -- decision_function -----------------------------------------------------------------


@pytest.mark.parametrize("costs", [None, [[0, 1], [9, 0]], [[0, 5], [1e-3, 0]]])
def test_a_score_above_0_is_the_second_of_two_classes(pair, costs):
    """Whatever the decision goes by."""
    X, y = pair
    clf = model(depth=1, gamma=64.0).fit(X, y)
    clf = clf if costs is None else with_costs(clf, costs)
    score = clf.decision_function(X)
    assert score.shape == (len(y),)
    np.testing.assert_array_equal(score > 0, clf.predict(X) == clf.classes_[1])
    order = np.argsort(clf.predict_proba(X)[:, 1], kind="stable")
    assert (np.diff(score[order]) >= 0).all()


@pytest.mark.parametrize("costs", [None, [[0, 1, 2], [7, 0, 1], [1, 3, 0]]])
def test_the_largest_score_of_several_classes_is_predicted(iris, costs):
    """One column per class."""
    X, y = iris
    clf = model(gamma=64.0).fit(X, y)
    plain = clf.predict(X)
    clf = clf if costs is None else with_costs(clf, costs)
    score = clf.decision_function(X)
    assert score.shape == (len(y), 3)
    np.testing.assert_array_equal(clf.classes_[score.argmax(axis=1)], clf.predict(X))
    assert (costs is None) == bool((plain == clf.predict(X)).all())


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("priced", [False, True])
def test_scores_and_predictions_agree_to_the_last_bit(n_classes, priced):
    """On ties, zeros and ones, and where logarithms are rounded."""
    proba, costs = draws(n_classes), None
    if priced:
        rng = np.random.default_rng(1)
        costs = rng.uniform(0.0, 3.0, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    score, codes = decision_scores(proba, costs), predicted_codes(proba, costs)
    by_score = score > 0 if n_classes == 2 else score.argmax(axis=1)
    np.testing.assert_array_equal(by_score, codes)
    np.testing.assert_array_equal(preferences(proba, costs).argmax(axis=0), codes)


def test_the_score_of_a_logistic_regression_is_its_log_odds(pair):
    """One cut between two classes, trained by the likelihood: gamma (a x / p - mu)."""
    X, y = pair
    clf = model(depth=1, loss="log", alpha_local=0.1).fit(X, y)
    tree = clf.tree_
    own = tree.scores(np.column_stack(tree.encoder.columns(X)))[0]
    own = own if tree.leaf_class[0] == 1 else -own
    np.testing.assert_allclose(clf.decision_function(X), own, atol=1e-6)


# -- log probabilities and leaves ------------------------------------------------------


def test_log_probabilities_are_the_logarithms(iris):
    """Also of 0, without a warning."""
    X, _ = iris
    clf = model(gamma=1e5).fit(*iris)
    logs, proba = clf.predict_log_proba(X), clf.predict_proba(X)
    np.testing.assert_allclose(np.exp(logs), proba, rtol=1e-12)
    assert (proba == 0.0).any()
    np.testing.assert_array_equal(np.isneginf(logs), proba == 0.0)


def test_the_leaf_is_that_of_the_rules_followed_by_hand(iris):
    """Where a row comes when it takes the more probable side at every cut."""
    X, _ = iris
    clf = model(depth=3, loss="log", alpha_local=0.01).fit(*iris)
    leaf = clf.apply(X)
    np.testing.assert_array_equal(leaf, clf.tree_.apply(X))
    assert leaf.shape == (len(X),)
    assert set(leaf) <= set(range(8))
    by_hand = clf.classes_[clf.leaf_class_[leaf]]
    np.testing.assert_array_equal(by_hand, clf.tree_.follow(X))


# -- importances -----------------------------------------------------------------------


def test_importances_are_those_of_the_variables_used(rng):
    """One per variable of the table, a category being one; unused ones have 0."""
    n = 300
    X = pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "kind": rng.choice(list("abc"), n),
            "size": rng.normal(size=n),
        }
    )
    y = (X["size"] + 0.3 * (X["kind"] == "a")) > 0
    clf = model(depth=1, alpha_local=0.05, loss="log").fit(X, y)
    shares = dict(zip(clf.feature_names_in_, clf.feature_importances_, strict=True))
    assert clf.feature_importances_.shape == (clf.n_features_in_,)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert {name for name, share in shares.items() if share > 0} == set(
        clf.tree_.variables_used
    )
    assert shares["noise"] < shares["kind"] < shares["size"]


def test_importances_are_sizes_weighted_by_who_comes_there(iris):
    """By hand for a tree of three cuts."""
    clf = model(alpha_local=0.01).fit(*iris)
    coef, mass = np.abs(clf.coef_), clf.tree_.mass.sum(axis=0)
    by_hand = coef @ [mass.sum(), mass[:2].sum(), mass[2:].sum()]
    expected = by_hand / by_hand.sum()
    np.testing.assert_allclose(clf.feature_importances_, expected, rtol=1e-12)


def test_a_tree_without_variables_has_importances_of_0(iris):
    """And columns are chosen by importance where there are some."""
    X, y = iris
    empty = model(alpha_local=1000.0).fit(X, y)
    np.testing.assert_array_equal(empty.feature_importances_, np.zeros(4))
    by = {"threshold": 1e-9, "importance_getter": "feature_importances_"}
    chosen = SelectFromModel(model(alpha_global=0.1), **by).fit(X, y)
    used = chosen.estimator_.tree_.variables_used
    assert list(chosen.get_feature_names_out()) == list(used)


@pytest.mark.parametrize("ask", ["decision_function", "apply", "predict_log_proba"])
def test_nothing_is_told_before_training(iris, ask):
    """As scikit-learn says it; importances are no attribute yet."""
    with pytest.raises(NotFittedError):
        getattr(model(), ask)(iris[0])
    assert not hasattr(model(), "feature_importances_")
