"""Forests: scikit-learn's manners, budgets that hold, the same forest every time."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.metrics import accuracy_score

from sorct import Forest, SORCTForestClassifier, SORCTForestRegressor
from sorct.data.planted import make_planted_tree
from sorct.data.samples import Rows
from sorct.estimators.forest_choice import ForestChoice
from sorct.estimators.forest_measures import out_of_bag_score
from tests.estimators.contract import each_check

QUICK = {"n_trees": 4, "n_starts": 1, "random_state": 0}


@pytest.mark.a_few(24)
@each_check(
    SORCTForestClassifier(2, 2, 0.0, 0.0, n_starts=1, gamma=100.0),
    SORCTForestRegressor(2, 1, 0.0, 0.0, n_starts=1, gamma=100.0),
)
def test_sklearn_compatible(estimator, check):
    """No check is expected to fail."""
    check(estimator)


@pytest.mark.slow
@each_check(
    SORCTForestClassifier(2, selection="path", n_starts=1, n_folds=2),
    SORCTForestClassifier(2, 2, 0.1, 0.1, n_starts=1, relax=False, loss="both"),
    SORCTForestRegressor(2, 1, n_starts=1, n_folds=2, gamma=100.0),
    shares=3,
)
def test_sklearn_compatible_whatever_is_chosen(estimator, check):
    """The same where depth, steepness and variables are chosen, or trees polished."""
    check(estimator)


@pytest.fixture(scope="module")
def people():
    """A table with every kind of column; three of six variables tell the class."""
    rng, n = np.random.default_rng(0), 160
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(10.0, 1.0, n),
            "town": rng.choice(["north", "south", "east"], n),
            "noise": rng.random(n),
            "more": rng.random(n),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    odds = (X.age - 50) / 10 + 2.0 * (X.town == "north") - (X.income > 30_000)
    y = np.where(odds + rng.logistic(0.0, 0.5, n) > 0.0, "yes", "no")
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def fitted(people):
    return SORCTForestClassifier(6, 1, n_starts=1, n_folds=2, random_state=0).fit(
        *people
    )


def test_the_forest_says_the_mean_of_its_trees(people, fitted):
    X, _ = people
    forest = fitted.forest_
    each = [tree.predict_proba(X) for tree in forest.trees]
    np.testing.assert_allclose(fitted.predict_proba(X), np.mean(each, axis=0))
    most = forest.classes[np.argmax(np.mean(each, axis=0), axis=1)]
    assert np.array_equal(fitted.predict(X), most)
    votes = np.mean([tree.predict(X) == most for tree in forest.trees], axis=0)
    np.testing.assert_allclose(fitted.agreement(X), votes)
    assert fitted.score(*people) > 0.75


@pytest.mark.parametrize(
    "options",
    [
        {"max_features": 2},
        {"max_features": 1, "alpha_global": 0.01},
        {"max_features": 2, "alpha_global": 0.01, "relax": False},
        {"max_features": 0},
        {"max_features_per_cut": 1, "alpha_global": 0.0},
        {"max_cost": 3.0, "feature_cost": {"age": 2.5, "town": 1.0, "income": 2.0}},
    ],
)
def test_limits_hold_for_all_trees_together(people, options):
    X, y = people
    model = SORCTForestClassifier(depth=1, n_folds=2, **QUICK, **options).fit(X, y)
    forest = model.forest_
    if "max_features" in options:
        assert len(forest.variables_used) <= options["max_features"]
    if "max_features_per_cut" in options:
        assert forest.most_variables_per_cut <= 1
    if "max_cost" in options:
        prices = {**dict.fromkeys(X.columns, 1.0), **options["feature_cost"]}
        assert sum(prices[name] for name in forest.variables_used) <= 3.0
    assert model.feature_importances_.sum() == pytest.approx(
        1.0 if forest.variables_used else 0.0
    )


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_short_cuts_still_tell_a_quantity(leaf):
    """With one variable per cut, a forest is as good as its best variable."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * X[:, 2] + 0.1 * rng.normal(size=150)
    options = {"alpha_global": 0.0, "max_features_per_cut": 1, "leaf": leaf}
    model = SORCTForestRegressor(depth=1, **QUICK, **options).fit(X, y)
    assert model.forest_.most_variables_per_cut == 1
    best = max(np.corrcoef(column, y)[0, 1] ** 2 for column in X.T)
    assert model.oob_score_ > best - 0.1


def test_short_cuts_still_tell_classes():
    """Ten columns tell nearly the same: the best of a long cut is little alone."""
    X, y = load_breast_cancer(return_X_y=True)
    options = {"alpha_global": 0.0, "max_features_per_cut": 1, "gamma": 512.0}
    model = SORCTForestClassifier(depth=2, **QUICK, **options)
    model.fit(X[:200, :10], y[:200])
    assert model.forest_.most_variables_per_cut == 1
    assert model.oob_score_ > 0.85


def test_the_penalty_counts_variables_of_the_forest(people):
    """The stronger, the fewer; 0 keeps all that help, and a strong one leaves none."""
    sizes = [
        len(
            SORCTForestClassifier(depth=1, alpha_global=alpha, **QUICK)
            .fit(*people)
            .forest_.variables_used
        )
        for alpha in (0.0, 0.3, 100.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 0


@pytest.mark.a_few(1)
@pytest.mark.parametrize("options", [{"bootstrap": "half"}, {"loss": "both"}])
def test_same_seed_same_forest_for_any_jobs_and_order(people, options):
    model = SORCTForestClassifier(2, 2, 0.0, 0.1, n_starts=1, random_state=0, **options)
    model.set_params(gamma=100.0)
    first = model.fit(*people).forest_
    assert clone(model).set_params(n_jobs=2).fit(*people).forest_ == first
    order = np.random.default_rng(1).permutation(len(people[1]))
    shuffled = people[0].iloc[order], people[1][order]
    assert clone(model).fit(*shuffled).forest_ == first


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)]
)
def test_same_seed_same_forest_for_any_backend(people, backend):
    """Processes are slow to start."""
    model = SORCTForestClassifier(2, 2, 0.0, 0.1, gamma=100.0, n_starts=1)
    model.set_params(random_state=0)
    first = clone(model).fit(*people).forest_
    with parallel_backend(backend, n_jobs=2):
        assert model.fit(*people).forest_ == first


def test_bags_starts_and_losses_make_trees_differ(people):
    def n_distinct(**options):
        model = SORCTForestClassifier(depth=2, alpha_global=0.0, **QUICK, **options)
        model.set_params(gamma=100.0)
        return len({tree.coef.tobytes() for tree in model.fit(*people).forest_.trees})

    assert n_distinct() == 4
    assert n_distinct(bootstrap="half") == 4
    assert n_distinct(bootstrap=False) > 1


def test_out_of_bag_is_of_trees_that_have_not_seen_a_row(people):
    """Labels that mean nothing are not learned by it, though trees learn them."""
    X, _ = people
    y = np.random.default_rng(5).integers(0, 2, len(X))
    model = SORCTForestClassifier(20, 2, 0.0, 0.0, n_starts=1, random_state=0)
    model.fit(X, y)
    assert model.oob_score_ < 0.6 < model.score(X, y)
    assert model.forest_.training.oob_loss > 0.6
    everyone = model.set_params(bootstrap=False, n_trees=2).fit(X, y)
    assert everyone.oob_score_ is None


def test_class_weights_costs_and_early_stopping(people):
    X, y = people
    base = SORCTForestClassifier(depth=1, alpha_global=0.1, **QUICK)
    plain = (base.fit(X, y).predict(X) == "yes").mean()
    costs = [[0.0, 1.0], [20.0, 0.0]]
    dear = clone(base).set_params(cost_matrix=costs).fit(X, y)
    heavy = clone(base).set_params(class_weight={"yes": 20.0}).fit(X, y)
    assert (dear.predict(X) == "yes").mean() > plain
    assert dear.forest_ != replace(dear.forest_, decision_cost=None)
    assert (heavy.predict(X) == "yes").mean() > plain
    stopped = clone(base).set_params(n_trees=60, early_stopping=True).fit(X, y)
    n_trees = stopped.forest_.n_trees
    assert 5 <= n_trees < 60
    assert (
        stopped.forest_.trees
        == clone(base).set_params(n_trees=n_trees).fit(X, y).forest_.trees
    )


def test_out_of_bag_is_the_accuracy_of_predictions_by_own_weights():
    """Costs decide what is predicted; weights of classes do not count errors twice."""
    codes, own = np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0])
    factor, costs = np.array([1.0, 5.0]), np.array([[0.0, 1.0], [9.0, 0.0]])
    rows = Rows(np.zeros((1, 4)), codes, own * factor[codes])
    said = np.array([[[0.95, 0.8, 0.7, 0.4], [0.05, 0.2, 0.3, 0.6]]])
    problem = SimpleNamespace(data=SimpleNamespace(rows=rows), datafit=None)
    prepared = SimpleNamespace(problem=problem, factor=factor)
    grove = SimpleNamespace(
        said=lambda *_: said, outside=np.array([[True, True, True, True]])
    )
    for matrix, expected in ((None, 0.7), (costs, 0.8)):
        score, _ = out_of_bag_score(prepared, grove, [], matrix)
        assert score == pytest.approx(expected)


def chosen_of(losses, weight, rule, n_variables=(3, 3), n_trees=(5,)):
    """The choice by losses of shape (n_points, n_sizes, n_rows)."""
    alphas, used = np.arange(len(losses)) * 1.0, np.array(n_variables)
    return ForestChoice.of(alphas, used, n_trees, losses, np.array(weight), rule)


@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
def test_held_out_rows_count_by_their_weights(rule):
    """A row of weight 9 outweighs one of weight 1."""
    losses = np.array([[[1.0, 0.0, 1.0, 0.0]], [[0.5, 0.9, 0.5, 0.9]]])
    for weight, best in (([1.0, 1.0, 1.0, 1.0], 0), ([9.0, 1.0, 9.0, 1.0], 1)):
        found = chosen_of(losses, weight, rule)
        assert found.chosen == (best, 0)
        assert found.cv_loss == np.average(losses[best, 0], weights=weight)


def test_the_fewest_variables_then_trees_within_one_standard_error(rng):
    """Against the textbook formula of the error of a mean difference."""
    noise = rng.normal(0.0, 1.0, (3, 2, 400))
    middle = np.array([[0.0, 0.03], [0.01, 0.02], [0.5, 0.5]])
    losses = middle[..., np.newaxis] + 0.5 * noise
    found = chosen_of(losses, np.ones(400), "one-standard-error", (9, 4, 1), (5, 25))
    best = np.unravel_index(found.loss.argmin(), found.loss.shape)
    gap = losses - losses[best]
    error = gap.std(axis=2) / np.sqrt(400)
    np.testing.assert_allclose(found.error, error)
    assert found.chosen == (1, 0)
    assert chosen_of(losses, np.ones(400), "best", (9, 4, 1), (5, 25)).chosen == best
    frame = found.frame()
    assert frame["chosen"].sum() == 1
    assert frame[frame["chosen"]][["n_variables", "n_trees"]].to_numpy().tolist() == [
        [4, 5]
    ]


@pytest.mark.parametrize("alpha", [None, 0.0, 0.05])
def test_the_number_of_trees_is_chosen_with_the_penalty(people, alpha):
    """By losses that the same trees have when fitted by hand on the folds' rows."""
    model = SORCTForestClassifier(
        [6, 2, 4], 1, 0.0, alpha, n_folds=2, n_starts=1, gamma=100.0, random_state=0
    )
    forest = model.fit(*people).forest_
    told = model.cv_results_
    assert sorted(told["n_trees"].unique()) == [2, 4, 6]
    assert told["alpha_global"].nunique() == (8 if alpha is None else 1)
    (row,) = told[told["chosen"]].to_dict("records")
    assert forest.n_trees == row["n_trees"]
    assert model.alpha_global_ == row["alpha_global"]
    assert forest.training.cv_loss == row["mean_loss"]
    again = clone(model).set_params(n_trees=(2, 4, 6), n_jobs=2).fit(*people)
    assert again.forest_ == forest
    fixed = clone(model).set_params(n_trees=row["n_trees"])
    fixed.set_params(alpha_global=row["alpha_global"])
    if alpha is not None:
        assert fixed.fit(*people).forest_ == forest
        assert fixed.cv_results_ is None


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 2, "loss": "cost"},
        {"depth": 1, "loss": "both", "alpha_global": 0.1, "relax": False},
        {"depth": None},
    ],
)
def test_directions_hold_for_the_forest(people, options):
    """Against what the table says, too: income lowers the class, and must not."""
    X, y = people
    options = {"alpha_global": 0.01, **options}
    model = SORCTForestClassifier(
        3, n_starts=1, gamma=100.0, random_state=0,
        monotonic_cst={"age": 1, "income": 1}, positive_class="yes", **options,
    )  # fmt: skip
    forest, rows = model.fit(X, y).forest_, X[X.age.notna()][:25]
    assert "age" in forest.variables_used
    for name, values in (
        ("age", np.linspace(0.0, 120.0, 31)),
        ("income", np.geomspace(10.0, 1e6, 31)),
    ):
        along = [forest.predict_proba(rows.assign(**{name: v}))[:, 1] for v in values]
        assert (np.diff(along, axis=0) >= -1e-12).all()
    free = SORCTForestClassifier(depth=2, alpha_global=0.01, **QUICK).fit(X, y)
    along = [free.predict_proba(rows.assign(income=v))[:, 1] for v in (1e3, 1e5)]
    assert (along[1] < along[0] - 0.1).any()


@pytest.mark.slow
def test_directions_of_a_quantity():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = SORCTForestRegressor(
        3, 2, 0.0, 0.01, n_starts=1, gamma=100.0, random_state=0,
        monotonic_cst={"bmi": -1},
    )  # fmt: skip
    forest = model.fit(X[:200], y[:200]).forest_
    along = [forest.predict(X.assign(bmi=v)) for v in np.linspace(-0.2, 0.2, 21)]
    assert (np.diff(along, axis=0) <= 1e-9).all()


@pytest.mark.slow
def test_the_local_penalty_is_chosen_out_of_bag(people):
    """Where most columns mean nothing, a forest with it has the lesser loss."""
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.random((len(people[1]), 12)))
    X = people[0].join(noise.add_prefix("more "))
    base = SORCTForestClassifier(10, 1, 0.0, 0.0, n_starts=1, random_state=0)
    plain = base.fit(X, people[1])
    model = clone(base).set_params(alpha_local=None).fit(X, people[1])
    assert model.alpha_local_ == model.forest_.training.alpha_local > 0.0
    told = model.forest_.training
    assert told.oob_loss < plain.forest_.training.oob_loss
    assert (
        told.oob_loss
        < clone(base)
        .set_params(alpha_local=16.0 * model.alpha_local_, gamma=model.gamma_)
        .fit(X, people[1])
        .forest_.training.oob_loss
    )
    again = clone(model).set_params(n_jobs=2).fit(X, people[1])
    assert again.forest_ == model.forest_
    every = clone(model).set_params(bootstrap=False, n_trees=1).fit(X, people[1])
    assert every.alpha_local_ == 0.0


def test_importances_find_what_matters(people, fitted):
    told = fitted.forest_.training
    assert set(told.drop) == set(told.permutation) == set(fitted.forest_.variables_used)
    assert max(told.drop, key=told.drop.get) == "age"
    assert max(told.permutation, key=told.permutation.get) == "age"


def test_time_limit_ends_with_a_forest():
    planted = make_planted_tree(600, 20, 3, 3, 3, random_state=0)
    X, y = planted.X, planted.y
    model = SORCTForestClassifier(50, time_limit=1e-6, random_state=0).fit(X, y)
    # One tree there is, however early the time is up: no more bags are drawn.
    assert model.forest_.n_trees == 1
    assert model.status_ == "time_limit"
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trees": 0}, "n_trees must be"),
        ({"n_trees": []}, "n_trees must be"),
        ({"n_trees": [5, 0]}, "n_trees must be"),
        ({"n_trees": "all"}, "n_trees must be"),
        ({"alpha_global": -1.0}, "alpha_global must be"),
        ({"bootstrap": "rows"}, "bootstrap must be"),
        ({"bootstrap": []}, "bootstrap must be"),
        ({"rule": "worst"}, "rule must be"),
        ({"rule": "paired"}, "rule must be"),
        ({"n_folds": 1}, "n_folds must be"),
        ({"loss": "gini"}, "loss must be"),
        ({"max_features": -1}, "max_features must be"),
        ({"max_cost": 2.0}, "max_cost needs feature_cost"),
        ({"gamma": "flat"}, "gamma must be"),
        ({"monotonic_cst": {"size": 1}}, "monotonic_cst names columns"),
        ({"relax": "no"}, "relax must be True or False"),
        ({"early_stopping": pd.DataFrame()}, "early_stopping must be True or False"),
    ],
)
def test_bad_options_are_refused_before_any_work(people, options, message):
    with pytest.raises(ValueError, match=message):
        SORCTForestClassifier(**options).fit(*people)


def test_a_quantity(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    quick = {"n_starts": 1, "n_folds": 2, "random_state": 0}
    model = SORCTForestRegressor(3, 1, max_features=3, gamma=100.0, **quick)
    model.fit(X, y)
    forest = model.forest_
    assert len(forest.variables_used) <= 3
    assert model.score(X, y) > 0.4
    mean = np.mean([tree.predict(X) for tree in forest.trees], axis=0)
    np.testing.assert_allclose(model.predict(X), mean)
    assert 0.3 < model.oob_score_ < 0.6
    forest.to_json(tmp_path / "forest.json")
    again = Forest.from_json(tmp_path / "forest.json")
    assert again == forest
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_leaves_of_a_forest_may_be_linear():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    linear = SORCTForestRegressor(
        2, 1, 0.0, 0.1, leaf="linear", relax=False, n_starts=1, n_folds=2,
        random_state=0,
    )  # fmt: skip
    assert linear.fit(X, y).score(X, y) > 0.4


def test_a_forest_of_many_trees_is_better_than_its_trees():
    """On rows that none has seen."""
    planted = make_planted_tree(700, 8, 2, 3, 2, random_state=1)
    X, y = planted.X, planted.y
    model = SORCTForestClassifier(10, 2, 0.0, 0.0, n_starts=1, random_state=0)
    model.fit(X[:150], y[:150])
    alone = [accuracy_score(y[150:], t.predict(X[150:])) for t in model.forest_.trees]
    assert model.score(X[150:], y[150:]) > np.mean(alone)


@pytest.mark.parametrize("of_quantity", [True, False])
def test_levels_that_mean_nothing_are_not_kept_within_a_budget(of_quantity):
    """Without a penalty they move cuts far, and nobody misses them."""
    X, y = make_friedman1(300, n_features=6, noise=1.0, random_state=0)
    rng = np.random.default_rng(9)
    table = (
        pd.DataFrame(X)
        .add_prefix("x")
        .assign(flag=rng.choice(["yes", "no"], 300), kind=rng.choice(list("abc"), 300))
    )
    if not of_quantity:
        y = np.digitize(y, np.quantile(y, [0.33, 0.67]))
    kind = SORCTForestRegressor if of_quantity else SORCTForestClassifier
    model = kind(4, 2, alpha_global=0.0, max_features=2, random_state=0)
    assert set(model.fit(table, y).forest_.variables_used) <= {"x0", "x1", "x3", "x4"}


def test_trees_of_a_forest_find_variables_where_there_are_any_worth_their_penalty():
    """A dense start may lead to nothing though a tree of few variables is better."""
    X, y = make_friedman1(300, n_features=8, noise=1.0, random_state=0)
    model = SORCTForestRegressor(
        8, 1, alpha_local=1.0, alpha_global=0.0, loss="quantile", quantile=0.9,
        leaf="constant", random_state=0,
    )  # fmt: skip
    empty = [tree for tree in model.fit(X, y).forest_.trees if not tree.variables_used]
    assert len(empty) <= 1
