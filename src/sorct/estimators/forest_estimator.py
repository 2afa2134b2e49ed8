"""Forest estimator: what forests of classes and of quantities have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sorct._typing import AnyArray, FloatArray
from sorct.data.bags import ALL, BOOTSTRAP, HALF
from sorct.data.encoder import rows_stood_for
from sorct.data.options import TableOptions
from sorct.data.table import as_table
from sorct.data.wording import listed, shown
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
from sorct.estimators.forest_fitting import LOOK_ROWS, ForestFit, ForestPlan
from sorct.estimators.forest_raced import FEWEST, Raced, RacedFit
from sorct.estimators.rows import Data
from sorct.estimators.streaming import refuse_source
from sorct.estimators.tree_estimator import WholeEstimator
from sorct.estimators.tree_search import TreeSearch, is_free
from sorct.solvers.solution import Status
from sorct.tree.forest import Forest
from sorct.tree.path import Limits

_KINDS = {True: BOOTSTRAP, "half": HALF, False: ALL}
_MOST_TREES = 10_000
# What a race chooses, and time limits, which it does not heed, as by default.
_OPEN: dict[str, Any] = {
    "depth": None,
    "alpha_local": 0.0,
    "alpha_global": None,
    "gamma": "auto",
    "time_limit": None,
    "relax": True,
}
# Options of a forest that are those of the race, too, whatever is predicted.
_ASKED = (
    "max_features", "max_features_per_cut", "max_cost", "loss", "n_jobs", "categorical",
    "categorical_features", "min_frequency", "handle_unknown", "handle_missing",
    "scaling", "monotonic_cst", "feature_cost",
)  # fmt: skip
# Shares of a time limit until choosing ends, and until growing trees ends; the rest is
# for what is told of them.
_CHOOSING_SHARE, _GROWING_SHARE = 0.6, 0.85


class ForestEstimator(WholeEstimator):
    """What forests of classes and of quantities have in common."""

    forest_: Forest
    n_trees: Any
    depth: int | None
    alpha_local: float | None
    alpha_global: float | None
    max_features: int | None
    max_features_per_cut: int | None
    max_cost: float | None
    bootstrap: Any
    relax: bool
    rule: str | None
    n_folds: int
    early_stopping: bool
    gamma: Any
    n_starts: int
    time_limit: float | None
    n_jobs: int | None
    random_state: Any
    feature_cost: Any
    selection: str
    scaling: Any

    # The rule "paired" compares folds; forests are compared row by row.
    _rules: tuple[str, ...] = (*RULES[:2], FEWEST)

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
        seed, plan = effort.seed(), self._plan(n_draws)
        raced = self._raced(X, y, sample_weight, model, seed)
        if raced is not None:
            own = raced.model
            model = replace(
                model, table=own.table, leaf=own.leaf, mixed=own.mixed, link=own.link
            )
        # A race has warned of odd columns.
        quiet = raced is not None
        prepared = Prepared.of(X, y, sample_weight, model, call, quiet=quiet)
        self._keep(self._grown(prepared, model, effort, seed, plan, raced))

    def _grown(
        self,
        prepared: Prepared,
        model: Model,
        effort: Effort,
        seed: int,
        plan: ForestPlan,
        raced: Raced | None,
    ) -> Forest:
        from sorct.problem.evaluation import never
        from sorct.search.workers import Workers, deadline

        soft, hard = never(), never()
        left = effort.seconds_left(prepared.seconds)
        share = None if left is None else _CHOOSING_SHARE * left
        with (
            deadline(None if left is None else _GROWING_SHARE * left, hard),
            deadline(share, soft),
            Workers(effort.n_jobs, soft, hard) as workers,
        ):
            given = plan, prepared, model, seed, effort.n_jobs, workers, soft, hard
            fit = ForestFit(*given) if raced is None else RacedFit(*given, raced)
            found = fit.run()
        self.cv_results_ = fit.results
        return found

    # -- race ------------------------------------------------------------------------

    def _search(self, seed: int) -> TreeSearch:
        """Race that the first tree is chosen by, with what users ask of a forest."""
        raise NotImplementedError

    def _too_few(self, y: AnyArray) -> str | None:
        """Which rows a race would need more of; None if there are enough."""
        raise NotImplementedError

    def _raced(
        self, X: Any, y: Any, sample_weight: Any, model: Model, seed: int
    ) -> Raced | None:
        """What a race chooses; None where something is given that it would choose."""
        check_one_of("selection", self.selection, ("auto", "race", "path"))
        given = [name for name, usual in _OPEN.items() if getattr(self, name) != usual]
        given += ["bootstrap"] if self.bootstrap is False else []
        given += ["n_trees"] if len(self._numbers_of_trees()) > 1 else []
        given += self._given_beside
        if self.selection == "race" and given:
            raise ValueError(
                f"selection='race' chooses {listed(given)} itself, or works without: "
                "leave them out, or pass selection='path', which takes them."
            )
        if self.selection == "path" or given:
            self._refuse_fewest(given)
            return None
        weight = None if sample_weight is None else np.asarray(sample_weight)
        rows = Data(X, model.read(y), weight).seen
        some = rows.some(LOOK_ROWS)
        few = self._too_few(some.y)
        if few is None:
            return Raced.of(self._search(seed), some, whole=some is rows)
        for name, racing in (("selection", "race"), ("rule", FEWEST)):
            if getattr(self, name) == racing:
                raise ValueError(
                    f"{name}={racing!r} needs {few}; give more rows, or leave {name} "
                    "as by default."
                )
        return None

    @property
    def _given_beside(self) -> list[str]:
        """What else is given that a race would choose."""
        return []

    def _refuse_fewest(self, given: list[str]) -> None:
        if self.rule == FEWEST:
            names = listed(["selection"] if self.selection == "path" else given)
            raise ValueError(
                f"rule={FEWEST!r} needs a race, and with {names} there is none. Leave "
                "it as by default, or give another rule."
            )

    @property
    def _asked(self) -> dict[str, Any]:
        """What a race is asked, whatever is predicted."""
        # A forest wants what is best; averages need no sparser tree to be steady.
        rule = "best" if self.rule in (None, FEWEST) else self.rule
        return {"rule": rule, **{name: getattr(self, name) for name in _ASKED}}

    @property
    def _table(self) -> TableOptions:
        """How a table is read where no race chooses that."""
        table = TableOptions.of(self)
        if is_free(table.scaling):
            table = replace(table, scaling="auto")
        if is_free(table.categorical):
            table = replace(table, categorical="whole")
        return table

    # -- options ---------------------------------------------------------------------

    @property
    def _limits(self) -> Limits:
        return Limits(self.max_features, self.max_features_per_cut, self.max_cost)

    def _plan(self, n_draws: float) -> ForestPlan:
        return ForestPlan(
            self._numbers_of_trees(),
            int(self.n_starts),
            int(self.n_folds),
            _KINDS[self.bootstrap],
            None if self.alpha_local is None else float(self.alpha_local),
            None if self.alpha_global is None else float(self.alpha_global),
            self._limits,
            bool(self.relax),
            self.rule or "one-standard-error",
            bool(self.early_stopping),
            getattr(self, "loss", None) == "both",
            self.depth is None,
            isinstance(self.gamma, str) and self.gamma == "auto",
            n_draws,
        )

    def _checked_effort(self) -> Effort:
        self._numbers_of_trees()
        check_whole("n_starts", self.n_starts, most=1000)
        for name in ("alpha_local", "alpha_global"):
            alpha = 0.0 if getattr(self, name) is None else getattr(self, name)
            check_real(name, alpha, "a finite number >= 0 or None")
        known = isinstance(self.bootstrap, (bool, np.bool_, str))
        if not known or self.bootstrap not in _KINDS:
            raise ValueError(
                f'bootstrap must be True, "half" or False, got {shown(self.bootstrap)}.'
            )
        if self.rule is not None:
            check_one_of("rule", self.rule, self._rules)
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

    def _numbers_of_trees(self) -> tuple[int, ...]:
        """Numbers of trees to choose from, rising, checked."""
        given = self.n_trees
        several = isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given) == 1
        numbers = list(given) if several else [given]
        if not numbers:
            raise ValueError(
                "n_trees must be a whole number, or several, got an empty list."
            )
        for one in numbers:
            check_whole("n_trees", one, most=_MOST_TREES)
        return tuple(sorted({int(one) for one in numbers}))

    def _keep(self, forest: Forest) -> None:
        """Set what users of scikit-learn look for, all of it read from the forest."""
        told = forest.training
        self.forest_ = forest
        self.oob_score_ = told.oob_score
        self.alpha_local_, self.alpha_global_ = told.alpha_local, told.alpha_global
        self.status_ = Status(str(told.status))
        self.feature_importances_ = forest.importances
        self.depth_, self.gamma_ = forest.trees[0].depth, forest.trees[0].gamma

    def _checked(self, X: Any) -> tuple[Forest, Any]:
        """The forest, and the table to predict for."""
        check_is_fitted(self)
        X = self.forest_.completed(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.forest_, X
