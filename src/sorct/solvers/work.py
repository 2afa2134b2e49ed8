"""What the compiled steps share: scratch memory and the coordinates of a cut.

A tree is one flat vector: the matrix of cuts row by row, so that the thresholds come
after the coefficients, then the logits of the leaves, where they learn distributions.
Logits are measured in units of ``_LOGIT``: coefficients change a loss much faster, and
steps suit variables of one size best.

With x >= 0 a threshold and all its coefficients pull the same way. A cut therefore
moves in centred coordinates: its threshold follows the coefficients such that the cut
keeps its position at the mean sample. A cut whose threshold meets the box [-1, 1] of
the model goes back to plain coordinates, where the box is a clip.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray
from sorct.problem.compilation import compiled_apart, compiled_inside, larger
from sorct.problem.datafit import bound_value
from sorct.problem.penalty import count_groups
from sorct.problem.subproblem import Gradient, Point, Simple
from sorct.problem.thresholds import clip_scaled, leaves_box

# Rows of ``Work.vector``. SLOPE is the gradient of the smooth part at the point in the
# coordinates of every cut, FACE that of the whole objective along the face of the
# point; MOVE is the last move and CHANGE what the gradient did along it; DIRECTION is
# where a quasi-Newton step goes.
SLOPE, FACE, MOVE, CHANGE, DIRECTION = 0, 1, 2, 3, 4
_LOGIT = 8.0


class Work(NamedTuple):
    """Scratch of one solve: the tree to be tried next, and flat vectors."""

    trial: Point
    centred: BoolArray
    scratch: FloatArray
    vector: FloatArray
    wanted: FloatArray


def make_work(point: Point) -> Work:
    """Allocate the scratch memory of one solve; the trial is the point itself."""
    return Work(
        Point(point.cuts.copy(), point.label, point.logit.copy()),
        _has_threshold(point),
        np.zeros(point.cuts.shape),
        np.zeros((5, point.cuts.size + point.logit.size)),
        np.zeros(point.logit.size),
    )


@compiled_inside
def clear_work(work: Work, point: Point) -> None:
    """Make scratch memory as it was when allocated, for the point as it is now."""
    copy_point(point, work.trial)
    for t in range(point.label.size - 1):
        work.centred[t] = True
    for k in range(work.vector.shape[0]):
        fill(work.vector[k], 0.0)


def _has_threshold(point: Point) -> BoolArray:
    """Whether columns of the matrix are cuts: slopes of leaves come after them."""
    return np.arange(point.cuts.shape[1]) < point.label.size - 1


@compiled_inside
def dot(a: FloatArray, b: FloatArray) -> float:
    """Inner product."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled_inside
def largest(values: FloatArray) -> float:
    """Largest entry."""
    found = float(values[0])
    for i in range(1, values.size):
        found = larger(found, values[i])
    return found


@compiled_inside
def fill(out: FloatArray, value: float) -> None:
    """Set every entry."""
    for i in range(out.size):
        out[i] = value


@compiled_inside
def combine(out: FloatArray, keep: float, by: float, b: FloatArray) -> None:
    """Replace out by keep * out + by * b."""
    for i in range(out.size):
        out[i] = keep * out[i] + by * b[i]


@compiled_inside
def fill_slope(simple: Simple, gradient: Gradient, work: Work) -> None:
    """Gradient of the smooth part in the coordinates of every cut, and of leaves."""
    slope, p, steep = work.vector[SLOPE], simple.centre.size, gradient.cuts
    n_branches = steep.shape[1]
    for t in range(n_branches):
        slope[p * n_branches + t] = steep[p, t]
        work.scratch[p, t] = steep[p, t] if work.centred[t] else 0.0
    for j in range(p):
        for t in range(n_branches):
            shift = simple.centre[j] * work.scratch[p, t]
            slope[j * n_branches + t] = steep[j, t] + shift
    i, logit = steep.size, work.trial.logit
    for k in range(logit.shape[0]):
        for leaf in range(logit.shape[1]):
            slope[i] = _LOGIT * gradient.logit[k, leaf]
            i += 1


@compiled_apart
def settle_logits(simple: Simple, point: Point, work: Work) -> None:
    """Logits of the trial from the move; values of leaves stay within their bounds."""
    i, move = point.cuts.size, work.vector[MOVE]
    if simple.shape.size > 0:
        wanted = work.wanted
        for leaf in range(point.logit.shape[1]):
            wanted[leaf] = point.logit[0, leaf] + _LOGIT * move[i + leaf]
        for leaf in range(point.logit.shape[1]):
            bound = bound_value(simple.shape, wanted, leaf)
            work.trial.logit[0, leaf] = bound
            if bound != wanted[leaf]:
                move[i + leaf] = (bound - point.logit[0, leaf]) / _LOGIT
        return
    for k in range(point.logit.shape[0]):
        for leaf in range(point.logit.shape[1]):
            work.trial.logit[k, leaf] = point.logit[k, leaf] + _LOGIT * move[i]
            i += 1


@compiled_inside
def settle_thresholds(simple: Simple, point: Point, work: Work) -> bool:
    """Thresholds of the trial from the move; False if a move must be proposed again.

    A centred cut whose threshold leaves the box is put back to plain coordinates, where
    another move is due; a plain one is clipped.
    """
    p, n_branches = simple.centre.size, point.cuts.shape[1]
    n_groups = count_groups(simple.penalty)
    move, slope = work.vector[MOVE], work.vector[SLOPE]
    for t in range(n_branches):
        own = p * n_branches + t
        threshold = point.cuts[p, t] + move[own]
        if work.centred[t]:
            for j in range(p):
                threshold += simple.centre[j] * move[j * n_branches + t]
        if leaves_box(threshold, n_groups):
            if work.centred[t]:
                work.centred[t] = False
                for j in range(p):
                    slope[j * n_branches + t] -= simple.centre[j] * slope[own]
                return False
            threshold = clip_scaled(threshold, n_groups)
            move[own] = threshold - point.cuts[p, t]
        work.trial.cuts[p, t] = threshold
    return True


@compiled_inside
def copy_point(source: Point, target: Point) -> None:
    """Copy all cuts and logits; labels are shared."""
    for j in range(source.cuts.shape[0]):
        for t in range(source.cuts.shape[1]):
            target.cuts[j, t] = source.cuts[j, t]
    copy_logits(source, target)


@compiled_inside
def copy_logits(source: Point, target: Point) -> None:
    """Copy all logits."""
    for k in range(source.logit.shape[0]):
        for leaf in range(source.logit.shape[1]):
            target.logit[k, leaf] = source.logit[k, leaf]
