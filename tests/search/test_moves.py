"""Moves: whatever they change, a tree of the problem comes out."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sorct.problem.evaluation import never
from sorct.problem.residual import Residual
from sorct.search import moves
from sorct.search.moves import Chain, move, wasted_cuts
from sorct.search.polish import Polisher
from sorct.search.subtrees import random_tree
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

N_MOVES = 60
ROUGH = AugmentedLagrangian(tol=1e-3, max_iter=30)
KINDS = {
    1: {"redrawn", "redrawn-tree", "shaken", "eased"},
    2: {"redrawn", "redrawn-tree", "shaken", "exchanged", "eased"},
    3: {"redrawn", "shaken", "regrown", "exchanged", "eased"},
}
# Moves that descend on the way; the others only draw.
TRAINED = {"regrown", "eased"}
depths = pytest.mark.parametrize("depth", [1, 2, 3])


def draw_chain(rng, problem, n_others=2):
    """Hand out the problem's polisher and some solutions."""
    polisher = Polisher.of(problem, ROUGH)
    found = [
        polisher.descend(random_tree(problem, rng), never())
        for _ in range(n_others + 1)
    ]
    return polisher, Chain(found[0], tuple(found[1:]))


def moves_of(polisher, chain):
    """Draw moves of one incumbent."""
    for seed in range(N_MOVES):
        yield move(polisher, chain, np.random.default_rng(seed), never())


def cuts_of(params):
    """Set of the cuts of a tree."""
    return set(map(tuple, np.vstack([params.coef, params.threshold]).T))


@depths
def test_every_move_gives_a_tree_of_the_problem(rng, draw_case, depth):
    """In the box, of its shape, every class present; the incumbent stays as it was."""
    problem = draw_case(n_classes=2, depth=depth, alpha_local=0.01).problem
    polisher, chain = draw_chain(rng, problem)
    before = chain.incumbent.params
    kept = before.coef.copy(), before.threshold.copy(), before.leaf_class.copy()
    kinds = set()
    for start in moves_of(polisher, chain):
        kinds.add(start.kind)
        params = start.params
        assert params.coef.shape == before.coef.shape
        assert params.threshold.shape == before.threshold.shape
        assert np.all(np.abs(params.coef) <= 1.0)
        assert np.all(np.abs(params.threshold) <= 1.0)
        assert params.leaf_class.shape == before.leaf_class.shape
        assert set(params.leaf_class) == {0, 1}
        assert (start.n_evaluations > 0) == (start.kind in TRAINED)
    assert kinds == KINDS[depth]
    for now, then in zip(
        (before.coef, before.threshold, before.leaf_class), kept, strict=True
    ):
        np.testing.assert_array_equal(now, then)


@depths
def test_kinds_that_cannot_help_are_not_drawn(rng, draw_case, depth):
    """Nothing to exchange with, no penalty to ease."""
    problem = draw_case(depth=depth).problem
    polisher, chain = draw_chain(rng, problem, n_others=0)
    found = {start.kind for start in moves_of(polisher, chain)}
    assert found == KINDS[depth] - {"exchanged", "eased"}


@pytest.mark.parametrize("depth", [2, 3])
def test_exchanged_cuts_are_those_of_another_chain(rng, draw_case, depth):
    """Every cut is the incumbent's own, in its place, or some cut of one other."""
    problem = draw_case(depth=depth).problem
    polisher, chain = draw_chain(rng, problem)
    own, n_exchanged = chain.incumbent.params, 0
    for start in moves_of(polisher, chain):
        if start.kind != "exchanged":
            continue
        same = (start.params.coef == own.coef).all(axis=0)
        same &= start.params.threshold == own.threshold
        new = {
            (*start.params.coef[:, t], start.params.threshold[t])
            for t in np.flatnonzero(~same)
        }
        assert any(new <= cuts_of(other.params) for other in chain.others)
        n_exchanged += len(new) > 0
    assert n_exchanged > 5


@depths
def test_constant_columns_stay_at_zero(rng, draw_case, depth):
    """Exactly, in every kind of move, even where the incumbent has none."""
    X = np.column_stack([rng.random((120, 2)), np.zeros((120, 2))])
    problem = draw_case(depth=depth, X=X, alpha_global=0.01).problem
    polisher, chain = draw_chain(rng, problem)
    for start in moves_of(polisher, chain):
        assert not start.params.coef[2:].any(), start.kind


def test_moves_depend_on_their_stream_only(rng, draw_case):
    """Drawn again they are the same, to the last bit."""
    polisher, chain = draw_chain(rng, draw_case(depth=3, alpha_local=0.01).problem)
    pairs = zip(moves_of(polisher, chain), moves_of(polisher, chain), strict=True)
    for one, again in pairs:
        assert one.kind == again.kind
        np.testing.assert_array_equal(one.params.coef, again.params.coef)
        np.testing.assert_array_equal(one.params.threshold, again.params.threshold)


@pytest.mark.parametrize(
    ("label", "mass", "wasted"),
    [
        ([0, 1, 0, 1], [0.25, 0.25, 0.25, 0.25], []),
        ([0, 0, 1, 0], [0.25, 0.25, 0.25, 0.25], [1]),
        ([0, 1, 1, 0], [0.25, 0.25, 0.495, 0.005], [2]),
        ([1, 1, 0, 1], [0.5, 0.5, 0.0, 0.0], [1, 2]),
        ([0, 1, 1, 0], [0.4, 0.2, 0.37, 0.03], []),
    ],
)
def test_wasted_cuts_by_hand(rng, draw_case, label, mass, wasted):
    """Cuts 1 and 2 have leaves 0, 1 and 2, 3; empty is less than 5 % of a quarter."""
    _, chain = draw_chain(rng, draw_case(depth=2).problem, n_others=0)
    params = replace(chain.incumbent.params, leaf_class=np.array(label))
    shares = np.outer([0.3, 0.7], mass)
    solution = replace(chain.incumbent, params=params, mass=shares)
    assert wasted_cuts(solution) == wasted


def test_leaves_are_weighed_by_what_they_cost_also_where_losses_are_below_zero():
    """As those of quantiles can be: their kink is rounded off."""
    low = float(Residual.of("quantile", 0.9).loss(np.array([-0.016]))[0])
    assert low < 0.0
    problem = SimpleNamespace(leaf_losses=lambda *_: np.array([4e-3, low, low]))
    weight = moves._losses(problem, SimpleNamespace(params=None, mass=None))
    assert (weight > 0.0).all()
    assert weight[0] > weight[1] == weight[2]
