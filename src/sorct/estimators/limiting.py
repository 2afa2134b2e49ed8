"""Limiting: trees that use no more variables, or dearer ones, than they may."""

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
    """A tree near a solution that is within the limits on variables."""
    from sorct.search.subset import Subsets

    allowed, groups = partial(allows, prepared, limits), prepared.group_variable
    return Subsets(problem, effort.solver(), groups, allowed).within(solution)


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
