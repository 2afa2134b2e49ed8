"""Pool: trees that a sweep carries from point to point, and how they are compared."""

from __future__ import annotations

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.problem import Problem
from sorct.search.moves import Chain, move
from sorct.search.polish import ROUGH, Polisher
from sorct.search.starts import draw_start
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

# The pool is solved with ``ROUGH``, or only so quickly where that suffices; the best
# tree of a point is solved to the end.
_QUICK = AugmentedLagrangian(tol=1e-3, max_iter=30, max_rounds=1)
# After a quick descent, a tree that a move has made and whose objective is above the
# best by more than this share is not solved further.
_MOVE_MARGIN = 0.05
# Objectives and costs that differ by less than this, relatively, are of equal trees.
_SAME, _SAME_COST = 1e-3, 1e-2
#: A smaller relative gain does not count.
GAIN = 1e-6


def started(polisher: Polisher, seed: int, n: int, stop: IntArray) -> Solution:
    """Start n of a seed, polished; only the first when there is no time."""
    if n > 0 and stop[0] != 0:
        return polisher.empty
    return polisher.polish(draw_start(polisher.problem, seed, n, stop).params, stop)


def carried_on(
    solver: AugmentedLagrangian, problem: Problem, solution: Solution, stop: IntArray
) -> Solution:
    """Descend from a solution of a neighbouring problem, its multipliers included."""
    return solver.solve(
        problem, solution.params, multiplier=solution.multiplier, stop=stop
    )


def raced(
    problem: Problem,
    params: Params,
    multiplier: FloatArray | None,
    *,
    stop: IntArray,
    bar: float = np.inf,
    at_once: bool = False,
) -> Solution:
    """Descend quickly, and roughly to the end if the tree may get below the bar.

    Any other tree is left as it is: it cannot win at this point, but may at the next.
    """
    if not at_once:
        quick = _QUICK.solve(problem, params, multiplier=multiplier, stop=stop, bar=bar)
        if quick.objective > bar or stop[0] != 0:
            return quick
        params, multiplier = quick.params, quick.multiplier
    return ROUGH.solve(problem, params, multiplier=multiplier, stop=stop, bar=bar)


def moved(
    polisher: Polisher, chain: Chain, key: tuple[int, int, int, int], stop: IntArray
) -> Solution:
    """A move of the best tree, taken further if it may beat it."""
    if stop[0] != 0:
        return chain.incumbent
    seed, *spawn_key = key
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=spawn_key))
    params = move(polisher, chain, rng, stop).params
    leader = chain.incumbent
    bar = (1.0 + _MOVE_MARGIN) * leader.objective if leader.feasible else np.inf
    return raced(polisher.problem, params, leader.multiplier, stop=stop, bar=bar)


def distinct(solutions: list[Solution]) -> list[Solution]:
    """Solutions without repetitions, the best first."""
    kept: list[Solution] = []
    for solution in sorted(solutions, key=_rank):
        if not any(_equal(solution, other) for other in kept):
            kept.append(solution)
    return kept


def _rank(solution: Solution) -> tuple[float, float]:
    """Order of ``better_than``."""
    if solution.feasible:
        return 0.0, solution.objective
    return solution.violation, 0.0


def _equal(one: Solution, other: Solution) -> bool:
    """Whether two trees are one, up to mirroring: by objective and cost."""
    near = abs(one.objective - other.objective) <= _SAME * abs(other.objective) + 1e-9
    return near and abs(one.cost - other.cost) <= _SAME_COST * abs(other.cost) + 1e-8


def same_signs(one: Solution, other: Solution) -> bool:
    """Whether two trees have the same labels and coefficients of the same signs."""
    a, b = one.params, other.params
    return np.array_equal(a.leaf_class, b.leaf_class) and np.array_equal(
        np.sign(a.penalised), np.sign(b.penalised)
    )


def gains(solution: Solution, before: Solution) -> bool:
    """Whether a solution is clearly better than the one before."""
    if not (solution.feasible and before.feasible):
        return solution.better_than(before)
    return solution.objective < before.objective * (1.0 - GAIN) - 1e-12
