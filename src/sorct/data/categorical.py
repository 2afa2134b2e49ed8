"""Categories: levels chosen together, or each by itself, or scored by their order."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.plain import expect, field
from sorct.data.terms import OTHER, LevelTerm, Term, other_among
from sorct.data.variables import CellError, is_missing, kind_of_levels
from sorct.data.wording import listed, shown


@dataclass(frozen=True)
class Categorical:
    """A category: a 0/1 column per level.

    Attributes
    ----------
    name : str
    levels : tuple of str, bool or numbers
    mode : level or None
        The most frequent one; None where it is not known, as in files of version 0.1.0.
    separate : bool
        Whether each level is chosen by itself, as in the paper; the first then has no
        column. Otherwise all levels have one, and are chosen together.
    pooled : bool
        Whether there is a column for all other levels.
    rare : tuple of levels
        Those that training pooled, where new ones are to be told from them.
    """

    name: str
    levels: tuple[Any, ...]
    mode: Any = None
    separate: bool = True
    pooled: bool = False
    rare: tuple[Any, ...] = ()

    affine = None
    whole = False
    origin = None
    bends = ()
    ordered = False
    takes_missing = False

    @classmethod
    def learn(
        cls,
        name: str,
        column: Any,
        count: FloatArray | None = None,
        *,
        separate: bool = True,
        least: float = 1,
        keep_rare: bool = False,
    ) -> Self:
        """Learn the levels that occur in at least so many rows; the rest is pooled.

        ``count`` says how many rows every row stands for; None means one each.
        """
        counts, levels = counted_levels(name, column, count)
        return cls.counted(
            name, counts, levels, separate=separate, least=least, keep_rare=keep_rare
        )

    @classmethod
    def counted(
        cls,
        name: str,
        counts: Counter[Any],
        levels: list[Any],
        *,
        separate: bool = True,
        least: float = 1,
        keep_rare: bool = False,
    ) -> Self:
        """Learn from levels in their order, and how often each occurs."""
        _refuse_kinds(name, levels)
        if not levels:
            # Nothing but missing cells: a level that never occurs stands for the rest.
            return cls(name, ("",), "", separate)
        # Counts may be rounded sums of fractions; no level has less than one row.
        least = least * (1.0 - 1e-9) if least > 1 else 0.0
        rare = [level for level in levels if counts[level] < least]
        kept = [level for level in levels if counts[level] >= least]
        if len(rare) == len(levels):
            # No level is frequent: the most frequent one says what the others are not.
            kept = [max(levels, key=lambda level: counts[level])] if levels else []
            rare = [level for level in levels if level not in kept]
        mode = max(kept, key=lambda level: counts[level]) if kept else None
        known = tuple(rare) if keep_rare else ()
        return cls(name, tuple(kept), mode, separate, bool(rare), known)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Check plain data."""
        name, levels = field(data, "name", str), field(data, "levels", list)
        rare = field(data, "rare", list) if "rare" in data else []
        every = [*levels, *rare]
        plain = len(levels) > 0 and kind_of_levels(every) is not None
        expect(plain, f"levels of variable {name!r} must be of one plain kind")
        expect(len(set(every)) == len(every), f"levels of variable {name!r} repeat")
        mode = data.get("mode")
        known = "mode" not in data or any(type(mode) is type(v) for v in levels)
        expect(known and (mode is None or mode in levels), f"'mode' of {name!r}")
        flags = {
            key: field(data, key, bool) for key in ("separate", "pooled") if key in data
        }
        return cls(name, tuple(levels), mode, **flags, rare=tuple(rare))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        plain: dict[str, Any] = {"name": self.name, "levels": list(self.levels)}
        if self.mode is not None:
            plain["mode"] = self.mode
        if not self.separate:
            plain["separate"] = False
        if self.pooled:
            plain["pooled"] = True
        if self.rare:
            plain["rare"] = list(self.rare)
        return plain

    @property
    def choices(self) -> tuple[Any, ...]:
        """Its levels, and what stands for all others."""
        return (*self.levels, OTHER) if self.pooled else self.levels

    @cached_property
    def _first(self) -> int:
        """First choice that has a column."""
        return 1 if self.separate or len(self.choices) == 1 else 0

    @property
    def column_names(self) -> tuple[str, ...]:
        """A name such as "variable = level" for every level that has a column."""
        others = other_among(self.levels)
        return tuple(
            f"{self.name} = {others if level is OTHER else level}"
            for level in self.choices[self._first :]
        )

    @property
    def typical(self) -> Any:
        """The most frequent level, or the first."""
        return self.levels[0] if self.mode is None else self.mode

    def numbers(self, column: Any) -> FloatArray:
        """Levels are no numbers."""
        raise TypeError(f"Column {self.name!r} has levels; use its codes.")

    @cached_property
    def _code(self) -> dict[Any, int]:
        """Position of every known level among the choices."""
        code = {level: k for k, level in enumerate(self.levels)}
        return code | dict.fromkeys(self.rare, len(self.levels))

    def codes(self, column: Any, unknown: str = "error") -> IntArray:
        """Positions of cells among the choices; new levels as ``unknown`` says."""
        places, values = _distinct(column, self.name)
        new = [value for value in values if value not in self._code]
        if new and unknown == "error":
            known = [*self.levels, *self.rare]
            raise ValueError(
                f"Column {self.name!r} has levels never seen in training: "
                f"{listed(sorted(new, key=str))}. Expected one of {listed(known)}; "
                "pass handle_unknown='other' to the estimator to accept new levels."
            )
        if new and kind_of_levels(new) is not kind_of_levels(self.levels):
            warnings.warn(
                f"Column {self.name!r} has levels of another type than in training, "
                f"such as {new[0]!r} where {self.levels[0]!r} is one: they count as "
                "levels never seen.",
                stacklevel=2,
            )
        other = self._unknown_code(unknown)
        table = np.array([self._code.get(value, other) for value in values] or [other])
        return np.asarray(table[places], dtype=np.int64)

    def _unknown_code(self, unknown: str) -> int:
        if unknown == "first_level":
            return 0
        return len(self.levels) if self.pooled else -1

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Levels are no numbers."""
        raise TypeError(f"Column {self.name!r} has levels; use encode_choices.")

    def encode_codes(self, codes: IntArray) -> FloatArray:
        """Every choice has its own column, the first may have none."""
        columns = np.zeros((len(codes), len(self.choices) - self._first))
        place = codes - self._first
        own = np.flatnonzero(place >= 0)
        columns[own, place[own]] = 1.0
        return columns

    def encode_choices(self) -> FloatArray:
        """One row per choice."""
        return self.encode_codes(np.arange(len(self.choices)))

    def decode(self, place: float) -> float:
        """Levels have no places between them."""
        raise TypeError(f"Column {self.name!r} has levels; use its choices.")

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Levels as in training, whatever type a file gives them."""
        known = [*self.levels, *self.rare]
        by_text = {str(level): level for level in reversed(known)}
        by_text |= {_written(level): level for level in reversed(known)}
        values = np.empty(len(cells), dtype=object)
        values[:] = [
            value if is_missing(value) or value in self._code
            else by_text.get(_written(value), value)
            for value in cells
        ]  # fmt: skip
        for row, value in enumerate(values):
            if unknown == "error" and not is_missing(value) and value not in self._code:
                raise CellError(
                    f"has the level {value!r}",
                    row,
                    f", never seen in training; expected one of {listed(known)}",
                )
        return values

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Weight of every level."""
        if not weights.any():
            return None
        every = [*([0.0] * self._first), *weights.tolist()]
        of_level = dict(zip(self.levels, every[: len(self.levels)], strict=True))
        other = every[-1] if self.pooled else 0.0
        others = {"first_level": every[0], "error": None}.get(unknown, other)
        return LevelTerm(
            self.name,
            of_level | dict.fromkeys(self.rare, other),
            others,
            together=not self.separate,
            column_of=tuple(self.choices[self._first :]),
            pooled=other if self.pooled else None,
            rare=self.rare,
        )


@dataclass(frozen=True)
class Ordered(Categorical):
    """A category whose levels have an order: one column, their place from 0 to 1."""

    ordered = True

    @classmethod
    def declared(cls, name: str, column: Any, count: FloatArray | None = None) -> Self:
        """Learn the order that was declared, with levels that do not occur."""
        counts, _ = counted_levels(name, column, count)
        return cls.counted_in_order(name, counts, column.cat.categories)

    @classmethod
    def counted_in_order(cls, name: str, counts: Counter[Any], declared: Any) -> Self:
        """Learn from all levels that were declared, and how often each occurs."""
        levels = _plain_list(declared)
        _refuse_kinds(name, levels)
        mode = max(levels, key=lambda level: counts[level]) if levels else ""
        return cls(name, tuple(levels) or ("",), mode, separate=False)

    @property
    def choices(self) -> tuple[Any, ...]:
        """Its levels."""
        return self.levels

    @property
    def column_names(self) -> tuple[str, ...]:
        """Its own name."""
        return (self.name,) if len(self.levels) > 1 else ()

    def encode_codes(self, codes: IntArray) -> FloatArray:
        """Places of the levels, evenly from 0 to 1."""
        places = np.append(np.linspace(0.0, 1.0, len(self.levels)), 0.0)
        return places[codes][:, np.newaxis][:, : len(self.column_names)]

    def codes(self, column: Any, unknown: str = "error") -> IntArray:
        """Positions in the order; a level that was not declared has none."""
        _, values = _distinct(column, self.name)
        new = [value for value in values if value not in self._code]
        if new:
            raise ValueError(
                f"Column {self.name!r} has levels without a place in its order: "
                f"{listed(sorted(new, key=str))}. Expected one of "
                f"{listed(self.levels)}."
            )
        return super().codes(column, "error")

    def take(self, cells: Sequence[Any], unknown: str = "error") -> AnyArray:
        """Levels as in training; a new one is refused."""
        return super().take(cells, "error")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**super().to_dict(), "ordered": True}

    def term(self, weights: FloatArray, unknown: str = "error") -> Term | None:
        """Weight of every level: the column's weight times the place."""
        if not weights.any():
            return None
        every = (self.encode_choices()[:, 0] * weights[0]).tolist()
        of_level = dict(zip(self.levels, every, strict=True))
        return LevelTerm(self.name, of_level, None, together=True, scores=True)


# -- levels ----------------------------------------------------------------------------


def counted_levels(
    name: str, column: Any, count: FloatArray | None = None
) -> tuple[Counter[Any], list[Any]]:
    """How often levels occur, and those that do, in their order."""
    places, values = _distinct(column, name)
    known = places >= 0
    rows = None if count is None else count[known]
    seen = np.bincount(places[known], rows, minlength=len(values)).tolist()
    counts = Counter({v: n for v, n in zip(values, seen, strict=True) if n > 0})
    if column.dtype.name == "category":
        levels = [v for v in _plain_list(column.cat.categories) if v in counts]
    else:
        levels = sorted_levels(list(counts), name)
    _refuse_kinds(name, levels)
    return counts, levels


def _refuse_kinds(name: str, levels: list[Any]) -> None:
    """Refuse levels that could not be saved."""
    if levels and kind_of_levels(levels) is None:
        raise TypeError(
            f"Column {name!r} has levels such as {shown(levels[0])} of type "
            f"{_kinds(levels)}; expected strings or numbers, all of one kind, or the "
            "tree could not be saved. Convert the column: dates with "
            "pandas.to_datetime, all else for example with astype(str)."
        )


def _distinct(column: Any, name: str) -> tuple[IntArray, list[Any]]:
    """Every cell as a position among the distinct values, -1 if missing; and these."""
    import pandas as pd

    if column.dtype.name == "category":
        codes = column.cat.codes.to_numpy()
        # Categories that do not occur are no levels.
        used = np.unique(codes[codes >= 0])
        places = np.where(codes >= 0, np.searchsorted(used, codes), -1)
        values = _plain_list(column.cat.categories[used])
    else:
        cells = np.empty(len(column), dtype=object)
        cells[:] = column.astype(object).to_list()
        try:
            places, found = pd.factorize(cells)
        except TypeError:
            places, found = np.zeros(0, dtype=np.int64), cells
        values = _plain_list(found)
    for value in values:
        if not isinstance(value, Hashable):
            raise TypeError(_odd_cells(name, "holds", [value]))
    return np.asarray(places, dtype=np.int64), values


def _plain_list(values: Any) -> list[Any]:
    return [value.item() if hasattr(value, "item") else value for value in values]


def sorted_levels(values: list[Any], name: str) -> list[Any]:
    """Levels in rising order; a TypeError says that they have none."""
    try:
        return sorted(values)
    except TypeError as error:
        of_one = len({type(value) for value in values}) == 1
        verb = "holds" if of_one else "mixes"
        raise TypeError(_odd_cells(name, verb, values)) from error


def _odd_cells(name: str, verb: str, values: Collection[Any]) -> str:
    """What is said of a column whose cells are no levels."""
    # Of these words scikit-learn's checks look for "argument must be a string ...".
    return (
        f"Column {name!r} {verb} values of type {_kinds(values)}; every cell of this "
        "argument must be a string or a number, all of one kind. Convert the column, "
        "for example with astype(str), or leave it out."
    )


def _kinds(values: Collection[Any]) -> str:
    return listed(sorted({type(value).__name__ for value in values}))


def _written(level: Any) -> str:
    """How a level is written; True and true are the same, and so are 1.0 and 1."""
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    text = str(level)
    return text.lower() if text.lower() in ("true", "false") else text
