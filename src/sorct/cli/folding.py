"""Folding: folds of a table, drawn by the seed: tables are often sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sorct.cli.data import Training
from sorct.cli.messages import WorkError
from sorct.data.quantity import Quantity
from sorct.data.target import Classes

#: Folds where none are asked for.
CV = 5


def most_folds(data: Training) -> int:
    """As many folds as there can be: rows, or those of the largest class."""
    if data.of_quantity:
        return len(data.y)
    return int(np.unique(data.y, return_counts=True)[1].max())


def folds_of(
    n_folds: int, data: Training, seed: int, repeats: int | None = None
) -> Any:
    """Folds; of classes stratified."""
    most = most_folds(data)
    if most < n_folds:
        needed = (
            f"at least as many rows, got {most}"
            if data.of_quantity
            else f"a class with at least as many rows, the largest has {most}"
        )
        raise WorkError(
            f"{n_folds} folds need {needed}; give a smaller --cv, or fixed penalties "
            "(--alpha-local)."
        )
    target = Quantity if data.of_quantity else Classes
    return target.splitter(n_folds, seed, repeats)
