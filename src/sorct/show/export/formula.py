"""Formula: a tree or a forest as what every export writes down.

A list of scores, each a sum of terms over raw values, and a list of routes, one per
leaf, each with what its leaf says of the classes; then, if the tree has them, maps that
calibrate the probabilities and the costs that it decides by. A forest says the mean of
what its trees say, which is a sum over the routes of all of its trees: it has the cuts
and routes of all, and what a leaf says is multiplied by the weight of its tree.

Cuts that decide nothing are left out, and so are columns that were constant in
training: nothing written here changes a prediction. Every exporter has a table that
says how it writes each kind of term, and one for each kind of map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from sorct._typing import FloatArray
from sorct.data.missing import completed_term
from sorct.data.terms import LevelTerm, LinearTerm, MissingTerm, Term
from sorct.data.variables import Variable, kind_of_levels, levels_of
from sorct.data.wording import printable
from sorct.show.text import check_tree
from sorct.tree.calibration import Map
from sorct.tree.forest import Forest
from sorct.tree.view import Cut, Route, View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

_WIDTH = 84
# So many summands stand side by side; more are added up in brackets first.
_MOST_SUMMANDS = 100
_DECIDED = "The class is the one of least expected cost."

Writer = TypeVar("Writer")
#: How a language writes a number.
Number: TypeAlias = Callable[[float], str]


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
    maps : tuple of Map
        What calibrates the probabilities: a map per class, or one, of the second, where
        there are two; none if they are not calibrated.
    decision : tuple of tuples, one per class, or None
        What predicting the class costs, by true class: the cheapest is predicted. None
        means the most probable.
    leaves : tuple of Score
        What leaves say of a quantity, one per route and numbered from 1; none where
        classes are predicted.
    sizes : tuple of int
        Of a forest, how many of the routes belong to each tree; none for a tree.
    ends : pair of float or None
        Least and largest sum, where leaves say logarithms: the value is e to the power
        of the sum within these.
    """

    labels: list[Any]
    variables: tuple[Variable, ...]
    scores: tuple[Score, ...]
    routes: tuple[Route, ...]
    maps: tuple[Map, ...] = ()
    decision: tuple[tuple[float, ...], ...] | None = None
    leaves: tuple[Score, ...] = ()
    sizes: tuple[int, ...] = ()
    ends: tuple[float, float] | None = None

    @property
    def what(self) -> str:
        """What is written, in words."""
        kind = "regression" if self.of_quantity else "classification"
        return f"{kind} {'forest' if self.sizes else 'tree'}"

    def by_tree(self, parts: Sequence[Any]) -> list[list[Any]]:
        """Something for every route, in a list per tree."""
        ends = np.cumsum(self.sizes or (len(parts),)).tolist()
        return [list(parts[a:b]) for a, b in zip([0, *ends], ends, strict=False)]

    def _summands(self, parts: list[str]) -> list[str]:
        """What routes add, of a forest in brackets by tree; empty text is left out.

        Without brackets the sum would be nested deeper than Python and databases allow.
        """
        if not self.sizes:
            return [part for part in parts if part]
        told = [[part for part in own if part] for own in self.by_tree(parts)]
        found = [f"({' + '.join(own)})" for own in told if own]
        while len(found) > _MOST_SUMMANDS:
            groups = range(0, len(found), _MOST_SUMMANDS)
            told = [found[k : k + _MOST_SUMMANDS] for k in groups]
            found = [f"({' + '.join(own)})" for own in told]
        return found

    @property
    def of_quantity(self) -> bool:
        """Whether a quantity is predicted: what leaves say is in ``leaves``."""
        return bool(self.leaves)

    @property
    def is_log(self) -> bool:
        """Whether leaves say logarithms."""
        return self.ends is not None

    @property
    def has_slopes(self) -> bool:
        """Whether some leaf says more than a number."""
        return any(leaf.terms for leaf in self.leaves)

    @property
    def terms(self) -> list[Term]:
        """All terms of all scores, and of all linear leaves."""
        return [term for score in self.scores + self.leaves for term in score.terms]

    def parts_of_value(self, left: str, says: str, number: Number = repr) -> list[str]:
        """What every route adds to the value; ``says`` names what linear leaves say."""
        found = []
        for route, leaf in zip(self.routes, self.leaves, strict=True):
            said = f"{says}{leaf.number}" if leaf.terms else number(leaf.constant)
            found.append(_product(route, left, [said]))
        return self._summands(found)

    @property
    def known_terms(self) -> list[Term]:
        """All terms, as they are for cells that are not missing."""
        return [known_part(term) for term in self.terms]

    def has(self, *kinds: type) -> bool:
        """Whether some term is of a kind, or is where cells are not missing."""
        return any(isinstance(term, kinds) for term in self.terms + self.known_terms)

    @property
    def has_numbers(self) -> bool:
        """Whether some variable is a number and no date."""
        return any(getattr(term, "origin", "") is None for term in self.known_terms)

    @property
    def refuses_new_levels(self) -> bool:
        """Whether a level never seen in training is an error."""
        return any(term.refuses_unknown for term in self.terms)

    @property
    def others(self) -> set[float | None]:
        """What levels never seen in training add; None where they are an error."""
        return {t.others for t in self.known_terms if isinstance(t, LevelTerm)}

    @property
    def dates(self) -> dict[str, str]:
        """For every variable that is a date, the day from which days are counted."""
        origins = {t.name: getattr(t, "origin", None) for t in self.known_terms}
        return {name: day for name, day in origins.items() if day is not None}

    @property
    def may_miss(self) -> list[str]:
        """Names of the variables whose cells may be missing."""
        found = {term.name for term in self.terms if isinstance(term, MissingTerm)}
        return [v.name for v in self.variables if v.name in found]

    @property
    def chosen(self) -> str:
        """What the class that is predicted is, in words."""
        if self.decision is None:
            return "the most probable class"
        return "the class of least expected cost"

    @property
    def mapped(self) -> dict[int, Map]:
        """Maps by the position of their class."""
        first = 1 if len(self.maps) == 1 else 0
        return dict(enumerate(self.maps, first))

    def has_map(self, kind: type) -> bool:
        """Whether some map is of a kind."""
        return any(isinstance(one, kind) for one in self.maps)

    @property
    def is_soft(self) -> bool:
        """Whether some leaf says more than a class."""
        return any(0.0 < share < 1.0 for route in self.routes for share in route.proba)

    def shares(self, code: int) -> list[tuple[Route, float]]:
        """Routes to leaves that say something of a class, and what they say."""
        told = [(route, route.proba[code]) for route in self.routes]
        return [(route, share) for route, share in told if share > 0.0]

    def chances(self, code: int, left: str, number: Number = repr) -> list[str]:
        """Chances of a class by route, to be added up; ``left`` names the cuts."""
        parts = self.shares(code)
        if [(len(route.steps), share) for route, share in parts] == [(1, 1.0)]:
            return [_product(parts[0][0], left).strip("()")]
        told = [(route, route.proba[code]) for route in self.routes]
        return self._summands(
            [
                _product(route, left, _factor(share, number)) if share > 0.0 else ""
                for route, share in told
            ]
        )

    def reach(self, left: str) -> list[str]:
        """Chances of all routes; ``left`` names the cuts."""
        return [_product(route, left) for route in self.routes]

    def said(self, code: int, leaf: str) -> list[str]:
        """What leaves say of a class, to be added up; ``leaf`` names their chances."""
        shares = [route.proba[code] for route in self.routes]
        return self._summands(
            [
                " * ".join([*_factor(share, repr), f"{leaf}{n}"]) if share > 0.0 else ""
                for n, share in enumerate(shares, 1)
            ]
        )

    def costs(self, code: int) -> list[tuple[int, float]]:
        """Classes for which predicting a class costs something, and how much."""
        assert self.decision is not None
        return [(k, cost) for k, cost in enumerate(self.decision[code]) if cost != 0.0]


def _product(route: Route, left: str, factor: Sequence[str] = ()) -> str:
    """The chance of a route as a product; ``left`` begins the cuts' names."""
    factors = [
        f"{left}{number}" if goes_left else f"(1 - {left}{number})"
        for number, goes_left in route.steps
    ]
    return " * ".join([*factor, *factors]) or "1.0"


def _factor(share: float, number: Number) -> list[str]:
    """A share as a factor; 1 is none."""
    return [] if share == 1.0 else [number(share)]


def read_formula(model: Tree | Forest) -> Formula:
    """Formula of a tree or forest; a ValueError says what cannot be written."""
    if isinstance(model, Forest):
        return _mean(model)
    if hasattr(model, "forest_"):
        raise TypeError(
            f"Expected a Tree or Forest, got a {type(model).__name__}; pass its "
            "forest_."
        )
    check_tree(model)
    return _of_tree(model)


def _mean(forest: Forest) -> Formula:
    """Cuts and routes of all trees, whose leaves count by the weight of their tree."""
    if any(tree.calibration is not None for tree in forest.trees):
        raise ValueError(
            "Expected a forest of trees that are not calibrated one by one: the mean "
            "of calibrated trees has no export yet."
        )
    scores: list[Score] = []
    routes: list[Route] = []
    leaves: list[Score] = []
    sizes = []
    for weight, tree in zip(forest.weights.tolist(), forest.trees, strict=True):
        own = _of_tree(tree)
        number = {one.number: len(scores) + n for n, one in enumerate(own.scores, 1)}
        scores += [replace(one, number=number[one.number]) for one in own.scores]
        leaves += [
            _weighted(leaf, len(routes) + n, weight)
            for n, leaf in enumerate(own.leaves, 1)
        ]
        routes += [
            replace(
                route,
                steps=tuple((number[cut], left) for cut, left in route.steps),
                proba=tuple(weight * share for share in route.proba),
            )
            for route in own.routes
        ]
        sizes.append(len(own.routes))
    used = {term.name for score in (*scores, *leaves) for term in score.terms}
    return Formula(
        labels=own.labels,
        variables=tuple(v for v in forest.encoder.variables if v.name in used),
        scores=tuple(scores),
        routes=tuple(routes),
        decision=_by_prediction(forest.decision_cost),
        leaves=tuple(leaves),
        sizes=tuple(sizes),
        ends=_ends(forest),
    )


def _weighted(leaf: Score, number: int, weight: float) -> Score:
    terms = tuple(term.times(weight) for term in leaf.terms)
    return Score(number, weight * leaf.constant, terms)


def _of_tree(tree: Tree) -> Formula:
    view = View.of(tree, nobody=0.0)
    cuts = sorted(view.cuts, key=lambda cut: cut.number)
    used = {i for cut in cuts for i in cut.terms}
    used |= {i for leaf in view.leaves for i in leaf.terms}
    for i in sorted(used):
        variable = tree.encoder.variables[i]
        levels = levels_of(variable)
        if levels:
            _plain(levels, f"Levels of column {variable.name!r}")
    if tree.of_quantity:
        routes = view.routes()
        return Formula(
            labels=[],
            variables=tuple(tree.encoder.variables[i] for i in sorted(used)),
            scores=tuple(_score(tree, cut) for cut in cuts),
            routes=routes,
            leaves=tuple(_leaf(tree, n, route) for n, route in enumerate(routes, 1)),
            ends=_ends(tree),
        )
    return Formula(
        labels=_plain(tree.classes.tolist(), "Class labels"),
        variables=tuple(tree.encoder.variables[i] for i in sorted(used)),
        scores=tuple(_score(tree, cut) for cut in cuts),
        routes=view.routes(),
        maps=() if tree.calibration is None else tree.calibration.maps,
        decision=_by_prediction(tree.decision_cost),
    )


def _ends(model: Tree | Forest) -> tuple[float, float] | None:
    """Least and largest sum, where what is summed up is a logarithm."""
    is_log = model.of_quantity and model.quantity.is_log
    return model.quantity.log_ends if is_log else None


def _by_prediction(cost: FloatArray | None) -> tuple[tuple[float, ...], ...] | None:
    """Costs by predicted class, then by true class."""
    return None if cost is None else tuple(map(tuple, cost.T.tolist()))


def _score(tree: Tree, cut: Cut) -> Score:
    slope = tree.gamma / tree.encoder.n_groups
    terms = [
        completed_term(term, tree.encoder.variables[i], tree.encoder.unknown).times(
            slope
        )
        for i, term in cut.terms.items()
    ]
    terms.sort(key=lambda term: -term.size)
    constant = -tree.gamma * float(tree.threshold[cut.node])
    return Score(cut.number, constant, tuple(terms))


def _leaf(tree: Tree, number: int, route: Route) -> Score:
    """What a leaf says of a quantity."""
    place = {v.name: v for v in tree.encoder.variables}
    terms = [
        completed_term(term, place[term.name], tree.encoder.unknown)
        for term in route.terms
    ]
    terms.sort(key=lambda term: -term.size)
    return Score(number, route.value, tuple(terms))


def known_part(term: Term) -> Term:
    """The term for cells that are not missing."""
    return term.known if isinstance(term, MissingTerm) else term


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


def linear_text(term: LinearTerm, value: str, number: Number = repr) -> str:
    """A linear term with its sign, in the arithmetic that all languages share."""
    value = shifted_text(value, term.lower, number)
    text = f"{value} / {number(term.span)} * {number(abs(term.weight))}"
    return f"- {text}" if term.weight < 0.0 else f"+ {text}"


def shifted_text(value: str, lower: float, number: Number = repr) -> str:
    """A value minus a number."""
    if lower == 0.0:
        return value
    sign = "-" if lower > 0.0 else "+"
    return f"({value} {sign} {number(abs(lower))})"


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
    for name, day in formula.dates.items():
        lines += wrap(f"{printable(name)} is a date, in days since {day}.", _WIDTH)
    names = "; ".join(map(printable, formula.may_miss))
    lines += wrap(f"May be missing: {names}.", _WIDTH) if names else []
    lines += ["Probabilities are calibrated on rows held out."] if formula.maps else []
    return lines + ([] if formula.decision is None else [_DECIDED])


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
