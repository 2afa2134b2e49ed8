"""Dates are read as they were meant, and 01/02 only if somebody tells the order."""

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorct.data.written_dates import read_dates
from tests.budget import examples

check = settings(derandomize=True, deadline=None, max_examples=examples(20))
DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 12, 31))
FORMATS = [
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%d. %B %Y",
    "%b %d, %Y", "%B %d, %Y", "%b %d %Y",
]  # fmt: skip


@check
@given(st.lists(DAYS, min_size=1, max_size=5), st.sampled_from(FORMATS))
def test_dates_that_can_be_meant_in_one_way_are_read(days, form):
    """Years first, days before points, names of months."""
    found = read_dates([f"{day:{form}}" for day in days], None)
    assert found.values.tolist() == [pd.Timestamp(day) for day in days]
    assert not found.ambiguous


@check
@given(
    st.lists(DAYS, min_size=1, max_size=5),
    st.sampled_from(["/", "-"]),
    st.sampled_from(["day-first", "month-first"]),
)
def test_a_day_above_12_tells_the_order(days, mark, order):
    """And else the order must be said, unless it makes no difference."""
    form = "%d{0}%m{0}%Y" if order == "day-first" else "%m{0}%d{0}%Y"
    cells = [day.strftime(form.format(mark)) for day in days]
    given_days = [pd.Timestamp(day) for day in days]
    assert read_dates(cells, order).values.tolist() == given_days
    found = read_dates(cells, None)
    plain = all(day.day == day.month for day in days)
    assert found.ambiguous == (not plain and all(day.day <= 12 for day in days))
    if not found.ambiguous:
        assert found.values.tolist() == given_days


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2024-01-31 10:30", "2024-01-31 10:30"),
        ("2024-01-31T10:30:15.5", "2024-01-31 10:30:15.5"),
        ("2024-1-3", "2024-01-03"),
        ("2024-02", "2024-02-01"),
        ("31/01/2024 10:30", "2024-01-31 10:30"),
        ("31.01.24", "2024-01-31"),
        ("1/31/24", "2024-01-31"),
        ("31-Jan-24", "2024-01-31"),
        ("May 2024", "2024-05-01"),
        ("Mar-2018", "2018-03-01"),
        ("March-2018", "2018-03-01"),
        ("2024-02-30", "NaT"),
    ],
)
def test_times_short_years_and_months(cell, expected):
    """What there is besides."""
    found = read_dates([cell], None)
    pd.testing.assert_index_equal(
        found.values, pd.DatetimeIndex([expected]), exact=False
    )


def test_offsets_are_told_in_universal_time():
    """Cells of different offsets are comparable then."""
    found = read_dates(["2024-01-31T10:00:00Z", "2024-01-31 10:00+02:00"], None)
    assert found.in_utc
    assert found.values.hour.tolist() == [10, 8]
    assert found.values.tz is None


def test_orders_that_contradict_each_other_are_not_read():
    """No order reads both cells."""
    found = read_dates(["13/01/2024", "01/13/2024"], None)
    assert found.values.isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "cells", [["u"], ["12"], ["1.2.20"], ["12:30"], ["Room 12"], [], ["today"]]
)
def test_what_is_no_date(cells):
    """Versions, times of day, words that pandas would take for dates."""
    assert read_dates(cells, None) is None
