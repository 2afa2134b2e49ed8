"""Floors around the descent: multipliers until the floors are met.

One round minimises the augmented Lagrangian of ``constraints.py``; then the multipliers
are renewed, and the stiffness grows where a floor is still missed by too
much. Without an active floor the first round is the only one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.constraints import recall_of
from sorct.problem.problem import Point, Problem, Subproblem
from sorct.solvers.descent import (
    Progress,
    Scratch,
    descend,
    make_scratch,
    masses_at,
    never,
)
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
    attained: FloatArray

    @classmethod
    def at(
        cls, problem: Problem, sub: Subproblem, point: Point, scratch: Scratch
    ) -> _RoundEnd:
        params, data = problem.params(point), problem.data
        mass = masses_at(data.samples, sub, problem.point(params), scratch)
        attained = problem.constraint.attained(mass, params.leaf_class, data.share)
        return cls(params, mass, attained)


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
        Bound on the rounds; after a few the floors may be met only nearly.
    monotone : bool
        Whether no step of a round may lead higher.
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

        A round that ends above the bar is the last: pressing on to meet the floors
        could only lead higher.
        """
        point, samples = problem.point(start), problem.data.samples
        floor = problem.constraint.floor
        stop = never() if stop is None else stop
        if multiplier is None:
            multiplier = np.zeros_like(floor)
        n_iterations, n_evaluations, n_idle = 0, 0, 0
        first, last, best = np.nan, np.inf, np.inf
        settled = max(_SETTLED, min(_SETTLED_OF_TOL * self.tol, 0.5 * FEASIBLE))
        for _ in range(self.max_rounds):
            sub = problem.subproblem(multiplier, stiffness)
            scratch = make_scratch(sub, point)
            progress = descend(
                samples,
                sub,
                point,
                self.tol,
                self.max_iter,
                stop,
                monotone=self.monotone,
                scratch=scratch,
            )
            first = progress.first if n_iterations == 0 else first
            n_iterations += progress.n_iterations
            n_evaluations += progress.n_evaluations
            end = _RoundEnd.at(problem, sub, point, scratch)
            gap = floor - end.attained
            # Missed floors, and multipliers on floors that are more than met.
            unsettled = float(np.abs(np.maximum(gap, -multiplier / stiffness)).max())
            n_idle = 0 if unsettled < 0.9 * best else n_idle + 1
            if unsettled <= settled or n_idle > _IDLE or stop[0] != 0:
                break
            if progress.objective > bar:
                break
            multiplier = np.maximum(0.0, multiplier + stiffness * gap)
            if unsettled > last / _STIFFER:
                stiffness = min(_STIFFER * stiffness, _STIFFEST)
            last, best = unsettled, min(best, unsettled)
        total = progress._replace(
            first=first, n_iterations=n_iterations, n_evaluations=n_evaluations
        )
        multiplier = np.maximum(0.0, multiplier + stiffness * gap)
        return self._solution(problem, end, total, multiplier, stopped=stop[0] != 0)

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
        cost = problem.datafit.value(end.mass, params.leaf_class)
        violation = problem.constraint.violation(end.attained)
        if progress.residual <= self.tol and violation <= FEASIBLE:
            status = Status.CONVERGED
        elif stopped:
            status = Status.TIME_LIMIT
        elif violation > FEASIBLE:
            status = Status.INFEASIBLE
        else:
            status = Status.MAX_ITER
        norms, recall = penalty.norms(params.coef), end.attained
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
