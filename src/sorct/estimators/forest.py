"""SORCTForestClassifier: trees of classes that share a budget of variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from sorct._typing import AnyArray, FloatArray
from sorct.estimators.checks import check_one_of
from sorct.estimators.fitting import LOSSES, Model
from sorct.estimators.forest_estimator import ForestEstimator
from sorct.estimators.tree_search import CHOOSE, TreeSearch
from sorct.tree.forest import Forest

__all__ = ["SORCTForestClassifier"]

# Folds of a race, which need a row of every class each, and the loss of its forests.
_FOLDS, _LOSS = 5, "log"


class SORCTForestClassifier(ClassifierMixin, ForestEstimator):  # type: ignore[misc]
    """Forest of sparse randomized trees that share a budget of variables.

    By default the first tree is the one that ``SORCTClassifierCV(rule="best")`` would
    choose, and the others are grown on bags of rows from its variables; the forest says
    the mean of their probabilities. Variables are chosen for the whole forest, however
    many trees and cuts use them, so that the form to fill in stays short.

    Parameters
    ----------
    n_trees : int or sequence of int, default=25
        Number of trees; several are chosen from by cross-validation, together with
        ``alpha_global``.
    depth : int or None, default=None
        Depth of every tree; None leaves it to the race or, where there is none,
        chooses by the out-of-bag loss of forests without penalties: the smallest with a
        leaf for every class, or up to two more.
    alpha_local : float or None, default=0.0
        Strength of local sparsity: fewer columns in a cut, and smaller coefficients;
        None chooses it like the depth.
    alpha_global : float or None, default=None
        Strength of the penalty on variables of the whole forest; None leaves them to
        the race or, where there is none, chooses by cross-validation. 0 keeps every
        variable.
    max_features : int or None, default=None
        Most variables that the forest may use, all trees together.
    max_features_per_cut : int or None, default=None
        Most variables in any cut.
    max_cost : float or None, default=None
        Most that the variables of the forest may cost together, by ``feature_cost``.
    bootstrap : bool or "half", default=True
        Rows of a tree: as many as there are, drawn with replacement class by class;
        half of each class; or with False all of them, so that only starts differ.
    loss : {"log", "cost", "both"}, default="log"
        What trees minimise: the likelihood, the expected cost, or one after the other
        in turn, so that they differ more.
    class_weight : "balanced", mapping from class to float, or None, default=None
        As in ``SORCTClassifier``.
    cost_matrix : array of shape (n_classes, n_classes) or None, default=None
        Cost of predicting the column's class for a sample of the row's. The class of
        least expected cost is predicted.
    relax : bool, default=True
        Whether trees are grown anew on the variables that the penalty selected. Else
        they stay as all of them were polished together under it, which makes them
        alike.
    rule : {"one-standard-error", "best", "fewest"} or None, default=None
        How variables are chosen: the fewest (and the fewest trees) within one standard
        error of the least loss on held-out rows, or that least loss itself. None takes
        the best of a race, and one standard error along a path. "fewest" takes the best
        of a race and leaves out what raises the out-of-bag loss by less than one per
        cent; the first tree is then grown anew on the variables left.
    selection : {"auto", "race", "path"}, default="auto"
        What chooses. A race chooses variables, depth, steepness and scaling as
        ``SORCTClassifierCV`` does; its tree is the first of the forest and counts as
        much as all others together, which are grown on bags from the same variables,
        one cut deeper. It needs all that to be left open: ``depth``, ``alpha_local``,
        ``alpha_global``, ``loss``, ``relax``, ``gamma`` and ``time_limit`` as by
        default, one number for ``n_trees``, bags, and five rows of every class. Along a
        path, variables are those of single trees under a path of penalties, and all
        trees count alike. "auto" takes a race where it can, and a path elsewhere.
    n_folds : int, default=3
        Folds of the choice along a path.
    early_stopping : bool, default=False
        Whether to stop, five trees at a time, when the out-of-bag loss no longer falls
        by half a per cent.
    gamma : float or "auto", default="auto"
        Steepness of the cuts; "auto" chooses it like the depth, along a path 16 or 64
        per variable.
    n_starts : int, default=3
        Starts of every tree on its bag.
    time_limit : float or None, default=None
        Seconds after which trees end where they are and no more are begun (some are
        always grown); 0.6 of it is for choosing.
    n_jobs : int or None, default=None
        Threads, as in joblib. The result does not depend on it, unless ``time_limit``
        ends the search.
    random_state : int, RandomState or None, default=None
        Seed of bags, starts and folds.
    categorical, categorical_features, min_frequency, handle_unknown, handle_missing,
    monotonic_cst, positive_class, feature_cost
        As in ``SORCTClassifier``. Directions hold for every tree, and so for their
        mean.
    scaling : "choose", or as in ``SORCTClassifier``, default="choose"
        "choose" leaves it to the race, and is "auto" along a path.

    Attributes
    ----------
    forest_ : Forest
        The fitted forest in original names and units.
    classes_ : array of shape (n_classes,)
    oob_score_ : float or None
        Accuracy on every row of the trees that have not seen it; None if every tree has
        seen all. The variables were chosen with these rows, so where the budget is
        small beside the table it flatters: test on other rows.
    alpha_local_, alpha_global_ : float
        Strengths of the penalties.
    cv_results_ : DataFrame or None
        What was chosen from: that of ``SORCTClassifierCV``, or the path with penalty,
        number of trees, variables, mean loss on held-out rows and the standard error of
        its difference from the least; None where nothing was left to choose.
    depth_, gamma_ : int, float
        Depth of the first tree, and steepness of all.
    feature_importances_ : array of shape (n_features_in_,)
        Mean over trees of ``SORCTClassifier.feature_importances_``;
        ``forest_.training`` has ``drop`` and ``permutation``.
    status_ : Status
    feature_names_in_, n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = SORCTForestClassifier(5, 2, max_features=2, random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        n_trees: Any = 25,
        depth: int | None = None,
        alpha_local: float | None = 0.0,
        alpha_global: float | None = None,
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        bootstrap: bool | str = True,
        loss: str = "log",
        class_weight: Any = None,
        cost_matrix: Any = None,
        relax: bool = True,
        rule: str | None = None,
        selection: str = "auto",
        n_folds: int = 3,
        early_stopping: bool = False,
        gamma: float | str = "auto",
        n_starts: int = 3,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        categorical: str = "whole",
        categorical_features: Any = "from_dtype",
        min_frequency: float = 5,
        handle_unknown: str = "other",
        handle_missing: str = "error",
        scaling: Any = CHOOSE,
        monotonic_cst: Any = None,
        positive_class: Any = None,
        feature_cost: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.depth = depth
        self.alpha_local = alpha_local
        self.alpha_global = alpha_global
        self.max_features = max_features
        self.max_features_per_cut = max_features_per_cut
        self.max_cost = max_cost
        self.bootstrap = bootstrap
        self.loss = loss
        self.class_weight = class_weight
        self.cost_matrix = cost_matrix
        self.relax = relax
        self.rule = rule
        self.selection = selection
        self.n_folds = n_folds
        self.early_stopping = early_stopping
        self.gamma = gamma
        self.n_starts = n_starts
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.categorical = categorical
        self.categorical_features = categorical_features
        self.min_frequency = min_frequency
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.scaling = scaling
        self.monotonic_cst = monotonic_cst
        self.positive_class = positive_class
        self.feature_cost = feature_cost

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, shape (n_samples, n_classes)."""
        forest, X = self._checked(X)
        return forest.predict_proba(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of every probability, minus infinity where it is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def decision_function(self, X: Any) -> FloatArray:
        """Scores that ``predict`` goes by; see ``SORCTClassifier``."""
        forest, X = self._checked(X)
        return forest.decision_function(X)

    def _model(self) -> Model:
        check_one_of("loss", self.loss, (*LOSSES, "both"))
        by_both = self.loss == "both"
        return Model(
            self.depth,
            self.cost_matrix,
            None,
            self.gamma,
            self._table,
            self.monotonic_cst,
            self.positive_class,
            feature_cost=self.feature_cost,
            loss="log" if by_both else self.loss,
            class_weight=self.class_weight,
        )

    def _search(self, seed: int) -> TreeSearch:
        from sorct.estimators.cross_validated import SORCTClassifierCV

        return SORCTClassifierCV(
            class_weight=self.class_weight,
            cost_matrix=self.cost_matrix,
            positive_class=self.positive_class,
            random_state=seed,
            **self._asked,
        )

    def _too_few(self, y: AnyArray) -> str | None:
        least = int(np.unique(y, return_counts=True)[1].min())
        return "at least five rows of every class" if least < _FOLDS else None

    @property
    def _given_beside(self) -> list[str]:
        return ["loss"] if self.loss != _LOSS else []

    def _keep(self, forest: Forest) -> None:
        super()._keep(forest)
        self.classes_ = forest.classes
