"""ONNX of the classes: from the scores of the cuts to probabilities and the class.

Maps and costs are computed in double precision whatever the graph's own is: log-odds of
a probability next to 1 need more digits than single precision has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sorct._typing import AnyArray
from sorct.show.export.formula import Formula
from sorct.show.export.onnx_graph import Graph
from sorct.tree.calibration import LITTLE, SILENT, CurveMap, LogisticMap, Map

_DOUBLE = np.dtype(np.float64)


def own_proba(
    graph: Graph,
    formula: Formula,
    score: str,
    places: AnyArray,
    dtype: Any = None,
    name: str = "",
) -> str:
    """What the tree itself says of the classes.

    The product of the chances on every route, times what its leaf says, summed up.
    """
    reach = own_reach(graph, score, places, dtype)
    said = graph.constant([route.proba for route in formula.routes], dtype)
    return graph.add("MatMul", reach, said, name=name)


def own_reach(graph: Graph, score: str, places: AnyArray, dtype: Any = None) -> str:
    """The product of the chances on every route."""
    left = graph.add("Sigmoid", score)
    right = graph.add("Sub", graph.constant(1.0, dtype), left)
    chances = graph.add("Concat", left, right, axis=1)
    reach = ""
    for step in places.T:
        chance = graph.add("Gather", chances, graph.constant(step, np.int64), axis=1)
        reach = graph.add("Mul", reach, chance) if reach else chance
    return reach


def calibrated(graph: Graph, formula: Formula, score: str, places: AnyArray) -> str:
    """Probabilities of the classes by the maps, in the graph's own precision."""
    if graph.dtype != _DOUBLE:
        score = graph.cast(score, _DOUBLE)
    raw = own_proba(graph, formula, score, places, _DOUBLE)
    parts = [_mapped(graph, one, raw, k) for k, one in formula.mapped.items()]
    if len(parts) == 1:
        rest = graph.add("Sub", graph.constant(1.0, _DOUBLE), parts[0])
        return _finished(graph, "Concat", rest, parts[0], axis=1)
    mapped = graph.add("Concat", *parts, axis=1)
    total = graph.add("ReduceSum", mapped, graph.constant([1], np.int64))
    told = graph.add("Greater", total, graph.constant(SILENT, _DOUBLE))
    share = graph.add("Div", mapped, total)
    return _finished(graph, "Where", told, share, raw)


def _finished(graph: Graph, operator: str, *inputs: str, **options: Any) -> str:
    """The result of the last operator as the output."""
    if graph.dtype == _DOUBLE:
        return graph.add(operator, *inputs, name="probabilities", **options)
    double = graph.add(operator, *inputs, **options)
    return graph.cast(double, graph.dtype, "probabilities")


def _mapped(graph: Graph, one: Map, values: str, k: int) -> str:
    """Column k by its map, of shape (N, 1); NaN for NaN, which clipping may lose."""
    raw = graph.add("Gather", values, graph.constant([k], np.int64), axis=1)
    found = _MAPS[type(one)](graph, one, raw)
    return graph.add("Where", graph.add("IsNaN", raw), raw, found)


def _logistic(graph: Graph, one: LogisticMap, raw: str) -> str:
    """A straight line of the log-odds."""
    ends = [graph.constant(end, _DOUBLE) for end in (LITTLE, 1.0 - LITTLE)]
    inside = graph.add("Clip", raw, *ends)
    outside = graph.add("Sub", graph.constant(1.0, _DOUBLE), inside)
    odds = graph.add("Log", graph.add("Div", inside, outside))
    # A product of matrices: a runtime leaves out a factor that is almost 1.
    line = graph.add("MatMul", odds, graph.constant([[one.slope]], _DOUBLE))
    return graph.add(
        "Sigmoid", graph.add("Add", line, graph.constant([one.shift], _DOUBLE))
    )


def _curve(graph: Graph, one: CurveMap, raw: str) -> str:
    """The first value, and what the straight lines have risen."""
    # Lines that rise by nothing, so that no number is alone.
    at = np.array([*one.points, one.points[-1] + 1.0])
    rise = np.array([*np.diff(one.values), 0.0])
    share = graph.add("Sub", raw, graph.constant(at[:-1], _DOUBLE))
    share = graph.add("Div", share, graph.constant(np.diff(at), _DOUBLE))
    ends = [graph.constant(end, _DOUBLE) for end in (0.0, 1.0)]
    share = graph.add("Clip", share, *ends)
    risen = graph.add("MatMul", share, graph.constant(rise[:, np.newaxis], _DOUBLE))
    return graph.add("Add", risen, graph.constant([one.values[0]], _DOUBLE))


#: How each kind of map is written, for a column of probabilities.
_MAPS: dict[type, Callable[[Graph, Any, str], str]] = {
    LogisticMap: _logistic,
    CurveMap: _curve,
}


def chosen(graph: Graph, formula: Formula, proba: str) -> str:
    """Position of the most probable class, or of the cheapest; the first of equals."""
    if formula.decision is None:
        return graph.add("ArgMax", proba, axis=1, keepdims=0)
    if graph.dtype != _DOUBLE:
        proba = graph.cast(proba, _DOUBLE)
    by_true = np.array(formula.decision).T
    cost = graph.add("MatMul", proba, graph.constant(by_true, _DOUBLE))
    return graph.add("ArgMin", cost, axis=1, keepdims=0)
