"""Tables: CSV and Parquet files in and out, with one clear line for each that is bad.

Files become pandas frames here, and nothing else does; what the columns mean is left to
``data.py``. Rows are counted from 1 and the header is not counted, as in all messages.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sorct.cli.messages import WorkError, note
from sorct.data.wording import listed

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null")
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t"}
_PARQUET = b"PAR1"
_NO_TABLES = {
    b"PK\x03\x04": "a spreadsheet or zip file; save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save it as CSV",
    b"\x1f\x8b": "a compressed file; unpack it first",
}
_SNIFFED_LINES = 50
# How a cell begins that a spreadsheet computes.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# A name that no header holds, for columns that have none.
_UNNAMED = "\0unnamed"


@dataclass(frozen=True)
class ReadOptions:
    """How to read tables: what the options of the command line say.

    Attributes
    ----------
    encoding : str or None
        None means UTF-8, with or without a byte order mark.
    delimiter : str or None
        None means the one of comma, semicolon and tab that fits.
    decimal : str
    missing : tuple of str
        Cells that count as missing.
    quiet : bool
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = MISSING
    quiet: bool = False


@dataclass(frozen=True)
class Source:
    """A file that has been read, but not taken apart: its name and its columns."""

    name: str
    columns: tuple[str, ...]
    content: Any
    reading: ReadOptions

    @property
    def is_typed(self) -> bool:
        """Whether the columns have types of their own, as those of Parquet have."""
        return not isinstance(self.content, _Csv)

    def frame(
        self, *, text: Collection[str] = (), only: Collection[str] | None = None
    ) -> pd.DataFrame:
        """Some or all columns; those of a CSV file that are named stay text."""
        names = [c for c in self.columns if only is None or c in only]
        if isinstance(self.content, _Csv):
            return self.content.frame(self.name, self.reading, names, text)
        frame: pd.DataFrame = self.content[names]
        return frame

    def as_written(self) -> pd.DataFrame:
        """All columns, the cells of a CSV file exactly as they are."""
        if isinstance(self.content, _Csv):
            names = list(self.columns)
            return self.content.frame(self.name, self.reading, names, names, raw=True)
        frame: pd.DataFrame = self.content
        return frame


@dataclass(frozen=True)
class _Csv:
    """Text of a CSV file and its header; columns without a name are left out."""

    text: str
    delimiter: str
    header: tuple[str, ...]
    n_rows: int

    def frame(
        self,
        name: str,
        reading: ReadOptions,
        columns: list[str],
        text: Collection[str],
        *,
        raw: bool = False,
    ) -> pd.DataFrame:
        import pandas as pd

        try:
            frame = pd.read_csv(
                io.StringIO(self.text),
                sep=self.delimiter,
                header=0,
                names=list(self.header),
                usecols=columns,
                index_col=False,
                dtype={column: str for column in columns if column in text},
                na_filter=not raw,
                keep_default_na=False,
                na_values=list(reading.missing),
                decimal=reading.decimal,
                low_memory=False,
                **_exact(pd.__version__),
            )
        except (ValueError, OverflowError) as error:
            raise WorkError(f"{name} cannot be read as CSV: {error}.") from error
        if len(frame) != self.n_rows:
            raise WorkError(
                f"{name} cannot be read as CSV: expected {self.n_rows} rows, got "
                f"{len(frame)}. Look for lines of blanks and for quotes left open."
            )
        chosen: pd.DataFrame = frame[columns]
        return chosen


def _exact(version: str) -> dict[str, Any]:
    """Numbers as Python reads them; from pandas 3.1 on that goes without saying."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def read_source(name: str, reading: ReadOptions) -> Source:
    """Read a file, told by its content to be Parquet or CSV; "-" is standard input."""
    content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    shown = "standard input" if name == "-" else name
    for magic, what in _NO_TABLES.items():
        if content.startswith(magic):
            raise WorkError(f"{shown} is {what}; expected a CSV or Parquet table.")
    if content.startswith(_PARQUET):
        return _read_parquet(shown, content, reading)
    return _read_csv(shown, content, reading)


# -- CSV ---------------------------------------------------------------------------


def _read_csv(name: str, content: bytes, reading: ReadOptions) -> Source:
    text = _decoded(name, content, reading.encoding)
    if not text.strip():
        raise WorkError(f"{name} is empty; expected a header line and rows.")
    delimiter = reading.delimiter or _guessed_delimiter(text, reading.decimal)
    header, n_rows = _checked_shape(name, text, delimiter)
    columns = tuple(column for column in header if column)
    if not columns:
        raise WorkError(f"{name} has no column with a name in its first line.")
    if len(columns) < len(header):
        note(
            reading.quiet,
            f"{name} has {len(header) - len(columns)} column(s) without a name; left "
            "out.",
        )
    unique = tuple(c or f"{_UNNAMED}{k}" for k, c in enumerate(header))
    return Source(name, columns, _Csv(text, delimiter, unique, n_rows), reading)


def _decoded(name: str, content: bytes, encoding: str | None) -> str:
    try:
        # Python drops a byte order mark that utf-16 and utf-32 ask for by itself.
        text = content.decode(encoding or "utf-8-sig")
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content[:start].count(b"\n") + 1
        cure = (
            "name its encoding, for example --encoding cp1252 or --encoding utf-16"
            if encoding is None
            else "name another with --encoding"
        )
        raise WorkError(
            f"{name} is not {encoding or 'UTF-8'}: line {line} has a byte that does "
            f"not belong there; {cure}."
        ) from error
    return text.removeprefix("\ufeff")


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the number of their last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    for row in reader:
        if row:
            yield reader.line_num, row


def _guessed_delimiter(text: str, decimal: str) -> str:
    """The candidate that cuts the first lines into most columns, equally many each."""
    head = "".join(io.StringIO(text).readlines()[:_SNIFFED_LINES])
    best, most = ",", 1
    for delimiter in DELIMITERS.values():
        if delimiter == decimal:
            continue
        try:
            widths = [len(row) for _, row in _rows(head, delimiter)]
        except csv.Error:
            continue
        width = widths[0] if widths else 1
        # Lines that do not fit are for the reader to complain of.
        fit = sum(w == width for w in widths) / max(len(widths), 1)
        if width > most and fit > 0.5:
            best, most = delimiter, width
    return best


def _checked_shape(name: str, text: str, delimiter: str) -> tuple[tuple[str, ...], int]:
    """Header and number of rows, all of them being as wide as it."""
    try:
        rows = _rows(text, delimiter)
        _, header = next(rows)
        n_rows = 0
        for line, row in rows:
            if len(row) != len(header):
                raise WorkError(
                    f"{name}, line {line}: got {len(row)} cells, expected "
                    f"{len(header)} as in the first line (cells are separated by "
                    f"{delimiter!r}; --delimiter names another)."
                )
            n_rows += 1
    except csv.Error as error:
        raise WorkError(f"{name} cannot be read as CSV: {error}.") from error
    _check_distinct(name, header)
    if n_rows == 0:
        raise WorkError(f"{name} has a header line but no rows.")
    return tuple(header), n_rows


def _check_distinct(name: str, columns: Collection[str]) -> None:
    named = [column for column in columns if column]
    double = sorted({column for column in named if named.count(column) > 1})
    if double:
        raise WorkError(
            f"{name} has several columns of the same name: {listed(double)}; rename "
            "all but one."
        )


def read_cells(name: str, reading: ReadOptions) -> list[list[str]]:
    """All cells of a small CSV file as text, its first line included."""
    text = _decoded(name, Path(name).read_bytes(), reading.encoding)
    if not text.strip():
        raise WorkError(f"{name} is empty; expected a header line and rows.")
    delimiter = reading.delimiter or _guessed_delimiter(text, reading.decimal)
    try:
        return [row for _, row in _rows(text, delimiter)]
    except csv.Error as error:
        raise WorkError(f"{name} cannot be read as CSV: {error}.") from error


# -- Parquet -----------------------------------------------------------------------


def _check_parquet(doing: str) -> None:
    if find_spec("pyarrow") is None:
        raise WorkError(
            f'{doing} Parquet needs pyarrow; install it with pip install "sorct'
            '[parquet]".'
        )


def _read_parquet(name: str, content: bytes, reading: ReadOptions) -> Source:
    _check_parquet("ReadOptions")
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except Exception as error:
        # The reader raises errors of many kinds for a damaged file.
        raise WorkError(f"{name} is not a Parquet table: {error}") from error
    frame = frame.rename(columns=str).reset_index(drop=True)
    columns = tuple(frame.columns)
    _check_distinct(name, columns)
    if not columns or len(frame) == 0:
        raise WorkError(f"{name} has {len(frame)} rows and {len(columns)} columns.")
    return Source(name, columns, frame, reading)


# -- writing -----------------------------------------------------------------------


def table_bytes(frame: pd.DataFrame, name: str | None, *, raw: bool = False) -> bytes:
    """A table as Parquet, if the name of the file says so, else as CSV.

    Text that a spreadsheet would take for a formula gets an apostrophe before it in a
    CSV file, unless it is to be written raw.
    """
    if is_parquet(name):
        _check_parquet("Writing")
        buffer = io.BytesIO()
        frame.to_parquet(buffer, engine="pyarrow", index=False)
        return buffer.getvalue()
    if not raw:
        frame = _without_formulas(frame)
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text.encode("utf-8")


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with formulas turned into text, names of columns included."""
    texts = frame.select_dtypes(exclude=["number", "bool", "datetime"])
    changed = {name: texts[name].map(_without_formula) for name in texts.columns}
    frame = frame.assign(**changed)
    return frame.set_axis([_without_formula(name) for name in frame.columns], axis=1)


def _without_formula(cell: Any) -> Any:
    """A cell with an apostrophe where it begins like a formula and is no number."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return f"'{cell}"
    return cell


def has_header(path: Path, columns: Sequence[str], name: str) -> bool:
    """Whether a file begins as a table of these columns does that we would write."""
    if is_parquet(name):
        return _parquet_columns(path) == list(columns)
    import pandas as pd

    empty = pd.DataFrame(columns=list(columns))
    headers = [table_bytes(empty, name, raw=raw) for raw in (False, True)]
    with path.open("rb") as file:
        head = file.read(max(map(len, headers)))
    return any(head.startswith(header) for header in headers)


def _parquet_columns(path: Path) -> list[str] | None:
    """Names of the columns of a Parquet file, None for any other."""
    _check_parquet("Writing")
    try:
        return list(import_module("pyarrow.parquet").read_schema(path).names)
    except Exception:
        # The reader raises errors of many kinds for a damaged file.
        return None


def is_parquet(name: str | None) -> bool:
    """Whether a file is to be Parquet by its name."""
    return name is not None and name.lower().endswith((".parquet", ".pq"))
