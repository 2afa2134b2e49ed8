"""JavaScript: a model as one function without dependencies, for Node and browsers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
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
    "A {what} as a function, written by sorct. cut_t is the score of cut "
    "t, left_t the chance to go left there. Values are scaled to [0, 1] by the range "
    "seen in training. Given an object with raw values by name, the function returns "
    "{chosen} as label, and the probability of every class as proba; it "
    "throws a TypeError where a value is missing{unless} or cannot be used."
)
_VALUE_TITLE = (
    "A {what} as a function, written by sorct. cut_t is the score of cut t, "
    "left_t the chance to go left there, says_n what linear leaf n says. Values are "
    "scaled to [0, 1] by the range seen in training. Given an object with raw values "
    "by name, the function returns the predicted value; it throws a TypeError where a "
    "value is missing{unless} or cannot be used."
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
_LOGISTIC = f"""\
  // A straight line of the log-odds.
  const logistic = (value, slope, shift) => {{
    const inside = Math.min(Math.max(value, {LITTLE!r}), {1.0 - LITTLE!r});
    return chance(slope * Math.log(inside / (1 - inside)) + shift);
  }};"""
_MOST = """\
  // The first of the classes that are most probable.
  const [label] = proba.reduce((best, next) => (next[1] > best[1] ? next : best));"""
_LEAST = """\
  // The first of the classes that are cheapest.
  const [label] = proba[cost.indexOf(Math.min(...cost))];"""
_END = """\
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


def to_javascript(
    tree: Tree | Forest, *, name: str = "predict", module: str = "es"
) -> str:
    """Source of a JavaScript function that depends on nothing.

    It takes an object with raw values by name and returns ``{ label, proba }``: the
    class that the tree predicts, and an object with the probability of every class; or
    the predicted quantity, a number. It asks only for the variables that the tree uses.

    Parameters
    ----------
    tree : Tree or Forest
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
    title = (_VALUE_TITLE if formula.of_quantity else _TITLE).format(
        what=formula.what, unless=unless, chosen=formula.chosen
    )
    lines = header(formula, title)
    head = [f"// {_without_tags(line)}" for line in lines]
    end = "}\n" if formula.of_quantity else _END
    body = [f"function {name}(row) {{", *_tools(formula), *_body(formula), end]
    return "\n".join(head + body) + _ENDS[module].format(name=name)


def _tools(formula: Formula) -> list[str]:
    """Inner functions that the cuts need."""
    tools = {
        _NUMBER: formula.has_numbers,
        _DAYS: bool(formula.dates),
        _CURVE: formula.has(CurveTerm, BentTerm) or formula.has_map(CurveMap),
        _MISSING: formula.has(MissingTerm),
        _weight(formula): formula.has(LevelTerm),
        _CHANCE: bool(formula.scores) or formula.has_map(LogisticMap),
        _LOGISTIC: formula.has_map(LogisticMap),
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
    if not formula.of_quantity:
        return [*lines, *_proba(formula), *_choice(formula)]
    lines += [_score(leaf, formula, "says") for leaf in formula.leaves if leaf.terms]
    parts = formula.parts_of_value("left_", "says_")
    if formula.ends is None:
        return [*lines, f"  return {_sum(parts)};"]
    low, high = formula.ends
    lines.append(f"  const mixed = {_sum(parts)};")
    return [*lines, f"  return Math.exp(Math.min(Math.max(mixed, {low!r}), {high!r}));"]


def _proba(formula: Formula) -> list[str]:
    """The probabilities of the classes, calibrated if they are to be."""
    lines, codes = [], range(len(formula.labels))
    totals = ["\n      + ".join(formula.chances(k, "left_")) or "0" for k in codes]
    if formula.is_soft and formula.scores:
        reach = enumerate(formula.reach("left_"), 1)
        lines += [f"  const leaf_{n} = {chance};" for n, chance in reach]
        totals = [_sum(formula.said(k, "leaf_")) for k in codes]
    if formula.maps:
        lines += ["  const raw = [", *(f"    {total}," for total in totals), "  ];"]
        more, totals = _calibrated(formula)
        lines += more
    pairs = zip(formula.labels, totals, strict=True)
    items = [f"    [{_value(label)}, {total}]," for label, total in pairs]
    return [*lines, "  const proba = [", *items, "  ];"]


def _sum(parts: list[str]) -> str:
    """Parts added up, side by side."""
    return filled([*parts[:1], *(f"+ {part}" for part in parts[1:])], " " * 6) or "0"


def _calibrated(formula: Formula) -> tuple[list[str], list[str]]:
    """Lines that map the tree's own probabilities, and what the classes get."""
    maps = {k: _MAPS[type(one)](one, f"raw[{k}]") for k, one in formula.mapped.items()}
    if len(maps) == 1:
        return [f"  const second = {maps[1]};"], ["1 - second", "second"]
    lines = ["  const mapped = [", *(f"    {text}," for text in maps.values()), "  ];"]
    lines.append("  const total = mapped.reduce((sum, one) => sum + one);")
    own = [f"total > {SILENT!r} ? mapped[{k}] / total : raw[{k}]" for k in maps]
    return lines, own


def _choice(formula: Formula) -> list[str]:
    """The class that is predicted, the first of equals."""
    if formula.decision is None:
        return [_MOST]
    sums = [
        _sum([f"{cost!r} * proba[{j}][1]" for j, cost in formula.costs(k)])
        for k in range(len(formula.labels))
    ]
    return ["  const cost = [", *(f"    {total}," for total in sums), "  ];", _LEAST]


def _score(score: Score, formula: Formula, name: str = "cut") -> str:
    terms = [_term(term, formula) for term in score.terms]
    lines = "\n    ".join([repr(score.constant), *terms])
    return f"  const {name}_{score.number} = {lines};"


def _term(term: Term, formula: Formula) -> str:
    return row_for(term, _TERMS, "JavaScript")(term, formula)


def _number(term: LinearTerm | CurveTerm | BentTerm) -> str:
    """A number, of a date in days."""
    if term.origin is None:
        return f"number({_value(term.name)})"
    return f"days({_value(term.name)}, {_value(term.origin)})"


def _linear(term: LinearTerm, formula: Formula) -> str:
    return linear_text(term, _number(term))


def _curve(term: CurveTerm | BentTerm, formula: Formula) -> str:
    return _curve_text("+ ", _number(term), term.at, term.values)


def _curve_text(
    sign: str, value: str, at: Sequence[float], values: Sequence[float]
) -> str:
    points = zip(at, values, strict=True)
    first, *others = [f"[{place!r}, {added!r}]" for place, added in points]
    items = with_commas([f"{sign}curve({value}, [{first}", *others])
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
    BentTerm: _curve,
    LevelTerm: _level,
    MissingTerm: _missing,
}

#: How each kind of map is written, for some probability.
_MAPS: dict[type, Callable[[Any, str], str]] = {
    LogisticMap: lambda one, raw: f"logistic({raw}, {one.slope!r}, {one.shift!r})",
    CurveMap: lambda one, raw: _curve_text("", raw, one.points, one.values),
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
