"""Flips: the smallest change of one variable that gives a sample another class.

The scores of all cuts are linear in a number, and the class can change only where one
of them is near 0. So values at and around those borders are tried, and the nearest
change is found by halving. A categorical variable is tried level by level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.encode import Categorical, Numeric
from sorct.link import cdf

if TYPE_CHECKING:
    from sorct.tree import Tree

# Where the search for another class looks around a cut, in widths of its soft border.
_AROUND = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
_HALVINGS = 80


@dataclass(frozen=True)
class Flip:
    """Smallest change of one variable that gives the sample another class.

    ``value`` is None if there is none: for a number, within its range in training.
    """

    variable: str
    now: Any
    value: Any
    to: Any


def scores(tree: Tree, scaled: FloatArray) -> FloatArray:
    """Scores of all cuts for scaled samples (n, n_columns), shape (n_branches, n)."""
    product = tree.coef.T @ scaled.T / tree.n_columns
    return np.asarray(tree.gamma * (product - tree.threshold[:, np.newaxis]))


def _classes(tree: Tree, scaled: FloatArray) -> list[int]:
    """Predicted classes of scaled samples, shape (n, n_columns)."""
    left = cdf(scores(tree, scaled))
    reach = np.ones((tree.n_branches + tree.n_leaves, len(scaled)))
    for t in range(tree.n_branches):
        reach[2 * t + 1] = reach[t] * left[t]
        reach[2 * t + 2] = reach[t] - reach[2 * t + 1]
    proba = np.zeros((len(tree.classes), len(scaled)))
    np.add.at(proba, tree.leaf_class, reach[tree.n_branches :])
    return [int(k) for k in np.argmax(proba, axis=0)]


def find_flip(tree: Tree, scaled: FloatArray, now: Any, i: int) -> Flip:
    """Smallest change of variable i, now of the value given, for a scaled sample."""
    variable = tree.encoder.variables[i]
    columns = np.flatnonzero(tree.encoder.column_variable == i)
    if isinstance(variable, Numeric):
        found = _number_flip(tree, scaled, int(columns[0]), variable, float(now))
    else:
        found = _level_flip(tree, scaled, columns, variable)
    if found is None:
        return Flip(variable.name, now, None, None)
    return Flip(variable.name, now, found[0], tree.classes.tolist()[found[1]])


def _level_flip(
    tree: Tree, scaled: FloatArray, columns: IntArray, variable: Categorical
) -> tuple[Any, int] | None:
    """First level, in their order, that gives another class."""
    (before,) = _classes(tree, scaled[np.newaxis])
    trial = np.repeat(scaled[np.newaxis], len(variable.levels), axis=0)
    trial[:, columns] = np.eye(len(variable.levels))[:, 1:]
    for level, k in zip(variable.levels, _classes(tree, trial), strict=True):
        if k != before:
            return level, k
    return None


def _number_flip(
    tree: Tree, scaled: FloatArray, column: int, variable: Numeric, now: float
) -> tuple[float, int] | None:
    """Nearest value within the range of training that gives another class."""
    place = float(scaled[column])

    def classes(places: FloatArray) -> list[int]:
        trial = np.repeat(scaled[np.newaxis], len(places), axis=0)
        trial[:, column] = places
        return _classes(tree, trial)

    (before,) = classes(np.array([place]))
    grid = _places_to_try(tree, scaled, column)
    best: tuple[float, float] | None = None
    for side in (-1.0, 1.0):
        ahead = np.sort(side * grid[side * (grid - place) > 0.0]) * side
        found = classes(ahead) if ahead.size else []
        n = next((n for n, k in enumerate(found) if k != before), None)
        if n is None:
            continue
        inner, outer = (ahead[n - 1] if n else place), float(ahead[n])
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            if classes(np.array([middle]))[0] == before:
                inner = middle
            else:
                outer = middle
        if best is None or abs(outer - place) < abs(best[0] - place):
            best = outer, side
    if best is None:
        return None
    return _readable(best[0], best[1], variable, now, classes, before)


def _places_to_try(tree: Tree, scaled: FloatArray, column: int) -> FloatArray:
    """Scaled values at and around the borders of all cuts, and the ends of the range.

    Between two neighbours of them all cuts are flat or go one way.
    """
    score = scores(tree, scaled[np.newaxis])[:, 0]
    slope = tree.gamma * tree.coef[column] / tree.n_columns
    turning = slope != 0.0
    border = scaled[column] - score[turning] / slope[turning]
    width = 1.0 / np.abs(slope[turning])
    offsets = np.concatenate([-_AROUND[::-1], _AROUND])
    places = (border[:, np.newaxis] + width[:, np.newaxis] * offsets).ravel()
    even = np.linspace(0.0, 1.0, 65)
    return np.concatenate([places[(places > 0.0) & (places < 1.0)], even])


def _readable(
    place: float,
    side: float,
    variable: Numeric,
    now: float,
    classes: Callable[[FloatArray], list[int]],
    before: int,
) -> tuple[float, int]:
    """The value with as few digits as still change the class."""
    exact = variable.lower + variable.span * place
    upper = variable.lower + variable.span
    for digits in range(3, 17):
        unit = 10.0 ** (np.floor(np.log10(abs(exact - now) or 1.0)) + 1 - digits)
        rounder = np.ceil if side > 0 else np.floor
        value = float(f"{rounder(exact / unit) * unit:.15g}")
        if not variable.lower <= value <= upper:
            continue
        (k,) = classes(np.array([(value - variable.lower) / variable.span]))
        if k != before:
            return value, k
    return exact, classes(np.array([place]))[0]
