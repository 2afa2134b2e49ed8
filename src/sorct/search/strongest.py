"""Strongest: the penalty from which on the best tree uses nothing.

A tree with fit f and penalty alpha n is better than the empty tree, of fit e, as long
as alpha < (e - f) / n. The strength that empties the tree is the largest such ratio
over all trees. A tree that is best at some strength has a ratio above it, and solving
again just below that ratio leads to a tree with a larger one (Dinkelbach's method for
fractions), until nothing is gained. Where the problem is convex, the ratio of small
trees is the slope at the empty tree, and known at once.

Starts with steep cuts seldom lead to a tree with a large ratio. But cuts of a steepness
can do whatever gentler ones do, with smaller coefficients in the same proportion: so
most trees begin with gentle cuts, and the best of them is taken further as steep as
asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sorct._typing import IntArray
from sorct.data.level_rows import column_sums
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction
from sorct.search.polish import AS_IT_IS, ROUGH, Polisher
from sorct.search.starts import draw_start, empty_tree
from sorct.solvers.descent import gradient_at
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

# Rounds, at most.
_ROUNDS = 8
# The next tree is solved for at this share of the ratio.
_BELOW = 0.7
# A round that raises the ratio by a smaller factor is the last.
_GAIN = 1.02
# A tree whose ratio after a round is below this share of the best so far is left.
_HOPE = 0.9
# Steepness per variable of the cuts with which most trees begin, if steeper ones are
# asked for: the second where the first leads to nothing.
_GENTLE = (1.0, 8.0)
# Trees that begin as steep as asked: only these find a class in a narrow band. Of a
# quantity all do: slopes of leaves stay as they are.
_STEEP_STARTS = 2
# Variables of which trees of a quantity are tried that use nothing else.
_ALONE = 4
# Starts of each of them.
_ALONE_STARTS = 2
# Shares of the ratio at which the next trees are solved for there.
_NEARER = (0.9, 0.98)


def emptying_strength(
    problem: Problem,
    seed: int,
    *,
    of_global: bool = False,
    stop: IntArray | None = None,
    n_starts: int = 4,
    begins: tuple[Params, ...] = (),
) -> float:
    """Strength from which on no tree beats the empty one, as far as could be found.

    It is ``alpha_local`` or, if ``of_global``, ``alpha_global``. 0 where no tree is
    better than the empty one even without penalties. Trees of ``n_starts`` starts
    without penalties are taken further, and the best of those to begin with.
    """
    stop = never() if stop is None else stop
    problem = problem.subsampled
    if problem.is_convex:
        empty, _ = empty_tree(problem)
        return problem.penalty.emptying_alpha(gradient_at(problem, empty)[:-1])
    gammas = [each * problem.n_groups for each in _GENTLE]
    gammas = [gamma for gamma in gammas if gamma < problem.gamma]
    if problem.of_quantity or not gammas:
        found = _best(problem, problem.gamma, seed, of_global, stop, n_starts).ratio
        alone = problem.of_quantity and problem.n_groups > 1
        return (
            max(found, _best_alone(problem, seed, of_global, stop)) if alone else found
        )
    for gamma in gammas:
        best = _best(problem, gamma, seed, of_global, stop, n_starts)
        if best.ratio > 0.0:
            best = _raised(problem, *best, of_global, stop)
            break
    steep = _best(problem, problem.gamma, seed, of_global, stop, _STEEP_STARTS)
    known = [_reached(problem, one, of_global, stop) for one in begins]
    if known:
        top = max(known, key=lambda one: one.ratio)
        known = [_raised(problem, *top, of_global, stop)]
    return max(one.ratio for one in (best, steep, *known))


def _best_alone(problem: Problem, seed: int, of_global: bool, stop: IntArray) -> float:
    """The largest ratio that trees of a single variable were found to have.

    Only what moves most with a quantity is looked at.
    """
    rows = problem.data.rows
    assert rows.response is not None
    own = rows.weight * rows.response
    moves = column_sums(rows.X, own)[0] - own.sum() * problem.data.centre
    worth = problem.penalty.per_price(np.abs(moves))
    found = 0.0
    for g in np.argsort(-worth, kind="stable")[:_ALONE]:
        part = Restriction.of(problem, np.array([g])).part
        best = _best(part, part.gamma, seed, of_global, stop, _ALONE_STARTS)
        for below in _NEARER:
            best = _raised(part, *best, of_global, stop, below=below)
        # Strengths multiply means over the groups, of which there is one.
        found = max(found, problem.n_groups * best.ratio)
    return found


class _Reached(NamedTuple):
    """A tree, and what it gains over the empty one per unit of penalty."""

    ratio: float
    params: Params


def _reached(
    problem: Problem, params: Params, of_global: bool, stop: IntArray
) -> _Reached:
    """A tree as it is."""
    found = AS_IT_IS.solve(problem, params, stop=stop)
    return _Reached(_ratio(problem, found, of_global), params)


def _best(
    problem: Problem,
    gamma: float,
    seed: int,
    of_global: bool,
    stop: IntArray,
    n_starts: int,
) -> _Reached:
    """The tree with the largest ratio that starts with cuts of a steepness lead to.

    It is told as one of the problem, whose cuts are steeper.
    """
    gentle, share = replace(problem, gamma=gamma), gamma / problem.gamma
    trees = _first_trees(gentle, seed, n_starts, stop)
    first = [_Reached(_ratio(gentle, one, of_global), one.params) for one in trees]
    best = _Reached(0.0, first[0].params)
    for one in sorted(first, key=lambda one: -one.ratio):
        raised = _raised(gentle, *one, of_global, stop, _HOPE * best.ratio)
        best = max(best, raised, key=lambda one: one.ratio)
    return _Reached(best.ratio / share, best.params.flattened(share))


def _first_trees(
    problem: Problem, seed: int, n_starts: int, stop: IntArray
) -> list[Solution]:
    """Trees of a few starts without penalties."""
    free = replace(problem, penalty=problem.penalty.scaled(0.0))
    polisher = Polisher.of(free, ROUGH, stop)
    return [
        polisher.polish(draw_start(free, seed, k, stop).params, stop)
        for k in range(n_starts)
    ]


def _raised(
    problem: Problem,
    ratio: float,
    params: Params,
    of_global: bool,
    stop: IntArray,
    hope: float = 0.0,
    below: float = _BELOW,
) -> _Reached:
    """The tree with the largest ratio that a tree of a known one leads to.

    After the first round nothing is hoped for from ratios below ``hope``.
    """
    best = _Reached(ratio, params)
    for n in range(_ROUNDS):
        if ratio <= (hope if n else 0.0) or stop[0] != 0:
            break
        under = _at(problem, below * ratio, of_global)
        found = ROUGH.solve(under, params, stop=stop)
        before, params = ratio, found.params
        ratio = max(ratio, _ratio(problem, found, of_global))
        if ratio > before:
            best = _Reached(ratio, params)
        if ratio < _GAIN * before:
            break
    return _Reached(max(best.ratio, 0.0), best.params)


def _at(problem: Problem, alpha: float, of_global: bool) -> Problem:
    return problem.at(Strengths(0.0, alpha) if of_global else Strengths(alpha, 0.0))


def _ratio(problem: Problem, found: Solution, of_global: bool) -> float:
    """What a tree gains over the empty one, per unit of penalty."""
    paid = _at(problem, 1.0, of_global).penalty.value_of(found.norms)
    return (problem.trivial_cost - found.cost) / paid if paid > 0.0 else 0.0
