"""Limited-memory quasi-Newton steps on the support that proximal steps have found.

On the face of a tree (``problem/penalty_face.py``) the objective is smooth. L-BFGS on
that face converges in a few dozen steps where first-order steps crawl. A move that
would leave the face is cut at its border.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside, larger
from sorct.problem.penalty import count_groups
from sorct.problem.penalty_face import face_gradient, move_on_face, project_on_face
from sorct.problem.subproblem import Gradient, Point, Simple
from sorct.problem.thresholds import at_bound
from sorct.solvers.work import (
    CHANGE,
    DIRECTION,
    FACE,
    MOVE,
    SLOPE,
    Work,
    combine,
    dot,
    fill_slope,
    settle_logits,
    settle_thresholds,
)

_PAIRS = 20
# Rows of ``Memory.number``: curvature and scale of every pair, and scratch.
_CURVATURE, _SCALE, _ALPHA = 0, 1, 2

# What became of a proposed move.
ON_FACE, CUT, UNSETTLED = 0, 1, 2


class Memory(NamedTuple):
    """The last moves and changes of the gradient on a face, oldest overwritten."""

    move: FloatArray
    change: FloatArray
    number: FloatArray
    n_pairs: IntArray


def make_memory(size: int) -> Memory:
    """Allocate an empty memory for vectors of the given size."""
    return Memory(
        np.zeros((_PAIRS, size)),
        np.zeros((_PAIRS, size)),
        np.zeros((3, _PAIRS)),
        np.zeros(1, dtype=np.int64),
    )


@compiled_inside
def forget(memory: Memory) -> None:
    """Empty the memory: the face has changed."""
    memory.n_pairs[0] = 0


@compiled_inside
def fill_face(simple: Simple, point: Point, work: Work) -> float:
    """Gradient of the objective along the face; return its largest coordinate."""
    p, n_branches = simple.centre.size, point.cuts.shape[1]
    n_groups = count_groups(simple.penalty)
    slope, face = work.vector[SLOPE], work.vector[FACE]
    largest = face_gradient(simple.penalty, point.cuts, slope, face)
    for t in range(n_branches):
        threshold, i = point.cuts[p, t], p * n_branches + t
        blocked = at_bound(threshold, n_groups) and threshold * slope[i] < 0.0
        face[i] = 0.0 if blocked else slope[i]
        largest = larger(largest, abs(face[i]))
    for i in range(point.cuts.size, face.size):
        face[i] = slope[i]
    if simple.shape.size > 0:
        _bind_values(simple.shape, point.logit[0], face[point.cuts.size :])
    for i in range(point.cuts.size, face.size):
        largest = larger(largest, abs(face[i]))
    return largest


@compiled_apart
def _bind_values(shape: FloatArray, value: FloatArray, face: FloatArray) -> None:
    """Values at a bound stay there; those that are tied by an order go together."""
    first = 0
    while first < value.size:
        last, total = first + 1, face[first]
        while shape[6] > 0.0 and last < value.size and value[last] == value[first]:
            total += face[last]
            last += 1
        mean = total / (last - first)
        blocked = (value[first] <= shape[4] and mean > 0.0) or (
            value[first] >= shape[5] and mean < 0.0
        )
        for leaf in range(first, last):
            face[leaf] = 0.0 if blocked else mean
        first = last


@compiled_inside
def _two_loops(work: Work, memory: Memory) -> None:
    """Two-loop recursion of L-BFGS, from the face gradient to the direction."""
    direction, number = work.vector[DIRECTION], memory.number
    n_pairs = memory.n_pairs[0]
    combine(direction, 0.0, -1.0, work.vector[FACE])
    n_kept = n_pairs if n_pairs < _PAIRS else _PAIRS
    for back in range(n_kept):
        i = (n_pairs - 1 - back) % _PAIRS
        number[_ALPHA, i] = dot(memory.move[i], direction) / number[_CURVATURE, i]
        combine(direction, 1.0, -number[_ALPHA, i], memory.change[i])
    latest = (n_pairs - 1) % _PAIRS
    combine(direction, number[_SCALE, latest], 0.0, direction)
    for ahead in range(n_kept):
        i = (n_pairs - n_kept + ahead) % _PAIRS
        beta = dot(memory.change[i], direction) / number[_CURVATURE, i]
        combine(direction, 1.0, number[_ALPHA, i] - beta, memory.move[i])


@compiled_inside
def fill_direction(
    simple: Simple, point: Point, work: Work, memory: Memory, length: float
) -> None:
    """Minus the inverse Hessian estimate times the gradient, along the face.

    Pairs from a face that has been left stay in use as long as they point downhill;
    without a pair to go by, the estimate is ``length`` times the identity.
    """
    direction, face = work.vector[DIRECTION], work.vector[FACE]
    if memory.n_pairs[0] > 0:
        _two_loops(work, memory)
        project_on_face(simple.penalty, point.cuts, face, direction)
        for i in range(simple.centre.size * point.cuts.shape[1], direction.size):
            if face[i] == 0.0:
                direction[i] = 0.0
        if dot(direction, face) < 0.0:
            return
        forget(memory)
    combine(direction, 0.0, -length, face)


@compiled_inside
def propose_on_face(simple: Simple, point: Point, scale: float, work: Work) -> int:
    """Fill the trial with the point moved along the direction; say how that went."""
    n_coefs = simple.centre.size * point.cuts.shape[1]
    direction, move, trial = work.vector[DIRECTION], work.vector[MOVE], work.trial
    outcome = ON_FACE
    if move_on_face(simple.penalty, point.cuts, direction, scale, trial.cuts, move):
        outcome = CUT
    for i in range(n_coefs, move.size):
        move[i] = scale * direction[i]
    if point.logit.size > 0:
        settle_logits(simple, point, work)
    if not settle_thresholds(simple, point, work):
        return UNSETTLED
    for i in range(n_coefs, move.size):
        if move[i] != scale * direction[i]:
            outcome = CUT
    return outcome


@compiled_inside
def remember(work: Work, memory: Memory) -> None:
    """Keep the last move if its curvature is positive."""
    move, change = work.vector[MOVE], work.vector[CHANGE]
    sy, ss = dot(move, change), dot(move, move)
    if sy <= 1e-12 * ss:
        return
    i = memory.n_pairs[0] % _PAIRS
    memory.number[_CURVATURE, i] = sy
    memory.number[_SCALE, i] = sy / dot(change, change)
    for k in range(move.size):
        memory.move[i, k] = move[k]
        memory.change[i, k] = change[k]
    memory.n_pairs[0] += 1


@compiled_inside
def learn_on_face(
    simple: Simple,
    point: Point,
    gradient: Gradient,
    work: Work,
    memory: Memory,
    was_cut: bool,
) -> float:
    """Renew slope and face at the accepted point; return the size of its gradient.

    A move that was cut at the border of the face tells nothing of the curvature on it.
    """
    change, face = work.vector[CHANGE], work.vector[FACE]
    combine(change, 0.0, -1.0, face)
    fill_slope(simple, gradient, work)
    along = fill_face(simple, point, work)
    combine(change, 1.0, 1.0, face)
    if not was_cut:
        remember(work, memory)
    return along
