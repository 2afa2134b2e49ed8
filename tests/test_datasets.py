"""Data sets: a planted tree is what it says, and its samples are its own."""

import numpy as np
import pytest

from sorct.datasets import make_planted_tree

sizes = pytest.mark.parametrize(
    ("n", "p", "depth", "n_classes", "n_informative"),
    [(40, 3, 1, 2, 1), (200, 5, 2, 3, 2), (333, 10, 3, 2, 10), (1000, 4, 4, 16, 3)],
)


def leaves_of(data):
    """Position of every sample's leaf, each sent down on its own, and its least gap.

    The median of an odd number of samples is one of them: rounding decides its side.
    """
    n_branches = data.level.size
    leaf, least = np.zeros(len(data.X), dtype=np.int64), np.full(len(data.X), np.inf)
    for i, x in enumerate(data.X):
        node = 0
        while node < n_branches:
            gap = x @ data.coef[:, node] - data.level[node]
            node, least[i] = 2 * node + (1 if gap > 0 else 2), min(least[i], abs(gap))
        leaf[i] = node - n_branches
    return leaf, least


@sizes
@pytest.mark.parametrize("seed", range(3))
def test_labels_follow_from_the_tree(n, p, depth, n_classes, n_informative, seed):
    """Sending samples down the tree gives the clean labels; leaves count in turn."""
    data = make_planted_tree(
        n, p, depth, n_classes, n_informative, noise=0.0, random_state=seed
    )
    assert data.leaf_class.tolist() == [leaf % n_classes for leaf in range(2**depth)]
    leaf, gap = leaves_of(data)
    clear = gap > 1e-12
    assert np.count_nonzero(~clear) < 2**depth
    np.testing.assert_array_equal(data.y_clean[clear], data.leaf_class[leaf][clear])
    np.testing.assert_array_equal(data.y, data.y_clean)


@sizes
def test_every_leaf_gets_its_even_part(n, p, depth, n_classes, n_informative):
    """Every cut halves its samples; an odd one goes to either side."""
    data = make_planted_tree(n, p, depth, n_classes, n_informative, random_state=0)
    counts = np.bincount(leaves_of(data)[0], minlength=2**depth)
    assert np.all(np.abs(counts - n / 2**depth) < 2.0)
    assert counts.sum() == n


@sizes
def test_shapes_and_ranges_are_as_told(n, p, depth, n_classes, n_informative):
    """Features in [0, 1]; so many features per cut, of weights from 0.4 to 1."""
    data = make_planted_tree(n, p, depth, n_classes, n_informative, random_state=0)
    assert data.X.shape == (n, p)
    assert np.all((data.X >= 0.0) & (data.X <= 1.0))
    assert data.coef.shape == (p, 2**depth - 1)
    assert np.all(np.count_nonzero(data.coef, axis=0) == n_informative)
    size = np.abs(data.coef[data.coef != 0.0])
    assert np.all((size >= 0.4) & (size <= 1.0))
    assert set(data.y) == set(range(n_classes))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_noise_is_the_share_of_labels_redrawn(noise, n_classes):
    """Of those, one in n_classes stays as it was; within five standard deviations."""
    n = 20_000
    data = make_planted_tree(n, 3, 2, n_classes, 2, noise=noise, random_state=0)
    wrong = noise * (1.0 - 1.0 / n_classes)
    allowed = 5.0 * np.sqrt(wrong * (1.0 - wrong) / n)
    assert np.mean(data.y != data.y_clean) == pytest.approx(wrong, abs=allowed)


def test_the_seed_decides():
    """The same seed gives the same data to the last bit, another another."""
    one, again, other = (
        make_planted_tree(100, 4, 2, 3, 2, random_state=seed) for seed in (0, 0, 1)
    )
    for name in ("X", "y", "y_clean", "coef", "level", "leaf_class"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.X, other.X)
    assert not np.array_equal(one.coef, other.coef)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("depth", [0, -1]),
        ("n_samples", [3, 0]),
        ("n_classes", [1, 5]),
        ("n_informative", [0, 6]),
        ("noise", [-0.1, 1.1, np.nan]),
    ],
)
def test_an_impossible_tree_is_refused(name, values):
    """The message begins with the parameter and tells what it got."""
    possible = {"n_samples": 50, "n_features": 5, "depth": 2, "n_classes": 3}
    for value in values:
        wanted = {**possible, "n_informative": 2, name: value}
        with pytest.raises(ValueError, match=rf"^{name} must .*got {value}\.$"):
            make_planted_tree(**wanted)
