"""SORCTClassifierCV equals a plain loop over folds, and chooses as it says."""

import pickle
import re
import sys
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    make_scorer,
)
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import sorct.warm_up
from sorct import InfeasibleError, SORCTClassifierCV, sorct_path
from sorct.estimators_cv import choose
from tests.test_encode import mixed_table

ALPHAS = [0.0, 0.1, 1.0]
PROMISED = [
    "depth", "gamma", "alpha_local", "alpha_global", "mean_score", "std_score",
    "se_score", "split0_score", "split1_score", "split2_score", "rank", "n_columns",
    "n_variables", "most_variables_per_cut", "local_sparsity", "global_sparsity",
    "objective", "cost",
]  # fmt: skip


def model(**options):
    """Make a search over three strengths with small pools and three folds."""
    few = {"alphas_local": ALPHAS, "n_solutions": 4, "cv": 3, "random_state": 0}
    return SORCTClassifierCV(**{**few, **options})


@pytest.fixture(scope="module")
def iris():
    """Load iris as a frame with named classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()


@pytest.fixture
def clouds(rng):
    """Draw two overlapping clouds."""
    y = np.arange(90) % 2
    return rng.normal(0.0, 1.0, (90, 3)) + 0.9 * y[:, np.newaxis], y


@pytest.fixture(scope="module")
def fitted(iris):
    """Fit iris once, with two depths, gammas and global strengths."""
    search = model(
        depths=[2, 3], gammas=[64.0, 512.0], alphas_global=[0, 0.1], n_solutions=2
    )
    return search.fit(*iris)


def assert_same_search(one, other):
    """Two searches agree to the last bit."""
    pd.testing.assert_frame_equal(one.cv_results_, other.cv_results_, check_exact=True)
    assert one.best_index_ == other.best_index_
    for name in ("coef_", "threshold_", "leaf_class_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def assert_same_trees(one, other):
    """Two paths have the same trees, time apart."""
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.coef, b.coef)
        np.testing.assert_array_equal(a.threshold, b.threshold)
        np.testing.assert_array_equal(a.leaf_class, b.leaf_class)


# -- scikit-learn ----------------------------------------------------------------------


@parametrize_with_checks(
    [
        SORCTClassifierCV(alphas_local=ALPHAS, n_solutions=4, cv=2),
        SORCTClassifierCV(
            alphas_local=ALPHAS, n_solutions=2, cv=2, rule="one-standard-error"
        ),
    ]
)
def test_the_contract_of_scikit_learn_holds(estimator, check):
    """No check is expected to fail."""
    check(estimator)


def test_a_clone_has_the_settings_and_not_the_fit(clouds):
    """Fitted again it is the same search."""
    search = model(max_features=2, rule="one-standard-error").fit(*clouds)
    twin = clone(search)
    assert twin.get_params() == search.get_params()
    assert not hasattr(twin, "cv_results_")
    assert not hasattr(twin, "tree_")
    assert_same_search(twin.fit(*clouds), search)


def test_a_pickled_search_is_the_same(rng):
    """Categories included; it still selects."""
    table = mixed_table(rng)
    search = model().fit(table, np.where(table["city"] == "Rome", "in", "out"))
    again = pickle.loads(pickle.dumps(search))
    assert_same_search(again, search)
    np.testing.assert_array_equal(
        again.predict_proba(table), search.predict_proba(table)
    )
    assert again.select("one-standard-error") == search.select("one-standard-error")


# -- a plain loop ----------------------------------------------------------------------


def plain_scores(X, y, folds, score, **options):
    """Scores of every fold's own path, one row per fold."""
    rows = []
    for train, test in folds:
        X_train, X_test = (
            X.iloc[part] if isinstance(X, pd.DataFrame) else X[part]
            for part in (train, test)
        )
        path = sorct_path(
            X_train, y[train], alphas_local=ALPHAS, random_state=0, **options
        )
        rows.append([score(tree, X_test, y[test]) for tree in path])
    return np.array(rows)


def hits(tree, X, y):
    """Accuracy."""
    return accuracy_score(y, tree.predict(X))


def balance(tree, X, y):
    """Mean recall."""
    return balanced_accuracy_score(y, tree.predict(X))


def likelihood(tree, X, y):
    """Mean log likelihood."""
    return -log_loss(y, tree.predict_proba(X), labels=tree.classes)


def costs(y, predicted):
    """Loss that calls one class dear."""
    return np.mean((y != predicted) * (1 + (y == "virginica")))


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        (None, hits),
        ("accuracy", hits),
        ("balanced_accuracy", balance),
        ("neg_log_loss", likelihood),
        (lambda clf, X, y: clf.score(X, y), hits),
        (lambda clf, X, y: likelihood(clf.tree_, X, y), likelihood),
        (
            make_scorer(costs, greater_is_better=False),
            lambda tree, X, y: -costs(y, tree.predict(X)),
        ),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        {"n_solutions": 3},
        {"n_solutions": 3, "alphas_global": [0.0, 0.05], "min_recall": 0.2},
    ],
    ids=["local", "grid"],
)
def test_scores_are_those_of_a_plain_loop(iris, scoring, score, options):
    """Every fold traces its own path with the same seed; exactly."""
    X, y = iris
    search = model(scoring=scoring, **options).fit(X, y)
    options = {"alphas_global": 0.0, "depth": 2, **options}
    folds = list(StratifiedKFold(3).split(X, y))
    scores = plain_scores(X, y, folds, score, **options)
    results = search.cv_results_
    for k in range(3):
        np.testing.assert_array_equal(results[f"split{k}_score"], scores[k])
    np.testing.assert_array_equal(results["mean_score"], scores.mean(axis=0))
    np.testing.assert_allclose(results["std_score"], scores.std(axis=0, ddof=1))
    np.testing.assert_allclose(
        results["se_score"], scores.std(axis=0, ddof=1) / np.sqrt(3)
    )
    assert search.best_score_ == scores.mean(axis=0).max()
    whole = sorct_path(X, y, alphas_local=ALPHAS, random_state=0, **options)
    assert_same_trees(search.path_, whole)


def test_the_tree_kept_is_that_of_all_rows(iris):
    """The best point's tree, and every attribute says the same."""
    X, y = iris
    search = model().fit(X, y)
    tree, best = search.tree_, search.cv_results_.loc[search.best_index_]
    assert tree is search.path_.trees[search.best_index_]
    assert search.best_params_ == {
        "depth": 2,
        "gamma": 512.0,
        "alpha_local": best["alpha_local"],
        "alpha_global": 0.0,
    }
    for name in ("coef", "threshold", "leaf_class", "classes"):
        np.testing.assert_array_equal(getattr(search, f"{name}_"), getattr(tree, name))
    for name in ("objective", "cost", "residual"):
        assert getattr(search, f"{name}_") == tree.training[name]
    assert search.n_iter_ == tree.training["n_iterations"]
    assert search.recall_.tolist() == tree.training["recall"]
    assert search.local_sparsity_ == tree.local_sparsity
    assert search.global_sparsity_ == tree.global_sparsity
    np.testing.assert_array_equal(search.predict(X), tree.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), tree.predict_proba(X))
    assert search.score(X, y) == accuracy_score(y, tree.predict(X))


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize(
    "cv",
    [KFold(4, shuffle=True, random_state=1), ShuffleSplit(2, random_state=5)],
    ids=["folds", "splits"],
)
def test_folds_are_the_users(iris, cv, as_list):
    """A splitter, or its splits one by one."""
    X, y = iris
    folds = list(cv.split(X, y))
    search = model(cv=folds if as_list else cv).fit(X, y)
    options = {"n_solutions": 4, "alphas_global": 0.0}
    scores = plain_scores(X, y, folds, hits, **options)
    np.testing.assert_array_equal(search.cv_results_["mean_score"], scores.mean(axis=0))
    assert f"split{len(folds)}_score" not in search.cv_results_


def test_weights_reach_the_paths_and_the_scorer(rng, clouds):
    """Training and accuracy are weighted."""
    X, y = clouds
    weight = rng.uniform(0.2, 3.0, len(y))
    search = model().fit(X, y, sample_weight=weight)
    for k, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        path = sorct_path(
            X[train],
            y[train],
            alphas_local=ALPHAS,
            n_solutions=4,
            random_state=0,
            sample_weight=weight[train],
        )
        scores = [
            accuracy_score(y[test], tree.predict(X[test]), sample_weight=weight[test])
            for tree in path
        ]
        np.testing.assert_allclose(search.cv_results_[f"split{k}_score"], scores)


# -- many candidates -------------------------------------------------------------------


def test_every_combination_is_a_candidate(fitted):
    """Depth outermost, then gamma, then the local and the global strength."""
    results = fitted.cv_results_
    assert set(results.columns) == set(PROMISED)
    found = results[["depth", "gamma", "alpha_local", "alpha_global"]].to_numpy()
    assert [tuple(row) for row in found] == list(
        product([2, 3], [64.0, 512.0], ALPHAS, [0.0, 0.1])
    )
    better = [
        1 + (results["mean_score"] > score).sum() for score in results["mean_score"]
    ]
    assert results["rank"].tolist() == better
    chosen = results.loc[fitted.best_index_]
    assert chosen["rank"] == 1
    assert fitted.tree_.depth == chosen["depth"] == fitted.best_params_["depth"]
    assert fitted.tree_.gamma == chosen["gamma"] == fitted.best_params_["gamma"]
    assert len(fitted.path_) == 6
    assert any(tree is fitted.tree_ for tree in fitted.path_)


def test_rows_are_of_the_trees_of_all_rows(iris, fitted):
    """Columns, variables and sparsities, for every depth and gamma."""
    results, row = fitted.cv_results_, 0
    for depth, gamma in product([2, 3], [64.0, 512.0]):
        path = sorct_path(
            *iris,
            depth=depth,
            gamma=gamma,
            alphas_local=ALPHAS,
            alphas_global=[0, 0.1],
            n_solutions=2,
            random_state=0,
        )
        for tree in path:
            assert results["n_columns"][row] == len(tree.columns_used)
            assert results["n_variables"][row] == len(tree.variables_used)
            per_cut = [np.count_nonzero(cut) for cut in tree.coef.T]
            assert results["most_variables_per_cut"][row] == max(per_cut)
            assert results["local_sparsity"][row] == tree.local_sparsity
            assert results["objective"][row] == tree.training["objective"]
            row += 1


@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
@pytest.mark.parametrize(
    "limits", [{}, {"max_features": 2}, {"max_features_per_cut": 1}]
)
def test_selecting_is_fitting_with_that_rule(iris, fitted, rule, limits, monkeypatch):
    """Nothing is fitted, and the tree is the one that a fit would keep."""
    options = {**fitted.get_params(), "rule": rule, **limits}
    again = SORCTClassifierCV(**options).fit(*iris)

    def work(*args):
        pytest.fail("something was fitted")

    monkeypatch.setattr(sorct.warm_up, "warm_up", work)
    monkeypatch.setattr(sorct.estimators_cv, "trace", work)
    before = dict(vars(fitted))
    tree = fitted.select(rule, **limits)
    assert vars(fitted).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(fitted).items())
    np.testing.assert_array_equal(tree.coef, again.tree_.coef)
    assert len(tree.variables_used) <= limits.get("max_features", 4)
    assert tree.most_variables_per_cut <= limits.get("max_features_per_cut", 4)


# -- the rules, by hand ----------------------------------------------------------------


def table(*rows):
    """Scores, standard errors, variables and local sparsity of candidates."""
    names = ["mean_score", "se_score", "n_variables", "local_sparsity"]
    return pd.DataFrame(rows, columns=names)


LADDER = table(
    (0.90, 0.02, 9, 10.0),
    (0.95, 0.03, 7, 30.0),
    (0.93, 0.50, 4, 60.0),
    (0.92, 0.01, 4, 70.0),
    (0.91, 0.01, 1, 90.0),
)
every = np.ones(5, dtype=bool)


@pytest.mark.parametrize(
    ("rule", "allowed", "expected"),
    [
        ("best", [0, 1, 2, 3, 4], 1),
        # 0.95 - 0.03 = 0.92 lets two trees of four variables in; the sparser cuts win.
        ("one-standard-error", [0, 1, 2, 3, 4], 3),
        ("best", [0, 2, 3, 4], 2),
        # 0.93 - 0.5: everything is near.
        ("one-standard-error", [0, 2, 3, 4], 4),
        ("best", [3, 4], 3),
        # 0.92 - 0.01 = 0.91, just near.
        ("one-standard-error", [3, 4], 4),
        ("best", [0], 0),
        ("one-standard-error", [0], 0),
    ],
)
def test_rules_on_a_hand_made_table(rule, allowed, expected):
    """The best, or the sparsest within one standard error, among those allowed."""
    assert choose(LADDER, rule, np.isin(np.arange(5), allowed)) == expected


@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
def test_ties_go_to_the_sparser_candidate(rule):
    """Fewer variables, then fewer columns per cut, then the last."""
    same = [(0.9, 0.0, 3, 50.0), (0.9, 0.0, 2, 40.0), (0.9, 0.0, 2, 60.0)]
    assert choose(table(*same), rule, every[:3]) == 2
    assert choose(table(*same[::-1]), rule, every[:3]) == 0
    assert choose(table(*[same[0]] * 3), rule, every[:3]) == 2


def test_scores_below_zero_and_missing_ones_are_ranked():
    """Losses are negative; a candidate without a score is never chosen."""
    rows = table(
        (-5.0, 1.0, 1, 90.0), (-2.0, 0.5, 3, 50.0), (-2.4, 9.0, 2, 70.0),
        (np.nan, np.nan, 0, 100.0),
    )  # fmt: skip
    assert choose(rows, "best", every[:4]) == 1
    assert choose(rows, "one-standard-error", every[:4]) == 2


def test_one_fold_has_no_standard_error(clouds):
    """Both rules then take the best."""
    X, y = clouds
    search = model(cv=[(np.arange(60), np.arange(60, 90))]).fit(X, y)
    assert search.cv_results_["se_score"].tolist() == [0.0] * 3
    assert search.select("one-standard-error") == search.select("best")


def test_a_candidate_without_a_score_is_not_chosen(clouds):
    """A scorer may have none to give; the others are still compared."""

    def scorer(clf, X, y):
        return np.nan if clf.tree_.training["alpha_local"] == 0.1 else clf.score(X, y)

    search = model(scoring=scorer).fit(*clouds)
    assert search.best_params_["alpha_local"] != 0.1
    assert np.isnan(search.cv_results_["mean_score"][1])


# -- limits and floors -----------------------------------------------------------------


@pytest.mark.parametrize(
    "limits", [{"max_features": 1}, {"max_features": 2, "max_features_per_cut": 1}]
)
def test_limits_are_kept(iris, limits):
    """By the tree of all rows."""
    search = model(alphas_local=[0, 0.1, 1, 100], **limits).fit(*iris)
    assert len(search.tree_.variables_used) <= limits["max_features"]
    most = limits.get("max_features_per_cut", 4)
    assert search.tree_.most_variables_per_cut <= most


def test_limits_that_no_tree_meets_name_the_fewest(clouds):
    """And leave the object unfitted."""
    search = model(alphas_local=[0.0, 0.001], max_features=1)
    with pytest.raises(ValueError, match=r"max_features=1.*the fewest are \d.*Raise"):
        search.fit(*clouds)
    assert not hasattr(search, "tree_")
    fit = model(alphas_local=[0.0, 0.001]).fit(*clouds)
    with pytest.raises(ValueError, match="the fewest are"):
        fit.select(max_features=0)


def test_floors_that_cannot_be_met_are_reported(rng):
    """As in the classifier, with the rates attained."""
    X, y = np.tile(rng.random((30, 2)), (2, 1)), np.repeat(["good", "bad"], 30)
    search = model(min_recall=0.9)
    with pytest.raises(InfeasibleError, match=r"'bad': 0\..*asked 0\.9") as told:
        search.fit(X, y)
    assert set(told.value.recall) == {"bad", "good"}
    assert not hasattr(search, "cv_results_")


def test_floors_are_met_by_the_tree_kept(clouds):
    """On the training rows."""
    search = model(min_recall={1: 0.8}, depths=[1, 2]).fit(*clouds)
    assert search.recall_[1] >= 0.8 - 2e-5
    for path_tree in search.path_:
        assert path_tree.training["recall"][1] >= 0.8 - 2e-5


# -- jobs and progress -----------------------------------------------------------------


def test_jobs_and_backends_change_nothing(iris):
    """Processes or threads, to the last bit."""
    one = model(n_jobs=1, n_solutions=2).fit(*iris)
    assert_same_search(model(n_jobs=2, n_solutions=2).fit(*iris), one)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert_same_search(model(n_solutions=2).fit(*iris), one)
        assert_same_search(model(n_solutions=2, progress=True).fit(*iris), one)


@pytest.mark.parametrize("seed", [3, np.int64(3), np.random.RandomState(3), None])
def test_any_random_state_will_do(clouds, seed):
    """Numbers, states and none."""
    search = model(random_state=seed).fit(*clouds)
    assert len(search.cv_results_) == 3
    if isinstance(seed, np.integer):
        assert_same_search(search, model(random_state=3).fit(*clouds))


def test_progress_is_drawn_when_asked_for(clouds, capsys):
    """And only then."""
    pytest.importorskip("rich")
    quiet = model().fit(*clouds)
    assert capsys.readouterr() == ("", "")
    shown = model(progress=True).fit(*clouds)
    assert "SORCTClassifierCV: 4 paths" in capsys.readouterr().out
    assert_same_search(shown, quiet)


def test_progress_without_rich_names_the_extra(clouds, monkeypatch):
    """Before anything is fitted."""
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sorct.estimators_cv, "trace", None)
    search = model(progress=True)
    with pytest.raises(ImportError, match=r'pip install "sorct\[progress\]"'):
        search.fit(*clouds)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("refit", [False, True])
def test_an_interrupted_fit_changes_nothing(iris, clouds, refit):
    """Ctrl-C leaves the fit before it, or no fit at all."""

    def scorer(clf, X, y):
        raise KeyboardInterrupt

    search = model(n_solutions=2)
    if refit:
        search.fit(*iris)
    search.set_params(scoring=scorer)
    before = dict(vars(search))
    with pytest.raises(KeyboardInterrupt):
        search.fit(*clouds)
    assert vars(search).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(search).items())
    if not refit:
        with pytest.raises(NotFittedError):
            search.predict(clouds[0])


# -- tables ----------------------------------------------------------------------------


def test_categories_are_chosen_by_name(rng):
    """One variable of three levels decides; the others are left out."""
    rows = mixed_table(rng, 90)
    y = np.where(rows["city"] == "Rome", "in", "out")
    search = model(max_features=1).fit(rows, y)
    assert search.tree_.variables_used == ("city",)
    assert search.best_score_ == 1.0
    assert search.feature_names_in_.tolist() == list(rows.columns)
    np.testing.assert_array_equal(search.predict(rows), y)


def test_a_level_that_a_fold_never_saw(rng):
    """Is an error, or the reference where the user says so."""
    rows, y = mixed_table(rng, 60), np.arange(60) % 2
    rows["city"] = np.where(np.arange(60) == 7, "Paris", rows["city"])
    with pytest.raises(ValueError, match="Paris"):
        model().fit(rows, y)
    model(handle_unknown="first_level").fit(rows, y)


# -- bad input -------------------------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is compiled or traced."""

    def work(*args):
        pytest.fail("work began before the input was checked")

    monkeypatch.setattr(sorct.warm_up, "warm_up", work)
    monkeypatch.setattr(sorct.estimators_cv, "trace", work)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "first"}, "rule must be one of.*'first'"),
        ({"alphas_local": []}, "alphas_local must be"),
        ({"alphas_local": [-1.0]}, "alphas_local must be .* >= 0"),
        ({"alphas_global": [np.nan]}, "alphas_global must be .* finite"),
        ({"alphas_global": "many"}, "alphas_global must be"),
        ({"depths": []}, "depths must hold at least one"),
        ({"depths": [1, 0]}, "depth must be a whole number"),
        ({"depths": 2.5}, "depth must be a whole number"),
        ({"depths": [1, 99]}, "depth must be at most"),
        ({"gammas": []}, "gammas must hold at least one"),
        ({"gammas": [512.0, -1.0]}, "gammas must be finite numbers > 0, got -1"),
        ({"gammas": None}, "gammas must be finite numbers > 0"),
        ({"max_features": 0}, "max_features must be a whole number >= 1 or None"),
        ({"max_features": 1.5}, "max_features must be a whole number"),
        ({"max_features_per_cut": True}, "max_features_per_cut must be a whole number"),
        ({"n_solutions": 0}, "n_solutions must be a whole number >= 1"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"handle_unknown": "guess"}, "handle_unknown must be one of"),
        ({"min_recall": 2.0}, "min_recall must be"),
        ({"min_recall": {"nobody": 0.5}}, "min_recall names class 'nobody'"),
        ({"cost_matrix": np.ones((3, 3))}, "cost_matrix must have shape"),
        ({"scoring": "beauty"}, "scoring"),
        ({"cv": 1}, "n_splits"),
        ({"cv": []}, "cv must give at least one fold"),
        ({"cv": "five"}, "cv"),
        ({"cv": 1000}, "n_splits=1000"),
        ({"random_state": "lucky"}, "cannot be used to seed"),
    ],
    ids=str,
)
def test_odd_options_are_refused(clouds, no_work, options, words):
    """One clear error before any work, and nothing is left behind."""
    search = model(**options)
    before = dict(vars(search))
    with pytest.raises(ValueError, match=re.compile(words, re.DOTALL)):
        search.fit(*clouds)
    assert vars(search) == before


def test_a_fold_with_one_class_is_refused(clouds, no_work):
    """By its number, before any work."""
    X, y = np.sort(clouds[0], axis=0), np.sort(clouds[1])
    with pytest.raises(ValueError, match="Fold 0 of cv leaves 1 class.*stratified"):
        model(cv=KFold(2)).fit(X, y)
    folds = [(np.arange(90), np.arange(5)), (np.arange(90), np.arange(0))]
    with pytest.raises(ValueError, match=r"Fold 1 of cv.* 0 row\(s\) to score"):
        model(cv=folds).fit(X, y)


def test_a_fold_with_one_class_of_any_weight_is_refused(clouds, no_work):
    """Rows of weight zero are no rows."""
    X, y = clouds
    first = np.arange(90) < 45
    weight = np.where(first & (y == 1), 0.0, 1.0)
    folds = [(np.flatnonzero(first), np.flatnonzero(~first))]
    with pytest.raises(ValueError, match="Fold 0 of cv leaves 1 class"):
        model(cv=folds).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "accuracy"},
        {"cost_matrix": [[0, 1, 2], [3, 0, 1], [1, 1, 0]]},
        {"min_recall": 0.2},
        {"min_recall": {"virginica": 0.2}},
    ],
    ids=str,
)
def test_a_fold_may_miss_a_class(iris, options):
    """The others are scored, whatever is asked of the class that is not there."""
    X, y = iris
    folds = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    search = model(cv=folds, **options).fit(X, y)
    assert search.cv_results_["mean_score"].tolist() == [0.0] * 3
    assert search.classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((20, 2), np.nan), np.arange(20) % 2, "NaN"),
        (np.ones((20, 2)), None, "y.*None"),
        (np.ones((20, 2)), np.zeros(20), "at least 2 classes, got 1"),
        (np.ones((20, 2)), np.arange(19) % 2, "inconsistent numbers of samples"),
        (np.ones((20, 2)), np.linspace(0, 1, 20), "continuous"),
        (pd.DataFrame({"c": ["u"] * 20}), np.arange(20) % 2, "at least two levels"),
    ],
)
def test_odd_data_are_refused(no_work, X, y, words):
    """Before any work, with the words of the classifier."""
    with pytest.raises(ValueError, match=re.compile(words, re.DOTALL)):
        model().fit(X, y)
