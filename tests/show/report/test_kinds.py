"""Reports on every kind of variable: the page predicts as the tree does."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct.data.dates import days_of
from tests.show.every_kind import OPTIONS, every_kind, scaled_sums, tree_of_one, tree_on
from tests.show.report.reading import probabilities, text


@pytest.fixture
def table(rng):
    """Every kind, missing cells too."""
    return every_kind(rng)


@pytest.fixture
def labels(table):
    """Labels of any kind."""
    return np.array(["low", "mid", "top"])[np.arange(len(table)) % 3]


def test_everything_is_plain_json(rng, table, labels):
    """Without NaN; a missing number is null, a new level has a place."""
    tree = tree_on(rng, table)
    new = table.assign(purpose=["new"] * 60 + ["car"] * 60)
    summary = json.loads(tree.report(new, labels, rows=120).json())
    places = {variable["name"]: i for i, variable in enumerate(summary["variables"])}
    for name in ("age", "income", "signup"):
        values = [sample["values"][places[name]] for sample in summary["samples"]]
        assert [value is None for value in values] == table[name].isna().tolist()
    days = days_of(
        table["signup"], tree.encoder.variables[places["signup"]].known.origin
    )
    found = [sample["values"][places["signup"]] for sample in summary["samples"]]
    np.testing.assert_array_equal(np.array(found, dtype=float), days)
    purpose = summary["variables"][places["purpose"]]
    assert purpose["levels"] == ["car", "house", "tv", "missing", "other"]
    places = [sample["values"][places["purpose"]] for sample in summary["samples"]]
    assert places == [4] * 60 + [0] * 60


def test_columns_of_a_variable_are_those_of_the_encoder(rng, table):
    """Rows of choices and of missing cells, put together again."""
    tree = tree_on(rng, table)
    summary = tree.report().summary
    for i, variable in enumerate(tree.encoder.variables):
        told, columns = summary["variables"][i], tree.encoder.columns_of(i)
        width = columns.stop - columns.start
        if variable.choices is not None:
            rows = [as_row(row, width) for row in told["rows"][: len(variable.choices)]]
            np.testing.assert_array_equal(rows, variable.encode_choices())
        if variable.takes_missing:
            wanted = np.eye(width)[-1]
            np.testing.assert_array_equal(as_row(told["missing"], width), wanted)
        else:
            assert told["missing"] is None


def as_row(pairs, width):
    """A row of columns from its pairs."""
    row = np.zeros(width)
    for k, value in pairs:
        row[k] = value
    return row


def test_histograms_count_the_sums_of_every_kind(rng, table, labels):
    """Rows with missing cells too."""
    tree = tree_on(rng, table, 1, n_classes=2)
    y = labels.copy()
    y[y == "top"] = "low"
    summary = tree.report(table, y).summary
    split = summary["trees"][0]["nodes"][0]["split"]
    (cut,) = tree.view.cuts
    lead = cut.reading.summands[0].raw_weight
    margin = scaled_sums(tree, table, cut) / lead
    for code, label in enumerate(tree.classes):
        edges = np.linspace(split["low"], split["high"], len(split["counts"][0]) + 1)
        edges[[0, -1]] = -np.inf, np.inf
        counts = np.histogram(margin[y == label], edges)[0]
        assert np.abs(counts - split["counts"][code]).sum() <= 2


# -- in Chromium -----------------------------------------------------------------------

# Fill in row after row of what people would see in the fields; what the page answers.
_TRY_ALL = """(rows) => rows.map((values) => {
  document.querySelectorAll("#values [data-variable]").forEach((field) => {
    const isList = field.tagName === "SELECT", value = values[field.dataset.variable];
    field.value = value === null ? "" : String(value);
    field.dispatchEvent(new Event(isList ? "change" : "input", { bubbles: true }));
  });
  return [...document.querySelectorAll("#answer [data-proba]")].map(
    (one) => Number(one.dataset.proba));
})"""


def typed(tree, X):
    """Rows as they are put into the fields: numbers, days, places of choices."""
    columns = []
    for variable in tree.encoder.variables:
        column = X[variable.name]
        if variable.choices is not None:
            columns.append(variable.codes(column, "other").tolist())
        elif str(column.dtype).startswith("datetime"):
            days = column.dt.strftime("%Y-%m-%d")
            columns.append([None if pd.isna(day) else day for day in days])
        else:
            columns.append([None if pd.isna(one) else float(one) for one in column])
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("categorical", ["whole", "dummies"])
def test_the_page_gives_the_probabilities_of_the_tree(visit, rng, table, categorical):
    """To 1e-9, for every kind, missing cells, pooled levels, beyond the range."""
    tree = tree_on(rng, table, 2, replace(OPTIONS, categorical=categorical))
    page = visit(tree.report())
    more = every_kind(rng)
    for name in ("age", "debt", "income", "wild"):
        more[name] = more[name] * rng.uniform(-1.0, 3.0, len(more))
    for X in (table, more):
        found = np.array(page.evaluate(_TRY_ALL, typed(tree, X)))
        assert np.abs(found - tree.predict_proba(X)).max() < 1e-9


def test_listed_rows_show_what_is_missing(visit, rng, table, labels):
    """As a tick beside a number or a date, as a choice of a category."""
    tree = tree_on(rng, table)
    page = visit(tree.report(table, labels, rows=40))
    names, options = list(table.columns), page.locator("#sample option")
    for n in range(40):
        page.select_option("#sample", str(n))
        row = table.loc[[options.nth(n + 1).text_content().rpartition(" (")[0]]]
        wanted = tree.predict_proba(row)[0]
        assert probabilities(page) == pytest.approx(wanted, abs=1e-9)
        for name in ("age", "signup", "income"):
            tick = f"#value-{names.index(name)}-missing"
            assert page.is_checked(tick) == bool(row[name].isna().iloc[0])
        chosen = text(page, f"#value-{names.index('purpose')} option:checked")
        assert (chosen == "missing") == bool(row["purpose"].isna().iloc[0])


def test_a_number_can_be_taken_away_and_put_back(visit, rng, table):
    """By the tick beside it; the slider gives the number back."""
    tree = tree_on(rng, table, 1, n_classes=2)
    page = visit(tree.report())
    for name in ("age", "signup"):
        i = list(table.columns).index(name)
        before, proba = page.input_value(f"#value-{i}"), probabilities(page)
        page.check(f"#value-{i}-missing")
        assert page.input_value(f"#value-{i}") == ""
        assert probabilities(page) != proba
        assert "No answer" not in text(page, "#answer")
        page.uncheck(f"#value-{i}-missing")
        assert page.input_value(f"#value-{i}") == before
        assert probabilities(page) == proba


def test_a_date_moves_with_its_slider(visit, rng, table):
    """The text is a day, and the range is told as days."""
    tree = tree_of_one(rng, table, "signup", [1.0, 0.0], 0.5)
    page = visit(tree.report())
    i = list(table.columns).index("signup")
    slider = page.locator(f"#value-{i} + input[type=range]")
    slider.evaluate(
        "(one) => { one.value = 700; one.dispatchEvent(new Event('input')); }"
    )
    first = table["signup"].min()
    wanted = str(first + pd.Timedelta(days=700))[:10]
    assert page.input_value(f"#value-{i}") == wanted
    assert str(first)[:10] in text(page, f"#value-{i}-range")


def test_a_cut_draws_the_curve_of_what_a_variable_adds(visit, rng, table):
    """With a mark for missing cells; a number scaled by its range has none."""
    tree = tree_of_one(rng, table, "income", [1.0, 0.3], 1.5)
    page = visit(tree.report())
    assert page.locator("#detail .contribution").count() == 1
    points = page.get_attribute("#detail .curve", "points").split()
    income = tree.encoder.variables[list(table.columns).index("income")].known
    assert len(points) == len(income.at)
    assert page.locator("#detail .mark").count() == 1
    page = visit(tree_of_one(rng, table, "age", [1.0, 0.3], 0.5).report())
    assert page.locator("#detail .contribution").count() == 0


def test_levels_that_weigh_the_same_share_a_row(visit, rng, table):
    """In the panel and in the drawing, by the name of their variable."""
    tree = tree_on(rng, table, 1, n_classes=2)
    coef = np.zeros(tree.coef.shape)
    names = list(table.columns)
    coef[tree.encoder.columns_of(names.index("purpose")), 0] = [0.5, 0.5, -0.5, 0.25]
    coef[tree.encoder.columns_of(names.index("debt")), 0] = 1.0
    page = visit(replace(tree, coef=coef).report())
    rows = page.locator("#detail [aria-label=Coefficients] tbody th").all_inner_texts()
    assert rows == [
        "debt", "purpose: car, house", "purpose: tv", "purpose: missing",
        "purpose: others",
    ]  # fmt: skip
    drawn = page.locator("#drawing .node").first.inner_html()
    assert "purpose: car, house" in drawn
    assert "purpose: others" not in drawn


def test_the_page_fits_a_phone(visit, rng, table, labels):
    """With every kind of field."""
    page = visit(tree_on(rng, table).report(table, labels), 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
