"""Formula: a tree as what every export writes down.

A list of scores, each a sum of terms over raw values, and a list of routes, one per
leaf. Cuts that decide nothing are left out, and so are columns that were constant in
training: nothing written here changes a prediction. Every exporter has a table that
says how it writes each kind of term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar

from sorct.data.terms import LinearTerm, Term
from sorct.data.variables import Variable, kind_of_levels
from sorct.data.wording import printable
from sorct.show.text import check_tree
from sorct.tree.view import Cut, Route, View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

_WIDTH = 84

Writer = TypeVar("Writer")


@dataclass(frozen=True)
class Score:
    """Score of a cut: a sample goes left with probability F(constant + terms).

    Its number is the one that the rules print; the term that can add most comes first.
    """

    number: int
    constant: float
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Formula:
    """What an export writes.

    Attributes
    ----------
    labels : list of str, int, float or bool, one per class
    variables : tuple of Variable
        Those that some score uses, in the order of the table.
    scores : tuple of Score, from the root down
    routes : tuple of Route, from left to right
    """

    labels: list[Any]
    variables: tuple[Variable, ...]
    scores: tuple[Score, ...]
    routes: tuple[Route, ...]

    @property
    def terms(self) -> list[Term]:
        """All terms of all scores."""
        return [term for score in self.scores for term in score.terms]

    def has(self, kind: type) -> bool:
        """Whether some term is of a kind."""
        return any(isinstance(term, kind) for term in self.terms)

    @property
    def refuses_new_levels(self) -> bool:
        """Whether a level never seen in training is an error."""
        return any(getattr(term, "others", 0.0) is None for term in self.terms)

    def routes_to(self, code: int) -> list[Route]:
        """Routes that end in a class."""
        return [route for route in self.routes if route.code == code]

    def chances(self, code: int, left: str) -> list[str]:
        """Chances of the routes to a class, to be added up; ``left`` names the cuts."""
        routes = self.routes_to(code)
        if len(routes) == 1 and len(routes[0].steps) == 1:
            return [_product(routes[0], left).strip("()")]
        return [_product(route, left) for route in routes]


def _product(route: Route, left: str) -> str:
    """The chance of a route as a product; ``left`` begins the cuts' names."""
    factors = [
        f"{left}{number}" if goes_left else f"(1 - {left}{number})"
        for number, goes_left in route.steps
    ]
    return " * ".join(factors) or "1.0"


def read_formula(tree: Tree) -> Formula:
    """Formula of a tree; a ValueError says which label or level cannot be written."""
    check_tree(tree)
    view = View.of(tree, nobody=0.0)
    cuts = sorted(view.cuts, key=lambda cut: cut.number)
    used = {i for cut in cuts for i in cut.terms}
    for i in sorted(used):
        variable = tree.encoder.variables[i]
        if variable.choices is not None:
            _plain(variable.choices, f"Levels of column {variable.name!r}")
    return Formula(
        labels=_plain(tree.classes.tolist(), "Class labels"),
        variables=tuple(tree.encoder.variables[i] for i in sorted(used)),
        scores=tuple(_score(tree, cut) for cut in cuts),
        routes=view.routes(),
    )


def _score(tree: Tree, cut: Cut) -> Score:
    slope = tree.gamma / tree.encoder.n_groups
    terms = [term.times(slope) for term in cut.terms.values()]
    terms.sort(key=lambda term: -term.size)
    constant = -tree.gamma * float(tree.threshold[cut.node])
    return Score(cut.number, constant, tuple(terms))


def row_for(term: Term, table: Mapping[type, Writer], language: str) -> Writer:
    """Row of an exporter's table for a term."""
    for kind in type(term).__mro__:
        if kind in table:
            return table[kind]
    raise TypeError(
        f"Column {term.name!r} is of a kind that cannot be written as {language} yet: "
        f"expected one of {', '.join(kind.__name__ for kind in table)}, got "
        f"{type(term).__name__}."
    )


def linear_text(
    term: LinearTerm, value: str, number: Callable[[float], str] = repr
) -> str:
    """A linear term with its sign, in the arithmetic that all languages share."""
    if term.lower != 0.0:
        sign = "-" if term.lower > 0.0 else "+"
        value = f"({value} {sign} {number(abs(term.lower))})"
    text = f"{value} / {number(term.span)} * {number(abs(term.weight))}"
    return f"- {text}" if term.weight < 0.0 else f"+ {text}"


def _plain(values: Any, what: str) -> list[Any]:
    """Values of one kind that every language has: text, booleans or numbers."""
    if kind_of_levels(values) is None:
        raise ValueError(
            f"{what} must be all strings, all booleans or all finite numbers to be "
            f"exported, got {', '.join(map(repr, values[:5]))}."
        )
    return list(values)


def header(formula: Formula, title: str) -> list[str]:
    """Lines for a comment at the head: what it is, the classes, the variables."""
    names = "; ".join(printable(variable.name) for variable in formula.variables)
    lines = wrap(title, _WIDTH) + wrap(f"It reads: {names or 'nothing'}.", _WIDTH)
    for k, label in enumerate(formula.labels):
        lines.append(f"Class {k}: {printable(label)}")
    return lines


def with_commas(items: list[str]) -> list[str]:
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
