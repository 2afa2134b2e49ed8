"""Python: a model as a module that imports ``math`` and ``datetime`` at most."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from sorct.data.terms import (
    BentTerm,
    CurveTerm,
    LevelTerm,
    LinearTerm,
    MissingTerm,
    Term,
)
from sorct.data.wording import shown
from sorct.show.export.formula import (
    Formula,
    Score,
    filled,
    header,
    linear_text,
    read_formula,
    row_for,
    with_commas,
)
from sorct.tree.calibration import LITTLE, SILENT, CurveMap, LogisticMap

if TYPE_CHECKING:
    from sorct.tree.forest import Forest
    from sorct.tree.tree import Tree

_TITLE = (
    "cut_t is the score of cut t, left_t the chance to go left there. Values are "
    "scaled to [0, 1] by the range seen in training."
)
_FUNCTION = '''\
def {name}(row):
    """Return {chosen} of a row{more}.

    A row is a mapping from the names above to raw values. A name that is missing is a
    KeyError, a value that cannot be used a ValueError.{missing}
    """
'''
_MAY_MISS = """

    Missing values are None or NaN; of a number or date, empty text as well."""
_NUMBER = """\
def _number(row, name):
    try:
        value = float(row[name])
    except (TypeError, ValueError, OverflowError):
        value = _math.nan
    if not _math.isfinite(value):
        raise ValueError(f"{name!r} must be a finite number, got {row[name]!r}.")
    return value
"""
_DAYS = """\
def _days(row, name, origin):
    try:
        day = _date.fromisoformat(str(row[name])[:10])
    except ValueError:
        message = f"{name!r} must be a date such as 2020-01-31, got {row[name]!r}."
        raise ValueError(message) from None
    return (day - _date.fromisoformat(origin)).days
"""
_CURVE = """\
def _curve(value, points):
    # Straight lines from point to point, flat beyond the first and the last.
    if value <= points[0][0]:
        return points[0][1]
    for (a, low), (b, high) in zip(points, points[1:]):
        if value <= b:
            return low + (value - a) / (b - a) * (high - low)
    return points[-1][1]
"""
_MISSING = """\
def _missing(row, name, *blank):
    value = row[name]
    try:
        return value is None or bool(value != value) or str(value) in blank
    except TypeError:  # pandas' NA is neither the same nor another
        return True
"""
_WEIGHT = """\
def _weight(row, name, weights{others}):
    value = row[name]
    if value is None or value != value:
        raise ValueError(f"{{name!r}} is missing.")
    if value not in weights:
        {unknown}
    return weights[value]
"""
_REFUSE = 'raise ValueError(f"{name!r} has the level {value!r}, unknown to the tree.")'
_OTHERS = f"if others is None:\n            {_REFUSE}\n        return others"
_CHANCE = """\
def _chance(score):
    # Below -700 the exponential overflows, and the chance is 0 to the last digit.
    return 1.0 / (1.0 + _math.exp(-score)) if score > -700.0 else 0.0
"""
_LOGISTIC = f"""\
def _logistic(proba, slope, shift):
    # A straight line of the log-odds.
    inside = min(max(proba, {LITTLE!r}), {1.0 - LITTLE!r})
    return _chance(slope * _math.log(inside / (1.0 - inside)) + shift)
"""


def to_python(tree: Tree | Forest, *, name: str = "predict") -> str:
    """Source of a Python module that needs no other package.

    Its one public function takes a mapping from names of variables to raw values (a
    dict, a row of ``csv.DictReader``, a pandas Series) and returns the class that the
    tree predicts and a dict from class to probability, or the predicted quantity. It
    asks only for the variables that the tree uses.

    Parameters
    ----------
    tree : Tree or Forest
    name : str, default="predict"
        Name of the function.

    Returns
    -------
    str
    """
    _check_name(name)
    formula = read_formula(tree)
    blocks = [_head(formula), _function(formula, name)]
    tools = {
        _NUMBER: formula.has_numbers,
        _DAYS: bool(formula.dates),
        _CURVE: formula.has(CurveTerm, BentTerm) or formula.has_map(CurveMap),
        _MISSING: formula.has(MissingTerm),
        _weight(formula): formula.has(LevelTerm),
        _CHANCE: _has_chances(formula),
        _LOGISTIC: formula.has_map(LogisticMap),
    }
    blocks += [tool for tool, used in tools.items() if used]
    return "\n\n".join(blocks)


def _has_chances(formula: Formula) -> bool:
    """Whether the logistic function is needed, by cuts or by maps."""
    return bool(formula.scores) or formula.has_map(LogisticMap)


def _weight(formula: Formula) -> str:
    """The function that looks up levels; what it does with new ones hangs on them."""
    if formula.others == {None}:
        return _WEIGHT.format(others="", unknown=_REFUSE)
    if formula.others == {0.0}:
        return _WEIGHT.format(others="", unknown="return 0.0")
    return _WEIGHT.format(others=", others=None", unknown=_OTHERS)


def _check_name(name: str) -> None:
    free = isinstance(name, str) and name.isidentifier()
    free = free and not iskeyword(name) and not hasattr(builtins, name)
    if not free or name.startswith("_"):
        raise ValueError(
            "name must be a Python name that is no keyword, no built-in function and "
            f"does not begin with an underscore, got {shown(name)}."
        )


def _head(formula: Formula) -> str:
    # The first two lines are ours: a comment there could declare an encoding.
    lines = [f'"""A {formula.what} as a function, written by sorct."""', ""]
    lines += [f"# {line}" for line in header(formula, _TITLE)]
    needs_math = _has_chances(formula) or formula.has_numbers or formula.is_log
    lines += ["", "import math as _math"] if needs_math else []
    lines += ["from datetime import date as _date"] if formula.dates else []
    return "\n".join([*lines, ""])


def _function(formula: Formula, name: str) -> str:
    numbers = [score.number for score in formula.scores]
    lines = [_score(score, formula) for score in formula.scores]
    lines += [f"    left_{n} = _chance(cut_{n})" for n in numbers]
    if formula.of_quantity:
        lines += [*_value_of_leaves(formula), ""]
    else:
        lines += [*_proba(formula), *_choice(formula), ""]
    missing = _MAY_MISS if formula.has(MissingTerm) else ""
    chosen, more = formula.chosen, ", and a dict of all probabilities"
    if formula.of_quantity:
        chosen, more = "the predicted value", ""
    head = _FUNCTION.format(name=name, missing=missing, chosen=chosen, more=more)
    return head + "\n".join(lines)


def _value_of_leaves(formula: Formula) -> list[str]:
    """What linear leaves say, and the sum over all routes."""
    lines = [_score(leaf, formula, "says") for leaf in formula.leaves if leaf.terms]
    parts = formula.parts_of_value("left_", "says_")
    if formula.ends is None:
        return [*lines, "    return (", f"        {_sum(parts)}", "    )"]
    lines += ["    mixed = (", f"        {_sum(parts)}", "    )"]
    low, high = formula.ends
    return [*lines, f"    return _math.exp(min(max(mixed, {low!r}), {high!r}))"]


def _proba(formula: Formula) -> list[str]:
    """The probabilities of the classes, calibrated if they are to be."""
    lines = []
    totals = [
        "\n        + ".join(formula.chances(k, "left_")) or "0.0"
        for k in range(len(formula.labels))
    ]
    if formula.is_soft and formula.scores:
        reach = enumerate(formula.reach("left_"), 1)
        lines += [f"    leaf_{n} = {chance}" for n, chance in reach]
        totals = [_sum(formula.said(k, "leaf_")) for k in range(len(formula.labels))]
    if formula.maps:
        lines += ["    raw = [", *(f"        {total}," for total in totals), "    ]"]
        more, totals = _calibrated(formula)
        lines += more
    pairs = zip(formula.labels, totals, strict=True)
    items = [f"        {label!r}: {total}," for label, total in pairs]
    return [*lines, "    proba = {", *items, "    }"]


def _sum(parts: list[str]) -> str:
    """Parts added up, side by side."""
    return filled([*parts[:1], *(f"+ {part}" for part in parts[1:])], " " * 8) or "0.0"


def _calibrated(formula: Formula) -> tuple[list[str], list[str]]:
    """Lines that map the tree's own probabilities, and what the classes get."""
    maps = {k: _MAPS[type(one)](one, f"raw[{k}]") for k, one in formula.mapped.items()}
    if len(maps) == 1:
        return [f"    second = {maps[1]}"], ["1.0 - second", "second"]
    lines = ["    mapped = [", *(f"        {text}," for text in maps.values()), "    ]"]
    lines.append("    total = sum(mapped)")
    own = [f"mapped[{k}] / total if total > {SILENT!r} else raw[{k}]" for k in maps]
    return lines, own


def _choice(formula: Formula) -> list[str]:
    """The class that is predicted, the first of equals."""
    if formula.decision is None:
        return ["    return max(proba, key=proba.get), proba"]
    items = []
    for k, label in enumerate(formula.labels):
        parts = [f"{c!r} * proba[{formula.labels[j]!r}]" for j, c in formula.costs(k)]
        items.append(f"        {label!r}: {_sum(parts)},")
    return [
        "    cost = {",
        *items,
        "    }",
        "    return min(cost, key=cost.get), proba",
    ]


def _score(score: Score, formula: Formula, name: str = "cut") -> str:
    terms = [_term(term, formula) for term in score.terms]
    indent = "\n        "
    lines = indent.join([repr(score.constant), *terms])
    return f"    {name}_{score.number} = ({indent}{lines}\n    )"


def _term(term: Term, formula: Formula) -> str:
    return row_for(term, _TERMS, "Python")(term, formula)


def _value(term: LinearTerm | CurveTerm | BentTerm) -> str:
    """A number, of a date in days."""
    if term.origin is None:
        return f"_number(row, {term.name!r})"
    return f"_days(row, {term.name!r}, {term.origin!r})"


def _linear(term: LinearTerm, formula: Formula) -> str:
    return linear_text(term, _value(term))


def _curve(term: CurveTerm | BentTerm, formula: Formula) -> str:
    return _curve_text("+ ", _value(term), term.at, term.values)


def _curve_text(
    sign: str, value: str, at: Sequence[float], values: Sequence[float]
) -> str:
    first, *points = [repr(p) for p in zip(at, values, strict=True)]
    items = with_commas([f"{sign}_curve({value}, [{first}", *points])
    return filled([*items[:-1], items[-1] + "])"], " " * 12)


def _level(term: LevelTerm, formula: Formula) -> str:
    pairs = [f"{level!r}: {w!r}" for level, w in term.weights.items()] or [""]
    items = with_commas([f"+ _weight(row, {term.name!r}, {{{pairs[0]}", *pairs[1:]])
    told = term.others is not None and formula.others != {0.0}
    end = f"}}, {term.others!r})" if told else "})"
    return filled([*items[:-1], items[-1] + end], " " * 12)


def _missing(term: MissingTerm, formula: Formula) -> str:
    known = _term(term.known, formula).removeprefix("+ ")
    blank = "" if isinstance(term.known, LevelTerm) else ", ''"
    check = f"_missing(row, {term.name!r}{blank})"
    return f"+ ({term.weight!r} if {check} else\n{' ' * 12}{known})"


#: How each kind of term is written.
_TERMS: dict[type, Callable[[Any, Formula], str]] = {
    LinearTerm: _linear,
    CurveTerm: _curve,
    BentTerm: _curve,
    LevelTerm: _level,
    MissingTerm: _missing,
}

#: How each kind of map is written, for some probability.
_MAPS: dict[type, Callable[[Any, str], str]] = {
    LogisticMap: lambda one, raw: f"_logistic({raw}, {one.slope!r}, {one.shift!r})",
    CurveMap: lambda one, raw: _curve_text("", raw, one.points, one.values),
}
