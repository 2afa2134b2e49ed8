"""Polish: from a start to a stationary tree that is worth having.

Descending with all penalties at once can empty a tree before the data or the floors
have any effect. A start that ends poorly is led to the penalties step by step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import IntArray
from sorct.problem.problem import Problem
from sorct.search.starts import empty_tree
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.in_parts import all_masses
from sorct.solvers.solution import FEASIBLE, Solution, Status
from sorct.tree.params import Params
from sorct.tree.prune import pruned

# Stiffness of the floors when descending from a tree that meets them.
HOLD = 1e3
# Shares of the penalties through which a start is led that failed with all at once.
_SHARES = (0.0, 2.0**-6, 2.0**-4, 2.0**-2, 1.0)
# Coefficients below _DUST are set to zero if the tree is as good without them: its
# objective to relative rounding, its residual up to the least tolerance in use.
_DUST, _ROUNDING, _TOL = 1e-7, 1e-10, 1e-6
ROUGH = AugmentedLagrangian(tol=1e-3, max_iter=100)
#: Makes a solution of a tree, and next to nothing else.
AS_IT_IS = AugmentedLagrangian(tol=1e-3, max_iter=1, max_rounds=1)


@dataclass(frozen=True)
class Polisher:
    """Polishes the starts of one problem; knows its best tree without features."""

    problem: Problem
    solver: AugmentedLagrangian
    empty: Solution

    @classmethod
    def of(
        cls, problem: Problem, solver: AugmentedLagrangian, stop: IntArray | None = None
    ) -> Polisher:
        """Solve for the tree without features first."""
        params, multiplier = empty_tree(problem)
        still = replace(solver, max_iter=1)
        empty = still.solve(problem, params, multiplier=multiplier, stop=stop)
        return cls(problem, solver, empty)

    def descend(self, params: Params, stop: IntArray, bar: float = np.inf) -> Solution:
        """Descend once; a tree that ends above the bar may miss its floors."""
        return self.solver.solve(self.problem, params, stop=stop, bar=bar)

    def polish(self, params: Params, stop: IntArray) -> Solution:
        """Descend, and help where that ends poorly.

        A start that misses its floors, or ends no better than the tree without features
        (``self.empty``), descends once more, first without penalties and then with more
        and more of them. If the tree without features is still better, a descent begins
        there. Descents from elsewhere do not find that tree: its thresholds lie at the
        bounds, where the gradient is next to zero.
        """
        solution = self.descend(params, stop)
        first, spent = solution.first, solution.n_evaluations
        if stop[0] != 0:
            if self.empty.better_than(solution):
                solution = replace(self.empty, status=Status.TIME_LIMIT)
            return replace(solution, first=first, n_evaluations=spent)
        if not solution.feasible or not solution.better_than(self.empty):
            restored = self._restore(params, stop)
            spent += restored.n_evaluations
            solution = restored if restored.better_than(solution) else solution
        if self.empty.better_than(solution):
            below = self._descend_from_empty(stop)
            spent += below.n_evaluations
            solution = below if below.better_than(self.empty) else self.empty
        return replace(solution, first=first, n_evaluations=spent)

    def ease(self, params: Params, share: float, stop: IntArray) -> Solution:
        """Descend roughly under a share of the penalties."""
        eased = replace(self.problem, penalty=self.problem.penalty.scaled(share))
        return ROUGH.solve(eased, params, stop=stop)

    def _descend_from_empty(self, stop: IntArray) -> Solution:
        params, multiplier = empty_tree(self.problem)
        return self.solver.solve(self.problem, params, multiplier=multiplier, stop=stop)

    def _restore(self, params: Params, stop: IntArray) -> Solution:
        """Descend without penalties first, then with more and more of them.

        Floors that are met are held on to stiffly.
        """
        spent, stiffness, penalty = 0, 10.0, self.problem.penalty
        for share in _SHARES:
            eased = penalty.scaled(share)
            solver = self.solver if share == 1.0 else ROUGH
            solution = solver.solve(
                replace(self.problem, penalty=eased),
                params,
                stiffness=stiffness,
                stop=stop,
            )
            params, stiffness = solution.params, HOLD
            spent += solution.n_evaluations
            if stop[0] != 0:
                break
        return replace(solution, n_evaluations=spent)


def without_idle_cuts(problem: Problem, solution: Solution) -> Solution:
    """The same tree without cuts that decide nothing, and without dust."""
    return _without_idle_cuts(problem, _without_dust(problem, solution))


def _without_dust(problem: Problem, solution: Solution) -> Solution:
    """The tree with tiny coefficients set to zero, if it is no worse.

    The l-inf penalty does not shrink a coefficient that is not the largest of its
    group. Only the data move it towards zero, and where hardly any sample comes near a
    cut so slowly that a descent ends before. The tree with zeros is taken only if it is
    as good in its objective, its floors and its residual.
    """
    params = _without_small(solution.params)
    if params is solution.params:
        return solution
    still = AugmentedLagrangian(max(_TOL, solution.residual), max_iter=1, max_rounds=1)
    found = still.solve(problem, params, multiplier=solution.multiplier)
    slack = _ROUNDING * max(abs(solution.objective), problem.trivial_cost)
    good = found.objective <= solution.objective + slack
    good = good and found.violation <= max(solution.violation, FEASIBLE)
    good = good and np.array_equal(found.params.leaf_class, params.leaf_class)
    if not good or found.residual > max(_TOL, solution.residual):
        return solution
    return replace(
        found,
        status=solution.status,
        first=solution.first,
        n_iterations=solution.n_iterations,
        n_evaluations=solution.n_evaluations,
    )


def _without_small(params: Params) -> Params:
    """The tree with tiny coefficients set to zero; itself if there are none."""
    coef = params.penalised
    dust = (coef != 0.0) & (np.abs(coef) < _DUST)
    if not dust.any():
        return params
    coef, n_branches = np.where(dust, 0.0, coef), params.threshold.size
    slopes = None if params.leaf_coef is None else coef[:, n_branches:]
    return replace(params, coef=coef[:, :n_branches], leaf_coef=slopes)


def _without_idle_cuts(problem: Problem, solution: Solution) -> Solution:
    """The same predictions without cuts that decide nothing."""
    params = pruned(solution.params, problem.gamma)
    if np.array_equal(params.coef, solution.params.coef):
        return solution
    norms = problem.penalty.norms(params.penalised)
    return replace(
        solution,
        params=params,
        objective=solution.cost + problem.penalty.value_of(norms),
        mass=all_masses(problem, params),
        norms=norms,
    )
