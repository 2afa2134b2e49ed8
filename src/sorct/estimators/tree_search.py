"""TreeSearch: what searches by cross-validation have in common, whatever the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sorct._typing import AnyArray, FloatArray
from sorct.data.quantity import Quantity
from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.candidates import RULES, Candidates
from sorct.estimators.contest import n_drawings
from sorct.estimators.tree_estimator import TreeEstimator
from sorct.estimators.why import OUT_OF_TIME, why_text
from sorct.tree.path import Limits, Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

#: For a setting that is left to the race.
CHOOSE = "choose"


def is_free(given: Any) -> bool:
    """Whether a setting is left to the race."""
    return isinstance(given, str) and given == CHOOSE


class TreeSearch(TreeEstimator):
    """Chooses among the trees of paths, and keeps one."""

    cv: Any
    rule: str
    random_state: Any
    max_features: int | None
    max_features_per_cut: int | None
    max_cost: float | None
    race_: pd.DataFrame
    path_: Path

    @property
    def _is_race(self) -> bool:
        """Whether some setting is left to choose."""
        raise NotImplementedError

    @property
    def _class_weights(self) -> tuple[Any, ...]:
        """Weights of classes to choose from."""
        return (None,)

    def select(
        self,
        rule: str = "best",
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
    ) -> Tree:
        """Tree that another rule or other limits would choose; nothing is fitted.

        Calibration and promises are of the tree that ``fit`` chose, and of no other.
        """
        check_is_fitted(self)
        limits = Limits(max_features, max_features_per_cut, max_cost)
        return self._candidates.trees[self._candidates.choose(rule, limits)]

    def _seed(self) -> Any:
        """A number that gives every fold the same starts."""
        if isinstance(self.random_state, (int, np.integer)):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _folds(self, y: AnyArray, target: Classes | Quantity) -> Any:
        """Folds as asked for; those of a race are shuffled, and twice on few rows."""
        whole = isinstance(self.cv, Integral) and not isinstance(self.cv, bool)
        if not self._is_race or not whole or self.cv < 2:
            return self.cv
        return target.splitter(int(self.cv), 0, self._drawings(len(y)))

    def _drawings(self, n_rows: int) -> int | None:
        """How often folds are drawn; None means once."""
        return n_drawings(n_rows)

    def _keep(
        self, found: Candidates, settle: Callable[..., Tree], *, ended: bool
    ) -> None:
        """Choose a tree; ``ended`` says that time was over before all was compared."""
        self.cv_results_ = found.results
        self.best_index_ = found.choose(self.rule, self._limits)
        scores: FloatArray = self.cv_results_["mean_score"].to_numpy()
        self.best_score_ = float(scores[self.best_index_])
        best = found.trees[found.choose(RULES[0], self._limits)]
        free = replace(found, following=None).choose(RULES[0], self._limits)
        ahead = scores[free] > (best.training.cv_score or -np.inf)
        unfollowed = found.trees[free] if ahead else None
        n, place = found.place(self.best_index_)
        tree = found.trees[self.best_index_]
        told = replace(tree.training, cv_rule=self.rule)
        tree = settle(replace(tree, training=told), found.tasks[n], place)
        self._candidates = found.with_tree(self.best_index_, tree)
        self.path_ = self._candidates.paths[n]
        self._keep_tree(tree)
        row = self.cv_results_.iloc[self.best_index_]
        self.best_params_ = {
            "loss": row["loss"],
            "depth": tree.depth,
            "gamma": tree.gamma,
            "scaling": row["scaling"],
            "relaxed": float(row["relaxed"]),
            "alpha_local": tree.training.alpha_local,
            "alpha_global": tree.training.alpha_global,
        }
        if tree.of_quantity:
            self.best_params_ |= {"leaf": tree.leaf_kind, "link": tree.quantity.link}
        task = found.tasks[n]
        self._model = None if task is None else task.model
        if task is not None and "categorical" in self.race_:
            self.best_params_["categorical"] = task.model.table.categorical
        asked = task is not None and task.model.preselect != "none"
        if task is not None and (asked or "preselect" in self.race_):
            self.best_params_["preselect"] = task.model.preselect
        if task is not None and len(self._class_weights) > 1:
            self.best_params_["class_weight"] = task.model.class_weight
        n_tried = max(len(self.race_), len(found.paths)), len(found.results)
        limited = self._limits != Limits()
        why = why_text(tree, best, self.best_params_, n_tried, limited, unfollowed)
        self.why_ = f"{why} {OUT_OF_TIME}" if ended else why

    @property
    def _limits(self) -> Limits:
        return Limits(self.max_features, self.max_features_per_cut, self.max_cost)


def listed_values(name: str, values: Any) -> list[Any]:
    """Values given one by one or as a sequence, which must not be empty."""
    if values is None or np.ndim(values) == 0:
        return [values]
    # As objects: numbers beside "auto" stay numbers.
    given = np.asarray(values, dtype=object)
    if given.ndim > 1 or given.size == 0:
        raise ValueError(
            f"{name} must hold at least one value, in one row, got {shown(values)}."
        )
    return list(dict.fromkeys(given.tolist()))
