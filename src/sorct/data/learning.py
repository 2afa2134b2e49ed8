"""Learning: the variables of a table in memory, from its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.as_text import warn_of_text
from sorct.data.dates import is_dates
from sorct.data.in_order import in_order
from sorct.data.kinds import learn_dates, learn_levels, learn_numbers
from sorct.data.options import TableOptions
from sorct.data.samples import threads_for
from sorct.data.table import (
    as_table,
    chosen_columns,
    is_categorical,
    is_frame,
    plain_numbers,
    refuse_infinite,
)
from sorct.data.variables import Variable

# Columns that are learned from at a time, and rows that are turned into columns.
_AT_ONCE, _TURNED = 4, 4096


def warn_of_columns(X: Any, options: TableOptions) -> None:
    """Warn of columns that are likely meant otherwise than they will be read."""
    X = as_table(X)
    if not is_frame(X):
        return
    texts = [str(name) for name in X.columns]
    given = set(chosen_columns(options.categorical_features, texts))
    plain = plain_numbers(X)
    warn_of_text(X, [n for n in X.columns if n not in plain and str(n) not in given])


def learn_others(
    X: Any,
    names: list[Any],
    categories: list[str],
    options: TableOptions,
    count: FloatArray | None,
) -> dict[Any, Variable]:
    """Variables of the columns of a frame that are no plain numbers."""
    plain = plain_numbers(X)
    found: dict[Any, Variable] = {}
    for name in names if categories else [n for n in names if n not in plain]:
        column = X[name]
        if str(name) in categories or is_categorical(column):
            found[name] = learn_levels(str(name), column, count, options)
        elif is_dates(column):
            found[name] = learn_dates(str(name), column, count, options)
    return found


def learn_matrix(
    names: list[str],
    numbers: FloatArray,
    count: FloatArray | None,
    options: TableOptions,
    most: int,
) -> list[Variable]:
    """Numeric variables of a whole matrix at once, by at most so many buckets each."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(numbers.sum()):
            refuse_infinite(numbers, names)

    # Some columns at a time: reading a matrix row by row is quicker than one by one.
    def learn(first: int) -> list[Variable]:
        columns = _turned(numbers[:, first : first + _AT_ONCE])
        return [
            learn_numbers(name, column, count, options, most)
            for name, column in zip(names[first:], columns, strict=False)
        ]

    firsts = range(0, len(names), _AT_ONCE)
    learned = in_order(learn, firsts, threads_for(len(numbers)))
    return [one for some in learned for one in some]


def _turned(numbers: FloatArray) -> FloatArray:
    """Columns one after another, some rows at a time: quicker than all at once."""
    columns = np.empty(numbers.shape[::-1])
    for first in range(0, len(numbers), _TURNED):
        rows = slice(first, first + _TURNED)
        columns[:, rows] = numbers[rows].T
    return columns
