"""TableEncoder: any table becomes columns in [0, 1], as scikit-learn's parts would."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from sorct.data.as_text import dates_as_text, numbers_as_text
from sorct.data.categorical import Categorical
from sorct.data.encoder import TableEncoder
from sorct.data.options import PAPER_TABLE, TableOptions


def mixed_table(rng, n=60):
    """Numbers and categories of several dtypes; every level occurs."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "city": rng.permutation(np.resize(["Oslo", "Rome", "Bonn"], n)),
            "year": rng.uniform(1950.0, 2020.0, n),
            "grade": pd.Categorical(
                rng.permutation(np.resize(["low", "mid", "high"], n)),
                categories=["low", "mid", "high"],
            ),
            "member": rng.permutation(np.resize([True, False], n)),
        }
    )


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng)


def encode(X, **options):
    """Learn from a table and encode it."""
    return TableEncoder.learn(X, **options).encode(X)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_numbers_are_scaled_as_by_scikit_learn(rng, kind):
    """Frame, array or lists: min-max into [0, 1]."""
    X = rng.normal(rng.normal(0.0, 100.0, 5), rng.uniform(0.1, 9.0, 5), (40, 5))
    scaled = encode(kind(X))
    np.testing.assert_allclose(scaled, MinMaxScaler().fit_transform(X), atol=1e-13)
    assert scaled.min() == 0.0
    assert scaled.max() == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda v: pd.Series(np.array(list("abcd"))[v], dtype=object),
        lambda v: pd.Series(np.array(list("abcd"))[v], dtype="string"),
        lambda v: pd.Series(np.array(list("abcd"))[v], dtype="category"),
        lambda v: pd.Series(v * 10, dtype=object),
        lambda v: pd.Series(v * 10).astype("category"),
        lambda v: pd.Series(v * 0.5).astype("category"),
        lambda v: pd.Series(v > 1, dtype=bool),
        lambda v: pd.Series(v > 1, dtype="boolean"),
        lambda v: pd.Series(v > 1, dtype=object),
    ],
)
def test_categories_are_coded_as_by_scikit_learn(rng, make):
    """One 0/1 column per level but the first."""
    column = make(rng.permutation(np.arange(40) % 4))
    expected = OneHotEncoder(drop="first", sparse_output=False).fit_transform(
        column.astype(object).to_frame()
    )
    np.testing.assert_array_equal(encode(pd.DataFrame({"v": column})), expected)


@pytest.mark.parametrize("levels", [["c", "a", "b"], [3, 1, 2], [0.5, -2.0, 7.0]])
@pytest.mark.parametrize("ordered", [False, True])
def test_the_order_of_a_category_is_the_users(levels, ordered):
    """The first level listed is the reference; levels that never occur do not count."""
    unused = type(levels[0])("9")
    column = pd.Categorical(levels * 3, categories=[*levels, unused], ordered=ordered)
    encoder = TableEncoder.learn(pd.DataFrame({"v": column}))
    assert encoder.variables == (Categorical("v", tuple(levels), levels[0]),)
    assert encoder.column_names == tuple(f"v = {level}" for level in levels[1:])
    expected = np.tile(np.eye(3)[:, 1:], (3, 1))
    np.testing.assert_array_equal(encoder.encode(pd.DataFrame({"v": column})), expected)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int8", "float32", "UInt16"])
def test_every_numeric_dtype_is_a_number(dtype):
    """Nullable or not, 0, 5, 10 become 0, 0.5, 1."""
    X = pd.DataFrame({"v": pd.Series([0, 5, 10], dtype=dtype)})
    np.testing.assert_array_equal(encode(X), [[0.0], [0.5], [1.0]])


def test_columns_stay_in_the_order_of_the_table(table):
    """Each variable's columns follow those of the variables to its left."""
    encoder = TableEncoder.learn(table)
    assert encoder.column_names == (
        *("age", "city = Oslo", "city = Rome", "year"),
        *("grade = mid", "grade = high", "member = True"),
    )
    np.testing.assert_array_equal(encoder.column_variable, [0, 1, 1, 2, 3, 3, 4])
    encoded = encoder.encode(table)
    for j, (name, level) in {1: ("city", "Oslo"), 5: ("grade", "high")}.items():
        np.testing.assert_array_equal(encoded[:, j], table[name] == level)


@pytest.mark.parametrize("value", [0.0, -3.0, 0.1, 1e300, 1e-300])
def test_constant_columns_become_zeros(value):
    """Whatever comes at prediction, a column that never varied says nothing."""
    encoder = TableEncoder.learn(np.full((4, 1), value))
    assert encoder.variables[0].span == 0.0
    np.testing.assert_array_equal(encoder.encode([[value], [7.0]]), [[0.0], [0.0]])


def test_a_span_lost_in_rounding_is_constant():
    """Values that differ in their last bit only carry noise."""
    noisy = np.array([[0.1], [np.nextafter(0.1, 1.0)]])
    np.testing.assert_array_equal(encode(noisy), np.zeros((2, 1)))


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e12])
def test_magnitudes_stay_in_the_unit_interval(rng, scale, offset):
    """Ends are exact, order is kept, nothing overflows."""
    values = np.sort(rng.uniform(-1.0, 1.0, 30)) * scale
    values = values + offset if scale == 1.0 else values
    scaled = encode(values.reshape(-1, 1)).ravel()
    assert (scaled[0], scaled[-1]) == (0.0, 1.0)
    assert np.all(np.diff(scaled) >= 0.0)
    assert len(np.unique(scaled)) == 30


def test_a_span_beyond_floats_is_refused_by_name():
    """The difference of the largest floats is infinite."""
    X = pd.DataFrame({"fine": [0.0, 1.0], "vast": [-1.7e308, 1.7e308]})
    with pytest.raises(ValueError, match="'vast'.*rescale"):
        TableEncoder.learn(X)


def test_new_rows_may_leave_the_unit_interval():
    """Prediction extrapolates; it does not clip."""
    encoder = TableEncoder.learn([[0.0], [2.0]])
    np.testing.assert_array_equal(encoder.encode([[-2.0], [3.0]]), [[-1.0], [1.5]])


@pytest.mark.filterwarnings("ignore:Column 'member' has levels of another type")
@pytest.mark.parametrize("name", ["city", "grade", "member"])
def test_unknown_levels_are_an_error_or_the_first_level(table, name):
    """The error names column, level and the levels known; the policy recodes."""
    odd = table.astype({name: object})
    odd.loc[3, name] = "Mars"
    levels = TableEncoder.learn(table).variables[table.columns.get_loc(name)].levels
    with pytest.raises(ValueError, match=f"{name!r}.*'Mars'.*{levels[0]!r}"):
        TableEncoder.learn(table).encode(odd)
    lenient = TableEncoder.learn(
        table, replace(PAPER_TABLE, handle_unknown="first_level")
    )
    known = odd.copy()
    known.loc[3, name] = levels[0]
    np.testing.assert_array_equal(lenient.encode(odd), lenient.encode(known))


def test_columns_are_matched_by_name(rng, table):
    """Any order gives the same encoding."""
    encoder = TableEncoder.learn(table)
    shuffled = table[rng.permutation(table.columns)]
    np.testing.assert_array_equal(encoder.encode(shuffled), encoder.encode(table))


def test_missing_and_extra_columns_are_named(table):
    """Both lists, in one message."""
    encoder = TableEncoder.learn(table)
    other = table.rename(columns={"city": "town"}).drop(columns="age")
    with pytest.raises(ValueError, match="missing: 'age', 'city'.*training: 'town'"):
        encoder.encode(other)


def test_a_table_with_categories_cannot_be_an_array(table):
    """The message asks for a data frame."""
    encoder = TableEncoder.learn(table)
    with pytest.raises(ValueError, match="DataFrame.*ndarray"):
        encoder.encode(np.zeros((2, 5)))


def test_a_number_cannot_become_text(table):
    """The message names the column and what came."""
    with pytest.raises(ValueError, match="'age' was numeric.*object"):
        TableEncoder.learn(table).encode(table.astype({"age": object}))


def test_some_rows_and_columns_are_a_part_of_the_whole(table):
    """Scaling block by block and column by column changes nothing."""
    encoder = TableEncoder.learn(table)
    part = encoder.scale(encoder.read(table), slice(10, 25), np.array([5, 0, 2]))
    np.testing.assert_array_equal(part.T, encoder.encode(table)[10:25, [5, 0, 2]])


def test_numbers_as_text_are_warned_of():
    """By the names of their columns, unless they are said to be categories."""
    X = pd.DataFrame(
        {
            "price": ["$1,200", "$900", None] * 4,
            "share": ["5%", "7%", "9%"] * 4,
            "late": [*["1"] * 11, "x"],
            "code": pd.Categorical(["1", "2", "3"] * 4),
        }
    )
    with pytest.warns(UserWarning, match="column 'price', 'share': .*read_table"):
        TableEncoder.learn(X)
    named = replace(PAPER_TABLE, categorical_features=["price", "share"])
    assert TableEncoder.learn(X, named).variables[0].takes_missing


def test_dates_as_text_are_warned_of():
    """However they are written, unless a cell is none or they are categories."""
    X = pd.DataFrame(
        {
            "since": ["2024-01-31", "2023-05-01", None] * 4,
            "until": ["31.01.24", "1.5.2023", "02.02.2024"] * 4,
            "due": ["01/02/2024", "03/04/2024", "05/06/2024"] * 4,
            "late": [*["2024-01-31"] * 11, "soon"],
            "month": pd.Categorical(["2024-01", "2024-02", "2024-03"] * 4),
        }
    )
    assert [dates_as_text(X[name]) for name in X] == [True, False, True, False, False]
    with pytest.warns(UserWarning, match="Dates .* column 'since', 'due': .*datetime"):
        TableEncoder.learn(X)
    assert not dates_as_text(pd.Series(["may", "june"]))
    assert not dates_as_text(pd.Series(["1.5", "2.25"], dtype=object))


def test_rows_count_by_their_weights():
    """Whole weights are numbers of rows; of others only the proportions count."""
    levels = pd.Series(["a"] * 6 + ["b"] * 3 + ["c"] * 2)
    X = pd.DataFrame({"level": levels, "number": np.arange(11.0)})
    options = TableOptions(min_frequency=4)

    def learned(weight):
        return TableEncoder.learn(X, options, np.asarray(weight, dtype=float)).variables

    twice = np.repeat([1.0, 2.0, 1.0], [6, 3, 2])
    rows = X.loc[np.repeat(X.index, twice.astype(int))]
    assert learned(twice) == TableEncoder.learn(rows, options).variables
    assert learned(np.full(11, 2.0))[0].levels == ("a", "b", "c")
    once = TableEncoder.learn(X, options).variables
    assert once[0].levels == ("a",)
    assert learned(np.full(11, 0.3)) == once
    assert learned(np.full(11, 1.0 / 11.0)) == once
    assert learned(twice / 3.0)[0].levels == ("a", "b")
    heavy = np.repeat([1.0, 5.0, 1.0], [6, 3, 2])
    assert (learned(twice)[0].mode, learned(heavy)[0].mode) == ("a", "b")
    assert learned(heavy)[1].median == 7.0


def test_text_of_many_rows_is_known_by_its_first_cells():
    """Later cells, which would be refused, are not looked at."""
    column = pd.Series([*["a"] * 50, *["1"] * 1000])
    seen = []

    class Watched(str):
        def strip(self, *_):
            seen.append(self)
            return super().strip()

    assert not numbers_as_text(column.map(Watched).astype(object))
    assert len(seen) <= 50


def test_the_largest_numbers_overflow_nowhere():
    """Neither when a table is learned from nor when it is read."""
    X = np.full((4, 2), 1.7e308)
    X[0] = 1.6e308
    for options in (TableOptions(), TableOptions(handle_missing="typical")):
        encoded = TableEncoder.learn(X, options).encode(X)
        assert np.all((encoded >= 0.0) & (encoded <= 1.0))


@pytest.mark.every_case
@pytest.mark.parametrize("odd", [{"a": 1}, [1], object()], ids=["dict", "list", "any"])
def test_a_column_of_odd_objects_is_named_with_a_cure(odd):
    """In words that scikit-learn's checks look for, too."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "odd": [odd, odd, type(odd)()]})
    told = (
        r"Column 'odd' holds values of type .*argument must be a string or a number.*"
        r"Convert the column, for example with astype\(str\), or leave it out\."
    )
    with pytest.raises(TypeError, match=told):
        TableEncoder.learn(frame, TableOptions(), np.ones(3))
