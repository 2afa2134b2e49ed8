"""TreeClassifier: what every classifier with a fitted tree can do.

Prediction needs neither the compiler nor pandas.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.dask_source import is_dask, mapped
from sorct.tree.decision import decision_scores
from sorct.tree.importance import variable_importances
from sorct.tree.tree import Tree


class TreeClassifier(ClassifierMixin, BaseEstimator):
    """What every fitted classifier with a ``tree_`` can do."""

    tree_: Tree

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, shape (n_samples, n_classes).

        A table of Dask gives an Array of Dask, which is computed when it is asked for.
        """
        found: FloatArray = self._asked(X, Tree.predict_proba)
        return found

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of every probability, minus infinity where it is 0."""
        found: FloatArray = self._asked(X, _log_proba)
        return found

    def decision_function(self, X: Any) -> FloatArray:
        """Scores that ``predict`` goes by, whatever it goes by: costs and floors too.

        With two classes shape (n_samples,): log-odds of the second class, moved by the
        logarithm of what the errors cost where they cost different amounts; above 0
        where it is predicted. With more, shape (n_samples, n_classes): the probability
        of every class, or minus the expected cost of predicting it; the largest (the
        first of them) is predicted.
        """
        found: FloatArray = self._asked(X, _scores)
        return found

    def apply(self, X: Any) -> IntArray:
        """Leaf of every sample that takes the more probable side at every cut.

        Leaves are counted from left to right, from 0; see ``Tree.apply``.
        """
        found: IntArray = self._asked(X, Tree.apply)
        return found

    def predict(self, X: Any) -> AnyArray:
        """Most probable class of every sample, or the cheapest if the tree says so.

        A table of Dask gives a Series or Array of Dask, computed when it is asked for.
        """
        found: AnyArray = self._asked(X, Tree.predict)
        return found

    def predict_bayes(self, X: Any, priors: Any = None) -> AnyArray:
        """Class of least expected cost under priors; see ``Tree.predict_bayes``."""
        tree, X = self._checked(X)
        return tree.predict_bayes(X, priors)

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

    def _keep_tree(self, tree: Tree) -> None:
        """Set what users of scikit-learn look for, all of it read from the tree."""
        told = tree.training
        self.tree_, self.classes_ = tree, tree.classes
        self.coef_, self.threshold_ = tree.coef, tree.threshold
        self.leaf_class_ = tree.leaf_class
        self.objective_, self.cost_ = told.objective, told.cost
        self.local_sparsity_ = tree.local_sparsity
        self.global_sparsity_ = tree.global_sparsity
        self.recall_, self.residual_ = np.array(told.recall), told.residual
        self.n_iter_ = told.n_iterations
        self.feature_importances_ = variable_importances(tree)

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
        X = self.tree_.completed(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.tree_, X


def _log_proba(tree: Tree, X: Any) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(tree.predict_proba(X)))


def _scores(tree: Tree, X: Any) -> FloatArray:
    return decision_scores(tree.predict_proba(X).T, tree.decision_cost)
