"""Node numbers of a complete binary tree, and how samples spread over its nodes.

Nodes are numbered as a heap: the root is 0, the children of node t are 2t + 1 (left)
and 2t + 2 (right). Branches come first, then the leaves from left to right. All of
Python asks this file for children, parents and levels. Two places that cannot ask it
count for themselves: the compiled recursion in ``problem/kernels.py`` and the page of
the report (``show/report/templates/model.js``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray


def smallest_depth(n_classes: int) -> int:
    """Depth of the smallest tree with a leaf for every class (at least one cut)."""
    return max(1, (n_classes - 1).bit_length())


@dataclass(frozen=True)
class Topology:
    """A complete binary tree of the given depth."""

    depth: int

    @classmethod
    def of_branches(cls, n_branches: int) -> Topology:
        """Tree with the given number of cuts, 2^depth - 1."""
        return cls(n_branches.bit_length())

    @property
    def is_deep(self) -> bool:
        """Whether there are more than two levels of cuts: searches go by parts then."""
        return self.depth > 2

    @property
    def n_branches(self) -> int:
        """Number of cuts, 2^depth - 1."""
        return (1 << self.depth) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves, 2^depth."""
        return 1 << self.depth

    @property
    def n_nodes(self) -> int:
        """Number of cuts and leaves."""
        return self.n_branches + self.n_leaves

    def children(self, t: int) -> tuple[int, int]:
        """Left and right child of cut t."""
        return 2 * t + 1, 2 * t + 2

    def descend(self, nodes: IntArray, goes_left: BoolArray) -> IntArray:
        """Child of every node on the side that is told."""
        return np.where(goes_left, 2 * nodes + 1, 2 * nodes + 2)

    def reach(self, left: FloatArray) -> FloatArray:
        """Probability with which samples come to every node, (n_nodes, n).

        ``left`` has those of going left at every cut, (n_branches, n).
        """
        reach = np.empty((self.n_nodes, left.shape[1]))
        reach[0] = 1.0
        for t in range(self.n_branches):
            yes, no = self.children(t)
            np.multiply(reach[t], left[t], out=reach[yes])
            np.subtract(reach[t], reach[yes], out=reach[no])
        return reach

    def parent(self, t: int) -> int:
        """Cut above a node other than the root."""
        return (t - 1) // 2

    def level(self, t: int) -> int:
        """Number of cuts above a node: 0 for the root."""
        return (t + 1).bit_length() - 1

    def level_nodes(self, level: int) -> range:
        """Nodes of a level, from left to right."""
        return range((1 << level) - 1, (2 << level) - 1)

    def height(self, t: int) -> int:
        """Depth of the subtree at a node: 0 for a leaf."""
        return self.depth - self.level(t)

    def nodes_below(self, t: int, depth: int) -> list[int]:
        """Cuts of the subtree of a given depth at t, in the order of its own heap."""
        nodes = [t]
        for parent in range(Topology(depth - 1).n_branches):
            nodes += self.children(nodes[parent])
        return nodes

    def leaves_below(self, node: int) -> slice:
        """Positions among the leaves of those below a node, or of the leaf itself."""
        width = 1 << self.height(node)
        first = (node - self.level_nodes(self.level(node)).start) * width
        return slice(first, first + width)
