"""SORCTRegressor and SORCTRegressorCV: promises to users, and peers."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from sorct import Path, SORCTRegressor, SORCTRegressorCV, Tree, export_text, sorct_path
from sorct.data.planted import make_planted_tree
from sorct.data.quantity import Quantity
from sorct.estimators import folds
from sorct.estimators.candidates import choose, not_behind
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.path import trace
from sorct.problem.residual import SLOPE_UNIT
from tests.estimators.contract import each_check

QUICK = {"n_starts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def houses():
    """A table with every kind of column, and a price with a step in it."""
    rng, n = np.random.default_rng(0), 240
    X = pd.DataFrame(
        {
            "size": rng.uniform(20.0, 200.0, n),
            "age": rng.integers(0, 90, n).astype(float),
            "zone": rng.choice(list("ABC"), n),
            "noise": rng.random(n),
        }
    )
    y = 1000.0 * X["size"] + 40_000.0 * ((X.zone == "A") & (X["size"] > 100))
    y = y - 200.0 * X.age + rng.normal(0.0, 3000.0, n)
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    return X, y.to_numpy()


few_steps = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@few_steps
@each_check(SORCTRegressor(0, 0.1, leaf="linear"))
def test_sklearn_compatible(estimator, check):
    """No check is expected to fail; small tables and no penalty converge slowly."""
    check(estimator)


@pytest.mark.slow
@few_steps
@each_check(
    SORCTRegressor(n_starts=2, max_iter=200, tol=1e-3),
    SORCTRegressorCV(
        1,
        0.1,
        leaf="constant",
        mixed=0.1,
        link="identity",
        scaling="auto",
        relax=False,
        cv=2,
        n_solutions=1,
    ),  # fmt: skip
    shares=2,
)
def test_the_contract_holds_for_trees_and_searches(estimator, check):
    """No check is expected to fail; small tables and no penalty converge slowly."""
    check(estimator)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_same_whatever_the_units_and_the_order(houses, leaf):
    X, y = houses
    model = SORCTRegressor(1, 0.5, leaf=leaf, **QUICK)
    first = model.fit(X, y).predict(X)
    order = np.random.default_rng(1).permutation(len(y))
    np.testing.assert_array_equal(model.fit(X.iloc[order], y[order]).predict(X), first)
    # A power of two is exact: another rounding might lead to another optimum.
    np.testing.assert_allclose(model.fit(X, 8.0 * y).predict(X) / 8.0, first, rtol=1e-9)


def test_weight_two_is_a_row_twice(houses):
    X, y = houses
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    one = SORCTRegressor(1, 0.5, **QUICK).fit(X, y, weight)
    two = SORCTRegressor(1, 0.5, **QUICK).fit(X.iloc[twice], y[twice])
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-9)


def test_depth_zero_is_the_lasso_of_sklearn():
    """On columns of unit variance, as is usual."""
    X, y = load_diabetes(return_X_y=True)
    spread = (X / np.ptp(X, axis=0)).std(axis=0)
    unit = StandardScaler().fit_transform(X)
    lasso = Lasso(alpha=0.05 * y.std(), tol=1e-12, max_iter=100_000).fit(unit, y)
    alpha = 2.0 * 0.05 * X.shape[1] * SLOPE_UNIT * spread.mean()
    own = SORCTRegressor(0, alpha, leaf="linear", scaling="minmax", tol=1e-10)
    own.fit(X, y)
    np.testing.assert_allclose(
        own.leaf_coef_[:, 0] * spread, lasso.coef_, atol=1e-6 * y.std()
    )
    np.testing.assert_allclose(own.predict(X), lasso.predict(unit), atol=1e-6 * y.std())


def test_quantiles_hold_their_share(houses):
    X, y = houses
    for level in (0.1, 0.9):
        model = SORCTRegressor(1, 0.2, loss="quantile", quantile=level, **QUICK)
        below = (y <= model.fit(X, y).predict(X)).mean()
        assert below == pytest.approx(level, abs=0.04)


def test_a_wild_response_moves_the_median_less(houses):
    X, y = houses
    wild = y.copy()
    wild[:5] += 1e7
    gaps = {}
    for loss in ("square", "absolute", "huber"):
        model = SORCTRegressor(1, 0.05, loss=loss, **QUICK).fit(X, wild)
        gaps[loss] = np.median(np.abs(model.predict(X) - y))
    assert gaps["absolute"] < gaps["huber"] < gaps["square"]


@pytest.mark.parametrize(
    ("depth", "least"), [(2, 0.98), pytest.param(3, 0.95, marks=pytest.mark.slow)]
)
def test_a_planted_tree_is_found(depth, least):
    planted = make_planted_tree(
        800, 6, depth, 2**depth, 2, 0.2, random_state=3, task="regression"
    )
    n_starts = 8 if depth == 2 else "auto"
    model = SORCTRegressor(
        depth, 0.02, gamma=512.0 * 6, n_starts=n_starts, random_state=0
    )
    predicted = model.fit(planted.X, planted.y).predict(planted.X)
    assert r2_score(planted.y_clean, predicted) >= least


def test_files_bring_the_same_tree_back(houses, tmp_path):
    X, y = houses
    for leaf in ("constant", "linear"):
        tree = SORCTRegressor(1, 0.5, leaf=leaf, **QUICK).fit(X, y).tree_
        tree.to_json(tmp_path / "tree.json")
        again = Tree.from_json(tmp_path / "tree.json")
        assert again == tree
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))
        plain = tree.to_dict()
        for name in ("leaf_value", "quantity", "mass"):
            for odd in (None, [], "x", [[1]]):
                with pytest.raises(ValueError, match="damaged"):
                    Tree.from_dict({**plain, name: odd})


def test_a_path_of_a_quantity(houses, tmp_path):
    X, y = houses
    path = sorct_path(X, y, loss="square", depth=1, n_solutions=2, random_state=0)
    objective = path.to_frame()["objective"].to_numpy()
    assert (np.diff(objective) >= -1e-9).all()
    assert not path.trees[-1].variables_used or len(path.trees[-1].variables_used) < 3
    frame = path.evaluate(X, y)
    assert {"r2", "rmse"} <= set(frame)
    few = path.select(X, y, max_features=2)
    assert len(few.variables_used) <= 2
    path.to_json(tmp_path / "path.json")
    assert Path.from_json(tmp_path / "path.json") == path
    with pytest.raises(ValueError, match="min_recall is for classes"):
        sorct_path(X, y, loss="square", min_recall=0.5)


def test_a_search_chooses_and_tells(houses):
    X, y = houses
    search = SORCTRegressorCV(
        1, [0.5, 5.0], scaling="auto", link="identity", mixed=0.1, gamma=128.0,
        relax=False, cv=2, n_solutions=1, tol=1e-3, max_features=3, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_["leaf"] in ("constant", "linear")
    assert set(search.cv_results_["leaf"]) <= {"constant", "linear"}
    told = search.tree_.training
    assert told.cv_scoring == "minus the mean squared error"
    assert 0.9 < told.cv_r2 <= 1.0
    assert len(search.tree_.variables_used) <= 3
    assert "mean squared error" in search.why_
    json.dumps(search.tree_.to_dict())


@pytest.mark.slow
def test_scorers_of_sklearn_work(houses):
    X, y = houses
    search = SORCTRegressorCV(
        1, 0.5, leaf="constant", scaling="auto", gamma="auto", relax=False, cv=2,
        n_solutions=1, tol=1e-3, scoring="neg_mean_absolute_error", random_state=0,
    )  # fmt: skip
    assert search.fit(X, y).best_score_ < 0.0
    assert cross_val_score(SORCTRegressor(1, 1.0, **QUICK), X, y, cv=2).min() > 0.5


def test_prices_and_limits_count_variables_once(houses):
    X, y = houses
    free = SORCTRegressor(1, 0.0, 0.3, leaf="linear", **QUICK).fit(X, y)
    dear = SORCTRegressor(
        1, 0.0, 0.3, leaf="linear", feature_cost={"size": 300}, **QUICK
    ).fit(X, y)
    assert "size" in free.tree_.variables_used
    assert dear.feature_importances_[0] < free.feature_importances_[0]
    tree = free.tree_
    used = (tree.coef.any(axis=1) | tree.leaf_coef.any(axis=1)).sum()
    assert len(tree.columns_used) == used


def test_rules_tell_what_rows_are(houses):
    X, y = houses
    tree = SORCTRegressor(1, 1.0, **QUICK).fit(X, y).tree_
    leaf = tree.apply(X)
    for k in range(tree.n_leaves):
        assert tree.leaf_mean[k] == pytest.approx(y[leaf == k].mean())
        assert tree.leaf_miss[k] == pytest.approx(y[leaf == k].std())
    np.testing.assert_allclose(tree.follow(X), tree.leaf_mean[leaf])
    text = export_text(tree)
    assert "≈" in text
    assert "(±" in text
    assert tree.training.r2 == pytest.approx(r2_score(y, tree.predict(X)))


def test_numbers_are_told_to_the_digits_that_count():
    target = Quantity(0.0, 1.0, -1.0, 1.0)
    assert target.value_text(212_345.6, 18_123.0) == "212 000 (± 18 000)"
    assert target.value_text(20.913, 7.1) == "20.9 (± 7.1)"
    assert target.value_text(-0.0123, 0.00456) == "-0.0123 (± 0.0046)"
    tiny = Quantity(0.0, 1e-19, -1e-19, 1e-19)
    assert tiny.value_text(-2.24e-20, 9.8e-20) == "-2.2e-20 (± 9.8e-20)"
    assert "±" not in target.value_text(327.0, 4.5e-14)
    assert target.value_text(5.43e60, 1.2e59) == "5.43e+60 (± 1.2e+59)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "log"}, "loss must be one of"),
        ({"leaf": "round"}, "leaf must be one of"),
        ({"quantile": 1.0}, "quantile must be a share"),
        ({"quantile": 0.9}, "quantile=0.9 needs loss='quantile', got loss='square'"),
        ({"depth": 0}, "with leaf='linear'"),
        ({"depth": 99}, "depth must be at most"),
    ],
)
def test_what_cannot_be_is_refused(houses, options, message):
    X, y = houses
    with pytest.raises(ValueError, match=message):
        SORCTRegressor(**options).fit(X, y)


def test_targets_that_are_no_quantity_are_refused(houses):
    X, y = houses
    with pytest.raises(ValueError, match="several outputs are not supported"):
        SORCTRegressor().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y must be numbers"):
        SORCTRegressor().fit(X, np.where(y > 0, "a", "b"))
    tree = SORCTRegressor(1, **QUICK).fit(X, y).tree_
    for ask in (tree.predict_proba, tree.predict_bayes):
        with pytest.raises(TypeError, match="predicts a quantity"):
            ask(X)


@pytest.mark.slow
def test_what_is_chosen_on_some_rows_is_finished_on_all(houses, monkeypatch):
    X, y = houses
    for place in ("finishing", "regressor_cv"):
        monkeypatch.setattr(f"sorct.estimators.{place}.PATH_ROWS", 100)
    few = replace(folds._OF_QUANTITY, most_rows=100)
    monkeypatch.setattr(folds, "_OF_QUANTITY", few)
    search = SORCTRegressorCV(
        1, 0.5, leaf="linear", mixed=0.1, link="identity", scaling="auto", cv=2,
        n_solutions=1, handle_missing="typical", random_state=0,
    ).fit(X, y)  # fmt: skip
    told = search.tree_.training
    assert told.n_samples == len(y)
    assert told.residual <= 1e-6
    assert told.cv_r2 is not None
    # What the leaves' rows are was seen on all rows too.
    leaf = search.tree_.apply(X)
    assert search.tree_.routed[0, 0] == pytest.approx(np.mean(leaf == 0))
    some = next(tree for tree in search.path_.offered if tree != search.tree_)
    assert some.training.objective != told.objective


def test_the_paired_rule_asks_for_the_noise_of_differences():
    """Hard folds blur scores and not differences; fewer variables win ties."""
    scores = np.array(
        [
            [-9.0, -1.0, -5.0],
            [-9.1, -1.0, -5.2],
            [-9.1, -0.9, -5.05],
            [-12.0, -6.0, -9.0],
        ]
    )
    results = pd.DataFrame(
        {
            "mean_score": scores.mean(axis=1),
            "se_score": scores.std(axis=1, ddof=1) / 3**0.5,
            "n_variables": [5, 1, 3, 0],
            "local_sparsity": 0.0,
            **{f"split{k}_score": scores[:, k] for k in range(3)},
        }
    )
    every = np.ones(4, dtype=bool)
    assert not_behind(results, every).tolist() == [True, False, True, False]
    assert choose(results, "best", every) == 0
    assert choose(results, "paired", every) == 2
    assert choose(results, "one-standard-error", every) == 1


@pytest.mark.parametrize(("gap", "noise", "kept"), [
    (0.004, 0.0, True),  # hardly anything is lost, however sure that is
    (0.006, 0.0, False),
    (0.015, 0.02, True),
    (0.025, 0.2, False),  # too much is lost, however unsure that is
])  # fmt: skip
def test_the_paired_rule_gives_up_little_and_some(gap, noise, kept):
    """Between half and two hundredths of what the best gains, whatever folds say."""
    away = noise * 3**0.5 * np.array([-1.0, 0.0, 1.0])
    scores = np.array([[0.0] * 3, away - gap, [-1.0] * 3])
    results = pd.DataFrame(
        {
            "mean_score": scores.mean(axis=1),
            "n_variables": [5, 3, 1],
            **{f"split{k}_score": scores[:, k] for k in range(3)},
        }
    )
    found = not_behind(results, np.ones(3, dtype=bool))
    assert found.tolist() == [True, kept, False]


@pytest.mark.parametrize(("r2", "gap", "kept"), [
    (0.5, 0.0045, True), (0.5, 0.0055, False),  # a hundredth of what is gained
    (0.9, 0.002, True), (0.9, 0.003, False),  # of what is left 2.5 times
])  # fmt: skip
def test_of_a_quantity_small_gains_count_where_little_is_left(r2, gap, kept):
    """The variance is 1; what the sparsest tree explains does not matter."""
    scores = np.repeat([[r2 - 1.0], [r2 - 1.0 - gap], [-0.7]], 3, axis=1)
    results = pd.DataFrame(
        {
            "mean_score": scores.mean(axis=1),
            "mean_r2": scores.mean(axis=1) + 1.0,
            "n_variables": [5, 3, 1],
            **{f"split{k}_score": scores[:, k] for k in range(3)},
        }
    )
    assert not_behind(results, np.ones(3, dtype=bool)).tolist() == [True, kept, False]


def test_the_tree_chosen_is_searched_for_once_more(rng):
    """With its variables and its penalty; nothing is lost by it."""
    X = rng.uniform(size=(150, 3))
    y = np.sin(6.0 * X[:, 0]) * np.where(X[:, 1] > 0.5, 1.0, -1.0)
    search = SORCTRegressorCV(
        2, [0.2, 20.0], leaf="constant", mixed=0.1, scaling="auto", link="identity",
        cv=2, n_solutions=1, relax=False, rule="best", random_state=0,
    ).fit(X, y)  # fmt: skip
    before = search.cv_results_["objective"][search.best_index_]
    assert search.tree_.training.objective <= before + 1e-9
    assert search.score(X, y) > 0.5


def test_relaxed_trees_are_fitted_under_the_strength_that_was_best(rng):
    """A share of every penalty that leads to one strength, less with few variables.

    Weak points keep theirs.
    """
    X = rng.uniform(size=(120, 4))
    y = X[:, 0] + np.where(X[:, 1] > 0.5, 2.0, 0.0) + 0.1 * rng.normal(size=120)
    model = Model(1, loss="square", of_quantity=True)
    prepared = Prepared.of(X, y, None, model)
    alphas = np.array([0.01, 0.1, 1.0])
    path = trace(
        prepared, alphas, np.zeros(1), 2, Effort(1e-6, 500, None, 1, 0), 0, relax_to=0.1
    )
    shares = [tree.training.relaxed for tree in path.relaxed]
    used = len(path.trees[2].variables_used) / 4.0
    assert shares == [None, None, pytest.approx(0.1 * used)]
    own, eased = path.trees[2].training, path.relaxed[2].training
    assert eased.cost <= own.cost


@pytest.mark.parametrize(("n_variables", "depths", "n_finalists"), [
    (40, (0, 1, 2, 3), 2), (41, (0, 1), 1),
])  # fmt: skip
def test_races_on_wide_tables_try_less(rng, n_variables, depths, n_finalists):
    """Fewer depths and scalings, one share; what a user gives stays."""
    X = pd.DataFrame(rng.normal(size=(50, n_variables)))
    target = Quantity(0.0, 1.0, -1.0, 1.0)
    found = SORCTRegressorCV()._choices(X, target)
    assert found.depths == depths
    assert found.n_finalists == n_finalists == len(found.shares)
    assert len(found.scalings) == n_finalists + 1
    given = SORCTRegressorCV(depths=[3], mixed=0.0, scaling="quantile")
    given = given._choices(X, target)
    assert (given.depths, given.shares, given.scalings) == ((3,), (0.0,), ("quantile",))


def test_levels_are_chosen_one_by_one_where_that_is_enough(rng):
    """One level of eight matters, and the tree asks for that one alone."""
    X = pd.DataFrame(
        {"town": rng.choice(list("abcdefgh"), 160), "size": rng.random(160)}
    )
    y = 2.0 * (X["town"] == "c") + X["size"] + 0.1 * rng.normal(size=160)
    fixed = {
        "depths": 0, "leaf": "linear", "mixed": 0.1, "scaling": "auto",
        "link": "identity", "cv": 2, "n_solutions": 1, "random_state": 0,
    }  # fmt: skip
    search = SORCTRegressorCV(**fixed).fit(X, y)
    assert search.tree_.columns_used == ("town = c", "size")
    assert search.best_params_["categorical"] == "dummies"
    whole = SORCTRegressorCV(**fixed, categorical="whole").fit(X, y)
    assert len(whole.tree_.columns_used) == 9
    assert "categorical" not in whole.best_params_


def test_both_ways_to_read_categories_race_where_there_are_any(rng):
    target = Quantity(0.0, 1.0, -1.0, 1.0)
    numbers = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    two = numbers.assign(sex=rng.choice(["f", "m"], 50))
    three = numbers.assign(town=rng.choice(["x", "y", "z"], 50))
    search = SORCTRegressorCV()
    assert search._choices(numbers, target).categoricals == (None,)
    assert search._choices(two, target).categoricals == (None,)
    choices = search._choices(three, target)
    assert {one.categorical for one in choices.first} == {"dummies"}
    best = choices.first[0]
    assert replace(best, categorical="whole") in choices.next(choices.first, best)
    for given in ({"categorical": "whole"}, {"monotonic_cst": {"a": 1}}):
        assert SORCTRegressorCV(**given)._choices(three, target).categoricals == (None,)
