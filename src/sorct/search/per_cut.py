"""Per cut: a good tree whose cuts use few variables each, from one with longer cuts.

Of every cut the variables that matter least are barred from it, and the tree is
refitted under a small share of the penalty. Then variables are exchanged: in every cut
the one outside that would lower the fit fastest comes in, the tree is refitted, what
matters least goes out, and the exchange is kept if the fit is better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction
from sorct.search.polish import without_idle_cuts
from sorct.search.relax import relaxed_share
from sorct.search.subset import EXCHANGES, TRIES, better, empty_solution
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import gradient_at
from sorct.solvers.solution import Solution


@dataclass(frozen=True)
class PerCut:
    """Trees of a problem whose cuts use so many variables at most.

    Attributes
    ----------
    problem : Problem
        With the penalties of the moment.
    solver : AugmentedLagrangian
    variable : array of shape (n_groups,)
        Variable that every group of columns belongs to.
    most : int
        Variables of a cut, at most.
    fixed : bool
        Whether the tree may use no variables but those that it has.
    stop : array of one integer, or None
        Set to end where the tree is, refitted or not.
    """

    problem: Problem
    solver: AugmentedLagrangian
    variable: IntArray
    most: int
    fixed: bool = False
    stop: IntArray | None = None

    def within(self, solution: Solution) -> Solution:
        """A tree within the limit, near a solution."""
        used, n_idle = self._trimmed(solution), 0
        if used.any():
            found = self._refitted(solution, used)
        else:
            found = empty_solution(self.problem, self.solver)
        for _ in range(EXCHANGES if self.most > 0 else 0):
            more = self._used(found) | self._candidates(found, n_idle)
            if n_idle == TRIES or not more.any() or self._is_late:
                break
            grown = self._refitted(found, more)
            kept = self._trimmed(grown)
            trial = self._refitted(grown, kept) if kept.any() else found
            gained = better(trial, found)
            found, n_idle = (trial, 0) if gained else (found, n_idle + 1)
        return found

    @property
    def _is_late(self) -> bool:
        return self.stop is not None and self.stop[0] != 0

    def _by_variable(self, size: FloatArray) -> FloatArray:
        """Sums over the columns of every variable; size has a row per column."""
        groups = np.add.reduceat(size, self.problem.penalty.start[:-1])
        found = np.zeros((int(self.variable.max()) + 1, size.shape[1]))
        np.add.at(found, self.variable, groups)
        return found

    def _weights(self, solution: Solution) -> FloatArray:
        """How far every variable moves the score of every cut, and every leaf."""
        moved = np.abs(solution.params.penalised)
        spread = np.sqrt(self.problem.data.variance)[:, np.newaxis]
        # A column that is used matters, however little.
        return self._by_variable(np.where(moved > 0.0, moved * spread + 1e-300, 0.0))

    def _used(self, solution: Solution) -> BoolArray:
        """Variables of every cut, a column each, then those of leaves with slopes."""
        return self._weights(solution) > 0.0

    def _trimmed(self, solution: Solution) -> BoolArray:
        """The variables of every cut that matter most, as many as are allowed."""
        weight = self._weights(solution)
        place = np.argsort(np.argsort(-weight, axis=0, kind="stable"), axis=0)
        return np.asarray((weight > 0.0) & (place < self.most))

    def _candidates(self, solution: Solution, place: int) -> BoolArray:
        """The variable outside every cut that is the steepest, or the next ones."""
        slope = np.abs(gradient_at(self.problem, solution.params)[:-1])
        spread = np.sqrt(self.problem.data.variance)[:, np.newaxis]
        steep, used = self._by_variable(slope * spread), self._used(solution)
        steep[used] = 0.0
        if self.fixed:
            steep[~used.any(axis=1)] = 0.0
        order = np.argsort(np.argsort(-steep, axis=0, kind="stable"), axis=0)
        return np.asarray((order == place) & (steep > 0.0))

    def _refitted(self, solution: Solution, used: BoolArray) -> Solution:
        """Refit with some variables in every cut, under a share of the penalty."""
        problem, share = self.problem, relaxed_share(self.problem)
        shut = 1.0 - used[self.variable].astype(np.float64)
        penalty = problem.penalty.scaled(share).with_barred(shut)
        groups = np.flatnonzero((1.0 - shut).any(axis=1))
        small = Restriction.of(replace(problem, penalty=penalty), groups)
        start, stay = small.down(solution.params), solution.multiplier
        found = self.solver.solve(small.part, start, multiplier=stay, stop=self.stop)
        found = without_idle_cuts(small.part, found)
        return replace(found, params=small.up(found.params))
