"""Relaxing: the trees of a path, refitted under a weaker penalty.

How one tree is refitted is in ``search/relax.py``; here are the shares of the penalty,
the limits on variables, and the time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sorct.estimators.bound_problem import BoundProblem, relaxed_within
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.fitting import Prepared
from sorct.estimators.limiting import all_within_limits
from sorct.estimators.points import alphas_of, tree_or_error
from sorct.tree.path import Limits
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.problem.penalty import Strengths
    from sorct.problem.problem import Problem
    from sorct.solvers.solution import Solution

# Trees of a quantity are relaxed down to this share of the strongest penalty.
_WEAK = 2.0**-5
# Share of the variables that a relaxed tree of a quantity counts for at least.
_LEAST_USED = 2.0**-6


def relaxed_trees(
    prepared: Prepared,
    points: list[tuple[Solution, Strengths]],
    own: list[Tree],
    effort: Effort,
    limits: Limits,
    seed: int,
    relax_to: float | None,
    bound: BoundProblem | None,
) -> list[Tree]:
    """The relaxed tree of every point, within the limits on variables if any.

    Where it misses a floor on recall, or a bound, that the point's own tree meets, it
    is the latter.
    """
    from sorct.search.relax import relaxed_share

    limited = limits.on_variables if prepared.problem.of_quantity else limits.on_trees
    problems = [prepared.problem.at(strengths) for _, strengths in points]
    solutions = [solution for solution, _ in points]
    given = prepared, problems, solutions, effort, seed
    shares: list[float | None] = [relaxed_share(one) for one in problems]
    if limited:
        found: list[Solution | None] = [*_all_limited(*given, limits)]
    else:
        shares = _shares(problems, points, relax_to)
        found = _all_in_time(*given, shares)
    trees = []
    for k, ((solution, strengths), before) in enumerate(zip(points, own, strict=True)):
        share, eased = shares[k], found[k]
        if share is None or eased is None:
            trees.append(before)
            continue
        tree = tree_or_error(prepared, eased, strengths)
        if bound is not None:
            penalty = problems[k].penalty.scaled(share)
            problem = replace(problems[k], penalty=penalty)
            tree = _bound_tree(prepared, bound, problem, eased, strengths, effort)
        if isinstance(tree, InfeasibleError) or eased.feasible < solution.feasible:
            trees.append(before)
            continue
        told = replace(tree.training, relaxed=share)
        trees.append(replace(tree, training=told))
    return trees


def _shares(
    problems: list[Problem],
    points: list[tuple[Solution, Strengths]],
    relax_to: float | None,
) -> list[float | None]:
    """Share of its penalty under which every point is relaxed.

    None where its penalty hardly shrinks: there is nothing to relax.
    """
    from sorct.problem.restriction import used_groups
    from sorct.search.relax import relaxed_share

    alphas = [sum(alphas_of(strengths)) for _, strengths in points]
    weak = _WEAK * max(alphas)
    if relax_to is not None:
        weak = relax_to * (1.0 + 1e-9)
    found: list[float | None] = []
    for problem, (solution, _), alpha in zip(problems, points, alphas, strict=True):
        if problem.of_quantity and alpha < weak:
            found.append(None)
        elif relax_to is None:
            found.append(relaxed_share(problem))
        else:
            # Few variables need little penalty.
            n_used = used_groups(problem, solution.params).size
            used = n_used / problem.n_groups
            found.append(relax_to * max(used, _LEAST_USED) / alpha)
    return found


def _all_limited(
    prepared: Prepared,
    problems: list[Problem],
    solutions: list[Solution],
    effort: Effort,
    seed: int,
    limits: Limits,
) -> list[Solution]:
    """Trees of all points within the limits, as far as time allows."""
    from sorct.problem.evaluation import never
    from sorct.search.workers import deadline, run_apart

    stop = never()
    given = prepared, limits, problems, solutions, effort, seed, stop
    with deadline(prepared.seconds_left(effort), stop):
        return run_apart(partial(all_within_limits, *given), stop)


def _all_in_time(
    prepared: Prepared,
    problems: list[Problem],
    solutions: list[Solution],
    effort: Effort,
    seed: int,
    shares: list[float | None],
) -> list[Solution | None]:
    """Relaxed solutions, that under way when time ends as it is; None has no share.

    None is also what was not begun in time.
    """
    from sorct.problem.evaluation import never
    from sorct.search.relax import relaxed
    from sorct.search.workers import Workers, deadline

    stop, solver = never(), effort.solver()

    def relax(k: int) -> Solution | None:
        share = shares[k]
        if share is None or stop[0] != 0:
            return None
        return relaxed(problems[k], solutions[k], solver, share, stop, seed)

    calls = [partial(relax, k) for k in range(len(problems))]
    seconds = prepared.seconds_left(effort)
    if seconds is not None:
        # Every tree has to be told of, the first of which is counted.
        seconds = max(seconds - prepared.telling * (len(calls) - 1), 0.0)
    with deadline(seconds, stop), Workers(effort.n_jobs, stop) as workers:
        return list(workers.run(calls))


def _bound_tree(
    prepared: Prepared,
    bound: BoundProblem,
    eased: Problem,
    found: Solution,
    strengths: Strengths,
    effort: Effort,
) -> Tree | InfeasibleError:
    """The tree of a solution within bounds, with its variables, or the error."""
    try:
        within = relaxed_within(bound, eased, found, effort)
    except InfeasibleError as error:
        return error
    return prepared.tree(within, alphas_of(strengths))
