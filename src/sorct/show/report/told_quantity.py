"""Told quantity: what a page tells of trees that predict a number.

It has the methods of ``ToldClasses``. Rows are of three kinds, the thirds of what was
observed, so that cuts can be seen to part low from high.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.estimators.interval import leaf_quantiles
from sorct.show.report.rows import DIGITS, Shown, row_names, short
from sorct.show.values import (
    leaf_middle,
    leaf_words,
    linear_parts,
    node_tones,
)
from sorct.tree.view import Leaf, View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# Rows in a bin of predictions, at least, and bins, at most.
_LEAST_ROWS, _MOST_BINS = 8, 10
# Levels between which four of five rows are, and rows that tell them, at least and at
# most. They are rounded in steps in which so many of the rows lie, or by so small a
# share of the spread where a tree has no error.
_LEVELS, _LEAST_BETWEEN, _MOST_BETWEEN = (0.1, 0.9), 50, 400
_ROWS_IN_STEP, _EXACT = 2.0, 1e-6


class ToldQuantity:
    """Numbers, errors and residuals."""

    def rows(self, tree: Tree, X: Any, y: Any) -> Shown:
        """Check data against a tree; rows are told apart by thirds."""
        table, numbers = tree.encoder.read(X), tree.quantity.read(y)
        check_consistent_length(X, numbers)
        edges = np.unique(np.quantile(numbers, [1 / 3, 2 / 3], method="lower"))
        edges = edges[edges < numbers.max()]
        code = np.searchsorted(edges, numbers, side="left")
        names = row_names(X, len(numbers))
        return Shown(table, code, names, _kinds(tree, edges), numbers)

    def page(self, tree: Tree, shown: Shown | None) -> dict[str, Any]:
        """What the page is about, and how trees are compared there."""
        return {
            "task": "quantity",
            "classes": [] if shown is None else list(shown.kinds),
            "quantity": tree.quantity.to_dict(),
        }

    def sizes(self, tree: Tree, shown: Shown | None) -> dict[str, Any]:
        """How far off always saying the mean is on the rows shown."""
        if shown is None or shown.y is None:
            return {}
        gap = shown.y - shown.y.mean()
        return {
            "class_counts": shown.counts(),
            "mean": _short(shown.y.mean()),
            "base_rmse": _short(np.sqrt(np.mean(gap**2))),
            "base_mae": _short(np.abs(gap).mean()),
        }

    def arrivals(self, tree: Tree, shown: Shown) -> FloatArray:
        """How many of the rows shown come to every leaf, like the tree's ``mass``."""
        return np.asarray(tree.leaf_reach_table(shown.table).sum(axis=0)[np.newaxis])

    def nodes(self, tree: Tree, view: View) -> dict[int, dict[str, Any]]:
        """Where the mean of every node is among the leaves, and what leaves say."""
        own = {leaf.node: _leaf(tree, leaf) for leaf in view.leaves}
        return {
            node: {"tone": _short(tone), **own.get(node, {})}
            for node, tone in node_tones(view).items()
        }

    def on_rows(
        self, tree: Tree, shown: Shown, reach: FloatArray, listed: IntArray
    ) -> dict[str, Any]:
        """Predicted and observed: rows that are listed, and bins of all.

        And between which numbers four of five rows are.
        """
        found = self.worth(shown, _said(tree, shown), listed)
        return {**found, **_interval(tree, shown, reach)}

    def worth(self, shown: Shown, said: FloatArray, listed: IntArray) -> dict[str, Any]:
        """What predictions are worth, whoever makes them."""
        assert shown.y is not None
        return {
            "residuals": {
                "points": [
                    [_short(said[row]), _short(shown.y[row])] for row in listed.tolist()
                ],
                "bins": _bins(said, shown.y),
            }
        }

    def sides(self, shown: Shown, yes: BoolArray, no: BoolArray) -> dict[str, Any]:
        """Means of both sides of a cut."""
        return {"means": [_mean(shown, side) for side in (yes, no)]}

    def found(self, shown: Shown, here: BoolArray) -> dict[str, Any]:
        """Mean of the rows in a leaf."""
        return {"mean": _mean(shown, here)}

    def measured(
        self, tree: Tree, shown: Shown | None, reach: FloatArray | None
    ) -> dict[str, Any]:
        """R² and errors on the data shown, and what to go by.

        ``good`` is to be large: R² on the data shown, else in training. Its error is
        that of the mean squared error.
        """
        told = tree.training
        r2 = 0.0 if told.r2 is None else float(told.r2)
        spread = np.sqrt(2.0 / (told.n_samples or 1))
        found: dict[str, Any] = {
            "good": r2,
            "good_error": float((1.0 - r2) * spread),
            "training_r2": told.r2,
        }
        if shown is None or shown.y is None:
            return found
        return found | self.measures(tree, None, shown, _said(tree, shown))

    def measures(
        self,
        tree: Tree,
        decision_cost: FloatArray | None,
        shown: Shown,
        said: FloatArray,
    ) -> dict[str, Any]:
        """R² and errors of predictions on the data shown, whoever makes them."""
        assert shown.y is not None
        gap, whole = shown.y - said, float(shown.y.var())
        square = gap**2
        found: dict[str, Any] = {
            "rmse": float(np.sqrt(square.mean())),
            "mae": float(np.abs(gap).mean()),
        }
        if whole == 0.0:
            return {**found, "r2": None}
        r2 = float(1.0 - square.mean() / whole)
        error = float(square.std() / np.sqrt(len(square)) / whole)
        return {**found, "r2": r2, "good": r2, "good_error": error}


def _interval(tree: Tree, shown: Shown, reach: FloatArray) -> dict[str, Any]:
    """What leaves say at two quantiles, if there are enough rows to tell.

    Rounded away from each other, so that no single row can be recognised.
    """
    assert shown.y is not None
    few, target = len(shown.y) < _LEAST_BETWEEN, tree.quantity
    if few or (target.is_log and shown.y.min() <= 0.0):
        return {}
    given = shown.table, shown.y, np.ones(len(shown.y)), _LEVELS, _MOST_BETWEEN
    low, high = leaf_quantiles(tree, *given)
    between = np.diff(_LEVELS)[0] * min(len(shown.y), _MOST_BETWEEN)
    width = float(reach.mean(axis=0) @ (high - low))
    step = max(width * _ROWS_IN_STEP / between, _EXACT * target.unit)
    low, high = np.floor(low / step) * step, np.ceil(high / step) * step
    return {"interval": {"low": low.tolist(), "high": high.tolist()}}


def _said(tree: Tree, shown: Shown) -> FloatArray:
    return np.asarray(tree.predict_table(shown.table), dtype=np.float64)


def _kinds(tree: Tree, edges: FloatArray) -> tuple[str, ...]:
    """Names of the thirds."""
    texts = [tree.quantity.value_text(edge) for edge in edges.tolist()]
    if not texts:
        return ("all rows",)
    between = [f"{low} to {high}" for low, high in zip(texts, texts[1:], strict=False)]
    return (f"up to {texts[0]}", *between, f"above {texts[-1]}")


def _leaf(tree: Tree, leaf: Leaf) -> dict[str, Any]:
    """A leaf in words and numbers."""
    words = leaf_words(tree, leaf)
    told: dict[str, Any] = {
        "name": words.value,
        "miss": words.miss,
        "words": words.says,
        "mean": _short(leaf_middle(leaf)),
        "within": None if leaf.miss is None else _short(leaf.miss),
    }
    if leaf.terms:
        told["sum"] = linear_parts(tree, leaf)
    return told


def _bins(said: FloatArray, seen: FloatArray) -> list[dict[str, Any]]:
    """Rows by what was predicted: means, and where four of five observed numbers are.

    All bins have the same number of rows, enough that no single row can be recognised.
    """
    n_bins = min(len(said) // _LEAST_ROWS, _MOST_BINS)
    if n_bins < 2:
        return []
    parts = np.array_split(np.argsort(said, kind="stable"), n_bins)
    return [
        {
            "said": _short(said[rows].mean()),
            "seen": _short(seen[rows].mean()),
            "low": _short(np.quantile(seen[rows], 0.1)),
            "high": _short(np.quantile(seen[rows], 0.9)),
            "missed": short(np.quantile(seen[rows] - said[rows], [0.1, 0.9])),
            "count": len(rows),
        }
        for rows in parts
    ]


def _mean(shown: Shown, here: BoolArray) -> float | None:
    assert shown.y is not None
    return _short(shown.y[here].mean()) if here.any() else None


def _short(value: Any) -> float:
    return float(f"{value:.{DIGITS}g}")
