"""Finish: solve a tree of a quantity on all rows, after it was found on some of them.

Where there are very many rows, paths are traced on some of them, read as the whole
table is. The tree that is chosen is solved again on all rows, from where it is, with
its variables and its share of the penalty.
"""

from __future__ import annotations

from dataclasses import fields, replace

from sorct.data.quantity import Quantity
from sorct.estimators.fitting import Prepared
from sorct.estimators.folds import PATH_ROWS, PathTask
from sorct.estimators.rows import Data
from sorct.tree.params import Params
from sorct.tree.tree import Tree


def finished_on_all(tree: Tree, task: PathTask | None, place: int, data: Data) -> Tree:
    """The tree solved on all rows; unchanged if it was found on all of them.

    Its place in the path does not matter here.
    """
    if task is None or len(data.seen.y) <= PATH_ROWS:
        return tree
    from sorct.problem.penalty import Strengths
    from sorct.problem.restriction import Restriction, used_groups
    from sorct.search.polish import without_idle_cuts

    prepared = Prepared.of(data.X, data.y, data.weight, task.model, task.call)
    told, params = tree.training, _params_of(tree, prepared)
    alphas = float(told.alpha_local or 0.0), float(told.alpha_global or 0.0)
    problem = prepared.problem.at(Strengths(*alphas))
    eased = problem.penalty.scaled(told.relaxed or 1.0)
    groups = used_groups(problem, params)
    if groups.size == 0:
        return tree
    small = Restriction.of(replace(problem, penalty=eased), groups)
    solution = task.effort.solver().solve(small.part, small.down(params))
    solution = without_idle_cuts(small.part, solution)
    solution = replace(solution, params=small.up(solution.params))
    found = prepared.tree(solution, alphas)
    kept = {
        one.name: getattr(told, one.name)
        for one in fields(told)
        if one.name.startswith("cv_") or one.name == "relaxed"
    }
    return replace(found, training=replace(found.training, **kept))


def _params_of(tree: Tree, prepared: Prepared) -> Params:
    """The tree in the units of a problem."""
    from sorct.problem.residual import SLOPE_UNIT

    target, slopes = prepared.target, tree.leaf_coef
    assert isinstance(target, Quantity)
    assert tree.leaf_value is not None
    return Params(
        tree.coef.copy(),
        tree.threshold.copy(),
        tree.leaf_class.copy(),
        leaf_value=(tree.leaf_value - target.centre) / target.spread,
        leaf_coef=None if slopes is None else slopes / (target.spread * SLOPE_UNIT),
    )
