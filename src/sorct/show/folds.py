"""Folds: the levels of a category in a cut, those of equal weight together.

However many levels a category has, it is told in a few words, unless every level is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sorct.data.wording import apart, readable_level, shortened
from sorct.show.numbers import allowed_error, rounded
from sorct.tree.reading import Piece, Reading

# Names that are told of one weight, weights that are told, letters of a name.
_NAMES, _WEIGHTS, _LETTERS = 3, 6, 60


@dataclass(frozen=True)
class Fold:
    """Levels of a category that add the same to a cut, or nearly nothing.

    Attributes
    ----------
    words : tuple of str
        The levels, such as "Paris, Rome and 12 more"; "missing", or "others". A line
        may be broken between two of them.
    low, high : float
        Least and most that they add; equal but for levels that are only counted.
    numbers : tuple of str
        These two as printed, with their signs.
    each : tuple of str
        The levels one by one; empty where they are only counted.
    """

    words: tuple[str, ...]
    low: float
    high: float
    numbers: tuple[str, str]
    each: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """These words in one."""
        return " ".join(self.words)

    def short(self, room: int) -> str:
        """The names in so many letters: as many levels as have room, of others a count.

        A level is shortened only where there is room for one alone.
        """
        n_all, text = len(self.each), self.names
        for n in range(min(n_all, _NAMES), 0, -1):
            if len(text) <= room:
                break
            more = f" and {n_all - n} more" if n < n_all else ""
            told = ", ".join(self.each[:n])
            text = (
                f"{shortened(told, max(room - len(more), 1)) if n == 1 else told}{more}"
            )
        return text

    def parts(self, write: Callable[[str], str] = str) -> list[str]:
        """Names and weight: "car, house +0.3"."""
        low, high = (_signed(number, write) for number in self.numbers)
        *words, last = self.words
        return [*words, f"{last} {high if low == high else f'from {low} to {high}'}"]


def folds(
    reading: Reading, piece: Piece, decimals: int | None = None, every: bool = False
) -> list[Fold]:
    """Levels of a piece by their weights, the largest first; missing and others last.

    Levels that add what all others add are among these. Many names and many weights
    are counted, unless ``every`` one is to be told.
    """
    error = allowed_error(reading)

    def number(weight: float) -> str:
        return rounded(weight + 0.0, error, decimals)

    others = piece.others
    if others is None and len(piece.levels) > 2:
        # All that adds nothing is told in one word.
        others = 0.0 if any(weight == 0.0 for _, weight in piece.levels) else None
    alike: dict[str, list[tuple[Any, float]]] = {}
    # Of two sides one is told.
    levels = [(one, w) for one, w in piece.levels if w != 0.0 or not piece.base]
    for level, weight in levels:
        if others is None or number(weight) != number(others):
            alike.setdefault(number(weight), []).append((level, weight))
    groups = sorted(alike.values(), key=lambda group: -abs(group[0][1]))
    many = len(groups) > _WEIGHTS and not every
    told = groups[: _WEIGHTS - 1] if many else groups
    found = [
        replace(
            _fold(named(_names(group, every), every), group, number),
            each=tuple(_names(group, whole=True)),
        )
        for group in told
    ]
    if many:
        rest = [entry for group in groups[_WEIGHTS - 1 :] for entry in group]
        found.append(_fold([f"{len(rest)} levels"], rest, number))
    for name, value in (("missing", piece.missing), ("others", others)):
        # Of a new level that is halfway a note tells, not every cut.
        if value is not None and not (name == "others" and piece.halfway):
            found.append(_fold([name], [(name, value)], number))
    return found


def _fold(
    words: Sequence[str],
    group: list[tuple[Any, float]],
    number: Callable[[float], str],
) -> Fold:
    low, high = (bound(weight for _, weight in group) for bound in (min, max))
    return Fold(tuple(words), low, high, (number(low), number(high)))


def _names(group: list[tuple[Any, float]], whole: bool) -> list[str]:
    """Levels as they stand beside numbers: those that look like one are quoted."""
    return [quoted(level, readable_level, whole) for level, _ in group]


def quoted(level: Any, write: Callable[[Any], str] = apart, whole: bool = False) -> str:
    """A level that stands apart from other words, shortened if long and not whole."""
    text = write(level)
    return text if whole else shortened(text, _LETTERS)


def named(
    names: Sequence[str], every: bool, last: str = ", ", more: str = " and "
) -> list[str]:
    """Some names in a row, and how many more there are; or every one, in parts."""
    if len(names) > _NAMES and every:
        *some, before, end = names
        return [*(f"{name}," for name in some), f"{before}{last.rstrip()}", end]
    if len(names) > _NAMES:
        return [f"{', '.join(names[: _NAMES - 1])}{more}{len(names) - _NAMES + 1} more"]
    head = ", ".join(names[:-1])
    return [f"{head}{last}{names[-1]}" if head else names[-1]]


def _signed(number: str, write: Callable[[str], str]) -> str:
    if float(number) == 0.0:
        return "0"
    sign, size = ("-", number[1:]) if number.startswith("-") else ("+", number)
    return f"{sign}{write(size)}"
