"""Summarize: trees, and data to show them on, as one plain dict of all that is shown.

Text of cuts and leaves is that of ``show/text.py``. Probabilities are not here: the
page computes them from the model itself. Equal trees on a path are described once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.wording import printable
from sorct.show.export import to_sql
from sorct.show.report.questions import question
from sorct.show.report.rows import (
    DIGITS,
    Shown,
    listed_rows,
    samples,
    short,
    shown_name,
)
from sorct.show.report.told_classes import ToldClasses
from sorct.show.report.told_quantity import ToldQuantity
from sorct.show.report.variables import columns, variables
from sorct.show.text import (
    by_hand_text,
    export_text,
    whole_view,
)
from sorct.tree.frontier import sparsest, unbeaten
from sorct.tree.storage import COMMON
from sorct.tree.view import Cut, Leaf, View

if TYPE_CHECKING:
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

FORMAT, VERSION = "sorct-report", 1
# What a page draws: bins of a histogram, rows named in a leaf.
_BINS, _ROWS_IN_LEAF = 28, 8
# Shares of rows that differ by less are the same.
_CLOSE = 1e-7


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
    first, told = trees[0], told_of(trees[0])
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
        **told.page(first, shown),
        "common": {key: plain[key] for key in COMMON if key in plain},
        "gamma": first.gamma,
        "variables": variables(first.encoder),
        "columns": columns(first.encoder),
        "trees": described,
        "points": points,
        "chosen": _default(points) if chosen is None else chosen,
        "by_default": chosen is None,
        "chosen_on_rows": chosen is None and shown is not None,
        "alphas": _alphas(path),
        "frontier": _frontier(points) if path else [],
        "samples": samples(first, shown, listed),
        "data": {
            **_sizes(first, shown),
            **told.sizes(first, shown),
            **_overlap(first, shown),
        },
        "call": printable(call or first.training.call or ""),
    }


def told_of(tree: Tree) -> ToldClasses | ToldQuantity:
    """What a page tells of the target of a tree."""
    return ToldQuantity() if tree.of_quantity else ToldClasses()


def _sizes(tree: Tree, shown: Shown | None) -> dict[str, Any]:
    """Sizes of the training sample, of the table and of the data shown."""
    return {
        "n_training": tree.training.n_samples,
        "n_variables": len(tree.encoder.variables),
        "n_columns": tree.n_columns,
        "n_groups": tree.encoder.n_groups,
        "n_shown": None if shown is None else len(shown.code),
    }


def _overlap(tree: Tree, shown: Shown | None) -> dict[str, bool]:
    """Whether the rows shown are those of training, and else whether they may be there.

    Masses tell: rows that contain those of training send no fewer to any leaf. Nothing
    is known of trees that were rounded since.
    """
    same, n = False, tree.training.n_samples
    more = shown is not None and n is not None and len(shown.code) >= n
    if shown is not None and not tree.training.rounded:
        come, n_shown = told_of(tree).arrivals(tree, shown), len(shown.code)
        same = bool(np.allclose(come / n_shown, tree.mass, rtol=0.0, atol=_CLOSE))
        if more and n is not None and _counts_rows(tree, n):
            more = bool((come - n * tree.mass >= -_CLOSE * n_shown).all())
    return {"is_training": same, "may_be_training": more and not same}


def _counts_rows(tree: Tree, n: int) -> bool:
    """Whether masses are counts of whole rows, as they are without weights."""
    if tree.routed is None:
        return True
    counts = n * tree.routed
    return bool(np.allclose(counts, np.round(counts), rtol=0.0, atol=_CLOSE * n))


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
    if tree.followed_limits.any():
        kept["followed_at"] = tree.followed_limits.tolist()
    (view, hard), told = whole_view(tree), told_of(tree)
    nodes, more = _nodes(tree, view), {}
    reach = None if shown is None else tree.leaf_reach_table(shown.table)
    if shown is not None and reach is not None:
        _add_samples(tree, view, nodes, shown, reach, listed)
        more = told.on_rows(tree, shown, reach, listed)
        kept |= {key: more.pop(key) for key in ("interval",) if key in more}
    return {
        "model": kept,
        "nodes": nodes,
        "counted": "rows" if hard else "samples",
        "note": " ".join(by_hand_text(tree, view, hard)),
        "rules": export_text(tree),
        **_sql(tree),
        **more,
        "measured": told.measured(tree, shown, reach),
    }


def _sql(tree: Tree) -> dict[str, str]:
    """The tree as SQL, or nothing and why: SQL has no columns without a name."""
    try:
        return {"sql": to_sql(tree)}
    except (TypeError, ValueError) as error:
        return {"sql": "", "no_sql": str(error)}


def _nodes(tree: Tree, view: View) -> list[dict[str, Any]]:
    """Nodes as shown, each before those below it; children are told by their places."""
    place = {number: k for k, number in enumerate(view.nodes)}
    own = told_of(tree).nodes(tree, view)
    return [
        {
            **(_leaf(node) if isinstance(node, Leaf) else _cut(node, place)),
            **own.get(number, {}),
        }
        for number, node in view.nodes.items()
    ]


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {
        "node": leaf.node,
        "mass": short(leaf.mass),
        "label": leaf.code,
        "leaves": list(leaf.leaves),
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

    Rows go as people would by hand. The rows of a cut are those of the leaves below it.
    """
    most = _by_hand(tree, view, nodes, shown)
    told = told_of(tree)

    def add(place: int) -> BoolArray:
        entry = nodes[place]
        if "label" not in entry:
            yes, no = add(entry["yes"]), add(entry["no"])
            entry["split"] = {
                **_histogram(tree, view.nodes[entry["node"]], shown, yes | no),
                "yes": shown.counts(yes),
                "no": shown.counts(no),
                **told.sides(shown, yes, no),
            }
            return yes | no
        here = np.asarray(most == place)
        rows = [n for n, row in enumerate(listed) if here[row]]
        entry["found"] = {
            "counts": shown.counts(here),
            "listed": rows[:_ROWS_IN_LEAF],
            **told.found(shown, here),
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
    """Histogram by kind of "sum - threshold" at a cut, of the rows that come there."""
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
            for k in range(len(shown.kinds))
        ],
    }


def _margin(tree: Tree, cut: Cut, shown: Shown) -> FloatArray:
    """Sum minus threshold of a cut as printed, for every row."""
    columns = np.array(cut.reading.columns, dtype=np.intp)
    return cut.reading.margins(tree.encoder.scale(shown.table, slice(None), columns))


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
