"""The page of a forest: its figures are those of Python, whatever is in the names."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sorct import Forest, explain
from sorct.show.forests import partial_curve
from sorct.tree.forest import ForestRecord
from tests.show.every_kind import every_kind, tree_on
from tests.show.report.cases import HOSTILE, data_in, drawn_tree, hostile_table
from tests.show.report.reading import percent, text
from tests.show.valued import valued


def forest_on(rng, X, n_trees=4, of_quantity=False, n_classes=3, log=False):
    """Random trees on one table, with weights of their own and a record."""
    first = tree_on(rng, X, n_classes=n_classes)
    trees = []
    for _ in range(n_trees):
        coef = first.coef * (rng.random(first.coef.shape) < 0.5)
        threshold = np.median(first.encoder.encode(X) @ coef, axis=0)
        threshold = threshold / first.encoder.n_groups
        leaves = rng.permutation(first.leaf_class)
        tree = replace(first, coef=coef, threshold=threshold, leaf_class=leaves)
        trees.append(valued(rng, tree, linear=True, log=log) if of_quantity else tree)
    told = ForestRecord(oob_score=0.75, oob_scoring="accuracy", drop={"age": 0.5})
    weights = rng.dirichlet(np.full(n_trees, 9.0))
    return Forest(tuple(trees), weights, training=told)


@pytest.fixture(scope="module")
def told():
    """A forest of three classes on every kind of variable, rows, and its report."""
    rng = np.random.default_rng(3)
    X = every_kind(rng)
    forest = forest_on(rng, X)
    y = forest.predict(X)
    y[::5] = "low"
    return forest, X, y, forest.report(X, y, rows=30)


def test_figures_are_those_of_the_forest(told):
    forest, X, y, report = told
    summary = report.summary
    assert summary["point"]["accuracy"] == np.mean(forest.predict(X) == y)
    names = [summary["variables"][one["variable"]]["name"] for one in summary["used"]]
    assert set(names) == set(forest.variables_used)
    shares = [one["importance"] for one in summary["used"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    doubt, agreement = summary["doubt"], forest.agreement(X)
    assert sum(part["count"] for part in doubt) == len(X)
    all_agree = agreement > 1.0 - 1e-9
    assert doubt[0]["count"] == all_agree.sum()
    assert doubt[0]["right"] == np.mean((forest.predict(X) == y)[all_agree])
    assert len(summary["samples"]) == 30
    assert data_in(report.html())["used"] == json.loads(report.json())["used"]
    assert "4 trees" in repr(report)


def test_curves_are_what_is_predicted_for_typical_rows(told):
    forest, _, _, report = told
    usual = forest.encoder.typical_row()
    for one in report.summary["used"]:
        name = forest.encoder.names[one["variable"]]
        curve = one["curve"]
        plain = partial_curve(forest, name, np.linspace(0.0, 1.0, 33).tolist())
        if curve["numbers"] is None:
            np.testing.assert_allclose(curve["said"], plain.said, atol=1e-5)
            assert len(curve["at"]) == plain.said.shape[1]
        else:
            np.testing.assert_allclose(curve["said"], plain.said, atol=1e-5)
            np.testing.assert_allclose(curve["places"], plain.places, atol=1e-5)
        if curve.get("missing") is not None:
            row = usual.assign(**{name: [None]})
            proba = forest.predict_proba(row)[0]
            np.testing.assert_allclose(curve["missing"], proba, atol=1e-5)


@pytest.mark.slow
def test_deviation_of_the_trees_parts_the_rows_of_a_quantity(rng):
    X = every_kind(rng)
    forest = forest_on(rng, X, of_quantity=True)
    y = forest.predict(X) + rng.normal(0.0, 2.0, len(X))
    summary = forest.report(X, y).summary
    missed, spread = np.abs(y - forest.predict(X)), forest.agreement(X)
    rows = np.argsort(spread, kind="stable")[:30]
    assert summary["doubt"][0]["missed"] == pytest.approx(missed[rows].mean())
    assert summary["point"]["mae"] == pytest.approx(missed.mean())
    assert len(summary["doubt"]) == 4
    assert summary["doubt"][0]["to"] <= summary["doubt"][-1]["from"]


def test_no_rows_no_measures_and_bad_rows_are_refused(told):
    forest, X, y, _ = told
    bare = forest.report().summary
    assert (bare["doubt"], bare["point"], bare["samples"]) == (None, {}, [])
    assert forest.report(X, y, rows=0).summary["samples"] == []
    with pytest.raises(ValueError, match="rows must be"):
        forest.report(rows=-1)
    with pytest.raises(ValueError, match="none of the classes"):
        forest.report(X, ["elsewhere"] * len(X))


def test_names_cannot_leave_their_place(rng):
    """Markup in names of columns, levels, rows, classes and the title."""
    X = hostile_table(rng)
    trees = tuple(drawn_tree(rng, X, HOSTILE[:8], depth=3) for _ in range(2))
    trees = (trees[0], replace(trees[1], encoder=trees[0].encoder))
    forest = Forest.of(trees)
    page = forest.report(X, forest.predict(X), title=HOSTILE[0]).html()
    assert "<img" not in page
    assert "<svg onload" not in page
    assert page.count("</script>") == 3
    assert data_in(page)["classes"][:4] == HOSTILE[:4]


def said_of_rows(page, n):
    """What the page says of listed rows, and which share of the trees agree."""
    found = []
    for place in range(n):
        page.select_option("#sample", str(place))
        shares = page.eval_on_selector_all(
            "#answer [data-proba]", "(all) => all.map((o) => Number(o.dataset.proba))"
        )
        value = page.eval_on_selector_all(
            "#answer [data-said]", "(all) => all.map((o) => Number(o.dataset.said))"
        )
        found.append((shares or value, text(page, "#answer .route")))
    return found


def test_the_page_says_what_the_forest_says(visit, told):
    """Probabilities to 1e-9, agreement, what single values do; no traffic, no error."""
    forest, X, _, report = told
    page = visit(report)
    listed = [sample["name"] for sample in report.summary["samples"]]
    agreement = forest.agreement(X.loc[listed])
    proba = forest.predict_proba(X.loc[listed])
    for k, (shares, doubt) in enumerate(said_of_rows(page, 10)):
        np.testing.assert_allclose(shares, proba[k], rtol=0.0, atol=1e-9)
        assert doubt.startswith(f"{100 * agreement[k]:.0f} % of the 4 trees")
    said = explain(forest, X.loc[[listed[9]]])
    first = text(page, "#moves tbody tr:first-child")
    assert first.startswith(said.influences[0].variable)
    assert f"{100 * abs(said.influences[0].contribution):.1f} points" in first
    shown = text(page, "#figures")
    assert percent(report.summary["point"]["accuracy"]) in shown
    assert "75.0 %" in shown
    assert page.locator("#curves-body figure").count() == len(forest.variables_used)
    assert page.locator("#doubt").is_visible()
    assert text(page, "#rules-text") == str(forest).replace("\u00a0", " ")


@pytest.mark.every_case
@pytest.mark.parametrize("log", [False, True])
def test_the_page_of_a_quantity_and_of_no_rows(visit, rng, log):
    X = every_kind(rng)
    forest = forest_on(rng, X, of_quantity=True, log=log)
    report = forest.report(X, forest.predict(X), rows=5)
    page = visit(report)
    listed = [sample["name"] for sample in report.summary["samples"]]
    said = forest.predict(X.loc[listed])
    for k, (value, _) in enumerate(said_of_rows(page, 5)):
        assert value[0] == pytest.approx(said[k], abs=1e-8)
    page = visit(forest_on(rng, X, n_classes=2).report(), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#doubt").is_hidden()


@pytest.mark.parametrize("width", [320, 1280])
def test_hostile_names_do_nothing_in_a_browser(visit, rng, width):
    X = hostile_table(rng)
    tree = drawn_tree(rng, X, HOSTILE[:8], depth=3)
    forest = Forest.of((tree, replace(tree, coef=tree.coef[:, ::-1])))
    page = visit(forest.report(X, forest.predict(X), title=HOSTILE[-1]), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
