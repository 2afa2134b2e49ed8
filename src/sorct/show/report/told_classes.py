"""Told classes: what a page tells of trees that predict classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.show.measures import proba_of_reach
from sorct.show.report.probabilities import probabilities
from sorct.show.report.rows import Shown, row_names, short, shown_name
from sorct.tree.decision import predicted_codes
from sorct.tree.view import View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree


class ToldClasses:
    """Classes by name, accuracy, recalls and probabilities."""

    def rows(self, tree: Tree, X: Any, y: Any) -> Shown:
        """Check data against a tree."""
        table = tree.encoder.read(X)
        code = tree.class_target.codes(y)
        check_consistent_length(X, code)
        if (code < 0).all():
            raise ValueError(
                f"y has none of the classes {tree.classes.tolist()[:5]} of the tree; "
                "expected labels as in training."
            )
        return Shown(table, code, row_names(X, len(code)), _names(tree))

    def page(self, tree: Tree, shown: Shown | None) -> dict[str, Any]:
        """What the page is about, and how trees are compared there."""
        return {"classes": list(_names(tree))}

    def sizes(self, tree: Tree, shown: Shown | None) -> dict[str, Any]:
        """Shares of the classes, and the largest."""
        known = None if shown is None else shown.counts()
        share = tree.class_share
        if shown is not None and known is not None:
            share = np.array(known) / len(shown.code)
        return {
            "class_share": short(tree.class_share),
            "class_counts": known,
            "baseline": float(share.max()),
            "baseline_class": int(np.argmax(share)),
        }

    def arrivals(self, tree: Tree, shown: Shown) -> FloatArray:
        """How many of the rows shown come to each leaf, by class, as in ``mass``."""
        reach, kinds = tree.leaf_reach_table(shown.table), range(len(tree.mass))
        return np.array([reach[shown.code == k].sum(axis=0) for k in kinds])

    def nodes(self, tree: Tree, view: View) -> dict[int, dict[str, Any]]:
        """What leaves say, where that is more than a class."""
        told = {leaf.node: leaf.says for leaf in view.leaves}
        return {
            node: {"says": short(says)}
            for node, says in told.items()
            if says is not None
        }

    def on_rows(
        self, tree: Tree, shown: Shown, reach: FloatArray, listed: IntArray
    ) -> dict[str, Any]:
        """What probabilities are worth."""
        return self.worth(shown, proba_of_reach(tree, reach), listed)

    def worth(self, shown: Shown, said: FloatArray, listed: IntArray) -> dict[str, Any]:
        """What probabilities (n, n_classes) are worth, whoever says them."""
        return {"probabilities": probabilities(said, shown)}

    def sides(self, shown: Shown, yes: BoolArray, no: BoolArray) -> dict[str, Any]:
        """What is told of the sides of a cut beside the classes there."""
        return {}

    def found(self, shown: Shown, here: BoolArray) -> dict[str, Any]:
        """What is told of the rows in a leaf beside their classes."""
        return {}

    def measured(
        self, tree: Tree, shown: Shown | None, reach: FloatArray | None
    ) -> dict[str, Any]:
        """Accuracy, recall, confusion and cost on the data shown, and what to go by.

        ``good`` is to be large: the target's default score, accuracy or minus the mean
        cost; without data minus the expected cost in training.
        """
        own = tree.leaf_class[np.newaxis] == np.arange(len(tree.classes))[:, np.newaxis]
        found = _expected(tree, own)
        if shown is None or reach is None:
            return found
        said = proba_of_reach(tree, reach)
        return found | self.measures(tree, tree.decision_cost, shown, said)

    def measures(
        self,
        tree: Tree,
        decision_cost: FloatArray | None,
        shown: Shown,
        said: FloatArray,
    ) -> dict[str, Any]:
        """Accuracy, recall, confusion and cost of probabilities (n, n_classes)."""
        found: dict[str, Any] = {}
        predicted = predicted_codes(said.T, decision_cost)
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


def _names(tree: Tree) -> tuple[str, ...]:
    return tuple(shown_name(label) for label in tree.classes)


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
