"""Bounds on groups of rows under every loss, link and measure."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import NonlinearConstraint, minimize, minimize_scalar
from scipy.special import expit
from sklearn.base import clone

from sorct import InfeasibleError, SORCTRegressor, SORCTRegressorCV, sorct_path
from sorct.data.quantity import Quantity
from sorct.estimators.quantities import raising
from sorct.problem.residual import MIXED, RIDGE, SLOPE_UNIT, Residual

QUICK = {"n_starts": 2, "tol": 1e-6, "random_state": 0}
LOSSES = ("square", "huber", "absolute", "quantile")
MEASURES = ("residual", "error")
LINKS = ("identity", "log")
# Bounds beside what trees without them come to.
SHARE = {"residual": 0.3, "error": 0.98}


def every(test):
    """Every loss, link and measure; together in the slow suite."""
    for name, values in (("loss", LOSSES), ("link", LINKS), ("measure", MEASURES)):
        test = pytest.mark.parametrize(name, values)(test)
    return pytest.mark.every_value(test)


def table(n=120, seed=0):
    """A response that is positive, skewed and other in one group."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((n, 2)), columns=list("ac"))
    X.iloc[0], X.iloc[1] = 0.0, 1.0
    noise = 0.3 * rng.normal(size=n)
    y = np.exp(1.5 * X.a - X.c + 0.8 * np.sin(8.0 * X.c) + noise).to_numpy()
    return X, 100.0 * y, np.where(X.c > 0.7, "late", "early")


def attained(model, X, y, groups, measure):
    """Mean residuals or errors of the groups, of what users are told."""
    gap = pd.Series(y - model.predict(X))
    if measure == "error":
        return np.sqrt((gap**2).groupby(groups).mean())
    return gap.groupby(groups).mean().abs()


def bounds_of(model, X, y, groups, measure):
    """Bounds that bind: all groups, or the one of which the model is most wrong."""
    before = attained(model, X, y, groups, measure)
    if measure == "error":
        before = before.loc[[before.idxmax()]]
    return dict.fromkeys(before.index, SHARE[measure] * before.max())


def within(model, X, y, groups, measure, bounds):
    """Whether the bounds hold."""
    after = attained(model, X, y, groups, measure)
    return all(after[name] <= bound for name, bound in bounds.items())


def options(loss, link):
    level = {"quantile": 0.8} if loss == "quantile" else {}
    return {"loss": loss, "link": link, **level, **QUICK}


# -- outside truth ---------------------------------------------------------------------


class Twin:
    """A tree without penalties in NumPy, for SLSQP: objective and bounds.

    A vector has the leaves' values, then slopes of a single leaf, or the coefficients
    and the threshold of a single cut.
    """

    def __init__(self, X, y, groups, given, tree):
        self.x, self.y, self.groups, self.given = X.to_numpy(), y, groups, given
        self.target, self.gamma = tree.target, tree.gamma
        self.linear = tree.leaf_coef is not None
        self.response = self.target.scaled(y)
        level = given.get("quantile", 0.5)
        self.datafit = Residual.of(given["loss"], level, linear=self.linear)

    def said(self, theta):
        """What the tree says, and the variance of what its leaves do."""
        if self.linear:
            slopes = SLOPE_UNIT * theta[1:]
            return theta[0] + (self.x - self.x.mean(axis=0)) @ slopes, 0.0
        score = self.x @ theta[2:-1] / self.x.shape[1] - theta[-1]
        left = expit(self.gamma * score)
        apart = left * (1.0 - left) * (theta[0] - theta[1]) ** 2
        return theta[1] + left * (theta[0] - theta[1]), apart

    def objective(self, theta):
        """Loss, mixing and ridge."""
        said, apart = self.said(theta)
        loss = np.mean(self.datafit.loss(self.response - said) + MIXED * apart)
        values = theta[:1] if self.linear else theta[:2]
        return loss + RIDGE * np.sum(values**2)

    def told(self, theta):
        """Predictions in units of y."""
        target = self.target
        said = target.origin + target.unit * self.said(theta)[0]
        told = target.told(said)
        if target.is_log and self.given["loss"] in ("square", "huber"):
            told = target.told(said + np.log((told @ self.y) / (told @ told)))
        return told

    def attained(self, theta, names, measure):
        """Mean residuals, or mean squares, of some groups, in spreads of y."""
        gap = (self.y - self.told(theta)) / self.target.spread
        power = 2 if measure == "error" else 1
        return np.array([np.mean(gap[self.groups == g] ** power) for g in names])

    def best(self, starts, bounds, measure):
        """Least objective within the bounds that SLSQP comes to."""
        own = np.array(list(bounds.values())) / self.target.spread
        low, high = (-np.inf, own**2) if measure == "error" else (-own, own)
        limits = NonlinearConstraint(
            lambda theta: self.attained(theta, bounds, measure), low, high
        )
        found = []
        for start in starts:
            n_cuts = 0 if self.linear else start.size - 2
            box = [(None, None)] * (start.size - n_cuts) + [(-1.0, 1.0)] * n_cuts
            end = minimize(
                self.objective, start, method="SLSQP", constraints=[limits],
                bounds=box, options={"maxiter": 500, "ftol": 1e-10},
            )  # fmt: skip
            got = self.attained(end.x, bounds, measure)
            if np.all(got <= high + 1e-6) and np.all(got >= low - 1e-6):
                found.append(end.fun)
        return min(found)


@every
def test_a_single_leaf_is_what_slsqp_finds(loss, link, measure):
    """Loss, link and bounds written in NumPy, solved by SciPy from several starts."""
    X, y, groups = table(40)
    given = options(loss, link) | {"leaf": "linear", "scaling": "minmax"}
    free = SORCTRegressor(0, **given).fit(X, y)
    bounds = bounds_of(free, X, y, groups, measure)
    asked = {"group_bounds": bounds, "group_measure": measure}
    model = SORCTRegressor(0, **given, **asked).fit(X, y, groups=groups)
    assert within(model, X, y, groups, measure, bounds)
    twin = Twin(X, y, groups, given, model.tree_)
    starts = 0.05 * np.random.default_rng(0).normal(size=(4, 3))
    best = twin.best(starts, bounds, measure)
    # Bounds are aimed at from a little inside, which costs a little.
    price = best - free.objective_
    assert price > 0.0
    assert best - 1e-6 <= model.objective_ <= best + 0.1 * price


@every
def test_slsqp_finds_nothing_better_near_a_tree(loss, link, measure):
    """From the tree within the bounds on, at depth 1."""
    X, y, groups = table(60)
    given = options(loss, link) | {"scaling": "minmax", "gamma": 8.0}
    free = SORCTRegressor(1, **given).fit(X, y)
    bounds = bounds_of(free, X, y, groups, measure)
    asked = {"group_bounds": bounds, "group_measure": measure}
    model = SORCTRegressor(1, **given, **asked).fit(X, y, groups=groups)
    tree = model.tree_
    twin, target = Twin(X, y, groups, given, tree), tree.target
    values = (tree.leaf_value - target.origin) / target.unit
    cut = [*tree.coef[:, 0], *tree.threshold]
    if link == "log" and loss in ("square", "huber"):
        # What all leaves are raised by after training is no part of the objective, and
        # what they say alike before moves no prediction: it is as good as can be.
        ends = minimize_scalar(
            lambda more: twin.objective(np.array([*(values - more), *cut]))
        )
        values = values - ends.x
    here = np.array([*values, *cut])
    assert twin.objective(here) == pytest.approx(model.objective_, rel=1e-4)
    best = twin.best([here], bounds, measure)
    assert model.objective_ <= best + 0.2 * max(best - free.objective_, 1e-3)


# -- what users are told ---------------------------------------------------------------


@every
def test_bounds_hold_and_cost_something(loss, link, measure):
    """In units of y, of predictions; bounds that do not bind change no bit."""
    X, y, groups = table()
    # From few starts a tree without bounds may be one that rounds lead away from.
    given = options(loss, link) | {"n_starts": 10}
    free = SORCTRegressor(1, 0.05, **given).fit(X, y)
    bounds = bounds_of(free, X, y, groups, measure)
    asked = {"group_bounds": bounds, "group_measure": measure}
    model = SORCTRegressor(1, 0.05, **given, **asked).fit(X, y, groups=groups)
    assert within(model, X, y, groups, measure, bounds)
    assert model.objective_ > free.objective_
    loose = {name: 1e3 * bound for name, bound in bounds.items()}
    asked |= {"group_bounds": loose}
    same = SORCTRegressor(1, 0.05, **given, **asked).fit(X, y, groups=groups)
    np.testing.assert_array_equal(same.predict(X), free.predict(X))
    assert same.objective_ == pytest.approx(free.objective_, rel=1e-9)


@every
def test_every_tree_of_a_path_keeps_the_bounds(loss, link, measure):
    X, y, groups = table()
    given = options(loss, link) | {"depth": 1, "alphas_local": [0.05, 0.5, 4.0]}
    given |= {"n_solutions": 2}
    del given["n_starts"]
    free = sorct_path(X, y, **given)
    bounds = bounds_of(free.trees[0], X, y, groups, measure)
    asked = {"group_bounds": bounds, "group_measure": measure, "groups": groups}
    path = sorct_path(X, y, **given, **asked)
    assert all(within(tree, X, y, groups, measure, bounds) for tree in path.offered)
    objectives = [tree.training.objective for tree in path]
    assert objectives == sorted(objectives)
    for tree, plain in zip(path, free, strict=True):
        assert tree.training.objective >= plain.training.objective - 1e-6


@pytest.mark.parametrize(
    ("loss", "link", "measure"),
    [
        ("square", "log", "residual"),
        ("absolute", "identity", "error"),
        ("quantile", "log", "residual"),
        ("huber", "identity", "residual"),
    ],
)
def test_the_tree_that_a_search_chooses_keeps_the_bounds(loss, link, measure):
    X, y, groups = table()
    given = options(loss, link) | {"depths": 1, "leaf": "constant", "mixed": 0.1}
    given |= {"scaling": "auto", "cv": 2, "alphas_local": [0.05, 0.5]}
    given |= {"relax": False, "n_solutions": 1}
    del given["n_starts"]
    free = SORCTRegressorCV(**given).fit(X, y)
    bounds = bounds_of(free, X, y, groups, measure)
    asked = {"group_bounds": bounds, "group_measure": measure}
    search = SORCTRegressorCV(**given, **asked).fit(X, y, groups=groups)
    assert within(search, X, y, groups, measure, bounds)
    assert search.tree_.training.cv_score == free.tree_.training.cv_score


def test_a_search_with_bounds_may_choose_the_logarithm():
    X, y, groups = table()
    given = {"depths": 0, "leaf": "linear", "scaling": "auto", "cv": 2, "mixed": 0.1}
    given |= {"alphas_local": [0.05], "relax": False, "n_solutions": 1}
    given |= {"random_state": 0}
    free = SORCTRegressorCV(**given).fit(X, y)
    assert free.best_params_["link"] == "log"
    bounds = bounds_of(free, X, y, groups, "residual")
    search = SORCTRegressorCV(group_bounds=bounds, **given).fit(X, y, groups=groups)
    assert search.tree_.quantity.is_log
    assert within(search, X, y, groups, "residual", bounds)


@pytest.mark.parametrize("link", LINKS)
def test_rows_count_by_their_weights(link):
    """Weight 2 is a row twice, weight 0 a row that is not there, groups included."""
    X, y, groups = table()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    given = options("huber", link)
    twice = np.repeat(np.arange(len(y)), weight)
    rows = X.iloc[twice].reset_index(drop=True), y[twice]
    free = SORCTRegressor(1, 0.05, **given).fit(*rows)
    bounds = bounds_of(free, *rows, groups[twice], "residual")
    one = SORCTRegressor(1, 0.05, group_bounds=bounds, **given)
    other = clone(one)
    one.fit(*rows, groups=groups[twice])
    other.fit(X, y, weight, groups=groups)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert within(other, *rows, groups[twice], "residual", bounds)


def test_what_all_leaves_are_raised_by_has_its_derivative():
    """Against central differences, some numbers being clipped."""
    rng = np.random.default_rng(0)
    y, weight = np.exp(rng.normal(size=30)), rng.random(30)
    weight /= weight.sum()
    target = Quantity.learn(y, weight, None, "log")
    response, said = target.scaled(y), rng.normal(size=30)

    def more(said):
        told = target.told(target.origin + target.unit * said)
        factor = (weight @ (told * y)) / (weight @ told**2)
        return np.log(factor) / target.unit

    steps = 1e-6 * np.eye(30)
    slope = [(more(said + step) - more(said - step)) / 2e-6 for step in steps]
    found = raising(target, said, response, weight)
    np.testing.assert_allclose(weight * found, slope, atol=1e-8)
    assert np.any(found == 0.0)


def test_groups_without_weight_are_refused():
    """A bound on rows that do not count would be a promise of nothing."""
    X = np.arange(40.0)[:, np.newaxis]
    groups = np.where(X[:, 0] < 20, "early", "late")
    model = SORCTRegressor(depth=1, n_starts=1, group_bounds={"late": 0.5})
    with pytest.raises(ValueError, match="'late', whose rows all have weight 0"):
        model.fit(X, X[:, 0], (groups == "early").astype(float), groups=groups)


def test_an_error_tells_of_the_groups_that_are_missed():
    """Of the worst, though there are many; all are in ``reached``."""
    rng = np.random.default_rng(0)
    X, groups = rng.random((200, 1)), np.arange(200) % 20
    y = rng.normal(size=200) + 5.0 * groups
    bounds = dict.fromkeys(range(20), 0.01)
    model = SORCTRegressor(depth=1, n_starts=1, random_state=0, group_bounds=bounds)
    with pytest.raises(InfeasibleError, match=r"and \d+ others. Widen") as error:
        model.fit(X, y, groups=groups)
    assert len(error.value.recall) == 20


def test_groups_may_be_named_by_numbers_and_text():
    """Whatever names them, a bound is found by its name."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 2)), np.array([1, "v", "w"] * 20, dtype=object)
    y = X[:, 0] + (groups == "v")
    options = {"depth": 0, "leaf": "linear", "n_starts": 1, "random_state": 0}
    model = SORCTRegressor(**options, group_bounds={"v": 0.4, 1: 0.6})
    residual = y - model.fit(X, y, groups=groups).predict(X)
    assert abs(residual[groups == "v"].mean()) <= 0.4 + 1e-6


def test_bounds_that_ruin_the_tree_within_its_limits_are_refused():
    """The error names what to allow; a tree worse than the mean helps nobody."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{k}": rng.normal(size=300) for k in range(5)})
    X["g"] = rng.choice(["u", "v"], 300)
    y = X.x0 + 0.7 * X.x1 - 0.5 * X.x2 + 0.8 * (X.g == "u") + 0.3 * rng.normal(size=300)
    few = {"depths": [0], "leaf": "linear", "group_bounds": 0.1, "random_state": 0}
    for limit in ({"max_features_per_cut": 3}, {"max_features": 3}):
        search = SORCTRegressorCV(**few, **limit, scaling="auto")
        with pytest.raises(InfeasibleError, match="worse than .* the mean. Allow more"):
            search.fit(X, y, groups=X["g"])
