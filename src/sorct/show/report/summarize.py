"""Summarize: trees, and data to show them on, as one plain dict of all that is shown.

Text of cuts and leaves is that of ``text.py``. Probabilities are not here: the page
computes them from the model itself. Equal trees on a path are described once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.wording import printable
from sorct.show.export import to_sql
from sorct.show.measures import proba_of_reach
from sorct.show.report.probabilities import probabilities
from sorct.show.report.questions import question
from sorct.show.report.rows import (
    DIGITS,
    Shown,
    class_counts,
    is_training,
    listed_rows,
    samples,
    short,
    shown_name,
    sizes,
)
from sorct.show.report.variables import columns, variables
from sorct.show.text import export_text
from sorct.tree.decision import predicted_codes
from sorct.tree.frontier import sparsest, unbeaten
from sorct.tree.storage import COMMON
from sorct.tree.view import Cut, Leaf, View

if TYPE_CHECKING:
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

FORMAT, VERSION = "sorct-report", 1
# What a page draws: bins of a histogram, rows named in a leaf.
_BINS, _ROWS_IN_LEAF = 28, 8
# No row has a smaller share of the weight.
_NOBODY = 1e-12


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

    Without a choice the sparsest tree within a standard error of the best is chosen.
    """
    first = trees[0]
    listed = listed_rows(shown, n_rows)
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
        "title": shown_name(title),
        "common": {key: plain[key] for key in COMMON if key in plain},
        "gamma": first.gamma,
        "classes": [shown_name(label) for label in first.classes],
        "variables": variables(first.encoder),
        "columns": columns(first.encoder),
        "counted": "samples" if first.routed is None else "rows",
        "trees": described,
        "points": points,
        "chosen": _default(points) if chosen is None else chosen,
        "by_default": chosen is None,
        "chosen_on_rows": chosen is None and shown is not None,
        "alphas": _alphas(path),
        "frontier": _frontier(points) if path else [],
        "samples": samples(first, shown, listed),
        "data": {**sizes(first, shown), "is_training": is_training(first, shown)},
        "call": printable(call or first.training.call or ""),
    }


def _key(tree: Tree) -> str:
    """Text that is equal for two trees that the report describes as one."""
    plain, told = tree.to_dict(), tree.training
    del plain["training"]
    used = [told.recall, told.min_recall, told.rounded, told.search]
    return json.dumps([plain, used])


# -- one tree --------------------------------------------------------------------------


def _tree(tree: Tree, shown: Shown | None, listed: IntArray) -> dict[str, Any]:
    plain = tree.to_dict()
    kept = {
        key: value
        for key, value in plain.items()
        if key not in COMMON and key != "training"
    }
    view = _drawn(tree)
    nodes, told = _nodes(tree, view), {}
    reach = None if shown is None else tree.leaf_reach_table(shown.table)
    if shown is not None and reach is not None:
        _add_samples(tree, view, nodes, shown, reach, listed)
        told = {"probabilities": probabilities(tree, shown, reach)}
    return {
        "model": kept,
        "nodes": nodes,
        "rules": export_text(tree),
        **_sql(tree),
        **told,
        "measured": _measured(tree, shown, reach),
    }


def _drawn(tree: Tree) -> View:
    """What is drawn: with hard routes, if known, all cuts whose sides both get rows."""
    return tree.view if tree.routed is None else View.of(tree, least=_NOBODY, hard=True)


def _sql(tree: Tree) -> dict[str, str]:
    """The tree as SQL, or nothing and why: SQL has no columns without a name."""
    try:
        return {"sql": to_sql(tree)}
    except (TypeError, ValueError) as error:
        return {"sql": "", "no_sql": str(error)}


def _nodes(tree: Tree, view: View) -> list[dict[str, Any]]:
    """Nodes as shown, each before those below it; children are told by their places."""
    place = {number: k for k, number in enumerate(view.nodes)}
    says = tree.leaf_proba is not None
    return [
        _leaf(node, says) if isinstance(node, Leaf) else _cut(node, place)
        for node in view.nodes.values()
    ]


def _leaf(leaf: Leaf, says: bool) -> dict[str, Any]:
    return {
        "node": leaf.node,
        "mass": short(leaf.mass),
        "label": leaf.code,
        "leaves": list(leaf.leaves),
        **({"says": short(leaf.proba)} if says else {}),
    }


def _cut(cut: Cut, place: dict[int, int]) -> dict[str, Any]:
    return {
        "node": cut.node,
        "mass": short(cut.mass),
        "cut": cut.number,
        "left": cut.reading.is_left,
        **question(cut),
        "yes": place[cut.yes],
        "no": place[cut.no],
    }


def _add_samples(
    tree: Tree,
    view: View,
    nodes: list[dict[str, Any]],
    shown: Shown,
    reach: FloatArray,
    listed: IntArray,
) -> None:
    """Give leaves the rows that end there, and cuts those on their way.

    Rows go as people would by hand or, where leaves tell soft shares, to the leaf that
    is most probable. The rows of a cut are those of the leaves below it.
    """
    if tree.routed is not None:
        most = _by_hand(tree, view, nodes, shown)
    else:
        places = [n for n, entry in enumerate(nodes) if "label" in entry]
        sums = [reach[:, nodes[n]["leaves"]].sum(axis=1) for n in places]
        most = np.array(places)[np.argmax(sums, axis=0)]
    n_classes = len(tree.classes)

    def add(place: int) -> BoolArray:
        entry = nodes[place]
        if "label" not in entry:
            yes, no = add(entry["yes"]), add(entry["no"])
            entry["split"] = {
                **_histogram(tree, view.nodes[entry["node"]], shown, yes | no),
                "yes": class_counts(shown.code[yes], n_classes),
                "no": class_counts(shown.code[no], n_classes),
            }
            return yes | no
        here = np.asarray(most == place)
        rows = [n for n, row in enumerate(listed) if here[row]]
        entry["found"] = {
            "counts": class_counts(shown.code[here], n_classes),
            "listed": rows[:_ROWS_IN_LEAF],
        }
        return here

    add(0)


def _by_hand(
    tree: Tree, view: View, nodes: list[dict[str, Any]], shown: Shown
) -> IntArray:
    """Place of the leaf that people who follow the drawing come to, for every row."""
    place = np.zeros(len(shown.code), dtype=np.intp)
    for n, (entry, node) in enumerate(zip(nodes, view.nodes.values(), strict=True)):
        if isinstance(node, Cut):
            answer = np.where(
                _margin(tree, node, shown) > 0.0, entry["yes"], entry["no"]
            )
            place = np.where(place == n, answer, place)
    return place


def _histogram(
    tree: Tree, cut: Cut | Leaf, shown: Shown, here: BoolArray
) -> dict[str, Any]:
    """Histogram by class of "sum - threshold" at a cut, of the rows that come there."""
    assert isinstance(cut, Cut)
    margin = _margin(tree, cut, shown)
    low = min(float(margin.min(where=here, initial=0.0)), 0.0)
    high = max(float(margin.max(where=here, initial=0.0)), 0.0)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    return {
        "low": float(f"{low:.{DIGITS}g}"),
        "high": float(f"{edges[-1]:.{DIGITS}g}"),
        "counts": [
            np.histogram(margin[here & (shown.code == k)], edges)[0].tolist()
            for k in range(len(tree.classes))
        ],
    }


def _margin(tree: Tree, cut: Cut, shown: Shown) -> FloatArray:
    """Sum minus threshold of a cut as printed, for every row."""
    reading = cut.reading
    total = np.full(len(shown.code), -reading.threshold)
    columns = np.array(reading.columns, dtype=np.intp)
    scaled = tree.encoder.scale(shown.table, slice(None), columns)
    for summand, weight, values in zip(
        reading.summands, reading.weights, scaled, strict=True
    ):
        if summand.is_missing:
            # Scaled columns are 0 there, and add what they do at their lower ends.
            weight -= summand.instead / reading.summands[0].raw_weight
        total += weight * (summand.lower + summand.span * values)
    return total


def _measured(
    tree: Tree, shown: Shown | None, reach: FloatArray | None
) -> dict[str, Any]:
    """Accuracy, recall, confusion and cost on the data shown, and what to go by.

    ``good`` is to be large: the target's default score, accuracy or minus the mean
    cost; without data minus the expected cost in training.
    """
    own = tree.leaf_class[np.newaxis] == np.arange(len(tree.classes))[:, np.newaxis]
    found = _expected(tree, own)
    if shown is None or reach is None:
        return found
    predicted = predicted_codes(proba_of_reach(tree, reach).T, tree.decision_cost)
    n_classes = len(tree.classes)
    table = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(table, (shown.code, predicted), 1)
    found["accuracy"] = float((predicted == shown.code).mean())
    found["confusion"] = table[:n_classes].tolist()
    found["recall"] = [
        float(row[k] / row.sum()) if row.sum() else None
        for k, row in enumerate(table[:n_classes])
    ]
    good = tree.class_target.worth(tree.cost_matrix, shown.code, predicted)
    if tree.has_unequal_costs:
        found["mean_cost"] = float(-good.mean())
    found["good"] = float(good.mean())
    found["good_error"] = float(good.std() / np.sqrt(len(good)))
    return found


def _expected(tree: Tree, own: BoolArray) -> dict[str, Any]:
    """What is expected in training; unknown of a tree that was rounded since."""
    hit = (tree.mass * own).sum(axis=1)
    accuracy = float(hit.sum() / tree.mass.sum())
    told, most = tree.training, float(tree.cost_matrix.max())
    error = most * np.sqrt(
        max(accuracy * (1.0 - accuracy), 0.0) / (told.n_samples or 1)
    )
    cost = most * (1.0 - accuracy) if told.cost is None else told.cost
    found: dict[str, Any] = {"good": float(-cost), "good_error": float(error)}
    if told.rounded:
        nothing = [None] * len(tree.classes)
        return {**found, "expected_accuracy": None, "expected_recall": nothing}
    recall = short(hit / tree.class_share)
    if told.found is not None:
        share = tree.class_share / tree.class_share.sum()
        found["training_accuracy"] = float(share @ np.array(told.found))
    return {**found, "expected_accuracy": accuracy, "expected_recall": recall}


# -- the grid --------------------------------------------------------------------------


def _point(tree: Tree, n: int, measured: dict[str, Any]) -> dict[str, Any]:
    spent = tree.variables_cost
    return {
        **({} if spent is None else {"spent": spent}),
        "tree": n,
        "training": tree.training.to_dict(),
        "n_variables": len(tree.variables_used),
        "n_columns": len(tree.columns_used),
        "most_per_cut": tree.most_variables_per_cut,
        "local_sparsity": tree.local_sparsity,
        "global_sparsity": tree.global_sparsity,
        **measured,
    }


def _default(points: list[dict[str, Any]]) -> int:
    """Point that ``Path.select`` gives within a standard error of the best."""
    keys = ("good", "n_variables", "local_sparsity", "good_error")
    return sparsest(*(np.array([point[key] for point in points]) for key in keys))


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
