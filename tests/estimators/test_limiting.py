"""Trees within limits: what points of a path learn from each other."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTRegressorCV
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.folds import PATH_ROWS
from sorct.estimators.limiting import all_within_limits, within_limits
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.problem.restriction import used_groups
from sorct.search.relax import RELAXED
from sorct.search.subset import Subsets, empty_solution
from sorct.search.sweep import Grid, Sweep
from sorct.tree.path import Limits


@pytest.fixture(scope="module")
def swept():
    """Points of a path on two variables that only help together, and two others."""
    X = np.random.default_rng(1).random((150, 4))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    prepared = Prepared.of(X, y, None, Model(2, loss="log"))
    grid = Grid((1.0, 4.0, 16.0, 64.0), (0.0,))
    effort = Effort(tol=1e-4)
    found = Sweep(effort.solver(), 2, 1).run(prepared.problem, grid, 0)
    problems = [prepared.problem.at(pair) for pair in grid.strengths]
    return prepared, problems, list(found.solutions), effort


@pytest.mark.every_case
@pytest.mark.parametrize("limits", [Limits(2), Limits(None, 1)], ids=["tree", "cut"])
def test_points_are_no_worse_for_knowing_each_other(swept, limits):
    """Under their own penalties; and one that ended without variables is better."""
    prepared, problems, solutions, effort = swept
    alone = [
        within_limits(prepared, limits, problem, solution, effort, never())
        for problem, solution in zip(problems, solutions, strict=True)
    ]
    found = all_within_limits(prepared, limits, problems, solutions, effort, 0, never())
    gained = []
    for problem, one, other in zip(problems, found, alone, strict=True):
        penalty = problem.penalty.scaled(RELAXED)
        worth = [each.cost + penalty.value(each.params.coef) for each in (one, other)]
        assert worth[0] <= worth[1] * (1.0 + 1e-12)
        gained.append(worth[0] < 0.99 * worth[1])
        used = one.params.coef != 0.0
        assert used.any(axis=1).sum() <= (limits.max_features or 4)
        assert used.sum(axis=0).max() <= (limits.max_features_per_cut or 4)
    assert any(gained)


def test_few_variables_help_though_time_is_over():
    """Where two of four tell the classes, no point is left with the empty tree."""
    X = np.random.default_rng(2).random((200, 4))
    y = X[:, :3] @ [3.0, 2.0, 0.5] + np.random.default_rng(3).normal(size=200) > 2.6
    prepared = Prepared.of(X, y, None, Model(1, loss="log"))
    grid, effort = Grid((0.01, 0.05), (0.0,)), Effort(tol=1e-4)
    found = Sweep(effort.solver(), 2, 1).run(prepared.problem, grid, 0)
    problems = [prepared.problem.at(pair) for pair in grid.strengths]
    assert all(np.count_nonzero(one.params.coef) > 2 for one in found.solutions)
    over, limits = np.ones(1, dtype=np.int64), Limits(2)
    given = problems, list(found.solutions), effort, 0, over
    for one in all_within_limits(prepared, Limits(0), *given):
        assert not one.params.coef.any()
    for one in all_within_limits(prepared, limits, *given):
        assert np.flatnonzero(one.params.coef.any(axis=1)).tolist() == [0, 1]
        assert one.cost < 0.8 * prepared.problem.trivial_cost


def test_trees_are_within_limits_when_time_is_over(swept):
    """And no worse than the empty tree, whatever is left out then."""
    prepared, problems, solutions, effort = swept
    over, limits = np.ones(1, dtype=np.int64), Limits(1)
    assert max(np.count_nonzero(one.params.coef.any(axis=1)) for one in solutions) > 1
    found = all_within_limits(prepared, limits, problems, solutions, effort, 0, over)
    for one in found:
        assert np.count_nonzero(one.params.coef.any(axis=1)) <= 1
        assert one.cost <= prepared.problem.trivial_cost + 1e-9


def test_one_variable_that_helps_is_found_where_slopes_tell_nothing():
    """By the expected cost, a rare level that tells is worth its rows and no more."""
    rng = np.random.default_rng(0)
    level = np.repeat(list("abcde"), [40, 40, 40, 40, 12])
    y = np.arange(level.size) % 3 == 0
    y[level == "e"] = np.arange(12) < 9
    X = pd.DataFrame({"x": rng.random(level.size), "level": level})
    prepared = Prepared.of(X, y, None, Model(1, loss="cost"))
    problem, solver = prepared.problem.at(Strengths(1e-3)), Effort().solver()
    known = problem, solver, prepared.group_variable
    empty = empty_solution(problem, solver)
    assert Subsets(*known, lambda _: False).alone(empty, 0) is empty
    found = Subsets(*known, lambda _: True).alone(empty, 0)
    used = np.unique(prepared.group_variable[used_groups(problem, found.params)])
    assert [prepared.encoder.names[i] for i in used] == ["level"]
    wrong = [min(np.mean(y[level == v]), np.mean(~y[level == v])) for v in "abcde"]
    least = 0.5 * np.mean(np.repeat(wrong, [40, 40, 40, 40, 12]))
    assert least - 1e-9 <= found.cost <= least + 1e-3


@pytest.mark.parametrize(
    ("n_rows", "leaf"),
    [(200, "constant"), (200, "linear"), (PATH_ROWS + 100, "constant")],
)
def test_cuts_and_leaves_of_a_quantity_are_short(n_rows, leaf):
    """Within the limit, also where more rows than a path looks at are trained on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    y = 5.0 * (X[:, 0] + 0.7 * X[:, 1] > 0.0) + X[:, 2] + 0.1 * rng.normal(size=n_rows)
    few = {"depths": 1, "leaf": leaf, "scaling": "auto", "alphas_local": [0.5, 8.0]}
    search = SORCTRegressorCV(**few, max_features_per_cut=1, cv=2, random_state=0)
    tree = search.fit(X, y).tree_
    assert tree.most_variables_per_cut == 1
    assert search.score(X, y) > 0.3
