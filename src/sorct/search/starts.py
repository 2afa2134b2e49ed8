"""Starts: where a descent begins.

A start is drawn from its own random stream, so start k is the same whatever the number
of starts. Plain starts are a random tree at the problem's gamma, annealed ones begin
flat; how flat varies from start to start, because starts that begin very flat tend to
end in the same tree. Grown starts are built greedily from the root down, node-wise ones
by fitting one cut at a time to fixed subtrees. The empty tree is the best tree without
features, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.constraints import Constraint
from sorct.problem.problem import Problem
from sorct.problem.thresholds import clip_thresholds
from sorct.search.annealing import anneal
from sorct.search.subtrees import grow, random_tree, refit_nodes
from sorct.tree.link import quantile
from sorct.tree.params import Params
from sorct.tree.topology import Topology

# Ways to begin annealing: flat, less flat, hardly flat.
_ANNEAL_KINDS = 3


@dataclass(frozen=True)
class Start:
    """A tree to begin with, how it was made, and what making it took."""

    kind: str
    params: Params
    n_evaluations: int


def draw_start(problem: Problem, seed: int, k: int, stop: IntArray) -> Start:
    """Start k of a seed: plain if k is even, annealed if it is odd."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))
    return make_start(problem, ("plain", "annealed")[k % 2], k // 2, rng, stop)


def make_start(
    problem: Problem, kind: str, k: int, rng: np.random.Generator, stop: IntArray
) -> Start:
    """Draw a start of a kind; k picks how flat an annealed one begins."""
    if kind == "grown":
        return Start(kind, *grow(problem, rng, stop))
    params, n_evaluations = random_tree(problem, rng), 0
    if kind == "annealed":
        skip = 0 if problem.topology.is_deep else k % _ANNEAL_KINDS
        params, n_evaluations = anneal(problem, params, stop, skip)
    elif kind == "node-wise":
        params, n_evaluations = refit_nodes(problem, params, rng, stop)
    return Start(kind, params, n_evaluations)


def empty_tree(problem: Problem) -> tuple[Params, FloatArray]:
    """Best tree with all coefficients zero, and the multipliers that prove it.

    All samples then share one distribution over the labels, the cheapest that the
    constraint allows; every label gets its mass in one leaf.
    """
    data, topology = problem.data, problem.topology
    if problem.of_quantity:
        return _empty_of_quantity(problem), np.zeros(1)
    cost = problem.costs.label_cost(data.share)
    label = _labels_around(int(np.argmin(cost)), cost.size, topology.n_leaves)
    label = problem.datafit.in_order(label)
    mass, multiplier = _label_masses(problem.constraint, cost)
    share = problem.costs.empty_labels(data.share)
    mass = mass if share is None else share
    leaf_mass = np.zeros(topology.n_leaves)
    first_leaf = {int(k): int(np.argmax(label == k)) for k in np.unique(label)}
    for k, leaf in first_leaf.items():
        leaf_mass[leaf] = mass[k]
    proba = _turning_left(topology, leaf_mass)
    threshold = clip_thresholds(-quantile(proba) / problem.gamma)
    coef = np.zeros((data.n_columns, topology.n_branches))
    if not problem.learns_leaves:
        return Params(coef, threshold, label), multiplier
    proba = np.repeat(data.share[:, np.newaxis], topology.n_leaves, axis=1)
    return Params(coef, threshold, label, proba), multiplier


def _empty_of_quantity(problem: Problem) -> Params:
    """Every leaf has the best value of all samples, which is 0 after centring."""
    topology, p = problem.topology, problem.data.n_columns
    n_branches, n_leaves = topology.n_branches, topology.n_leaves
    return Params(
        np.zeros((p, n_branches)),
        np.zeros(n_branches),
        np.zeros(n_leaves, dtype=np.int64),
        leaf_value=np.zeros(n_leaves),
        leaf_coef=np.zeros((p, n_leaves)) if problem.has_slopes else None,
    )


def _label_masses(
    constraint: Constraint, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Cheapest distribution over the labels, and the multipliers of the floors.

    With floors on recall the cheapest label gets all but what the others' floors
    demand; else it is a small linear program. Where no distribution meets the floors,
    the cheapest label gets everything.
    """
    floor, cheapest = constraint.floor, int(np.argmin(cost))
    if constraint.on_recall:
        mass = floor.copy()
        mass[cheapest] = max(1.0 - mass.sum() + mass[cheapest], 0.0)
        return mass, np.where(floor > 0, cost - cost[cheapest], 0)
    demanded = floor > constraint.reward.min(axis=1)
    mass, multiplier = np.eye(cost.size)[cheapest], np.zeros(floor.size)
    if demanded.any():
        # Few need it, and importing it takes long.
        from scipy.optimize import linprog

        solved = linprog(
            cost,
            A_ub=-constraint.reward[demanded],
            b_ub=-floor[demanded],
            A_eq=np.ones((1, cost.size)),
            b_eq=[1.0],
        )
        if solved.success:
            mass, multiplier[demanded] = solved.x, -solved.ineqlin.marginals
    return mass, multiplier


def _turning_left(topology: Topology, leaf_mass: FloatArray) -> FloatArray:
    """Probability of going left at every cut that brings each leaf its mass."""
    reach = np.append(np.zeros(topology.n_branches), leaf_mass)
    proba = np.ones(topology.n_branches)
    for t in reversed(range(topology.n_branches)):
        left, right = topology.children(t)
        reach[t] = reach[left] + reach[right]
        if reach[t] > 0.0:
            proba[t] = reach[left] / reach[t]
    return proba


def _labels_around(cheapest: int, n_labels: int, n_leaves: int) -> IntArray:
    """Every other label owns one leaf at the right, the cheapest all the rest."""
    label = np.full(n_leaves, cheapest, dtype=np.int64)
    others = [k for k in range(n_labels) if k != cheapest]
    label[n_leaves - len(others) :] = others
    return label
