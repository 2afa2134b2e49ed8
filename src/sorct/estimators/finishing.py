"""Finish: search once more for the tree of a quantity that was chosen, on all rows.

Where there are very many rows, paths are traced on some of them, read as the whole
table is. The tree that is chosen is solved again on all rows, with its variables and
its share of the penalty: from where it is and from new starts, since one tree can be
looked for more closely than all those of a path. A tree for which bounds on groups of
rows are asked is then led to these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import IntArray
from sorct.data.quantity import Quantity
from sorct.data.wording import listed
from sorct.estimators.bound_problem import BoundProblem
from sorct.estimators.clock import PATH, SearchClock
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.fitting import Prepared
from sorct.estimators.folds import PATH_ROWS, PathTask
from sorct.estimators.group_bounds import AskedBounds
from sorct.estimators.rows import Data
from sorct.tree.params import Params
from sorct.tree.tree import Tree

# New starts of the tree that was chosen, and how many of them are solved.
_STARTS, _SOLVED = 32, 4

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.solvers.solution import Solution


def finished_on_all(
    tree: Tree,
    task: PathTask | None,
    place: int,
    data: Data,
    asked: AskedBounds | None,
    clock: SearchClock,
) -> Tree:
    """The tree searched for on all rows, within bounds on groups of them if asked for.

    A single leaf that was found on all rows is the best already. The place in the path
    does not matter here. Where no time is left, a tree of all rows stays as it is.
    """
    if task is None:
        return tree
    # Starts know of no limit per cut.
    anew = tree.depth > 0 and task.limits.max_features_per_cut is None
    anew = anew and not clock.is_over(PATH)
    if asked is None and not anew and _is_small(data):
        return tree
    from sorct.problem.evaluation import never
    from sorct.problem.penalty import Strengths
    from sorct.problem.restriction import used_groups
    from sorct.search.workers import deadline

    rows = data.X, data.y, data.weight
    prepared = Prepared.of(*rows, task.model, task.call, quiet=True)
    told, params = tree.training, params_of(tree, prepared)
    alphas = float(told.alpha_local or 0.0), float(told.alpha_global or 0.0)
    problem = prepared.problem.at(Strengths(*alphas))
    penalty = problem.penalty.scaled(told.relaxed or 1.0)
    most = task.limits.max_features_per_cut
    if most is not None and asked is None:
        # Every cut, and every leaf, keeps to its own variables.
        size = np.maximum.reduceat(np.abs(params.penalised), penalty.start[:-1])
        penalty = penalty.with_barred((size == 0.0).astype(np.float64))
    problem = replace(problem, penalty=penalty)
    used = used_groups(problem, params)
    if used.size == 0 and asked is None:
        return tree
    if used.size == 0:
        # Bounds need variables that tell groups apart.
        if task.limits.on_variables:
            raise InfeasibleError(
                "group_bounds could not be met: the tree chosen within max_features "
                "and max_cost uses no variable. Allow more of them.",
                {},
            )
        used = np.arange(problem.n_groups)
    effort, stop = replace(task.effort, time_limit=clock.left()), never()
    with deadline(clock.left(PATH), stop):
        solution = _solved_on(used, problem, params, effort, stop, anew=anew)
    if asked is not None:
        bound = BoundProblem.of(prepared, problem, *rows, asked)
        solution = replace(bound, kept=used).solve(solution, effort)
    found = prepared.tree(solution, alphas)
    if most is not None and found.most_variables_per_cut > most:
        raise InfeasibleError(
            f"group_bounds could not be met within max_features_per_cut={most}: a cut, "
            f"or a leaf, would use {found.most_variables_per_cut} variables. Raise one "
            "of the two, or limit max_features instead.",
            {},
        )
    if asked is not None and (found.training.r2 or 0.0) < 0.0:
        raise InfeasibleError(
            "group_bounds could be met with the variables chosen "
            f"({listed(found.variables_used)}) only by a tree that is worse than "
            "always saying the mean. Allow more variables, or loosen the bounds.",
            {},
        )
    return replace(found, training=found.training.with_choice_of(told))


def _is_small(data: Data) -> bool:
    """Whether paths are traced on all rows."""
    return len(data.seen.y) <= PATH_ROWS


def _solved_on(
    used: IntArray,
    problem: Problem,
    params: Params,
    effort: Effort,
    stop: IntArray,
    *,
    anew: bool,
) -> Solution:
    """The solution from a tree and, if ``anew``, from new starts, by some variables."""
    from sorct.problem.restriction import Restriction
    from sorct.search.polish import without_idle_cuts
    from sorct.search.relax import best_of_starts

    small = Restriction.of(problem, used)
    part, own, solver = small.part, small.down(params), effort.solver()
    if anew:
        more = effort.seed(), _STARTS, _SOLVED, PATH_ROWS
        solution = best_of_starts(part, own, solver, *more, stop)
    else:
        solution = solver.solve(part, own, stop=stop)
    solution = without_idle_cuts(part, solution)
    return replace(solution, params=small.up(solution.params))


def params_of(tree: Tree, prepared: Prepared) -> Params:
    """The tree in the units of a problem."""
    from sorct.problem.residual import SLOPE_UNIT

    target, slopes = prepared.target, tree.leaf_coef
    assert isinstance(target, Quantity)
    assert tree.leaf_value is not None
    return Params(
        tree.coef.copy(),
        tree.threshold.copy(),
        tree.leaf_class.copy(),
        leaf_value=(tree.leaf_value - target.origin) / target.unit,
        leaf_coef=None if slopes is None else slopes / (target.unit * SLOPE_UNIT),
    )
