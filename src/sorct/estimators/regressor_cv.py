"""SORCTRegressorCV: chooses the settings of a tree of a quantity by cross-validation.

The way is that of ``cross_validated.py``: a race of settings, then paths on all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from sorct.data.learning import warn_of_columns
from sorct.data.options import BENT, TableOptions
from sorct.data.quantity import LINKS, Quantity, number_column
from sorct.data.sources import Source
from sorct.data.table import as_table, has_levels, has_numbers
from sorct.estimators.alphas import checked_alphas
from sorct.estimators.call import call_text
from sorct.estimators.candidates import RULES, Candidates
from sorct.estimators.checks import (
    MOST_STARTS,
    check_one_of,
    check_whole,
    checked_flag,
    checked_samples,
    require_target,
)
from sorct.estimators.choices import FINALISTS
from sorct.estimators.clock import SearchClock
from sorct.estimators.contest import FEW_ROWS, Contest, run_in_parallel
from sorct.estimators.effort import Effort
from sorct.estimators.finishing import finished_on_all
from sorct.estimators.fitting import Model
from sorct.estimators.folds import PATH_ROWS, PathTask
from sorct.estimators.group_bounds import (
    AskedBounds,
    GroupBounds,
    check_group_options,
)
from sorct.estimators.path import warn_if_slow
from sorct.estimators.quantities import LEAVES, checked_depth, target_of
from sorct.estimators.quantity_choices import QuantityChoices
from sorct.estimators.regressor import TreeRegressor
from sorct.estimators.rows import Data
from sorct.estimators.scorers import QuantityScorer, named_scorer, scorer_name
from sorct.estimators.streaming import (
    begin,
    choice_on_all,
    comes_in_batches,
    source_of,
)
from sorct.estimators.tree_search import TreeSearch, is_free, listed_values
from sorct.tree.params import MIXED

# Of the default strengths of a path, every second is tried.
_EVERY = 2
# Variables from which on, or rows above PATH_ROWS, one setting is traced in full.
# On so wide tables fewer depths and scalings, one share and one steepness are tried.
_MANY_VARIABLES, _WIDE_DEPTHS = 40, 2
# Shares of the loss that leaves pay by themselves. Not 0: leaves of flat cuts may then
# say anything, and who follows the rules by hand is misled.
_SHARES = (MIXED, 0.02)
# Ways to read categories, that of the fewest columns first.
_CATEGORICAL = ("dummies", "whole")
# Largest number of y beside the least from which on its logarithm is tried.
_LOG_RATIO = 4.0
# Shares of the time for choosing before the tree chosen is searched for once more, and
# before it is trained on rows that are not in memory.
_CHOOSING, _ON_SOME = 0.85, 0.5
#: Depths that a race goes through.
DEPTHS = (0, 1, 2, 3)


class SORCTRegressorCV(TreeSearch, TreeRegressor):
    """Sparse tree of a quantity with its settings chosen by cross-validation.

    Depth, kind of leaves, steepness, scaling, penalties and whether the tree is relaxed
    are chosen by a race, as in ``SORCTClassifierCV``. The loss is given.

    Parameters
    ----------
    depths : "choose", int, sequence of int or None, default="choose"
        Depths to choose from, all of them if they are listed. "choose" goes from a
        single linear leaf to depth 3 as long as that pays; None means 2.
    alphas_local, alphas_global : sequence of float, float or None, default=None
        Strengths to choose from, see ``sorct_path``.
    loss : {"square", "absolute", "huber", "quantile"}, default="square"
        See ``SORCTRegressor``.
    quantile : float, default=0.5
        Level, with ``loss="quantile"``.
    leaf : {"choose", "constant", "linear"}, default="choose"
        What leaves say; "choose" tries both.
    mixed : "choose" or float, default="choose"
        How far leaves are held to what their rows are, see ``SORCTRegressor``; "choose"
        tries 0.1 and, if that is better beyond chance, 0.02.
    link : {"choose", "identity", "log"}, default="choose"
        Whether trees are of y or of its logarithm, see ``SORCTRegressor``; "choose"
        tries both where y is positive and varies by a factor of 4 or more, and takes
        the logarithm if that is better beyond chance, in squared errors of y.
    gamma : "auto", float or sequence of float, default="auto"
        Steepnesses to choose from; with "auto" (64 per variable) gentler and steeper
        cuts are tried as well.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn. In a race a number means shuffled folds, always the
        same.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn; None means minus the mean squared error, or the mean
        loss itself if that is "absolute" or "quantile".
    rule : {"paired", "best", "one-standard-error"}, default="paired"
        "paired" takes the tree with the fewest variables that is not behind the best by
        more than one standard error of the difference, fold by fold; the others are as
        in ``SORCTClassifierCV``.
    max_features, max_features_per_cut, max_cost, n_solutions, relax, time_limit,
    n_jobs, random_state, progress
        As in ``SORCTClassifierCV``.
    tol, max_iter, categorical_features, min_frequency, handle_unknown, handle_missing,
    feature_cost
        As in ``SORCTClassifier``.
    categorical : {"choose", "whole", "dummies"}, default="choose"
        "whole" and "dummies" are as in ``SORCTClassifier``. "choose" tries both where
        there are categories of three levels or more: levels chosen one by one, which
        takes fewer columns, and whole ones if these are better beyond chance. With
        ``monotonic_cst`` categories are whole.
    scaling : "choose", or as in ``SORCTClassifier``, default="choose"
        "choose" tries "auto", "quantile" and "bent", on more than 40 variables "auto"
        and "bent".
    group_bounds, group_measure
        As in ``SORCTRegressor``. Settings are chosen without the bounds; the tree
        chosen is then solved within them, with its variables.

    Attributes
    ----------
    cv_results_, race_, why_, best_index_, best_params_, best_score_, path_
        As in ``SORCTClassifierCV``, with the kind of ``leaf``.
    tree_ : Tree
        The tree chosen; ``tree_.training.cv_r2`` is the share of the variance of
        held-out rows that such trees explain.
    coef_, threshold_, leaf_value_, leaf_coef_, objective_, cost_, residual_, n_iter_,
    local_sparsity_, global_sparsity_, feature_importances_, feature_names_in_,
    n_features_in_
        As in ``SORCTRegressor``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sorct import SORCTRegressorCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> search = SORCTRegressorCV(depths=1, alphas_local=[0.1, 1.0], leaf="constant",
    ...                           scaling="auto", max_features=4, cv=2,
    ...                           random_state=0).fit(X, y)
    >>> len(search.tree_.variables_used) <= 4
    True
    """

    def __init__(
        self,
        depths: str | int | Sequence[int] | None = "choose",
        alphas_local: Any = None,
        alphas_global: Any = None,
        *,
        loss: str = "square",
        quantile: float = 0.5,
        leaf: str = "choose",
        mixed: str | float = "choose",
        link: str = "choose",
        gamma: str | float | Sequence[float] = "auto",
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "paired",
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        n_solutions: int = 6,
        relax: bool = True,
        tol: float = 1e-6,
        max_iter: int = 2000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        categorical: str = "choose",
        categorical_features: Any = "from_dtype",
        min_frequency: float = 5,
        handle_unknown: str = "other",
        handle_missing: str = "error",
        scaling: Any = "choose",
        monotonic_cst: Any = None,
        feature_cost: Any = None,
        group_bounds: Any = None,
        group_measure: str = "residual",
        progress: bool = False,
    ) -> None:
        self.depths = depths
        self.alphas_local = alphas_local
        self.alphas_global = alphas_global
        self.loss = loss
        self.quantile = quantile
        self.leaf = leaf
        self.mixed = mixed
        self.link = link
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.max_features = max_features
        self.max_features_per_cut = max_features_per_cut
        self.max_cost = max_cost
        self.n_solutions = n_solutions
        self.relax = relax
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
        self.progress = progress

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Choose the settings and keep the tree trained with them on all rows.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_variables)
            Or a table that is larger than memory, as of ``SORCTRegressor``: settings
            are chosen on the rows of its search, and trained with on all.
        y : array of shape (n_samples,), numbers
            For such a table the name of its target column.
        sample_weight : array of shape (n_samples,) or None
            Used in training and handed to the scorer.
        groups : array of shape (n_samples,) or None
            Group of every row, for ``group_bounds``.

        Raises
        ------
        InfeasibleError
            If no tree was found within ``group_bounds``.
        """
        return self._fit_whole(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        require_target(y, type(self).__name__)
        named_scorer(self, self.scoring)
        in_batches = comes_in_batches(X)
        check_group_options(self.group_bounds, groups, in_batches=in_batches)
        source = source_of(X, y, sample_weight)
        if source is not None:
            self._fit_source(source)
            return
        X = as_table(X)
        validate_data(self, X, skip_check_array=True)
        options = self._checked_options()
        clock = SearchClock.of(self.time_limit, self.n_jobs)
        self._choose(X, y, sample_weight, groups, *options, clock)

    def _fit_source(self, source: Source) -> None:
        """Choose on the rows of the search, and train with that on all rows."""
        model, effort = self._checked_options()
        clock = SearchClock.of(self.time_limit, self.n_jobs)
        draw = begin(source, model, effort.seed(), "").streamed.draw
        validate_data(self, draw.X, skip_check_array=True)
        on_some = clock if draw.whole else clock.part(_ON_SOME)
        self._choose(draw.X, draw.y, draw.weight, None, model, effort, on_some)
        if draw.whole or self._model is None:
            return
        left = replace(effort, time_limit=clock.left())
        given = self._model, left, self._limits, None
        self._keep_tree(choice_on_all(self.tree_, source, *given))

    def _choose(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        model: Model,
        effort: Effort,
        clock: SearchClock,
    ) -> None:
        """Choose on rows in memory."""
        named = named_scorer(self, self.scoring)
        asked = self._asked_bounds(groups, len(X))
        _, seen, weight = checked_samples(X, y, sample_weight, number_column)
        target = target_of(seen, weight, model)
        task, choices = self._task(target, model, effort), self._choices(X, target)
        scorer = named or QuantityScorer(self.loss, float(self.quantile))
        given = None if sample_weight is None else np.asarray(sample_weight)
        warn_of_columns(X, model.table)
        data = Data(X, number_column(y), given, quiet=True)
        folds = data.folds(self._folds(data.seen.y, target), target)
        folds = [(train.some(PATH_ROWS), test) for train, test in folds]
        run_all = partial(
            run_in_parallel,
            n_jobs=self.n_jobs,
            progress=bool(self.progress),
            name="SORCTRegressorCV",
        )
        every = task, choices, data, folds, scorer, self._is_race, run_all
        # The tree chosen is searched for once more.
        self.race_, traced, ended = Contest(*every, clock.part(_CHOOSING)).run()
        default = scorer.name if isinstance(scorer, QuantityScorer) else ""
        name = scorer_name(self.scoring, default)
        found = Candidates.of(traced, name, None)
        settle = partial(finished_on_all, data=data, asked=asked, clock=clock)
        self._keep(found, settle, ended=ended)
        warn_if_slow([self.tree_], effort, stacklevel=6)

    def _asked_bounds(self, groups: Any, n_rows: int) -> AskedBounds | None:
        """Bounds on groups of rows, looked at before any work starts."""
        if self.group_bounds is None:
            return None
        GroupBounds.of(self.group_bounds, groups, self.group_measure, n_rows, 1.0)
        return AskedBounds(self.group_bounds, groups, self.group_measure)

    def _checked_options(self) -> tuple[Model, Effort]:
        """What trees are asked to be, and how hard to try."""
        check_one_of("rule", self.rule, RULES)
        checked_flag("relax", self.relax)
        checked_flag("progress", self.progress)
        self._limits.check_with(self.feature_cost)
        check_whole("n_solutions", self.n_solutions, most=MOST_STARTS)
        table = TableOptions.of(self)
        if is_free(self.scaling):
            table = replace(table, scaling="auto")
        if is_free(self.categorical):
            table = replace(table, categorical="whole")
        model = Model(
            table=table,
            monotonic_cst=self.monotonic_cst,
            feature_cost=self.feature_cost,
            loss=self.loss,
            of_quantity=True,
            leaf="linear" if is_free(self.leaf) else self.leaf,
            quantile=self.quantile,
            mixed=MIXED if is_free(self.mixed) else self.mixed,
            link="identity" if is_free(self.link) else self.link,
        )
        effort = Effort(
            self.tol, self.max_iter, self.time_limit, self.n_jobs, self._seed()
        )
        model.check()
        effort.check()
        return model, effort

    def _task(self, target: Quantity, model: Model, effort: Effort) -> PathTask:
        """What all paths have in common."""
        alphas_local = checked_alphas("alphas_local", self.alphas_local)
        alphas_global = checked_alphas("alphas_global", self.alphas_global)
        call = call_text(type(self), self.get_params(deep=False))
        relax = bool(self.relax) or self._limits.on_trees
        return PathTask(
            model, target, alphas_local, alphas_global, self.n_solutions,
            replace(effort, n_jobs=1, time_limit=None), call, relax, self._limits,
            _EVERY,
        )  # fmt: skip

    def _choices(self, X: Any, target: Quantity) -> QuantityChoices:
        """Values of every setting; what was listed is a choice of its own."""
        leaves = LEAVES if is_free(self.leaf) else (self.leaf,)
        free, wide = is_free(self.depths), X.shape[1] > _MANY_VARIABLES
        depths = list(DEPTHS[:_WIDE_DEPTHS] if wide else DEPTHS)
        if not free:
            most = "linear" if "linear" in leaves else "constant"
            listed = listed_values("depths", self.depths)
            depths = [checked_depth(depth, most).depth for depth in listed]
        gammas = listed_values("gamma", self.gamma)
        for gamma in gammas:
            Model(gamma=gamma).check()
        scalings: tuple[Any, ...] = (self.scaling,)
        if is_free(self.scaling):
            scalings = self._scalings(X, wide=wide)
        shares = _SHARES[:1] if wide else _SHARES
        small = len(X) <= PATH_ROWS and not wide
        return QuantityChoices(
            (self.loss,),
            tuple(dict.fromkeys(depths)),
            tuple(gammas),
            scalings,
            every_depth=not free,
            leaves=tuple(leaves),
            shares=shares if is_free(self.mixed) else (float(self.mixed),),
            links=self._links(target),
            categoricals=self._categoricals(X),
            tries_steepness=small,
            n_finalists=FINALISTS if small else 1,
            # Folds of few rows differ so much that the simplest would always lead, and
            # many held-out rows tell small gains from chance. Between these, two folds
            # are too few to follow what is best on them.
            errors=1.0 if FEW_ROWS <= len(X) <= PATH_ROWS else 0.0,
        )

    def _scalings(self, X: Any, *, wide: bool) -> tuple[str, ...]:
        """Scalings to choose from."""
        if not has_numbers(X):
            return ("auto",)
        return ("auto", BENT) if wide else ("auto", "quantile", BENT)

    def _links(self, target: Quantity) -> tuple[str, ...]:
        """Links to choose from."""
        if not is_free(self.link):
            return (self.link,)
        means = self.loss in ("square", "huber")
        skewed = target.low > 0.0 and target.high >= _LOG_RATIO * target.low
        return LINKS if means and skewed else LINKS[:1]

    def _categoricals(self, X: Any) -> tuple[str | None, ...]:
        """Ways to read categories; a direction is one of whole ones."""
        free = is_free(self.categorical) and self.monotonic_cst is None
        named = not isinstance(self.categorical_features, str)
        return _CATEGORICAL if free and (named or has_levels(X)) else (None,)

    @property
    def _is_race(self) -> bool:
        """Whether some setting is left to choose."""
        return any(
            map(is_free, (self.depths, self.leaf, self.mixed, self.scaling, self.link))
        )
