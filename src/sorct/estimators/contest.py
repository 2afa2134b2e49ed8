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
from sorct.estimators.rows import Data
from sorct.tree.path import NO_LIMITS

if TYPE_CHECKING:
    import pandas as pd

#: A race does without trees for which following the rules by hand gives the class that
#: is predicted for a smaller share of the training rows than this, if it can.
FOLLOWED = 0.99
#: Tables with fewer rows have their folds drawn twice.
FEW_ROWS = 1000
# A first look takes at most _LOOK_ROWS rows; its strengths suit a table of _GRID_ROWS
# rows; and it begins with one in _PARTS of its folds.
_LOOK_ROWS, _GRID_ROWS, _PARTS = 3000, 1000, 3


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
        look = _FirstLook(self)
        most = getattr(self.scorer, "most", np.inf)
        race = Race(self.choices, look, n_folds=len(look.folds), most=most)
        listed, lengths = self.choices.all, dict[int, int | None]()
        if self.is_race and len(listed) > 1:
            listed = race.run()
            lengths = {k: race.n_strengths(one) for k, one in enumerate(listed)}
        tasks = look.with_grids(listed, self.data)
        for k, n_coarse in lengths.items():
            # A coarse grid has every second strength.
            n_strengths = None if n_coarse is None else 2 * n_coarse - 1
            tasks[k] = self.shortened(tasks[k], n_strengths)
        places = [race.place_of_best(one) for one in listed]
        tasks = [_eased(one, place) for one, place in zip(tasks, places, strict=True)]
        return race.frame(), self._traced(tasks)

    @property
    def _n_drawings(self) -> float:
        """How often a row is held out; a row that never is does not count."""
        n_held = sum(len(test.y) for _, test in self.folds)
        return max(n_held / len(self.data.seen.y), 1.0)

    def shortened(self, task: PathTask, n_strengths: int | None) -> PathTask:
        """The task with so many of its strongest penalties, unless they were given.

        With a limit on variables the trees within it are at no place known before.
        """
        both = self.task.alphas_local, self.task.alphas_global
        given = any(one is not None for one in both)
        if n_strengths is None or given or task.limits.on_trees:
            return task
        assert task.alphas_local is not None
        return replace(task, alphas_local=task.alphas_local[-n_strengths:])

    def _traced(self, tasks: list[PathTask]) -> list[FoldScores]:
        """Trace all paths: for every task its folds, and all rows.

        Where several tasks race, half of the folds come first, and what is more than a
        standard error behind on these goes no further: no rule would choose it. Which
        trees are within limits is known only of those of all rows.
        """
        limited = self.task.limits != NO_LIMITS
        n_first, first = 0, [list[Marks | InfeasibleError]() for _ in tasks]
        if self.is_race and len(tasks) > 1 and not limited:
            n_first = -(-len(self.folds) // 2)
            first = self._in_turn([self._scored(one, 0, n_first) for one in tasks])
            kept = not_far_behind(first)
            tasks = [one for one, stays in zip(tasks, kept, strict=True) if stays]
            first = [one for one, stays in zip(first, kept, strict=True) if stays]
        rest = self._in_turn(
            [
                [*self._scored(one, n_first), delayed(trace_all)(one, self.data)]
                for one in tasks
            ]
        )
        return [
            FoldScores.of([*begun, *ended[:-1]], ended[-1], task, self._n_drawings)
            for begun, ended, task in zip(first, rest, tasks, strict=True)
        ]

    def _scored(self, task: PathTask, begin: int, end: int | None = None) -> list[Any]:
        """Calls that score a task on some folds; its trees serve for nothing else."""
        scored = task.rough() if self.is_race else task
        return [
            delayed(score_fold)(scored, *fold, self.scorer, count=True)
            for fold in self.folds[begin:end]
        ]

    def _in_turn(self, calls: list[list[Any]]) -> list[list[Any]]:
        """Results of lists of calls, all of which run at the same time."""
        results = iter(self.run_all([call for part in calls for call in part]))
        return [[next(results) for _ in part] for part in calls]


class _FirstLook:
    """Scores of settings on the first folds, by coarse paths.

    Trees that cannot be followed by hand are not in the race.
    """

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        few = len(contest.data.seen.y) < FEW_ROWS
        folds = contest.folds[: MOST_FIRST_FOLDS if few else FIRST_FOLDS]
        self.folds = [(train.some(_LOOK_ROWS), test) for train, test in folds]
        n_rows = _GRID_ROWS if contest.choices.thrifty else _LOOK_ROWS
        self._rows = contest.data.seen.some(n_rows)
        self._known: list[tuple[Settings, PathTask]] = []

    def __call__(
        self, waiting: list[Settings], n_strengths: int | None, n_done: int
    ) -> list[list[Any]]:
        """Scores on the folds after those done: on some at first, then on the rest."""
        contest, folds = self._contest, self.folds[n_done:]
        if contest.choices.thrifty and n_done == 0:
            folds = folds[: -(-len(folds) // _PARTS)]
        tasks = [one.coarse() for one in self.with_grids(waiting, self._rows)]
        tasks = [contest.shortened(one, n_strengths) for one in tasks]
        calls = [
            delayed(score_fold)(one, *fold, contest.scorer)
            for one in tasks
            for fold in folds
        ]
        marks, n = contest.run_all(calls), len(folds)
        return [_followable_scores(marks[k : k + n]) for k in range(0, len(marks), n)]

    def with_grids(self, listed: list[Settings], rows: Data) -> list[PathTask]:
        """Tasks of settings, with strengths that suit the rows.

        Strengths that suit the rows of the first look are found once.
        """
        known = self._known if len(rows.y) == len(self._rows.y) else []
        fresh = [one for one in listed if all(one != other for other, _ in known)]
        tasks = [_with_settings(self._contest.task, one) for one in fresh]
        calls = [delayed(with_grid)(task, rows) for task in tasks]
        found = self._contest.run_all(calls) if calls else []
        known += zip(fresh, found, strict=True)
        return [task for one in listed for other, task in known if other == one]


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


def not_far_behind(marks: list[list[Marks | InfeasibleError]]) -> list[bool]:
    """Which paths have a tree within a standard error of the best on these folds."""
    best, error = np.full(len(marks), -np.inf), np.zeros(len(marks))
    for k, found in enumerate(marks):
        scores = [
            one for one in _followable_scores(found) if isinstance(one, np.ndarray)
        ]
        if len(scores) < len(found):
            continue
        means = np.mean(scores, axis=0)
        means = np.where(np.isnan(means), -np.inf, means)
        place = int(means.argmax())
        best[k] = means[place]
        if len(scores) > 1 and np.isfinite(best[k]):
            spread = np.std(np.array(scores)[:, place], ddof=1)
            error[k] = spread / np.sqrt(len(scores))
    top = int(best.argmax())
    if not np.isfinite(best[top]):
        return [True] * len(marks)
    return [bool(one >= best[top] - error[top]) for one in best]


def _with_settings(task: PathTask, settings: Settings) -> PathTask:
    table = replace(task.model.table, scaling=settings.scaling)
    if settings.categorical is not None:
        table = replace(table, categorical=settings.categorical)
    model = replace(
        task.model,
        loss=settings.loss,
        depth=settings.depth,
        gamma=settings.gamma,
        table=table,
        class_weight=settings.class_weight,
        leaf=settings.leaf,
        mixed=settings.mixed,
        link=settings.link,
    )
    return replace(task, model=model)
