"""The strength that empties a tree: no tree beats the empty one above it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from sorct.estimators.fitting import Model, Prepared
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.problem.restriction import Restriction
from sorct.search import strongest
from sorct.search.polish import ROUGH
from sorct.search.starts import draw_start
from sorct.search.strongest import emptying_strength


def table(seed=0, n=240):
    """Classes that two of four columns tell together, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    inside = (X[:, 0] > 0.4) & (X[:, 1] > 0.3)
    return X, np.where(rng.random(n) < 0.1, ~inside, inside)


def problem_of(loss, depth, gamma="auto", seed=0):
    """The problem of that table without penalties."""
    return Prepared.of(*table(seed), None, Model(depth, gamma=gamma, loss=loss)).problem


@pytest.mark.parametrize("of_global", [False, True])
@pytest.mark.parametrize("loss", ["log", "cost"])
def test_above_it_starts_find_no_tree_that_beats_the_empty_one(loss, of_global):
    """Neither by the local nor by the global penalty; far below there is one."""
    problem = problem_of(loss, 2)
    strongest = emptying_strength(problem, 0, of_global=of_global)

    def best(share):
        alpha = share * strongest
        alphas = (0.0, alpha) if of_global else (alpha, 0.0)
        there = problem.at(Strengths(*alphas))
        starts = [draw_start(problem, 1, k, never()).params for k in range(10)]
        return min(ROUGH.solve(there, one).objective for one in starts)

    assert best(1.02) >= problem.trivial_cost - 1e-6
    assert best(0.05) < problem.trivial_cost - 1e-6


@pytest.mark.parametrize("depth", [2, 3])
def test_steep_cuts_need_as_strong_a_penalty_as_gentle_ones(depth):
    """They do the same with coefficients that are smaller in proportion."""
    problem = problem_of("log", depth)
    steep = replace(problem, gamma=64.0 * problem.gamma)
    gentle = emptying_strength(problem, 0)
    assert emptying_strength(steep, 0) >= 0.95 * 64.0 * gentle


@pytest.mark.parametrize("of_global", [False, True])
def test_what_only_steep_cuts_can_tell_apart_has_a_strength(of_global):
    """A class in a narrow band: no gentle cut is worth anything by the cost."""
    X = np.random.default_rng(0).random((400, 4))
    y = np.abs(X[:, 0] - 0.5) < 0.06
    problem = Prepared.of(X, y, None, Model(2, loss="cost")).problem
    assert emptying_strength(problem, 0, of_global=of_global) > 0.0


@pytest.mark.a_few(4)
@pytest.mark.parametrize("leaf", ["linear", "constant"])
@pytest.mark.parametrize("loss", ["square", "quantile"])
def test_no_tree_of_one_variable_beats_the_empty_one_of_a_quantity(loss, leaf):
    """Dense starts seldom lead to these, and the sparse end of a path needs them."""
    X, y = make_friedman1(300, n_features=8, noise=1.0, random_state=0)
    level = 0.9 if loss == "quantile" else 0.5
    model = Model(1, loss=loss, leaf=leaf, quantile=level, of_quantity=True)
    problem = Prepared.of(X, y, None, model).problem
    strongest = emptying_strength(problem, 0)

    def best(share, g):
        there = problem.at(Strengths(share * strongest, 0.0))
        part = Restriction.of(there, np.array([g])).part
        starts = [draw_start(part, 1, k, never()).params for k in range(6)]
        return min(ROUGH.solve(part, one).objective for one in starts)

    # Losses are rounded off, which leaves alone may use.
    assert min(best(1.05, g) for g in range(8)) >= problem.trivial_cost - 2e-5
    if (loss, leaf) == ("square", "linear"):
        # There a tree of one variable is the last to be worth its penalty.
        assert min(best(0.95, g) for g in range(8)) < problem.trivial_cost - 1e-6


def test_where_nothing_helps_there_is_no_strength():
    """Columns that are the same in all rows."""
    X, y = np.ones((20, 2)), np.arange(20) % 2
    problem = Prepared.of(X, y, None, Model(2, loss="cost")).problem
    assert emptying_strength(problem, 0) == 0.0


def test_little_time_is_spent_on_gentle_cuts(monkeypatch):
    """They tell most of it: what ends early is the look at steep ones."""
    problem, stop = problem_of("log", 3, gamma="steep"), never()
    whole, best = emptying_strength(problem, 0), strongest._best

    def ended(*arguments):
        found = best(*arguments)
        stop[0] = 1
        return found

    monkeypatch.setattr(strongest, "_best", ended)
    assert emptying_strength(problem, 0, stop=stop) >= 0.5 * whole
