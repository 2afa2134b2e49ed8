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
from sorct.solvers.descent import leaf_masses
from sorct.solvers.solution import Solution
from sorct.tree.params import Params
from sorct.tree.prune import leaf_kinds
from sorct.tree.topology import Topology

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
    params.coef[polisher.problem.data.variance == 0.0] = 0.0
    # Other cuts ask for other values of the leaves.
    return Start(kind, replace(params, leaf_value=None), n_evaluations)


def _kinds(polisher: Polisher, chain: Chain) -> list[str]:
    """Kinds that apply, repeated according to how often they should be drawn."""
    topology = polisher.problem.topology
    if topology.is_deep:
        kinds = ["redrawn", "shaken"] + 6 * ["regrown"]
    else:
        kinds = ["redrawn", "redrawn-tree", "shaken"]
    if topology.depth > 1 and chain.others:
        kinds += (4 if topology.is_deep else 3) * ["exchanged"]
    if polisher.problem.penalty.active:
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
    coef[chosen] = polisher.problem.penalty.draw(chosen, rng)
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
    coef[:, cuts] = polisher.problem.penalty.clip(coef[:, cuts] + noise)
    placed = [int(t) for t in cuts if rng.random() < 0.5]
    return place(polisher.problem, replace(params, coef=coef), placed, rng), 0


def _exchange(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, _stop: IntArray
) -> tuple[Params, int]:
    """A cut of another chain's tree, or a subtree of it in a deep tree."""
    params = chain.incumbent.params
    other = chain.others[rng.integers(len(chain.others))].params
    topology = polisher.problem.topology
    to, source = (int(rng.integers(topology.n_branches)) for _ in range(2))
    cuts, others = [to], [source]
    if topology.is_deep and rng.random() < 0.5:
        level = topology.level_nodes(topology.level(to))
        source = int(rng.integers(level.start, level.stop))
        cuts = topology.nodes_below(to, topology.height(to))
        others = topology.nodes_below(source, topology.height(source))
    coef, threshold = params.coef.copy(), params.threshold.copy()
    coef[:, cuts], threshold[cuts] = other.coef[:, others], other.threshold[others]
    return replace(params, coef=coef, threshold=threshold, leaf_proba=None), 0


def _regrow(
    polisher: Polisher, chain: Chain, rng: np.random.Generator, stop: IntArray
) -> tuple[Params, int]:
    """A subtree annealed anew, of a random height of at least two.

    Of the subtrees of that height, one is the likelier to be chosen the more its leaves
    cost. If the tree wastes leaves, though, every fourth time the subtree two levels
    above a wasted leaf is chosen: the cut just above cannot make use of the leaf alone.
    A new subtree that is worse than the old one is drawn again, up to three times:
    the descent of the whole tree that follows takes longer than that.
    """
    problem, incumbent = polisher.problem, chain.incumbent
    topology = problem.topology
    nodes = topology.level_nodes(int(rng.integers(topology.depth - 1)))
    loss = _losses(problem, incumbent).reshape(len(nodes), -1).sum(axis=1)
    t = nodes[int(rng.choice(len(nodes), p=loss / loss.sum()))]
    wasteful = wasted_cuts(incumbent)
    if wasteful and rng.random() < 0.25:
        t = topology.parent(wasteful[rng.integers(len(wasteful))])
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
    """Fit when every leaf has what suits it best."""
    return problem.best_fit(params, leaf_masses(problem, params))


def _losses(problem: Problem, solution: Solution) -> FloatArray:
    """What every leaf adds to the fit, and a little more so that none is ruled out.

    Losses of quantiles, rounded off, can be a little below 0.
    """
    loss = np.maximum(problem.leaf_losses(solution.params, solution.mass), 0.0)
    return np.asarray(loss + 0.1 * loss.mean() + 1e-12)


def wasted_cuts(solution: Solution) -> list[int]:
    """Lowest cuts whose two leaves have one label, or of which one is empty."""
    kinds, mass = leaf_kinds(solution.params), solution.mass.sum(axis=0)
    topology = Topology.of_branches(solution.params.threshold.size)
    little, found = _EMPTY / kinds.size, []
    for t in topology.level_nodes(topology.depth - 1):
        leaves = topology.leaves_below(t)
        alike = solution.params.leaf_proba is None and np.ptp(kinds[leaves]) == 0
        if alike or mass[leaves].min() < little:
            found.append(t)
    return found


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
