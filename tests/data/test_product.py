"""Products: folded or scaled, the sums are those of a plain loop over columns."""

import numpy as np
import pandas as pd
import pytest

from sorct.data.encoder import TableEncoder
from sorct.data.product import _FoldedProduct, _ScaledProduct, make_product
from tests.data.test_encoder import mixed_table

ALL = slice(None)


def plain_sums(X, table, weights, threshold):
    """Weighted sums of scaled columns, worked out cell by cell from the raw table.

    ``table`` is what ranges and levels are learned from.
    """
    sums = np.repeat(-threshold[:, np.newaxis], len(X), axis=1)
    j = 0
    for name in X.columns:
        column = table[name]
        if column.dtype.kind in "if":
            lower, span = column.min(), column.max() - column.min()
            scaled = [(X[name] - lower) / span if span else 0.0 * X[name]]
        else:
            known = getattr(column.dtype, "categories", sorted(set(column)))
            scaled = [(X[name] == level).astype(float) for level in list(known)[1:]]
        for values in scaled:
            sums += weights[j][:, np.newaxis] * values.to_numpy(dtype=float)
            j += 1
    assert j == len(weights)
    return sums


def draw(rng, encoder, n_sums=5, density=0.7):
    """Random weights and thresholds; one sum has no weight at all."""
    weights = rng.uniform(-1.0, 1.0, (encoder.n_columns, n_sums))
    weights[rng.random(weights.shape) > density] = 0.0
    weights[:, 0] = 0.0
    return weights, rng.uniform(-1.0, 1.0, n_sums)


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("columns", [slice(None), [0, 2], [1, 3, 4], [0]])
def test_both_ways_agree_with_a_plain_sum(rng, density, columns):
    """Numbers, categories or both, for rows inside and outside of the ranges."""
    table = mixed_table(rng).iloc[:, columns]
    rows = mixed_table(rng, 200).iloc[:, columns]
    encoder = TableEncoder.learn(table)
    weights, threshold = draw(rng, encoder, density=density)
    expected = plain_sums(rows, table, weights, threshold)
    folded = make_product(encoder, weights, threshold, 1.0)
    assert isinstance(folded, _FoldedProduct)
    scaled = _ScaledProduct(encoder, weights, threshold)
    for product in (folded, scaled):
        sums = product(encoder.read(rows), ALL)
        assert sums.shape == (5, 200)
        np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("offset", [1e7, 1.7e9, -1.7e12])
@pytest.mark.parametrize("largest", [1.0, 512.0])
def test_columns_far_from_zero_are_scaled_first(rng, offset, largest):
    """Folding would lose the digits in which such columns differ."""
    table = pd.DataFrame({"near": rng.random(50), "far": offset + 3.0 * rng.random(50)})
    encoder = TableEncoder.learn(table)
    weights, threshold = draw(rng, encoder, density=1.0)
    product = make_product(encoder, largest * weights, threshold, largest)
    assert isinstance(product, _ScaledProduct)
    expected = plain_sums(table, table, largest * weights, threshold)
    sums = product(encoder.read(table), ALL)
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-12 * largest)


def test_a_far_column_without_weight_does_not_slow_the_others(rng):
    """Only columns that are used decide how sums are made."""
    table = pd.DataFrame({"near": rng.random(9), "far": 1e12 + rng.random(9)})
    encoder = TableEncoder.learn(table)
    product = make_product(encoder, np.array([[1.0], [0.0]]), np.zeros(1), 1.0)
    assert isinstance(product, _FoldedProduct)
    sums = product(encoder.read(table), ALL)[0]
    near = table["near"]
    expected = (near - near.min()) / (near.max() - near.min())
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("span", [1e-300, 1e-260])
def test_a_span_that_one_cannot_divide_by_is_scaled_first(rng, span):
    """Weights over it would overflow."""
    table = pd.DataFrame({"x": np.concatenate([[0.0, span], span * rng.random(8)])})
    encoder = TableEncoder.learn(table)
    product = make_product(encoder, np.array([[1.0]]), np.zeros(1), 1.0)
    assert isinstance(product, _ScaledProduct)
    sums = product(encoder.read(table), ALL)[0]
    np.testing.assert_allclose(sums, table["x"] / span, rtol=1e-14)


@pytest.mark.parametrize("far", [False, True])
def test_some_rows_have_the_sums_that_they_have_among_all(rng, far):
    """Blocks of rows side by side are the whole."""
    table = mixed_table(rng).assign(year=lambda t: t["year"] + (1e10 if far else 0.0))
    encoder = TableEncoder.learn(table)
    weights, threshold = draw(rng, encoder, density=1.0)
    product = make_product(encoder, weights, threshold, 1.0)
    assert isinstance(product, _ScaledProduct if far else _FoldedProduct)
    read = encoder.read(table)
    blocks = [product(read, slice(a, a + 13)) for a in range(0, 60, 13)]
    whole = product(read, ALL)
    np.testing.assert_allclose(np.concatenate(blocks, axis=1), whole, atol=1e-12)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize(("odd", "words"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("used", [False, True])
def test_what_is_not_finite_is_found_in_any_column(rng, far, odd, words, used):
    """Also in a column that no sum uses, and its name is told."""
    table = pd.DataFrame({"a": rng.random(9), "b": rng.random(9) + (1e12 * far)})
    encoder = TableEncoder.learn(table)
    weights = np.array([[1.0 * used], [1.0]])
    product = make_product(encoder, weights, np.zeros(1), 1.0)
    table.loc[4, "a"] = odd
    read = encoder.read(table, check_finite=False)
    with pytest.raises(ValueError, match=f"{words}.*'a'"):
        product(read, ALL)
    product(read, slice(0, 4))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.every_case
@pytest.mark.parametrize("n_sums", [0, 1, 3, 4, 7])
def test_many_rows_are_multiplied_piece_by_piece(rng, order, n_sums):
    """However cells lie in memory, and where the last piece is a short one."""
    X = np.asarray(rng.random((2500, 300)), order=order)
    encoder = TableEncoder.learn(X)
    weights, threshold = draw(rng, encoder, n_sums + 1, density=0.5)
    weights, threshold = weights[:, 1:], threshold[1:]
    product = make_product(encoder, weights, threshold, 1.0)
    assert isinstance(product, _FoldedProduct)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    expected = np.einsum("ij,jk->ki", scaled, weights) - threshold[:, np.newaxis]
    found = product(encoder.read(X), slice(7, 2493))
    np.testing.assert_allclose(found, expected[:, 7:2493], rtol=0, atol=1e-11)
