"""Contest: paths of settings on the same folds, the best of them traced in full.

Which settings are traced in full is found by a race (``race.py``), if any are left to
choose. Paths run in parallel through joblib; nothing depends on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sorct._typing import FloatArray
from sorct.data.quantity import Quantity
from sorct.estimators.effort import InfeasibleError
from sorct.estimators.folds import (
    Data,
    FoldScores,
    Marks,
    PathTask,
    score_fold,
    trace_all,
    with_grid,
)
from sorct.estimators.progress import progress_bar
from sorct.estimators.race import (
    FIRST_FOLDS,
    MOST_FIRST_FOLDS,
    Choices,
    Race,
    Settings,
)

if TYPE_CHECKING:
    import pandas as pd

#: A race does without trees for which following the rules by hand gives the class that
#: is predicted for a smaller share of the training rows than this, if it can.
FOLLOWED = 0.99
#: Tables with fewer rows have their folds drawn twice.
FEW_ROWS = 1000
# A first look is at so many rows.
_LOOK_ROWS = 3000


@dataclass(frozen=True)
class Contest:
    """Settings that compete on folds.

    Attributes
    ----------
    task : PathTask
        What all paths have in common.
    choices : Choices
        Settings to choose from.
    data : Data
    folds : list of pairs of rows to train on and rows to score
    scorer : callable or DefaultScorer
    is_race : bool
        Whether settings race, or all are traced in full.
    run_all : callable
        Runs delayed calls and returns their results, in their order.
    """

    task: PathTask
    choices: Choices
    data: Data
    folds: list[tuple[Data, Data]]
    scorer: Any
    is_race: bool
    run_all: Callable[[list[Any]], list[Any]]

    def run(self) -> tuple[pd.DataFrame, list[FoldScores]]:
        """What was tried, and the paths of all settings that are traced in full."""
        race = Race(self.choices, self._first_look)
        listed, lengths = self.choices.all, dict[int, int | None]()
        if self.is_race and len(listed) > 1:
            listed = race.run()
            lengths = {k: race.n_strengths(one) for k, one in enumerate(listed)}
        tasks = [_with_settings(self.task, one) for one in listed]
        tasks = self.run_all([delayed(with_grid)(one, self.data) for one in tasks])
        for k, n_coarse in lengths.items():
            # A coarse grid has every second strength.
            n_strengths = None if n_coarse is None else 2 * n_coarse - 1
            tasks[k] = self._shortened(tasks[k], n_strengths)
        places = [race.place_of_best(one) for one in listed]
        tasks = [_eased(one, place) for one, place in zip(tasks, places, strict=True)]
        return race.frame(), self._traced(tasks)

    def _first_look(
        self, waiting: list[Settings], n_strengths: int | None
    ) -> list[list[Any]]:
        """Scores of settings on the first folds, by coarse paths.

        Trees that cannot be followed by hand are not in the race.
        """
        few = len(self.data.seen.y) < FEW_ROWS
        most = min(MOST_FIRST_FOLDS, self.choices.most_first_folds)
        folds = self.folds[: most if few else FIRST_FOLDS]
        some = self.data.seen.some(_LOOK_ROWS)
        tasks = [_with_settings(self.task, one) for one in waiting]
        tasks = self.run_all([delayed(with_grid)(one, some) for one in tasks])
        tasks = [self._shortened(one.coarse(), n_strengths) for one in tasks]
        calls = [
            delayed(score_fold)(one, train.some(_LOOK_ROWS), test, self.scorer)
            for one in tasks
            for train, test in folds
        ]
        marks, n = self.run_all(calls), len(folds)
        return [_followable_scores(marks[k : k + n]) for k in range(0, len(marks), n)]

    @property
    def _n_drawings(self) -> float:
        """How often a row is held out; a row that never is does not count."""
        n_held = sum(len(test.y) for _, test in self.folds)
        return max(n_held / len(self.data.seen.y), 1.0)

    def _shortened(self, task: PathTask, n_strengths: int | None) -> PathTask:
        """The task with so many of its strongest penalties, unless they were given.

        With a limit on variables the trees within it are at no place known before.
        """
        both = self.task.alphas_local, self.task.alphas_global
        given = any(one is not None for one in both)
        if n_strengths is None or given or task.limits.on_variables:
            return task
        assert task.alphas_local is not None
        return replace(task, alphas_local=task.alphas_local[-n_strengths:])

    def _traced(self, tasks: list[PathTask]) -> list[FoldScores]:
        """Trace all paths: for every task its folds, then all rows."""
        calls = []
        for task in tasks:
            scored = task.rough() if self.is_race else task
            calls += [
                delayed(score_fold)(scored, *fold, self.scorer, count=True)
                for fold in self.folds
            ]
            calls.append(delayed(trace_all)(task, self.data))
        results, n = self.run_all(calls), len(self.folds) + 1
        parts = [results[k : k + n] for k in range(0, len(results), n)]
        return [
            FoldScores.of(part[:-1], part[-1], task, self._n_drawings)
            for task, part in zip(tasks, parts, strict=True)
        ]


def n_drawings(n_rows: int) -> int | None:
    """How often folds are drawn; None means once."""
    return 2 if n_rows < FEW_ROWS else None


def run_in_parallel(
    calls: list[Any], *, n_jobs: Any, progress: bool, name: str = "SORCTClassifierCV"
) -> list[Any]:
    """Results of delayed calls, in their order, with a progress bar if asked for."""
    results = []
    label = f"{name}: {len(calls)} paths"
    with progress_bar(label, len(calls), shown=progress) as tick:
        way = "generator" if progress else "list"
        for result in Parallel(n_jobs=n_jobs, return_as=way)(calls):
            results.append(result)
            tick()
    return results


def _followable_scores(
    marks: list[Marks | InfeasibleError],
) -> list[FloatArray | InfeasibleError]:
    """Scores on every fold, the worst for trees that cannot be followed by hand."""
    known = [one for one in marks if isinstance(one, Marks)]
    if len(known) < len(marks):
        return [one.scores if isinstance(one, Marks) else one for one in marks]
    followed = np.mean([one.followed for one in known], axis=0)
    return [np.where(followed >= FOLLOWED, one.scores, -np.inf) for one in known]


def _eased(task: PathTask, place: int | None) -> PathTask:
    """The task with relaxed trees of a quantity under what was best at a first look.

    ``place`` is that of a strength of the coarse grid, 0 being the strongest.
    """
    alphas, linf = task.alphas_local, task.alphas_global
    known = alphas is not None and linf is not None and not linf.any()
    of_quantity = isinstance(task.target, Quantity)
    if place is None or not known or not of_quantity or task.limits.on_variables:
        return task
    assert alphas is not None
    return replace(task, relax_to=float(alphas[-1 - 2 * place]) or None)


def _with_settings(task: PathTask, settings: Settings) -> PathTask:
    table = replace(task.model.table, scaling=settings.scaling)
    model = replace(
        task.model,
        loss=settings.loss,
        depth=settings.depth,
        gamma=settings.gamma,
        table=table,
        class_weight=settings.class_weight,
        leaf=settings.leaf,
        mixed=settings.mixed,
    )
    return replace(task, model=model)
