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
from sorct.data.samples import Rows, TrainingSet
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import ExpectedCost
from sorct.problem.problem import Problem
from sorct.problem.residual import Residual
from sorct.problem.thresholds import clip_thresholds
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
    data, topology = problem.data, problem.topology
    coef = problem.penalty.draw_cuts(topology.n_branches, rng)
    # A constant column has no gradient: its coefficients would stay as drawn.
    coef[data.variance == 0.0] = 0.0
    # Any labels that cover the classes: a descent begins by choosing the best.
    label = np.arange(topology.n_leaves) % problem.datafit.n_labels
    params = Params(coef, np.zeros(topology.n_branches), label)
    return place(problem, params, range(topology.n_branches), rng)


def place(
    problem: Problem, params: Params, cuts: range | list[int], rng: np.random.Generator
) -> Params:
    """New thresholds for the cuts listed, parents first, at random quantiles."""
    rows = problem.data.rows
    if rows.weight.size > _FEW_ROWS:
        rows = rows.take(slice(None, None, -(-rows.weight.size // _FEW_ROWS)))
    threshold, p = params.threshold.copy(), problem.n_groups
    known: dict[int, BoolArray] = {}
    for t in cuts:
        inside = _reaches(problem, rows, params.coef, threshold, t, known)
        weight = np.where(inside, rows.weight, 0.0)
        # A node that no sample reaches is placed as if all samples reached it.
        weight = weight if weight.any() else rows.weight
        score = params.coef[:, t] @ rows.X
        at = _weighted_quantile(score, weight, rng.uniform(0.2, 0.8))
        threshold[t] = clip_thresholds(at / p)
    return replace(params, threshold=threshold)


def _weighted_quantile(values: FloatArray, weight: FloatArray, at: float) -> float:
    order = values.argsort(kind="stable")
    total = weight[order].cumsum()
    return float(values[order[total.searchsorted(at * total[-1])]])


def _reaches(
    problem: Problem,
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
        parent = problem.topology.parent(t)
        left, right = problem.topology.children(parent)
        above = _reaches(problem, rows, coef, threshold, parent, known)
        goes_left = _goes_left(
            rows, coef[:, parent], threshold[parent], problem.n_groups
        )
        known[left], known[right] = above & goes_left, above & ~goes_left
    return known[t]


def _part(problem: Problem, rows: Rows, depth: int) -> Problem | None:
    """Problem of a smaller tree on some rows; None if there is nothing to part."""
    if rows.response is not None:
        return _part_of_quantity(problem, rows, depth)
    classes, codes = np.unique(rows.codes, return_inverse=True)
    if classes.size < 2:
        return None
    # Sides of a cut in a tree of a quantity are two classes, of which none is dearer.
    costs = 1.0 - np.eye(2)
    if not isinstance(problem.datafit, Residual):
        costs = problem.datafit.cost_matrix[classes]
    datafit = ExpectedCost(costs)
    return Problem(
        TrainingSet.from_rows(rows._replace(codes=codes), classes.size),
        datafit,
        problem.penalty.scaled(0.0).with_cuts(Topology(depth).n_branches),
        Constraint.none(classes.size, datafit.n_labels),
        Topology(depth),
        problem.gamma,
    )


def _part_of_quantity(problem: Problem, rows: Rows, depth: int) -> Problem | None:
    """The same for a quantity; leaves are constant, for that is quicker to fit."""
    if rows.response is None or np.unique(rows.response).size < 2:
        return None
    assert isinstance(problem.datafit, Residual)
    return Problem(
        TrainingSet.from_rows(rows, 1),
        Residual(falling=problem.datafit.falling),
        problem.penalty.scaled(0.0).with_cuts(Topology(depth).n_branches),
        Constraint.none(1),
        Topology(depth),
        problem.gamma,
    )


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
        depth = problem.topology.height(t)
    rows = problem.data.rows
    rows = rows.take(_reaches(problem, rows, params.coef, params.threshold, t, {}))
    part = _part(problem, rows, depth)
    coef, threshold = params.coef.copy(), params.threshold.copy()
    nodes = problem.topology.nodes_below(t, depth)
    other = replace(params, coef=coef, threshold=threshold, leaf_proba=None)
    if part is None:
        coef[:, nodes] = random_tree(problem, rng).coef[:, nodes]
        return place(problem, other, nodes, rng), 0
    grown, n_evaluations = anneal(part, random_tree(part, rng), stop)
    coef[:, nodes], threshold[nodes] = grown.coef, grown.threshold
    share = rows.weight.size / problem.data.rows.weight.size
    return replace(other, leaf_value=None), round(share * n_evaluations)


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
    """Fit every cut to its fixed subtrees, from the bottom up.

    This is tree alternating optimisation (Carreira-Perpinan and Tavallali, 2018). At
    one node only the samples matter whose cost differs between the two sides; the cut
    learns which side is the cheaper, samples weighted by the difference. A cut that the
    fit does not improve stays as it was.
    """
    rows, topology = problem.data.rows, problem.topology
    coef, threshold = params.coef.copy(), params.threshold.copy()
    known: dict[int, BoolArray] = {}
    reach = np.array(
        [
            _reaches(problem, rows, coef, threshold, node, known)
            for node in range(topology.n_nodes)
        ]
    )
    value = np.empty(reach.shape)
    value[topology.n_branches :] = _costs(problem, rows, reach[topology.n_branches :])
    n_evaluations, p = 0, problem.n_groups
    for t in reversed(range(topology.n_branches)):
        if stop[0] != 0:
            break
        left, right = topology.children(t)
        gain = value[left] - value[right]
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
        goes_left = _goes_left(rows, coef[:, t], threshold[t], p)
        value[t] = np.where(goes_left, value[left], value[right])
    return Params(coef, threshold, params.leaf_class), n_evaluations


def _costs(problem: Problem, rows: Rows, reach: BoolArray) -> FloatArray:
    """What every row would cost in every leaf, (n_leaves, n)."""
    if not isinstance(problem.datafit, Residual):
        label = _labels(problem.datafit, problem.data, rows, reach)
        return problem.datafit.cost_matrix[rows.codes][:, label].T
    assert rows.response is not None
    # A leaf that no row comes to says what all rows say: 0 is the centre.
    total = np.maximum(reach @ rows.weight, 1e-12)
    mean = reach @ (rows.weight * rows.response) / total
    return problem.datafit.loss(rows.response - mean[:, np.newaxis])


def _labels(
    datafit: ExpectedCost, data: TrainingSet, rows: Rows, reach: BoolArray
) -> IntArray:
    """Cheapest label of every leaf when all classes weigh the same.

    With the classes' own weights a common class would often own every leaf, and no
    sample would care where it goes.
    """
    weight = rows.weight / data.share[rows.codes]
    member = np.eye(data.n_codes)[:, rows.codes] * weight
    cost = (reach @ member.T) @ datafit.cost_matrix
    return np.asarray(np.argmin(cost, axis=1))


def _goes_left(
    rows: Rows, coef: FloatArray, threshold: float, n_groups: int
) -> BoolArray:
    """Which rows a cut sends more probably to the left than to the right."""
    return np.asarray(coef @ rows.X > n_groups * threshold)


def _loss(side: Rows, coef: FloatArray, threshold: float, n_groups: int) -> float:
    """Weight of the rows that a cut sends to their dearer side (code 0 is left)."""
    left = _goes_left(side, coef, threshold, n_groups)
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
    mirrored = problem.penalty.clip(-fitted.coef)[:, 0]
    p = problem.n_groups
    if _loss(side, coef, threshold, p) > _loss(side, mirrored, -threshold, p):
        coef, threshold = mirrored, -threshold
    return (coef, threshold), n_evaluations
