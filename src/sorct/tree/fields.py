"""What a fitted tree consists of, and what can be read or counted off it at once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.quantity import Quantity
from sorct.data.target import Classes, unequal
from sorct.tree.calibration import Calibration
from sorct.tree.training import TrainingRecord

# Losses under which leaves say a median or quantile of their rows, and no mean.
_NO_MEANS = ("absolute", "quantile")
_ARRAYS = (
    "coef", "threshold", "leaf_class", "cost_matrix", "mass", "leaf_proba",
    "decision_cost", "routed", "leaf_value", "leaf_coef", "leaf_mean",
    "leaf_miss", "followed_at",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class TreeFields:
    """The fields of a ``Tree``, which describes them; arrays cannot be changed."""

    encoder: TableEncoder
    coef: FloatArray
    threshold: FloatArray
    leaf_class: IntArray
    target: Classes | Quantity
    gamma: float
    cost_matrix: FloatArray
    mass: FloatArray
    training: TrainingRecord = field(default_factory=TrainingRecord)
    leaf_proba: FloatArray | None = None
    decision_cost: FloatArray | None = None
    calibration: Calibration | None = None
    routed: FloatArray | None = None
    leaf_value: FloatArray | None = None
    leaf_coef: FloatArray | None = None
    leaf_mean: FloatArray | None = None
    leaf_miss: FloatArray | None = None
    followed_at: FloatArray | None = None

    def __post_init__(self) -> None:
        self._freeze()

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def _freeze(self) -> None:
        for name in _ARRAYS:
            if getattr(self, name) is not None:
                array = np.array(getattr(self, name))
                array.flags.writeable = False
                object.__setattr__(self, name, array)

    # -- shape -----------------------------------------------------------------------

    @property
    def n_branches(self) -> int:
        """Number of cuts."""
        return int(self.threshold.size)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaf_class.size)

    @property
    def depth(self) -> int:
        """Number of cuts on the way to a leaf."""
        return self.n_leaves.bit_length() - 1

    @property
    def n_columns(self) -> int:
        """Number of scaled columns."""
        return int(self.coef.shape[0])

    @property
    def classes(self) -> AnyArray:
        """Labels of the classes as they were given."""
        return self.class_target.labels

    @property
    def of_quantity(self) -> bool:
        """Whether the tree predicts a quantity, and no classes."""
        return isinstance(self.target, Quantity)

    @property
    def class_target(self) -> Classes:
        """What is predicted, where it is classes."""
        if isinstance(self.target, Quantity):
            raise TypeError(
                "Expected a tree of classes: this one predicts a quantity, which has "
                "no classes and no probabilities; use predict."
            )
        return self.target

    @property
    def quantity(self) -> Quantity:
        """What is predicted, where it is a quantity."""
        if not isinstance(self.target, Quantity):
            raise TypeError("Expected a tree of a quantity: this one predicts classes.")
        return self.target

    @property
    def leaf_kind(self) -> str:
        """What leaves of a quantity are: "constant" or "linear"."""
        return "constant" if self.leaf_coef is None else "linear"

    @property
    def tells_means(self) -> bool:
        """Whether people are told the means of rows in leaves.

        Linear leaves tell their sum, and leaves of medians or quantiles what they say.
        """
        return self.leaf_coef is None and self.training.loss not in _NO_MEANS

    @property
    def weights(self) -> FloatArray:
        """Coefficients of all cuts and, after them, slopes of all linear leaves."""
        if self.leaf_coef is None:
            return self.coef
        return np.hstack([self.coef, self.leaf_coef])

    @property
    def class_share(self) -> FloatArray:
        """Share of every class in the training sample."""
        return np.asarray(self.mass.sum(axis=1))

    @property
    def _supposed_share(self) -> FloatArray:
        """Share of every class that the probabilities suppose.

        Classes that were weighted in training have weighted shares, until probabilities
        are calibrated, by the rows' own weights.
        """
        factor = self.training.class_weight
        if factor is None or self.calibration is not None:
            return self.class_share
        weighted = self.class_share * np.array(factor)
        return np.asarray(weighted / weighted.sum())

    @property
    def has_unequal_costs(self) -> bool:
        """Whether some errors cost more than others."""
        return unequal(self.cost_matrix)

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the columns that some cut, or linear leaf, uses."""
        used = np.flatnonzero(self.weights.any(axis=1))
        return tuple(self.encoder.column_names[j] for j in used)

    @property
    def variables_used(self) -> tuple[str, ...]:
        """Names of the variables of the table that some cut, or linear leaf, uses."""
        return tuple(self.encoder.names[i] for i in self.variables_at())

    def variables_at(self, t: int | None = None) -> IntArray:
        """Positions of the variables that node t uses, or any if none is named."""
        used = self.weights.any(axis=1) if t is None else self.weights[:, t] != 0.0
        return np.unique(self.encoder.column_variable[used])

    @property
    def most_variables_per_cut(self) -> int:
        """Number of variables of the table in the cut, or leaf, that uses most."""
        return max(self.variables_at(t).size for t in range(self.weights.shape[1]))

    @property
    def local_sparsity(self) -> float:
        """The paper's delta^L: per cent of groups unused by a cut, mean over cuts.

        A group is a variable, or in the paper's reading of a table a column.
        """
        return 100.0 * float((self._group_sizes == 0.0).mean())

    @property
    def global_sparsity(self) -> float:
        """The paper's delta^G: per cent of groups unused by the whole tree."""
        return 100.0 * float((self._group_sizes == 0.0).all(axis=1).mean())

    @property
    def _group_sizes(self) -> FloatArray:
        """Largest coefficient of every group of columns in every cut."""
        starts = self.encoder.group_start[:-1]
        return np.asarray(np.maximum.reduceat(np.abs(self.weights), starts))

    @property
    def variables_cost(self) -> float | None:
        """What its variables cost to collect, None if no prices were given."""
        prices = self.training.feature_cost
        if prices is None:
            return None
        return float(sum(prices.get(name, 0.0) for name in self.variables_used))
