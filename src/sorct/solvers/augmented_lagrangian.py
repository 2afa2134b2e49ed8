"""Floors on recall around the descent: multipliers until the floors are met.

One round minimises the augmented Lagrangian of ``constraints.py``; then the pressures
become the multipliers, and the stiffness grows where a floor is still missed by too
much. Without an active floor the first round is the only one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray
from sorct.params import Params
from sorct.problem import Point, Problem
from sorct.solution import FEASIBLE, Solution, Status
from sorct.solvers.descent import Progress, descend

_STIFFER, _STIFFEST = 4.0, 1e6
_ROUNDS = 40
_SETTLED = 1e-6
# Multiplications in one uninterrupted call of compiled code, about 50 ms.
_CHUNK = 1e8


def always() -> bool:
    """Keep going."""
    return True


@dataclass(frozen=True)
class AugmentedLagrangian:
    """Local solver of a problem from one start.

    Parameters
    ----------
    tol : float
        Bound on the stationarity residual.
    max_iter : int
        Bound on the iterations of one round.
    """

    tol: float = 1e-6
    max_iter: int = 2000

    def solve(
        self,
        problem: Problem,
        start: Params,
        *,
        multiplier: FloatArray | None = None,
        stiffness: float = 10.0,
        keep_going: Callable[[], bool] = always,
    ) -> Solution:
        """Descend from the start; stop early when ``keep_going`` says so."""
        point = problem.point(start)
        floor = problem.constraint.floor
        if multiplier is None:
            multiplier = np.zeros_like(floor)
        n_evaluations, last_gap = 0, np.inf
        for _ in range(_ROUNDS):
            progress = self._round(problem, point, multiplier, stiffness, keep_going)
            n_evaluations += progress.n_evaluations
            gap = floor - _recall(problem, point)
            # Missed floors, and multipliers on floors that are more than met.
            unsettled = float(np.abs(np.maximum(gap, -multiplier / stiffness)).max())
            if unsettled <= _SETTLED or not keep_going():
                break
            multiplier = np.maximum(0.0, multiplier + stiffness * gap)
            if unsettled > last_gap / _STIFFER:
                stiffness = min(_STIFFER * stiffness, _STIFFEST)
            last_gap = unsettled
        return self._solution(problem, point, progress, n_evaluations, keep_going)

    def _round(
        self,
        problem: Problem,
        point: Point,
        multiplier: FloatArray,
        stiffness: float,
        keep_going: Callable[[], bool],
    ) -> Progress:
        """One minimisation, in calls short enough to be interrupted in between."""
        task = problem.task(multiplier, stiffness)
        work = len(task.samples.weight) * (point.coef.size + point.level.size)
        chunk = max(1, int(_CHUNK / work))
        step, n_iterations, n_evaluations = 0.0, 0, 0
        while True:
            limit = min(chunk, self.max_iter - n_iterations)
            part = descend(task, point, step, self.tol, limit)
            step = part.step
            n_iterations += part.n_iterations
            n_evaluations += part.n_evaluations
            stalled = part.n_iterations < limit
            if stalled or n_iterations >= self.max_iter or not keep_going():
                return part._replace(
                    n_iterations=n_iterations, n_evaluations=n_evaluations
                )

    def _solution(
        self,
        problem: Problem,
        point: Point,
        progress: Progress,
        n_evaluations: int,
        keep_going: Callable[[], bool],
    ) -> Solution:
        params = problem.params(point)
        mass = problem.cost.mass(params, problem.gamma)
        cost = problem.cost.value(mass, params.leaf_class)
        recall = problem.cost.recall(mass, params.leaf_class)
        violation = problem.constraint.violation(recall)
        if progress.residual <= self.tol and violation <= FEASIBLE:
            status = Status.CONVERGED
        elif not keep_going():
            status = Status.TIME_LIMIT
        elif violation > FEASIBLE:
            status = Status.INFEASIBLE
        else:
            status = Status.MAX_ITER
        return Solution(
            params=params,
            objective=cost + problem.penalty.value(params.coef),
            cost=cost,
            recall=recall,
            violation=violation,
            residual=progress.residual,
            mass=mass,
            status=status,
            n_evaluations=n_evaluations,
        )


def _recall(problem: Problem, point: Point) -> FloatArray:
    params = problem.params(point)
    mass = problem.cost.mass(params, problem.gamma)
    return problem.cost.recall(mass, params.leaf_class)
