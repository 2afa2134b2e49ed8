"""SORCTClassifierCV equals a plain loop over folds, and chooses as it says."""

import pickle
import re
import sys
import warnings
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import (
    accuracy_score,
)
from sklearn.utils import estimator_checks

import sorct.estimators.folds
import sorct.search.warm_up
from sorct import InfeasibleError, SORCTClassifierCV, sorct_path
from sorct.estimators.candidates import choose
from tests.data.test_encoder import mixed_table
from tests.estimators.contract import each_check

ALPHAS = [0.0, 0.1, 1.0]
PROMISED = [
    "loss", "depth", "gamma", "scaling", "relaxed", "alpha_local", "alpha_global",
    "mean_score", "std_score", "se_score", "split0_score", "split1_score",
    "rank", "n_columns", "n_variables", "most_variables_per_cut",
    "local_sparsity", "global_sparsity", "objective", "cost", "followed",
]  # fmt: skip
#: Nothing is left to a race: one path per depth and gamma, of penalised trees alone.
PLAIN = {"depths": None, "loss": "cost", "scaling": "auto", "relax": False}


def model(**options):
    """Make a plain search over three strengths with the least pools and folds."""
    few = {"alphas_local": ALPHAS, "n_solutions": 1, "cv": 2, "random_state": 0}
    return SORCTClassifierCV(**{**PLAIN, **few, **options})


@pytest.fixture(scope="module")
def fitted(iris):
    """Fit iris once, with two depths, gammas, local and global strengths."""
    grid = {"alphas_local": ALPHAS[1:], "alphas_global": [0, 0.1]}
    return model(depths=[2, 3], gamma=[64.0, 512.0], **grid).fit(*iris)


@pytest.fixture(scope="module")
def steep(iris):
    """Fit strengths that lead from all variables to few."""
    return model(alphas_local=[0, 0.1, 8], gamma=64.0).fit(*iris)


@pytest.fixture(scope="module")
def of_depth_2(iris):
    """Fit iris at the depth of three classes."""
    return model(depths=2, alphas_local=0.1).fit(*iris)


@pytest.fixture(scope="module")
def relaxed(iris):
    """Fit iris with relaxed trees to choose from."""
    return model(rule="one-standard-error", relax=True).fit(*iris)


def assert_same_search(one, other):
    """Two searches agree to the last bit."""
    pd.testing.assert_frame_equal(one.cv_results_, other.cv_results_, check_exact=True)
    assert one.best_index_ == other.best_index_
    for name in ("coef_", "threshold_", "leaf_class_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


# -- scikit-learn ----------------------------------------------------------------------


@pytest.mark.a_few(12)
@each_check(
    SORCTClassifierCV(**PLAIN, alphas_local=0.1, n_solutions=1, cv=2),
)
def test_the_contract_of_scikit_learn_holds(estimator, check):
    """No check is expected to fail."""
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_estimator_cloneable,
    ],
)
def test_the_contract_holds_by_default(check):
    """With the options that users get; ``make test-slow`` has all, on fewer fits."""
    check("SORCTClassifierCV", SORCTClassifierCV())


@pytest.mark.slow
@each_check(
    SORCTClassifierCV(alphas_local=0.1, n_solutions=1, cv=2, relax=False),
    SORCTClassifierCV(
        alphas_local=ALPHAS, n_solutions=2, cv=2, rule="one-standard-error", **PLAIN
    ),
    shares=2,
)
def test_the_contract_holds_for_a_real_search(estimator, check):
    """With a choice to make, by either rule; loss and scaling race."""
    check(estimator)


@pytest.mark.slow
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


# -- what is kept ----------------------------------------------------------------------


def test_the_tree_kept_is_that_of_all_rows(iris, relaxed):
    """That of the point chosen, and every attribute says the same."""
    X, y = iris
    search = relaxed
    tree, best = search.tree_, search.cv_results_.loc[search.best_index_]
    assert tree is search.path_.offered[search.best_index_]
    assert search.best_params_ == {
        "loss": "cost",
        "depth": 2,
        "gamma": 4 * 64.0,
        "scaling": "auto",
        "relaxed": best["relaxed"],
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


def test_trees_tell_how_they_scored(relaxed):
    """Score, error, scorer and folds; the one chosen tells the rule as well."""
    search = relaxed
    results = search.cv_results_
    for k, tree in enumerate(search.path_.offered):
        told = tree.training
        assert told.cv_score == results["mean_score"][k]
        assert told.cv_standard_error == results["se_score"][k]
        assert (told.cv_scoring, told.cv_folds) == ("accuracy", search.cv)
        chosen = k == search.best_index_
        assert told.cv_rule == ("one-standard-error" if chosen else None)


# -- many candidates -------------------------------------------------------------------


def test_every_combination_is_a_candidate(fitted):
    """Depth outermost, then gamma, then the local and the global strength."""
    results = fitted.cv_results_
    assert set(results.columns) == set(PROMISED)
    found = results[["depth", "gamma", "alpha_local", "alpha_global"]].to_numpy()
    assert [tuple(row) for row in found] == list(
        product([2, 3], [64.0, 512.0], ALPHAS[1:], [0.0, 0.1])
    )
    better = [
        1 + (results["mean_score"] > score).sum() for score in results["mean_score"]
    ]
    assert results["rank"].tolist() == better
    chosen = results.loc[fitted.best_index_]
    assert chosen["rank"] == 1
    assert fitted.tree_.depth == chosen["depth"] == fitted.best_params_["depth"]
    assert fitted.tree_.gamma == chosen["gamma"] == fitted.best_params_["gamma"]
    assert len(fitted.path_) == 4
    assert any(tree is fitted.tree_ for tree in fitted.path_)


def test_rows_are_of_the_trees_of_all_rows(iris, fitted):
    """Columns, variables and sparsities, for every depth and gamma."""
    results, row = fitted.cv_results_, 0
    for depth, gamma in product([2, 3], [64.0, 512.0]):
        path = sorct_path(
            *iris,
            depth=depth,
            gamma=gamma,
            alphas_local=ALPHAS[1:],
            alphas_global=[0, 0.1],
            n_solutions=1,
            random_state=0,
            relax=False,
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
def test_selecting_is_fitting_with_that_rule(iris, steep, rule, monkeypatch):
    """Nothing is fitted, and the tree is the one that a fit would keep."""
    fitted = steep
    again = clone(fitted).set_params(rule=rule).fit(*iris)

    def work(*args):
        pytest.fail("something was fitted")

    monkeypatch.setattr(sorct.search.warm_up, "warm_up", work)
    monkeypatch.setattr(sorct.estimators.folds, "trace", work)
    before = dict(vars(fitted))
    tree = fitted.select(rule)
    assert vars(fitted).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(fitted).items())
    np.testing.assert_array_equal(tree.coef, again.tree_.coef)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("limit", "most"),
    [({"max_features": 2}, 2), ({"max_features_per_cut": 1}, 1)],
)
def test_a_limit_known_in_time_gives_a_better_tree_than_one_that_comes_later(
    iris, steep, limit, most
):
    """A fit refits and exchanges variables within it; a selection takes what is there.

    Both keep it, and the fit has all that the selection has to choose from.
    """
    later = steep.select(**limit)
    fitted = clone(steep).set_params(**limit).fit(*iris)
    for tree in (later, fitted.tree_):
        assert tree.most_variables_per_cut <= most
        assert "max_features" not in limit or len(tree.variables_used) <= most
    assert fitted.best_score_ >= later.training.cv_score
    assert fitted.tree_.variables_used


@pytest.mark.parametrize("options", [{}, {"rule": "nonsense"}, {"max_features": -1}])
def test_selecting_before_fitting_is_refused(options):
    """As scikit-learn does, whatever is asked for."""
    with pytest.raises(NotFittedError):
        model().select(**options)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("depths", [[None, 2], [2, None], [2, 2], None, (2,)])
def test_the_same_depth_is_one_candidate(iris, of_depth_2, depths):
    """None means 2 for three classes, and the rows are those of 2 alone."""
    search = model(depths=depths, alphas_local=0.1).fit(*iris)
    assert search.cv_results_["depth"].tolist() == [2]
    assert_same_search(search, of_depth_2)


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


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "limits", [{"max_features": 1}, {"max_features": 2, "max_features_per_cut": 1}]
)
def test_limits_are_kept(iris, limits):
    """By the tree of all rows."""
    search = model(alphas_local=[0, 1, 100], **limits).fit(*iris)
    assert len(search.tree_.variables_used) <= limits["max_features"]
    most = limits.get("max_features_per_cut", 4)
    assert search.tree_.most_variables_per_cut <= most


def test_no_variable_at_all_may_be_asked_for(clouds):
    """A penalty above any gain leaves the tree that guesses."""
    search = model(alphas_local=[0.0, 100.0], max_features=0).fit(*clouds)
    assert search.tree_.variables_used == ()
    assert search.best_params_["alpha_local"] == 100.0
    assert search.tree_ == search.select(max_features_per_cut=0)


def test_limits_that_no_tree_meets_name_the_fewest(clouds):
    """Selecting fits nothing; a fit would find some."""
    fit = model(alphas_local=[0.0, 0.001]).fit(*clouds)
    words = r"max_features_per_cut=1; the least are \d.*Raise"
    with pytest.raises(ValueError, match=words):
        fit.select(max_features_per_cut=1)
    with pytest.raises(ValueError, match="the least are"):
        fit.select(max_features=0)


@pytest.mark.parametrize(
    "race",
    [
        {},
        pytest.param({"loss": "choose", "scaling": "choose"}, marks=pytest.mark.slow),
    ],
    ids=["plain", "race"],
)
def test_floors_that_cannot_be_met_are_reported(rng, race):
    """As in the classifier, with the rates attained."""
    X, y = np.tile(rng.random((30, 2)), (2, 1)), np.repeat(["good", "bad"], 30)
    search = model(min_recall=0.9, alphas_local=0.1, cv=2, **race)
    with pytest.raises(InfeasibleError, match=r"'bad': .*asked 0\.9") as told:
        search.fit(X, y)
    assert set(told.value.recall) == {"bad", "good"}
    assert not hasattr(search, "cv_results_")


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "options", [{"loss": "cost"}, {"loss": "log"}, {"max_features": 1}], ids=str
)
def test_floors_are_met_by_the_tree_kept(clouds, options):
    """On the training rows, by relaxed trees as well."""
    fixed = {"depths": [1, 2], "relax": True, **options}
    search = model(min_recall={1: 0.8}, **fixed).fit(*clouds)
    assert search.recall_[1] >= 0.8 - 2e-5
    for path_tree in search.path_.offered:
        assert path_tree.training["recall"][1] >= 0.8 - 2e-5


# -- jobs and progress -----------------------------------------------------------------


def test_threads_change_nothing(clouds):
    """To the last bit."""
    one = model(n_jobs=1, n_solutions=2).fit(*clouds)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert_same_search(model(n_solutions=2).fit(*clouds), one)


@pytest.mark.slow
def test_processes_and_progress_change_nothing(iris):
    """To the last bit."""
    one = model(n_jobs=1, n_solutions=2).fit(*iris)
    assert_same_search(model(n_jobs=2, n_solutions=2).fit(*iris), one)
    with joblib.parallel_config(backend="threading", n_jobs=2):
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
    assert "SORCTClassifierCV: 3 paths" in capsys.readouterr().err
    assert_same_search(shown, quiet)


def test_progress_without_rich_names_the_extra(clouds, monkeypatch):
    """Before anything is fitted."""
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sorct.estimators.folds, "trace", None)
    search = model(progress=True)
    with pytest.raises(ImportError, match=r'pip install "sorct\[progress\]"'):
        search.fit(*clouds)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("refit", [False, True])
def test_an_interrupted_fit_changes_nothing(iris, clouds, refit):
    """Ctrl-C leaves the fit before it, or no fit at all."""

    def scorer(clf, X, y):
        raise KeyboardInterrupt

    search = model()
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


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize(
    "n_jobs", [None, 1, pytest.param(2, marks=pytest.mark.slow), "threads"]
)
@pytest.mark.parametrize("progress", [False, True])
def test_a_search_that_did_not_converge_warns_once(iris, n_jobs, progress):
    """At the user's line, and as often with many jobs as with one."""
    if progress:
        pytest.importorskip("rich")
    search = model(max_iter=1, progress=progress)
    backend = {"backend": "threading", "n_jobs": 2} if n_jobs == "threads" else {}
    search.set_params(n_jobs=None if n_jobs == "threads" else n_jobs)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with joblib.parallel_config(**backend):
            search.fit(*iris)
    assert [warning.category for warning in told] == [ConvergenceWarning]
    assert re.search(r"Raise max_iter \(it is 1\)", str(told[0].message))
    assert told[0].filename == __file__


# -- tables ----------------------------------------------------------------------------


def test_categories_are_chosen_by_name(rng):
    """One variable of three levels decides; the others are left out."""
    rows = mixed_table(rng, 90)
    y = np.where(rows["city"] == "Rome", "in", "out")
    search = model(max_features=1, n_solutions=2).fit(rows, y)
    assert search.tree_.variables_used == ("city",)
    assert search.best_score_ == 1.0
    assert search.feature_names_in_.tolist() == list(rows.columns)
    np.testing.assert_array_equal(search.predict(rows), y)


# -- bad input -------------------------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is compiled or traced."""

    def work(*args):
        pytest.fail("work began before the input was checked")

    monkeypatch.setattr(sorct.search.warm_up, "warm_up", work)
    monkeypatch.setattr(sorct.estimators.folds, "trace", work)


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
        ({"depths": [[1, 2]]}, "depths must hold at least one value, in one row"),
        ({"depths": "deep"}, "depth must be a whole number"),
        ({"gamma": []}, "gamma must hold at least one"),
        ({"gamma": [512.0, -1.0]}, "gamma must be a finite number > 0.*, got -1"),
        ({"gamma": None}, 'gamma must be a finite number > 0, "auto", .* got None'),
        ({"gamma": ["auto", "high"]}, "gamma must be a finite number > 0.*'high'"),
        ({"loss": "hinge"}, "loss must be one of .*'hinge'"),
        ({"loss": ["log", "cost"]}, "loss must be one of"),
        ({"scaling": "choice"}, "scaling must be one of"),
        ({"max_features": -1}, "max_features must be a whole number >= 0 or None"),
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
        ({"scoring": "acuracy"}, "no scorer .acuracy.*did you mean .accuracy"),
        ({"scoring": ["accuracy"]}, r"scoring must be one scorer.*\['accuracy'\]"),
        ({"scoring": ("accuracy", "f1")}, "scoring must be one scorer"),
        ({"scoring": {"accuracy"}}, "scoring must be one scorer"),
        ({"scoring": {"a": "accuracy"}}, "scoring must be one scorer.*'a'"),
        ({"cv": 1}, "n_splits"),
        ({"cv": []}, "cv must give at least one fold"),
        ({"cv": "five"}, "cv"),
        ({"cv": 1000}, "1000 folds.*class of 1000 rows"),
        ({"random_state": "lucky"}, "cannot be used to seed"),
        ({"relax": "no"}, "relax must be True or False, got 'no'"),
        ({"progress": pd.DataFrame({"a": [1]})}, "progress must be True or False"),
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


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((20, 2), np.inf), np.arange(20) % 2, "infinity"),
        (np.ones((20, 2)), None, "y.*None"),
        (np.ones((20, 2)), np.zeros(20), "at least 2 classes, got 1"),
        (np.ones((20, 2)), np.arange(19) % 2, "inconsistent numbers of samples"),
        (np.ones((20, 2)), np.linspace(0, 1, 20), "continuous"),
        (pd.DataFrame({"c": ["u"] * 20}), np.arange(20) % 2, "nothing to cut on"),
    ],
)
def test_odd_data_are_refused(no_work, X, y, words):
    """Before any work, with the words of the classifier."""
    with pytest.raises(ValueError, match=re.compile(words, re.DOTALL)):
        model().fit(X, y)


@pytest.mark.parametrize(
    ("loss", "scoring"), [("cost", "accuracy"), ("log", "neg_log_loss")]
)
def test_the_score_is_that_of_the_loss_where_none_is_named(clouds, loss, scoring):
    """Accuracy for the expected cost, also if costs are equal; else the log-loss."""
    X, y = clouds
    found = model(loss=loss).fit(X, y)
    named = model(loss=loss, scoring=scoring).fit(X, y)
    costs = model(loss=loss, cost_matrix=1.0 - np.eye(2)).fit(X, y)
    name = {"cost": "accuracy", "log": "minus the log-loss"}[loss]
    assert found.tree_.training.cv_scoring == name
    given = model(loss=loss, cost_matrix=costs.cost_matrix, scoring=scoring).fit(X, y)
    for one, other in ((found, named), (costs, given)):
        np.testing.assert_allclose(
            one.cv_results_["mean_score"], other.cv_results_["mean_score"]
        )
    assert named.best_score_ == pytest.approx(found.best_score_)


@pytest.mark.parametrize("loss", ["cost", "log"])
def test_prices_decide_where_there_are_any(clouds, loss):
    """Without a scorer the mean cost is what counts, whatever the loss."""
    X, y = clouds
    labels = np.unique(y)
    costs = 1.0 - np.eye(len(labels))
    costs[0, 1] = 20.0

    def minus_cost(estimator, X, y):
        place = {label: k for k, label in enumerate(labels)}
        pairs = zip(y, estimator.predict(X), strict=True)
        return -np.mean([costs[place[a], place[b]] for a, b in pairs])

    found = model(loss=loss, cost_matrix=costs).fit(X, y)
    own = model(loss=loss, cost_matrix=costs, scoring=minus_cost).fit(X, y)
    scores = found.cv_results_["mean_score"]
    np.testing.assert_allclose(scores, own.cv_results_["mean_score"])
    assert found.tree_.training.cv_scoring == "minus the mean cost"


@pytest.mark.parametrize("given", [{}, {"calibration": "sigmoid"}, {"n_jobs": 2}])
def test_odd_columns_are_warned_of_once(given):
    """However many settings, folds and workers read the table."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": rng.integers(0, 9, 200).astype(str), "x": rng.random(200)})
    y = np.where(X["x"] + 0.2 * rng.normal(size=200) > 0.5, "yes", "no")
    search = SORCTClassifierCV(
        depths=1, loss="log", cv=2, n_solutions=1, random_state=0, **given
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert sum("Numbers as text" in str(one.message) for one in told) == 1
