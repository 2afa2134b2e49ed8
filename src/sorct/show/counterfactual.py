"""Counterfactuals: the smallest change of one variable that changes a class.

The scores of all cuts are linear in the place of a number from 0 to 1, of a bent number
between its bends, and the class can change only where one of them is near 0. So values
at and around those borders are tried, and the nearest change is then narrowed down.
Where values can be listed, each is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.dates import iso_date
from sorct.data.terms import OTHER, other_among
from sorct.data.variables import Variable

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# Where the search for another class looks around a cut, in widths of its soft border.
_CLOSEST = 0.0625
_AROUND = np.concatenate(
    [np.arange(-8.0, 8.0, _CLOSEST), [-32, -24, -16, -12, 8, 12, 16, 24, 32]]
)
# A gap in which the class changes is cut into so many parts, so many times.
_PARTS, _ROUNDS = 64, 10
# Scores that are computed at a time.
_AT_ONCE = 1_000_000
# Whole numbers that are tried one by one, at most.
_MOST_WHOLE = 10_000
# Another class must be more probable by this, or cheaper by this share of the largest
# cost: rounding makes no such difference.
_CLEARLY = 1e-9


@dataclass(frozen=True)
class Flip:
    """Smallest change of one variable that gives the sample another class, or value.

    ``to`` is None if there is none: for a number, within its range in training. A
    missing cell, ``now`` or as ``value``, is None, as it is in a row; levels without a
    name are "other", or "(other)" where a level is called so.
    """

    variable: str
    now: Any
    value: Any
    to: Any


@dataclass(frozen=True)
class _Line:
    """A sample in which one number varies: every score is a straight line of it.

    ``score`` has the scores of all cuts where the columns of the number are 0,
    ``slope`` their slopes along each column. Between ``bends``, places from 0 to 1 of
    a number that has some, the columns are straight lines; ``before`` is the position
    of the sample's class, ``place`` its own number.
    """

    tree: Tree
    before: int
    place: float
    score: FloatArray
    slope: FloatArray
    bends: FloatArray

    def columns(self, places: FloatArray) -> FloatArray:
        """Columns of the number at places, shape (n_columns, n).

        A number without bends may be beyond the places from 0 to 1.
        """
        if not self.bends.size:
            return places[np.newaxis]
        begin, end = self.bends[:-1, np.newaxis], self.bends[1:, np.newaxis]
        return np.clip((places - begin) / (end - begin), 0.0, 1.0)

    def scores(self, places: FloatArray) -> FloatArray:
        """Scores of all cuts at places."""
        return self.score[:, np.newaxis] + self.slope @ self.columns(places)

    def classes(self, places: FloatArray) -> IntArray:
        """Positions of the classes at other places."""
        score = self.scores(places)
        return _classes(self.tree, score, self.before)

    def first_change(self, places: FloatArray) -> int | None:
        """Number of the first place, in their order, that has another class.

        Places are tried some at a time: memory stays linear in the nodes of the tree.
        """
        size = max(_AT_ONCE // max(self.score.size, 1), 64)
        for begin in range(0, places.size, size):
            changed = self.classes(places[begin : begin + size]) != self.before
            if changed.any():
                return begin + int(np.argmax(changed))
        return None


@dataclass(frozen=True)
class _ValueLine(_Line):
    """The same for a quantity: its two "classes" are below a goal, and not below.

    ``said`` has what leaves say where the scaled number is 0, ``rise`` how that grows.
    """

    said: FloatArray
    rise: FloatArray
    goal: float

    def classes(self, places: FloatArray) -> IntArray:
        """Whether the goal is reached from below at other places."""
        return _sides(self.values(places), self.goal)

    def values(self, places: FloatArray) -> FloatArray:
        """Predictions at other places."""
        score = self.scores(places)
        said = self.said[:, np.newaxis] + self.rise @ self.columns(places)
        return self.tree.values_of_scores(score, said)


def _sides(values: FloatArray, goal: float) -> IntArray:
    return (values >= goal).astype(np.int64)


def find_reach(tree: Tree, scaled: FloatArray, goal: float, i: int, now: Any) -> Flip:
    """Smallest change of variable i with which the prediction reaches a goal."""
    variable, columns = tree.encoder.variables[i], tree.encoder.columns_of(i)

    def values_of(rows: FloatArray) -> FloatArray:
        return tree.values_of_scores(tree.scores(rows), tree.leaf_says(rows))

    before = int(_sides(values_of(scaled[np.newaxis]), goal)[0])
    if variable.choices is not None:
        found = _choice_flip(
            tree,
            scaled,
            before,
            columns,
            variable,
            lambda X: _sides(values_of(X), goal),
        )
    else:
        start = variable.typical if now is None else now
        number = float(variable.numbers(np.array([start]))[0])
        line = _line(tree, scaled, before, i, number)
        origin = scaled.copy()
        origin[columns] = 0.0
        said = tree.leaf_says(origin[np.newaxis])[:, 0]
        slopes = np.zeros((tree.n_columns, tree.n_leaves))
        rise = (slopes if tree.leaf_coef is None else tree.leaf_coef)[columns]
        known = line.tree, line.before, line.place, line.score, line.slope, line.bends
        along = _ValueLine(*known, said, rise.T[:, : line.slope.shape[1]], goal)
        found = _number_flip(along, variable, number, missing=now is None)
    if found is None:
        return Flip(variable.name, now, None, None)
    trial = scaled.copy()
    if variable.choices is not None:
        trial[columns] = variable.encode_choices()[variable.choices.index(found[0])]
    else:
        trial[columns] = variable.encode(np.array([found[0]]))[0]
    to = float(values_of(trial[np.newaxis])[0])
    return Flip(variable.name, now, _written(variable, found[0]), to)


def find_flip(tree: Tree, scaled: FloatArray, before: int, i: int, now: Any) -> Flip:
    """Smallest change of variable i, now of the value given, for a scaled sample.

    ``before`` is the position of the class that the tree gives the sample.
    """
    variable = tree.encoder.variables[i]
    columns = tree.encoder.columns_of(i)
    found: tuple[Any, int] | None
    if variable.choices is None:
        start = variable.typical if now is None else now
        number = float(variable.numbers(np.array([start]))[0])
        line = _line(tree, scaled, before, i, number)
        found = _number_flip(line, variable, number, missing=now is None)
    else:
        found = _choice_flip(tree, scaled, before, columns, variable)
    if found is None:
        return Flip(variable.name, now, None, None)
    value = _written(variable, found[0])
    return Flip(variable.name, now, value, tree.classes.tolist()[found[1]])


def _written(variable: Variable, value: Any) -> Any:
    """A value as it is put into a row: days as a date, pooled levels by a word."""
    if value is OTHER:
        return other_among(variable.choices or ())
    origin = variable.origin
    return value if origin is None else iso_date(value, origin)


def _classes(tree: Tree, score: FloatArray, before: int) -> IntArray:
    """Classes for scores (n_branches, n), decided on as ``predict`` does.

    Where no other class is clearly better than the one before, it is that one.
    """
    worth, unit = tree.proba_of_scores(score), 1.0
    if tree.decision_cost is not None:
        worth, unit = -(tree.decision_cost.T @ worth), float(tree.decision_cost.max())
    worth[before] += _CLEARLY * unit
    return np.asarray(np.argmax(worth, axis=0))


# -- choices ---------------------------------------------------------------------------


def _choice_flip(
    tree: Tree,
    scaled: FloatArray,
    before: int,
    columns: slice,
    variable: Variable,
    judge: Callable[[FloatArray], IntArray] | None = None,
) -> tuple[Any, int] | None:
    """First of the variable's values that gives another class; the nearest, if ordered.

    Where the value is missing now, the nearest to a typical one.
    """
    choices, rows = variable.choices or (), variable.encode_choices()
    trial = np.repeat(scaled[np.newaxis], len(choices), axis=0)
    trial[:, columns] = rows
    if judge is None:
        classes = _classes(tree, tree.scores(trial), before)
    else:
        classes = judge(trial)
    here = scaled[columns]
    if choices[-1] is None and (here == rows[-1]).all():
        here = rows[choices.index(variable.typical)]
    nearest = np.argsort(np.abs(rows - here).sum(axis=1), kind="stable")
    for k in nearest[classes[nearest] != before][:1]:
        return choices[k], int(classes[k])
    return None


# -- numbers ---------------------------------------------------------------------------


def _line(tree: Tree, scaled: FloatArray, before: int, i: int, number: float) -> _Line:
    """The sample along variable i, from a number on."""
    variable, columns = tree.encoder.variables[i], tree.encoder.columns_of(i)
    place = float(_places(variable, np.array([number]))[0])
    bends = np.array(variable.bends)
    bends = (bends - bends[:1]) / (bends[-1:] - bends[:1])
    # A missing cell has a column that no number has.
    n_own = len(variable.column_names) - variable.takes_missing
    own = slice(columns.start, columns.start + n_own)
    origin = scaled.copy()
    origin[columns] = 0.0
    score = tree.scores(origin[np.newaxis])[:, 0]
    slope = tree.gamma * tree.coef[own].T / tree.encoder.n_groups
    return _Line(tree, before, place, score, slope, bends)


def _places(variable: Variable, numbers: FloatArray) -> FloatArray:
    """Places of numbers: their one column, or where a bent one is in its range."""
    if not variable.bends:
        return variable.encode(numbers)[:, 0]
    first, *_, last = variable.bends
    return np.asarray(np.interp(numbers, [first, last], [0.0, 1.0]))


def _number_flip(
    line: _Line, variable: Variable, now: float, missing: bool
) -> tuple[float, int] | None:
    """Nearest value within the range of training that gives another class."""
    if missing and (k := int(line.classes(np.array([line.place]))[0])) != line.before:
        return now, k
    lower, upper = variable.decode(0.0), variable.decode(1.0)
    if lower == upper:
        return None
    if variable.whole and upper - lower <= _MOST_WHOLE:
        return _whole_flip(line, variable, np.arange(lower, upper + 0.5), now)
    found = [_first_flip(line, side) for side in (-1.0, 1.0)]
    reached = [place for place in found if place is not None]
    if not reached:
        return None
    nearest = min(reached, key=lambda place: abs(variable.decode(place) - now))
    return _readable(line, nearest, variable, now)


def _whole_flip(
    line: _Line, variable: Variable, values: FloatArray, now: float
) -> tuple[float, int] | None:
    """Nearest of some values that gives another class; of two, the smaller value."""
    nearest = values[np.argsort(np.abs(values - now), kind="stable")]
    places = _places(variable, nearest)
    n = line.first_change(places)
    if n is None:
        return None
    return float(nearest[n]), int(line.classes(places[n : n + 1])[0])


def _first_flip(line: _Line, side: float) -> float | None:
    """Place from 0 to 1 on one side where another class begins, if any."""
    places, start = _places_to_try(line), np.clip(line.place, 0.0, 1.0)
    ahead = np.sort(side * places[side * (places - line.place) > 0.0]) * side
    for _ in range(_ROUNDS):
        n = line.first_change(ahead)
        if n is None:
            return None
        ahead = np.linspace(ahead[n - 1] if n else start, ahead[n], _PARTS + 1)
    return float(ahead[-1])


def _places_to_try(line: _Line) -> FloatArray:
    """Places from 0 to 1 at and around the borders of all cuts, and some between."""
    if not line.bends.size:
        return _places_along(line.score, line.slope[:, 0])
    found = [line.bends]
    for begin, end in zip(line.bends, line.bends[1:], strict=False):
        score = line.scores(np.array([begin, end]))
        slope = (score[:, 1] - score[:, 0]) / (end - begin)
        places = _places_along(score[:, 0] - slope * begin, slope)
        found.append(places[(places > begin) & (places < end)])
    return np.concatenate(found)


def _places_along(score: FloatArray, slope: FloatArray) -> FloatArray:
    """Places from 0 to 1 where scores are straight lines.

    They are so close that probabilities hardly change between two neighbours.
    """
    turning = slope != 0.0
    score, slope = score[turning], slope[turning]
    # With many cuts, evenly spaced places are fewer than places around every cut; they
    # must be as close as the steepest cut needs.
    n_even = int(min(np.abs(slope).max(initial=0.0) / _CLOSEST, 1e9))
    if 4 * n_even < _AROUND.size * slope.size:
        return np.linspace(0.0, 1.0, max(n_even, 64) + 1)
    # A cut that hardly turns has its border beyond all numbers, and so beyond 1.
    with np.errstate(over="ignore"):
        places = np.subtract.outer(_AROUND, score) / slope
    even = np.linspace(0.0, 1.0, 65)
    return np.concatenate([places[(places > 0.0) & (places < 1.0)], even])


def _readable(
    line: _Line, place: float, variable: Variable, now: float
) -> tuple[float, int]:
    """The value or one just beyond, with as few digits as still change the class."""
    lower, upper, exact = (variable.decode(at) for at in (0.0, 1.0, place))
    side = 1.0 if exact > now else -1.0
    size = np.floor(np.log10(min(abs(exact - now), upper - lower) or 1.0))
    for digits in range(3, 17):
        unit = 1.0 if variable.whole else 10.0 ** (size + 1 - digits)
        beyond = side * np.ceil(side * exact / unit) * unit
        value = float(np.clip(float(f"{beyond:.15g}"), lower, upper))
        k = int(line.classes(_places(variable, np.array([value])))[0])
        if k != line.before:
            return value, k
    return exact, int(line.classes(np.array([place]))[0])
