"""Folds: the paths that cross-validation traces, and their scores.

A task is one model (depth, gamma) with its grid; it is traced on the training part of
every fold, and on all rows. Everything here can be sent to another process.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import validate_data

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.table import take_rows
from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.classifier import SORCTClassifier
from sorct.estimators.fitting import Effort, InfeasibleError, Model, Prepared
from sorct.estimators.path import trace
from sorct.tree.path import Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Data:
    """The rows that count: table, labels, and weights if any were given."""

    X: Any
    y: AnyArray
    weight: FloatArray | None

    def part(self, rows: IntArray) -> Data:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Data(take_rows(self.X, rows), self.y[rows], weight)

    def folds(self, cv: Any) -> list[tuple[Data, Data]]:
        """Training and test parts, as scikit-learn reads ``cv``.

        Rows of weight 0 count for nothing: a splitter does not see them, and they are
        left out of folds that are given row by row.
        """
        counts = np.ones(len(self.y), dtype=np.bool_)
        if self.weight is not None:
            counts = self.weight > 0
        kept = np.flatnonzero(counts)
        seen = self.part(kept)
        if isinstance(cv, Iterable) and not hasattr(cv, "split"):
            every = np.arange(len(self.y))
            try:
                given = [(every[a], every[b]) for a, b in check_cv(cv).split()]
            except (TypeError, ValueError, IndexError) as error:
                raise ValueError(
                    "cv must be a number of folds, a splitter, or pairs of the rows to "
                    f"train and to test on: {error!s:.300}."
                ) from error
            rows = [(a[counts[a]], b[counts[b]]) for a, b in given]
        else:
            target = Classes(np.unique(seen.y))
            splitter = target.folds(cv, seen.y)
            rows = [(kept[a], kept[b]) for a, b in splitter.split(seen.X, seen.y)]
        folds = [(self.part(train), self.part(test)) for train, test in rows]
        _check_folds(folds)
        return folds


@dataclass(frozen=True)
class PathTask:
    """One path to trace: a model on the rows of a fold, or on all."""

    model: Model
    target: Classes
    alphas_local: FloatArray
    alphas_global: FloatArray
    n_solutions: int
    effort: Effort
    call: str

    def run(self, data: Data) -> Path:
        """Trace the path on some rows."""
        seed, model = self.effort.seed(), self._model_for(np.unique(data.y))
        prepared = Prepared.of(data.X, data.y, data.weight, model, self.call)
        alphas = self.alphas_local, self.alphas_global
        return trace(prepared, *alphas, self.n_solutions, self.effort, seed)

    def _model_for(self, present: AnyArray) -> Model:
        """Costs and floors of the classes that a fold has."""
        there = self.target.present(present)
        costs, floors = self.model.cost_matrix, self.model.min_recall
        if costs is not None:
            costs = np.asarray(costs)[np.ix_(there, there)]
        if isinstance(floors, Mapping):
            known = self.target.labels[there].tolist()
            floors = {label: rate for label, rate in floors.items() if label in known}
        return replace(self.model, cost_matrix=costs, min_recall=floors)


@dataclass(frozen=True)
class FoldScores:
    """Scores of the folds and the path of all rows for one depth and gamma."""

    scores: list[FloatArray | InfeasibleError]
    whole: Path | InfeasibleError

    @property
    def error(self) -> InfeasibleError | None:
        """The first fold, or all rows, for which no tree met the floors."""
        if isinstance(self.whole, InfeasibleError):
            return self.whole
        for k, score in enumerate(self.scores):
            if isinstance(score, InfeasibleError):
                return InfeasibleError(f"Fold {k} of cv: {score}", score.recall)
        return None

    @property
    def path(self) -> Path:
        """Path of all rows; there is one where there is no error."""
        assert isinstance(self.whole, Path)
        return self.whole

    def frame(self) -> pd.DataFrame:
        """Rows of ``cv_results_``."""
        import pandas as pd

        scores = np.array(self.scores, dtype=np.float64)
        frame, tree = self.path.to_frame(), self.path.trees[0]
        std = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.full(len(frame), 0)
        found = {
            "depth": tree.depth,
            "gamma": tree.gamma,
            "alpha_local": frame["alpha_local"],
            "alpha_global": frame["alpha_global"],
            "mean_score": scores.mean(axis=0),
            "std_score": std,
            "se_score": std / np.sqrt(len(scores)),
        }
        found |= {f"split{k}_score": row for k, row in enumerate(scores)}
        found |= {
            name: frame[name]
            for name in (
                "n_columns", "n_variables", "local_sparsity", "global_sparsity",
                "objective", "cost",
            )
        }  # fmt: skip
        per_cut = [tree.most_variables_per_cut for tree in self.path.trees]
        return pd.DataFrame(found).assign(most_variables_per_cut=per_cut)

    def scored_path(self, score_name: str) -> Path:
        """Path of all rows, whose trees tell how their penalties scored on the folds.

        A score that is no number is left out.
        """
        results = self.frame()
        numbers = results[["mean_score", "se_score"]].to_numpy(dtype=np.float64)
        trees = []
        for tree, (score, error) in zip(self.path.trees, numbers, strict=True):
            told = replace(
                tree.training,
                cv_score=None if np.isnan(score) else float(score),
                cv_standard_error=None if np.isnan(error) else float(error),
                cv_scoring=score_name,
                cv_folds=len(self.scores),
            )
            trees.append(replace(tree, training=told))
        return replace(self.path, trees=tuple(trees))


def score_fold(
    task: PathTask, train: Data, test: Data, scorer: Any
) -> FloatArray | InfeasibleError:
    """Scores on one part of the rows of the path traced on the other.

    A rare level of a categorical column may be missing from the training part, and a
    column may have missing cells in the other part alone: nothing is refused here.
    """
    forgiving = replace(task.model, table=task.model.table.forgiving)
    try:
        path = replace(task, model=forgiving).run(train)
    except InfeasibleError as error:
        return error
    extra = {}
    if test.weight is not None and takes_weights(scorer):
        extra = {"sample_weight": test.weight}
    return np.array(
        [
            _checked_score(scorer(_classifier(tree, test.X), test.X, test.y, **extra))
            for tree in path
        ]
    )


def _checked_score(score: Any) -> float:
    """A score that can be compared; NaN says that there is none."""
    try:
        number = float(score)
    except (TypeError, ValueError):
        number = np.inf
    if np.isinf(number):
        raise ValueError(f"scoring must give finite numbers, got {shown(score)}.")
    return number


def trace_all(task: PathTask, data: Data) -> Path | InfeasibleError:
    """Path of all rows."""
    try:
        return task.run(data)
    except InfeasibleError as error:
        return error


@dataclass(frozen=True)
class DefaultScorer:
    """Scorer where none is named: mean worth of the predictions to the target."""

    cost_matrix: FloatArray
    target: Classes

    def __call__(
        self, classifier: Any, X: Any, y: AnyArray, sample_weight: Any = None
    ) -> float:
        """Score a fitted classifier on some rows."""
        predicted = self.target.known_codes(classifier.predict(X))
        true = self.target.known_codes(y)
        worth = self.target.worth(self.cost_matrix, true, predicted)
        return float(np.average(worth, weights=sample_weight))


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can be given sample weights; those of scikit-learn can."""
    parameters = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters)


def _classifier(tree: Tree, X: Any) -> SORCTClassifier:
    """A tree as scorers expect it."""
    classifier = SORCTClassifier()
    validate_data(classifier, X, skip_check_array=True)
    classifier.tree_, classifier.classes_ = tree, tree.classes
    return classifier


def _check_folds(folds: list[tuple[Data, Data]]) -> None:
    """Refuse folds that cannot be trained on or scored, before any work begins."""
    if not folds:
        raise ValueError("cv must give at least one fold, got none.")
    for k, (train, test) in enumerate(folds):
        n_classes = len(np.unique(train.y))
        if n_classes < 2 or test.y.size == 0:
            raise ValueError(
                f"Fold {k} of cv leaves {n_classes} class(es) to train on and "
                f"{test.y.size} row(s) to score; use fewer or stratified folds."
            )
