"""JavaScript: a tree as one function without dependencies, for Node and browsers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sorct.data.terms import CurveTerm, LevelTerm, LinearTerm, MissingTerm, Term
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
    "A classification tree as a function, written by sorct. cut_t is the score of cut "
    "t, left_t the chance to go left there. Values are scaled to [0, 1] by the range "
    "seen in training. Given an object with raw values by name, the function returns "
    "the most probable class as label, and the probability of every class as proba; it "
    "throws a TypeError where a value is missing{unless} or cannot be used."
)
_NUMBER = """\
  const number = (name) => {
    if (!Number.isFinite(row[name])) {
      throw new TypeError(`${name} must be a finite number, got ${row[name]}.`);
    }
    return row[name];
  };"""
_DAYS = """\
  const days = (name, origin) => {
    const value = row[name];
    // A time is taken in UTC; of a text, the first ten characters count.
    const day = (value instanceof Date && !Number.isNaN(value.getTime())
      ? value.toISOString() : String(value)).slice(0, 10);
    const found = /^\\d{4}-\\d\\d-\\d\\d$/.test(day) ? Date.parse(day) : NaN;
    if (Number.isNaN(found)) {
      throw new TypeError(`${name} must be a date such as 2020-01-31, got ${value}.`);
    }
    return (found - Date.parse(origin)) / 86400000;
  };"""
_CURVE = """\
  // Straight lines from point to point, flat beyond the first and the last.
  const curve = (value, points) => {
    if (value <= points[0][0]) return points[0][1];
    for (let k = 1; k < points.length; k += 1) {
      const [[a, low], [b, high]] = [points[k - 1], points[k]];
      if (value <= b) return low + (value - a) / (b - a) * (high - low);
    }
    return points[points.length - 1][1];
  };"""
_MISSING = """\
  const missing = (name) => (
    row[name] === undefined || row[name] === null || Number.isNaN(row[name])
  );"""
_WEIGHT = """\
  const weight = (name, weights%s) => {
    const found = new Map(weights).get(row[name]);
    if (found === undefined) {
      %s
    }
    return found;
  };"""
_REFUSE = (
    "throw new TypeError(`${name} has the level ${row[name]}, unknown to the tree.`);"
)
_CHECK = """\
if (row[name] === undefined || row[name] === null || Number.isNaN(row[name])) {
        throw new TypeError(`${name} is missing.`);
      }
      """
_OTHERS = (
    f"if (others === undefined) {{\n        {_REFUSE}\n      }}\n      return others;"
)
_CHANCE = "  const chance = (score) => 1 / (1 + Math.exp(-score));"
_CHOICE = """\
  // The first of the classes that are most probable.
  const [label] = proba.reduce((best, next) => (next[1] > best[1] ? next : best));
  return { label, proba: Object.fromEntries(proba) };
}
"""
_ENDS = {
    "es": "\nexport {{ {name} }};\n",
    "commonjs": "\nmodule.exports = {{ {name} }};\n",
    "script": "",
}
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_RESERVED = re.compile(
    "arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|"
    "else|enum|eval|export|extends|false|finally|for|function|if|implements|import|in|"
    "instanceof|interface|let|module|new|null|package|private|protected|public|return|"
    "static|super|switch|this|throw|true|try|typeof|undefined|var|void|while|with|"
    "yield|Infinity|NaN|Date|Map|Math|Number|Object|String|TypeError"
)


def to_javascript(tree: Tree, *, name: str = "predict", module: str = "es") -> str:
    """Source of a JavaScript function that depends on nothing.

    It takes an object with raw values by name and returns ``{ label, proba }``: the
    most probable class, and an object with the probability of every class. It asks only
    for the variables that the tree uses.

    Parameters
    ----------
    tree : Tree
    name : str, default="predict"
        Name of the function.
    module : {"es", "commonjs", "script"}, default="es"
        How the text ends: with ``export``, with ``module.exports``, or with neither,
        for a script element, in which it may stand as it is.

    Returns
    -------
    str
    """
    text = name if isinstance(name, str) else ""
    if not _NAME.fullmatch(text) or _RESERVED.fullmatch(text):
        raise ValueError(
            "name must be a JavaScript name of letters, digits, _ and $ that has no "
            f"meaning of its own, got {shown(name)}."
        )
    if not isinstance(module, str) or module not in _ENDS:
        raise ValueError(f"module must be one of {tuple(_ENDS)}, got {shown(module)}.")
    formula = read_formula(tree)
    unless = " that may not be," if formula.has(MissingTerm) else ""
    lines = header(formula, _TITLE.format(unless=unless))
    head = [f"// {_without_tags(line)}" for line in lines]
    body = [f"function {name}(row) {{", *_tools(formula), *_body(formula), _CHOICE]
    return "\n".join(head + body) + _ENDS[module].format(name=name)


def _tools(formula: Formula) -> list[str]:
    """Inner functions that the cuts need."""
    tools = {
        _NUMBER: formula.has_numbers,
        _DAYS: bool(formula.dates),
        _CURVE: formula.has(CurveTerm),
        _MISSING: formula.has(MissingTerm),
        _weight(formula): formula.has(LevelTerm),
        _CHANCE: bool(formula.scores),
    }
    return [tool for tool, used in tools.items() if used]


def _weight(formula: Formula) -> str:
    """The function that looks up levels; what it does with new ones hangs on them."""
    if formula.others == {None}:
        return _WEIGHT % ("", _REFUSE)
    if formula.others == {0.0}:
        return _WEIGHT % ("", f"{_CHECK}return 0;")
    return _WEIGHT % (", others", f"{_CHECK}{_OTHERS}")


def _body(formula: Formula) -> list[str]:
    numbers = [score.number for score in formula.scores]
    lines = [_score(score, formula) for score in formula.scores]
    lines += [f"  const left_{n} = chance(cut_{n});" for n in numbers]
    lines.append("  const proba = [")
    for k, label in enumerate(formula.labels):
        total = "\n      + ".join(formula.chances(k, "left_")) or "0"
        lines.append(f"    [{_value(label)}, {total}],")
    return [*lines, "  ];"]


def _score(score: Score, formula: Formula) -> str:
    terms = [_term(term, formula) for term in score.terms]
    lines = "\n    ".join([repr(score.constant), *terms])
    return f"  const cut_{score.number} = {lines};"


def _term(term: Term, formula: Formula) -> str:
    return row_for(term, _TERMS, "JavaScript")(term, formula)


def _number(term: LinearTerm | CurveTerm) -> str:
    """A number, of a date in days."""
    if term.origin is None:
        return f"number({_value(term.name)})"
    return f"days({_value(term.name)}, {_value(term.origin)})"


def _linear(term: LinearTerm, formula: Formula) -> str:
    return linear_text(term, _number(term))


def _curve(term: CurveTerm, formula: Formula) -> str:
    points = zip(term.at, term.values, strict=True)
    first, *others = [f"[{at!r}, {value!r}]" for at, value in points]
    items = with_commas([f"+ curve({_number(term)}, [{first}", *others])
    return filled([*items[:-1], items[-1] + "])"], " " * 6)


def _level(term: LevelTerm, formula: Formula) -> str:
    pairs = [f"[{_value(level)}, {w!r}]" for level, w in term.weights.items()] or [""]
    items = with_commas([f"+ weight({_value(term.name)}, [{pairs[0]}", *pairs[1:]])
    told = term.others is not None and formula.others != {0.0}
    end = f"], {term.others!r})" if told else "])"
    return filled([*items[:-1], items[-1] + end], " " * 6)


def _missing(term: MissingTerm, formula: Formula) -> str:
    known = _term(term.known, formula).removeprefix("+ ")
    return f"+ (missing({_value(term.name)}) ? {term.weight!r}\n      : {known})"


#: How each kind of term is written.
_TERMS: dict[type, Callable[[Any, Formula], str]] = {
    LinearTerm: _linear,
    CurveTerm: _curve,
    LevelTerm: _level,
    MissingTerm: _missing,
}


def _value(value: Any) -> str:
    """A literal; text may stand in a script element as well."""
    if isinstance(value, str):
        return _without_tags(json.dumps(value, ensure_ascii=not value.isprintable()))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        raise ValueError(
            "Expected whole numbers below 2^53 in labels and levels, got "
            f"{value}: JavaScript would round it. Use strings."
        )
    return json.dumps(value)


def _without_tags(text: str) -> str:
    """Text in which HTML finds neither the end of a script nor a comment."""
    return re.sub(r"<(?=/|!|script)", r"\\x3c", text, flags=re.IGNORECASE)
