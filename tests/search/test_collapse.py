"""Collapse: cuts that people who follow the rules have no use for are emptied."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.search.collapse import collapsed
from sorct.search.polish import Polisher
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.tree.params import Params

SOLVER = AugmentedLagrangian()
STILL = AugmentedLagrangian(max_iter=1, max_rounds=1)


@pytest.fixture
def repeated(draw_case):
    """Make a problem of one limit, 0.5, and a tree that cuts there and once more."""

    def draw(gamma, again, **options):
        x = np.linspace(0.0, 1.0, 200)
        costs = 0.5 * (1.0 - np.eye(2))
        options |= {"weight": np.ones(200), "cost_matrix": costs, "gamma": gamma}
        y = (x > 0.5).astype(int)
        problem = draw_case(
            n=200, n_features=1, X=x[:, np.newaxis], y=y, **options
        ).problem
        coef, threshold = np.array([[1.0, 1.0, 0.0]]), np.array([0.5, again, 1.0])
        params = Params(coef, threshold, np.array([1, 0, 1, 0]))
        return problem, replace(STILL.solve(problem, params), params=params)

    return draw


def test_a_cut_that_all_rows_pass_by_hand_is_taken_away(repeated):
    """What is left is solved, and no row is predicted otherwise."""
    problem, solution = repeated(gamma=64.0, again=0.05)
    found = collapsed(problem, solution, SOLVER)
    assert found.params.coef[0, 0] > 0.0
    assert not found.params.coef[0, 1:].any()
    assert found.residual <= SOLVER.tol
    # The rows above the limit go left at the first cut, and are of the left leaves.
    assert found.params.leaf_class[0] == 1
    assert 0.5 - 0.5 / 199 <= found.params.threshold[0] <= 0.5 + 0.5 / 199


def test_a_cut_without_which_a_row_would_be_predicted_otherwise_stays(repeated):
    """Soft as it is, it moves the limit for rows between 0.5 and 0.55."""
    problem, solution = repeated(gamma=8.0, again=0.45)
    assert collapsed(problem, solution, SOLVER) is solution


@pytest.mark.parametrize("depth", [1, 2])
def test_trees_that_people_can_follow_stay_as_they_are(draw_case, depth):
    """To the object, as do those that miss their floors."""
    case = draw_case(depth=depth)
    solution = STILL.solve(case.problem, case.tree)
    if depth == 1:
        assert collapsed(case.problem, solution, SOLVER) is solution
    missed = replace(solution, violation=1.0)
    assert not missed.feasible
    assert collapsed(case.problem, missed, SOLVER) is missed


def test_no_tree_is_made_worse_than_the_one_without_variables(repeated):
    """If the rest cannot be solved to something better, the tree stays as it was."""
    problem, solution = repeated(gamma=64.0, again=0.05, alpha_local=20.0)
    empty = Polisher.of(problem, SOLVER).empty
    assert collapsed(problem, solution, STILL) is solution
    assert collapsed(problem, solution, SOLVER).objective <= empty.objective + 1e-9
