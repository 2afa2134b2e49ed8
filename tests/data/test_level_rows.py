"""Rows without the columns of long categories stand for the same matrix."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct.data import encoder as encoders
from sorct.data.encoder import TableEncoder
from sorct.data.given_columns import held
from sorct.data.level_rows import column_sums, same_rows, side_by_side, written_out
from sorct.data.options import TableOptions
from sorct.data.product import make_product
from sorct.data.samples import Rows, TrainingSet, row_keys
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.evaluation import GRADIENT, Evaluator, never
from sorct.search.subtrees import random_tree


def table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Numbers around two categories, of which one is long and has missing cells."""
    rng = np.random.default_rng(seed)
    levels = pd.Series([f"level {k}" for k in rng.integers(0, 80, n)], dtype=object)
    levels[rng.random(n) < 0.1] = None
    few = [f"few {k}" for k in rng.integers(0, 3, n)]
    x = {"a": rng.normal(size=n), "long": levels, "few": few, "b": rng.random(n)}
    return pd.DataFrame(x)


@pytest.fixture(scope="module")
def rows():
    X = table()
    options = TableOptions(categorical="whole", min_frequency=2)
    encoder = TableEncoder.learn(X, options)
    assert len(encoder.long_categories) == 1
    cells = encoder.columns(X).some_rows(slice(None))
    assert cells.width == 6
    return cells, encoder.encode(X).T


def test_it_stands_for_the_columns_written_out(rows):
    cells, dense = rows
    assert cells.shape == dense.shape
    np.testing.assert_array_equal(written_out(cells), dense)


def test_products_and_sums(rows):
    cells, dense = rows
    rng = np.random.default_rng(1)
    for weights in (rng.normal(size=len(dense)), rng.normal(size=(3, len(dense)))):
        np.testing.assert_allclose(weights @ cells, weights @ dense, atol=1e-12)
    weight = rng.random(dense.shape[1])
    for one, two in zip(
        column_sums(cells, weight), column_sums(dense, weight), strict=True
    ):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_some_rows_and_columns(rows):
    cells, dense = rows
    chosen = np.array([5, 0, 17, 17, 399])
    np.testing.assert_array_equal(written_out(cells[:, chosen]), dense[:, chosen])
    for columns in (np.array([0, 7, 30]), np.array([40, 41]), np.arange(3)):
        np.testing.assert_array_equal(written_out(cells[columns]), dense[columns])
    both = side_by_side([cells[:, :9], cells[:, 9:]])
    np.testing.assert_array_equal(written_out(both), dense)


def test_keys_and_equal_rows(rows):
    """So the same rows are drawn and merged, however they are held."""
    cells, dense = rows
    n = dense.shape[1]
    np.testing.assert_array_equal(row_keys(held(cells), n), row_keys(held(dense), n))
    other = np.roll(np.arange(n), 1)
    other[::2] = np.arange(n)[::2]
    np.testing.assert_array_equal(
        same_rows(cells, cells[:, other]), same_rows(dense, dense[:, other])
    )


@pytest.mark.parametrize("n_most", [400, 150])
def test_samples_are_the_same(rows, n_most):
    cells, dense = rows
    rng = np.random.default_rng(2)
    codes, weight = rng.integers(0, 3, dense.shape[1]), rng.random(dense.shape[1])
    sets = [TrainingSet.from_rows(Rows(X, codes, weight), 3) for X in rows]
    short, whole = (made.fewer(n_most) for made in sets)
    for name in ("share", "centre", "variance"):
        np.testing.assert_allclose(getattr(short, name), getattr(whole, name))
    for b in range(whole.samples.n_blocks):
        for one, two in zip(
            short.samples.block(b), whole.samples.block(b), strict=True
        ):
            np.testing.assert_array_equal(one, two)
    columns = np.array([0, 3, 50])
    some, all_cells = (made.some_columns(columns).rows.X for made in sets)
    np.testing.assert_array_equal(written_out(some), all_cells)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "log"},
        {"min_recall": 0.7},
        {"of_quantity": True, "loss": "squared", "leaf": "linear"},
    ],
    ids=["cost", "log", "floors", "linear leaves"],
)
def test_the_same_values_and_gradients(options, monkeypatch):
    X, rng = table(), np.random.default_rng(3)
    y = (X["a"] + rng.normal(size=400) > 0).astype(int)
    model = Model(2, table=TableOptions(categorical="whole"), **options)
    found = []
    for most in (8, 1000):
        monkeypatch.setattr(encoders, "LONG", most)
        problem = Prepared.of(X, y, None, model).problem
        params = random_tree(problem, np.random.default_rng(4))
        if problem.has_slopes:
            slopes = np.random.default_rng(5).normal(size=(len(params.coef), 4))
            params = replace(params, leaf_value=np.arange(4.0), leaf_coef=slopes)
        if problem.learns_leaves:
            proba = np.array([[0.1, 0.4, 0.6, 0.9], [0.9, 0.6, 0.4, 0.1]])
            params = replace(params, leaf_proba=proba)
        sub, point = problem.subproblem(), problem.point(params)
        samples = problem.data.samples
        evaluator = Evaluator(samples, sub, point, point, never())
        # Floors that bind have gradients of their own.
        evaluator.renewed[:] = 1.0 if "min_recall" in options else 0.0
        buffers = evaluator.buffers
        value = evaluator.ask(GRADIENT)
        found.append((value, buffers.gradient, buffers.second_gradient, samples.width))
    one, two = found
    assert one[3] < two[3]
    for mine, other in zip(one[:3], two[:3], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
    assert one[1].any()
    assert one[2].any() == ("min_recall" in options)


def test_predictions_of_long_categories(monkeypatch):
    """Also of levels never seen, by weights of levels or by columns written out."""
    X = table()
    new = X.head(50).copy()
    new.loc[::5, "long"] = "never seen"
    encoder = TableEncoder.learn(X, TableOptions(categorical="whole"))
    rng, sums = np.random.default_rng(6), []
    weights = rng.normal(size=(encoder.n_columns, 3))
    for most in (8, 1000):
        monkeypatch.setattr(encoders, "LONG", most)
        one = replace(encoder, unknown="other")
        product = make_product(one, weights, np.zeros(3), 1e3)
        sums.append(product(one.read(new), slice(2, 40)))
    np.testing.assert_allclose(*sums, atol=1e-12)
