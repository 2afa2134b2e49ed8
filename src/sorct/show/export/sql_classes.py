"""SQL of the classes: from the chances of the cuts to probabilities and the class.

Where a tree is calibrated, its own probabilities and those that the maps give are steps
that are materialized: each is named many times in the next, and databases would put the
whole expression in every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorct.show.export.formula import Formula, filled
from sorct.show.export.sql_text import (
    INDENT,
    Names,
    double,
    label_text,
    line_text,
    named,
)
from sorct.tree.calibration import LITTLE, SILENT, CurveMap, LogisticMap, Map
from sorct.tree.link import cdf
from sorct.tree.view import Route

# PostgreSQL raises an error where a product is too small for a double. A chance is at
# least 4e-18 at each of up to twelve cuts; shares and values of maps below this, and
# costs below this part of the largest, are written as 0, which moves no digit.
_LEAST, _LEAST_COST = 1e-60, 1e-30
# F of a score beyond this is 0 or 1 to the last digit but one.
_CERTAIN = 40.0


@dataclass(frozen=True)
class Layer:
    """A common table expression; ``alias`` is what the next one calls it."""

    name: str
    alias: str
    source: str
    columns: list[str]
    kept: bool = False


def class_steps(
    formula: Formula, names: Names, source: str, first: list[str]
) -> list[Layer]:
    """Steps from the chances of the cuts, or without cuts from the table, onwards.

    ``first`` has the columns that go along.
    """
    formula = _tame(formula)
    codes, steps = range(len(formula.labels)), []
    proba = [_proba(formula, names, k, names.proba) for k in codes]
    if formula.maps:
        raw = [_proba(formula, names, k, names.raw) for k in formula.mapped]
        steps.append(Layer("raws", "r", source, [*first, *raw], True))
        maps = [_mapped(names, k, one) for k, one in formula.mapped.items()]
        source = f"{names.steps['raws']} AS r"
        steps.append(Layer("maps", "m", source, ["r.*", *maps], True))
        source, first = f"{names.steps['maps']} AS m", ["m.*"]
        proba = _calibrated(formula, names)
    kept = formula.is_soft or formula.decision is not None
    steps.append(Layer("probas", "p", source, [*first, *proba], kept))
    if formula.decision is not None:
        source = f"{names.steps['probas']} AS p"
        cost = [_cost(formula, names, k) for k in codes]
        steps.append(Layer("costs", "e", source, ["p.*", *cost]))
    return steps


def _tame(formula: Formula) -> Formula:
    """The formula with 0 in place of numbers next to it."""
    routes = tuple(_tame_route(route) for route in formula.routes)
    maps = tuple(_TAME[type(one)](one) for one in formula.maps)
    if formula.decision is None:
        return replace(formula, routes=routes, maps=maps)
    least = _LEAST_COST * max(map(max, formula.decision))
    decision = tuple(_without_small(costs, least) for costs in formula.decision)
    return replace(formula, routes=routes, maps=maps, decision=decision)


def _tame_route(route: Route) -> Route:
    return replace(route, proba=_without_small(route.proba))


def _without_small(numbers: tuple[float, ...], least: float = _LEAST) -> Any:
    return tuple(0.0 if abs(number) < least else number for number in numbers)


_TAME: dict[type, Callable[[Any], Map]] = {
    CurveMap: lambda one: replace(one, values=_without_small(one.values)),
    LogisticMap: lambda one: LogisticMap(*_without_small((one.slope, one.shift))),
}


def _proba(formula: Formula, names: Names, code: int, name: str) -> str:
    """Sum over the routes to a class; NULL as soon as any chance is."""
    parts = formula.shares(code)
    used = {number for route, _ in parts for number, _ in route.steps}
    total = sum(share for _, share in parts)
    text = f"{total:.0f}" if total in (0.0, 1.0) else double(total)
    text = f"CAST({text} AS DOUBLE PRECISION)"
    if used:
        text = f"\n{INDENT}+ ".join(formula.chances(code, names.left, double))
    others = [
        f"{names.left}{score.number}"
        for score in formula.scores
        if score.number not in used
    ]
    if others:
        seen = filled([f"{other} +" for other in others[:-1]] + others[-1:], INDENT)
        text = f"CASE WHEN {seen} IS NOT NULL\n{INDENT}THEN {text} END"
    return named(text, f"{name}{code}")


def _mapped(names: Names, code: int, one: Map) -> str:
    parts = _MAPS[type(one)](one, f"{names.raw}{code}")
    return named(filled(parts, INDENT), f"{names.map}{code}")


def _curve(one: CurveMap, raw: str) -> list[str]:
    """Straight lines from point to point; NULL for NULL."""
    at, values = one.points, one.values
    # A column of nothing but literals would be of decimal numbers to PostgreSQL.
    start = f"CAST({double(values[0])} AS DOUBLE PRECISION)"
    parts = [f"CASE WHEN {raw} <= {double(at[0])} THEN {start}"]
    for a, b, low, high in zip(at, at[1:], values, values[1:], strict=False):
        is_flat = high - low < _LEAST
        line = double(low) if is_flat else line_text(raw, a, b, low, high)
        parts.append(f"WHEN {raw} <= {double(b)} THEN {line}")
    return [*parts, f"WHEN {raw} IS NOT NULL THEN {double(values[-1])} END"]


def _logistic(one: LogisticMap, raw: str) -> list[str]:
    """A straight line of the log-odds; constant where nothing changes any more."""
    (low, before), (high, after) = _ends(one)
    odds = f"LN((1 - {raw}) / {raw})"
    sign = "-" if one.shift >= 0.0 else "+"
    line = f"{double(one.slope)} * {odds} {sign} {double(abs(one.shift))}"
    return [
        f"CASE WHEN {raw} <= {double(low)}",
        f"THEN CAST({double(before)} AS DOUBLE PRECISION)",
        f"WHEN {raw} >= {double(high)} THEN {double(after)}",
        f"WHEN {raw} IS NOT NULL THEN 1 / (1 + EXP({line})) END",
    ]


def _ends(one: LogisticMap) -> tuple[tuple[float, float], tuple[float, float]]:
    """Probabilities between which a map changes, and what it makes of them."""
    low, high = LITTLE, 1.0 - LITTLE
    before, after = one(np.array([low, high])).tolist()
    if one.slope == 0.0:
        return (0.5, before), (0.5, after)
    scores = np.array([-_CERTAIN, _CERTAIN]) * np.sign(one.slope)
    sure = cdf(scores).tolist()
    first, last = cdf((scores - one.shift) / one.slope).tolist()
    low, before = (first, sure[0]) if first > low else (low, before)
    high, after = (last, sure[1]) if last < high else (high, after)
    return (low, before), (high, after)


#: How each kind of map is written, in parts that may be broken.
_MAPS: dict[type, Callable[[Any, str], list[str]]] = {
    LogisticMap: _logistic,
    CurveMap: _curve,
}


def _calibrated(formula: Formula, names: Names) -> list[str]:
    """Probabilities from what the maps give."""
    if len(formula.maps) == 1:
        return [
            f"1 - {names.map}1 AS {names.proba}0",
            f"{names.map}1 AS {names.proba}1",
        ]
    codes = range(len(formula.labels))
    total = " + ".join(f"{names.map}{k}" for k in codes)
    told = f"CASE WHEN {total} > {double(SILENT)}"
    return [
        f"{told} THEN {names.map}{k} / ({total})\n{INDENT}"
        f"ELSE {names.raw}{k} END AS {names.proba}{k}"
        for k in codes
    ]


def _cost(formula: Formula, names: Names, code: int) -> str:
    """Expected cost of predicting a class; NULL where the probabilities are."""
    costs = formula.costs(code) or [(0, 0.0)]
    first, *others = [f"{double(cost)} * {names.proba}{k}" for k, cost in costs]
    text = filled([first, *(f"+ {other}" for other in others)], INDENT)
    return named(text, f"{names.cost}{code}")


def choice(formula: Formula, names: Names) -> str:
    """The most probable class, or the cheapest; the first of equals."""
    by, better = names.proba, ">="
    if formula.decision is not None:
        by, better = names.cost, "<="
    values = [f"{by}{k}" for k in range(len(formula.labels))]
    lines = ["CASE"]
    for k, (value, label) in enumerate(zip(values, formula.labels, strict=True)):
        tests = [f"{value} {better} {other}" for other in values[k + 1 :]]
        tests = tests or [f"{value} IS NOT NULL"]
        parts = [f"WHEN {tests[0]}", *(f"AND {test}" for test in tests[1:])]
        lines.append(filled([*parts, f"THEN {label_text(label)}"], INDENT * 2))
    return f"\n{INDENT}".join(lines) + f"\n  END AS {names.label}"
