"""TreeEstimator: what every estimator with a fitted tree can do.

Prediction needs neither the compiler nor pandas.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from sorct._typing import AnyArray, IntArray
from sorct.data.dask_source import is_dask, mapped
from sorct.data.sparse_table import raised, some_columns
from sorct.tree.importance import variable_importances
from sorct.tree.tree import Tree


class WholeEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that is fitted wholly or stays as it was."""

    def _fit_whole(self, *arguments: Any) -> Self:
        """Fit wholly or, if that is interrupted, leave this object as it was."""
        fitted = copy.copy(self)
        fitted._fit(*arguments)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(self, *arguments: Any) -> None:
        """Fit this object, step by step."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TreeEstimator(WholeEstimator):
    """What every fitted estimator with a ``tree_`` can do."""

    tree_: Tree
    # Columns of a sparse matrix that the tree knows; None where it knows all.
    _columns: IntArray | None = None

    def apply(self, X: Any) -> IntArray:
        """Leaf of every sample that takes the more probable side at every cut.

        Leaves are counted from left to right, from 0; see ``Tree.apply``.
        """
        found: IntArray = self._asked(X, Tree.apply)
        return found

    def predict(self, X: Any) -> AnyArray:
        """Predict every sample, see ``Tree.predict``; lazily for a table of Dask."""
        found: AnyArray = self._asked(X, Tree.predict)
        return found

    def _keep_tree(self, tree: Tree) -> None:
        """Set what users of scikit-learn look for, all of it read from the tree."""
        told = tree.training
        self.tree_ = tree
        self.coef_, self.threshold_ = tree.coef, tree.threshold
        self.objective_, self.cost_ = told.objective, told.cost
        self.local_sparsity_ = tree.local_sparsity
        self.global_sparsity_ = tree.global_sparsity
        self.residual_ = told.residual
        self.n_iter_ = told.n_iterations
        self.feature_importances_ = variable_importances(tree)

    def _spread(self, columns: IntArray) -> None:
        """Let the tree know some columns of a sparse matrix, attributes all of them."""
        self._columns, n_columns = columns, self.n_features_in_
        self.coef_ = raised(self.coef_, columns, n_columns)
        importance = raised(self.feature_importances_, columns, n_columns)
        self.feature_importances_ = importance

    def _asked(self, X: Any, question: Callable[[Tree, Any], Any]) -> Any:
        """What the tree answers for a table; for one of Dask, lazily."""
        if not is_dask(X):
            tree, X = self._checked(X)
            return question(tree, X)
        check_is_fitted(self)
        ask = partial(question, self.tree_)
        return mapped(X, ask, ask(self.tree_.encoder.typical_row()))

    def _checked(self, X: Any) -> tuple[Tree, Any]:
        """The tree, and the table to predict for."""
        check_is_fitted(self)
        if self._columns is None:
            X = self.tree_.completed(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if self._columns is not None:
            X = some_columns(X, self._columns)
        return self.tree_, X
