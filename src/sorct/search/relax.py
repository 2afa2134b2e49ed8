"""Relax: refit a tree on the variables that it selected, under a weaker penalty.

A penalty that leaves few variables also shrinks what it leaves. A relaxed tree begins
where the penalised one ended and descends under a small share of the penalty, on the
variables selected and no others. Trees of a quantity have more to gain: a strong
penalty leaves them with few cuts, so they also begin anew, from several starts.
"""

from __future__ import annotations

from dataclasses import replace

from sorct._typing import IntArray
from sorct.problem.evaluation import never
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction, used_groups
from sorct.search.polish import ROUGH, without_idle_cuts
from sorct.search.starts import draw_start
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

#: Share of the penalty under which relaxed trees are fitted: those of classes, and
#: those of a quantity.
RELAXED, RELAXED_QUANTITY = 1.0 / 8.0, 1.0 / 64.0
# New starts of a relaxed tree of a quantity.
_STARTS = 4


def relaxed_share(problem: Problem) -> float:
    """Share of the penalty under which a problem's trees are relaxed."""
    return RELAXED_QUANTITY if problem.of_quantity else RELAXED


def relaxed(
    problem: Problem,
    solution: Solution,
    solver: AugmentedLagrangian,
    share: float,
    stop: IntArray | None = None,
    seed: int = 0,
) -> Solution:
    """Refit a solution on its own variables under a share of the penalty.

    Its objective is the one with that share.
    """
    groups = used_groups(problem, solution.params)
    if groups.size == 0:
        return solution
    eased = replace(problem, penalty=problem.penalty.scaled(share))
    small = Restriction.of(eased, groups)
    start, multiplier = small.down(solution.params), solution.multiplier
    if problem.of_quantity and not problem.is_convex:
        start = _best_start(small.part, start, seed, stop)
    found = solver.solve(small.part, start, multiplier=multiplier, stop=stop)
    found = without_idle_cuts(small.part, found)
    return replace(found, params=small.up(found.params))


def best_of_starts(
    problem: Problem,
    own: Params,
    solver: AugmentedLagrangian,
    seed: int,
    n_starts: int,
    n_solved: int,
    n_rows: int,
    stop: IntArray,
) -> Solution:
    """The best of what a tree and new starts lead to.

    All starts descend roughly, the most promising to the end, on so many rows at most;
    the best is then solved on all.
    """
    some = problem.fewer(n_rows)
    starts = [draw_start(some, seed, k, stop).params for k in range(n_starts)]
    found = [ROUGH.solve(some, start, stop=stop) for start in starts]
    found.sort(key=lambda one: one.objective)
    tried = [own, *(one.params for one in found[:n_solved])]
    solved = [solver.solve(some, params, stop=stop) for params in tried]
    best = min(solved, key=lambda one: one.objective)
    return best if some is problem else solver.solve(problem, best.params, stop=stop)


def _best_start(
    problem: Problem, own: Params, seed: int, stop: IntArray | None
) -> Params:
    """The tree itself or a new start, whichever leads lower when solved roughly."""
    some, stop = problem.subsampled, never() if stop is None else stop
    starts = [own]
    starts += [draw_start(some, seed, k, stop).params for k in range(_STARTS)]
    found = [ROUGH.solve(some, start, stop=stop) for start in starts]
    return min(found, key=lambda one: one.objective).params
