"""Marks: how trees of paths did on held-out rows, fold by fold and together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.estimators.effort import InfeasibleError
from sorct.tree.path import Path, frame_of
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

    from sorct.estimators.folds import PathTask


@dataclass(frozen=True)
class Marks:
    """How the trees of a path did on held-out rows.

    Attributes
    ----------
    scores : array of shape (n_trees,)
    followed : array of shape (n_trees,)
        Share of the training rows for which rules followed by hand say what the tree
        does.
    counts : array of shape (n_trees, n_classes, n_classes)
        Weight of the rows by their class and by the one predicted, if counted.
    r2 : array of shape (n_trees,) or None
        Share of the variance that is explained, where a quantity is predicted.
    """

    scores: FloatArray
    followed: FloatArray
    counts: FloatArray | None = None
    r2: FloatArray | None = None


@dataclass(frozen=True)
class FoldScores:
    """Scores of the folds and the path of all rows for one task."""

    scores: list[FloatArray | InfeasibleError]
    whole: Path | InfeasibleError
    task: PathTask | None = None
    counts: list[FloatArray] | None = None
    r2: FloatArray | None = None
    n_drawings: float = 1.0

    @classmethod
    def of(
        cls,
        marks: list[Marks | InfeasibleError],
        whole: Path | InfeasibleError,
        task: PathTask,
        n_drawings: float = 1.0,
    ) -> FoldScores:
        """From what every fold says, and how often a row was held out."""
        scores = [one.scores if isinstance(one, Marks) else one for one in marks]
        counts = [one.counts for one in marks if isinstance(one, Marks)]
        known = [count for count in counts if count is not None]
        shares = [one.r2 for one in marks if isinstance(one, Marks)]
        r2 = [one for one in shares if one is not None]
        return cls(
            scores,
            whole,
            task,
            known if len(known) == len(marks) else None,
            np.mean(r2, axis=0) if len(r2) == len(marks) else None,
            n_drawings,
        )

    @property
    def _scaling(self) -> Any:
        return "auto" if self.task is None else self.task.model.table.scaling

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

    @property
    def best(self) -> float:
        """Best mean score of a tree; NaN where there is none."""
        if self.error is not None:
            return np.nan
        means = np.array(self.scores, dtype=np.float64).mean(axis=0)
        return float(np.fmax.reduce(means))

    def frame(self) -> pd.DataFrame:
        """Rows of ``cv_results_``."""
        import pandas as pd

        scores = np.array(self.scores, dtype=np.float64)
        path = self.path
        frame, tree = frame_of(path.offered), path.trees[0]
        std = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.full(len(frame), 0)
        found = {
            "loss": tree.training.loss,
            "depth": tree.depth,
            "gamma": tree.gamma,
            # A mapping would be taken for a column.
            "scaling": [self._scaling] * len(frame),
            **(_of_quantity(tree) if tree.of_quantity else {}),
            "relaxed": [one.training.relaxed or 1.0 for one in path.offered],
            "alpha_local": frame["alpha_local"],
            "alpha_global": frame["alpha_global"],
            "mean_score": scores.mean(axis=0),
            "std_score": std,
            # Folds drawn again hold no new rows: they count once.
            "se_score": std * np.sqrt(self.n_drawings / len(scores)),
        }
        if self.r2 is not None:
            found["mean_r2"] = self.r2
        found |= {f"split{k}_score": row for k, row in enumerate(scores)}
        found |= {
            name: frame[name]
            for name in (
                "n_columns", "n_variables", "local_sparsity", "global_sparsity",
                "objective", "cost",
            )
        }  # fmt: skip
        per_cut = [tree.most_variables_per_cut for tree in path.offered]
        followed = [followed_share(tree) for tree in path.offered]
        return pd.DataFrame(found).assign(
            most_variables_per_cut=per_cut, followed=followed
        )

    def scored_path(self, score_name: str) -> Path:
        """Path of all rows, whose trees tell how their penalties scored on the folds.

        A score that is no number is left out.
        """
        results = self.frame()
        numbers = results[["mean_score", "se_score"]].to_numpy(dtype=np.float64)
        trees = []
        for k, (tree, (score, error)) in enumerate(
            zip(self.path.offered, numbers, strict=True)
        ):
            told = replace(
                tree.training,
                cv_score=None if np.isnan(score) else float(score),
                cv_standard_error=None if np.isnan(error) else float(error),
                cv_scoring=score_name,
                cv_folds=len(self.scores),
                **self._rates(k),
            )
            trees.append(replace(tree, training=told))
        n_points = len(self.path)
        return replace(
            self.path, trees=tuple(trees[:n_points]), relaxed=tuple(trees[n_points:])
        )

    def _rates(self, k: int) -> dict[str, Any]:
        """Accuracy, recall and precision of tree k on held-out rows, if known."""
        if self.r2 is not None:
            return {"cv_r2": float(self.r2[k])}
        if self.counts is None:
            return {}
        folds = np.array([counts[k] for counts in self.counts])
        right = np.diagonal(folds, axis1=1, axis2=2).sum(axis=1)
        found: dict[str, Any] = {
            "cv_accuracy": float((right / folds.sum(axis=(1, 2))).mean())
        }
        total = folds.sum(axis=0)
        own, told = total.sum(axis=1), total.sum(axis=0)
        if own.all():
            rates = np.diagonal(total) / [own, np.where(told > 0.0, told, 1.0)]
            recall, precision = map(tuple, rates.tolist())
            found |= {"cv_recall": recall, "cv_precision": precision}
        return found


def _of_quantity(tree: Tree) -> dict[str, str]:
    """Settings that trees of a quantity have."""
    return {"leaf": tree.leaf_kind, "link": tree.quantity.link}


def followed_share(tree: Tree) -> float:
    """Share of the rows that can be followed by hand; of a quantity that is not asked.

    Its leaves are mixed by people and by the tree alike.
    """
    return 1.0 if tree.of_quantity else tree.training.followed or 0.0
