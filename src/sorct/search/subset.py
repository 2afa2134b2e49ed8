"""Subset: a good tree with few variables, from one with too many.

The variables that matter least are left out and the rest refitted under a small share
of the penalty. Then variables are exchanged: the one outside whose coefficients would
lower the fit fastest comes in, the tree is refitted, the one that matters least goes
out, and the exchange is kept if the fit is better. Where rows come in parts, variables
are exchanged on the rows of the search, and the tree is refitted on all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.parts import PartedSet
from sorct.problem.evaluation import never
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction
from sorct.search.polish import ROUGH, without_idle_cuts
from sorct.search.relax import relaxed_share
from sorct.search.starts import draw_start, empty_tree
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import gradient_at
from sorct.solvers.solution import Solution, Status

#: Exchanges that are tried in a row without success before it ends, and in all.
TRIES, EXCHANGES = 2, 8
_BETTER = 1e-6
# New starts of a tree of one variable.
_STARTS = 3


@dataclass(frozen=True)
class Subsets:
    """Trees of a problem within a limit.

    Attributes
    ----------
    problem : Problem
        With the penalties of the moment.
    solver : AugmentedLagrangian
    variable : array of shape (n_groups,)
        Variable that every group of columns belongs to.
    allows : callable
        Whether variables, given by number, may be used together.
    stop : array of one integer
        Set to end with the tree of the moment, which is within the limit.
    """

    problem: Problem
    solver: AugmentedLagrangian
    variable: IntArray
    allows: Callable[[IntArray], bool]
    stop: IntArray = field(default_factory=never)

    def within(self, solution: Solution) -> Solution:
        """A tree within the limit, near a solution."""
        if isinstance(self.problem.data, PartedSet):
            some = replace(self, problem=self.problem.subsampled)
            return self._on_all(some.within(solution))
        kept = self._trimmed(solution, self._used(solution))
        if kept.size == 0:
            return solution if self._used(solution).size == 0 else self._grown()
        return self._exchanged(self._refitted(solution, kept))

    def trimmed(self, solution: Solution) -> Solution:
        """A tree within the limit, near a solution; no variables are exchanged."""
        kept = self._trimmed(solution, self._used(solution))
        if kept.size == 0:
            return empty_solution(self.problem, self.solver)
        return self._refitted(solution, kept)

    def _on_all(self, solution: Solution) -> Solution:
        """The tree that was found on some rows, solved again on all."""
        used = self._used(solution)
        if used.size == 0:
            return empty_solution(self.problem, self.solver)
        return self._refitted(solution, used)

    def _used(self, solution: Solution) -> IntArray:
        weight = self._weights(solution)
        return np.flatnonzero(weight > 0.0)

    def _weights(self, solution: Solution) -> FloatArray:
        """How much every variable matters: what it moves in cuts that samples pass."""
        coef, data = solution.params.penalised, self.problem.data
        topology, leaf_mass = self.problem.topology, solution.mass.sum(axis=0)
        passing = np.array(
            [
                leaf_mass[topology.leaves_below(node)].sum()
                for node in range(coef.shape[1])
            ]
        )
        moved = np.abs(coef) @ passing * np.sqrt(data.variance)
        # A column that is used matters, however little.
        moved = np.where(coef.any(axis=1), np.maximum(moved, 1e-300), 0.0)
        groups = np.add.reduceat(moved, self.problem.penalty.start[:-1])
        return np.bincount(self.variable, groups).astype(np.float64)

    def _trimmed(self, solution: Solution, used: IntArray) -> IntArray:
        """Variables that matter most, as many as are allowed."""
        order = used[np.argsort(-self._weights(solution)[used], kind="stable")]
        kept: list[int] = []
        for variable in order.tolist():
            if self.allows(np.array([*kept, variable])):
                kept.append(variable)
        return np.array(sorted(kept), dtype=np.int64)

    def _refitted(self, solution: Solution, variables: IntArray) -> Solution:
        """Refit on some variables under a share of the penalty."""
        small = self._eased(variables)
        start, stay = small.down(solution.params), solution.multiplier
        found = self.solver.solve(small.part, start, multiplier=stay, stop=self.stop)
        found = without_idle_cuts(small.part, found)
        return replace(found, params=small.up(found.params))

    def _eased(self, variables: IntArray) -> Restriction:
        """The problem of some variables under a share of the penalty."""
        groups = np.flatnonzero(np.isin(self.variable, variables))
        share = relaxed_share(self.problem)
        eased = replace(self.problem, penalty=self.problem.penalty.scaled(share))
        return Restriction.of(eased, groups)

    def _exchanged(self, solution: Solution) -> Solution:
        """Let better variables in for worse ones, as long as that pays."""
        n_idle = 0
        for _ in range(EXCHANGES):
            used = self._used(solution)
            candidates = self._candidates(solution, used)
            if n_idle >= min(TRIES, candidates.size) or self.stop[0] != 0:
                break
            more = np.append(used, candidates[n_idle])
            # It only tells which variable goes out.
            grown = replace(self, solver=self._rougher)._refitted(solution, more)
            kept = self._trimmed(grown, self._used(grown))
            trial = self._refitted(grown, kept) if kept.size else solution
            gained = better(trial, solution)
            solution, n_idle = (trial, 0) if gained else (solution, n_idle + 1)
        return solution

    @property
    def _rougher(self) -> AugmentedLagrangian:
        """A solver for trees that nobody gets to see; values of leaves want care."""
        if self.problem.of_quantity:
            return self.solver
        tol, most = max(self.solver.tol, ROUGH.tol), ROUGH.max_iter
        return replace(self.solver, tol=tol, max_iter=min(self.solver.max_iter, most))

    def _candidates(self, solution: Solution, used: IntArray) -> IntArray:
        """Variables outside, the steepest first."""
        slope = np.abs(gradient_at(self.problem, solution.params)[:-1]).max(axis=1)
        slope = slope * np.sqrt(self.problem.data.variance)
        groups = np.add.reduceat(slope, self.problem.penalty.start[:-1])
        steep = np.bincount(self.variable, groups)
        steep[used] = 0.0
        order = np.argsort(-steep, kind="stable")
        allowed = np.array([self.allows(np.array([v])) for v in order])
        return np.asarray(order[allowed & (steep[order] > 0.0)])

    def alone(self, empty: Solution, seed: int) -> Solution:
        """The best tree of one variable, from new starts; the empty one if none helps.

        The slopes of the expected cost at the empty tree tell nothing of steep cuts.
        """
        best = empty
        for v in range(int(self.variable.max()) + 1):
            if not self.allows(np.array([v])) or self.stop[0] != 0:
                continue
            small = self._eased(np.array([v]))
            for n in range(_STARTS):
                start = draw_start(small.part, seed, n, self.stop).params
                found = self.solver.solve(small.part, start, stop=self.stop)
                if better(found, best):
                    best = replace(found, params=small.up(found.params))
        return best

    def _grown(self) -> Solution:
        """Nothing of a tree may be kept: begin with the empty one."""
        return self._exchanged(empty_solution(self.problem, self.solver))


def empty_solution(problem: Problem, solver: AugmentedLagrangian) -> Solution:
    """The tree without variables, in closed form: there is nothing left to solve."""
    params, multiplier = empty_tree(problem)
    still = replace(solver, max_iter=1)
    found = still.solve(problem, params, multiplier=multiplier)
    if not found.feasible:
        return found
    return replace(found, residual=0.0, status=Status.CONVERGED)


def better(trial: Solution, solution: Solution) -> bool:
    """Floors come first, then the fit."""
    if trial.feasible != solution.feasible:
        return trial.feasible
    return trial.cost < solution.cost * (1.0 - _BETTER)
