"""Variable: a column of a user's table, and how it becomes columns in [0, 1].

Variables are plain data: learned once, saved as JSON, read without the parts they were
learned with. There are numbers (``numeric.py``), categories (``categorical.py``), and
either of them with missing cells (``missing.py``). To add a kind, write a class with
the members of ``Variable`` and name it in ``kinds.py``; ``docs/extending.md`` has an
example.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.terms import OTHER, Term, is_missing

__all__ = [
    "UNKNOWN_POLICIES",
    "CellError",
    "Variable",
    "is_missing",
    "is_truth",
    "kind_of_levels",
    "levels_of",
]

UNKNOWN_POLICIES = ("other", "error", "first_level")


class CellError(ValueError):
    """A cell that a variable cannot take; rows are told from 1."""

    def __init__(self, what: str, row: int, more: str = "") -> None:
        super().__init__(f"{what} in row {row + 1}{more}")


class Variable(Protocol):
    """What the library asks of a variable, whatever its kind.

    A variable either has ``choices``, and then a cell is known by its position among
    them (``codes``), or its cells are numbers (``numbers``).
    """

    @property
    def name(self) -> str:
        """Name of the column in the table."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns in [0, 1] that it becomes."""

    @property
    def affine(self) -> tuple[float, float] | None:
        """Lower end and span if its one column is (x - lower) / span, else None."""

    @property
    def choices(self) -> tuple[Any, ...] | None:
        """Values that it can take if they can be listed, None for a continuum."""

    @property
    def separate(self) -> bool:
        """Whether each of its columns is chosen by itself, as in the paper."""

    @property
    def ordered(self) -> bool:
        """Whether larger values are no smaller in any column but that of missing."""

    @property
    def whole(self) -> bool:
        """Whether it is a continuum of which only whole numbers make sense."""

    @property
    def origin(self) -> str | None:
        """Day from which the days of a date are counted, None for all else."""

    @property
    def bends(self) -> tuple[float, ...]:
        """Ends of its parts, rising, if a continuum has a column for each; or none."""

    @property
    def takes_missing(self) -> bool:
        """Whether training had missing cells, which then have their own weights."""

    @property
    def typical(self) -> Any:
        """A value in the middle of training: the median, or the most frequent."""

    def numbers(self, column: Any) -> FloatArray:
        """Cells of a continuum as numbers, NaN where missing."""

    def codes(self, column: Any, unknown: str = "error") -> IntArray:
        """Positions of cells among the choices; -1 adds nothing to any cut."""

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Columns in [0, 1] of the numbers of a continuum, shape (n, n_columns)."""

    def encode_codes(self, codes: IntArray) -> FloatArray:
        """Columns in [0, 1] of choices by their positions, shape (n, n_columns).

        Those of -1 are 0.
        """

    def encode_choices(self) -> FloatArray:
        """Columns in [0, 1] of all choices, shape (n_choices, n_columns)."""

    def decode(self, place: float) -> float:
        """Number of a continuum at a place from 0 to 1 of its scale."""

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Cells of a file as training had them; a ``CellError`` names a bad one."""

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """What it adds to a cut that gives its columns these weights, if anything."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""


def levels_of(variable: Variable) -> tuple[Any, ...]:
    """Levels of a category, without what stands for missing and for all others."""
    choices = variable.choices or ()
    return tuple(one for one in choices if one is not None and one is not OTHER)


def is_truth(variable: Variable) -> bool:
    """Whether all that it can be, if not missing, is true or false: no third level."""
    choices = variable.choices
    known = [one for one in choices or () if one is not None]
    return choices is not None and all(isinstance(one, bool) for one in known)


def kind_of_levels(levels: Collection[Any]) -> type | None:
    """Text, truth or number, if all levels are one of these, else None."""
    kinds = {_kind(level) for level in levels}
    return kinds.pop() if len(kinds) == 1 else None


def _kind(level: Any) -> type | None:
    if isinstance(level, (bool, str)):
        return bool if isinstance(level, bool) else str
    if isinstance(level, (int, float)) and _is_finite(level):
        return float
    return None


def _is_finite(value: float) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False
