"""Limiting: trees and cuts that use no more variables, or dearer, than they may."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import IntArray
from sorct.data.samples import MANY_ROWS
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Prepared
from sorct.tree.path import Limits

if TYPE_CHECKING:
    from sorct.problem.penalty import Penalty
    from sorct.problem.problem import Problem
    from sorct.solvers.solution import Solution

# Smaller relative gains are not worth a new beginning.
_GAIN = 1e-3


def within_limits(
    prepared: Prepared,
    limits: Limits,
    problem: Problem,
    solution: Solution,
    effort: Effort,
    stop: IntArray,
) -> Solution:
    """A tree near a solution that is within the limits on variables, also per cut.

    ``stop`` ends exchanges; the tree of that moment uses no more variables than it may.
    It is the empty one, if a tree that nobody had time to refit is worse than that.
    """
    from sorct.search.per_cut import PerCut
    from sorct.search.subset import Subsets, better, empty_solution

    solver, groups = effort.solver(), prepared.group_variable
    if limits.on_variables:
        allowed = partial(allows, prepared, limits)
        solution = Subsets(problem, solver, groups, allowed, stop).within(solution)
    most = limits.max_features_per_cut
    if most is not None:
        fixed = limits.on_variables
        cuts = PerCut(problem, solver, groups, int(most), fixed, stop)
        solution = cuts.within(solution)
    if stop[0] == 0:
        return solution
    empty = empty_solution(problem, solver)
    return empty if better(empty, solution) else solution


def all_within_limits(
    prepared: Prepared,
    limits: Limits,
    problems: list[Problem],
    solutions: list[Solution],
    effort: Effort,
    seed: int,
    stop: IntArray,
) -> list[Solution]:
    """Trees within the limits, near the solutions of all points of a path.

    Where the tree of another point is better under a point's own penalty, the point
    begins anew from that: a path that ends in the empty tree may lead past trees of a
    few variables that only help together. Where all are empty, every variable is tried
    alone.
    """
    from sorct.search.relax import relaxed_share
    from sorct.search.subset import Subsets

    near = partial(within_limits, prepared, limits)
    found = [
        near(problem, solution, effort, stop)
        for problem, solution in zip(problems, solutions, strict=True)
    ]
    empty = not any(one.params.penalised.any() for one in found)
    few = prepared.problem.data.blocks.n_rows <= MANY_ROWS
    if empty and stop[0] != 0 and few and limits.max_features_per_cut is None:
        quick = _quick(prepared, limits, problems, solutions)
        pairs = zip(problems, found, strict=True)
        return [quick if _is_better(p, quick, one) else one for p, one in pairs]
    if prepared.problem.of_quantity and limits.max_features_per_cut is None:
        return found
    if empty and limits.max_features_per_cut != 0:
        allowed, groups = partial(allows, prepared, limits), prepared.group_variable
        subsets = Subsets(problems[0], effort.solver(), groups, allowed, stop)
        found[0] = subsets.alone(found[0], seed)
    for k, problem in enumerate(problems):
        penalty = problem.penalty.scaled(relaxed_share(problem))
        worth = [_worth(penalty, one) for one in found]
        best = int(np.argmin(worth))
        if worth[best] < worth[k] * (1.0 - _GAIN) and stop[0] == 0:
            again = near(problem, found[best], effort, stop)
            found[k] = again if _worth(penalty, again) < worth[k] else found[k]
    return found


def _quick(
    prepared: Prepared,
    limits: Limits,
    problems: list[Problem],
    solutions: list[Solution],
) -> Solution:
    """A tree within the limits for when time is over: one, roughly refitted.

    It is that of the strongest penalty that leaves as many variables as are allowed.
    """
    from sorct.problem.restriction import used_groups
    from sorct.search.polish import ROUGH
    from sorct.search.subset import Subsets

    variable, allowed = prepared.group_variable, partial(allows, prepared, limits)
    n_used = [
        np.unique(variable[used_groups(problem, solution.params)]).size
        for problem, solution in zip(problems, solutions, strict=True)
    ]
    most = limits.max_features or max(n_used)
    k = max(k for k, n in enumerate(n_used) if n >= min(most, max(n_used)))
    return Subsets(problems[k], ROUGH, variable, allowed).trimmed(solutions[k])


def _is_better(problem: Problem, one: Solution, other: Solution) -> bool:
    """Whether a tree is better than another under a share of a problem's penalty."""
    from sorct.search.relax import relaxed_share

    penalty = problem.penalty.scaled(relaxed_share(problem))
    return _worth(penalty, one) < _worth(penalty, other)


def _worth(penalty: Penalty, solution: Solution) -> float:
    """Objective of a tree under a penalty; infinite if it misses a floor."""
    if not solution.feasible:
        return np.inf
    return solution.cost + penalty.value_of(solution.norms)


def allows(prepared: Prepared, limits: Limits, variables: IntArray) -> bool:
    """Whether a tree may use these variables together."""
    most = limits.max_features
    if most is not None and len(variables) > most:
        return False
    if limits.max_cost is None:
        return True
    prices = prepared.rules.prices
    names = [prepared.encoder.names[i] for i in variables]
    return bool(sum(prices.get(name, 0.0) for name in names) <= limits.max_cost)
