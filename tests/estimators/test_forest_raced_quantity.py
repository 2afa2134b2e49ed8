"""Forests of a quantity around the tree of a race, whatever that tree is."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sorct.export import to_python

from sorct import Forest, SORCTForestRegressor, SORCTRegressor, SORCTRegressorCV, distil
from sorct.estimators import forest_fitting
from sorct.estimators.forest_measures import out_of_bag_score
from sorct.estimators.forest_raced import Raced
from tests.estimators.contract import each_check

QUICK = {"n_trees": 4, "n_starts": 1, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((150, 4)), columns=list("abcd"))
    X["town"] = rng.choice(["north", "south", "west"], 150)
    y = np.exp(X.a + X.b**2 + (X.town == "west") + 0.05 * rng.normal(size=150))
    return X, y.to_numpy()


#: What a race may end with: a number or a line, on y or its logarithm, bent or not.
ENDS = {
    "one line": {"depth": 0, "leaf": "linear"},
    "bent lines of the logarithm": {
        "depth": 1, "leaf": "linear", "link": "log", "scaling": "bent",
        "categorical": "dummies", "alpha_local": 40.0,
    },
    "numbers": {"depth": 2, "alpha_local": 0.5},
    "numbers of the logarithm": {
        "depth": 1, "link": "log", "scaling": "quantile", "alpha_local": 5.0,
    },
}  # fmt: skip


def raced_with(monkeypatch, table, options, whole=True):
    """Forests whose race ends with a tree of some of the variables."""
    X, y = table
    options = {"alpha_local": 1.0, **options}
    tree = SORCTRegressor(**options, n_starts=2, random_state=0).fit(X, y).tree_
    assert 0 < len(tree.variables_used) < 5
    told = {"relaxed": 1.0, "alpha_global": 0.0, "alpha_local": options["alpha_local"]}
    model = SORCTForestRegressor(**options)._model()
    found = Raced(tree, told, pd.DataFrame(), model, whole)
    monkeypatch.setattr(Raced, "of", lambda *asked, **more: found)
    return tree


@pytest.mark.parametrize("name", ENDS)
def test_the_tree_of_the_race_counts_as_much_as_all_others(monkeypatch, table, name):
    """Of logarithms the mean comes first, then the number that it is of."""
    X, y = table
    tree = raced_with(monkeypatch, table, ENDS[name])
    forest = SORCTForestRegressor(**QUICK).fit(X, y).forest_
    first, *others = forest.trees
    np.testing.assert_allclose(first.predict(X), tree.predict(X), rtol=1e-12)
    assert [one.depth for one in forest.trees[1:]] == 3 * [min(tree.depth + 1, 3)]
    table = forest.encoder.read(X)
    said = [one.mixed_table(table) for one in forest.trees]
    mixed = 0.5 * said[0] + 0.5 * np.mean(said[1:], axis=0)
    if tree.quantity.is_log:
        mixed = np.clip(np.exp(mixed), y.min(), y.max())
    np.testing.assert_allclose(forest.predict(X), mixed, rtol=1e-9)
    assert set(forest.variables_used) <= set(tree.variables_used)
    assert {one.leaf_kind for one in others} == {tree.leaf_kind}
    assert Forest.from_dict(forest.to_dict()) == forest


@pytest.mark.parametrize("name", ENDS)
def test_what_is_shown_of_it_agrees_with_what_it_predicts(monkeypatch, table, name):
    """Exports, the share explained that a page recognises rows by, a single tree."""
    X, y = table
    raced_with(monkeypatch, table, ENDS[name])
    model = SORCTForestRegressor(**QUICK).fit(X, y)
    forest, said = model.forest_, model.predict(X)
    scope = {}
    exec(to_python(forest), scope)
    rows = X.head(20).to_dict("records")
    np.testing.assert_allclose([scope["predict"](row) for row in rows], said[:20])
    assert forest.report(X, y).summary["data"]["is_training"]
    assert forest.training.training_score == pytest.approx(model.score(X, y))
    near = distil(forest, X, depth=1, leaf="linear", n_starts=2, random_state=0)
    assert near.tree_.quantity.link == forest.quantity.link
    assert np.corrcoef(near.predict(X), said)[0, 1] > 0.9


def test_it_is_grown_anew_on_all_rows_if_it_has_seen_some(monkeypatch, table):
    X, y = table
    tree = raced_with(monkeypatch, table, ENDS["one line"], whole=False)
    first = SORCTForestRegressor(**QUICK).fit(X, y).forest_.trees[0]
    # A single leaf is the LASSO, convex: the same up to the tolerances of solvers.
    near = np.abs(first.predict(X) - tree.predict(X)).max()
    assert 0.0 < near < 0.02 * y.std()


@pytest.mark.parametrize("name", ["one line", "numbers of the logarithm"])
def test_the_score_out_of_bag_is_of_y(monkeypatch, table, name):
    """By hand from the bags; what the race's tree has seen is left out."""
    seen = []

    def watched(prepared, grove, params, costs):
        said = [
            prepared.target.told(prepared.target.origin + prepared.target.unit * one)
            for one in grove.said(params, prepared.problem.data.rows)[:, 0]
        ]
        response = prepared.problem.data.rows.response
        y = prepared.target.told(
            prepared.target.origin + prepared.target.unit * response
        )
        outside, linked = grove.outside, prepared.target.linked
        known = outside.any(axis=0)
        mean = [
            np.mean([linked(one[i]) for one, out in pairs if out[i]])
            for i in np.flatnonzero(known)
            for pairs in [list(zip(said, outside, strict=True))]
        ]
        told = np.exp(mean) if prepared.target.is_log else mean
        seen.append(r2_score(y[known], told))
        return out_of_bag_score(prepared, grove, params, costs)

    raced_with(monkeypatch, table, ENDS[name])
    monkeypatch.setattr(forest_fitting, "out_of_bag_score", watched)
    model = SORCTForestRegressor(**QUICK).fit(*table)
    assert model.oob_score_ == pytest.approx(seen[0], abs=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"selection": "path"},
        {"depth": 1},
        {"alpha_local": 0.1},
        {"alpha_global": 0.01},
        {"gamma": 60.0},
        {"time_limit": 100.0},
        {"bootstrap": False},
        {"n_trees": [1, 2]},
    ],
)
def test_there_is_no_race_where_something_is_given(table, monkeypatch, options):
    def refuse(*asked, **more):
        raise AssertionError("a race")

    monkeypatch.setattr(Raced, "of", refuse)
    X, y = table
    given = {**QUICK, "n_trees": 2, "n_folds": 2, **options}
    forest = SORCTForestRegressor(**given).fit(X[:40], y[:40]).forest_
    assert np.ptp(forest.weights) == 0.0
    assert {tree.leaf_kind for tree in forest.trees} == {"constant"}


@pytest.mark.parametrize("options", [{"leaf": "linear"}, {"loss": "huber"}, {}])
def test_leaves_and_losses_leave_the_race_on(table, monkeypatch, options):
    asked = []
    monkeypatch.setattr(Raced, "of", lambda search, *_, **__: asked.append(search))
    X, y = table
    SORCTForestRegressor(**{**QUICK, "n_trees": 2}, **options).fit(X[:60], y[:60])
    told = asked[0].get_params()
    expected = {"leaf": "choose", "loss": "square", "rule": "best", **options}
    assert {name: told[name] for name in expected} == expected
    assert told["scaling"] == told["link"] == told["categorical"] == "choose"


@pytest.mark.parametrize("name", ["leaf", "link", "categorical"])
def test_what_is_no_choice_is_refused(table, name):
    with pytest.raises(ValueError, match=f"{name} must be one of .*choose"):
        SORCTForestRegressor(**{name: "foo"}).fit(*table)


def test_a_race_needs_fifty_rows(table):
    X, y = table
    for options in ({"selection": "race"}, {"rule": "fewest"}):
        with pytest.raises(ValueError, match="needs at least fifty rows"):
            SORCTForestRegressor(2, **options).fit(X[:49], y[:49])


@pytest.mark.slow
@pytest.mark.parametrize("most", [4096, 100])
def test_the_race_is_that_of_the_single_tree(monkeypatch, table, most):
    """It chooses what ``SORCTRegressorCV`` does, limits included."""
    monkeypatch.setattr("sorct.estimators.forest_estimator.LOOK_ROWS", most)
    X, y = table
    model = SORCTForestRegressor(3, max_features=2, random_state=0).fit(X, y)
    forest = model.forest_
    assert len(forest.variables_used) <= 2
    if most < len(X):
        return
    seed = np.random.RandomState(0).randint(2**31 - 1)
    single = SORCTRegressorCV(max_features=2, rule="best", random_state=seed).fit(X, y)
    tree = replace(single.tree_, gamma=forest.trees[0].gamma)
    share = single.tree_.gamma / tree.gamma
    tree = replace(tree, coef=share * tree.coef, threshold=share * tree.threshold)
    np.testing.assert_allclose(forest.trees[0].predict(X), tree.predict(X))
    fewest = SORCTForestRegressor(3, rule="fewest", random_state=0).fit(X, y).forest_
    every = SORCTForestRegressor(3, random_state=0).fit(X, y).forest_
    assert {"a", "b", "town"} <= set(fewest.variables_used)
    assert set(fewest.variables_used) < set(every.variables_used)


@pytest.mark.slow
def test_a_quantile_is_above_that_share_of_the_rows():
    """The race of its trees once ended in negative weights of leaves."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.random(200), "b": rng.random(200)})
    X["c"] = rng.choice(list("uvw"), 200)
    y = np.exp(2 * X.a + 2 * X.b**2 + (X.c == "u") + 0.1 * rng.normal(size=200))
    options = {"loss": "quantile", "quantile": 0.9, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SORCTForestRegressor(4, **options).fit(X, y)
    assert 0.8 < np.mean(y <= model.predict(X)) < 0.99


@pytest.mark.slow
@each_check(SORCTForestRegressor(2, n_starts=1, scaling="minmax", leaf="constant"))
def test_sklearn_compatible_around_a_race(estimator, check):
    """The default races; with fewer settings to choose from that is quicker."""
    check(estimator)
