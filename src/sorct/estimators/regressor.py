"""SORCTRegressor: a sparse tree of soft cuts that predicts a quantity."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from sorct._typing import FloatArray
from sorct.data.options import TableOptions
from sorct.data.sources import Source
from sorct.data.table import as_table
from sorct.data.wording import shown
from sorct.estimators.bound_problem import BoundProblem
from sorct.estimators.call import call_text
from sorct.estimators.checks import check_real
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.group_bounds import AskedBounds, check_group_options
from sorct.estimators.interval import Interval
from sorct.estimators.searching import (
    check_starts,
    searched,
    starts_frame,
    warn_if_slow,
)
from sorct.estimators.streaming import (
    Streamed,
    comes_in_batches,
    source_of,
    warn_if_late,
)
from sorct.estimators.tree_estimator import TreeEstimator
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.search.log import SearchCallback, SearchResult
    from sorct.solvers.solution import Solution

# Share of the time limit for the search, where bounds on groups are met after it.
_BEFORE_BOUNDS = 0.7


class TreeRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """What every fitted regressor with a ``tree_`` can do."""

    def predict(self, X: Any) -> FloatArray:
        """Predict the quantity of every sample: the mean of what leaves say."""
        tree, X = self._checked(X)
        return np.asarray(tree.predict(X))

    def interval(
        self,
        X: Any,
        y: Any,
        levels: Sequence[float] = (0.1, 0.9),
        sample_weight: Any = None,
    ) -> Interval:
        """Numbers between which rows lie, by the cuts of this tree; see ``Interval``.

        Parameters
        ----------
        X, y : rows to learn from; rows that were not trained on tell more of new ones
        levels : pair of float
            Shares of rows below the lower and below the upper number.
        sample_weight : array of shape (n_samples,) or None
        """
        tree, X = self._checked(X)
        return Interval.of(tree, X, y, levels, sample_weight)

    def _keep_tree(self, tree: Tree) -> None:
        super()._keep_tree(tree)
        self.leaf_value_, self.leaf_coef_ = tree.leaf_value, tree.leaf_coef


class SORCTRegressor(TreeRegressor):
    """Sparse optimal randomized regression tree.

    A complete binary tree of soft oblique cuts, all trained at once. It predicts

        V(x) = sum over leaves of (probability of ending there) x (what the leaf says)

    and minimises the mean loss of y - V(x) on the training sample, in spreads of y,
    plus the penalties of ``SORCTClassifier`` on cuts and linear leaves. A leaf says a
    number, or a linear model of the columns.

    Parameters
    ----------
    depth : int or None, default=None
        Depth of the tree; None means 2. With ``leaf="linear"`` it may be 0: a single
        leaf, which is the LASSO.
    alpha_local : float, default=0.0
        Strength of local sparsity: fewer columns in a cut or linear leaf. Strengths are
        relative to the spread of y.
    alpha_global : float, default=0.0
        Strength of global sparsity: fewer columns in the whole tree, a variable being
        counted once whether cuts or leaves use it.
    loss : {"square", "absolute", "huber", "quantile"}, default="square"
        Loss of what a prediction misses. "huber" is the square up to one standard
        deviation of y and linear beyond; "absolute" and "quantile" are rounded off
        within a fiftieth of it. "absolute" predicts medians.
    quantile : float, default=0.5
        Level of the quantile that is predicted, with ``loss="quantile"``.
    leaf : {"constant", "linear"}, default="constant"
        What a leaf says: a number, or a sparse linear model. Slopes of a leaf count in
        the penalties like coefficients of a cut; a slope of 1 there is a change by 16
        standard deviations of y over the range of the column.
    mixed : float, default=0.1
        Share of the loss that a leaf drawn at random pays instead of the mean of all
        leaves. The larger it is, the nearer a leaf says what its rows are and the
        better rules can be followed by hand; 0 leaves leaves free.
    link : {"identity", "log"}, default="identity"
        "log" trains a tree of the logarithm of y, which must be positive: relative
        errors count instead of absolute ones, leaves are mixed by their logarithms, and
        what they say is raised so that squared errors are least.
    monotonic_cst : mapping, sequence or None, default=None
        1 for columns with which the prediction must never fall, -1 for those with which
        it must never rise. With constant leaves these columns have their sign in every
        cut, and leaves say less from left to right; linear leaves have the sign in
        their slopes, and no cut uses these columns.
    group_bounds : float, mapping or None, default=None
        Bounds on groups of rows, in units of y: one number for all groups, or some
        groups by name. ``fit`` takes the group of every row as ``groups``. They hold
        of predictions, whatever ``loss`` and ``link`` are; tables in memory only.
    group_measure : {"residual", "error"}, default="residual"
        What is bound: the size of the mean of observed minus predicted, or the root
        mean square of it.
    gamma, n_starts, tol, max_iter, time_limit, n_jobs, random_state, categorical,
    categorical_features, min_frequency, handle_unknown, handle_missing, scaling,
    feature_cost
        As in ``SORCTClassifier``.

    Attributes
    ----------
    coef_ : array of shape (n_columns, n_branches), in scaled units, zeros are exact
    threshold_ : array of shape (n_branches,)
    leaf_value_ : array of shape (n_leaves,)
        What leaves say; with slopes, where all scaled columns are 0.
    leaf_coef_ : array of shape (n_columns, n_leaves) or None
        Slopes of linear leaves on scaled columns.
    objective_, cost_ : float
        Penalised objective and mean loss in spreads of y, with a little for the squared
        values of leaves (see docs/regression.md).
    local_sparsity_, global_sparsity_, residual_, n_iter_, status_, starts_, search_,
    n_passes_, tree_, feature_importances_, feature_names_in_, n_features_in_
        As in ``SORCTClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sorct import SORCTRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> reg = SORCTRegressor(depth=1, alpha_local=0.5, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.4
    True
    """

    def __init__(
        self,
        depth: int | None = None,
        alpha_local: float = 0.0,
        alpha_global: float = 0.0,
        *,
        loss: str = "square",
        quantile: float = 0.5,
        leaf: str = "constant",
        mixed: float = 0.1,
        link: str = "identity",
        gamma: float | str = "auto",
        n_starts: int | str = "auto",
        tol: float = 1e-6,
        max_iter: int = 2000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        categorical: str = "whole",
        categorical_features: Any = "from_dtype",
        min_frequency: float = 5,
        handle_unknown: str = "other",
        handle_missing: str = "error",
        scaling: Any = "auto",
        monotonic_cst: Any = None,
        feature_cost: Any = None,
        group_bounds: Any = None,
        group_measure: str = "residual",
    ) -> None:
        self.depth = depth
        self.alpha_local = alpha_local
        self.alpha_global = alpha_global
        self.loss = loss
        self.quantile = quantile
        self.leaf = leaf
        self.mixed = mixed
        self.link = link
        self.gamma = gamma
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
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
        self.feature_cost = feature_cost
        self.group_bounds = group_bounds
        self.group_measure = group_measure

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        callback: SearchCallback | None = None,
    ) -> Self:
        """Train the tree.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_variables)
            Or a table that comes in batches, as in ``SORCTClassifier.fit``: paths of
            files, a pyarrow Dataset, a frame of Dask.
        y : array of shape (n_samples,), numbers, or the name of a column of files
        sample_weight : array of shape (n_samples,) or None
            Weight 2 is the sample twice, weight 0 the sample left out.
        groups : array of shape (n_samples,) or None
            Group of every row, for ``group_bounds``.
        callback : callable or None
            As in ``SORCTClassifier.fit``.

        Raises
        ------
        InfeasibleError
            If no tree was found within ``group_bounds``.
        """
        return self._fit_whole(X, y, sample_weight, groups, callback)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        callback: SearchCallback | None,
    ) -> None:
        model, effort = self._checked_options()
        if callback is not None and not callable(callback):
            raise TypeError(
                f"callback must be callable or None, got {shown(callback)}."
            )
        if y is None:
            raise ValueError(
                "SORCTRegressor requires y to be passed, but the target y is None."
            )
        in_batches = comes_in_batches(X)
        check_group_options(self.group_bounds, groups, in_batches=in_batches)
        seed, call = effort.seed(), call_text(type(self), self.get_params(deep=False))
        source = source_of(X, y, sample_weight)
        if source is not None:
            self._fit_source(source, model, effort, seed, call, callback)
            return
        begun, X = time.perf_counter(), as_table(X)
        validate_data(self, X, skip_check_array=True)
        prepared = Prepared.of(X, y, sample_weight, model, call)
        problem, bound = self._penalised(prepared), None
        if self.group_bounds is not None:
            asked = AskedBounds(self.group_bounds, groups, self.group_measure)
            bound = BoundProblem.of(prepared, problem, X, y, sample_weight, asked)
        searching = effort if bound is None else effort.part(_BEFORE_BOUNDS)
        result = searched(prepared, problem, searching, self.n_starts, seed, callback)
        best = prepared.finished(problem, result.best, searching)
        if bound is not None:
            left = effort.seconds_left(time.perf_counter() - begun)
            best = bound.solve(best, effort, left)
        self.n_passes_ = 0
        self._keep(prepared, best, result, effort)

    def _fit_source(
        self,
        source: Source,
        model: Model,
        effort: Effort,
        seed: int,
        call: str,
        callback: SearchCallback | None,
    ) -> None:
        """Train on a table that comes in batches."""
        streamed = Streamed.of(source, model, call)
        prepared = streamed.prepared
        warn_if_late(prepared, effort)
        validate_data(self, prepared.encoder.typical_row(), skip_check_array=True)
        problem = self._penalised(prepared)
        result = searched(prepared, problem, effort, self.n_starts, seed, callback)
        best = prepared.finished(problem, result.best, effort)
        self.n_passes_ = streamed.n_passes
        self._keep(prepared, best, result, effort)
        if source.target is not None:
            told = replace(self.tree_.training, target=source.target)
            self.tree_ = replace(self.tree_, training=told)

    def _penalised(self, prepared: Prepared) -> Problem:
        """The problem with the penalties asked for."""
        from sorct.problem.penalty import Strengths

        return prepared.problem.at(Strengths(*self._alphas))

    @property
    def _alphas(self) -> tuple[float, float]:
        return float(self.alpha_local), float(self.alpha_global)

    def _keep(
        self, prepared: Prepared, best: Solution, result: SearchResult, effort: Effort
    ) -> None:
        ended = result.status is result.best.status
        self.status_ = best.status if ended else result.status
        self.starts_, self.search_ = starts_frame(result), result.summary
        told = str(self.status_), str(result.summary)
        self._keep_tree(prepared.tree(best, self._alphas, *told))
        warn_if_slow(self.status_, best, effort, stacklevel=6)

    def _checked_options(self) -> tuple[Model, Effort]:
        check_real("alpha_local", self.alpha_local, "a finite number >= 0")
        check_real("alpha_global", self.alpha_global, "a finite number >= 0")
        check_starts(self.n_starts)
        model = Model(
            self.depth,
            gamma=self.gamma,
            table=TableOptions.of(self),
            monotonic_cst=self.monotonic_cst,
            feature_cost=self.feature_cost,
            loss=self.loss,
            of_quantity=True,
            leaf=self.leaf,
            quantile=self.quantile,
            mixed=self.mixed,
            link=self.link,
        )
        effort = Effort(
            self.tol, self.max_iter, self.time_limit, self.n_jobs, self.random_state
        )
        model.check()
        effort.check()
        return model, effort
