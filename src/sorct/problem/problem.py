"""Problem: everything that defines one training problem, and its compiled face.

``Problem`` is the frozen bundle that solvers get: expected cost, penalty, constraint,
depth and gamma. ``Task`` is the same as arrays and numbers for compiled code, with the
multipliers of the moment; ``evaluate`` and ``residual`` are what a first-order method
needs of it. ``Point`` is a tree in the solver's variables: level = n_features *
threshold, so that all variables have gradients of one size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside
from sorct.problem.constraints import MinRecall, fill_recall
from sorct.problem.datafit import ExpectedCost
from sorct.problem.kernels import Buffers, Samples, accumulate
from sorct.problem.labels import Labelling, best_labels
from sorct.problem.penalty import Sparsity, penalty_value
from sorct.problem.prox import prox_row
from sorct.tree.params import Params
from sorct.tree.topology import Topology

# Mass, as a share of a leaf's even part, that is spread over the classes of every leaf
# before logarithms are taken.
_LITTLE = 1e-3
# A tangent that has changed by less than this is the same.
_SAME_TANGENT = 1e-9


class Point(NamedTuple):
    """Cuts and labels in the solver's variables."""

    coef: FloatArray
    level: FloatArray
    leaf_class: IntArray


class Task(NamedTuple):
    """A problem for compiled code, with the multipliers of the moment.

    The samples go beside it: compiled functions that do not need them compile faster
    without. Where leaves are not labelled, every leaf is its own label: the cost matrix
    has a column per leaf, the tangent of the entropy, and floors do not apply.
    """

    cost_matrix: FloatArray
    share: FloatArray
    centre: FloatArray
    floor: FloatArray
    multiplier: FloatArray
    stiffness: float
    slope: float
    local: float
    spread: float
    labelled: bool


@dataclass(frozen=True)
class Problem:
    """One S-ORCT training problem (paper, equations 1 to 6, with 8 as constraints)."""

    cost: ExpectedCost
    penalty: Sparsity
    constraint: MinRecall
    topology: Topology
    gamma: float

    def task(
        self,
        multiplier: FloatArray | None = None,
        stiffness: float = 1.0,
        gamma: float | None = None,
    ) -> Task:
        """Compiled face of the problem, at another gamma if one is given."""
        p, n_branches = self.cost.n_features, self.topology.n_branches
        if multiplier is None:
            multiplier = np.zeros(self.cost.n_classes)
        return Task(
            self.cost.cost_matrix,
            self.cost.share,
            self.cost.centre,
            self.constraint.floor,
            multiplier,
            float(stiffness),
            float(self.gamma if gamma is None else gamma) / p,
            self.penalty.local_weight(p, n_branches),
            self.penalty.spread_weight(p),
            True,
        )

    def entropy_task(self, gamma: float) -> Task:
        """Task that lowers the entropy of the classes in the leaves, without penalties.

        The entropy -sum_kl M_kl log(M_kl / M_l) is concave in the masses M, so its
        tangent lies above it: what lowers the one lowers the other. The tangent is a
        cost matrix with a column per leaf, renewed where a labelled task renews labels.
        """
        n_classes, n_leaves = self.cost.n_classes, self.topology.n_leaves
        return self.task(gamma=gamma)._replace(
            cost_matrix=np.zeros((n_classes, n_leaves)),
            floor=np.zeros(n_classes),
            local=0.0,
            spread=0.0,
            labelled=False,
        )

    @property
    def thinned(self) -> Problem:
        """The problem on ``cost.rows`` alone: itself, unless there are very many.

        Floors on recall are raised by a standard error, so that a tree that meets them
        on these rows is likely to do so on all.
        """
        rows, floor = self.cost.rows, self.constraint.floor
        if rows.weight.size == np.count_nonzero(self.cost.samples.weight):
            return self
        count = np.bincount(rows.codes, minlength=floor.size)
        error = np.sqrt(floor * (1.0 - floor) / count)
        raised = np.minimum(floor + error, 0.5 * (1.0 + floor))
        cost = ExpectedCost.from_rows(rows, self.cost.cost_matrix)
        constraint = MinRecall(np.where(floor > 0.0, raised, 0.0))
        return replace(self, cost=cost, constraint=constraint)

    def point(self, params: Params) -> Point:
        """Tree in the solver's variables (a copy)."""
        coef = np.array(params.coef, dtype=np.float64, order="C")
        level = self.cost.n_features * params.threshold
        return Point(coef, level, params.leaf_class.copy())

    def params(self, point: Point) -> Params:
        """Tree in the model's variables (a copy)."""
        threshold = np.clip(point.level / self.cost.n_features, -1.0, 1.0)
        return Params(point.coef.copy(), threshold, point.leaf_class.copy())


@compiled_inside
def lagrangian(
    task: Task, mass: FloatArray, leaf_class: IntArray, pressure_out: FloatArray
) -> float:
    """Expected cost plus the constraints' terms; fills the pressure of every class."""
    value = 0.0
    for k in range(mass.shape[0]):
        pressure_out[k] = 0.0
        for leaf in range(leaf_class.size):
            value += task.cost_matrix[k, leaf_class[leaf]] * mass[k, leaf]
    if not task.labelled:
        return value
    fill_recall(mass, task.share, leaf_class, pressure_out)
    for k in range(mass.shape[0]):
        gap = task.floor[k] - pressure_out[k]
        # A class without a floor exerts no pressure: its recall is never below 0.
        pressure = max(0.0, task.multiplier[k] + task.stiffness * gap)
        value += (pressure**2 - task.multiplier[k] ** 2) / (2.0 * task.stiffness)
        pressure_out[k] = pressure
    return value


@compiled_inside
def _fill_payoffs(task: Task, leaf_class: IntArray, buffers: Buffers) -> None:
    """Derivatives with respect to every mass: of the cost, and of minus the recall."""
    n_classes = task.share.size
    for k in range(n_classes):
        for leaf in range(leaf_class.size):
            owned = leaf_class[leaf] == k
            buffers.payoff[k, leaf] = task.cost_matrix[k, leaf_class[leaf]]
            recall = -1.0 / task.share[k] if owned else 0.0
            buffers.payoff[n_classes + k, leaf] = recall


@compiled_inside
def _unforeseen(pressure: FloatArray, apart: IntArray) -> bool:
    """Whether a class is under pressure that was not computed apart."""
    for k in range(pressure.size):
        if pressure[k] > 0.0 and apart[k] == 0:
            return True
    return False


@compiled_inside
def _add_pressure(pressure: FloatArray, buffers: Buffers) -> None:
    """Add the recalls' gradients, each times the pressure of its class."""
    p, n_branches = buffers.grad_coef.shape
    for k in range(pressure.size):
        if pressure[k] > 0.0:
            for t in range(n_branches):
                buffers.grad_level[t] += pressure[k] * buffers.side[k, p, t]
                for j in range(p):
                    buffers.grad_coef[j, t] += pressure[k] * buffers.side[k, j, t]


@compiled_inside
def evaluate(
    samples: Samples,
    task: Task,
    point: Point,
    pressure: FloatArray,
    buffers: Buffers,
) -> float:
    """Penalised Lagrangian; fills mass, pressure and the smooth part's gradients.

    The pressure of a class is known after all masses. The gradient of its recall is
    therefore computed apart, for the classes that were under pressure the last time; a
    second pass is needed only if another one comes under pressure.
    """
    leaf_class, value, known = point.leaf_class, 0.0, False
    _fill_payoffs(task, leaf_class, buffers)
    while not known:
        for k in range(pressure.size):
            buffers.apart[k] = 1 if pressure[k] > 0.0 else 0
        accumulate(samples, point.coef, point.level, task.slope, True, buffers)
        value = lagrangian(task, buffers.mass, leaf_class, pressure)
        known = not _unforeseen(pressure, buffers.apart)
    _add_pressure(pressure, buffers)
    return value + penalty_value(point.coef, task.local, task.spread)


@compiled_apart
def residual(task: Task, point: Point, buffers: Buffers, row: FloatArray) -> float:
    """Length of the proximal gradient step in the largest coordinate.

    The step is n_features, so that coordinates are those of the weights a / p and the
    threshold mu as they enter a cut, and the number means the same for every p. It is
    zero exactly at the stationary points of the penalised problem in its box.
    """
    p, n_branches = point.coef.shape
    worst = 0.0
    for j in range(p):
        for t in range(n_branches):
            row[t] = point.coef[j, t] - p * buffers.grad_coef[j, t]
        prox_row(row, p * task.local, p * task.spread)
        for t in range(n_branches):
            worst = max(worst, abs(row[t] - point.coef[j, t]))
    for t in range(n_branches):
        moved = point.level[t] - p * buffers.grad_level[t]
        moved = min(max(moved, -1.0 * p), 1.0 * p)
        worst = max(worst, abs(moved - point.level[t]))
    return worst


@compiled_inside
def _renew_tangent(mass: FloatArray, cost_out: FloatArray) -> bool:
    """Fill the costs -log(share of the class in the leaf); tell whether any changed."""
    n_classes, n_leaves = mass.shape
    little, change = _LITTLE / n_leaves, 0.0
    for leaf in range(n_leaves):
        total = little
        for k in range(n_classes):
            total += mass[k, leaf]
        for k in range(n_classes):
            cost = math.log(total / (mass[k, leaf] + little / n_classes))
            change = max(change, abs(cost - cost_out[k, leaf]))
            cost_out[k, leaf] = cost
    return change > _SAME_TANGENT


@compiled_apart
def relabel(
    task: Task,
    point: Point,
    pressure: FloatArray,
    mass: FloatArray,
    labelling: Labelling,
) -> bool:
    """Give the leaves their best labels at fixed cuts; tell whether any changed.

    With floors the pressure of the moment prices the labels, and a change is kept only
    if the Lagrangian itself falls.
    """
    if not task.labelled:
        return _renew_tangent(mass, task.cost_matrix)
    leaf_class, cost = point.leaf_class, labelling.cost
    for leaf in range(leaf_class.size):
        for k in range(mass.shape[0]):
            cost[k, leaf] = 0.0
            for true in range(mass.shape[0]):
                cost[k, leaf] += task.cost_matrix[true, k] * mass[true, leaf]
            cost[k, leaf] -= pressure[k] * mass[k, leaf] / task.share[k]
    best_labels(labelling)
    label, trial = labelling.label, labelling.pressure
    now = lagrangian(task, mass, leaf_class, trial)
    if lagrangian(task, mass, label, trial) >= now - 1e-14:
        return False
    for leaf in range(leaf_class.size):
        leaf_class[leaf] = label[leaf]
    return True
