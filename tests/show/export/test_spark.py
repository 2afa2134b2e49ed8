"""Spark SQL: the query of other databases in Spark's words, checked in Spark itself."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, export
from sorct.show.export.sql_spark import spark_text


@pytest.fixture(scope="module")
def table():
    """Columns of every kind under names that need quotes."""
    rng, n = np.random.default_rng(0), 200
    return pd.DataFrame(
        {
            'a"b c': rng.normal(size=n),
            "te'xt": rng.choice(["u\\", "v'", "w"], n),
            "truth": rng.random(n) < 0.4,
            "day": pd.Timestamp("2020-05-01")
            + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        }
    )


@pytest.fixture(scope="module")
def fitted(table):
    """A tree that reads all of them."""
    late = table["day"] > pd.Timestamp("2020-12-01")
    score = table['a"b c'] + (table["te'xt"] == "u\\") + table["truth"] + late
    y = np.where(score + table["gaps"].fillna(0.5) > 1.5, "it's", "no")
    return SORCTClassifier(2, n_starts=1, tol=0.1, random_state=0).fit(table, y)


def test_words_are_those_of_spark_and_texts_stay():
    """What stands in quotes or in a comment is no word."""
    query = (
        '-- AS VARCHAR "x"\nWITH s AS MATERIALIZED (SELECT CAST("a""b`" AS '
        "DOUBLE PRECISION), 'DOUBLE PRECISION it''s \\' FROM \"t\") SELECT 1"
    )
    assert spark_text(query) == (
        '-- AS VARCHAR "x"\nWITH s AS (SELECT CAST(`a"b``` AS DOUBLE), '
        "'DOUBLE PRECISION it\\'s \\\\' FROM `t`) SELECT 1"
    )


def test_an_unknown_dialect_is_refused(fitted):
    """With those that are known."""
    with pytest.raises(ValueError, match="standard"):
        export.to_sql(fitted.tree_, dialect="oracle")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_predicts_what_the_tree_predicts(table, fitted):
    """By the query, and by mapInArrow as the documentation has it."""
    pyspark = pytest.importorskip("pyspark")
    pa = pytest.importorskip("pyarrow")
    builder = pyspark.sql.SparkSession.builder.master("local[1]")
    builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        frame = spark.createDataFrame(table)
        frame.createOrReplaceTempView("rows")
        query = export.to_sql(fitted.tree_, table="rows", dialect="spark")
        found = spark.sql(query).toPandas()
        expected = fitted.predict(table)
        assert found["predicted_class"].tolist() == expected.tolist()
        proba = found[["proba_0", "proba_1"]].to_numpy(dtype=float)
        np.testing.assert_allclose(proba, fitted.predict_proba(table), atol=1e-12)
        tree = fitted.tree_

        def predict(batches):
            for batch in batches:
                classes = tree.predict(batch.to_pandas())
                yield pa.RecordBatch.from_pydict({"y": classes.astype(str)})

        mapped = frame.mapInArrow(predict, "y string").toPandas()
        assert mapped["y"].tolist() == expected.tolist()
    finally:
        spark.stop()
