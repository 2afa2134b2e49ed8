"""Contest: paths of settings on the same folds, the best of them traced in full.

Which settings are traced in full is found by a race (``race.py``), if any are left to
choose. Paths run in parallel through joblib; nothing depends on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sorct._typing import FloatArray
from sorct.data.quantity import Quantity
from sorct.estimators.choices import Choices, Settings
from sorct.estimators.clock import FOLDS, PATH, RACE, SearchClock
from sorct.estimators.effort import InfeasibleError
from sorct.estimators.folds import (
    PathTask,
    score_in_time,
    trace_in_time,
    with_grid,
)
from sorct.estimators.following import Following
from sorct.estimators.marks import FoldScores, Marks
from sorct.estimators.progress import progress_bar
from sorct.estimators.race import (
    FIRST_FOLDS,
    MOST_FIRST_FOLDS,
    Race,
)
from sorct.estimators.rows import Data
from sorct.estimators.scouting import score_greedy, worth_scoring
from sorct.tree.path import NO_LIMITS, Path

if TYPE_CHECKING:
    import pandas as pd

#: Tables with fewer rows have their folds drawn twice.
FEW_ROWS = 1000
# A first look takes at most _LOOK_ROWS rows; its strengths suit a table of _GRID_ROWS
# rows; and it begins with one in _PARTS of its folds.
_LOOK_ROWS, _GRID_ROWS, _PARTS = 3000, 1000, 3
# Share of the time after which a first look that was begun in time ends, too.
_LOOK = 0.5


class Scored(NamedTuple):
    """A task with what folds say of its path."""

    task: PathTask
    marks: list[Marks | InfeasibleError]


class Ranking(NamedTuple):
    """What a contest comes to.

    Attributes
    ----------
    race : DataFrame
        What was tried.
    traced : list of FoldScores
        Paths of all settings that were traced in full.
    ended : bool
        Whether time ended it, so that something was not compared.
    """

    race: pd.DataFrame
    traced: list[FoldScores]
    ended: bool


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
    clock : SearchClock
        How long it may take.
    following : Following
        How much it counts that rules can be followed by hand.
    """

    task: PathTask
    choices: Choices
    data: Data
    folds: list[tuple[Data, Data]]
    scorer: Any
    is_race: bool
    run_all: Callable[[list[Any]], list[Any]]
    clock: SearchClock = SearchClock()
    following: Following = Following()

    def run(self) -> Ranking:
        """Race, and trace what is left in full."""
        look = _FirstLook(self)
        most = getattr(self.scorer, "most", np.inf)
        is_late = partial(self.clock.is_over, RACE)
        race = Race(self.choices, look, [], len(look.folds), most, look.greedy, is_late)
        listed, lengths = self.choices.all, dict[int, int | None]()
        spare: Scored | None = None
        if self.is_race and len(listed) > 1:
            listed = race.run()
            spare = look.scored(race.leader.settings)
            lengths = {k: race.n_strengths(one) for k, one in enumerate(listed)}
        # Strengths of the first look are known already.
        over = race.ended or look.ended
        tasks = look.with_grids(listed, look.rows if over else self.data)
        for k, n_coarse in lengths.items():
            # A coarse grid has every second strength.
            n_strengths = None if n_coarse is None else 2 * n_coarse - 1
            tasks[k] = self.shortened(tasks[k], n_strengths)
        places = [race.place_of_best(one) for one in listed]
        tasks = [_eased(one, place) for one, place in zip(tasks, places, strict=True)]
        # Folds of many rows take much longer than a first look at some of them.
        slow = len(self.data.y) > _LOOK_ROWS
        slow |= len(race.heats) < len(self.choices.first)
        if over and slow and spare is not None:
            traced, ended = self._on_all_rows(
                [_at_best(spare, self.following)], ended=True
            )
        else:
            traced, ended = self._traced(tasks, spare)
        return Ranking(race.frame(traced), traced, ended or race.ended or look.ended)

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

    def _traced(
        self, tasks: list[PathTask], spare: Scored | None
    ) -> tuple[list[FoldScores], bool]:
        """Trace all paths: for every task its folds, and all rows.

        Where several tasks race, half of the folds come first, and what is more than a
        standard error behind on these goes no further: no rule would choose it. Which
        trees are within limits is known only of those of all rows. Beside the paths
        comes whether time was over before all were traced.
        """
        known, ended = [Scored(task, []) for task in tasks], False
        if self.is_race and len(tasks) > 1 and self.task.limits == NO_LIMITS:
            half = -(-len(self.folds) // 2)
            known, ended = self._on_folds(known, half, spare)
            kept = not_far_behind([one.marks for one in known], self.following)
            known = [one for one, stays in zip(known, kept, strict=True) if stays]
        if self.clock.limit is None:
            return self._at_once(known), False
        if not ended:
            known, ended = self._on_folds(known, len(self.folds), spare)
        if ended:
            # There is time for one path of all rows.
            known = [known[_best_of([one.marks for one in known], self.following)]]
        return self._on_all_rows(known, ended=ended)

    def _at_once(self, known: list[Scored]) -> list[FoldScores]:
        """The folds that are left and all rows, traced at the same time."""
        calls = [
            [*self._scored(one.task, len(one.marks)), self._whole(one.task)]
            for one in known
        ]
        return [
            self._fold_scores(Scored(one.task, [*one.marks, *ended[:-1]]), ended[-1])
            for one, ended in zip(known, self._in_turn(calls), strict=True)
        ]

    def _on_folds(
        self, known: list[Scored], end: int, spare: Scored | None
    ) -> tuple[list[Scored], bool]:
        """Score tasks on the folds up to ``end``; tell whether time ended before.

        If it did, the tasks go on that have all their folds. If none has, it is
        ``spare``, scored at the first look, or the first task with what folds it has.
        """
        wanted = spare is None and not known[0].marks
        calls = [
            self._scored(one.task, len(one.marks), end, wanted=wanted and k == 0)
            for k, one in enumerate(known)
        ]
        found = [
            Scored(one.task, [*one.marks, *(mark for mark in more if mark is not None)])
            for one, more in zip(known, self._in_turn(calls), strict=True)
        ]
        whole = [one for one in found if len(one.marks) == end]
        if not whole:
            left = found[0] if spare is None else _at_best(spare, self.following)
            return [left], True
        return whole, len(whole) < len(found)

    def _on_all_rows(
        self, known: list[Scored], *, ended: bool
    ) -> tuple[list[FoldScores], bool]:
        """Paths of all rows, that of the best first, and whether time was over."""
        best = _best_of([one.marks for one in known], self.following)
        order = [best, *(k for k in range(len(known)) if k != best)]
        calls = [[self._whole(known[k].task, wanted=k == best)] for k in order]
        paths = dict(zip(order, self._in_turn(calls), strict=True))
        traced = [
            self._fold_scores(known[k], path)
            for k, (path,) in sorted(paths.items())
            if path is not None
        ]
        late = len(traced) < len(known) or self.clock.is_over(PATH)
        return traced, ended or late

    def _fold_scores(self, known: Scored, whole: Path | InfeasibleError) -> FoldScores:
        share = len(known.marks) / len(self.folds)
        drawings = max(share * self._n_drawings, 1.0)
        return FoldScores.of(known.marks, whole, known.task, drawings)

    def _whole(self, task: PathTask, *, wanted: bool = True) -> Any:
        """Call that traces the path of all rows."""
        timed = replace(task, until=self.clock.until(PATH))
        return delayed(trace_in_time)(timed, self.data, wanted=wanted)

    def _scored(
        self,
        task: PathTask,
        begin: int,
        end: int | None = None,
        *,
        wanted: bool = False,
    ) -> list[Any]:
        """Calls that score a task on some folds; its trees serve for nothing else."""
        scored = task.rough() if self.is_race else task
        scored = replace(scored, until=self.clock.until(FOLDS))
        return [
            delayed(score_in_time)(
                scored, *fold, self.scorer, count=True, wanted=wanted and k == 0
            )
            for k, fold in enumerate(self.folds[begin:end])
        ]

    def _in_turn(self, calls: list[list[Any]]) -> list[list[Any]]:
        """Results of lists of calls, all of which run at the same time."""
        results = iter(self.run_all([call for part in calls for call in part]))
        return [[next(results) for _ in part] for part in calls]


class _FirstLook:
    """Scores of settings on the first folds, by coarse paths.

    Of trees that cannot be followed by hand, something is taken off the score.
    """

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        few = len(contest.data.seen.y) < FEW_ROWS
        folds = contest.folds[: MOST_FIRST_FOLDS if few else FIRST_FOLDS]
        self.folds = [(train.some(_LOOK_ROWS), test) for train, test in folds]
        n_rows = _GRID_ROWS if contest.choices.thrifty else _LOOK_ROWS
        self.rows = contest.data.seen.some(n_rows)
        self._known: list[tuple[Settings, PathTask]] = []
        self._scored: list[tuple[Settings, Scored]] = []
        self.ended = False

    def __call__(
        self, waiting: list[Settings], n_strengths: int | None, n_done: int
    ) -> list[list[Any]]:
        """Scores on the folds after those done: on some at first, then on the rest."""
        contest, folds = self._contest, self.folds[n_done:]
        if contest.choices.thrifty and n_done == 0:
            folds = folds[: -(-len(folds) // _PARTS)]
        tasks = [one.coarse() for one in self.with_grids(waiting, self.rows)]
        tasks = [contest.shortened(one, n_strengths) for one in tasks]
        until = contest.clock.until(_LOOK)
        tasks = [replace(one, until=until) for one in tasks]
        first = not self._scored
        calls = [
            delayed(score_in_time)(
                one, *fold, contest.scorer, wanted=first and (i, k) == (0, 0)
            )
            for i, one in enumerate(tasks)
            for k, fold in enumerate(folds)
        ]
        results = iter(contest.run_all(calls))
        marks = [
            [one for _, one in zip(folds, results, strict=False) if one is not None]
            for _ in tasks
        ]
        for settings, task, found in zip(waiting, tasks, marks, strict=True):
            self._note(settings, replace(task, until=None), found, n_done)
        weigh = partial(_weighed_scores, following=contest.following)
        return [weigh(found) if found else [] for found in marks]

    def greedy(self, settings: Settings, best: float) -> list[FloatArray]:
        """Scores on all folds of greedy trees as they are, by depth.

        There are none where it is told without folds that they are far behind the best
        score so far: at once, or when cuts of theirs were drawn anew.
        """
        contest, scorer = self._contest, self._contest.scorer
        task = _with_settings(contest.task, settings)
        task = replace(task, until=contest.clock.until(_LOOK))
        depths = worth_scoring(task, self.rows, contest.choices.depths, scorer, best)
        if not depths:
            return []
        calls = [
            delayed(score_greedy)(task, *fold, scorer, depths) for fold in self.folds
        ]
        found: list[FloatArray] = contest.run_all(calls)
        return found

    def _note(
        self,
        settings: Settings,
        task: PathTask,
        marks: list[Marks | InfeasibleError],
        n_done: int,
    ) -> None:
        """Keep what folds say of settings; a new beginning takes the place of one."""
        before = self.scored(settings).marks if n_done else []
        kept = [pair for pair in self._scored if pair[0] != settings]
        if before or marks:
            kept.append((settings, Scored(task, [*before, *marks])))
        self._scored = kept

    def scored(self, settings: Settings) -> Scored:
        """The coarse path of settings, and what the first folds say of it."""
        return next(found for one, found in self._scored if one == settings)

    def with_grids(self, listed: list[Settings], rows: Data) -> list[PathTask]:
        """Tasks of settings, with strengths that suit the rows.

        Strengths that suit the rows of the first look are found once.
        """
        known = self._known if len(rows.y) == len(self.rows.y) else []
        fresh = [one for one in listed if all(one != other for other, _ in known)]
        tasks = [_with_settings(self._contest.task, one) for one in fresh]
        until = self._contest.clock.halfway(RACE)
        tasks = [replace(one, until=until) for one in tasks]
        calls = [delayed(with_grid)(task, rows) for task in tasks]
        found = self._contest.run_all(calls) if calls else []
        self.ended |= any(one.is_late for one in found)
        found = [replace(one, until=None) for one in found]
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


def _weighed_scores(
    marks: list[Marks | InfeasibleError], following: Following
) -> list[FloatArray | InfeasibleError]:
    """Scores on every fold, less what it costs not to be followed by hand."""
    known = [one for one in marks if isinstance(one, Marks)]
    if len(known) < len(marks):
        return [one.scores if isinstance(one, Marks) else one for one in marks]
    followed = np.mean([one.followed for one in known], axis=0)
    means = np.mean([one.scores for one in known], axis=0)
    off = following.handicap(means, followed, means[-1])
    return [one.scores - off for one in known]


def _eased(task: PathTask, place: int | None) -> PathTask:
    """The task with relaxed trees of a quantity under what was best at a first look.

    ``place`` is that of a strength of the coarse grid, 0 being the strongest.
    """
    alphas, others = task.alphas_local, task.alphas_global
    known = alphas is not None and others is not None and not others.any()
    of_quantity = isinstance(task.target, Quantity)
    if place is None or not known or not of_quantity or task.limits.on_variables:
        return task
    assert alphas is not None
    # Strengths that time cut short are fewer than those of the first look.
    weakest = min(1 + 2 * place, alphas.size)
    return replace(task, relax_to=float(alphas[-weakest]) or None)


def not_far_behind(
    marks: list[list[Marks | InfeasibleError]], following: Following
) -> list[bool]:
    """Which paths have a tree within a standard error of the best on these folds."""
    best, error = _best_scores(marks, following)
    top = int(best.argmax())
    if not np.isfinite(best[top]):
        return [True] * len(marks)
    return [bool(one >= best[top] - error[top]) for one in best]


def _best_of(marks: list[list[Marks | InfeasibleError]], following: Following) -> int:
    """The path whose best tree has the best mean score; the first of equals."""
    return int(_best_scores(marks, following)[0].argmax())


def _at_best(scored: Scored, following: Following) -> Scored:
    """The same with the strength alone that was best, where there is time for one.

    Trees that are relaxed, and those of two penalties, are as many as there are.
    """
    task, marks = scored
    known_scores = _known_scores(marks, following)
    means = np.mean(known_scores, axis=0) if known_scores else []
    alphas, others = task.alphas_local, task.alphas_global
    plain = others is not None and others.size == 1 and not task.relax
    if alphas is None or not plain or len(means) != alphas.size:
        return scored
    best = int(np.argmax(np.where(np.isnan(means), -np.inf, means)))
    own = [
        replace(one, scores=one.scores[[best]], followed=one.followed[[best]])
        for one in marks
        if isinstance(one, Marks)
    ]
    return Scored(replace(task, alphas_local=alphas[[best]]), [*own])


def _known_scores(
    marks: list[Marks | InfeasibleError], following: Following
) -> list[FloatArray]:
    """Scores on every fold; none where a fold has no tree."""
    weighed = _weighed_scores(marks, following)
    found = [one for one in weighed if isinstance(one, np.ndarray)]
    return found if len(found) == len(marks) else []


def _best_scores(
    marks: list[list[Marks | InfeasibleError]], following: Following
) -> tuple[FloatArray, FloatArray]:
    """Best mean score of every path, and its standard error."""
    best, error = np.full(len(marks), -np.inf), np.zeros(len(marks))
    for k, found in enumerate(marks):
        scores = _known_scores(found, following)
        if not scores:
            continue
        means = np.mean(scores, axis=0)
        means = np.where(np.isnan(means), -np.inf, means)
        place = int(means.argmax())
        best[k] = means[place]
        if len(scores) > 1 and np.isfinite(best[k]):
            spread = np.std(np.array(scores)[:, place], ddof=1)
            error[k] = spread / np.sqrt(len(scores))
    return best, error


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
        preselect=settings.preselect,
    )
    return replace(task, model=model)
