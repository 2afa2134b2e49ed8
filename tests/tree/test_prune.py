"""Prune: what decides nothing is found and emptied, and no prediction changes."""

import numpy as np
import pytest
from sorct.datasets import make_planted_tree

from sorct import SORCTClassifier
from sorct.tree.params import Params
from sorct.tree.prune import SEVERAL, node_classes, only_children, pruned
from tests.reference import Reference

N_FEATURES = 3
depths = pytest.mark.parametrize("depth", [1, 2, 3, 4])
gammas = pytest.mark.parametrize("gamma", [8.0, 512.0, 2048.0])


def draw_trees(rng, depth, n=40):
    """Few labels, half of the cuts empty, many of those saturated."""
    n_branches = 2**depth - 1
    for _ in range(n):
        coef = rng.uniform(-1.0, 1.0, (N_FEATURES, n_branches))
        coef[:, rng.random(n_branches) < 0.5] = 0.0
        threshold = rng.uniform(-0.2, 0.2, n_branches)
        saturated = rng.random(n_branches) < 0.5
        threshold[saturated] = rng.choice([-1.0, 1.0], saturated.sum())
        n_labels = rng.integers(1, 4)
        yield Params(coef, threshold, rng.integers(0, n_labels, n_branches + 1))


def truth_of(rng, depth, gamma):
    """Hand the reference random inputs; it needs no labels to predict."""
    nothing = {"y": None, "weight": None, "floor": None, "cost_matrix": np.eye(3)}
    X = rng.random((50, N_FEATURES))
    return Reference(X=X, depth=depth, gamma=gamma, **nothing)


def open_leaves(tree, gamma, node):
    """Leaves that some sample at a node can reach, by trying all ways down."""
    if node >= tree.threshold.size:
        return [node - tree.threshold.size]
    ways = [True, True]
    if not tree.coef[:, node].any():
        # F is 1 to the last bit above 37 or so, and 0 only where exp overflows.
        odds = -gamma * tree.threshold[node]
        ways = [odds > -709.7, odds < 36.8]
    return [
        leaf
        for side in (1, 2)
        if ways[side - 1]
        for leaf in open_leaves(tree, gamma, 2 * node + side)
    ]


@depths
@pytest.mark.parametrize("gamma", [8.0, 512.0, 2048.0])
def test_a_node_has_a_class_if_all_leaves_it_opens_have_it(rng, depth, gamma):
    """As found by enumeration, for every node."""
    for tree in draw_trees(rng, depth):
        found = node_classes(
            only_children(tree.coef, tree.threshold, gamma), tree.leaf_class
        )
        for node in range(2 ** (depth + 1) - 1):
            labels = {tree.leaf_class[leaf] for leaf in open_leaves(tree, gamma, node)}
            assert found[node] == (labels.pop() if len(labels) == 1 else SEVERAL)


@pytest.mark.every_value
@depths
@gammas
def test_pruning_changes_no_prediction(rng, depth, gamma):
    """Probabilities stay to the last digit, and labels."""
    truth = truth_of(rng, depth, gamma)
    for tree in draw_trees(rng, depth):
        before, after = (truth.predict_proba(t) for t in (tree, pruned(tree, gamma)))
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))


@pytest.mark.every_value
@depths
@gammas
def test_idle_cuts_are_exact_zeros_and_others_untouched(rng, depth, gamma):
    """Empty where one class is left or no sample comes; all else is as it was."""
    n_idle = 0
    for tree in draw_trees(rng, depth):
        after = pruned(tree, gamma)
        labels = [
            {tree.leaf_class[leaf] for leaf in open_leaves(tree, gamma, t)}
            for t in range(2**depth - 1)
        ]
        reached = set(open_leaves(tree, gamma, 0))
        missed = [
            reached.isdisjoint(open_leaves(tree, gamma, t)) for t in range(len(labels))
        ]
        idle = np.array([len(found) == 1 for found in labels]) | np.array(missed)
        n_idle += np.count_nonzero(tree.coef[:, idle].any(axis=0))
        assert not after.coef[:, idle].any()
        np.testing.assert_array_equal(after.coef[:, ~idle], tree.coef[:, ~idle])
        np.testing.assert_array_equal(after.threshold[~idle], tree.threshold[~idle])
        np.testing.assert_array_equal(after.leaf_class, tree.leaf_class)
    assert n_idle > 0


@pytest.mark.every_value
@depths
@gammas
def test_pruning_twice_is_pruning_once(rng, depth, gamma):
    """Nothing is left to prune, to the last bit."""
    for tree in draw_trees(rng, depth):
        once = pruned(tree, gamma)
        twice = pruned(once, gamma)
        np.testing.assert_array_equal(twice.coef, once.coef)
        np.testing.assert_array_equal(twice.threshold, once.threshold)


def test_pruning_leaves_the_tree_given_as_it_was(rng):
    """It returns another."""
    tree = Params(np.ones((2, 1)), np.zeros(1), np.zeros(2, dtype=np.int64))
    assert not pruned(tree, 512.0).coef.any()
    assert tree.coef.all()
    assert tree.threshold[0] == 0.0


@pytest.mark.parametrize("alpha_local", [0.0, 0.05])
def test_a_fitted_tree_has_no_coefficients_that_decide_nothing(alpha_local):
    """Of eight leaves for two classes many agree; their cuts come back empty."""
    data = make_planted_tree(200, 4, 2, 2, 2, random_state=0)
    clf = SORCTClassifier(3, alpha_local, n_starts=4, random_state=0)
    tree = clf.fit(data.X, data.y).tree_
    used = np.flatnonzero(tree.coef.any(axis=0))
    for t in used:
        labels = {tree.leaf_class[leaf] for leaf in open_leaves(tree, tree.gamma, t)}
        assert labels == {0, 1}
    assert 0 < used.size < 7
