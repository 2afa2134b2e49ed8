"""Rows for a trained model: variables and target of a table, as training had them.

What the model cannot take is refused in one message, with the rows and the cures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray
from sorct.cli.data import tell_left_out, told_gaps
from sorct.cli.messages import WorkError, no_such
from sorct.data.cells import TextCells
from sorct.data.columns import ReadColumns, read_columns
from sorct.data.sheet import DOUBTFUL, ReadingError, Sheet
from sorct.data.target import Classes
from sorct.data.terms import OTHER
from sorct.data.variables import CellError, Variable
from sorct.data.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from sorct.tree.forest import Forest
    from sorct.tree.tree import Tree

_NEEDED = " The tree needs it."
_TYPICAL = (
    "add handle_missing='typical' to take the median or most frequent value of training"
)
_NO_TARGET = "Fill them in, or leave such rows out (--drop-missing target)"


def rows_for(
    sheet: Sheet,
    tree: Tree | Forest,
    *,
    all_variables: bool = False,
    only: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Variables of a model from a table, as its encoder reads them.

    Variables that no cut uses need not be there: unless all are asked for, each gets
    some value of training, which changes no prediction. With positions of rows, these
    ``only`` have to suit the model; all others are left out.
    """
    import pandas as pd

    needed = _needed(sheet, tree, all_variables=all_variables)
    found, problems = _cells(sheet, needed)
    columns: dict[str, Any] = {}
    for variable in tree.encoder.variables:
        name = variable.name
        if name not in needed:
            columns[name] = _repeated(variable.typical, len(sheet.frame))
            continue
        cells = found[name] if only is None else _missing_but(only, found[name])
        problems += _refused_gaps(
            cells, variable, tree, only, can_say=not all_variables
        )
        try:
            columns[name] = variable.take(cells, tree.encoder.unknown)
        except CellError as error:
            problems.append(f"column {name!r} {error}.{_cure(variable, tree)}")
    if problems:
        raise ReadingError.of(sheet.name, problems)
    frame = pd.DataFrame(columns)
    return frame if only is None else frame.iloc[list(only)]


def _needed(
    sheet: Sheet, tree: Tree | Forest, *, all_variables: bool
) -> dict[str, Variable]:
    """Variables whose columns have to be there, and are."""
    used, variables = set(tree.variables_used), tree.encoder.variables
    needed = {v.name: v for v in variables if all_variables or v.name in used}
    missing = [name for name in needed if name not in sheet.columns]
    if len(missing) > 1:
        raise WorkError(
            f"There are no columns {listed(missing)} in {sheet.name}. The tree needs "
            f"them. Got {listed(sheet.columns)}."
        )
    if missing:
        raise no_such("column", missing[0], sheet.columns, sheet.name, _NEEDED)
    return needed


def _cells(
    sheet: Sheet, needed: dict[str, Variable]
) -> tuple[dict[str, list[Any]], list[str]]:
    """Cells of every variable, and what is wrong with their columns."""
    continua = [name for name, v in needed.items() if v.choices is None]
    read = read_columns(sheet, continua)
    levels = sheet.as_written([name for name in needed if name not in continua])
    cells = {
        name: _continuum(read, variable)
        if variable.choices is None
        else _levels(sheet, levels[name], variable)
        for name, variable in needed.items()
    }
    return cells, list(read.problems)


def _missing_but(places: Iterable[int], cells: list[Any]) -> list[Any]:
    """The cells at some places; the others are missing, which suits every variable."""
    kept: list[Any] = [None] * len(cells)
    for place in places:
        kept[place] = cells[place]
    return kept


def _repeated(value: Any, n_rows: int) -> Any:
    if isinstance(value, float):
        return np.full(n_rows, value)
    values = np.empty(n_rows, dtype=object)
    values[:] = [value] * n_rows
    return values


def _continuum(read: ReadColumns, variable: Variable) -> list[Any]:
    """Cells of a variable of numbers or dates."""
    is_date = variable.origin is not None
    return (read.date_cells if is_date else read.number_cells)(variable.name)


def _levels(sheet: Sheet, column: pd.Series[Any], variable: Variable) -> list[Any]:
    """Cells of a variable with levels: as written if that is one, else stripped."""
    if sheet.source is None:
        return column.astype(object).where(column.notna(), None).tolist()
    levels = [one for one in variable.choices or () if one not in (None, OTHER)]
    known = {str(level) for level in levels}
    words = {*sheet.options.markers, *DOUBTFUL} - known
    return [
        text if text in known else None if text.strip() in words else text.strip()
        for text in column.tolist()
    ]


def _refused_gaps(
    cells: list[Any],
    variable: Variable,
    tree: Tree | Forest,
    only: Sequence[int] | None,
    *,
    can_say: bool,
) -> list[str]:
    """What is said of missing cells that the model does not take."""
    import pandas as pd

    if variable.takes_missing or tree.encoder.missing != "error":
        return []
    cure = "Training had none: fill them in, or "
    cure += _TYPICAL if can_say else "leave such rows out (--drop-missing)"
    column = pd.Series(cells, dtype=object, name=variable.name)
    gap = told_gaps(column if only is None else column.iloc[list(only)], cure)
    return [] if gap is None else [gap]


def _cure(variable: Variable, tree: Tree | Forest) -> str:
    """How a level is taken that training never saw, where there is a way."""
    if variable.choices is None or tree.encoder.unknown != "error":
        return ""
    return (
        " Add handle_unknown='other' to take new levels for others, or "
        "handle_unknown='first_level' to take them for the first of these."
    )


# -- rows and what they are ------------------------------------------------------------


def shown_rows(
    sheet: Sheet,
    target: str,
    tree: Tree | Forest,
    drop_missing: str | None = None,
    *,
    quiet: bool = False,
) -> tuple[pd.DataFrame, AnyArray]:
    """Rows to show a model on, counted from 1, and their classes or numbers."""
    if target not in sheet.columns:
        raise no_such("column", target, sheet.columns, sheet.name)
    only = None
    if drop_missing is not None:
        only = _complete(sheet, target, tree, everywhere=drop_missing != "target")
        told = "no target" if drop_missing == "target" else "missing cells"
        n_rows = len(sheet.frame), len(only)
        tell_left_out(sheet.name, *n_rows, told, "to show the model on", quiet=quiet)
    y = _target_of(sheet, target, tree, only)
    rows = rows_for(sheet, tree, all_variables=True, only=only)
    return rows.set_axis(rows.index + 1), y


def _complete(
    sheet: Sheet, target: str, tree: Tree | Forest, *, everywhere: bool
) -> list[int]:
    """Positions of the rows that have a target and, if asked for, all variables."""
    import pandas as pd

    cells = [_target_cells(sheet, target, tree)]
    if everywhere:
        found, _ = _cells(sheet, _needed(sheet, tree, all_variables=True))
        cells += [pd.Series(column, dtype=object) for column in found.values()]
    missing = np.logical_or.reduce([column.isna().to_numpy() for column in cells])
    return np.flatnonzero(~missing).tolist()


def _target_of(
    sheet: Sheet, target: str, tree: Tree | Forest, only: list[int] | None
) -> AnyArray:
    """What the rows are: classes, or numbers."""
    cells = _target_cells(sheet, target, tree)
    cells = cells if only is None else cells.iloc[only]
    gap = told_gaps(cells, _NO_TARGET)
    if gap is not None:
        raise ReadingError.of(sheet.name, [gap])
    if isinstance(tree.target, Classes):
        return _labels(sheet, cells, tree.target)
    return _numbers(sheet, cells)


def _target_cells(sheet: Sheet, target: str, tree: Tree | Forest) -> pd.Series[Any]:
    """Cells of the target: text of classes, or numbers where they are written so."""
    import pandas as pd

    if isinstance(tree.target, Classes):
        column = sheet.as_written([target])[target]
        found = TextCells.of(column, sheet.options.markers if sheet.source else ())
        texts = found.spread(np.array([*found.values, None], dtype=object))
        return pd.Series(texts, dtype=object, name=target)
    read = read_columns(sheet, [target])
    if read.problems:
        raise ReadingError.of(sheet.name, read.problems)
    return pd.Series(read.number_cells(target), dtype=object, name=target)


def _numbers(sheet: Sheet, cells: pd.Series[Any]) -> AnyArray:
    wrong = [one for one in cells if not isinstance(one, (int, float))]
    if wrong:
        raise ReadingError.of(
            sheet.name,
            [
                f"target {cells.name!r} must hold numbers, which the model predicts, "
                f"got {wrong[0]!r}."
            ],
        )
    return cells.to_numpy(np.float64)


def _labels(sheet: Sheet, cells: pd.Series[Any], classes: Classes) -> AnyArray:
    """Classes as a model knows them, whatever their capitals."""
    known = classes.labels.tolist()
    by_fold = {str(label).casefold(): label for label in known}
    meant = {}
    for row, text in cells.drop_duplicates().items():
        try:
            meant[text] = classes.find(text)
        except KeyError:
            if text.casefold() not in by_fold:
                raise WorkError(
                    f"{sheet.name}: target {cells.name!r} is {text!r} in row "
                    f"{int(str(row)) + 1}, no class of the model; expected one of "
                    f"{listed(known)}."
                ) from None
            meant[text] = by_fold[text.casefold()]
    return np.array([meant[text] for text in cells], dtype=classes.labels.dtype)
