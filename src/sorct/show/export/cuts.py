"""Cuts: a tree taken apart into what every export writes down.

A tree becomes a list of cuts, each a sum of terms over raw values, and a list of
routes, one per leaf. Cuts that decide nothing are left out, and so are columns that
were constant in training: nothing written here changes a prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.data.encoder import Categorical, Numeric
from sorct.show.text import check_tree, printable
from sorct.tree.prune import SEVERAL, node_classes, only_child

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

_WIDTH = 84


@dataclass(frozen=True)
class NumericTerm:
    """A numeric variable in a cut; it adds weight (value - lower) / span."""

    name: str
    lower: float
    span: float
    weight: float

    @property
    def size(self) -> float:
        """Most that the term adds over the range seen in training."""
        return abs(self.weight)

    def text(self, value: str, number: Callable[[float], str] = repr) -> str:
        """The term without its sign, in the arithmetic that all languages share."""
        if self.lower != 0.0:
            sign = "-" if self.lower > 0.0 else "+"
            value = f"({value} {sign} {number(abs(self.lower))})"
        return f"{value} / {number(self.span)} * {number(abs(self.weight))}"


@dataclass(frozen=True)
class LevelTerm:
    """A categorical variable in a cut; it adds the weight of its level."""

    name: str
    weights: dict[Any, float]

    @property
    def size(self) -> float:
        """Most that the term adds."""
        return max(abs(weight) for weight in self.weights.values())


@dataclass(frozen=True)
class Cut:
    """A cut: a sample goes left with probability F(offset + sum of the terms).

    Its number is the one that the rules print.
    """

    number: int
    offset: float
    terms: tuple[NumericTerm | LevelTerm, ...]


@dataclass(frozen=True)
class Route:
    """A way from the root to a leaf: the cuts passed, and whether it goes left."""

    label: int
    steps: tuple[tuple[int, bool], ...]

    def text(self, left: str) -> str:
        """The chance of the route as a product; ``left`` begins the cuts' names."""
        factors = [
            f"{left}{number}" if goes_left else f"(1 - {left}{number})"
            for number, goes_left in self.steps
        ]
        return " * ".join(factors) or "1.0"


@dataclass(frozen=True)
class Cuts:
    """What an export writes.

    Attributes
    ----------
    labels : list of str, int, float or bool, one per class
    variables : tuple of Numeric or Categorical
        Those that some cut uses, in the order of the table.
    cuts : tuple of Cut, from the root down
    routes : tuple of Route, from left to right
    unknown_is_first : bool
        Whether a level never seen in training counts as the first one.
    """

    labels: list[Any]
    variables: tuple[Numeric | Categorical, ...]
    cuts: tuple[Cut, ...]
    routes: tuple[Route, ...]
    unknown_is_first: bool

    @property
    def has_levels(self) -> bool:
        """Whether some cut uses a categorical variable."""
        return any(isinstance(variable, Categorical) for variable in self.variables)

    def routes_to(self, label: int) -> list[Route]:
        """Routes that end in a class."""
        return [route for route in self.routes if route.label == label]

    def chances(self, label: int, left: str) -> list[str]:
        """Chances of the routes to a class, to be added up; ``left`` names the cuts."""
        routes = self.routes_to(label)
        if len(routes) == 1 and len(routes[0].steps) == 1:
            return [routes[0].text(left).strip("()")]
        return [route.text(left) for route in routes]


def read_cuts(tree: Tree) -> Cuts:
    """Take a tree apart; a ValueError says which label or level cannot be written."""
    check_tree(tree)
    constant = [isinstance(v, Numeric) and v.span == 0.0 for v in _by_column(tree)]
    coef = np.where(np.array(constant)[:, np.newaxis], 0.0, tree.coef)
    routes = tuple(_routes(tree, coef))
    numbers = sorted({number for route in routes for number, _ in route.steps})
    cuts = tuple(_cut(tree, coef, number) for number in numbers)
    used = {term.name for cut in cuts for term in cut.terms}
    return Cuts(
        labels=_plain(tree.classes.tolist(), "Class labels"),
        variables=tuple(v for v in tree.encoder.variables if v.name in used),
        cuts=cuts,
        routes=routes,
        unknown_is_first=tree.encoder.unknown == "first_level",
    )


def _by_column(tree: Tree) -> list[Numeric | Categorical]:
    return [tree.encoder.variables[i] for i in tree.encoder.column_variable]


def _routes(tree: Tree, coef: Any) -> Iterator[Route]:
    """Routes to the leaves; one that nothing divides any more ends there."""
    classes = node_classes(coef, tree.threshold, tree.leaf_class, tree.gamma)

    def below(node: int, steps: tuple[tuple[int, bool], ...]) -> Iterator[Route]:
        if classes[node] != SEVERAL:
            yield Route(int(classes[node]), steps)
            return
        only = only_child(coef, tree.threshold, tree.gamma, node)
        if only is not None:
            yield from below(only, steps)
            return
        yield from below(2 * node + 1, (*steps, (node + 1, True)))
        yield from below(2 * node + 2, (*steps, (node + 1, False)))

    return below(0, ())


def _cut(tree: Tree, coef: Any, number: int) -> Cut:
    """Cut of a number, the term that can add most first."""
    node = number - 1
    weight = tree.gamma / tree.n_columns * coef[:, node]
    terms: list[NumericTerm | LevelTerm] = []
    for i, variable in enumerate(tree.encoder.variables):
        own = weight[tree.encoder.column_variable == i].tolist()
        if not any(own):
            continue
        if isinstance(variable, Numeric):
            terms.append(
                NumericTerm(variable.name, variable.lower, variable.span, own[0])
            )
        else:
            levels = _plain(variable.levels, f"Levels of column {variable.name!r}")
            weights = dict(zip(levels, [0.0, *own], strict=True))
            terms.append(LevelTerm(variable.name, weights))
    terms.sort(key=lambda term: -term.size)
    return Cut(number, -tree.gamma * float(tree.threshold[node]), tuple(terms))


def _plain(values: Any, what: str) -> list[Any]:
    """Values of one kind that every language has: text, booleans or numbers."""
    kinds = {_kind(value) for value in values}
    if len(kinds) != 1 or None in kinds:
        raise ValueError(
            f"{what} must be all strings, all booleans or all finite numbers to be "
            f"exported, got {', '.join(map(repr, values[:5]))}."
        )
    return list(values)


def _kind(value: Any) -> type | None:
    if isinstance(value, (bool, str)):
        return type(value)
    return float if isinstance(value, (int, float)) and isfinite(value) else None


def header(cuts: Cuts, title: str) -> list[str]:
    """Lines for a comment at the head: what it is, the classes, the variables."""
    names = "; ".join(printable(variable.name) for variable in cuts.variables)
    lines = wrap(title, _WIDTH) + wrap(f"It reads: {names or 'nothing'}.", _WIDTH)
    for k, label in enumerate(cuts.labels):
        lines.append(f"Class {k}: {printable(label)}")
    return lines


def signed(number: float, text: str) -> str:
    """A term of a sum, with the sign that its text leaves out."""
    return f"- {text}" if number < 0.0 else f"+ {text}"


def listed(items: list[str]) -> list[str]:
    """Items with a comma after all but the last."""
    return [f"{item}," for item in items[:-1]] + items[-1:]


def filled(parts: list[str], indent: str) -> str:
    """Parts side by side, on as many lines as they need; no part is broken."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(indent) + len(lines[-1]) + len(part) >= _WIDTH:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return f"\n{indent}".join(lines)
