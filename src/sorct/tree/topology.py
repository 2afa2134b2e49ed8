"""Node numbers of a complete binary tree: integers only.

Nodes are numbered as a heap: the root is 0, the children of node t are 2t + 1 (left)
and 2t + 2 (right). Branches come first, then the leaves from left to right.
"""

from dataclasses import dataclass


def smallest_depth(n_classes: int) -> int:
    """Depth of the smallest tree with a leaf for every class (at least one cut)."""
    return max(1, (n_classes - 1).bit_length())


@dataclass(frozen=True)
class Topology:
    """A complete binary tree of the given depth."""

    depth: int

    @property
    def n_branches(self) -> int:
        """Number of cuts, 2^depth - 1."""
        return (1 << self.depth) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves, 2^depth."""
        return 1 << self.depth

    def children(self, t: int) -> tuple[int, int]:
        """Nodes to the left and to the right below branch t."""
        return 2 * t + 1, 2 * t + 2

    def leaves_below(self, node: int) -> slice:
        """Positions of the leaves below a node, or of the leaf itself."""
        first, last = node, node
        while first < self.n_branches:
            first, last = self.children(first)[0], self.children(last)[1]
        return slice(first - self.n_branches, last - self.n_branches + 1)

    def route(self, leaf: int) -> tuple[tuple[int, bool], ...]:
        """Branches passed from the root to a leaf, each with whether it turns left."""
        node = self.n_branches + leaf
        turns = []
        while node > 0:
            parent = (node - 1) // 2
            turns.append((parent, node == 2 * parent + 1))
            node = parent
        return tuple(reversed(turns))
