"""Columns of a sheet read as what they are: numbers, dates, truth, text, classes.

This is what training and rows for a trained tree have in common: the same cell means
the same in both. What to leave out of training is left to ``suspects.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.data.as_text import dates_as_text, numbers_as_text
from sorct.data.cells import (
    DATE,
    NUMBER,
    TEXT,
    TRUTH,
    UNUSABLE,
    Found,
    TextCells,
    read_text,
)
from sorct.data.numbers import COMMA, POINT, mark_shown, read_numbers
from sorct.data.sheet import DOUBTFUL, WORDS, Sheet
from sorct.data.wording import listed, printable, write_out
from sorct.data.written_dates import read_dates

if TYPE_CHECKING:
    import pandas as pd

# Values that a typed column may hold, and what is said of others.
_PLAIN = (str, bool, int, float, np.bool_, np.number)
_NO_VALUES: dict[tuple[type, ...], tuple[str, str]] = {
    (time, timedelta, np.timedelta64): (
        "times without a date",
        "Turn it into a number, such as minutes",
    ),
    (bytes, bytearray): ("bytes", "Turn it into text or numbers"),
    (list, tuple, dict, set, np.ndarray): (
        "lists or records",
        "Give each of their parts a column of its own",
    ),
}
_OTHERS = ("values of another type", "Turn it into text or numbers")
# A target with more distinct numbers than this is a quantity, not classes.
MOST_CLASSES = 20
_WIDEST = 48


@dataclass(frozen=True)
class ColumnReading:
    """How a column of a file was read.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "true/false", "text", "unusable"}
    values : str
        Its range, or its levels.
    n_missing : int
        Number of missing cells.
    notes : tuple of str
        What was done to read it.
    warnings : tuple of str
        What is hardly meant as it is.
    left_out : str or None
        Why it is left out, if it is.
    """

    name: str
    kind: str
    values: str
    n_missing: int
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: str | None = None


@dataclass(frozen=True, eq=False)
class ReadColumns:
    """Columns that were read, how, and what is wrong with them.

    Attributes
    ----------
    frame : pandas.DataFrame
    readings : tuple of ColumnReading
    problems : tuple of str
    decimal : str or None
        Decimal mark of the file; None where nobody knows.
    dates : str or None
        Order of day and month, if it was said.
    """

    frame: pd.DataFrame
    readings: tuple[ColumnReading, ...]
    problems: tuple[str, ...]
    decimal: str | None
    dates: str | None = None

    def number_cells(self, name: str) -> list[Any]:
        """Cells of a column that should hold numbers; other text stays text."""
        column = self.frame[name]
        if not _is_text(column):
            return list(column.tolist())
        cells = [None if text is None else str(text) for text in _or_none(column)]
        numbers = read_numbers([text or "" for text in cells], self.decimal or POINT)
        if numbers.read.all():
            # It would have been read as numbers, were it not for its units.
            return cells
        return [
            float(value) if read else text
            for text, value, read in zip(
                cells, numbers.values, numbers.read, strict=True
            )
        ]

    def date_cells(self, name: str) -> list[Any]:
        """Cells of a column that should hold dates; other cells stay as they are."""
        column = self.frame[name]
        cells = _or_none(column)
        if column.dtype.kind == "M" or not _is_text(column):
            return cells
        found = read_dates([str(cell or "").strip() for cell in cells], self.dates)
        if found is None:
            return cells
        dates = _or_none(found.values.to_series())
        return [
            cell if date is None else date
            for cell, date in zip(cells, dates, strict=True)
        ]


def read_columns(
    sheet: Sheet,
    names: Collection[str],
    *,
    text: Collection[str] = (),
    target: str | None = None,
) -> ReadColumns:
    """Read some columns; some stay text, and one may hold the classes."""
    import pandas as pd

    sheet, decimal, cells = _with_decimal(sheet)
    # With semicolons between the cells, 1.234 may be a thousand and more.
    doubtful = [n for n in sheet.columns if decimal is None and _is_float(sheet, n)]
    as_cells = {*text, *doubtful, target}
    raw = sheet.as_written([name for name in names if name in as_cells])
    columns: dict[str, Any] = {}
    readings, problems = [], []
    for name in names:
        if name == target:
            found = _read_target(sheet, raw[name], decimal)
        elif sheet.source is None:
            found = _read_typed(sheet.frame[name], as_text=name in text)
        elif name in text:
            found = _words(sheet, raw[name])
        else:
            column = raw[name] if name in doubtful else sheet.frame[name]
            found = _read_cells(sheet, column, decimal, cells.get(name))
        columns[name] = found.column
        readings.append(_reading(name, found))
        problems += found.problems
    frame = pd.DataFrame(columns, copy=False)
    return ReadColumns(
        frame, tuple(readings), tuple(problems), decimal, sheet.options.dates
    )


def _reading(name: str, found: Found) -> ColumnReading:
    n_missing = int(found.column.isna().sum())
    shown = "" if found.kind == UNUSABLE else values_shown(found.column, found.kind)
    return ColumnReading(
        name, found.kind, shown, n_missing, tuple(found.notes), tuple(found.warnings)
    )


def values_shown(column: pd.Series[Any], kind: str) -> str:
    """Range or levels of a column, in a few words."""
    given = column.dropna()
    if len(given) == 0:
        return "nothing"
    if kind in (NUMBER, DATE):
        ends = given.min(), given.max()
        low, high = (
            f"{v:%Y-%m-%d}" if kind == DATE else write_out(f"{v:.6g}") for v in ends
        )
        return low if low == high else f"{low} to {high}"
    counts = given.value_counts()
    counts = counts[counts > 0]
    levels = ", ".join(printable(level) for level in counts.index[:6])
    more = len(levels) > _WIDEST or len(counts) > 6
    levels = f"{levels[:_WIDEST].rstrip(', ')}, ..." if more else levels
    return f"{len(counts)} level{'s' * (len(counts) > 1)}: {levels}"


# -- CSV -------------------------------------------------------------------------------


def _with_decimal(sheet: Sheet) -> tuple[Sheet, str | None, dict[str, TextCells]]:
    """The sheet read with its decimal mark, as said or as its columns show; its cells.

    If no column shows one, it is the point unless semicolons separate the cells; then
    nobody knows.
    """
    given = sheet.options.decimal
    if sheet.source is None or given is not None:
        return sheet, given, {}
    usual = None if sheet.delimiter == ";" else POINT
    text = [name for name in sheet.columns if _is_text(sheet.frame[name])]
    cells = {name: _cells(sheet, sheet.frame[name]) for name in text}
    marks = {mark_shown(one.values) for one in cells.values()} - {None}
    if COMMA in marks or usual is None:
        if POINT not in marks and _plain_numbers_show_a_point(sheet):
            marks.add(POINT)
        if marks == {COMMA}:
            return sheet.with_decimal(COMMA), COMMA, {}
    return sheet, POINT if marks == {POINT} else usual, cells


def _cells(sheet: Sheet, column: pd.Series[Any]) -> TextCells:
    return TextCells.of(column, (*sheet.options.markers, *DOUBTFUL, *WORDS))


def _plain_numbers_show_a_point(sheet: Sheet) -> bool:
    """Whether some column that pandas took for numbers cannot have a decimal comma."""
    names = [name for name in sheet.columns if _is_float(sheet, name)]
    for name in names:
        size = np.abs(sheet.frame[name].to_numpy())
        size = size[np.isfinite(size)]
        part = 1000.0 * (size % 1.0)
        fine = np.abs(part - part.round()) > 1e-6
        if bool(((part > 0.0) & (fine | (size < 1.0))).any()):
            return True
    raw = sheet.as_written(names)
    return any(mark_shown(_cells(sheet, raw[n]).values) == POINT for n in names)


def _or_none(column: pd.Series[Any]) -> list[Any]:
    return list(column.astype(object).where(column.notna(), None).tolist())


def _is_float(sheet: Sheet, name: str) -> bool:
    return sheet.source is not None and sheet.frame[name].dtype.kind == "f"


def _is_text(column: pd.Series[Any]) -> bool:
    name: str = column.dtype.name
    return name.startswith(("object", "str", "category", "large_string"))


def _read_cells(
    sheet: Sheet,
    column: pd.Series[Any],
    decimal: str | None,
    cells: TextCells | None,
) -> Found:
    """A column of CSV that pandas took for numbers, truth or text."""
    if column.dtype.kind == "b":
        return Found(column, TRUTH)
    if not _is_text(column):
        commas = decimal == COMMA and column.dtype.kind == "f"
        return Found(column, NUMBER, ["has decimal commas"] if commas else [])
    cells = cells or _cells(sheet, column)
    found = read_text(column, cells, decimal, sheet.options)
    if found.kind == TEXT and cells.changed:
        cells = TextCells.of(column, (*sheet.options.markers, *DOUBTFUL))
        found = replace(found, column=cells.words(column))
    notes = [*found.notes, *_gaps(column, cells)]
    if found.kind == TEXT:
        notes += _variants(cells.values)
    return replace(found, notes=notes)


def _gaps(column: pd.Series[Any], cells: TextCells) -> list[str]:
    """A note of the words that were taken for missing cells, if that is news."""
    if not cells.changed:
        return []
    given = {str(value).strip() for value in column.dropna().unique()}
    words = sorted(given.intersection((*DOUBTFUL, *WORDS)).difference(cells.values))
    counts = "counts" if len(words) == 1 else "count"
    return [f"{listed(words)} {counts} as missing"] if words else []


def _words(sheet: Sheet, column: pd.Series[Any]) -> Found:
    """A column that is to be text."""
    cells = TextCells.of(column, (*sheet.options.markers, *DOUBTFUL))
    return Found(cells.words(column), TEXT, _variants(cells.values))


def _variants(values: list[str]) -> list[str]:
    """A note if levels differ by their capitals only."""
    by_fold: dict[str, list[str]] = {}
    for value in values:
        by_fold.setdefault(value.casefold(), []).append(value)
    twins = [twins for twins in by_fold.values() if len(twins) > 1]
    if not twins:
        return []
    return [f"{listed(twins[0], 3)} are levels that differ by their capitals only"]


# -- the target ------------------------------------------------------------------------


def _read_target(sheet: Sheet, column: pd.Series[Any], decimal: str | None) -> Found:
    """Classes: whole numbers and True/False as such, else text; or a quantity."""
    typed = sheet.source is None
    if typed and not _is_text(column):
        as_text = column.dtype.kind not in "biuf"
        return _read_typed(column, as_text=as_text, cure="")
    if typed:
        found = _read_typed(column, as_text=True, cure="")
        if found.problems:
            return found
    cells, notes = _one_spelling(
        TextCells.of(column, () if typed else sheet.options.markers)
    )
    if typed and column.dtype.name != "category":
        return Found(cells.words(column), TEXT, notes)
    labels = _typed_labels(cells.values)
    if len(labels) > MOST_CLASSES and isinstance(labels[0], str):
        found = read_text(column, cells, decimal, sheet.options)
        if found.kind == NUMBER:
            return found
    return Found(_labelled(column, cells, labels), TEXT, notes)


def _one_spelling(cells: TextCells) -> tuple[TextCells, list[str]]:
    """Classes that differ by capitals only made one, spelled as most rows have it."""
    notes = []
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.values))
    chosen: dict[str, str] = {}
    for k in np.argsort(-counts, kind="stable").tolist():
        chosen.setdefault(cells.values[k].casefold(), cells.values[k])
    kept = [value for value in cells.values if chosen[value.casefold()] == value]
    for value in cells.values:
        if value not in kept:
            notes.append(f"{value!r} is taken for {chosen[value.casefold()]!r}")
    if not notes:
        return cells, notes
    place = [kept.index(chosen[value.casefold()]) for value in cells.values]
    return TextCells(np.array([*place, -1])[cells.codes], kept, True), notes


def _labelled(column: pd.Series[Any], cells: TextCells, labels: list[Any]) -> Any:
    import pandas as pd

    if labels and not isinstance(labels[0], str) and not cells.n_missing:
        values = np.array([*labels, labels[0]])[cells.codes]
        return pd.Series(values, index=column.index, name=column.name)
    return cells.words(column)


def _typed_labels(texts: list[str]) -> list[Any]:
    """Texts as whole numbers or booleans if they are written just so."""
    if texts and set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    if all(is_whole(text) for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def is_whole(text: str) -> bool:
    """Whether a text is a whole number, written as Python writes it."""
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return plain and str(int(text)) == text


# -- Parquet ---------------------------------------------------------------------------


def _read_typed(
    column: pd.Series[Any],
    *,
    as_text: bool,
    cure: str = ", or leave it out (drop={})",
) -> Found:
    """A column of Parquet as numbers, dates, truth or text, or the problem with it."""
    import pandas as pd

    if column.dtype.kind in "biuf":
        if as_text:
            return Found(column.astype(str).where(column.notna()), TEXT)
        return Found(column, TRUTH if column.dtype.kind == "b" else NUMBER)
    is_category = column.dtype.name == "category"
    values = column.cat.categories.to_series() if is_category else column
    odd = next((v for v in values.dropna() if not isinstance(v, _PLAIN)), None)
    if odd is None:
        told = []
        if not as_text and numbers_as_text(column):
            told.append("is text in which every cell is a number")
        if not as_text and dates_as_text(column):
            told.append("is text in which every cell is a date")
        return Found(column, TEXT, warnings=told)
    dated = isinstance(odd, (date, datetime, np.datetime64))
    if as_text and (dated or isinstance(odd, Decimal)):
        return Found(column.astype(object).map(str, na_action="ignore"), TEXT)
    if isinstance(odd, Decimal):
        return Found(column.astype(np.float64), NUMBER)
    if dated:
        dates = pd.to_datetime(column.astype(object), utc=True).dt.tz_localize(None)
        return Found(dates, DATE)
    what, how = next(
        (told for kinds, told in _NO_VALUES.items() if isinstance(odd, kinds)), _OTHERS
    )
    name = str(column.name)
    problem = (
        f"column {name!r} holds {what}, such as {odd!r:.60}; expected numbers, dates "
        f"or text. {how}{cure.format(repr(name))}."
    )
    return Found(column, UNUSABLE, problems=[problem])
