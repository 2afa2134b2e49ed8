"""Sheet: a CSV or Parquet file cut into columns, before anybody says what they mean.

pandas reads the file; numbers and True/False that are plainly written come out as such,
all other cells as text. Rows are counted from 1 and the header is not counted, as in
all messages.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sorct.data.wording import listed

if TYPE_CHECKING:
    import pandas as pd

#: Cells that are missing, whatever the column.
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "Null", "null", "<NA>", "NaT",
)  # fmt: skip
#: Cells that are missing unless they stand in the target: there they may be classes.
DOUBTFUL = ("-", "--", "?", ".", "#DIV/0!", "#VALUE!", "#REF!")
#: Cells that are missing among numbers and dates; among words they are words.
WORDS = ("None", "none", "NONE", "na")
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t"}
_PARQUET = b"PAR1"
_NO_TABLES = {
    b"PK\x03\x04": "a spreadsheet or zip file; save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save it as CSV",
    b"\x1f\x8b": "a compressed file; unpack it first",
}
_SNIFFED_LINES = 50
# A spreadsheet may say in a line of its own how it separates cells.
_SEPARATOR = re.compile(rb'"?sep=(.)"?\r?\n', re.IGNORECASE)
# A name that no header holds, for columns that have none.
_UNNAMED = "\0unnamed"


class ReadingError(ValueError):
    """A table that cannot be read as it is; the message names all that is wrong."""

    @classmethod
    def of(cls, name: str, problems: Collection[str]) -> ReadingError:
        """One message of all problems of a table."""
        if len(problems) == 1:
            return cls(f"{name}: {next(iter(problems))}")
        told = "\n".join(f"({k}) {one}" for k, one in enumerate(problems, 1))
        return cls(f"{name} has {len(problems)} problems.\n{told}")


@dataclass(frozen=True)
class ReadOptions:
    """How to read tables.

    Attributes
    ----------
    encoding : str or None
        None means UTF-8, with or without a byte order mark.
    delimiter : str or None
        None means the one of comma, semicolon and tab that fits.
    decimal : {".", ","} or None
        None means the one that the cells show.
    dates : {"day-first", "month-first"} or None
        None means the order that the cells show.
    missing : tuple of str
        Further cells that count as missing.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    dates: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def markers(self) -> tuple[str, ...]:
        """Cells that count as missing in every column."""
        return (*MISSING, *self.missing)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A file cut into columns.

    Attributes
    ----------
    name : str
        What messages call the file.
    frame : pandas.DataFrame
        The columns that have a name, with types of their own (Parquet) or as pandas
        reads plain numbers, True and False; what is neither is text.
    options : ReadOptions
    n_unnamed : int
        Columns without a name, which are left out.
    source : CsvText or None
        What the columns were cut from; None for Parquet.
    """

    name: str
    frame: pd.DataFrame
    options: ReadOptions
    n_unnamed: int = 0
    source: CsvText | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.frame.columns)

    @property
    def delimiter(self) -> str | None:
        """What separates cells; None for Parquet."""
        return None if self.source is None else self.source.delimiter

    def as_written(self, only: Collection[str] | None = None) -> pd.DataFrame:
        """Columns of a CSV file with every cell exactly as it is; Parquet as typed."""
        names = [c for c in self.columns if only is None or c in only]
        if self.source is None or not names:
            return self.frame[names]
        return self.source.cut(names, dtype=str, na_filter=False)

    def with_decimal(self, decimal: str) -> Sheet:
        """The same CSV file, its plain numbers read with another decimal mark."""
        if self.source is None:
            return self
        options = replace(self.options, decimal=decimal)
        return replace(self, frame=self.source.typed(options)[list(self.columns)])


@dataclass(frozen=True)
class CsvText:
    """Text of a CSV file in UTF-8, without its byte order mark, and its header."""

    content: bytes
    delimiter: str
    header: tuple[str, ...]

    def typed(self, options: ReadOptions) -> pd.DataFrame:
        """All columns as pandas reads plain numbers, True and False."""
        return self.cut(
            None,
            na_values=list(options.markers),
            decimal=options.decimal or ".",
            low_memory=False,
        )

    def cut(self, columns: list[str] | None, **options: Any) -> pd.DataFrame:
        """All columns or some, read by pandas; too long a row is an error with all."""
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(self.content),
                sep=self.delimiter,
                header=0,
                names=list(self.header),
                usecols=columns,
                index_col=False,
                keep_default_na=False,
                encoding="utf-8",
                **_exact(pd.__version__),
                **options,
            )
        chosen: pd.DataFrame = frame if columns is None else frame[columns]
        return chosen

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not blank, with the number of their last line."""
        return _rows(self.content, self.delimiter)


def _exact(version: str) -> dict[str, Any]:
    """Numbers as Python reads them; from pandas 3.1 on that goes without saying."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def open_sheet(name: str, content: bytes, options: ReadOptions) -> Sheet:
    """Cut the content of a file into columns; it tells whether it is Parquet or CSV."""
    for magic, what in _NO_TABLES.items():
        if content.startswith(magic):
            raise ReadingError(f"{name} is {what}; expected a CSV or Parquet table.")
    if content.startswith(_PARQUET):
        return _open_parquet(name, content, options)
    return _open_csv(name, content, options)


# -- CSV -------------------------------------------------------------------------------


def _open_csv(name: str, content: bytes, options: ReadOptions) -> Sheet:
    source = _source(name, content, options)
    columns = [column for column in source.header if not column.startswith(_UNNAMED)]
    if not columns:
        raise ReadingError(f"{name} has no column with a name in its first line.")
    check_distinct(name, columns)
    frame = _cut_whole(name, source, options)
    if len(frame) == 0:
        raise ReadingError(f"{name} has a header line but no rows.")
    n_unnamed = len(source.header) - len(columns)
    return Sheet(name, frame[columns], options, n_unnamed, source)


def _source(name: str, content: bytes, options: ReadOptions) -> CsvText:
    """Text of a file and its first line, columns without a name being given one."""
    content = _in_utf8(name, content, options.encoding)
    said = _SEPARATOR.match(content)
    if said:
        content = content[said.end() :]
    if not content.strip():
        raise ReadingError(f"{name} is empty; expected a header line and rows.")
    delimiter = options.delimiter or (
        said[1].decode("latin-1") if said else _guessed(content, options.decimal)
    )
    try:
        _, header = next(_rows(content, delimiter))
    except csv.Error as error:
        raise ReadingError(f"{name} cannot be read as CSV: {error}.") from error
    names = tuple(c if c.strip() else f"{_UNNAMED}{k}" for k, c in enumerate(header))
    return CsvText(content, delimiter, names)


def _in_utf8(name: str, content: bytes, encoding: str | None) -> bytes:
    """Content in UTF-8 without a byte order mark, or an error that names the line."""
    try:
        # Python drops a byte order mark that utf-16 and utf-32 ask for by itself.
        text = content.decode(encoding or "utf-8")
        found = content if encoding is None else text.encode("utf-8")
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content[:start].count(b"\n") + 1
        cure = (
            "name its encoding, for example encoding='cp1252' or encoding='utf-16'"
            if encoding is None
            else "name another encoding"
        )
        raise ReadingError(
            f"{name} is not {encoding or 'UTF-8'}: line {line} has a byte that does "
            f"not belong there; {cure}."
        ) from error
    return found.removeprefix("\ufeff".encode())


def _rows(content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    file = io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    for row in reader:
        if row:
            yield reader.line_num, row


def _guessed(content: bytes, decimal: str | None) -> str:
    """The candidate that cuts the first lines into most columns, equally many each.

    Of two that do so equally well the comma is taken last: it stands in numbers, too.
    """
    lines = io.BytesIO(content.replace(b"\r", b"\n", 200)).readlines(1 << 20)
    head = b"".join(lines[:_SNIFFED_LINES])
    best, most = ",", 1
    for delimiter in reversed(DELIMITERS.values()):
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


def _cut_whole(name: str, source: CsvText, options: ReadOptions) -> pd.DataFrame:
    """All columns; rows that are too short or too long are an error with the line."""
    import pandas as pd

    try:
        frame = source.typed(options)
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        _check_widths(name, source)
        raise ReadingError(f"{name} cannot be read as CSV: {error}.") from error
    # pandas fills up a row that is too short: its last cell is missing.
    if frame.iloc[:, -1].isna().any():
        _check_widths(name, source)
    return frame


def _check_widths(name: str, source: CsvText) -> None:
    """Raise an error if a row has more or fewer cells than the header."""
    expected = len(source.header)
    if b'"' not in source.content and b"\r" not in source.content:
        # Much quicker than to cut every line.
        separator = source.delimiter.encode()
        lines = source.content.split(b"\n")
        if all(line.count(separator) == expected - 1 for line in lines if line.strip()):
            return
    try:
        for line, row in source.rows():
            if len(row) != expected and any(cell.strip() for cell in row):
                raise ReadingError(
                    f"{name}, line {line}: got {len(row)} cells, expected {expected} "
                    f"as in the first line (cells are separated by "
                    f"{source.delimiter!r}; delimiter=';' would name another)."
                )
    except csv.Error as error:
        raise ReadingError(f"{name} cannot be read as CSV: {error}.") from error


def check_distinct(name: str, columns: Collection[str]) -> None:
    """Raise an error if two columns have the same name."""
    given = list(columns)
    double = sorted({column for column in given if given.count(column) > 1})
    if double:
        raise ReadingError(
            f"{name} has several columns of the same name: {listed(double)}; rename "
            "all but one."
        )


def read_cells(name: str, content: bytes, options: ReadOptions) -> list[list[str]]:
    """All cells of a small CSV file as text, its first line included."""
    source = _source(name, content, options)
    try:
        return [row for _, row in source.rows()]
    except csv.Error as error:
        raise ReadingError(f"{name} cannot be read as CSV: {error}.") from error


# -- Parquet ---------------------------------------------------------------------------


def check_parquet(doing: str) -> None:
    """Raise an error with the cure if pyarrow is not there."""
    if find_spec("pyarrow") is None:
        raise ReadingError(
            f'{doing} Parquet needs pyarrow; install it with pip install "sorct'
            '[parquet]".'
        )


def _open_parquet(name: str, content: bytes, options: ReadOptions) -> Sheet:
    check_parquet("Reading")
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except Exception as error:
        # The reader raises errors of many kinds for a damaged file.
        raise ReadingError(f"{name} is not a Parquet table: {error}") from error
    frame = frame.rename(columns=str).reset_index(drop=True)
    check_distinct(name, list(frame.columns))
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ReadingError(
            f"{name} has {len(frame)} rows and {frame.shape[1]} columns."
        )
    return Sheet(name, frame, options)
