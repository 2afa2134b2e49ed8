"""SORCTForestRegressor: trees of a quantity that share a budget of variables."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from sorct._typing import AnyArray
from sorct.data.options import CATEGORICAL
from sorct.data.quantity import LINKS
from sorct.estimators.checks import check_one_of
from sorct.estimators.fitting import Model
from sorct.estimators.forest_estimator import ForestEstimator
from sorct.estimators.quantities import LEAVES
from sorct.estimators.tree_search import CHOOSE, TreeSearch, is_free

__all__ = ["SORCTForestRegressor"]

# Rows that a race needs: a fold of fewer than ten says nothing of settings.
_FEWEST_ROWS = 50


class SORCTForestRegressor(RegressorMixin, ForestEstimator):  # type: ignore[misc]
    """Forest of sparse randomized regression trees that share a budget of variables.

    By default the first tree is the one that ``SORCTRegressorCV(rule="best")`` would
    choose, and the others are grown on bags of rows from its variables; the forest
    predicts the mean of what its trees predict. All else is as in
    ``SORCTForestClassifier``, with the losses and leaves of ``SORCTRegressor``.

    Parameters
    ----------
    n_trees : int or sequence of int, default=25
    depth : int or None, default=None
        Depth of every tree; None leaves it to the race or, where there is none, chooses
        1, 2 or 3 by the out-of-bag loss.
    alpha_local, alpha_global, max_features, max_features_per_cut, max_cost, bootstrap,
    relax, n_folds, early_stopping, gamma, n_starts, time_limit, n_jobs, random_state
        As in ``SORCTForestClassifier``.
    loss : {"square", "absolute", "huber", "quantile"}, default="square"
        As in ``SORCTRegressor``.
    quantile : float, default=0.5
        Level of the quantile that is predicted, with ``loss="quantile"``.
    leaf : {"choose", "constant", "linear"}, default="choose"
        What a leaf says: a number, or a sparse linear model. "choose" leaves it to the
        race, and is a number along a path.
    link : {"choose", "identity", "log"}, default="choose"
        As in ``SORCTRegressor``; with "log" the forest predicts the number whose
        logarithm is the mean of what its trees say. "choose" leaves it to the race, and
        is "identity" along a path.
    rule : {"one-standard-error", "best", "fewest"} or None, default=None
        As in ``SORCTForestClassifier``.
    selection : {"auto", "race", "path"}, default="auto"
        As in ``SORCTForestClassifier``, but that the race is that of
        ``SORCTRegressorCV``, which heeds any ``loss`` and needs fifty rows.
    categorical : {"choose", "whole", "dummies"}, default="choose"
        As in ``SORCTRegressor``; "choose" leaves it to the race, and is "whole" along a
        path.
    scaling : "choose", or as in ``SORCTRegressor``, default="choose"
        "choose" leaves it to the race, and is "auto" along a path.
    categorical_features, min_frequency, handle_unknown, handle_missing, monotonic_cst,
    feature_cost
        As in ``SORCTRegressor``. Directions hold for every tree, and so for their mean.

    Attributes
    ----------
    forest_ : Forest
    oob_score_ : float or None
        R2 on every row of the trees that have not seen it; it flatters as in
        ``SORCTForestClassifier``.
    alpha_local_, alpha_global_, cv_results_, depth_, gamma_, feature_importances_,
    status_, feature_names_in_, n_features_in_
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
        n_trees: Any = 25,
        depth: int | None = None,
        alpha_local: float | None = 0.0,
        alpha_global: float | None = None,
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        bootstrap: bool | str = True,
        loss: str = "square",
        quantile: float = 0.5,
        leaf: str = CHOOSE,
        link: str = CHOOSE,
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
        categorical: str = CHOOSE,
        categorical_features: Any = "from_dtype",
        min_frequency: float = 5,
        handle_unknown: str = "other",
        handle_missing: str = "error",
        scaling: Any = CHOOSE,
        monotonic_cst: Any = None,
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
        self.link = link
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
        self.feature_cost = feature_cost

    def _model(self) -> Model:
        check_one_of("leaf", self.leaf, (CHOOSE, *LEAVES))
        check_one_of("link", self.link, (CHOOSE, *LINKS))
        check_one_of("categorical", self.categorical, (CHOOSE, *CATEGORICAL))
        return Model(
            self.depth,
            gamma=self.gamma,
            table=self._table,
            monotonic_cst=self.monotonic_cst,
            feature_cost=self.feature_cost,
            loss=self.loss,
            of_quantity=True,
            leaf="constant" if is_free(self.leaf) else self.leaf,
            quantile=self.quantile,
            link="identity" if is_free(self.link) else self.link,
        )

    def _search(self, seed: int) -> TreeSearch:
        from sorct.estimators.regressor_cv import SORCTRegressorCV

        return SORCTRegressorCV(
            quantile=self.quantile,
            leaf=self.leaf,
            link=self.link,
            random_state=seed,
            **self._asked,
        )

    def _too_few(self, y: AnyArray) -> str | None:
        return "at least fifty rows" if len(y) < _FEWEST_ROWS else None
