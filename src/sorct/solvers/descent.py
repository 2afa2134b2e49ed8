"""Descent: one start to one stationary tree, leaves included.

Two kinds of steps take turns in one loop. Spectral proximal steps see the whole problem
and find the support; quasi-Newton steps finish on it. Leaves are renewed as the cuts
move. The loop is compiled, holds no lock and evaluates the tree in one place; it is the
only function that Python calls, because every such entry is compiled with all that it
calls.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import Samples
from sorct.problem.compilation import (
    call_apart,
    compiled,
    compiled_here,
    forget_cache,
)
from sorct.problem.datafit import LEARNED
from sorct.problem.kernels import Buffers, make_buffers
from sorct.problem.labels import Labelling, make_labelling
from sorct.problem.problem import Problem
from sorct.problem.subproblem import (
    Point,
    Subproblem,
    evaluate,
    renew_leaves,
    residual,
)
from sorct.solvers.quasi_newton import (
    CUT,
    UNSETTLED,
    Memory,
    fill_direction,
    fill_face,
    forget,
    learn_on_face,
    make_memory,
    propose_on_face,
)
from sorct.solvers.spectral import SHORTEST_STEP, learn_spectral, propose_spectral
from sorct.solvers.work import (
    FACE,
    MOVE,
    Work,
    copy_logits,
    copy_point,
    dot,
    fill,
    largest,
    make_work,
)
from sorct.tree.params import Params

# Spectral steps before the first turn on a face and between later ones, and the
# longest turn on a face.
_FIRST_TURN, _TURN, _FACE_TURN = 20, 10, 200
# A spectral step is compared with so many values before it; relative rounding error of
# a value.
_MEMORY, _ROUNDING = 8, 1e-15
_DECREASE = 1e-4
# A turn on a face ends after this many cuts of one step, or when less than this share
# of the residual lies on the face.
_MAX_CUTS, _ON_FACE_SHARE = 10, 0.3
_RENEW_EVERY = 10
# Above any objective.
_ANY = 1e300
# What to do after a point was accepted: evaluate the same cuts again because the leaves
# have changed, end, or take another step.
_AGAIN, _END, _STEP = 0, 1, 2

# State of a descent: a record, so that compiled functions can change it.
# - What was asked for: tol, max_iter, monotone.
# - The point: its value and residual, and the first value of all.
# - The trial: it is accepted if its value is at most bar.
# - Steps: step, the length of a spectral one; scale of a quasi-Newton one and along,
#   the size of the gradient on the face; n_cuts, how often this one was shortened;
#   outcome, what became of the move on the face (see quasi_newton.py).
# - Turns: whether it is one on a face (on_face), and the steps left of it (n_turn).
# - due: whether the trial has to be evaluated by the caller, as rows come in parts.
_STATE = np.dtype(
    [(name, np.float64) for name in ("tol", "first", "value", "residual", "bar")]
    + [(name, np.float64) for name in ("step", "scale", "along")]
    + [(name, np.int64) for name in ("max_iter", "monotone", "iteration")]
    + [(name, np.int64) for name in ("n_evaluations", "n_turn", "n_cuts")]
    + [(name, np.int64) for name in ("on_face", "outcome", "due")]
)
State: TypeAlias = Any

NO_ROWS = Samples(
    np.zeros(0),
    np.zeros(0),
    np.zeros(1, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    np.zeros(0),
)


class Progress(NamedTuple):
    """Where a descent began, under its best leaves, and where it ended."""

    first: float
    objective: float
    residual: float
    n_iterations: int
    n_evaluations: int


class Scratch(NamedTuple):
    """Memory of a descent, laid out by Python; all but the trial starts as zeros."""

    work: Work
    memory: Memory
    buffers: Buffers
    labelling: Labelling
    renewed: FloatArray
    history: FloatArray


def make_scratch(sub: Subproblem, point: Point) -> Scratch:
    """Allocate it here: every allocation in compiled code takes long to compile."""
    p, n_codes, n_branches = (
        sub.centre.size,
        sub.floors.floor.size,
        point.label.size - 1,
    )
    n_slopes = point.cuts.shape[1] - n_branches
    return Scratch(
        make_work(point),
        make_memory(point.cuts.size + point.logit.size),
        make_buffers(p, n_branches, n_codes, n_slopes),
        make_labelling(sub.floors.reward.shape[1], point.label.size, n_codes),
        np.zeros(n_codes),
        np.zeros(_MEMORY),
    )


def make_small_scratch(sub: Subproblem, point: Point) -> Scratch:
    """Allocate what a single evaluation needs."""
    p, n_branches, n_codes = (
        sub.centre.size,
        point.label.size - 1,
        sub.floors.floor.size,
    )
    n_slopes = point.cuts.shape[1] - n_branches
    trial = Point(point.cuts.copy(), point.label.copy(), point.logit.copy())
    centred, none = np.zeros(n_branches, dtype=np.bool_), np.zeros((0, 0))
    return Scratch(
        Work(trial, centred, none, np.zeros((5, 0)), np.zeros(0)),
        make_memory(0),
        make_buffers(p, n_branches, n_codes, n_slopes),
        make_labelling(sub.floors.reward.shape[1], point.label.size, n_codes),
        np.zeros(n_codes),
        np.zeros(_MEMORY),
    )


def _make_state(tol: float, max_iter: int, monotone: bool) -> State:
    state = np.zeros(1, _STATE)[0]
    state["tol"], state["max_iter"], state["monotone"] = tol, max_iter, monotone
    state["bar"], state["scale"], state["n_turn"] = _ANY, 1.0, _FIRST_TURN
    return state


def never() -> IntArray:
    """Return a ``stop`` that nobody sets, see ``descend``."""
    return np.zeros(1, dtype=np.int64)


def descend(
    samples: Samples,
    sub: Subproblem,
    point: Point,
    tol: float,
    max_iter: int,
    stop: IntArray,
    *,
    monotone: bool = False,
    scratch: Scratch | None = None,
) -> Progress:
    """Move the point, in place, until its residual is at most tol.

    Parameters
    ----------
    samples : Samples
    sub : Subproblem
    point : Point
        Start with valid labels; overwritten by the result.
    tol : float
    max_iter : int
        At least 1.
    stop : array of one integer
        Another thread sets it to end the descent after the evaluation of the moment.
    monotone : bool
        Whether no step may lead higher; by default a few may, which is quicker.
    scratch : Scratch or None
        Memory for the point, never used before.
    """
    state = _make_state(tol, max_iter, monotone)
    scratch = make_scratch(sub, point) if scratch is None else scratch
    call_apart(_descend, samples, sub, point, stop, state, scratch)
    return _progress(state)


def _progress(state: State) -> Progress:
    return Progress(
        float(state["first"]),
        float(state["value"]),
        float(state["residual"]),
        int(state["iteration"]),
        int(state["n_evaluations"]),
    )


def forget_compiled(why: Exception) -> None:
    """Do without the compiled code on disk, which cannot be used."""
    forget_cache(_descend, why)


def leaf_masses(problem: Problem, params: Params) -> FloatArray:
    """Mass of every code in every leaf, of shape (n_codes, n_leaves); sums to 1."""
    sub, point = problem.subproblem(), problem.point(params)
    return masses_at(problem.data.samples, sub, point, make_scratch(sub, point))


def gradient_at(problem: Problem, params: Params) -> FloatArray:
    """Gradient of the fit in the cuts of a tree, without penalties and floors."""
    point, sub = problem.point(params), problem.subproblem()
    scratch = make_scratch(sub, point)
    descend(problem.data.samples, sub, point, 0.0, 1, never(), scratch=scratch)
    return scratch.buffers.gradient


class Stepper:
    """A descent whose trials somebody else evaluates, step by step.

    ``scratch.work.trial`` is what is to be evaluated next; its sums go to
    ``scratch.buffers`` before a step.
    """

    def __init__(
        self, sub: Subproblem, point: Point, tol: float, max_iter: int, stop: IntArray
    ) -> None:
        self.scratch = make_scratch(sub, point)
        self._state = _make_state(tol, max_iter, False)
        self._arguments = NO_ROWS, sub, point, stop, self._state, self.scratch

    def step(self) -> bool:
        """Accept or refuse the trial; tell whether there is another."""
        call_apart(_descend, *self._arguments)
        return bool(self._state["due"])

    @property
    def progress(self) -> Progress:
        """Where the descent is."""
        return _progress(self._state)


def evaluate_once(
    samples: Samples, sub: Subproblem, point: Point, scratch: Scratch
) -> None:
    """Fill masses and gradients at a point, in memory never used before.

    ``scratch.renewed`` marks the codes whose mean rewards get gradients of their own.
    """
    call_apart(
        _descend, samples, sub, point, never(), _make_state(0.0, -1, False), scratch
    )


def masses_at(
    samples: Samples, sub: Subproblem, point: Point, scratch: Scratch
) -> FloatArray:
    """Masses at a point, in memory that may have been used: it holds the result."""
    scratch.work.trial.cuts[:] = point.cuts
    scratch.work.trial.logit[:] = point.logit
    state = _make_state(0.0, 0, False)
    call_apart(_descend, samples, sub, point, never(), state, scratch)
    return scratch.buffers.mass


@compiled
def _descend(
    samples: Samples,
    sub: Subproblem,
    point: Point,
    stop: IntArray,
    state: State,
    scratch: Scratch,
) -> None:
    """Evaluate, accept or shorten, propose.

    With max_iter 0 only fill the masses, with -1 also the gradient. Without rows, the
    buffers hold what an evaluation of the trial would have filled; then this is one
    step, and whoever calls it evaluates the next trial.
    """
    state.due = 0
    while state.due == 0:
        with_gradient = state.max_iter != 0
        trial, renewed = scratch.work.trial, scratch.renewed
        value = evaluate(samples, sub, trial, renewed, with_gradient, scratch.buffers)
        state.n_evaluations += 1
        if state.max_iter <= 0:
            state.value = value
            break
        if value <= state.bar:
            wish = _accept(sub, point, value, stop, state, scratch)
            if wish == _END:
                break
            if wish == _STEP:
                _learn(sub, point, state, scratch)
                _take_turns(sub, point, state, scratch)
                _propose(sub, point, state, scratch)
        elif _shorten(stop, state, scratch.history):
            _propose(sub, point, state, scratch)
        else:
            break
        state.due = 1 if samples.weight.size == 0 else 0


@compiled_here
def _accept(
    sub: Subproblem,
    point: Point,
    value: float,
    stop: IntArray,
    state: State,
    scratch: Scratch,
) -> int:
    """Make the trial the point; return what to do next."""
    copy_point(scratch.work.trial, point)
    state.value, state.iteration = value, state.iteration + 1
    if state.bar == _ANY:
        fill(scratch.history, value)
        state.first = value if state.iteration <= 2 else state.first
    buffers = scratch.buffers
    state.residual = residual(sub, point, buffers, scratch.work.scratch)
    end = state.residual <= state.tol or state.iteration >= state.max_iter
    end = end or stop[0] != 0
    due = end or state.iteration % _RENEW_EVERY == 1
    if sub.rule == LEARNED:
        # Leaves move with the cuts and are renewed only to catch up.
        due = not end and due and not state.on_face
    if sub.tilt.size > 0:
        due = False
    if due and renew_leaves(
        sub, point, scratch.renewed, buffers, scratch.labelling, stop
    ):
        # The same cuts come next, with the new leaves; any value is accepted.
        copy_logits(point, scratch.work.trial)
        state.on_face, state.n_turn, state.bar = 0, _TURN, _ANY
        forget(scratch.memory)
        fill(scratch.work.vector[MOVE], 0.0)
        return _AGAIN
    return _END if end else _STEP


@compiled_here
def _learn(sub: Subproblem, point: Point, state: State, scratch: Scratch) -> None:
    """Learn from the accepted step how long, or where to, the next one should be."""
    buffers, work = scratch.buffers, scratch.work
    if state.on_face:
        was_cut = state.outcome == CUT
        state.along = learn_on_face(sub, point, buffers, work, scratch.memory, was_cut)
    else:
        short = state.iteration % 2 == 0
        state.step = learn_spectral(sub, buffers, work, short, state.step)
        scratch.history[state.iteration % _MEMORY] = state.value
    state.n_turn, state.n_cuts, state.scale = state.n_turn - 1, 0, 1.0


@compiled_here
def _take_turns(sub: Subproblem, point: Point, state: State, scratch: Scratch) -> None:
    """Begin or end a turn on a face; on one, find the direction."""
    if state.n_turn == 0 and not state.on_face:
        state.on_face, state.n_turn = 1, _FACE_TURN
        state.along = fill_face(sub, point, scratch.work)
    enough = sub.penalty.linf.size * state.along <= _ON_FACE_SHARE * state.residual
    if state.on_face and (state.n_turn == 0 or enough):
        _leave_face(state, scratch.history)
    if state.on_face:
        length = min(state.step, 0.1 / state.along)
        fill_direction(sub, point, scratch.work, scratch.memory, length)


@compiled_here
def _leave_face(state: State, history: FloatArray) -> None:
    state.on_face, state.n_turn = 0, _TURN
    fill(history, state.value)


@compiled_here
def _shorten(stop: IntArray, state: State, history: FloatArray) -> bool:
    """Take a shorter step after a trial that was no better; False if there is none."""
    if state.on_face:
        state.scale, state.n_cuts = 0.3 * state.scale, state.n_cuts + 1
        if state.n_cuts > _MAX_CUTS:
            _leave_face(state, history)
        return True
    state.step *= 0.25
    return bool(state.step >= SHORTEST_STEP and stop[0] == 0)


@compiled_here
def _propose(sub: Subproblem, point: Point, state: State, scratch: Scratch) -> None:
    """Fill the trial, and set the bar below which it will be accepted."""
    work, history = scratch.work, scratch.history
    if state.on_face:
        state.outcome = propose_on_face(sub, point, state.scale, work)
        if state.outcome == UNSETTLED:
            _leave_face(state, history)
    move = work.vector[MOVE]
    if state.on_face:
        state.bar = state.value + _DECREASE * dot(move, work.vector[FACE])
    else:
        propose_spectral(sub, point, state.step, work)
        fall = dot(move, move) / (2.0 * state.step)
        highest = state.value if state.monotone else largest(history)
        state.bar = highest - _DECREASE * fall
    state.bar += _ROUNDING * abs(state.value)
