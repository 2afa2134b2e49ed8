"""SORCTClassifier keeps scikit-learn's contract and its own promises."""

import logging
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sorct import InfeasibleError, SORCTClassifier
from sorct.data.encoder import TableEncoder
from tests.data.test_encoder import mixed_table
from tests.estimators.contract import each_check
from tests.reference import Reference

SETTINGS = {
    "default": {},
    "local": {"depth": 1, "alpha_local": 0.1, "gamma": 32.0},
    "costs": {
        "depth": 2,
        "alpha_global": 0.05,
        "cost_matrix": [[0.0, 3.0], [1.0, 0.0]],
    },
    "floors": {
        "depth": 3,
        "alpha_local": 0.02,
        "alpha_global": 0.02,
        "min_recall": 0.7,
    },
}
settings = pytest.mark.parametrize("name", SETTINGS)
unconverged = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


def model(**options):
    """Make a classifier with a few starts."""
    return SORCTClassifier(**{"n_starts": 4, "random_state": 0, **options})


@pytest.fixture
def clouds(rng):
    """Draw two overlapping clouds, one four times as large as the other."""
    y = np.repeat([0, 1], [160, 40])
    return rng.normal(0.0, 1.0, (200, 3)) + 0.8 * y[:, np.newaxis], y


def few(name, **options):
    """Make a classifier of these settings with two starts."""
    return model(**{"n_starts": 2, **SETTINGS[name], **options})


@pytest.fixture(scope="module")
def known():
    """Keep fits by the name of their settings."""
    return {}


@pytest.fixture
def usual(known, clouds):
    """Give the fit of a name to the clouds, made once: all tests draw the same."""

    def give(name):
        if name not in known:
            known[name] = few(name).fit(*clouds)
        return known[name]

    return give


def truth_of(clf, X, y, weight=None):
    """Hand the reference what the classifier was trained on."""
    classes, codes = np.unique(y, return_inverse=True)
    costs = clf.cost_matrix
    return Reference(
        X=TableEncoder.learn(X).encode(X),
        y=codes,
        weight=np.ones(len(y)) if weight is None else weight,
        cost_matrix=0.5 * (1 - np.eye(len(classes)))
        if costs is None
        else np.array(costs),
        floor=np.zeros(len(classes)),
        depth=clf.tree_.depth,
        gamma=clf.tree_.gamma,
        alpha_local=clf.alpha_local,
        alpha_global=clf.alpha_global,
    )


def assert_same_fit(one, other):
    """Two fits agree to the last bit."""
    for name in ("coef_", "threshold_", "leaf_class_", "classes_", "recall_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    for name in ("objective_", "cost_", "residual_", "status_", "n_iter_"):
        assert getattr(one, name) == getattr(other, name), name
    starts = [clf.starts_.drop(columns="seconds") for clf in (one, other)]
    pd.testing.assert_frame_equal(*starts, check_exact=True)


# -- scikit-learn ----------------------------------------------------------------------


@each_check(SORCTClassifier(n_starts=1))
def test_the_contract_of_scikit_learn_holds(estimator, check):
    """No check is expected to fail."""
    check(estimator)


@pytest.mark.slow
@each_check(SORCTClassifier(), shares=2)
def test_the_contract_holds_by_default(estimator, check):
    """With the search that users get."""
    check(estimator)


@pytest.mark.a_few(1)
@settings
def test_frames_and_arrays_give_the_same_tree(clouds, usual, name):
    """Names change nothing but names."""
    X, y = clouds
    frame = pd.DataFrame(X, columns=list("abc"))
    named, plain = few(name).fit(frame, y), usual(name)
    assert_same_fit(named, plain)
    np.testing.assert_allclose(
        named.predict_proba(frame), plain.predict_proba(X), atol=1e-12
    )


def test_a_pickled_classifier_is_the_same(rng):
    """Categories included."""
    X = mixed_table(rng)
    clf = model().fit(X, X["age"] > 50)
    again = pickle.loads(pickle.dumps(clf))
    assert_same_fit(again, clf)
    assert again.tree_ == clf.tree_
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_a_clone_has_the_settings_and_not_the_fit(clouds):
    """Fitted again it is the same tree."""
    clf = model(alpha_local=0.1, cost_matrix=[[0, 1], [2, 0]]).fit(*clouds)
    twin = clone(clf)
    assert twin.get_params() == clf.get_params()
    assert not hasattr(twin, "coef_")
    assert_same_fit(twin.fit(*clouds), clf)


def test_it_works_in_a_pipeline_and_a_grid_search(iris):
    """Parameters are reached by name, and the best is refitted."""
    pipe = make_pipeline(StandardScaler(), model(n_starts=2))
    grid = {"sorctclassifier__alpha_local": [0.01, 10.0]}
    search = GridSearchCV(pipe, grid, cv=StratifiedKFold(2)).fit(*iris)
    assert search.best_params_ == {"sorctclassifier__alpha_local": 0.01}
    assert search.best_score_ > 0.9
    assert search.score(*iris) > 0.9


# -- the same seed, the same tree ------------------------------------------------------


@settings
def test_the_number_of_jobs_changes_nothing(clouds, usual, name):
    """One thread or two, to the last bit."""
    assert_same_fit(usual(name), few(name, n_jobs=2).fit(*clouds))


@pytest.mark.a_few(1)
@settings
def test_start_k_is_the_same_for_any_number_of_starts(clouds, usual, name):
    """The first two rows of five are the two of two."""
    two, five = (
        clf.starts_.drop(columns="seconds")
        for clf in (usual(name), few(name, n_starts=5).fit(*clouds))
    )
    assert len(five) == 5
    pd.testing.assert_frame_equal(two, five.head(2), check_exact=True)


@settings
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(rng, clouds, name):
    """To the last bit, classes and ranges included."""
    X, y = clouds
    X[0], weight = 100.0, rng.integers(0, 4, len(y))
    weight[0] = 0
    weighted = few(name).fit(X, y, sample_weight=weight)
    repeated = few(name).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_fit(weighted, repeated)


def test_a_common_factor_of_the_weights_changes_nothing(rng, clouds):
    """Powers of two are exact, so the trees are equal to the last bit."""
    weight = rng.uniform(0.5, 1.0, 200)
    one = few("default", depth=2).fit(*clouds, sample_weight=weight)
    for exponent in (-1000, -30, 30, 1000, 1023):
        scaled = 2.0**exponent * weight
        other = few("default", depth=2).fit(*clouds, sample_weight=scaled)
        assert_same_fit(one, other)


def test_a_class_of_weight_zero_is_no_class(iris):
    """As if its rows had never been there."""
    X, y = iris
    clf = model().fit(X, y, sample_weight=y != "setosa")
    assert_same_fit(clf, model().fit(X[y != "setosa"], y[y != "setosa"]))


@pytest.mark.every_value
@settings
@pytest.mark.parametrize("decimals", [0, 9])
def test_the_order_of_rows_changes_nothing(rng, clouds, name, decimals):
    """To the last bit, with any weights, many rows being equal or none."""
    X, y = clouds
    X, weight = X.round(decimals), rng.uniform(0.1, 2.0, len(y))
    order = rng.permutation(len(y))
    clf = few(name).fit(X, y, sample_weight=weight)
    other = few(name).fit(X[order], y[order], sample_weight=weight[order])
    assert_same_fit(clf, other)


# -- the numbers are what they say -----------------------------------------------------


@settings
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_the_references(rng, clouds, usual, name, weighted):
    """Cost, recall, objective and masses."""
    X, y = clouds
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    clf = few(name).fit(X, y, sample_weight=weight) if weighted else usual(name)
    truth, tree = truth_of(clf, X, y, weight), clf.tree_
    assert clf.cost_ == pytest.approx(truth.cost(tree), abs=1e-10)
    assert clf.objective_ == pytest.approx(truth.objective(tree), abs=1e-10)
    np.testing.assert_allclose(clf.recall_, truth.recall(tree), atol=1e-10)
    np.testing.assert_allclose(tree.mass, truth.mass(tree), atol=1e-10)
    assert clf.residual_ <= clf.tol
    for name in ("coef", "threshold", "leaf_class", "classes"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(clf, f"{name}_"))


@pytest.mark.a_few(1)
@settings
def test_the_tree_is_the_best_start(clouds, name):
    """Or that without the cuts that people have no use for, solved again."""
    best, followable = (
        few(name, followable=given).fit(*clouds) for given in (False, True)
    )
    assert best.objective_ == best.starts_.objective.min()
    starts = (one.starts_.drop(columns="seconds") for one in (best, followable))
    pd.testing.assert_frame_equal(*starts, check_exact=True)
    kept = (best.coef_ != 0.0).any(axis=0) == (followable.coef_ != 0.0).any(axis=0)
    if kept.all():
        assert_same_fit(best, followable)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.3, 100.0])
def test_sparsities_are_shares_of_exact_zeros(iris, alpha):
    """delta^L is the mean over cuts, delta^G counts whole columns."""
    penalties = {"alpha_local": alpha / 2, "alpha_global": alpha / 2}
    clf = model(n_starts=2, **penalties).fit(*iris)
    per_cut = [np.mean(clf.coef_[:, t] == 0.0) for t in range(3)]
    unused = [not any(row) for row in clf.coef_.tolist()]
    assert clf.local_sparsity_ == pytest.approx(100.0 * np.mean(per_cut))
    assert clf.global_sparsity_ == pytest.approx(100.0 * np.mean(unused))
    assert (clf.local_sparsity_ == 100.0) == (alpha == 100.0)


@pytest.mark.every_value
@pytest.mark.parametrize("floor", [0.0, 0.5, 0.7])
@pytest.mark.parametrize("as_mapping", [False, True])
def test_floors_on_recall_are_met(clouds, iris, floor, as_mapping):
    """One number for all classes, or a rate per class named."""
    for X, y in (clouds, iris):
        rates = dict.fromkeys(np.unique(y)[1:].tolist(), floor) if as_mapping else floor
        clf = model(depth=2, alpha_local=0.05, min_recall=rates).fit(X, y)
        recall = truth_of(clf, X, y).recall(clf.tree_)
        assert np.all(recall[1:] >= floor - 1e-4)
        assert as_mapping or recall[0] >= floor - 1e-4


def test_a_floor_raises_recall_where_it_binds(clouds):
    """The rare class is missed without one, found with one, at a price."""
    free, held = (model(min_recall=rates).fit(*clouds) for rates in (None, {1: 0.9}))
    assert free.recall_[1] < 0.85
    assert 0.9 - 1e-4 <= held.recall_[1] <= 0.95
    assert held.objective_ > free.objective_


def test_floors_that_cannot_be_met_are_reported(rng):
    """The error is a ValueError that names classes, rates attained and asked."""
    X, y = np.tile(rng.random((20, 2)), (2, 1)), np.repeat(["good", "bad"], 20)
    with pytest.raises(
        ValueError, match=r"'bad': 0\..*asked 0\.8.*'good': 0\."
    ) as told:
        model(min_recall={"good": 0.7, "bad": 0.8}).fit(X, y)
    assert isinstance(told.value, InfeasibleError)
    assert set(told.value.recall) == {"bad", "good"}
    assert sum(told.value.recall.values()) == pytest.approx(1.0, abs=1e-6)
    for rate in told.value.recall.values():
        assert f"{rate:.4f}" in str(told.value)


def test_costs_shift_predictions_to_the_class_that_is_dear_to_miss(clouds):
    """Rows of W are the truth, columns the prediction."""
    X, y = clouds
    shares = [
        model(cost_matrix=[[0.0, 1.0], [price, 0.0]]).fit(X, y).predict(X).mean()
        for price in (0.25, 1.0, 16.0)
    ]
    assert shares[0] < shares[1] < shares[2]


# -- shapes and extremes ---------------------------------------------------------------


@pytest.mark.parametrize(("K", "depth"), [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3)])
def test_depth_none_is_the_smallest_that_works(rng, K, depth):
    """Up to a class for every leaf."""
    y = np.arange(120) % K
    X = y[:, np.newaxis] + rng.normal(0, 0.1, (120, 2))
    clf = model(n_starts=1).fit(X, y)
    assert clf.tree_.depth == depth
    assert set(clf.leaf_class_) == set(range(K))
    assert clf.coef_.shape == (2, 2**depth - 1)


@pytest.mark.a_few(2)
@unconverged
@pytest.mark.parametrize("depth", range(1, 9))
def test_every_depth_to_eight_fits(clouds, depth):
    """A deeper tree is a tree like any other."""
    clf = model(depth=depth, n_starts=1, max_iter=50).fit(*clouds)
    assert clf.coef_.shape == (3, 2**depth - 1)
    assert len(clf.leaf_class_) == 2**depth
    np.testing.assert_allclose(clf.predict_proba(clouds[0]).sum(axis=1), 1.0)


@unconverged
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e4, 1e6])
def test_any_gamma_gives_finite_numbers(clouds, gamma):
    """From almost no decision to almost a step."""
    X, y = clouds
    clf = model(depth=2, gamma=gamma, alpha_local=0.01, n_starts=2).fit(X, y)
    numbers = (clf.coef_, clf.threshold_, clf.recall_, clf.objective_, clf.residual_)
    assert all(np.isfinite(number).all() for number in numbers)
    assert clf.objective_ == pytest.approx(truth_of(clf, X, y).objective(clf.tree_))
    assert np.isfinite(clf.predict_proba(X)).all()


# -- ending early ----------------------------------------------------------------------


def test_a_time_limit_returns_the_best_so_far(clouds):
    """The status says so, and the tree is a tree."""
    clf = model(n_starts=500, time_limit=1e-9).fit(*clouds)
    assert clf.status_ == "time_limit"
    assert len(clf.starts_) < 500
    assert set(clf.leaf_class_) == {0, 1}
    assert np.isfinite(clf.predict_proba(clouds[0])).all()


def test_the_callback_hears_of_every_start(clouds):
    """Progress counts up and the best objective never rises."""
    heard = []
    clf = model(n_starts=7).fit(*clouds, callback=heard.append)
    assert [progress.n_done for progress in heard] == [1, 2, 3, 4, 5, 6, 7]
    best = [progress.objective for progress in heard]
    assert best == np.minimum.accumulate(clf.starts_.objective).tolist()
    assert best[-1] == clf.objective_


def test_a_callback_that_returns_true_stops(clouds):
    """What was found until then is kept."""
    clf = model(n_starts=50).fit(
        *clouds, callback=lambda progress: progress.n_done == 2
    )
    assert clf.status_ == "stopped"
    assert 2 <= len(clf.starts_) < 50
    check_is_fitted(clf)


def test_a_fit_that_did_not_converge_warns_at_the_users_line(iris):
    """The warning tells the residual and what to raise."""
    with pytest.warns(
        ConvergenceWarning, match="residual.*Raise max_iter .it is 1"
    ) as told:
        clf = model(max_iter=1).fit(*iris)
    assert told[0].filename == __file__
    assert clf.status_ == "max_iter"
    assert clf.residual_ > clf.tol


def test_a_floor_that_predict_is_far_behind_is_warned_of():
    """By the expected cost it may bind chance alone; the likelihood's decision not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.where(rng.random(300) < 0.15, "rare", "usual")
    asked = {"depth": 1, "alpha_local": 1.0, "min_recall": {"rare": 0.5}}
    with pytest.warns(UserWarning, match="class rare holds for the expected") as told:
        clf = model(**asked).fit(X, y)
    assert told[0].filename == __file__
    assert (clf.predict(X[y == "rare"]) == "rare").mean() < 0.4
    assert clf.recall_[0] >= 0.5 - 1e-4
    sure = model(loss="log", **asked | {"alpha_local": 0.1}).fit(X, y)
    assert (sure.predict(X[y == "rare"]) == "rare").mean() >= 0.5


@pytest.mark.parametrize("random_state", range(3))
def test_strong_penalties_do_not_hide_a_better_tree(iris, random_state):
    """Where a tree with features beats the empty one, some start finds it."""
    found = model(alpha_local=4.0, gamma=512.0, random_state=random_state).fit(*iris)
    assert found.objective_ < 0.15
    assert found.score(*iris) > 0.9


def test_an_infeasible_error_survives_pickling():
    """Worker processes hand it back whole."""
    error = InfeasibleError("not met", {"a": 0.5})
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.recall) == ("not met", {"a": 0.5})


@pytest.fixture
def listening():
    """Hear Ctrl-C, also where a shell that runs tests in the background hides it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.every_value
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fitted", [False, True])
def test_an_interrupted_fit_changes_nothing(clouds, iris, n_jobs, fitted, listening):
    """Ctrl-C leaves the fit before it, or no fit at all."""
    clf = model(n_jobs=n_jobs)
    if fitted:
        clf.fit(*iris)
    before = dict(vars(clf))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*clouds, callback=lambda progress: signal.raise_signal(signal.SIGINT))
    assert vars(clf).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(clf).items())


def test_ctrl_c_ends_a_fit(listening):
    """However early it comes, starts that had not begun never run."""
    X, y = make_moons(200, noise=0.3, random_state=0)
    started, log = [], logging.getLogger("sorct")
    heard = started.append  # the log has a line for every start
    main, level = threading.main_thread().ident, log.level
    log.addFilter(heard)
    log.setLevel("DEBUG")
    ctrl_c = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    ctrl_c.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            SORCTClassifier(depth=4, n_starts=500).fit(X, y)
    finally:
        ctrl_c.join()
        log.removeFilter(heard)
        log.setLevel(level)
    assert len(started) < 250


@pytest.mark.slow
def test_ctrl_c_ends_a_long_fit():
    """In a process of its own, so that what cannot be stopped stops only itself."""
    code = """
import logging, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from sklearn.datasets import make_moons
from sorct import SORCTClassifier
X, y = make_moons(200, noise=0.3, random_state=0)
SORCTClassifier(n_starts=1).fit(X, y)  # loads the compiled code
started = []  # the log has a line for every start
logging.getLogger("sorct").addFilter(started.append)
logging.getLogger("sorct").setLevel("DEBUG")
main = threading.main_thread().ident
threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT]).start()
try:
    SORCTClassifier(depth=4, n_starts=20_000).fit(X, y)
except KeyboardInterrupt:
    print(len(started))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert int(done.stdout) < 250


def test_a_new_fit_forgets_the_old_one(iris, clouds):
    """Fewer columns and no names: nothing stale remains."""
    clf = model().fit(*iris).fit(*clouds)
    assert clf.n_features_in_ == 3
    assert not hasattr(clf, "feature_names_in_")
    assert_same_fit(clf, model().fit(*clouds))


def test_fit_prints_nothing(clouds, capfd):
    """Neither output nor error stream hears of it."""
    model(min_recall=0.5, n_jobs=2).fit(*clouds).predict(clouds[0])
    assert capfd.readouterr() == ("", "")


# -- the Bayes rule --------------------------------------------------------------------


def test_without_priors_and_costs_the_bayes_rule_is_the_most_probable_class(iris):
    """Equal costs: least expected cost is greatest probability."""
    X, y = iris
    clf = model(gamma=8.0).fit(X, y)
    np.testing.assert_array_equal(clf.predict_bayes(X), clf.predict(X))


def test_the_shares_of_training_are_neutral_priors(rng, iris):
    """Priors count in relation to weighted shares, so these cancel."""
    X, y = iris
    weight = rng.uniform(0.1, 2.0, 150) * np.where(y == "setosa", 5.0, 1.0)
    costs = [[0, 1, 2], [3, 0, 1], [1, 1, 0]]
    clf = model(gamma=8.0, cost_matrix=costs).fit(X, y, sample_weight=weight)
    share = [weight[y == label].sum() for label in clf.classes_]
    np.testing.assert_array_equal(clf.predict_bayes(X, share), clf.predict_bayes(X))
    cost = clf.predict_proba(X) @ np.array(costs)
    np.testing.assert_array_equal(
        clf.predict_bayes(X), clf.classes_[cost.argmin(axis=1)]
    )


def test_a_certain_prior_decides_alone(iris):
    """A class that others cannot be is predicted wherever it is possible at all."""
    X, y = iris
    clf = model(gamma=8.0).fit(X, y)
    assert set(clf.predict_bayes(X, [0.0, 0.0, 5.0])) == {"virginica"}
