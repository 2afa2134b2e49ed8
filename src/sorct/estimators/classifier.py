"""SORCTClassifier: checks what it is given, composes the layers, keeps the results.

The compiler and pandas are loaded when ``fit`` first needs them; prediction needs
neither.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from sorct._typing import AnyArray, FloatArray
from sorct.data.table import as_table
from sorct.data.wording import shown
from sorct.estimators.call import call_text
from sorct.estimators.checks import MOST_STARTS, check_real, check_whole
from sorct.estimators.fitting import Effort, Model, Prepared
from sorct.solvers.solution import Status
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

    from sorct.problem.problem import Problem
    from sorct.search.log import SearchCallback, SearchResult


class TreeClassifier(ClassifierMixin, BaseEstimator):
    """What every fitted classifier with a ``tree_`` can do."""

    tree_: Tree

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, shape (n_samples, n_classes)."""
        tree, X = self._checked(X)
        return tree.predict_proba(X)

    def predict(self, X: Any) -> AnyArray:
        """Most probable class of every sample."""
        tree, X = self._checked(X)
        return tree.predict(X)

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

    def _checked(self, X: Any) -> tuple[Tree, Any]:
        """The tree, and the table to predict for."""
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.tree_, X


class SORCTClassifier(TreeClassifier):
    """Sparse optimal randomized classification tree.

    A complete binary tree of soft oblique cuts, all trained at once: it minimises the
    expected misclassification cost on the training sample plus

        alpha_local mean_{j,t} |a_jt| + alpha_global mean_j max_t |a_jt|,

    subject to a floor under the expected recall of every class, if asked for. Numeric
    columns are min-max scaled and categorical ones one-hot coded inside.

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
        ``classes_``; non-negative, zero on the diagonal. None means 0.5 elsewhere.
    min_recall : float, mapping from class to float, or None, default=None
        Floor under the expected recall of every class, or of the classes named.
    gamma : float, default=512.0
        Steepness of the cuts; the larger, the harder the decisions.
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
        machine, is not counted.
    n_jobs : int or None, default=None
        Threads for the starts, as in joblib. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    handle_unknown : {"error", "first_level"}, default="error"
        What to do at prediction with levels of a categorical column that training never
        saw: refuse them, or treat them as the first level.

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
        Expected recall on the training sample, as constrained.
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
    tree_ : Tree
        The fitted tree in original names and units.
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
        gamma: float = 512.0,
        n_starts: int | str = "auto",
        tol: float = 1e-6,
        max_iter: int = 2000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        handle_unknown: str = "error",
    ) -> None:
        self.depth = depth
        self.alpha_local = alpha_local
        self.alpha_global = alpha_global
        self.cost_matrix = cost_matrix
        self.min_recall = min_recall
        self.gamma = gamma
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.handle_unknown = handle_unknown

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callback: SearchCallback | None = None,
    ) -> Self:
        """Train the tree.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_variables)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or None
            Weight 2 is the sample twice, weight 0 the sample left out.
        callback : callable or None
            Called after every descent with its progress (``n_done``, ``n_starts``,
            ``objective``, ``seconds``); returning True stops with the best tree so far.

        Raises
        ------
        InfeasibleError
            If no start meets ``min_recall``; names the rates that came closest.
        """
        return self._fit_whole(X, y, sample_weight, callback)

    # -- fitting ---------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        callback: SearchCallback | None,
    ) -> None:
        model, effort = self._checked_options()
        if callback is not None and not callable(callback):
            raise TypeError(
                f"callback must be callable or None, got {shown(callback)}."
            )
        if y is None:
            raise ValueError(
                "SORCTClassifier requires y to be passed, but the target y is None."
            )
        X = as_table(X)
        validate_data(self, X, skip_check_array=True)
        seed = effort.seed()
        call = call_text(type(self), self.get_params(deep=False))
        prepared = Prepared.of(X, y, sample_weight, model, call)
        result = self._search(prepared, effort, seed, callback)
        self._keep(prepared, result)

    def _checked_options(self) -> tuple[Model, Effort]:
        check_real("alpha_local", self.alpha_local, "a finite number >= 0")
        check_real("alpha_global", self.alpha_global, "a finite number >= 0")
        if not (isinstance(self.n_starts, str) and self.n_starts == "auto"):
            expected = 'a whole number >= 1 or "auto"'
            check_whole("n_starts", self.n_starts, expected, MOST_STARTS)
        model = Model(
            self.depth,
            self.cost_matrix,
            self.min_recall,
            self.gamma,
            self.handle_unknown,
        )
        effort = Effort(
            self.tol, self.max_iter, self.time_limit, self.n_jobs, self.random_state
        )
        model.check()
        effort.check()
        return model, effort

    def _search(
        self,
        prepared: Prepared,
        effort: Effort,
        seed: int,
        callback: SearchCallback | None,
    ) -> SearchResult:
        from sorct.search.chains import IteratedSearch
        from sorct.search.multistart import Multistart

        problem = self._penalised(prepared.problem)
        seconds, solver = effort.seconds_left(prepared.seconds), effort.solver()
        if self.n_starts == "auto":
            search = IteratedSearch(solver, self.n_jobs, seconds)
            return search.run(problem, seed, callback)
        starts = Multistart(solver, int(self.n_starts), self.n_jobs, seconds)
        return starts.run(problem, seed, callback)

    def _penalised(self, problem: Problem) -> Problem:
        from sorct.problem.penalty import Strengths

        return problem.at(Strengths(float(self.alpha_local), float(self.alpha_global)))

    def _keep(self, prepared: Prepared, result: SearchResult) -> None:
        from sorct.search.polish import without_idle_cuts

        if not result.best.feasible:
            tried = f"{len(result.starts)} descents{_why_short(result.status)}"
            prepared.refuse(result.best, tried, "n_starts")
        best = without_idle_cuts(self._penalised(prepared.problem), result.best)
        self.status_ = result.status
        self.starts_ = _starts_frame(result)
        self.search_ = result.summary
        alphas = float(self.alpha_local), float(self.alpha_global)
        self._keep_tree(
            prepared.tree(
                best, alphas, status=str(result.status), search=str(result.summary)
            )
        )
        if result.status is Status.MAX_ITER:
            warnings.warn(
                f"The residual is {best.residual:.1e} after {best.n_iterations} "
                f"iterations, above tol={self.tol}. Raise max_iter (it is "
                f"{self.max_iter}) or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )


def _why_short(status: Status) -> str:
    """Why there were not more starts, if so."""
    reasons = {
        Status.TIME_LIMIT: " before time_limit",
        Status.STOPPED: " before the callback",
    }
    return reasons.get(status, "")


def _starts_frame(result: SearchResult) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {
            "kind": start.kind,
            "run": start.run,
            "objective_before": start.first,
            "objective": start.objective,
            "feasible": start.feasible,
            "residual": start.residual,
            "status": str(start.status),
            "evaluations": start.n_evaluations,
            "seconds": start.seconds,
        }
        for start in result.starts
    ]
    return pd.DataFrame(rows).rename_axis("start")
