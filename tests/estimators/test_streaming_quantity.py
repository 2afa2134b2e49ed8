"""A quantity in files and in Dask: the tree of the table in memory."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTRegressor, SORCTRegressorCV, sorct_path
from sorct.data.moments import Moments
from sorct.data.quantiles import exact_quantile
from sorct.data.quantity import Quantity
from sorct.data.sketch import NumberSketch
from sorct.estimators.streaming import Streamed, source_of
from tests.estimators.large_tables import small_limits  # noqa: F401

pytestmark = pytest.mark.usefixtures("small_limits")

EXACT = {
    "depth": 1, "alpha_local": 0.02, "n_starts": 3, "random_state": 0, "tol": 1e-8,
    "n_jobs": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def prices():
    """Numbers, a category, and a price far from 0."""
    rng, n = np.random.default_rng(0), 900
    X = pd.DataFrame(rng.uniform(size=(n, 3)).round(3), columns=list("abc"))
    X["zone"] = rng.choice(["east", "west"], n)
    y = 1e5 + 3000.0 * X.a + 2000.0 * (X.b > 0.5) + 500.0 * (X.zone == "east")
    return X, (y + 300.0 * rng.normal(size=n)).to_numpy()


@pytest.fixture
def files(prices, tmp_path):
    """The table in four files, in another order."""
    X, y = prices
    for k in range(4):
        X.assign(price=y).iloc[k::4].to_parquet(tmp_path / f"{k}.parquet")
    return str(tmp_path / "*.parquet")


KINDS = {
    "square": {"loss": "square"},
    "huber": {"loss": "huber"},
    "absolute": {"loss": "absolute"},
    "quantile": {"loss": "quantile", "quantile": 0.8},
    "one linear leaf": {"leaf": "linear", "depth": 0},
    "linear leaves": {"leaf": "linear"},
    "linear quantile": {"leaf": "linear", "loss": "quantile", "quantile": 0.2},
}


@pytest.mark.a_few(1)
@pytest.mark.parametrize("name", KINDS)
def test_files_give_the_tree_of_the_table_in_memory(prices, files, name):
    """The objective is equal to rounding, and so are predictions."""
    options = EXACT | KINDS[name]
    own = SORCTRegressor(**options).fit(*prices)
    streamed = SORCTRegressor(**options).fit(files, "price")
    assert streamed.objective_ == pytest.approx(own.objective_, abs=1e-9)
    assert streamed.n_passes_ > 2
    assert streamed.tree_.training.target == "price"
    X = prices[0]
    np.testing.assert_allclose(streamed.predict(X), own.predict(X), rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_parts_are_exact(rng, weighted):
    """However coarse the buckets are, and however often a pass has to be made."""
    y = np.append(rng.lognormal(0.0, 3.0, 500), rng.integers(-3, 3, 200))
    weight = rng.integers(1, 4, 700).astype(float) if weighted else None
    share = (np.ones(700) if weight is None else weight) / 700.0
    for level in (0.01, 0.5, 0.9):
        passes = []

        def sketched(question, passes=passes):
            passes.append(question)
            inside = (y >= question.lower) & (y <= question.upper)
            own = None if weight is None else weight[inside]
            return NumberSketch.of(y[inside], own, 8)

        found = exact_quantile(NumberSketch.of(y, weight, 8), level, sketched)
        exact = Quantity.learn(y, share, level).centre
        assert found == pytest.approx(exact, rel=1e-12)
        assert passes


@pytest.mark.slow
def test_dask_gives_the_tree_of_the_table_in_memory(prices):
    """Rows that lie in partitions of a cluster."""
    dd = pytest.importorskip("dask.dataframe")
    X, y = prices
    frame = dd.from_pandas(X.assign(price=y), npartitions=3)
    own = SORCTRegressor(**EXACT).fit(X, y)
    there = SORCTRegressor(**EXACT).fit(frame.drop(columns="price"), frame["price"])
    assert there.objective_ == pytest.approx(own.objective_, abs=1e-9)


@pytest.mark.slow
def test_paths_of_files_are_those_of_the_table(prices, files):
    """Every point has the objective that it has in memory."""
    options = {
        "loss": "square", "depth": 1, "alphas_local": [0.05, 0.5], "n_solutions": 2,
        "relax": False, "random_state": 0, "tol": 1e-8,
    }  # fmt: skip
    own = sorct_path(*prices, **options)
    streamed = sorct_path(files, "price", **options)
    for one, other in zip(own.trees, streamed.trees, strict=True):
        there = pytest.approx(one.training.objective, abs=1e-9)
        assert other.training.objective == there


def test_rows_of_a_search_are_those_of_the_table_in_memory(prices, files):
    """Drawn by their keys, whatever parts they come in; equal responses stay apart."""
    from sorct.estimators.fitting import Model, Prepared

    model = Model(1, loss="square", of_quantity=True)
    X = prices[0].drop(columns="zone").round(1)
    own = Prepared.of(X, prices[1], None, model).problem.data.rows
    import pyarrow.dataset

    frame = X.assign(price=prices[1]).sample(frac=1.0, random_state=0)
    table = pyarrow.dataset.dataset(pyarrow.Table.from_pandas(frame))
    source = source_of(table, "price", None)
    drawn = Streamed.of(source, model).prepared.problem.data.rows
    np.testing.assert_array_equal(drawn.X, own.X)
    np.testing.assert_allclose(drawn.response, own.response, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group_bounds": 1.0}, "group_bounds needs .* got one that comes in batches"),
    ],
)
def test_what_batches_cannot_have_is_refused(files, options, words):
    """Before anything is read."""
    with pytest.raises(ValueError, match=words):
        SORCTRegressor(**options).fit(files, "price")
    with pytest.raises(ValueError, match=words):
        SORCTRegressorCV(**options).fit(files, "price", groups="city")
    with pytest.raises(ValueError, match=words):
        sorct_path(files, "price", loss="square", groups="city", **options)
    with pytest.raises(ValueError, match=words):
        sorct_path("no such file.csv", "price", loss="square", **options)


def test_a_search_by_folds_chooses_on_some_rows_and_trains_on_all(prices, files):
    """The objective is that of the same settings in memory, on all rows."""
    asked = {"depths": [1], "leaf": "constant", "mixed": 0.1, "link": "identity"}
    asked |= {"scaling": "minmax", "categorical": "whole", "alphas_local": [0.05]}
    search = SORCTRegressorCV(**asked, cv=2, relax=False, n_solutions=2, random_state=0)
    search.fit(files, "price")
    told = search.tree_.training
    assert told.target == "price"
    assert told.n_samples == len(prices[1])
    assert told.cv_score is not None
    own = SORCTRegressor(1, 0.05, n_starts=3, random_state=0).fit(*prices)
    assert told.objective == pytest.approx(own.objective_, rel=1e-6)


def test_moments_of_parts_are_those_of_all(rng):
    """Mean and spread by exact sums, of numbers far from 0 and any weights."""
    y, weight = 1e6 + rng.normal(size=1000), rng.uniform(0.1, 2.0, 1000)
    parts = np.array_split(np.arange(1000), 7)
    first, *others = [Moments.of(y[rows], weight[rows]) for rows in parts]
    found = sum(others, first).quantity()
    exact = Quantity.learn(y, weight)
    assert found.centre == pytest.approx(exact.centre, rel=1e-15)
    assert found.spread == pytest.approx(exact.spread, rel=1e-9)
    assert (found.low, found.high) == (exact.low, exact.high)
    assert Moments.of(np.full(3, 2.0), np.ones(3)).quantity() == Quantity(2, 1, 2, 2)


def test_time_that_is_up_before_bounds_are_met_is_told(rng):
    """``time_limit`` ends the rounds that bring a tree within its bounds."""
    X, groups = rng.uniform(size=(200, 2)), np.arange(200) % 2
    y = X[:, 0] + 5.0 * groups
    tree = SORCTRegressor(
        depth=1, alpha_local=0.1, n_starts=1, random_state=0, time_limit=1e-9,
        group_bounds=0.001,
    )  # fmt: skip
    with pytest.raises(ValueError, match="could not be met before time_limit"):
        tree.fit(X, y, groups=groups)


def test_numbers_of_csv_files_beyond_whole_ones_stay_as_they_are(rng, tmp_path):
    """Whole numbers of more than 53 bits are no numbers of 64 bits."""
    X = pd.DataFrame({"a": rng.normal(0.0, 1.0, 200)})
    X["y"] = np.round(X["a"]) * 1e20
    X.to_csv(tmp_path / "t.csv", index=False)
    model = SORCTRegressor(1, 0.01, n_starts=1, random_state=0)
    found = model.fit(tmp_path / "t.csv", "y").predict(X[["a"]])
    np.testing.assert_allclose(found, model.fit(X[["a"]], X["y"]).predict(X[["a"]]))
