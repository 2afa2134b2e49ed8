"""The penalty: scale-free norms, an exact prox, bounds, groups and faces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sorct.problem.penalty import Penalty, Strengths
from tests.budget import examples
from tests.problem.doors import (
    face_gradient,
    move_on_face,
    penalty_value,
    project_on_face,
    prox,
)
from tests.reference import prox_row

amounts = st.one_of(st.just(0.0), st.floats(1e-6, 4.0))
check = settings(derandomize=True, deadline=None, max_examples=examples(30))
rows = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.floats(-3, 3), min_size=n, max_size=n).map(np.array)
)
strengths = pytest.mark.parametrize(
    "strengths",
    [Strengths(), Strengths(0.5), Strengths(0.0, 2.0), Strengths(0.25, 0.5)],
    ids=["none", "local", "global", "both"],
)
shapes = pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 15)])
STARTS = {"columns": [0, 1, 2, 3, 4, 5], "groups": [0, 2, 5], "all": [0, 5]}
groups = pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
SIGNS = {
    "free": ([-1, -1, -1, -1, -1], [1, 1, 1, 1, 1]),
    "signs": ([0, -1, -1, 0, -1], [1, 0, 1, 1, 1]),
    "off": ([0, -1, 0, 0, -1], [0, 0, 1, 1, 1]),
}
signs = pytest.mark.parametrize("bounds", SIGNS.values(), ids=SIGNS)
frees = pytest.mark.parametrize("free", [0.0, 0.3, 1.0])


def make(strengths, start, bounds, free, n_branches=3, rng=None):
    """Penalty of five columns, with prices of their own if a stream is given."""
    n_groups = len(start) - 1
    prices = {}
    if rng is not None:
        prices = {
            "local": rng.uniform(0.2, 2.0, n_groups),
            "linf": rng.uniform(0.2, 2, n_groups),
        }
    return Penalty.of(
        strengths,
        5,
        n_branches,
        start=np.array(start),
        lower=np.array(bounds[0], float),
        upper=np.array(bounds[1], float),
        free=np.full(n_groups, free),
        **prices,
    )


def slow_value(penalty, coef):
    """Sum over groups and cuts, one by one."""
    total = 0.0
    for g in range(penalty.linf.size):
        size = np.abs(coef[penalty.start[g] : penalty.start[g + 1]])
        for t in range(coef.shape[1]):
            total += penalty.local_strength * penalty.local[g] * size[:, t].max()
        strength = penalty.linf_strength * penalty.linf[g]
        total += strength * max(0.0, size.max() - penalty.free[g])
    return total


@strengths
@shapes
def test_value_is_the_sum_of_two_means(rng, strengths, shape):
    """alpha_local mean |a_jt| + alpha_global mean_j max_t |a_jt|, in both languages."""
    coef = rng.uniform(-1.0, 1.0, shape)
    size, penalty = np.abs(coef), Penalty.of(strengths, *shape)
    expected = strengths.alpha_local * size.mean()
    expected += strengths.alpha_global * size.max(axis=1).mean()
    assert penalty.value(coef) == pytest.approx(expected, rel=1e-14)
    assert penalty_value(penalty, coef) == pytest.approx(expected, rel=1e-14)
    assert penalty.value_of(penalty.norms(coef)) == penalty.value(coef)


@groups
@frees
def test_value_of_groups_is_the_slow_sum(rng, start, free):
    """With prices of columns and groups, and what is free."""
    penalty = make(Strengths(0.3, 0.7), start, SIGNS["free"], free, rng=rng)
    coef = rng.uniform(-1.0, 1.0, (5, 3))
    assert penalty.value(coef) == pytest.approx(slow_value(penalty, coef), rel=1e-13)
    compiled = penalty_value(penalty, coef)
    assert compiled == pytest.approx(slow_value(penalty, coef), rel=1e-13)


@strengths
@shapes
def test_value_is_a_norm(rng, strengths, shape):
    """Homogeneous, and a sum costs no more than its parts."""
    a, b = rng.uniform(-1.0, 1.0, (2, *shape))
    penalty = Penalty.of(strengths, *shape)
    assert penalty.value(-3.0 * a) == pytest.approx(3.0 * penalty.value(a), rel=1e-14)
    assert penalty.value(a + b) <= penalty.value(a) + penalty.value(b) + 1e-15


@pytest.mark.parametrize("r", [-12, 0, 4])
def test_strengths_are_the_papers_grid(r):
    """Strength 2^r is lambda^L = 2^r / (p B) and lambda^G = 2^r / p."""
    penalty = Penalty.of(Strengths(2.0**r, 2.0**r), 10, 7)
    assert penalty.local_strength == 2.0**r / 70
    assert penalty.linf_strength == 2.0**r / 10
    assert penalty.scaled(0.25).local_strength == 2.0**r / 280
    assert not penalty.scaled(0.0).active


def test_repeating_a_column_leaves_the_penalty_as_it_was(rng):
    """A strength means the same whatever the number of columns."""
    coef = rng.uniform(-1.0, 1.0, (4, 3))
    values = [
        Penalty.of(Strengths(0.3, 0.7), len(one), 3).value(one)
        for one in (coef, np.repeat(coef, 2, axis=0))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-14)


@pytest.mark.parametrize("name", ["alpha_local", "alpha_global"])
@pytest.mark.parametrize("strength", [-1e-9, np.nan, np.inf])
def test_a_senseless_strength_is_refused_by_name(name, strength):
    """The message names the field and the value."""
    with pytest.raises(ValueError, match=f"{name} must be .* got {strength!r}"):
        Strengths(**{name: strength})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", [0, 2, 2, 5]),
        ("start", [0, 4]),
        ("lower", [-0.5] * 5),
        ("upper", [2.0] * 5),
        ("free", [-1.0] * 5),
        ("local", [np.nan] * 5),
        ("local", [1.0] * 4),
        ("linf", [1.0] * 6),
    ],
)
def test_senseless_arrays_are_refused_by_name(name, value):
    """Groups that are none, bounds that are not allowed, numbers below 0."""
    with pytest.raises(ValueError, match=f"^{name} must"):
        Penalty.of(Strengths(), 5, 3, **{name: np.array(value)})


# -- prox ------------------------------------------------------------------------------


def one_row(local, linf, size):
    """Penalty of one column with the strengths of a prox of step 1."""
    return Penalty.of(Strengths(local * size, linf), 1, size)


@check
@given(rows, amounts, amounts)
def test_the_prox_of_a_row_is_the_references(v, local, linf):
    """Soft threshold, minus the projection on an l1 ball, clip; zeros are zeros."""
    found = prox(one_row(local, linf, v.size), v[np.newaxis], 1.0)[0]
    expected = prox_row(v, local, linf)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    # The strength is rounded once on its way through the mean over columns.
    assert np.all(found[np.abs(v) <= local * (1.0 - 1e-12)] == 0.0)


@check
@given(rows, amounts, amounts)
def test_the_prox_is_odd_and_idempotent_without_strength(v, local, linf):
    """Mirrored entries give mirrored results; the bounds alone are a projection."""
    penalty = one_row(local, linf, v.size)
    there = prox(penalty, v[np.newaxis], 1.0)
    np.testing.assert_array_equal(prox(penalty, -v[np.newaxis], 1.0), -there)
    bare = penalty.scaled(0.0)
    once = prox(bare, v[np.newaxis], 1.0)
    np.testing.assert_array_equal(once[0], np.clip(v, -1.0, 1.0))
    np.testing.assert_array_equal(prox(bare, once, 1.0), once)


def generic_minimiser(penalty, v, step):
    """SLSQP on a smooth form: x, per cut b >= |x|, largest m >= b, paid >= m - free."""
    n_columns, n_cuts = v.shape
    n, n_groups = v.size, penalty.linf.size
    column, cut = np.divmod(np.arange(n), n_cuts)
    group = np.repeat(np.arange(n_groups), np.diff(penalty.start))[column]
    n_parts = n_groups * n_cuts
    part_of = np.eye(n_parts)[group * n_cuts + cut]
    group_of = np.eye(n_groups)[np.arange(n_parts) // n_cuts]
    own, eye = np.eye(n_groups), np.eye(n)
    none, idle = np.zeros((n, 2 * n_groups)), np.zeros((n_parts, n))
    room = np.block(
        [
            [-eye, part_of, none],
            [eye, part_of, none],
            [idle, -np.eye(n_parts), group_of, 0.0 * group_of],
            [np.zeros((n_groups, n + n_parts)), -own, own],
        ]
    )
    least = np.concatenate([np.zeros(2 * n + n_parts), -penalty.free])
    local = step * penalty.local_strength * np.repeat(penalty.local, n_cuts)
    linf = step * penalty.linf_strength * penalty.linf
    weight = np.concatenate([np.zeros(n), local, np.zeros(n_groups), linf])

    def value(z):
        return 0.5 * np.sum((z[:n] - v.ravel()) ** 2) + weight @ z

    def slope(z):
        return weight + np.append(z[:n] - v.ravel(), np.zeros(z.size - n))

    bounds = [(penalty.lower[j], penalty.upper[j]) for j in column]
    bounds += [(0.0, 1.0)] * (n_parts + 2 * n_groups)
    found = minimize(
        value,
        np.repeat([0.0, 0.1, 0.2, 0.2], [n, n_parts, n_groups, n_groups]),
        jac=slope,
        method="SLSQP",
        bounds=bounds,
        constraints={
            "type": "ineq",
            "fun": lambda z: room @ z - least,
            "jac": lambda _: room,
        },
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x[:n].reshape(v.shape)


@pytest.mark.every_value
@groups
@signs
@frees
@pytest.mark.parametrize("step", [0.5, 3.0])
def test_prox_is_what_a_generic_solver_finds(rng, start, bounds, free, step):
    """Never worse than SLSQP, and where SLSQP ends: groups, signs, prices, free."""
    penalty = make(Strengths(1.5, 0.8), start, bounds, free, rng=rng)
    v = rng.normal(0.0, 1.0, (5, 3))
    x, other = prox(penalty, v, step), generic_minimiser(penalty, v, step)

    def objective(z):
        return 0.5 * np.sum((z - v) ** 2) + step * slow_value(penalty, z)

    inside = penalty.clip(other)
    assert objective(x) <= objective(inside) + 1e-12
    np.testing.assert_allclose(x, inside, rtol=0, atol=1e-5)
    assert np.array_equal(x, penalty.clip(x))


@groups
@signs
@frees
def test_prox_beats_every_other_point_by_its_distance(rng, start, bounds, free):
    """Other points within the bounds lose at least half their squared distance."""
    penalty = make(Strengths(0.5, 0.8), start, bounds, free, rng=rng)
    for step in (0.1, 10.0):
        v = rng.normal(0.0, 1.0, (5, 3))
        x = prox(penalty, v, step)
        value = 0.5 * np.sum((x - v) ** 2) + step * slow_value(penalty, x)
        for size in (1e-3, 0.1, 1.0):
            y = penalty.clip(x + rng.normal(0.0, size, v.shape))
            other = 0.5 * np.sum((y - v) ** 2) + step * slow_value(penalty, y)
            assert other - value >= 0.5 * np.sum((x - y) ** 2) - 1e-12


@groups
@frees
def test_what_is_barred_from_a_cut_leaves_the_prox_of_the_others(rng, start, free):
    """As if the cuts that a group may not use were not there for it."""
    penalty = make(Strengths(0.5, 0.8), start, SIGNS["signs"], free, rng=rng)
    barred = np.zeros((len(start) - 1, 3))
    barred[-1, 1] = 1.0
    v = rng.normal(0.0, 1.0, (5, 3))
    found = prox(penalty._replace(barred=barred), v, 0.7)
    apart = slice(start[-2], None)
    plain = prox(penalty, v, 0.7)
    plain[apart, [0, 2]] = prox(penalty, v[:, [0, 2]], 0.7)[apart]
    plain[apart, 1] = 0.0
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(found, penalty._replace(barred=barred).clip(found))


# -- other penalties made of one -------------------------------------------------------


@groups
@signs
@frees
def test_some_groups_cost_what_they_did_beside_others(rng, start, bounds, free):
    """Restricted to its last groups, a penalty is that of a tree without the others."""
    penalty = make(Strengths(0.5, 0.8), start, bounds, free, rng=rng)
    kept = np.arange(len(start) - 1)[-2:]
    columns, part = penalty.columns_of(kept), penalty.restricted(kept)
    assert part.n_groups == kept.size
    v = rng.normal(0.0, 1.0, (5, 3))
    coef = np.zeros((5, 3))
    coef[columns] = v[columns]
    assert part.value(v[columns]) == pytest.approx(penalty.value(coef), rel=1e-14)
    np.testing.assert_array_equal(
        prox(part, v[columns], 0.7), prox(penalty, v, 0.7)[columns]
    )


@groups
@signs
def test_within_sizes_a_group_pays_nothing_in_the_tree_and_grows_no_larger(
    rng, start, bounds
):
    """The prox is that of the local part, cut to the sizes."""
    penalty = make(Strengths(0.5, 0.8), start, bounds, 0.0, rng=rng)
    size = rng.uniform(0.05, 0.3, len(start) - 1)
    held, v = penalty.within(size), rng.normal(0.0, 1.0, (5, 3))
    local = prox(penalty.at(Strengths(0.5), 3), v, 0.7)
    limit = np.repeat(size, np.diff(start))[:, np.newaxis]
    np.testing.assert_array_equal(prox(held, v, 0.7), np.clip(local, -limit, limit))
    assert np.all(held.sizes(prox(held, v, 0.7)) <= size)


def test_prices_count_in_a_cut_as_in_the_tree_and_signs_are_bounds():
    """+1: not negative; -1: not positive; 0: as it likes."""
    start, price = np.array([0, 1, 3]), np.array([0.5, 1.5])
    penalty = Penalty.priced(start, price, np.array([1.0, -1.0, 0.0]))
    assert not penalty.active
    assert penalty.norms(np.ones((3, 1))) == (2.0, 2.0)
    clipped = penalty.clip(np.array([[-2.0, 2.0]] * 3))
    np.testing.assert_array_equal(clipped, [[0.0, 1.0], [-1.0, 0.0], [-1.0, 1.0]])


@groups
@signs
def test_from_the_emptying_alpha_on_no_step_leaves_the_empty_tree(rng, start, bounds):
    """A little below it one does."""
    penalty = make(Strengths(), start, bounds, 0.0, n_branches=1, rng=rng)
    slope = rng.normal(size=(5, 1))
    alpha = penalty.emptying_alpha(slope)

    def leaves(share):
        return prox(penalty.at(Strengths(share * alpha), 1), -slope, 1.0).any()

    assert alpha > 0.0
    assert not leaves(1.0 + 1e-12)
    assert leaves(0.99)


# -- drawing and clipping --------------------------------------------------------------


def test_drawing_takes_the_stream_of_plain_numbers():
    """Bounds as arrays give the bits of ``uniform(-1, 1, size)``."""
    every = np.ones((7, 3), dtype=bool)
    drawn = Penalty.none(7).draw(every, np.random.default_rng(3)).reshape(7, 3)
    plain = np.random.default_rng(3).uniform(-1.0, 1.0, (7, 3))
    np.testing.assert_array_equal(drawn, plain)
    whole = Penalty.none(7).draw_cuts(3, np.random.default_rng(3))
    np.testing.assert_array_equal(whole, plain)


@signs
def test_drawn_and_clipped_coefficients_are_within_their_bounds(rng, bounds):
    """Whatever places are chosen."""
    penalty = make(Strengths(), STARTS["groups"], bounds, 0.0)
    chosen = rng.random((5, 3)) < 0.5
    coef = np.zeros((5, 3))
    coef[chosen] = penalty.draw(chosen, rng)
    np.testing.assert_array_equal(coef, penalty.clip(coef))
    whole = penalty.draw_cuts(3, rng)
    np.testing.assert_array_equal(whole, penalty.clip(whole))
    clipped = penalty.clip(rng.normal(0.0, 2.0, (5, 3)))
    assert np.all(clipped >= penalty.lower[:, np.newaxis])
    assert np.all(clipped <= penalty.upper[:, np.newaxis])


# -- faces -----------------------------------------------------------------------------


@groups
@signs
@frees
def test_the_face_gradient_is_the_slope_along_the_face(rng, start, bounds, free):
    """Moving along it changes a linear objective plus the penalty by its square."""
    penalty = make(Strengths(0.5, 0.8), start, bounds, free, rng=rng)
    for _ in range(20):
        coef = prox(penalty, rng.normal(0.0, 1.0, (5, 3)), 1.0)
        slope, face = rng.normal(size=15), np.zeros(15)
        largest = face_gradient(penalty, coef, slope, face)
        assert largest == np.abs(face).max()
        assert np.all(face[coef.ravel() == 0.0] == 0.0)
        direction = -face
        project_on_face(penalty, coef, face, direction)
        np.testing.assert_allclose(direction, -face, atol=1e-15)
        trial, move = np.zeros((5, 3)), np.zeros(15)
        step = 1e-7
        if move_on_face(penalty, coef, direction, step, trial, move):
            continue
        assert np.array_equal(trial, penalty.clip(trial))
        change = slope @ move + slow_value(penalty, trial) - slow_value(penalty, coef)
        assert change == pytest.approx(-step * (face @ face), abs=1e-13)


@pytest.mark.every_value
@groups
@signs
def test_a_move_stays_on_the_face_and_in_the_bounds(rng, start, bounds):
    """No sign changes, zeros stay, and what is tied stays tied or is cut."""
    penalty = make(Strengths(0.5, 0.8), start, bounds, 0.0, rng=rng)
    for scale in (0.01, 1.0, 100.0):
        coef = prox(penalty, rng.normal(0.0, 1.0, (5, 3)), 1.0)
        face = np.zeros(15)
        face_gradient(penalty, coef, rng.normal(size=15), face)
        trial, move = np.zeros((5, 3)), np.zeros(15)
        move_on_face(penalty, coef, -face, scale, trial, move)
        assert np.all(trial * coef >= 0.0)
        assert np.all(trial[coef == 0.0] == 0.0)
        assert np.array_equal(trial, penalty.clip(trial))
        np.testing.assert_array_equal(move, (trial - coef).ravel())
