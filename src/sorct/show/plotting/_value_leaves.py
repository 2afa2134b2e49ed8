"""Value leaves: what is written in the leaves of a quantity, and how dark they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.target import data_given
from sorct.show.plotting._tree_parts import DrawnLeaf, LeafLine
from sorct.show.values import (
    leaf_middle,
    leaf_words,
    linear_parts,
    node_tones,
)
from sorct.tree.tree import Tree
from sorct.tree.view import Leaf, View

# Summands of a linear leaf that get a line; of others the number is told.
_MOST_SUMMANDS = 5


@dataclass(frozen=True, eq=False)
class ValueLeaves:
    """A tree of a quantity, and rows that are shown in place of those of training.

    ``leaf`` has the leaf that each of these rows comes to by hand, ``y`` its number and
    ``said`` what it finds there; all are empty where no rows were given.
    """

    tree: Tree
    hard: bool
    leaf: IntArray
    y: FloatArray
    said: FloatArray

    @classmethod
    def of(cls, tree: Tree, X: Any, y: Any, hard: bool) -> ValueLeaves:
        """Look where rows go, if there are any."""
        if not data_given(X, y):
            return cls(tree, hard, np.empty(0, np.int64), np.empty(0), np.empty(0))
        numbers = tree.quantity.read(y)
        return cls(tree, hard, tree.apply(X), numbers, tree.follow(X))

    def _shown(self, leaf: Leaf) -> Leaf:
        """A leaf with the mean of its rows, and what they miss that (or its sum) by."""
        here = np.isin(self.leaf, leaf.leaves)
        if not here.any():
            return leaf
        y, mean = self.y[here], float(self.y[here].mean())
        said = self.said[here] if leaf.terms else mean
        miss = float(np.sqrt(np.mean((y - said) ** 2)))
        return replace(leaf, mean=mean, miss=miss)

    def write(self, leaf: Leaf) -> DrawnLeaf:
        """A leaf with its number, or its sum."""
        leaf = self._shown(leaf)
        words = leaf_words(self.tree, leaf)
        lines = [LeafLine(words.miss, 0, *self._bar(leaf))] if words.miss else []
        lines += [LeafLine(words.says)] if words.says else []
        if leaf.terms:
            parts = linear_parts(self.tree, leaf)
            more = len(parts) - _MOST_SUMMANDS
            lines += [LeafLine(_minus(text)) for text in parts[:_MOST_SUMMANDS]]
            lines += [LeafLine(f"and {more} more")] if more > 0 else []
        return DrawnLeaf.of(leaf, words.value, lines, self.hard)

    def _bar(self, leaf: Leaf) -> tuple[float, float]:
        """Where the rows of a leaf are between the least and largest of training."""
        low, high = self.tree.quantity.low, self.tree.quantity.high
        if leaf.miss is None or low == high:
            return 0.0, 0.0
        middle = leaf_middle(leaf)
        ends = np.array([middle - leaf.miss, middle + leaf.miss])
        begin, end = np.clip((ends - low) / (high - low), 0.0, 1.0).tolist()
        return begin, end

    def tones(self, view: View) -> dict[int, float]:
        """Where the mean of every node is between those of the leaves, from 0 to 1."""
        nodes = {
            number: self._shown(node) if isinstance(node, Leaf) else node
            for number, node in view.nodes.items()
        }
        return node_tones(View(nodes))


def _minus(text: str) -> str:
    """A summand with a minus of its own width."""
    return f"−{text[1:]}" if text.startswith("-") else text
