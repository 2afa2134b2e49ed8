"""Data: which columns of a table are what, for training and for a trained tree.

Columns keep their types: classes come out of a tree as they went in. What does not suit
is refused with the column, the row and the cure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.cli.messages import WorkError, no_such, say
from sorct.cli.tables import Source
from sorct.data.target import Classes
from sorct.data.variables import CellError, Variable
from sorct.data.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from sorct.tree.tree import Tree

_NEEDED = " The tree needs it."
# A target with more distinct values than this, or than half the rows, is no class.
_MOST_CLASSES, _FEW_CLASSES = 100, 20
# Levels of a column that are warned of if they are as many as half the rows, and
# levels that are refused.
_MANY_LEVELS, _MOST_LEVELS = 50, 1000
# Values that columns of Parquet may hold, and what is said of others.
_PLAIN = (str, bool, int, float, np.bool_, np.number)
_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
_REFUSED: dict[tuple[type, ...], tuple[str, str]] = {
    _TIMES: ("dates or times", "Turn it into a number, such as days since a date"),
    (bytes, bytearray): ("bytes", "Turn it into text or numbers"),
    (list, tuple, dict, set, np.ndarray): (
        "lists or records",
        "Give each of their parts a column of its own",
    ),
}
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([,.' ]\d{3})+([,.]\d+)?")
_OTHERS = ("values of another type", "Turn it into text or numbers")


@dataclass(frozen=True)
class Columns:
    """Which columns to train on: what the options of the command line say."""

    target: str
    weight: str | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    categorical: Sequence[str] = ()
    drop_missing: bool = False


@dataclass(frozen=True)
class Training:
    """A table to train on: variables, classes, and weights if there are any."""

    X: pd.DataFrame
    y: AnyArray
    weight: FloatArray | None


def training_data(source: Source, columns: Columns) -> Training:
    """Variables, target and weights of a table, checked."""
    for name in (columns.target, columns.weight):
        if name is not None and name not in source.columns:
            raise no_such("column", name, source.columns, source.name)
    if columns.weight == columns.target:
        raise WorkError(f"Column {columns.target!r} cannot be target and weight.")
    names = _variables(source, columns)
    categorical = _named(source, columns.categorical)
    given = [columns.target, *([columns.weight] if columns.weight else [])]
    frame = _suited(
        source, [*names, *given], text=[columns.target, *categorical], droppable=names
    )
    for name in categorical:
        frame[name] = frame[name].astype(str).where(frame[name].notna())
    frame = _complete(source, frame[[*names, *given]], columns)
    y = _classes(source, frame[columns.target])
    weight = None
    if columns.weight is not None:
        weight = _numbers(source, frame[columns.weight]).to_numpy(np.float64)
    X = frame[names]
    for name in names:
        _look_at(X[name], source)
    return Training(X, y, weight)


# -- columns -----------------------------------------------------------------------


def _variables(source: Source, columns: Columns) -> list[str]:
    """Names of the columns to train on, in the order of the table."""
    taken = {columns.target, columns.weight}
    kept, left_out = _named(source, columns.keep), _named(source, columns.drop)
    for name in (*kept, *left_out):
        if name == columns.target:
            raise WorkError(
                f"Column {name!r} is the target; it is no variable to choose."
            )
    names = [name for name in source.columns if name not in taken]
    if kept:
        names = [name for name in names if name in kept]
    names = [name for name in names if name not in left_out]
    if not names:
        raise WorkError(
            f"{source.name} has no column to train on beside {columns.target!r}."
        )
    return names


def _named(source: Source, given: Sequence[str]) -> list[str]:
    """Columns named one by one or, where no name has a comma, in a list."""
    names: list[str] = []
    for text in given:
        parts = [text] if text in source.columns else text.split(",")
        for part in parts:
            name = part if part in source.columns else part.strip()
            if name not in source.columns:
                raise no_such("column", name, source.columns, source.name)
            names.append(name)
    return names


def _suited(
    source: Source,
    only: Collection[str],
    *,
    text: Collection[str],
    droppable: Collection[str] = (),
) -> pd.DataFrame:
    """Some columns, of numbers, truth and text only; those named stay text.

    Decimal numbers of Parquet become floats. All else is refused, but for dates and
    times that stay text.
    """
    frame = source.frame(text=text, only=only).copy()
    if not source.is_typed:
        return frame
    for name in frame.columns:
        cure = f", or leave it out (--drop {name!r})." if name in droppable else "."
        frame[name] = _plain(source, frame[name], name in text, cure)
    return frame


def _plain(source: Source, column: pd.Series[Any], is_text: bool, cure: str) -> Any:
    """A column of Parquet as numbers, truth or text, or an error with the cure."""
    if column.dtype.kind in "biuf":
        return column
    is_category = column.dtype.name == "category"
    values = column.cat.categories.to_series() if is_category else column
    odd = next((v for v in values.dropna() if not isinstance(v, _PLAIN)), None)
    if odd is None:
        return column
    if (is_text or is_category) and isinstance(odd, (Decimal, *_TIMES)):
        if is_category:
            return column.cat.rename_categories(str)
        return column.map(str, na_action="ignore")
    if isinstance(odd, Decimal):
        return column.astype(np.float64)
    what, how = next(
        (told for kinds, told in _REFUSED.items() if isinstance(odd, kinds)), _OTHERS
    )
    raise WorkError(
        f"{source.name}: column {str(column.name)!r} holds {what}, such as "
        f"{odd!r:.60}; expected numbers or text. {how}{cure}"
    )


def _complete(source: Source, frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Rows without missing cells, if they are to be left out, or an error."""
    missing = frame.isna()
    if not missing.to_numpy().any():
        return frame
    if columns.drop_missing:
        kept = frame[~missing.any(axis=1)].reset_index(drop=True)
        if kept.empty:
            raise WorkError(f"{source.name} has a missing cell in every row.")
        if not source.reading.quiet:
            n_out = len(frame) - len(kept)
            say("note", f"{n_out} of {len(frame)} rows have missing cells; left out.")
        return kept
    name = next(str(name) for name in frame.columns if missing[name].any())
    raise _missing_cells(source, frame[name], _cure(name, columns))


def _cure(name: str, columns: Columns) -> str:
    rows = "leave such rows out (--drop-missing)"
    if name in (columns.target, columns.weight):
        return f"Fill them in, or {rows}."
    return f"Fill them in, leave the column out (--drop {name!r}), or {rows}."


def _missing_cells(source: Source, column: pd.Series[Any], cure: str) -> WorkError:
    missing = np.flatnonzero(column.isna().to_numpy())
    return WorkError(
        f"{source.name}: column {str(column.name)!r} has {len(missing)} missing "
        f"cell(s), the first in row {missing[0] + 1}. {cure}"
    )


def _numbers(source: Source, column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of numbers, or an error that names a cell that is none."""
    import pandas as pd

    if column.dtype.kind in "iufb" and column.dtype != bool:
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = np.flatnonzero(numbers.isna().to_numpy() & column.notna().to_numpy())
    if column.dtype == bool or len(wrong) > 0:
        row = int(wrong[0]) if len(wrong) else 0
        raise WorkError(
            f"{source.name}: column {str(column.name)!r} must hold numbers, got "
            f"{column.iloc[row]!r} in row {row + 1}."
        )
    return numbers


# -- classes -----------------------------------------------------------------------


def _classes(source: Source, column: pd.Series[Any]) -> AnyArray:
    """Labels: whole numbers and True/False as such, all else as it is written."""
    if source.is_typed and column.dtype.name != "category":
        labels = column.to_numpy()
        if column.dtype.kind == "O" or column.dtype.name in ("string", "str"):
            labels = column.astype(str).to_numpy(dtype=object)
    else:
        labels = np.array(_typed(column.astype(str).tolist()))
    n_classes = len(np.unique(labels))
    name, few = str(column.name), _FEW_CLASSES
    if n_classes < 2:
        raise WorkError(
            f"{source.name}: target {name!r} has one class only, "
            f"{labels.tolist()[0]!r}; expected two or more."
        )
    if n_classes > _MOST_CLASSES or n_classes > max(few, len(labels) / 2):
        raise WorkError(
            f"{source.name}: target {name!r} has {n_classes} distinct values in "
            f"{len(labels)} rows; expected classes, not a quantity or an id."
        )
    return labels


def _typed(texts: list[str]) -> list[Any]:
    """Texts as whole numbers or booleans if they are written just so."""
    distinct = set(texts)
    if distinct <= {"True", "False"}:
        return [text == "True" for text in texts]
    if all(_is_whole(text) for text in distinct):
        return [int(text) for text in texts]
    return texts


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return plain and str(int(text)) == text


# -- columns that look wrong ---------------------------------------------------------


def _look_at(column: pd.Series[Any], source: Source) -> None:
    """Warn of a column that is hardly meant as it is read, refuse a hopeless one."""
    name, n_rows = str(column.name), len(column)
    if column.dtype.kind == "O" and (n_levels := column.nunique()) > _MOST_LEVELS:
        raise WorkError(
            f"{source.name}: column {name!r} is text with {n_levels} distinct values, "
            f"of which each would become a column; leave it out (--drop {name!r})."
        )
    if source.reading.quiet:
        return
    if column.dtype.kind in "iu":
        if n_rows > 2 and bool((np.diff(column.to_numpy()) == 1).all()):
            say("warning", f"column {name!r} counts the rows; leave it out (--drop).")
        return
    if column.dtype.kind not in "OTU" or column.dtype.name == "bool":
        return
    levels = column.unique().tolist()
    odd = _odd_numbers(levels, source.reading.decimal)
    if odd is not None:
        say("warning", f"column {name!r} is read as text, {odd}.")
    elif len(levels) == n_rows and n_rows > 2:
        say(
            "warning",
            f"column {name!r} has another value in every row, like an id; leave it out "
            "(--drop).",
        )
    elif len(levels) > max(_MANY_LEVELS, n_rows / 2):
        say(
            "warning",
            f"column {name!r} has {len(levels)} distinct values, of which each becomes "
            "a column; leave it out (--drop)?",
        )


def _odd_numbers(levels: list[Any], decimal: str) -> str | None:
    """Why levels that are numbers for the most part are read as text, if they are."""
    texts = [str(level) for level in levels]
    others = [text for text in texts if not _is_number(text)]
    if others and all(_THOUSANDS.fullmatch(text) for text in texts):
        return "but looks like numbers with thousands separators; write them without"
    pointed = all(_is_number(text.replace(",", ".", 1)) for text in texts)
    if others and pointed and decimal == ".":
        return "but looks like numbers with a decimal comma; add --decimal ,"
    if others and len(others) < len(texts) / 2:
        return (
            f"but {len(texts) - len(others)} of its {len(texts)} distinct values are "
            f"numbers; the others are {listed(others, 3)} (--missing names cells that "
            "count as missing)"
        )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- rows for a trained tree -----------------------------------------------------------


def rows_for(
    source: Source, tree: Tree, *, all_variables: bool = False
) -> pd.DataFrame:
    """Variables of a tree from a table, as its encoder reads them.

    Variables that no cut uses need not be there: unless all are asked for, each gets
    some value of training, which changes no prediction.
    """
    import pandas as pd

    used = set(tree.variables_used)
    variables = tree.encoder.variables
    needed = [v.name for v in variables if all_variables or v.name in used]
    missing = [name for name in needed if name not in source.columns]
    if missing:
        raise no_such("column", missing[0], source.columns, source.name, _NEEDED)
    text = [v.name for v in variables if v.choices is not None]
    frame = _suited(source, needed, text=text) if needed else source.as_written()
    n_rows, columns = len(frame), {}
    for variable in variables:
        if variable.name in needed:
            column = frame[variable.name]
            columns[variable.name] = _values(source, column, variable, tree)
        else:
            columns[variable.name] = _repeated(variable.typical, n_rows)
    return pd.DataFrame(columns)


def _repeated(value: Any, n_rows: int) -> Any:
    if isinstance(value, float):
        return np.full(n_rows, value)
    values = np.empty(n_rows, dtype=object)
    values[:] = [value] * n_rows
    return values


def _values(
    source: Source, column: pd.Series[Any], variable: Variable, tree: Tree
) -> Any:
    if column.isna().any():
        raise _missing_cells(source, column, "Fill them in.")
    try:
        return variable.take(column.tolist(), tree.encoder.unknown)
    except CellError as error:
        cure = ""
        if variable.choices is not None:
            cure = (
                " Add --handle-unknown first_level to take new levels for the first "
                "of these."
            )
        raise WorkError(
            f"{source.name}: column {variable.name!r} {error}.{cure}"
        ) from error


def labels_for(source: Source, target: str, classes: Classes) -> AnyArray:
    """Classes of a table's rows, as a tree knows them."""
    if target not in source.columns:
        raise no_such("column", target, source.columns, source.name)
    column = _suited(source, [target], text=[target])[target]
    if column.isna().any():
        raise _missing_cells(source, column, "Fill them in.")
    found, known = [], classes.labels.tolist()
    for row, text in enumerate(column.astype(str).tolist()):
        try:
            found.append(classes.find(text))
        except KeyError:
            raise WorkError(
                f"{source.name}: target {target!r} is {text!r} in row {row + 1}, no "
                f"class of the model; expected one of {listed(known)}."
            ) from None
    return np.array(found, dtype=classes.labels.dtype)


def label_named(text: str, classes: Classes, option: str) -> Any:
    """Class that a text on the command line means."""
    try:
        return classes.find(text)
    except KeyError:
        known = classes.labels.tolist()
        raise no_such("class", text, known, f"the target, as {option} says") from None
