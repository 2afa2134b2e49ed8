"""A file as people have it becomes a table to train on, and all is said at once."""

import datetime
import io
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorct import read_table
from sorct.data.columns import read_columns
from sorct.data.reading import Roles, read_training
from sorct.data.sheet import ReadingError, ReadOptions, open_sheet
from tests.budget import examples

check = settings(derandomize=True, deadline=None, max_examples=examples(12))
N = 40


def read(text, **options):
    """Columns of a CSV text and how each was read; problems are raised."""
    content = text if isinstance(text, bytes) else text.encode()
    sheet = open_sheet("t.csv", content, ReadOptions(**options))
    found = read_columns(sheet, sheet.columns)
    if found.problems:
        raise ReadingError.of("t.csv", found.problems)
    return found.frame, {one.name: one for one in found.readings}


def column(cells, delimiter=",", **options):
    """A single column beside one of text, and how it was read."""
    frame = pd.DataFrame({"x": cells, "w": ["u", "v"] * (len(cells) // 2)})
    found, how = read(frame.to_csv(index=False, sep=delimiter), **options)
    return found["x"], how["x"]


@pytest.fixture
def save(tmp_path):
    """Write a frame or a text and read it as a table."""

    def call(what, **options):
        path = tmp_path / "table.csv"
        if isinstance(what, pd.DataFrame):
            what.to_csv(path, index=False)
        else:
            path.write_text(what, encoding="utf-8")
        return read_table(path, **options)

    return call


# -- cells -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "expected", "note"),
    [
        (["$8,113.06", "$950"], [8113.06, 950.0], "'$8,113.06' is read as 8113.06"),
        (["62%", "5%"], [0.62, 0.05], "'62%' is read as 0.62"),
        (["(1,200)", "300"], [-1200.0, 300.0], "'(1,200)' is read as -1200.0"),
        (["1,234", "56"], [1234.0, 56.0], "'1,234' is read as 1234.0"),
        (["3,5", "4,25"], [3.5, 4.25], "has decimal commas"),
        ([" 1.5 ", "2"], [1.5, 2.0], None),
        (["1.5", "-"], [1.5, np.nan], "'-' counts as missing"),
        (["1.5", "none"], [1.5, np.nan], "'none' counts as missing"),
        (["1.5", "n/a"], [1.5, np.nan], None),
        (["1.5", ""], [1.5, np.nan], None),
    ],
)
def test_numbers_are_read_and_it_is_said_how(cells, expected, note):
    """Whatever signs they have."""
    found, how = column(cells)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert (how.kind, how.notes) == ("number", () if note is None else (note,))
    assert how.n_missing == int(np.isnan(expected).sum())


@check
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False, width=32),
        min_size=2,
        max_size=20,
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_numbers_come_back_as_pandas_writes_them(values, delimiter):
    """To the last bit; with semicolons, unless 1.234 may be a thousand."""
    frame = pd.DataFrame({"x": values, "half": 0.5})
    found, _ = read(frame.to_csv(index=False, sep=delimiter))
    np.testing.assert_array_equal(found["x"].to_numpy(dtype=float), frame["x"])


@check
@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20))
def test_decimal_commas_are_told_by_the_file(values):
    """And thousands have points then."""
    cells = [f"{value:,.2f}".translate({44: ".", 46: ","}) for value in values]
    frame = pd.DataFrame({"x": cells, "whole": "1.234"})
    found, how = read(frame.to_csv(index=False, sep=";"))
    np.testing.assert_array_equal(found["x"], [round(value, 2) for value in values])
    assert set(found["whole"]) == {1234.0}
    assert how["whole"].notes == ("'1.234' is read as 1234.0",)


def test_points_between_semicolons_stay_points():
    """If any column shows one."""
    for other in ("0.5", "1.5", "1234.567", "3.14159", "0.5\n1.234;inf"):
        found, _ = read(f"x;y\n2.345;7\n1.234;{other}\n")
        found = found[:2][::-1]
        assert found["x"].tolist() == [1.234, 2.345]


@pytest.mark.parametrize("cell", ["1.234", "1,234"])
def test_nobody_knows_the_mark(cell):
    """Between semicolons, if no column shows one; then it must be said."""
    text = f"x;y\n{cell};5\n{cell};7\n"
    with pytest.raises(ReadingError, match=f"'x' has '{cell}', which is 1.*say which"):
        read(text)
    mark, other = cell[1], {".": ",", ",": "."}[cell[1]]
    assert read(text, decimal=mark)[0]["x"].tolist() == [1.234] * 2
    assert read(text, decimal=other)[0]["x"].tolist() == [1234.0] * 2


def test_columns_of_one_file_may_show_different_marks():
    """Each is read by its own; what shows none has the usual one."""
    found, _ = read('a,b,c\n"3,5",2.5,"1,234"\n"4,5",3.5,"5,678"\n')
    assert found.to_dict("list") == {
        "a": [3.5, 4.5],
        "b": [2.5, 3.5],
        "c": [1234, 5678],
    }


def test_a_few_words_among_numbers_are_named():
    """The column is text then; with the word as missing it is numbers."""
    cells = ["1", "2", "3,000", "?", "unknown", "6"]
    found, how = column(cells)
    assert how.kind == "text"
    assert found.tolist()[4] == "unknown"
    (told,) = how.warnings
    assert "4 of its 5 distinct values are numbers" in told
    assert "'unknown', first in row 5" in told
    found, how = column(cells, missing=("unknown",))
    assert (how.kind, how.n_missing, how.warnings) == ("number", 2, ())


def test_many_words_among_numbers_are_words():
    """Nothing is said of it."""
    _, how = column(["1", "u", "v", "w"])
    assert (how.kind, how.warnings) == ("text", ())


@pytest.mark.parametrize("cells", [["5%", "6"], ["$5", "€6"]])
def test_units_that_differ_are_said(cells):
    """And not mixed up."""
    _, how = column(cells)
    assert how.kind == "text"
    assert "differ in their units" in how.warnings[0]


@pytest.mark.parametrize("word", ["None", "none"])
def test_none_is_a_word_among_words(word):
    """No sewer is not an unknown sewer."""
    found, how = column([word, "septic", "public", "public"])
    assert found.tolist()[0] == word
    assert how.n_missing == 0


def test_a_minus_beside_a_plus_is_no_gap():
    """It is one alone."""
    assert column(["+", "-"])[1].n_missing == 0
    assert column(["u", "-"])[1].n_missing == 1


def test_blanks_are_taken_off_and_capitals_noted():
    """Levels stay apart."""
    found, how = column([" Paris", "paris", "Paris ", "Rome"])
    assert found.tolist() == ["Paris", "paris", "Paris", "Rome"]
    assert how.notes == (
        "'Paris', 'paris' are levels that differ by their capitals only",
    )


def test_true_and_false_with_gaps():
    """Are still no text."""
    found, how = column(["TRUE", "false", "?", "True"])
    assert how.kind == "true/false"
    assert found.dropna().tolist() == [True, False, True]
    assert how.n_missing == 1


def test_dates_are_dates():
    """Gaps included; the order is told by the column, or must be said."""
    found, how = column(["31/01/2024", "", "01/02/2024", "05/02/2024"])
    assert how.kind == "date"
    assert how.values == "2024-01-31 to 2024-02-05"
    assert found.dtype.kind == "M"
    assert found.isna().tolist() == [False, True, False, False]
    with pytest.raises(ReadingError, match="dates='day-first' or dates='month-first'"):
        column(["01/02/2024", "03/04/2024"])
    found, _ = column(["01/02/2024", "03/04/2024"], dates="month-first")
    assert found.dt.month.tolist() == [1, 3]
    _, how = column(["2024-01-31", "2024-02-01", "2024-02-02", "soon"])
    assert (
        "3 of its 4 distinct values are dates; the others are 'soon'"
        in (how.warnings[0])
    )


# -- files -----------------------------------------------------------------------------


def test_rows_that_are_too_short_or_too_long_are_named():
    """Wherever they stand, with and without quotes."""
    for text, line in [
        ("a,b\n1,2\n3\n", 3),
        ("a,b\n1,2,3\n4,5\n", 2),
        ("a,b\n1,2\n3,4,5\n", 3),
        ('a,b\n"1",2\n"3"\n', 3),
    ]:
        with pytest.raises(ReadingError, match=f"t.csv, line {line}: got"):
            read(text)


def test_a_last_column_with_gaps_is_no_short_row():
    """Blank lines neither."""
    for text in ("a,b\n1,\n\n3,4\n", 'a,b\n"1",\n3,4\n', "a,b\r\n1,\r\n3,4\r\n"):
        assert read(text)[0]["b"].isna().tolist() == [True, False]


def test_a_comma_in_the_header_does_not_beat_semicolons():
    """Of two delimiters that fit the comma is taken last."""
    found, _ = read("name;price, EUR\nu;1,5\nv;2,5\n")
    assert found.columns.tolist() == ["name", "price, EUR"]


def test_all_problems_are_in_one_message(save):
    """Not one column per run."""
    days = ["01/02/2024", "03/04/2024"] * 5
    frame = pd.DataFrame({"one": days, "two": days, "y": ["u", "v"] * 5})
    with pytest.raises(ValueError, match="table.csv has 2 problems") as caught:
        save(frame)
    assert "(1) column 'one'" in str(caught.value)
    assert "(2) column 'two'" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "Y"}, "no column 'Y' in .*; did you mean 'y'?"),
        ({"drop": ["z"]}, "no column 'z'"),
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"dates": "iso"}, "dates must be one of 'day-first', 'month-first'"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
    ],
)
def test_options_that_make_no_sense(save, options, message):
    """Are refused."""
    with pytest.raises(ValueError, match=message):
        save("x,y\n1,2\n3,4\n", **options)


def test_names_must_be_text(save):
    """Positions are not meant."""
    with pytest.raises(TypeError, match="keep must be a list of str"):
        save("x,y\n1,2\n", keep=[0])
    with pytest.raises(TypeError, match="ordered must be a mapping"):
        save("x,y\n1,2\n", ordered=["x"])
    with pytest.raises(TypeError, match="target must be str or None"):
        save("x,y\n1,2\n", target=datetime.timedelta(1))
    with pytest.raises(TypeError, match="decimal must be str or None"):
        save("x,y\n1,2\n", decimal=pl.DataFrame({"a": [None, 1.0]}))


# -- tables to train on ----------------------------------------------------------------


def plain_table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"x": rng.normal(size=N).round(3), "y": rng.choice(["yes", "no"], N)}
    )


def test_a_plain_table_is_read_without_a_word(save):
    """As pandas reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = save(plain_table(), target="y")
    pd.testing.assert_frame_equal(found, plain_table(), check_dtype=False)


def test_how_it_was_read_is_at_hand(save, tmp_path):
    """As plain data, which survives a Parquet file."""
    found = save(plain_table(), target="y")
    assert [one["kind"] for one in found.attrs["sorct"]] == ["number", "text"]
    json.dumps(found.attrs)
    if pytest.importorskip("pyarrow"):
        found.to_parquet(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("who", [f"p{k}" for k in range(N)], "another value in every row"),
        ("row", range(N), "counts the rows"),
        ("row", range(1, N + 1), "counts the rows"),
        ("CustomerID", [7 * k % 41 + 100 for k in range(N)], "it is an id"),
        ("const", ["u"] * N, "all its cells are the same"),
        ("empty", ["?"] * N, "all its cells are missing"),
    ],
)
def test_what_is_no_variable_is_left_out(save, name, cells, reason):
    """With a word of it, unless it is kept or dropped by name."""
    frame = plain_table().assign(**{name: cells})
    with pytest.warns(UserWarning, match=f"'{name}' is left out: .*{reason}"):
        found = save(frame, target="y")
    assert list(found.columns) == ["x", "y"]
    assert list(save(frame, target="y", keep=[name]).columns) == ["x", "y", name]
    assert list(save(frame, target="y", drop=name).columns) == ["x", "y"]


@pytest.mark.parametrize(
    "cells",
    [
        [k * 0.5 for k in range(N)],
        [k + 2 for k in range(N)],
        ["u"] * (N - 1) + [None],
        [f"2024-01-{k % 28 + 1:02d} {k % 24:02d}:{k:02d}" for k in range(N)],
    ],
)
def test_what_is_a_variable_stays(save, cells):
    """Numbers and dates in any order, and a level or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "v" in save(plain_table().assign(v=cells), target="y").columns


def test_columns_without_a_name_are_left_out(save):
    """An index that another program wrote."""
    with pytest.warns(UserWarning, match="1 column\\(s\\) without a name; left out"):
        found = save(",a\n0,5\n1,6\n2,5\n")
    assert list(found.columns) == ["a"]


def test_spellings_of_a_class_become_one(save):
    """The one that most rows have."""
    frame = plain_table()
    frame["y"] = [" no" if k % 2 else "yes" for k in range(N)]
    frame.loc[[0, 1], "y"] = ["Yes ", "NO"]
    found = save(frame, target="y")
    assert found["y"].tolist() == ["yes", "no"] * (N // 2)
    notes = found.attrs["sorct"][-1]["notes"]
    assert list(notes) == ["'Yes' is taken for 'yes'", "'NO' is taken for 'no'"]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["0", "1"], "i"),
        (["True", "False"], "b"),
        (["01", "02"], "O"),
        (["-", "?"], "O"),
    ],
)
def test_classes_keep_their_meaning(save, labels, kind):
    """Whole numbers and truth as such; marks may be classes."""
    frame = plain_table().assign(y=labels * (N // 2))
    found = save(frame, target="y")["y"]
    assert found.dtype.kind == kind
    assert found.astype(str).tolist() == frame["y"].tolist()


def test_a_quantity_is_a_number(save):
    """Though it is the target."""
    frame = plain_table().assign(y=[f"{1.5 * k:.1f}" for k in range(N)])
    assert save(frame, target="y")["y"].tolist() == [1.5 * k for k in range(N)]


def test_whole_numbers_are_classes_however_many(save):
    """They keep their type."""
    frame = plain_table().assign(y=np.arange(N) // 2)
    found = save(frame, target="y")["y"]
    assert found.dtype.kind == "i"
    assert found.tolist() == frame["y"].tolist()


def test_codes_stay_text_if_asked_for(save):
    """Zeros in front included."""
    frame = plain_table().assign(code=["01", "02"] * (N // 2))
    found = save(frame, target="y", categorical_features=["code"])["code"]
    assert found.dtype.name == "category"
    assert set(found) == {"01", "02"}


LEAKS = {
    "one to one": lambda y: np.where(y == "yes", "left", "stayed"),
    "each of its values has one class": lambda y: np.where(
        y == "yes", np.where(np.arange(N) % 2, "left", "gone"), "stayed"
    ),
    "each class has a range of its own": lambda y: (
        np.where(y == "yes", 50.0, 0.0) + np.arange(N) / 7
    ),
    "whether it is missing": lambda y: np.where(y == "yes", np.arange(N) / 7, np.nan),
}


@pytest.mark.parametrize("how", LEAKS)
def test_what_decides_the_target_is_named(save, how):
    """And not left out."""
    frame = plain_table()
    frame["after"] = LEAKS[how](frame["y"].to_numpy())
    with pytest.warns(UserWarning, match=f"'after' decides 'y' by itself .*{how}"):
        found = save(frame, target="y")
    assert "after" in found.columns
    rng = np.random.default_rng(1)
    frame["after"] = rng.permutation(frame["after"].to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(frame, target="y")


@pytest.mark.parametrize("after", [np.log, lambda wage: -3.0 * wage])
def test_what_goes_with_a_quantity_row_by_row_is_named(save, after):
    """Its logarithm, or the same in other units; what only follows it is not."""
    rng = np.random.default_rng(0)
    wage = rng.lognormal(3.0, 0.5, 200)
    frame = pd.DataFrame({"after": after(wage), "wage": wage})
    frame["near"] = wage + rng.normal(0.0, 1.0, 200)
    with pytest.warns(UserWarning, match="'after' decides 'wage' by itself") as caught:
        save(frame, target="wage")
    assert "near" not in str(caught[0].message)


def test_a_leak_of_a_large_table_is_found(save):
    """By a sample first."""
    rng = np.random.default_rng(0)
    y = rng.choice(["u", "v", "w"], 30_000)
    after = pd.Series(y).map({"u": 0.0, "v": 10.0, "w": 20.0}) + rng.uniform(
        0, 5, 30_000
    )
    frame = pd.DataFrame({"after": after, "noise": rng.normal(size=30_000), "y": y})
    with pytest.warns(UserWarning, match="'after' decides 'y'") as caught:
        save(frame, target="y")
    assert "noise" not in str(caught[0].message)


def test_text_with_many_levels_is_warned_of(save):
    """It is hardly a category."""
    frame = pd.concat([plain_table()] * 5, ignore_index=True)
    frame["w"] = [f"w{min(k, 150)}" for k in range(len(frame))]
    told = r"'w' has 151 distinct values in 200 rows; it may be .* \(drop='w'\)\.$"
    with pytest.warns(UserWarning, match=told):
        save(frame, target="y")


def test_parquet_is_read_by_its_types(tmp_path):
    """Dates as dates, decimals as floats, what cannot be used in one message."""
    pytest.importorskip("pyarrow")
    frame = plain_table().assign(
        day=pd.date_range("2024-01-01", periods=N), number=["1.5", "2"] * (N // 2)
    )
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(
        UserWarning, match="'number' is text in which every cell is a nu"
    ):
        found = read_table(tmp_path / "t.parquet", target="y")
    assert found["day"].dtype.kind == "M"
    assert found["number"].tolist() == frame["number"].tolist()
    frame.assign(a=[[1]] * N, b=[b"u"] * N).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        ValueError, match=r"(?s)2 problems.*'a' holds lists.*'b' holds b"
    ):
        read_table(tmp_path / "t.parquet")


def test_bytes_of_another_encoding_are_said(tmp_path):
    """With the cure, which works."""
    path = tmp_path / "t.csv"
    path.write_bytes("café,y\n1,é\n2,b\n".encode("cp1252"))
    with pytest.raises(ValueError, match="not UTF-8: line 1 .* encoding='cp1252'"):
        read_table(path)
    assert list(read_table(path, encoding="cp1252").columns) == ["café", "y"]
    path.write_bytes("café;y\n1,5;é\n2,5;b\n".encode("utf-16"))
    assert read_table(path, encoding="utf-16")["café"].tolist() == [1.5, 2.5]


def test_cells_are_quoted_or_not():
    """It makes no difference; a line break inside is text."""
    frame = pd.DataFrame({"x": ["1.5", "2"], "w": ['a"b\nc', "d,e"]})
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, quoting=1)
    found, _ = read(buffer.getvalue())
    assert found["x"].tolist() == [1.5, 2.0]
    assert found["w"].tolist() == frame["w"].tolist()


ODD = [
    "", "-", "?", "NA", "None", "1", "1,5", "1.5", "1.234", "1,234", "$5", "5%", "€1.2",
    "(3)", "1e400", "inf", "nan", "2024-01-31", "31/01/2024", "02/03/2024", "2024-13-1",
    "May 2024", "True", "false", "u", " u ", "U", "+", '"', "'", "\u00a0", "é", "\0",
    "99999999999999999999", "0x1", "1_0", "=1+1", "12:30",
]  # fmt: skip


@check
@given(
    st.lists(st.lists(st.sampled_from(ODD), min_size=3, max_size=3), min_size=1),
    st.sampled_from([",", ";", "\t"]),
    st.booleans(),
)
def test_no_table_is_too_odd(rows, delimiter, with_target):
    """It is read, or refused with a word of it; no row is lost."""
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(y="u")
    content = frame.to_csv(index=False, sep=delimiter).encode()
    try:
        sheet = open_sheet("t.csv", content, ReadOptions())
        roles = Roles("c" if with_target else None, keep=["a", "b", "c"])
        reading = read_training(sheet, roles)
    except ReadingError:
        return
    assert len(reading.frame) == len(rows)
    assert [one.name for one in reading.columns] == ["a", "b", "c", "y"]


def test_the_same_note_of_many_columns_is_one_line():
    """Five are named, the others counted."""
    cells = {f"c{k}": [".", "1", "2", "3"] * 5 for k in range(8)}
    frame = pd.DataFrame({**cells, "y": ["u", "v"] * 10})
    content = frame.to_csv(index=False).encode()
    sheet = open_sheet("t.csv", content, ReadOptions())
    notes = read_training(sheet, Roles(target="y")).notes()
    assert notes == [
        "8 columns, 'c0', 'c1', 'c2', 'c3', 'c4' and 3 more: '.' counts as missing."
    ]
