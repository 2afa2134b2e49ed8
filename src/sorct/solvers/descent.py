"""Descent: one start to one stationary tree, labels included.

Two kinds of steps take turns in one loop. Spectral proximal steps see the whole problem
and find the support; quasi-Newton steps finish on it. Labels are renewed as the cuts
move. The loop is compiled, holds no lock and evaluates the tree in one place.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled
from sorct.problem.kernels import Buffers, Samples, make_buffers
from sorct.problem.labels import Labelling, make_labelling
from sorct.problem.problem import Point, Task, evaluate, relabel, residual
from sorct.solvers.quasi_newton import (
    CUT,
    ON_FACE,
    UNSETTLED,
    Memory,
    fill_direction,
    fill_face,
    forget,
    learn_on_face,
    make_memory,
    propose_on_face,
)
from sorct.solvers.spectral import (
    SHORTEST_STEP,
    learn_spectral,
    propose_spectral,
)
from sorct.solvers.work import (
    Work,
    combine,
    copy_cuts,
    dot,
    fill,
    largest,
    make_work,
)

# Spectral steps before the first turn on a face and between later ones, and the
# longest turn on a face.
_FIRST_TURN, _TURN, _FACE_TURN = 20, 10, 200
# Objective values a spectral step may compare with; relative rounding error of one.
_MEMORY, _ROUNDING = 8, 1e-15
_DECREASE = 1e-4
# A turn on a face ends after this many cuts of one step, or when less than this share
# of the residual lies on the face.
_MAX_CUTS, _ON_FACE_SHARE = 10, 0.3
_RELABEL_EVERY = 10
# Above any objective.
_ANY = 1e300


class Progress(NamedTuple):
    """Where a descent began, under its best labels, and where it ended."""

    first: float
    objective: float
    residual: float
    n_iterations: int
    n_evaluations: int


def descend(
    samples: Samples,
    task: Task,
    point: Point,
    tol: float,
    max_iter: int,
    stop: IntArray,
    *,
    monotone: bool = False,
) -> Progress:
    """Move the point, in place, until its residual is at most tol.

    Parameters
    ----------
    samples : Samples
    task : Task
    point : Point
        Start with valid labels; overwritten by the result.
    tol : float
    max_iter : int
    stop : array of one integer
        Another thread sets it to end the descent after the evaluation of the moment.
    monotone : bool
        Whether no step may lead higher; by default a few may, which is quicker.
    """
    p, n_branches = point.coef.shape
    # Memory is laid out here: every allocation in compiled code takes long to compile.
    return _descend(
        samples,
        task,
        point,
        tol,
        max_iter,
        stop,
        make_work(point),
        make_memory(point.coef.size + n_branches),
        make_buffers(p, n_branches, task.share.size),
        make_labelling(task.share.size, point.leaf_class.size),
        np.zeros(task.share.size),
        np.zeros(_MEMORY),
        monotone,
    )


@compiled
def _descend(
    samples: Samples,
    task: Task,
    point: Point,
    tol: float,
    max_iter: int,
    stop: IntArray,
    work: Work,
    memory: Memory,
    buffers: Buffers,
    labelling: Labelling,
    pressure: FloatArray,
    history: FloatArray,
    monotone: bool,
) -> Progress:
    """Descend with the memory given; all of it starts as zeros."""
    p = point.coef.shape[0]
    first, value, worst, step, along = 0.0, 0.0, 0.0, 0.0, 0.0
    scale, bar = 1.0, _ANY
    iteration, n_evaluations, n_cuts, n_turn = 0, 0, 0, _FIRST_TURN
    on_face, outcome = False, ON_FACE
    while True:
        trial = evaluate(samples, task, work.trial, pressure, buffers)
        n_evaluations += 1
        if trial <= bar:
            copy_cuts(work.trial, point)
            value, iteration = trial, iteration + 1
            if bar == _ANY:
                fill(history, value)
                first = value if iteration <= 2 else first
            worst = residual(task, point, buffers, work.row)
            done = worst <= tol or iteration >= max_iter or stop[0] != 0
            if (done or iteration % _RELABEL_EVERY == 1) and relabel(
                task, point, pressure, buffers.mass, labelling
            ):
                # The same cuts under new labels: any value is welcome.
                on_face, n_turn, bar = False, _TURN, _ANY
                forget(memory)
                combine(work.move, 0.0, 0.0, work.move)
                continue
            if done:
                break
            if on_face:
                was_cut = outcome == CUT
                along = learn_on_face(task, point, buffers, work, memory, was_cut)
            else:
                step = learn_spectral(task, buffers, work, iteration % 2 == 0, step)
                history[iteration % _MEMORY] = value
            n_turn, n_cuts, scale = n_turn - 1, 0, 1.0
            if n_turn == 0 and not on_face:
                on_face, n_turn = True, _FACE_TURN
                along = fill_face(task, point, work)
            if on_face and (n_turn == 0 or p * along <= _ON_FACE_SHARE * worst):
                on_face, n_turn = False, _TURN
                fill(history, value)
            if on_face:
                length = min(step, 0.1 / along)
                fill_direction(task, point, work, memory, length)
        elif on_face:
            scale, n_cuts = 0.3 * scale, n_cuts + 1
            if n_cuts > _MAX_CUTS:
                on_face, n_turn = False, _TURN
                fill(history, value)
        else:
            step *= 0.25
            if step < SHORTEST_STEP or stop[0] != 0:
                break
        if on_face:
            outcome = propose_on_face(task, point, scale, work)
            if outcome == UNSETTLED:
                on_face, n_turn = False, _TURN
                fill(history, value)
        if on_face:
            bar = value + _DECREASE * dot(work.move, work.face)
        else:
            propose_spectral(task, point, step, work)
            fall = dot(work.move, work.move) / (2.0 * step)
            bar = (value if monotone else largest(history)) - _DECREASE * fall
        bar += _ROUNDING * abs(value)
    return Progress(first, value, worst, iteration, n_evaluations)
