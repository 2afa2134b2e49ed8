"""sorct_path: from a user's table to the path, or one clear error before any work."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import sorct.search.warm_up
from sorct import PAPER, PAPER_ALPHAS, InfeasibleError, SORCTClassifier, sorct_path
from sorct.data.encoder import TableEncoder
from sorct.estimators.effort import Effort
from sorct.estimators.path import warn_if_slow
from tests.data.test_encoder import mixed_table
from tests.reference import Reference

N = 30
Y = np.arange(N) % 2
X = np.random.default_rng(0).random((N, 3))
# The strongest penalty by default is 2^-0.2 of the one that empties the tree; then come
# steps of a half and, from the fourth halving on, of a whole one.
HALVINGS = [0.2, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12]


def trace(X, y, **options):
    """Trace a short path with a small pool, of penalised trees alone."""
    few = {"alphas_local": [0.0, 0.1, 1.0], "alphas_global": 0.0, "relax": False}
    return sorct_path(X, y, **{"n_solutions": 2, "random_state": 0, **few, **options})


def assert_same(one, other):
    """Two paths agree to the last bit, time apart."""
    plain = [path.to_frame().drop(columns="seconds") for path in (one, other)]
    pd.testing.assert_frame_equal(*plain, check_exact=True)
    for a, b in zip(one, other, strict=True):
        for name in ("coef", "threshold", "leaf_class", "classes", "mass"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)


@pytest.fixture
def clouds(rng):
    """Draw two overlapping clouds."""
    y = np.arange(80) % 2
    return rng.normal(0.0, 1.0, (80, 3)) + 0.8 * y[:, np.newaxis], y


@pytest.fixture(scope="module")
def of_iris(iris):
    """Trace the path of iris once."""
    return trace(*iris)


# -- the grid --------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "log"}, {"depth": 2}, {"alphas_local": 0}, {"alphas_global": 0}],
    ids=str,
)
def test_the_default_grid_suits_the_data(clouds, options):
    """17 strengths of one penalty, from the one that empties the tree downwards."""
    fixed = {"n_solutions": 1, "relax": False, "random_state": 0, **options}
    path = sorct_path(*clouds, **fixed)
    other, axis = path.alphas_global, path.alphas_local
    name = "alphas_global" if "alphas_local" in options else "alphas_local"
    if name == "alphas_global":
        other, axis = axis, other
    assert other.tolist() == [0.0]
    emptying = axis[-1] * 2.0**0.2
    np.testing.assert_allclose(axis[::-1], emptying * 2.0 ** -np.array(HALVINGS))
    assert len(path.tree(-1, -1).variables_used) > 0
    # Known exactly where the problem is convex, else found by a search.
    beyond = 1.01 if "loss" in options else 1.5
    above = sorct_path(*clouds, **{**fixed, name: beyond * emptying})
    assert above.trees[0].variables_used == ()


def test_the_default_grid_does_not_depend_on_units_or_noise(rng, clouds):
    """Columns in other units change nothing, columns of noise next to nothing."""
    X, y = clouds
    fixed = {"n_solutions": 1, "random_state": 0, "loss": "log", "relax": False}
    alphas = sorct_path(X, y, **fixed).alphas_local
    scaled = sorct_path(X * [1e3, 1.0, 1e-3], y, **fixed).alphas_local
    np.testing.assert_allclose(scaled, alphas, rtol=1e-6)
    noisy = np.c_[X, rng.normal(size=(len(X), 3))]
    most = sorct_path(noisy, y, **fixed).alphas_local[-1]
    # Strengths are of means over the columns, which are twice as many.
    assert most == pytest.approx(2 * alphas[-1], rel=0.2)


def test_the_papers_grid_may_be_asked_for(clouds):
    """0 and the powers of 2 from 2^-12 to 2^3; by depth 1 one axis suffices."""
    path = sorct_path(
        *clouds,
        alphas_local=PAPER_ALPHAS,
        n_solutions=1,
        relax=False,
        random_state=0,
        **PAPER,
    )
    assert path.alphas_local.tolist() == [0.0, *(2.0**r for r in range(-12, 4))]
    assert path.alphas_global.tolist() == [0.0]
    assert path.trees[0].gamma == 512.0
    assert path.relaxed == ()


def test_strengths_are_put_in_order_once_each(clouds):
    """Whatever the order and type given."""
    plain = trace(*clouds)
    for alphas in (
        [1.0, 0.0, 0.1],
        (0.1, 1, 0, 0.1, 1),
        np.array([1.0, 0.1, 0.0]),
        [1, 0.1, -0.0],
    ):
        path = trace(*clouds, alphas_local=alphas)
        assert path.alphas_local.tolist() == [0.0, 0.1, 1.0]
        assert_same(path, plain)


@pytest.mark.parametrize("alpha", [0, 0.5, np.float32(0.5), [0.5]])
def test_one_strength_is_a_grid(clouds, alpha):
    """A number means a sequence of one."""
    path = trace(*clouds, alphas_local=alpha, alphas_global=alpha, depth=2)
    assert len(path) == 1
    assert path.tree(0, 0) is path.trees[0]
    assert path.alphas_local.tolist() == [float(np.squeeze(alpha))]


# -- the numbers are what they say -----------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.parametrize("min_recall", [None, 0.4, {"setosa": 0.9}])
def test_numbers_are_the_references(iris, min_recall):
    """Objective, cost and recall of every tree, and what its training notes."""
    X, y = iris
    path = trace(X, y, alphas_global=[0, 0.1], min_recall=min_recall)
    codes = np.unique(y, return_inverse=True)[1]
    for tree in path:
        notes = tree.training
        truth = Reference(
            X=TableEncoder.learn(X).encode(X),
            y=codes,
            weight=np.ones(150),
            cost_matrix=0.5 * (1 - np.eye(3)),
            floor=np.array(notes["min_recall"]),
            depth=2,
            gamma=4 * 64.0,
            alpha_local=notes["alpha_local"],
            alpha_global=notes["alpha_global"],
        )
        assert notes["objective"] == pytest.approx(truth.objective(tree), abs=1e-9)
        assert notes["cost"] == pytest.approx(truth.cost(tree), abs=1e-9)
        np.testing.assert_allclose(notes["recall"], truth.recall(tree), atol=1e-9)
        np.testing.assert_allclose(tree.mass, truth.mass(tree), atol=1e-9)
        assert (truth.recall(tree) >= truth.floor - 2e-5).all()
        assert notes["residual"] <= 1e-6
        assert notes["status"] == "converged"
        assert "seconds" not in notes
    assert path.seconds.shape == (6,)
    assert (path.seconds >= 0.0).all()
    if min_recall == 0.4:
        assert path.trees[0].training["min_recall"] == [0.4, 0.4, 0.4]


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("alphas", [(0.0, 0.0), (2.0**-6, 0.0), (0.0, 0.1), (0.5, 0.5)])
@pytest.mark.parametrize("name", ["iris", "clouds"])
def test_one_point_is_as_good_as_twenty_starts(request, name, alphas):
    """The classifier at the same penalties finds nothing better."""
    X, y = request.getfixturevalue(name)
    local, spread = alphas
    path = trace(X, y, alphas_local=local, alphas_global=spread, n_solutions=20)
    clf = SORCTClassifier(
        alpha_local=local, alpha_global=spread, n_starts=20, random_state=0
    ).fit(X, y)
    found = path.trees[0].training["objective"]
    assert found <= clf.objective_ * (1.0 + 1e-3) + 1e-6


def test_the_objective_never_falls_when_a_penalty_grows(iris):
    """In the frame that users see."""
    path = trace(*iris, alphas_local=[0, 0.01, 0.1, 1, 10], alphas_global=[0, 0.1, 1])
    value = path.to_frame()["objective"].to_numpy().reshape(5, 3)
    for axis in (0, 1):
        rise = np.diff(value, axis=axis)
        assert (rise >= -1e-5 * np.delete(value, -1, axis=axis) - 1e-9).all()


# -- relaxed trees ---------------------------------------------------------------------


@pytest.mark.every_value
@pytest.mark.parametrize("loss", ["cost", "log"])
@pytest.mark.parametrize("name", ["iris", "clouds"])
def test_relaxed_trees_use_no_other_variables_and_fit_better(request, name, loss):
    """One per point, refitted under an eighth of its penalties."""
    few = {"alphas_local": [0.1, 0.5, 2], "loss": loss, "relax": True}
    path = trace(*request.getfixturevalue(name), **few)
    assert len(path.relaxed) == len(path)
    for tree, loose in zip(path, path.relaxed, strict=True):
        assert set(loose.variables_used) <= set(tree.variables_used)
        told, refitted = tree.training, loose.training
        assert (told.relaxed, refitted.relaxed) == (None, 1 / 8)
        assert refitted.alpha_local == told.alpha_local
        assert refitted.cost <= told.cost + 1e-6


def test_trees_are_relaxed_unless_one_asks_for_none(clouds):
    """The trees of the points are the same either way."""
    plain = trace(*clouds, relax=False)
    assert plain.relaxed == ()
    same = {"alphas_local": plain.alphas_local, "alphas_global": 0.0}
    relaxed = sorct_path(*clouds, **same, n_solutions=2, random_state=0)
    assert len(relaxed.relaxed) == len(plain)
    assert plain.trees == relaxed.trees


@pytest.mark.every_value
@pytest.mark.parametrize("loss", ["cost", "log"])
@pytest.mark.parametrize("most", [1, 2])
def test_limits_on_variables_keep_a_tree_worth_having(iris, loss, most):
    """Never empty where a variable helps, nor worse than what the path has within."""
    path = trace(*iris, max_features=most, loss=loss, relax=True)
    used = [len(tree.variables_used) for tree in path.relaxed]
    assert all(1 <= n <= most for n in used)
    within = [tree.training.cost for tree in path if len(tree.variables_used) <= most]
    best = min(tree.training.cost for tree in path.relaxed)
    assert best <= min(within, default=np.inf) + 1e-6
    assert len(path.select(max_features=most).variables_used) in range(1, most + 1)


def test_limits_on_prices_are_kept(iris):
    """Two cheap variables instead of a dear one."""
    X, y = iris
    prices = dict(zip(X.columns, [1.0, 1.0, 9.0, 5.0], strict=True))
    path = trace(X, y, feature_cost=prices, max_cost=2.0, relax=True)
    for tree in path.relaxed:
        assert tree.variables_cost <= 2.0
        assert tree.variables_used
    assert path.select(max_cost=2.0).variables_cost <= 2.0


# -- tables and weights ----------------------------------------------------------------


def test_categories_come_back_by_name(rng):
    """A level that decides is found, and every tree predicts from the frame."""
    table = mixed_table(rng, 90)
    y = np.where(table["city"] == "Rome", "in", "out")
    path = trace(table, y, alphas_local=[2.0**-8, 0.1, 100.0])
    frame = path.evaluate(table, y)
    assert frame["accuracy"].iloc[0] == 1.0
    assert path.tree(1).variables_used == ("city",)
    assert path.tree(-1).variables_used == ()
    assert path.select(table, y).variables_used == ("city",)
    strict = trace(table, y, alphas_local=0.1, handle_unknown="error")
    with pytest.raises(ValueError, match="Paris"):
        strict.evaluate(table.assign(city="Paris"), y)
    for policy in ("other", "first_level"):
        lenient = trace(table, y, alphas_local=0.1, handle_unknown=policy)
        assert set(lenient.trees[0].predict(table.assign(city="Paris"))) == {"out"}


@pytest.mark.parametrize("options", [{}, {"depth": 2, "min_recall": 0.3}])
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(rng, clouds, options):
    """To the last bit."""
    X, y = clouds
    weight = rng.integers(0, 4, len(y))
    weighted = trace(X, y, sample_weight=weight, **options)
    repeated = trace(np.repeat(X, weight, axis=0), np.repeat(y, weight), **options)
    assert_same(weighted, repeated)


def test_a_seed_gives_equal_paths(iris, of_iris):
    """Equality does not look at the clock."""
    one, other = of_iris, trace(*iris)
    assert one == other
    assert one.trees == other.trees


@pytest.mark.parametrize("n_jobs", [2, pytest.param(-1, marks=pytest.mark.slow)])
def test_the_number_of_jobs_changes_nothing(iris, of_iris, n_jobs, capfd):
    """To the last bit; neither stream hears of it, and there is no warning."""
    assert_same(trace(*iris, n_jobs=n_jobs), of_iris)
    assert capfd.readouterr() == ("", "")


def test_frames_and_arrays_give_the_same_path(iris, of_iris):
    """Names change nothing but names."""
    X, y = iris
    assert_same(of_iris, trace(X.to_numpy(), y))


def test_a_random_state_is_drawn_from(clouds):
    """Once per call, as scikit-learn does."""
    state = np.random.RandomState(3)
    one = trace(*clouds, random_state=state)
    assert_same(one, trace(*clouds, random_state=np.random.RandomState(3)))
    assert state.randint(2**31 - 1) != np.random.RandomState(3).randint(2**31 - 1)


# -- ending early ----------------------------------------------------------------------


def test_a_time_limit_gives_a_whole_path(iris):
    """Every point has a tree; late ones say so."""
    path = trace(*iris, alphas_global=[0, 0.1], time_limit=1e-9)
    assert len(path) == 6
    assert {tree.training["status"] for tree in path} <= {"time_limit", "converged"}
    assert "time_limit" in {tree.training["status"] for tree in path}
    assert np.isfinite(path.to_frame().to_numpy(dtype=float)).all()


def test_the_callback_hears_of_every_point_and_may_end_it(iris):
    """What was found until then is kept."""
    heard = []
    path = trace(*iris, callback=heard.append)
    assert [progress.alpha_local for progress in heard] == [0.0, 0.1, 1.0]
    assert [progress.n_done for progress in heard] == [1, 2, 3]
    short = trace(*iris, callback=lambda progress: True)
    assert len(short) == len(path)
    assert short.trees[0].training["objective"] == pytest.approx(
        path.trees[0].training["objective"], rel=0.05, abs=1e-3
    )


@pytest.mark.every_value
@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize(("n_iterations", "helps"), [(254, False), (2000, True)])
def test_more_iterations_are_advised_only_where_they_help(
    iris, n_trees, n_iterations, helps
):
    """A descent may end before, where no step leads lower."""
    tree = trace(*iris, alphas_local=[1.0]).trees[0]
    told = {"status": "max_iter", "residual": 5e-6, "n_iterations": n_iterations}
    slow = replace(tree, training=replace(tree.training, **told))
    with pytest.warns(ConvergenceWarning, match="5.0e-06") as heard:
        warn_if_slow([slow] * n_trees, Effort(1e-6, 2000, None, 1, 0))
    said = str(heard[0].message)
    assert ("Raise max_iter (it is 2000)" in said) == helps
    assert ("The tree can be used" in said) != helps


def test_a_path_that_did_not_converge_warns_at_the_users_line(iris):
    """The warning counts trees and tells what to raise."""
    with pytest.warns(ConvergenceWarning, match=r"Raise max_iter \(it is 1\)") as told:
        path = sorct_path(
            *iris,
            alphas_local=[0.0, 0.1],
            alphas_global=0,
            max_iter=1,
            n_solutions=2,
            random_state=0,
        )
    assert told[0].filename == __file__
    slow = [tree.training["status"] == "max_iter" for tree in path]
    assert f"{sum(slow)} of 2 trees" in str(told[0].message)


# -- floors ----------------------------------------------------------------------------


def test_floors_that_cannot_be_met_are_reported(rng):
    """The error names classes, rates attained and asked."""
    X, y = np.tile(rng.random((20, 2)), (2, 1)), np.repeat(["good", "bad"], 20)
    words = r"'bad': 0\..*asked 0\.8.*'good': 0\..*asked 0\.7"
    with pytest.raises(InfeasibleError, match=words) as told:
        trace(X, y, min_recall={"good": 0.7, "bad": 0.8})
    assert set(told.value.recall) == {"bad", "good"}
    assert sum(told.value.recall.values()) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("loss", ["cost", "log"])
def test_the_advice_names_arguments_that_exist(rng, loss):
    """sorct_path has no n_starts."""
    X, y = np.tile(rng.random((20, 2)), (2, 1)), np.repeat([0, 1], 20)
    with pytest.raises(InfeasibleError) as told:
        trace(X, y, min_recall=0.9, loss=loss)
    assert "n_starts" not in str(told.value)


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("floor", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("strongest", [1.0, 8.0, 100.0])
def test_floors_hold_under_strong_penalties(iris, floor, strongest):
    """Penalties may cost sparsity, never the floors."""
    alphas = [0.0, 2.0**-6, 2.0**-2, strongest]
    path = trace(*iris, alphas_local=alphas, min_recall=floor)
    for tree in path:
        assert min(tree.training["recall"]) >= floor - 2e-5
        assert tree.training["status"] != "infeasible"


def test_floors_that_only_features_can_meet_hold_from_a_strong_penalty_on(iris):
    """The grid need not begin with a weak one."""
    path = trace(*iris, alphas_local=[50.0, 100.0], min_recall=0.8)
    assert min(min(tree.training["recall"]) for tree in path) >= 0.8 - 2e-5


@pytest.mark.parametrize("alphas", [None, [0.0, 1.0, 100.0]])
def test_floors_hold_for_every_tree_of_the_likelihood(iris, alphas):
    """By the decision; an empty tree has none, and the point gets another tree."""
    path = trace(*iris, alphas_local=alphas, loss="log", min_recall=0.8, relax=True)
    for tree in path.offered:
        assert min(tree.training.recall) >= 0.8 - 1e-9
    value = path.to_frame()["objective"].to_numpy()
    assert (np.diff(value) >= -1e-5 * value[:-1] - 1e-9).all()


def test_a_floor_that_is_met_exactly_is_met():
    """Four of five rows are four fifths, whatever the sums of their weights say."""
    X = np.repeat([0.0, 1.0], 45)[:, np.newaxis]
    y = np.r_[np.repeat([0, 1], [36, 9]), np.repeat([1, 0], [36, 9])]
    path = trace(X, y, alphas_local=[0.0, 0.1], loss="log", min_recall=0.8)
    np.testing.assert_allclose(path.trees[0].training.recall, [0.8, 0.8])


@pytest.mark.every_value
@pytest.mark.parametrize("loss", ["cost", "log"])
@pytest.mark.parametrize("floor", [0.8, 0.93])
def test_no_tree_within_a_limit_misses_a_floor(iris, loss, floor):
    """One that does is not offered, even if no other is within the limit."""
    path = trace(*iris, min_recall=floor, max_features=1, loss=loss, relax=True)
    for tree in path.offered:
        assert min(tree.training.recall) >= floor - 2e-5


# -- bad input -------------------------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is compiled, solved or reported; this is the callback."""

    def work(*args):
        pytest.fail("work began before the input was checked")

    monkeypatch.setattr(sorct.search.warm_up, "warm_up", work)
    return work


@pytest.mark.parametrize("name", ["alphas_local", "alphas_global"])
@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (-1.0, ">= 0, got -1"),
        ([0.0, -0.5], r">= 0, got \[0\.0, -0\.5"),
        (np.nan, "finite numbers >= 0"),
        ([0.0, np.nan], "finite numbers >= 0"),
        ([0.0, np.inf], "finite numbers >= 0"),
        ([], "finite numbers >= 0"),
        ([[0.0, 1.0], [2.0, 3.0]], "numbers >= 0"),
        ([[0.0], [1.0, 2.0]], "numbers >= 0"),
        (["low", "high"], "numbers >= 0"),
        ("low", "numbers >= 0"),
        ("0.5", "numbers >= 0"),
        ([0.0, None], "numbers >= 0"),
        ([0.0, 1j], "numbers >= 0"),
        (True, "numbers >= 0"),
        ({0.1: 1.0}, "numbers >= 0"),
    ],
    ids=repr,
)
def test_odd_strengths_are_refused(no_work, name, odd, words):
    """The message names the axis and what it must hold."""
    with pytest.raises(ValueError, match=f"{name} must be.*{words}"):
        sorct_path(X, Y, **{name: odd}, callback=no_work)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_solutions": 0}, "n_solutions must be a whole number >= 1, got 0"),
        ({"n_solutions": -3}, "n_solutions must be a whole number >= 1, got -3"),
        ({"n_solutions": 1.5}, "n_solutions must be a whole number >= 1, got 1.5"),
        ({"n_solutions": True}, "n_solutions must be a whole number >= 1, got True"),
        ({"n_solutions": "many"}, "n_solutions must be a whole number"),
        ({"n_solutions": None}, "n_solutions must be a whole number"),
        ({"gamma": 0}, "gamma must be"),
        ({"gamma": np.inf}, "gamma must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"time_limit": "1 s"}, "time_limit must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
        ({"depth": 0}, "depth must be"),
        ({"depth": 13}, "depth must be at most 12"),
        ({"handle_unknown": "guess"}, "handle_unknown must be one of"),
        ({"min_recall": 1.5}, "min_recall must be"),
        ({"min_recall": {"nobody": 0.5}}, "min_recall names class 'nobody'"),
        ({"cost_matrix": [[0, 1]]}, "cost_matrix must have shape"),
        ({"sample_weight": np.ones(N - 1)}, "sample_weight must have shape"),
        ({"sample_weight": -np.ones(N)}, "sample_weight must be finite, >= 0"),
        ({"random_state": "lucky"}, "cannot be used to seed"),
    ],
    ids=str,
)
def test_odd_options_are_refused(no_work, options, words):
    """Named, before anything is compiled."""
    with pytest.raises(ValueError, match=re.compile(words, re.DOTALL)):
        sorct_path(X, Y, callback=no_work, **options)


@pytest.mark.parametrize("odd", [1, "print", [print]])
def test_a_callback_must_be_callable(monkeypatch, no_work, odd):
    """A TypeError says so."""
    with pytest.raises(TypeError, match="callback must be callable or None"):
        sorct_path(X, Y, callback=odd)


@pytest.mark.parametrize(
    ("table", "labels", "words"),
    [
        (X, np.zeros(N), "at least 2 classes, got 1 class"),
        (X, None, "y.*None|None.*y"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X, np.where(Y, np.nan, 1.0), "y contains NaN"),
        (X, np.c_[Y, Y], "1d array"),
        (X, X[:, 0], "continuous"),
        (np.where(X[3, 1] == X, np.inf, X), Y, "infinity.*column 'x1'"),
        (X[:, 0], Y, "Expected 2D array"),
        (X[:, :0], Y, "0 feature"),
        (X[:0], Y[:0], "0 sample"),
        (pd.DataFrame({"city": ["Rome"] * N}), Y, "nothing to cut on"),
    ],
)
def test_odd_data_are_refused(no_work, table, labels, words):
    """With the words of the classifier."""
    with pytest.raises(ValueError, match=re.compile(words, re.DOTALL)):
        sorct_path(table, labels, callback=no_work)
