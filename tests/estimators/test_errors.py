"""Bad input gets one clear error, before any work, with the words a user needs."""

import re
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError

import sorct.search.warm_up
from sorct import (
    SORCTClassifier,
    SORCTClassifierCV,
    SORCTForestRegressor,
    SORCTRegressor,
    SORCTRegressorCV,
    compare,
    explain,
    sorct_path,
)

N = 30
Y = np.arange(N) % 2
X = np.random.default_rng(0).random((N, 3))


def frame(**columns):
    """Three numeric columns and those given."""
    return pd.DataFrame(X, columns=["age", "size", "dose"]).assign(**columns)


def alternating(first, second, dtype=None):
    """Make a column of two values."""
    return pd.Series([first, second] * (N // 2), dtype=dtype)


def with_value(value):
    """Plain data with one odd value in the second column."""
    odd = X.copy()
    odd[5, 1] = value
    return odd


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is compiled, solved or reported; this is the callback."""

    def work(*args):
        pytest.fail("work began before the input was checked")

    monkeypatch.setattr(sorct.search.warm_up, "warm_up", work)
    return work


def assert_refused(
    no_work, words, X=X, y=Y, sample_weight=None, error=ValueError, **options
):
    """Check that a fit is refused with these words and leaves nothing behind."""
    clf = SORCTClassifier(**options)
    before = dict(vars(clf))
    with pytest.raises(error, match=re.compile(words, re.DOTALL)):
        clf.fit(X, y, sample_weight, callback=no_work)
    assert vars(clf) == before


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (with_value(np.inf), "infinity.*column 'x1'"),
        (with_value(-np.inf), "infinity.*column 'x1'"),
        (frame(dose=-np.inf), "infinity.*column 'dose'"),
        (frame(wait=pd.Timedelta(1, "s")), "'wait'.*timedelta64.*numbers first"),
        (frame(month=pd.period_range("2026", periods=N, freq="M")), "'month'"),
        (frame(bin=pd.interval_range(0, N)), "'bin'"),
        (frame(z=1j), "Complex.*'z'"),
        (frame(size=1.7e308 * (2 * Y - 1)), "'size'.*rescale"),
        (X.astype(str).astype(object) + "kg", "numeric.*DataFrame"),
        (np.array([["a", "b"]] * N), "could not convert.*numeric.*DataFrame"),
        (X[:, 0], "Expected 2D array, got 1D.*[Rr]eshape"),
        (X[:, :, np.newaxis], "dim 3"),
        (frame()[[]], "0 feature"),
        (X[:, :0], "0 feature"),
        (frame()[:0], "0 sample"),
        (X[:0], "0 sample"),
        (pd.DataFrame(X, columns=["age", "size", "age"]), "distinct.*'age'"),
        (pd.DataFrame({"city": ["Rome"] * N}), "nothing to cut on"),
        (X[:-1], "inconsistent numbers of samples.*29.*30"),
        (frame()[:-1], "inconsistent numbers of samples.*29.*30"),
    ],
)
def test_odd_tables_are_refused(no_work, odd, words):
    """The message names the column, or says what a table must look like."""
    assert_refused(no_work, words, X=odd)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (frame(city=alternating("Rome", 1, object)), "'city' mixes.*'int', 'str'"),
        (frame(city=alternating([1], [2], object)), "'city'"),
        (pd.DataFrame(X, columns=["age", 1, 2]), "names.*str"),
        ({"age": [1.0]}, "got a dict.*pandas.DataFrame"),
    ],
)
def test_tables_of_another_type_are_refused(no_work, odd, words):
    """A TypeError says what to convert."""
    assert_refused(no_work, words, X=odd, error=TypeError)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (None, "y.*None"),
        (np.zeros(N), "at least 2 classes, got 1 class: 0"),
        (["healthy"] * N, "at least 2 classes, got 1 class: 'healthy'"),
        (X[:, 0], "continuous.*take SORCTRegressor"),
        ("sick", r"drop\(columns='sick'\)"),
        (np.where(Y, "sick", None), "15 of 30 labels.*first at row"),
        (np.where(Y, np.nan, 1.0), "y contains NaN: 15 of 30 labels.*at row 1"),
        (np.c_[Y, Y], "1d array"),
        (Y[:-1], "inconsistent numbers of samples.*30.*29"),
    ],
)
def test_odd_targets_are_refused(no_work, odd, words):
    """The message says what the classes must be like."""
    assert_refused(no_work, words, y=odd)


def test_a_target_of_one_column_is_taken_with_a_warning():
    """As scikit-learn does."""
    with pytest.warns(DataConversionWarning, match="1d array"):
        SORCTClassifier(n_starts=1).fit(X, Y[:, np.newaxis])


@pytest.mark.parametrize(
    ("n_classes", "depth", "smallest"), [(3, 1, 2), (5, 2, 3), (9, 1, 4)]
)
def test_too_many_classes_name_the_depth_that_works(
    no_work, n_classes, depth, smallest
):
    """So that the next try succeeds."""
    words = (
        f"depth {depth} .*{n_classes} classes.*smallest depth that works is {smallest}"
    )
    assert_refused(no_work, words, y=np.arange(N) % n_classes, depth=depth)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (np.full(N, -1.0), ">= 0.*got -1 at row 0"),
        (np.where(Y, -1e-9, 1.0), ">= 0"),
        (np.zeros(N), "not all zero, got zeros alone"),
        (np.where(Y, np.nan, 1.0), "finite"),
        (np.where(Y, np.inf, 1.0), "finite"),
        (np.ones(N - 1), r"shape \(30,\).*got \(29,\)"),
        (np.ones((N, 1)), r"shape \(30,\).*got \(30, 1\)"),
        (2.0, r"shape \(30,\).*got \(\)"),
        (["heavy"] * N, "number"),
        (np.where(Y, 1e-300, 1e300), "class"),
    ],
)
def test_odd_weights_are_refused(no_work, odd, words):
    """The message names sample_weight and what it must be."""
    assert_refused(no_work, f"sample_weight.*{words}", sample_weight=odd)


def test_weights_that_leave_one_class_are_refused(no_work):
    """Rows of weight 0 do not count."""
    assert_refused(no_work, "at least 2 classes, got 1 class: 1", sample_weight=Y)


@pytest.mark.parametrize(
    ("name", "words", "values"),
    [
        ("depth", "whole number >= 1", [0, -1, 1.5, "2", True]),
        ("depth", "at most", [50]),
        ("alpha_local", "finite number >= 0", [-1e-9, np.nan, np.inf, "1", None, True]),
        ("alpha_global", "finite number >= 0", [-1e-9, np.nan, np.inf, "1", None]),
        ("gamma", "finite number > 0", [0, -512.0, np.nan, np.inf, "1", None]),
        ("tol", "finite number > 0", [0.0, -1e-6, np.nan, None]),
        ("n_starts", 'whole number >= 1 or "auto"', [0, -1, 2.5, None, "Auto", "20"]),
        ("max_iter", "whole number >= 1", [0, -1, 2.5, None]),
        ("time_limit", "seconds > 0 or None", [0, -1.0, np.nan, "1"]),
        ("handle_unknown", "'error', 'first_level'", ["ignore", None]),
        ("min_recall", r"in \[0, 1\]", [-0.1, 1.1, np.nan, "x", {0: 1.5}, {1: -1}]),
        (
            "min_recall",
            "names class.*not among.*0, 1",
            [{"yes": 0.5}, {0: 0.5, 2: 0.5}],
        ),
        ("cost_matrix", r"shape \(2, 2\)", [np.zeros((3, 3)), [[0, 1]], [0, 1], 1.0]),
        ("cost_matrix", ">= 0", [[[0, -1], [1, 0]]]),
        ("cost_matrix", "finite", [[[0, np.nan], [1, 0]], [[0, np.inf], [1, 0]]]),
        ("cost_matrix", "zero diagonal", [[[1, 1], [1, 0]], np.ones((2, 2))]),
        ("cost_matrix", "", [[[0, 1], [1]], [["a", "b"], ["c", "d"]], "half"]),
        ("cost_matrix", "square array.*mapping.*class_weight", [{1: 5}, {}]),
        ("n_jobs", "", [0, "all"]),
    ],
)
def test_odd_settings_are_refused(no_work, name, words, values):
    """The message names the setting and what it must be."""
    for value in values:
        assert_refused(no_work, f"{name}.*{words}", **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_starts", 2**31, "at most"),
        ("n_jobs", 2**63, "at most"),
        ("cost_matrix", np.full((2, 2), 1j), "complex"),
        ("cost_matrix", [[0, 10**400], [1, 0]], "array of numbers"),
        ("handle_unknown", pd.DataFrame({"a": [1, 2]}), "one of"),
    ],
)
def test_settings_beyond_all_measure_are_refused(no_work, name, value, words):
    """Before memory or threads are asked for."""
    assert_refused(no_work, f"{name}.*{words}", **{name: value})


HUGE = 10**400


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda: SORCTClassifier(alpha_local=HUGE), "alpha_local must be a finite"),
        (lambda: SORCTClassifier(min_recall=HUGE), "min_recall must be a rate"),
        (lambda: SORCTClassifier(confidence=HUGE), "confidence must be None or a prob"),
        (lambda: SORCTClassifier(class_weight={0: HUGE}), "class_weight must be"),
        (lambda: SORCTClassifier(feature_cost=[HUGE, 1, 1]), "feature_cost must be"),
        (
            lambda: SORCTRegressor(loss="quantile", quantile=HUGE),
            "quantile must be a share",
        ),
    ],
)
def test_numbers_that_no_float_can_hold_are_refused_like_others(fit, words):
    """Neither an OverflowError nor a message of NumPy's."""
    with pytest.raises(ValueError, match=words):
        fit().fit(X, Y)


def test_what_cannot_be_reached_is_told_in_words():
    """The number is not one that a float can hold."""
    tree = SORCTRegressor(1, 0.1, n_starts=1).fit(X, X[:, 0]).tree_
    with pytest.raises(ValueError, match="reach must be a finite number or None"):
        explain(tree, X[:1], reach=HUGE)


@pytest.mark.parametrize("quarter", [Fraction(1, 4), np.float32(0.25)])
def test_a_number_is_one_of_any_type(quarter):
    """A penalty of one quarter is that, however it is written."""
    whole = SORCTClassifier(alpha_local=quarter, n_starts=1, random_state=0)
    same = SORCTClassifier(alpha_local=0.25, n_starts=1, random_state=0)
    assert whole.fit(X, Y).tree_ == same.fit(X, Y).tree_


def test_dates_are_no_labels_to_compare_with():
    """Said in our words, not in those of NumPy."""
    tree = SORCTClassifier(alpha_local=0.1, n_starts=1).fit(X, Y).tree_
    days = pd.date_range("2026", periods=N)
    with pytest.raises(TypeError, match="y must have labels of classes.*datetime64"):
        tree.round(2, X, days)


def test_messages_are_one_short_line(no_work):
    """Whatever was handed in."""
    for odd in (np.zeros((24, 3, 2)), np.array([10**400] * 24), "x" * 10_000):
        with pytest.raises(ValueError, match="gamma") as caught:
            SORCTClassifier(gamma=odd).fit(X, Y, callback=no_work)
        assert len(str(caught.value)) < 200
        assert "\n" not in str(caught.value)


def test_a_lazy_frame_is_refused(no_work):
    """Its rows are not at hand."""
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(dict(zip("abc", X.T, strict=True))).lazy()
    assert_refused(no_work, "lazy; collect it first", X=lazy, error=TypeError)


def test_a_callback_that_cannot_be_called_is_refused(no_work):
    """Before the first start, not after it."""
    with pytest.raises(TypeError, match="callback"):
        SORCTClassifier().fit(X, Y, callback="print")


# -- prediction ------------------------------------------------------------------------

METHODS = ["predict", "predict_proba", "predict_bayes"]
methods = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def fitted():
    """Fit a table with a category."""
    table = frame(city=alternating("Rome", "Oslo"))
    return SORCTClassifier(n_starts=1, random_state=0).fit(table, X[:, 0] > 0.5)


@methods
def test_prediction_needs_a_fit(method):
    """As everywhere in scikit-learn."""
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(SORCTClassifier(), method)(X)


@methods
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop(columns="size"), "missing.*size"),
        (lambda table: table.assign(extra=1.0), "unseen.*extra"),
        (
            lambda table: table.rename(columns={"age": "AGE"}),
            "unseen.*AGE.*missing.*age",
        ),
        (lambda table: table.assign(city=None), "missing cells.*'city'"),
        (lambda table: table.assign(dose=np.nan), "NaN.*'dose'"),
        (lambda table: table.assign(size=np.inf), "infinity.*'size'"),
        (lambda table: table.assign(age="old"), "'age' was numeric"),
        (lambda table: table.assign(age=pd.Timestamp("2026")), "'age'.*datetime64"),
        (lambda table: table[:0], "0 sample"),
    ],
)
def test_other_columns_than_in_training_are_refused(fitted, method, change, words):
    """The message says which."""
    table = change(frame(city=alternating("Rome", "Oslo")))
    with pytest.raises(ValueError, match=re.compile(words, re.DOTALL)):
        getattr(fitted, method)(table)


@methods
def test_another_number_of_columns_is_refused(method):
    """Plain arrays have no names; the message counts."""
    clf = SORCTClassifier(n_starts=1).fit(X, Y)
    for n_columns in (2, 4):
        words = f"{n_columns} features.*expecting 3"
        with pytest.raises(ValueError, match=words):
            getattr(clf, method)(np.zeros((5, n_columns)))


@methods
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_odd_values_are_refused_at_prediction(method, odd):
    """Plain arrays, one bad value among many rows, by the name of its column."""
    clf = SORCTClassifier(n_starts=1).fit(X, Y)
    rows = np.tile(X, (2000, 1))
    rows[40_000, 2] = odd
    with pytest.raises(ValueError, match="column 'x2'"):
        getattr(clf, method)(rows)


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ([1.0, 2.0, 3.0], r"shape \(2,\) or \(30, 2\).*got \(3,\)"),
        (np.ones((N - 1, 2)), r"shape \(2,\) or \(30, 2\).*got \(29, 2\)"),
        ([-1.0, 2.0], ">= 0"),
        ([0.0, 0.0], "not all zero"),
        ([np.nan, 1.0], "finite"),
        (["often", "rarely"], ""),
        ([1j, 1.0], "complex"),
        ([10**400, 1], "array of numbers"),
    ],
)
def test_odd_priors_are_refused(fitted, priors, words):
    """The message names priors and what they must be."""
    with pytest.raises(ValueError, match=f"priors.*{words}"):
        fitted.predict_bayes(frame(city=alternating("Rome", "Oslo")), priors)


def test_a_tree_that_no_memory_holds_is_refused_before_any_work():
    """Columns, classes and depth multiply; the message says by how much."""
    from sorct.estimators.checks import check_memory
    from sorct.tree.topology import Topology

    check_memory(5000, 100, Topology(7))
    with pytest.raises(ValueError, match="depth 12 on 10000000 columns"):
        check_memory(10_000_000, 100, Topology(12))


def test_a_table_that_no_memory_holds_is_refused_before_any_work(monkeypatch):
    """The message says what to do; long categories are not written out."""
    from sorct.estimators import checks

    monkeypatch.setattr(checks.os, "sysconf", lambda name: 2**8)
    n = 400
    X = pd.DataFrame({"id": [f"level {k % 80}" for k in range(n)]})
    quick, y = SORCTClassifier(1, n_starts=1, max_iter=1, tol=1.0), np.arange(n) % 2
    quick.fit(X, y)
    few = pd.get_dummies(X["id"]).astype(float)
    with pytest.raises(ValueError, match='fit."table.parquet", "y".'):
        quick.fit(few, y)


@pytest.mark.parametrize("kind", [object, "str", "string", "category"])
def test_missing_labels_are_counted_and_placed(kind):
    """However pandas holds them."""
    labels = pd.Series(["a", "b"] * 20, dtype=object)
    labels[7] = None
    for train in (SORCTClassifier().fit, sorct_path):
        with pytest.raises(ValueError, match="1 of 40 labels is missing, .* at row 7"):
            train(np.ones((40, 2)), labels.astype(kind))


@pytest.mark.parametrize(
    "kind", [list, np.array, *(partial(pd.Series, dtype=d) for d in ("f8", "Int64"))]
)
def test_missing_numbers_are_counted_and_placed(kind):
    """However they are held."""
    y = [float(k) for k in range(40)]
    y[7] = y[9] = np.nan
    told = r"contains NaN: 2 of 40 numbers are missing, .* row 7\. Leave these rows out"
    traced = partial(sorct_path, loss="square")
    for train in (
        SORCTRegressor().fit,
        SORCTRegressorCV().fit,
        SORCTForestRegressor().fit,
        traced,
    ):
        with pytest.raises(ValueError, match=told):
            train(np.ones((40, 2)), kind(y))


@pytest.mark.parametrize(
    ("fit", "y", "words"),
    [
        (
            SORCTClassifierCV().fit,
            list("aaabbccdd"),
            r"5 folds \(cv=5\) need a class of 5 rows, but class 'a' has 3 rows, class "
            r"'b' has 2 rows, .*Take fewer folds \(cv=3\), or merge classes\.",
        ),
        (
            SORCTClassifierCV(cv=3).fit,
            list("abcde"),
            r"3 folds .* 1 row, .*Two folds are the fewest .* merge classes\.",
        ),
        (
            SORCTRegressorCV().fit,
            [1.0, 2.0, 4.0],
            r"at least 5 rows, but there are 3 .* Take fewer folds \(cv=3\)\.",
        ),
        (compare, list("aabb"), r"10 folds \(folds=10\) need .* \(folds=2\)"),
    ],
)
def test_more_folds_than_rows_are_refused_in_words(no_work, fit, y, words):
    """Which class has how many rows, how many folds were asked for, what to do."""
    with pytest.raises(ValueError, match=words):
        fit(X[: len(y)], y)
