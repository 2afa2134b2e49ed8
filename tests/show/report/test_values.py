"""The page of a quantity: its numbers are those of the trees."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from sorct import SORCTRegressor, explain, sorct_path
from tests.show.every_kind import every_kind, tree_on
from tests.show.report.cases import (
    HOSTILE,
    data_in,
    drawn_tree,
    hostile_table,
    mixed_table,
    random_rows,
)
from tests.show.report.reading import tab_to, text
from tests.show.valued import valued

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


@pytest.fixture(scope="module")
def rows():
    rng, n = np.random.default_rng(2), 100
    X = pd.DataFrame(
        {
            "size": rng.uniform(20.0, 200.0, n),
            "rooms": rng.integers(1, 7, n),
            "zone": rng.choice(["A", "B"], n),
        }
    )
    y = 900.0 * X["size"] + 40_000.0 * (X.zone == "A") * (X["size"] > 100)
    return X, (y + rng.normal(0.0, 3000.0, n)).to_numpy()


@pytest.fixture(scope="module")
def path(rows):
    X, y = rows
    return sorct_path(
        X[:70], y[:70], loss="square", depth=1, alphas_local=[0.1, 20.0, 200.0],
        alphas_global=0, n_solutions=2, random_state=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(path, rows):
    X, y = rows
    return path.report(X[70:], y[70:], title="Houses", rows=9)


# -- the summary -----------------------------------------------------------------------


def test_measures_are_those_of_scikit_learn(path, rows, report):
    X, y = rows[0][70:], rows[1][70:]
    for tree, point in zip(path.trees, report.summary["points"], strict=True):
        said = tree.predict(X)
        assert point["r2"] == pytest.approx(r2_score(y, said))
        assert point["rmse"] == pytest.approx(root_mean_squared_error(y, said))
        assert point["mae"] == pytest.approx(mean_absolute_error(y, said))
    data = report.summary["data"]
    assert data["base_rmse"] == pytest.approx(y.std(), rel=1e-5)
    assert data["is_training"] is False
    trained = path.report(rows[0][:70], rows[1][:70]).summary
    assert trained["data"]["is_training"] is True
    for point in trained["points"]:
        assert point["r2"] == pytest.approx(point["training_r2"], abs=1e-6)


def test_rows_are_told_by_thirds(rows, report):
    y, summary = rows[1][70:], report.summary
    assert len(summary["classes"]) == 3
    assert summary["data"]["class_counts"] == [10, 10, 10]
    cut = summary["trees"][0]["nodes"][0]["split"]
    assert np.sum(cut["yes"]) + np.sum(cut["no"]) == 30
    whole = cut["means"][0] * np.sum(cut["yes"]) + cut["means"][1] * np.sum(cut["no"])
    assert whole / 30 == pytest.approx(y.mean(), rel=1e-4)


def test_no_row_is_told_that_is_not_listed(path, rows, report):
    """Bins have several rows each; points are the rows listed, and no others."""
    shown = report.summary["trees"][0]["residuals"]
    assert len(shown["points"]) == 9
    assert sum(bin["count"] for bin in shown["bins"]) == 30
    assert min(bin["count"] for bin in shown["bins"]) >= 8
    X, y = rows[0][70:], rows[1][70:]
    none = path.report(X, y, rows=0)
    assert none.summary["trees"][0]["residuals"]["points"] == []
    text = none.json()
    assert not any(json.dumps(value) in text for value in y.tolist())


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows_are_enough(path, rows, n):
    X, y = rows
    summary = path.report(X[:n], y[:n]).summary
    assert summary["points"][0]["rmse"] >= 0.0
    assert (summary["points"][0]["r2"] is None) == (n == 1)
    same = path.report(X[:5], np.ones(5)).summary
    assert same["classes"] == ["all rows"]


def test_text_is_refused(path, rows):
    X, y = rows
    with pytest.raises(ValueError, match="y must be numbers"):
        path.report(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="inconsistent"):
        path.report(X, y[:3])


# -- the script ------------------------------------------------------------------------

HARNESS = """
const { report, rows, goal } = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const model = report.trees[0].model, used = usedVariables(report, model);
console.log(JSON.stringify(rows.map((values) => [
  predictedValue(report, model, values), movesOf(report, model, values),
  goal === null ? null : used.map((i) => {
    const found = reachedBy(report, model, values, i, goal);
    return [i, found === undefined ? null : found];
  }),
])));
"""


def answers(tree, rows, goal=None):
    """What the script of the page says of rows."""
    templates = resources.files("sorct.show.report") / "templates"
    names = ("model.js", "whatif.js", "reach.js")
    script = "\n".join((templates / name).read_text("utf-8") for name in names)
    report = data_in(tree.report().html())
    given = json.dumps({"report": report, "rows": rows, "goal": goal})
    done = subprocess.run(
        [NODE, "-e", script + HARNESS],
        input=given.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.a_few(1)
@needs_node
@pytest.mark.parametrize("log", [False, True], ids=["number", "logarithm"])
@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
def test_the_page_predicts_what_the_tree_predicts(rng, linear, log):
    X = mixed_table(rng)
    drawn = drawn_tree(rng, X, ["a", "b"], depth=3)
    tree = valued(rng, drawn, linear=linear, log=log)
    places, frame = random_rows(rng, tree, 80)
    said = [value for value, *_ in answers(tree, places)]
    np.testing.assert_allclose(said, tree.predict(frame), rtol=0.0, atol=1e-7)


@pytest.mark.a_few(1)
@needs_node
@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
def test_listed_rows_of_every_kind_are_predicted(rng, linear):
    """Curves, dates, orders, missing cells and pooled levels as the page has them."""
    X = every_kind(rng)
    tree = valued(rng, tree_on(rng, X), linear=linear)
    listed = tree.report(X, np.arange(len(X)), rows=len(X)).summary["samples"]
    found = answers(tree, [sample["values"] for sample in listed])
    said = [value for value, *_ in found]
    np.testing.assert_allclose(said, tree.predict(X), rtol=0.0, atol=1e-9 * 1e3)


@needs_node
def test_moves_and_reaches_are_those_of_an_explanation(path, rows):
    """The nearest values, to what few digits can say, and none where there is none."""
    tree, X = path.trees[0], rows[0][:8]
    coded = X.assign(zone=X["zone"].map("AB".index)).astype(float)
    places = coded.to_numpy().tolist()
    names = tree.encoder.names
    for k, (value, moves, reached) in enumerate(answers(tree, places, 1e5)):
        told = explain(tree, X.iloc[[k]], reach=1e5)
        assert value == pytest.approx(told.predicted)
        own = {move.variable: move.move for move in told.moves}
        assert {names[one["i"]]: one["move"] for one in moves} == pytest.approx(own)
        changes = {change.variable: change.value for change in told.changes}
        for i, found in reached:
            expected = changes[names[i]]
            if names[i] == "zone":
                assert found == (None if expected is None else "AB".index(expected))
            elif expected is None or found is None:
                assert found == expected
            else:
                assert found == pytest.approx(expected, abs=0.02 * 180)


@pytest.mark.slow
@needs_node
def test_of_ordered_levels_the_nearest_reaches(rng):
    """As in an explanation; from a missing one, the nearest to a typical one."""
    X = every_kind(rng)
    tree = valued(rng, tree_on(rng, X), linear=True)
    listed = tree.report(X[:6], np.arange(6), rows=6).summary["samples"]
    goal = float(np.median(tree.predict(X)))
    found = answers(tree, [sample["values"] for sample in listed], goal)
    known = enumerate(tree.encoder.variables)
    ordered = {i for i, one in known if one.ordered and one.choices}
    n_seen = 0
    for k, (_, _, reached) in enumerate(found):
        told = explain(tree, X.iloc[[k]], reach=goal)
        changes = {change.variable: change.value for change in told.changes}
        for i, place in reached:
            if i in ordered:
                one = tree.encoder.variables[i]
                own = None if place is None else one.choices[place]
                assert own == changes[one.name]
                n_seen += place is not None
    assert n_seen > 0


# -- in a browser ----------------------------------------------------------------------


def test_the_page_shows_and_answers(visit, report, path, rows):
    page = visit(report)
    assert "R² on the data shown" in text(page, "#figures")
    assert text(page, "#probabilities-title") == "Predicted and observed"
    assert page.locator("#probabilities-body circle.row").count() == 2 * 9
    said = float(page.get_attribute("[data-value]", "data-value"))
    first = report.summary["samples"][0]
    tree = path.trees[report.summary["chosen"]]
    assert said == pytest.approx(tree.predict(rows[0].loc[[int(first["name"])]])[0])
    tab_to(page, "#goal")
    page.keyboard.type(str(round(said + 20_000)))
    assert "reaches" in text(page, "#answer table")
    assert page.evaluate("document.activeElement.id") == "goal"
    page.select_option("#along", index=1)
    leaf = page.locator("#drawing [data-node]").last
    assert leaf.count() == 1


def test_hostile_names_stay_text(rng, visit):
    X = hostile_table(rng)
    tree = valued(rng, drawn_tree(rng, X, ["a", "b"]), linear=True)
    page = visit(tree.report(X, rng.normal(size=len(X)), title=HOSTILE[0], rows=5))
    page.fill("#goal", "3")
    for k in range(page.locator("#along option").count()):
        page.select_option("#along", index=k)
    for node in page.locator("#drawing .hit").all():
        node.focus()
        page.keyboard.press("Enter")
    assert page.title() == HOSTILE[0]


def test_the_page_tells_where_four_of_five_rows_are(path, rows):
    """By leaves that say quantiles, rounded; not from few rows."""
    X, y = rows
    tree = path.trees[0]
    model = tree.report(X, y).summary["trees"][0]["model"]
    low, high = (
        replace(tree, leaf_value=np.array(model["interval"][side])).predict(X)
        for side in ("low", "high")
    )
    assert (low <= high).all()
    assert np.mean((y >= low) & (y <= high)) == pytest.approx(0.8, abs=0.05)
    few = tree.report(X[:49], y[:49]).summary["trees"][0]["model"]
    assert "interval" not in few


@pytest.fixture(scope="module")
def exact():
    """A tree that misses next to nothing of a wide quantity, and its rows."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(150, 2)), columns=["a", "b"])
    y = 100.0 * X["a"] + 30.0 * X["b"] + rng.normal(0.0, 0.2, 150)
    model = SORCTRegressor(1, 0.1, leaf="linear", random_state=0)
    return model.fit(X, y), X, y.to_numpy()


def test_an_interval_of_the_page_is_about_that_of_python(exact):
    """It has a width and what is predicted; no row can be told from its neighbours."""
    model, X, y = exact
    told = model.tree_.report(X, y).summary["trees"][0]["model"]["interval"]
    ends = [np.array(told[side]) for side in ("low", "high")]
    low, high = (replace(model.tree_, leaf_value=end).predict(X) for end in ends)
    found = model.interval(X, y)
    lower, upper = found.predict(X).T
    assert ((low <= lower) & (upper <= high) & (low < high)).all()
    said = model.predict(X)
    assert ((low < said) & (said < high)).mean() > 0.9
    assert np.mean(high - low) < 1.2 * np.mean(upper - lower)
    exactly = [found.low.leaf_value, found.high.leaf_value]
    assert np.abs(np.subtract(ends, exactly)).max() > 0.005 * np.mean(upper - lower)


@pytest.mark.slow
def test_a_narrow_interval_is_told_to_digits_that_part_it(visit, exact):
    """Its two numbers differ, and so does what is predicted."""
    model, X, y = exact
    page = visit(model.tree_.report(X, y))
    told = [text(page, ".between"), text(page, ".predicted")]
    (low, high), (said,) = (
        [float(n.replace("−", "-")) for n in re.findall(r"[-−]?\d+\.\d+", one)]
        for one in told
    )
    assert low < said < high


@pytest.mark.slow
def test_a_what_if_tells_the_interval(visit, path, rows):
    page = visit(path.trees[0].report(*rows))
    assert "Four of five such rows are between" in text(page, "#answer")
    low = float(page.get_attribute(".between", "data-low"))
    assert low <= float(page.get_attribute("[data-value]", "data-value"))


def test_a_single_tree_needs_no_rows(visit, rows):
    model = SORCTRegressor(0, 1.0, leaf="linear", random_state=0).fit(*rows)
    page = visit(model.tree_.report())
    assert "R² on the rows of training" in text(page, "#figures")
    assert page.is_hidden("#probabilities")
