"""Variables and terms: encoding, its inverse and its sums, whatever the kind."""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from sorct.data.bent import Bent
from sorct.data.categorical import Categorical, Ordered
from sorct.data.kinds import variable_from_dict
from sorct.data.missing import WithMissing
from sorct.data.numeric import Curve, Numeric
from sorct.data.scales import learn_number
from sorct.data.terms import is_missing
from sorct.data.variables import CellError, is_truth, kind_of_levels

LEVELS = [
    ("a", "b", "c", "d"),
    (3, 1, 2),
    (0.5, -1.5, 1e-300),
    (False, True),
    ("", "1", "true", "[x is y]"),
    ("alone",),
]


class Case(NamedTuple):
    """A variable, and cells that it can take."""

    variable: object
    cells: object


def numbers(rng, lower, upper):
    """A number with cells inside and outside of its range."""
    variable = Numeric.of_range("size", lower, upper)
    wide = np.concatenate([[lower, upper], rng.uniform(2 * lower - upper, upper, 40)])
    return Case(variable, pd.Series(wide))


def levels(rng, values):
    """A category with all its levels in any order."""
    column = pd.Series(list(values) * 4, dtype=object)
    return Case(Categorical("kind", values), column.iloc[rng.permutation(len(column))])


def curve(rng, at, origin=None):
    """A number along a curve with cells inside and outside of its ends."""
    place = np.linspace(0.0, 1.0, len(at)) ** 2
    variable = Curve("size", tuple(at), tuple(place.tolist()), origin=origin)
    span = at[-1] - at[0]
    cells = np.concatenate([at, rng.uniform(at[0] - span, at[-1] + span, 40)])
    return Case(variable, pd.Series(cells))


def bent(rng, bends):
    """A bent number with cells inside and outside of its ends."""
    span = bends[-1] - bends[0]
    cells = rng.uniform(bends[0] - span, bends[-1] + span, 40)
    return Case(Bent("size", bends), pd.Series(np.concatenate([bends, cells])))


def dates(rng, variable):
    """Cells of a date, as days."""
    days = pd.to_timedelta(rng.integers(-30, 400, 40), "D")
    return Case(variable, pd.Series(pd.Timestamp("2020-01-31") + days))


def pooled(rng, **options):
    """A category with levels that have no column of their own."""
    variable = Categorical("kind", ("a", "b", "c"), "b", pooled=True, **options)
    cells = [*variable.levels, *variable.rare] * 5
    return Case(variable, pd.Series(cells, dtype=object))


def with_missing(case):
    """The same variable and cells, some of them missing."""
    cells = case.cells.copy().reset_index(drop=True)
    cells = cells.where(cells.index % 3 != 1)
    return Case(WithMissing(case.variable), cells)


ROOTS = {
    "unit": lambda rng: numbers(rng, 0.0, 1.0),
    "years": lambda rng: numbers(rng, 1950.0, 2020.0),
    "stamps": lambda rng: numbers(rng, -1.7e9, -1.7e9 + 3.0),
    "narrow": lambda rng: numbers(rng, 0.0, 1e-200),
    "wide": lambda rng: numbers(rng, -1e300, 1e300 / 2),
    "constant": lambda rng: Case(Numeric("size", 7.0, 0.0), pd.Series([7.0, 8.0])),
    **{
        f"levels {values}": lambda rng, values=values: levels(rng, values)
        for values in LEVELS
    },
    "clipped": lambda rng: curve(rng, [-3.0, 5.0]),
    "curve": lambda rng: curve(rng, [0.0, 1.0, 10.0, 1e6]),
    "bent": lambda rng: bent(rng, (-3.0, 5.0, 5.5, 1e6)),
    "bent date": lambda rng: dates(
        rng, Bent("when", (0.0, 9.0, 40.0, 300.0), origin="2020-01-31")
    ),
    "date": lambda rng: dates(
        rng, Numeric("when", 0.0, 365.0, True, origin="2020-01-31")
    ),
    "curved date": lambda rng: dates(
        rng, Curve("when", (0.0, 9.0, 300.0), (0.0, 0.5, 1.0), origin="2020-01-31")
    ),
    "whole": lambda rng: Case(
        Categorical("kind", ("a", "b", "c"), separate=False), pd.Series(list("abcba"))
    ),
    "pooled": lambda rng: pooled(rng, separate=False, rare=("y", "z")),
    "pooled dummies": lambda rng: pooled(rng, rare=("y", "z")),
    "ordered": lambda rng: Case(
        Ordered("kind", ("low", "mid", "high")), pd.Series(["mid", "low", "high"] * 3)
    ),
}
MAKERS = ROOTS | {
    f"{name} with missing": lambda rng, make=make: with_missing(make(rng))
    for name, make in ROOTS.items()
}
kinds = pytest.mark.parametrize("case", MAKERS, indirect=True)


@pytest.fixture
def case(request, rng):
    """One variable of every kind, with cells."""
    return MAKERS[request.param](rng)


def encode(variable, cells, unknown="error"):
    """Columns of cells, whatever the kind; -1 is a row of zeros."""
    if variable.choices is None:
        return variable.encode(variable.numbers(cells))
    rows = np.vstack([variable.encode_choices(), np.zeros(len(variable.column_names))])
    return rows[variable.codes(cells, unknown)]


def weights_of(rng, variable, some_zero=True):
    """Random weights for the columns of a variable, some of them zero."""
    weights = rng.uniform(-1.0, 1.0, len(variable.column_names))
    if some_zero and len(weights) > 1:
        weights[rng.integers(len(weights))] = 0.0
    return weights


# -- columns ---------------------------------------------------------------------------


@kinds
def test_cells_of_training_become_columns_from_0_to_1(case):
    """One row per cell, one column per name."""
    variable, cells = case
    columns = encode(variable, cells)
    assert columns.shape == (len(cells), len(variable.column_names))
    seen = columns
    if variable.choices is None:
        numbers = variable.numbers(cells)
        lower, upper = variable.decode(0.0), variable.decode(1.0)
        seen = columns[np.isnan(numbers) | (numbers >= lower) & (numbers <= upper)]
    assert np.all((seen >= 0.0) & (seen <= 1.0))
    assert not np.any(encode(variable, cells.iloc[:1]) - columns[:1])


@kinds
def test_a_missing_cell_has_a_column_of_its_own(case):
    """1 there and 0 in all others, and only where training had missing cells."""
    variable, cells = case
    assert variable.takes_missing == isinstance(variable, WithMissing)
    if variable.takes_missing:
        columns, missing = encode(variable, cells), cells.isna().to_numpy()
        assert missing.any()
        np.testing.assert_array_equal(columns[:, -1], missing)
        assert not columns[missing, :-1].any()
        known = encode(variable.known, cells[~missing])
        np.testing.assert_array_equal(columns[~missing, :-1], known)


@kinds
def test_a_truth_has_no_third_level(case):
    """Missing is none, and what stands for all other levels would be one."""
    variable, cells = case
    known = cells.dropna().tolist()
    assert is_truth(variable) == ({type(cell) for cell in known} == {bool})
    assert not is_truth(Categorical("kind", (True,), pooled=True))


@kinds
def test_every_part_between_two_bends_has_a_column(case):
    """It is 0 up to where the part begins and 1 from where it ends."""
    variable, _ = case
    n_own, bends = len(variable.column_names) - variable.takes_missing, variable.bends
    assert (bends != ()) == isinstance(getattr(variable, "known", variable), Bent)
    if bends:
        found = variable.encode(np.array(bends))[:, :n_own]
        np.testing.assert_array_equal(found, np.tri(len(bends), n_own, -1))
    elif variable.choices is None:
        assert n_own == 1


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (1950.0, 2020.0), (-1e300, 1e299)])
def test_encode_is_the_inverse_of_decode(rng, bounds):
    """A place from 0 to 1 has a raw value, and that value has the place."""
    variable = Numeric.of_range("size", *bounds)
    places = np.concatenate([[0.0, 1.0], rng.random(50)])
    raw = np.array([variable.decode(place) for place in places])
    np.testing.assert_allclose(variable.encode(raw)[:, 0], places, rtol=0, atol=1e-12)
    assert variable.decode(0.0) == bounds[0]
    assert variable.typical == variable.decode(0.5)
    assert variable.decode(1.0) == pytest.approx(bounds[1], rel=1e-15)
    assert variable.choices is None


@pytest.mark.parametrize("values", LEVELS, ids=str)
def test_choices_encode_to_rows_that_name_them(values):
    """The first has zeros, each other its own column; no two are alike."""
    variable = Categorical("kind", values)
    assert variable.choices == values
    assert variable.typical == values[0]
    rows = encode(variable, pd.Series(list(values), dtype=object))
    np.testing.assert_array_equal(rows, variable.encode_choices())
    place = rows @ np.arange(1, rows.shape[1] + 1)
    np.testing.assert_array_equal(place, np.arange(len(values)))
    named = [f"kind = {level}" for level in values[1:]]
    assert list(variable.column_names) == named


def test_only_a_continuum_has_places_and_only_levels_can_be_listed():
    """Each says which of the two it is."""
    number, category = Numeric("size", 0.0, 1.0), Categorical("kind", ("a", "b"))
    with pytest.raises(TypeError, match="'size' is a continuum"):
        number.encode_choices()
    with pytest.raises(TypeError, match="'kind' has levels"):
        category.decode(0.5)
    assert number.affine == (0.0, 1.0)
    assert category.affine is None


@pytest.mark.filterwarnings("ignore:Column 'kind' has levels of another type")
@pytest.mark.parametrize("values", LEVELS[:5], ids=str)
def test_an_unknown_level_is_an_error_or_the_first(values):
    """As the policy says; the message lists both sides."""
    variable = Categorical("kind", values)
    column = pd.Series([values[-1], "never seen"], dtype=object)
    with pytest.raises(ValueError, match=r"'kind'.*never seen in training: 'never"):
        encode(variable, column)
    columns = encode(variable, column, "first_level")
    np.testing.assert_array_equal(columns[0], variable.encode_choices()[-1])
    assert not columns[1].any()


# -- terms -----------------------------------------------------------------------------


@kinds
def test_a_term_is_the_weights_times_the_columns(rng, case):
    """On every raw cell, seen or not."""
    variable, cells = case
    weights = weights_of(rng, variable)
    term = variable.term(weights)
    sums = encode(variable, cells) @ weights
    if term is None:
        assert not sums.any()
        return
    assert term.name == variable.name
    scale = np.abs(sums).max()
    found = [term.value(cell) for cell in cells]
    np.testing.assert_allclose(found, sums, rtol=1e-12, atol=1e-14 * scale)


@kinds
def test_summands_add_up_to_the_term(rng, case):
    """Each is weight (x - lower) / span of a raw column x, in the columns' order."""
    variable, cells = case
    weights = weights_of(rng, variable)
    term = variable.term(weights)
    if term is None:
        return
    summands = term.summands()
    columns = [summand.column for summand in summands]
    assert set(np.flatnonzero(weights)) <= set(columns)
    assert [summand.weight for summand in summands] == weights[columns].tolist()
    shift = sum(s.begins for s in summands)
    for cell in cells:
        raw = sum(
            s.raw_weight * x for s, x in zip(summands, term.raw(cell), strict=True)
        )
        size = sum(abs(s.weight) * max(s.largest / s.span, 1.0) for s in summands)
        assert raw - shift == pytest.approx(term.value(cell), rel=0, abs=1e-9 * size)
    for cell in cells:
        if is_missing(cell):
            continue
        parts = [
            s.weight * ((x - s.lower) / s.span)
            for s, x in zip(summands, term.raw(cell), strict=True)
        ]
        assert sum(parts) == pytest.approx(term.value(cell), rel=1e-12, abs=1e-13)


@kinds
def test_the_points_of_a_score_are_levels_those_of_a_curve_numbers(rng, case):
    """A summand says which of the two it is, if it is either."""
    variable, _ = case
    term = variable.term(weights_of(rng, variable))
    for summand in () if term is None else term.summands():
        kind = str if summand.is_score else float
        assert all(isinstance(at, kind) for at, _ in summand.points)
        assert summand.is_score == (
            variable.choices is not None and summand.points != ()
        )


@kinds
def test_the_size_of_a_term_is_the_most_it_adds_in_training(rng, case):
    """No cell of the range adds or takes more, and some does as much."""
    variable, cells = case
    term = variable.term(weights_of(rng, variable))
    if term is None:
        return
    if variable.choices is None and variable.origin is None:
        cells = [variable.decode(place) for place in np.linspace(0.0, 1.0, 11)]
        cells += [*variable.bends, *[None] * variable.takes_missing]
    if variable.origin is None:
        assert max(abs(term.value(cell)) for cell in cells) == pytest.approx(term.size)
    for summand in term.summands():
        assert summand.largest == max(
            abs(summand.lower), abs(summand.lower + summand.span)
        )


@kinds
def test_a_term_times_a_factor_adds_so_much_more(rng, case):
    """Its name and its kind stay."""
    variable, cells = case
    term = variable.term(weights_of(rng, variable))
    if term is None:
        return
    more = term.times(-2.0)
    assert type(more) is type(term)
    assert more.name == term.name
    # Times a power of two every product is exact.
    assert [more.value(c) for c in cells] == [-2.0 * term.value(c) for c in cells]


@kinds
def test_no_weight_makes_no_term(case):
    """A variable without a say is not named in a cut."""
    variable, _ = case
    assert variable.term(np.zeros(len(variable.column_names))) is None


def test_a_constant_has_no_term_whatever_its_weight():
    """It adds nothing that could tell two rows apart."""
    assert Numeric("size", 7.0, 0.0).term(np.ones(1)) is None


def test_a_term_takes_unknown_levels_as_its_policy_says():
    """An error that names the column, or 0."""
    variable, weights = Categorical("kind", ("a", "b")), np.array([0.5])
    with pytest.raises(ValueError, match="'kind' has the level 'z', never seen"):
        variable.term(weights).value("z")
    assert variable.term(weights, "first_level").value("z") == 0.0


# -- cells of files --------------------------------------------------------------------


@kinds
def test_cells_of_a_file_are_taken_as_training_had_them(case):
    """Written as text they mean the same."""
    variable, cells = case
    expected = encode(variable, cells)
    as_text = [None if is_missing(cell) else str(cell) for cell in cells]
    for written in (cells.tolist(), as_text):
        taken = pd.Series(variable.take(written))
        np.testing.assert_array_equal(encode(variable, taken), expected)


@pytest.mark.parametrize(
    ("cells", "row", "words"),
    [
        ([1.0, "x", 2.0], 2, "must hold numbers, got 'x'"),
        (["1_000"], 1, "must hold numbers, got '1_000'"),
        ([True, 1.0], 1, "must hold numbers, got True"),
        ([1.0, np.inf, -np.inf], 2, "must hold finite numbers, got inf"),
        (["1e999"], 1, "must hold finite numbers, got inf"),
        ([1, 10**400], 2, "must hold"),
    ],
)
def test_a_cell_that_is_no_number_is_named_with_its_row(cells, row, words):
    """Rows count from 1, the first bad one is told."""
    cells = np.array(cells, dtype=object)
    with pytest.raises(CellError, match=f"{words}.* in row {row}$"):
        Numeric("size", 0.0, 1.0).take(cells)


def test_a_level_that_training_never_saw_is_named_with_its_row():
    """Unless it may count as the first, then it is left as it is."""
    variable = Categorical("kind", ("a", "b"))
    with pytest.raises(CellError, match=r"has the level 'z' in row 3.*'a', 'b'"):
        variable.take(["a", "b", "z", "y"])
    assert variable.take(["a", "z"], "first_level").tolist() == ["a", "z"]


def test_truth_is_read_however_it_is_written():
    """True, true and TRUE are one level; 1 is not text."""
    variable = Categorical("kind", (False, True))
    taken = variable.take(["True", "true", "TRUE", "false", False, True])
    assert taken.tolist() == [True, True, True, False, False, True]
    assert Categorical("kind", ("1", "2")).take([1, 2]).tolist() == ["1", "2"]
    assert Categorical("kind", (1, 2)).take(["1", "2"]).tolist() == [1, 2]


# -- files -----------------------------------------------------------------------------


@kinds
def test_a_variable_survives_json(case):
    """Kind, name and every number or level."""
    again = variable_from_dict(json.loads(json.dumps(case.variable.to_dict())))
    assert again == case.variable
    assert type(again) is type(case.variable)
    if case.variable.choices is not None:
        kinds = [type(level) for level in case.variable.choices]
        assert [type(level) for level in again.choices] == kinds


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "must be an object"),
        ([], "must be an object"),
        ({}, "'name' is missing"),
        ({"name": 3, "lower": 0.0, "span": 1.0}, "'name'"),
        ({"name": "x", "span": 1.0}, "'lower' is missing"),
        ({"name": "x", "lower": 0.0}, "'span' is missing"),
        ({"name": "x", "lower": "0", "span": 1.0}, "'lower'"),
        ({"name": "x", "lower": 0.0, "span": True}, "'span'"),
        ({"name": "x", "lower": 0.0, "span": -1.0}, "range of variable 'x' is neg"),
        ({"name": "x", "lower": float("nan"), "span": 1.0}, "'lower' must be a fin"),
        ({"name": "x", "lower": 0.0, "span": float("inf")}, "'span' must be a fin"),
        ({"name": "x", "lower": 10**400, "span": 1.0}, "'lower' must be a finite"),
        ({"name": "x", "levels": "ab"}, "'levels' is missing or of the wrong"),
        ({"name": "x", "levels": []}, "levels of variable 'x'"),
        ({"name": "x", "levels": [None]}, "levels of variable 'x'"),
        ({"name": "x", "levels": [["a"]]}, "levels of variable 'x'"),
        ({"name": "x", "levels": ["a", 1]}, "levels of variable 'x'"),
        ({"name": "x", "levels": ["a", "a"]}, "levels of variable 'x' repeat"),
        ({"name": "x", "levels": [1, 1.0]}, "levels of variable 'x' repeat"),
        ({"levels": ["a"]}, "'name' is missing"),
    ],
)
def test_damaged_plain_data_are_refused(data, words):
    """The message names the field or the variable."""
    with pytest.raises(ValueError, match=words):
        variable_from_dict(data)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b"], str),
        ([True, False], bool),
        ([1, 2.5], float),
        ([1, True], None),
        (["a", 1], None),
        ([np.inf, 1.0], None),
        ([10**400], None),
        ([("a", 1)], None),
        ([None], None),
    ],
)
def test_levels_are_of_one_plain_kind_or_none(values, kind):
    """Text, truth or finite numbers; nothing else comes back from a file."""
    assert kind_of_levels(values) is kind


def test_the_median_of_the_largest_numbers_is_a_number():
    """Though the sum of the two in the middle is none."""
    learned = learn_number("a", np.array([1.7e308, 1.6e308]), None, "minmax")
    assert learned.median == pytest.approx(1.65e308)
