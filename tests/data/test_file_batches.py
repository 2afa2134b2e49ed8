"""Batches of files: all rows once, in order, whatever kind of files they are in."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from sorct.data.file_batches import batches_of
from sorct.data.sources import dataset_of, rows_of_batch

N = 1000


@pytest.fixture(scope="module")
def frame():
    """Numbers, gaps, text and a category."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": np.where(rng.random(N) < 0.2, np.nan, 1.5),
            "word": rng.choice(["u", "v"], N),
            "kind": pd.Categorical(rng.choice(["x", "y", "z"], N)),
        }
    )


def plain_parquet(frame, folder):
    """Two files with several groups of rows each."""
    frame[:600].to_parquet(folder / "0.parquet", row_group_size=170)
    frame[600:].to_parquet(folder / "1.parquet", row_group_size=170)
    return dataset_of(str(folder / "*.parquet"))


def uneven_parquet(frame, folder):
    """The second file has its columns in another order, and one of another type."""
    frame[:600].to_parquet(folder / "0.parquet")
    narrow = frame[600:].assign(a=frame["a"][600:].astype(np.float32))
    narrow[["word", "b", "kind", "a"]].to_parquet(folder / "1.parquet")
    return dataset_of(str(folder / "*.parquet"))


def folders(frame, folder):
    """The folders say what is in a column."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    hive = ds.partitioning(pa.schema([("word", pa.string())]), flavor="hive")
    ds.write_dataset(table, folder, format="parquet", partitioning=hive)
    return ds.dataset(folder, format="parquet", partitioning=hive)


def filtered(frame, folder):
    """A Dataset with a filter that all rows pass does not tell of its files."""
    return plain_parquet(frame, folder).filter(ds.field("a") > -1e9)


def csv_files(frame, folder):
    """Packed and plain text."""
    frame[:600].to_csv(folder / "0.csv", index=False)
    frame[600:].to_csv(folder / "1.csv.gz", index=False)
    return dataset_of([folder / "0.csv", folder / "1.csv.gz"])


def feather(frame, folder):
    """Files of Arrow."""
    frame.to_feather(folder / "0.feather")
    return dataset_of(folder / "0.feather")


def in_memory(frame, folder):
    """A Dataset of a table, without any files."""
    return ds.dataset(pa.Table.from_pandas(frame, preserve_index=False))


@pytest.mark.every_value
@pytest.mark.parametrize("most", [64, 1024])
@pytest.mark.parametrize(
    "write",
    [plain_parquet, uneven_parquet, folders, filtered, csv_files, feather, in_memory],
)
def test_all_rows_come_once_and_in_order(frame, tmp_path, write, most):
    """In batches of at most so many rows, with the columns asked for."""
    dataset = write(frame, tmp_path)
    columns = ["kind", "a", "word", "b"]
    batches = list(batches_of(dataset, columns, most))
    assert max(batch.num_rows for batch in batches) <= most
    found = pa.Table.from_batches(batches).to_pandas()
    expected = frame[columns]
    if write is folders:
        # Folders come one after another.
        expected = expected.sort_values("word", kind="stable", ignore_index=True)
    assert list(found.columns) == columns
    for name in columns:
        own, other = found[name], expected[name]
        if own.dtype.kind == "f":
            np.testing.assert_allclose(own, other, rtol=1e-6)
        else:
            assert own.astype(str).tolist() == other.astype(str).tolist()


def test_wide_tables_come_in_batches_of_fewer_rows():
    """Cells of a batch are bounded, and so are its rows."""
    assert rows_of_batch(20) == 65_536
    assert 5000 * rows_of_batch(5000) <= 2**22
    assert rows_of_batch(10**9) == 256
