"""What trees of a quantity promise: directions, bounds on groups, intervals, leaves."""

import numpy as np
import pandas as pd
import pytest

from sorct import (
    InfeasibleError,
    SORCTRegressor,
    SORCTRegressorCV,
    export_text,
    sorct_path,
)

QUICK = {"n_starts": 3, "tol": 1e-5, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """A response that rises with a, falls with b, and is higher in one group."""
    rng, n = np.random.default_rng(0), 300
    X = pd.DataFrame(rng.random((n, 3)), columns=list("abc"))
    y = 3.0 * X.a**2 - 2.0 * X.b + np.sin(9.0 * X.c) + 0.3 * rng.normal(size=n)
    # Noise that breaks the directions here and there.
    y += np.where(X.a > 0.8, -1.0, 0.0) + np.where(X.b > 0.9, 1.0, 0.0)
    return X, 10.0 * y.to_numpy()


# -- leaves ----------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2])
def test_constant_leaves_say_numbers_that_were_seen(table, depth):
    """With cuts as flat as they can be, leaves would lie far outside."""
    X, y = table
    tree = SORCTRegressor(depth, 2.0, gamma=2.0, **QUICK).fit(X, y).tree_
    assert tree.leaf_value.min() >= y.min()
    assert tree.leaf_value.max() <= y.max()


def test_what_a_leaf_says_is_near_what_its_rows_are(table):
    X, y = table
    tree = SORCTRegressor(2, 0.1, **QUICK).fit(X, y).tree_
    gap = np.abs(tree.leaf_value - tree.leaf_mean)[tree.routed[0] > 0.02]
    assert gap.max() < 0.5 * y.std()


# -- directions ------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    ("depth", "leaf"), [(1, "constant"), (2, "constant"), (0, "linear"), (2, "linear")]
)
def test_directions_hold_everywhere(table, depth, leaf):
    """Brute force: every line of a grid, far beyond the rows of training too."""
    X, y = table
    signs = {"a": 1, "b": -1}
    model = SORCTRegressor(depth, 0.05, leaf=leaf, monotonic_cst=signs, **QUICK)
    model.fit(X, y)
    steps, others = np.linspace(-1.0, 2.0, 61), np.linspace(-0.5, 1.5, 7)
    slack = 1e-9 * y.std()
    for name, sign in signs.items():
        rest = [one for one in "abc" if one != name]
        for first in others:
            for second in others:
                line = pd.DataFrame({name: steps, rest[0]: first, rest[1]: second})
                steep = sign * np.diff(model.predict(line[list("abc")]))
                assert steep.min() >= -slack
    assert model.score(X, y) > 0.5
    assert model.tree_.training.monotonic == signs
    assert "The prediction never falls as a grows." in export_text(model.tree_)


def test_directions_cost_something_where_the_rows_break_them(table):
    X, y = table
    free = SORCTRegressor(2, 0.05, **QUICK).fit(X, y)
    bound = SORCTRegressor(2, 0.05, monotonic_cst={"a": -1}, **QUICK).fit(X, y)
    assert bound.cost_ > free.cost_


def test_directions_refuse_what_they_cannot_keep(table):
    X, y = table
    with pytest.raises(ValueError, match="depth of at most 6"):
        SORCTRegressor(7, monotonic_cst={"a": 1}).fit(X, y)
    with pytest.raises(ValueError, match="must be -1, 0 or 1"):
        SORCTRegressor(1, monotonic_cst={"a": 2}).fit(X, y)


# -- bounds on groups ------------------------------------------------------------------


def group_means(model, X, y, groups):
    return pd.Series(y - model.predict(X)).groupby(np.asarray(groups)).mean()


def group_means_of_squares(model, X, y, groups):
    gap = pd.Series((y - model.predict(X)) ** 2)
    return gap.groupby(np.asarray(groups)).mean()


def test_mean_residuals_of_groups_stay_within_bounds(table):
    X, y = table
    groups = np.where(X.c > 0.7, "late", "early")
    free = SORCTRegressor(1, 4.0, **QUICK).fit(X, y)
    before = group_means(free, X, y, groups)
    bound = 0.3 * before.abs().max()
    model = SORCTRegressor(1, 4.0, group_bounds=bound, **QUICK)
    model.fit(X, y, groups=groups)
    after = group_means(model, X, y, groups)
    assert before.abs().max() > bound
    assert after.abs().max() <= bound * (1.0 + 1e-9)
    # The price is paid in the objective without bounds, and not more than needed:
    # the bound binds.
    assert after.abs().max() >= 0.95 * bound
    assert model.score(X, y) <= free.score(X, y)


def test_errors_of_named_groups_stay_below_bounds(table):
    X, y = table
    groups = np.where(X.c > 0.7, "late", "early")
    late = groups == "late"
    free = SORCTRegressor(1, 1.0, **QUICK).fit(X, y)

    def error(model):
        return np.sqrt(np.mean((y - model.predict(X))[late] ** 2))

    bound = 0.9 * error(free)
    model = SORCTRegressor(
        1, 1.0, group_bounds={"late": bound}, group_measure="error", **QUICK
    ).fit(X, y, groups=groups)
    assert error(model) <= bound


def test_the_tree_that_a_search_chooses_is_solved_within_bounds(table):
    """With the variables that were chosen, and no others."""
    X, y = table
    groups = np.where(X.a > 0.7, "late", "early")
    given = {"depths": 1, "leaf": "constant", "mixed": 0.1, "scaling": "auto", "cv": 2}
    given |= {"alphas_local": [1.0, 4.0], "max_features": 2, "random_state": 0}
    given |= {"link": "identity", "relax": False, "n_solutions": 1}
    free = SORCTRegressorCV(**given).fit(X, y)
    bound = 0.3 * group_means(free, X, y, groups).abs().max()
    search = SORCTRegressorCV(group_bounds=bound, **given).fit(X, y, groups=groups)
    assert group_means(search, X, y, groups).abs().max() <= bound * (1.0 + 1e-9)
    assert set(search.tree_.variables_used) <= set(free.tree_.variables_used)
    assert search.tree_.training.cv_score == free.tree_.training.cv_score
    loose = SORCTRegressorCV(group_bounds=1e6, **given).fit(X, y, groups=groups)
    np.testing.assert_allclose(loose.predict(X), free.predict(X), rtol=1e-4)


@pytest.mark.parametrize("measure", ["residual", "error"])
def test_every_tree_of_a_path_lies_within_the_bounds(table, measure):
    """Where penalties are strong, too: there trees of other points do."""
    X, y = table
    groups = np.where(X.c > 0.7, "late", "early")
    given = {"loss": "square", "depth": 1, "alphas_local": [0.5, 2.0, 8.0]}
    given |= {"n_solutions": 2, "random_state": 0}
    free = sorct_path(X, y, **given)

    def largest(tree):
        if measure == "error":
            return np.sqrt(group_means_of_squares(tree, X, y, groups)).max()
        return group_means(tree, X, y, groups).abs().max()

    # Tighter than what trees without bounds keep at the weakest penalty.
    bound = 0.98 * largest(free.trees[0])
    path = sorct_path(
        X, y, groups=groups, group_bounds=bound, group_measure=measure, **given
    )
    for tree in path.offered:
        assert largest(tree) <= bound * (1.0 + 1e-9)
    objectives = [tree.training.objective for tree in path]
    assert objectives == sorted(objectives)
    assert path.trees[0].training.objective > free.trees[0].training.objective
    # No tree of one cut explains noise; a mean residual of nearly 0 it may have.
    given |= {"groups": groups, "group_measure": "error"}
    with pytest.raises(InfeasibleError, match="could not be met"):
        sorct_path(X, y, group_bounds={"late": 1e-9}, **given)


def test_bounds_are_for_quantities(table):
    X, y = table
    given = {"groups": X.c > 0.5, "group_bounds": 1.0}
    with pytest.raises(ValueError, match="for quantities, .* got loss='cost'"):
        sorct_path(X, y > 0.0, **given)


@pytest.mark.parametrize(
    ("bounds", "groups", "message"),
    [(1.0, None, "needs groups="), (None, "ab", "groups needs group_bounds")],
)
def test_a_search_refuses_bounds_before_any_work(table, bounds, groups, message):
    X, y = table
    given = None if groups is None else np.where(X.c > 0.5, "a", "b")
    with pytest.raises(ValueError, match=message):
        SORCTRegressorCV(group_bounds=bounds).fit(X, y, groups=given)


def test_bounds_that_are_met_change_nothing(table):
    X, y = table
    groups = np.where(X.c > 0.7, 1, 0)
    free = SORCTRegressor(1, 1.0, **QUICK).fit(X, y)
    model = SORCTRegressor(1, 1.0, group_bounds=1e6, **QUICK).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.coef_, free.coef_)


def test_bounds_out_of_reach_are_said(table):
    """No column tells groups apart that were drawn at random, then moved."""
    X, y = table
    groups = np.random.default_rng(1).integers(0, 2, len(y))
    model = SORCTRegressor(1, 1.0, group_bounds=0.01, **QUICK)
    with pytest.raises(InfeasibleError, match="mean residual of the groups came to"):
        model.fit(X, y + 50.0 * groups, groups=groups)


@pytest.mark.parametrize(
    ("options", "groups", "message"),
    [
        ({"group_bounds": 1.0}, None, "needs groups="),
        ({"group_bounds": 1.0}, [1, 2], "one entry for each"),
        ({"group_bounds": {"x": 1.0}}, "ab", "no row has"),
        ({"group_bounds": -1.0}, "ab", "positive number"),
        ({"group_bounds": {}}, "ab", "is empty"),
        ({}, "ab", "groups needs group_bounds"),
        ({"group_bounds": 1.0}, "missing", "missing entries"),
        ({"group_bounds": 1.0, "group_measure": "mean"}, "ab", "must be one of"),
    ],
)
def test_bounds_that_cannot_be_are_refused(table, options, groups, message):
    X, y = table
    if groups == "ab":
        groups = np.where(X.c > 0.5, "a", "b")
    elif groups == "missing":
        groups = np.where(X.c > 0.5, "a", None)
    with pytest.raises(ValueError, match=message):
        SORCTRegressor(1, 1.0, **options, **QUICK).fit(X, y, groups=groups)


# -- intervals -------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_intervals_hold_their_shares_and_never_cross(table, leaf):
    X, y = table
    model = SORCTRegressor(2, 0.2, leaf=leaf, loss="absolute", **QUICK).fit(X, y)
    found = model.interval(X, y, (0.1, 0.9))
    low, high = found.predict(X).T
    # As many rows lie above a tree of a quantile as asked, up to one per leaf.
    assert np.mean(y < low) == pytest.approx(0.1, abs=5 / len(y))
    assert np.mean(y > high) == pytest.approx(0.1, abs=5 / len(y))
    far = pd.DataFrame(
        np.random.default_rng(0).uniform(-3, 4, (500, 3)), columns=X.columns
    )
    low, high = found.predict(far).T
    assert (low <= high).all()
    np.testing.assert_array_equal(found.low.coef, model.tree_.coef)
    # What is told of the tree is not true of them.
    assert model.tree_.training.r2 is not None
    assert "R²" not in str(found.low)
    assert found.low.training.objective is None


def test_levels_must_be_two_rising_shares(table):
    X, y = table
    model = SORCTRegressor(1, 1.0, **QUICK).fit(X, y)
    for levels in (0.5, (0.9, 0.1), (0.1, 0.5, 0.9), ("a", "b"), (0.0, 0.5)):
        with pytest.raises(ValueError, match="two rising shares"):
            model.interval(X, y, levels)


def test_rows_that_are_too_few_for_the_levels_are_refused(table):
    X, y = table
    model = SORCTRegressor(1, 1.0, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="at least 50 rows, 5 beyond each.*got 49"):
        model.interval(X[:49], y[:49])
    assert model.interval(X[:50], y[:50]).levels == (0.1, 0.9)
