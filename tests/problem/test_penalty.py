"""The two sparsity penalties: norms in scale-free strengths, and their prox."""

import numpy as np
import pytest

from sorct.problem.penalty import Sparsity

penalties = pytest.mark.parametrize(
    "penalty",
    [Sparsity(), Sparsity(0.5), Sparsity(0.0, 2.0), Sparsity(0.25, 0.5)],
    ids=["none", "local", "global", "both"],
)
shapes = pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 15)])


@penalties
@shapes
def test_value_is_the_sum_of_two_means(rng, penalty, shape):
    """alpha_local mean |a_jt| + alpha_global mean_j max_t |a_jt|."""
    coef = rng.uniform(-1.0, 1.0, shape)
    size = np.abs(coef)
    expected = penalty.alpha_local * size.mean()
    expected += penalty.alpha_global * size.max(axis=1).mean()
    assert penalty.value(coef) == pytest.approx(expected, rel=1e-14)


@penalties
@shapes
def test_value_is_a_norm(rng, penalty, shape):
    """Homogeneous, and a sum costs no more than its parts."""
    a, b = rng.uniform(-1.0, 1.0, (2, *shape))
    assert penalty.value(-3.0 * a) == pytest.approx(3.0 * penalty.value(a), rel=1e-14)
    assert penalty.value(a + b) <= penalty.value(a) + penalty.value(b) + 1e-15


@pytest.mark.parametrize("r", [-12, 0, 4])
def test_strengths_are_the_papers_grid(r):
    """Strength 2^r is lambda^L = 2^r / (p B) and lambda^G = 2^r / p."""
    penalty = Sparsity(2.0**r, 2.0**r)
    assert penalty.local_weight(10, 7) == 2.0**r / 70
    assert penalty.spread_weight(10) == 2.0**r / 10


def test_repeating_a_column_leaves_the_penalty_as_it_was(rng):
    """A strength means the same whatever the number of features."""
    coef = rng.uniform(-1.0, 1.0, (4, 3))
    penalty = Sparsity(0.3, 0.7)
    twice = np.repeat(coef, 2, axis=0)
    assert penalty.value(twice) == pytest.approx(penalty.value(coef), rel=1e-14)


@penalties
@shapes
@pytest.mark.parametrize("step", [0.1, 10.0])
def test_prox_minimises_the_penalty_it_belongs_to(rng, penalty, shape, step):
    """Other points of the box lose at least half their squared distance."""
    coef = rng.normal(0.0, 1.0, shape)
    before = coef.copy()
    x = penalty.prox(coef, step)

    def objective(z):
        return 0.5 * np.sum((z - coef) ** 2) + step * penalty.value(z)

    assert np.all(np.abs(x) <= 1.0)
    np.testing.assert_array_equal(coef, before)
    for size in (1e-3, 0.1, 1.0):
        y = np.clip(x + rng.normal(0.0, size, shape), -1.0, 1.0)
        assert objective(y) - objective(x) >= 0.5 * np.sum((x - y) ** 2) - 1e-13


@pytest.mark.parametrize("name", ["alpha_local", "alpha_global"])
@pytest.mark.parametrize("strength", [-1e-9, np.nan, np.inf])
def test_a_senseless_strength_is_refused_by_name(name, strength):
    """The message names the field and the value."""
    with pytest.raises(ValueError, match=f"{name} must be .* got {strength!r}"):
        Sparsity(**{name: strength})
