"""Kinds: what is compared where classes are predicted, and where a quantity is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray
from sorct.data.quantity import Quantity, number_column
from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.checks import label_samples
from sorct.estimators.compare.measures import lacking
from sorct.estimators.compare.rivals import (
    Outcome,
    Plan,
    fit_baseline,
    fit_cart,
    fit_lasso,
    fit_logistic,
    fit_mean,
    fit_median,
    fit_ols,
    fit_tree,
)
from sorct.estimators.compare.verdict import AXIS, BASELINE, LINEAR, OBLIQUE
from sorct.estimators.rows import Data

if TYPE_CHECKING:
    import pandas as pd

_LASSO, _OLS = "LASSO", "OLS"
_AXIS_PARALLEL = "axis-parallel cuts"
_OURS_AXIS_PARALLEL = "axis-parallel cuts (one variable in every cut of sorct's trees)"

#: Fits one method to a fold.
Fit = Callable[[Data, Data, Plan], Outcome]


@dataclass(frozen=True)
class ComparedClasses:
    """CART, L1 logistic regression and our tree tell classes apart."""

    target: Classes
    of_quantity = False
    scoring = "accuracy"
    measures = ("accuracy", "log_loss", "auc")

    @classmethod
    def of(cls, y: AnyArray) -> ComparedClasses:
        """Learn the classes."""
        return cls(Classes.learn(y, np.ones(len(y))))

    @property
    def methods(self) -> dict[str, Fit]:
        """What is compared, by name."""
        return {AXIS: fit_cart, LINEAR: fit_logistic, OBLIQUE: fit_tree}

    @property
    def baselines(self) -> dict[str, Fit]:
        """What methods should be better than; the first is tested against."""
        return {BASELINE: fit_baseline}

    @property
    def usual(self) -> dict[str, Any]:
        """What our tree is told where nothing else was asked for."""
        return {"depths": (1, 2) if len(self.target) == 2 else None, "n_solutions": 20}

    def notes(self, parts: Sequence[tuple[Data, Data]]) -> tuple[str, ...]:
        """What has to be known of the measures."""
        return lacking(parts, len(self.target))

    def kinds(self, ours: pd.DataFrame) -> dict[str, str]:
        """What each method stands for; our tree may turn out to be of another kind."""
        oblique = "oblique cuts"
        if (ours["most_variables_per_cut"] <= 1).all():
            oblique = _OURS_AXIS_PARALLEL
        elif len(self.target) == 2 and (ours["cuts"] <= 1).all():
            oblique = "a linear rule (sorct's tree had a single cut in every fold)"
        return {AXIS: _AXIS_PARALLEL, LINEAR: "a linear rule", OBLIQUE: oblique}


@dataclass(frozen=True)
class ComparedQuantity:
    """CART, the LASSO, least squares and our tree predict a number."""

    target: Quantity
    of_quantity = True
    scoring = "r2"
    measures = ("r2", "rmse", "mae")

    @classmethod
    def of(cls, y: AnyArray) -> ComparedQuantity:
        """Measure the quantity."""
        if (y == y[0]).all():
            raise ValueError(
                f"y is {y[0]:g} in all rows; expected a quantity that varies."
            )
        return cls(Quantity.learn(y, np.ones(len(y))))

    @property
    def methods(self) -> dict[str, Fit]:
        """What is compared, by name."""
        return {AXIS: fit_cart, _LASSO: fit_lasso, _OLS: fit_ols, OBLIQUE: fit_tree}

    @property
    def baselines(self) -> dict[str, Fit]:
        """What methods should be better than; the first is tested against."""
        return {"mean": fit_mean, "median": fit_median}

    @property
    def usual(self) -> dict[str, Any]:
        """What our tree is told where nothing else was asked for."""
        return {}

    def notes(self, parts: Sequence[tuple[Data, Data]]) -> tuple[str, ...]:
        """What has to be known of the measures."""
        return ()

    def kinds(self, ours: pd.DataFrame) -> dict[str, str]:
        """What each method stands for; our tree may turn out to be of another kind."""
        oblique = "oblique cuts"
        if (ours["cuts"] == 0).all():
            oblique = "a sparse linear rule (sorct's tree had no cut in any fold)"
        elif (ours["most_variables_per_cut"] <= 1).all():
            oblique = _OURS_AXIS_PARALLEL
        return {
            AXIS: _AXIS_PARALLEL,
            _LASSO: "a sparse linear rule",
            _OLS: "a linear rule with all variables",
            OBLIQUE: oblique,
        }


def _labels(y: Any) -> AnyArray:
    """Labels; whoever has a quantity is told how to compare that."""
    try:
        return label_samples(y)
    except ValueError as error:
        if "continuous" not in str(error):
            raise
        raise ValueError(f"{error} Pass task='quantity' to predict numbers.") from error


#: What is read and compared, by the name of the task.
TASKS: dict[str, tuple[Callable[[Any], AnyArray], Any]] = {
    "classes": (_labels, ComparedClasses),
    "quantity": (number_column, ComparedQuantity),
}


def check_task(task: Any) -> None:
    """Refuse what is no task."""
    if not isinstance(task, str) or task not in TASKS:
        raise ValueError(f"task must be one of {tuple(TASKS)}, got {shown(task)}.")
