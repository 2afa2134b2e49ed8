"""Subtrees: fit a part of a tree to the samples that come by, the rest being fixed.

Given the cuts above it, a subtree is a smaller tree on fewer samples, and a single cut
between fixed subtrees is a question with two answers: for which samples is left the
cheaper side? Both are small problems of the same kind, solved by annealing. Samples
follow the more probable branch here, so that fitting below a node costs only as much as
the samples that reach it; joint polishing comes after.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.problem.constraints import MinRecall
from sorct.problem.datafit import ExpectedCost, Rows
from sorct.problem.penalty import Sparsity
from sorct.problem.problem import Problem
from sorct.search.annealing import anneal
from sorct.tree.params import Params
from sorct.tree.topology import Topology

# Samples that place the thresholds of random cuts.
_FEW_ROWS = 4096


def random_tree(problem: Problem, rng: np.random.Generator) -> Params:
    """Uniform coefficients; every cut halves its samples at a quantile of 20 to 80 %.

    A uniform threshold would leave most cuts with all samples on one side, where the
    gradient is zero.
    """
    p, topology = problem.cost.n_features, problem.topology
    coef = rng.uniform(-1.0, 1.0, (p, topology.n_branches))
    # A constant column has no gradient: its coefficients would stay as drawn.
    coef[problem.cost.spread == 0.0] = 0.0
    # Any labels that cover the classes: a descent begins by choosing the best.
    label = np.arange(topology.n_leaves) % problem.cost.n_classes
    params = Params(coef, np.zeros(topology.n_branches), label)
    return place(problem, params, range(topology.n_branches), rng)


def place(
    problem: Problem, params: Params, cuts: range | list[int], rng: np.random.Generator
) -> Params:
    """New thresholds for the cuts listed, parents first, at random quantiles."""
    rows = problem.cost.rows
    rows = rows.take(slice(None, None, -(-rows.weight.size // _FEW_ROWS)))
    threshold, p = params.threshold.copy(), problem.cost.n_features
    known: dict[int, BoolArray] = {}
    for t in cuts:
        inside = _reaches(rows, params.coef, threshold, t, known)
        weight = np.where(inside, rows.weight, 0.0)
        # A node that no sample reaches borrows all of them.
        weight = weight if weight.any() else rows.weight
        score = params.coef[:, t] @ rows.X
        at = _weighted_quantile(score, weight, rng.uniform(0.2, 0.8))
        threshold[t] = np.clip(at / p, -1.0, 1.0)
    return replace(params, threshold=threshold)


def _weighted_quantile(values: FloatArray, weight: FloatArray, at: float) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(total, at * total[-1])]])


def _reaches(
    rows: Rows,
    coef: FloatArray,
    threshold: FloatArray,
    t: int,
    known: dict[int, BoolArray],
) -> BoolArray:
    """Which rows come to node t when each follows the more probable branch.

    What is found on the way is kept in ``known``; cuts above must not change then.
    """
    if t == 0:
        return np.ones(rows.weight.size, dtype=np.bool_)
    if t not in known:
        parent = (t - 1) // 2
        above = _reaches(rows, coef, threshold, parent, known)
        left = coef[:, parent] @ rows.X > len(coef) * threshold[parent]
        known[2 * parent + 1], known[2 * parent + 2] = above & left, above & ~left
    return known[t]


def _part(problem: Problem, rows: Rows, depth: int) -> Problem | None:
    """Problem of a smaller tree on some rows; None if they are of one class."""
    classes, codes = np.unique(rows.codes, return_inverse=True)
    if classes.size < 2:
        return None
    cost_matrix = problem.cost.cost_matrix[np.ix_(classes, classes)]
    cost = ExpectedCost.from_rows(rows._replace(codes=codes), cost_matrix)
    floor = MinRecall(np.zeros(classes.size))
    return Problem(cost, Sparsity(), floor, Topology(depth), problem.gamma)


def _nodes_below(t: int, depth: int) -> list[int]:
    """Cuts of the subtree of a given depth at t, in the order of its own heap."""
    nodes = [t]
    for parent in range((1 << (depth - 1)) - 1):
        nodes += [2 * nodes[parent] + 1, 2 * nodes[parent] + 2]
    return nodes


def regrow(
    problem: Problem,
    params: Params,
    t: int,
    rng: np.random.Generator,
    stop: IntArray,
    depth: int | None = None,
) -> tuple[Params, int]:
    """Replace the subtree at t by one that is annealed on the samples that reach it.

    A depth below that of the subtree replaces its upper part alone.
    """
    if depth is None:
        depth = problem.topology.depth - (t + 1).bit_length() + 1
    rows = problem.cost.rows
    rows = rows.take(_reaches(rows, params.coef, params.threshold, t, {}))
    part = _part(problem, rows, depth)
    coef, threshold = params.coef.copy(), params.threshold.copy()
    nodes = _nodes_below(t, depth)
    if part is None:
        coef[:, nodes] = random_tree(problem, rng).coef[:, nodes]
        return place(problem, Params(coef, threshold, params.leaf_class), nodes, rng), 0
    grown, n_evaluations = anneal(part, random_tree(part, rng), stop)
    coef[:, nodes], threshold[nodes] = grown.coef, grown.threshold
    share = rows.weight.size / problem.cost.rows.weight.size
    return Params(coef, threshold, params.leaf_class), round(share * n_evaluations)


def grow(
    problem: Problem, rng: np.random.Generator, stop: IntArray
) -> tuple[Params, int]:
    """Grow a tree greedily, level by level: every cut alone, on its own samples."""
    params, n_evaluations = random_tree(problem, rng), 0
    for t in range(problem.topology.n_branches):
        params, spent = regrow(problem, params, t, rng, stop, depth=1)
        n_evaluations += spent
        if stop[0] != 0:
            break
    return params, n_evaluations


def refit_nodes(
    problem: Problem, params: Params, rng: np.random.Generator, stop: IntArray
) -> tuple[Params, int]:
    """Fit every cut to its fixed subtrees, from the bottom up (TAO).

    At one node only the samples matter whose cost differs between the two sides; the
    cut learns which side is the cheaper, samples weighted by the difference
    (Carreira-Perpinan and Tavallali, 2018). A cut that is no better stays as it was.
    """
    rows, n_branches = problem.cost.rows, problem.topology.n_branches
    coef, threshold = params.coef.copy(), params.threshold.copy()
    known: dict[int, BoolArray] = {}
    nodes = range(2 * n_branches + 1)
    reach = np.array([_reaches(rows, coef, threshold, t, known) for t in nodes])
    label = _labels(problem, rows, reach[n_branches:])
    value = np.empty(reach.shape)
    value[n_branches:] = problem.cost.cost_matrix[rows.codes][:, label].T
    n_evaluations, p = 0, problem.cost.n_features
    for t in reversed(range(n_branches)):
        if stop[0] != 0:
            break
        gain = value[2 * t + 1] - value[2 * t + 2]
        cares = reach[t] & (gain != 0.0)
        side = Rows(
            rows.X[:, cares],
            (gain[cares] > 0.0).astype(np.int64),
            rows.weight[cares] * np.abs(gain[cares]),
        )
        cut, spent = _fit_sides(problem, side, rng, stop)
        n_evaluations += round(spent * cares.mean())
        if cut is not None and _loss(side, *cut, p) < _loss(
            side, coef[:, t], threshold[t], p
        ):
            coef[:, t], threshold[t] = cut
        left = coef[:, t] @ rows.X > p * threshold[t]
        value[t] = np.where(left, value[2 * t + 1], value[2 * t + 2])
    return Params(coef, threshold, params.leaf_class), n_evaluations


def _labels(problem: Problem, rows: Rows, reach: BoolArray) -> IntArray:
    """Cheapest label of every leaf when all classes weigh the same.

    With the classes' own weights a common class would often own every leaf, and no
    sample would care where it goes.
    """
    weight = rows.weight / problem.cost.share[rows.codes]
    member = np.eye(problem.cost.n_classes)[:, rows.codes] * weight
    cost = (reach @ member.T) @ problem.cost.cost_matrix
    return np.asarray(np.argmin(cost, axis=1))


def _loss(side: Rows, coef: FloatArray, threshold: float, p: int) -> float:
    """Weight of the rows that a cut sends to their dearer side (code 0 is left)."""
    left = coef @ side.X > p * threshold
    return float(side.weight[left == (side.codes == 1)].sum())


def _fit_sides(
    problem: Problem, side: Rows, rng: np.random.Generator, stop: IntArray
) -> tuple[tuple[FloatArray, float] | None, int]:
    """Cut that sends code 0 left and code 1 right."""
    part = _part(problem, side, 1)
    if part is None:
        return None, 0
    fitted, n_evaluations = anneal(part, random_tree(part, rng), stop)
    coef, threshold = fitted.coef[:, 0], float(fitted.threshold[0])
    p = problem.cost.n_features
    if _loss(side, coef, threshold, p) > _loss(side, -coef, -threshold, p):
        coef, threshold = -coef, -threshold
    return (coef, threshold), n_evaluations
