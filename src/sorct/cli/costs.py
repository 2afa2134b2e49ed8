"""Costs: the cost matrix from a small CSV file.

The first line names the classes predicted, the first column the true ones; both may be
in any order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sorct._typing import FloatArray
from sorct.cli.messages import WorkError
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


def _check_labels(name: str, place: str, given: list[str], labels: list[str]) -> None:
    if sorted(given) != sorted(labels):
        raise WorkError(
            f"{name}: the {place} must name every class once, {listed(labels)}; got "
            f"{listed(given) or 'nothing'}."
        )


def _cost(name: str, cell: str, true: str, predicted: str) -> float:
    if true == predicted and not cell:
        return 0.0
    try:
        cost = float(cell)
    except ValueError:
        cost = -1.0
    if not np.isfinite(cost) or cost < 0.0 or (true == predicted and cost != 0.0):
        expected = "0 or nothing" if true == predicted else "a number >= 0"
        raise WorkError(
            f"{name}: the cost of predicting {predicted!r} for {true!r} must be "
            f"{expected}, got {cell!r}."
        )
    return cost
