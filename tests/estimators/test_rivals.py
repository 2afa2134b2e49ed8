"""The rivals of the experiments: hand-checkable data, and CART as rpart has it."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments import rivals
from experiments.rivals import Part

needs_rpart = pytest.mark.skipif(
    "rivals.rpart_program() is None", reason="Rscript with rpart is not installed"
)
#: R is started once in the quick suite, to agree with scikit-learn.
often_rpart = [needs_rpart, pytest.mark.slow]
carts = pytest.mark.parametrize(
    "fit",
    [
        pytest.param(lambda part: rivals.fit_rpart([part])[0], marks=often_rpart),
        rivals.fit_cart,
    ],
    ids=["rpart", "scikit-learn"],
)


def part_of(X, y, n_train):
    """First rows to train on, the others to test."""
    y = np.asarray(y, dtype=np.int64)
    return Part(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


@pytest.fixture
def one_column(rng):
    """Column 2 of 4 gives the label; two classes coded 1 and 3."""
    X = rng.random((200, 4))
    X[:, 2] = np.where(X[:, 2] < 0.5, 0.4 * X[:, 2], 0.6 + 0.4 * X[:, 2])
    return part_of(X, np.where(X[:, 2] > 0.5, 3, 1), 120)


@pytest.fixture
def three_classes():
    """Three classes by two of five columns, a tenth of the labels drawn anew.

    The seed is fixed: with some, two columns tie, and the two trees take either.
    """
    rng = np.random.default_rng(5)
    X = rng.random((400, 5))
    y = np.where(X[:, 1] < 0.4, 0, np.where(X[:, 3] < 0.6, 1, 2))
    noisy = rng.random(400) < 0.1
    y[noisy] = rng.integers(0, 3, noisy.sum())
    return part_of(X, y, 300)


@carts
def test_cart_finds_the_one_column_that_matters(fit, one_column):
    """A perfect split: every test row right, three of four columns unused."""
    outcome = fit(one_column)
    assert outcome.accuracy == 1.0
    assert outcome.n_columns_used == 1
    assert outcome.global_sparsity == 75.0
    assert outcome.seconds > 0.0


def chance_column(n_right):
    """A dummy set on 100 of 300 rows, 50 + n_right of them of the rarer class 1.

    Unset: 50 - n_right of class 1 among 200. Without a split 100 rows are wrong, with
    one 2 (50 - n_right). The test rows are the training rows.
    """
    x = np.repeat([1.0, 0.0], [100, 200])
    y = np.zeros(300)
    y[: 50 + n_right] = 1.0
    y[100 : 150 - n_right] = 1.0
    return part_of(np.tile(x[:, None], (2, 1)), np.tile(y, 2), 300)


@pytest.mark.every_value
@carts
@pytest.mark.parametrize(("n_right", "n_used"), [(0, 0), (1, 1), (10, 1)])
def test_a_split_stays_only_if_it_saves_a_hundredth_of_the_errors(fit, n_right, n_used):
    """With 100 errors at the root and cp = 0.01, a split must save more than one."""
    part = chance_column(n_right)
    outcome = fit(part)
    assert outcome.n_columns_used == n_used
    assert outcome.accuracy == pytest.approx((200 + 2 * n_right) / 300)


@carts
def test_saving_exactly_a_hundredth_is_not_enough(fit):
    """Pruning is at a complexity of cp or less: one error saved of 100."""
    x = np.repeat([1.0, 0.0], [101, 199])
    y = np.zeros(300)
    y[:51] = 1.0
    y[101:150] = 1.0
    part = part_of(np.tile(x[:, None], (2, 1)), np.tile(y, 2), 300)
    assert fit(part).n_columns_used == 0


@needs_rpart
def test_the_two_carts_agree(three_classes):
    """Without ties between columns the same tree comes out of both."""
    (theirs,) = rivals.fit_rpart([three_classes])
    ours = rivals.fit_cart(three_classes)
    assert replace(theirs, seconds=0.0) == replace(ours, seconds=0.0)
    assert ours.accuracy > 0.8


@needs_rpart
@pytest.mark.slow
def test_outcomes_come_in_the_order_of_parts(one_column, three_classes):
    """Twelve parts in one R process; as text, 10 sorts before 2."""
    outcomes = rivals.fit_rpart([one_column, three_classes] * 6)
    assert [o.accuracy == 1.0 for o in outcomes] == [True, False] * 6


@needs_rpart
@pytest.mark.slow
def test_rpart_sees_the_very_doubles():
    """A gap of four units in the last place of 1/3 is enough to split at."""
    low = 1.0 / 3.0
    high = low + 4.0 * np.spacing(low)
    X = np.tile([[low], [high]], (40, 1))
    (outcome,) = rivals.fit_rpart([part_of(X, np.tile([0, 1], 40), 60)])
    assert outcome.accuracy == 1.0


@needs_rpart
@pytest.mark.slow
def test_a_failure_of_r_is_told_in_its_words(one_column):
    """A single class is refused by rpart."""
    single = replace(one_column, y_train=np.ones_like(one_column.y_train))
    with pytest.raises(RuntimeError, match="Error in"):
        rivals.fit_rpart([one_column, single])


def test_a_result_of_another_size_is_refused(one_column, monkeypatch):
    """R that ends well but writes nothing is a failure, and the folder goes."""
    folders = []

    def do_nothing(command, **_):
        folders.append(rivals.Path(command[-1]))
        assert (folders[0] / "0.in").exists()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(rivals, "rpart_program", lambda: "Rscript")
    monkeypatch.setattr(rivals.subprocess, "run", do_nothing)
    with pytest.raises(RuntimeError, match="was to write 85 numbers"):
        rivals.fit_rpart([one_column])
    assert not folders[0].exists()


def test_cart_is_named_for_what_ran(one_column, monkeypatch):
    """Without R, scikit-learn's tree under its own name."""
    monkeypatch.setattr(rivals, "rpart_program", lambda: None)
    name, outcomes = rivals.cart([one_column, one_column])
    assert name == "scikit-learn CART"
    assert [o.accuracy for o in outcomes] == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="r-cran-rpart"):
        rivals.fit_rpart([one_column])


@needs_rpart
@pytest.mark.slow
def test_cart_prefers_rpart(one_column):
    """With R, rpart."""
    name, (outcome,) = rivals.cart([one_column])
    assert name == "rpart"
    assert outcome.accuracy == 1.0


def test_the_l1_path_opens_up(one_column):
    """From no or one column to all but the useless ones; strengths ascend."""
    path = rivals.fit_l1_path(one_column)
    assert len(path) == len(rivals.L1_STRENGTHS)
    assert np.all(np.diff(rivals.L1_STRENGTHS) > 0.0)
    assert path[0].n_columns_used <= 1
    assert path[8].accuracy == 1.0
    assert path[8].n_columns_used >= path[0].n_columns_used


@pytest.mark.parametrize("n_classes", [2, 3])
def test_orthogonal_columns_enter_one_by_one(n_classes):
    """With one dummy for each group of rows no column leaves again as C grows.

    Five groups, each with its own mixture of classes; the last is the reference.
    """
    group = np.repeat(np.arange(5), 60)
    share = (np.arange(300) % 60) / 60.0
    y = (share < 0.15 * (1 + group)).astype(np.int64)
    if n_classes == 3:
        y[(share > 0.9) & (group < 3)] = 2
    X = (group[:, None] == np.arange(4)).astype(np.float64)
    path = rivals.fit_l1_path(Part(X, y, X, y))
    n_used = [outcome.n_columns_used for outcome in path]
    assert n_used[0] < n_used[-1] == 4
    assert n_used == sorted(n_used)
    assert all(o.global_sparsity == 100.0 - 25.0 * o.n_columns_used for o in path)


def test_no_column_means_the_larger_class(rng):
    """The intercept is free: the sparsest model follows the classes' sizes."""
    X, y = 0.01 * rng.random((200, 3)), np.repeat([0, 1], [90, 110])
    sparsest = rivals.fit_l1_path(Part(X, y, X, y))[0]
    assert sparsest.n_columns_used == 0
    assert sparsest.accuracy == 0.55


def test_the_chosen_strength_does_not_depend_on_test_rows(three_classes, rng):
    """Other test rows and labels, the same model."""
    part = three_classes
    other = replace(
        part, X_test=rng.random(part.X_test.shape), y_test=rng.permutation(part.y_test)
    )
    chosen = [rivals.fit_l1_cv(p, folds=3, seed=1) for p in (part, other)]
    assert chosen[0].n_columns_used == chosen[1].n_columns_used
    assert chosen[0].accuracy != chosen[1].accuracy


def test_cross_validation_picks_from_the_path(one_column):
    """The refitted model is one of the path's, and the sparsest of equals."""
    path = rivals.fit_l1_path(one_column)
    chosen = rivals.fit_l1_cv(one_column, folds=3, seed=0)
    assert chosen.n_columns_used in [outcome.n_columns_used for outcome in path]
    assert chosen.accuracy == 1.0
    assert chosen.n_columns_used == 1


def test_paired_interval_by_hand():
    """Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t(0.975, 2) = 4.3027."""
    mean, low, high = rivals.paired_interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert mean == pytest.approx(2.0)
    assert (low, high) == pytest.approx((2.0 - 4.302653 / 3**0.5, 4.484138), abs=1e-5)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_paired_interval_is_scipys(rng, level):
    """The interval of scipy's own paired t test."""
    a, b = rng.random(10), rng.random(10)
    theirs = stats.ttest_rel(a, b).confidence_interval(level)
    ours = rivals.paired_interval(a, b, level)
    assert ours.mean == pytest.approx(np.mean(a - b))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_equal_differences_have_an_interval_of_no_width():
    """No spread, no width, no warning."""
    a = np.full(10, 0.9)
    assert rivals.paired_interval(a, a) == (0.0, 0.0, 0.0)
    assert rivals.paired_interval(a, np.full(10, 0.8)) == (0.9 - 0.8,) * 3


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0]), ([1.0, 2.0], [1.0, 2.0, 3.0])])
def test_paired_interval_refuses_what_has_no_pairs(a, b):
    """One pair has no spread; unequal lengths are no pairs."""
    with pytest.raises(ValueError, match="equally long"):
        rivals.paired_interval(a, b)
