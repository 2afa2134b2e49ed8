"""Compiled mass and gradient against the paper's products, on more than one block."""

import numpy as np
import pytest

from sorct.data.samples import BLOCK
from sorct.problem.kernels import make_buffers
from tests.problem.doors import accumulate

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


def run(case, payoff=None, second=None, seconds=()):
    """Buffers after one pass; with a payoff, gradients too, some codes' second ones."""
    data, p = case.problem.data, len(case.tree.coef)
    buffers = make_buffers(p, case.tree.threshold.size, data.n_codes)
    if payoff is not None:
        buffers.payoff[:] = payoff
    if second is not None:
        buffers.second_payoff[:] = second
    buffers.has_second[list(seconds)] = 1
    accumulate(case.problem, case.tree, payoff is not None, buffers)
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


@pytest.mark.every_value
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


@pytest.mark.every_value
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
    np.testing.assert_allclose(buffers.gradient[:-1], d_coef, **exact)
    np.testing.assert_allclose(buffers.gradient[-1], d_threshold / p, **exact)


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
    np.testing.assert_allclose(p * buffers.gradient[-1], by_threshold, **exact)
    np.testing.assert_allclose(p * buffers.gradient[:-1], p * by_coef, **exact)


@pytest.mark.every_value
@shapes
@gammas
@densities
def test_second_gradients_are_the_product_rule(
    rng, draw_case, depth, n_classes, gamma, sparse
):
    """``second_gradient[k]`` is the slow one of the code's second payoff alone."""
    case = draw(draw_case, depth, n_classes, gamma=gamma, sparse=sparse)
    payoff, second = rng.normal(size=(2, n_classes, 2**depth))
    buffers = run(case, payoff, second, range(n_classes))
    p = len(case.tree.coef)
    exact = {"rtol": 0, "atol": 1e-15 * gamma * gamma / p}
    for k in range(n_classes):
        own = np.zeros((n_classes, 2**depth))
        own[k] = second[k]
        d_coef, d_threshold = case.truth.mass_gradient(case.tree, own)
        np.testing.assert_allclose(buffers.second_gradient[k, :p], d_coef, **exact)
        np.testing.assert_allclose(
            buffers.second_gradient[k, p], d_threshold / p, **exact
        )


@pytest.mark.parametrize("depth", [1, 2, 3])
@gammas
def test_second_gradients_are_the_limit_of_differences(rng, draw_case, depth, gamma):
    """As above, without the product rule; steps and bounds as for the whole."""
    case = draw_case(n=40, n_features=3, depth=depth, n_classes=3, gamma=gamma)
    payoff, second = rng.normal(size=(2, 3, 2**depth))
    buffers, p = run(case, payoff, second, range(3)), 3
    step = np.cbrt(np.finfo(float).eps) / gamma
    exact = {"rtol": 0, "atol": 1e-9 * gamma}
    for k in range(3):
        own = np.zeros((3, 2**depth))
        own[k] = second[k]
        by_threshold = central_difference(case.truth, case.tree, own, "threshold", step)
        by_coef = central_difference(case.truth, case.tree, own, "coef", p * step)
        np.testing.assert_allclose(
            p * buffers.second_gradient[k, p], by_threshold, **exact
        )
        np.testing.assert_allclose(
            p * buffers.second_gradient[k, :p], p * by_coef, **exact
        )


@shapes
@densities
def test_the_gradient_does_not_know_of_second_payoffs(
    rng, draw_case, depth, n_classes, sparse
):
    """To the last bit, whichever are marked; those that are not have no own."""
    case = draw(draw_case, depth, n_classes, sparse=sparse)
    payoff, second = rng.normal(size=(2, n_classes, 2**depth))
    plain = run(case, payoff)
    assert not plain.second_gradient.any()
    for seconds in ([], [0], [n_classes - 1], range(1, n_classes), range(n_classes)):
        buffers = run(case, payoff, second, seconds)
        for name in ("mass", "gradient"):
            np.testing.assert_array_equal(
                getattr(buffers, name), getattr(plain, name), name
            )
        marked = np.isin(np.arange(n_classes), list(seconds))
        found = buffers.second_gradient.any(axis=(1, 2))
        np.testing.assert_array_equal(found, marked)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_one_pass_with_or_without_gradient_gives_the_same_mass(rng, draw_case, depth):
    """To the last bit; without, the gradient buffers are not touched."""
    case = draw(draw_case, depth, 3)
    plain, full = run(case), run(case, rng.normal(size=(3, 2**depth)))
    np.testing.assert_array_equal(plain.mass, full.mass)
    assert not plain.gradient.any()
    assert full.gradient.any()


def test_buffers_do_not_remember(rng, draw_case):
    """A second pass with the same buffers repeats the first."""
    case = draw(draw_case, 2, 3)
    payoff, second = rng.normal(size=(2, 3, 4))
    buffers = run(case, payoff, second, [0, 2])
    names = ("mass", "gradient", "second_gradient")
    once = [getattr(buffers, name).copy() for name in names]
    accumulate(case.problem, case.tree, True, buffers)
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
    assert np.all(np.isfinite(buffers.gradient[:-1]))
    assert np.all(np.isfinite(buffers.gradient[-1]))
