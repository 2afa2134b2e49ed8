"""Annealing: the entropy in the leaves never rises, from flat cuts to steep ones."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.problem.datafit import LITTLE
from sorct.problem.evaluation import never
from sorct.problem.kernels import make_buffers
from sorct.search.annealing import anneal, gamma_ladder
from sorct.solvers.descent import descend
from tests.problem.doors import renew_leaves
from tests.reference import entropy

sizes = pytest.mark.parametrize(
    ("depth", "n_classes"), [(1, 2), (2, 2), (2, 3), (3, 5)]
)


def padded(mass):
    """Masses with a little of every class in every leaf."""
    return mass + LITTLE / mass.size


def draw_mass(rng, n_classes, n_leaves):
    """Masses that sum to 1, from even ones to pure leaves."""
    mass = rng.random((n_classes, n_leaves)) ** rng.choice([0.1, 1.0, 10.0, 300.0])
    return mass / mass.sum()


def tangent_at(problem, tree, mass):
    """Payoffs of the classes in every leaf, as the library fills them in."""
    sub, (n_classes, n_leaves) = problem.flattened(problem.gamma), mass.shape
    buffers = make_buffers(problem.data.n_columns, n_leaves - 1, n_classes)
    buffers.mass[:] = mass
    renew_leaves(sub, problem.point(tree), np.zeros(n_classes), buffers)
    return buffers.payoff


@sizes
def test_the_tangent_lies_above_the_entropy_and_touches_it(
    rng, draw_case, depth, n_classes
):
    """The entropy is concave in the masses, so a tangent majorises it."""
    problem, _, tree = draw_case(depth=depth, n_classes=n_classes)
    for _ in range(50):
        here, there = (draw_mass(rng, n_classes, 2**depth) for _ in range(2))
        tangent = tangent_at(problem, tree, here)
        assert np.sum(tangent * padded(here)) == pytest.approx(entropy(here), abs=1e-12)
        assert np.sum(tangent * padded(there)) >= entropy(there) - 1e-12


@sizes
@pytest.mark.parametrize("gamma", [8.0, 512.0])
@pytest.mark.parametrize("max_iter", [2, 15, 40])
def test_a_descent_never_raises_the_entropy(
    draw_case, depth, n_classes, gamma, max_iter
):
    """However many steps it may take; where it may take some, the entropy falls."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes)
    truth = replace(truth, gamma=gamma)
    point, sub = problem.point(tree), problem.flattened(gamma)
    descend(problem.data.samples, sub, point, 1e-6, max_iter, never())
    before, after = (
        entropy(truth.mass(t)) for t in (tree, replace(tree, **cuts_of(problem, point)))
    )
    assert after <= before + 1e-12
    assert max_iter == 2 or after < before - 1e-3


def cuts_of(problem, point):
    """Cuts of a point as fields of a tree."""
    params = problem.params(point)
    return {"coef": params.coef, "threshold": params.threshold}


@sizes
@pytest.mark.parametrize("skip", [0, 1, 9])
def test_annealing_lowers_the_entropy_and_keeps_labels(
    draw_case, depth, n_classes, skip
):
    """The tree given is not changed, its labels come back, evaluations are counted."""
    problem, truth, tree = draw_case(depth=depth, n_classes=n_classes, gamma=512.0)
    coef = tree.coef.copy()
    annealed, n_evaluations = anneal(problem, tree, never(), skip)
    assert entropy(truth.mass(annealed)) < entropy(truth.mass(tree))
    np.testing.assert_array_equal(annealed.leaf_class, tree.leaf_class)
    np.testing.assert_array_equal(tree.coef, coef)
    assert np.all(np.abs(annealed.coef) <= 1.0)
    assert n_evaluations > 0


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 8.0, 8.001, 9.0, 64.0, 512.0, 1e6])
@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_gammas_rise_from_eight_to_the_problems_own(gamma, factor):
    """In steps of at most the factor; a gamma below eight is the only one.

    A steep one begins at a 64th of it: flatter cuts would be all alike.
    """
    ladder = gamma_ladder(gamma, factor)
    assert ladder[-1] == gamma
    assert ladder[0] in (8.0, gamma, gamma / 64.0)
    assert ladder[0] <= max(8.01, gamma / 64.0)
    steps = np.divide(ladder[1:], ladder[:-1])
    assert np.all((steps > 1.0) & (steps <= factor))
