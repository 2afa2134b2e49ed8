"""Decision: from probabilities of the classes to the class that is predicted.

Sums are formed class by class and not as a product of matrices, so that a row gets the
same result to the last bit whatever rows stand beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray

# Probabilities below this count as this where logarithms are taken.
_LEAST = 1e-300


def preferences(proba: FloatArray, decision_cost: FloatArray | None) -> FloatArray:
    """What speaks for predicting every class, shape (n_classes, n) as given.

    The probability or, with costs, minus the expected cost of predicting the class.
    """
    if decision_cost is None:
        return proba
    worth = np.zeros_like(proba)
    for k, costs in enumerate(decision_cost):
        for c in np.flatnonzero(costs):
            worth[c] -= costs[c] * proba[k]
    return worth


def predicted_codes(proba: FloatArray, decision_cost: FloatArray | None) -> IntArray:
    """Code of the class that is preferred, the first one where several are equal."""
    worth = preferences(proba, decision_cost)
    code = np.zeros(worth.shape[1], dtype=np.intp)
    largest = worth[0].copy()
    for k in range(1, len(worth)):
        code[worth[k] > largest] = k
        np.maximum(largest, worth[k], out=largest)
    return code


def decision_scores(proba: FloatArray, decision_cost: FloatArray | None) -> FloatArray:
    """Scores whose sign (two classes) or largest entry is the prediction.

    With two classes shape (n,): log-odds of the second class, moved by the logarithm of
    what the errors cost, so that rows with probabilities next to 0 or 1 keep their
    order. With more, shape (n, n_classes): ``preferences``.
    """
    if len(proba) > 2:
        return preferences(proba, decision_cost).T
    costs = np.array([1.0, 1.0])
    if decision_cost is not None:
        costs = np.array([decision_cost[0, 1], decision_cost[1, 0]])
        costs -= np.diag(decision_cost)
    logs = np.log(np.maximum(costs[:, np.newaxis] * proba, _LEAST))
    score = np.asarray(logs[1] - logs[0])
    # Rounding of the logarithms must not contradict the prediction.
    second = predicted_codes(proba, decision_cost) == 1
    score[second & (score <= 0.0)] = _LEAST
    score[~second & (score > 0.0)] = 0.0
    return score


def checked_priors(priors: Any, classes: AnyArray, n_samples: int) -> FloatArray:
    """Priors of the classes, for all samples or for each, that sum to 1."""
    try:
        if np.iscomplexobj(priors):
            raise TypeError("they are complex")
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"priors must be an array of numbers: {error!s:.300}."
        ) from error
    n_classes = len(classes)
    if given.shape not in ((n_classes,), (n_samples, n_classes)):
        raise ValueError(
            f"priors must have shape ({n_classes},) or ({n_samples}, {n_classes}), "
            f"one entry per class of {list(classes)}, got {given.shape}."
        )
    total = given.sum(axis=-1, keepdims=True)
    if not np.isfinite(given).all() or (given < 0).any() or (total <= 0).any():
        raise ValueError("priors must be finite, >= 0 and not all zero for a sample.")
    return np.asarray(given / total)
