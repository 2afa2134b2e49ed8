"""Descent on rows that come in parts: few passes over all, many over some of them.

A pass over all rows is dear: they are read from files, or on other machines. Some rows
are always at hand, those that the search has looked at. With f the fit on all rows and
s that on some, a pass at a tree x tells f(x) and its gradient; the next tree minimises

    s(z) + <grad f(x) - grad s(x), z - x> + hold / 2 ||z - x||^2 + penalty(z),

a problem on the rows at hand, tilted such that its gradient at x is that of all rows
(distributed approximate Newton; Shamir, Srebro and Zhang, 2014). Curvature comes from
some rows, the slope from all: the residual falls by a factor per pass that is as small
as two samples of that size are alike. Near the end, where trees have the same zeros,
the last few are combined such that their steps cancel (Anderson, 1965). A tree that is
no better is not taken; a larger ``hold`` then keeps the next one closer, down to a
plain proximal step. Should that take too long, the steps of ``descent.py`` go on from
there, a pass each: they end at a stationary tree of the fit on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.parts import OutOfTimeError, Parts, Sums
from sorct.data.samples import Samples
from sorct.problem.evaluation import GRADIENT, NO_ROWS, Evaluator, never
from sorct.problem.problem import Problem
from sorct.problem.subproblem import Point, Subproblem
from sorct.problem.thresholds import clip_thresholds
from sorct.solvers.descent import Descent, Progress, descend, leaf_masses
from sorct.tree.params import Params

#: Passes of one descent, at most.
MOST_PASSES = 200
# Passes after which the residual must be so much smaller than as many passes before, or
# too few of the rows at hand come near the cuts to tell of all.
_LOOK_BACK, _PROGRESS = 10, 0.1
# Iterations on the rows at hand between two passes, at most; how far below the residual
# of the moment they lead.
_MOST_STEPS, _DEEPER = 1000, 1e-3
# Work of all these iterations, at most, in rows x columns x cuts: very wide tables take
# a minute or so for it.
_MOST_WORK = 4e10
# How fast ``hold`` grows and shrinks, and its share of the curvature to begin with.
_HOLD_MORE, _HOLD_LESS, _FIRST_HOLD = 8.0, 0.125, 0.1
# Share of what a step promised that makes it a good one: ``hold`` may shrink.
_GOOD = 0.5
# Trees that are combined, at most.
_MEMORY = 8
# Relative rounding error of a value.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Evaluation:
    """The question of a pass: masses and gradients at a tree.

    ``marked`` are the codes whose mean rewards have floors.
    """

    sub: Subproblem
    point: Point
    marked: FloatArray

    @classmethod
    def of(cls, sub: Subproblem, point: Point) -> Evaluation:
        """Ask about a tree; floors and tilts are added when all rows were seen."""
        floors, n_codes = sub.floors, sub.floors.floor.size
        free = floors._replace(floor=np.zeros(n_codes), multiplier=np.zeros(n_codes))
        plain = sub._replace(floors=free, tilt=np.zeros((0, 0)), hold=0.0)
        return cls(plain, point, (floors.floor > 0.0).astype(np.float64))

    def __call__(self, samples: Samples) -> Sums:
        """Sums over some rows."""
        evaluator = Evaluator(samples, self.sub, self.point, self.point, never())
        evaluator.renewed[:] = self.marked
        evaluator.ask(GRADIENT)
        buffers, has = evaluator.buffers, self.marked > 0.0
        return Sums(
            mass=buffers.mass,
            drawn=buffers.drawn,
            loss=buffers.loss,
            gradient=buffers.gradient,
            second_gradient=buffers.second_gradient[has],
        )


class Look(NamedTuple):
    """What sums over all rows say of a tree."""

    value: float
    residual: float
    slope: FloatArray
    label: IntArray


def _fill(sub: Subproblem, sums: Sums, evaluator: Evaluator) -> None:
    """Put sums where an evaluation would have left them."""
    buffers, has = evaluator.buffers, sub.floors.floor > 0.0
    evaluator.renewed[:] = has
    buffers.mass[:], buffers.drawn[:] = sums["mass"], sums["drawn"]
    buffers.loss[:], buffers.gradient[:] = sums["loss"], sums["gradient"]
    buffers.second_gradient[has] = sums["second_gradient"]
    # What values at the mean sample do to slopes is in the sums; it is added again
    # when the buffers are evaluated.
    slopes = buffers.gradient[:-1, buffers.drawn.shape[1] - 1 :]
    if slopes.size:
        slopes -= sub.unit * sub.centre[:, np.newaxis] * buffers.drawn[0]


def look(sub: Subproblem, point: Point, sums: Sums, *, relabel: bool) -> Look:
    """Value, residual and gradient of a tree, and its best labels if asked for."""
    seen = Point(point.cuts.copy(), point.label.copy(), point.logit.copy())
    if not relabel:
        sub = sub._replace(tilt=np.zeros((2, point.cuts.size + point.logit.size)))
    descent = Descent(NO_ROWS, sub, seen, 0.0, 1, never())
    _fill(sub, sums, descent.evaluator)
    descent.step()
    buffers, progress = descent.evaluator.buffers, descent.progress
    slope = np.concatenate(
        [buffers.gradient.ravel(), buffers.logit_gradient[: len(seen.logit)].ravel()]
    )
    return Look(progress.objective, progress.residual, slope, seen.label)


class PartedEnd(NamedTuple):
    """Where a descent has ended, and the sums over all rows there."""

    progress: Progress
    sums: Sums


@dataclass
class _PartedDescent:
    """A descent under way; ``point`` is the best tree so far."""

    parts: Parts
    rows: Samples
    sub: Subproblem
    sub_of_rows: Subproblem
    point: Point
    tol: float
    stop: IntArray
    best: Look
    sums: Sums = field(default_factory=Sums)
    hold: float = 0.0
    steps: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    combined: bool = False
    promised: float = 0.0
    failed: float = 0.0
    residuals: list[float] = field(default_factory=list)
    first: float = np.nan
    n_passes: int = 0
    n_steps: int = 0

    def run(self, most: int) -> None:
        """Pass over all rows until the tree is stationary."""
        trial = _copy(self.point)
        while self.n_passes < most and self._goes_well() and self._steps_left > 0:
            sums = self.parts.total(Evaluation.of(self.sub, trial), self.stop)
            self.n_passes += 1
            found = look(self.sub, trial, sums, relabel=False)
            if self._is_better(found):
                self._take(trial, found, sums)
                label = self._best_labels()
                if not np.array_equal(label, self.point.label):
                    # The same cuts under other labels, with a gradient of their own.
                    self.steps.clear()
                    trial = _copy(self.point)
                    trial.label[:] = label
                    continue
                if self.best.residual <= self.tol:
                    return
            else:
                self._refuse(trial, found)
            self.residuals.append(self.best.residual)
            trial = self._next()

    def _goes_well(self) -> bool:
        """Whether the residual falls fast enough."""
        if len(self.residuals) <= 2 * _LOOK_BACK:
            return True
        return self.residuals[-1] <= _PROGRESS * self.residuals[-_LOOK_BACK]

    def step(self, most: int) -> None:
        """Go on by the steps of a descent in memory, each evaluated by a pass."""
        sub, point = self.sub, self.point
        descent = Descent(NO_ROWS, sub, point, self.tol, most, self.stop)
        due = True
        while due and self.n_passes < most:
            asked = Evaluation.of(sub, _copy(descent.trial))
            sums = self.parts.total(asked, self.stop)
            self.n_passes += 1
            _fill(sub, sums, descent.evaluator)
            due = descent.step()
            if np.array_equal(asked.point.cuts, point.cuts):
                self.sums = sums
                found = descent.progress
                self.best = self.best._replace(
                    value=found.objective, residual=found.residual
                )

    def _is_better(self, found: Look) -> bool:
        if self.n_passes == 1:
            return True
        slack = _ROUNDING * abs(self.best.value)
        if found.value < self.best.value - slack:
            return True
        level = found.value <= self.best.value + 10.0 * slack
        return level and found.residual < self.best.residual

    def _take(self, trial: Point, found: Look, sums: Sums) -> None:
        if self.n_passes == 1:
            self.first = found.value
        elif self._kept_promise(found.value):
            less = max(_HOLD_LESS * self.hold, 2.0 * self.failed)
            self.hold = min(less, self.hold) if less > 1e-12 else 0.0
            self.failed *= _HOLD_LESS
        self.point.cuts[:], self.point.logit[:] = trial.cuts, trial.logit
        self.point.label[:] = trial.label
        self.best, self.sums = found, sums

    def _kept_promise(self, value: float) -> bool:
        """Whether the fit on all rows fell about as much as that on some did."""
        rounding = 1e2 * _ROUNDING * abs(value)
        return self.best.value - value >= _GOOD * self.promised - rounding

    def _best_labels(self) -> IntArray:
        """Labels of the leaves that suit all rows best at the cuts of the moment."""
        return look(self.sub, self.point, self.sums, relabel=True).label

    def _refuse(self, trial: Point, found: Look) -> None:
        """Stay closer to the best tree next time, or combine no trees."""
        self.steps.clear()
        if self.combined:
            return
        self.failed = max(self.hold, self.failed)
        move = _flat(trial) - _flat(self.point)
        change = found.slope - self.best.slope
        size = float(move @ move)
        curved = float(np.sqrt(change @ change / size)) if size > 0.0 else 1.0
        self.hold = max(_HOLD_MORE * self.hold, _FIRST_HOLD * curved, 1e-12)

    def _next(self) -> Point:
        """Best tree of the tilted problem on the rows at hand."""
        here = self.point
        plain = self.sub_of_rows
        sums = Evaluation.of(plain, here)(self.rows)
        own = look(plain, here, sums, relabel=False)
        tilt = np.stack([self.best.slope - own.slope, _flat(here)])
        tilted = plain._replace(tilt=tilt, hold=self.hold)
        trial = _copy(here)
        tol = max(_DEEPER * self.best.residual, 0.03 * self.tol)
        steps = min(_MOST_STEPS, self._steps_left)
        found = descend(self.rows, tilted, trial, tol, steps, self.stop)
        self.n_steps += found.n_iterations
        self.promised = own.value - found.objective
        self.steps.append((_flat(here), _flat(trial)))
        del self.steps[:-_MEMORY]
        mixed = None if self._in_order else _combined(self.steps)
        self.combined = mixed is not None
        return trial if mixed is None else self._placed(mixed)

    @property
    def _steps_left(self) -> int:
        """Iterations on the rows at hand that there may still be."""
        most = _MOST_WORK / (self.rows.weight.size * self.point.cuts.size)
        return max(int(most), _MOST_STEPS // 10) - self.n_steps

    @property
    def _in_order(self) -> bool:
        """Whether values of leaves must be in order, which combinations are not."""
        return bool(self.sub.shape.size and self.sub.shape[6])

    def _placed(self, flat: FloatArray) -> Point:
        """A point from its flat form, within its bounds."""
        n_cuts, shape = self.point.cuts.size, self.point.cuts.shape
        cuts = flat[:n_cuts].reshape(shape).copy()
        n_groups = self.sub.penalty.n_groups
        cuts[:-1] = self.sub.penalty.clip(cuts[:-1])
        cuts[-1] = n_groups * clip_thresholds(cuts[-1] / n_groups)
        logit = flat[n_cuts:].reshape(self.point.logit.shape).copy()
        if self.sub.shape.size:
            # Values of leaves lie between the least and the largest response.
            logit = np.clip(logit, *self.sub.shape[4:6])
        return Point(cuts, self.point.label.copy(), logit)


def _combined(steps: list[tuple[FloatArray, FloatArray]]) -> FloatArray | None:
    """Combination of the trees that steps led to whose own step is least.

    Only trees with the same zeros are combined, so that zeros stay; None if there is
    but one such.
    """
    zero = steps[-1][1] == 0.0
    alike = [step for step in steps if np.array_equal(step[1] == 0.0, zero)]
    if len(alike) < 2:
        return None
    steps[:] = alike
    here, there = (np.array(side) for side in zip(*alike, strict=True))
    move = there - here
    # Weights that sum to 1: those of all but the last are free.
    change = (move[:-1] - move[-1]).T
    weight = np.linalg.lstsq(change, -move[-1], rcond=1e-10)[0]
    return np.asarray(there[-1] + weight @ (there[:-1] - there[-1]))


def descend_in_parts(
    problem: Problem,
    sub: Subproblem,
    point: Point,
    tol: float,
    max_iter: int,
    stop: IntArray,
) -> PartedEnd:
    """Move the point, in place, until its residual on all rows is at most tol.

    Where time is up before a first pass has ended, an ``OutOfTimeError`` says so.
    """
    data, parts = problem.data, cast(Parts, problem.data.samples)
    near = replace(problem, data=data.subsampled)
    floors = sub.floors
    sub_of_rows = near.subproblem(floors.multiplier, floors.stiffness)
    if problem.has_slopes:
        # Values of linear leaves are those at the mean of all rows.
        sub_of_rows = sub_of_rows._replace(centre=sub.centre)
    descent = _PartedDescent(
        parts,
        data.subsampled.samples,
        sub,
        sub_of_rows,
        point,
        tol,
        stop,
        Look(np.inf, np.inf, np.zeros(0), point.label),
    )
    try:
        descent.run(min(max_iter, MOST_PASSES))
        if descent.best.residual > tol:
            descent.step(min(max_iter, MOST_PASSES))
    except OutOfTimeError:
        if descent.n_passes == 0:
            raise
    best = descent.best
    progress = Progress(
        descent.first, best.value, best.residual, descent.n_passes, descent.n_passes
    )
    return PartedEnd(progress, descent.sums)


def all_masses(problem: Problem, params: Params) -> FloatArray:
    """Mass of every code in every leaf, also of rows that come in parts."""
    rows = problem.data.all_rows
    if isinstance(rows, Samples):
        return leaf_masses(problem, params)
    question = Evaluation.of(problem.subproblem(), problem.point(params))
    masses: FloatArray = rows.total(question)["mass"]
    return masses


def _flat(point: Point) -> FloatArray:
    return np.concatenate([point.cuts.ravel(), point.logit.ravel()])


def _copy(point: Point) -> Point:
    return Point(point.cuts.copy(), point.label.copy(), point.logit.copy())
