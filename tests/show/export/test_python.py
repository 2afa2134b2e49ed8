"""Python export: a module that needs nothing predicts what the tree predicts."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sorct.export import to_python

from sorct.data.categorical import Categorical
from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from tests.show.export.exported_trees import (
    MAKERS,
    assert_near,
    assert_same,
    each_tree,
    rows_of,
)
from tests.show.export.spoken import odd_trees


def function_of(source, name="predict"):
    """Run a module in an empty namespace and return its function."""
    scope = {}
    exec(compile(source, "exported.py", "exec"), scope)
    return scope[name]


@pytest.mark.every_case
@each_tree("python")
def test_the_function_predicts_as_the_tree(rng, make):
    """Class and probabilities of every row, from raw values."""
    tree, X = make(rng)
    predict = function_of(to_python(tree))
    found = [predict(row) for row in rows_of(X)]
    assert all(list(proba) == tree.classes.tolist() for _, proba in found)
    proba = [list(proba.values()) for _, proba in found]
    assert_same(tree, X, [label for label, _ in found], proba)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("name", ["iris-1", "steep"])
def test_odd_numbers_of_maps_shares_and_costs(rng, name):
    """As large and as small as files may hold."""
    made, X = MAKERS[name](rng)
    for tree in odd_trees(rng, made):
        predict = function_of(to_python(tree))
        found = [predict(row) for row in rows_of(X)]
        proba = [list(proba.values()) for _, proba in found]
        assert_near(tree, X, [label for label, _ in found], proba)


def test_the_text_says_what_is_predicted_and_how(rng):
    """Only where it is so."""
    plain, told = (to_python(MAKERS[name](rng)[0]) for name in ("mixed", "all-holes"))
    assert "Return the most probable class of a row" in plain
    assert "Return the class of least expected cost of a row" in told
    assert "calibrated" in told
    for name in ("calibrated", "_logistic", "cost", "leaf_1", "raw["):
        assert name not in plain
        assert name in told


@pytest.mark.parametrize("name", ["nasty", "mixed"])
def test_the_file_runs_in_an_isolated_interpreter(rng, tmp_path, name):
    """No package, no path, no environment: only the file and the rows."""
    tree, X = MAKERS[name](rng)
    code = "import json, sys\nrows = json.load(open(sys.argv[1], encoding='utf-8'))\n"
    code += "print(json.dumps([list(score(row)) for row in rows]))\n"
    (tmp_path / "tree.py").write_text(to_python(tree, name="score") + code, "utf-8")
    (tmp_path / "rows.json").write_text(json.dumps(rows_of(X)), "utf-8")
    command = [sys.executable, "-I", "tree.py", "rows.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    proba = [list(proba.values()) for _, proba in found]
    assert_same(tree, X, [label for label, _ in found], proba)


def test_only_what_the_tree_uses_is_asked_for(rng):
    """A constant column and cuts that decide nothing leave no trace."""
    tree, X = MAKERS["constant"](rng)
    source = to_python(tree)
    assert "same" not in source
    predict = function_of(source)
    row = rows_of(X)[0]
    assert predict({"a": row["a"], "b": row["b"]}) == predict(row)
    assert "cut_" not in to_python(MAKERS["nothing"](rng)[0]).split("def predict")[1]


def test_rows_of_frames_and_of_text_will_do(rng):
    """A pandas row is a mapping; a number may come as text, as from a CSV file."""
    tree, X = MAKERS["iris-2"](rng)
    predict = function_of(to_python(tree))
    row = X.iloc[0]
    text = {name: repr(float(value)) for name, value in row.items()}
    assert predict(row) == predict(text) == predict(dict(row))


@pytest.mark.parametrize("bad", [np.nan, np.inf, None, "tall", 10**400])
def test_a_value_that_is_no_number_is_refused_by_name(rng, bad):
    """The message names the variable and shows the value."""
    tree, X = MAKERS["iris-1"](rng)
    predict = function_of(to_python(tree))
    row = {**rows_of(X)[0], X.columns[0]: bad}
    with pytest.raises(ValueError, match=r"sepal length.*finite number"):
        predict(row)


@pytest.mark.parametrize("bad", ["Ur", None])
def test_an_unknown_or_missing_level_is_refused(rng, bad):
    """As the tree itself refuses it."""
    tree, X = MAKERS["mixed"](rng)
    predict = function_of(to_python(tree))
    with pytest.raises(ValueError, match="'city' (has the level 'Ur'|is missing)"):
        predict({**rows_of(X)[0], "city": bad})


def test_a_missing_level_is_refused_even_where_new_ones_are_not(rng):
    """The first level stands for new ones, not for none."""
    tree, X = MAKERS["new_levels"](rng)
    predict = function_of(to_python(tree))
    with pytest.raises(ValueError, match="'city' is missing"):
        predict({**rows_of(X)[0], "city": float("nan")})


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("height", [None, np.nan, pd.NA, ""]),
        ("income", [None, np.float32("nan"), pd.NA, ""]),
        ("since", [None, pd.NaT, pd.NA, "", np.datetime64("NaT")]),
        ("city", [None, np.nan, pd.NA]),
        ("code", [None, np.nan, pd.NA]),
        ("member", [None, np.nan, pd.NA]),
    ],
)
def test_all_that_means_missing(rng, column, cells):
    """Whatever a cell is missing by has the weight of missing."""
    tree, X = MAKERS["other-holes"](rng)
    assert column in tree.variables_used
    predict = function_of(to_python(tree))
    row = rows_of(X.dropna())[0]
    hole = X.dropna().head(1)
    hole = hole.assign(**{column: hole[column].mask([True])})
    truth = tree.predict_proba(hole)[0]
    for cell in cells:
        _, proba = predict({**row, column: cell})
        np.testing.assert_allclose(list(proba.values()), truth, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bad", ["soon", 17, None, "2020-02-31", "31.12.2020"])
def test_a_value_that_is_no_date_is_refused_by_name(rng, bad):
    """The message shows how a date is written."""
    tree, X = MAKERS["other-never"](rng)
    predict = function_of(to_python(tree))
    row = rows_of(X)[0]
    day = row["since"]
    same = [day, day.date(), day.isoformat(), str(day.date()), np.datetime64(day)]
    assert len({repr(predict({**row, "since": value})) for value in same}) == 1
    with pytest.raises(ValueError, match="'since' must be a date such as 2020-01-31"):
        predict({**row, "since": bad})


@pytest.mark.parametrize(
    ("column", "bad"), [("same", np.inf), ("only", "two"), ("city", "Ur III")]
)
def test_a_variable_read_only_for_missing_cells_refuses_what_the_tree_refuses(
    rng, column, bad
):
    """Infinity, and new levels where they are an error."""
    tree, X = MAKERS["only-missing"](rng)
    with pytest.raises(ValueError, match=column):
        tree.predict(X.assign(**{column: bad}))
    with pytest.raises(ValueError, match=column):
        function_of(to_python(tree))({**rows_of(X)[0], column: bad})


def test_an_ordered_level_is_refused_where_others_are_taken(rng):
    """A new level has no place in the order."""
    tree, X = MAKERS["other-holes"](rng)
    predict = function_of(to_python(tree))
    row = rows_of(X)[0]
    assert predict({**row, "city": "Babylon"})
    with pytest.raises(ValueError, match="'grade' has the level 'top'"):
        predict({**row, "grade": "top"})


def test_only_functions_that_are_used_are_written(rng):
    """A tree of the paper needs none for curves, days and missing cells."""
    plain = to_python(MAKERS["mixed"](rng)[0])
    real = to_python(MAKERS["other-holes"](rng)[0])
    for name in ("_curve", "_days", "_missing", "_date", "others"):
        assert name not in plain
        assert name in real


def test_a_missing_name_is_a_key_error(rng):
    """It is named."""
    tree, _ = MAKERS["iris-2"](rng)
    with pytest.raises(KeyError, match=r"\(cm\)"):
        function_of(to_python(tree))({})


@pytest.mark.parametrize("name", ["", "a b", "class", "float", "_number", "x\n", "9a"])
def test_a_name_that_is_none_is_refused(rng, name):
    """Keywords, built-ins and our own helpers would break the module."""
    tree, _ = MAKERS["iris-1"](rng)
    with pytest.raises(ValueError, match="name must be a Python name"):
        to_python(tree, name=name)


@pytest.mark.parametrize(
    "levels", [[("a", 1), "b", "c"], ["a", 1, 2], [True, 5, 7], [1.0, np.inf, 2.0]]
)
def test_levels_that_no_language_has_are_refused(rng, levels):
    """Tuples, mixtures and infinity; the column is named."""
    tree, _ = MAKERS["mixed"](rng)
    variables = tuple(
        Categorical("city", tuple(levels)) if variable.name == "city" else variable
        for variable in tree.encoder.variables
    )
    odd = replace(tree, encoder=TableEncoder(variables, True))
    with pytest.raises(ValueError, match="Levels of column 'city' must be all"):
        to_python(odd)


def test_the_text_can_be_written_to_a_file(rng):
    """Halves of surrogate pairs, which UTF-8 has no bytes for, are escaped."""
    tree, _ = MAKERS["iris-1"](rng)
    labels = np.array(["a", "half \ud800"], dtype=object)
    assert (
        to_python(replace(tree, target=Classes(labels))).encode().count(b"ud800") == 2
    )
