"""Trees of a quantity for people and machines: every way says what predict says."""

import json
import re
import sqlite3
import subprocess
from dataclasses import replace
from shutil import which

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from sorct import SORCTClassifier, SORCTRegressor, explain, export, export_text
from sorct.data.samples import MANY_ROWS
from sorct.show.numbers import signed
from sorct.show.plotting import ReliabilityDisplay, ResidualDisplay, TreeDisplay
from sorct.show.values import linear_parts

KINDS = {
    "constant": {"depth": 2, "alpha_local": 0.05},
    "linear": {"depth": 1, "alpha_local": 0.05, "leaf": "linear"},
    "lasso": {"depth": 0, "alpha_local": 0.1, "leaf": "linear"},
    "flat": {"depth": 2, "alpha_local": 500.0},
    "empty": {"depth": 1, "alpha_local": 1e6},
}


@pytest.fixture(scope="module")
def table():
    """Numbers, dates, levels and missing cells."""
    rng, n = np.random.default_rng(0), 160
    days = pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    X = pd.DataFrame(
        {
            "size": rng.uniform(20.0, 200.0, n),
            "age's": rng.integers(0, 90, n).astype(float),
            "zone": rng.choice(list("ABC"), n),
            "when": pd.Timestamp("2020-01-01") + days,
        }
    )
    y = 1000.0 * X["size"] + 20_000.0 * (X.zone == "A") * (X["size"] > 100)
    y = (y - 300.0 * X["age's"] + rng.normal(0.0, 3000.0, n)).to_numpy()
    X.loc[rng.random(n) < 0.1, "age's"] = np.nan
    return X, y


@pytest.fixture(scope="module", params=sorted(KINDS))
def fitted(request, table):
    X, y = table
    model = SORCTRegressor(n_starts=2, tol=1e-4, random_state=0, **KINDS[request.param])
    tree = model.fit(X, y).tree_
    written = X.assign(when=X["when"].dt.strftime("%Y-%m-%d"))
    return tree, X, written, tree.predict(X)


@pytest.mark.parametrize("number", [-5.1, 326.51])
def test_rows_that_are_alike_are_not_missed(number):
    """Sums of equal numbers are rounded, and that is no miss to be told."""
    X = pd.DataFrame({"a": np.r_[np.arange(30), np.arange(100, 115)].astype(float)})
    y = np.where(X["a"] < 50, -0.0, number)
    tree = SORCTRegressor(1, alpha_local=0.01, random_state=0).fit(X, y).tree_
    assert 0.0 < tree.leaf_miss.max() < 1e-9
    assert "(±" not in export_text(tree)
    for drawn in TreeDisplay.from_tree(tree, X, y).parts.values():
        assert not any("±" in line.text for line in getattr(drawn, "lines", ()))


def assert_same(found, predicted):
    np.testing.assert_allclose(found, predicted, rtol=0.0, atol=1e-9 * 2e5)


def test_python(fitted):
    tree, _, written, predicted = fitted
    room = {}
    exec(export.to_python(tree), room)
    rows = written.to_dict("records")
    assert_same([room["predict"](row) for row in rows], predicted)


@pytest.mark.a_few(1)
@pytest.mark.skipif(which("node") is None, reason="needs node")
def test_javascript(fitted, tmp_path):
    tree, _, written, predicted = fitted
    rows = json.loads(written.to_json(orient="records", double_precision=15))
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    code = export.to_javascript(tree, module="commonjs")
    code += "const rows = require('./rows.json');"
    code += "console.log(JSON.stringify(rows.map(predict)));"
    (tmp_path / "tree.cjs").write_text(code)
    done = subprocess.run(
        ["node", str(tmp_path / "tree.cjs")], capture_output=True, check=True, text=True
    )
    np.testing.assert_allclose(json.loads(done.stdout), predicted, rtol=1e-8)


def test_sql(fitted):
    tree, _, written, predicted = fitted
    with sqlite3.connect(":memory:") as database:
        written.to_sql("data", database, index=False)
        found = pd.read_sql(export.to_sql(tree), database)
        assert_same(found["predicted_value"], predicted)
        few = pd.read_sql(export.to_sql(tree, keep=["zone"]), database)
    assert list(few.columns) == ["zone", "predicted_value"]
    assert_same(few["predicted_value"], predicted)


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-12), ("float32", 1e-5)])
def test_onnx(fitted, dtype, close):
    runtime = pytest.importorskip("onnxruntime")
    tree, X, _, predicted = fitted
    model = export.to_onnx(tree, dtype=dtype)
    session = runtime.InferenceSession(model.SerializeToString())
    told = {one.name: one.doc_string for one in model.graph.input}
    feeds = {}
    for name, doc in told.items():
        column = X[name]
        if "days since" in doc:
            column = (column - pd.Timestamp(doc[-10:])).dt.days
        kind = object if name == "zone" else dtype
        feeds[name] = column.to_numpy().astype(kind).reshape(-1, 1)
    (value,) = session.run(None, feeds)
    np.testing.assert_allclose(value[:, 0], predicted, rtol=0.0, atol=close * 2e5)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_onnx_refuses_numbers_that_single_precision_lacks(fitted, size):
    """They would be infinite, or 0."""
    pytest.importorskip("onnx")
    tree = replace(fitted[0], leaf_value=size * np.ones(fitted[0].n_leaves))
    slope = None if tree.leaf_coef is None else size * tree.leaf_coef / 1e6
    tree = replace(tree, leaf_coef=slope)
    with pytest.raises(ValueError, match="float32 has no numbers as large or small"):
        export.to_onnx(tree)
    assert export.to_onnx(tree, dtype="float64")


def test_rules_have_a_line_per_leaf(fitted):
    tree, *_ = fitted
    text = export_text(tree)
    assert text.count("≈ ") >= len([1 for leaf in tree.view.leaves if leaf.mass.sum()])
    assert "% of rows" in text
    assert max(map(len, text.splitlines())) <= 120


def test_an_explanation_adds_up(fitted):
    tree, X, _, predicted = fitted
    for row in (0, 7):
        found = explain(tree, X.iloc[[row]], reach=1e5)
        assert found.predicted == pytest.approx(predicted[row], rel=1e-12)
        for move in found.moves:
            typical = X.iloc[[row]].copy()
            value = move.typical
            typical[move.variable] = pd.Timestamp(value) if "-" in str(value) else value
            rest = float(tree.predict(typical)[0])
            assert move.move == pytest.approx(found.predicted - rest, abs=1e-6)
        for change in found.changes:
            if change.to is None:
                continue
            other = X.iloc[[row]].copy()
            value = change.value
            value = pd.Timestamp(value) if "-" in str(value) else value
            other[change.variable] = value
            reached = float(tree.predict(other)[0])
            assert reached == pytest.approx(change.to, rel=1e-6)
            assert (reached >= 1e5) != (found.predicted >= 1e5)
        assert "To reach 100 000 by one" in str(found)
        json.dumps(found.to_dict())


def test_numbers_of_any_size_are_told_or_refused(fitted):
    """A file may have leaves that miss by numbers whose squares no float can hold."""
    tree, X, _, _ = fitted
    with pytest.raises(ValueError, match="more than can be computed with"):
        SORCTRegressor(n_starts=1).fit(X, np.linspace(0.0, 1e300, len(X)))
    assert "(± 1e+300)" in str(replace(tree, leaf_miss=np.full(tree.n_leaves, 1e300)))


def test_small_moves_beside_large_ones_are_told_as_none():
    """Nobody reads powers of ten; what moves nothing at all is 0."""
    assert signed(5.04598e-8, 6, 1.56) == "about 0"
    assert signed(-2e-4, 3, 1.56) == "-0.0002"
    assert signed(12_345_678.0, 6, 12_345_678.0) == "+12345700"
    assert signed(0.0, 3, 0.0) == signed(-0.0, 3, 1.0) == "0"


def test_a_display_of_residuals(table):
    X, y = table
    model = SORCTRegressor(1, 0.5, n_starts=1, tol=1e-3, random_state=0).fit(X, y)
    display = ResidualDisplay.from_estimator(model, X, y)
    assert display.r2 == pytest.approx(model.score(X, y))
    for kind, against in (("observed", y), ("residual", y - model.predict(X))):
        display.plot(kind=kind)
        np.testing.assert_allclose(display.points_.get_offsets()[:, 1], against)
        pyplot.close(display.figure_)
    with pytest.raises(ValueError, match="kind must be one of"):
        display.plot(kind="other")
    with pytest.raises(TypeError, match="predicts a quantity"):
        ReliabilityDisplay.from_estimator(model, X, y)
    classes = SORCTClassifier(1, n_starts=1, tol=1e-3).fit(X, y > np.median(y))
    with pytest.raises(TypeError, match="got one of classes"):
        ResidualDisplay.from_estimator(classes, X, y)
    with pytest.raises(ValueError, match="reach is for quantities"):
        explain(classes.tree_, X.iloc[[0]], reach=1.0)


def test_leaves_of_quantiles_tell_what_they_say(table):
    """Not the mean of their rows, which lies far below the quantile."""
    X, y = table
    model = SORCTRegressor(1, 0.05, loss="quantile", quantile=0.9, n_starts=2)
    tree = model.set_params(random_state=0).fit(X, y).tree_
    text = export_text(tree)
    assert "± " not in text
    assert ", says " not in text
    for leaf in tree.view.leaves:
        assert f"≈ {tree.quantity.value_text(leaf.value)}  (" in text
    own = tree.leaf_value[tree.apply(X)]
    np.testing.assert_array_equal(tree.follow(X), own)


def test_a_missing_cell_is_told_in_linear_leaves_though_it_adds_nothing():
    """The number beside it is counted from 0, not from the end of its range."""
    x = np.arange(100.0, 140.0)
    X = pd.DataFrame({"x": np.where(np.arange(40) % 4 == 0, np.nan, x)})
    reg = SORCTRegressor(depth=0, leaf="linear", scaling="minmax", random_state=0)
    tree = reg.fit(X, np.where(X["x"].isna(), 5.0, X["x"])).tree_
    # Scaled, the number is 0 at its end 101; a missing cell adds nothing to that.
    slopes = np.where([[name == "x"] for name in tree.encoder.column_names], 38.0, 0.0)
    tree = replace(tree, leaf_coef=slopes, leaf_value=np.array([101.0]))
    assert tree.predict(X[:2]) == pytest.approx([101.0, 101.0])
    leaf = export_text(tree)
    # At a missing cell the sum is the constant and what stands beside "is missing".
    assert "≈ 0 + 1 x + 101 [x is missing]" in leaf
    assert "[x is missing] in a leaf is 1 where" in leaf


def test_a_leaf_tells_one_of_two_levels():
    """The printed sum is what predict says, and half the weight for a new level."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {
            "smoker": rng.choice(["no", "yes"], 200),
            "member": rng.random(200) < 0.5,
            "age": rng.integers(20, 80, 200).astype(float),
        }
    )
    y = 900.0 * (X.smoker == "yes") - 400.0 * X.member + 10.0 * X.age
    model = SORCTRegressor(depth=0, leaf="linear", alpha_local=0.01, random_state=0)
    tree = model.fit(X, y + rng.normal(0.0, 20.0, 200)).tree_
    text = export_text(tree)
    constant, *parts = linear_parts(tree, tree.view.leaves[0])
    assert [part.split(" ", 2)[2] for part in parts] == [
        "[smoker is yes]", "age", "[member is False]",
    ]  # fmt: skip
    assert " ".join(parts[0].split()) in " ".join(text.split())
    assert "one that training did not have is halfway" in text
    smokes, age, leaves = (
        float(sign + size)
        for sign, size in (part.replace(",", "").split()[:2] for part in parts)
    )
    rows = X.assign(smoker=X.smoker.where(rng.random(200) < 0.8, "sometimes"))
    share = rows.smoker.map({"no": 0.0, "yes": 1.0, "sometimes": 0.5})
    by_hand = float(constant) + smokes * share + age * X.age + leaves * ~X.member
    np.testing.assert_allclose(by_hand, tree.predict(rows), rtol=1e-3, atol=1.0)


def test_rules_of_logarithms_give_the_prediction_by_hand():
    """To a thousandth, and within the numbers of training, as a line says."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.normal(0.0, 1.0, 300)})
    y = np.exp(10.0 + X.a + 0.1 * rng.normal(size=300))
    model = SORCTRegressor(0, 0.01, leaf="linear", link="log", random_state=0)
    tree = model.fit(X, y).tree_
    text = export_text(tree)
    constant, weight = re.search(r"exp\(([\d.]+) \+ ([\d.]+) a\)", text).groups()
    by_hand = np.exp(float(constant) + float(weight) * X.a).clip(y.min(), y.max())
    np.testing.assert_allclose(by_hand, tree.predict(X), rtol=1e-3)
    assert "predict stays between the least and the largest" in " ".join(text.split())
    assert "or to as many as move no sum by more" in text


def told_by_hand(parts, row):
    """What the terms of a printed sum add for a row."""
    total = 0.0
    for part in parts:
        sign, size, asked = part.split(" ", 2)
        name, _, level = asked.strip("[]").partition(" is ")
        cell = "missing" if row[name] is None else str(row[name])
        is_so = cell == level if asked[0] == "[" else row[name]
        total += float(sign + size) * is_so
    return total


@pytest.mark.parametrize("weights", ["-0+", "+-0", "+00", "-+", "-+m", "+-m", "+0m"])
@pytest.mark.parametrize("rare", [False, True])
def test_sums_of_leaves_hold_for_every_level(weights, rare):
    """Also where two of several have opposite weights, or cells are missing."""
    levels = [*"abc"[: len(weights.removesuffix("m"))]]
    cells = levels * 20 + (["r"] if rare else []) + [None] * 20 * ("m" in weights)
    X = pd.DataFrame({"g": pd.Series(cells, dtype=object), "z": 1.0 * len(cells)})
    X["z"] = np.arange(len(X)) % 7.0
    model = SORCTRegressor(0, 0.01, leaf="linear", random_state=0)
    tree = model.fit(X, X["z"] + np.arange(len(X)) % 3).tree_
    names = tree.encoder.column_names
    slopes = np.zeros_like(tree.leaf_coef)
    for level, sign in zip(levels, weights, strict=False):
        slopes[names.index(f"g = {level}"), 0] = {"-": -0.25, "0": 0.0, "+": 0.25}[sign]
    slopes[names.index("z"), 0] = 0.125
    if "m" in weights:
        slopes[names.index("g is missing"), 0] = -0.25
    tree = replace(tree, leaf_coef=slopes)
    constant, *parts = linear_parts(tree, tree.view.leaves[0])
    told = [float(constant) + told_by_hand(parts, row) for row in X.to_dict("records")]
    np.testing.assert_allclose(told, tree.predict(X), rtol=0.0, atol=0.01)


@pytest.mark.parametrize("link", ["identity", "log"])
@pytest.mark.parametrize("origin", [0.0, 2000.0, 1e6])
def test_sums_of_leaves_hold_however_far_from_zero_columns_are(origin, link):
    """Rounding moves them by little beside what they miss; more digits on request."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"year": origin + rng.integers(-10, 25, 200), "z": rng.random(200)}
    )
    y = 3.7 * (X["year"] - origin + 20.0) + 5.0 * X["z"] + 0.1 * rng.normal(size=200)
    model = SORCTRegressor(0, 0.01, leaf="linear", link=link, random_state=0)
    tree = model.fit(X, y).tree_
    (leaf,) = tree.view.leaves
    for decimals, error in ((None, 0.1 * leaf.miss), (12, 1e-4)):
        constant, *parts = linear_parts(tree, leaf, decimals)
        added = [told_by_hand(parts, row) for row in X.to_dict("records")]
        said = float(constant.replace(" ", "")) + np.array(added)
        if link == "log":
            said = np.exp(said).clip(y.min(), y.max())
            error = 1e-3 * y.max()
        np.testing.assert_allclose(said, tree.predict(X), rtol=0.0, atol=error)


def test_rules_say_that_many_rows_are_told_of_by_some():
    """Means and shares are then of a sample."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MANY_ROWS + 100, 1))
    y = X[:, 0] + rng.normal(size=len(X))
    model = SORCTRegressor(0, 1.0, leaf="linear", n_starts=1, random_state=0)
    told = "of the training rows is of 16 384 of them, drawn from 16 484"
    assert told in " ".join(str(model.fit(X, y).tree_).split())
    assert told not in " ".join(str(model.fit(X[:200], y[:200]).tree_).split())
