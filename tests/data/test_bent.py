"""Bent numbers: where they bend, what their columns are, and what files may hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorct.data.bent import Bent
from sorct.data.kinds import learn_sketch, variable_from_dict
from sorct.data.numeric import Numeric
from sorct.data.options import TableOptions
from sorct.data.scales import learn_number
from sorct.data.sketch import NumberSketch
from tests.budget import examples

check = settings(derandomize=True, deadline=None, max_examples=examples(30))
columns = st.lists(
    st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float), min_size=1, max_size=80
).map(np.array)


def learn(values, weight=None):
    """Bent variable of a column, if it can be bent."""
    return learn_number("v", np.asarray(values, dtype=float), weight, "bent")


@check
@given(columns)
def test_bends_rise_between_the_ends_and_can_be_stored(values):
    """Or the column is scaled as "auto" does; nothing in between."""
    variable = learn(values)
    if not isinstance(variable, Bent):
        assert variable == learn_number("v", values, None, "auto")
        return
    assert 3 <= len(variable.bends) <= 5
    assert np.all(np.diff(variable.bends) > 0.0)
    assert values.min() <= variable.bends[0] < variable.bends[-1] <= values.max()
    assert variable_from_dict(variable.to_dict()) == variable


@check
@given(columns)
def test_the_parts_add_up_to_the_number(values):
    """Shares of parts times their widths: how far a number is from the lower end."""
    variable = learn(values)
    if isinstance(variable, Bent):
        low, high = variable.bends[0], variable.bends[-1]
        told = variable.encode(values) @ np.diff(variable.bends)
        np.testing.assert_allclose(
            told, np.clip(values, low, high) - low, atol=1e-12 * (high - low)
        )


def test_bends_are_at_quartiles_that_people_can_read(rng):
    values = rng.uniform(0.0, 1000.0, 4000)
    inside = learn(values).bends[1:-1]
    np.testing.assert_allclose(inside, np.quantile(values, [0.25, 0.5, 0.75]), atol=6.0)
    assert all(bend % 1.0 == 0.0 for bend in inside)


def test_few_values_do_not_bend():
    """Five values have nothing to bend between; six do."""
    assert isinstance(learn(np.arange(5.0).repeat(9)), Numeric)
    assert isinstance(learn(np.arange(6.0).repeat(9)), Bent)


def test_wild_cells_are_beyond_the_ends(rng):
    values = rng.normal(50.0, 10.0, 400)
    assert learn([*values, 1e9]).bends == learn(values).bends


def test_weight_2_is_the_row_twice(rng):
    values = rng.normal(size=60).round(1)
    count = rng.integers(1, 4, 60).astype(float)
    assert learn(values, count) == learn(np.repeat(values, count.astype(int)))


def test_batches_give_the_bends_of_the_whole(rng):
    """As long as a sketch holds every value."""
    values = rng.normal(size=3000)
    whole = NumberSketch.of(values, None, 4000)
    found = learn_sketch("v", whole, 3000, TableOptions(scaling="bent"))
    assert found.bends == learn(values).bends


def test_a_term_is_what_the_columns_add(rng):
    """By hand: 2 over the first part, -3 over the second half of the range."""
    term = Bent("v", (0.0, 10.0, 20.0)).term(np.array([2.0, -3.0]))
    assert [term.value(x) for x in (-5, 0, 5, 10, 15, 20, 99)] == [
        0.0, 0.0, 1.0, 2.0, 0.5, -1.0, -1.0,
    ]  # fmt: skip
    assert term.size == 2.0
    assert term.at == (0.0, 10.0, 20.0)
    assert term.values == (0.0, 2.0, -1.0)
    assert np.isnan(term.value(np.nan))


def test_summands_weigh_how_far_a_number_comes_into_a_part():
    term = Bent("v", (1.0, 3.5, 20.0, 21.0)).term(np.array([2.0, 0.0, -3.0]))
    first, last = term.summands()
    assert (first.text, last.text) == ("(v from 1 to 3.5)", "(v from 20 to 21)")
    for x in (0.0, 2.0, 20.5, 30.0):
        weights = first.raw_weight, last.raw_weight
        assert np.dot(weights, term.raw(x)) == pytest.approx(term.value(x))


@pytest.mark.parametrize(
    ("bends", "what"),
    [
        ([0.0, 1.0], "3 to 50 bends"),
        ([0.0, 1.0, 1.0], "must rise"),
        ([0.0, 5e-324, 1.0], "beyond what floats can hold"),
        ([-1e308, 0.0, 1e308], "beyond what floats can hold"),
    ],
)
def test_files_with_other_bends_are_refused(bends, what):
    with pytest.raises(ValueError, match=what):
        variable_from_dict({"name": "v", "bends": bends})
