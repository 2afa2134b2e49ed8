"""Missing cells: any variable, and beside it a weight for cells that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.terms import LevelTerm, LinearTerm, MissingTerm, Term
from sorct.data.variables import Variable, levels_of


@dataclass(frozen=True)
class WithMissing:
    """A variable of which training had missing cells.

    A missing cell has 0 in all columns of the variable and 1 in one more, so that it
    adds a weight of its own to a cut in place of what the variable would add.
    """

    known: Variable

    affine = None
    takes_missing = True

    @property
    def name(self) -> str:
        """Name of the column in the table."""
        return self.known.name

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the variable, and "variable is missing"."""
        return (*self.known.column_names, f"{self.name} is missing")

    @property
    def choices(self) -> tuple[Any, ...] | None:
        """Choices of the variable, and None for missing."""
        choices = self.known.choices
        return None if choices is None else (*choices, None)

    @property
    def separate(self) -> bool:
        """As the variable itself."""
        return self.known.separate

    @property
    def ordered(self) -> bool:
        """As the variable itself."""
        return self.known.ordered

    @property
    def whole(self) -> bool:
        """As the variable itself."""
        return self.known.whole

    @property
    def origin(self) -> str | None:
        """As the variable itself."""
        return self.known.origin

    @property
    def bends(self) -> tuple[float, ...]:
        """As the variable itself."""
        return self.known.bends

    @property
    def typical(self) -> Any:
        """Typical value of the cells that are known."""
        return self.known.typical

    def numbers(self, column: Any) -> FloatArray:
        """Cells as numbers, NaN where missing."""
        return self.known.numbers(column)

    def codes(self, column: Any, unknown: str = "error") -> IntArray:
        """Positions among the choices, of which the last is missing."""
        codes = self.known.codes(column, unknown)
        missing = np.asarray(column.isna(), dtype=np.bool_)
        return np.where(missing, len(self.choices or ()) - 1, codes)

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Columns of the numbers, and whether they are missing."""
        values = np.asarray(numbers, dtype=np.float64).ravel()
        missing = np.isnan(values)
        columns = self.known.encode(np.where(missing, 0.0, values))
        columns[missing] = 0.0
        return np.column_stack([columns, missing])

    def encode_codes(self, codes: IntArray) -> FloatArray:
        """Columns of the choices, and whether they are missing."""
        missing = codes == len(self.choices or ()) - 1
        columns = self.known.encode_codes(np.where(missing, -1, codes))
        return np.column_stack([columns, missing])

    def encode_choices(self) -> FloatArray:
        """Rows of the choices, and one for missing."""
        return self.encode_codes(np.arange(len(self.choices or ())))

    def decode(self, place: float) -> float:
        """Number at a place from 0 to 1."""
        return self.known.decode(place)

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Cells as training had them."""
        return self.known.take(cells, unknown)

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """What the variable adds, or the weight of missing."""
        known = None
        if weights[:-1].any():
            known = self.known.term(weights[:-1], unknown)
        if known is None and weights[-1] == 0.0:
            return None
        return MissingTerm(self.name, known, float(weights[-1]), len(weights) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.known.to_dict(), "missing": True}


def completed_term(term: Term, variable: Variable, unknown: str) -> Term:
    """The term of a variable, with a part for known cells even where that adds nothing.

    An export needs that part to know whether a cell is a number, a date or a level, and
    which cells the tree refuses.
    """
    if not isinstance(term, MissingTerm) or term.known is not None:
        return term
    inside = variable.known if isinstance(variable, WithMissing) else variable
    known: Term | None = inside.term(np.ones(len(inside.column_names)), unknown)
    if known is not None:
        known = known.times(0.0)
    elif inside.choices is None:
        known = LinearTerm(term.name, 0.0, 1.0, 0.0, inside.origin)
    else:
        weights = dict.fromkeys(levels_of(inside), 0.0)
        known = LevelTerm(term.name, weights, None if unknown == "error" else 0.0)
    return replace(term, known=known)
