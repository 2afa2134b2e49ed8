"""Numbers are read as they were meant, to the last bit, or not at all."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorct.data.as_text import numbers_as_text
from sorct.data.numbers import mark_shown, read_numbers
from tests.budget import examples

check = settings(derandomize=True, deadline=None, max_examples=examples(20))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
GROUPS = {".": [",", " ", "\u00a0", "\u202f", "'", "’", ""], ",": [".", " ", "'", ""]}
MONEY = ["", "$", "€", "£", "USD ", "CHF "]


def written(value, decimal, group):
    """A number in full, with a separator between its thousands."""
    text = f"{Decimal(value):,f}"
    return text.replace(",", "g").replace(".", decimal).replace("g", group)


def read_one(text, decimal):
    return read_numbers([text], decimal).values.tolist()[0]


@check
@given(FINITE, st.sampled_from([".", ","]), st.data())
def test_separators_change_no_bit(value, decimal, data):
    """Any float, in full, with any separator."""
    group = data.draw(st.sampled_from(GROUPS[decimal]))
    assert read_one(written(value, decimal, group), decimal) == value


@check
@given(FINITE, st.sampled_from(MONEY), st.booleans(), st.sampled_from([".", ","]))
def test_currency_signs_change_no_bit(value, money, behind, decimal):
    """Before or behind the number."""
    text = written(value, decimal, GROUPS[decimal][0])
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    cell = f"{sign}{digits} {money}".strip() if behind else f"{sign}{money}{digits}"
    assert read_one(cell, decimal) == value


@check
@given(FINITE, st.sampled_from([".", ","]))
def test_percent_signs_are_hundredths(value, decimal):
    """The float nearest to the hundredth, not one that was rounded twice."""
    text = f"{Decimal(value).scaleb(2):f}".replace(".", decimal)
    assert read_one(f"{text}%", decimal) == value
    assert read_one(f"{text} %", decimal) == value


@check
@given(FINITE.filter(lambda value: value >= 0), st.sampled_from(MONEY))
def test_parentheses_are_a_minus(value, money):
    """As accountants have it."""
    assert read_one(f"({money}{written(value, '.', ',')})", ".") == -value


@check
@given(FINITE)
def test_what_python_writes_is_read(value):
    """Exponents included."""
    assert read_one(repr(value), ".") == value


@pytest.mark.parametrize(
    ("text", "with_point", "with_comma"),
    [
        ("1,234", 1234.0, 1.234),
        ("1.234", 1.234, 1234.0),
        ("3,5", None, 3.5),
        ("0,123", None, 0.123),
        ("1,234,567", 1234567.0, None),
        ("1.234,5", None, 1234.5),
        ("-$5", -5.0, -5.0),
        ("$-5", -5.0, -5.0),
        ("−3", -3.0, -3.0),
        ("+3", 3.0, 3.0),
        (".5", 0.5, None),
        ("5 ‰", 0.005, 0.005),
        ("1e5", 1e5, 1e5),
        ("", None, None),
        ("12,34", None, 12.34),
        ("1 23", None, None),
        ("1_000", None, None),
        ("inf", None, None),
        ("nan", None, None),
        ("0x10", None, None),
        ("5 apples", None, None),
        ("1e5%", None, None),
        ("$5 €", 5.0, 5.0),
        ("1\n2", None, None),
        ("--5", None, None),
        ("(5", None, None),
    ],
)
def test_cells_are_read_with_one_mark_or_the_other(text, with_point, with_comma):
    """Or with neither."""
    for decimal, expected in ((".", with_point), (",", with_comma)):
        value = read_one(text, decimal)
        assert value == expected if expected is not None else np.isnan(value)


@pytest.mark.parametrize(
    ("cells", "mixed"),
    [
        (["$5", "6"], False),
        (["$5", "€6"], True),
        (["$5 €"], True),
        (["5%", "6%", "x"], False),
        (["5%", "6"], True),
    ],
)
def test_units_must_agree(cells, mixed):
    """Two currencies, or percent beside plain numbers, are no column of numbers."""
    assert read_numbers(cells, ".").mixed is mixed


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1,234", "3,5"], ","),
        (["1.234", "3.5"], "."),
        (["1,234", "2"], None),
        (["3.5", "3,5"], None),
        (["3,5", "x"], None),
        (["1,234,567"], "."),
        (["5", "7"], None),
    ],
)
def test_a_column_shows_its_mark(cells, mark):
    """If all cells are numbers with one mark only."""
    assert mark_shown(cells) == mark


def test_a_mark_may_be_shown_late():
    """After any number of cells that show none."""
    assert mark_shown([*["1,234"] * 500, "3,5"]) == ","
    assert mark_shown([*["1,234"] * 500, "1,234.5"]) == "."
    assert mark_shown([*["1,234"] * 500, "u"]) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2.5", None], True),
        (["$1,200", "$900"], True),
        (["3,5", "4,5"], True),
        (["1", "two"], False),
        (["u", "v"], False),
        ([1, 2], False),
        ([True, False], False),
        ([None, None], False),
        (["1", 2], False),
    ],
)
def test_numbers_as_text_are_noticed(values, expected):
    """In columns of objects and of strings, not in categories."""
    assert numbers_as_text(pd.Series(values, dtype=object)) is expected
    if expected:
        assert numbers_as_text(pd.Series(values, dtype="string"))
        assert not numbers_as_text(pd.Series(values).astype("category"))
    assert not numbers_as_text(pd.Series([1.5, 2.5]))
