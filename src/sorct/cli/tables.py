"""Tables: files in and out of the command line.

What comes in is cut into columns by ``sorct.data.sheet``; what the columns mean is left
to ``data.py`` and ``model_rows.py``. What goes out is CSV or Parquet.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sorct.cli.messages import note
from sorct.data.sheet import ReadOptions, Sheet, check_parquet, open_sheet

if TYPE_CHECKING:
    import pandas as pd

# How a cell begins that a spreadsheet computes.
# Some spreadsheets take the wide forms of East Asian scripts as well.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # noqa: RUF001


def read_source(name: str, options: ReadOptions, *, quiet: bool = False) -> Sheet:
    """Read a file and cut it into columns; "-" is standard input."""
    content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    sheet = open_sheet("standard input" if name == "-" else name, content, options)
    if sheet.n_unnamed:
        note(
            quiet,
            f"{sheet.name} has {sheet.n_unnamed} column(s) without a name; left out.",
        )
    return sheet


def table_bytes(
    frame: pd.DataFrame, name: str | None, *, raw: bool = False, quiet: bool = True
) -> bytes:
    """A table as Parquet, if the name of the file says so, else as CSV.

    Text that a spreadsheet would take for a formula gets an apostrophe before it in a
    CSV file, unless it is to be written raw. Unless ``quiet``, a note says how often.
    """
    if is_parquet(name):
        check_parquet("Writing")
        buffer = io.BytesIO()
        frame.to_parquet(buffer, engine="pyarrow", index=False)
        return buffer.getvalue()
    if not raw:
        given, frame = frame, _without_formulas(frame)
        if not quiet:
            _tell_changed(given, frame)
    text: str = frame.to_csv(index=False, lineterminator="\n")
    if "\r" in text:
        # Only the end of a line that we write is quoted, but all take this for one.
        text = frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    return text.encode("utf-8")


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with formulas turned into text, names of columns included."""
    texts = frame.select_dtypes(exclude=["number", "bool", "datetime"])
    changed = {name: texts[name].map(_without_formula) for name in texts.columns}
    frame = frame.assign(**changed)
    return frame.set_axis([_without_formula(name) for name in frame.columns], axis=1)


def _tell_changed(given: pd.DataFrame, written: pd.DataFrame) -> None:
    """Say how many cells and names of columns have an apostrophe that they had not."""
    n_headers = sum(map(str.__ne__, map(str, given), map(str, written)))
    n_cells = 0
    for k in range(len(given.columns)):
        one, other = given.iloc[:, k], written.iloc[:, k]
        n_cells += int(((one != other) & one.notna()).sum()) if one is not other else 0
    told = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((n_cells, "cell"), (n_headers, "header"))
        if count
    ]
    if told:
        note(
            False,
            f"{' and '.join(told)} begin like a formula of a spreadsheet and got an "
            "apostrophe in front; --raw writes them as they are, for programs that "
            "read them again.",
        )


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
    check_parquet("Writing")
    try:
        return list(import_module("pyarrow.parquet").read_schema(path).names)
    except Exception:
        # The reader raises errors of many kinds for a damaged file.
        return None


def is_parquet(name: str | None) -> bool:
    """Whether a file is to be Parquet by its name."""
    return name is not None and name.lower().endswith((".parquet", ".pq"))
