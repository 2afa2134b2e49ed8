"""Sweep: no tree on the grid is beaten, by another point or by a plain loop."""

import os
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sorct.datasets import make_planted_tree

import sorct.data.samples
from sorct.data.encoder import TableEncoder
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.penalty import Strengths
from sorct.search.log import SearchLog
from sorct.search.sweep import Grid, Sweep, _SweepState
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.solution import FEASIBLE, Status
from sorct.tree.params import Params
from tests.cases import draw_tree, problem_of
from tests.reference import Reference

SEED = int(os.environ.get("SORCT_TEST_SEED", "0"))
SOLVER = AugmentedLagrangian(tol=1e-6, max_iter=5000)
GRID = Grid((0.0, 2.0**-6, 2.0**-3, 1.0, 64.0), (0.0, 2.0**-4, 0.5))
ROUNDING = 1e-5
problems = pytest.mark.parametrize(
    "name", ["iris", "iris with floors", "wine", "depth 1", "planted", "planted floors"]
)


def truth_of(name):
    """The training problem of a name, without penalties."""
    floor = 0.0
    if name in ("iris", "iris with floors", "wine"):
        X, y = (load_wine if name == "wine" else load_iris)(return_X_y=True)
        X, depth = TableEncoder.learn(X).encode(X), 2
        floor = 0.3 * (name == "iris with floors")
    else:
        depth, n_classes = (1, 2) if name == "depth 1" else (2, 4)
        planted = make_planted_tree(120, 4, depth, n_classes, 2, random_state=SEED)
        X, y, floor = planted.X, planted.y, 0.2 * (name == "planted floors")
    K = len(np.unique(y))
    return Reference(
        X=X,
        y=y,
        weight=np.ones(len(y)),
        cost_matrix=0.5 * (1.0 - np.eye(K)),
        floor=np.full(K, floor),
        depth=depth,
        gamma=512.0,
    )


def sweep(problem, grid=GRID, n_jobs=1, seed=SEED, n_solutions=5, **options):
    """Run a sweep; its solutions."""
    callback = options.pop("callback", None)
    swept = Sweep(SOLVER, n_solutions, n_jobs, **options).run(
        problem, grid, seed, callback
    )
    assert len(swept.solutions) == len(swept.seconds) == len(grid.strengths)
    assert (swept.seconds >= 0.0).all()
    return swept.solutions


@cache
def swept(name):
    """Reference and solutions of a named problem over the common grid."""
    truth = truth_of(name)
    return truth, sweep(problem_of(truth))


def at(truth, penalty):
    """The reference under the penalties of a grid point."""
    return replace(
        truth, alpha_local=penalty.alpha_local, alpha_global=penalty.alpha_global
    )


def objectives(solutions, grid=GRID):
    """Objectives as a matrix, the local axis first."""
    shape = len(grid.alphas_local), len(grid.alphas_global)
    return np.array([solution.objective for solution in solutions]).reshape(shape)


def assert_unbeaten(truth, solutions, grid=GRID):
    """Numbers are the reference's, and no tree beats another point's at its place."""
    for solution, penalty in zip(solutions, grid.strengths, strict=True):
        here = at(truth, penalty)
        tree = solution.params
        assert solution.objective == pytest.approx(here.objective(tree), abs=1e-9)
        assert solution.cost == pytest.approx(here.cost(tree), abs=1e-9)
        np.testing.assert_allclose(solution.recall, here.recall(tree), atol=1e-9)
        np.testing.assert_allclose(solution.mass, here.mass(tree), atol=1e-9)
        others = min(
            here.objective(other.params)
            for other in solutions
            if (here.recall(other.params) >= here.floor - FEASIBLE).all()
        )
        assert solution.objective <= others * (1.0 + 2 * ROUNDING) + 1e-9


def assert_identical(one, other):
    """Two sweeps agree to the last bit."""
    for a, b in zip(one, other, strict=True):
        for name in ("coef", "threshold", "leaf_class"):
            np.testing.assert_array_equal(
                getattr(a.params, name), getattr(b.params, name), name
            )
        for name in ("recall", "mass", "multiplier"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
        for name in ("objective", "cost", "residual", "status", "n_iterations"):
            assert getattr(a, name) == getattr(b, name), name


# -- the grid --------------------------------------------------------------------------


@pytest.mark.parametrize("n_local", [1, 2, 5])
@pytest.mark.parametrize("n_global", [1, 2, 4])
def test_neighbours_are_one_step_away(n_local, n_global):
    """By brute force over all pairs; points further on come first."""
    grid = Grid(tuple(map(float, range(n_local))), tuple(map(float, range(n_global))))
    places = list(product(range(n_local), range(n_global)))
    for k, (i, j) in enumerate(places):
        near = [n for n, (a, b) in enumerate(places) if abs(a - i) + abs(b - j) == 1]
        assert sorted(grid.neighbours(k)) == near
        later = [n > k for n in grid.neighbours(k)]
        assert later == sorted(later, reverse=True)


def test_penalties_run_along_rows():
    """The local one is outermost; a row begins with the least global one."""
    grid = Grid((0.0, 1.0, 2.0), (0.5, 4.0))
    pairs = product((0.0, 1.0, 2.0), (0.5, 4.0))
    assert grid.strengths == [Strengths(a, b) for a, b in pairs]
    begins = [grid.begins_row(k) for k in range(6)]
    assert begins == [penalty.alpha_global == 0.5 for penalty in grid.strengths]


# -- truths along the path -------------------------------------------------------------


@pytest.mark.a_few(1)
@problems
def test_objectives_never_fall_when_a_penalty_grows(name):
    """Along both axes; the least objective of a larger penalty is no less."""
    _, solutions = swept(name)
    value = objectives(solutions)
    for axis in (0, 1):
        rise = np.diff(value, axis=axis)
        assert (rise >= -ROUNDING * np.delete(value, -1, axis=axis) - 1e-9).all()


@pytest.mark.a_few(1)
@problems
def test_no_tree_is_beaten_by_another_points_tree(name):
    """Re-costed by the slow formula under the penalties of the point."""
    assert_unbeaten(*swept(name))


@problems
def test_every_tree_is_stationary(name):
    """The residual is at most tol, and it is the reference's."""
    truth, solutions = swept(name)
    for solution, penalty in zip(solutions, GRID.strengths, strict=True):
        slow = at(truth, penalty).residual(solution.params, solution.multiplier)
        assert solution.residual <= SOLVER.tol
        assert slow <= 1.1 * SOLVER.tol
        assert solution.status is Status.CONVERGED


@problems
def test_coefficients_stay_in_their_box(name):
    """Every tree is one of the model's: |a| <= 1, |mu| <= 1, all classes at a leaf."""
    truth, solutions = swept(name)
    for solution in solutions:
        assert np.abs(solution.params.coef).max() <= 1.0
        assert np.abs(solution.params.threshold).max() <= 1.0
        assert set(solution.params.leaf_class) == set(range(truth.n_classes))


@problems
def test_floors_are_met_everywhere(name):
    """At every point, by the slow formula."""
    truth, solutions = swept(name)
    for solution in solutions:
        assert (truth.recall(solution.params) >= truth.floor - 1.1 * FEASIBLE).all()


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("seed", [SEED, 15])
@pytest.mark.parametrize("strongest", [1.0, 8.0, 1e3])
def test_high_floors_are_met_under_any_penalty(strongest, seed):
    """A tree that meets them exists, so every point has one, however it is priced."""
    truth = replace(truth_of("iris"), floor=np.full(3, 0.85))
    grid = Grid((0.0, 2.0**-4, strongest), (0.0, strongest))
    solutions = sweep(problem_of(truth), grid, seed=seed)
    for solution in solutions:
        assert (truth.recall(solution.params) >= truth.floor - 1.1 * FEASIBLE).all()
    assert_unbeaten(truth, solutions, grid)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("total", [0.0, 0.6])
@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 3)])
def test_without_features_the_cheapest_class_gets_what_floors_leave(
    rng, draw_case, depth, n_classes, total
):
    """Under any costs, the objective of an empty tree is the closed form."""
    floor = rng.random(n_classes)
    floor *= total / floor.sum()
    problem, truth, _ = draw_case(
        depth=depth, n_classes=n_classes, gamma=512.0, floor=floor
    )
    grid = Grid((0.0, 0.1, 1e4), (0.0, 1e4))
    solutions = sweep(problem, grid)
    share = np.bincount(truth.y, truth.weight) / truth.weight.sum()
    class_cost = share @ truth.cost_matrix
    mass = floor.copy()
    mass[np.argmin(class_cost)] += 1.0 - floor.sum()
    empty = [not solution.params.coef.any() for solution in solutions]
    assert not empty[0]
    assert all(empty[k] for k in (1, 3, 4, 5))
    for solution in (
        s for s, is_empty in zip(solutions, empty, strict=True) if is_empty
    ):
        proba = truth.predict_proba(solution.params)
        np.testing.assert_allclose(proba, np.tile(mass, (len(proba), 1)), atol=2e-5)
        assert solution.objective == pytest.approx(class_cost @ mass, abs=1e-5)


def plain_loop(truth, alphas, n_starts, seed):
    """Least objectives as the paper finds them: every start carried along the path."""
    rng = np.random.default_rng(seed)
    p, least = truth.X.shape[1], []
    trees = [
        draw_tree(rng, p, truth.n_classes, truth.depth, sparse=False)
        for _ in range(n_starts)
    ]
    for alpha in alphas:
        problem = problem_of(replace(truth, alpha_local=alpha))
        found = [SOLVER.solve(problem, tree) for tree in trees]
        trees = [solution.params for solution in found]
        least.append(min(s.objective for s in found if s.feasible))
    return least


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("seed", [SEED, 7])
@pytest.mark.parametrize(
    "name",
    [
        "iris with floors",
        "depth 1",
        pytest.param("iris", marks=pytest.mark.slow),
        pytest.param("wine", marks=pytest.mark.slow),
    ],
)
def test_the_path_is_no_worse_than_a_plain_loop_over_starts(name, seed):
    """Twenty plain starts, each carried from penalty to penalty, the best kept."""
    truth, alphas = truth_of(name), (0.0, 2.0**-7, 2.0**-4, 0.5)
    grid, problem = Grid(alphas, (0.0,)), problem_of(truth)
    ours = objectives(sweep(problem, grid, n_solutions=20, seed=seed), grid)[:, 0]
    plain = np.array(plain_loop(truth, alphas, 20, seed))
    assert (ours[1:] <= plain[1:] * (1.0 + 1e-3) + 1e-5).all(), (ours, plain)
    # Without a penalty the least objective is 0 where classes can be told apart, and
    # nobody arrives there: no worse, or the same optimum by the search's own account.
    log = SearchLog(None, unit=problem.trivial_cost)
    assert ours[0] <= plain[0] or log.same(ours[0], plain[0]), (ours, plain)


# -- the same seed, the same path ------------------------------------------------------

SMALL = Grid((0.0, 0.1, 1.0), (0.0, 0.1))
few = pytest.mark.parametrize("name", ["iris with floors", "planted"])


@cache
def swept_small(name):
    """Solutions of a named problem over the small grid."""
    return sweep(problem_of(truth_of(name)), SMALL)


@pytest.mark.a_few(1)
@few
def test_the_number_of_jobs_changes_nothing(name):
    """One thread, two or four, to the last bit."""
    problem = problem_of(truth_of(name))
    for n_jobs in (2, 4):
        assert_identical(swept_small(name), sweep(problem, SMALL, n_jobs))


@pytest.mark.slow
@pytest.mark.a_few(1)
@pytest.mark.parametrize("name", ["iris", "iris with floors"])
def test_the_same_seed_gives_the_same_path(name):
    """A second run equals the first to the last bit, wherever its objects lie."""
    assert_identical(swept_small(name), sweep(problem_of(truth_of(name)), SMALL))


def test_other_seeds_search_elsewhere():
    """With one short-lived tree, seeds end in different trees somewhere."""
    problem = problem_of(truth_of("planted"))
    runs = [sweep(problem, SMALL, seed=seed, n_solutions=1) for seed in range(3)]
    coefs = {tuple(run[0].params.coef.ravel()) for run in runs}
    assert len(coefs) > 1


# -- ending early ----------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_callback_hears_of_every_point_once(n_jobs):
    """In the order of the grid, with its penalties."""
    heard = []
    solutions = sweep(
        problem_of(truth_of("iris")), SMALL, n_jobs, callback=heard.append
    )
    assert [progress.n_done for progress in heard] == list(range(1, 7))
    assert {progress.n_points for progress in heard} == {6}
    pairs = [Strengths(p.alpha_local, p.alpha_global) for p in heard]
    assert pairs == SMALL.strengths
    seconds = [progress.seconds for progress in heard]
    assert seconds == sorted(seconds)
    for progress, solution in zip(heard, solutions, strict=True):
        assert solution.objective <= progress.objective


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("n_heard", [1, 2, 4])
@pytest.mark.parametrize("answer", [True, np.True_, None, False])
def test_only_true_ends_a_sweep(n_heard, answer):
    """Every point still has a tree, of the penalties asked, that no other beats."""
    truth, heard = truth_of("iris with floors"), []

    def callback(progress):
        heard.append(progress.n_done)
        return answer if progress.n_done == n_heard else None

    problem = problem_of(truth)
    solutions = sweep(problem, SMALL, callback=callback)
    assert heard[:n_heard] == list(range(1, n_heard + 1))
    assert_unbeaten(truth, solutions, SMALL)
    if answer:
        late = [s for s in solutions if s.residual > SOLVER.tol]
        assert all(s.status is Status.TIME_LIMIT for s in late)
    else:
        assert_identical(solutions, sweep(problem, SMALL))


@pytest.mark.every_value
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", ["iris", "planted"])
def test_no_time_still_gives_a_whole_path(name, n_jobs):
    """Every point has a tree with the right numbers; late ones say so."""
    truth = truth_of(name)
    solutions = sweep(problem_of(truth), n_jobs=n_jobs, time_limit=1e-9)
    assert_unbeaten(truth, solutions)
    for solution in solutions:
        late = solution.residual > SOLVER.tol
        assert (solution.status is Status.TIME_LIMIT) == late


def test_whoever_asks_may_set_the_stop():
    """It ends a sweep as the time limit does, and is theirs: it stays as it was."""
    problem, own = problem_of(truth_of("iris")), Sweep(SOLVER, 5, 1)
    before, never = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    ended = own.run(problem, SMALL, SEED, stop=before).solutions
    assert Status.TIME_LIMIT in {solution.status for solution in ended}
    assert_identical(
        own.run(problem, SMALL, SEED, stop=never).solutions, sweep(problem, SMALL)
    )
    assert (before[0], never[0]) == (1, 0)


def test_only_a_lack_of_time_is_called_so():
    """Without a limit, a tree that did not converge says that of its iterations."""
    grid = Grid((0.0, 0.1), (0.0,))
    hurried = Sweep(AugmentedLagrangian(tol=1e-12, max_iter=2), 2, 1)
    solutions = hurried.run(problem_of(truth_of("wine")), grid, SEED).solutions
    statuses = {solution.status for solution in solutions}
    assert statuses <= {Status.CONVERGED, Status.MAX_ITER}
    assert Status.MAX_ITER in statuses


def test_an_error_in_the_callback_reaches_the_caller():
    """It is neither swallowed nor changed."""

    def callback(progress):
        raise KeyError(progress.n_done)

    with pytest.raises(KeyError, match="1"):
        sweep(problem_of(truth_of("iris")), SMALL, callback=callback)


# -- very many rows --------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_a_sample_of_the_rows_leads_to_trees_of_all_rows(monkeypatch, floor):
    """The pool sees some rows only; every solution is finished on all of them."""
    monkeypatch.setattr(sorct.data.samples, "MANY_ROWS", 60)
    planted = make_planted_tree(400, 3, 2, 3, 2, random_state=SEED)
    truth = Reference(
        X=planted.X,
        y=planted.y,
        weight=np.ones(400),
        cost_matrix=0.5 * (1.0 - np.eye(3)),
        floor=np.full(3, floor),
        depth=2,
        gamma=512.0,
    )
    problem = problem_of(truth)
    assert problem.subsampled.data.rows.weight.size < 120
    solutions = sweep(problem, SMALL)
    assert_unbeaten(truth, solutions, SMALL)
    assert max(solution.residual for solution in solutions) <= SOLVER.tol
    for solution in solutions:
        assert (truth.recall(solution.params) >= truth.floor - 1.1 * FEASIBLE).all()


@pytest.mark.parametrize("name", ["iris", "iris with floors"])
def test_a_brief_sweep_keeps_what_a_sweep_promises(name):
    """Its numbers are right, no tree is beaten, and threads change nothing.

    It searches less, so its trees may be a little worse.
    """
    truth, known = swept(name)
    found = sweep(problem_of(truth), brief=True)
    assert_unbeaten(truth, found)
    assert_identical(found, sweep(problem_of(truth), brief=True, n_jobs=2))
    assert objectives(found).mean() < 1.05 * objectives(known).mean()


def test_seconds_are_of_every_point():
    """The first point, where the pool is searched, is not free."""
    swept = Sweep(SOLVER, 3, 1).run(problem_of(truth_of("iris")), SMALL, SEED)
    assert swept.seconds.shape == (6,)
    assert swept.seconds[0] > 0.0


def test_a_sweep_returns_plain_trees():
    """Solutions hold arrays of their own: changing one changes no other."""
    solutions = sweep(problem_of(truth_of("iris")), SMALL)
    trees = [solution.params for solution in solutions]
    assert all(isinstance(tree, Params) for tree in trees)
    for one, other in product(trees, repeat=2):
        if one is not other:
            assert not np.shares_memory(one.coef, other.coef)


# -- steep cuts begin with gentler ones ------------------------------------------------


STEEP, GENTLE = 8192.0, 128.0
HARD = Grid((50.0, 200.0, 500.0, 1000.0), (0.0,))


def likely():
    """A problem of likelihood whose steep cuts find nothing from a start of theirs."""
    planted = make_planted_tree(300, 6, 2, 3, 2, random_state=0)
    model = Model(2, gamma=STEEP, loss="log")
    return Prepared.of(planted.X, planted.y, None, model).problem


def gentle_path(problem, grid, n_solutions):
    """What a sweep of steep cuts begins with, as trees of gentler ones."""
    brief = Sweep(replace(SOLVER, tol=1e-4), n_solutions, 1, brief=True)
    gentle = replace(problem, gamma=GENTLE)
    return brief.run(gentle, grid.scaled(GENTLE / STEEP), SEED).solutions


def assert_no_worse(after, before):
    """Every point has a tree that is at least as good."""
    for one, other in zip(before, after, strict=True):
        assert other.feasible or not one.feasible
        assert other.objective <= one.objective * (1.0 + ROUNDING) + 1e-9


def test_steep_cuts_are_never_worse_than_the_gentler_ones_they_begin_with():
    """They do the same with smaller coefficients, under penalties in proportion."""
    problem, before = likely(), gentle_path(likely(), HARD, 1)
    assert_no_worse(sweep(problem, HARD, n_solutions=1, gentler=GENTLE), before)
    alone = sweep(problem, HARD, n_solutions=1)
    with pytest.raises(AssertionError):  # so that there is something to promise
        assert_no_worse(alone, before)


@pytest.mark.parametrize("floor", [0.3, 0.8])
def test_gentler_cuts_help_where_floors_hold_on_some_of_the_rows(floor, monkeypatch):
    """The search's rows have higher floors; trees are judged by what all rows say."""
    monkeypatch.setattr(sorct.data.samples, "MANY_ROWS", 60)
    truth = replace(truth_of("iris with floors"), floor=np.full(3, floor))
    problem = replace(problem_of(truth), gamma=STEEP)
    before = gentle_path(problem, SMALL, 2)
    assert_no_worse(sweep(problem, SMALL, n_solutions=2, gentler=GENTLE), before)


def test_gentler_cuts_first_are_the_same_on_any_number_of_jobs():
    """To the last bit."""
    steep = replace(problem_of(truth_of("planted")), gamma=STEEP)
    one, two = (sweep(steep, SMALL, n_jobs, gentler=GENTLE) for n_jobs in (1, 2))
    assert_identical(one, two)


def test_trees_of_gentler_cuts_are_kept_when_time_ends_after_them(monkeypatch):
    """Every point has the one that suits it best, and says that it is late."""
    problem, begin = likely(), _SweepState.begin

    def last(state):
        begin(state)
        if state.options.gentler is not None:
            state.stop[0] = 1

    before = gentle_path(problem, HARD, 2)
    monkeypatch.setattr(_SweepState, "begin", last)
    solutions = sweep(problem, HARD, n_solutions=2, gentler=GENTLE)
    assert_no_worse(solutions[1:], before[1:])
    assert Status.TIME_LIMIT in {solution.status for solution in solutions}


@pytest.mark.parametrize(
    ("model", "gentler"),
    [
        (Model(gamma="steep"), 64.0 * 3),
        (Model(gamma="auto"), None),
        (Model(gamma="gentle"), None),
        (Model(gamma=512.0 * 3), None),
        (Model(gamma="steep", of_quantity=True, loss="square"), None),
    ],
)
def test_who_begins_with_gentler_cuts(model, gentler):
    """Classes under the name alone: a number is swept as the paper does."""
    assert model.gentler(3) == gentler
