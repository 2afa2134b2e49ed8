"""SORCTClassifierCV: chooses the penalties, and if asked depth and gamma.

Every fold traces its own path of trees with warm starts, and so do all rows together;
the choice is then among the trees of the latter, by their penalties' scores on the
folds. Folds run in parallel through joblib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from sorct._typing import AnyArray, FloatArray
from sorct.data.options import TableOptions
from sorct.data.table import as_table
from sorct.data.target import Classes, plain_labels
from sorct.data.wording import shown
from sorct.estimators.call import call_text
from sorct.estimators.checks import (
    MOST_STARTS,
    check_real,
    check_whole,
    checked_cost_matrix,
    checked_floor,
    checked_samples,
    checked_topology,
)
from sorct.estimators.classifier import TreeClassifier
from sorct.estimators.fitting import Effort, Model
from sorct.estimators.folds import (
    Data,
    DefaultScorer,
    FoldScores,
    PathTask,
    score_fold,
    trace_all,
)
from sorct.estimators.path import PAPER_ALPHAS, checked_alphas, warn_if_slow
from sorct.estimators.progress import progress_bar
from sorct.estimators.scorers import scorer_name
from sorct.tree.frontier import sparsest
from sorct.tree.path import Limits, Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

RULES = ("best", "one-standard-error")


class SORCTClassifierCV(TreeClassifier):
    """Sparse tree with penalties chosen by cross-validation.

    Parameters
    ----------
    depths : int, sequence of int or None, default=None
        Depths to choose from; None means the smallest with a leaf for every class.
    alphas_local, alphas_global : sequence of float, float or None, default=None
        Strengths to choose from, see ``sorct_path``. None means the paper's, 0 and
        2^-12, ..., 2^3, for local sparsity and 0 alone for global sparsity.
    gammas : float or sequence of float, default=512.0
        Steepnesses to choose from.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn; stratified if a number. For folds by groups pass
        ``list(splitter.split(X, y, groups))``.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn; None means accuracy, or minus the mean cost if
        ``cost_matrix`` makes some errors dearer than others.
    rule : {"best", "one-standard-error"}, default="best"
        Take the best mean score (the sparsest tree among equals), or the sparsest tree
        whose mean score is at most one standard error below it: fewest variables, then
        fewest columns per cut.
    max_features : int or None, default=None
        Most variables of the table that the tree may use.
    max_features_per_cut : int or None, default=None
        Most variables that any of its cuts may use.
    max_cost : float or None, default=None
        Most that its variables may cost together, by ``feature_cost``.
    n_solutions : int, default=20
        Trees carried along each path.
    cost_matrix, min_recall, tol, max_iter, categorical, categorical_features,
    min_frequency, handle_unknown, handle_missing, scaling, monotonic_cst,
    positive_class, feature_cost
        As in ``SORCTClassifier``.
    n_jobs : int or None, default=None
        Folds traced at the same time, as in joblib, with its backend of the moment. The
        result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the paths; ``cv`` has its own.
    progress : bool, default=False
        Whether to draw a progress bar (needs rich).

    Attributes
    ----------
    cv_results_ : DataFrame
        One row per candidate: ``depth``, ``gamma``, ``alpha_local``, ``alpha_global``,
        ``mean_score``, ``std_score``, ``se_score`` (standard error of the mean),
        ``split<k>_score``, ``rank``, and of the tree trained on all rows ``n_columns``,
        ``n_variables``, ``most_variables_per_cut``, ``local_sparsity``,
        ``global_sparsity``, ``objective``, ``cost``.
    best_index_ : int
        Row that was chosen.
    best_params_ : dict
        Its depth, gamma and alphas.
    best_score_ : float
        Its mean score.
    path_ : Path
        Trees trained on all rows with the depth and gamma chosen.
    tree_ : Tree
        The one chosen; ``tree_.training`` has its score, the standard error of that,
        the scorer, the number of folds and the rule (``cv_score`` and so on).
    coef_, threshold_, leaf_class_, objective_, cost_, residual_, recall_, n_iter_
        As in ``SORCTClassifier``, of the tree chosen.
    local_sparsity_, global_sparsity_ : float
    classes_, feature_names_in_, n_features_in_
        As in scikit-learn.

    Notes
    -----
    The score of the point chosen is the best of many and therefore a little optimistic;
    judge the tree on rows kept aside.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifierCV
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> search = SORCTClassifierCV(alphas_local=[0.1, 1, 8], max_features=2,
    ...                            random_state=0).fit(X, y)
    >>> len(search.tree_.variables_used) <= 2
    True
    """

    def __init__(
        self,
        depths: int | Sequence[int] | None = None,
        alphas_local: Any = None,
        alphas_global: Any = None,
        *,
        gammas: float | Sequence[float] = 512.0,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        n_solutions: int = 20,
        cost_matrix: Any = None,
        min_recall: float | Mapping[Any, float] | None = None,
        tol: float = 1e-6,
        max_iter: int = 2000,
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
        progress: bool = False,
    ) -> None:
        self.depths = depths
        self.alphas_local = alphas_local
        self.alphas_global = alphas_global
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.max_features = max_features
        self.max_features_per_cut = max_features_per_cut
        self.max_cost = max_cost
        self.n_solutions = n_solutions
        self.cost_matrix = cost_matrix
        self.min_recall = min_recall
        self.tol = tol
        self.max_iter = max_iter
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
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalties and keep the tree trained with them on all rows.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_variables)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or None
            Used in training and handed to the scorer.

        Raises
        ------
        InfeasibleError
            If no candidate meets ``min_recall`` in every fold.
        """
        return self._fit_whole(X, y, sample_weight)

    def select(
        self,
        rule: str = "best",
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
    ) -> Tree:
        """Tree that another rule or other limits would choose; nothing is fitted."""
        check_is_fitted(self)
        limits = Limits(max_features, max_features_per_cut, max_cost)
        index = self._choose(rule, limits)
        return self._trees[index]

    # -- fitting ---------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if y is None:
            raise ValueError(
                "SORCTClassifierCV requires y to be passed, but the target y is None."
            )
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise ValueError(
                "scoring must be one scorer, by which to choose, got "
                f"{shown(self.scoring)}."
            )
        named = None if self.scoring is None else check_scoring(self, self.scoring)
        X = as_table(X)
        validate_data(self, X, skip_check_array=True)
        _, seen, weight = checked_samples(X, y, sample_weight)
        target = Classes.learn(seen, weight)
        tasks = self._tasks(target)
        costs = checked_cost_matrix(self.cost_matrix, target)
        scorer = named or DefaultScorer(costs, target)
        score_name = scorer_name(self.scoring, target.default_score(costs))
        given = None if sample_weight is None else np.asarray(sample_weight)
        data = Data(X, plain_labels(column_or_1d(y)), given)
        self._keep(self._run(tasks, data.folds(self.cv), data, scorer), score_name)
        warn_if_slow(self.path_, tasks[0].effort, stacklevel=5)

    def _tasks(self, target: Classes) -> list[PathTask]:
        """One per depth and gamma; everything that was given is checked here."""
        if not isinstance(self.rule, str) or self.rule not in RULES:
            raise ValueError(f"rule must be one of {RULES}, got {shown(self.rule)}.")
        self._limits.check()
        if self.max_cost is not None and self.feature_cost is None:
            raise ValueError(
                "max_cost needs feature_cost, what every column costs to collect."
            )
        check_whole("n_solutions", self.n_solutions, most=MOST_STARTS)
        # Depth depends on the classes, of which a fold may miss one.
        depths = list(
            dict.fromkeys(
                checked_topology(depth, len(target)).depth
                for depth in _listed("depths", self.depths)
            )
        )
        gammas = _listed("gammas", self.gammas)
        for gamma in gammas:
            check_real("gammas", gamma, "finite numbers > 0", positive=True)
        checked_floor(self.min_recall, target)
        local = checked_alphas("alphas_local", self.alphas_local, PAPER_ALPHAS)
        linf = checked_alphas("alphas_global", self.alphas_global, (0.0,))
        costs = None
        if self.cost_matrix is not None:
            costs = checked_cost_matrix(self.cost_matrix, target)
        model = Model(
            None,
            costs,
            self.min_recall,
            1.0,
            TableOptions.of(self),
            self.monotonic_cst,
            self.positive_class,
            self.feature_cost,
        )
        effort = Effort(self.tol, self.max_iter, None, self.n_jobs, self._seed())
        model.check()
        effort.check()
        effort = replace(effort, n_jobs=1)
        models = [replace(model, depth=d, gamma=g) for d, g in product(depths, gammas)]
        call = call_text(type(self), self.get_params(deep=False))
        rest = target, local, linf, self.n_solutions, effort, call
        return [PathTask(m, *rest) for m in models]

    def _seed(self) -> Any:
        """A number that gives every fold the same starts."""
        if isinstance(self.random_state, (int, np.integer)):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _run(
        self,
        tasks: list[PathTask],
        folds: list[tuple[Data, Data]],
        data: Data,
        scorer: Any,
    ) -> list[FoldScores]:
        """Trace all paths: for every task its folds, then all rows."""
        calls = []
        for task in tasks:
            calls += [delayed(score_fold)(task, *fold, scorer) for fold in folds]
            calls.append(delayed(trace_all)(task, data))
        results = []
        label = f"{type(self).__name__}: {len(calls)} paths"
        with progress_bar(label, len(calls), shown=bool(self.progress)) as tick:
            way = "generator" if self.progress else "list"
            for result in Parallel(n_jobs=self.n_jobs, return_as=way)(calls):
                results.append(result)
                tick()
        n_each = len(folds) + 1
        return [
            FoldScores(results[n : n + n_each - 1], results[n + n_each - 1])
            for n in range(0, len(results), n_each)
        ]

    # -- choosing --------------------------------------------------------------------

    def _keep(self, found: list[FoldScores], score_name: str) -> None:
        feasible = [one for one in found if one.error is None]
        if not feasible:
            assert found[0].error is not None
            raise found[0].error
        frames = [one.frame() for one in feasible]
        self.cv_results_ = _joined(frames)
        if self.cv_results_["mean_score"].isna().all():
            raise ValueError(
                f"The scorer {score_name!r} gives no number for any "
                "tree (NaN in some fold): there is nothing to choose by. Take another, "
                "such as 'balanced_accuracy', or fewer folds."
            )
        self._paths = [one.scored_path(score_name) for one in feasible]
        self.best_index_ = self._choose(self.rule, self._limits)
        scores: FloatArray = self.cv_results_["mean_score"].to_numpy()
        self.best_score_ = float(scores[self.best_index_])
        n, place = divmod(self.best_index_, len(self._paths[0]))
        self.path_ = self._paths[n] = _chosen_by(self.rule, self._paths[n], place)
        self._keep_tree(self._trees[self.best_index_])
        self.best_params_ = {
            "depth": self.tree_.depth,
            "gamma": self.tree_.gamma,
            "alpha_local": self.tree_.training.alpha_local,
            "alpha_global": self.tree_.training.alpha_global,
        }

    @property
    def _trees(self) -> tuple[Tree, ...]:
        """Trees of all rows, in the order of ``cv_results_``."""
        return tuple(tree for path in self._paths for tree in path.trees)

    @property
    def _limits(self) -> Limits:
        return Limits(self.max_features, self.max_features_per_cut, self.max_cost)

    def _choose(self, rule: str, limits: Limits) -> int:
        """Row of ``cv_results_`` by a rule, within limits."""
        return choose(self.cv_results_, rule, limits.allow(self._trees))


def _chosen_by(rule: str, path: Path, place: int) -> Path:
    """The path, with the rule told by the tree that it chose."""
    told = replace(path.trees[place].training, cv_rule=rule)
    chosen = replace(path.trees[place], training=told)
    trees = (*path.trees[:place], chosen, *path.trees[place + 1 :])
    return replace(path, trees=trees)


def choose(results: pd.DataFrame, rule: str, allowed: AnyArray) -> int:
    """Row of a table of scores by a rule, among those allowed.

    Among rows that the rule leaves, fewest variables come first, then fewest columns
    per cut, then the better score, then the last.
    """
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {shown(rule)}.")
    kept = results[allowed]
    within = kept["se_score"] if rule == "one-standard-error" else 0.0
    columns = kept["mean_score"], kept["n_variables"], kept["local_sparsity"]
    return int(np.flatnonzero(allowed)[sparsest(*columns, within)])


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    joined = pd.concat(frames, ignore_index=True)
    rank = joined["mean_score"].rank(method="min", ascending=False, na_option="bottom")
    return joined.assign(rank=rank.astype(int)).rename_axis("candidate")


def _listed(name: str, values: Any) -> list[Any]:
    """Values given one by one or as a sequence, which must not be empty."""
    if values is None or np.ndim(values) == 0:
        return [values]
    listed = list(dict.fromkeys(np.asarray(values).tolist()))
    if not listed:
        raise ValueError(f"{name} must hold at least one value, got {shown(values)}.")
    return listed
