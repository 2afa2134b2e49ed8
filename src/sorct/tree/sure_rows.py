"""Sure rows: rows whose class is known by the sides of the cuts alone.

A row that lies far from all cuts on its way ends almost surely in one leaf. If what
that leaf says outweighs all that the other leaves could say with the rest of the
probability, the class is that of the leaf: no logistic function is needed. With labels
in the leaves and no costs that is so where the leaf has more than half of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.tree.decision import preferences
from sorct.tree.link import quantile
from sorct.tree.topology import Topology

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# Rounding must not decide: leaves must prefer a class by more than this, and scores be
# larger than needed by as much.
_MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class SureRows:
    """What the sides of the cuts tell.

    Attributes
    ----------
    code : array of shape (n_leaves,)
        Class that every leaf is for.
    least : float
        Size that scores of all cuts on the way must have.
    """

    code: IntArray
    least: float

    @classmethod
    def of(cls, tree: Tree) -> SureRows | None:
        """None where the sides of cuts do not tell, as where maps calibrate."""
        proba = tree.leaf_proba
        if tree.calibration is not None or tree.depth == 0:
            return None
        if proba is None:
            proba = np.eye(len(tree.classes))[tree.leaf_class].T
        worth = preferences(proba, tree.decision_cost)
        code = np.argmax(worth, axis=0)
        share = max(_needed(worth, leaf) for leaf in range(tree.n_leaves))
        if share >= 1.0:
            return None
        least = float(quantile(np.array(max(share, 0.5) ** (1.0 / tree.depth))))
        return cls(code, least + _MARGIN)

    def __call__(self, score: FloatArray) -> tuple[IntArray, IntArray]:
        """Codes for scores (n_branches, n), and the rows for which they are not sure.

        A row has the number of its class, from 1, at every cut where its score is large
        enough, and 0 elsewhere: the numbers of both sides are added, of which one at
        most is not 0.
        """
        number = (self.code + 1).astype(np.min_scalar_type(int(self.code.max()) + 1))
        left = (score > self.least).view(np.uint8)
        right = (score < -self.least).view(np.uint8)
        n_branches, topology = len(score), Topology.of_branches(len(score))
        found: list[AnyArray] = [number[:0]] * n_branches + list(number)
        for t in reversed(range(n_branches)):
            yes, no = topology.children(t)
            found[t] = left[t] * found[yes] + right[t] * found[no]
        code = np.subtract(found[0], 1, dtype=np.intp)
        return code, np.flatnonzero(found[0] == 0)


def _needed(worth: FloatArray, leaf: int) -> float:
    """Share of a row that a leaf must have for its class to be the one preferred."""
    own = int(np.argmax(worth[:, leaf]))
    ahead = np.delete(worth[own] - worth, own, axis=0)
    if ahead.size == 0:
        return 0.0
    margin, behind = ahead[:, leaf].min(), -np.delete(ahead, leaf, axis=1).min()
    if margin <= _MARGIN:
        return 1.0
    return float(max(behind, 0.0) / (margin + max(behind, 0.0)))
