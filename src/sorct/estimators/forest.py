"""SORCTForestClassifier and SORCTForestRegressor: trees that share a budget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sorct._typing import AnyArray, FloatArray
from sorct.data.bags import ALL, BOOTSTRAP, HALF
from sorct.data.encoder import rows_stood_for
from sorct.data.options import TableOptions
from sorct.data.table import as_table
from sorct.data.wording import shown
from sorct.estimators.call import call_text
from sorct.estimators.candidates import RULES
from sorct.estimators.checks import (
    check_one_of,
    check_real,
    check_whole,
    checked_flag,
    checked_samples,
    require_target,
)
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.forest_fitting import ForestFit, ForestPlan
from sorct.estimators.streaming import refuse_source
from sorct.estimators.tree_estimator import WholeEstimator
from sorct.solvers.solution import Status
from sorct.tree.forest import Forest
from sorct.tree.path import Limits

__all__ = ["SORCTForestClassifier", "SORCTForestRegressor"]

_KINDS = {True: BOOTSTRAP, "half": HALF, False: ALL}
_MOST_TREES = 10_000
# Rows are compared here, and not folds.
_RULES = RULES[:2]
# Share of a time limit for choosing, the rest being for the trees.
_CHOOSING_SHARE = 0.7


class ForestEstimator(WholeEstimator):
    """What forests of classes and of quantities have in common."""

    forest_: Forest
    n_trees: int
    depth: int | None
    alpha_local: float
    alpha_global: float | None
    max_features: int | None
    max_features_per_cut: int | None
    max_cost: float | None
    bootstrap: Any
    relax: bool
    rule: str
    n_folds: int
    early_stopping: bool
    gamma: Any
    n_starts: int
    time_limit: float | None
    n_jobs: int | None
    random_state: Any
    feature_cost: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the forest.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_variables)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or None
            Weight 2 is the sample twice, weight 0 the sample left out.
        """
        return self._fit_whole(X, y, sample_weight)

    def predict(self, X: Any) -> AnyArray:
        """Predict every sample, see ``Forest.predict``."""
        forest, X = self._checked(X)
        return forest.predict(X)

    def agreement(self, X: Any) -> FloatArray:
        """How far the trees agree about every sample, see ``Forest.agreement``."""
        forest, X = self._checked(X)
        return forest.agreement(X)

    # -- fitting ---------------------------------------------------------------------

    def _model(self) -> Model:
        """What defines a tree but for the data."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        model, effort = self._model(), self._checked_effort()
        model.check()
        name = type(self).__name__
        require_target(y, name)
        refuse_source(X, name)
        X = as_table(X)
        validate_data(self, X, skip_check_array=True)
        call = call_text(type(self), self.get_params(deep=False))
        # Checked once more, to know how many rows they stand for.
        weight = checked_samples(X, y, sample_weight, model.read)[2]
        stood = rows_stood_for(weight)
        n_draws = len(weight) if stood is None else float(stood.sum())
        seed = effort.seed()
        prepared = Prepared.of(X, y, sample_weight, model, call)
        self._keep(self._grown(prepared, model, effort, seed, self._plan(n_draws)))

    def _grown(
        self,
        prepared: Prepared,
        model: Model,
        effort: Effort,
        seed: int,
        plan: ForestPlan,
    ) -> Forest:
        from sorct.problem.evaluation import never
        from sorct.search.workers import Workers, deadline

        soft, hard = never(), never()
        left = effort.seconds_left(prepared.seconds)
        share = None if left is None else _CHOOSING_SHARE * left
        with (
            deadline(left, hard),
            deadline(share, soft),
            Workers(effort.n_jobs, soft, hard) as workers,
        ):
            fit = ForestFit(
                plan, prepared, model, seed, effort.n_jobs, workers, soft, hard
            )
            return fit.run()

    @property
    def _limits(self) -> Limits:
        return Limits(self.max_features, self.max_features_per_cut, self.max_cost)

    def _plan(self, n_draws: float) -> ForestPlan:
        return ForestPlan(
            int(self.n_trees),
            int(self.n_starts),
            int(self.n_folds),
            _KINDS[self.bootstrap],
            float(self.alpha_local),
            None if self.alpha_global is None else float(self.alpha_global),
            self._limits,
            bool(self.relax),
            self.rule,
            bool(self.early_stopping),
            getattr(self, "loss", None) == "both",
            self.depth is None,
            isinstance(self.gamma, str) and self.gamma == "auto",
            n_draws,
        )

    def _checked_effort(self) -> Effort:
        check_whole("n_trees", self.n_trees, most=_MOST_TREES)
        check_whole("n_starts", self.n_starts, most=1000)
        check_real("alpha_local", self.alpha_local, "a finite number >= 0")
        alpha = 0.0 if self.alpha_global is None else self.alpha_global
        check_real("alpha_global", alpha, "a finite number >= 0 or None")
        known = isinstance(self.bootstrap, (bool, np.bool_, str))
        if not known or self.bootstrap not in _KINDS:
            raise ValueError(
                f'bootstrap must be True, "half" or False, got {shown(self.bootstrap)}.'
            )
        check_one_of("rule", self.rule, _RULES)
        checked_flag("relax", self.relax)
        checked_flag("early_stopping", self.early_stopping)
        check_whole("n_folds", self.n_folds, "a whole number >= 2", 100, least=2)
        effort = Effort(
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        effort.check()
        self._limits.check_with(self.feature_cost)
        return effort

    def _keep(self, forest: Forest) -> None:
        """Set what users of scikit-learn look for, all of it read from the forest."""
        told = forest.training
        self.forest_ = forest
        self.oob_score_ = told.oob_score
        self.alpha_global_ = told.alpha_global
        self.status_ = Status(str(told.status))
        self.feature_importances_ = forest.importances
        self.depth_, self.gamma_ = forest.trees[0].depth, forest.trees[0].gamma

    def _checked(self, X: Any) -> tuple[Forest, Any]:
        """The forest, and the table to predict for."""
        check_is_fitted(self)
        X = self.forest_.completed(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.forest_, X


class SORCTForestClassifier(ClassifierMixin, ForestEstimator):  # type: ignore[misc]
    """Forest of sparse randomized trees that share a budget of variables.

    Every tree is trained on a bag of rows of its own by the engine of
    ``SORCTClassifier``; the forest says the mean of their probabilities. Variables are
    chosen for the whole forest: ``alpha_global`` is paid once for a variable, however
    many trees and cuts use it, so that the form to fill in stays short.

    Parameters
    ----------
    n_trees : int, default=25
    depth : int or None, default=None
        Depth of every tree; None chooses it by the out-of-bag loss of forests without
        penalties: the smallest with a leaf for every class, or up to two more.
    alpha_local : float, default=0.0
        Strength of local sparsity: fewer columns in a cut.
    alpha_global : float or None, default=None
        Strength of the penalty on variables of the whole forest; None chooses it by
        cross-validation. 0 keeps every variable.
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
    rule : {"one-standard-error", "best"}, default="one-standard-error"
        How ``alpha_global`` is chosen: the fewest variables within one standard error
        of the least loss on held-out rows, or that least loss itself.
    n_folds : int, default=3
        Folds of that choice.
    early_stopping : bool, default=False
        Whether to stop, five trees at a time, when the out-of-bag loss no longer falls
        by half a per cent.
    gamma : float or "auto", default="auto"
        Steepness of the cuts; "auto" chooses 16 or 64 per variable like the depth.
    n_starts : int, default=3
        Starts of every tree on its bag.
    time_limit : float or None, default=None
        Seconds after which trees end where they are; 0.7 of it is for choosing.
    n_jobs : int or None, default=None
        Threads, as in joblib. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of bags, starts and folds.
    categorical, categorical_features, min_frequency, handle_unknown, handle_missing,
    scaling, feature_cost
        As in ``SORCTClassifier``.

    Attributes
    ----------
    forest_ : Forest
        The fitted forest in original names and units.
    classes_ : array of shape (n_classes,)
    oob_score_ : float or None
        Accuracy on every row of the trees that have not seen it; None if every tree has
        seen all. The variables were chosen with these rows, so where the budget is
        small beside the table it flatters: test on other rows.
    alpha_global_ : float
        Strength that selected the variables.
    depth_, gamma_ : int, float
        Depth and steepness of the trees.
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
        n_trees: int = 25,
        depth: int | None = None,
        alpha_local: float = 0.0,
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
        rule: str = "one-standard-error",
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
        scaling: Any = "auto",
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
        by_both = isinstance(self.loss, str) and self.loss == "both"
        return Model(
            self.depth,
            self.cost_matrix,
            None,
            self.gamma,
            TableOptions.of(self),
            feature_cost=self.feature_cost,
            loss="log" if by_both else self.loss,
            class_weight=self.class_weight,
        )

    def _keep(self, forest: Forest) -> None:
        super()._keep(forest)
        self.classes_ = forest.classes


class SORCTForestRegressor(RegressorMixin, ForestEstimator):  # type: ignore[misc]
    """Forest of sparse randomized regression trees that share a budget of variables.

    It predicts the mean of what its trees predict; all else is as in
    ``SORCTForestClassifier``, with the losses and leaves of ``SORCTRegressor``.

    Parameters
    ----------
    n_trees : int, default=25
    depth : int or None, default=None
        Depth of every tree; None chooses 1, 2 or 3 by the out-of-bag loss.
    alpha_local, alpha_global, max_features, max_features_per_cut, max_cost, bootstrap,
    relax, rule, n_folds, early_stopping, gamma, n_starts, time_limit, n_jobs,
    random_state
        As in ``SORCTForestClassifier``.
    loss : {"square", "absolute", "huber", "quantile"}, default="square"
        As in ``SORCTRegressor``.
    quantile : float, default=0.5
        Level of the quantile that is predicted, with ``loss="quantile"``.
    leaf : {"constant", "linear"}, default="constant"
        What a leaf says: a number, or a sparse linear model.
    categorical, categorical_features, min_frequency, handle_unknown, handle_missing,
    scaling, feature_cost
        As in ``SORCTClassifier``.

    Attributes
    ----------
    forest_ : Forest
    oob_score_ : float or None
        R2 on every row of the trees that have not seen it; it flatters as in
        ``SORCTForestClassifier``.
    alpha_global_, depth_, gamma_, feature_importances_, status_, feature_names_in_,
    n_features_in_
        As in ``SORCTForestClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sorct import SORCTForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = SORCTForestRegressor(5, 1, max_features=3, random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.3
    True
    """

    def __init__(
        self,
        n_trees: int = 25,
        depth: int | None = None,
        alpha_local: float = 0.0,
        alpha_global: float | None = None,
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        bootstrap: bool | str = True,
        loss: str = "square",
        quantile: float = 0.5,
        leaf: str = "constant",
        relax: bool = True,
        rule: str = "one-standard-error",
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
        scaling: Any = "auto",
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
        self.quantile = quantile
        self.leaf = leaf
        self.relax = relax
        self.rule = rule
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
        self.feature_cost = feature_cost

    def _model(self) -> Model:
        return Model(
            self.depth,
            gamma=self.gamma,
            table=TableOptions.of(self),
            feature_cost=self.feature_cost,
            loss=self.loss,
            of_quantity=True,
            leaf=self.leaf,
            quantile=self.quantile,
        )
