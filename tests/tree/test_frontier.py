"""Frontier: the sparsest of the best, by brute force, and the same for every caller."""

import numpy as np
import pytest

from sorct.tree.frontier import sparsest


def by_brute_force(good, used, local, within):
    """Compare every tree with every other, as the docstring says."""
    best = max(range(len(good)), key=lambda k: (good[k], -k))
    near = [k for k in range(len(good)) if good[k] >= good[best] - within[best]]
    return min(near, key=lambda k: (used[k], -local[k], -good[k], -k))


@pytest.mark.parametrize("seed", range(30))
def test_the_sparsest_is_that_of_brute_force(seed):
    """Few distinct values, so that all ties occur."""
    rng = np.random.default_rng(seed)
    good, used, local = rng.integers(0, 4, (3, 12)) / 4.0
    for within in (np.zeros(12), rng.integers(0, 3, 12) / 4.0):
        found = sparsest(good, used, local, within)
        assert found == by_brute_force(good, used, local, within)


def test_rounding_parts_no_equals():
    """Scores that differ in the last digit are equally good, of any size."""
    for size in (1.0, 1e6):
        good = size * np.array([0.3, 0.1 + 0.2])
        assert good[0] < good[1]
        assert sparsest(good, [1, 2], [0.0, 0.0]) == 0


def test_what_has_no_score_is_worse_than_anything():
    """NaN is never chosen while there is a number."""
    nan = np.nan
    assert sparsest([nan, 0.1, nan], [0, 5, 0], [9.0, 0.0, 9.0], [nan, 0.0, nan]) == 1
    assert sparsest([nan, nan], [2, 1], [0.0, 0.0]) == 1
