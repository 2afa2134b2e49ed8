"""Bags: every class in every bag, weights as rows, rows out of the bag."""

import numpy as np
import pytest

from sorct.data import bags
from sorct.data.bags import ALL, BOOTSTRAP, HALF, draw_bag
from sorct.data.samples import TrainingSet


@pytest.fixture
def whole(rng):
    X, codes = rng.random((60, 3)), np.arange(60) % 4 % 3
    return X, codes, TrainingSet.from_data(X, codes, np.ones(60), 3)


@pytest.mark.parametrize("kind", [BOOTSTRAP, HALF])
def test_a_bag_has_every_class_with_its_share(whole, kind):
    *_, data = whole
    bag = draw_bag(data, kind, 60, 0, 5)
    np.testing.assert_allclose(bag.data.share, data.share, atol=1e-12)
    assert bag.outside.sum() + bag.data.samples.n_rows == 60
    inside = data.taken(np.flatnonzero(~bag.outside)).X
    assert np.array_equal(np.sort(inside, axis=1), np.sort(bag.data.rows.X, axis=1))


def test_weight_two_is_the_row_twice(whole):
    X, codes, _ = whole
    weight = 1.0 + np.arange(60) % 2
    by_weight = TrainingSet.from_data(X, codes, weight, 3)
    twice = np.repeat(np.arange(60), weight.astype(int))
    by_rows = TrainingSet.from_data(X[twice], codes[twice], np.ones(90), 3)
    one, two = (draw_bag(data, BOOTSTRAP, 90, 3, 1) for data in (by_weight, by_rows))
    assert np.array_equal(one.outside, two.outside)
    assert np.array_equal(one.data.samples.weight, two.data.samples.weight)


def test_bags_differ_and_come_again(whole):
    *_, data = whole
    outside = [draw_bag(data, BOOTSTRAP, 60, 0, b).outside for b in (0, 1, 0)]
    assert not np.array_equal(outside[0], outside[1])
    assert np.array_equal(outside[0], outside[2])
    assert not draw_bag(data, ALL, 60, 0, 0).outside.any()


def test_of_very_many_rows_a_bag_has_as_many_as_a_search(whole, monkeypatch):
    *_, data = whole
    monkeypatch.setattr(bags, "MANY_ROWS", 20)
    found = [draw_bag(data, BOOTSTRAP, 60, 0, b) for b in range(2)]
    assert all(0 < bag.data.samples.n_rows <= 23 for bag in found)
    assert not np.array_equal(found[0].outside, found[1].outside)
