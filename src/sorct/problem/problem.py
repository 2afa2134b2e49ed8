"""Problem: everything that defines one training problem, checked and frozen.

It is the bundle that solvers get: samples, datafit, penalty, constraint, depth and
gamma. Compiled code sees it as a ``Subproblem`` and a tree as a ``Point``
(``subproblem.py``); the way there and back is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint, Floors
from sorct.problem.datafit import (
    LEARNED,
    PURE,
    RESIDUAL,
    Datafit,
    Entropy,
    ExpectedCost,
)
from sorct.problem.penalty import Penalty, Strengths
from sorct.problem.residual import SLOPE_UNIT, Residual, leaf_losses, with_values
from sorct.problem.subproblem import Point, Subproblem
from sorct.problem.thresholds import clip_thresholds
from sorct.tree.params import Params
from sorct.tree.topology import Topology

# Where a subproblem has no tilt.
_NO_TILT: FloatArray = np.zeros((0, 0))
# A leaf may leave a class so little that it is rounded to 0; its logarithm is finite.
_LEAST = float(np.finfo(np.float64).tiny)


class Idle(list[Any]):
    """Memory of solvers that nobody uses at the moment; it stays in its process."""

    def taken(self) -> Any:
        """Take something, or None; several threads may ask."""
        try:
            return self.pop()
        except IndexError:
            return None

    def __reduce__(self) -> tuple[type[Idle], tuple[()]]:
        return Idle, ()


@dataclass(frozen=True)
class Problem:
    """One S-ORCT training problem (paper, equations 1 to 6, with 8 as constraints).

    ``idle`` has what solvers laid out for it and use again: see ``Descent.begun``.
    """

    data: TrainingSet
    datafit: ExpectedCost | Residual
    penalty: Penalty
    constraint: Constraint
    topology: Topology
    gamma: float
    idle: Idle = field(default_factory=Idle, init=False, repr=False, compare=False)

    def at(self, strengths: Strengths) -> Problem:
        """The problem under other penalties."""
        penalty = self.penalty.at(strengths, self.n_penalised)
        return replace(self, penalty=penalty)

    def subproblem(
        self, multiplier: FloatArray | None = None, stiffness: float = 1.0
    ) -> Subproblem:
        """Compiled face of the problem."""
        floors = self._own.floors
        if multiplier is None:
            multiplier = floors.multiplier
        # Quicker than ``_replace``, and asked for in every round.
        return self._own._replace(
            floors=Floors(*floors[:-2], multiplier, float(stiffness))
        )

    def flattened(self, gamma: float) -> Subproblem:
        """Compiled face at another gamma, without penalties and floors.

        Classes are parted by the entropy in the leaves instead of their labels.
        """
        return self._flat._replace(slope=float(gamma) / self.n_groups)

    @cached_property
    def _own(self) -> Subproblem:
        """Compiled face without multipliers."""
        return self._face(self.datafit, self.penalty, self.constraint)

    @cached_property
    def _flat(self) -> Subproblem:
        none = Constraint.none(self.data.n_codes, self.datafit.n_labels)
        datafit = self.datafit if self.of_quantity else Entropy()
        return self._face(datafit, self.penalty.scaled(0.0), none)

    def _face(
        self, datafit: Datafit, penalty: Penalty, constraint: Constraint
    ) -> Subproblem:
        no_multiplier = np.zeros(self.data.n_codes)
        floors = constraint.floors(self.data.share, no_multiplier, 1.0)
        return Subproblem(
            datafit.rule,
            datafit.first,
            float(self.gamma) / self.n_groups,
            # Another layout would be another type, for which all is compiled anew.
            np.ascontiguousarray(datafit.table(self.data.n_codes)),
            self.data.centre,
            floors,
            penalty,
            datafit.pseudo(self.data.share),
            _NO_TILT,
            0.0,
            datafit.shape,
            datafit.unit,
        )

    @property
    def learns_leaves(self) -> bool:
        """Whether leaves learn distributions."""
        return self.datafit.rule == LEARNED

    @property
    def of_quantity(self) -> bool:
        """Whether a quantity is predicted: leaves have values."""
        return self.datafit.rule == RESIDUAL

    @property
    def costs(self) -> ExpectedCost:
        """The datafit, where classes are predicted."""
        assert isinstance(self.datafit, ExpectedCost)
        return self.datafit

    @property
    def has_slopes(self) -> bool:
        """Whether leaves are linear."""
        return self.datafit.linear

    @property
    def n_penalised(self) -> int:
        """Number of cuts and of leaves with slopes: what a mean over cuts is over."""
        n_slopes = self.topology.n_leaves if self.has_slopes else 0
        return self.topology.n_branches + n_slopes

    @property
    def is_convex(self) -> bool:
        """Whether every stationary tree is the best.

        That is so for one cut between pure leaves, and for a single linear leaf.
        """
        pure = self.datafit.rule == PURE and self.topology.depth == 1
        return pure or self.topology.depth == 0

    @property
    def n_groups(self) -> int:
        """Number of groups of columns: what the sum in a cut is divided by.

        Every group adds at most its largest coefficient to the sum, as only one level
        of a category is met, so that thresholds in [-1, 1] reach every sum.
        """
        return self.penalty.n_groups

    @property
    def trivial_cost(self) -> float:
        """Fit of the best tree that treats all samples alike."""
        if isinstance(self.datafit, Residual):
            rows = self.data.rows
            assert rows.response is not None
            return float(rows.weight @ self.datafit.loss(rows.response))
        return self.datafit.empty_value(self.data.share)

    def fit(self, params: Params, mass: FloatArray, loss: float) -> float:
        """Datafit of a tree whose masses and sum of -log V are known."""
        value = self.datafit.value(mass, params.leaf_class, loss)
        if self.of_quantity:
            ridge = self.datafit.pseudo(self.data.share)[0]
            return value + float(ridge * np.sum(self._logit(params) ** 2))
        if not self.learns_leaves or params.leaf_proba is None:
            return value
        share = self.data.share[:, np.newaxis]
        surprise = np.log(share / np.maximum(params.leaf_proba, _LEAST))
        return value + float(np.sum(self.datafit.pseudo(share) * surprise))

    @property
    def subsampled(self) -> Problem:
        """The problem on ``data.rows`` alone: itself, unless there are very many.

        Floors are raised, so that a tree that meets them on these rows is likely to do
        so on all.
        """
        data = self.data.subsampled
        if data is self.data:
            return self
        count = np.bincount(self.data.rows.codes, minlength=data.n_codes)
        return replace(self, data=data, constraint=self.constraint.raised(count))

    def fewer(self, n_rows: int) -> Problem:
        """The problem on some of its rows, if it has more than so many."""
        if self.data.blocks.n_rows <= n_rows:
            return self
        return replace(self, data=self.data.fewer(n_rows))

    def point(self, params: Params) -> Point:
        """Tree in the solver's variables (a copy), within its bounds, leaves in order.

        Whatever a search proposes, only such trees are solved.
        """
        if self.of_quantity:
            params = self.valued(params)
        coef, n_branches = self.penalty.clip(params.penalised), params.threshold.size
        cuts = np.zeros((len(coef) + 1, coef.shape[1]))
        cuts[:-1] = coef
        cuts[-1, :n_branches] = self.n_groups * params.threshold
        label = self.datafit.in_order(params.leaf_class).copy()
        return Point(cuts, label, self._logit(params))

    def fill_point(self, params: Params, point: Point) -> None:
        """Put a tree that ``params`` made into a point; its labels stay.

        Such a tree is within its bounds. Where leaves have labels alone, only the last
        digits of thresholds differ from those of the point that it was made from, for
        they are divided and multiplied on the way.
        """
        if self.learns_leaves or self.of_quantity:
            made = self.point(params)
            point.cuts[:], point.logit[:] = made.cuts, made.logit
            return
        point.cuts[:-1] = params.coef
        np.multiply(self.n_groups, params.threshold, out=point.cuts[-1])

    def valued(self, params: Params) -> Params:
        """The tree with values in its leaves: the best ones, where it has none."""
        if params.leaf_value is not None or not isinstance(self.datafit, Residual):
            return params
        return with_values(params, self.data, self.datafit, self.gamma, self.n_groups)

    def best_fit(self, params: Params, mass: FloatArray) -> float:
        """Fit of a tree when its leaves have what suits them best."""
        if self.of_quantity:
            return float(self.leaf_losses(replace(params, leaf_value=None), mass).sum())
        return self.costs.best_value(mass)

    def leaf_losses(self, params: Params, mass: FloatArray) -> FloatArray:
        """What every leaf adds to the fit."""
        if isinstance(self.datafit, Residual):
            known = self.data, self.datafit, self.gamma, self.n_groups
            return leaf_losses(self.valued(params), *known)
        return self.datafit.leaf_losses(mass, params.leaf_class)

    def _logit(self, params: Params) -> FloatArray:
        """Logits of the leaves (a copy), or their values if a quantity is predicted.

        The logits of a new tree say what the whole sample says.
        """
        if params.leaf_value is not None:
            value = params.leaf_value.copy()
            if params.leaf_coef is not None:
                value += SLOPE_UNIT * (self.data.centre @ params.leaf_coef)
            return value[np.newaxis]
        if not self.learns_leaves:
            return np.zeros((0, self.topology.n_leaves))
        if params.leaf_proba is not None:
            logit = np.log(np.maximum(params.leaf_proba, _LEAST))
            # Another layout would be another type, for which all is compiled anew.
            return np.ascontiguousarray(logit)
        share = np.log(self.data.share)[:, np.newaxis]
        return np.repeat(share, self.topology.n_leaves, axis=1)

    def params(self, point: Point) -> Params:
        """Tree in the model's variables (a copy)."""
        if isinstance(self.datafit, Residual):
            return self._params_of_quantity(point)
        threshold = clip_thresholds(point.threshold / self.n_groups)
        if not self.learns_leaves:
            return Params(point.coef.copy(), threshold, point.label.copy())
        raised = np.exp(point.logit - point.logit.max(axis=0))
        proba = raised / raised.sum(axis=0)
        label = self.datafit.leaf_labels(proba)
        return Params(point.coef.copy(), threshold, label, proba)

    def _params_of_quantity(self, point: Point) -> Params:
        """Cuts, values and slopes apart; values are for columns that are 0."""
        n_branches, value = self.topology.n_branches, point.logit[0].copy()
        threshold = clip_thresholds(point.threshold[:n_branches] / self.n_groups)
        coef, slopes = point.coef[:, :n_branches].copy(), None
        if self.has_slopes:
            slopes = point.coef[:, n_branches:].copy()
            value -= SLOPE_UNIT * (self.data.centre @ slopes)
        return Params(coef, threshold, point.label.copy(), None, value, slopes)
