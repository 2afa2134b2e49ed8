"""Grid: what a path, or a cross-validated search, says of every pair of penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sorct.data.target import data_given, label_column
from sorct.data.wording import shown
from sorct.estimators.cross_validated import SORCTClassifierCV
from sorct.show.measures import leaf_says
from sorct.tree.path import Path, goodness
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

#: What can be shown of a grid point, and how it is called.
QUANTITIES = {
    "n_variables": "variables used",
    "n_columns": "columns used",
    "local_sparsity": "columns unused per cut, %",
    "global_sparsity": "columns unused in the tree, %",
    "objective": "objective",
    "cost": "expected cost",
}


@dataclass(frozen=True, eq=False)
class ScoredGrid:
    """Grid points and their scores.

    Attributes
    ----------
    frame : DataFrame
        One row per point: the alphas, all of ``QUANTITIES``, ``score`` and ``error``
        (standard error of the score, NaN where there is none).
    score_name : str
    chosen : int or None
        Row of the tree that a search chose.
    accuracy_name : str
        What the column ``accuracy`` is called, where there is one.
    """

    frame: pd.DataFrame
    score_name: str
    chosen: int | None = None
    accuracy_name: str = "accuracy"


def path_grid(path: Path, X: Any = None, y: Any = None) -> ScoredGrid:
    """Grid of a path, with its default score on given data or expected in training.

    The frame has the accuracy as well, whatever the score is.
    """
    if not isinstance(path, Path):
        raise TypeError(f"Expected a Path, got {type(path).__name__}.")
    first = path.trees[0]
    if data_given(X, y):
        frame = path.evaluate(X, y)
        name = first.class_target.default_score(first.cost_matrix)
        return ScoredGrid(frame.assign(score=goodness(frame), error=np.nan), name)
    frame = path.to_frame().assign(
        accuracy=[expected_accuracy(tree) for tree in path.trees],
        score=[tree_score(tree) for tree in path.trees],
        error=np.nan,
    )
    accuracy = "expected accuracy in training"
    cost = "minus the expected cost in training"
    name = cost if first.has_unequal_costs else accuracy
    return ScoredGrid(frame, name, accuracy_name=accuracy)


def search_grid(search: Any, *, every: bool = False) -> ScoredGrid:
    """Grid of a fitted search with the settings it chose, scored on its folds.

    It is of penalised trees or of relaxed ones, as the tree chosen is; with ``every``
    of both, the penalised ones first.
    """
    if not isinstance(search, SORCTClassifierCV):
        raise TypeError(
            f"Expected a fitted SORCTClassifierCV, got {type(search).__name__}; with a "
            "path, use from_path."
        )
    check_is_fitted(search)
    offered = search.path_.offered
    chosen = [tree is search.tree_ for tree in offered].index(True)
    first, n_rows = search.best_index_ - chosen, len(offered)
    if not every:
        n_rows = len(search.path_)
        first += chosen // n_rows * n_rows
        chosen %= n_rows
    frame = search.cv_results_.iloc[first : first + n_rows].reset_index(drop=True)
    frame = frame.assign(score=frame["mean_score"], error=frame["se_score"])
    name = search.tree_.training.cv_scoring
    return ScoredGrid(frame, f"{name}, mean over folds", chosen)


def expected_accuracy(tree: Tree) -> float:
    """Share of the training sample that lands in leaves of its own class.

    Leaves that say shares count by what they say of the class.
    """
    return float((leaf_says(tree) * tree.mass).sum())


def tree_score(tree: Tree, X: Any = None, y: Any = None) -> float:
    """Score of a tree as the grid of a path has it."""
    if X is not None:
        codes, predicted = map(
            tree.class_target.codes, (label_column(y), tree.predict(X))
        )
        return float(tree.class_target.worth(tree.cost_matrix, codes, predicted).mean())
    if tree.has_unequal_costs:
        return -float((tree.cost_matrix @ leaf_says(tree) * tree.mass).sum())
    return expected_accuracy(tree)


def check_quantity(quantity: str, known: Any) -> None:
    """Refuse what cannot be shown."""
    if not isinstance(quantity, str) or quantity not in known:
        raise ValueError(
            f"quantity must be one of {tuple(known)}, got {shown(quantity)}."
        )
