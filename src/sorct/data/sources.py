"""Sources: tables that come in batches, because they are too large to hold.

A source hands its batches to a task and gives back what the task says, in a fixed
order: files of Parquet or CSV, or a pyarrow Dataset, are read anew for every pass;
frames and arrays of Dask (``dask_source.py``) are worked on where they lie. Rows whose
weight is 0 are left out.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d

from sorct._typing import AnyArray, FloatArray
from sorct.data.file_batches import batches_of
from sorct.data.file_schema import own_columns, schema_of_all
from sorct.data.in_order import in_order
from sorct.data.table import as_table, take_rows
from sorct.data.target import plain_labels
from sorct.data.wording import listed, not_there, shown

Found = TypeVar("Found")

#: Rows of a batch, at most, and cells: wide tables have fewer rows in a batch.
BATCH_ROWS, _BATCH_CELLS, _FEWEST_ROWS = 65_536, 2**22, 256
_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".gz": "csv",
    ".feather": "feather", ".arrow": "feather",
}  # fmt: skip
# Whole numbers below this are exact as floats and fit into 64 bits.
_EXACT = 2.0**53
# Bytes of a CSV file that tell the types of its columns.
_LOOKED_AT = 1 << 24


def rows_of_batch(n_columns: int) -> int:
    """Rows of a batch of a table with so many columns, at most."""
    fit = max(_BATCH_CELLS // max(n_columns, 1), _FEWEST_ROWS)
    return min(fit, BATCH_ROWS)


class Batch(NamedTuple):
    """Some rows of a table: variables, labels, and weights > 0 if there are any.

    ``place`` is the same in every pass and tells where in the table the rows are: the
    number of a part, and rows of that part before these.
    """

    X: Any
    y: AnyArray
    weight: FloatArray | None
    place: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any = None, part: int = 0) -> Batch:
        """Check some rows; messages are those of a whole table."""
        if hasattr(y, "isna") and y.isna().any():
            raise ValueError(
                "Input y contains NaN: the target has missing cells. Fill them in, or "
                "leave these rows out."
            )
        X, y = as_table(X), column_or_1d(y)
        if len(X) != len(y):
            raise ValueError(
                f"Expected as many labels as rows in every part, got {len(y)} labels "
                f"for {len(X)} rows."
            )
        assert_all_finite(y, input_name="y")
        y = plain_labels(np.asarray(y))
        place = part, 0
        if weight is None:
            return cls(X, y, None, place)
        weight = np.asarray(column_or_1d(weight), dtype=np.float64)
        if not np.isfinite(weight).all() or (weight < 0.0).any():
            raise ValueError("sample_weight must be finite and >= 0.")
        kept = np.flatnonzero(weight > 0.0)
        if kept.size < weight.size:
            return cls(take_rows(X, kept), y[kept], weight[kept], place)
        return cls(X, y, weight, place)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def weights(self) -> FloatArray:
        """Weight of every row."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def split(self) -> Iterator[Batch]:
        """The same rows in batches that are not too large."""
        most = rows_of_batch(self.X.shape[1])
        for first in range(0, self.n_rows, most):
            rows = slice(first, first + most)
            own = None if self.weight is None else self.weight[rows]
            place = self.place[0], self.place[1] + first
            yield Batch(take_rows(self.X, rows), self.y[rows], own, place)


class Source(Protocol):
    """A table that comes in batches.

    Attributes
    ----------
    target : str or None
        Name of the column that is predicted, if it was named.
    identity : dict
        Plain data by which the same table is known again.
    """

    target: str | None

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this table from another."""

    def gather(self, task: Callable[[Batch], Found]) -> Iterator[Found]:
        """What a task says of every part, in a fixed order.

        What it says of two batches must add up: one result may stand for several. None
        counts for nothing.
        """


class FileSource:
    """Files of Parquet, CSV or Feather, or a pyarrow Dataset.

    Parameters
    ----------
    given : path, glob, folder, list of paths, or pyarrow Dataset
    target : str
        Column that is predicted.
    weight : str or None
        Column of weights.
    """

    def __init__(self, given: Any, target: Any, weight: Any = None) -> None:
        if not isinstance(target, str):
            raise TypeError(
                "Where X names files, y must be the name of the target column, got "
                f"{shown(target)}."
            )
        if weight is not None and not isinstance(weight, str):
            raise TypeError(
                "Where X names files, sample_weight must be the name of a column or "
                f"None, got {shown(weight)}."
            )
        self.target: str | None = target
        self._weight = weight
        self._dataset = dataset_of(given)
        self._names = column_names(self._dataset)
        kind = getattr(self._dataset, "format", None)
        self._of_csv = getattr(kind, "default_extname", "") == "csv"
        double = sorted({name for name in self._names if self._names.count(name) > 1})
        if double:
            raise ValueError(
                f"Expected distinct column names, got twice: {listed(double)}."
            )
        for name in (target, weight):
            if name is not None and name not in self._names:
                raise ValueError(not_there("column", name, self._names, "the files"))
        if len(self._names) < 2 + (weight is not None):
            raise ValueError("Expected columns beside the target, got none.")

    @property
    def identity(self) -> dict[str, Any]:
        """Files with their sizes and times, and the roles of columns."""
        files = [
            [name, os.path.getsize(name), os.stat(name).st_mtime_ns]
            for name in getattr(self._dataset, "files", [])
            if os.path.exists(name)
        ]
        if not files or _is_filtered(self._dataset):
            raise ValueError(
                "checkpoint needs whole files on this machine, by whose sizes and "
                "times a table is known again, got a dataset that is filtered or lies "
                "elsewhere. Write its rows to files first, or leave checkpoint out."
            )
        roles = [self.target, self._weight]
        return {"files": files, "roles": roles, "columns": self._names}

    def gather(self, task: Callable[[Batch], Found]) -> Iterator[Found]:
        """One result per batch; all cores work."""
        most = rows_of_batch(len(self._names))
        found = in_order(
            lambda numbered: task(self._batch(*numbered)),
            enumerate(batches_of(self._dataset, self._names, most)),
            os.cpu_count() or 1,
        )
        return (one for one in found if one is not None)

    def _batch(self, number: int, table: Any) -> Batch:
        frame = to_pandas(table)
        taken = [name for name in (self.target, self._weight) if name is not None]
        weight = None if self._weight is None else frame[self._weight].to_numpy()
        y = frame[self.target]
        if self._of_csv and y.dtype.kind == "f" and _are_whole(y):
            # Whole numbers of CSV files are read as floats; classes are as written.
            y = y.astype(np.int64)
        return Batch.of(frame.drop(columns=taken), y, weight, number)


def _are_whole(numbers: Any) -> bool:
    """Whether floats are whole numbers that are exact in 64 bits."""
    return bool(((numbers % 1.0 == 0.0) & (abs(numbers) < _EXACT)).all())


def _pyarrow() -> Any:
    try:
        import pyarrow.dataset
    except ImportError as error:
        raise ImportError(
            "Files that stream are read by pyarrow: pip install 'sorct[parquet]'."
        ) from error
    return pyarrow.dataset


def names_files(X: Any) -> bool:
    """Whether X is a path, a glob, a list of paths or a Dataset of pyarrow."""
    if isinstance(X, (str, os.PathLike)):
        return True
    if isinstance(X, list) and X:
        return all(
            isinstance(one, (str, os.PathLike)) and Path(one).suffix.lower() in _FORMATS
            for one in X
        )
    return (
        type(X).__module__.startswith("pyarrow")
        and hasattr(X, "to_batches")
        and (hasattr(X, "scanner"))
    )


def dataset_of(given: Any) -> Any:
    """Dataset of a path, a glob, a folder or a list of paths; or as it is."""
    dataset = _pyarrow()
    if hasattr(given, "scanner"):
        return given
    if isinstance(given, (str, os.PathLike)):
        paths = _found(os.fspath(given))
    else:
        paths = [path for one in given for path in _found(os.fspath(one))]
    kinds = {_FORMATS.get(Path(path).suffix.lower()) for path in paths}
    if len(kinds) != 1 or None in kinds:
        raise ValueError(
            "Expected files of one kind, .parquet, .csv or .feather, got "
            f"{listed(paths[:5])}."
        )
    kind = kinds.pop()
    if kind != "csv":
        schema = schema_of_all(dataset.dataset(paths, format=kind))
        return dataset.dataset(paths, format=kind, schema=schema)
    return _csv(dataset, paths)


def _found(path: str) -> list[str]:
    """Files that a path, a glob or a folder means, in order."""
    if os.path.isdir(path):
        inside = sorted(
            glob.glob(os.path.join(glob.escape(path), "**"), recursive=True)
        )
        files = [one for one in inside if Path(one).suffix.lower() in _FORMATS]
    else:
        files = [path] if os.path.exists(path) else sorted(glob.glob(path))
    if not files:
        raise FileNotFoundError(
            f"No file {path!r}; expected a path, a folder or a glob of .parquet, .csv "
            "or .feather files."
        )
    return files


def _csv(dataset: Any, paths: list[str]) -> Any:
    """CSV files; whole numbers are read as floats, as later rows may have decimals."""
    import pyarrow as pa
    from pyarrow import csv

    kind = dataset.CsvFileFormat(
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
        read_options=csv.ReadOptions(block_size=_LOOKED_AT),
    )
    seen = schema_of_all(dataset.dataset(paths, format=kind))
    fields = [
        pa.field(one.name, pa.float64()) if pa.types.is_integer(one.type) else one
        for one in seen
    ]
    fields = [
        pa.field(one.name, pa.string()) if pa.types.is_null(one.type) else one
        for one in fields
    ]
    return dataset.dataset(paths, format=kind, schema=pa.schema(fields))


def column_names(dataset: Any) -> list[str]:
    """Columns of a dataset, without those that only number the rows of a frame."""
    return own_columns(dataset.schema)


def to_pandas(batch: Any) -> Any:
    """A record batch as a frame; decimals as numbers, dates as dates."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    for place, one in enumerate(table.schema):
        if pa.types.is_decimal(one.type):
            column = table.column(place).cast(pa.float64())
            table = table.set_column(place, one.name, column)
    return table.to_pandas(date_as_object=False, ignore_metadata=True)


def _is_filtered(dataset: Any) -> bool:
    """Whether only some rows of a dataset's files belong to it."""
    try:
        next(iter(dataset.get_fragments()), None)
    except ValueError:
        # Fragments are whole: a dataset with a filter has none to give.
        return True
    return False
