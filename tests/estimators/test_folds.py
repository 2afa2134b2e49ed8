"""Folds: what cross-validation trains on and scores, against a plain loop."""

import functools
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    get_scorer,
    log_loss,
    make_scorer,
)
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import sorct.estimators.folds
import sorct.search.warm_up
from sorct import InfeasibleError, sorct_path
from sorct.data.target import Classes
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model
from sorct.estimators.folds import PathTask
from sorct.estimators.marks import FoldScores
from sorct.estimators.quantities import target_of
from sorct.estimators.rows import Data
from sorct.estimators.scorers import takes_weights
from tests.data.test_encoder import mixed_table
from tests.estimators.test_cross_validated import ALPHAS, assert_same_search, model


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is compiled or traced."""

    def work(*args):
        pytest.fail("work began before the input was checked")

    monkeypatch.setattr(sorct.search.warm_up, "warm_up", work)
    monkeypatch.setattr(sorct.estimators.folds, "trace", work)


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
            X_train,
            y[train],
            alphas_local=ALPHAS,
            random_state=0,
            relax=False,
            **options,
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


GRIDS = {
    "local": {"n_solutions": 1},
    "grid": {"n_solutions": 1, "alphas_global": (0.0, 0.05), "min_recall": 0.2},
}


@pytest.fixture(scope="module")
def plain_paths(request, iris):
    """Options, and the paths of a plain loop over two folds and of all rows."""
    X, y = iris
    options = {"alphas_global": 0.0, "depth": 2, **GRIDS[request.param]}
    options |= {"alphas_local": ALPHAS, "random_state": 0, "relax": False}
    folds = list(StratifiedKFold(2).split(X, y))
    paths = [sorct_path(X.iloc[train], y[train], **options) for train, _ in folds]
    tests = [test for _, test in folds]
    return GRIDS[request.param], paths, tests, sorct_path(X, y, **options)


@pytest.mark.parametrize(
    ("plain_paths", "scoring", "score"),
    [
        ("local", None, hits),
        pytest.param("local", "accuracy", hits, marks=pytest.mark.slow),
        ("local", "balanced_accuracy", balance),
        ("local", lambda clf, X, y: clf.score(X, y), hits),
        ("local", lambda clf, X, y: likelihood(clf.tree_, X, y), likelihood),
        (
            "local",
            make_scorer(costs, greater_is_better=False),
            lambda tree, X, y: -costs(y, tree.predict(X)),
        ),
        ("grid", "neg_log_loss", likelihood),
    ],
    indirect=["plain_paths"],
)
def test_scores_are_those_of_a_plain_loop(iris, plain_paths, scoring, score):
    """Every fold traces its own path with the same seed; exactly."""
    (X, y), (options, paths, tests, whole) = iris, plain_paths
    search = model(scoring=scoring, **options).fit(X, y)
    scores = np.array(
        [
            [score(tree, X.iloc[test], y[test]) for tree in path]
            for path, test in zip(paths, tests, strict=True)
        ]
    )
    results = search.cv_results_
    for k in range(2):
        np.testing.assert_array_equal(results[f"split{k}_score"], scores[k])
    np.testing.assert_array_equal(results["mean_score"], scores.mean(axis=0))
    np.testing.assert_allclose(results["std_score"], scores.std(axis=0, ddof=1))
    np.testing.assert_allclose(
        results["se_score"], scores.std(axis=0, ddof=1) / np.sqrt(2)
    )
    assert search.best_score_ == scores.mean(axis=0).max()
    assert search.path_ == whole


# -- folds given by the user -----------------------------------------------------------


@pytest.mark.every_value
@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize(
    "cv",
    [KFold(3, shuffle=True, random_state=1), ShuffleSplit(2, random_state=5)],
    ids=["folds", "splits"],
)
def test_folds_are_the_users(iris, cv, as_list):
    """A splitter, or its splits one by one."""
    X, y = iris
    folds = list(cv.split(X, y))
    search = model(cv=folds if as_list else cv).fit(X, y)
    options = {"n_solutions": 1, "alphas_global": 0.0}
    scores = plain_scores(X, y, folds, hits, **options)
    np.testing.assert_array_equal(search.cv_results_["mean_score"], scores.mean(axis=0))
    assert f"split{len(folds)}_score" not in search.cv_results_


def test_weights_reach_the_paths_and_the_scorer(rng, clouds):
    """Training and accuracy are weighted."""
    X, y = clouds
    weight = rng.uniform(0.2, 3.0, len(y))
    search = model().fit(X, y, sample_weight=weight)
    for k, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        path = sorct_path(
            X[train],
            y[train],
            alphas_local=ALPHAS,
            n_solutions=1,
            random_state=0,
            sample_weight=weight[train],
        )
        scores = [
            accuracy_score(y[test], tree.predict(X[test]), sample_weight=weight[test])
            for tree in path
        ]
        np.testing.assert_allclose(search.cv_results_[f"split{k}_score"], scores)


UNEVEN = [(np.arange(60), np.arange(60, 90)), (np.arange(20, 90), np.arange(20))]


#: Weights that leave every seventh row out.
SOME = np.where(np.arange(90) % 7, 1.0, 0.0)


@pytest.fixture(scope="module")
def uneven_scores():
    """Keep the scores of a plain loop over uneven folds: all tests draw the same."""
    return {}


def scores_of_a_loop(X, y, weight):
    """Scores of every tree on both uneven folds, of rows that have a weight."""
    scores = []
    for train, test in UNEVEN:
        if weight is not None:
            train, test = train[weight[train] > 0], test[weight[test] > 0]
        path = sorct_path(
            X[train], y[train], alphas_local=ALPHAS, n_solutions=1, random_state=0
        )
        scores.append([hits(tree, X[test], y[test]) for tree in path])
    return scores


def as_masks(rows):
    """Rows as a mask over 90."""
    return np.isin(np.arange(90), rows)


@pytest.mark.every_value
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "given",
    [
        lambda: [(a.tolist(), b.tolist()) for a, b in UNEVEN],
        lambda: [(as_masks(a), as_masks(b)) for a, b in UNEVEN],
        lambda: iter(UNEVEN),
        lambda: (fold for fold in UNEVEN),
        lambda: tuple(UNEVEN),
        lambda: [(pd.Index(a), pd.Index(b)) for a, b in UNEVEN],
    ],
    ids=["lists", "masks", "iterator", "generator", "tuple", "indices"],
)
def test_rows_of_folds_come_in_any_form(clouds, uneven_scores, given, weighted):
    """As in scikit-learn; numbers are of the table's rows, whatever their weights."""
    X, y = clouds
    weight = SOME if weighted else None
    if weighted not in uneven_scores:
        uneven_scores[weighted] = scores_of_a_loop(X, y, weight)
    expected = uneven_scores[weighted]
    search = model(cv=given()).fit(X, y, sample_weight=weight)
    found = search.cv_results_[["split0_score", "split1_score"]].to_numpy().T
    np.testing.assert_allclose(found, expected)


# -- weights ---------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("kind", ["ones", "random"])
@pytest.mark.parametrize(
    "framed",
    [
        pytest.param(False, id="array", marks=pytest.mark.slow),
        pytest.param(True, id="frame"),
    ],
)
@pytest.mark.parametrize("cv", [2, KFold(3)], ids=["number", "splitter"])
def test_rows_of_weight_zero_count_for_nothing(rng, clouds, kind, framed, cv):
    """The search is that without these rows, to the last bit."""
    X, y = clouds
    weight = np.ones(90) if kind == "ones" else rng.uniform(0.2, 3.0, 90)
    kept = rng.random(90) < 0.7
    table, part = (pd.DataFrame(X), pd.DataFrame(X[kept])) if framed else (X, X[kept])
    if framed:
        table.columns = part.columns = ["u", "v", "w"]
    zeroed = model(cv=cv).fit(table, y, sample_weight=np.where(kept, weight, 0.0))
    without = model(cv=cv).fit(part, y[kept], sample_weight=weight[kept])
    assert_same_search(zeroed, without)
    assert zeroed.tree_ == without.tree_
    assert zeroed.path_ == without.path_
    if kind == "ones":
        plain = model(cv=cv).fit(part, y[kept])
        pd.testing.assert_frame_equal(zeroed.cv_results_, plain.cv_results_)
        assert zeroed.tree_ == plain.tree_


def test_a_class_of_weight_zero_is_no_class(clouds):
    """Neither in the folds nor in the tree."""
    X, y = clouds
    rows, labels = np.vstack([X, X[:10] + 5.0]), np.append(y, np.full(10, 2))
    search = model(cost_matrix=[[0, 1], [2, 0]], min_recall={0: 0.5, 1: 0.5}).fit(
        rows, labels, sample_weight=np.repeat([1.0, 0.0], [90, 10])
    )
    assert search.classes_.tolist() == [0, 1]
    without = model(cost_matrix=[[0, 1], [2, 0]], min_recall={0: 0.5, 1: 0.5}).fit(
        X, y, sample_weight=np.ones(90)
    )
    assert_same_search(search, without)


@pytest.mark.a_few(1)
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
    scores = search.cv_results_["mean_score"]
    # All rows scored are of the class that is not there: wrong, at a cost of 1 to 3.
    wrong = (scores <= -1.0) if "cost_matrix" in options else (scores == 0.0)
    assert wrong.tolist() == [True] * 3
    assert search.classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cost_matrix": [[0, 1, 2], [3, 0, 1], [1, 1, 0]]},
        pytest.param({"min_recall": 0.2}, marks=pytest.mark.slow),
        {"min_recall": {"virginica": 0.2, "setosa": 0.3}},
    ],
    ids=str,
)
def test_a_class_may_have_no_weight_in_a_fold(iris, options):
    """Its costs and floors are then left out, as if it were not there."""
    X, y = iris
    third = np.arange(150) % 3
    folds = [(np.flatnonzero(third != k), np.flatnonzero(third == k)) for k in range(3)]
    weight = np.where((y == "virginica") & (third != 0), 0.0, 1.0)
    options = {"n_solutions": 1, "max_iter": 50_000, **options}
    search = model(cv=folds, **options).fit(X, y, sample_weight=weight)
    assert search.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    # Without virginica to learn from, its rows of the first fold are all missed.
    assert (search.cv_results_["split0_score"] <= 34 / 50).all()
    rows = weight > 0
    place = np.cumsum(rows) - 1
    kept = [(place[a[rows[a]]], place[b[rows[b]]]) for a, b in folds]
    without = model(cv=kept, **options)
    without.fit(X[rows], y[rows], sample_weight=weight[rows])
    assert_same_search(search, without)


# -- scorers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weighted_paths():
    """Two clouds with weights, and the paths of a plain loop over two folds."""
    rng = np.random.default_rng(int(os.environ.get("SORCT_TEST_SEED", "0")))
    y, weight = np.arange(90) % 2, rng.uniform(0.2, 3.0, 90)
    X = rng.normal(0.0, 1.0, (90, 3)) + 0.9 * y[:, np.newaxis]
    options = {"alphas_local": [0.1], "n_solutions": 1, "random_state": 0}
    paths = [
        (test, sorct_path(X[train], y[train], sample_weight=weight[train], **options))
        for train, test in StratifiedKFold(2).split(X, y)
    ]
    return X, y, weight, paths


def bare(clf, X, y):
    """Score without weights."""
    return clf.score(X, y)


def weighted(clf, X, y, sample_weight=None):
    """Score with weights."""
    return clf.score(X, y, sample_weight)


def anything(clf, X, y, **options):
    """Score with whatever is given."""
    return clf.score(X, y, **options)


class Judge:
    """Scorers that are no functions."""

    def __call__(self, clf, X, y):
        """Score as an object."""
        return clf.score(X, y)

    def judge(self, clf, X, y):
        """Score as a method."""
        return clf.score(X, y)


@pytest.mark.parametrize(
    ("scoring", "takes"),
    [
        (bare, False),
        (lambda clf, X, y: clf.score(X, y), False),
        (weighted, True),
        (anything, True),
        (get_scorer("accuracy"), True),
        (Judge(), False),
        (Judge().judge, False),
        (functools.partial(bare), False),
        (functools.partial(weighted), True),
    ],
    ids=[
        "function", "lambda", "weighted", "options", "scikit-learn", "object",
        "method", "partial", "weighted partial",
    ],
)  # fmt: skip
def test_a_scorer_gets_weights_if_it_takes_them(weighted_paths, scoring, takes):
    """And works without if it does not."""
    X, y, weight, paths = weighted_paths
    assert takes_weights(scoring) == takes
    search = model(scoring=scoring, alphas_local=[0.1])
    search.fit(X, y, sample_weight=weight)
    for k, (test, path) in enumerate(paths):
        given = weight[test] if takes else None
        scores = [
            accuracy_score(y[test], tree.predict(X[test]), sample_weight=given)
            for tree in path
        ]
        np.testing.assert_allclose(search.cv_results_[f"split{k}_score"], scores)


# -- rare levels -----------------------------------------------------------------------


@pytest.mark.every_value
@pytest.mark.parametrize("policy", ["error", "first_level"])
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_level_that_a_fold_never_saw_is_its_first(rng, policy, n_jobs):
    """One single row has it; the tree of all rows knows it."""
    rows, y = mixed_table(rng, 60), np.arange(60) % 2
    rows["city"] = np.where(np.arange(60) == 7, "Paris", rows["city"])
    search = model(handle_unknown=policy, n_jobs=n_jobs).fit(rows, y)
    assert search.cv_results_["mean_score"].notna().all()
    search.predict(rows)
    strange = rows.assign(city="Atlantis")
    if policy == "error":
        with pytest.raises(ValueError, match="Atlantis"):
            search.predict(strange)
    else:
        search.predict(strange)


# -- floors ----------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("depths", [1, [1, 2]])
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_floors_that_a_fold_cannot_meet_name_it(rng, depths, n_jobs):
    """All rows together can: most are far apart, but fold 1 trains on the others."""
    y = np.arange(220) % 2
    X = rng.random((220, 2)) + 3.0 * y[:, np.newaxis]
    X[201::2] = X[200::2]
    clear, mixed = np.arange(200), np.arange(200, 220)
    search = model(
        cv=[(clear, mixed), (mixed, clear)], min_recall=0.9, depths=depths,
        n_jobs=n_jobs,
    )  # fmt: skip
    with pytest.raises(InfeasibleError, match=r"^Fold 1 of cv: min_recall") as told:
        search.fit(X, y)
    assert set(told.value.recall) == {0, 1}
    assert not hasattr(search, "cv_results_")


def test_the_first_thing_that_failed_is_told():
    """All rows before any fold, then the folds in order."""
    errors = [InfeasibleError(f"no {k}", {"a": k / 10}) for k in range(3)]
    scores = [np.zeros(2), errors[1], errors[2]]
    assert FoldScores(scores, errors[0]).error is errors[0]
    told = FoldScores(scores, None).error
    assert str(told) == "Fold 1 of cv: no 1"
    assert told.recall == {"a": 0.1}
    assert FoldScores([np.zeros(2)], None).error is None


# -- folds that make no sense ----------------------------------------------------------


def test_a_fold_with_one_class_is_refused(clouds, no_work):
    """By its number, before any work."""
    X, y = np.sort(clouds[0], axis=0), np.sort(clouds[1])
    with pytest.raises(ValueError, match="Fold 0 of cv leaves 1 class.*stratified"):
        model(cv=KFold(2)).fit(X, y)
    folds = [(np.arange(90), np.arange(5)), (np.arange(90), np.arange(0))]
    with pytest.raises(ValueError, match=r"Fold 1 of cv.* 0 row\(s\) to score"):
        model(cv=folds).fit(X, y)


@pytest.mark.every_case
@pytest.mark.parametrize("repeats", [None, 2])
def test_classes_of_few_rows_are_named_once_in_our_words(rng, repeats):
    """Those that some fold cannot score; scikit-learn's own words are not heard."""
    y = np.array(["a"] * 20 + ["b"] * 20 + ["few"] * 3 + ["one"])
    data = Data(rng.normal(size=(y.size, 2)), y, None)
    with pytest.warns(UserWarning, match="fewer than there are folds") as caught:
        folds = data.folds(Classes.splitter(5, 0, repeats))
    (told,) = [str(one.message) for one in caught]
    assert told == (
        "Class 'one' has 1 row, class 'few' has 3 rows, fewer than there are folds: "
        "some folds have none of them to score, and a class of 1 row is in no training "
        "part where it is scored. Leave such rows out, or merge the class with another."
    )
    assert sum("one" not in train.y for train, _ in folds) == (repeats or 1)
    data.part(np.arange(40)).folds(Classes.splitter(5, 0, repeats))


def test_a_fold_with_one_class_of_any_weight_is_refused(clouds, no_work):
    """Rows of weight zero are no rows."""
    X, y = clouds
    first = np.arange(90) < 45
    weight = np.where(first & (y == 1), 0.0, 1.0)
    folds = [(np.flatnonzero(first), np.flatnonzero(~first))]
    with pytest.raises(ValueError, match="Fold 0 of cv leaves 1 class"):
        model(cv=folds).fit(X, y, sample_weight=weight)


def test_a_splitter_does_not_see_rows_of_weight_zero(rng):
    """Nor do the parts hold any."""
    weight = np.where(rng.random(60) < 0.5, 0.0, 1.0)
    data = Data(np.arange(120.0).reshape(60, 2), np.arange(60) % 2, weight)
    kept = np.flatnonzero(weight)
    expected = StratifiedKFold(3).split(data.X[kept], data.y[kept])
    for (train, test), (a, b) in zip(data.folds(3), expected, strict=True):
        np.testing.assert_array_equal(train.X, data.X[kept[a]])
        np.testing.assert_array_equal(test.X, data.X[kept[b]])
        np.testing.assert_array_equal(test.y, data.y[kept[b]])
        assert train.weight.all()
        assert test.weight.all()


# -- standard errors -------------------------------------------------------------------


def test_folds_drawn_again_hold_no_new_rows(rng):
    """Their scores count for the mean; the standard error is that of one drawing."""
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + y[:, np.newaxis]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    once = list(folds.split(X, y))
    for cv, n_folds in ((once, 3), ([*once, *once], 3), (once[:2], 2)):
        results = model(cv=cv).fit(X, y).cv_results_
        expected = results["std_score"] / np.sqrt(n_folds)
        np.testing.assert_allclose(results["se_score"], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "least"), [(8, 200, -12), (70, 200, -9), (70, 60, -6)]
)
def test_weak_penalties_are_tried_but_on_wide_tables(rng, n_columns, n_rows, least):
    """Of a quantity; where columns are more than rows they would fit all of these."""
    X = rng.random((n_rows, n_columns))
    y = X[:, 0] + 0.1 * rng.random(n_rows)
    model = Model(0, of_quantity=True, loss="square", leaf="linear")
    target = target_of(y, np.ones(n_rows), model)
    task = PathTask(model, target, None, None, 2, Effort(random_state=0), "")
    strengths = task.with_grid(Data(X, y, None)).alphas_local
    share = np.log2(strengths[0] / strengths[-1])
    assert least - 1e-9 <= share <= least + 2.0
