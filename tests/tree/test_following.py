"""A tree of one cut is read, drawn and followed where ``predict`` changes its mind."""

import json

import numpy as np
import pytest

from sorct import SORCTClassifier, Tree, explain


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
    """On all rows, near the cut too; the shares in the leaves are of the same rows."""
    X, y = rare
    tree = fitted(rare, **options)
    assert tree.followed_limits.any()
    grid = np.linspace(X.min(axis=0), X.max(axis=0), 1000)
    for rows in (X, grid):
        np.testing.assert_array_equal(tree.follow(rows), tree.predict(rows))
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
    """Nor do deeper trees, whose decision is at no single point of a cut."""
    assert not fitted(rare).followed_limits.any()
    deeper = fitted(rare, depth=2, min_recall={"fraud": 0.95}, n_starts=2)
    assert not deeper.followed_limits.any()
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
