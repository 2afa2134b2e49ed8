"""Relax: selected, then refitted.

A penalty that leaves few variables also shrinks what it leaves. A relaxed tree begins
where the penalised one ended and descends under a small share of the penalty, on the
variables selected and no others.
"""

from __future__ import annotations

from dataclasses import replace

from sorct._typing import IntArray
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction, used_groups
from sorct.search.polish import without_idle_cuts
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution

#: Share of the penalty under which relaxed trees are fitted.
RELAXED = 1.0 / 8.0


def relaxed(
    problem: Problem,
    solution: Solution,
    solver: AugmentedLagrangian,
    stop: IntArray | None = None,
    share: float = RELAXED,
) -> Solution:
    """Refit a solution on its own variables under a share of the penalty.

    Its objective is the one with that share.
    """
    groups = used_groups(problem, solution.params)
    if groups.size == 0:
        return solution
    eased = replace(problem, penalty=problem.penalty.scaled(share))
    small = Restriction.of(eased, groups)
    found = solver.solve(
        small.part,
        small.down(solution.params),
        multiplier=solution.multiplier,
        stop=stop,
    )
    found = without_idle_cuts(small.part, found)
    return replace(found, params=small.up(found.params))
