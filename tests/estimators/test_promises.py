"""A recall promised with confidence is kept on new rows, as often as was said."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom

from sorct import InfeasibleError, SORCTClassifier, Tree
from sorct.estimators.fitting import Model
from sorct.estimators.promises import (
    Promise,
    hold_out,
    order_statistic,
    promised_weight,
    rows_needed,
)
from sorct.show.cuts import cut_text

losses = pytest.mark.parametrize("loss", ["cost", "log"])
PROMISE = {"min_recall": {"fraud": 0.9}, "confidence": 0.95}


def model(**options):
    """Make a classifier with few starts."""
    return SORCTClassifier(**{"n_starts": 2, "random_state": 0, **options})


def rare(rng, n_fraud=80, n_good=400):
    """Draw two classes that overlap."""
    y = np.repeat(["fraud", "good"], [n_fraud, n_good])
    shift = np.where(y == "fraud", 1.5, 0.0)[:, np.newaxis]
    return rng.normal(0.0, 1.0, (len(y), 2)) + shift, y


def most_failures(n_draws, rate=0.05):
    """Give the largest number of failures that chance explains, but once in 10 000."""
    return int(binom.ppf(1.0 - 1e-4, n_draws, rate))


# -- order statistics ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("floor", "confidence", "needed"),
    [
        (0.9, 0.95, 29),
        (0.95, 0.95, 59),
        (0.99, 0.95, 299),
        (0.5, 0.5, 1),
        (0.8, 0.9, 11),
    ],
)
def test_the_rows_needed_are_known(floor, confidence, needed):
    """floor^n <= 1 - confidence, and one row fewer is not enough."""
    assert rows_needed(floor, confidence) == needed
    assert order_statistic(needed, floor, confidence) == needed
    assert floor**needed <= 1.0 - confidence + 1e-12
    if needed > 1:
        assert order_statistic(needed - 1, floor, confidence) is None


@pytest.mark.parametrize("n", [29, 60, 333])
def test_the_order_statistic_is_the_least_that_is_safe(n):
    """By the binomial distribution."""
    m = order_statistic(n, 0.9, 0.95)
    assert binom.sf(m - 1, n, 0.9) <= 0.05 < binom.sf(m - 2, n, 0.9)
    assert beta.cdf(0.9, m, n + 1 - m) <= 0.05


def test_too_few_held_out_rows_are_refused():
    """The error says how many are needed."""
    with pytest.raises(ValueError, match="at least 29 held-out rows of the class, got"):
        promised_weight(np.ones(28), 0.9, 0.95, np.zeros(0))


@pytest.mark.parametrize("n", [29, 60, 200])
@pytest.mark.parametrize("tied", [False, True])
def test_the_promise_fails_as_seldom_as_was_said(rng, n, tied):
    """Over 500 draws; with ties more seldom still."""
    failures = 0
    for _ in range(500):
        critical = rng.exponential(size=n)
        critical = np.ceil(critical) if tied else critical
        limit = promised_weight(critical, 0.9, 0.95, np.zeros(0))
        recall = 1.0 - np.exp(-(np.floor(limit) if tied else limit))
        failures += recall < 0.9
    assert failures <= most_failures(500)
    # Nothing is given away without need either.
    if n > 29 and not tied:
        assert failures >= binom.ppf(1e-4, 500, beta.cdf(0.9, *_shape(n)))


def _shape(n):
    m = order_statistic(n, 0.9, 0.95)
    return m, n + 1 - m


# -- fits ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.a_few(1)
@losses
def test_a_fixed_tree_keeps_its_promise_on_fresh_draws(rng, loss):
    """500 times the limit is set by fresh rows, for a tree that does not change."""
    tree = model(depth=1, loss=loss, gamma=32.0).fit(*rare(rng)).tree_
    new, _ = rare(rng, 20_000, 1)
    said, equal = tree.predict_proba(new[:-1]), 1.0 - np.eye(2)
    table, none, failures = Model().table, np.zeros((2, 0)), 0
    for _ in range(500):
        held, _ = rare(rng, 60, 1)
        costs = Promise(held[:-1], 0, 0.9, 0.95, table).decision(tree, equal, none)
        costs = equal if costs is None else costs
        recall = np.mean((said @ costs).argmin(axis=1) == 0)
        failures += recall < 0.9
    assert failures <= most_failures(500)
    assert failures > 0


@pytest.mark.a_few(1)
@losses
def test_whole_fits_keep_their_promise(rng, loss):
    """Training, holding out and deciding included; recall from many new rows."""
    failures = 0
    options = {"depth": 1, "loss": loss, "class_weight": "balanced", "n_starts": 1}
    new, _ = rare(rng, 5000, 1)
    for seed in range(25):
        clf = model(gamma=32.0, random_state=seed, **options, **PROMISE)
        clf.fit(*rare(rng))
        failures += np.mean(clf.predict(new[:-1]) == "fraud") < 0.9
    assert failures <= most_failures(25)


@losses
@pytest.mark.parametrize("calibration", [None, "sigmoid"])
def test_what_was_promised_is_told_and_saved(rng, loss, calibration):
    """The confidence, the floor, and the recall that the training rows have."""
    X, y = rare(rng)
    options = {"loss": loss, "gamma": 32.0, "calibration": calibration}
    clf = model(**options, **PROMISE).fit(X, y)
    tree = clf.tree_
    assert tree.training.confidence == 0.95
    assert tree.training.min_recall == (0.9, 0.0)
    assert tree.decision_cost[0, 1] > tree.decision_cost[1, 0]
    assert np.mean(clf.predict(X)[y == "fraud"] == "fraud") > 0.9
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert again == tree
    assert again.training.confidence == 0.95
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert tree.round(3).tree.training.confidence is None


def test_a_floor_that_is_kept_anyway_changes_no_decision(rng):
    """Classes far apart: the most probable one is predicted, as without a promise."""
    X, y = rare(rng)
    X[y == "fraud"] += 20.0
    clf = model(loss="log", depth=1, **PROMISE).fit(X, y)
    assert clf.tree_.decision_cost is None
    assert clf.tree_.training.confidence == 0.95


def test_costs_go_on_counting(rng):
    """The promise only adds to what errors of the class cost."""
    X, y = rare(rng)
    costs = [[0.0, 1000.0], [1.0, 0.0]]
    clf = model(loss="log", depth=1, cost_matrix=costs, **PROMISE).fit(X, y)
    np.testing.assert_array_equal(clf.tree_.decision_cost, costs)


def test_several_classes_can_be_told_apart_under_a_promise(rng):
    """One of three has a floor."""
    y = rng.choice(["a", "b", "c"], 600)
    X = rng.normal(size=(600, 3)) + (y[:, np.newaxis] == ["a", "b", "c"])
    clf = model(loss="log", min_recall={"b": 0.8}, confidence=0.9).fit(X, y)
    assert np.mean(clf.predict(X)[y == "b"] == "b") > 0.8
    assert set(clf.predict(X)) == {"a", "b", "c"}


# -- held-out rows ---------------------------------------------------------------------


def test_held_out_rows_are_not_trained_on(rng):
    """Half of the class is left, with the weight of all of it."""
    X, y = rare(rng)
    asked = Model(**PROMISE)
    kept, promise = hold_out(X, y, None, asked, 0)
    assert len(promise.X) == 40
    assert len(kept.y) == 440
    together = np.vstack([kept.X, promise.X])
    assert {tuple(row) for row in together} == {tuple(row) for row in X}
    weight = np.array(
        [kept.weight[kept.y == label].sum() for label in ("fraud", "good")]
    )
    np.testing.assert_allclose(weight / weight.sum(), [80 / 480, 400 / 480])
    other, _ = hold_out(X, y, None, asked, 1)
    assert not np.array_equal(other.X, kept.X)
    tree = model(loss="log", **PROMISE).fit(X, y).tree_
    assert tree.training.n_samples == 440
    np.testing.assert_allclose(tree.class_share, [80 / 480, 400 / 480])


@pytest.mark.parametrize(("n_fraud", "held"), [(30, 29), (50, 29), (4000, 580)])
def test_as_many_rows_are_held_out_as_are_useful(rng, n_fraud, held):
    """All that are needed, then half, then no more than make the limit sharp."""
    _, promise = hold_out(*rare(rng, n_fraud), None, Model(**PROMISE), 0)
    assert len(promise.X) == held


def test_nothing_is_held_out_unless_asked(rng):
    """The rows are handed on as they came."""
    X, y = rare(rng)
    kept, promise = hold_out(X, y, None, replace(Model(**PROMISE), confidence=None), 0)
    assert promise is None
    assert kept.X is X
    assert kept.weight is None


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", [0, 1, 1.0, -0.1, 95, True, "0.95", np.nan])
def test_what_is_no_confidence_is_refused_before_the_data(given):
    """The data here would be refused as well."""
    with pytest.raises(ValueError, match="confidence must be None or a probability"):
        model(min_recall={"fraud": 0.9}, confidence=given).fit(None, [1])


def test_a_confidence_without_a_floor_is_refused():
    """There is nothing to promise."""
    with pytest.raises(ValueError, match="confidence needs min_recall"):
        model(confidence=0.95).fit(None, [1])


@pytest.mark.parametrize("floors", [0.9, {"fraud": 0.9, "good": 0.8}, {"fraud": 0.0}])
def test_one_class_can_be_promised(rng, floors):
    """The error shows how to name it."""
    with pytest.raises(ValueError, match="promises the recall of one class"):
        model(min_recall=floors, confidence=0.95).fit(*rare(rng))


def test_a_recall_of_1_cannot_be_promised(rng):
    """No number of rows shows it."""
    with pytest.raises(ValueError, match="min_recall must be below 1"):
        model(min_recall={"fraud": 1.0}, confidence=0.95).fit(*rare(rng))


def test_too_few_rows_of_the_class_are_refused(rng):
    """The error says how many are needed and how many there are."""
    with pytest.raises(ValueError, match=r"at least 29 rows of .*there are 20\."):
        model(**PROMISE).fit(*rare(rng, 20))
    with pytest.raises(ValueError, match=r"at least 299 rows of .*there are 80\."):
        model(min_recall={"fraud": 0.99}, confidence=0.95).fit(*rare(rng))


def test_rows_of_different_weight_are_refused(rng):
    """Weighted rows cannot be counted; equal weights and zeros can."""
    X, y = rare(rng)
    weight = np.where(y == "fraud", 3.0, 1.0)
    weight[0] = 0.0
    fitted = model(depth=1, loss="log", **PROMISE).fit(X, y, weight)
    assert fitted.tree_.training.confidence == PROMISE["confidence"]
    weight[1] = 2.0
    with pytest.raises(ValueError, match="sample_weight must be the same for all rows"):
        model(**PROMISE).fit(X, y, weight)


def test_rows_without_any_probability_are_not_promised(rng):
    """Where cuts are so hard that no weight of the class could change a prediction."""
    X, y = rare(rng)
    X[:, 1] = 0.0
    with pytest.raises(InfeasibleError, match="cannot be promised with confidence"):
        model(depth=1, gamma=1e9, **PROMISE).fit(X, y)


def test_a_promise_kept_by_saying_the_same_of_everybody_is_warned_of(rng):
    """A tree without variables can do no better."""
    X, y = rare(rng)
    with pytest.warns(UserWarning, match="only by predicting fraud for every training"):
        model(depth=1, loss="log", alpha_local=100.0, **PROMISE).fit(X, y)


@losses
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_printed_limits_lie_between_rows(loss, confidence):
    """Whole numbers give ties: by the rules as printed all rows get predict's class."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a": rng.integers(0, 3, 400), "b": rng.integers(0, 4, 400)})
        sick = rng.random(400) < 1.0 / (1.0 + np.exp(2.6 - X.a - 0.7 * X.b))
        y = np.where(sick, "sick", "ok")
        clf = model(
            depth=1,
            loss=loss,
            alpha_local=0.3,
            min_recall={"sick": 0.85},
            confidence=confidence,
        )
        tree = clf.fit(X, y).tree_
        cut = tree.view.root
        left, limit = cut_text(cut).split(" > ")
        by_hand = X.eval(re.sub(r"(\d) ([ab])", r"\1*\2", left)) > float(limit)
        answers = [tree.classes[tree.view.nodes[n].code] for n in (cut.yes, cut.no)]
        np.testing.assert_array_equal(np.where(by_hand, *answers), clf.predict(X))
