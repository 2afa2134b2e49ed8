"""Variables: a column of a user's table, and how it becomes columns in [0, 1].

A number is min-max scaled. A category becomes one 0/1 column per level, the first level
dropped. Variables are plain data: learned once, saved as JSON, read without the parts
they were learned with. To add a kind, write a class with the members of ``Variable``
and name it in ``KINDS``; ``docs/extending.md`` has an example.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from sorct._typing import AnyArray, FloatArray
from sorct.data.plain import expect, field, number
from sorct.data.terms import LevelTerm, LinearTerm, Term
from sorct.data.wording import listed

UNKNOWN_POLICIES = ("error", "first_level")

# A column whose span is lost in the rounding of its values is constant.
_CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
# One over a narrower span would overflow.
_NARROWEST = 1e-305


class CellError(ValueError):
    """A cell that a variable cannot take; rows are told from 1."""

    def __init__(self, what: str, row: int, more: str = "") -> None:
        super().__init__(f"{what} in row {row + 1}{more}")


class Variable(Protocol):
    """What the library asks of a variable, whatever its kind."""

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
    def whole(self) -> bool:
        """Whether it is a continuum of which only whole numbers make sense."""

    @property
    def typical(self) -> Any:
        """A value in the middle of training: the median, or the most frequent."""

    def encode(self, column: Any, unknown: str = "error") -> FloatArray:
        """Columns in [0, 1] of raw cells, shape (n, n_columns)."""

    def encode_choices(self) -> FloatArray:
        """Columns in [0, 1] of all choices, shape (n_choices, n_columns)."""

    def decode(self, place: float) -> float:
        """Raw value of a continuum whose column is at a place from 0 to 1."""

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Cells of a file as training had them; a ``CellError`` names a bad one."""

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """What it adds to a cut that gives its columns these weights, if anything."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""


@dataclass(frozen=True)
class Numeric:
    """A number, scaled as (x - lower) / span; span 0 means constant.

    Attributes
    ----------
    name : str
    lower, span : float
    whole : bool
        Whether all values of training were whole numbers.
    median : float or None
        Median of training; None where it is not known, as in files of version 0.1.0.
    """

    name: str
    lower: float
    span: float
    whole: bool = False
    median: float | None = None

    choices = None

    @classmethod
    def learn(cls, name: str, values: FloatArray) -> Numeric:
        """Range, median and wholeness of finite numbers."""
        known = cls.of_range(name, values.min(), values.max())
        # Most columns that are not whole show it in their first values.
        whole = all((v == np.floor(v)).all() for v in (values[:100], values))
        return replace(known, whole=whole, median=_median(values))

    @classmethod
    def of_range(cls, name: str, lower: float, upper: float) -> Numeric:
        """Variable with a range; one that is lost in rounding counts as none."""
        with np.errstate(over="ignore"):
            span = float(upper) - float(lower)
        if np.isinf(span):
            raise ValueError(
                f"Column {name!r} spans more than the largest float; rescale it."
            )
        narrow = span <= _CONSTANT * max(abs(lower), abs(upper)) or span < _NARROWEST
        return cls(name, float(lower), 0.0 if narrow else span)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Numeric:
        """Check plain data."""
        name = field(data, "name", str)
        lower, span = number(data, "lower"), number(data, "span")
        expect(span >= 0, f"range of variable {name!r} is negative")
        wide = span == 0.0 or (span >= _NARROWEST and np.isfinite(lower + span))
        expect(bool(wide), f"range of variable {name!r} is beyond what floats can hold")
        whole = field(data, "whole", bool) if "whole" in data else False
        median = number(data, "median") if "median" in data else None
        return cls(name, lower, span, whole, median)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        plain: dict[str, Any] = {
            "name": self.name, "lower": self.lower, "span": self.span,
        }  # fmt: skip
        if self.whole:
            plain["whole"] = True
        if self.median is not None:
            plain["median"] = self.median
        return plain

    @property
    def column_names(self) -> tuple[str, ...]:
        """Its own name."""
        return (self.name,)

    @property
    def affine(self) -> tuple[float, float]:
        """Lower end and span."""
        return self.lower, self.span

    @property
    def typical(self) -> float:
        """Median of training, or the middle of its range."""
        return self.decode(0.5) if self.median is None else self.median

    def encode(self, column: Any, unknown: str = "error") -> FloatArray:
        """Column scaled to [0, 1] over the range of training."""
        numbers = np.asarray(column, dtype=np.float64).reshape(-1, 1)
        if self.span == 0.0:
            return np.zeros_like(numbers)
        return np.asarray((numbers - self.lower) / self.span)

    def encode_choices(self) -> FloatArray:
        """Numbers cannot be listed."""
        raise TypeError(f"Column {self.name!r} is a continuum; it has no choices.")

    def decode(self, place: float) -> float:
        """Raw value at a place from 0 to 1."""
        return self.lower + self.span * place

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Numbers, finite and no truth values."""
        given = np.asarray(cells)
        if given.dtype.kind in "iuf":
            numbers = given.astype(np.float64)
        else:
            numbers = np.array([_number(cell) for cell in given.tolist()])
        for row in np.flatnonzero(np.isnan(numbers))[:1].tolist():
            raise CellError(f"must hold numbers, got {given.tolist()[row]!r}", row)
        for row in np.flatnonzero(np.isinf(numbers))[:1].tolist():
            raise CellError(f"must hold finite numbers, got {numbers[row]}", row)
        return numbers

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Linear term; a constant has none."""
        if self.span == 0.0 or weights[0] == 0.0:
            return None
        return LinearTerm(self.name, self.lower, self.span, float(weights[0]))


@dataclass(frozen=True)
class Categorical:
    """A category; the first of its levels is the reference.

    Attributes
    ----------
    name : str
    levels : tuple of str, bool or numbers
    mode : level or None
        The most frequent one; None where it is not known, as in files of version 0.1.0.
    """

    name: str
    levels: tuple[Any, ...]
    mode: Any = None

    affine = None
    whole = False

    @classmethod
    def learn(cls, name: str, column: Any) -> Categorical:
        """Levels that occur, in the order of a pandas category or else sorted."""
        cells = level_values(column, name)
        values = set(cells)
        if column.dtype.name == "category":
            known = column.cat.categories.to_list()
            levels = [level for level in known if level in values]
        else:
            levels = _sorted(values, name)
        levels = [level.item() if hasattr(level, "item") else level for level in levels]
        if levels and kind_of_levels(levels) is None:
            raise TypeError(
                f"Column {name!r} has levels such as {reprlib.repr(levels[0])} of type "
                f"{_kinds(levels)}; each argument must be a string or a number, all of "
                "one kind, or they could not be saved. Convert the column, for example "
                "with astype(str)."
            )
        counts = Counter(cells)
        return cls(name, tuple(levels), max(levels, key=lambda level: counts[level]))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Categorical:
        """Check plain data."""
        name, levels = field(data, "name", str), field(data, "levels", list)
        plain = len(levels) > 0 and kind_of_levels(levels) is not None
        expect(plain, f"levels of variable {name!r} must be of one plain kind")
        expect(len(set(levels)) == len(levels), f"levels of variable {name!r} repeat")
        mode = data.get("mode")
        known = "mode" not in data or any(type(mode) is type(v) for v in levels)
        expect(known and (mode is None or mode in levels), f"'mode' of {name!r}")
        return cls(name, tuple(levels), mode)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        plain = {"name": self.name, "levels": list(self.levels)}
        return plain if self.mode is None else {**plain, "mode": self.mode}

    @property
    def column_names(self) -> tuple[str, ...]:
        """A name such as "variable = level" for every level but the first."""
        return tuple(f"{self.name} = {level}" for level in self.levels[1:])

    @property
    def choices(self) -> tuple[Any, ...]:
        """Its levels."""
        return self.levels

    @property
    def typical(self) -> Any:
        """The most frequent level, or the first."""
        return self.levels[0] if self.mode is None else self.mode

    @cached_property
    def _one_hot(self) -> OneHotEncoder:
        levels = np.empty(len(self.levels), dtype=object)
        levels[:] = self.levels
        encoder = OneHotEncoder(
            categories=[levels], drop="first", sparse_output=False, dtype=np.float64
        )
        return encoder.fit(levels[:1].reshape(-1, 1))

    def encode(self, column: Any, unknown: str = "error") -> FloatArray:
        """One 0/1 column per level but the first; new levels as ``unknown`` says."""
        values = level_values(column, self.name)
        known = set(self.levels)
        new = {value for value in set(values) if value not in known}
        if new and unknown == "error":
            raise ValueError(
                f"Column {self.name!r} has levels never seen in training: "
                f"{listed(sorted(new, key=str))}. Expected one of "
                f"{listed(self.levels)}; pass handle_unknown='first_level' to the "
                "classifier to treat new levels as the first."
            )
        if new:
            values = values.copy()
            values[[value in new for value in values]] = self.levels[0]
        dummies: FloatArray = self._one_hot.transform(values.reshape(-1, 1))
        return dummies

    def encode_choices(self) -> FloatArray:
        """One row per level: the first has zeros, the others their own column."""
        return np.eye(len(self.levels))[:, 1:]

    def decode(self, place: float) -> float:
        """Levels have no places between them."""
        raise TypeError(f"Column {self.name!r} has levels; use its choices.")

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Levels as in training, whatever type a file gives them."""
        by_text = {_written(level): level for level in reversed(self.levels)}
        known = set(self.levels)
        values = np.empty(len(cells), dtype=object)
        values[:] = [
            value if value in known else by_text.get(_written(value), value)
            for value in cells
        ]
        new = [row for row, value in enumerate(values) if value not in known]
        if new and unknown == "error":
            raise CellError(
                f"has the level {values[new[0]]!r}",
                new[0],
                f", never seen in training; expected one of {listed(self.levels)}",
            )
        return values

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Weight of every level."""
        if not weights.any():
            return None
        by_level = dict(zip(self.levels, [0.0, *weights.tolist()], strict=True))
        return LevelTerm(self.name, by_level, 0.0 if unknown != "error" else None)


#: Kinds of variables by a key that only their plain data has; all else are numbers.
KINDS: dict[str, type[Categorical]] = {"levels": Categorical}


def variable_from_dict(data: Any) -> Variable:
    """Check plain data of a variable of any kind."""
    expect(isinstance(data, dict), "a variable must be an object")
    for key, kind in KINDS.items():
        if key in data:
            return kind.from_dict(data)
    return Numeric.from_dict(data)


def level_values(column: Any, name: str) -> AnyArray:
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


def _sorted(values: set[Any], name: str) -> list[Any]:
    try:
        return sorted(values)
    except TypeError as error:
        raise TypeError(
            f"Column {name!r} mixes values of types {_kinds(values)}; each "
            "argument must be a string or a number. Convert the column to one type."
        ) from error


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


def _kinds(values: Collection[Any]) -> str:
    return listed(sorted({type(value).__name__ for value in values}))


def _median(values: FloatArray) -> float:
    """Median, which lies between the two in the middle also where their sum is inf."""
    with np.errstate(over="ignore"):
        median = float(np.median(values))
    return median if np.isfinite(median) else 2.0 * float(np.median(values / 2.0))


def _number(cell: Any) -> float:
    """A cell as a number, NaN if it is none."""
    # Python takes 1_000 for a number, nobody else does.
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return np.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _written(level: Any) -> str:
    """How a level is written; True and true are the same."""
    text = str(level)
    return text.lower() if text.lower() in ("true", "false") else text
