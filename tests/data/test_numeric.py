"""Scaling of numbers: ranges, wild cells, long tails, and what a row may change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorct.data.numeric import MOST_POINTS, Curve, Numeric
from sorct.data.scales import Tally, learn_number
from tests.budget import examples

check = settings(derandomize=True, deadline=None, max_examples=examples(20))
columns = st.lists(
    st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float), min_size=1, max_size=80
).map(np.array)
scalings = pytest.mark.parametrize(
    "scaling", ["auto", "minmax", "standard", "quantile"]
)


def learn(values, scaling="auto", weight=None):
    """Variable of a column."""
    return learn_number("v", np.asarray(values, dtype=float), weight, scaling)


@check
@given(columns, st.sampled_from(["auto", "minmax", "quantile"]))
def test_a_scale_rises_from_0_to_1(values, scaling):
    """Whatever the column: order is kept, and training fills the unit interval."""
    variable = learn(values, scaling)
    scaled = variable.encode(np.sort(values))[:, 0]
    # To rounding: neighbours that differ by 1e-81 share their place.
    assert np.all(np.diff(scaled) >= -1e-15)
    assert np.all((scaled >= 0.0) & (scaled <= 1.0))
    if isinstance(variable, Curve):
        assert 2 <= len(variable.at) <= MOST_POINTS
        assert (variable.place[0], variable.place[-1]) == (0.0, 1.0)
        assert np.all(np.diff(variable.at) > 0)
        assert np.all(np.diff(variable.place) > 0)
        places = np.linspace(0.0, 1.0, 9)
        raw = np.array([variable.decode(place) for place in places])
        np.testing.assert_allclose(variable.encode(raw)[:, 0], places, atol=1e-9)


@scalings
def test_even_numbers_are_scaled_by_their_range_unless_asked_otherwise(rng, scaling):
    """Neither wild nor crushed: nothing is gained by a curve."""
    values = rng.uniform(3.0, 9.0, 500)
    kind = Curve if scaling == "quantile" else Numeric
    assert isinstance(learn(values, scaling), kind)
    normal = learn(rng.normal(size=500), scaling)
    assert isinstance(normal, kind)


@pytest.mark.parametrize("wild", [[1e7], [9999999.0] * 3, [-1e12, 1e12]])
def test_wild_cells_change_no_other_row(rng, wild):
    """All other rows are scaled as without them; the wild ones count as the ends."""
    values = rng.normal(50.0, 10.0, 400)
    plain, other = learn(values), learn([*values, *wild])
    np.testing.assert_allclose(other.encode(values), plain.encode(values), atol=1e-12)
    ends = other.encode(np.array(wild))[:, 0]
    np.testing.assert_array_equal(ends, (np.array(wild) > 0).astype(float))
    assert isinstance(learn([*values, *wild], "minmax"), Numeric)


def test_a_long_tail_is_scaled_by_its_quantiles(rng):
    """Half of the rows get half of the interval."""
    values = rng.lognormal(0.0, 2.0, 2000)
    variable = learn(values)
    assert isinstance(variable, Curve)
    assert len(variable.at) > 2
    assert np.median(variable.encode(values)) == pytest.approx(0.5, abs=0.05)
    crushed = np.median(learn(values, "minmax").encode(values))
    assert crushed < 0.05


def test_a_wild_cell_moves_the_curve_of_a_long_tail_by_one_row(rng):
    """As much as any other row could."""
    values = rng.lognormal(0.0, 2.0, 2000)
    plain, other = learn(values), learn([*values, 1e9])
    moved = np.abs(other.encode(values) - plain.encode(values))
    assert moved.max() < 0.02


def test_many_zeros_and_a_tail_keep_zeros_apart(rng):
    """A word that most letters lack: its absence is one end."""
    values = np.where(rng.random(1000) < 0.7, 0.0, rng.lognormal(0.0, 1.5, 1000))
    variable = learn(values)
    assert isinstance(variable, Curve)
    assert np.all(variable.encode(values[values == 0.0]) == 0.0)
    assert np.all(variable.encode(values[values > 0.05]) > 0.0)


@scalings
def test_two_values_and_constants_stay_as_they_are(scaling):
    """A flag is no tail, however rare."""
    flag = np.zeros(1000)
    flag[0] = 1.0
    assert learn(flag, scaling).encode(flag)[:, 0].tolist() == flag.tolist()
    assert learn([7.0] * 9, scaling) == Numeric("v", 7.0, 0.0, True, 7.0)


def test_missing_cells_are_passed_over(rng):
    """NaN has no part in range, median and quantiles; nothing but NaN is constant."""
    values = rng.lognormal(0.0, 2.0, 300)
    holes = np.insert(values, [3, 70, 200], np.nan)
    assert learn(holes) == learn(values)
    assert learn([np.nan] * 4) == Numeric("v")


def test_a_weight_of_two_is_the_row_twice(rng):
    """Exactly: quantiles, what is wild, whether a column is crushed, and the median."""
    tails = {
        "long": rng.lognormal(0.0, 2.0, 300),
        "tame": np.round(rng.uniform(3.0, 9.0, 300), 1),
        "wild": np.append(rng.normal(size=298), [50.0, -1e7]),
        "few": rng.integers(0, 4, 300).astype(float),
        "short": rng.normal(size=9),
    }
    for values in tails.values():
        for scaling in ("auto", "quantile"):
            count = rng.integers(1, 5, len(values)).astype(float)
            twice = learn(np.repeat(values, count.astype(int)), scaling)
            assert learn(values, scaling, count) == twice
    # A wild value in many rows is none, whether they are written out or counted.
    values, count = np.append(np.arange(200.0), 1e7), np.ones(201)
    assert isinstance(learn(values, weight=count), Curve)
    count[-1] = 100.0
    assert learn(values, weight=count).decode(1.0) == 1e7


@check
@given(columns, st.sampled_from(["auto", "quantile"]))
def test_the_order_of_rows_does_not_count(values, scaling):
    """Any permutation gives the same scale."""
    assert learn(values[::-1], scaling) == learn(values, scaling)


def test_the_order_of_weighted_rows_does_not_move_the_middle():
    """A sum of weights that is off by a bit is still a whole number of rows."""
    rng = np.random.default_rng(0)
    for n in range(3, 40, 2):
        values, weight = rng.normal(size=n), rng.uniform(0.1, 3.0, n)
        orders = [rng.permutation(n) for _ in range(20)]
        counts = [weight[one] * (n / weight[one].sum()) for one in orders]
        middles = [
            Tally.of(values[one], count).middle
            for one, count in zip(orders, counts, strict=True)
        ]
        np.testing.assert_array_equal(np.ptp(middles, axis=0), 0.0)
