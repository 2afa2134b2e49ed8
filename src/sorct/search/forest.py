"""Forest: trees on bags of rows, grown one by one, then polished under one penalty.

A tree begins with starts of its own on its own bag. What the whole forest pays for is
settled afterwards, by ``solvers/jointly.py``. A forest that was selected is refitted on
its variables under a small share of the penalty, tree by tree (``relax.py`` says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.bags import Bag, draw_bag
from sorct.data.samples import Rows, TrainingSet
from sorct.problem.penalty import Strengths
from sorct.problem.problem import Problem
from sorct.problem.residual import leaf_reach, predicted
from sorct.problem.restriction import Restriction
from sorct.search.greedy import Greedy
from sorct.search.polish import ROUGH, Polisher
from sorct.search.relax import RELAXED
from sorct.search.starts import draw_start, empty_tree
from sorct.search.workers import Workers
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.jointly import JointEnd, JointPolish
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

#: Solver for trees within a forest. A finer one hardly changes what a forest predicts.
IN_FOREST = AugmentedLagrangian(tol=1e-4, max_iter=200)
# Starts of a tree have seeds of their own, far from those of others.
_APART = 1_000_003
# Shares of the penalty under which a tree begins that is without variables otherwise.
_EASED = (0.25, 0.0625)
# Cuts that are drawn anew to improve a greedy tree; bags differ enough by themselves.
_DRAWN = 6


@dataclass(frozen=True)
class Grove:
    """The bags of a forest as problems, and who works on them.

    Attributes
    ----------
    problems : tuple of Problem
        One per tree, all with the same model and without penalties.
    outside : array of shape (n_trees, n_rows)
        Which rows of the whole set every tree has not seen.
    n_starts : int
        Starts of every tree.
    seed : int
    workers : Workers
    stop : array of one integer
    greedy : float
        Rows that a bag stands for, if trees also begin with greedy ones; 0: they do
        not.
    """

    problems: tuple[Problem, ...]
    outside: BoolArray
    n_starts: int
    seed: int
    workers: Workers
    stop: IntArray
    greedy: float = 0.0

    @classmethod
    def drawn(
        cls,
        whole: Problem,
        n_trees: int,
        kind: str,
        n_draws: float,
        n_starts: int,
        seed: int,
        workers: Workers,
        stop: IntArray,
        late: IntArray | None = None,
    ) -> Grove:
        """Draw a bag for every tree, but for those not begun when it was ``late``."""
        assert isinstance(whole.data, TrainingSet)

        def draw(b: int) -> Bag | None:
            if b > 0 and late is not None and late[0] != 0:
                return None
            return draw_bag(whole.data, kind, n_draws, seed, b)

        drawn = list(workers.run(partial(draw, b) for b in range(n_trees)))
        # Those before the first that was not drawn.
        bags = [bag for bag in takewhile(lambda bag: bag is not None, drawn) if bag]
        problems = tuple(replace(whole, data=bag.data) for bag in bags)
        outside = np.array([bag.outside for bag in bags])
        return cls(problems, outside, n_starts, seed, workers, stop)

    def under(self, model: Problem) -> Grove:
        """The same bags for another depth, steepness or penalty."""
        problems = tuple(replace(model, data=one.data) for one in self.problems)
        return replace(self, problems=problems)

    def at(self, strengths: Strengths) -> Grove:
        """The same bags under other penalties."""
        return replace(self, problems=tuple(p.at(strengths) for p in self.problems))

    def some(self, first: int, last: int) -> Grove:
        """Trees from first to last, without the last, as they are in the whole."""
        return replace(
            self,
            problems=self.problems[first:last],
            outside=self.outside[first:last],
            seed=self.seed + _APART * first,
        )

    def beside(self, other: Grove) -> Grove:
        """The bags of both."""
        return replace(
            self,
            problems=(*self.problems, *other.problems),
            outside=np.concatenate([self.outside, other.outside]),
        )

    def grown(self) -> list[Params]:
        """Every tree for itself, the best of its starts."""
        calls = [
            partial(
                _grown, problem, self.seed + _APART * b, self.n_starts, self.stop,
                greedy=self.greedy,
            )
            for b, problem in enumerate(self.problems)
        ]  # fmt: skip
        return list(self.workers.run(calls))

    def grown_in_turn(self) -> list[Params]:
        """One tree after the other: what earlier ones use is free for later ones."""
        found: list[Params] = []
        free = np.zeros(self.problems[0].n_groups)
        for b, problem in enumerate(self.problems):
            given = replace(problem, penalty=problem.penalty.with_free(free))
            seed = self.seed + _APART * b
            (one,) = self.workers.run(
                [partial(_grown, given, seed, self.n_starts, self.stop)]
            )
            found.append(one)
            free = np.maximum(free, problem.penalty.sizes(one.penalised))
        return found

    def anew(self, groups: IntArray) -> list[Params]:
        """Trees grown on some groups of columns alone, which is quick if few."""
        return self.on(groups, Grove.grown)

    def on(
        self, groups: IntArray, work: Callable[[Grove], Sequence[Params]]
    ) -> list[Params]:
        """Trees that ``work`` makes when only some groups of columns may be used.

        With no group at all they are the trees without variables.
        """
        if groups.size == 0:
            return [empty_tree(problem)[0] for problem in self.problems]
        parts = [Restriction.of(problem, groups) for problem in self.problems]
        small = replace(self, problems=tuple(part.part for part in parts))
        found = work(small)
        return [part.up(one) for part, one in zip(parts, found, strict=True)]

    def eased(self, share: float) -> Grove:
        """The same bags under a share of the penalties."""
        problems = tuple(
            replace(problem, penalty=problem.penalty.scaled(share))
            for problem in self.problems
        )
        return replace(self, problems=problems)

    def polished(self, params: Sequence[Params], polish: JointPolish) -> JointEnd:
        """All trees together under the penalty of the forest."""
        return polish.solve(self.problems, params, self.workers, self.stop)

    def relaxed(
        self, params: Sequence[Params], groups: IntArray, share: float = RELAXED
    ) -> list[Params]:
        """Refit every tree on some groups under a share of the penalty."""
        if groups.size == 0:
            return list(params)
        calls = [
            partial(_relaxed, problem, one, groups, share, self.stop)
            for problem, one in zip(self.problems, params, strict=True)
        ]
        return list(self.workers.run(calls))

    def used(self, params: Sequence[Params]) -> IntArray:
        """Groups of columns that some tree uses."""
        used = np.any([one.penalised.any(axis=1) for one in params], axis=0)
        starts = self.problems[0].penalty.start[:-1]
        return np.flatnonzero(np.logical_or.reduceat(used, starts))

    def said(self, params: Sequence[Params], rows: Rows) -> FloatArray:
        """What every tree says of rows, (n_trees, n_classes or 1, n)."""
        calls = [
            partial(said_by, problem, one, rows)
            for problem, one in zip(self.problems, params, strict=True)
        ]
        return np.array(list(self.workers.run(calls)))


def out_of_bag(said: FloatArray, outside: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Mean over the trees that have not seen a row, and which rows have such trees.

    ``said`` has shape (n_trees, n_classes or 1, n); rows without a tree get zeros.
    """
    count = outside.sum(axis=0)
    total = np.einsum("bkn,bn->kn", said, outside.astype(np.float64))
    return total / np.maximum(count, 1), count > 0


def said_by(problem: Problem, params: Params, rows: Rows) -> FloatArray:
    """Probability of every class, or the value of a quantity, (n_classes or 1, n)."""
    reach = leaf_reach(rows, params, problem.gamma, problem.n_groups)
    if problem.of_quantity:
        return predicted(rows, params, reach)[np.newaxis]
    if params.leaf_proba is not None:
        return np.asarray(params.leaf_proba @ reach)
    pure = np.eye(problem.data.n_codes)[:, params.leaf_class]
    return np.asarray(pure @ reach)


def group_weights(problem: Problem, params: Sequence[Params]) -> FloatArray:
    """How much every group of columns moves the sums of the cuts of some trees."""
    spread = np.sqrt(problem.data.variance)
    moved = [np.abs(one.penalised).sum(axis=1) * spread for one in params]
    starts = problem.penalty.start[:-1]
    return np.asarray(np.add.reduceat(np.sum(moved, axis=0), starts))


def _grown(
    problem: Problem, seed: int, n_starts: int, stop: IntArray, *, greedy: float = 0.0
) -> Params:
    """Best of some starts, descended to the end."""
    polisher, best = Polisher.of(problem, ROUGH, stop), None
    for start in _starts(problem, seed, n_starts, stop, greedy=greedy):
        found = polisher.polish(start, stop)
        if best is None or found.better_than(best):
            best = found
        if stop[0] != 0 or problem.is_convex:
            break
    assert isinstance(best, Solution)
    for share in _EASED if problem.penalty.active else ():
        # Dense starts may lead to nothing where a tree of few variables is better.
        if best.params.penalised.any() or stop[0] != 0:
            break
        eased = replace(problem, penalty=problem.penalty.scaled(share))
        first = draw_start(eased, seed, 1, stop).params
        sparse = Polisher.of(eased, ROUGH, stop).polish(first, stop).params
        found = polisher.polish(sparse, stop)
        best = found if found.better_than(best) else best
    return IN_FOREST.solve(problem, best.params, stop=stop).params


def _starts(
    problem: Problem, seed: int, n_starts: int, stop: IntArray, *, greedy: float
) -> Iterator[Params]:
    """Starts of a seed, after greedy trees if these are to begin."""
    grown = Greedy.of(problem, greedy, _DRAWN, stop) if greedy else None
    if grown is not None:
        yield from map(grown.restriction.up, grown.deepest)
    for k in range(n_starts):
        # The second of two starts is annealed, which is dearer but leads lower.
        yield draw_start(problem, seed, 2 * (k // 2) + (k + 1) % 2, stop).params


def _relaxed(
    problem: Problem, params: Params, groups: IntArray, share: float, stop: IntArray
) -> Params:
    eased = replace(problem, penalty=problem.penalty.scaled(share))
    small = Restriction.of(eased, groups)
    found = IN_FOREST.solve(small.part, small.down(params), stop=stop)
    return small.up(found.params)
