"""SORCTClassifier: checks what it is given, composes the layers, keeps the results.

The compiler and pandas are loaded when ``fit`` first needs them; prediction needs
neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from sorct._typing import AnyArray, FloatArray
from sorct.data.options import TableOptions
from sorct.data.sources import Source
from sorct.data.table import as_table
from sorct.data.wording import shown
from sorct.estimators.calibrating import HeldFolds
from sorct.estimators.call import call_text
from sorct.estimators.checks import check_real
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.promises import Promise, hold_out
from sorct.estimators.searching import (
    check_starts,
    searched,
    starts_frame,
    tried_text,
    warn_if_poor,
)
from sorct.estimators.sparse_fit import SparseFit, search_sparse
from sorct.estimators.streaming import begin, refuse_checkpoint, source_of, warn_if_late
from sorct.estimators.tree_classifier import TreeClassifier
from sorct.tree.calibration import Calibration
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.search.log import SearchCallback, SearchResult


__all__ = ["SORCTClassifier", "TreeClassifier"]


class SORCTClassifier(TreeClassifier):
    """Sparse optimal randomized classification tree.

    A complete binary tree of soft oblique cuts, all trained at once: it minimises the
    expected misclassification cost on the training sample plus

        alpha_local mean_{v,t} max_{j in v} |a_jt|
        + alpha_global mean_v max_{j in v, t} |a_jt|

    over cuts t and variables v, of which a categorical one has several columns j,

    subject to a floor under the expected recall of every class, if asked for. Numbers
    are scaled and categories coded inside; missing cells are allowed.

    Parameters
    ----------
    depth : int or None, default=None
        Depth of the tree; None means the smallest with a leaf for every class.
    alpha_local : float, default=0.0
        Strength of local sparsity: fewer columns in a cut.
    alpha_global : float, default=0.0
        Strength of global sparsity: fewer columns in the whole tree.
    cost_matrix : array of shape (n_classes, n_classes) or None, default=None
        Cost of predicting the column's class for a sample of the row's, in the order of
        ``classes_``; non-negative, zero on the diagonal. None means 0.5 elsewhere. Of a
        data frame whose rows and columns are labelled, the labels count, not the order.
    min_recall : float, mapping from class to float, or None, default=None
        Floor under the expected recall of every class, or of the classes named.
    loss : {"cost", "log"}, default="cost"
        What is minimised: the expected cost of predictions, as in the paper, or minus
        the mean log of the probability of every sample's class (the likelihood). Under
        "log" leaves learn how the classes are distributed in them, probabilities mean
        what they say, and ``cost_matrix`` and ``min_recall`` act on the decision: the
        class of least expected cost is predicted, classes being weighted such that the
        floors hold on the training rows. With one cut between two classes it is L1
        logistic regression.
    class_weight : "balanced", mapping from class to float, or None, default=None
        What the weights of the rows of a class are multiplied by in training; classes
        that a mapping does not name count once. "balanced" gives all classes the same
        weight in sum. Shares, recalls and precisions that are told of the tree count
        rows by their own weights; probabilities are those of the weighted rows, unless
        they are calibrated.
    calibration : {"isotonic", "sigmoid"} or None, default=None
        Maps the tree's probabilities to those that held-out rows show: trees of the
        same settings are trained without one of five folds each. "sigmoid" has two
        numbers per class (Platt's map on log-odds), "isotonic" a curve of at most 64
        points, which needs a thousand rows or so. Costs and floors then act on the
        decision under either loss.
    confidence : float or None, default=None
        Promise ``min_recall`` of one class on new rows with this probability: the limit
        of the decision is set by held-out rows of the class. None means that floors
        hold on the training rows.
    gamma : float, "auto", "gentle" or "steep", default="auto"
        Steepness of the cuts; the larger, the harder the decisions. Names are 64, 16 or
        512 per variable, so that useless columns change nothing; the paper's is 512.
    n_starts : int or "auto", default="auto"
        "auto" searches for the best tree: chains of starts and improving moves, run
        anew until independent runs agree. A number means that many independent starts.
    tol : float, default=1e-6
        Bound on the stationarity residual, in the units of a / n_columns and mu. It is
        absolute: keep the costs in ``cost_matrix`` of the size of 1.
    max_iter : int, default=2000
        Bound on the iterations of one start (of one round, with active floors); with
        ``n_starts="auto"``, of the polish.
    time_limit : float or None, default=None
        Seconds after which the best tree so far is returned. Compilation, once per
        machine, is not counted. With calibration, its trees share the time.
    n_jobs : int or None, default=None
        Threads, as in joblib; the result is the same unless ``time_limit`` ends it.
    random_state : int, RandomState or None, default=None
        Seed of the starts, and of the rows that are held out.
    categorical : {"whole", "dummies"}, default="whole"
        "whole" chooses the levels of a categorical column together, as one variable:
        both penalties count variables. "dummies" is the paper's treatment, a column of
        its own for every level but the first.
    categorical_features : names, positions or a mask, default="from_dtype"
        Further columns that are categories; text, pandas categories and truth values
        are categories anyway. Ordered pandas categories are scored by their order.
    min_frequency : int or float, default=5
        Levels with fewer rows (or, below 1, a smaller share of them) are pooled as
        "other".
    handle_unknown : {"other", "error", "first_level"}, default="other"
        What to do at prediction with levels of a categorical column that training never
        saw: treat them as "other" (where nothing was pooled they add nothing to any
        cut), refuse them, or treat them as the first level.
    handle_missing : {"error", "typical"}, default="error"
        What to do at prediction with a missing cell in a column that had none in
        training: refuse it, or take the median (the most frequent level) of training.
        In columns with missing cells in training they get weights of their own.
    scaling : str or mapping from columns, default="auto"
        How numbers are scaled to [0, 1]: by their range ("minmax"), along a curve by at
        most 20 of their quantiles ("quantile"), or as "auto" sees fit: by the range,
        clipped where single cells are wild, and by quantiles where a long tail would
        crush the rest. "standard" scales by the range, and penalties count what a
        variable can add in standard deviations, as if columns were standardised. "bent"
        makes a column of every part of a number between its quartiles, each chosen by
        itself, so that cuts and linear leaves may change their slope there. A mapping
        says it for single columns.
    monotonic_cst : mapping from columns, array of -1, 0 and 1, or None, default=None
        Directions, as in scikit-learn: with 1 the predicted probability of
        ``positive_class`` never falls as the column grows, with -1 it never rises, for
        any values of the other columns. Leaves of that class then come before all
        others, and coefficients of the column have one sign.
    positive_class : label or None, default=None
        Class that directions are about; None means the second of two.
    feature_cost : mapping from columns, array, or None, default=None
        What every column costs to collect. Penalties weigh variables by their price
        (only proportions count); columns that a mapping does not name cost 1, those
        that cost 0 are used freely.
    followable : bool, default=True
        Whether cuts are collapsed that decide nothing for people who follow the rules
        by hand: those that only sharpen another, and those that lead to a leaf which no
        row of training reaches that way. The rest is solved again; its objective may be
        above that of the best start.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_columns, n_branches), in scaled units, zeros are exact
    threshold_ : array of shape (n_branches,)
    leaf_class_ : array of shape (n_leaves,), positions in ``classes_``
    objective_, cost_ : float
        Penalised objective and expected cost on the training sample.
    local_sparsity_, global_sparsity_ : float
        Per cent of columns unused, per cut on average and in the whole tree.
    recall_ : array of shape (n_classes,)
        Expected recall on the training sample, as constrained; recall of the classes
        predicted where floors act on the decision.
    residual_ : float
        Stationarity residual of the tree returned.
    n_iter_ : int
        Iterations of the start that led to it.
    status_ : Status
        How training ended; compares equal to its name, such as ``"converged"``.
    starts_ : DataFrame
        One row per descent: kind of start or move, the independent run it belongs to
        (-1 for the finish on all rows after a search on some), objective before and
        after, whether it meets the floors, residual, status, evaluations, seconds. The
        status is by the tolerance of the descent: ``tol`` for independent starts and
        "polished" trees, 1e-4 for what a search tries on the way.
    search_ : SearchSummary
        How often the best tree was found again, number of local optima, effort.
    n_passes_ : int
        Passes over all rows after a search on some of them; of a table that comes in
        batches, all passes.
    tree_ : Tree
        The fitted tree in original names and units.
    feature_importances_ : array of shape (n_features_in_,)
        How far every variable can move the sums of the cuts, cuts being weighted by the
        share of the training rows that come to them; 0 for variables that no cut uses.
        They sum to 1, or to 0 if the tree uses none.
    feature_names_in_, n_features_in_
        As in scikit-learn.

    Notes
    -----
    Leaves carry whole labels. With floors on recall a tree with mixed labels could be
    slightly cheaper, but nobody could read it.

    Fitting holds at most three copies of X in memory: the one given, one laid out for
    the compiled kernels and, if X is not a float64 matrix, one as such. The search adds
    a few copies of at most 16 384 rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=0.125, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        depth: int | None = None,
        alpha_local: float = 0.0,
        alpha_global: float = 0.0,
        *,
        cost_matrix: Any = None,
        min_recall: float | Mapping[Any, float] | None = None,
        loss: str = "cost",
        class_weight: str | Mapping[Any, float] | None = None,
        calibration: str | None = None,
        confidence: float | None = None,
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
        positive_class: Any = None,
        feature_cost: Any = None,
        followable: bool = True,
    ) -> None:
        self.depth = depth
        self.alpha_local = alpha_local
        self.alpha_global = alpha_global
        self.cost_matrix = cost_matrix
        self.min_recall = min_recall
        self.loss = loss
        self.class_weight = class_weight
        self.calibration = calibration
        self.confidence = confidence
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
        self.positive_class = positive_class
        self.feature_cost = feature_cost
        self.followable = followable

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callback: SearchCallback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train the tree.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_variables)
            Or a table that is larger than memory: a path, folder or glob of Parquet or
            CSV files, a pyarrow Dataset, or a DataFrame or Array of Dask.
        y : array of shape (n_samples,)
            For such a table the name of its target column, or a Series or Array of
            Dask.
        sample_weight : array of shape (n_samples,) or None
            Weight 2 is the sample twice, weight 0 the sample left out. For such a table
            the name of a column, or a Series or Array of Dask.
        callback : callable or None
            Called after every descent with its progress (``n_done``, ``n_starts``,
            ``objective``, ``seconds``); returning True stops with the best tree so far.
        checkpoint : path or None
            Folder for a table that is larger than memory: what was drawn, what the
            search found and the sums of every pass are kept there. A fit that was ended
            goes on from there, to the same tree.

        Raises
        ------
        InfeasibleError
            If no start meets ``min_recall``, or it cannot be promised; names the rates
            that came closest.
        """
        return self._fit_whole(X, y, sample_weight, callback, checkpoint)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- fitting ---------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        callback: SearchCallback | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        model, effort = self._checked_options()
        self._columns = None
        if callback is not None and not callable(callback):
            raise TypeError(
                f"callback must be callable or None, got {shown(callback)}."
            )
        if y is None:
            raise ValueError(
                "SORCTClassifier requires y to be passed, but the target y is None."
            )
        call = call_text(type(self), self.get_params(deep=False))
        source = source_of(X, y, sample_weight)
        if source is not None:
            self._fit_source(source, model, effort, call, callback, checkpoint)
            return
        if checkpoint is not None:
            refuse_checkpoint()
        if issparse(X):
            self._fit_sparse(X, y, sample_weight, model, effort, call, callback)
            return
        X = as_table(X)
        validate_data(self, X, skip_check_array=True)
        seed = effort.seed()
        kept, promise = hold_out(X, y, sample_weight, model, seed)
        prepared = Prepared.of(*kept, model, call)
        folds = None
        if self.calibration is not None:
            folds = HeldFolds.of(*kept, seed)
            effort = effort.shared(len(folds.folds) + 1)
        problem = self._penalised(prepared.problem)
        result = searched(prepared, problem, effort, self.n_starts, seed, callback)
        calibration = self._calibration(folds, effort, seed, callback)
        self._keep(prepared, problem, result, calibration, promise)
        self.n_passes_ = sum(
            start.n_evaluations for start in result.starts if start.run < 0
        )

    def _fit_source(
        self,
        source: Source,
        model: Model,
        effort: Effort,
        call: str,
        callback: SearchCallback | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        """Train on a table that comes in batches."""
        begun = begin(source, model, effort.seed(), call, checkpoint)
        streamed, seed = begun.streamed, begun.seed
        prepared, draw = streamed.prepared, streamed.draw
        warn_if_late(prepared, effort)
        validate_data(self, prepared.encoder.typical_row(), skip_check_array=True)
        folds = None
        if model.calibration is not None:
            folds = HeldFolds.of(draw.X, draw.y, draw.own_weight(prepared.factor), seed)
            effort = effort.shared(len(folds.folds) + 1)
        problem = self._penalised(prepared.problem)
        result = searched(
            prepared, problem, effort, self.n_starts, seed, callback, begun.memory
        )
        calibration = self._calibration(folds, effort, seed, callback)
        self._keep(prepared, problem, result, calibration, begun.promise)
        self.n_passes_ = streamed.n_passes
        if source.target is not None:
            told = replace(self.tree_.training, target=source.target)
            self.tree_ = replace(self.tree_, training=told)

    def _fit_sparse(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        model: Model,
        effort: Effort,
        call: str,
        callback: SearchCallback | None,
    ) -> None:
        """Train on a sparse matrix; the tree knows only the columns that it uses."""
        alphas = float(self.alpha_local), float(self.alpha_global)
        fit = SparseFit.of(X, y, sample_weight, model, alphas, call)
        validate_data(self, X, skip_check_array=True)
        found = search_sparse(fit, effort, self.n_starts, effort.seed(), callback)
        prepared, problem, result, columns = found
        self._keep(prepared, problem, result, None, None)
        self.n_passes_ = 0
        self._spread(columns)

    def _calibration(
        self,
        folds: HeldFolds | None,
        effort: Effort,
        seed: int,
        callback: SearchCallback | None,
    ) -> Calibration | None:
        """Maps for the probabilities, by trees of the same settings, if asked for."""
        if folds is None:
            return None
        table = TableOptions.of(self).forgiving
        on_decision = self.loss == "log" or self.confidence is not None
        twin = clone(self).set_params(
            calibration=None,
            confidence=None,
            min_recall=None if on_decision else self.min_recall,
            time_limit=effort.time_limit,
            random_state=seed,
            handle_unknown=table.handle_unknown,
            handle_missing=table.handle_missing,
        )

        def fit(X: Any, y: AnyArray, weight: FloatArray) -> Tree:
            tree: Tree = twin.fit(X, y, weight, callback=callback).tree_
            return tree

        return folds.calibration(str(self.calibration), fit)

    def _checked_options(self) -> tuple[Model, Effort]:
        check_real("alpha_local", self.alpha_local, "a finite number >= 0")
        check_real("alpha_global", self.alpha_global, "a finite number >= 0")
        check_starts(self.n_starts)
        model = Model(
            self.depth,
            self.cost_matrix,
            self.min_recall,
            self.gamma,
            TableOptions.of(self),
            self.monotonic_cst,
            self.positive_class,
            self.feature_cost,
            self.loss,
            self.followable,
            self.class_weight,
            self.calibration,
            self.confidence,
        )
        effort = Effort(
            self.tol, self.max_iter, self.time_limit, self.n_jobs, self.random_state
        )
        model.check()
        effort.check()
        return model, effort

    def _penalised(self, problem: Problem) -> Problem:
        from sorct.problem.penalty import Strengths

        return problem.at(Strengths(float(self.alpha_local), float(self.alpha_global)))

    def _keep(
        self,
        prepared: Prepared,
        problem: Problem,
        result: SearchResult,
        calibration: Calibration | None,
        promise: Promise | None,
    ) -> None:
        if not result.best.feasible:
            prepared.refuse(result.best.recall, tried_text(result), "n_starts")
        effort = self._checked_options()[1]
        best = prepared.finished(problem, result.best, effort)
        # A tree that was solved again, without some cuts, ended in its own way.
        ended = result.status is result.best.status
        self.status_ = best.status if ended else result.status
        self.starts_ = starts_frame(result)
        self.search_ = result.summary
        alphas = float(self.alpha_local), float(self.alpha_global)
        told = str(self.status_), str(result.summary)
        self._keep_tree(prepared.tree(best, alphas, *told, calibration, promise))
        warn_if_poor(self.tree_, self.status_, best, effort, stacklevel=6)
