"""What if, in Chromium: probabilities equal those of the tree, the route lights up."""

import numpy as np
import pandas as pd
import pytest

from sorct import explain
from tests.show.export.spoken import with_all
from tests.show.report.cases import drawn_tree, mixed_table, random_rows
from tests.show.report.reading import lit_cuts, probabilities, tab_to, text


def test_the_form_has_the_variables_used(visit, case):
    """Those and no others, by name."""
    page = visit(case.report, again=True)
    for k in (0, len(case.path) - 1):
        page.click(f'#heatmap td[data-point="{k}"]')
        labels = page.locator("#values label").all_inner_texts()
        assert labels == ["Start from sample", *case.path.trees[k].variables_used]


# Fill in row after row; what the page answers to each.
_TRY_ALL = """(rows) => rows.map((values) => {
  document.querySelectorAll("#values [data-variable]").forEach((field) => {
    const isList = field.tagName === "SELECT";
    field.value = String(values[field.dataset.variable]);
    field.dispatchEvent(new Event(isList ? "change" : "input", { bubbles: true }));
  });
  return {
    proba: [...document.querySelectorAll("#answer [data-proba]")].map(
      (one) => Number(one.dataset.proba)),
    predicted: document.querySelector("#answer .predicted strong").textContent,
  };
})"""


@pytest.mark.stands_for_all
def test_probabilities_are_those_of_the_tree(visit, case, rng):
    """To 1e-9 for random rows, half of them far outside of the training range."""
    page = visit(case.report, again=True)
    for k in (0, 1, len(case.path) - 1):
        page.click(f'#heatmap td[data-point="{k}"]')
        tree = case.path.trees[k]
        rows, frame = random_rows(rng, tree, 200)
        answers = page.evaluate(_TRY_ALL, rows)
        proba = np.array([answer["proba"] for answer in answers])
        assert np.abs(proba - tree.predict_proba(frame)).max() < 1e-9
        predicted = [answer["predicted"] for answer in answers]
        assert predicted == tree.predict(frame).tolist()


def test_numbers_of_a_row_are_short_and_count_exactly(visit, rng):
    """No digits of single precision; what is not edited counts to the last bit."""
    X = mixed_table(rng)
    X["plain"] = X["plain"].astype(np.float32)
    X.loc[X.index[0], "plain"] = np.float32(0.221)
    tree = drawn_tree(rng, X, ["a", "b"])
    report = tree.report(X, tree.predict(X), rows=len(X))
    page = visit(report)
    page.select_option("#sample", "0")
    place = list(X.columns).index("plain")
    assert page.input_value(f"#value-{place}") == "0.221"
    far = page.input_value(f"#value-{list(X.columns).index('far')}")
    assert float(far) == pytest.approx(X["far"].iloc[0], abs=0.01)
    assert len(far) <= 13
    assert probabilities(page) == pytest.approx(
        tree.predict_proba(X.iloc[[0]])[0], abs=1e-12
    )


def test_a_tree_whose_leaves_say_more_answers_by_them(visit, rng):
    """Shares of leaves, calibration and costs; the page says what it shows."""
    X = mixed_table(rng)
    tree = with_all(rng, drawn_tree(rng, X, ["low", "mid", "top"]))
    page = visit(tree.report())
    rows, frame = random_rows(rng, tree, 100)
    answers = page.evaluate(_TRY_ALL, rows)
    proba = np.array([answer["proba"] for answer in answers])
    assert np.abs(proba - tree.predict_proba(frame)).max() < 1e-9
    predicted = [answer["predicted"] for answer in answers]
    assert predicted == tree.predict(frame).tolist()
    told = "calibrated on rows held out. Predicted is the class of least expected cost."
    assert told in text(page, "#answer")


def test_the_route_lights_up(visit, case, rng):
    """That of ``explain``, in the drawing and in words."""
    page = visit(case.report, again=True)
    page.click(f'#heatmap td[data-point="{case.summary["chosen"]}"]')
    rows, frame = random_rows(rng, case.chosen, 4)
    for n, row in enumerate(rows):
        page.evaluate(_TRY_ALL, [row])
        steps = explain(case.chosen, frame.iloc[[n]]).steps
        assert lit_cuts(page) == [step.cut for step in steps]
        assert page.locator(".node.lit").count() == len(steps) + 1
        route = text(page, "#answer .route")
        for step in steps:
            assert f"cut {step.cut} {step.answer} →" in route


def test_values_change_by_typing_alone(visit, case):
    """Tab to a field, type, and see the answer; Enter does not leave the page."""
    page = visit(case.report)
    row = case.X.loc[[case.summary["samples"][0]["name"]]].copy()
    for name, keys, value in (
        ("plain", "0.75", 0.75),
        ("whole", "-12e1", -120.0),
        ("far", "10000001.5", 10000001.5),
    ):
        i = list(case.X.columns).index(name)
        tab_to(page, f"#value-{i}")
        page.keyboard.press("Control+a")
        page.keyboard.type(keys)
        page.keyboard.press("Enter")
        row[name] = value
        wanted = case.chosen.predict_proba(row)[0]
        assert probabilities(page) == pytest.approx(wanted, abs=1e-9)
        assert page.input_value("#sample") == "-1"
    assert "outside" in text(
        page, f"#value-{list(case.X.columns).index('whole')}-range"
    )
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    assert probabilities(page) == []
    assert "a number is missing for far" in text(page, "#answer")
    field = f"#value-{list(case.X.columns).index('far')}"
    assert page.get_attribute(field, "aria-invalid") == "true"
    page.keyboard.type("10000001.5")
    assert probabilities(page) == pytest.approx(wanted, abs=1e-9)
    assert "Outside the range of training: whole" in text(page, "#answer")


def test_enter_in_the_only_field_does_not_leave_the_page(visit, rng):
    """Browsers submit a form of one field by themselves."""
    X = pd.DataFrame({"only": rng.normal(size=40)})
    tree = drawn_tree(rng, X, ["a", "b"], depth=1)
    page = visit(tree.report())
    page.fill("#value-0", "1.5")
    page.press("#value-0", "Enter")
    page.wait_for_timeout(100)
    assert page.input_value("#value-0") == "1.5"
    wanted = tree.predict_proba(pd.DataFrame({"only": [1.5]}))[0]
    assert probabilities(page) == pytest.approx(wanted, abs=1e-9)


def test_values_change_by_slider_and_level(visit, case):
    """The slider fills the number in; columns far from zero keep their digits."""
    page, columns = visit(case.report), list(case.X.columns)
    row = case.X.loc[[case.summary["samples"][0]["name"]]].astype(object)
    for name in ("plain", "far", "small"):
        i = columns.index(name)
        slider = page.locator(f"#value-{i} + input[type=range]")
        for share in (0.2, 0.8):
            box = slider.bounding_box()
            slider.click(position={"x": share * box["width"], "y": box["height"] / 2})
            value = float(page.input_value(f"#value-{i}"))
            low, high = case.X[name].min(), case.X[name].max()
            assert (value - low) / (high - low) == pytest.approx(share, abs=0.06)
            row[name] = value
            wanted = case.chosen.predict_proba(row.infer_objects())[0]
            assert probabilities(page) == pytest.approx(wanted, abs=1e-9)
    for name in ("colour", "word", "flag", "code"):
        variable = case.chosen.encoder.variables[columns.index(name)]
        tab_to(page, f"#value-{columns.index(name)}")
        page.keyboard.press("Home")
        for n, level in enumerate(variable.levels):
            row[name] = level
            wanted = case.chosen.predict_proba(row.infer_objects())[0]
            assert probabilities(page) == pytest.approx(wanted, abs=1e-9), (name, n)
            page.keyboard.press("ArrowDown")


def test_any_listed_sample_can_be_the_start(visit, case):
    """Chosen with the keys, which stay in the list."""
    page = visit(case.report, again=True)
    page.click(f'#heatmap td[data-point="{case.summary["chosen"]}"]')
    tab_to(page, "#sample")
    page.keyboard.press("Home")
    assert text(page, "#sample option:checked") == "own values"
    for n, sample in enumerate(case.summary["samples"]):
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.id") == "sample"
        assert page.input_value("#sample") == str(n)
        wanted = case.chosen.predict_proba(case.X.loc[[sample["name"]]])[0]
        assert probabilities(page) == pytest.approx(wanted, abs=1e-9)
