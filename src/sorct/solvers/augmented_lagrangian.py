"""Augmented Lagrangian: repeat the descent with new multipliers until floors are met.

One round minimises the augmented Lagrangian of ``problem/constraints.py``; then the
multipliers are renewed, and the stiffness grows where a floor is still missed by too
much. Without an active floor the first round is the only one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.parts import Sums
from sorct.data.samples import Samples
from sorct.problem.constraints import Constraint, recall_of
from sorct.problem.evaluation import never
from sorct.problem.problem import Problem
from sorct.problem.subproblem import Point
from sorct.solvers.descent import Descent, Progress
from sorct.solvers.in_parts import descend_in_parts
from sorct.solvers.solution import FEASIBLE, Solution, Status
from sorct.tree.params import Params

_STIFFER, _STIFFEST = 4.0, 1e6
_SETTLED, _SETTLED_OF_TOL = 1e-6, 0.05
# Rounds without progress after which the floors count as out of reach from here.
_IDLE = 4


@dataclass(frozen=True)
class _RoundEnd:
    """Where a round has led to."""

    params: Params
    mass: FloatArray
    loss: float
    attained: FloatArray

    @classmethod
    def at(cls, problem: Problem, descent: Descent) -> _RoundEnd:
        """The end of a round on rows that lie in memory."""
        params = problem.params(descent.point)
        mass = descent.masses(problem, params)
        loss = float(descent.evaluator.buffers.loss[0])
        return cls._of(problem, params, mass, loss)

    @classmethod
    def of_sums(cls, problem: Problem, point: Point, sums: Sums) -> _RoundEnd:
        """The end of a round on rows that come in parts, whose sums are known."""
        params = problem.params(point)
        return cls._of(problem, params, sums["mass"], float(sums["loss"][0]))

    @classmethod
    def _of(
        cls, problem: Problem, params: Params, mass: FloatArray, loss: float
    ) -> _RoundEnd:
        share, label = problem.data.share, params.leaf_class
        attained = problem.constraint.attained(mass, label, share)
        return cls(params, mass, loss, attained)


@dataclass
class _Rounds:
    """Multipliers and stiffness of the next round, and what those before have led to.

    ``last`` and ``best`` say how unsettled the floors were after the last round, and
    after the best so far; ``n_idle`` counts the rounds since that was much lowered.
    ``descent`` is that of the last round, whose memory the next one uses.
    """

    constraint: Constraint
    multiplier: FloatArray
    stiffness: float
    last: float = np.inf
    best: float = np.inf
    n_idle: int = 0
    first: float = np.nan
    n_iterations: int = 0
    n_evaluations: int = 0
    descent: Descent | None = None

    def count(self, progress: Progress) -> None:
        """Add what a round took."""
        if self.n_iterations == 0:
            self.first = progress.first
        self.n_iterations += progress.n_iterations
        self.n_evaluations += progress.n_evaluations

    def unsettled(self, attained: FloatArray) -> float:
        """Largest of missed floors and multipliers on floors that are more than met."""
        gap = self.constraint.floor - attained
        found = np.abs(np.maximum(gap, -self.multiplier / self.stiffness)).max()
        self.n_idle = 0 if found < 0.9 * self.best else self.n_idle + 1
        return float(found)

    def renewed(self, attained: FloatArray) -> FloatArray:
        """Multipliers that follow from what a round attained."""
        return self.constraint.renewed(self.multiplier, self.stiffness, attained)

    def renew(self, attained: FloatArray, unsettled: float) -> None:
        """Prepare the next round; floors that settle too slowly get stiffer."""
        self.multiplier = self.renewed(attained)
        if unsettled > self.last / _STIFFER:
            self.stiffness = min(_STIFFER * self.stiffness, _STIFFEST)
        self.last, self.best = unsettled, min(self.best, unsettled)

    def total(self, progress: Progress) -> Progress:
        """Where the last round has led, and what all took."""
        return progress._replace(
            first=self.first,
            n_iterations=self.n_iterations,
            n_evaluations=self.n_evaluations,
        )


@dataclass(frozen=True)
class AugmentedLagrangian:
    """Local solver of a problem from one start.

    Parameters
    ----------
    tol : float
        Bound on the stationarity residual.
    max_iter : int
        Bound on the iterations of one round.
    max_rounds : int
        Bound on the rounds; if it is small, floors may be missed by a little.
    monotone : bool
        Whether no step of a round may raise the objective.
    """

    tol: float = 1e-6
    max_iter: int = 2000
    max_rounds: int = 40
    monotone: bool = False

    def solve(
        self,
        problem: Problem,
        start: Params,
        *,
        multiplier: FloatArray | None = None,
        stiffness: float = 10.0,
        stop: IntArray | None = None,
        bar: float = np.inf,
    ) -> Solution:
        """Descend from the start; ``stop`` ends it early, see ``descend``.

        A round that ends with an objective above ``bar`` is the last: further rounds
        would only raise it, to meet the floors.
        """
        point = problem.point(start)
        stop = never() if stop is None else stop
        if multiplier is None:
            multiplier = np.zeros_like(problem.constraint.floor)
        rounds = _Rounds(problem.constraint, multiplier, stiffness)
        settled = max(_SETTLED, min(_SETTLED_OF_TOL * self.tol, 0.5 * FEASIBLE))
        for _ in range(self.max_rounds):
            progress, end = self._round(problem, rounds, point, stop)
            rounds.count(progress)
            unsettled = rounds.unsettled(end.attained)
            if unsettled <= settled or rounds.n_idle > _IDLE or stop[0] != 0:
                break
            if progress.objective > bar:
                break
            rounds.renew(end.attained, unsettled)
        if rounds.descent is not None:
            rounds.descent.leave(problem)
        total, multiplier = rounds.total(progress), rounds.renewed(end.attained)
        return self._solution(problem, end, total, multiplier, stopped=stop[0] != 0)

    def _round(
        self, problem: Problem, rounds: _Rounds, point: Point, stop: IntArray
    ) -> tuple[Progress, _RoundEnd]:
        """Descend once, on rows in memory or in parts."""
        until = self.tol, self.max_iter, stop
        sub = problem.subproblem(rounds.multiplier, rounds.stiffness)
        if not isinstance(problem.data.samples, Samples):
            parted = descend_in_parts(problem, sub, point, *until)
            return parted.progress, _RoundEnd.of_sums(problem, point, parted.sums)
        if rounds.descent is None:
            rounds.descent = Descent.begun(
                problem, sub, point, *until, monotone=self.monotone
            )
        else:
            rounds.descent.again(sub)
        rounds.descent.step()
        return rounds.descent.progress, _RoundEnd.at(problem, rounds.descent)

    def _solution(
        self,
        problem: Problem,
        end: _RoundEnd,
        progress: Progress,
        multiplier: FloatArray,
        *,
        stopped: bool,
    ) -> Solution:
        params, penalty = end.params, problem.penalty
        cost = problem.fit(params, end.mass, end.loss)
        violation = problem.constraint.violation(end.attained)
        if progress.residual <= self.tol and violation <= FEASIBLE:
            status = Status.CONVERGED
        elif stopped:
            status = Status.TIME_LIMIT
        elif violation > FEASIBLE:
            status = Status.INFEASIBLE
        else:
            status = Status.MAX_ITER
        norms, recall = penalty.norms(params.penalised), end.attained
        if not problem.constraint.on_recall:
            recall = recall_of(end.mass, params.leaf_class, problem.data.share)
        return Solution(
            params=params,
            objective=cost + penalty.value_of(norms),
            cost=cost,
            recall=recall,
            violation=violation,
            attained=end.attained,
            multiplier=multiplier,
            residual=progress.residual,
            mass=end.mass,
            norms=norms,
            status=status,
            first=progress.first,
            n_iterations=progress.n_iterations,
            n_evaluations=progress.n_evaluations,
        )
