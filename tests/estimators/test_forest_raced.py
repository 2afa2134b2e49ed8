"""Forests around the tree of a race: who is in, how much they count, when there is one.

The race itself takes seconds and is tested elsewhere; here its tree is mostly given.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from sorct import Forest, SORCTClassifier, SORCTClassifierCV, SORCTForestClassifier
from sorct.estimators import forest_estimator
from sorct.estimators.forest_raced import Raced
from sorct.tree.forest import of_one_steepness
from tests.estimators.contract import each_check

QUICK = {"n_trees": 4, "n_starts": 1, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((120, 5)), columns=list("abcde"))
    y = np.where(X.a + X.b + 0.3 * rng.normal(size=120) > 1.0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def chosen(table):
    """A tree of one gentle cut with some of the variables, as a race may choose."""
    model = SORCTClassifier(1, 3.0, loss="log", gamma="gentle", random_state=0)
    tree = model.fit(*table).tree_
    assert 0 < len(tree.variables_used) < 5
    return tree


@pytest.fixture
def raced(monkeypatch, chosen):
    """Forests whose race ends with that tree, having seen all rows or some."""

    def of(whole):
        settings = {"relaxed": 1.0, "alpha_local": 3.0, "alpha_global": 0.0}
        model = SORCTForestClassifier()._model()
        found = Raced(chosen, settings, pd.DataFrame(), model, whole)
        monkeypatch.setattr(Raced, "of", lambda *asked, **more: found)

    return of


def test_the_tree_of_the_race_counts_as_much_as_all_others(table, chosen, raced):
    raced(True)
    model = SORCTForestClassifier(**QUICK).fit(*table)
    forest, X = model.forest_, table[0]
    first, *others = (tree.predict_proba(X) for tree in forest.trees)
    np.testing.assert_allclose(first, chosen.predict_proba(X), atol=1e-12)
    expected = 0.5 * first + 0.5 * np.mean(others, axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert [tree.depth for tree in forest.trees] == [1, 2, 2, 2]
    assert set(forest.variables_used) <= set(chosen.variables_used)
    assert Forest.from_dict(forest.to_dict()) == forest
    assert model.oob_score_ > 0.6
    assert "depth 1 and 2" in str(forest)


def test_it_is_grown_anew_on_all_rows_if_it_has_seen_some(table, chosen, raced):
    raced(False)
    X, y = table
    model = SORCTForestClassifier(**QUICK).fit(X, y)
    first = model.forest_.trees[0]
    # One cut by likelihood is convex: the same tree, up to the solvers' tolerances.
    np.testing.assert_allclose(
        first.predict_proba(X), chosen.predict_proba(X), atol=0.02
    )
    alone = SORCTForestClassifier(1, n_starts=1, random_state=0).fit(X, y)
    assert alone.forest_.n_trees == 1
    np.testing.assert_allclose(alone.predict_proba(X), first.predict_proba(X))


@pytest.mark.parametrize(
    "options",
    [
        {"selection": "path", "depth": 1},
        {"depth": 1},
        {"alpha_global": 0.0, "depth": 1},
        {"n_trees": [2, 3], "depth": 1},
        {"time_limit": 100.0, "alpha_global": 0.0, "depth": 1},
    ],
)
def test_there_is_no_race_where_something_is_given(table, monkeypatch, options):
    def refuse(*asked, **more):
        raise AssertionError("a race")

    monkeypatch.setattr(Raced, "of", refuse)
    model = SORCTForestClassifier(**{**QUICK, "n_folds": 2, **options}).fit(*table)
    assert np.ptp(model.forest_.weights) == 0.0
    with pytest.raises(AssertionError, match="a race"):
        SORCTForestClassifier(**QUICK).fit(*table)


@pytest.mark.slow
def test_there_is_no_race_where_a_class_cannot_be_held_out(table):
    X, y = table
    few = np.r_[np.flatnonzero(y == "yes")[:3], np.flatnonzero(y == "no")[:9]]
    forest = SORCTForestClassifier(**QUICK, n_folds=2).fit(X.iloc[few], y[few]).forest_
    assert np.ptp(forest.weights) == 0.0


def test_a_race_that_is_asked_for_is_held_or_refused(table):
    """And not replaced by a path without a word."""
    with pytest.raises(ValueError, match="selection must be one of"):
        SORCTForestClassifier(selection="draw").fit(*table)
    with pytest.raises(ValueError, match="chooses 'depth', 'n_trees' itself"):
        SORCTForestClassifier([2, 3], depth=1, selection="race").fit(*table)
    X, y = table
    few = np.r_[np.flatnonzero(y == "yes")[:3], np.flatnonzero(y == "no")[:9]]
    for options in ({"selection": "race"}, {"rule": "fewest"}):
        with pytest.raises(ValueError, match="five rows of every class"):
            SORCTForestClassifier(2, **options).fit(X.iloc[few], y[few])


def test_trees_of_one_steepness_say_the_same(table, chosen):
    X = table[0]
    steeper = replace(chosen, gamma=8.0 * chosen.gamma)
    one, two = of_one_steepness((chosen, steeper))
    assert one.gamma == two.gamma == steeper.gamma
    assert np.array_equal(one.predict_proba(X), chosen.predict_proba(X))
    assert two is steeper


@pytest.mark.slow
@pytest.mark.parametrize("most", [4096, 60])
def test_the_race_is_that_of_the_single_tree(monkeypatch, most):
    """It chooses what ``SORCTClassifierCV`` does, limits included."""
    monkeypatch.setattr(forest_estimator, "LOOK_ROWS", most)
    X, y = load_iris(return_X_y=True, as_frame=True)
    # Of two classes a race is soon over.
    X, y = X[50:], y[50:]
    model = SORCTForestClassifier(3, max_features=2, random_state=0).fit(X, y)
    forest = model.forest_
    assert len(forest.variables_used) <= 2
    assert model.score(X, y) > 0.9
    if most < len(X):
        return
    seed = np.random.RandomState(0).randint(2**31 - 1)
    options = {"loss": "log", "max_features": 2, "rule": "best"}
    single = SORCTClassifierCV(**options, random_state=seed).fit(X, y)
    np.testing.assert_array_equal(
        forest.trees[0].predict_proba(X), single.tree_.predict_proba(X)
    )


@pytest.mark.slow
@each_check(SORCTForestClassifier(2, n_starts=1, scaling="minmax"))
def test_sklearn_compatible_around_a_race(estimator, check):
    """The default races; with one scaling to choose from that takes a third."""
    check(estimator)
