"""A sketch tells of a column what the column does, whatever parts it comes in."""

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from sorct.data.encoder import TableEncoder
from sorct.data.kinds import (
    learn_dates,
    learn_levels,
    learn_numbers,
    learn_sketch,
    sketch_column,
)
from sorct.data.options import TableOptions
from sorct.data.sketch import LevelSketch, NumberSketch
from sorct.data.sources import Batch
from sorct.data.survey import Surveyor
from tests.budget import examples

finite = st.floats(-1e100, 1e100, allow_nan=False, allow_subnormal=False)
small = st.floats(-1.0, 1.0, allow_subnormal=False)
columns = st.one_of(
    stn.arrays(np.float64, st.integers(1, 300), elements=finite),
    stn.arrays(np.float64, st.integers(1, 300), elements=small),
    st.builds(
        lambda seed, n, scale: scale * np.random.default_rng(seed).lognormal(0, 2, n),
        st.integers(0, 99),
        st.integers(1, 2000),
        st.sampled_from([1e-9, 1.0, -1.0, 1e9]),
    ),
)


def in_parts(values, cuts):
    """Split at some places, which may be none or the same."""
    places = sorted(int(cut * len(values)) for cut in cuts)
    return [part for part in np.split(values, places) if len(part)]


@settings(max_examples=examples(20), deadline=None)
@given(columns, st.lists(st.floats(0, 1), max_size=6), st.randoms())
def test_any_parts_in_any_order_give_the_same_sketch(values, cuts, random):
    """To the last bit, exact or not."""
    for most in (16, 10_000):
        whole = NumberSketch.of(values, most=most)
        parts = [NumberSketch.of(part, most=most) for part in in_parts(values, cuts)]
        random.shuffle(parts)
        found = reduce(add, parts)
        assert found.level == whole.level
        for name in ("key", "count", "weight"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
        ends = found.lower, found.upper, found.whole
        assert ends == (values.min(), values.max(), (values == np.floor(values)).all())


@settings(max_examples=examples(20), deadline=None)
@given(columns, st.lists(st.floats(0, 1), max_size=4))
def test_a_quantile_is_off_by_no_more_than_its_bucket(values, cuts):
    """The bound that the module states: counts are exact, values are to a bucket."""
    parts = [NumberSketch.of(part, most=32) for part in in_parts(values, cuts)]
    sketch = reduce(add, parts)
    assert sketch.key.size <= 32
    ordered = np.sort(values)
    place = np.searchsorted(np.cumsum(sketch.count), np.arange(values.size), "right")
    low, high = sketch.value[place], sketch.bucket_end[place]
    assert (low <= ordered).all()
    assert (ordered <= high).all()
    if sketch.level < 52:
        error = np.abs(low - ordered)
        size = np.maximum(np.abs(low), np.abs(ordered))
        assert (error <= 2.0 ** (sketch.level - 52) * size + 5e-324).all()
    if np.unique(values).size <= 32:
        assert sketch.exact


@settings(max_examples=examples(15), deadline=None)
@given(
    columns,
    st.lists(st.floats(0, 1), max_size=4),
    st.sampled_from(["auto", "minmax", "quantile"]),
    st.booleans(),
)
def test_numbers_learn_from_an_exact_sketch_as_from_the_column(
    values, cuts, scaling, gaps
):
    """Same scale, same median, same wholeness, same care for missing cells."""
    if gaps:
        values = np.where(np.arange(values.size) % 3 == 1, np.nan, values)
    options = TableOptions(scaling=scaling)
    expected = learn_numbers("x", values, None, options).to_dict()
    parts = [sketch_column("x", p, None, 10_000) for p in in_parts(values, cuts)]
    found = learn_sketch("x", reduce(add, parts), values.size, options).to_dict()
    assert found.pop("median", 0.0) == pytest.approx(expected.pop("median", 0.0))
    assert found == expected


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaling", ["auto", "quantile"])
def test_curves_of_many_values_are_those_of_a_sketch(rng, scaling, weighted):
    """So a table in memory and one in batches have the same columns, however large."""
    values = rng.lognormal(0.0, 3.0, 500)
    weight = rng.integers(1, 4, 500).astype(float) if weighted else None
    options, n_rows = (
        TableOptions(scaling=scaling),
        500 if weight is None else sum(weight),
    )
    found = learn_numbers("x", values, weight, options, most=64)
    parts = [
        NumberSketch.of(values[k::3], None if weight is None else weight[k::3], 64)
        for k in range(3)
    ]
    sketch = reduce(add, parts)
    assert not sketch.exact
    expected = learn_sketch("x", sketch, n_rows, options)
    assert len(found.at) > 2
    assert found.at == expected.at
    assert found.place == pytest.approx(expected.place, abs=1e-12)
    exact = learn_numbers("x", values, weight, options)
    assert found.median == exact.median
    assert found.at != exact.at


@settings(max_examples=examples(12), deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "dd", None]), min_size=1, max_size=80),
    st.lists(st.floats(0, 1), max_size=4),
    st.sampled_from(["text", "category", "ordered", "truth", "date"]),
    st.sampled_from(["whole", "dummies"]),
)
def test_levels_and_dates_learn_from_a_sketch_as_from_the_column(
    cells, cuts, kind, categorical
):
    """Any parts, any kind."""
    options, column = TableOptions(categorical=categorical), pd.Series(cells)
    if kind in ("category", "ordered"):
        levels = ["dd", "c", "b", "a", "never"]
        column = column.astype(pd.CategoricalDtype(levels, ordered=kind == "ordered"))
    elif kind == "truth":
        column = column.map({"a": True, "b": False, "c": True, "dd": False})
        column = column.astype("boolean")
    elif kind == "date":
        days = {"a": 5, "b": 700, "c": 10_000, "dd": 0}
        column = pd.Timestamp("1999-03-01") + pd.to_timedelta(
            column.map(days).astype("float64"), unit="D"
        )
    learn = learn_dates if kind == "date" else learn_levels
    expected = learn("x", column, None, options).to_dict()
    parts = [
        sketch_column("x", column.iloc[rows], None, 10_000)
        for rows in in_parts(np.arange(len(column)), cuts)
    ]
    found = learn_sketch("x", reduce(add, parts), len(column), options)
    assert found.to_dict() == expected


def test_weights_are_summed_by_value(rng):
    """Weight 2 is the row twice also in a sketch."""
    values, weight = rng.integers(0, 9, 100).astype(float), rng.integers(1, 4, 100)
    once = NumberSketch.of(values, weight.astype(float))
    twice = NumberSketch.of(np.repeat(values, weight))
    np.testing.assert_array_equal(once.value, twice.value)
    np.testing.assert_array_equal(once.weight, twice.weight)


def test_a_survey_learns_the_encoder_of_the_whole_table(rng):
    """Every kind at once, in three parts."""
    n = 400
    X = pd.DataFrame(
        {
            "plain": rng.normal(size=n),
            "tail": rng.lognormal(0, 3, n),
            "wild": np.where(np.arange(n) == 7, 1e9, rng.normal(size=n)),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "text": rng.choice(["u", "v", "w"], n),
            "day": pd.Timestamp("2020-05-01") + pd.to_timedelta(np.arange(n), unit="D"),
            "size": pd.Categorical(
                rng.choice(["s", "m", "l"], n), ["s", "m", "l"], True
            ),
            "number": rng.integers(0, 5, n),
        }
    )
    y, options = rng.choice(["no", "yes"], n), TableOptions()
    ask = Surveyor(options)
    parts = [slice(0, 90), slice(90, 100), slice(100, n)]
    survey = reduce(add, [ask(Batch.of(X.iloc[rows], y[rows])) for rows in parts])
    found, expected = survey.encoder(options), TableEncoder.learn(X, options)
    assert [v.to_dict() for v in found.variables] == [
        v.to_dict() for v in expected.variables
    ]
    assert survey.target().labels.tolist() == ["no", "yes"]
    assert survey.n_rows == n


def test_too_many_levels_are_an_error_that_names_the_column(monkeypatch):
    """Bounded memory: an id is told before it fills it."""
    monkeypatch.setattr("sorct.data.sketch.MOST_LEVELS", 50)
    parts = [pd.Series([f"{k}-{i}" for i in range(30)]) for k in range(2)]
    with pytest.raises(ValueError, match="'name' has more than 50 levels"):
        reduce(add, [LevelSketch.of("name", part) for part in parts])


def test_parts_of_different_kinds_are_refused():
    """Numbers in one file, text in the next."""
    ask, y = Surveyor(TableOptions()), ["a", "b"]
    one = ask(Batch.of(pd.DataFrame({"x": [1.0, 2.0]}), y))
    two = ask(Batch.of(pd.DataFrame({"x": ["1", "2"]}), y))
    with pytest.raises(ValueError, match="'x' has values of different kinds"):
        _ = one + two
    with pytest.raises(ValueError, match="same columns"):
        _ = one + ask(Batch.of(pd.DataFrame({"z": [1.0, 2.0]}), y))
