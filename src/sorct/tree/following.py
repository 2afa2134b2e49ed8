"""Following: from which score on people who follow the rules go left at a cut.

That is 0, where both sides are equally probable. Costs, floors on recall and calibrated
probabilities move the point at which ``predict`` changes its mind; with one cut that is
a point of its score, and the cut is read, drawn and followed there. Deeper trees mix
what their leaves say, also without costs, and there is no such point. There a cut is
read where most of the training rows come by hand to the class that is predicted.

Printed numbers are rounded, so limits keep away from the rows of training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.tree.decision import predicted_codes
from sorct.tree.reading import ROUNDING
from sorct.tree.topology import Topology

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# No probability in double precision tells scores beyond this apart.
_FARTHEST = 36.0
# Halvings that lead from there to neighbouring numbers.
_HALVINGS = 80
# Cuts are read elsewhere than at 0 if that brings this share of the rows more to what
# is predicted. How often all cuts are looked at.
_WORTH, _SWEEPS = 0.002, 2


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


def best_limits(
    tree: Tree, score: FloatArray, predicted: IntArray, weight: FloatArray
) -> FloatArray:
    """Scores above which to go left, such that most rows come to what is predicted.

    One cut after the other, from the leaves up, gets the best for the rows that come to
    it; 0 stays where hardly any row is gained. Scores are those of rows at every cut,
    (n_branches, n), and weights sum to 1.
    """
    limits, topology = np.zeros(tree.n_branches), Topology(tree.depth)
    right = tree.leaf_class[:, np.newaxis] == predicted
    for _ in range(_SWEEPS):
        before = limits.copy()
        comes = _comes(topology, score, limits)
        if weight @ ~(comes[tree.n_branches :] & right).any(axis=0) < _WORTH:
            # So few rows come to something else that no cut can gain as many.
            break
        agrees = [*np.zeros_like(score, dtype=np.bool_), *right]
        for t in reversed(range(tree.n_branches)):
            left_agrees, right_agrees = (agrees[k] for k in topology.children(t))
            if tree.coef[:, t].any():
                gain = weight * comes[t] * (left_agrees.astype(float) - right_agrees)
                limits[t] = _best_limit(score[t], gain, float(limits[t]))
            agrees[t] = np.where(score[t] > limits[t], left_agrees, right_agrees)
        if np.array_equal(limits, before):
            break
    return limits


def clear_limits(tree: Tree, score: FloatArray, limits: FloatArray) -> FloatArray:
    """Limits as far from the scores of rows as rounding moves a printed cut.

    No row goes another way than before. Where rows are so close that no limit between
    them is far enough, the limit stays as it is.
    """
    found = limits.copy()
    for t, far in enumerate(_moved_by_rounding(tree)):
        goes_left = score[t] > limits[t]
        below = score[t].max(initial=-np.inf, where=~goes_left)
        above = score[t].min(initial=np.inf, where=goes_left)
        if far > 0.0 and above - below >= 2.0 * far:
            found[t] = min(max(limits[t], below + far), above - far)
    return found


def limits_of_rounded(tree: Tree) -> FloatArray | None:
    """Where a tree is read whose cuts are rounded: numbers as printed need no room."""
    if tree.followed_at is None or tree.n_branches == 1:
        return None
    near = np.abs(tree.followed_at) <= _moved_by_rounding(tree)
    limits = np.where(near, 0.0, tree.followed_at)
    return limits if limits.any() else None


def _moved_by_rounding(tree: Tree) -> FloatArray:
    """How far rounding may move the score of every cut as it is printed."""
    size = np.abs(tree.coef).max(axis=0, initial=0.0)
    return np.asarray(ROUNDING * tree.gamma * size / tree.encoder.n_groups)


def _comes(topology: Topology, score: FloatArray, limits: FloatArray) -> BoolArray:
    """Which rows come to every node by hand."""
    comes = np.ones((2 * limits.size + 1, score.shape[1]), dtype=np.bool_)
    for t, limit in enumerate(limits):
        left, right = topology.children(t)
        comes[left] = comes[t] & (score[t] > limit)
        comes[right] = comes[t] & (score[t] <= limit)
    return comes


def _best_limit(score: FloatArray, gain: FloatArray, before: float) -> float:
    """Limit above which rows gain most by going left; that before, if it is as good."""
    matter = np.flatnonzero(gain)
    order = matter[np.argsort(-score[matter], kind="stable")]
    ordered, total = score[order], np.cumsum(gain[order])
    # Between neighbours with different scores; rows with the same go the same way.
    apart = np.flatnonzero(ordered[:-1] > ordered[1:])
    own = float(gain[score > before].sum())
    if apart.size == 0 or total[apart].max() < own + _WORTH:
        return before
    best = apart[int(total[apart].argmax())]
    return float(0.5 * (ordered[best] + ordered[best + 1]))
