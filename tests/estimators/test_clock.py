"""Time limits of searches by cross-validation: what is tried, and what is kept.

No test asks how long something takes: what is over is told by clocks of our own, or by
shares of the time that lie before the beginning.
"""

import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification, make_regression

from sorct import SORCTClassifierCV, SORCTRegressorCV, sorct_path
from sorct.data.target import Classes
from sorct.estimators import contest as contests
from sorct.estimators import folds
from sorct.estimators.clock import SearchClock
from sorct.estimators.contest import MOST_FIRST_FOLDS
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model
from sorct.estimators.following import Following
from sorct.estimators.marks import Marks
from sorct.estimators.race import Race
from sorct.estimators.why import OUT_OF_TIME
from sorct.search import relax as relaxing
from tests.estimators.test_race import EMPTY, FREE, SIMPLE, by_depth

LONG, SHORT = 1e6, 1e-6
CLASSES = make_classification(90, 4, n_informative=3, n_redundant=0, random_state=3)
NUMBERS = make_regression(90, 3, noise=5.0, random_state=3)
QUICK = {"alphas_local": [0.1, 2.0], "n_solutions": 2, "cv": 2, "random_state": 0}


def search(task, time_limit, **options):
    """A small search, fitted."""
    estimator, data = SORCTClassifierCV, CLASSES
    if task == "quantity":
        estimator, data = SORCTRegressorCV, NUMBERS
    found = estimator(time_limit=time_limit, **{**QUICK, **options})
    return found.fit(*data)


# -- the clock -------------------------------------------------------------------------


def test_shares_of_the_time_are_over_one_after_the_other():
    time = SimpleNamespace(now=100.0)
    clock = SearchClock(10.0, lambda: time.now, 100.0)
    assert [clock.is_over(share) for share in (0.0, 0.4, 1.0)] == [True, False, False]
    assert clock.left(0.4) == pytest.approx(4.0)
    assert clock.until(0.75) == pytest.approx(107.5)
    time.now = 105.0
    assert clock.is_over(0.4)
    assert not clock.is_over(0.75)
    assert clock.left(0.4) == 0.0
    assert clock.left() == pytest.approx(5.0)
    assert clock.halfway(0.75) == pytest.approx(106.25)
    assert clock.halfway(0.4) == pytest.approx(105.0)
    half = clock.part(0.5)
    assert half.is_over(1.0)
    assert not half.part(2.0).is_over(1.0)


def test_without_a_limit_nothing_is_ever_over():
    clock = SearchClock.of(None).part(0.0)
    assert clock.until(0.0) is None
    assert clock.halfway(0.0) is None
    assert clock.left() is None
    assert not clock.is_over(0.0)


def test_a_clock_begins_when_it_is_asked_for():
    clock = SearchClock.of(LONG)
    assert not clock.is_over(0.5)
    assert clock.left() == pytest.approx(LONG, rel=1e-3)


def test_a_clock_begins_when_all_workers_are_ready(monkeypatch):
    """Processes import and load compiled code first: no result should hang on that."""
    ready = []
    monkeypatch.setattr(
        "sorct.estimators.clock._be_ready", lambda: ready.append(time.time())
    )
    with parallel_config("threading"):
        clock = SearchClock.of(LONG, n_jobs=3)
    assert len(ready) == 4
    assert max(ready) <= clock.begun


# -- the race --------------------------------------------------------------------------


@pytest.mark.parametrize("n_rounds", [0, 1, 2])
def test_a_race_that_is_late_tries_nothing_more(n_rounds):
    """But something was tried, and the best of that is a finalist."""
    rounds, worth = [], by_depth(-0.8, -0.5, -0.2, -0.1)

    def try_out(waiting, n_strengths, n_done):
        rounds.append(waiting)
        return [[np.array([EMPTY, worth(one), EMPTY])] * 2 for one in waiting]

    race = Race(FREE, try_out, n_folds=2, is_late=lambda: len(rounds) >= n_rounds)
    chosen = race.run()
    assert len(rounds) == max(n_rounds, 1)
    assert race.ended
    assert race.leader.settings in chosen
    tried = [one for waiting in rounds for one in waiting]
    assert [heat.settings for heat in race.heats] == tried


def test_a_race_in_time_has_not_ended_early():
    def try_out(waiting, n_strengths, n_done):
        return [[np.array([EMPTY, -0.5, EMPTY])] * 2 for _ in waiting]

    race = Race(FREE, try_out, n_folds=2)
    race.run()
    assert not race.ended


def test_settings_that_there_was_no_time_for_are_not_in_the_race():
    """They have no scores; those that have some lead."""
    late = []

    def try_out(waiting, n_strengths, n_done):
        late.append(True)
        return [[np.array([EMPTY, -0.5, EMPTY])]] + [[]] * (len(waiting) - 1)

    race = Race(FREE, try_out, n_folds=2, is_late=lambda: bool(late))
    assert race.run() == [SIMPLE]
    assert race.ended
    assert len(race.frame()) == 1


# -- folds -----------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize("late", [(False, False), (False, True), (True, True)])
def test_what_comes_late_is_left_out_unless_it_is_wanted(monkeypatch, wanted, late):
    """Late before a path begins, or when it ends."""

    class Task:
        asked = iter(late)

        @property
        def is_late(self):
            return next(self.asked)

    monkeypatch.setattr(folds, "score_fold", lambda *_, **__: "marks")
    monkeypatch.setattr(folds, "trace_all", lambda *_: "path")
    kept = wanted or not any(late)
    found = folds.score_in_time(Task(), None, None, None, wanted=wanted)
    assert found == ("marks" if kept else None)
    Task.asked = iter(late)
    found = folds.trace_in_time(Task(), None, wanted=wanted)
    assert found == ("path" if kept else None)


def test_one_strength_is_left_where_there_is_time_for_one():
    """The one of the best mean, unless relaxed trees stand beside the others."""
    marks = [
        Marks(np.array([0.1, 0.9, 0.2]), np.ones(3)),
        Marks(np.array([0.8, 0.3, 0.2]), np.ones(3)),
    ]
    given = np.array([1.0, 2.0, 4.0]), np.zeros(1), 2, Effort(), ""
    task = folds.PathTask(Model(), Classes(np.arange(2)), *given, relax=False)
    found = contests._at_best(contests.Scored(task, marks), Following())
    assert found.task.alphas_local.tolist() == [2.0]
    assert [one.scores.tolist() for one in found.marks] == [[0.9], [0.3]]
    scored = contests.Scored(replace(task, relax=True), marks)
    assert contests._at_best(scored, Following()) is scored


def test_strengths_are_looked_for_no_longer_than_there_is_time(monkeypatch):
    """What is told by then says where penalties begin; all settings have some."""
    asked = []

    def strongest(problem, seed, *, stop, **_):
        asked.append(int(stop[0]))
        return 1.0

    monkeypatch.setattr("sorct.search.strongest.emptying_strength", strongest)
    search("classes", LONG, alphas_local=None)
    assert set(asked) == {0}
    asked.clear()
    found = search("classes", SHORT, alphas_local=None)
    assert set(asked) == {1}
    assert OUT_OF_TIME in found.why_


@pytest.mark.parametrize("limit", [None, LONG])
def test_relaxing_hears_of_the_time(monkeypatch, limit):
    """Refits of a path are told when time is over, if there is a limit."""
    waited, relax = [], relaxing.relaxed

    def deadline(seconds, stop):
        waited.append(seconds)
        return nullcontext()

    def relaxed(problem, solution, solver, share, stop, seed):
        stop[0] = 1
        return relax(problem, solution, solver, share, stop, seed)

    monkeypatch.setattr("sorct.search.relax.relaxed", relaxed)
    free = sorct_path(*CLASSES, depth=1, alphas_local=[0.1], random_state=0)
    assert free.relaxed[0].training.status == "time_limit"
    monkeypatch.setattr("sorct.search.workers.deadline", deadline)
    sorct_path(*CLASSES, depth=1, alphas_local=[0.1], time_limit=limit, random_state=0)
    known = [seconds for seconds in waited if seconds is not None]
    assert bool(known) == (limit is not None)


# -- the whole search ------------------------------------------------------------------


@pytest.mark.every_case
@pytest.mark.parametrize("task", ["classes", "quantity"])
@pytest.mark.parametrize("race", [False, True])
def test_a_limit_that_is_not_reached_changes_nothing(task, race):
    options = {} if race else {"depths": 1, "scaling": "auto"}
    if not race:
        usual = {"loss": "log"}
        more = {"leaf": "constant", "mixed": 0.1, "link": "identity"}
        options |= usual if task == "classes" else more
    without, within = (search(task, limit, **options) for limit in (None, LONG))
    pd.testing.assert_frame_equal(
        without.cv_results_, within.cv_results_, check_exact=True
    )
    assert within.tree_ == without.tree_
    assert within.why_ == without.why_
    assert OUT_OF_TIME not in within.why_


@pytest.mark.every_case
@pytest.mark.parametrize("task", ["classes", "quantity"])
@pytest.mark.parametrize("options", [{}, {"depths": [1, 2], "scaling": "auto"}])
def test_there_is_a_tree_however_short_the_time(task, options):
    found = search(task, SHORT, **options)
    assert OUT_OF_TIME in found.why_
    assert len(found.race_) <= 1
    data = CLASSES if task == "classes" else NUMBERS
    assert found.predict(data[0]).shape == (90,)
    assert found.tree_.training.cv_folds == 1


@pytest.mark.parametrize("task", ["classes", "quantity"])
def test_a_race_that_is_over_is_followed_by_its_finalists(monkeypatch, task):
    """Settings of the first round alone were tried, and traced on all folds."""
    whole = search(task, None, cv=5)
    monkeypatch.setattr(contests, "RACE", -1.0)
    found = search(task, LONG, cv=5)
    assert 1 <= len(found.race_) < len(whole.race_)
    assert found.race_["finalist"].any()
    assert OUT_OF_TIME in found.why_
    assert found.tree_.training.cv_folds == whole.tree_.training.cv_folds


@pytest.mark.parametrize("task", ["classes", "quantity"])
def test_where_no_folds_are_left_the_leader_of_the_race_is_taken(monkeypatch, task):
    """By the coarse path and the folds of the first look at it."""
    monkeypatch.setattr(contests, "FOLDS", -1.0)
    found = search(task, LONG, cv=5)
    assert OUT_OF_TIME in found.why_
    assert found.tree_.training.cv_folds <= MOST_FIRST_FOLDS
    # Another finalist may be ahead by chance: the leader is the simplest of those near.
    finalists = found.race_[found.race_["finalist"]]
    chosen = found.cv_results_[["loss", "depth", "scaling"]].iloc[0]
    like = finalists[(finalists[list(chosen.index)] == chosen).all(axis=1)]
    score = found.cv_results_["mean_score"].max()
    assert np.isclose(like["first_score"], score, rtol=1e-9).any()
    assert found.tree_.variables_used


@pytest.mark.parametrize("task", ["classes", "quantity"])
def test_without_a_race_the_folds_that_there_are_decide(monkeypatch, task):
    """The first comes late rather than never."""
    monkeypatch.setattr(contests, "FOLDS", -1.0)
    fixed = {"depths": [1, 2], "scaling": "auto", "cv": 3}
    other = {"leaf": "constant", "mixed": 0.1, "link": "identity"}
    fixed |= {"loss": "log"} if task == "classes" else other
    found = search(task, LONG, **fixed)
    assert OUT_OF_TIME in found.why_
    assert found.tree_.depth == 1
    assert found.tree_.training.cv_folds == 1


def test_only_the_best_is_traced_on_all_rows_when_that_is_late(monkeypatch):
    fixed = {"depths": [1, 2], "scaling": "auto", "loss": "log", "cv": 3}
    whole = search("classes", None, **fixed)
    monkeypatch.setattr(contests, "PATH", -1.0)
    found = search("classes", LONG, **fixed)
    assert OUT_OF_TIME in found.why_
    depths = set(found.cv_results_["depth"])
    leader = whole.cv_results_["mean_score"].idxmax()
    assert depths == {whole.cv_results_.loc[leader, "depth"]}


def test_calibration_within_a_limit_is_that_without():
    without, within = (
        search("classes", limit, depths=1, loss="log", calibration="sigmoid")
        for limit in (None, LONG)
    )
    assert within.tree_.calibration == without.tree_.calibration
    hardly = search("classes", SHORT, calibration="sigmoid")
    assert hardly.tree_.calibration is not None


@pytest.mark.parametrize("limit", [0, -1.0, "soon", np.nan])
@pytest.mark.parametrize("estimator", [SORCTClassifierCV, SORCTRegressorCV])
def test_odd_limits_are_refused(estimator, limit):
    with pytest.raises((TypeError, ValueError), match="time_limit must be"):
        estimator(time_limit=limit).fit(*CLASSES)
