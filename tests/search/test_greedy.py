"""Greedy: trees of one column per cut, where a search on their variables may begin."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from sorct import sorct_path
from sorct.problem.datafit import PSEUDO, Likelihood
from sorct.problem.penalty import Strengths
from sorct.search.greedy import Greedy, greedy_value
from sorct.search.sweep import Grid, Sweep
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from tests.cases import draw_case, problem_of
from tests.estimators.large_tables import shrink

SOLVER = AugmentedLagrangian(tol=1e-5, max_iter=500)


def learning(case):
    """The problem of a case with leaves that learn distributions."""
    return replace(case.problem, datafit=Likelihood(case.truth.cost_matrix))


def routed(problem, params):
    """Leaf that every row comes to who goes one way at every cut."""
    rows, topology = problem.data.rows, problem.topology
    at = np.zeros(rows.weight.size, dtype=np.int64)
    for _ in range(topology.depth):
        sums = np.take_along_axis(params.coef.T @ rows.X, at[np.newaxis], axis=0)[0]
        at = topology.descend(at, sums > problem.n_groups * params.threshold[at])
    return at - topology.n_branches


@pytest.mark.parametrize(("n_classes", "depth"), [(2, 2), (3, 2), (3, 3), (5, 4)])
def test_leaves_of_greedy_trees_say_what_their_rows_are(rng, n_classes, depth):
    """Level by level, followed by hand, but for the little that leaves are given."""
    case = draw_case(rng, n=300, n_features=6, n_classes=n_classes, depth=depth)
    problem = learning(case)
    rows, greedy = problem.data.rows, Greedy.of(problem, 300)
    hot = np.eye(n_classes)[rows.codes] * rows.weight[:, np.newaxis]
    given = PSEUDO * problem.data.share
    for tree in greedy.trees:
        whole = greedy.restriction.up(tree)
        assert (np.count_nonzero(whole.coef, axis=0) <= 1).all()
        leaf = routed(problem, whole)
        for one in np.unique(leaf):
            mass = hot[leaf == one].sum(axis=0) + given
            said = whole.leaf_proba[:, one]
            np.testing.assert_allclose(said, mass / mass.sum(), atol=1e-9)


def test_the_value_of_a_greedy_tree_is_its_loss_and_what_cuts_cost(rng):
    """About what it will lose on other rows."""
    case = draw_case(rng, n=300, n_features=6, n_classes=3, depth=2)
    problem = learning(case)
    rows, tree = problem.data.rows, Greedy.of(problem, 300).still().params
    said = tree.leaf_proba[rows.codes, routed(problem, tree)]
    n_cuts = np.count_nonzero(tree.coef.any(axis=0))
    price = np.log(300 * 6) / 300
    expected = price * n_cuts - rows.weight @ np.log(said)
    assert greedy_value(problem, 300) == pytest.approx(expected, abs=0.02)
    assert greedy_value(problem, 300) <= greedy_value(problem, 300, 0) + 1e-12


def test_the_search_is_on_the_variables_of_the_greedy_tree(rng):
    """It has no other columns, and no point has a tree that a greedy one beats."""
    case = draw_case(rng, n=300, n_features=8, n_classes=3, depth=2)
    problem, grid = learning(case), Grid((0.0, 0.01, 0.1), (0.0,))
    greedy = Greedy.of(problem, 300)
    part = greedy.restriction.part
    assert 0 < part.data.n_columns < problem.data.n_columns
    swept = Sweep(SOLVER, 2, 1, begins=greedy.begins).run(part, grid, 0)
    still = [SOLVER.solve(part, one).params for one in greedy.begins]
    for solution, alpha in zip(swept.solutions, grid.alphas_local, strict=True):
        there = part.at(Strengths(alpha, 0.0))
        for tree in still:
            norms = there.penalty.norms(tree.penalised)
            worth = _loss(there, tree) + there.penalty.value_of(norms)
            assert solution.objective <= worth * (1.0 + 1e-3)


def _loss(problem, tree):
    """Fit of a tree as it is."""
    still = AugmentedLagrangian(max_iter=1, max_rounds=1)
    return still.solve(problem, tree).cost


@pytest.mark.parametrize("coding", ["whole", "dummies"])
def test_a_path_uses_what_the_greedy_tree_uses(rng, coding):
    """Of numbers and categories; and predictions are those of a tree as any other."""
    n = 400
    X = pd.DataFrame(rng.random((n, 5)), columns=list("abcde"))
    X["where"] = rng.choice(list("xyz"), n)
    y = ((X["a"] > 0.6) & (X["where"] == "y")) | (X["c"] < 0.2)
    path = sorct_path(
        X, y, depth=3, loss="log", gamma="steep", categorical=coding, n_solutions=3,
        preselect="greedy", random_state=0,
    )  # fmt: skip
    for tree in path.offered:
        assert {one.split("=")[0] for one in tree.variables_used} <= {"a", "c", "where"}
    best = max(path.offered, key=lambda tree: (tree.predict(X) == y).mean())
    assert (best.predict(X) == y).mean() > 0.97


@pytest.mark.parametrize("in_parts", [False, True])
def test_no_tree_of_a_path_has_other_columns(rng, tmp_path, monkeypatch, in_parts):
    """Nor one whose cuts were merged, or that was found on some rows of a file."""
    X = pd.DataFrame(rng.random((600, 10))).add_prefix("x")
    y = np.where(X["x0"] > 0.5, X["x1"] > 0.4, 2 * (X["x2"] > 0.6)).astype(int)
    y = np.where(rng.random(600) < 0.05, rng.integers(3, size=600), y)
    if in_parts:
        shrink(monkeypatch)
        X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
        X, y = str(tmp_path / "rows.parquet"), "y"
    path = sorct_path(
        X, y, depth=4, loss="log", gamma="steep", n_solutions=2, preselect="greedy",
        tol=5e-3, random_state=0,
    )  # fmt: skip
    used = {name for tree in path.offered for name in tree.variables_used}
    assert {"x0", "x1", "x2"} <= used
    assert len(used) <= 5


@pytest.mark.parametrize("n_noise", [0, 40])
def test_penalties_of_a_path_are_means_over_all_variables(rng, n_noise):
    """As those of every other path, for own and relaxed trees."""
    X = rng.random((300, 4 + n_noise))
    y = np.where(X[:, 0] > 0.5, X[:, 1] > 0.4, X[:, 2] > 0.6)
    y = np.where(rng.random(300) < 0.05, ~y, y)
    trace = partial(
        sorct_path, X, y, depth=2, gamma="steep", preselect="greedy", n_solutions=2,
        loss="log", scaling="minmax", random_state=0,
    )  # fmt: skip
    path = trace()
    for tree in path.offered:
        told = tree.training
        mean = np.abs(tree.coef).sum() / tree.coef.size
        paid = told.alpha_local * (told.relaxed or 1.0) * mean
        assert told.objective - told.cost == pytest.approx(paid, rel=1e-6, abs=1e-9)
    # The strongest of a grid is a little below what empties the tree.
    assert path.trees[-1].variables_used
    assert not trace(alphas_local=2.0 * path.alphas_local[-1]).trees[0].variables_used


def test_a_class_without_rows_among_those_drawn_is_no_fault(rng):
    """Cuts are drawn anew on a thousand rows, where a rare class may be missing."""
    case = draw_case(rng, n=2500, n_features=4, n_classes=4, depth=3)
    X, y = case.truth.X, np.where(case.truth.X[:, 0] > 0.6, 0, 2)
    y = np.where(X[:, 1] > 0.4, 3, y)
    y[7] = 1
    problem = learning(case)
    data = problem.data.from_data(X, y, np.ones(2500), 4)
    problem = replace(problem, data=data)
    greedy = Greedy.of(problem, 2500)
    assert np.isfinite(greedy_value(problem, 2500))
    assert all((tree.leaf_proba > 0.0).all() for tree in greedy.trees)


def test_columns_that_mean_nothing_are_cut_seldom():
    """Cuts gain more than the best of all possible ones does by chance."""
    found, rng = [], np.random.default_rng(0)
    for _ in range(20):
        case = draw_case(rng, n=200, n_features=20, depth=3)
        truth = replace(case.truth, X=rng.permutation(case.truth.X))
        found.append(Greedy.of(problem_of(truth), 200))
    assert sum(one is not None for one in found) <= 2


def test_where_no_cut_helps_nothing_is_left_out(rng):
    """A table of constants and of one class too few to part gives the empty tree."""
    case = draw_case(rng, n=60, n_features=3, depth=2)
    problem = problem_of(case.truth)
    flat = problem.data.from_data(
        np.full((60, 3), 0.5), case.truth.y, np.ones(60), case.truth.n_classes
    )
    assert Greedy.of(replace(problem, data=flat), 60) is None


def test_what_cannot_be_preselected_is_refused(rng):
    """Before any work: an unknown word, and a quantity."""
    X, y = rng.random((50, 3)), rng.random(50)
    with pytest.raises(ValueError, match="preselect must be one of"):
        sorct_path(X, y > 0.5, preselect="best")
    with pytest.raises(ValueError, match="preselect is for classes"):
        sorct_path(X, y, loss="square", preselect="greedy")
