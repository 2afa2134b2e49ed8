"""Ways to put members of a forest together, against slow sums."""

import pickle

import numpy as np
import pytest

from experiments.forest_members import KINDS, Member, _log_odds, compare, stacked


def member(rng, n_rows=60, n_test=40, n_trees=24):
    """Probabilities of three classes drawn at random, some rows seen by all trees."""
    unseen = rng.dirichlet(np.ones(3), n_rows).T
    each = rng.dirichlet(np.ones(3), (n_trees, n_test))
    codes, weight = np.arange(n_rows) % 3, rng.integers(1, 4, n_rows).astype(float)
    return Member(each, unseen, rng.random(n_rows) > 0.2, codes, weight)


def test_stacked_weights_have_the_least_loss():
    """Against a fine grid of the only weight there is."""
    rng = np.random.default_rng(0)
    one, other = member(rng), member(rng)
    other.codes, other.weight = one.codes, one.weight
    # The first knows more than the second.
    one.unseen = 0.97 * one.unseen + 0.03 * (one.codes == np.arange(3)[:, np.newaxis])

    def loss(share):
        total = 0.0
        for i in np.flatnonzero(one.known & other.known):
            pair = one.unseen[one.codes[i], i], other.unseen[one.codes[i], i]
            total -= one.weight[i] * np.log(share * pair[0] + (1 - share) * pair[1])
        return total

    found = stacked([one, other])
    shares = np.linspace(0.001, 0.999, 999)
    best = shares[np.argmin([loss(share) for share in shares])]
    assert 0.5 < best < 0.99
    assert found.sum() == pytest.approx(1.0)
    assert found[0] == pytest.approx(best, abs=2e-3)


def test_means_of_log_odds():
    one, other = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    # Odds of 9 and 1 have the geometric mean 3.
    np.testing.assert_allclose(_log_odds(one, other), [[0.75, 0.25]])


def test_ways_are_compared_table_by_table(tmp_path):
    """Means of the drawings of a table first, then over tables."""
    rng = np.random.default_rng(1)
    for table, seed in (("a", 0), ("a", 1), ("b", 0)):
        names = [*KINDS, "scaled, quantile", "again, quantile"]
        race = rng.dirichlet(np.ones(3), 40)
        one = {
            "y": rng.integers(0, 3, 40),
            "race": race,
            "rules": dict.fromkeys(("one-standard-error", "paired"), (race, 2)),
            "finalists": [],
            "members": {name: member(rng) for name in names},
            "n_variables": 3,
            "pruned": {k: [member(rng), member(rng)] for k in (1, 2)},
        }
        (tmp_path / f"{table}-0-{seed}.pkl").write_bytes(pickle.dumps(one))
    told = compare(tmp_path)
    right = {}
    for file in tmp_path.glob("*.pkl"):
        one = pickle.loads(file.read_bytes())
        hits = [np.argmax(p) == k for p, k in zip(one["race"], one["y"], strict=True)]
        right.setdefault(file.stem[0], []).append(100.0 * sum(hits) / 40)
    expected = np.mean([np.mean(own) for own in right.values()])
    assert told.loc["race's tree", "accuracy"] == pytest.approx(expected)
    assert told.loc["default", "accuracy - default"] == 0.0
    gap = told["accuracy"] - told.loc["default", "accuracy"]
    np.testing.assert_allclose(told["accuracy - default"], gap)
    shares = [f"fewest variables within {share} %" for share in (0, 0.25, 0.5, 1)]
    sizes = told.loc[shares, "n_variables"]
    assert 1 <= sizes.min() <= sizes.max() <= 3
    assert sizes.is_monotonic_decreasing
