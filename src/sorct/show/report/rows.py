"""Rows: the data that a report shows trees on, and which of them it lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, BoolArray, FloatArray, IntArray
from sorct.data.table import Table, is_frame
from sorct.data.variables import Variable
from sorct.data.wording import printable

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

#: Digits of a number that is drawn.
DIGITS = 6


@dataclass(frozen=True)
class Shown:
    """Data to show trees on: the table, its rows' kinds and names.

    Kinds are classes; of a quantity thirds of the rows, from low to high.

    Attributes
    ----------
    table : Table
    code : array of shape (n_rows,)
        Position of every row's kind; -1 for a label that no tree knows.
    names : tuple of str
    kinds : tuple of str
        Names of the kinds.
    y : array of shape (n_rows,) or None
        The numbers themselves, where a quantity is predicted.
    """

    table: Table
    code: IntArray
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    y: FloatArray | None = None

    def counts(self, here: BoolArray | None = None) -> list[int]:
        """How many rows there are of every kind, of all or of some."""
        code = self.code if here is None else self.code[here]
        return [int((code == k).sum()) for k in range(len(self.kinds))]


def row_names(X: Any, n_rows: int) -> tuple[str, ...]:
    """What rows are called: by the index of a table, else by number."""
    names = X.index if is_frame(X) else range(n_rows)
    return tuple(shown_name(name) for name in names)


def listed_rows(shown: Shown | None, n_rows: int) -> IntArray:
    """Positions of at most ``n_rows`` rows, evenly spaced within every kind."""
    if shown is None:
        return np.array([], dtype=np.intp)
    kinds = [np.flatnonzero(shown.code == k) for k in np.unique(shown.code)]
    taken = _shares(np.array([len(rows) for rows in kinds]), n_rows)
    chosen = [
        rows[np.linspace(0, len(rows) - 1, n).astype(np.intp)]
        for rows, n in zip(kinds, taken, strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def _shares(sizes: IntArray, n_rows: int) -> IntArray:
    """How many rows of each kind to list, in proportion to its size.

    One by one, each row goes to the kind of which the smallest share is listed yet.
    """
    taken = np.zeros_like(sizes)
    for _ in range(min(n_rows, int(sizes.sum()))):
        taken[np.argmin(taken / sizes)] += 1
    return taken


def samples(tree: Tree, shown: Shown | None, listed: IntArray) -> list[dict[str, Any]]:
    """Rows as the page needs them: raw numbers, and places of levels.

    A missing number is None; a level that training never saw comes after all choices.
    """
    if shown is None:
        return []
    encoder = tree.encoder
    values = [
        [_cell(cell, variable) for cell in encoder.cells(shown.table, i, listed)]
        for i, variable in enumerate(encoder.variables)
    ]
    observed = [] if shown.y is None else shown.y[listed].tolist()
    return [
        {
            "name": shown.names[row],
            "code": int(shown.code[row]),
            **({"observed": observed[place]} if observed else {}),
            "values": [column[place] for column in values],
        }
        for place, row in enumerate(listed)
    ]


def _cell(cell: float, variable: Variable) -> float | None:
    if variable.choices is None:
        return None if np.isnan(cell) else cell
    return cell if cell >= 0 else len(variable.choices)


def shown_name(thing: Any) -> str:
    """A name as text; a blank one, which could not be seen, becomes "(blank)"."""
    text = printable(thing)
    return text if text.strip() else "(blank)"


def short(values: AnyArray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
