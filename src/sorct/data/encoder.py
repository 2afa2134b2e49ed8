"""TableEncoder: from a user's table to columns in [0, 1], and back to names and units.

Numeric variables are min-max scaled. Categorical ones (pandas ``category``, ``object``,
``string``, ``bool``) become one 0/1 column per level, the first level dropped. The
encoder is plain data: it is learned with scikit-learn's parts, saved as JSON, and read
without them. Plain arrays must be numeric.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.utils import check_array

from sorct._typing import AnyArray, FloatArray, IntArray

UNKNOWN_POLICIES = ("error", "first_level")

# A column whose span is lost in the rounding of its values is constant.
_CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
# One over a narrower span would overflow.
_NARROWEST = 1e-305


@dataclass(frozen=True)
class Numeric:
    """A numeric variable, scaled as (x - lower) / span; span 0 means constant."""

    name: str
    lower: float
    span: float

    @property
    def n_columns(self) -> int:
        """Number of columns it becomes."""
        return 1


@dataclass(frozen=True)
class Categorical:
    """A categorical variable; the first of its levels is the reference."""

    name: str
    levels: tuple[Any, ...]

    @property
    def n_columns(self) -> int:
        """Number of columns it becomes."""
        return len(self.levels) - 1

    @cached_property
    def one_hot(self) -> OneHotEncoder:
        """Return scikit-learn's encoder of these levels."""
        levels = np.empty(len(self.levels), dtype=object)
        levels[:] = self.levels
        encoder = OneHotEncoder(
            categories=[levels], drop="first", sparse_output=False, dtype=np.float64
        )
        return encoder.fit(levels[:1].reshape(-1, 1))


Variable = Numeric | Categorical


@dataclass(frozen=True)
class Table:
    """A checked table: numeric columns side by side, categorical ones as 0/1."""

    numeric: FloatArray
    dummies: dict[int, FloatArray]

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.numeric)


@dataclass(frozen=True)
class TableEncoder:
    """The variables of a table and how each becomes columns in [0, 1].

    Attributes
    ----------
    variables : tuple of Numeric or Categorical, in the order of the table
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
            _check_finite(X, names)
            return cls(_learn_numeric(names, X), False, unknown)
        names = [str(name) for name in X.columns]
        plain = [name for name in X.columns if not _is_categorical(X[name])]
        found: dict[str, Variable] = {}
        if plain:
            numeric = _numeric_part(X, plain)
            _check_finite(numeric, [str(name) for name in plain])
            for variable in _learn_numeric([str(name) for name in plain], numeric):
                found[variable.name] = variable
        for name in X.columns:
            if _is_categorical(X[name]):
                found[str(name)] = Categorical(str(name), _levels(X[name], str(name)))
        return cls(tuple(found[name] for name in names), True, unknown)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Name of every column; a dummy is called 'variable = level'."""
        names: list[str] = []
        for variable in self.variables:
            if isinstance(variable, Numeric):
                names.append(variable.name)
            else:
                names += [f"{variable.name} = {level}" for level in variable.levels[1:]]
        return tuple(names)

    @cached_property
    def column_variable(self) -> IntArray:
        """Position of the variable that every column belongs to."""
        counts = [variable.n_columns for variable in self.variables]
        return np.repeat(np.arange(len(counts)), counts)

    @property
    def n_columns(self) -> int:
        """Number of columns after encoding."""
        return len(self.column_names)

    def read(self, X: Any, *, check_finite: bool = True) -> Table:
        """Check a table against the variables; nothing is scaled yet.

        Whoever puts off the search for NaN and infinity calls ``check_finite`` later.
        """
        table = self._read(X)
        if check_finite:
            self.check_finite(table)
        return table

    def check_finite(self, table: Table, rows: slice = slice(None)) -> None:  # noqa: B008
        """Raise an error that names the columns with NaN or infinity in some rows."""
        names = [v.name for v in self.variables if isinstance(v, Numeric)]
        _check_finite(table.numeric[rows], names)

    def _read(self, X: Any) -> Table:
        X = as_table(X)
        if not (self.named and is_frame(X)):
            return self._read_array(X)
        given = {str(name): name for name in X.columns}
        self._check_names(list(given))
        dummies, plain = {}, []
        for i, variable in enumerate(self.variables):
            column = X[given[variable.name]]
            if isinstance(variable, Categorical):
                dummies[i] = self._dummies(variable, column)
            elif _is_text(column):
                raise ValueError(
                    f"Column {variable.name!r} was numeric in training, got values of "
                    f"dtype {column.dtype}."
                )
            else:
                plain.append(given[variable.name])
        numeric = _numeric_part(X, plain) if plain else np.empty((len(X), 0))
        return Table(numeric, dummies)

    def scale(self, table: Table, rows: slice, columns: IntArray) -> FloatArray:
        """Scaled values of some rows and columns, in column order (n_columns, n)."""
        scaled = np.empty((len(columns), len(range(*rows.indices(table.n_samples)))))
        place = self._places
        for out, column in zip(scaled, columns, strict=True):
            i, offset = place[column]
            variable = self.variables[i]
            if isinstance(variable, Categorical):
                out[:] = table.dummies[i][rows, offset]
            elif variable.span == 0.0:
                out[:] = 0.0
            else:
                np.subtract(table.numeric[rows, offset], variable.lower, out=out)
                out /= variable.span
        return scaled

    def split(self, by_column: FloatArray) -> tuple[FloatArray, dict[int, FloatArray]]:
        """Rows of a (n_columns, ...) array as a Table has its columns."""
        numeric, dummies = [], {}
        for i, variable in enumerate(self.variables):
            part = by_column[self.column_variable == i]
            if isinstance(variable, Numeric):
                numeric.append(part)
            else:
                dummies[i] = part
        empty = by_column[:0]
        return np.concatenate([empty, *numeric]), dummies

    def columns(self, X: Any) -> ScaledColumns:
        """Scaled columns of a table, each made when it is asked for."""
        return ScaledColumns(self, self.read(X))

    def encode(self, X: Any) -> FloatArray:
        """Whole table in [0, 1], shape (n_samples, n_columns), column-major."""
        table = self.read(X)
        return self.scale(table, slice(None), np.arange(self.n_columns)).T

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """For every column its variable and its place in that part of a Table."""
        places, n_numeric = [], 0
        for i, variable in enumerate(self.variables):
            if isinstance(variable, Numeric):
                places.append((i, n_numeric))
                n_numeric += 1
            else:
                places += [(i, k) for k in range(variable.n_columns)]
        return places

    def _read_array(self, X: Any) -> Table:
        if any(isinstance(variable, Categorical) for variable in self.variables):
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
        expected = [variable.name for variable in self.variables]
        missing = [name for name in expected if name not in names]
        extra = [name for name in names if name not in expected]
        if missing or extra:
            raise ValueError(
                "Expected the columns of training"
                + (f"; missing: {_listed(missing)}" if missing else "")
                + (f"; not seen in training: {_listed(extra)}" if extra else "")
                + "."
            )

    def _dummies(self, variable: Categorical, column: Any) -> FloatArray:
        values = _level_values(column, variable.name)
        known = set(variable.levels)
        unknown = {value for value in set(values) if value not in known}
        if unknown and self.unknown == "error":
            raise ValueError(
                f"Column {variable.name!r} has levels never seen in training: "
                f"{_listed(sorted(unknown, key=str))}. Expected one of "
                f"{_listed(variable.levels)}; pass handle_unknown='first_level' to the "
                "classifier to treat new levels as the first."
            )
        if unknown:
            values = values.copy()
            values[[value in unknown for value in values]] = variable.levels[0]
        dummies: FloatArray = variable.one_hot.transform(values.reshape(-1, 1))
        return dummies


class ScaledColumns(Sequence[FloatArray]):
    """The columns of a table in [0, 1]; only the table itself is held."""

    def __init__(self, encoder: TableEncoder, table: Table) -> None:
        self._encoder = encoder
        self._table = table

    def __len__(self) -> int:
        return self._encoder.n_columns

    def __getitem__(self, j: Any) -> Any:
        return self._encoder.scale(self._table, slice(None), np.array([j]))[0]


def is_frame(X: Any) -> bool:
    """Whether X is a pandas DataFrame, told without importing pandas."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc")


def as_table(X: Any) -> Any:
    """A checked data frame as it is, anything else as a float64 matrix."""
    if is_frame(X):
        _check_frame(X)
        return X
    try:
        return check_array(X, dtype=np.float64, ensure_all_finite=False)
    except ValueError as error:
        if "convert" not in str(error):
            raise
        raise ValueError(
            f"{error}. Plain arrays must be numeric; pass a pandas DataFrame for "
            "categorical columns."
        ) from error


def _check_frame(X: Any) -> None:
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
            f"(shape={X.shape}) while a minimum of 1 is required."
        )
    names = [str(name) for name in X.columns]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(
            f"Expected distinct column names, got twice: {_listed(double)}."
        )
    for name in X.columns:
        dtype = X[name].dtype
        if getattr(dtype, "kind", "O") == "c":
            raise ValueError(f"Complex data not supported: column {str(name)!r}.")
        if not _is_categorical(X[name]) and getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"Column {str(name)!r} has dtype {dtype}; expected numbers or "
                "categories. Turn dates and the like into numbers first."
            )


def _is_text(column: Any) -> bool:
    return column.dtype.name in ("category", "object", "string", "str")


def _is_categorical(column: Any) -> bool:
    return _is_text(column) or column.dtype.name in ("bool", "boolean")


def _numeric_part(X: Any, names: list[Any]) -> FloatArray:
    part = X if len(names) == X.shape[1] and list(X.columns) == names else X[names]
    numeric = part.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(numeric, dtype=np.float64)


def _check_finite(numeric: FloatArray, names: list[str]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(numeric.sum()):
            return
    for kind, test in (("NaN", np.isnan), ("infinity", np.isinf)):
        bad = [name for name, column in zip(names, numeric.T) if test(column).any()]  # noqa: B905
        if bad:
            raise ValueError(
                f"Input X contains {kind} (NaN and inf are not supported) in column "
                f"{_listed(bad)}. Impute or drop these rows first."
            )


def _learn_numeric(names: list[str], numeric: FloatArray) -> tuple[Numeric, ...]:
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = MinMaxScaler().fit(numeric)
        lower, upper = scaler.data_min_, scaler.data_max_
        span = upper - lower
    wide = [name for name, width in zip(names, span, strict=True) if np.isinf(width)]
    if wide:
        raise ValueError(
            f"Column {_listed(wide)} spans more than the largest float; rescale it."
        )
    constant = span <= _CONSTANT * np.maximum(np.abs(lower), np.abs(upper))
    constant |= span < _NARROWEST
    span = np.where(constant, 0.0, span)
    return tuple(
        Numeric(name, float(low), float(width))
        for name, low, width in zip(names, lower, span, strict=True)
    )


def _level_values(column: Any, name: str) -> AnyArray:
    """Values of a categorical column as Python objects; missing ones are an error."""
    if column.isna().any():
        raise ValueError(
            f"Input X contains NaN (missing values) in column {name!r}. Impute, or "
            "make 'missing' a level of its own."
        )
    values = np.empty(len(column), dtype=object)
    values[:] = column.astype(object).to_list()
    for value in values:
        if not isinstance(value, Hashable):
            raise TypeError(
                f"Column {name!r} holds a {type(value).__name__}; each argument must "
                "be a string or a number."
            )
    return values


def _levels(column: Any, name: str) -> tuple[Any, ...]:
    """Levels that occur, in the order of a category or else sorted."""
    values = set(_level_values(column, name))
    if column.dtype.name == "category":
        levels = [level for level in column.cat.categories.to_list() if level in values]
    else:
        try:
            levels = sorted(values)
        except TypeError as error:
            kinds = sorted({type(value).__name__ for value in values})
            raise TypeError(
                f"Column {name!r} mixes values of types {_listed(kinds)}; each "
                "argument must be a string or a number. Convert the column to one type."
            ) from error
    return tuple(level.item() if hasattr(level, "item") else level for level in levels)


def _listed(values: Any, most: int = 10) -> str:
    values = list(values)
    shown = ", ".join(repr(value) for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")
