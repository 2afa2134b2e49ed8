"""Moves: other trees near a good one, from which a descent may end lower.

A move changes a part of the incumbent, large enough to leave its optimum and small
enough to keep what is good about it. Which kinds help was measured
(docs/design/0005-search.md): half of the moves take a cut from another chain's tree,
since trees that differ tend to be good in different places (where there is more than
one cut; in deep trees it is a third, and subtrees are exchanged as well).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.problem.problem import Problem
from sorct.search.polish import Polisher
from sorct.search.starts import Start
from sorct.search.subtrees import place, regrow
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

# A leaf with less than this share of its even part of the sample counts as empty.
_EMPTY = 0.05
# Subtrees drawn at most before one is good enough.
_TRIES = 3


@dataclass(frozen=True)
class Chain:
    """What a move may draw on: the incumbent, and those of the other chains."""

    incumbent: Solution
    others: tuple[Solution, ...]


def move(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, stop: IntArray
) -> Start:
    """Draw a move of the incumbent."""
    kinds = _kinds(polisher, chain)
    kind = kinds[rng.integers(len(kinds))]
    params, n_evaluations = _MOVES[kind](polisher, chain, rng, stop)
    params.coef[polisher.problem.cost.spread == 0.0] = 0.0
    return Start(kind, params, n_evaluations)


def _kinds(polisher: Polisher, chain: Chain) -> list[str]:
    """Kinds that apply, repeated according to how often they should be drawn."""
    depth, penalty = polisher.problem.topology.depth, polisher.problem.penalty
    if depth > 2:
        kinds = ["redrawn", "shaken"] + 6 * ["regrown"]
    else:
        kinds = ["redrawn", "redrawn-tree", "shaken"]
    if depth > 1 and chain.others:
        kinds += 4 * ["exchanged"] if depth > 2 else 3 * ["exchanged"]
    if penalty.alpha_local > 0.0 or penalty.alpha_global > 0.0:
        kinds += ["eased"]
    return kinds


def _redraw(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, _stop: IntArray
) -> tuple[Params, int]:
    """New coefficients for 10 to 60 % of the columns of one cut."""
    params = chain.incumbent.params
    t = int(rng.integers(params.threshold.size))
    chosen = np.zeros(params.coef.shape, dtype=np.bool_)
    chosen[:, t] = rng.random(len(params.coef)) < rng.uniform(0.1, 0.6)
    chosen[rng.integers(len(params.coef)), t] = True
    return _with_new(polisher, params, chosen, [t] if rng.random() < 0.7 else [], rng)


def _redraw_tree(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, _stop: IntArray
) -> tuple[Params, int]:
    """New values for 5 to 40 % of all coefficients."""
    params = chain.incumbent.params
    chosen = rng.random(params.coef.shape) < rng.uniform(0.05, 0.4)
    moved = [int(t) for t in np.flatnonzero(chosen.any(axis=0)) if rng.random() < 0.5]
    return _with_new(polisher, params, chosen, moved, rng)


def _with_new(
    polisher: Polisher,
    params: Params,
    chosen: BoolArray,
    placed: list[int],
    rng: np.random.Generator,
) -> tuple[Params, int]:
    coef = params.coef.copy()
    coef[chosen] = rng.uniform(-1.0, 1.0, np.count_nonzero(chosen))
    return place(polisher.problem, replace(params, coef=coef), placed, rng), 0


def _shake(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, _stop: IntArray
) -> tuple[Params, int]:
    """Noise on all coefficients of one cut, or of all."""
    params = chain.incumbent.params
    n_branches = params.threshold.size
    size = np.exp(rng.uniform(np.log(0.03), np.log(0.6)))
    cuts = np.arange(n_branches)
    if rng.random() < 0.5:
        cuts = rng.integers(n_branches, size=1)
    coef = params.coef.copy()
    noise = rng.normal(0.0, size, (len(coef), cuts.size))
    coef[:, cuts] = np.clip(coef[:, cuts] + noise, -1.0, 1.0)
    placed = [int(t) for t in cuts if rng.random() < 0.5]
    return place(polisher.problem, replace(params, coef=coef), placed, rng), 0


def _exchange(
    _polisher: Polisher, chain: Chain, rng: np.random.Generator, _stop: IntArray
) -> tuple[Params, int]:
    """A cut of another chain's tree, or a subtree of it in a deep tree."""
    params = chain.incumbent.params
    other = chain.others[rng.integers(len(chain.others))].params
    n_branches = params.threshold.size
    to, source = [int(rng.integers(n_branches))], [int(rng.integers(n_branches))]
    if n_branches > 3 and rng.random() < 0.5:
        level = (to[0] + 1).bit_length() - 1
        source = [int(rng.integers((1 << level) - 1, (2 << level) - 1))]
        for t, u in zip(to, source, strict=True):
            if 2 * t + 2 < n_branches:
                to += [2 * t + 1, 2 * t + 2]
                source += [2 * u + 1, 2 * u + 2]
    coef, threshold = params.coef.copy(), params.threshold.copy()
    coef[:, to], threshold[to] = other.coef[:, source], other.threshold[source]
    return Params(coef, threshold, params.leaf_class), 0


def _regrow(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, stop: IntArray
) -> tuple[Params, int]:
    """A subtree annealed anew: of any height but one, rather where much is lost.

    A subtree that is worse than the old one is drawn again before the whole tree
    descends, which is dearer.

    Every fourth time one that wastes a leaf, if any: it is grown from above the leaf's
    parent, which alone could make no use of it.
    """
    problem, incumbent = polisher.problem, chain.incumbent
    level = int(rng.integers(problem.topology.depth - 1))
    loss = _losses(problem, incumbent).reshape(1 << level, -1).sum(axis=1)
    t = (1 << level) - 1 + int(rng.choice(1 << level, p=loss / loss.sum()))
    wasteful = wasted_cuts(incumbent)
    if wasteful and rng.random() < 0.25:
        t = (wasteful[rng.integers(len(wasteful))] - 1) // 2
    best, least, spent = incumbent.params, np.inf, 0
    for _ in range(_TRIES):
        params, n_evaluations = regrow(problem, incumbent.params, t, rng, stop)
        cost = _cost(problem, params)
        spent += n_evaluations + 1
        if cost < least:
            best, least = params, cost
        if cost < incumbent.cost or stop[0] != 0:
            break
    return best, spent


def _cost(problem: Problem, params: Params) -> float:
    """Expected cost when every leaf has the label that suits it best."""
    mass = problem.cost.mass(params, problem.gamma)
    return float((mass.T @ problem.cost.cost_matrix).min(axis=1).sum())


def _losses(problem: Problem, solution: Solution) -> FloatArray:
    """Expected cost in every leaf, and a little more so that none is ruled out."""
    paid = problem.cost.cost_matrix[:, solution.params.leaf_class] * solution.mass
    loss = paid.sum(axis=0)
    return np.asarray(loss + 0.1 * loss.mean() + 1e-12)


def wasted_cuts(solution: Solution) -> list[int]:
    """Lowest cuts whose two leaves have one label, or of which one is empty."""
    label, n_branches = solution.params.leaf_class, solution.params.threshold.size
    little = _EMPTY / label.size
    mass = solution.mass.sum(axis=0)
    return [
        n_branches // 2 + i
        for i in range(label.size // 2)
        if label[2 * i] == label[2 * i + 1] or mass[2 * i : 2 * i + 2].min() < little
    ]


def _ease(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, stop: IntArray
) -> tuple[Params, int]:
    """The tree of neighbouring alphas: a quarter or four times the penalties."""
    share = (0.25, 4.0)[rng.integers(2)]
    eased = polisher.ease(chain.incumbent.params, share, stop)
    return eased.params, eased.n_evaluations


_MOVES = {
    "redrawn": _redraw,
    "redrawn-tree": _redraw_tree,
    "shaken": _shake,
    "exchanged": _exchange,
    "regrown": _regrow,
    "eased": _ease,
}
