"""Batches of files: rows of a pyarrow Dataset, a few at a time.

The scanner of a Dataset reads on while its rows are being worked on, up to a gigabyte
ahead. So files are read one after another by the reader of their format, which reads
when it is asked to: what is held does not depend on how many rows there are. Only what
no such reader knows (a Dataset with a filter, files whose columns differ from those of
the whole) goes through the scanner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Bytes of a column of a Parquet file, and of a CSV file, that are read at a time.
_COLUMN_BYTES, _CSV_BYTES = 1 << 18, 1 << 22


def batches_of(dataset: Any, columns: list[str], most: int) -> Iterator[Any]:
    """Record batches of some columns with at most so many rows, in a fixed order."""
    for batch in _all_batches(dataset, columns, most):
        for first in range(0, batch.num_rows, most):
            yield batch.slice(first, most)


def _all_batches(dataset: Any, columns: list[str], most: int) -> Iterator[Any]:
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        # A Dataset with a filter does not tell of its files.
        yield from _scanned(dataset, columns, most)
        return
    for fragment in fragments:
        kind = getattr(getattr(fragment, "format", None), "default_extname", "")
        reader = {"parquet": _parquet, "csv": _csv}.get(kind)
        if reader is not None and getattr(fragment, "path", None):
            yield from reader(dataset, fragment, columns, most)
        else:
            yield from _scanned(fragment, columns, most, schema=dataset.schema)


def _scanned(
    given: Any, columns: list[str], most: int, **options: Any
) -> Iterator[Any]:
    """Batches by the scanner of pyarrow, which reads as little ahead as it can."""
    return iter(
        given.to_batches(
            columns=columns,
            batch_size=most,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
            **options,
        )
    )


def _parquet(
    dataset: Any, fragment: Any, columns: list[str], most: int
) -> Iterator[Any]:
    """Batches of a Parquet file, or of some groups of its rows."""
    from pyarrow import parquet

    same = [name in fragment.physical_schema.names for name in columns]
    if not all(same) or any(
        fragment.physical_schema.field(name).type != dataset.schema.field(name).type
        for name in columns
    ):
        yield from _scanned(fragment, columns, most, schema=dataset.schema)
        return
    groups = [group.id for group in fragment.row_groups]
    with (
        fragment.filesystem.open_input_file(fragment.path) as opened,
        parquet.ParquetFile(
            opened, buffer_size=_COLUMN_BYTES, pre_buffer=False
        ) as file,
    ):
        for batch in file.iter_batches(most, groups, columns, use_threads=False):
            yield batch.select(columns)


def _csv(dataset: Any, fragment: Any, columns: list[str], most: int) -> Iterator[Any]:
    """Batches of a CSV file, of the types that the whole Dataset has."""
    from pyarrow import ArrowInvalid, csv

    kind = fragment.format
    options = kind.default_fragment_scan_options
    convert, read = options.convert_options, options.read_options
    convert.column_types = {name: dataset.schema.field(name).type for name in columns}
    convert.include_columns = columns
    convert.include_missing_columns = True
    read.block_size = _CSV_BYTES
    try:
        with (
            fragment.filesystem.open_input_stream(fragment.path) as opened,
            csv.open_csv(opened, read, kind.parse_options, convert) as batches,
        ):
            yield from batches
    except ArrowInvalid as error:
        raise ValueError(f"File {fragment.path!r} cannot be read: {error}") from error
