"""TreeClassifier: what every classifier with a fitted tree can do.

Prediction needs neither the compiler nor pandas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from sorct._typing import AnyArray, FloatArray
from sorct.estimators.tree_estimator import TreeEstimator
from sorct.tree.decision import decision_scores
from sorct.tree.tree import Tree


class TreeClassifier(ClassifierMixin, TreeEstimator):
    """What every fitted classifier with a ``tree_`` can do."""

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

    def _keep_tree(self, tree: Tree) -> None:
        """Set what is known of classes, too."""
        super()._keep_tree(tree)
        self.classes_, self.leaf_class_ = tree.classes, tree.leaf_class
        self.recall_ = np.array(tree.training.recall)


def _log_proba(tree: Tree, X: Any) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(tree.predict_proba(X)))


def _scores(tree: Tree, X: Any) -> FloatArray:
    return decision_scores(tree.predict_proba(X).T, tree.decision_cost)
