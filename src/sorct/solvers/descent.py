"""Descent: one start to one stationary tree, leaves included.

Two kinds of steps take turns in one loop. Spectral proximal steps see the whole problem
and find the support; quasi-Newton steps finish on it. Leaves are renewed as the cuts
move. The loop is compiled, holds no lock and asks for values in one place; nothing in
it knows what a tree predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import Samples
from sorct.problem.by_address import call
from sorct.problem.compilation import (
    call_apart,
    compiled,
    compiled_here,
    forget_cache,
    smaller,
    unchecked_entry,
)
from sorct.problem.datafit import LEARNED
from sorct.problem.evaluation import (
    COMPILED,
    FORGET,
    GRADIENT,
    RENEW,
    VALUE,
    Evaluator,
    compile_store,
    evaluation_address,
    never,
    smallest,
)
from sorct.problem.penalty import count_groups
from sorct.problem.problem import Problem
from sorct.problem.subproblem import Gradient, Point, Simple, Subproblem, residual
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
    clear_work,
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
# - What is told of it (``Progress``): the value of the point now and at first, and its
#   residual.
# - What was asked for: tol, max_iter, monotone.
# - The trial: it is accepted if its value is at most bar.
# - Steps: step, the length of a spectral one; scale of a quasi-Newton one and along,
#   the size of the gradient on the face; n_cuts, how often this one was shortened;
#   outcome, what became of the move on the face (see quasi_newton.py).
# - Turns: whether it is one on a face (on_face), and the steps left of it (n_turn).
# - Leaves: whether they learn distributions (learned), or are not renewed (fixed).
# - Rows that come in parts (in_parts): whether the trial has to be evaluated by the
#   caller before the next step (due).
# - Whether the memory was used by another descent before (used).
# - Addresses of the compiled evaluation and of its arguments.
_STATE = np.dtype(
    [(name, np.float64) for name in ("first", "value", "residual")]
    + [(name, np.int64) for name in ("iteration", "n_evaluations")]
    + [(name, np.float64) for name in ("tol", "bar", "step", "scale", "along")]
    + [(name, np.int64) for name in ("max_iter", "monotone", "n_turn", "n_cuts")]
    + [(name, np.int64) for name in ("on_face", "outcome", "learned", "fixed")]
    + [(name, np.int64) for name in ("in_parts", "due", "used")]
    + [(name, np.int64) for name in ("evaluation", "arguments")]
)
State: TypeAlias = Any
# A fresh one as plain words, which NumPy copies sooner than records.
_FRESH: IntArray = np.zeros(_STATE.itemsize // 8, dtype=np.int64)
_FRESH.view(_STATE)["bar"], _FRESH.view(_STATE)["scale"] = _ANY, 1.0
_FRESH.view(_STATE)["n_turn"] = _FIRST_TURN
# Memory of larger trees is not kept for the next descent: it takes room, and laying it
# out is no work beside their steps.
_LARGE = 1 << 14


class Progress(NamedTuple):
    """Where a descent began, under its best leaves, and where it ended."""

    first: float
    objective: float
    residual: float
    n_iterations: int
    n_evaluations: int


class Scratch(NamedTuple):
    """Memory of a descent, laid out by Python; all but the trial starts as zeros.

    Every allocation in compiled code would take long to compile.
    """

    work: Work
    memory: Memory
    history: FloatArray


class Descent:
    """One descent of a point, in place, and what it asks for values.

    Parameters
    ----------
    samples : Samples
        ``NO_ROWS`` where rows come in parts: then somebody else evaluates ``trial`` and
        puts sums over rows into ``evaluator.buffers`` before every ``step``.
    sub : Subproblem
    point : Point
        Start with valid labels; overwritten by the result.
    tol : float
        The descent ends where the residual is at most that.
    max_iter : int
        At least 1.
    stop : array of one integer
        Another thread sets it to end the descent after the evaluation of the moment.
    monotone : bool
        Whether no step may lead higher; by default a few may, which is quicker.
    """

    def __init__(
        self,
        samples: Samples,
        sub: Subproblem,
        point: Point,
        tol: float,
        max_iter: int,
        stop: IntArray,
        *,
        monotone: bool = False,
    ) -> None:
        memory = make_memory(point.cuts.size + point.logit.size)
        self._scratch = Scratch(make_work(point), memory, np.zeros(_MEMORY))
        self.point, self._samples, self._sub, self._stop = point, samples, sub, stop
        self._until = tol, max_iter, monotone
        self.trial = self._scratch.work.trial
        self.evaluator = Evaluator(samples, sub, point, self.trial, stop)
        self._words = np.empty_like(_FRESH)
        # A view of the words.
        self._state = self._words.view(_STATE)[0]
        self._clear_state()

    def _clear_state(self) -> None:
        self._words[:], state, sub = _FRESH, self._state, self._sub
        state["tol"], state["max_iter"], state["monotone"] = self._until
        state["learned"], state["fixed"] = sub.rule == LEARNED, sub.tilt.size > 0
        state["in_parts"] = self._samples.weight.size == 0

    @classmethod
    def begun(
        cls,
        problem: Problem,
        sub: Subproblem,
        point: Point,
        tol: float,
        max_iter: int,
        stop: IntArray,
        *,
        monotone: bool = False,
    ) -> Descent:
        """Descent from a point of a problem, in memory that is idle if there is some.

        Laying memory out takes as long as a few steps. The result is ``descent.point``;
        whoever has read it should ``leave`` the memory to the next.
        """
        descent = problem.idle.taken()
        if not isinstance(descent, cls) or not descent._fits(sub, point):
            samples = problem.data.samples
            return cls(samples, sub, point, tol, max_iter, stop, monotone=monotone)
        for own, given in zip(descent.point, point, strict=True):
            own[:] = given
        descent._until, descent._stop = (tol, max_iter, monotone), stop
        descent.again(sub)
        return descent

    def _fits(self, sub: Subproblem, point: Point) -> bool:
        """Whether the memory has room for just such a tree."""
        return _shapes(sub, point) == _shapes(self._sub, self.point)

    def leave(self, problem: Problem) -> None:
        """Leave the memory to the next descent: nobody may use this one any more."""
        if self.point.cuts.size <= _LARGE:
            problem.idle.append(self)

    def again(self, sub: Subproblem) -> None:
        """Begin anew at the point, for another subproblem of the same problem."""
        self._sub = sub
        self.evaluator.again(sub, self._stop)
        self._clear_state()
        self._state["used"] = True

    def step(self) -> bool:
        """Descend to the end; or one step of rows in parts, True if more follow."""
        call_apart(self._step)
        return bool(self._state["due"])

    def _step(self) -> None:
        self._state["evaluation"] = evaluation_address()
        # This also checks the types of all arrays that callers hand in.
        self._state["arguments"] = self.evaluator.stored()
        _loop()(*self._arguments())

    def _arguments(self) -> tuple[Any, ...]:
        """What the compiled loop is given."""
        buffers = self.evaluator.buffers
        gradient = Gradient(buffers.gradient, buffers.logit_gradient)
        given = self._sub.simple, self.point, gradient, self._stop
        return *given, self._state, self._scratch

    def masses(self, problem: Problem, params: Params) -> FloatArray:
        """Masses of the tree that the descent has ended at."""
        problem.fill_point(params, self.trial)
        self.evaluator.ask(VALUE)
        return self.evaluator.buffers.mass.copy()

    @property
    def progress(self) -> Progress:
        """Where the descent is."""
        # The first fields of the state, in the same order.
        return Progress._make(self._state.item()[: len(Progress._fields)])


def _shapes(sub: Subproblem, point: Point) -> tuple[tuple[int, ...], ...]:
    cuts, label, logit = point
    return cuts.shape, label.shape, logit.shape, sub.floors.reward.shape


def descend(
    samples: Samples,
    sub: Subproblem,
    point: Point,
    tol: float,
    max_iter: int,
    stop: IntArray,
) -> Progress:
    """Move the point, in place, until its residual is at most tol: see ``Descent``."""
    descent = Descent(samples, sub, point, tol, max_iter, stop)
    descent.step()
    return descent.progress


@cache
def _loop() -> Callable[..., None]:
    """Return the compiled loop; compile or load it first."""
    problem, params = smallest()
    point, sub = problem.point(params), problem.subproblem()
    descent = Descent(problem.data.samples, sub, point, 0.0, 1, never())
    return unchecked_entry(_descend, *descent._arguments())


def compile_descent() -> None:
    """Compile the loop and what hands it a problem, or load both, without a run."""
    compile_store()
    _loop()


def forget_compiled(why: Exception) -> None:
    """Do without the compiled code on disk, which cannot be used."""
    forget_cache((_descend, *COMPILED), why)


def leaf_masses(problem: Problem, params: Params) -> FloatArray:
    """Mass of every code in every leaf, of shape (n_codes, n_leaves); sums to 1."""
    sub, point = problem.subproblem(), problem.point(params)
    evaluator = Evaluator(problem.data.samples, sub, point, point, never())
    evaluator.ask(VALUE)
    return evaluator.buffers.mass


def gradient_at(problem: Problem, params: Params) -> FloatArray:
    """Gradient of the fit in the cuts of a tree, without penalties and floors."""
    point, sub = problem.point(params), problem.subproblem()
    descent = Descent(problem.data.samples, sub, point, 0.0, 1, never())
    descent.step()
    return descent.evaluator.buffers.gradient


@compiled
def _descend(
    simple: Simple,
    point: Point,
    gradient: Gradient,
    stop: IntArray,
    state: State,
    scratch: Scratch,
) -> None:
    """The loop: evaluate the trial, accept it or shorten the step, propose the next.

    Where rows come in parts, one call makes one step; the caller has put the sums over
    all rows into the buffers that the evaluation reads.
    """
    state.due = 0
    if state.used:
        _clear(point, state, scratch)
    while state.due == 0:
        value, wish = call(state.evaluation, state.arguments, GRADIENT), _STEP
        state.n_evaluations += 1
        if value <= state.bar:
            wish = _accept(simple, point, gradient, value, stop, state, scratch)
            if wish == _END:
                break
            if wish == _STEP:
                _learn(simple, point, gradient, state, scratch)
                _take_turns(simple, point, state, scratch)
        elif not _shorten(stop, state, scratch.history):
            break
        if wish == _STEP:
            _propose(simple, point, state, scratch)
        state.due = state.in_parts


@compiled_here
def _clear(point: Point, state: State, scratch: Scratch) -> None:
    """Forget the descent that used the memory before."""
    clear_work(scratch.work, point)
    forget(scratch.memory)
    call(state.evaluation, state.arguments, FORGET)
    state.used = 0


@compiled_here
def _accept(
    simple: Simple,
    point: Point,
    gradient: Gradient,
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
    work = scratch.work
    state.residual = residual(simple, point, gradient, work.scratch, work.wanted)
    end = state.residual <= state.tol or state.iteration >= state.max_iter
    end = end or stop[0] != 0
    due = end or state.iteration % _RENEW_EVERY == 1
    if state.learned:
        # Leaves move with the cuts and are renewed only to catch up.
        due = not end and due and not state.on_face
    if state.fixed:
        due = False
    if due and call(state.evaluation, state.arguments, RENEW) > 0.0:
        # The same cuts come next, with the new leaves; any value is accepted.
        copy_logits(point, work.trial)
        state.on_face, state.n_turn, state.bar = 0, _TURN, _ANY
        forget(scratch.memory)
        fill(work.vector[MOVE], 0.0)
        return _AGAIN
    return _END if end else _STEP


@compiled_here
def _learn(
    simple: Simple, point: Point, gradient: Gradient, state: State, scratch: Scratch
) -> None:
    """Learn from the accepted step how long, or where to, the next one should be."""
    work, memory = scratch.work, scratch.memory
    if state.on_face:
        was_cut = state.outcome == CUT
        state.along = learn_on_face(simple, point, gradient, work, memory, was_cut)
    else:
        short = state.iteration % 2 == 0
        state.step = learn_spectral(simple, gradient, work, short, state.step)
        scratch.history[state.iteration % _MEMORY] = state.value
    state.n_turn, state.n_cuts, state.scale = state.n_turn - 1, 0, 1.0


@compiled_here
def _take_turns(simple: Simple, point: Point, state: State, scratch: Scratch) -> None:
    """Begin or end a turn on a face; on one, find the direction."""
    if state.n_turn == 0 and not state.on_face:
        state.on_face, state.n_turn = 1, _FACE_TURN
        state.along = fill_face(simple, point, scratch.work)
    in_residual = count_groups(simple.penalty) * state.along
    enough = in_residual <= _ON_FACE_SHARE * state.residual
    if state.on_face and (state.n_turn == 0 or enough):
        _leave_face(state, scratch.history)
    if state.on_face:
        length = smaller(state.step, 0.1 / state.along)
        fill_direction(simple, point, scratch.work, scratch.memory, length)


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
def _propose(simple: Simple, point: Point, state: State, scratch: Scratch) -> None:
    """Fill the trial, and set the bar below which it will be accepted."""
    work, history = scratch.work, scratch.history
    if state.on_face:
        state.outcome = propose_on_face(simple, point, state.scale, work)
        if state.outcome == UNSETTLED:
            _leave_face(state, history)
    move = work.vector[MOVE]
    if state.on_face:
        state.bar = state.value + _DECREASE * dot(move, work.vector[FACE])
    else:
        propose_spectral(simple, point, state.step, work)
        fall = dot(move, move) / (2.0 * state.step)
        highest = state.value if state.monotone else largest(history)
        state.bar = highest - _DECREASE * fall
    state.bar += _ROUNDING * abs(state.value)
