"""Forest measures: losses, scores out of bag and importances, on scaled rows.

Forests are measured on the rows that searches look at, before names and units are back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.level_rows import written_out
from sorct.data.quantity import Quantity
from sorct.data.samples import MANY_ROWS, Rows
from sorct.estimators.fitting import Prepared
from sorct.tree.decision import predicted_codes

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.search.forest import Grove
    from sorct.tree.forest import Forest
    from sorct.tree.params import Params

# A probability below this counts as this in a loss.
_LEAST_PROBA = 1e-6
# Rows that importances are measured on, at most; groups whose drop is measured: those
# that move cuts most.
_FEW_ROWS, _MOST_GROUPS = 2048, 64


def losses_of(problem: Problem, said: FloatArray, rows: Rows) -> FloatArray:
    """Loss of every row, for what is said of it, (n_classes or 1, n)."""
    from sorct.problem.residual import Residual

    if isinstance(problem.datafit, Residual):
        assert rows.response is not None
        return problem.datafit.loss(rows.response - said[0])
    own = said[rows.codes, np.arange(rows.codes.size)]
    return np.asarray(-np.log(np.maximum(own, _LEAST_PROBA)))


def mean_loss(
    problem: Problem, said: FloatArray, rows: Rows, known: BoolArray | None = None
) -> float:
    """Mean loss of rows, or of those that are known."""
    losses, weight = losses_of(problem, said, rows), rows.weight
    if known is not None:
        losses, weight = losses[known], weight[known]
    return float(np.average(losses, weights=weight)) if losses.size else np.inf


def unseen_rows(problem: Problem, grove: Grove) -> BoolArray:
    """For every tree, which of a problem's rows it has not seen, (n_trees, n)."""
    data = problem.data
    if data.rows.codes.size == grove.outside.shape[1]:
        return grove.outside
    return grove.outside[:, data.drawn_places(MANY_ROWS)]


def out_of_bag_loss(problem: Problem, said: FloatArray, outside: BoolArray) -> float:
    """Mean loss of every row by the trees that have not seen it."""
    from sorct.search.forest import out_of_bag

    mean, known = out_of_bag(said, outside)
    return mean_loss(problem, mean, problem.data.rows, known)


def out_of_bag_score(
    prepared: Prepared,
    grove: Grove,
    params: Sequence[Params],
    decision_cost: FloatArray | None,
) -> tuple[float | None, float | None]:
    """Accuracy or R2, and mean loss, by the trees that have not seen a row.

    The accuracy is of what ``predict`` would say, rows counting by users' own weights;
    the loss is that of training.
    """
    from sorct.search.forest import out_of_bag

    problem = prepared.problem
    rows = problem.data.rows
    mean, known = out_of_bag(grove.said(params, rows), unseen_rows(problem, grove))
    if not known.any():
        return None, None
    loss = mean_loss(problem, mean, rows, known)
    weight = _own_weight(prepared, rows)[known]
    if rows.response is None:
        right = predicted_codes(mean, decision_cost) == rows.codes
        return float(np.average(right[known], weights=weight)), loss
    assert isinstance(prepared.target, Quantity)
    said, y = (prepared.target.in_spreads(one) for one in (mean[0], rows.response))
    return _r2(y[known], said[known], weight), loss


def training_score(prepared: Prepared, forest: Forest) -> float | None:
    """Mean probability of a row's own class, or R2, on all rows of training.

    None where there are so many rows that only some of them are in memory for searches.
    """
    rows = prepared.problem.data.rows
    if prepared.n_samples > MANY_ROWS:
        return None
    said, weight = forest.said(written_out(rows.X).T), _own_weight(prepared, rows)
    if rows.response is None:
        own = said[rows.codes, np.arange(rows.codes.size)]
        return float(np.average(own, weights=weight))
    target = prepared.target
    assert isinstance(target, Quantity)
    found = target.in_spreads(target.scaled(said[0]))
    return _r2(target.in_spreads(rows.response), found, weight)


def _own_weight(prepared: Prepared, rows: Rows) -> FloatArray:
    """Weights of rows as users gave them, without those of the classes."""
    if prepared.factor is None:
        return rows.weight
    return np.asarray(rows.weight / prepared.factor[rows.codes])


def _r2(y: FloatArray, said: FloatArray, weight: FloatArray) -> float:
    whole = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    left = np.average((y - said) ** 2, weights=weight)
    return float(1.0 - left / whole) if whole > 0.0 else 0.0


def matters_most(problem: Problem, params: Params) -> IntArray:
    """Groups of columns, the one first that is missed most when held at its mean.

    How far a group moves cuts tells little: levels that mean nothing move them, too.
    """
    from sorct.search.forest import group_weights, said_by

    rows, start = problem.data.rows, problem.penalty.start
    rows = rows.take(np.arange(0, rows.codes.size, -(-rows.codes.size // _FEW_ROWS)))
    X, centre = written_out(rows.X).copy(), problem.data.centre

    def loss() -> float:
        held = rows._replace(X=X)
        return mean_loss(problem, said_by(problem, params, held), rows)

    moves, missed = group_weights(problem, [params]), np.zeros(problem.n_groups)
    known, heaviest = loss(), np.argsort(-moves, kind="stable")[:_MOST_GROUPS]
    for g in heaviest[moves[heaviest] > 0.0]:
        own = slice(start[g], start[g + 1])
        before = X[own].copy()
        X[own] = centre[own, np.newaxis]
        missed[g] = loss() - known
        X[own] = before
    return np.lexsort((-moves, -missed))


def importances(
    prepared: Prepared,
    grove: Grove,
    params: Sequence[Params],
    weights: FloatArray,
    seed: int,
) -> tuple[dict[str, float], dict[str, float]]:
    """What holding a variable at its mean costs, and exchanging its cells."""
    from sorct.search.forest import out_of_bag

    problem, encoder = prepared.problem, prepared.encoder
    rows, outside = problem.data.rows, unseen_rows(problem, grove)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    some = np.sort(rng.permutation(rows.codes.size)[:_FEW_ROWS])
    rows, outside = rows.take(some), outside[:, some]
    X = written_out(rows.X)
    order, centre = rng.permutation(some.size), problem.data.centre
    used = np.any([one.penalised.any(axis=1) for one in params], axis=0)

    def seen_loss(X: FloatArray) -> float:
        each = grove.said(params, rows._replace(X=X))
        said = np.tensordot(weights, each, axes=1)
        return mean_loss(problem, said, rows)

    def unseen_loss(X: FloatArray) -> float:
        mean, known = out_of_bag(grove.said(params, rows._replace(X=X)), outside)
        return mean_loss(problem, mean, rows, known)

    drop: dict[str, float] = {}
    permutation: dict[str, float] = {}
    seen, unseen = seen_loss(X), unseen_loss(X)
    for v in np.unique(encoder.column_variable[used]).tolist():
        name, columns = encoder.names[v], encoder.column_variable == v
        held, mixed = X.copy(), X.copy()
        held[columns] = centre[columns][:, np.newaxis]
        mixed[columns] = mixed[columns][:, order]
        drop[name] = seen_loss(held) - seen
        if outside.any():
            permutation[name] = unseen_loss(mixed) - unseen
    return drop, permutation
