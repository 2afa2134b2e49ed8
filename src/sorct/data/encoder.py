"""TableEncoder: the variables of a table, and how all of them become columns in [0, 1].

It is plain data: learned with scikit-learn's parts, saved as JSON, and read without
them. Plain arrays must be numeric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.table import (
    Table,
    as_table,
    check_finite,
    is_categorical,
    is_frame,
    is_text,
    numeric_part,
)
from sorct.data.terms import Term
from sorct.data.variables import Categorical, Numeric, Variable
from sorct.data.wording import listed

# Columns that are learned from at a time.
_AT_ONCE = 8


@dataclass(frozen=True)
class TableEncoder:
    """The variables of a table and how each becomes columns in [0, 1].

    Attributes
    ----------
    variables : tuple of Variable, in the order of the table
    named : bool
        Whether the names are the user's (a data frame) or made up (an array).
    unknown : {"error", "first_level"}
        What to do with levels never seen in training.
    """

    variables: tuple[Variable, ...]
    named: bool
    unknown: str = "error"

    @classmethod
    def learn(cls, X: Any, unknown: str = "error") -> TableEncoder:
        """Learn ranges and levels from training data."""
        X = as_table(X)
        if not is_frame(X):
            names = [f"x{j}" for j in range(X.shape[1])]
            return cls(_learn_numbers(names, X), False, unknown)
        plain = [name for name in X.columns if not is_categorical(X[name])]
        found: dict[Any, Variable] = {}
        if plain:
            numbers = _learn_numbers([str(n) for n in plain], numeric_part(X, plain))
            found |= dict(zip(plain, numbers, strict=True))
        for name in X.columns:
            if name not in found:
                found[name] = Categorical.learn(str(name), X[name])
        return cls(tuple(found[name] for name in X.columns), True, unknown)

    # -- columns ---------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Name of every column; that of a level is 'variable = level'."""
        return tuple(name for v in self.variables for name in v.column_names)

    @cached_property
    def first_column(self) -> IntArray:
        """First column of every variable, and at last the number of columns."""
        counts = [len(variable.column_names) for variable in self.variables]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    @cached_property
    def column_variable(self) -> IntArray:
        """Position of the variable that every column belongs to."""
        return np.repeat(np.arange(len(self.variables)), np.diff(self.first_column))

    @property
    def n_columns(self) -> int:
        """Number of columns after encoding."""
        return int(self.first_column[-1])

    @cached_property
    def constant_columns(self) -> BoolArray:
        """Columns that can add nothing, because their variable never varied."""
        spans = [1.0 if v.affine is None else v.affine[1] for v in self.variables]
        return np.asarray(np.array(spans)[self.column_variable] == 0.0)

    def columns_of(self, i: int) -> slice:
        """Columns of variable i."""
        return slice(int(self.first_column[i]), int(self.first_column[i + 1]))

    def terms(self, weights: FloatArray) -> dict[int, Term]:
        """What variables add to a cut, by their positions; weights per column."""
        found = {
            int(i): self.variables[i].term(weights[self.columns_of(i)], self.unknown)
            for i in np.unique(self.column_variable[weights != 0.0])
        }
        return {i: term for i, term in found.items() if term is not None}

    # -- tables ----------------------------------------------------------------------

    def read(self, X: Any, *, check_finite: bool = True) -> Table:
        """Check a table against the variables; numbers are not scaled yet.

        Whoever puts off the search for NaN and infinity calls ``check_finite`` later.
        """
        table = self._read(X)
        if check_finite:
            self.check_finite(table)
        return table

    def check_finite(self, table: Table, rows: slice = slice(None)) -> None:  # noqa: B008
        """Raise an error that names the columns with NaN or infinity in some rows."""
        check_finite(table.numbers[rows], [self.names[i] for i in self._numbers])

    def _read(self, X: Any) -> Table:
        X = as_table(X)
        if not (self.named and is_frame(X)):
            return self._read_array(X)
        given = {str(name): name for name in X.columns}
        self._check_names(list(given))
        encoded, plain = {}, []
        for i, variable in enumerate(self.variables):
            column = X[given[variable.name]]
            if variable.affine is None:
                encoded[i] = variable.encode(column, self.unknown)
            elif is_text(column):
                raise ValueError(
                    f"Column {variable.name!r} was numeric in training, got values of "
                    f"dtype {column.dtype}."
                )
            else:
                plain.append(given[variable.name])
        numbers = numeric_part(X, plain) if plain else np.empty((len(X), 0))
        return Table(numbers, encoded)

    def _read_array(self, X: Any) -> Table:
        if len(self._numbers) < len(self.variables):
            raise ValueError(
                "The tree was trained on a table with categorical columns; expected a "
                f"pandas DataFrame, got {type(X).__name__}."
            )
        if X.shape[1] != len(self.variables):
            raise ValueError(
                f"Expected {len(self.variables)} columns as in training, "
                f"got {X.shape[1]}."
            )
        return Table(np.asarray(X, dtype=np.float64), {})

    def _check_names(self, names: list[str]) -> None:
        missing = [name for name in self.names if name not in names]
        extra = [name for name in names if name not in self.names]
        if missing or extra:
            raise ValueError(
                "Expected the columns of training"
                + (f"; missing: {listed(missing)}" if missing else "")
                + (f"; not seen in training: {listed(extra)}" if extra else "")
                + "."
            )

    @cached_property
    def _numbers(self) -> list[int]:
        """Variables that a table keeps as raw numbers."""
        return [i for i, v in enumerate(self.variables) if v.affine is not None]

    # -- values ----------------------------------------------------------------------

    def scale(self, table: Table, rows: slice, columns: IntArray) -> FloatArray:
        """Scaled values of some rows and columns, in column order (n_columns, n)."""
        scaled = np.empty((len(columns), len(range(*rows.indices(table.n_samples)))))
        for out, column in zip(scaled, columns.tolist(), strict=True):
            i = int(self.column_variable[column])
            affine = self.variables[i].affine
            if affine is None:
                out[:] = table.encoded[i][rows, column - int(self.first_column[i])]
            elif affine[1] == 0.0:
                out[:] = 0.0
            else:
                np.subtract(self._raw(table, i)[rows], affine[0], out=out)
                out /= affine[1]
        return scaled

    def _raw(self, table: Table, i: int) -> FloatArray:
        """Numbers of variable i."""
        raw: FloatArray = table.numbers[:, self._numbers.index(i)]
        return raw

    def cells(self, table: Table, i: int, rows: IntArray) -> list[float] | list[int]:
        """Raw numbers of variable i in some rows, or the places of its choices."""
        if self.variables[i].affine is not None:
            return list(self._raw(table, i)[rows].tolist())
        columns = table.encoded[i][rows]
        place = columns @ np.arange(1, columns.shape[1] + 1)
        return list(place.astype(int).tolist())

    def columns(self, X: Any) -> ScaledColumns:
        """Scaled columns of a table, each made when it is asked for."""
        return ScaledColumns(self, self.read(X))

    def encode(self, X: Any) -> FloatArray:
        """Whole table in [0, 1], shape (n_samples, n_columns), column-major."""
        table = self.read(X)
        return self.scale(table, slice(None), np.arange(self.n_columns)).T

    def every_level(self, X: Any) -> tuple[FloatArray, IntArray]:
        """Raw numbers, and a 0/1 column for every level; one for two levels.

        This is how methods see a table that need no reference level. Beside the
        columns comes the position of the variable that each belongs to.
        """
        table, columns = self.read(X), []
        for i in range(len(self.variables)):
            if i not in table.encoded:
                columns.append(self._raw(table, i)[:, np.newaxis])
                continue
            others = table.encoded[i]
            if others.shape[1] > 1:
                first = 1.0 - others.sum(axis=1, keepdims=True)
                others = np.concatenate([first, others], axis=1)
            columns.append(others)
        widths = [part.shape[1] for part in columns]
        return np.concatenate(columns, axis=1), np.repeat(
            np.arange(len(widths)), widths
        )


class ScaledColumns(Sequence[FloatArray]):
    """The columns of a table in [0, 1]; only the table itself is held."""

    def __init__(self, encoder: TableEncoder, table: Table) -> None:
        self._encoder = encoder
        self._table = table

    def __len__(self) -> int:
        return self._encoder.n_columns

    def __getitem__(self, j: Any) -> Any:
        return self._encoder.scale(self._table, slice(None), np.array([j]))[0]


def _learn_numbers(names: list[str], numbers: FloatArray) -> tuple[Numeric, ...]:
    """Numeric variables of a whole matrix at once."""
    check_finite(numbers, names)
    found: list[Numeric] = []
    # Some columns at a time: reading a matrix row by row is quicker than one by one.
    for first in range(0, len(names), _AT_ONCE):
        columns = np.ascontiguousarray(numbers[:, first : first + _AT_ONCE].T)
        found += map(Numeric.learn, names[first : first + _AT_ONCE], columns)
    return tuple(found)
