"""TableEncoder: the variables of a table, and how all of them become columns in [0, 1].

It is plain data, saved as JSON. Plain arrays must be numeric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.dates import is_dates
from sorct.data.learning import learn_matrix, learn_others, warn_of_columns
from sorct.data.level_rows import LONG, Cells, LevelRows
from sorct.data.options import PAPER_TABLE, TableOptions
from sorct.data.scaled_columns import ScaledColumns
from sorct.data.sketch import buckets_for
from sorct.data.table import (
    Table,
    as_table,
    check_finite,
    chosen_columns,
    is_frame,
    is_text,
    numeric_part,
    plain_numbers,
    refuse_infinite,
    refuse_missing,
)
from sorct.data.terms import MissingTerm, Term
from sorct.data.variables import Variable
from sorct.data.wording import listed

# Whole numbers up to this one are exact.
MOST_COUNTED = 2.0**53


@dataclass(frozen=True)
class TableEncoder:
    """The variables of a table and how each becomes columns in [0, 1].

    Attributes
    ----------
    variables : tuple of Variable, in the order of the table
    named : bool
        Whether the names are the user's (a data frame) or made up (an array).
    unknown : {"other", "error", "first_level"}
        What to do with levels never seen in training.
    missing : {"error", "typical"}
        What to do with missing cells of a variable that had none in training.
    """

    variables: tuple[Variable, ...]
    named: bool
    unknown: str = "error"
    missing: str = "error"

    @classmethod
    def learn(
        cls,
        X: Any,
        options: TableOptions = PAPER_TABLE,
        weight: FloatArray | None = None,
        *,
        quiet: bool = False,
    ) -> TableEncoder:
        """Learn scales and levels from training data; weight 2 is the row twice.

        ``quiet`` where nobody is to be warned of columns again.
        """
        X = as_table(X)
        named = is_frame(X)
        names = list(X.columns) if named else [f"x{j}" for j in range(X.shape[1])]
        texts = [str(name) for name in names]
        options.check_columns(texts)
        categories = chosen_columns(options.categorical_features, texts)
        count = None if weight is None else rows_stood_for(weight)
        if not quiet:
            warn_of_columns(X, options)
        found = learn_others(X, names, categories, options, count) if named else {}
        if not named and categories:
            raise ValueError(
                "categorical_features must be 'from_dtype' or None for a plain array; "
                "pass a pandas DataFrame to name categories."
            )
        plain = [name for name in names if name not in found]
        if plain:
            numbers = numeric_part(X, plain) if named else X
            known = [str(n) for n in plain], numbers, count, options
            learned = learn_matrix(*known, buckets_for(len(names)))
            found |= dict(zip(plain, learned, strict=True))
        return cls(
            tuple(found[name] for name in names),
            named,
            options.handle_unknown,
            options.handle_missing,
        )

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

    @cached_property
    def group_start(self) -> IntArray:
        """First column of every group that is chosen as one, and the number of columns.

        A group is a variable, or in the paper's reading a level of a category.
        """
        firsts = [
            range(first, last) if variable.separate else range(first, last)[:1]
            for variable, first, last in zip(
                self.variables, self.first_column, self.first_column[1:], strict=False
            )
        ]
        starts = [j for group in firsts for j in group]
        return np.array([*starts, self.n_columns], dtype=np.int64)

    @property
    def n_groups(self) -> int:
        """Number of groups: what the sum in a cut is divided by."""
        return max(len(self.group_start) - 1, 1)

    def columns_of(self, i: int) -> slice:
        """Columns of variable i."""
        return slice(int(self.first_column[i]), int(self.first_column[i + 1]))

    def terms(self, weights: FloatArray) -> dict[int, Term]:
        """What variables add to a cut, by their positions; weights per column."""
        found = {
            int(i): self._term(self.variables[i], weights[self.columns_of(i)])
            for i in np.unique(self.column_variable[weights != 0.0])
        }
        return {i: term for i, term in found.items() if term is not None}

    def _term(self, variable: Variable, weights: FloatArray) -> Term | None:
        term = variable.term(weights, self.unknown)
        if term is None or variable.takes_missing or self.missing == "error":
            return term
        typical = variable.typical
        return MissingTerm(variable.name, term, term.value(typical), typical=typical)

    # -- tables ----------------------------------------------------------------------

    def completed(self, X: Any, needed: IntArray) -> Any:
        """The table with typical values in columns that it lacks and nobody needs."""
        if not (self.named and is_frame(X)):
            return X
        given = {str(name) for name in X.columns}
        lacking = [i for i, name in enumerate(self.names) if name not in given]
        if not lacking or not given <= set(self.names) or set(lacking) & set(needed):
            return X
        whole = X.copy()
        for i in lacking:
            whole[self.names[i]] = self.variables[i].typical
        return whole[list(self.names)]

    def check_needed(self, X: Any, needed: IntArray) -> None:
        """Refuse a frame without columns that somebody needs, all of them named."""
        if not (self.named and is_frame(X)):
            return
        given = {str(name) for name in X.columns}
        lacking = [self.names[i] for i in needed if self.names[i] not in given]
        if lacking:
            raise ValueError(
                f"Expected the columns that the tree uses; missing: {listed(lacking)}. "
                f"Got {listed(X.columns)}."
            )

    def typical_row(self) -> Any:
        """A table of one row with typical values, as training had it."""
        cells = [v.typical for v in self.variables]
        if not self.named:
            return np.array([[float(cell) for cell in cells]])
        import pandas as pd

        # As objects: pandas cannot hold halves of surrogate pairs as text.
        kinds = [object if isinstance(cell, str) else None for cell in cells]
        row = pd.DataFrame(
            {
                i: pd.Series([cell], dtype=kind)
                for i, (cell, kind) in enumerate(zip(cells, kinds, strict=True))
            }
        )
        row.columns = pd.Index(self.names, dtype=object)
        return row

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
        check_finite(table.numbers[rows], [self.names[i] for i in self.side_by_side])

    def _read(self, X: Any) -> Table:
        X = as_table(X)
        if not (self.named and is_frame(X)):
            return self._read_array(X)
        given = {str(name): name for name in X.columns}
        self._check_names(list(given))
        codes, others, plain = {}, {}, []
        numeric = plain_numbers(X)
        for i, variable in enumerate(self.variables):
            if variable.affine is not None and given[variable.name] in numeric:
                plain.append(given[variable.name])
                continue
            column = X[given[variable.name]]
            if variable.choices is not None:
                codes[i] = self._codes(variable, column)
            elif self._is_strange(variable, column):
                raise ValueError(
                    f"Column {variable.name!r} was numeric in training, got values of "
                    f"dtype {column.dtype}."
                )
            elif variable.affine is None:
                others[i] = self._numbers(variable, column)
            else:
                plain.append(given[variable.name])
        numbers = numeric_part(X, plain) if plain else np.empty((len(X), 0))
        return Table(self._filled(numbers), others, codes)

    def _read_array(self, X: Any) -> Table:
        if any(variable.choices is not None for variable in self.variables):
            raise ValueError(
                "The tree was trained on a table with categorical columns; expected a "
                f"pandas DataFrame, got {type(X).__name__}."
            )
        if X.shape[1] != len(self.variables):
            raise ValueError(
                f"Expected {len(self.variables)} columns as in training, "
                f"got {X.shape[1]}."
            )
        values = np.asarray(X, dtype=np.float64)
        if len(self.side_by_side) == len(self.variables):
            return Table(self._filled(values), {}, {})
        others = {
            i: self._numbers(variable, values[:, i])
            for i, variable in enumerate(self.variables)
            if variable.affine is None
        }
        return Table(self._filled(values[:, self.side_by_side]), others, {})

    @staticmethod
    def _is_strange(variable: Variable, column: Any) -> bool:
        """Whether a column holds text or dates where numbers are due."""
        if variable.origin is not None:
            return False
        return is_dates(column) or (is_text(column) and not column.isna().all())

    def _codes(self, variable: Variable, column: Any) -> IntArray:
        """Positions of cells; missing ones as training or ``missing`` has it."""
        if not variable.takes_missing and column.isna().any():
            if self.missing == "error":
                refuse_missing([variable.name])
            column = column.where(column.notna(), variable.typical)
        return variable.codes(column, self.unknown)

    def _numbers(self, variable: Variable, column: Any) -> FloatArray:
        """Numbers of a continuum that is not scaled by its range."""
        numbers = variable.numbers(column)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(numbers.sum()):
                return numbers
        refuse_infinite(numbers[:, np.newaxis], [variable.name])
        if variable.takes_missing or not np.isnan(numbers).any():
            return numbers
        if self.missing == "error":
            refuse_missing([variable.name])
        typical = variable.numbers(np.array([variable.typical]))
        return np.where(np.isnan(numbers), typical, numbers)

    def _filled(self, numbers: FloatArray) -> FloatArray:
        """Numbers with the median of training where they are missing, if asked for."""
        if self.missing == "error" or not np.isnan(numbers).any():
            return numbers
        typical = [float(self.variables[i].typical) for i in self.side_by_side]
        return np.where(np.isnan(numbers), typical, numbers)

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
    def side_by_side(self) -> list[int]:
        """Variables of which a table keeps raw numbers side by side."""
        return [i for i, v in enumerate(self.variables) if v.affine is not None]

    # -- values ----------------------------------------------------------------------

    def scale(self, table: Table, rows: slice, columns: IntArray) -> FloatArray:
        """Scaled values of some rows and columns, in column order (n_columns, n)."""
        scaled = np.empty((len(columns), len(range(*rows.indices(table.n_samples)))))
        last, encoded = -1, np.empty((0, 0))
        for out, column in zip(scaled, columns.tolist(), strict=True):
            i = int(self.column_variable[column])
            place = self._place.get(i)
            if place is not None:
                self._scale_number(i, table.numbers[rows, place], out)
                continue
            if i != last:
                last, encoded = i, self.encoded(table, i, rows)
            out[:] = encoded[:, column - int(self.first_column[i])]
        return scaled

    def scale_all(self, table: Table, *, own: bool = False) -> Cells:
        """Scaled values of a table, in column order (n_columns, n).

        Numbers that are nobody else's are scaled where they are.
        """
        if self.long_categories:
            return self._level_rows(table)
        if len(self._place) < len(self.variables):
            return self._scale_each(table, range(len(self.variables)))
        # Numbers alone, side by side: all of them at once.
        lower, span, still = self._ranges
        own = own and table.numbers.base is None
        scaled = np.subtract(table.numbers, lower, out=table.numbers if own else None)
        scaled /= span
        if still.size:
            scaled[:, still] = 0.0
        return scaled.T

    def _scale_each(self, table: Table, variables: Sequence[int]) -> FloatArray:
        """The same, variable by variable."""
        width = np.diff(self.first_column)
        scaled = np.empty((width[list(variables)].sum(), table.n_samples))
        last = 0
        for i in variables:
            first, last, place = last, last + width[i], self._place.get(i)
            if place is None:
                scaled[first:last] = self.encoded(table, i, slice(None)).T
            else:
                self._scale_number(i, table.numbers[:, place], scaled[first])
        return scaled

    @cached_property
    def long_categories(self) -> list[int]:
        """Variables with so many levels that their columns are not written out."""
        width = np.diff(self.first_column)
        return [
            i for i, v in enumerate(self.variables) if v.choices and width[i] > LONG
        ]

    @cached_property
    def written_columns(self) -> IntArray:
        """Columns of all other variables."""
        return np.flatnonzero(~np.isin(self.column_variable, self.long_categories))

    @property
    def width(self) -> int:
        """Numbers that training holds of a row: cells, and places of levels."""
        return len(self.written_columns) + len(self.long_categories)

    def _level_rows(self, table: Table) -> LevelRows:
        """The same with the places of levels where these are many."""
        level = np.empty((len(self.long_categories), table.n_samples), dtype=np.int64)
        for own, i in zip(level, self.long_categories, strict=True):
            first, last = self.first_column[i : i + 2]
            # The first choice may have no column; nor has a level never seen.
            place = table.codes[i] - len(self.variables[i].choices or ()) + last - first
            own[:] = np.where(place >= 0, first + place, -1)
        others = [
            i for i in range(len(self.variables)) if i not in self.long_categories
        ]
        return self.level_rows(self._scale_each(table, others), level)

    def level_rows(self, x: FloatArray, level: IntArray) -> LevelRows:
        """Rows of cells that are written out and of places of levels."""
        return LevelRows(self.n_columns, self.written_columns, x, level)

    @cached_property
    def _ranges(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Lower ends and spans of numbers side by side, and those that do not vary."""
        lower, span = np.array([v.affine for v in self.variables]).T
        return lower, np.where(span == 0.0, 1.0, span), np.flatnonzero(span == 0.0)

    @cached_property
    def _place(self) -> dict[int, int]:
        """Where the raw numbers of a variable stand in a table."""
        return {i: place for place, i in enumerate(self.side_by_side)}

    def _scale_number(self, i: int, raw: FloatArray, out: FloatArray) -> None:
        lower, span = self.variables[i].affine or (0.0, 1.0)
        if span == 0.0:
            out[:] = 0.0
        else:
            np.subtract(raw, lower, out=out)
            out /= span

    def encoded(self, table: Table, i: int, rows: slice) -> FloatArray:
        """Columns of a variable that is not scaled by its range, shape (n, columns)."""
        if i in table.codes:
            return self.variables[i].encode_codes(table.codes[i][rows])
        return self.variables[i].encode(table.others[i][rows])

    def cells(self, table: Table, i: int, rows: IntArray) -> list[float] | list[int]:
        """Raw numbers of variable i in some rows, or the places of its choices."""
        if i in table.codes:
            return list(table.codes[i][rows].tolist())
        if i in table.others:
            return list(table.others[i][rows].tolist())
        return list(table.numbers[rows, self._place[i]].tolist())

    def columns(self, X: Any) -> ScaledColumns:
        """Scaled columns of a table, each made when it is asked for."""
        return ScaledColumns(self, self.read(X))

    def encode(self, X: Any) -> FloatArray:
        """Whole table in [0, 1], shape (n_samples, n_columns), column-major."""
        return self.encode_table(self.read(X))

    def encode_table(self, table: Table) -> FloatArray:
        """The same for a table that was read."""
        return self.scale(table, slice(None), np.arange(self.n_columns)).T

    def every_level(self, X: Any) -> tuple[FloatArray, IntArray]:
        """Raw numbers, and a 0/1 column for every level; one for two levels.

        This is how methods see a table that need no reference level. Beside the
        columns comes the position of the variable that each belongs to.
        """
        table, columns = self.read(X), []
        for i in range(len(self.variables)):
            if i in self._place:
                columns.append(table.numbers[:, [self._place[i]]])
            else:
                columns.append(self._every_choice(table, i))
        widths = [part.shape[1] for part in columns]
        owner = np.repeat(np.arange(len(widths)), widths)
        return np.concatenate(columns, axis=1), owner

    def _every_choice(self, table: Table, i: int) -> FloatArray:
        """A 0/1 column for every choice, one for two; of a continuum its columns."""
        n_choices = len(self.variables[i].choices or ())
        if i in table.others or len(self.variables[i].column_names) < n_choices - 1:
            return self.encoded(table, i, slice(None))
        codes = table.codes[i][:, np.newaxis]
        every = (codes == np.arange(n_choices)).astype(np.float64)
        return np.asarray(every[:, 1:] if n_choices <= 2 else every)


def rows_stood_for(weight: FloatArray) -> FloatArray | None:
    """How many rows every row stands for by its weight; None means one each.

    Weights that are whole numbers are numbers of rows: weight 2 is the row twice. Of
    others only the proportions mean something: on average a row is one row.
    """
    if (weight == 1.0).all():
        return None
    whole = (weight == np.floor(weight)).all() and weight.sum() <= MOST_COUNTED
    if whole:
        return weight
    return None if (weight == weight[0]).all() else weight / weight.mean()
