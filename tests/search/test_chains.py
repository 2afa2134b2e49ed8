"""IteratedSearch: reproducible, no worse than what it saw, ended for a reason."""

from contextlib import nullcontext
from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest
from sorct.datasets import make_planted_tree

from sorct.search import chains
from sorct.search.chains import IteratedSearch, _Search, _steps
from sorct.search.log import NO_RUN
from sorct.search.multistart import Multistart
from sorct.search.polish import Polisher
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Status
from tests.cases import problem_of
from tests.reference import Reference
from tests.search.test_multistart import assert_identical

SOLVER = AugmentedLagrangian(tol=1e-6, max_iter=2000)
PROBLEMS = {
    "free": {"depth": 1, "n_classes": 2},
    "local": {"depth": 2, "n_classes": 3, "alpha_local": 2.0**-5},
    "floors": {
        "depth": 2,
        "n_classes": 3,
        "alpha_global": 0.03,
        "floor": np.full(3, 0.5),
    },
    "deep": {"depth": 3, "n_classes": 2, "alpha_local": 2.0**-4},
}
problems = pytest.mark.parametrize("name", PROBLEMS)
shallow = pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "deep"])


def search(problem, n_jobs=1, seed=0, callback=None, **options):
    """Run a search."""
    return IteratedSearch(SOLVER, n_jobs, **options).run(problem, seed, callback)


def test_time_is_left_for_what_follows_a_search(draw_case, monkeypatch):
    """As much as the empty tree took, which has as many classes and leaves.

    What drawing the rows took is gone already.
    """
    asked, clock = [], chain([0.0, 0.125, 0.125, 0.375], repeat(0.375))

    def deadline(seconds, stop):
        asked.append(seconds)
        return nullcontext()

    monkeypatch.setattr(chains, "deadline", deadline)
    monkeypatch.setattr(chains, "time", SimpleNamespace(perf_counter=clock.__next__))
    search(draw_case(n_classes=2).problem, time_limit=1.0)
    assert asked[0] == 0.875
    assert asked[-2:] == [0.375, 0.375]


@pytest.fixture(scope="module")
def known():
    """Keep what was searched, by the name of the problem."""
    return {}


@pytest.fixture
def searched(known, draw_case):
    """Give a problem of a name and its search, made once: all draw the same."""

    def give(name):
        if name not in known:
            case = draw_case(**PROBLEMS[name])
            known[name] = case, search(case.problem)
        return known[name]

    return give


def close(one, other, share):
    """Whether two objectives differ by no more than a share, or rounding."""
    return abs(one - other) <= share * max(abs(one), abs(other)) + 2e-5


def assert_same_search(one, other):
    """Two results are the same to the last bit, time apart."""
    assert one.status is other.status
    for a, b in zip(one.starts, other.starts, strict=True):
        assert a.run == b.run
        assert_identical(a, b)
    np.testing.assert_array_equal(one.best.params.coef, other.best.params.coef)
    assert str(one.summary) == str(other.summary)


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("free", (1, 2, 5)),
        ("local", (2,)),
        ("floors", (5,)),
        pytest.param("local", (1, 5), marks=pytest.mark.slow),
        pytest.param("floors", (1, 2), marks=pytest.mark.slow),
        pytest.param("deep", (1, 2, 5), marks=pytest.mark.slow),
    ],
)
def test_neither_jobs_nor_repetition_change_anything(searched, name, jobs):
    """One thread, two, or five, again and again: the same descents to the last bit."""
    (problem, *_), first = searched(name)
    for n_jobs in jobs:
        assert_same_search(first, search(problem, n_jobs))


@pytest.mark.slow
def test_other_seeds_search_elsewhere(draw_case):
    """Different seeds make different descents."""
    problem = draw_case(depth=2, n_classes=3).problem
    one, other = (search(problem, seed=seed).starts for seed in (0, 1))
    objectives = [[start.objective for start in side] for side in (one, other)]
    assert objectives[0] != objectives[1]


@problems
def test_the_best_is_the_best_of_all_descents(searched, name):
    """Up to 1e-5, below which nothing counts as better; a tree of the problem."""
    (_, truth, _), result = searched(name)
    best = result.best
    feasible = [s.objective for s in result.starts if s.feasible]
    assert best.feasible == bool(feasible)
    assert best.objective <= min(feasible) * (1.0 + 2e-5) + 1e-12
    assert best.objective == pytest.approx(truth.objective(best.params), abs=1e-10)
    assert np.all(truth.recall(best.params) >= truth.floor - 1e-4)
    assert set(best.params.leaf_class) == set(range(truth.n_classes))
    assert result.status is Status.CONVERGED
    assert truth.floor.any() or truth.residual(best.params, 0 * truth.floor) <= 1.1e-6


@shallow
def test_it_is_no_worse_than_a_few_starts(searched, name):
    """Within 0.1 %, which is what the search calls the same, in trees not too deep."""
    (problem, *_), result = searched(name)
    few, best = Multistart(SOLVER, n_starts=4).run(problem, 0).best, result.best
    assert best.feasible or not few.feasible
    assert best.objective <= few.objective or close(best.objective, few.objective, 1e-3)


@problems
def test_the_summary_counts_the_descents(searched, name):
    """Recounted from the list of descents."""
    _, result = searched(name)
    summary, best = result.summary, result.best.objective
    values = [s.objective for s in result.starts if s.feasible]
    near = [v for v in values if v <= 1.01 * best + 2e-5]
    hits = {
        s.run for s in result.starts if s.feasible and close(s.objective, best, 1e-3)
    }
    optima = []
    for value in sorted(values):
        if not optima or not close(value, optima[-1], 1e-3):
            optima.append(value)
    assert summary.n_descents == len(result.starts)
    assert summary.n_runs == 1 + max(s.run for s in result.starts)
    assert summary.n_refound == len(hits)
    assert summary.n_optima == len(optima)
    assert summary.share_near_best == pytest.approx(len(near) / len(result.starts))
    assert summary.n_evaluations == sum(s.n_evaluations for s in result.starts)
    for number in (summary.n_descents, summary.n_runs, summary.n_refound):
        assert str(number) in str(summary)


@problems
def test_it_ends_when_two_runs_agree_or_after_sixteen(searched, name):
    """Every run ends with a polish, and runs come one after the other."""
    _, result = searched(name)
    runs = [start.run for start in result.starts]
    assert runs == sorted(runs)
    assert [s.run for s in result.starts if s.kind == "polished"] == sorted(set(runs))
    assert result.summary.n_refound >= 2 or result.summary.n_runs == 16


def test_a_perfect_tree_needs_no_second_run():
    """Nothing is below zero."""
    data = make_planted_tree(100, 3, 1, 2, 1, noise=0.0, random_state=0)
    clear = np.abs(data.X @ data.coef[:, 0] - data.threshold[0]) > 0.1
    X, y = data.X[clear], data.y[clear]
    costs = 1.0 - np.eye(2)
    truth = Reference(X, y, np.ones(len(y)), costs, np.zeros(2), 2, 512.0)
    result = search(problem_of(truth))
    assert truth.objective(result.best.params) < 1e-4
    assert result.summary.n_runs == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_time_still_gives_a_tree(draw_case, n_jobs):
    """That without features, at least; the status says that time was short."""
    problem, truth, _ = draw_case(depth=2, n_classes=3)
    result = search(problem, n_jobs, time_limit=1e-9)
    assert result.status is Status.TIME_LIMIT
    assert 1 <= len(result.starts) <= 5
    assert set(result.best.params.leaf_class) == {0, 1, 2}
    assert result.best.objective == pytest.approx(truth.objective(result.best.params))


def test_a_run_that_begins_too_late_draws_nothing(draw_case):
    """It gives the tree without features, which is known."""
    problem = draw_case(depth=2, n_classes=3).problem
    polisher = Polisher.of(problem, SOLVER)
    (found,) = _steps(polisher, [], (0, 0, 0), np.arange(4), np.array([1]))
    assert found.solution.params is polisher.empty.params
    assert found.solution.status is Status.TIME_LIMIT


@pytest.mark.a_few(1)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_callback_hears_of_every_descent_once(draw_case, n_jobs):
    """In order, with the best objective so far and no number of starts."""
    heard = []
    result = search(draw_case().problem, n_jobs, callback=heard.append)
    n = len(result.starts)
    assert [progress.n_done for progress in heard] == list(range(1, n + 1))
    assert {progress.n_starts for progress in heard} == {None}
    objectives = [start.objective for start in result.starts]
    best = [progress.objective for progress in heard]
    assert best == list(np.minimum.accumulate(objectives))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_wanted", [1, 3, 10])
def test_a_callback_that_returns_true_stops(draw_case, n_jobs, n_wanted):
    """It is not called again; the round is finished, the best tree polished."""
    heard = []

    def callback(progress):
        heard.append(progress)
        return len(heard) == n_wanted

    result = search(draw_case(n_classes=3).problem, n_jobs, callback=callback)
    assert len(heard) == n_wanted
    assert n_wanted <= len(result.starts) <= n_wanted + 4
    assert result.starts[-1].kind == "polished"
    assert result.status is Status.STOPPED


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_the_callback_reaches_the_caller(draw_case, n_jobs):
    """It is neither swallowed nor changed."""

    def callback(progress):
        raise KeyError(progress.n_done)

    with pytest.raises(KeyError, match="1"):
        search(draw_case().problem, n_jobs, callback=callback)


def test_floors_out_of_reach_end_the_search_after_two_runs(rng, draw_case):
    """Equal rows of two classes cannot both be recalled; no descent hides it."""
    problem = draw_case(
        n=40,
        X=np.tile(rng.random((20, 4)), (2, 1)),
        y=np.repeat([0, 1], 20),
        weight=np.ones(40),
        floor=np.ones(2),
    ).problem
    result = search(problem)
    assert result.status is Status.INFEASIBLE
    assert result.summary.n_runs == 2
    assert result.summary.n_refound == 0
    violations = [start.violation for start in result.starts]
    assert min(violations) >= 0.5 - 1e-9
    assert result.best.violation <= min(violations) + 1e-6


def test_many_rows_are_searched_in_part_and_finished_in_full(draw_case, monkeypatch):
    """Objective, residual and status are those of all rows."""
    monkeypatch.setattr("sorct.data.samples.MANY_ROWS", 100)
    problem, truth, _ = draw_case(n=450, depth=2, n_classes=3, alpha_local=2.0**-5)
    assert problem.subsampled is not problem
    result = search(problem)
    best = result.best
    assert result.starts[-1].run == NO_RUN
    assert result.summary.n_descents == len(result.starts) - 1
    assert best.objective == pytest.approx(truth.objective(best.params), abs=1e-10)
    assert truth.residual(best.params, np.zeros(3)) <= 1.1e-6


def test_time_that_ends_between_two_runs_still_gives_a_tree(draw_case, monkeypatch):
    """The clock may strike after the check and before the next run's first descent."""
    run_once = _Search._run

    def run(self, polisher, run):
        if run == 1:
            self.soft[0] = 1
        return run_once(self, polisher, run)

    monkeypatch.setattr(_Search, "_run", run)
    result = search(draw_case(n_classes=3).problem, time_limit=60.0)
    assert result.status is Status.TIME_LIMIT
    assert "time limit" in result.summary.ended
    ends = [start for start in result.starts if start.kind == "polished"]
    first = [start for start in result.starts if start.run == 1][0]
    assert ends[1].first == pytest.approx(first.objective, rel=1e-6)


def test_a_rare_class_survives_subsampling(rng):
    """Three of 40 000 samples are of class 1: all of them are searched."""
    X, y = rng.random((40_000, 2)), np.zeros(40_000, dtype=int)
    X[:3] += [[2.0], [2.1], [2.2]]
    y[:3] = 1
    costs = 1.0 - np.eye(2)
    truth = Reference(X / 4.0, y, np.ones(40_000), costs, np.zeros(2), 1, 64.0)
    problem = problem_of(truth)
    rows = problem.data.rows
    assert np.count_nonzero(rows.codes == 1) == 3
    share = np.bincount(rows.codes, rows.weight)
    np.testing.assert_allclose(share, problem.data.share, rtol=1e-12)
    found = search(problem, callback=lambda heard: heard.objective < 3.0 / 40_000)
    assert found.best.objective < 3.0 / 40_000
