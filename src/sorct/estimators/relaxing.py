"""Relaxing: the trees of a path, refitted under a weaker penalty.

How one tree is refitted is in ``search/relax.py``; here are the shares of the penalty,
the limits on variables, and the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from sorct.estimators.bound_problem import BoundProblem, relaxed_within
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.fitting import Prepared
from sorct.estimators.limiting import all_within_limits
from sorct.estimators.points import alphas_of, tree_or_error
from sorct.tree.path import Limits
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.estimators.points import Point
    from sorct.problem.problem import Problem
    from sorct.solvers.solution import Solution

# Trees of a quantity are relaxed down to this share of the strongest penalty.
_WEAK = 2.0**-5
# Share of the variables that a relaxed tree of a quantity counts for at least.
_LEAST_USED = 2.0**-6


@dataclass(frozen=True)
class Relaxing:
    """The points of a path, to be relaxed.

    Attributes
    ----------
    prepared : Prepared
    points : list of pairs of a solution and its strengths
    effort : Effort
    seed : int
    """

    prepared: Prepared
    points: list[Point]
    effort: Effort
    seed: int

    def trees(
        self,
        own: list[Tree],
        limits: Limits,
        relax_to: float | None,
        bound: BoundProblem | None,
    ) -> list[Tree]:
        """The relaxed tree of every point, within the limits on variables if any.

        Where the refitted tree breaks a floor on recall, or a bound, that the point's
        own tree meets, the own tree stays.
        """
        from sorct.search.relax import relaxed_share

        shares: list[float | None]
        found: Sequence[Solution | None]
        if limits.on_trees:
            shares = [relaxed_share(one) for one in self.problems]
            found = self._within(limits)
        else:
            shares = self._shares(relax_to)
            found = self._in_time(shares)
        trees = []
        for k, before in enumerate(own):
            share, eased = shares[k], found[k]
            if share is None or eased is None:
                trees.append(before)
                continue
            tree = self._tree(k, eased, share, bound)
            worse = eased.feasible < self.points[k][0].feasible
            if worse or isinstance(tree, InfeasibleError):
                trees.append(before)
                continue
            told = replace(tree.training, relaxed=share)
            trees.append(replace(tree, training=told))
        return trees

    @cached_property
    def problems(self) -> list[Problem]:
        """The problem of every point."""
        return [self.prepared.problem.at(strengths) for _, strengths in self.points]

    def _shares(self, relax_to: float | None) -> list[float | None]:
        """Share of its penalty under which every point is relaxed.

        None where its penalty hardly shrinks: there is nothing to relax.
        """
        from sorct.problem.restriction import used_groups
        from sorct.search.relax import relaxed_share

        alphas = [sum(alphas_of(strengths)) for _, strengths in self.points]
        weak = _WEAK * max(alphas)
        if relax_to is not None:
            weak = relax_to * (1.0 + 1e-9)
        found: list[float | None] = []
        for k, (problem, alpha) in enumerate(zip(self.problems, alphas, strict=True)):
            if problem.of_quantity and alpha < weak:
                found.append(None)
            elif relax_to is None:
                found.append(relaxed_share(problem))
            else:
                # Few variables need little penalty.
                n_used = used_groups(problem, self.points[k][0].params).size
                used = n_used / problem.n_groups
                found.append(relax_to * max(used, _LEAST_USED) / alpha)
        return found

    def _within(self, limits: Limits) -> list[Solution]:
        """Solutions of all points within the limits, as far as time allows."""
        from sorct.problem.evaluation import never
        from sorct.search.workers import deadline, run_apart

        stop, solutions = never(), [solution for solution, _ in self.points]
        given = self.prepared, limits, self.problems, solutions, self.effort, self.seed
        with deadline(self.prepared.seconds_left(self.effort), stop):
            return run_apart(partial(all_within_limits, *given, stop), stop)

    def _in_time(self, shares: list[float | None]) -> list[Solution | None]:
        """Relaxed solutions, that under way when time ends as it is; None has no share.

        None is also what was not begun in time.
        """
        from sorct.problem.evaluation import never
        from sorct.search.relax import relaxed
        from sorct.search.workers import Workers, deadline

        stop, solver = never(), self.effort.solver()

        def relax(k: int) -> Solution | None:
            share, (solution, _) = shares[k], self.points[k]
            if share is None or stop[0] != 0:
                return None
            return relaxed(self.problems[k], solution, solver, share, stop, self.seed)

        calls = [partial(relax, k) for k in range(len(self.points))]
        seconds = self.prepared.seconds_left(self.effort)
        if seconds is not None:
            # Every tree has to be told of, the first of which is counted.
            seconds = max(seconds - self.prepared.telling * (len(calls) - 1), 0.0)
        with deadline(seconds, stop), Workers(self.effort.n_jobs, stop) as workers:
            return list(workers.run(calls))

    def _tree(
        self, k: int, eased: Solution, share: float, bound: BoundProblem | None
    ) -> Tree | InfeasibleError:
        """The tree of a relaxed solution, or the error that it misses what is asked."""
        strengths = self.points[k][1]
        if bound is None:
            return tree_or_error(self.prepared, eased, strengths)
        penalty = self.problems[k].penalty.scaled(share)
        problem = replace(self.problems[k], penalty=penalty)
        try:
            within = relaxed_within(bound, problem, eased, self.effort)
        except InfeasibleError as error:
            return error
        return self.prepared.tree(within, alphas_of(strengths))
