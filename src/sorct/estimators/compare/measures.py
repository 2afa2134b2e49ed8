"""Measures: how good a fitted method is on rows that it has not seen.

Accuracy, log-loss and AUC of classes, R² and errors of a quantity. They stand beside
the score by which methods are chosen and judged, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sorct._typing import AnyArray, FloatArray

if TYPE_CHECKING:
    from sorct.estimators.rows import Data

#: A probability counts as at least this much in the log-loss: methods may say 0.
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Measures:
    """How good predictions and probabilities are.

    Attributes
    ----------
    accuracy : float
    log_loss : float
        Mean of minus the log of what was said of the true class.
    auc : float
        Area under the ROC curve; of several classes the mean of every class against
        the rest. Classes that the rows lack are left out; NaN if all are of one class.
    """

    accuracy: float
    log_loss: float
    auc: float

    @classmethod
    def of(cls, model: Any, X: Any, y: AnyArray) -> Measures:
        """Ask a fitted classifier about rows; its probabilities are taken as said."""
        classes, proba = model.classes_, np.asarray(model.predict_proba(X))
        accuracy = float(np.mean(np.asarray(model.predict(X)) == y))
        return cls(accuracy, log_loss(classes, proba, y), auc(classes, proba, y))


def log_loss(classes: AnyArray, proba: FloatArray, y: AnyArray) -> float:
    """Log-loss with probabilities clipped; a class never trained on has none."""
    said = np.where(y[:, np.newaxis] == classes, proba, 0.0).sum(axis=1)
    return float(-np.log(np.clip(said, LEAST_PROBABILITY, 1.0)).mean())


def auc(classes: AnyArray, proba: FloatArray, y: AnyArray) -> float:
    """AUC of the second of two classes, or the mean over classes against the rest."""
    if np.unique(y).size < 2:
        return np.nan
    wanted = [1] if len(classes) == 2 else range(len(classes))
    member = y[:, np.newaxis] == classes
    areas = [
        roc_auc_score(member[:, k], proba[:, k])
        for k in wanted
        if 0 < member[:, k].sum() < len(y)
    ]
    return float(np.mean(areas)) if areas else np.nan


def lacking(parts: Sequence[tuple[Data, Data]], n_classes: int) -> tuple[str, ...]:
    """What has to be said of folds that lack classes."""
    n_scored = [np.unique(test.y).size for _, test in parts]
    n_known = [np.intersect1d(train.y, test.y).size for train, test in parts]
    none = sum(n == 1 for n in n_scored)
    some = sum(n < n_classes for n in n_known) - none
    notes = []
    if some:
        notes.append(
            f"In {some} of {len(parts)} folds a class is missing from the rows to "
            "train on or to score: AUC is there the mean over the others."
        )
    if none:
        notes.append(
            f"In {none} of {len(parts)} folds all rows to score are of one class: they "
            "have no AUC."
        )
    return tuple(notes)
