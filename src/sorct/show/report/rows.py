"""Rows: the data that a report shows trees on, and which of them it lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from sorct._typing import AnyArray, IntArray
from sorct.data.table import Table, is_frame
from sorct.data.target import data_given
from sorct.data.variables import Variable
from sorct.data.wording import printable

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

#: Digits of a number that is drawn.
DIGITS = 6


@dataclass(frozen=True)
class Shown:
    """Data to show trees on: the table, its labels as class codes, its rows' names.

    A label that no tree knows has code -1.
    """

    table: Table
    code: IntArray
    names: tuple[str, ...]

    @classmethod
    def of(cls, tree: Tree, X: Any, y: Any) -> Shown | None:
        """Check data against a tree; None if none were given."""
        if not data_given(X, y):
            return None
        table = tree.encoder.read(X)
        code = tree.class_target.codes(y)
        check_consistent_length(X, code)
        if (code < 0).all():
            raise ValueError(
                f"y has none of the classes {tree.classes.tolist()[:5]} of the tree; "
                "expected labels as in training."
            )
        names = X.index if is_frame(X) else range(len(code))
        return cls(table, code, tuple(shown_name(name) for name in names))


def listed_rows(shown: Shown | None, n_rows: int) -> IntArray:
    """Positions of at most ``n_rows`` rows, evenly spaced within every class."""
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
    """How many rows of each class to list, in proportion to its size.

    One by one, each row goes to the class of which the smallest share is listed yet.
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
    return [
        {
            "name": shown.names[row],
            "code": int(shown.code[row]),
            "values": [column[place] for column in values],
        }
        for place, row in enumerate(listed)
    ]


def _cell(cell: float, variable: Variable) -> float | None:
    if variable.choices is None:
        return None if np.isnan(cell) else cell
    return cell if cell >= 0 else len(variable.choices)


def is_training(tree: Tree, shown: Shown | None) -> bool:
    """Whether the rows shown are those of training: the masses are then the same."""
    if shown is None or tree.training.rounded:
        return False
    reach, n = tree.leaf_reach_table(shown.table), len(shown.code)
    mass = [reach[shown.code == k].sum(axis=0) / n for k in range(len(tree.classes))]
    return bool(np.allclose(mass, tree.mass, rtol=0.0, atol=1e-7))


def sizes(tree: Tree, shown: Shown | None) -> dict[str, Any]:
    """Sizes of the training sample and of the data shown, and of the largest class."""
    known = None if shown is None else class_counts(shown.code, len(tree.classes))
    share = tree.class_share
    if shown is not None and known is not None:
        share = np.array(known) / len(shown.code)
    return {
        "n_training": tree.training.n_samples,
        "class_share": short(tree.class_share),
        "n_variables": len(tree.encoder.variables),
        "n_columns": tree.n_columns,
        "n_groups": tree.encoder.n_groups,
        "n_shown": None if shown is None else len(shown.code),
        "class_counts": known,
        "baseline": float(share.max()),
        "baseline_class": int(np.argmax(share)),
    }


def shown_name(thing: Any) -> str:
    """A name as text; a blank one, which could not be seen, becomes "(blank)"."""
    text = printable(thing)
    return text if text.strip() else "(blank)"


def class_counts(code: IntArray, n_classes: int) -> list[int]:
    return [int((code == k).sum()) for k in range(n_classes)]


def short(values: AnyArray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
