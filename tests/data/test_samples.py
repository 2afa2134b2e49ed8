"""Samples: unmoved by the order of rows, merged where equal, picked evenly."""

import numpy as np
import pytest

from sorct.data import samples
from sorct.data.samples import BLOCK, TrainingSet

sizes = pytest.mark.parametrize("n", [1, 2, 9, 2 * BLOCK + 3])
repeats = pytest.mark.parametrize("equal", [False, True], ids=["distinct", "equal"])


def draw_rows(rng, n, equal):
    """Distinct rows of any weight, or many equal ones with weights that add exactly."""
    y = rng.integers(0, 3, n)
    if equal:
        return rng.integers(0, 3, (n, 2)) / 2.0, y, rng.integers(1, 5, n) / 4.0
    return rng.random((n, 2)), y, rng.random(n) + 0.1


def data_of(X, y, weight):
    """Prepare samples of three codes."""
    return TrainingSet.from_data(X, y, weight, 3)


def assert_identical(one, other):
    """Every array of the samples is the same to the last bit."""
    for a, b in zip(one.samples, other.samples, strict=True):
        np.testing.assert_array_equal(a, b)


@sizes
@repeats
def test_permuted_rows_are_the_same_samples(rng, n, equal):
    """To the last bit, whatever the weights of equal rows."""
    X, y, _ = draw_rows(rng, n, equal)
    weight, order = rng.random(n), rng.permutation(n)
    assert_identical(data_of(X, y, weight), data_of(X[order], y[order], weight[order]))


@sizes
@repeats
def test_weight_two_is_the_row_twice(rng, n, equal):
    """To the last bit, wherever the second one stands."""
    X, y, weight = draw_rows(rng, n, equal)
    times = rng.integers(1, 3, n)
    rows = rng.permutation(np.repeat(np.arange(n), times))
    assert_identical(
        data_of(X, y, weight * times), data_of(X[rows], y[rows], weight[rows])
    )


@sizes
@repeats
def test_scaling_all_weights_changes_nothing(rng, n, equal):
    """By a power of two, to the last bit: weights are shares."""
    X, y, weight = draw_rows(rng, n, equal)
    assert_identical(data_of(X, y, weight), data_of(X, y, 8.0 * weight))


@sizes
def test_shares_and_moments_are_weighted_averages(rng, n):
    """Share, centre and variance against numpy.average; samples weigh 1 in all."""
    X, y, weight = rng.random((n, 4)), rng.integers(0, 3, n), rng.random(n) + 0.1
    data = data_of(X, y, weight)
    centre = np.average(X, axis=0, weights=weight)
    variance = np.average((X - centre) ** 2, axis=0, weights=weight)
    share = np.average(np.eye(3)[y], axis=0, weights=weight)
    np.testing.assert_allclose(data.centre, centre, rtol=1e-13)
    np.testing.assert_allclose(data.variance, variance, rtol=0, atol=1e-14)
    np.testing.assert_allclose(data.share, share, rtol=0, atol=1e-14)
    assert data.samples.weight.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("most", [100, 333, 999, 1000, 5000])
def test_rows_are_samples_with_their_classes_and_weights(rng, monkeypatch, most):
    """All of them, or evenly spread ones, at most as many as may come.

    Weights keep their ratios within a class, and every class its share.
    """
    monkeypatch.setattr(samples, "MANY_ROWS", most)
    X, y = rng.random((1000, 3)), rng.integers(0, 3, 1000)
    weight = rng.random(1000) + 0.1
    rows = data_of(X, y, weight).rows
    n_kept = rows.weight.size
    assert min(most, 1000) / 2 < n_kept <= most
    assert n_kept == 1000 or most < 1000
    expected = {
        (*row, k): w for *row, k, w in np.column_stack([X, y, weight / weight.sum()])
    }
    found = dict(zip(zip(*rows.X, rows.codes, strict=True), rows.weight, strict=True))
    assert len(found) == n_kept
    ratio = np.array([w / expected[key] for key, w in found.items()])
    for k in range(3):
        np.testing.assert_allclose(ratio[rows.codes == k], ratio[rows.codes == k][0])
    share = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(np.bincount(rows.codes, rows.weight), share, rtol=1e-12)


@sizes
def test_blocks_hold_every_row_once(rng, n):
    """Rows, codes and weights come back from the layout, whatever their order."""
    X, y, weight = draw_rows(rng, n, equal=False)
    laid = data_of(X, y, weight).samples
    assert (laid.n_rows, laid.n_columns) == X.shape
    assert np.all(np.diff(laid.start) % samples.LANES == 0)
    blocks = [laid.block(b) for b in range(laid.n_blocks)]
    x = np.concatenate([block for block, _ in blocks], axis=1)[:, :n]
    found = np.column_stack([x.T, laid.codes, laid.weight[:n]])
    expected = np.column_stack([X, y, weight / weight.sum()])
    for one, other in zip(
        sorted(found.tolist()), sorted(expected.tolist()), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_fewer_rows_of_a_quantity_are_a_fair_sample():
    """They are drawn by keys, not by their responses."""
    rng, n = np.random.default_rng(0), 4000
    X = rng.random((n, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=n)
    codes = np.zeros(n, dtype=np.int64)
    data = TrainingSet.from_data(X, codes, np.ones(n), 1, y)
    some = data.fewer(500).samples
    gap = np.average(some.response, weights=some.weight) - y.mean()
    assert some.n_rows == 500
    assert abs(gap) < 4.0 * y.std() / np.sqrt(500)
