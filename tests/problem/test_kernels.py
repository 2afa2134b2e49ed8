"""Compiled mass and gradient against the paper's products, on more than one block."""

import numpy as np
import pytest

from sorct.problem.kernels import BLOCK, accumulate, make_buffers

gammas = pytest.mark.parametrize("gamma", [8.0, 64.0, 512.0])
shapes = pytest.mark.parametrize(
    ("depth", "n_classes"), [(d, k) for d in (1, 2, 3, 4) for k in (2, 3, 4, 5)]
)
densities = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


def draw(draw_case, depth, n_classes, **options):
    """One full block and one odd one a class; p meets every remainder of unrolling."""
    n = n_classes * (BLOCK + 45)
    return draw_case(
        n=n, n_features=5 + depth, depth=depth, n_classes=n_classes, **options
    )


def run(case, payoff=None, apart=()):
    """Buffers after one pass; with a payoff, gradients too, some classes' apart."""
    cost, tree = case.problem.cost, case.tree
    p, n_branches = tree.coef.shape
    buffers = make_buffers(p, n_branches, cost.n_classes)
    if payoff is not None:
        buffers.payoff[: len(payoff)] = payoff
    buffers.apart[list(apart)] = 1
    slope = case.problem.gamma / p
    with_gradient = payoff is not None
    level = p * tree.threshold
    accumulate(cost.samples, tree.coef, level, slope, with_gradient, buffers)
    return buffers


def central_difference(truth, tree, payoff, field, step):
    """Differences of <payoff, mass> in every entry of a field of the tree."""
    values = getattr(tree, field)
    slopes = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        kept = values[index]
        ends = []
        for side in (1.0, -1.0):
            values[index] = kept + side * step
            ends.append(np.sum(payoff * truth.mass(tree)))
        values[index] = kept
        slopes[index] = (ends[0] - ends[1]) / (2.0 * step)
    return slopes


@shapes
@gammas
@densities
def test_mass_is_the_papers(draw_case, depth, n_classes, gamma, sparse):
    """Equal to products over ancestors, up to the rounding of a score times gamma."""
    case = draw(draw_case, depth, n_classes, gamma=gamma, sparse=sparse)
    mass = run(case).mass
    expected = case.truth.mass(case.tree)
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-15 * gamma)
    assert mass.sum() == pytest.approx(1.0, abs=1e-14)


@shapes
@gammas
@densities
def test_gradient_is_the_product_rule(rng, draw_case, depth, n_classes, gamma, sparse):
    """Equal to the derivative of the products, for any payoff."""
    case = draw(draw_case, depth, n_classes, gamma=gamma, sparse=sparse)
    payoff = rng.normal(size=(n_classes, 2**depth))
    buffers, p = run(case, payoff), len(case.tree.coef)
    d_coef, d_threshold = case.truth.mass_gradient(case.tree, payoff)
    exact = {"rtol": 0, "atol": 1e-15 * gamma * gamma / p}
    np.testing.assert_allclose(buffers.grad_coef, d_coef, **exact)
    np.testing.assert_allclose(buffers.grad_level, d_threshold / p, **exact)


@pytest.mark.parametrize("depth", [1, 2, 3])
@gammas
def test_gradient_is_the_limit_of_differences(rng, draw_case, depth, gamma):
    """Central differences of the reference in coef and threshold.

    A step of cbrt(eps) in the score gamma z balances truncation (its square) against
    rounding (eps over it): both leave about 1e-10 of a unit slope in the score.
    """
    case = draw_case(n=40, n_features=3, depth=depth, n_classes=3, gamma=gamma)
    payoff = rng.normal(size=(3, 2**depth))
    buffers, p = run(case, payoff), 3
    step = np.cbrt(np.finfo(float).eps) / gamma
    by_threshold = central_difference(case.truth, case.tree, payoff, "threshold", step)
    by_coef = central_difference(case.truth, case.tree, payoff, "coef", p * step)
    exact = {"rtol": 0, "atol": 1e-9 * gamma}
    np.testing.assert_allclose(p * buffers.grad_level, by_threshold, **exact)
    np.testing.assert_allclose(p * buffers.grad_coef, p * by_coef, **exact)


@shapes
@gammas
@densities
def test_gradients_apart_are_the_product_rule(
    rng, draw_case, depth, n_classes, gamma, sparse
):
    """``side[k]`` is the slow gradient of the class's second payoff alone."""
    case = draw(draw_case, depth, n_classes, gamma=gamma, sparse=sparse)
    payoff = rng.normal(size=(2 * n_classes, 2**depth))
    buffers, p = run(case, payoff, apart=range(n_classes)), len(case.tree.coef)
    exact = {"rtol": 0, "atol": 1e-15 * gamma * gamma / p}
    for k in range(n_classes):
        own = np.zeros((n_classes, 2**depth))
        own[k] = payoff[n_classes + k]
        d_coef, d_threshold = case.truth.mass_gradient(case.tree, own)
        np.testing.assert_allclose(buffers.side[k, :p], d_coef, **exact)
        np.testing.assert_allclose(buffers.side[k, p], d_threshold / p, **exact)


@pytest.mark.parametrize("depth", [1, 2, 3])
@gammas
def test_gradients_apart_are_the_limit_of_differences(rng, draw_case, depth, gamma):
    """As above, without the product rule; steps and bounds as for the whole."""
    case = draw_case(n=40, n_features=3, depth=depth, n_classes=3, gamma=gamma)
    payoff = rng.normal(size=(6, 2**depth))
    buffers, p = run(case, payoff, apart=range(3)), 3
    step = np.cbrt(np.finfo(float).eps) / gamma
    exact = {"rtol": 0, "atol": 1e-9 * gamma}
    for k in range(3):
        own = np.zeros((3, 2**depth))
        own[k] = payoff[3 + k]
        by_threshold = central_difference(case.truth, case.tree, own, "threshold", step)
        by_coef = central_difference(case.truth, case.tree, own, "coef", p * step)
        np.testing.assert_allclose(p * buffers.side[k, p], by_threshold, **exact)
        np.testing.assert_allclose(p * buffers.side[k, :p], p * by_coef, **exact)


@shapes
@densities
def test_the_gradient_does_not_know_of_classes_apart(
    rng, draw_case, depth, n_classes, sparse
):
    """To the last bit, whichever are marked; those that are not have no own."""
    case = draw(draw_case, depth, n_classes, sparse=sparse)
    payoff = rng.normal(size=(2 * n_classes, 2**depth))
    plain = run(case, payoff[:n_classes])
    assert not plain.side.any()
    for apart in ([], [0], [n_classes - 1], range(1, n_classes), range(n_classes)):
        buffers = run(case, payoff, apart)
        for name in ("mass", "grad_coef", "grad_level"):
            np.testing.assert_array_equal(
                getattr(buffers, name), getattr(plain, name), name
            )
        marked = np.isin(np.arange(n_classes), list(apart))
        np.testing.assert_array_equal(buffers.side.any(axis=(1, 2)), marked)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_one_pass_with_or_without_gradient_gives_the_same_mass(rng, draw_case, depth):
    """To the last bit; without, the gradient buffers are not touched."""
    case = draw(draw_case, depth, 3)
    plain, full = run(case), run(case, rng.normal(size=(3, 2**depth)))
    np.testing.assert_array_equal(plain.mass, full.mass)
    assert not plain.grad_coef.any()
    assert full.grad_coef.any()


def test_buffers_do_not_remember(rng, draw_case):
    """A second pass with the same buffers repeats the first."""
    case = draw(draw_case, 2, 3)
    payoff = rng.normal(size=(6, 4))
    buffers = run(case, payoff, apart=[0, 2])
    names = ("mass", "grad_coef", "grad_level", "side")
    once = [getattr(buffers, name).copy() for name in names]
    p = len(case.tree.coef)
    accumulate(
        case.problem.cost.samples,
        case.tree.coef,
        p * case.tree.threshold,
        case.problem.gamma / p,
        True,
        buffers,
    )
    again = [getattr(buffers, name) for name in names]
    for first, second in zip(once, again, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("depth", [1, 4])
def test_a_very_steep_tree_stays_finite(rng, draw_case, depth):
    """At gamma = 1e6 cuts are steps: masses sum to 1, gradients are numbers."""
    case = draw(draw_case, depth, 3, gamma=1e6)
    buffers = run(case, rng.normal(size=(3, 2**depth)))
    assert buffers.mass.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.all(buffers.mass >= 0.0)
    assert np.all(np.isfinite(buffers.grad_coef))
    assert np.all(np.isfinite(buffers.grad_level))
