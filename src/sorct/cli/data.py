"""Data: which columns of a table are what, for training.

Columns are read by the library as ``sorct.read_table`` reads them. What does not suit
is refused in one message, with the columns, the rows and the cures.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.cli.messages import WorkError, in_flags, no_such, note, say
from sorct.data.cells import UNUSABLE
from sorct.data.reading import Roles, TableReading, checked_order, read_training
from sorct.data.sheet import ReadingError, Sheet
from sorct.data.target import Classes
from sorct.data.wording import printable

if TYPE_CHECKING:
    import pandas as pd

# A target with more distinct values than this, or than half the rows, is no class.
_MOST_CLASSES, _FEW_CLASSES = 100, 20
# Numbers with fewer rows each, on average, are hardly classes if they are many.
_ROWS_OF_A_CLASS = 10


@dataclass(frozen=True)
class Columns:
    """Which columns to train on: what the options of the command line say."""

    target: str
    weight: str | None = None
    drop: Sequence[str] = ()
    only: Sequence[str] = ()
    keep: Sequence[str] = ()
    categorical: Sequence[str] = ()
    drop_missing: str | None = None
    ordered: Sequence[str] = ()
    task: str | None = None


@dataclass(frozen=True)
class Training:
    """A table to train on: variables, classes, and weights if there are any.

    ``columns`` has the names of all columns of the file. ``of_quantity`` says that y is
    a quantity.
    """

    X: pd.DataFrame
    y: AnyArray
    weight: FloatArray | None
    columns: tuple[str, ...] = ()
    of_quantity: bool = False

    @property
    def task(self) -> str:
        """What y is."""
        return "quantity" if self.of_quantity else "classes"


def training_data(sheet: Sheet, columns: Columns, *, quiet: bool = False) -> Training:
    """Variables, target and weights of a table, checked."""
    reading, problems = looked_at(sheet, columns)
    if not quiet:
        for line in (*reading.left_out(), *reading.notes()):
            say("note", in_flags(line))
        for line in reading.warnings():
            say("warning", in_flags(line))
    if problems:
        raise ReadingError.of(sheet.name, problems)
    return trained_on(sheet, reading, columns, quiet=quiet)


def trained_on(
    sheet: Sheet, reading: TableReading, columns: Columns, *, quiet: bool = False
) -> Training:
    """Variables, target and weights of a table without problems."""
    frame = _without_gaps(sheet, reading.frame, columns, quiet)
    weight = None
    if columns.weight is not None:
        weight = frame[columns.weight].to_numpy(np.float64)
    taken = [name for name in (columns.target, columns.weight) if name is not None]
    target = frame[columns.target]
    is_quantity = _is_quantity(target, columns)
    y = target.to_numpy(np.float64) if is_quantity else _labels(target)
    names = tuple(sheet.columns)
    return Training(frame.drop(columns=taken), y, weight, names, is_quantity)


def looked_at(sheet: Sheet, columns: Columns) -> tuple[TableReading, list[str]]:
    """How a table is read, and all that keeps it from being trained on."""
    for name in (columns.target, columns.weight):
        if name is not None and name not in sheet.columns:
            raise no_such("column", name, sheet.columns, sheet.name)
    if columns.weight == columns.target:
        raise WorkError(f"Column {columns.target!r} cannot be target and weight.")
    only, keep = _named(sheet, columns.only), _named(sheet, columns.keep)
    drop = _named(sheet, columns.drop)
    if columns.target in (*only, *drop):
        raise WorkError(
            f"Column {columns.target!r} is the target; it is no variable to choose."
        )
    categorical = _named(sheet, columns.categorical)
    roles = Roles(
        columns.target,
        columns.weight,
        [*keep, *only],
        drop,
        categorical,
        _orders(sheet, columns.ordered),
        columns.task == "quantity",
    )
    reading = read_training(sheet, roles, only or None)
    return reading, [*reading.problems, *_unfit(reading, columns)]


def _named(sheet: Sheet, given: Sequence[str]) -> list[str]:
    """Columns named one by one or, where no name has a comma, in a list."""
    names: list[str] = []
    for text in given:
        parts = [text] if text in sheet.columns else text.split(",")
        for part in parts:
            name = part if part in sheet.columns else part.strip()
            if name not in sheet.columns:
                raise no_such("column", name, sheet.columns, sheet.name)
            names.append(name)
    return names


def _orders(sheet: Sheet, given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns and the order of their levels, such as grade=low,mid,high."""
    orders = {}
    for text in given:
        ends = [k for k, character in enumerate(text) if character == "="]
        end = next((k for k in ends if text[:k] in sheet.columns), ends[0])
        name = text[:end]
        if name not in sheet.columns:
            raise no_such("column", name, sheet.columns, sheet.name)
        # Levels with a comma in them are put in quotes, as in a CSV file.
        levels = next(csv.reader([text[end + 1 :]], skipinitialspace=True))
        orders[name] = checked_order(name, [level.strip() for level in levels])
    return orders


# -- what cannot be trained on ---------------------------------------------------------


def _unfit(reading: TableReading, columns: Columns) -> list[str]:
    """All that keeps a table from being trained on, a sentence each."""
    frame = reading.frame
    taken = [name for name in (columns.target, columns.weight) if name is not None]
    unusable = [one.name for one in reading.columns if one.kind == UNUSABLE]
    names = [str(n) for n in frame.columns if n not in (*taken, *unusable)]
    told = [problem for name in names if (problem := _unfit_column(frame[name]))]
    if not names:
        out = [
            f"{one.name!r} ({one.left_out})" for one in reading.columns if one.left_out
        ]
        left = f"; left out: {', '.join(out[:5])}" if out else ""
        told.append(f"there is no column to train on beside {columns.target!r}{left}.")
    if columns.weight is not None:
        told += _no_weights(frame[columns.weight])
    if columns.drop_missing is None:
        cure = "Fill them in, or leave such rows out (--drop-missing target)"
        told += [gap for name in taken if (gap := told_gaps(frame[name], cure))]
    if columns.target not in unusable:
        told += _no_target(frame[columns.target], columns)
    return told


def _unfit_column(column: pd.Series[Any]) -> str | None:
    name = str(column.name)
    if column.dtype.kind == "f":
        infinite = np.flatnonzero(np.isinf(column.to_numpy()))
        if len(infinite):
            return (
                f"column {name!r} has infinity in {len(infinite)} cell(s), first in "
                f"row {infinite[0] + 1}; expected finite numbers (missing='inf' makes "
                "cells missing that are written so; one that begins with a minus "
                "needs an =, as in --missing=-inf)."
            )
    if column.isna().all():
        return f"column {name!r} has no cells; leave it out (drop={name!r})."
    return None


def _no_weights(column: pd.Series[Any]) -> list[str]:
    """The first cell of a column of weights that is no number."""
    if column.dtype.kind in "iuf":
        return []
    row = _first_wrong(column)
    return [
        f"column {str(column.name)!r} must hold numbers, got {column.iloc[row]!r} in "
        f"row {row + 1}."
    ]


def _first_wrong(column: pd.Series[Any]) -> int:
    """Position of the first cell that is no number."""
    import pandas as pd

    numbers = pd.to_numeric(column.astype(str), errors="coerce")
    wrong = np.flatnonzero(numbers.isna().to_numpy() & column.notna().to_numpy())
    return int(wrong[0]) if len(wrong) else 0


def told_gaps(column: pd.Series[Any], cure: str) -> str | None:
    """What is said of the missing cells of a column, if it has any.

    Its index counts the rows of the table from 0.
    """
    missing = column.index[column.isna()]
    if len(missing) == 0:
        return None
    return (
        f"column {str(column.name)!r} has {len(missing)} missing cell(s), the first in "
        f"row {missing[0] + 1}. {cure}."
    )


def _without_gaps(
    sheet: Sheet, frame: pd.DataFrame, columns: Columns, quiet: bool
) -> pd.DataFrame:
    """Rows without missing cells, or with a target, if the others are left out."""
    if columns.drop_missing is None:
        return frame
    told, looked_in = "missing cells", list(frame.columns)
    if columns.drop_missing == "target":
        looked_in = [columns.target]
        told = "no target"
        if columns.weight is not None:
            looked_in.append(columns.weight)
            told = "no target or no weight"
    kept = frame.dropna(subset=looked_in).reset_index(drop=True)
    n_rows = len(frame), len(kept)
    tell_left_out(sheet.name, *n_rows, told, "to train on", quiet=quiet)
    return kept


def tell_left_out(
    name: str, n_rows: int, n_kept: int, told: str, purpose: str, *, quiet: bool
) -> None:
    """Say how many rows are left out for what they have; an error if all are."""
    if n_kept == 0:
        raise WorkError(
            f"{name} has no row {purpose}: every row has {told}, and --drop-missing "
            "leaves such rows out."
        )
    if n_kept < n_rows:
        note(quiet, f"{n_rows - n_kept} of {n_rows} rows have {told}; left out.")


# -- classes ---------------------------------------------------------------------------


def _labels(column: pd.Series[Any]) -> AnyArray:
    """Labels as the library takes them: text as objects or plain strings."""
    if column.dtype.kind in "biuf":
        return column.to_numpy()
    return np.array(column.astype(str).tolist())


def _is_quantity(column: pd.Series[Any], columns: Columns) -> bool:
    """Whether a target is a number to predict: as the task says, or by its looks.

    It looks so if it has fractions, or more values than there can be classes: many,
    with few rows each.
    """
    if columns.task is not None:
        return columns.task == "quantity"
    if column.dtype.kind not in "iuf":
        return False
    numbers = column.dropna().to_numpy(np.float64)
    n_values = np.unique(numbers).size
    many = n_values > max(_FEW_CLASSES, numbers.size / _ROWS_OF_A_CLASS)
    many = many or _too_many(n_values, numbers.size)
    return many or bool((numbers != np.round(numbers)).any())


def _too_many(n_classes: int, n_rows: int) -> bool:
    """Whether there are more distinct values than there can be classes."""
    return n_classes > _MOST_CLASSES or n_classes > max(_FEW_CLASSES, n_rows / 2)


def _no_target(column: pd.Series[Any], columns: Columns) -> list[str]:
    """Why a target cannot be predicted, if it cannot."""
    if not _is_quantity(column, columns):
        return _no_classes(column)
    name = str(column.name)
    if column.dtype.kind not in "biuf":
        row = _first_wrong(column)
        return [
            f"target {name!r} must hold numbers to be a quantity, got "
            f"{column.iloc[row]!r} in row {row + 1}; leave out --task quantity to "
            "predict classes."
        ]
    if not np.isfinite(column.dropna().to_numpy(np.float64)).all():
        return [f"target {name!r} has infinity in a cell; expected finite numbers."]
    return []


def _no_classes(column: pd.Series[Any]) -> list[str]:
    """Why a target has no classes to tell apart, if it has none."""
    given = column.dropna()
    n_classes, name = given.nunique(), str(column.name)
    if n_classes == 1:
        return [
            f"target {name!r} has one class only, {printable(given.iloc[0])}; expected "
            "two or more."
        ]
    if _too_many(n_classes, len(given)):
        return [
            f"target {name!r} has {n_classes} distinct values in {len(given)} rows; "
            "expected classes, or numbers of a quantity, not an id."
        ]
    return []


def label_named(text: str, classes: Classes, option: str) -> Any:
    """Class that a text on the command line means."""
    try:
        return classes.find(text)
    except KeyError:
        known = classes.labels.tolist()
        raise no_such("class", text, known, f"the target, as {option} says") from None
