"""Starts: where a descent begins.

A start is drawn from its own random stream, so start k is the same whatever the number
of starts. Plain starts are a random tree at the problem's gamma. Annealed starts first
descend at small gammas, where the objective has few hills, with equal weight on all
classes and without penalties: at a small gamma either would pull the tree to the one
that uses no feature. How flat they begin varies from start to start, because starts
that begin very flat tend to end in the same tree. The empty tree is the best tree
without features, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.link import quantile
from sorct.params import Params
from sorct.penalties import Sparsity
from sorct.problem import Problem
from sorct.solvers.descent import descend

# Samples that place the thresholds of a random tree.
_SAMPLE = 4096
_FIRST_GAMMA, _GAMMA_FACTOR = 8.0, 4.0
_ANNEAL_TOL, _ANNEAL_ITER, _ANNEAL_KINDS = 1e-3, 100, 3


@dataclass(frozen=True)
class Start:
    """A tree to begin with, how it was made, and what making it took."""

    kind: str
    params: Params
    n_evaluations: int


def draw_start(problem: Problem, seed: int, k: int, stop: IntArray) -> Start:
    """Start k of a seed: plain if k is even, annealed if it is odd."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))
    params = _random_cuts(problem, rng)
    gammas = _gamma_ladder(problem.gamma)[k // 2 % _ANNEAL_KINDS :]
    if k % 2 == 0 or not gammas:
        return Start("plain", params, 0)
    return _annealed(problem, params, gammas, stop)


def _random_cuts(problem: Problem, rng: np.random.Generator) -> Params:
    """Uniform coefficients; every cut halves its samples at a quantile of 20 to 80 %.

    A uniform threshold would leave most cuts with all samples on one side, where the
    gradient is zero.
    """
    p, topology = problem.cost.n_features, problem.topology
    coef = rng.uniform(-1.0, 1.0, (p, topology.n_branches))
    # A constant column has no gradient: its coefficients would stay as drawn.
    coef[problem.cost.spread == 0.0] = 0.0
    position = rng.uniform(0.2, 0.8, topology.n_branches)
    X, weight = problem.cost.some_samples(_SAMPLE)
    score = coef.T @ X
    inside = np.zeros((topology.n_branches + topology.n_leaves, weight.size))
    inside[0] = weight
    level = np.zeros(topology.n_branches)
    for t in range(topology.n_branches):
        # A node that no sample reaches borrows all of them.
        node_weight = inside[t] if inside[t].any() else weight
        level[t] = _weighted_quantile(score[t], node_weight, position[t])
        goes_left = score[t] > level[t]
        inside[2 * t + 1] = np.where(goes_left, inside[t], 0.0)
        inside[2 * t + 2] = np.where(goes_left, 0.0, inside[t])
    # Any labels that cover the classes: a descent begins by choosing the best.
    label = np.arange(topology.n_leaves) % problem.cost.n_classes
    return Params(coef, level / p, label)


def _weighted_quantile(values: FloatArray, weight: FloatArray, at: float) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(total, at * total[-1])]])


def _gamma_ladder(gamma: float) -> list[float]:
    """Gammas below the problem's, from flat to steep."""
    ladder = []
    while gamma > _FIRST_GAMMA * 1.001:
        gamma /= _GAMMA_FACTOR
        ladder.append(max(gamma, _FIRST_GAMMA))
    return ladder[::-1]


def _annealed(
    problem: Problem, params: Params, gammas: list[float], stop: IntArray
) -> Start:
    cost = problem.cost
    balance = cost.n_classes * cost.share[:, np.newaxis]
    balanced = replace(cost, cost_matrix=cost.cost_matrix / balance)
    flat = replace(problem, cost=balanced, penalty=Sparsity())
    point = problem.point(params)
    n_evaluations = 0
    for gamma in gammas:
        task = flat.task(gamma=gamma)
        progress = descend(cost.samples, task, point, _ANNEAL_TOL, _ANNEAL_ITER, stop)
        n_evaluations += progress.n_evaluations
    return Start("annealed", problem.params(point), n_evaluations)


def empty_tree(problem: Problem) -> tuple[Params, FloatArray]:
    """Best tree with all coefficients zero, and the multipliers that prove it.

    All samples then share one distribution over the leaves. The cheapest class gets
    all of it but what the floors on recall demand for the others.
    """
    cost, topology = problem.cost, problem.topology
    class_cost = cost.share @ cost.cost_matrix
    cheapest = int(np.argmin(class_cost))
    label = _labels_around(cheapest, cost.n_classes, topology.n_leaves)
    mass = problem.constraint.floor.copy()
    mass[cheapest] = max(1.0 - mass.sum() + mass[cheapest], 0.0)
    reach = np.zeros(topology.n_branches + topology.n_leaves)
    first_leaf = {int(k): int(np.argmax(label == k)) for k in np.unique(label)}
    for k, leaf in first_leaf.items():
        reach[topology.n_branches + leaf] = mass[k]
    for t in reversed(range(topology.n_branches)):
        reach[t] = reach[2 * t + 1] + reach[2 * t + 2]
    inner = reach[: topology.n_branches]
    left = reach[1 : 2 * topology.n_branches : 2]
    proba = np.divide(left, inner, out=np.ones_like(inner), where=inner > 0.0)
    threshold = np.clip(-quantile(proba) / problem.gamma, -1.0, 1.0)
    coef = np.zeros((cost.n_features, topology.n_branches))
    price = np.where(problem.constraint.floor > 0, class_cost - class_cost[cheapest], 0)
    return Params(coef, threshold, label), price


def _labels_around(cheapest: int, n_classes: int, n_leaves: int) -> IntArray:
    """Every other class owns one leaf at the right, the cheapest all the rest."""
    label = np.full(n_leaves, cheapest, dtype=np.int64)
    others = [k for k in range(n_classes) if k != cheapest]
    label[n_leaves - len(others) :] = others
    return label
