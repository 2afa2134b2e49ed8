"""Summarize: trees, and data to show them on, as one plain dict of all that is shown.

Text of cuts and leaves is that of ``rules.py``. Probabilities are not here: the page
computes them from the model itself. Equal trees on a path are described once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from sorct._typing import AnyArray, BoolArray, FloatArray, IntArray
from sorct.data.encoder import Numeric, Table, Variable, is_frame
from sorct.show.export import to_sql
from sorct.show.text import (
    children,
    cut_terms,
    cut_text,
    export_text,
    is_leaf,
    leaves_below,
    printable,
    printed_terms,
    reads_left,
    shown_node,
)
from sorct.tree.frontier import unbeaten
from sorct.tree.storage import COMMON

if TYPE_CHECKING:
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

FORMAT, VERSION = "sorct-report", 1
# What a page draws: bins of a histogram, rows named in a leaf, digits of a number,
# terms of a cut that is written out.
_BINS, _ROWS_IN_LEAF, _DIGITS, _TERMS = 28, 8, 6, 3


@dataclass(frozen=True)
class Shown:
    """Data to show trees on: the table, its labels as class codes, its rows' names.

    A label that no tree knows has code -1.
    """

    table: Table
    code: IntArray
    names: tuple[str, ...]

    @classmethod
    def of(cls, tree: Tree, X: Any, y: Any) -> Shown | None:
        """Check data against a tree; None if none were given."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("Expected both X and y or neither, got one of them.")
        table = tree.encoder.read(X)
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        code = np.full(len(labels), -1)
        for k, label in enumerate(tree.classes):
            code[labels == label] = k
        if (code < 0).all():
            raise ValueError(
                f"y has none of the classes {tree.classes.tolist()[:5]} of the tree; "
                "expected labels as in training."
            )
        names = X.index if is_frame(X) else range(len(labels))
        return cls(table, code, tuple(_name(name) for name in names))


def summarize(
    trees: Sequence[Tree],
    chosen: int | None,
    shown: Shown | None,
    *,
    title: str,
    n_rows: int,
    path: Path | None = None,
    call: str | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as plain data.

    Without a choice the tree with the fewest variables is chosen whose accuracy is
    within a standard error of the best.
    """
    first = trees[0]
    listed = _listed(shown, n_rows)
    kinds: dict[str, int] = {}
    kind_of = [kinds.setdefault(_key(tree), len(kinds)) for tree in trees]
    distinct = [trees[kind_of.index(n)] for n in range(len(kinds))]
    described = [_tree(tree, shown, listed) for tree in distinct]
    measured = [one.pop("measured") for one in described]
    plain = first.to_dict()
    points = [
        _point(tree, n, measured[n]) for tree, n in zip(trees, kind_of, strict=True)
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": _name(title),
        "common": {key: plain[key] for key in COMMON},
        "gamma": first.gamma,
        "classes": [_name(label) for label in first.classes],
        "variables": [_variable(one) for one in first.encoder.variables],
        "columns": _columns(first),
        "trees": described,
        "points": points,
        "chosen": _default(points) if chosen is None else chosen,
        "by_default": chosen is None,
        "alphas": _alphas(path),
        "frontier": _frontier(points) if path else [],
        "samples": _samples(first, shown, listed),
        "data": {**_data(first, shown), "is_training": _is_training(first, shown)},
        "call": printable(call or first.training.get("call") or ""),
    }


def _key(tree: Tree) -> str:
    """What two trees that are described as one have in common."""
    plain = tree.to_dict()
    told = plain.pop("training")
    used = [told.get(key) for key in ("recall", "min_recall", "rounded", "search")]
    return json.dumps([plain, used])


def _columns(tree: Tree) -> list[list[int]]:
    """For every column its variable and, for a level, the level's place, else -1."""
    encoder, columns = tree.encoder, []
    for i, variable in enumerate(encoder.variables):
        if isinstance(variable, Numeric):
            columns.append([i, -1])
        else:
            columns += [[i, level] for level in range(1, len(variable.levels))]
    return columns


def _variable(variable: Variable) -> dict[str, Any]:
    if isinstance(variable, Numeric):
        return {
            "name": _name(variable.name),
            "lower": variable.lower,
            "span": variable.span,
        }
    levels = [_name(level) for level in variable.levels]
    return {"name": _name(variable.name), "levels": levels}


def _name(thing: Any) -> str:
    """A name that can be seen; it labels fields of a form."""
    text = printable(thing)
    return text if text.strip() else "(blank)"


# -- one tree --------------------------------------------------------------------------


def _tree(tree: Tree, shown: Shown | None, listed: IntArray) -> dict[str, Any]:
    plain = tree.to_dict()
    kept = {
        key: value
        for key, value in plain.items()
        if key not in COMMON and key != "training"
    }
    nodes: list[dict[str, Any]] = []
    _add_node(tree, shown_node(tree, 0), nodes)
    reach = None if shown is None else tree.leaf_reach_table(shown.table)
    if shown is not None and reach is not None:
        _add_samples(tree, nodes, shown, reach, listed)
    return {
        "model": kept,
        "nodes": nodes,
        "rules": export_text(tree),
        **_sql(tree),
        "measured": _measured(tree, shown, reach),
    }


def _sql(tree: Tree) -> dict[str, str]:
    """The tree as SQL, or nothing and why: SQL has no columns without a name."""
    try:
        return {"sql": to_sql(tree)}
    except ValueError as error:
        return {"sql": "", "no_sql": str(error)}


def _add_node(tree: Tree, node: int, nodes: list[dict[str, Any]]) -> int:
    """Append a node and those below it; return its place in the list."""
    place, mass = len(nodes), tree.mass[:, leaves_below(tree, node)].sum(axis=1)
    entry: dict[str, Any] = {"node": node, "mass": _short(mass)}
    nodes.append(entry)
    if is_leaf(tree, node):
        entry["label"] = int(tree.node_class[node])
        entry["leaves"] = list(range(tree.n_leaves))[leaves_below(tree, node)]
        return place
    entry["cut"], entry["left"] = node + 1, reads_left(tree, node)
    entry |= _cut(tree, node)
    yes, no = children(tree, node)
    entry["yes"] = _add_node(tree, yes, nodes)
    entry["no"] = _add_node(tree, no, nodes)
    return place


def _cut(tree: Tree, t: int) -> dict[str, Any]:
    """A cut as printed; ``size`` of a term is its coefficient in scaled units."""
    weights, _ = cut_terms(tree, t)
    if not weights:
        return {"question": cut_text(tree, t), "limit": None, "terms": []}
    side = 1.0 if reads_left(tree, t) else -1.0
    numbers, limit = printed_terms(tree, t)
    terms = [
        {
            "column": j,
            "weight": f"{'−' if weight < 0 else ''}{numbers[j]}",
            "size": float(f"{side * tree.coef[j, t]:.{_DIGITS}g}"),
        }
        for j, weight in weights.items()
    ]
    question = f"sum of {len(terms)} terms > {limit}"
    if len(terms) <= _TERMS:
        question = cut_text(tree, t)
    # A single level reads "variable is level" and has no limit.
    limited = len(terms) > 1 or question.endswith(f"> {limit}")
    return {"question": question, "limit": limit if limited else None, "terms": terms}


def _add_samples(
    tree: Tree,
    nodes: list[dict[str, Any]],
    shown: Shown,
    reach: FloatArray,
    listed: IntArray,
) -> None:
    """Give leaves the rows that most probably end there, and cuts those on their way.

    The rows of a cut are those of the leaves below it, so that counts add up.
    """
    places = [n for n, entry in enumerate(nodes) if "label" in entry]
    sums = [reach[:, nodes[n]["leaves"]].sum(axis=1) for n in places]
    most = np.array(places)[np.argmax(sums, axis=0)]
    n_classes = len(tree.classes)

    def add(place: int) -> BoolArray:
        entry = nodes[place]
        if "label" not in entry:
            yes, no = add(entry["yes"]), add(entry["no"])
            entry["split"] = {
                **_histogram(tree, entry["node"], shown, yes | no),
                "yes": _class_counts(shown.code[yes], n_classes),
                "no": _class_counts(shown.code[no], n_classes),
            }
            return yes | no
        here = np.asarray(most == place)
        rows = [n for n, row in enumerate(listed) if here[row]]
        entry["found"] = {
            "counts": _class_counts(shown.code[here], n_classes),
            "listed": rows[:_ROWS_IN_LEAF],
        }
        return here

    add(0)


def _class_counts(code: IntArray, n_classes: int) -> list[int]:
    return [int((code == k).sum()) for k in range(n_classes)]


def _histogram(tree: Tree, t: int, shown: Shown, here: BoolArray) -> dict[str, Any]:
    """Histogram by class of "sum - limit" at a cut, of the rows that come there."""
    margin = _margin(tree, t, shown)
    low = min(float(margin.min(where=here, initial=0.0)), 0.0)
    high = max(float(margin.max(where=here, initial=0.0)), 0.0)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    return {
        "low": float(f"{low:.{_DIGITS}g}"),
        "high": float(f"{edges[-1]:.{_DIGITS}g}"),
        "counts": [
            np.histogram(margin[here & (shown.code == k)], edges)[0].tolist()
            for k in range(len(tree.classes))
        ],
    }


def _margin(tree: Tree, t: int, shown: Shown) -> FloatArray:
    """Sum minus limit of a cut as printed, for every row."""
    terms, limit = cut_terms(tree, t)
    total = np.full(len(shown.code), -limit)
    columns = np.array(list(terms), dtype=np.intp)
    scaled = tree.encoder.scale(shown.table, slice(None), columns)
    for j, values in zip(columns.tolist(), scaled, strict=True):
        total += terms[j] * (tree.lower_of(j) + tree.span_of(j) * values)
    return total


def _measured(
    tree: Tree, shown: Shown | None, reach: FloatArray | None
) -> dict[str, Any]:
    """Accuracy, recall, confusion and cost on the data shown, and what to go by.

    ``good`` is to be large: accuracy, or minus the mean cost where errors have prices;
    without data minus the expected cost in training.
    """
    own = tree.leaf_class[np.newaxis] == np.arange(len(tree.classes))[:, np.newaxis]
    found = _expected(tree, own)
    if shown is None or reach is None:
        return found
    proba = np.stack([reach[:, row].sum(axis=1) for row in own])
    predicted = np.argmax(proba, axis=0)
    n_classes = len(tree.classes)
    table = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(table, (shown.code, predicted), 1)
    hit = predicted == shown.code
    found["accuracy"] = float(hit.mean())
    found["confusion"] = table[:n_classes].tolist()
    found["recall"] = [
        float(row[k] / row.sum()) if row.sum() else None
        for k, row in enumerate(table[:n_classes])
    ]
    good = hit.astype(np.float64)
    if tree.has_prices:
        known = shown.code >= 0
        good = -tree.cost_matrix[shown.code[known], predicted[known]]
        found["mean_cost"] = float(-good.mean())
    found["good"] = float(good.mean())
    found["good_error"] = float(good.std() / np.sqrt(len(good)))
    return found


def _expected(tree: Tree, own: BoolArray) -> dict[str, Any]:
    """What is expected in training; unknown of a tree that was rounded since."""
    hit = (tree.mass * own).sum(axis=1)
    accuracy = float(hit.sum() / tree.mass.sum())
    n, most = tree.training.get("n_samples") or 1, float(tree.cost_matrix.max())
    error = most * np.sqrt(max(accuracy * (1.0 - accuracy), 0.0) / n)
    good = -tree.training.get("cost", most * (1.0 - accuracy))
    found = {"good": float(good), "good_error": float(error)}
    if tree.training.get("rounded"):
        nothing = [None] * len(tree.classes)
        return {**found, "expected_accuracy": None, "expected_recall": nothing}
    recall = _short(hit / tree.class_share)
    return {**found, "expected_accuracy": accuracy, "expected_recall": recall}


def _short(values: AnyArray) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


# -- the grid --------------------------------------------------------------------------


def _point(tree: Tree, n: int, measured: dict[str, Any]) -> dict[str, Any]:
    return {
        "tree": n,
        "training": dict(tree.training),
        "n_variables": len(tree.variables_used),
        "n_columns": len(tree.columns_used),
        "most_per_cut": tree.most_variables_per_cut,
        "local_sparsity": tree.local_sparsity,
        "global_sparsity": tree.global_sparsity,
        **measured,
    }


def _default(points: list[dict[str, Any]]) -> int:
    """Point with the fewest variables within a standard error of the best."""
    good = np.array([point["good"] for point in points])
    best = int(np.argmax(good))
    near = np.flatnonzero(good >= good[best] - points[best]["good_error"] - 1e-12)
    order = [
        (points[k]["n_variables"], points[k]["n_columns"], -good[k], -k) for k in near
    ]
    return int(near[min(range(len(near)), key=lambda place: order[place])])


def _alphas(path: Path | None) -> dict[str, list[float]] | None:
    if path is None:
        return None
    return {
        "local": path.alphas_local.tolist(),
        "global": path.alphas_global.tolist(),
    }


def _frontier(points: list[dict[str, Any]]) -> list[int]:
    """Points that no other beats, as ``Path.frontier`` has it."""
    keys = ("good", "local_sparsity", "global_sparsity")
    goods = np.array([[point[key] for key in keys] for point in points])
    return [int(k) for k in np.flatnonzero(unbeaten(goods))]


# -- the data --------------------------------------------------------------------------


def _listed(shown: Shown | None, n_rows: int) -> IntArray:
    """Rows to list: spread evenly, all of them or so many, every class by turns."""
    if shown is None:
        return np.array([], dtype=np.intp)
    kinds = [np.flatnonzero(shown.code == k) for k in np.unique(shown.code)]
    taken = _shares(np.array([len(rows) for rows in kinds]), n_rows)
    chosen = [
        rows[np.linspace(0, len(rows) - 1, n).astype(np.intp)]
        for rows, n in zip(kinds, taken, strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def _shares(sizes: IntArray, n_rows: int) -> IntArray:
    """How many of each class: the next one is of the class least represented."""
    taken = np.zeros_like(sizes)
    for _ in range(min(n_rows, int(sizes.sum()))):
        taken[np.argmin(taken / sizes)] += 1
    return taken


def _samples(tree: Tree, shown: Shown | None, listed: IntArray) -> list[dict[str, Any]]:
    """Rows as the page needs them: raw numbers, and places of levels."""
    if shown is None:
        return []
    numbers, n_numeric = [], 0
    for i, variable in enumerate(tree.encoder.variables):
        if isinstance(variable, Numeric):
            numbers.append(shown.table.numeric[listed, n_numeric].tolist())
            n_numeric += 1
        else:
            dummies = shown.table.dummies[i][listed]
            place = dummies @ np.arange(1, len(variable.levels))
            numbers.append(place.astype(int).tolist())
    return [
        {
            "name": shown.names[row],
            "code": int(shown.code[row]),
            "values": [column[place] for column in numbers],
        }
        for place, row in enumerate(listed)
    ]


def _is_training(tree: Tree, shown: Shown | None) -> bool:
    """Whether the rows shown are those of training: the masses are then the same."""
    if shown is None or tree.training.get("rounded"):
        return False
    reach, n = tree.leaf_reach_table(shown.table), len(shown.code)
    mass = [reach[shown.code == k].sum(axis=0) / n for k in range(len(tree.classes))]
    return bool(np.allclose(mass, tree.mass, rtol=0.0, atol=1e-7))


def _data(tree: Tree, shown: Shown | None) -> dict[str, Any]:
    """Sizes of the training sample and of the data shown."""
    known = None if shown is None else _class_counts(shown.code, len(tree.classes))
    return {
        "n_training": tree.training.get("n_samples"),
        "class_share": _short(tree.class_share),
        "n_variables": len(tree.encoder.variables),
        "n_columns": tree.n_columns,
        "n_shown": None if shown is None else len(shown.code),
        "class_counts": known,
    }
