"""Multistart: the same result for any number of jobs, and no worse than any start."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from sorct.search.multistart import Multistart
from sorct.search.polish import Polisher
from sorct.search.starts import draw_start
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import Status

SOLVER = AugmentedLagrangian(tol=1e-6, max_iter=2000)
problems = pytest.mark.parametrize(
    "options",
    [
        {"depth": 1, "n_classes": 2},
        {"depth": 2, "n_classes": 3, "alpha_local": 2.0**-5},
        {"depth": 2, "n_classes": 3, "alpha_global": 2.0**-5, "floor": np.full(3, 0.7)},
    ],
    ids=["free", "local", "floors"],
)


def search(problem, n_starts=6, n_jobs=1, seed=0, callback=None, **options):
    """Run a search."""
    return Multistart(SOLVER, n_starts, n_jobs, **options).run(problem, seed, callback)


def assert_identical(one, other):
    """Two start results are the same to the last bit, time apart."""
    assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def assert_same_tree(one, other):
    """Two trees are the same to the last bit."""
    for name in ("coef", "threshold", "leaf_class"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@problems
def test_the_number_of_jobs_changes_nothing(draw_case, options):
    """One thread or two, every start ends in the same tree, to the last bit."""
    problem = draw_case(**options).problem
    results = [search(problem, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert results[0].status is results[1].status
    assert_same_tree(results[0].best.params, results[1].best.params)
    for one, other in zip(*(result.starts for result in results), strict=True):
        assert_identical(one, other)


@problems
def test_start_k_is_the_same_for_any_number_of_starts(draw_case, options):
    """The first three of six are the three of three."""
    problem = draw_case(**options).problem
    three, six = (search(problem, n_starts).starts for n_starts in (3, 6))
    assert len(six) == 6
    for one, other in zip(three, six[:3], strict=True):
        assert_identical(one, other)


@problems
def test_the_best_is_the_best_of_all_starts(draw_case, options):
    """Least objective among the feasible, least violation if there is none."""
    result = search(draw_case(**options).problem, n_starts=10)
    every = list(result.starts)
    feasible = [solution.objective for solution in every if solution.feasible]
    if feasible:
        assert result.best.feasible
        assert result.best.objective == min(feasible)
    else:
        assert result.best.violation == min(solution.violation for solution in every)
    assert result.status is result.best.status


def test_other_seeds_search_elsewhere(draw_case):
    """Different seeds end in different trees somewhere."""
    problem = draw_case(depth=2, n_classes=3).problem
    one, other = (search(problem, seed=seed).starts for seed in (0, 1))
    objectives = [[start.objective for start in side] for side in (one, other)]
    assert objectives[0] != objectives[1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_time_still_gives_a_tree(draw_case, n_jobs):
    """That without features, at least; the status says that time was short."""
    problem, truth, _ = draw_case(depth=2, n_classes=3)
    result = search(problem, n_starts=50, n_jobs=n_jobs, time_limit=1e-9)
    assert 1 <= len(result.starts) < 50
    assert result.status is Status.TIME_LIMIT
    assert set(result.best.params.leaf_class) == {0, 1, 2}
    assert result.best.objective == pytest.approx(truth.objective(result.best.params))


def test_starts_that_begin_too_late_draw_nothing(draw_case):
    """The first gives the tree without features, the others none."""
    problem, late = draw_case(depth=2, n_classes=3).problem, np.array([1])
    polisher = Polisher.of(problem, SOLVER)
    first, second = (Multistart(SOLVER)._start(polisher, 0, k, late) for k in (0, 1))
    assert first.solution.params is polisher.empty.params
    assert first.solution.status is Status.TIME_LIMIT
    assert second is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_callback_hears_of_every_start_once(draw_case, n_jobs):
    """In order, with the best objective so far."""
    heard = []
    result = search(draw_case().problem, 7, n_jobs, callback=heard.append)
    assert [progress.n_done for progress in heard] == list(range(1, 8))
    assert {progress.n_starts for progress in heard} == {7}
    objectives = [start.objective for start in result.starts]
    best = [progress.objective for progress in heard]
    assert best == list(np.minimum.accumulate(objectives))


@pytest.mark.every_value
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("answer", [True, np.True_, False, None, 0])
def test_only_true_stops_a_search(draw_case, n_jobs, answer):
    """A callback that returns True is not called again, and the status says so."""
    heard = []

    def callback(progress):
        heard.append(progress)
        return answer if progress.n_done == 2 else None

    result = search(draw_case().problem, 30, n_jobs, callback=callback)
    if answer:
        assert len(heard) == 2
        assert 2 <= len(result.starts) < 30
        assert result.status is Status.STOPPED
    else:
        assert len(heard) == len(result.starts) == 30
        assert result.status is result.best.status


def test_an_error_in_the_callback_reaches_the_caller(draw_case):
    """It is neither swallowed nor changed."""

    def callback(progress):
        raise KeyError(progress.n_done)

    with pytest.raises(KeyError, match="1"):
        search(draw_case().problem, 10, callback=callback)


@pytest.mark.every_value
@pytest.mark.parametrize("total", [0.0, 0.6])
@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 3), (3, 5)])
@pytest.mark.parametrize("name", ["alpha_local", "alpha_global"])
def test_a_huge_penalty_gives_the_best_tree_without_features(
    rng, draw_case, name, depth, n_classes, total
):
    """The cheapest class gets all mass but what the floors demand for the others."""
    floor = rng.random(n_classes)
    floor *= total / floor.sum()
    problem, truth, _ = draw_case(
        depth=depth, n_classes=n_classes, gamma=512.0, floor=floor, **{name: 1e4}
    )
    share = np.bincount(truth.y, truth.weight) / truth.weight.sum()
    class_cost = share @ truth.cost_matrix
    mass = floor.copy()
    mass[np.argmin(class_cost)] += 1.0 - floor.sum()
    best = search(problem, n_starts=4).best
    assert best.feasible
    assert np.all(best.params.coef == 0.0)
    assert best.objective == pytest.approx(class_cost @ mass, abs=1e-6)


def test_floors_out_of_reach_are_reported(rng, draw_case):
    """Equal rows of two classes cannot both be recalled; no start hides it."""
    problem = draw_case(
        n=40,
        X=np.tile(rng.random((20, 4)), (2, 1)),
        y=np.repeat([0, 1], 20),
        weight=np.ones(40),
        floor=np.ones(2),
    ).problem
    result = search(problem, n_starts=3)
    assert result.status is Status.INFEASIBLE
    assert all(start.violation >= 0.5 - 1e-9 for start in result.starts)


def test_very_many_starts_take_no_memory_before_they_run(draw_case, monkeypatch):
    """Three million of them, stopped after five: hardly more were begun or kept."""
    drawn = []

    def counted(problem, seed, k, stop):
        drawn.append(k)
        return draw_start(problem, seed, k, stop)

    problem = draw_case(depth=1).problem
    search(problem, 1)  # loads the compiled code
    monkeypatch.setattr("sorct.search.multistart.draw_start", counted)
    tracemalloc.start()
    try:
        result = search(problem, 3_000_000, callback=lambda told: told.n_done == 5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(result.starts) == 5
    assert len(drawn) <= 5 + 2
    assert peak < 50e6
