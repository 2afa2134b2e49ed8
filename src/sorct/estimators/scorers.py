"""Scorers: those where none is named, and whether one of scikit-learn will do.

The latter is tried on the most frequent class, which costs nothing, before any model
is fitted.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring, get_scorer_names

from sorct._typing import AnyArray, FloatArray
from sorct.data.table import Table
from sorct.data.target import Classes, unequal
from sorct.data.wording import listed, not_there, shown
from sorct.tree.tree import Tree

#: Probabilities below this count as this in a log-loss.
LEAST_PROBA = 1e-6
#: Prefix of the names of losses, which are turned round to be scores.
MINUS = "minus the "
# How parts of the names of scorers are said.
_SAID = {"log loss": "log-loss", "roc auc": "ROC AUC", "brier": "Brier"}
# What to suggest where a scorer takes two classes alone.
_INSTEAD = {"roc_auc": "roc_auc_ovr"}


def scorer_name(scoring: Any, default: str = "accuracy") -> str:
    """What scores are called; ``default`` where no scorer was named."""
    if scoring is None:
        return default
    return scoring if isinstance(scoring, str) else "score"


def in_words(name: str, score: float) -> tuple[str, float]:
    """A score as people tell it: minus the log-loss of -0.3 is a log-loss of 0.3."""
    turned = name.startswith((MINUS, "neg_"))
    words = name.removeprefix(MINUS).removeprefix("neg_").replace("_", " ")
    for written, said in _SAID.items():
        words = words.replace(written, said)
    return words, 0.0 - score if turned else score


def named_scorer(model: Any, scoring: Any) -> Any:
    """The scorer that ``scoring`` asks for, None where it asks for none."""
    if isinstance(scoring, (list, tuple, set, dict)):
        raise ValueError(
            f"scoring must be one scorer, by which to choose, got {shown(scoring)}."
        )
    if isinstance(scoring, str):
        refuse_unknown_scorer(scoring)
    return None if scoring is None else check_scoring(model, scoring)


def refuse_unknown_scorer(name: str) -> None:
    """Refuse a name that scikit-learn does not know, and say which is close."""
    known = get_scorer_names()
    if name not in known:
        raise ValueError(not_there("scorer", name, known, "scikit-learn"))


def baseline(y_train: AnyArray) -> DummyClassifier:
    """Classifier that always answers with the shares of the classes in training."""
    return DummyClassifier(strategy="prior").fit(np.zeros((len(y_train), 1)), y_train)


def mean_baseline(y_train: AnyArray) -> DummyRegressor:
    """Regressor that always answers with the mean of training."""
    return DummyRegressor(strategy="mean").fit(np.zeros((len(y_train), 1)), y_train)


def check_scorer(
    scoring: Any,
    y_train: AnyArray,
    y_test: AnyArray,
    trained: Callable[[AnyArray], Any] = baseline,
) -> None:
    """Refuse a named scorer that cannot score such labels after such training.

    ``trained`` gives a model for labels that costs nothing.
    """
    if not isinstance(scoring, str) or scoring not in get_scorer_names():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = trained(y_train)
            scorer = check_scoring(model, scoring)
            score = float(scorer(model, np.zeros((len(y_test), 1)), y_test))
        except (TypeError, ValueError, AttributeError) as error:
            cause = str(error).splitlines()[0].rstrip(".")
            tell = _misfit if trained is baseline else _no_quantity
            raise ValueError(tell(scoring, y_train, y_test, cause)) from error
    check_score(scoring, score, y_test)


def check_score(scoring: Any, score: float, y_test: AnyArray) -> None:
    """Refuse a score that is no number."""
    if not np.isfinite(score):
        classes, counts = np.unique(y_test, return_counts=True)
        rows = ", ".join(
            f"{count} of class {label!r}"
            for label, count in zip(classes.tolist(), counts.tolist(), strict=True)
        )
        if len(classes) == len(y_test):
            rows = f"{len(y_test)} numbers"
        raise ValueError(
            f"The scorer {scorer_name(scoring)!r} gives {score} where the rows to "
            f"score are {rows}; use fewer folds, or a scorer that needs no class in "
            "every fold, such as accuracy."
        )


def _no_quantity(scoring: str, y_train: AnyArray, y_test: AnyArray, cause: str) -> str:
    return (
        f"The scorer {scoring!r} does not work with numbers to predict ({cause}); use "
        "one that does, such as r2 or neg_mean_absolute_error."
    )


def _misfit(scoring: str, y_train: AnyArray, y_test: AnyArray, cause: str) -> str:
    known, seen = np.unique(y_train).tolist(), np.unique(y_test).tolist()
    where = f"with the classes {listed(known, 5)}"
    if seen != known:
        where += f" in training and {listed(seen, 5)} to score"
    instead = _INSTEAD.get(scoring, f"{scoring}_macro")
    if instead not in get_scorer_names() or seen != known:
        instead = "balanced_accuracy or f1_macro"
    return (
        f"The scorer {scoring!r} does not work {where} ({cause}); use one that does, "
        f"such as {instead}."
    )


# -- where none is named ---------------------------------------------------------------


@dataclass(frozen=True)
class DefaultScorer:
    """Scorer where none is named: mean worth of the predictions to the target.

    If ``by_log`` and no error costs more than others, minus the log-loss instead: it
    tells more of a tree, so that chance has less of a say. ``factor`` says how much the
    rows of every class count, if not all the same.
    """

    cost_matrix: FloatArray
    target: Classes
    by_log: bool = False
    factor: FloatArray | None = None

    @property
    def name(self) -> str:
        """What the score is called."""
        name = self.target.default_score(self.cost_matrix)
        if self.is_log_loss:
            name = "minus the log-loss"
        if self.factor is None:
            return name
        begin = MINUS if name.startswith(MINUS) else ""
        return f"{begin}weighted {name.removeprefix(begin)}"

    @property
    def most(self) -> float:
        """What no tree can score more than: that of being right and sure of it."""
        if unequal(self.cost_matrix):
            return float(-self.cost_matrix.min())
        return 0.0 if self.by_log else 1.0

    @property
    def is_log_loss(self) -> bool:
        """Whether it is minus the log-loss."""
        return self.by_log and not unequal(self.cost_matrix)

    def of(self, tree: Tree, table: Table, y: AnyArray, weight: Any = None) -> float:
        """Score a tree on some rows."""
        if self.factor is not None:
            counts = self.factor[self.target.known_codes(y)]
            weight = counts if weight is None else weight * counts
        if self.is_log_loss:
            return -self._log_loss(tree, table, y, weight)
        predicted = self.target.known_codes(tree.predict_table(table))
        true = self.target.known_codes(y)
        worth = self.target.worth(self.cost_matrix, true, predicted)
        return float(np.average(worth, weights=weight))

    def _log_loss(self, tree: Tree, table: Table, y: AnyArray, weight: Any) -> float:
        """Mean of -log of the class's probability; a class never seen has the least."""
        own = tree.class_target.codes(y)
        proba = tree.predict_proba_table(table)[np.arange(len(own)), own]
        proba = np.maximum(np.where(own >= 0, proba, 0.0), LEAST_PROBA)
        return float(np.average(-np.log(proba), weights=weight))


@dataclass(frozen=True)
class QuantityScorer:
    """Scorer of a quantity where none is named: minus the mean of the loss itself.

    It is the squared error also under "huber", which only trains differently.
    """

    loss: str
    quantile: float = 0.5
    #: What no tree can score more than: that of missing nothing.
    most: ClassVar[float] = 0.0

    @property
    def name(self) -> str:
        """What the score is called."""
        names = {"absolute": "mean absolute error", "quantile": "mean pinball loss"}
        return MINUS + names.get(self.loss, "mean squared error")

    def of(self, tree: Tree, table: Table, y: AnyArray, weight: Any = None) -> float:
        """Score a tree on some rows."""
        gap = np.asarray(y, dtype=np.float64) - tree.predict_table(table)
        worth = gap**2
        if self.loss == "absolute":
            worth = np.abs(gap)
        elif self.loss == "quantile":
            worth = gap * (self.quantile - (gap < 0.0))
        return -float(np.average(worth, weights=weight))


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can be given sample weights; those of scikit-learn can."""
    parameters = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters)
