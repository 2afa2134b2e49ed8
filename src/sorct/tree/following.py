"""Following: from which score on people who follow the rules go left at a cut.

That is 0, where both sides are equally probable. Costs, floors on recall and calibrated
probabilities move the point at which ``predict`` changes its mind; with one cut that is
a point of its score, and the cut is read, drawn and followed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray
from sorct.tree.decision import predicted_codes

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# No probability in double precision tells scores beyond this apart.
_FARTHEST = 36.0
# Halvings that lead from there to neighbouring numbers.
_HALVINGS = 80


def followed_limits(tree: Tree) -> FloatArray:
    """Score of every cut above which people go left, shape (n_branches,)."""
    limits = np.zeros(tree.n_branches)
    plain = tree.decision_cost is None and tree.calibration is None
    if tree.n_branches != 1 or tree.of_quantity or plain:
        return limits
    right, left = -_FARTHEST, _FARTHEST
    ends = _predicted(tree, left), _predicted(tree, right)
    if ends != tuple(tree.leaf_class.tolist()) or ends[0] == ends[1]:
        return limits
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        if _predicted(tree, middle) == ends[0]:
            left = middle
        else:
            right = middle
    limits[0] = right
    return limits


def _predicted(tree: Tree, score: float) -> int:
    """Code of the class that a tree of one cut predicts at a score."""
    proba = tree.proba_of_scores(np.array([[score]]))
    return int(predicted_codes(proba, tree.decision_cost)[0])
