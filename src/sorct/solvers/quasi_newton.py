"""Limited-memory quasi-Newton steps on the support that proximal steps have found.

Where no coefficient changes its sign, the penalties are linear: the objective is smooth
on the face of points with the same zeros, the same coefficients at the box and the same
ties for the largest entry of a row. L-BFGS on that face converges in a few dozen steps
where first-order steps crawl. A move that would leave the face is cut at its border.
"""

from typing import NamedTuple

import numpy as np

from sorct._compile import compiled_inside
from sorct._typing import FloatArray, IntArray
from sorct.problem import Point, Task
from sorct.solvers._work import Work, combine, dot, settle_levels

_PAIRS = 10

# What became of a proposed move.
ON_FACE, CUT, UNSETTLED = 0, 1, 2


class Memory(NamedTuple):
    """The last moves and changes of the gradient on a face, oldest overwritten."""

    move: FloatArray
    change: FloatArray
    curvature: FloatArray
    alpha: FloatArray
    n_pairs: IntArray


@compiled_inside
def make_memory(size: int) -> Memory:
    """Allocate an empty memory for vectors of the given size."""
    return Memory(
        np.zeros((_PAIRS, size)),
        np.zeros((_PAIRS, size)),
        np.zeros(_PAIRS),
        np.zeros(_PAIRS),
        np.zeros(1, dtype=np.int64),
    )


@compiled_inside
def forget(memory: Memory) -> None:
    """Empty the memory: the face has changed."""
    memory.n_pairs[0] = 0


@compiled_inside
def _face_row(
    coef: FloatArray, slope: FloatArray, local: float, spread: float, face: FloatArray
) -> float:
    """Gradient of one row along the face; tied entries move together."""
    largest, n_tied, pull, size = 0.0, 0, spread, 0.0
    for t in range(coef.size):
        largest = max(largest, abs(coef[t]))
    for t in range(coef.size):
        sign = 1.0 if coef[t] > 0.0 else -1.0
        face[t] = slope[t] + local * sign if coef[t] != 0.0 else 0.0
        if abs(coef[t]) == largest:
            n_tied += 1
            pull += face[t] * sign
    for t in range(coef.size):
        sign = 1.0 if coef[t] > 0.0 else -1.0
        if spread > 0.0 and abs(coef[t]) == largest and largest > 0.0:
            face[t] = sign * pull / n_tied
        if abs(coef[t]) == 1.0 and sign * face[t] < 0.0:
            face[t] = 0.0
        size = max(size, abs(face[t]))
    return size


@compiled_inside
def fill_face(task: Task, point: Point, work: Work) -> float:
    """Gradient of the objective along the face; return its largest coordinate."""
    p, n_branches = point.coef.shape
    slope, face, largest = work.slope, work.face, 0.0
    for j in range(p):
        first, last = j * n_branches, (j + 1) * n_branches
        size = _face_row(
            point.coef[j], slope[first:last], task.local, task.spread, face[first:last]
        )
        largest = max(largest, size)
    for t in range(n_branches):
        i = p * n_branches + t
        blocked = abs(point.level[t]) >= p and point.level[t] * slope[i] < 0.0
        face[i] = 0.0 if blocked else slope[i]
        largest = max(largest, abs(face[i]))
    return largest


@compiled_inside
def fill_direction(work: Work, memory: Memory, length: float) -> None:
    """Two-loop recursion: minus the inverse Hessian estimate times the face gradient.

    Without a pair to go by, the estimate is ``length`` times the identity.
    """
    direction, n_pairs = work.direction, memory.n_pairs[0]
    if n_pairs == 0:
        combine(direction, 0.0, -length, work.face)
        return
    combine(direction, 0.0, -1.0, work.face)
    for back in range(min(n_pairs, _PAIRS)):
        i = (n_pairs - 1 - back) % _PAIRS
        memory.alpha[i] = dot(memory.move[i], direction) / memory.curvature[i]
        combine(direction, 1.0, -memory.alpha[i], memory.change[i])
    latest = (n_pairs - 1) % _PAIRS
    yy = dot(memory.change[latest], memory.change[latest])
    combine(direction, memory.curvature[latest] / yy, 0.0, direction)
    for ahead in range(min(n_pairs, _PAIRS)):
        i = (max(n_pairs - _PAIRS, 0) + ahead) % _PAIRS
        beta = dot(memory.change[i], direction) / memory.curvature[i]
        combine(direction, 1.0, memory.alpha[i] - beta, memory.move[i])


@compiled_inside
def _cut_row(
    coef: FloatArray,
    direction: FloatArray,
    scale: float,
    tied: bool,
    trial_out: FloatArray,
) -> bool:
    """Move one row without leaving its face; tell whether it was cut at the border."""
    largest, limit, was_cut = 0.0, 1.0, False
    for t in range(coef.size):
        if abs(coef[t]) > largest:
            largest = abs(coef[t])
            limit = abs(coef[t] + scale * direction[t])
    limit = min(limit, 1.0) if tied else 1.0
    for t in range(coef.size):
        moved = coef[t] + scale * direction[t]
        if moved * coef[t] < 0.0:
            moved, was_cut = 0.0, True
        elif abs(moved) > limit:
            moved, was_cut = (limit if moved > 0.0 else -limit), True
        trial_out[t] = moved
    return was_cut


@compiled_inside
def propose_on_face(task: Task, point: Point, scale: float, work: Work) -> int:
    """Fill the trial with the point moved along the direction; say how that went."""
    p, n_branches = point.coef.shape
    outcome = ON_FACE
    for j in range(p):
        first, last = j * n_branches, (j + 1) * n_branches
        direction, trial = work.direction[first:last], work.trial.coef[j]
        if _cut_row(point.coef[j], direction, scale, task.spread > 0.0, trial):
            outcome = CUT
        for t in range(n_branches):
            work.move[first + t] = trial[t] - point.coef[j, t]
    for i in range(p * n_branches, work.move.size):
        work.move[i] = scale * work.direction[i]
    if not settle_levels(task, point, work):
        return UNSETTLED
    for i in range(p * n_branches, work.move.size):
        if work.move[i] != scale * work.direction[i]:
            outcome = CUT
    return outcome


@compiled_inside
def remember(work: Work, memory: Memory) -> None:
    """Keep the last move if its curvature is positive."""
    sy, ss = dot(work.move, work.change), dot(work.move, work.move)
    if sy <= 1e-12 * ss:
        return
    i = memory.n_pairs[0] % _PAIRS
    memory.curvature[i] = sy
    combine(memory.move[i], 0.0, 1.0, work.move)
    combine(memory.change[i], 0.0, 1.0, work.change)
    memory.n_pairs[0] += 1
