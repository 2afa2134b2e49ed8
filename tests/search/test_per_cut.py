"""Few variables per cut: within the limit, stationary, and no worse than before."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.data.options import TableOptions
from sorct.data.planted import make_planted_tree
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.penalty import Strengths
from sorct.search.chains import IteratedSearch
from sorct.search.per_cut import PerCut
from sorct.search.relax import RELAXED
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

SOLVER = AugmentedLagrangian(1e-6, 2000)


@pytest.fixture(scope="module")
def solved():
    planted = make_planted_tree(200, 6, 2, 3, 2, noise=0.0, random_state=1)
    model = Model(2, loss="log", table=TableOptions(scaling="minmax"))
    prepared = Prepared.of(planted.X, planted.y, None, model)
    problem = prepared.problem.at(Strengths(2.0))
    return prepared, problem, IteratedSearch(SOLVER).run(problem, 0).best


@pytest.mark.every_case
@pytest.mark.parametrize("most", [0, 1, 2])
def test_every_cut_keeps_to_the_limit(solved, most):
    prepared, problem, solution = solved
    assert (solution.params.coef != 0.0).sum(axis=0).max() > 2
    cuts = PerCut(problem, SOLVER, prepared.group_variable, most)
    found = cuts.within(solution)
    used = found.params.coef != 0.0
    assert used.sum(axis=0).max() <= most
    assert used.any() == (most > 0)
    if most > 0:
        # It is stationary among the trees whose cuts use these variables.
        penalty = problem.penalty.scaled(RELAXED)._replace(barred=1.0 - used)
        masked = replace(problem, penalty=penalty)
        again = AugmentedLagrangian(1e-6, 50).solve(masked, found.params)
        assert again.first == pytest.approx(again.objective, abs=1e-6)
        assert found.cost < problem.trivial_cost


def test_no_other_variables_come_in_where_they_are_limited_as_well(solved):
    prepared, problem, solution = solved
    cuts = PerCut(problem, SOLVER, prepared.group_variable, 1, fixed=True)
    first = cuts._trimmed(solution).any(axis=1)
    found = cuts.within(solution).params.coef.any(axis=1)
    assert not np.any(found & ~first)


def test_slopes_of_leaves_are_limited_too():
    """A leaf with slopes counts as a cut: as many variables, at most."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 4))
    y = np.where(X[:, 0] > 0.5, X[:, 1] - X[:, 2], X[:, 3] + X[:, 2])
    table = TableOptions(scaling="minmax")
    model = Model(1, loss="square", leaf="linear", table=table, of_quantity=True)
    prepared = Prepared.of(X, y, None, model)
    problem = prepared.problem.at(Strengths(1e-3))
    solution = IteratedSearch(SOLVER).run(problem, 0).best
    assert (solution.params.leaf_coef != 0.0).sum(axis=0).max() > 1
    cuts = PerCut(problem, SOLVER, prepared.group_variable, 1)
    found = cuts.within(solution).params
    assert (found.penalised != 0.0).sum(axis=0).max() == 1
    assert found.leaf_coef.any()


def test_it_ends_where_it_is_when_time_is_up(solved):
    prepared, problem, solution = solved
    late = np.ones(1, dtype=np.int64)
    cuts = PerCut(problem, SOLVER, prepared.group_variable, 1, stop=late)
    whole = replace(cuts, stop=None).within(solution)
    found = cuts.within(solution)
    assert found.n_iterations < whole.n_iterations
    assert found.cost > whole.cost
