"""The logistic CDF: its NumPy and compiled forms are one function at any score."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import logistic

from sorct.tree import link
from tests.problem.doors import density, fill_cdf


def compiled_cdf(score):
    """Call the kernels' in-place CDF."""
    branch = np.array(score, ndmin=2)
    fill_cdf(branch, 1, branch.shape[1])
    return branch[0]


both_forms = pytest.mark.parametrize("cdf", [link.cdf, compiled_cdf])

# Fine where F bends, then decades up to scores no finite exponential survives.
SCORES = np.concatenate(
    [np.linspace(-50.0, 50.0, 20_001), *np.outer([-1, 1], np.logspace(1, 6, 500))]
)


@both_forms
def test_cdf_equals_scipy(cdf):
    """F(u) = expit(u) to 1e-15, from -1e6 to 1e6, without a warning."""
    np.testing.assert_allclose(cdf(SCORES), expit(SCORES), rtol=0, atol=1e-15)


@both_forms
def test_small_probabilities_keep_their_digits(cdf):
    """Far on the left F(u) is small but relatively exact."""
    score = np.linspace(-700.0, -1.0, 1001)
    np.testing.assert_allclose(cdf(score), np.exp(score) / (1 + np.exp(score)), 1e-13)


@both_forms
def test_cdf_is_monotone_and_a_probability(cdf):
    """F never falls from one score to the next and stays in [0, 1]."""
    proba = cdf(np.sort(SCORES))
    assert np.all(np.diff(proba) >= 0.0)
    assert proba[0] >= 0.0
    assert proba[-1] == 1.0


@both_forms
def test_cdf_is_symmetric(cdf):
    """F(u) + F(-u) = 1, and F(0) is one half exactly."""
    np.testing.assert_allclose(cdf(SCORES) + cdf(-SCORES), 1.0, rtol=0, atol=3e-16)
    assert cdf(np.zeros(1))[0] == 0.5


def test_cdf_leaves_its_argument_alone():
    """The scores are not overwritten."""
    score = np.array([1e6, -1e6, 0.3])
    link.cdf(score)
    np.testing.assert_array_equal(score, [1e6, -1e6, 0.3])


def test_density_is_the_derivative_of_the_cdf():
    """F' written in F is the logistic density."""
    score = np.linspace(-30.0, 30.0, 601)
    got = [density(q) for q in link.cdf(score)]
    np.testing.assert_allclose(got, logistic.pdf(score), rtol=0, atol=1e-15)


def test_quantile_inverts_the_cdf(rng):
    """F(F^-1(q)) = q, with infinite scores at 0 and 1."""
    proba = np.concatenate([rng.random(1000), [1e-300, 1e-9, 1.0 - 1e-9]])
    np.testing.assert_allclose(link.cdf(link.quantile(proba)), proba, rtol=1e-12)
    ends = link.quantile(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(ends, [-np.inf, np.inf])
