"""Frames of other libraries, labelled costs and masks mean what they say."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sorct.export import to_onnx

from sorct import SORCTClassifier
from sorct.data.categorical import Ordered
from sorct.solvers.descent import _descend

COSTS = pd.DataFrame(
    [[0.0, 0.1, 0.2], [0.3, 0.0, 0.4], [0.5, 0.6, 0.0]],
    index=["setosa", "versicolor", "virginica"],
    columns=["setosa", "versicolor", "virginica"],
)


def quick(**options):
    """Classifier that takes no time."""
    return SORCTClassifier(n_starts=2, random_state=0, **options)


def test_columns_of_polars_and_pyarrow_are_read_by_name(iris):
    """In any order, whatever library holds them."""
    X, y = iris
    frame = pl.DataFrame({name: X[name].to_numpy() for name in X})
    clf, other = quick(alpha_local=0.2).fit(X, y), quick(alpha_local=0.2).fit(frame, y)
    np.testing.assert_array_equal(clf.coef_, other.coef_)
    assert other.feature_names_in_.tolist() == list(X.columns)
    turned = frame.select(frame.columns[::-1])
    for table in (turned, turned.to_arrow()):
        assert (clf.tree_.predict(table) == clf.predict(X)).all()
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame.rename({frame.columns[0]: "another"}))


@pytest.mark.parametrize("ordered", [False, True])
def test_dictionaries_of_pyarrow_keep_their_order(ordered):
    """As ordered categories of pandas do."""
    pyarrow = pytest.importorskip("pyarrow")
    levels = np.resize(["low", "mid", "high"], 60)
    column = pd.Categorical(levels, ["low", "mid", "high"], ordered=ordered)
    X, y = pd.DataFrame({"level": column}), (levels == "high").astype(int)
    tree = quick().fit(pyarrow.Table.from_pandas(X), y).tree_
    assert tree.encoder == quick().fit(X, y).tree_.encoder
    assert isinstance(tree.encoder.variables[0], Ordered) is ordered


def test_labelled_costs_are_aligned_with_the_classes(iris):
    """Rows and columns in any order; labels that do not match are refused."""
    X, y = iris
    turned = COSTS.loc[["virginica", "setosa", "versicolor"], COSTS.columns[::-1]]
    for costs in (COSTS, turned, COSTS.to_numpy()):
        tree = quick(cost_matrix=costs).fit(X, y).tree_
        np.testing.assert_array_equal(tree.cost_matrix, COSTS.to_numpy())
    assert len(_descend.signatures) == 1, "no layout of costs is compiled for itself"
    with pytest.raises(ValueError, match="rows labelled with the classes"):
        quick(cost_matrix=COSTS.rename(index={"setosa": "rose"})).fit(X, y)


def test_costs_in_a_frame_without_row_labels_have_them_in_the_first_column(iris):
    """A polars frame has none; without them, an order of rows would be guessed."""
    X, y = iris
    turned = COSTS.loc[["virginica", "setosa", "versicolor"], COSTS.columns[::-1]]
    bare = pl.DataFrame({name: turned[name].to_numpy() for name in turned})
    costs = bare.insert_column(0, pl.Series("true", list(turned.index)))
    tree = quick(cost_matrix=costs).fit(X, y).tree_
    np.testing.assert_array_equal(tree.cost_matrix, COSTS.to_numpy())
    with pytest.raises(ValueError, match="labels of its rows, the true classes"):
        quick(cost_matrix=costs.drop("true")).fit(X, y)


@pytest.mark.parametrize("where", ["X", "y", "sample_weight"])
def test_masked_cells_are_missing(clouds, where):
    """They are missing values, which y and weights may not have."""
    X, y = clouds
    given = {"X": X, "y": y, "sample_weight": np.ones(len(y))}
    given[where] = np.ma.masked_array(given[where], mask=np.zeros(given[where].shape))
    quick().fit(**given)
    given[where].mask.flat[0] = True
    if where == "X":
        # Only there may cells be missing.
        assert np.isfinite(quick().fit(**given).predict_proba(given["X"])).all()
        return
    with pytest.raises(ValueError, match=f"{where} has masked cells"):
        quick().fit(**given)


def test_onnx_tells_missing_cells_from_new_levels(rng):
    """NaN gives NaN, a new level counts as the first."""
    onnxruntime = pytest.importorskip("onnxruntime")
    X = pd.DataFrame({"f": pd.Categorical(np.resize([0.5, 2.5, 7.0], 60))})
    y = np.where(X["f"].astype(float) > 1.0, "p", "q")
    tree = quick(alpha_local=0.1, handle_unknown="first_level").fit(X, y).tree_
    model = to_onnx(tree, dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    proba = session.run(None, {"f": np.array([[0.5], [np.nan], [9.0]])})[1]
    assert np.isnan(proba[1]).all()
    np.testing.assert_allclose(proba[2], proba[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["date32[day]", "timestamp[ns]", "timestamp[us]"])
def test_dates_of_arrow_in_a_frame_of_pandas_are_dates(kind):
    """As ``read_parquet(dtype_backend="pyarrow")`` gives them, with a missing one."""
    pytest.importorskip("pyarrow")
    days = pd.Series(pd.date_range("2020-01-01", periods=60))
    days[7] = None
    y = (days > "2020-02-01").astype(int)
    turned = days.astype("timestamp[ns][pyarrow]").astype(f"{kind}[pyarrow]")
    X = pd.DataFrame({"day": turned})
    tree = quick().fit(X, y).tree_
    assert tree.encoder == quick().fit(pd.DataFrame({"day": days}), y).tree_.encoder
    assert (tree.predict(X) == y).mean() > 0.9
