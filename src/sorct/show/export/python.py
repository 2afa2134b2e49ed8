"""Python: a tree as the source of a module that imports nothing but ``math``."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from sorct.data.terms import LevelTerm, LinearTerm
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

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

_TITLE = (
    "cut_t is the score of cut t, left_t the chance to go left there. Values are "
    "scaled to [0, 1] by the range seen in training."
)
_FUNCTION = '''\
def {name}(row):
    """Return the most probable class of a row, and a dict of all probabilities.

    A row is a mapping from the names above to raw values. A name that is missing is a
    KeyError, a value that cannot be used a ValueError.
    """
'''
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
_WEIGHT = """\
def _weight(row, name, weights):
    value = row[name]
    if value is None or value != value:
        raise ValueError(f"{{name!r}} is missing.")
    if value not in weights:
        {unknown}
    return weights[value]
"""
_REFUSE = 'raise ValueError(f"{name!r} has the level {value!r}, unknown to the tree.")'
_CHANCE = """\
def _chance(score):
    # Below -700 the exponential overflows, and the chance is 0 to the last digit.
    return 1.0 / (1.0 + _math.exp(-score)) if score > -700.0 else 0.0
"""


def to_python(tree: Tree, *, name: str = "predict") -> str:
    """Source of a Python module that needs no other package.

    Its one public function takes a mapping from names of variables to raw values (a
    dict, a row of ``csv.DictReader``, a pandas Series) and returns the most probable
    class and a dict from class to probability. It asks only for the variables that the
    tree uses.

    Parameters
    ----------
    tree : Tree
    name : str, default="predict"
        Name of the function.

    Returns
    -------
    str
    """
    _check_name(name)
    formula = read_formula(tree)
    blocks = [_head(formula), _function(formula, name)]
    if formula.has(LinearTerm):
        blocks.append(_NUMBER)
    if formula.has(LevelTerm):
        unknown = _REFUSE if formula.refuses_new_levels else "return 0.0"
        blocks.append(_WEIGHT.format(unknown=unknown))
    if formula.scores:
        blocks.append(_CHANCE)
    return "\n\n".join(blocks)


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
    lines = ['"""A classification tree as a function, written by sorct."""', ""]
    lines += [f"# {line}" for line in header(formula, _TITLE)]
    lines += ["", "import math as _math"] if formula.scores else []
    return "\n".join([*lines, ""])


def _function(formula: Formula, name: str) -> str:
    numbers = [score.number for score in formula.scores]
    lines = [_score(score) for score in formula.scores]
    lines += [f"    left_{n} = _chance(cut_{n})" for n in numbers]
    lines.append("    proba = {")
    for k, label in enumerate(formula.labels):
        total = "\n        + ".join(formula.chances(k, "left_")) or "0.0"
        lines.append(f"        {label!r}: {total},")
    lines += ["    }", "    return max(proba, key=proba.get), proba", ""]
    return _FUNCTION.format(name=name) + "\n".join(lines)


def _score(score: Score) -> str:
    terms = [row_for(term, _TERMS, "Python")(term) for term in score.terms]
    indent = "\n        "
    lines = indent.join([repr(score.constant), *terms])
    return f"    cut_{score.number} = ({indent}{lines}\n    )"


def _linear(term: LinearTerm) -> str:
    return linear_text(term, f"_number(row, {term.name!r})")


def _level(term: LevelTerm) -> str:
    first, *pairs = [f"{level!r}: {w!r}" for level, w in term.weights.items()]
    items = with_commas([f"+ _weight(row, {term.name!r}, {{{first}", *pairs])
    return filled([*items[:-1], items[-1] + "})"], " " * 12)


#: How each kind of term is written.
_TERMS: dict[type, Callable[[Any], str]] = {LinearTerm: _linear, LevelTerm: _level}
