"""Limiting: trees and cuts that use no more variables, or dearer, than they may."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sorct._typing import IntArray
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Prepared
from sorct.tree.path import Limits

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.solvers.solution import Solution


def within_limits(
    prepared: Prepared,
    limits: Limits,
    problem: Problem,
    solution: Solution,
    effort: Effort,
) -> Solution:
    """A tree near a solution that is within the limits on variables, also per cut."""
    from sorct.search.per_cut import PerCut
    from sorct.search.subset import Subsets

    solver, groups = effort.solver(), prepared.group_variable
    if limits.on_variables:
        allowed = partial(allows, prepared, limits)
        solution = Subsets(problem, solver, groups, allowed).within(solution)
    most = limits.max_features_per_cut
    if most is None or problem.of_quantity:
        return solution
    return PerCut(problem, solver, groups, int(most), limits.on_variables).within(
        solution
    )


def allows(prepared: Prepared, limits: Limits, variables: IntArray) -> bool:
    """Whether a tree may use these variables together."""
    most = limits.max_features
    if most is not None and len(variables) > most:
        return False
    if limits.max_cost is None:
        return True
    prices = prepared.rules.record(prepared.target)["feature_cost"] or {}
    names = [prepared.encoder.names[i] for i in variables]
    return bool(sum(prices.get(name, 0.0) for name in names) <= limits.max_cost)
