"""Streaming: predictions from one Parquet file to another, in memory of constant size.

Rows are read, predicted and written some ten thousand at a time; the file asked for
appears when all is written.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sorct.cli.files import Output
from sorct.cli.messages import WorkError
from sorct.cli.model_rows import rows_for
from sorct.cli.tables import is_parquet
from sorct.data.in_order import in_order
from sorct.data.sheet import ReadingError, ReadOptions, Sheet, check_distinct
from sorct.tree.files import replacing
from sorct.tree.forest import Forest
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

# Rows that are read at a time.
_BATCH_ROWS = 65_536

#: Predictions for the variables of a tree, as columns of a frame.
Predict = Callable[["pd.DataFrame"], "pd.DataFrame"]


def streams(args: Namespace, out: Output) -> bool:
    """Whether rows can go from file to file: Parquet on both sides."""
    to_file = out.path is not None and (out.path.is_file() or not out.path.exists())
    return to_file and is_parquet(args.rows) and is_parquet(args.out)


class ParquetRows:
    """A Parquet file, of which some rows are held at a time."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        from pyarrow import parquet

        self.name, self._options = name, options
        try:
            self._file = parquet.ParquetFile(name)
        except OSError:
            raise
        except Exception as error:
            # The reader raises errors of many kinds for a damaged file.
            raise ReadingError(f"{name} is not a Parquet table: {error}") from error
        self.n_rows = self._file.metadata.num_rows
        self.head = self._sheet(self._file.schema_arrow.empty_table())
        check_distinct(name, list(self.head.columns))
        if not self.head.columns or self.n_rows == 0:
            raise ReadingError(
                f"{name} has {self.n_rows} rows and {len(self.head.columns)} columns."
            )

    def _sheet(self, table: Any) -> Sheet:
        frame = table.to_pandas().rename(columns=str).reset_index(drop=True)
        return Sheet(self.name, frame, self._options)

    def batches(self, only: list[str] | None) -> Iterator[tuple[int, Any, Sheet]]:
        """Number of the first row, some rows, and the same as a sheet."""
        import pyarrow as pa

        first = 0
        for batch in self._file.iter_batches(batch_size=_BATCH_ROWS, columns=only):
            table = pa.Table.from_batches([batch])
            yield first, table, self._sheet(table)
            first += table.num_rows


def predict_streaming(
    rows: ParquetRows, tree: Tree | Forest, predict: Predict, out: Output, *, keep: bool
) -> None:
    """Write the predictions of all rows, beside the columns given if they are kept."""
    from pyarrow import parquet

    assert out.path is not None  # see ``streams``
    needed = [name for name in rows.head.columns if name in tree.variables_used]

    def work(part: tuple[int, Any, Sheet]) -> Any:
        first, table, sheet = part
        try:
            found = predict(rows_for(sheet, tree))
        except ReadingError as error:
            told = f"Of rows {first + 1} to {first + table.num_rows}: {error}"
            raise WorkError(told) from error
        return _written(table if keep else None, found)

    parts = rows.batches(None if keep else needed or None)
    writer = None
    with replacing(out.path) as partial:
        try:
            for table in in_order(work, parts, os.cpu_count() or 1):
                if writer is None:
                    writer = parquet.ParquetWriter(partial, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


def _written(given: Any, found: pd.DataFrame) -> Any:
    """Predictions as a table of pyarrow, with the columns given in front."""
    import pyarrow as pa

    table = pa.Table.from_pandas(found, preserve_index=False).replace_schema_metadata()
    if given is None:
        return table
    beside = given.replace_schema_metadata()
    for name in table.column_names:
        beside = beside.append_column(name, table.column(name))
    return beside
