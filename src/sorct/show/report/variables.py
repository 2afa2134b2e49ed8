"""Variables: what the page needs to know of them to predict, whatever their kind.

A choice has a row of columns, a number a range or a curve, a missing cell has a row.
Rows are pairs of a column, counted within the variable, and its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.terms import OTHER
from sorct.data.variables import Variable, is_truth
from sorct.data.wording import by_itself
from sorct.show.report.rows import shown_name


def variables(encoder: TableEncoder) -> list[dict[str, Any]]:
    """Every variable as plain data."""
    return [_variable(encoder, variable) for variable in encoder.variables]


def columns(encoder: TableEncoder) -> list[list[int]]:
    """For every column its variable and, for a level, the level's place, else -1."""
    found = []
    for i, variable in enumerate(encoder.variables):
        for k in range(len(variable.column_names)):
            found.append([i, _level_of(variable, k)])
    return found


def _level_of(variable: Variable, k: int) -> int:
    """Place of the choice that column k stands for; -1 if for none or several."""
    if variable.choices is None:
        return -1
    column = variable.encode_choices()[:, k]
    return int(np.argmax(column)) if np.count_nonzero(column) == 1 else -1


def _variable(encoder: TableEncoder, variable: Variable) -> dict[str, Any]:
    told = {**variable.to_dict(), "name": shown_name(variable.name)}
    told["missing"] = _missing_row(encoder, variable)
    if variable.choices is None:
        number = _numbers(variable, variable.typical)
        lower, upper = variable.decode(0.0), variable.decode(1.0)
        return {"lower": lower, "span": upper - lower, **told, "typical": number}
    rows = [_pairs(row) for row in variable.encode_choices()]
    names = choice_names(variable)
    if has_unseen(encoder, variable):
        names, rows = [*names, "other"], [*rows, []]
    typical = variable.choices.index(variable.typical)
    return {**told, "levels": names, "rows": rows, "typical": typical}


def has_unseen(encoder: TableEncoder, variable: Variable) -> bool:
    """Whether levels that training never saw have a place after all choices."""
    # Beside a truth that may be missing, a page has kept a place for others so far.
    closed = is_truth(variable) and not variable.takes_missing
    if closed or OTHER in (variable.choices or ()):
        return False
    term = variable.term(np.ones(len(variable.column_names)), encoder.unknown)
    return encoder.unknown == "other" and not (term is None or term.refuses_unknown)


def choice_names(variable: Variable) -> list[str]:
    """Choices of a category as the page calls them."""
    return [_choice_name(choice) for choice in variable.choices or ()]


def _choice_name(choice: Any) -> str:
    return shown_name(by_itself(choice))


def _missing_row(encoder: TableEncoder, variable: Variable) -> list[list[float]] | None:
    """Columns of a missing cell, None if it is refused."""
    if variable.takes_missing:
        return [[len(variable.column_names) - 1, 1.0]]
    if encoder.missing == "error":
        return None
    if variable.choices is None:
        number = _numbers(variable, variable.typical)
        return _pairs(variable.encode(np.array([number]))[0])
    typical = variable.choices.index(variable.typical)
    return _pairs(variable.encode_choices()[typical])


def _numbers(variable: Variable, cell: Any) -> float:
    return float(variable.numbers(np.array([cell]))[0])


def _pairs(row: FloatArray) -> list[list[float]]:
    return [[int(k), float(row[k])] for k in np.flatnonzero(row)]
