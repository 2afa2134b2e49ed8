"""Cuts are read, drawn and followed where people come to what is predicted."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, SORCTRegressor, Tree, explain
from sorct.tree.following import clear_limits
from tests.tree.test_tree import random_tree


@pytest.fixture(scope="module")
def rare():
    """Two classes that overlap, one of them rare."""
    rng = np.random.default_rng(0)
    y = np.repeat(["fraud", "good"], [60, 240])
    return rng.normal(size=(300, 2)) + 1.5 * (y == "fraud")[:, np.newaxis], y


def fitted(rare, **options):
    """Fit a tree of one cut."""
    few = {"depth": 1, "loss": "log", "alpha_local": 0.5, "random_state": 0}
    return SORCTClassifier(**{**few, **options}).fit(*rare).tree_


@pytest.mark.parametrize(
    "options",
    [
        {"min_recall": {"fraud": 0.95}},
        {"min_recall": {"fraud": 0.8}, "confidence": 0.8},
        {"cost_matrix": [[0.0, 7.0], [1.0, 0.0]]},
        {"cost_matrix": [[0.0, 1.0], [7.0, 0.0]]},
        {"calibration": "sigmoid"},
        {"calibration": "sigmoid", "min_recall": {"fraud": 0.95}},
        {"calibration": "isotonic"},
    ],
)
def test_by_hand_is_what_is_predicted_wherever_the_decision_lies(rare, options):
    """On all rows; near the cut, too, but for what rounding may move it.

    The shares in the leaves are of the same rows.
    """
    X, y = rare
    tree = fitted(rare, **options)
    assert tree.followed_limits.any()
    grid = np.linspace(X.min(axis=0), X.max(axis=0), 1000)
    np.testing.assert_array_equal(tree.follow(X), tree.predict(X))
    exact = replace(tree, followed_at=None)
    np.testing.assert_array_equal(exact.follow(grid), tree.predict(grid))
    assert np.mean(tree.follow(grid) != tree.predict(grid)) <= 0.002
    assert tree.training.followed == 1.0
    np.testing.assert_array_equal(
        tree.routed.sum(axis=0) > 0.0, np.isin(tree.classes[tree.leaf_class], y)
    )


def test_the_cut_is_printed_where_it_is_decided(rare):
    """A row on the "yes" side of the printed sum is told the class below it."""
    X, _ = rare
    tree = fitted(rare, min_recall={"fraud": 0.95})
    (cut,) = tree.view.cuts
    assert cut.reading.threshold != fitted(rare).view.cuts[0].reading.threshold
    total = sum(
        weight * X[:, column]
        for weight, column in zip(cut.reading.weights, cut.reading.columns, strict=True)
    )
    above = total > cut.reading.threshold
    (below_yes,) = set(tree.predict(X[above]))
    assert set(tree.predict(X[~above])) == set(tree.classes) - {below_yes}
    # An explanation takes the same side, though it may be the less probable one.
    for row in X[::20]:
        step = explain(tree, row).steps[0]
        assert (step.answer == "yes") == (step.total > step.threshold)


def test_a_decision_by_probability_alone_moves_nothing(rare):
    """Nor does anything in trees that are not to be followable."""
    assert not fitted(rare).followed_limits.any()
    strict = {"depth": 2, "min_recall": {"fraud": 0.95}, "n_starts": 2}
    assert not fitted(rare, **strict, followable=False).followed_limits.any()
    # Costs so unequal that one class is always predicted leave the cut where it is.
    always = fitted(rare, cost_matrix=[[0.0, 1e30], [1.0, 0.0]])
    assert set(always.predict(rare[0])) == {"fraud"}
    assert not always.followed_limits.any()


def test_a_file_keeps_where_the_cut_is_followed(rare):
    """It follows from the decision, which is kept."""
    tree = fitted(rare, min_recall={"fraud": 0.95})
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())))
    np.testing.assert_array_equal(again.followed_limits, tree.followed_limits)
    assert str(again) == str(tree)


# -- deeper trees ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    """Three classes that overlap: deep trees mix what their leaves say."""
    rng = np.random.default_rng(2)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 3)) + np.eye(3)[y] * 1.2
    return X, np.array(["a", "b", "c"])[y]


def deep(mixed, **options):
    """Fit a tree of three cuts."""
    few = {"depth": 2, "loss": "log", "alpha_local": 2.0, "random_state": 0}
    return SORCTClassifier(**{**few, "n_starts": 3, **options}).fit(*mixed).tree_


def test_deep_cuts_are_read_where_more_rows_come_to_what_is_predicted(mixed):
    """Predictions stay as they are; what is told of rules is told of the new limits."""
    X, _ = mixed
    plain, tree = deep(mixed, followable=False), deep(mixed)
    np.testing.assert_array_equal(plain.coef, tree.coef)
    np.testing.assert_array_equal(plain.predict_proba(X), tree.predict_proba(X))
    assert tree.followed_limits.any()
    agrees = np.mean(tree.follow(X) == tree.predict(X))
    assert tree.training.followed == pytest.approx(agrees, abs=1e-12)
    assert agrees > plain.training.followed + 0.002
    for row in X[::25]:
        for step in explain(tree, row).steps:
            assert (step.answer == "yes") == (step.total > step.threshold)
    assert tree.routed.sum() == pytest.approx(1.0)


def test_no_other_limit_of_a_single_cut_is_better(mixed):
    """By brute force over all points between the rows, one cut at a time."""
    X, _ = mixed
    tree = deep(mixed)
    score = tree.scores(tree.encoder.encode(X))
    codes = np.searchsorted(tree.classes, tree.predict(X))

    def share(limits):
        other = replace(tree, followed_at=limits)
        return np.mean(other.leaf_class[other.leaf_of_scores(score)] == codes)

    found = share(tree.followed_limits)
    for t in range(tree.n_branches):
        at = np.sort(score[t])
        for limit in 0.5 * (at[1:] + at[:-1]):
            limits = tree.followed_limits.copy()
            limits[t] = limit
            assert share(limits) <= found + 0.002 + 1e-12


def test_a_file_keeps_where_deep_cuts_are_followed(mixed):
    """And refuses limits that are none."""
    tree = deep(mixed)
    plain = json.loads(json.dumps(tree.to_dict()))
    again = Tree.from_dict(plain)
    np.testing.assert_array_equal(again.followed_limits, tree.followed_limits)
    assert str(again) == str(tree)
    for wrong in ([0.0], ["a", 0, 0], [1e80, 0.0, 0.0], None):
        with pytest.raises(ValueError, match="damaged sorct model"):
            Tree.from_dict({**plain, "followed_at": wrong})


def years(share):
    """Rows of three years; in the middle one this share is of class 1."""
    X = pd.DataFrame({"year": np.repeat([1995, 1996, 1997], 2)})
    weight = np.array([0.9, 0.1, 1.0 - share, share, 0.1, 0.9])
    return X, np.tile([0, 1], 3), weight


@pytest.mark.parametrize("share", [0.4999, 0.5001, 0.4996, 0.5004])
def test_a_printed_limit_keeps_away_from_rows(share):
    """Rounding moves a cut by a thousandth; rows stay on the side that is predicted."""
    X, y, weight = years(share)
    options = {"depth": 1, "loss": "log", "alpha_local": 1e-3, "random_state": 0}
    clf = SORCTClassifier(**options).fit(X, y, sample_weight=weight)
    limit = float(re.search(r"year > (\S+)", str(clf.tree_))[1])
    predicted = clf.predict(X)
    np.testing.assert_array_equal(X["year"] > limit, predicted == 1)
    np.testing.assert_array_equal(clf.tree_.follow(X), predicted)


def test_a_printed_limit_of_a_quantity_keeps_away_from_rows(tmp_path):
    """The same for a number, and in its file."""
    X, y = pd.DataFrame({"year": np.repeat([1995, 1996, 1997], 50)}), np.zeros(150)
    y[50:100], y[100:] = 0.5, 1.0
    options = {"depth": 1, "alpha_local": 1e-3, "random_state": 0}
    tree = SORCTRegressor(**options).fit(X, y).tree_
    limit = float(re.search(r"year > (\S+)", str(tree))[1])
    assert abs(limit - 1996.0) > 1e-3
    np.testing.assert_array_equal(X["year"] > limit, tree.apply(X) == 0)
    tree.to_json(tmp_path / "tree.json")
    again = Tree.from_json(tmp_path / "tree.json")
    assert str(again) == str(tree)
    np.testing.assert_array_equal(again.followed_limits, tree.followed_limits)


def test_limits_are_cleared_without_sending_a_row_elsewhere(rng):
    """They are as far from rows as they can be and have to be, or stay."""
    X = pd.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.integers(0, 3, 60)})
    tree = random_tree(rng, X, 2, np.array(["no", "yes"]))
    score = tree.scores(tree.encoder.encode(X))
    far = 1e-3 * tree.gamma * np.abs(tree.coef).max(axis=0) / 2
    for limits in score.T[rng.integers(0, 60, 20)]:
        found = clear_limits(tree, score, limits)
        np.testing.assert_array_equal(
            score > found[:, np.newaxis], score > limits[:, np.newaxis]
        )
        nearest = np.abs(score - found[:, np.newaxis]).min(axis=1)
        moved = found != limits
        assert moved.any()
        assert (nearest[moved] >= far[moved] * (1.0 - 1e-9)).all()
        np.testing.assert_allclose(found[moved] - limits[moved], far[moved])


def test_a_promise_keeps_its_limit_where_predict_decides():
    """It lies between rows held out, of which the rows of training know nothing."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(
            {
                "a": rng.integers(0, 12, 220).astype(float),
                "z": rng.normal(size=220).round(1),
                "s": rng.choice(["f", "m", "q"], 220),
            }
        )
        size = X["a"] / 6 + X["z"] + (X["s"] == "m") + 0.7 * rng.normal(size=220)
        y = np.where(size > 1.8, "hi", "lo")
        asked = {"min_recall": {"hi": 0.8}, "confidence": 0.8, "alpha_local": 0.2}
        tree = SORCTClassifier(1, **asked, n_starts=2, random_state=0).fit(X, y).tree_
        np.testing.assert_array_equal(tree.follow(X), tree.predict(X))


def test_a_rounded_tree_is_read_at_its_rounded_thresholds():
    """Numbers as they are printed need no room for rounding."""
    X, y, weight = years(0.5004)
    options = {"depth": 1, "loss": "log", "alpha_local": 1e-3, "random_state": 0}
    tree = SORCTClassifier(**options).fit(X, y, sample_weight=weight).tree_
    assert tree.followed_at is not None
    (cut,) = tree.round(3).tree.view.cuts
    assert cut.reading.threshold == 1996.0
