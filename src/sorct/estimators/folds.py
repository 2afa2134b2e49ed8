"""Folds: the paths that cross-validation traces, and how they are scored.

A task is one model (depth, gamma) with its grid; it is traced on the training part of
every fold, and on all rows. Everything here can be sent to another process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.validation import validate_data

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.quantity import Quantity
from sorct.data.table import Table, as_table
from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.alphas import path_alphas
from sorct.estimators.classifier import SORCTClassifier
from sorct.estimators.effort import Effort, InfeasibleError
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.greedy_start import greedy_start
from sorct.estimators.marks import Marks, followed_share
from sorct.estimators.path import trace
from sorct.estimators.regressor import SORCTRegressor
from sorct.estimators.rows import Data
from sorct.estimators.scorers import DefaultScorer, QuantityScorer, takes_weights
from sorct.tree.path import NO_LIMITS, Limits, Path
from sorct.tree.tree import Tree

# Columns that are many.
_MANY = 60
#: Rows that paths of a quantity are traced on, at most.
PATH_ROWS = 3000


@dataclass(frozen=True)
class _Pace:
    """How much of a path is traced where its trees only serve to be scored.

    Attributes
    ----------
    n_solutions : int
        Solutions carried along at a first look.
    tol, max_iter : float
        How exactly trees are solved, and iterations at most.
    brief : bool
        Whether points try the trees of few others.
    few : int
        Fewer strengths than these are all tried at a first look.
    most_rows : float
        Rows that are looked at, at most.
    weakest : pair of float
        Least shares of the strongest penalty that are tried of many columns, and of
        more columns than rows.
    """

    n_solutions: int
    tol: float
    max_iter: float
    brief: bool
    few: int
    most_rows: float
    weakest: tuple[float, float]


_OF_CLASSES = _Pace(4, 1e-4, np.inf, True, 4, np.inf, (0.0, 0.0))
# Relaxed trees of a quantity begin anew: that makes up for what a small pool and few
# iterations have missed. Its trees of very many variables are slow to solve, and where
# columns are more than rows, weak penalties let them fit all rows, which says nothing
# of others.
_OF_QUANTITY = _Pace(2, 1e-3, 200, False, 0, PATH_ROWS, (2.0**-9, 2.0**-6))


@dataclass(frozen=True)
class PathTask:
    """One path to trace: a model on the rows of a fold, or on all.

    Of strengths that are not given, one in ``every`` is taken, from the strongest on.
    A ``brief`` path has trees that only serve to be scored. ``until`` tells when, by
    the clock of the machine, a path ends with what it has; None: when it is traced.
    """

    model: Model
    target: Classes | Quantity
    alphas_local: FloatArray | None
    alphas_global: FloatArray | None
    n_solutions: int
    effort: Effort
    call: str
    relax: bool = True
    limits: Limits = NO_LIMITS
    every: int = 1
    brief: bool = False
    relax_to: float | None = None
    until: float | None = None

    def run(self, data: Data) -> Path:
        """Trace the path on some rows."""
        effort = self.timed_effort
        seed, prepared = effort.seed(), self._prepared(data)
        greedy = greedy_start(prepared, effort)
        given = self.alphas_local, self.alphas_global, seed, None, greedy
        return trace(
            prepared,
            *path_alphas(prepared, *given),
            self.n_solutions,
            effort,
            seed,
            relax=self.relax,
            limits=self.limits,
            brief=self.brief,
            relax_to=self.relax_to,
            greedy=greedy,
        )

    @property
    def seconds_left(self) -> float | None:
        """Time that a path may take; None: as much as it takes."""
        if self.until is None:
            limit: float | None = self.effort.time_limit
            return limit
        return max(self.until - time.time(), 0.0)

    @property
    def timed_effort(self) -> Effort:
        """How hard to try in the time that is left."""
        return replace(self.effort, time_limit=self.seconds_left)

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return self.until is not None and time.time() >= self.until

    def with_grid(self, data: Data) -> PathTask:
        """The same with strengths that suit the rows given, where none were given."""
        if self.alphas_local is not None and self.alphas_global is not None:
            return self
        seed, effort = self.effort.seed(), self.timed_effort
        prepared = self._prepared(data)
        greedy = greedy_start(prepared, effort)
        given = self.alphas_local, self.alphas_global, seed, self.seconds_left, greedy
        alphas_local, alphas_global = path_alphas(prepared, *given)
        if self.alphas_local is None:
            alphas_local = self._thinned(alphas_local, prepared)
        if self.alphas_global is None:
            alphas_global = self._thinned(alphas_global, prepared)
        return replace(self, alphas_local=alphas_local, alphas_global=alphas_global)

    def _thinned(self, strengths: FloatArray, prepared: Prepared) -> FloatArray:
        """Some of the default strengths, on wide tables none that is too weak."""
        strengths = strengths[:: -self.every][::-1]
        n_columns = prepared.encoder.n_columns
        if n_columns <= _MANY:
            return strengths
        wide = n_columns > min(prepared.n_counted, self._pace.most_rows)
        least = self._pace.weakest[int(wide)]
        return np.asarray(strengths[strengths >= least * strengths[-1]])

    def coarse(self) -> PathTask:
        """The same with every second strength and fewer solutions, for a first look.

        Of few strengths, which somebody listed, all are looked at. Of a quantity, whose
        relaxed trees take a strength of the first look by its place, every second.
        """
        assert self.alphas_local is not None
        assert self.alphas_global is not None

        def some(strengths: FloatArray) -> FloatArray:
            few = strengths.size < self._pace.few
            return strengths if few else strengths[-1::-2][::-1]

        return replace(
            self,
            alphas_local=some(self.alphas_local),
            alphas_global=some(self.alphas_global),
            relax=self.limits.on_trees,
        ).rough()

    @property
    def _pace(self) -> _Pace:
        return _OF_CLASSES if isinstance(self.target, Classes) else _OF_QUANTITY

    def rough(self) -> PathTask:
        """The same, solved no more exactly than a score needs."""
        pace = self._pace
        effort = replace(
            self.effort,
            tol=max(self.effort.tol, pace.tol),
            max_iter=min(self.effort.max_iter, pace.max_iter),
        )
        return replace(
            self,
            effort=effort,
            brief=self.brief or pace.brief,
            n_solutions=min(self.n_solutions, pace.n_solutions),
        )

    def _prepared(self, data: Data) -> Prepared:
        model = self._model_for(np.unique(data.y))
        prepared = data.prepared(model, self.call)
        if prepared.n_samples <= self._pace.most_rows:
            return prepared
        # The table is read as a whole; what is chosen is finished on all rows.
        problem = prepared.problem
        fewer = replace(problem, data=problem.data.fewer(PATH_ROWS))
        return replace(prepared, problem=fewer)

    def of_depth(self, depth: int) -> PathTask:
        """The same for trees of a depth."""
        return replace(self, model=replace(self.model, depth=depth))

    def forgiving(self, data: Data) -> Prepared:
        """Some rows as a problem, whatever they have not shown."""
        model = replace(self.model, table=self.model.table.forgiving)
        return replace(self, model=model)._prepared(data)

    def _model_for(self, present: AnyArray) -> Model:
        """Costs and floors of the classes that a fold has."""
        if isinstance(self.target, Quantity):
            return self.model
        there = self.target.present(present)
        costs, floors = self.model.cost_matrix, self.model.min_recall
        if costs is not None:
            costs = np.asarray(costs)[np.ix_(there, there)]
        if isinstance(floors, Mapping):
            known = self.target.labels[there].tolist()
            floors = {label: rate for label, rate in floors.items() if label in known}
        weights = self.model.class_weight
        if isinstance(weights, Mapping):
            known = self.target.labels[there].tolist()
            weights = {label: size for label, size in weights.items() if label in known}
        return replace(
            self.model, cost_matrix=costs, min_recall=floors, class_weight=weights
        )


def score_in_time(
    task: PathTask,
    train: Data,
    test: Data,
    scorer: Any,
    *,
    count: bool = False,
    wanted: bool = False,
) -> Marks | InfeasibleError | None:
    """The same as ``score_fold``; None if time was over before the path was traced.

    What is ``wanted`` comes late rather than never.
    """
    if task.is_late and not wanted:
        return None
    found = score_fold(task, train, test, scorer, count=count)
    return None if task.is_late and not wanted else found


def score_fold(
    task: PathTask, train: Data, test: Data, scorer: Any, *, count: bool = False
) -> Marks | InfeasibleError:
    """Scores on one part of the rows of the path traced on the other.

    A rare level of a categorical column may be missing from the training part, and a
    column may have missing cells in the other part alone: nothing is refused here.
    """
    forgiving = replace(task.model, table=task.model.table.forgiving)
    try:
        path = replace(task, model=forgiving).run(train)
    except InfeasibleError as error:
        return error
    # All trees of a path read a table alike: once is enough.
    table = path.trees[0].encoder.read(as_table(test.X), check_finite=False)
    counts, r2, target = None, None, task.target
    if count and isinstance(target, Quantity):
        r2 = np.array([_r2(tree, table, test) for tree in path.offered])
    elif count and isinstance(target, Classes):
        own = target.codes(test.y)
        counts = np.array(
            [_counts(tree, table, own, test.weight, target) for tree in path.offered]
        )
    followed = np.array([followed_share(tree) for tree in path.offered])
    return Marks(scores_of(path, table, test, scorer), followed, counts, r2)


def _r2(tree: Tree, table: Table, test: Data) -> float:
    """Share of the variance of held-out rows that a tree explains."""
    if len(test.y) < 2:
        return 0.0
    return float(r2_score(test.y, tree.predict_table(table), sample_weight=test.weight))


def _counts(
    tree: Tree,
    table: Table,
    own: IntArray,
    weight: FloatArray | None,
    target: Classes,
) -> FloatArray:
    """Weight of rows by class and by the class predicted."""
    n_classes = len(target)
    pairs = own * n_classes + target.codes(tree.predict_table(table))
    found = np.bincount(pairs, weight, minlength=n_classes**2)
    return np.asarray(found, dtype=np.float64).reshape(n_classes, n_classes)


def scores_of(path: Path, table: Table, test: Data, scorer: Any) -> FloatArray:
    """Scores of all trees of a path."""
    if isinstance(scorer, (DefaultScorer, QuantityScorer)):
        return np.array(
            [scorer.of(t, table, test.y, test.weight) for t in path.offered]
        )
    extra = {}
    if test.weight is not None and takes_weights(scorer):
        extra = {"sample_weight": test.weight}
    return np.array(
        [
            _checked_score(scorer(_estimator(tree, test.X), test.X, test.y, **extra))
            for tree in path.offered
        ]
    )


def _checked_score(score: Any) -> float:
    """A score that can be compared; NaN says that there is none."""
    try:
        number = float(score)
    except (TypeError, ValueError):
        number = np.inf
    if np.isinf(number):
        raise ValueError(f"scoring must give finite numbers, got {shown(score)}.")
    return number


def with_grid(task: PathTask, data: Data) -> PathTask:
    """The task with strengths that suit the rows."""
    return task.with_grid(data)


def trace_all(task: PathTask, data: Data) -> Path | InfeasibleError:
    """Path of all rows."""
    try:
        return task.run(data)
    except InfeasibleError as error:
        return error


def trace_in_time(
    task: PathTask, data: Data, *, wanted: bool
) -> Path | InfeasibleError | None:
    """Path of all rows; None if time was over first, unless it is ``wanted``."""
    if task.is_late and not wanted:
        return None
    found = trace_all(task, data)
    return None if task.is_late and not wanted else found


def _estimator(tree: Tree, X: Any) -> SORCTClassifier | SORCTRegressor:
    """A tree as scorers expect it."""
    if tree.of_quantity:
        regressor = SORCTRegressor()
        validate_data(regressor, X, skip_check_array=True)
        regressor.tree_ = tree
        return regressor
    classifier = SORCTClassifier()
    validate_data(classifier, X, skip_check_array=True)
    classifier.tree_, classifier.classes_ = tree, tree.classes
    return classifier
