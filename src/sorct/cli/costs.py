"""Costs: the cost matrix, and prices of columns, from small CSV files.

The first line of a cost matrix names the classes predicted, its first column the true
ones; both may be in any order. A file of prices has a name and a price in each line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sorct._typing import FloatArray
from sorct.cli.messages import WorkError, no_such
from sorct.data.sheet import ReadOptions, read_cells
from sorct.data.target import Classes
from sorct.data.wording import listed


def read_costs(name: str, classes: Classes, reading: ReadOptions) -> FloatArray:
    """Matrix in the order of the classes; an empty cell of the diagonal is 0."""
    header, *rows = read_cells(name, Path(name).read_bytes(), reading)
    labels = [str(label) for label in classes.labels.tolist()]
    columns = [cell.strip() for cell in header[1:]]
    lines = {}
    for row in rows:
        if len(row) != len(header):
            raise WorkError(
                f"{name}: the row of {row[0]!r} has {len(row)} cells, expected "
                f"{len(header)} as in the first line."
            )
        lines[row[0].strip()] = row[1:]
    _check_labels(name, "first line", columns, labels)
    _check_labels(name, "first column", [row[0].strip() for row in rows], labels)
    matrix = np.zeros((len(labels), len(labels)))
    for i, true in enumerate(labels):
        for j, predicted in enumerate(labels):
            cell = lines[true][columns.index(predicted)].strip()
            value = cell.replace(reading.decimal or ".", ".")
            matrix[i, j] = _cost(name, value, true, predicted)
    return matrix


def read_prices(
    name: str, known: Sequence[str], reading: ReadOptions
) -> dict[str, float]:
    """Prices of columns by name; a first line without a column's name is a header."""
    prices: dict[str, float] = {}
    rows = read_cells(name, Path(name).read_bytes(), reading)
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise WorkError(
                f"{name}, line {number}: got {len(row)} cell(s), expected two, the "
                "name of a column and its price."
            )
        column, cell = (text.strip() for text in row)
        if number == 1 and column not in known:
            continue
        if column not in known:
            raise no_such("column", column, known, "the table", f" {name} prices it.")
        if column in prices:
            raise WorkError(f"{name} has two prices of column {column!r}.")
        value = _number(cell.replace(reading.decimal or ".", "."))
        if value is None:
            raise WorkError(
                f"{name}: the price of column {column!r} must be a number >= 0, got "
                f"{cell!r}."
            )
        prices[column] = value
    return prices


def _number(cell: str) -> float | None:
    """A finite number >= 0, None if the text is not one."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if np.isfinite(value) and value >= 0.0 else None


def _check_labels(name: str, place: str, given: list[str], labels: list[str]) -> None:
    if sorted(given) != sorted(labels):
        raise WorkError(
            f"{name}: the {place} must name every class once, {listed(labels)}; got "
            f"{listed(given) or 'nothing'}."
        )


def _cost(name: str, cell: str, true: str, predicted: str) -> float:
    if true == predicted and not cell:
        return 0.0
    cost = _number(cell)
    if cost is None or (true == predicted and cost != 0.0):
        expected = "0 or nothing" if true == predicted else "a number >= 0"
        raise WorkError(
            f"{name}: the cost of predicting {predicted!r} for {true!r} must be "
            f"{expected}, got {cell!r}."
        )
    return cost
