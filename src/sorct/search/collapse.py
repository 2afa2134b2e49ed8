"""Collapse: take away cuts that nobody who follows the rules by hand has a use for.

People go to the more probable side at every cut. A cut may be there only to sharpen the
one above it, or lead to a leaf that no row of training reaches that way: then all rows
that come to it by hand go to one side. Such a cut is emptied, if that changes no
prediction on a row of training, and the tree is solved again without it. Its objective
may be higher then, but never above that of the tree without variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.parts import OutOfTimeError, Sums, total
from sorct.data.samples import Samples
from sorct.problem.problem import Problem
from sorct.search.polish import Polisher, without_idle_cuts
from sorct.search.work import bounded
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Solution, Status
from sorct.tree.link import cdf
from sorct.tree.params import Params
from sorct.tree.topology import Topology

# Objectives that differ by less than this, relatively, are equal.
_ROUNDING = 1e-9


def collapsed(
    problem: Problem,
    solution: Solution,
    solver: AugmentedLagrangian,
    stop: IntArray | None = None,
) -> Solution:
    """The solution without such cuts; the same if there are none, or no time."""
    if problem.topology.depth == 1 or not solution.feasible or problem.of_quantity:
        return solution
    params = _without_one_sided(problem, solution.params)
    if params is solution.params:
        return solution
    solver, start = bounded(solver, problem), solution.multiplier
    try:
        found = solver.solve(problem, params, multiplier=start, stop=stop)
    except OutOfTimeError:
        return solution
    late = found.status is Status.TIME_LIMIT
    if late or not found.feasible or _is_useless(problem, found, solver):
        return solution
    return without_idle_cuts(problem, found)


def _without_one_sided(problem: Problem, params: Params) -> Params:
    """Empty all such cuts or, where that changes a prediction, as many as can be."""
    cuts = _one_sided(problem, params)
    # Two cuts that sharpen a third in opposite directions can only go together.
    every = params
    for t, side in cuts:
        every = _emptied(every, t, side)
    if not cuts or _same_predictions(problem, params, every):
        return every
    before = params
    for t, side in cuts:
        trial = _emptied(params, t, side)
        if _same_predictions(problem, before, trial):
            params = trial
    return params


def _is_useless(problem: Problem, found: Solution, solver: AugmentedLagrangian) -> bool:
    """Whether a tree is worse than the one without variables."""
    empty = Polisher.of(problem, solver).empty
    slack = _ROUNDING * max(abs(empty.objective), problem.trivial_cost)
    return empty.feasible and found.objective > empty.objective + slack


@dataclass(frozen=True)
class _Cuts:
    """The cuts of a tree, for rows that may lie on other machines."""

    params: Params
    topology: Topology
    gamma: float
    n_groups: int

    @classmethod
    def of(cls, problem: Problem, params: Params) -> _Cuts:
        return cls(params, problem.topology, problem.gamma, problem.n_groups)

    def scores(self, samples: Samples) -> FloatArray:
        """Scores of the cuts for some rows, (n_branches, n)."""
        params = self.params
        threshold = params.threshold[:, np.newaxis]
        parts = [
            params.coef.T @ samples.block(b)[0] / self.n_groups - threshold
            for b in range(samples.n_blocks)
        ]
        return self.gamma * np.hstack(parts)[:, : samples.n_rows]

    def predicted(self, samples: Samples, n_labels: int) -> IntArray:
        """Most probable class of every row."""
        topology, leaf = self.topology, self.params.leaf_proba
        reach = topology.reach(cdf(self.scores(samples)))[topology.n_branches :]
        if leaf is None:
            leaf = np.eye(n_labels)[self.params.leaf_class].T
        return np.asarray(np.argmax(leaf @ reach, axis=0))


@dataclass(frozen=True)
class _CountSides:
    """How many rows that come to a cut by hand go to each side."""

    cuts: _Cuts

    def __call__(self, samples: Samples) -> Sums:
        goes_left, topology = self.cuts.scores(samples) > 0.0, self.cuts.topology
        comes = _comes(topology, goes_left)[: topology.n_branches]
        left = (comes & goes_left).sum(axis=1)
        return Sums(left=left, right=comes.sum(axis=1) - left)


@dataclass(frozen=True)
class _CountChanged:
    """How many rows two trees predict different classes for."""

    one: _Cuts
    two: _Cuts
    n_labels: int

    def __call__(self, samples: Samples) -> Sums:
        before = self.one.predicted(samples, self.n_labels)
        after = self.two.predicted(samples, self.n_labels)
        return Sums(changed=np.count_nonzero(before != after, keepdims=True))


def _same_predictions(problem: Problem, one: Params, two: Params) -> bool:
    cuts = _Cuts.of(problem, one), _Cuts.of(problem, two)
    question = _CountChanged(*cuts, problem.datafit.n_labels)
    return int(total(problem.data.all_rows, question)["changed"][0]) == 0


def _one_sided(problem: Problem, params: Params) -> list[tuple[int, bool]]:
    """Cuts with columns at which all rows that come by hand go one way, and which."""
    question = _CountSides(_Cuts.of(problem, params))
    sums = total(problem.data.all_rows, question)
    left, right = sums["left"], sums["right"]
    used = params.coef.any(axis=0) & ((left > 0) != (right > 0))
    return [(int(t), bool(left[t] > 0)) for t in np.flatnonzero(used)]


def _comes(topology: Topology, goes_left: BoolArray) -> BoolArray:
    """Which rows come to which cut by hand."""
    comes = np.ones((topology.n_nodes, goes_left.shape[1]), dtype=np.bool_)
    for t in range(topology.n_branches):
        yes, no = topology.children(t)
        comes[yes] = comes[t] & goes_left[t]
        comes[no] = comes[t] & ~goes_left[t]
    return comes


def _emptied(params: Params, t: int, side: bool) -> Params:
    """The tree with cut t sending everything to one side."""
    coef, threshold = params.coef.copy(), params.threshold.copy()
    coef[:, t], threshold[t] = 0.0, -1.0 if side else 1.0
    return replace(params, coef=coef, threshold=threshold)
