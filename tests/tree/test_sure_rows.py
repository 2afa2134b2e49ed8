"""Where the sides of the cuts tell the class, probabilities tell the same one."""

from types import SimpleNamespace

import numpy as np
import pytest

from sorct.tree.decision import predicted_codes
from sorct.tree.link import cdf
from sorct.tree.sure_rows import SureRows


def probabilities(leaf_proba, score):
    """Class probabilities, leaf by leaf, as products along the way."""
    depth = (len(score) + 1).bit_length() - 1
    left, proba = cdf(score), np.zeros((len(leaf_proba), score.shape[1]))
    for leaf in range(2**depth):
        reach, node = np.ones(score.shape[1]), 0
        for level in reversed(range(depth)):
            right = leaf >> level & 1
            reach = reach * (1.0 - left[node] if right else left[node])
            node = 2 * node + 1 + right
        proba += leaf_proba[:, [leaf]] * reach
    return proba


def drawn(rng, depth, n_classes, kind):
    """What a tree says: labels or distributions, with costs or without."""
    leaf_class = rng.integers(0, n_classes, 2**depth)
    proba, cost = None, None
    if kind == "distributions":
        proba = rng.dirichlet(np.full(n_classes, 0.1), 2**depth).T
    if kind == "costs":
        cost = rng.uniform(0.5, 3.0, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    return SimpleNamespace(
        depth=depth, n_leaves=2**depth, classes=np.arange(n_classes),
        leaf_class=leaf_class, leaf_proba=proba, decision_cost=cost, calibration=None,
    )  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("kind", ["labels", "distributions", "costs"])
def test_sure_rows_have_the_class_of_their_probabilities(rng, kind):
    n_known, n_sure = 0, 0
    for _ in range(60):
        depth, n_classes = int(rng.integers(1, 4)), int(rng.integers(2, 5))
        tree = drawn(rng, depth, n_classes, kind)
        sure = SureRows.of(tree)
        if sure is None:
            continue
        n_known += 1
        # Many scores lie just beyond what is needed.
        near = sure.least * rng.uniform(0.9, 1.1, (2**depth - 1, 200))
        far = rng.uniform(0.0, 20.0, near.shape)
        score = np.where(rng.random(near.shape) < 0.7, near, far)
        score *= rng.choice([-1.0, 1.0], score.shape)
        code, unsure_rows = sure(score)
        unsure = np.isin(np.arange(score.shape[1]), unsure_rows)
        proba = tree.leaf_proba
        proba = np.eye(n_classes)[tree.leaf_class].T if proba is None else proba
        expected = predicted_codes(probabilities(proba, score), tree.decision_cost)
        np.testing.assert_array_equal(code[~unsure], expected[~unsure])
        n_sure += int((~unsure).sum())
    assert n_known > 10
    assert n_sure > 500


def test_maps_and_indifferent_leaves_are_never_sure(rng):
    tree = drawn(rng, 2, 3, "labels")
    assert SureRows.of(tree).least == pytest.approx(0.8813746, abs=1e-5)
    assert (
        SureRows.of(SimpleNamespace(**{**vars(tree), "calibration": "a map"})) is None
    )
    even = {**vars(tree), "leaf_proba": np.full((3, 4), 1.0 / 3.0)}
    assert SureRows.of(SimpleNamespace(**even)) is None


def test_scores_that_are_no_numbers_are_not_sure(rng):
    sure = SureRows.of(drawn(rng, 1, 2, "labels"))
    score = np.array([[np.nan, 9.0, -9.0, 0.0]])
    np.testing.assert_array_equal(sure(score)[1], [0, 3])


def test_classes_beyond_a_byte_are_told(rng):
    tree = drawn(rng, 9, 300, "labels")
    tree.leaf_class[:] = np.arange(512) % 300
    score = 20.0 * rng.choice([-1.0, 1.0], (511, 400))
    code, unsure = SureRows.of(tree)(score)
    expected = probabilities(np.eye(300)[tree.leaf_class].T, score).argmax(axis=0)
    assert unsure.size == 0
    assert code.max() > 255
    np.testing.assert_array_equal(code, expected)
