"""Zeros are exact: a coefficient that a tree keeps is one that it needs."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.search.multistart import Multistart
from sorct.search.polish import without_idle_cuts
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

SOLVER = AugmentedLagrangian()
PENALTIES = {
    "local": {"alpha_local": 0.3},
    "global": {"alpha_global": 0.3},
    "both": {"alpha_local": 0.1, "alpha_global": 0.1},
    "none": {},
}


@pytest.mark.a_few(1)
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_no_coefficient_is_next_to_nothing(draw_case, rng, penalty):
    """What is not zero is at least 1e-7, or the tree would be worse without it."""
    for seed in range(25):
        n_features = int(rng.integers(1, 7))
        problem = draw_case(
            n=12, n_features=n_features, gamma=512.0, X=rng.random((12, n_features)),
            y=np.arange(12) % 2, **penalty,
        ).problem  # fmt: skip
        best = Multistart(SOLVER, n_starts=3).run(problem, seed).best
        tree = without_idle_cuts(problem, best)
        coef = tree.params.coef
        dust = (coef != 0.0) & (np.abs(coef) < 1e-7)
        if dust.any():
            params = replace(tree.params, coef=np.where(dust, 0.0, coef))
            without = replace(SOLVER, max_iter=1).solve(problem, params)
            assert without.objective > tree.objective or without.residual > SOLVER.tol
        assert tree.objective <= best.objective + 1e-9


def test_dust_is_taken_away(draw_case):
    """A coefficient of 1e-20 where zero serves as well, and nothing else changes."""
    problem = draw_case(alpha_local=40.0, depth=1, n_features=8).problem
    best = Multistart(SOLVER, n_starts=4).run(problem, 0).best
    tree = without_idle_cuts(problem, best)
    assert (tree.params.coef == 0.0).any()
    dusty = np.where(tree.params.coef == 0.0, 1e-20, tree.params.coef)
    again = without_idle_cuts(
        problem, replace(tree, params=replace(tree.params, coef=dusty))
    )
    np.testing.assert_array_equal(again.params.coef == 0.0, tree.params.coef == 0.0)
    assert again.objective == pytest.approx(tree.objective, rel=1e-9)
