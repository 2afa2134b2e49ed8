"""Points: the solutions of a path, each with the penalties that it was found under."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray
from sorct.data.parts import PartedSet
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.fitting import Prepared
from sorct.solvers.solution import Solution, Status
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.problem.penalty import Strengths
    from sorct.problem.problem import Problem
    from sorct.search.greedy import Greedy
    from sorct.search.sweep import Grid, Sweep, SweepCallback, Swept

    Point = tuple[Solution, Strengths]


def swept_points(
    prepared: Prepared,
    sweep: Sweep,
    grid: Grid,
    effort: Effort,
    seed: int,
    callback: SweepCallback | None,
    greedy: Greedy | None,
) -> tuple[list[Point], FloatArray]:
    """Finished solutions of all points of a grid, and the seconds each took.

    They have the variables of a greedy tree alone, if there is one.
    """
    from sorct.problem.restriction import Restriction

    problem, inner = prepared.problem, grid
    in_parts = isinstance(problem.data, PartedSet)
    some, small = problem.subsampled if in_parts else problem, None
    if greedy is not None:
        small = Restriction.of(problem, greedy.restriction.groups)
        problem, inner = small.part, grid.scaled(small.share)
        some = greedy.restriction.part if in_parts else problem
        sweep = replace(sweep, gentler=None, begins=greedy.begins)
    swept = sweep.run(some, inner, seed, callback)
    if in_parts:
        swept = _on_all(problem, swept, inner, effort)
    first = swept.solutions[0]
    if not first.feasible:
        late = " before time_limit" if first.status is Status.TIME_LIMIT else ""
        tried = f"a pool of {sweep.n_solutions} solutions and their moves{late}"
        prepared.refuse(first.recall, tried, "n_solutions")
    solutions = [
        prepared.finished(problem.at(strengths), solution, effort)
        for solution, strengths in zip(swept.solutions, inner.strengths, strict=True)
    ]
    if small is not None:
        solutions = [replace(one, params=small.up(one.params)) for one in solutions]
    return list(zip(solutions, grid.strengths, strict=True)), swept.seconds


def _on_all(problem: Problem, swept: Swept, grid: Grid, effort: Effort) -> Swept:
    """Trees that were found on some rows, finished on all."""
    solver = effort.solver()
    found = [
        solver.solve(problem.at(pair), one.params, multiplier=one.multiplier)
        for pair, one in zip(grid.strengths, swept.solutions, strict=True)
    ]
    return replace(swept, solutions=tuple(found))


def decided(prepared: Prepared, points: list[Point]) -> tuple[list[Tree], list[Point]]:
    """Tree of every point, and the points with the solutions that they are of.

    Under the likelihood it is the decision that meets floors on recall, and trees of
    few variables may have none that does. Such a point gets, of the trees of the other
    points, the one that is best under its penalties; an error tells if none will do.
    """
    found = [tree_or_error(prepared, *point) for point in points]
    met = [k for k, one in enumerate(found) if isinstance(one, Tree)]
    trees, kept = [], []
    for one, (solution, strengths) in zip(found, points, strict=True):
        if isinstance(one, InfeasibleError):
            if not met:
                raise one
            penalty = prepared.problem.at(strengths).penalty
            others = [points[k][0] for k in met]
            worth = [other.cost + penalty.value_of(other.norms) for other in others]
            best = int(np.argmin(worth))
            solution = replace(others[best], objective=worth[best])
            one = prepared.tree(solution, alphas_of(strengths))
        trees.append(one)
        kept.append((solution, strengths))
    return trees, kept


def tree_or_error(
    prepared: Prepared, solution: Solution, strengths: Strengths
) -> Tree | InfeasibleError:
    """The tree of a solution, or the error that it misses a floor."""
    try:
        return prepared.tree(solution, alphas_of(strengths))
    except InfeasibleError as error:
        return error


def alphas_of(strengths: Strengths) -> tuple[float, float]:
    """The two penalties of a point."""
    return strengths.alpha_local, strengths.alpha_global
