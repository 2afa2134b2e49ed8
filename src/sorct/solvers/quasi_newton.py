"""Limited-memory quasi-Newton steps on the support that proximal steps have found.

Where no coefficient changes its sign, the penalties are linear: the objective is smooth
on the face of points with the same zeros, the same coefficients at the box and the same
ties for the largest entry of a row. L-BFGS on that face converges in a few dozen steps
where first-order steps crawl. A move that would leave the face is cut at its border.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside
from sorct.problem.kernels import Buffers
from sorct.problem.problem import Point, Task
from sorct.solvers.work import Work, combine, dot, fill_slope, settle_levels

_PAIRS = 20

# What became of a proposed move.
ON_FACE, CUT, UNSETTLED = 0, 1, 2


class Memory(NamedTuple):
    """The last moves and changes of the gradient on a face, oldest overwritten."""

    move: FloatArray
    change: FloatArray
    curvature: FloatArray
    scale: FloatArray
    alpha: FloatArray
    n_pairs: IntArray


def make_memory(size: int) -> Memory:
    """Allocate an empty memory for vectors of the given size."""
    return Memory(
        np.zeros((_PAIRS, size)),
        np.zeros((_PAIRS, size)),
        np.zeros(_PAIRS),
        np.zeros(_PAIRS),
        np.zeros(_PAIRS),
        np.zeros(1, dtype=np.int64),
    )


@compiled_inside
def forget(memory: Memory) -> None:
    """Empty the memory: the face has changed."""
    memory.n_pairs[0] = 0


@compiled_inside
def _largest(coef: FloatArray, j: int) -> float:
    largest = 0.0
    for t in range(coef.shape[1]):
        largest = max(largest, abs(coef[j, t]))
    return largest


@compiled_inside
def _face_rows(
    coef: FloatArray, slope: FloatArray, local: float, spread: float, face: FloatArray
) -> float:
    """Gradient in the coefficients along the face; tied entries move together."""
    p, n_branches = coef.shape
    size = 0.0
    for j in range(p):
        first, n_tied, pull = j * n_branches, 0, spread
        largest = _largest(coef, j) if spread > 0.0 else 2.0
        for t in range(n_branches):
            a, i = coef[j, t], first + t
            face[i] = 0.0
            if a != 0.0:
                face[i] = slope[i] + local if a > 0.0 else slope[i] - local
                if abs(a) == largest:
                    n_tied += 1
                    pull += face[i] if a > 0.0 else -face[i]
        for t in range(n_branches):
            a, i = coef[j, t], first + t
            if n_tied > 0 and abs(a) == largest:
                face[i] = (pull if a > 0.0 else -pull) / n_tied
            if abs(a) == 1.0 and a * face[i] < 0.0:
                face[i] = 0.0
            size = max(size, abs(face[i]))
    return size


@compiled_inside
def fill_face(task: Task, point: Point, work: Work) -> float:
    """Gradient of the objective along the face; return its largest coordinate."""
    p, n_branches = point.coef.shape
    slope, face = work.slope, work.face
    largest = _face_rows(point.coef, slope, task.local, task.spread, face)
    for t in range(n_branches):
        i = p * n_branches + t
        blocked = abs(point.level[t]) >= p and point.level[t] * slope[i] < 0.0
        face[i] = 0.0 if blocked else slope[i]
        largest = max(largest, abs(face[i]))
    return largest


@compiled_inside
def _dot_row(rows: FloatArray, i: int, b: FloatArray) -> float:
    total = 0.0
    for k in range(b.size):
        total += rows[i, k] * b[k]
    return total


@compiled_inside
def _add_row(out: FloatArray, by: float, rows: FloatArray, i: int) -> None:
    for k in range(out.size):
        out[k] += by * rows[i, k]


@compiled_inside
def _two_loops(work: Work, memory: Memory) -> None:
    """Two-loop recursion of L-BFGS, from the face gradient to the direction."""
    direction, n_pairs = work.direction, memory.n_pairs[0]
    combine(direction, 0.0, -1.0, work.face)
    for back in range(min(n_pairs, _PAIRS)):
        i = (n_pairs - 1 - back) % _PAIRS
        memory.alpha[i] = _dot_row(memory.move, i, direction) / memory.curvature[i]
        _add_row(direction, -memory.alpha[i], memory.change, i)
    latest = (n_pairs - 1) % _PAIRS
    combine(direction, memory.scale[latest], 0.0, direction)
    for ahead in range(min(n_pairs, _PAIRS)):
        i = (max(n_pairs - _PAIRS, 0) + ahead) % _PAIRS
        beta = _dot_row(memory.change, i, direction) / memory.curvature[i]
        _add_row(direction, memory.alpha[i] - beta, memory.move, i)


@compiled_inside
def _project_rows(
    coef: FloatArray, face: FloatArray, tied: bool, direction: FloatArray
) -> None:
    """Bring a direction's coefficients back to the face that the gradient lies on."""
    p, n_branches = coef.shape
    for j in range(p):
        first, n_tied, pull = j * n_branches, 0, 0.0
        largest = _largest(coef, j) if tied else 2.0
        for t in range(n_branches):
            i = first + t
            if face[i] == 0.0:
                direction[i] = 0.0
            elif abs(coef[j, t]) == largest:
                n_tied += 1
                pull += direction[i] if coef[j, t] > 0.0 else -direction[i]
        if n_tied > 1:
            for t in range(n_branches):
                if abs(coef[j, t]) == largest:
                    sign = 1.0 if coef[j, t] > 0.0 else -1.0
                    direction[first + t] = sign * pull / n_tied


@compiled_apart
def fill_direction(
    task: Task, point: Point, work: Work, memory: Memory, length: float
) -> None:
    """Minus the inverse Hessian estimate times the gradient, along the face.

    Pairs from a face that has been left stay in use as long as they point downhill;
    without a pair to go by, the estimate is ``length`` times the identity.
    """
    p, n_branches = point.coef.shape
    direction = work.direction
    if memory.n_pairs[0] > 0:
        _two_loops(work, memory)
        _project_rows(point.coef, work.face, task.spread > 0.0, direction)
        for i in range(p * n_branches, direction.size):
            if work.face[i] == 0.0:
                direction[i] = 0.0
        if dot(direction, work.face) < 0.0:
            return
        forget(memory)
    combine(direction, 0.0, -length, work.face)


@compiled_inside
def _move_rows(
    coef: FloatArray,
    direction: FloatArray,
    scale: float,
    tied: bool,
    trial: FloatArray,
    move: FloatArray,
) -> bool:
    """Move the coefficients on their face; tell whether one was cut at the border."""
    p, n_branches = coef.shape
    was_cut = False
    for j in range(p):
        first, largest, limit = j * n_branches, 0.0, 1.0
        if tied:
            for t in range(n_branches):
                if abs(coef[j, t]) > largest:
                    largest = abs(coef[j, t])
                    limit = abs(coef[j, t] + scale * direction[first + t])
            limit = min(limit, 1.0)
        for t in range(n_branches):
            old = coef[j, t]
            moved = old + scale * direction[first + t]
            if moved * old < 0.0:
                moved, was_cut = 0.0, True
            elif abs(moved) > limit:
                moved, was_cut = (limit if moved > 0.0 else -limit), True
            trial[j, t] = moved
            move[first + t] = moved - old
    return was_cut


@compiled_apart
def propose_on_face(task: Task, point: Point, scale: float, work: Work) -> int:
    """Fill the trial with the point moved along the direction; say how that went."""
    n_coefs, tied = point.coef.size, task.spread > 0.0
    direction, move = work.direction, work.move
    outcome = ON_FACE
    if _move_rows(point.coef, direction, scale, tied, work.trial.coef, move):
        outcome = CUT
    for i in range(n_coefs, move.size):
        move[i] = scale * direction[i]
    if not settle_levels(task, point, work):
        return UNSETTLED
    for i in range(n_coefs, move.size):
        if move[i] != scale * direction[i]:
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
    memory.scale[i] = sy / dot(work.change, work.change)
    for k in range(work.move.size):
        memory.move[i, k] = work.move[k]
        memory.change[i, k] = work.change[k]
    memory.n_pairs[0] += 1


@compiled_apart
def learn_on_face(
    task: Task,
    point: Point,
    buffers: Buffers,
    work: Work,
    memory: Memory,
    was_cut: bool,
) -> float:
    """Renew slope and face at the accepted point; return the size of its gradient.

    A move that was cut at the border of the face tells nothing of the curvature on it.
    """
    combine(work.change, 0.0, -1.0, work.face)
    fill_slope(task, buffers, work)
    along = fill_face(task, point, work)
    combine(work.change, 1.0, 1.0, work.face)
    if not was_cut:
        remember(work, memory)
    return along
