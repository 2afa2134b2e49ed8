"""SORCTClassifierCV: chooses the settings of a tree, its penalties included.

Every fold traces its own path of trees with warm starts, and so do all rows together;
the choice is then among the trees of the latter, by their scores on the folds. Which
settings are traced in full is found by a race (``race.py``). Folds run in parallel
through joblib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from sorct.data.learning import warn_of_columns
from sorct.data.options import TableOptions
from sorct.data.sources import Source
from sorct.data.table import as_table
from sorct.data.target import Classes, plain_labels
from sorct.estimators.alphas import checked_alphas
from sorct.estimators.call import call_text
from sorct.estimators.candidates import RULES, Candidates
from sorct.estimators.checks import (
    MOST_STARTS,
    check_one_of,
    check_whole,
    checked_cost_matrix,
    checked_flag,
    checked_floor,
    checked_samples,
    checked_topology,
    require_target,
)
from sorct.estimators.choices import DEEPEST, Choices, scalings_for
from sorct.estimators.class_weights import class_factors
from sorct.estimators.classifier import TreeClassifier
from sorct.estimators.clock import SearchClock
from sorct.estimators.contest import Contest, run_in_parallel
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import LOSSES, PRESELECTIONS, Model
from sorct.estimators.folds import PathTask
from sorct.estimators.following import Following
from sorct.estimators.path import warn_if_slow
from sorct.estimators.promises import Kept, Promise, hold_out
from sorct.estimators.rows import Data
from sorct.estimators.scorers import DefaultScorer, named_scorer, scorer_name
from sorct.estimators.settling import searched_model, settled
from sorct.estimators.streaming import begin, choice_on_all, source_of
from sorct.estimators.tree_search import (
    CHOOSE,
    TreeSearch,
    is_free,
    listed_values,
)

# Share of the time for choosing where there is more to do with what is chosen.
_CHOOSING = 0.5
# Scorers under which every row counts the same, however rare its class.
_FOR_ALL_ROWS = ("accuracy", "neg_log_loss", "neg_brier_score")


class SORCTClassifierCV(TreeSearch, TreeClassifier):
    """Sparse tree with all its settings chosen by cross-validation.

    Loss, depth, steepness, scaling, penalties and whether the tree is relaxed are
    chosen by a race: settings that could matter are tried on some folds, and the best
    few are traced in full. What is given is not chosen.

    Parameters
    ----------
    depths : "choose", int, sequence of int or None, default="choose"
        Depths to choose from, all of them if they are listed. "choose" goes from the
        smallest with a leaf for every class to 4 as long as that pays; None means the
        smallest.
    alphas_local, alphas_global : sequence of float, float or None, default=None
        Strengths to choose from, see ``sorct_path``. None means 17 local strengths that
        suit the data, and 0 for the global one; a race leaves out those far below the
        best.
    loss : {"choose", "cost", "log"}, default="choose"
        See ``SORCTClassifier``.
    gamma : "auto", float or sequence of float, default="auto"
        Steepnesses to choose from, all of them if they are listed. "auto" means 64 per
        variable; a race then tries steeper cuts (512), and under the likelihood, where
        every cut finds its own steepness up to that bound, gentler ones (16).
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn; stratified if a number. In a race a number means
        shuffled folds, always the same, and twice as many on tables of less than 1000
        rows. For folds by groups pass ``list(splitter.split(X, y, groups))``.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn; None means minus the log-loss (accuracy if ``loss``
        is "cost"), or minus the mean cost if ``cost_matrix`` makes some errors dearer
        than others.
    rule : {"paired", "best", "one-standard-error"}, default="paired"
        "best" takes the best mean score (the sparsest tree among equals). The others
        take the sparsest tree that is hardly worse: fewest variables, then fewest
        columns per cut. "paired" compares it with the best fold by fold; its mean
        difference is at most one standard error of these differences. What that gives
        up is at most 2 % of what the best gains over the sparsest tree, and half a per
        cent is given up in any case. "one-standard-error" takes a mean score that is at
        most one standard error of the score itself below the best, which is sparser and
        less accurate.
    max_features : int or None, default=None
        Most variables of the table that the tree may use.
    max_features_per_cut : int or None, default=None
        Most variables that any of its cuts may use.
    max_cost : float or None, default=None
        Most that its variables may cost together, by ``feature_cost``.
    min_followed : float or None, default=None
        Least share of the training rows for which following the rules by hand gives the
        class predicted; trees with less are left out if there are others, and a warning
        tells if there are none. None lets a
        race choose rules that are followed for less than 0.99 where they are better
        beyond chance and by a tenth of what trees gain over the sparsest.
    preselect : {"choose", "none", "greedy"}, default="choose"
        Where variables come from. "none" leaves all of them to the penalties. "greedy"
        grows a tree first whose cuts ask for one column each, as CART does; paths are
        traced on its variables alone and begin with it. "choose" tries that with steep
        cuts where such trees are about as good as they are. It is "none" where
        ``gamma`` or directions are given, or depth, loss and scaling all are.
    n_solutions : int, default=6
        Trees carried along each path.
    relax : bool, default=True
        Whether the relaxed trees of the paths are among those to choose from.
    scaling : "choose", or as in ``SORCTClassifier``, default="choose"
        "choose" tries "auto", "quantile", "standard" and, on at most 100 variables,
        "bent".
    class_weight : "balanced", mapping from class to float, or None, default=None
        As in ``SORCTClassifier``; where ``scoring`` is None, rows that are scored count
        by it as well. With a ``scoring`` under which rare classes count more than their
        rows do, a race tries "balanced", too.
    calibration : {"isotonic", "sigmoid"} or None, default=None
        As in ``SORCTClassifier``, for the tree chosen: five more paths with its
        settings are traced, each without some rows.
    confidence : float or None, default=None
        As in ``SORCTClassifier``: rows of the class are held out before the search
        begins, so that what is promised holds of the tree chosen.
    cost_matrix, min_recall, tol, max_iter, categorical, categorical_features,
    min_frequency, handle_unknown, handle_missing, monotonic_cst, positive_class,
    feature_cost, followable
        As in ``SORCTClassifier``.
    time_limit : float or None, default=None
        Seconds for all of it, compiling not counted. Two fifths are for the race, after
        which no other settings are tried; three quarters for the folds. The best that
        was compared by then is trained on all rows, and ``why_`` says that time has
        ended. Where it is not reached, it changes nothing.
    n_jobs : int or None, default=None
        Folds traced at the same time, as in joblib, with its backend of the moment. The
        result does not depend on it, unless ``time_limit`` ends the search.
    random_state : int, RandomState or None, default=None
        Seed of the paths; ``cv`` has its own.
    progress : bool, default=False
        Whether to draw a progress bar (needs rich).

    Attributes
    ----------
    cv_results_ : DataFrame
        One row per candidate: ``loss``, ``depth``, ``gamma``, ``scaling``, ``relaxed``
        (share of the penalties it was refitted under, 1 if it was not),
        ``alpha_local``, ``alpha_global``, ``mean_score``, ``std_score``, ``se_score``
        (standard error of the mean; folds that hold out the same rows again count
        once), ``split<k>_score``, ``rank``, and of the tree
        trained on all rows ``n_columns``, ``n_variables``, ``most_variables_per_cut``,
        ``local_sparsity``,
        ``global_sparsity``, ``objective``, ``cost``, ``followed``.
    race_ : DataFrame
        One row per settings that were tried: the best mean score on the first folds,
        on how many of them, whether they were traced in full, and if so the best mean
        score on all folds. What was behind at once ran on fewer folds, so its first
        score does not compare with others. Empty if nothing was left to choose.
    why_ : str
        What was chosen and why, in two sentences.
    best_index_ : int
        Row that was chosen.
    best_params_ : dict
        Its loss, depth, gamma, scaling, alphas, and share of the penalties if relaxed.
    best_score_ : float
        Its mean score.
    path_ : Path
        Trees trained on all rows with the settings chosen.
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
        depths: str | int | Sequence[int] | None = "choose",
        alphas_local: Any = None,
        alphas_global: Any = None,
        *,
        loss: str = "choose",
        gamma: str | float | Sequence[float] = "auto",
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "paired",
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        n_solutions: int = 6,
        relax: bool = True,
        cost_matrix: Any = None,
        min_recall: float | Mapping[Any, float] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        calibration: str | None = None,
        confidence: float | None = None,
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
        scaling: Any = "choose",
        monotonic_cst: Any = None,
        positive_class: Any = None,
        feature_cost: Any = None,
        followable: bool = True,
        min_followed: float | None = None,
        preselect: str = "choose",
        progress: bool = False,
    ) -> None:
        self.depths = depths
        self.alphas_local = alphas_local
        self.alphas_global = alphas_global
        self.loss = loss
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.max_features = max_features
        self.max_features_per_cut = max_features_per_cut
        self.max_cost = max_cost
        self.n_solutions = n_solutions
        self.relax = relax
        self.cost_matrix = cost_matrix
        self.min_recall = min_recall
        self.class_weight = class_weight
        self.calibration = calibration
        self.confidence = confidence
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
        self.min_followed = min_followed
        self.preselect = preselect
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalties and keep the tree trained with them on all rows.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_variables)
            Or a table larger than memory, as in ``SORCTClassifier.fit``: folds and
            paths are then those of at most 16 384 rows, and the settings that were
            chosen are trained with on all.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or None
            Used in training and handed to the scorer.

        Raises
        ------
        InfeasibleError
            If no candidate meets ``min_recall`` in every fold.
        """
        return self._fit_whole(X, y, sample_weight)

    # -- fitting ---------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        require_target(y, type(self).__name__)
        named_scorer(self, self.scoring)
        source = source_of(X, y, sample_weight)
        if source is not None:
            self._fit_source(source)
            return
        X = as_table(X)
        validate_data(self, X, skip_check_array=True)
        asked, effort = self._checked_options()
        clock = SearchClock.of(self.time_limit, self.n_jobs)
        kept, promise = hold_out(X, y, sample_weight, asked, effort.seed())
        self._choose(kept, promise, asked, effort, clock)

    def _choose(
        self,
        kept: Kept,
        promise: Promise | None,
        asked: Model,
        effort: Effort,
        clock: SearchClock,
    ) -> None:
        """Choose on rows in memory, of which those for a promise are held out."""
        named = named_scorer(self, self.scoring)
        _, seen, weight = checked_samples(*kept)
        target = Classes.learn(seen, weight)
        task, choices = self._task(target, asked, effort), self._choices(kept.X, target)
        costs = checked_cost_matrix(self.cost_matrix, target)
        factor = class_factors(self.class_weight, target, target.codes(seen), weight)
        scorer = named or DefaultScorer(costs, target, self.loss != "cost", factor)
        default = scorer.name if isinstance(scorer, DefaultScorer) else ""
        own = None if kept.weight is None else np.asarray(kept.weight)
        warn_of_columns(kept.X, asked.table)
        data = Data(kept.X, plain_labels(column_or_1d(kept.y)), own, quiet=True)
        folds = data.folds(self._folds(data.seen.y, target))
        run_all = partial(
            run_in_parallel, n_jobs=self.n_jobs, progress=bool(self.progress)
        )
        given = task, choices, data, folds, scorer, self._is_race, run_all
        # Maps that calibrate take paths of their own.
        chosen = clock if asked.calibration is None else clock.part(_CHOOSING)
        following = Following.of(self.min_followed)
        self.race_, traced, ended = Contest(*given, chosen, following).run()
        name = scorer_name(self.scoring, default)
        asks = self._is_race or self.min_followed is not None
        found = Candidates.of(traced, name, following if asks else None)
        settle = partial(settled, data=data, asked=asked, promise=promise, clock=clock)
        self._keep(found, settle, ended=ended)
        following.warn_if_not_met(self.tree_.training.followed, stacklevel=6)
        warn_if_slow([self.tree_], effort, stacklevel=6)

    def _fit_source(self, source: Source) -> None:
        """Choose on the rows of the search, and train with that on all rows."""
        asked, effort = self._checked_options()
        clock = SearchClock.of(self.time_limit, self.n_jobs)
        begun = begin(source, asked, effort.seed(), "")
        draw, factor = begun.streamed.draw, begun.streamed.prepared.factor
        validate_data(self, draw.X, skip_check_array=True)
        rows = Kept(draw.X, draw.y, draw.own_weight(factor))
        on_some = clock if draw.whole else clock.part(_CHOOSING)
        self._choose(rows, begun.promise, asked, effort, on_some)
        if draw.whole or self._model is None:
            return
        model = replace(self._model, calibration=None)
        if begun.promise is not None:
            told = {"confidence": asked.confidence, "min_recall": asked.min_recall}
            model = replace(model, **told)
        left = replace(effort, time_limit=clock.left())
        given = model, left, self._limits, begun.promise
        self._keep_tree(choice_on_all(self.tree_, begun.source, *given))

    def _checked_options(self) -> tuple[Model, Effort]:
        """What trees are asked to be, and how hard to try."""
        check_one_of("rule", self.rule, RULES)
        check_one_of("preselect", self.preselect, (CHOOSE, *PRESELECTIONS))
        checked_flag("relax", self.relax)
        checked_flag("progress", self.progress)
        Following.of(self.min_followed)
        self._limits.check_with(self.feature_cost)
        check_whole("n_solutions", self.n_solutions, most=MOST_STARTS)
        chosen = is_free(self.scaling)
        table = TableOptions.of(self)
        model = Model(
            None,
            self.cost_matrix,
            self.min_recall,
            "auto",
            replace(table, scaling="auto") if chosen else table,
            self.monotonic_cst,
            self.positive_class,
            self.feature_cost,
            "cost",
            self.followable,
            self.class_weight,
            self.calibration,
            self.confidence,
            preselect=PRESELECTIONS[0] if is_free(self.preselect) else self.preselect,
        )
        effort = Effort(
            self.tol, self.max_iter, self.time_limit, self.n_jobs, self._seed()
        )
        model.check()
        effort.check()
        return model, effort

    def _task(self, target: Classes, asked: Model, effort: Effort) -> PathTask:
        """What all paths have in common."""
        checked_floor(self.min_recall, target)
        alphas_local = checked_alphas("alphas_local", self.alphas_local)
        alphas_global = checked_alphas("alphas_global", self.alphas_global)
        model = searched_model(asked)
        if self.cost_matrix is not None:
            costs = checked_cost_matrix(self.cost_matrix, target)
            model = replace(model, cost_matrix=costs)
        call = call_text(type(self), self.get_params(deep=False))
        relax = bool(self.relax) or self._limits.on_trees
        return PathTask(
            model, target, alphas_local, alphas_global, self.n_solutions,
            replace(effort, n_jobs=1, time_limit=None), call, relax, self._limits,
        )  # fmt: skip

    def _choices(self, X: Any, target: Classes) -> Choices:
        """Values of every setting; what was listed is a choice of its own."""
        smallest = checked_topology(None, len(target)).depth
        # Depth depends on the classes, of which a fold may miss one.
        free = is_free(self.depths)
        if free:
            depths = list(range(smallest, max(DEEPEST, smallest) + 1))
        else:
            listed = listed_values("depths", self.depths)
            depths = [checked_topology(depth, len(target)).depth for depth in listed]
        if is_free(self.loss):
            losses: tuple[str, ...] = ("log", "cost")
        else:
            check_one_of("loss", self.loss, (CHOOSE, *LOSSES))
            losses = (self.loss,)
        gammas = listed_values("gamma", self.gamma)
        scalings: tuple[Any, ...] = (self.scaling,)
        if is_free(self.scaling):
            scalings = scalings_for(X)
        for loss in losses:
            for gamma in gammas:
                Model(loss=loss, gamma=gamma).check()
        # Directions hold under the likelihood for one cut; what was given is not left
        # out silently.
        way_out = len(losses) > 1 or (free and smallest == 1)
        directed = self.monotonic_cst is not None and way_out
        return Choices(
            losses,
            tuple(dict.fromkeys(depths)),
            tuple(gammas),
            scalings,
            log_depth=1 if directed else None,
            every_depth=not free,
            class_weights=self._class_weights,
            preselects=self._preselects(gammas),
        )

    def _preselects(self, gammas: list[Any]) -> tuple[str, ...]:
        """Ways to find variables from the start.

        Greedy trees have steep cuts and know nothing of directions.
        """
        if not is_free(self.preselect):
            return (self.preselect,)
        free = gammas == ["auto"] and self.monotonic_cst is None
        return PRESELECTIONS if self._is_race and free else PRESELECTIONS[:1]

    @property
    def _class_weights(self) -> tuple[Any, ...]:
        """Weights of classes to choose from: a scorer may ask for the rare ones."""
        asks = self.scoring is not None and self.scoring not in _FOR_ALL_ROWS
        if self.class_weight is None and asks and self._is_race:
            return None, "balanced"
        return (self.class_weight,)

    @property
    def _is_race(self) -> bool:
        """Whether some setting is left to choose."""
        given = (self.depths, self.loss, self.scaling)
        return any(map(is_free, given))
