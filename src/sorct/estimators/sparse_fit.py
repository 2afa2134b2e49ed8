"""Sparse fits: training on a sparse matrix, whose columns are looked at as needed.

A tree uses few of a hundred thousand columns. So the search is made on those that tell
most of the classes by themselves. Then the gradient in the coefficients of all columns,
one sparse product, tells which of the others would enter the tree: they join, the tree
is solved again, and so on until none is left. The tree is then stationary for the whole
matrix, at the penalties of the whole matrix.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.samples import TrainingSet
from sorct.data.sparse_table import SparseTable
from sorct.data.target import Classes
from sorct.estimators.checks import checked_samples
from sorct.estimators.class_weights import class_factors
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.searching import searched
from sorct.solvers.solution import Status

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.search.log import SearchCallback, SearchResult
    from sorct.solvers.solution import Solution
    from sorct.tree.params import Params

logger = logging.getLogger("sorct")

# Columns of the search.
_FIRST = 256
# Fewest columns that join at a time.
_FEWEST = 64
# Time kept for laying columns out: so many times what it took per column before.
_SLACK = 2.0
# Rounds of joining, at most.
_MOST_ROUNDS = 50
# Cells that are written out, at most (1 GB).
_MOST_CELLS = 2**27


@dataclass(frozen=True)
class SparseFit:
    """A sparse matrix with its labels, and what is asked of it.

    Attributes
    ----------
    table : SparseTable
    target : Classes
    codes : array of shape (n_rows,)
    share : array of shape (n_rows,)
        Weights, which sum to 1.
    factor : array of shape (n_classes,) or None
    model : Model
    alphas : pair of float
        Penalties, means over all columns.
    call : str
    begun : float
        When the fit began, by the clock that tells seconds.
    """

    table: SparseTable
    target: Classes
    codes: IntArray
    share: FloatArray
    factor: FloatArray | None
    model: Model
    alphas: tuple[float, float]
    call: str
    begun: float

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        model: Model,
        alphas: tuple[float, float],
        call: str,
    ) -> SparseFit:
        """Check a sparse matrix and what is asked of it."""
        _refuse(model)
        begun = time.perf_counter()
        table = SparseTable.of(X)
        places = np.arange(table.cells.shape[0], dtype=np.float64)[:, np.newaxis]
        kept, y, weight = checked_samples(places, y, sample_weight)
        if len(kept) < len(places):
            table = table.take(kept[:, 0].astype(np.int64))
        target = Classes.learn(y, weight)
        codes = target.codes(y)
        factor = class_factors(model.class_weight, target, codes, weight)
        if factor is not None:
            weight = weight * factor[codes]
        share = weight / weight.sum()
        return cls(table, target, codes, share, factor, model, alphas, call, begun)

    def prepared(self, columns: IntArray) -> Prepared:
        """The problem on some columns, steep as that on all."""
        n_cells = columns.size * self.codes.size
        if n_cells > _MOST_CELLS:
            raise ValueError(
                f"At these penalties more than {columns.size} of "
                f"{self.table.n_columns} columns matter to the tree, and "
                f"{n_cells / 2**27:.1f} GB would be needed to look at them. Raise "
                "alpha_local or alpha_global: they are means over all columns, so "
                "tables with many columns need larger ones."
            )
        encoder, model = self.table.encoder(columns, self.model.table), self.model
        if not isinstance(model.gamma, str):
            steepness = float(model.gamma) * columns.size / self.table.n_columns
            model = replace(model, gamma=steepness)

        def data() -> TrainingSet:
            given = encoder.columns(self.table.written_out(columns))
            return TrainingSet.from_columns(
                given, self.codes, self.share, len(self.target)
            )

        n_rows, begun = self.codes.size, time.perf_counter()
        return Prepared.built(
            encoder, self.target, model, self.factor, data, n_rows, self.call, begun
        )

    def penalised(self, prepared: Prepared) -> Problem:
        """The problem of some columns under the penalties of all."""
        from sorct.problem.penalty import Strengths

        part = prepared.encoder.n_columns / self.table.n_columns
        return prepared.problem.at(Strengths(*(part * alpha for alpha in self.alphas)))

    def first_columns(self) -> IntArray:
        """Columns that vary most with the classes, each by itself."""
        own = np.eye(len(self.target))[self.codes]
        of_class = own - self.share @ own
        tell = self.table.scaled_sums(self.share[:, np.newaxis] * of_class)
        order = np.argsort(-np.abs(tell).max(axis=1), kind="stable")
        return np.sort(order[: min(_FIRST, max(_MOST_CELLS // self.codes.size, 1))])

    def missing(
        self, problem: Problem, columns: IntArray, params: Params, tol: float
    ) -> IntArray:
        """Columns that a tree lacks, those that would change it most first."""
        from sorct.problem.penalty_wide import unused_excess
        from sorct.problem.row_slopes import row_slopes

        encoder = self.table.encoder(columns, self.model.table)
        X = encoder.encode(self.table.written_out(columns))
        slope = row_slopes(problem, params, X, self.codes, self.share)
        excess = unused_excess(problem.penalty, self.table.scaled_sums(slope))
        excess[columns] = 0.0
        order = np.argsort(-excess, kind="stable")
        # The residual of a problem is a step whose length is the number of columns.
        return np.asarray(order[excess.size * excess[order] > tol])

    def solved(
        self, problem: Problem, params: Params, effort: Effort, stop: IntArray
    ) -> Solution:
        """Solve on some columns to the tolerance of all; tell the residual of all."""
        longer = self.table.n_columns / problem.data.n_columns
        solver = replace(effort, tol=float(effort.tol) / longer).solver()
        found = solver.solve(problem, params, stop=stop)
        return replace(found, residual=longer * found.residual)


def _refuse(model: Model) -> None:
    """Refuse what is not known of sparse matrices."""
    asked = {
        "monotonic_cst": model.monotonic_cst,
        "feature_cost": model.feature_cost,
        "calibration": model.calibration,
        "confidence": model.confidence,
    }
    if model.table.scaling not in ("auto", "minmax"):
        asked["scaling"] = model.table.scaling
    if model.loss == "cost":
        asked['min_recall with loss="cost"'] = model.min_recall
    given = [name for name, value in asked.items() if value is not None]
    if given:
        raise ValueError(
            f"Sparse matrices are not trained on with {', '.join(given)}. Leave it "
            "out, or choose some columns and pass them as a dense array."
        )


@dataclass
class Clock:
    """What is left of the time limit, given that some work cannot be cut short.

    Attributes
    ----------
    effort : Effort
    begun : float
        When the fit began.
    per_column : float
        Seconds that it took to lay out a column.
    """

    effort: Effort
    begun: float
    per_column: float = 0.0

    def prepared(self, fit: SparseFit, columns: IntArray) -> Prepared:
        """Lay out some columns, and learn how long that takes."""
        before = time.perf_counter()
        found = fit.prepared(columns)
        self.per_column = (time.perf_counter() - before) / columns.size
        return found

    def left(self, n_columns: int) -> float | None:
        """Seconds left when so many columns will have been laid out; None: no limit."""
        coming = _SLACK * self.per_column * n_columns
        return self.effort.seconds_left(time.perf_counter() - self.begun + coming)


def search_sparse(
    fit: SparseFit,
    effort: Effort,
    n_starts: Any,
    seed: int,
    callback: SearchCallback | None,
) -> tuple[Prepared, Problem, SearchResult, IntArray]:
    """Search on some columns, and let others join until none is missing.

    Beside the result come the problem on the columns that the tree uses, and these.
    """
    from sorct.problem.evaluation import never
    from sorct.search.workers import deadline

    clock, stop = Clock(effort, fit.begun), never()
    columns = fit.first_columns()
    prepared = clock.prepared(fit, columns)
    problem = fit.penalised(prepared)
    # Half of the time is for columns that join; the search counts from preparing on.
    left, half = clock.left(columns.size), effort
    if left is not None:
        half = replace(effort, time_limit=0.5 * left + prepared.seconds)
    result = searched(prepared, problem, half, n_starts, seed, callback)
    best = prepared.finished(problem, result.best, half)
    with deadline(clock.left(columns.size), stop):
        best = fit.solved(problem, best.params, effort, stop)
    for _ in range(_MOST_ROUNDS):
        if stop[0] != 0:
            break
        missing = fit.missing(problem, columns, best.params, float(effort.tol))
        logger.info(
            "sparse: %d of %d columns looked at, %d more matter",
            columns.size, fit.table.n_columns, missing.size,
        )  # fmt: skip
        if missing.size == 0:
            break
        wider = np.sort(
            np.concatenate([columns, missing[: max(columns.size, _FEWEST)]])
        )
        # They are laid out, looked beyond, and those that are used laid out again.
        if clock.left(3 * wider.size) == 0.0:
            stop[0] = 1
            break
        prepared = clock.prepared(fit, wider)
        problem = fit.penalised(prepared)
        params = _placed(best.params, columns, wider)
        with deadline(clock.left(2 * wider.size), stop):
            best, columns = fit.solved(problem, params, effort, stop), wider
    used = columns[_used(best.params)]
    prepared = fit.prepared(used)
    problem = fit.penalised(prepared)
    params = _placed(best.params, columns, used)
    with deadline(clock.left(used.size), stop):
        best = fit.solved(problem, params, effort, stop)
    late = result.status is Status.TIME_LIMIT or stop[0] != 0
    status = Status.TIME_LIMIT if late else best.status
    return prepared, problem, replace(result, best=best, status=status), used


def _used(params: Params) -> BoolArray:
    """Columns that a tree uses; the first if there are none."""
    used = np.asarray(params.coef.any(axis=1))
    used[0] |= not used.any()
    return used


def _placed(params: Params, columns: IntArray, others: IntArray) -> Params:
    """A tree of some columns as one of others, among which are all that it uses."""
    from sorct.problem.thresholds import clip_thresholds

    _, own, place = np.intersect1d(columns, others, return_indices=True)
    coef = np.zeros((others.size, params.coef.shape[1]))
    coef[place] = params.coef[own]
    threshold = params.threshold * (columns.size / others.size)
    return replace(params, coef=coef, threshold=clip_thresholds(threshold))
