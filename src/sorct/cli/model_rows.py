"""Rows for a trained model: variables and target of a table, as training had them.

What the model cannot take is refused in one message, with the rows and the cures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray
from sorct.cli.data import told_gaps
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

    used = set(tree.variables_used)
    variables = tree.encoder.variables
    needed = {v.name: v for v in variables if all_variables or v.name in used}
    missing = [name for name in needed if name not in sheet.columns]
    if len(missing) > 1:
        raise WorkError(
            f"There are no columns {listed(missing)} in {sheet.name}. The tree needs "
            f"them. Got {listed(sheet.columns)}."
        )
    if missing:
        raise no_such("column", missing[0], sheet.columns, sheet.name, _NEEDED)
    continua = [name for name, v in needed.items() if v.choices is None]
    read = read_columns(sheet, continua)
    levels = sheet.as_written([name for name in needed if name not in continua])
    problems, columns = list(read.problems), {}
    for variable in variables:
        name = variable.name
        if name not in needed:
            columns[name] = _repeated(variable.typical, len(sheet.frame))
            continue
        if variable.choices is not None:
            cells = _levels(sheet, levels[name], variable)
        else:
            cells = _continuum(read, variable)
        if only is not None:
            cells = _missing_but(only, cells)
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
    cure = "Training had none: fill them in"
    if can_say:
        cure += (
            ", or add handle_missing='typical' to take the median or most frequent "
            "value of training"
        )
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


def target_for(sheet: Sheet, target: str, tree: Tree | Forest) -> AnyArray:
    """What a table's rows are, to show a model on them: classes, or numbers."""
    if target not in sheet.columns:
        raise no_such("column", target, sheet.columns, sheet.name)
    if isinstance(tree.target, Classes):
        return _labels_for(sheet, target, tree.target)
    return _numbers_for(sheet, target)


def _numbers_for(sheet: Sheet, target: str) -> AnyArray:
    """Numbers of a column without gaps."""
    import pandas as pd

    read = read_columns(sheet, [target])
    problems = list(read.problems)
    if not problems:
        cells = pd.Series(read.number_cells(target), dtype=object, name=target)
        gap = told_gaps(cells, "Fill them in")
        wrong = [one for one in cells if not isinstance(one, (int, float))]
        if gap is None and wrong:
            gap = (
                f"target {target!r} must hold numbers, which the model predicts, got "
                f"{wrong[0]!r}."
            )
        problems = [] if gap is None else [gap]
    if problems:
        raise ReadingError.of(sheet.name, problems)
    return cells.to_numpy(np.float64)


def _labels_for(sheet: Sheet, target: str, classes: Classes) -> AnyArray:
    """Classes of a table's rows, as a tree knows them, whatever their capitals."""
    column = sheet.as_written([target])[target]
    cells = TextCells.of(column, sheet.options.markers if sheet.source else ())
    if cells.n_missing:
        row = int(np.flatnonzero(cells.codes < 0)[0]) + 1
        raise WorkError(
            f"{sheet.name}: column {target!r} has {cells.n_missing} missing cell(s), "
            f"the first in row {row}. Fill them in."
        )
    known = classes.labels.tolist()
    by_fold = {str(label).casefold(): label for label in known}
    found = []
    for k, text in enumerate(cells.values):
        try:
            found.append(classes.find(text))
        except KeyError:
            if text.casefold() not in by_fold:
                row = int(np.flatnonzero(cells.codes == k)[0]) + 1
                raise WorkError(
                    f"{sheet.name}: target {target!r} is {text!r} in row {row}, no "
                    f"class of the model; expected one of {listed(known)}."
                ) from None
            found.append(by_fold[text.casefold()])
    return np.array(found, dtype=classes.labels.dtype)[cells.codes]
