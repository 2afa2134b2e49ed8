"""SQL export: three databases give what the tree gives, whatever is in the names."""

import re
import sqlite3
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sorct.export import to_sql

from sorct.data.encoder import TableEncoder
from sorct.data.options import TableOptions
from sorct.data.target import Classes
from tests.show.export.databases import (
    PostgreSQL,
    postgresql,
    run_in_duckdb,
    run_in_sqlite,
)
from tests.show.export.exported_trees import (
    MAKERS,
    as_frame,
    assert_near,
    assert_same,
    each_name,
    renamed,
)
from tests.show.export.spoken import odd_trees, with_all, with_decision
from tests.tree.test_tree import random_tree

KEY = "number of the row"
#: Trees of other kinds of columns, leaves and names.
FURTHER = ["taken", "curves-mixed", "dummies-error", "only-missing", "forest-holes"]
SLOW = pytest.mark.slow
old = sqlite3.sqlite_version_info < (3, 35)


@pytest.fixture(scope="session")
def server():
    """Start one PostgreSQL server for all tests."""
    with postgresql() as running:
        yield running


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request):
    """Return a function that runs a query on a frame."""
    if request.param == "postgresql":
        return request.getfixturevalue("server")
    if request.param == "sqlite" and old:
        pytest.skip("this SQLite has neither exp() nor MATERIALIZED")
    return run_in_sqlite if request.param == "sqlite" else run_in_duckdb


def score(database, tree, X, **options):
    """Rows of the result as dicts, in the order of the table."""
    frame = as_frame(X).assign(**{KEY: np.arange(len(X))})
    table = options.get("table", "data")
    names, rows = database(to_sql(tree, **options), frame, table)
    assert len(set(names)) == len(names)
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return sorted(found, key=lambda row: int(row[KEY]))


def label_of(tree, text):
    """A label as a database gives it, as the tree's own type."""
    kind = type(tree.classes.tolist()[0])
    if kind is bool:
        return {0: False, 1: True, "f": False, "t": True}[text]
    return kind(text) if isinstance(text, str) and kind is not str else text


def assert_rows_agree(tree, X, rows):
    """Labels and probabilities are those of the tree."""
    names = [name for name in rows[0] if re.fullmatch(r"(sorct_+)?proba_\d+", name)]
    names = [name for name in names if name not in as_frame(X)]
    proba = [[float(row[name]) for name in names] for row in rows]
    (label,) = {n for n in rows[0] if "predicted_class" in n} - set(as_frame(X))
    assert_same(tree, X, [label_of(tree, row[label]) for row in rows], proba)


@pytest.mark.every_case
@pytest.mark.parametrize("name", each_name("sql"))
def test_sqlite_predicts_as_the_tree(rng, name):
    """Class and probabilities of every row, from raw columns."""
    tree, X = MAKERS[name](rng)
    assert_rows_agree(tree, X, score(run_in_sqlite, tree, X))


@pytest.mark.every_value
@pytest.mark.parametrize(
    "name", ["array", "mixed", "nasty", *(pytest.param(n, marks=SLOW) for n in FURTHER)]
)
@pytest.mark.stands_for_all
def test_every_database_predicts_as_the_tree(rng, name, database):
    """The same, where one more database may read text, dates or numbers otherwise."""
    tree, X = MAKERS[name](rng)
    assert_rows_agree(tree, X, score(database, tree, X))


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "name", ["iris-1", pytest.param("steep", marks=pytest.mark.slow)]
)
def test_odd_numbers_of_maps_shares_and_costs(rng, name, database):
    """As large and as small as files may hold; PostgreSQL stops at none."""
    made, X = MAKERS[name](rng)
    for tree in odd_trees(rng, made):
        rows = score(database, tree, X, keep=[KEY])
        codes = range(len(tree.classes))
        proba = [[float(row[f"proba_{k}"]) for k in codes] for row in rows]
        labels = [label_of(tree, row["predicted_class"]) for row in rows]
        assert_near(tree, X, labels, proba)


@pytest.mark.a_few(1)
def test_what_leads_to_a_class_comes_along(rng, database):
    """The tree's own probabilities, what maps give, and expected costs."""
    tree, X = MAKERS["all-typical"](rng)
    rows, codes = score(database, tree, X), range(len(tree.classes))
    own = replace(tree, calibration=None).predict_proba(X)
    proba = tree.predict_proba(X)
    maps = [one(own[:, k]) for k, one in enumerate(tree.calibration.maps)]
    truth = {"raw": own, "map": np.array(maps).T, "proba": proba}
    truth["cost"] = proba @ tree.decision_cost
    for name, expected in truth.items():
        found = [[float(row[f"{name}_{k}"]) for k in codes] for row in rows]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    assert list(rows[0])[-1] == "predicted_class"
    kept = list(score(database, tree, X, keep=[KEY])[0])
    assert kept == [KEY, *(f"proba_{k}" for k in codes), "predicted_class"]


@pytest.mark.every_value
@pytest.mark.parametrize("name", ["all-nasty", "shares-mixed", "curves-mixed"])
def test_null_comes_through_maps_and_costs(rng, database, name):
    """A row has all or nothing."""
    tree, X = MAKERS[name](rng)
    column = next(n for n in tree.variables_used if X[n].dtype.kind == "f")
    X = X.reset_index(drop=True)
    X.loc[2, column] = np.nan
    rows = score(database, tree, X, keep=[KEY])
    ours = [f"proba_{k}" for k in range(len(tree.classes))] + ["predicted_class"]
    assert [n for n, row in enumerate(rows) if row["predicted_class"] is None] == [2]
    assert all(rows[2][name] is None for name in ours)
    assert all(row[name] is not None for row in rows[3:] for name in ours)


@pytest.mark.a_few(1)
def test_columns_called_as_those_that_lead_to_a_class(rng, database):
    """Ours begin otherwise then, but only if there are such."""
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["raw_1", "Cost_0"])
    tree = random_tree(rng, X, 2)
    assert "sorct_" not in to_sql(tree)
    for change in (with_all, with_decision):
        told = change(rng, tree)
        assert "sorct_predicted_class" in to_sql(told)
        assert_rows_agree(told, X, score(database, told, X))


@pytest.mark.a_few(1)
def test_all_columns_of_the_table_come_along(rng, database):
    """Those of training and others, as they are, before ours."""
    tree, X = MAKERS["mixed"](rng)
    rows = score(database, tree, X)
    names = list(rows[0])
    assert names[: X.shape[1] + 1] == [*X.columns, KEY]
    assert [row["city"] for row in rows] == X["city"].to_list()
    ours = set(names[X.shape[1] + 1 :])
    assert {"score_1", "left_1", "proba_0", "predicted_class"} <= ours


@pytest.mark.a_few(1)
def test_columns_to_keep(rng, database):
    """Only those, the probabilities and the class."""
    tree, X = MAKERS["nasty"](rng)
    rows = score(database, tree, X, keep=[KEY, X.columns[1]])
    ours = [f"proba_{k}" for k in range(len(tree.classes))] + ["predicted_class"]
    assert list(rows[0]) == [KEY, X.columns[1], *ours]
    assert_rows_agree(tree, X, rows)


def test_a_kept_column_that_is_called_as_ours(rng, database):
    """Then ours are called otherwise."""
    tree, X = MAKERS["iris-2"](rng)
    X = X.assign(Predicted_Class="old")
    sql = to_sql(tree, keep=["Predicted_Class"])
    names, rows = database(sql, as_frame(X))
    assert names[0] == "Predicted_Class"
    assert names[-1] == "sorct_predicted_class"
    assert all(row[0] == "old" for row in rows)


@pytest.mark.every_value
@pytest.mark.parametrize("table", ["scores", "Probas", 'a "table"; --', "select"])
def test_any_name_of_a_table(rng, database, table):
    """Those that we use ourselves included."""
    tree, X = MAKERS["iris-2"](rng)
    assert_rows_agree(tree, X, score(database, tree, X, table=table))


def test_a_table_in_a_schema(rng):
    """Parts of a name are quoted one by one."""
    tree, _ = MAKERS["iris-2"](rng)
    assert 'FROM "main"."data" AS t\n' in to_sql(tree, ("main", "data"))


def test_the_text_serves_in_a_view_and_in_brackets(rng, database):
    """It ends without a semicolon and begins where a query may."""
    tree, X = MAKERS["idle"](rng)
    inner = to_sql(tree, keep=[])
    sql = f"SELECT COUNT(*) AS n, SUM(proba_0) AS total FROM ({inner}) AS scored"
    _, [[n, total]] = database(sql, as_frame(X))
    assert int(n) == len(X)
    assert float(total) == pytest.approx(tree.predict_proba(X)[:, 0].sum())


@pytest.mark.every_value
@pytest.mark.parametrize("column", ["age", "city", "grade", "member"])
@pytest.mark.parametrize("name", ["mixed", "new_levels"])
def test_null_in_a_column_read_gives_null(rng, database, name, column):
    """For every class, and in no other row."""
    tree, X = MAKERS[name](rng)
    assert column in tree.variables_used
    holes = X.copy()
    holes[column] = holes[column].astype(object)
    holes.loc[holes.index[3], column] = None
    rows = score(database, tree, holes)
    ours = [f"proba_{k}" for k in range(len(tree.classes))] + ["predicted_class"]
    assert all(rows[3][name] is None for name in ours)
    others = [i for i in range(len(X)) if i != 3]
    assert_rows_agree(tree, X.iloc[others], [rows[i] for i in others])


def test_null_reaches_classes_that_do_not_hang_on_it(rng, database):
    """A row has all its probabilities or none."""
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    tree = random_tree(rng, X, 2)
    coef = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    tree = replace(tree, coef=coef, leaf_class=np.array([0, 0, 1, 2]))
    X.loc[3, "b"] = np.nan
    rows = score(database, tree, X)
    assert rows[3]["left_1"] is not None
    assert [rows[3][f"proba_{k}"] for k in range(3)] == [None] * 3
    assert rows[3]["predicted_class"] is None


def test_an_unknown_level_gives_null(rng, database):
    """The tree would raise an error; a query cannot."""
    tree, X = MAKERS["mixed"](rng)
    X = X.assign(city=["Ur", *X["city"][1:]])
    rows = score(database, tree, X)
    ours = [f"proba_{k}" for k in range(len(tree.classes))] + ["predicted_class"]
    assert all(rows[0][name] is None for name in ours)
    assert all(row[name] is not None for row in rows[1:] for name in ours)


@pytest.mark.every_value
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_give_null(rng, database, value):
    """Where the database has them; SQLite has no NaN."""
    tree, X = MAKERS["iris-3"](rng)
    (cell,) = odd_cells(database, [value])
    rows = with_cell(database, tree, X, tree.variables_used[0], cell)
    assert len(rows) == len(X)
    assert all(cell is None for row in rows for cell in row)


def odd_cells(database, values):
    """Texts of one cell each: NULL, NaN and both infinities, where there are such."""
    if database is run_in_sqlite:
        own = {"NaN": "NULL", "Infinity": "9E999", "-Infinity": "-9E999"}
        return [own.get(value, value) for value in values]
    quoted = ["NULL" if value == "NULL" else f"'{value}'" for value in values]
    return [f"CAST({value} AS DOUBLE PRECISION)" for value in quoted]


def with_cell(database, tree, X, column, cell):
    """Rows of the query on a table in which one column holds some expression."""
    columns = [f'{cell} AS "{n}"' if n == column else f'"{n}"' for n in as_frame(X)]
    steps = to_sql(tree, table="odd", keep=[]).split("WITH ", 1)[1]
    first = f"WITH odd AS (SELECT {', '.join(columns)} FROM data)"
    names, rows = database(f"{first}, {steps}", as_frame(X))
    return [[None if v is None else float(v) for v in row[:-1]] for row in rows]


@pytest.mark.every_value
@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    ("maker", "column"),
    [
        *(
            ("error-typical", one)
            for one in ("height", "wild", "income", "rate", "code")
        ),
        *(("other-holes", one) for one in ("height", "rate")),
    ],
)
def test_null_and_nan_are_missing_and_infinity_is_refused(rng, database, maker, column):
    """Infinity is no number; among levels it is one more that training never saw."""
    tree, X = MAKERS[maker](rng)
    X = X.dropna().head(5)
    assert column in tree.variables_used
    holes = X.assign(**{column: pd.Series(np.nan, X.index, dtype=object)})
    if column not in ("rate", "code"):
        holes[column] = np.nan
    truth = tree.predict_proba(holes)
    for cell in odd_cells(database, ["NULL", "NaN"]):
        found = with_cell(database, tree, X, column, cell)
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9)
    if column == "code" or (maker.startswith("other") and column == "rate"):
        return
    for cell in odd_cells(database, ["Infinity", "-Infinity"]):
        found = with_cell(database, tree, X, column, cell)
        assert all(value is None for row in found for value in row)


@pytest.mark.every_value
@pytest.mark.parametrize("maker", ["other-never", "first_level-never"])
def test_nan_is_no_new_level(rng, database, maker):
    """A level that is missing is refused where training had none missing."""
    tree, X = MAKERS[maker](rng)
    (cell,) = odd_cells(database, ["NaN"])
    found = with_cell(database, tree, X, "rate", cell)
    assert all(value is None for row in found for value in row)


def on_a_date(rng, days):
    """A tree that reads one date, and its rows."""
    X = pd.DataFrame({"day": days, "a": rng.normal(size=len(days))})
    tree = random_tree(rng, X[["a"]].assign(day=np.arange(len(X)))[["day", "a"]], 1)
    encoder = TableEncoder.learn(X, TableOptions(scaling="minmax"))
    return replace(tree, encoder=encoder), X


STORED = {
    "date": 'CAST("day" AS DATE)',
    "timestamp": 'CAST("day" AS TIMESTAMP)',
    "text": """SUBSTR(CAST("day" AS VARCHAR), 1, 10) || 'T23:59:59'""",
}


@pytest.mark.every_value
@pytest.mark.parametrize("kind", STORED)
def test_dates_however_they_are_stored(rng, database, kind):
    """As dates, as times of a day, or as text; SQLite has but text."""
    days = np.datetime64("2019-06-01") + rng.integers(0, 900, 30)
    tree, X = on_a_date(rng, days.astype("datetime64[s]"))
    cell = STORED["text" if database is run_in_sqlite else kind]
    found = with_cell(database, tree, X, "day", cell)
    np.testing.assert_allclose(found, tree.predict_proba(X), rtol=0, atol=1e-9)


def test_days_are_counted_by_the_calendar(rng, database):
    """Ends of February and of years, leap years or not, and others at random."""
    years = [1, 4, 99, 100, 399, 400, 1600, 1699, 1700, 1900, 1999, 2000, 2004, 9999]
    texts = [f"{y:04}-{md}" for y in years for md in ("01-01", "02-28", "03-01")]
    texts += [f"{y:04}-12-31" for y in years]
    texts += [
        date.fromordinal(int(d)).isoformat() for d in rng.integers(1, 3652059, 900)
    ]
    tree, _ = on_a_date(rng, np.array(["2019-06-01", "2020-02-29"], "datetime64[s]"))
    X = pd.DataFrame({"day": texts, "a": 0.0})
    rows = score(database, tree, X)
    start = date(2019, 6, 1).toordinal()
    expected = [date.fromisoformat(text).toordinal() - start for text in texts]
    assert [float(row["days_1"]) for row in rows] == expected


@pytest.mark.every_value
@pytest.mark.parametrize("text", ["", "soon", "31.12.2020", "12020-01-01"])
def test_text_that_is_no_date_gives_null(rng, database, text):
    """Not even where a missing date has a weight."""
    tree, X = MAKERS["other-typical"](rng)
    assert "since" in tree.variables_used
    found = with_cell(database, tree, X, "since", f"'{text}'")
    assert all(value is None for row in found for value in row)


def test_names_of_days_are_apart_from_those_of_the_table(rng, database):
    """Then all of ours are called otherwise."""
    tree, X = on_a_date(rng, np.array(["2019-06-01", "2020-02-29"], "datetime64[s]"))
    tree, X = renamed(tree, "Days_1"), X.rename(columns={"day": "Days_1"})
    rows = score(database, tree, X, table="dates")
    assert_rows_agree(tree, X, rows)
    assert "sorct_days_1" in rows[0]


def test_a_column_called_true_is_told(rng):
    """SQLite renames it where a date makes a step of its own."""
    tree, _ = on_a_date(rng, np.array(["2019-06-01", "2020-02-29"], "datetime64[s]"))
    told = "SQLite does not find a column called true or false"
    assert told not in to_sql(tree)
    first, second = tree.encoder.variables
    encoder = TableEncoder((first, replace(second, name="True")), True)
    assert told in to_sql(replace(tree, encoder=encoder))


@pytest.mark.every_value
@pytest.mark.parametrize("kind", [bool, int, str])
def test_booleans_however_they_are_stored(rng, database, kind):
    """As a type of their own, as 0 and 1, or as words from a CSV file."""
    tree, X = MAKERS["only_levels"](rng)
    stored = X.assign(
        member=pd.Series(X["member"].map(kind).to_list(), X.index, object)
    )
    assert_rows_agree(tree, X, score(database, tree, stored))


def whole_numbers(rng):
    """A tree on columns of integers."""
    X = pd.DataFrame({"a": rng.integers(0, 9, 30), "b": rng.integers(-5, 5, 30)})
    return random_tree(rng, X, 2), X


def test_whole_numbers_are_not_divided_as_such(rng, database):
    """A column of integers is scaled as one of fractions."""
    tree, X = whole_numbers(rng)
    assert_rows_agree(tree, X, score(database, tree, X))


@pytest.mark.every_value
@pytest.mark.parametrize(
    "make",
    [whole_numbers, *(MAKERS[n] for n in ("mixed", "only_levels", "coin", "nothing"))],
)
def test_probabilities_are_in_double_precision(rng, database, make):
    """Not decimal numbers, which would be slow, nor whole ones."""
    tree, X = make(rng)
    told = "pg_typeof" if isinstance(database, PostgreSQL) else "typeof"
    types = ", ".join(f"{told}(proba_{k})" for k in range(len(tree.classes)))
    _, rows = database(f"SELECT {types} FROM ({to_sql(tree)}) AS p", as_frame(X))
    found = {name for row in rows for name in row}
    assert found <= {"real", "DOUBLE", "double precision"}


def test_levels_of_an_enumeration(rng, server):
    """A type that lacks a level of training does not stop the query."""
    tree, X = MAKERS["mixed"](rng)
    X = X[X["city"] != "Rome"]
    sql = (
        "CREATE TYPE city AS ENUM ('Bonn', 'Oslo');\n"
        "ALTER TABLE data ALTER city TYPE city USING city::city;\n"
    )
    frame = as_frame(X)
    names, rows = server(sql + to_sql(tree, keep=["age"]), frame)
    assert len(rows) == len(X)
    assert all(value is not None for row in rows for value in row)


def test_names_that_differ_in_case_only(rng, server):
    """PostgreSQL tells them apart; the text warns of the others, which do not."""
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["Size", "size"])
    tree = random_tree(rng, X, 2)
    assert_rows_agree(tree, X, score(server, tree, X))
    assert "differ in case only" in to_sql(tree)
    assert "differ in case only" not in to_sql(MAKERS["mixed"](rng)[0])


def test_a_column_that_the_table_lacks_is_an_error(rng, database):
    """Not a text in double quotes, which SQLite would make of it."""
    tree, X = MAKERS["iris-2"](rng)
    lacking = X.drop(columns=tree.variables_used[0])
    with pytest.raises(Exception, match=re.escape(tree.variables_used[0])):
        database(to_sql(tree), as_frame(lacking))


def test_literals_are_read_as_the_same_double(rng):
    """Also by SQLite, which rounds twice."""
    from sorct.show.export.sql_text import double

    numbers = rng.uniform(-1.0, 1.0, 20_000) * 10.0 ** rng.uniform(-20, 20, 20_000)
    numbers = [0.0, 5e-324, 1.7976931348623157e308, 0.1, -4.3, *numbers.tolist()]
    with sqlite3.connect(":memory:") as connection:
        for start in range(0, len(numbers), 500):
            some = numbers[start : start + 500]
            texts = [double(number) for number in some]
            found = connection.execute(f"SELECT {', '.join(texts)}").fetchone()
            assert list(found) == some
    connection.close()


def test_the_smallest_numbers_are_read_as_the_same_double(rng, database):
    """SQLite reads digits below 1e-291 one off; we write a product instead."""
    from sorct.show.export.sql_text import label_text

    sizes = 10.0 ** rng.uniform(-323, -270, 300)
    numbers = [5e-324, 5.749130242956932e-297, *sizes, *-sizes]
    texts = [f"{label_text(float(number))} AS c{k}" for k, number in enumerate(numbers)]
    _, (found,) = database(f"SELECT {', '.join(texts)}", pd.DataFrame({"a": [1]}))
    assert [float(value) for value in found] == numbers


def test_only_what_the_tree_uses_is_read(rng):
    """A constant column and cuts that decide nothing leave no trace, nor a number."""
    tree, _ = MAKERS["constant"](rng)
    assert "same" not in to_sql(tree)
    tree, _ = MAKERS["idle"](rng)
    assert set(re.findall(r"AS (score_\d)", to_sql(tree))) == {
        f"score_{t}" for t in (1, 2, 3, 4)
    }


def test_comments_stay_on_their_lines(rng):
    """Everything before WITH is a comment, whatever is in the names."""
    tree, _ = MAKERS["nasty"](rng)
    head = to_sql(tree).split("\nWITH ")[0]
    assert all(line.startswith("-- ") for line in re.split("[\n\r]", head))


@pytest.mark.parametrize("name", ["", "nul\0", "half \ud800"])
def test_names_that_sql_cannot_hold_are_refused(rng, name):
    """In columns, tables and what to keep."""
    tree, _ = MAKERS["iris-2"](rng)
    for options in ({"table": name}, {"keep": [name]}):
        with pytest.raises(ValueError, match="for SQL, got"):
            to_sql(tree, **options)
    with pytest.raises(ValueError, match="for SQL, got"):
        to_sql(renamed(tree, name))


@pytest.mark.parametrize("labels", [["a", "b\0c"], [2**64 - 1, 2**63]])
def test_labels_that_sql_cannot_hold_are_refused(rng, labels):
    """NUL in text, and whole numbers of more than 64 bits."""
    tree, _ = MAKERS["iris-1"](rng)
    with pytest.raises(ValueError, match=r"Expected (text|whole numbers)"):
        to_sql(replace(tree, target=Classes(np.array(labels))))
