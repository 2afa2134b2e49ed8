"""Proximal steps are exact minimisers, with exact zeros."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sorct.problem.prox import clip, largest_after_prox, prox_row, soft_threshold
from tests.reference import project_on_l1_ball

rows = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.floats(-3, 3), min_size=n, max_size=n).map(np.array)
)
amounts = st.one_of(st.just(0.0), st.floats(1e-6, 4.0))
check = settings(derandomize=True, deadline=None, max_examples=300)


def soft(v, local, _spread):
    """Return the prox of the l1 norm."""
    x = v.copy()
    soft_threshold(x, local)
    return x


def cut(v, _local, spread):
    """Return the prox of the l-inf norm."""
    x = v.copy()
    clip(x, largest_after_prox(x, spread))
    return x


def boxed(v, local, spread):
    """Return the prox of both norms in the box."""
    x = v.copy()
    prox_row(x, local, spread)
    return x


def objective(x, v, local, spread):
    """Evaluate what a prox minimises."""
    size = np.abs(x)
    return 0.5 * np.sum((x - v) ** 2) + local * size.sum() + spread * size.max()


def generic_minimiser(v, local, spread, limit):
    """SLSQP on a smooth form: x, sizes s >= |x|, and a largest beta >= s."""
    n = v.size
    eye, none, ones = np.eye(n), np.zeros((n, n)), np.ones((n, 1))
    room = np.block([[-eye, eye, 0 * ones], [eye, eye, 0 * ones], [none, -eye, ones]])
    weight = np.concatenate([np.zeros(n), np.full(n, local), [spread]])

    def value(z):
        return 0.5 * np.sum((z[:n] - v) ** 2) + weight @ z

    def slope(z):
        return weight + np.concatenate([z[:n] - v, np.zeros(n + 1)])

    solved = minimize(
        value,
        np.repeat([0.0, 0.1, 0.2], [n, n, 1]),
        jac=slope,
        method="SLSQP",
        bounds=[(-limit, limit)] * n + [(0.0, limit)] * (n + 1),
        constraints={"type": "ineq", "fun": room.__matmul__, "jac": lambda _: room},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return solved.x[:n]


@pytest.mark.parametrize(
    ("prox", "local", "spread", "limit"),
    [
        (soft, 0.3, 0.0, np.inf),
        (cut, 0.0, 0.7, np.inf),
        (boxed, 0.3, 0.7, 1.0),
        (boxed, 0.3, 0.0, 1.0),
        (boxed, 0.0, 0.7, 1.0),
        (boxed, 0.0, 0.0, 1.0),
    ],
)
@pytest.mark.parametrize("size", range(1, 10))
def test_prox_is_what_a_generic_solver_finds(rng, prox, local, spread, limit, size):
    """The formula is never worse than SLSQP and lies where SLSQP ends."""
    v = rng.normal(0.0, 1.5, size)
    x, other = prox(v, local, spread), generic_minimiser(v, local, spread, limit)
    best = objective(other, v, local, spread)
    assert objective(x, v, local, spread) <= best + 1e-12
    np.testing.assert_allclose(x, other, rtol=0, atol=1e-6)


@check
@given(rows, amounts, amounts)
def test_no_point_of_the_box_is_better(v, local, spread):
    """Optimality: by strong convexity others lose half their squared distance."""
    x = boxed(v, local, spread)
    assert np.all(np.abs(x) <= 1.0)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        y = np.clip(x + rng.normal(0.0, size, x.size), -1.0, 1.0)
        gain = objective(y, v, local, spread) - objective(x, v, local, spread)
        assert gain >= 0.5 * np.sum((x - y) ** 2) - 1e-13


@check
@given(rows, amounts)
def test_soft_threshold_and_clip_split_a_row(v, amount):
    """Moreau: v = prox of the l1 norm + projection on the l-inf ball."""
    inside = v.copy()
    clip(inside, amount)
    np.testing.assert_allclose(soft(v, amount, 0.0) + inside, v, rtol=0, atol=1e-15)


@check
@given(rows, amounts)
def test_cut_and_l1_projection_split_a_row(v, amount):
    """Moreau: v = prox of the l-inf norm + projection on the l1 ball."""
    parts = cut(v, 0.0, amount) + project_on_l1_ball(v, amount)
    np.testing.assert_allclose(parts, v, rtol=0, atol=1e-14)


@check
@given(rows, rows, amounts, amounts)
def test_prox_is_firmly_nonexpansive(u, v, local, spread):
    """|P u - P v|^2 <= (P u - P v) . (u - v)."""
    n = min(u.size, v.size)
    u, v = u[:n], v[:n]
    moved = boxed(u, local, spread) - boxed(v, local, spread)
    assert moved @ moved <= moved @ (u - v) + 1e-13


@check
@given(rows, amounts, amounts)
def test_prox_commutes_with_signs_and_order(v, local, spread):
    """Flipping signs or reversing a row flips or reverses the result."""
    x = boxed(v, local, spread)
    np.testing.assert_array_equal(boxed(-v, local, spread), -x)
    np.testing.assert_allclose(
        boxed(v[::-1].copy(), local, spread), x[::-1], atol=1e-15
    )


@check
@given(rows)
def test_projection_on_the_box_is_idempotent(v):
    """Without penalties the prox is the clip, and twice is once."""
    x = boxed(v, 0.0, 0.0)
    np.testing.assert_array_equal(x, np.clip(v, -1.0, 1.0))
    np.testing.assert_array_equal(boxed(x, 0.0, 0.0), x)


@check
@given(rows, st.floats(0.01, 2.0))
def test_weak_entries_become_exact_zeros(v, local):
    """|v_t| <= local gives 0.0 to the bit, anything above does not."""
    np.testing.assert_array_equal(boxed(v, local, 0.0) == 0.0, np.abs(v) <= local)


@check
@given(rows, amounts, st.floats(0.01, 4.0))
def test_weak_rows_become_exact_zeros(v, local, spread):
    """A row goes exactly when its thresholded l1 norm is at most the spread."""
    total = np.maximum(np.abs(v) - local, 0.0).sum()
    empty = np.all(boxed(v, local, spread) == 0.0)
    assert empty or total > spread - 1e-12
    assert not empty or total <= spread + 1e-12


@pytest.mark.parametrize("amount", [0.0, 1e-300, 1e-16, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("size", range(1, 10))
def test_near_ties_end_at_the_right_height(rng, size, amount):
    """Entries equal up to one unit in the last place neither loop nor mislead."""
    for value in rng.uniform(0.1, 1.0, 20):
        near = np.array([np.nextafter(value, 2.0), value, np.nextafter(value, 0.0)])
        v = rng.choice(near, size) * rng.choice([-1.0, 1.0], size)
        expected = max(value - amount / size, 0.0)
        assert largest_after_prox(v, amount) == pytest.approx(expected, abs=1e-15)
