"""What the compiled steps share: scratch memory and the coordinates of a cut.

A tree's cuts are one flat vector: the coefficients row by row, then the levels.

With x >= 0 a threshold and all its coefficients pull the same way. A cut therefore
moves in centred coordinates: its level follows the coefficients such that the cut keeps
its position at the mean sample. A cut whose threshold meets the box [-1, 1] goes back
to plain coordinates, where the box is a clip.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray
from sorct.problem.compilation import compiled_inside
from sorct.problem.kernels import Buffers
from sorct.problem.problem import Point, Task


class Work(NamedTuple):
    """Scratch of one solve; the vectors are flat.

    ``slope`` is the gradient of the smooth part at the point in the coordinates of
    every cut, ``face`` that of the whole objective along the face of the point;
    ``move`` is the last move and ``change`` what the gradient did along it.
    """

    centred: BoolArray
    trial: Point
    row: FloatArray
    slope: FloatArray
    face: FloatArray
    move: FloatArray
    change: FloatArray
    direction: FloatArray


def make_work(point: Point) -> Work:
    """Allocate the scratch memory of one solve; the trial is the point itself."""
    p, n_branches = point.coef.shape
    size = (p + 1) * n_branches
    return Work(
        np.ones(n_branches, dtype=np.bool_),
        Point(point.coef.copy(), point.level.copy(), point.leaf_class),
        np.zeros(n_branches),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
    )


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
        found = max(found, values[i])
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
def fill_slope(task: Task, buffers: Buffers, work: Work) -> None:
    """Gradient of the smooth part in the coordinates of every cut."""
    slope = work.slope
    p, n_branches = buffers.grad_coef.shape
    for t in range(n_branches):
        slope[p * n_branches + t] = buffers.grad_level[t]
        work.row[t] = buffers.grad_level[t] if work.centred[t] else 0.0
    for j in range(p):
        for t in range(n_branches):
            shift = task.centre[j] * work.row[t]
            slope[j * n_branches + t] = buffers.grad_coef[j, t] + shift


@compiled_inside
def settle_levels(task: Task, point: Point, work: Work) -> bool:
    """Levels of the trial from the move; False if the move must be proposed again.

    A centred cut whose level leaves the box is put back to plain coordinates, where
    another move is due; a plain one is clipped.
    """
    p, n_branches = point.coef.shape
    for t in range(n_branches):
        own = p * n_branches + t
        level = point.level[t] + work.move[own]
        if work.centred[t]:
            for j in range(p):
                level += task.centre[j] * work.move[j * n_branches + t]
        if abs(level) > p:
            if work.centred[t]:
                work.centred[t] = False
                for j in range(p):
                    work.slope[j * n_branches + t] -= task.centre[j] * work.slope[own]
                return False
            level = 1.0 * p if level > 0 else -1.0 * p
            work.move[own] = level - point.level[t]
        work.trial.level[t] = level
    return True


@compiled_inside
def copy_cuts(source: Point, target: Point) -> None:
    """Copy coefficients and levels."""
    for j in range(source.coef.shape[0]):
        for t in range(source.level.size):
            target.coef[j, t] = source.coef[j, t]
    for t in range(source.level.size):
        target.level[t] = source.level[t]
