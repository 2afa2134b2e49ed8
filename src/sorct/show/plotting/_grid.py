"""Grid: what a path, or a cross-validated search, says of every pair of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sorct.data.target import data_given
from sorct.data.wording import shown
from sorct.estimators.tree_search import TreeSearch
from sorct.show.measures import leaf_says
from sorct.tree.path import Path, evaluated, frame_of, goodness
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
# Name of the score in training, and of what is shown beside it: for classes without and
# with costs of errors, and for a quantity.
_ACCURACY = "expected accuracy in training"
_COST, _EXPLAINED = "minus the expected cost in training", "R² in training"
_TRAINED = {
    (False, False): (_ACCURACY, {"accuracy": _ACCURACY}),
    (False, True): (_COST, {"accuracy": _ACCURACY}),
    (True, False): (_EXPLAINED, {"r2": _EXPLAINED}),
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
    names : dict from str to str
        Columns of the frame that can be shown, and how they are called.
    """

    frame: pd.DataFrame
    score_name: str
    names: dict[str, str]
    chosen: int | None = None


def path_grid(
    path: Path, X: Any = None, y: Any = None, *, every: bool = False
) -> ScoredGrid:
    """Grid of a path, with its default score on given data or expected in training.

    The frame has what the target measures as well, whatever the score is. With
    ``every`` the relaxed trees follow those of the points.
    """
    if not isinstance(path, Path):
        raise TypeError(f"Expected a Path, got {type(path).__name__}.")
    first, trees = path.trees[0], path.offered if every else path.trees
    frame = frame_of(trees)
    if data_given(X, y):
        frame, names = evaluated(trees, frame, X, y), first.target.measure_names
        name = first.target.default_score(first.cost_matrix)
    else:
        frame = _with_training(frame, trees)
        name, names = _TRAINED[first.of_quantity, first.has_unequal_costs]
    frame = frame.assign(score=goodness(frame), error=np.nan)
    return ScoredGrid(frame, name, _names(first, names))


def _with_training(frame: pd.DataFrame, trees: Sequence[Tree]) -> pd.DataFrame:
    """The frame of some trees with what is known, or expected, of them in training."""
    if trees[0].of_quantity:
        explained = [tree.training.r2 for tree in trees]
        return frame.assign(r2=np.array(explained, dtype=np.float64))
    frame = frame.assign(accuracy=[expected_accuracy(tree) for tree in trees])
    if not trees[0].has_unequal_costs:
        return frame
    costs = [(tree.cost_matrix @ leaf_says(tree) * tree.mass).sum() for tree in trees]
    return frame.assign(mean_cost=costs)


def _names(tree: Tree, measures: dict[str, str]) -> dict[str, str]:
    """What can be shown of a path of such trees, and how it is called."""
    own = {"cost": "loss in training"} if tree.of_quantity else {}
    return measures | QUANTITIES | own


def search_grid(search: Any, *, every: bool = False) -> ScoredGrid:
    """Grid of a fitted search with the settings it chose, scored on its folds.

    It is of penalised trees or of relaxed ones, as the tree chosen is; with ``every``
    of both, the penalised ones first.
    """
    if not isinstance(search, TreeSearch):
        raise TypeError(
            "Expected a fitted SORCTClassifierCV or SORCTRegressorCV, got "
            f"{type(search).__name__}; with a path, use from_path."
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
    name = f"{search.tree_.training.cv_scoring}, mean over folds"
    return ScoredGrid(frame, name, _names(search.tree_, {}), chosen)


def expected_accuracy(tree: Tree) -> float:
    """Share of the training sample that lands in leaves of its own class.

    Leaves that say shares count by what they say of the class.
    """
    return float((leaf_says(tree) * tree.mass).sum())


def tree_score(tree: Tree, X: Any = None, y: Any = None) -> float:
    """Score of a tree as the grid of a path has it."""
    frame = frame_of([tree])
    if data_given(X, y):
        return float(goodness(evaluated([tree], frame, X, y))[0])
    return float(goodness(_with_training(frame, [tree]))[0])


def check_quantity(quantity: str, known: Any) -> None:
    """Refuse what cannot be shown."""
    if not isinstance(quantity, str) or quantity not in known:
        raise ValueError(
            f"quantity must be one of {tuple(known)}, got {shown(quantity)}."
        )
