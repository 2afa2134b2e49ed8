"""Exports of forests: large ones, and what is refused. The rest is as for trees.

``exported_trees.py`` has forests beside trees, so every test of an export has them too.
"""

from dataclasses import replace

import numpy as np
import pytest
from sorct.export import to_javascript, to_onnx, to_python, to_sql

from sorct import SORCTForestClassifier
from tests.show.export.databases import run_in_duckdb, run_in_sqlite
from tests.show.export.exported_trees import (
    MAKERS,
    assert_same,
    curves,
    forest,
    iris,
    rows_of,
)
from tests.show.export.test_python import function_of
from tests.show.export.test_sql import assert_rows_agree, score


@pytest.mark.slow
def test_a_large_forest_is_nested_no_deeper_than_programs_allow(rng):
    """SQLite takes expressions of depth 1000, Python some thousand."""
    large, X = forest(iris(1), 701)(rng)
    rows = score(run_in_sqlite, large, X)
    assert_rows_agree(large, X, rows)
    predict = function_of(to_python(large))
    labels, proba = zip(*map(predict, rows_of(X[:3])), strict=True)
    assert_same(large, X[:3], labels, [list(one.values()) for one in proba])


@pytest.mark.slow
def test_a_forest_of_thousands_is_a_python_module(rng):
    large, _ = forest(iris(1), 600)(rng)
    more = replace(large, trees=large.trees * 8, weights=np.full(4800, 1 / 4800))
    assert function_of(to_python(more))


@pytest.mark.slow
def test_a_large_forest_in_duckdb(rng):
    large, X = forest(iris(1), 200)(rng)
    assert_rows_agree(large, X, score(run_in_duckdb, large, X))


@pytest.mark.slow
def test_more_columns_than_databases_take_are_refused(rng):
    large, _ = forest(iris(1), 800)(rng)
    with pytest.raises(ValueError, match="at most 700 cuts for SQL, got 799"):
        to_sql(large)


@pytest.mark.parametrize("export", [to_sql, to_onnx, to_python, to_javascript])
def test_what_cannot_be_written_is_refused(rng, export):
    """Trees with calibrations of their own, and estimators."""
    if export is to_onnx:
        pytest.importorskip("onnx")
    found, _ = MAKERS["forest-iris"](rng)
    trees = tuple(curves(rng, tree) for tree in found.trees)
    with pytest.raises(ValueError, match="calibrated one by one"):
        export(replace(found, trees=trees))
    model = SORCTForestClassifier()
    model.forest_ = found
    with pytest.raises(TypeError, match="pass its forest_"):
        export(model)


def test_texts_say_that_it_is_a_forest(rng):
    found, _ = MAKERS["forest-iris"](rng)
    for text in (to_sql(found), to_python(found), to_javascript(found)):
        assert "classification forest as" in text.splitlines()[0]
    spark = to_sql(found, dialect="spark")
    assert "classification forest as SQL for Spark" in spark.splitlines()[0]
    assert "MATERIALIZED" not in spark
    assert '"' not in spark
