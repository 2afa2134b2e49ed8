"""ONNX export: onnxruntime gives what the tree gives, for any number of rows."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sorct.export import to_onnx

from sorct.data.options import TableOptions
from sorct.data.target import Classes
from sorct.data.terms import LinearTerm
from sorct.show.export.formula import Formula, Score
from sorct.show.export.onnx_precision import check_float32
from sorct.tree.calibration import Calibration, LogisticMap
from tests.show.export.exported_trees import (
    MAKERS,
    NASTY,
    as_frame,
    assert_near,
    assert_same,
    each_tree,
    renamed,
)
from tests.show.export.real_tables import tree_on
from tests.show.export.spoken import odd_trees
from tests.tree.test_tree import random_tree

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

#: Columns of these need more digits than float32 has.
TOO_FINE = ("far", "narrow", "certain")
#: Trees of every kind of variable and leaf, for what all do in double precision.
SINGLE = {
    "array", "iris-2", "mixed", "new_levels", "all-typical", "curves-mixed",
    "shares-mixed", "other-holes", "nothing", *TOO_FINE,
}  # fmt: skip
TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


def session_of(model):
    """Load a model from its bytes, as from a file."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def feeds(session, X):
    """Inputs that a model asks for, from a frame or an array."""
    frame = as_frame(X)
    wanted = {i.name: TYPES[i.type] for i in session.get_inputs()}
    if not isinstance(X, pd.DataFrame):
        return {name: np.asarray(X, dtype) for name, dtype in wanted.items()}
    return {name: cells(frame[name], dtype) for name, dtype in wanted.items()}


def cells(column, dtype):
    """A column of shape (N, 1); missing cells are NaN, or empty text."""
    missing = "" if dtype is object else np.nan
    values = [missing if pd.isna(value) else value for value in column.to_list()]
    return np.array([[value] for value in values], dtype=dtype).reshape(-1, 1)


def in_days(model, X):
    """The frame with dates as the days that the descriptions of the inputs ask for."""
    for wanted in model.graph.input:
        if wanted.doc_string:
            origin = pd.Timestamp(wanted.doc_string.removeprefix("whole days since "))
            days = (X[wanted.name].astype("datetime64[s]") - origin) // pd.Timedelta(
                "1D"
            )
            X = X.assign(**{wanted.name: days.astype(np.float64)})
    return X


def outputs(model, X):
    """What onnxruntime gives for rows."""
    session = session_of(model)
    return session.run(None, feeds(session, in_days(model, X)))


def run(model, X):
    """Labels and probabilities from onnxruntime."""
    labels, proba = outputs(model, X)
    return labels.tolist(), proba


@pytest.mark.every_case
@each_tree("onnx")
def test_double_precision_predicts_as_the_tree(rng, make):
    """Class and probabilities of every row, from raw values."""
    tree, X = make(rng)
    labels, proba = run(to_onnx(tree, dtype="float64"), X)
    assert proba.dtype == np.float64
    assert_same(tree, X, labels, proba)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (name not in SINGLE))
        for name, make in MAKERS.items()
    ],
)
def test_single_precision_is_near_or_refused(rng, make, request):
    """The class is the same wherever it is clear."""
    tree, X = make(rng)
    if request.node.callspec.id in TOO_FINE:
        with pytest.raises(ValueError, match="pass dtype='float64'"):
            to_onnx(tree)
        return
    labels, proba = run(to_onnx(tree), X)
    assert proba.dtype == np.float32
    assert_same(tree, X, labels, proba, atol=1e-3)


@pytest.mark.parametrize(
    "name", ["iris-1", pytest.param("steep", marks=pytest.mark.slow)]
)
def test_odd_numbers_of_maps_shares_and_costs(rng, name):
    """As large and as small as files may hold."""
    made, X = MAKERS[name](rng)
    for tree in odd_trees(rng, made):
        assert_near(tree, X, *run(to_onnx(tree, dtype="float64"), X))


def test_log_odds_of_certain_probabilities_in_single_precision(rng):
    """Calibration is computed in double precision, where 1 - p has digits left."""
    tree, X = MAKERS["iris-1"](rng)
    maps = (LogisticMap(0.15, 0.4),)
    tree = replace(tree, gamma=600.0, calibration=Calibration(maps))
    own = replace(tree, calibration=None).predict_proba(X)[:, 1]
    assert ((own > 1.0 - 1e-6) & (own < 1.0 - 1e-8)).any()
    assert_same(tree, X, *run(to_onnx(tree), X), atol=1e-3)


@dtypes
@pytest.mark.parametrize("name", ["curves-mixed", "shares-mixed", "all-nasty"])
def test_a_row_that_is_refused_gives_nan_through_maps(rng, dtype, name):
    """Clipping loses NaN, maps do not."""
    tree, X = MAKERS[name](rng)
    column = next(n for n in tree.variables_used if X[n].dtype.kind == "f")
    odd = X.assign(**{column: [np.nan, *X[column][1:]]})
    _, proba = run(to_onnx(tree, dtype=dtype), odd)
    assert np.isnan(proba[0]).all()
    np.testing.assert_allclose(proba[1:], tree.predict_proba(X)[1:], rtol=0, atol=1e-3)


def test_single_precision_away_from_zero(rng):
    """Where float32 resolves a column, taking lower off first keeps its digits."""
    X = rng.normal(0.0, 1.0, (60, 3)) + np.array([500.0, -900.0, 0.0])
    tree = random_tree(rng, X, 2)
    labels, proba = run(to_onnx(tree), X.astype(np.float32).astype(np.float64))
    assert_same(tree, X.astype(np.float32), labels, proba, atol=1e-3)


def test_what_rounded_inputs_may_move_adds_up_over_the_terms_of_a_cut():
    """Each moves a chance by .0007 at most, two of them by more than a thousandth."""
    step = float(np.spacing(np.float32(8192.0)))
    terms = tuple(LinearTerm(name, 8192.0, 1.0, 0.003 / step) for name in "ab")
    for n, refused in ((1, False), (2, True)):
        formula = Formula([0, 1], (), (Score(1, 0.0, terms[:n]),), ())
        if not refused:
            check_float32(formula)
            continue
        with pytest.raises(ValueError, match="float32 cannot tell the values of colum"):
            check_float32(formula)


@dtypes
@pytest.mark.parametrize("name", ["array", "mixed", "nothing"])
def test_a_batch_of_any_size(rng, name, dtype):
    """None, one, many: rows do not know of each other."""
    tree, X = MAKERS[name](rng)
    session = session_of(to_onnx(tree, dtype=dtype))
    _, whole = session.run(None, feeds(session, X))
    for n in (0, 1, 7):
        inputs = {key: value[:n] for key, value in feeds(session, X).items()}
        labels, proba = session.run(None, inputs)
        assert labels.shape == (n,)
        np.testing.assert_allclose(proba, whole[:n], rtol=0, atol=1e-6)


def test_inputs_and_outputs_are_as_documented(rng):
    """One matrix for an array, a column per variable used for a frame."""
    tree, X = MAKERS["array"](rng)
    session = session_of(to_onnx(tree))
    assert [(i.name, i.shape) for i in session.get_inputs()] == [("X", ["N", 4])]
    assert [o.name for o in session.get_outputs()] == ["label", "probabilities"]
    tree, X = MAKERS["constant"](rng)
    inputs = session_of(to_onnx(tree, dtype="float64")).get_inputs()
    assert [(i.name, i.shape) for i in inputs] == [("a", ["N", 1]), ("b", ["N", 1])]
    tree, X = MAKERS["number_levels"](rng)
    kinds = {i.name: i.type for i in session_of(to_onnx(tree)).get_inputs()}
    assert kinds == {
        "whole": "tensor(int64)",
        "fraction": "tensor(float)",
        "flag": "tensor(bool)",
        "count": "tensor(float)",
    }


def test_only_operators_of_the_standard(rng):
    """No extension, so that any runtime will do."""
    model = to_onnx(MAKERS["mixed"](rng)[0])
    assert [(item.domain, item.version) for item in model.opset_import] == [("", 19)]
    assert {node.domain for node in model.graph.node} == {""}
    assert all(name in model.doc_string for name in ("age", "city", "ünsure"))


@dtypes
@pytest.mark.parametrize(
    ("column", "value"),
    [("age", np.nan), ("age", np.inf), ("age", -np.inf), ("city", "Ur")],
)
def test_what_the_tree_refuses_gives_nan(rng, dtype, column, value):
    """For every class, and in no other row."""
    tree, X = MAKERS["mixed"](rng)
    odd = X.astype({"age": np.float64})
    odd[column] = [value, *odd[column][1:]]
    _, proba = run(to_onnx(tree, dtype=dtype), odd)
    assert np.isnan(proba[0]).all()
    np.testing.assert_allclose(proba[1:], tree.predict_proba(X)[1:], rtol=0, atol=1e-3)


def test_dates_and_missing_cells_are_inputs_as_documented(rng):
    """Dates are days since a day that is told; levels that may be missing are text."""
    tree, _ = MAKERS["other-holes"](rng)
    model = to_onnx(tree, dtype="float64")
    kinds = {i.name: i.type for i in session_of(model).get_inputs()}
    assert {n for n, kind in kinds.items() if kind == "tensor(string)"} == {
        "city", "grade",
    }  # fmt: skip
    assert set(kinds.values()) == {"tensor(string)", "tensor(double)"}
    told = {i.name: i.doc_string for i in model.graph.input}
    origin = tree.encoder.variables[tree.encoder.names.index("since")].known.origin
    assert told["since"] == f"whole days since {origin}"
    assert told["height"] == ""
    assert f"since is a date, in days since {origin}." in model.doc_string


@dtypes
def test_infinity_and_new_ordered_levels_give_nan(rng, dtype):
    """Beside cells that may be missing, and levels of which new ones are taken."""
    tree, X = MAKERS["other-holes"](rng)
    X = X.dropna().head(4)
    model = to_onnx(tree, dtype=dtype)
    for name, bad in [("income", np.inf), ("height", -np.inf), ("grade", "top")]:
        odd = X.assign(**{name: [bad, *X[name].to_list()[1:]]})
        _, proba = run(model, odd)
        assert np.isnan(proba[0]).all(), name
        assert not np.isnan(proba[1:]).any()


def one_category(rng, levels):
    """A tree on one category, with a missing cell in training."""
    column = pd.Series(np.resize(np.array([*levels, None], dtype=object), 30))
    X = pd.DataFrame({"v": column})
    return tree_on(rng, X, TableOptions(min_frequency=1), 1), X


def test_levels_that_cannot_stand_beside_missing_cells_are_refused(rng):
    """Empty text is a missing cell; large whole numbers run together as floats."""
    tree, _ = one_category(rng, ["", "a"])
    with pytest.raises(ValueError, match="empty text stands for a missing cell"):
        to_onnx(tree)
    tree, X = one_category(rng, [2**24 + 1, 0])
    with pytest.raises(ValueError, match="would mix up whole numbers"):
        to_onnx(tree)
    assert_same(tree, X, *run(to_onnx(tree, dtype="float64"), X))


@dtypes
@pytest.mark.parametrize("unknown", ["error", "first_level", "other"])
def test_empty_text_is_a_missing_cell_and_the_model_says_so(rng, unknown, dtype):
    """Text has no other value for it, though the tree itself tells the two apart."""
    column = np.resize(np.array(["a", "b", "c", None], dtype=object), 30)
    options = TableOptions(min_frequency=1, handle_unknown=unknown)
    tree = tree_on(rng, pd.DataFrame({"v": column}), options, 1)
    model = to_onnx(tree, dtype=dtype)
    assert "of text the empty string, which is no new level" in model.doc_string
    _, proba = run(model, pd.DataFrame({"v": ["a", "", "b"]}))
    expected = tree.predict_proba(pd.DataFrame({"v": ["a", None, "b"]}))
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-3)


def test_a_model_without_missing_cells_takes_empty_text_for_a_level(rng):
    """A new one, or one of training."""
    for levels in (["a", "b"], ["a", ""]):
        X = pd.DataFrame({"v": np.resize(np.array(levels, dtype=object), 30)})
        tree = tree_on(rng, X, TableOptions(min_frequency=1), 1)
        model = to_onnx(tree, dtype="float64")
        assert "missing" not in model.doc_string
        odd = pd.DataFrame({"v": ["a", ""]})
        assert_same(tree, odd, *run(model, odd))


@pytest.mark.parametrize("name", ["", "nul\0", "half \ud800"])
def test_names_that_onnx_cannot_hold_are_refused(rng, name):
    """An empty name means that an input is left out."""
    tree, _ = MAKERS["iris-2"](rng)
    with pytest.raises(ValueError, match="for the inputs of an ONNX model"):
        to_onnx(renamed(tree, name))


@pytest.mark.parametrize(
    "labels", [["a", "b\0c"], ["a", "\ud800"], [2**64 - 1, 2**63], [1.0, 1.0]]
)
def test_labels_that_onnx_cannot_hold_are_refused(rng, labels):
    """Text that is no UTF-8, whole numbers of more than 64 bits, doubles."""
    tree, _ = MAKERS["iris-1"](rng)
    labels = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    with pytest.raises(ValueError, match="Class labels cannot be held in ONNX"):
        to_onnx(replace(tree, target=Classes(labels)))


def test_levels_that_float32_takes_for_one_are_refused(rng):
    """But not in double precision."""
    levels = np.resize([1.0, 1.0 + 1e-12], 20)
    X = pd.DataFrame({"fine": pd.Categorical(levels)})
    tree = random_tree(rng, X, 1, np.array([0, 1]))
    with pytest.raises(ValueError, match="Levels of column 'fine'"):
        to_onnx(tree)
    assert_same(tree, X, *run(to_onnx(tree, dtype="float64"), X))


def test_another_dtype_is_refused(rng):
    """The message lists those that there are."""
    tree, _ = MAKERS["iris-1"](rng)
    with pytest.raises(ValueError, match=r"dtype must be one of .*float32.*'float16'"):
        to_onnx(tree, dtype="float16")


def test_a_file_survives_hostile_names(rng, tmp_path):
    """What is saved is what is loaded."""
    tree, X = MAKERS["nasty"](rng)
    onnx.save(to_onnx(tree), tmp_path / "tree.onnx")
    model = onnx.load(tmp_path / "tree.onnx")
    assert {i.name for i in model.graph.input} <= set(NASTY)
    assert_same(tree, X, *run(model, X), atol=1e-3)


def test_a_missing_package_is_named_with_its_extra(rng, monkeypatch):
    """It is only looked for when it is needed."""
    tree, _ = MAKERS["iris-1"](rng)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "sorct\[onnx\]"'):
        to_onnx(tree)


@pytest.mark.parametrize("size", [1e-9, 1e-60, 1e-240])
def test_a_column_next_to_zero_is_shifted_as_any_other(rng, size):
    """A runtime leaves out the subtraction of a single number that is almost 0."""
    X = pd.DataFrame({"a": size * rng.uniform(2.0, 3.0, 40)})
    X["b"] = rng.choice(["u", "v"], 40)
    tree = random_tree(rng, X, 2)
    assert_same(tree, X, *run(to_onnx(tree, dtype="float64"), X))


def test_a_column_that_is_not_read_may_be_beyond_single_precision(rng):
    """A tree that reads nothing takes any column, to know the number of rows."""
    X = pd.DataFrame({"a": rng.uniform(1e50, 2e50, 12)})
    tree = replace(random_tree(rng, X, 1), leaf_class=np.array([1, 1]))
    (wanted,) = session_of(to_onnx(tree)).get_inputs()
    assert (wanted.name, wanted.type) == ("a", "tensor(float)")
