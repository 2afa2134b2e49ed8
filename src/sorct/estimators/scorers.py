"""Scorers: whether a scorer of scikit-learn can score these classes, on these folds.

Tried on the most frequent class, which costs nothing, before any model is fitted.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring, get_scorer_names

from sorct._typing import AnyArray
from sorct.data.wording import listed

# Scorers for what another of the same kind cannot score.
_INSTEAD = {"roc_auc": "roc_auc_ovr"}


def scorer_name(scoring: Any, default: str = "accuracy") -> str:
    """What scores are called; ``default`` where no scorer was named."""
    if scoring is None:
        return default
    return scoring if isinstance(scoring, str) else "score"


def in_words(name: str, score: float) -> tuple[str, float]:
    """A score as people tell it: minus the log-loss of -0.3 is a log-loss of 0.3."""
    for before in ("minus the ", "neg_"):
        if name.startswith(before):
            words = name.removeprefix(before).replace("_", " ")
            return words.replace("log loss", "log-loss"), 0.0 - score
    return name, score


def baseline(y_train: AnyArray) -> DummyClassifier:
    """Classifier that always answers with the shares of the classes in training."""
    return DummyClassifier(strategy="prior").fit(np.zeros((len(y_train), 1)), y_train)


def _baseline_score(scoring: Any, y_train: AnyArray, y_test: AnyArray) -> float:
    model = baseline(y_train)
    scorer = check_scoring(model, scoring)
    return float(scorer(model, np.zeros((len(y_test), 1)), y_test))


def check_scorer(scoring: Any, y_train: AnyArray, y_test: AnyArray) -> None:
    """Refuse a named scorer that cannot score such labels after such training."""
    if not isinstance(scoring, str) or scoring not in get_scorer_names():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            score = _baseline_score(scoring, y_train, y_test)
        except (TypeError, ValueError) as error:
            raise ValueError(_misfit(scoring, y_train, y_test, error)) from error
    check_score(scoring, score, y_test)


def check_score(scoring: Any, score: float, y_test: AnyArray) -> None:
    """Refuse a score that is no number."""
    if not np.isfinite(score):
        classes, counts = np.unique(y_test, return_counts=True)
        rows = ", ".join(
            f"{count} of class {label!r}"
            for label, count in zip(classes.tolist(), counts.tolist(), strict=True)
        )
        raise ValueError(
            f"The scorer {scorer_name(scoring)!r} gives {score} where the rows to "
            f"score are {rows}; use fewer folds, or a scorer that needs no class in "
            "every fold, such as accuracy."
        )


def _misfit(scoring: str, y_train: AnyArray, y_test: AnyArray, error: Exception) -> str:
    known, seen = np.unique(y_train).tolist(), np.unique(y_test).tolist()
    where = f"with the classes {listed(known, 5)}"
    if seen != known:
        where += f" in training and {listed(seen, 5)} to score"
    instead = _INSTEAD.get(scoring, f"{scoring}_macro")
    if instead not in get_scorer_names() or seen != known:
        instead = "balanced_accuracy or f1_macro"
    cause = str(error).splitlines()[0].rstrip(".")
    return (
        f"The scorer {scoring!r} does not work {where} ({cause}); use one that does, "
        f"such as {instead}."
    )
