"""Settle: the tree that a search has chosen gets its calibration and its promise.

Maps for the probabilities come from trees of the same settings and the same place on
their paths, each trained without one fold; a promise of recall is kept by rows that
were held out before the search began.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sorct._typing import AnyArray, FloatArray
from sorct.estimators.calibrating import N_FOLDS, HeldFolds
from sorct.estimators.clock import SearchClock
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.folds import PathTask
from sorct.estimators.promises import Promise
from sorct.estimators.rows import Data
from sorct.tree.calibration import Calibration
from sorct.tree.tree import Tree


def searched_model(asked: Model) -> Model:
    """The model that paths are traced for: without what is settled at the end."""
    promised = asked.confidence is not None
    return replace(
        asked,
        calibration=None,
        confidence=None,
        min_recall=None if promised else asked.min_recall,
    )


def settled(
    tree: Tree,
    task: PathTask,
    place: int,
    data: Data,
    asked: Model,
    promise: Promise | None,
    clock: SearchClock,
) -> Tree:
    """The tree at a place of a task's path, calibrated and with its decision."""
    if asked.calibration is None and promise is None:
        return tree
    model = replace(
        task.model,
        min_recall=asked.min_recall,
        calibration=asked.calibration,
        confidence=asked.confidence,
    )
    rows = data.X, data.y, data.weight
    prepared = Prepared.of(*rows, model, task.call, quiet=True)
    calibration = None
    if asked.calibration is not None:
        left = clock.left()
        if left is not None:
            effort = replace(task.effort, time_limit=left).shared(N_FOLDS)
            task = replace(task, effort=effort)
        calibration = _calibration(task, place, data, str(asked.calibration))
    # Rates that folds found belong to the decision before this one: they are dropped.
    told = replace(
        tree.training,
        min_recall=tuple(prepared.floor.tolist()),
        cv_accuracy=None,
        cv_recall=None,
        cv_precision=None,
    )
    return prepared.decided(
        replace(tree, calibration=calibration, training=told), promise
    )


def _calibration(task: PathTask, place: int, data: Data, kind: str) -> Calibration:
    """Maps by trees at the same place of paths that do not see some rows."""
    folds = HeldFolds.of(data.X, data.y, data.weight, task.effort.seed())
    free = None if task.model.by_log else task.model.min_recall
    model = replace(task.model, table=task.model.table.forgiving, min_recall=free)
    twin = replace(task, model=model)

    def fit(X: Any, y: AnyArray, weight: FloatArray) -> Tree:
        return twin.run(Data(X, y, weight, quiet=True)).offered[place]

    return folds.calibration(kind, fit)
