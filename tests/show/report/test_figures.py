"""Figures in Chromium: what accuracy means, plain numbers, gaps, edges, whole steps."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sorct import SORCTClassifier, export_text
from sorct.show.text import plain_number
from tests.show.report.cases import drawn_labels, drawn_path, drawn_tree
from tests.show.report.reading import percent, tab_to, text


def figures(page):
    """Key figures, as the page writes them."""
    found = page.locator("#figures li").all_text_contents()
    return [one.replace("\u00a0", " ") for one in found]


# -- accuracy --------------------------------------------------------------------------


def test_accuracy_stands_beside_the_largest_class(visit, case):
    """Its share in the data shown; without data, in training."""
    share = pd.Series(case.y).value_counts(normalize=True)
    assert case.summary["data"]["baseline"] == pytest.approx(share.max())
    told = [f"{percent(share.max())} would be right by always saying {share.index[0]}"]
    assert figures(visit(case.report, again=True))[1].startswith(told[0])
    bare = case.chosen.report()
    most = int(np.argmax(case.chosen.class_share))
    wanted = f"{percent(case.chosen.class_share.max())} would be right by always saying"
    found = figures(visit(bare))
    assert found[0].endswith("are about.")
    assert found[1].startswith(f"{wanted} {case.chosen.classes[most]}")


def test_rows_of_training_have_the_accuracy_of_what_is_predicted(visit, iris):
    """Once; a tree that does not know it has the expected one beside."""
    tree = SORCTClassifier(n_starts=2, random_state=0).fit(*iris).tree_
    point = tree.report(*iris).summary["points"][0]
    accuracy = np.mean(tree.predict(iris[0]) == iris[1])
    assert point["training_accuracy"] == pytest.approx(accuracy)
    line = f"{percent(accuracy)} accuracy on the rows of training"
    for report in (
        tree.report(*iris),
        tree.report(),
        tree.report(*(z[1:] for z in iris)),
    ):
        found = figures(visit(report))
        assert sum(one.startswith(line) for one in found) == 1
        assert not any("expected accuracy" in one for one in found)
    old = replace(tree, training=replace(tree.training, found=None))
    plain, expected = figures(visit(old.report(*iris)))[:2]
    assert plain.startswith(line)
    assert expected.startswith(
        f"{percent(point['expected_accuracy'])} expected accuracy in training"
    )


def test_rows_that_may_contain_those_of_training_are_told(visit, iris):
    """The page cannot tell, and says so: in the lead and beside the figure."""
    X, y = iris
    model = SORCTClassifier(n_starts=2, random_state=0).fit(X[1:], y[1:])
    page = visit(model.tree_.report(X, y))
    assert "optimistic if rows of training are among these" in figures(page)[0]
    lead = text(page, "#lead")
    assert "measured on the 150 rows given to this report. The 149 rows of tr" in lead
    assert "may be among them, and this page cannot tell" in lead
    page = visit(model.tree_.report(X[:149], y[:149]))
    assert "may be among them" not in text(page, "#lead")


def test_held_out_accuracy_stands_beside_that_of_training(visit, iris):
    """With what the tree was chosen by, told as people tell it."""
    told = {"cv_score": -0.125, "cv_scoring": "minus the log-loss", "cv_folds": 10}
    tree = SORCTClassifier(n_starts=2, random_state=0).fit(*iris).tree_
    record = replace(tree.training, cv_accuracy=0.945, **told)
    page = visit(replace(tree, training=record).report(*iris))
    plain, held_out = figures(page)[:2]
    assert "(trained and chosen on these rows: optimistic)" in plain
    assert held_out.startswith("94.5 % accuracy in cross-validation, 10 folds")
    assert "score there: log-loss 0.125, accuracy 0.945" in held_out
    assert "log-loss 0.125, accuracy 0.945" in page.inner_text("#training-body")


def test_without_data_there_is_the_expected_accuracy_alone(visit, case):
    """Plain accuracy is not known then."""
    found = figures(visit(case.path.report()))
    assert "expected accuracy in training" in found[0]
    assert not any("accuracy on" in one for one in found)


@pytest.mark.parametrize(
    ("by", "width"), [("mouse", 1280), ("keys", 390), ("touch", 390)]
)
def test_figures_are_explained(visit, case, by, width):
    """In a tip inside the window, while a question mark is pointed at or in focus."""
    page = visit(case.report, width, **({"has_touch": True} if by == "touch" else {}))
    marks = page.locator("#figures .about")
    assert marks.count() == 3
    for n in range(3):
        mark = marks.nth(n)
        if by == "mouse":
            mark.hover()
        elif by == "touch":
            mark.tap()
        else:
            tab_to(page, "#figures .about")
        told = page.locator(f"#{mark.get_attribute('aria-describedby')}").text_content()
        assert text(page, "#tip") == told.replace("\u00a0", " ")
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    assert not page.is_visible("#tip")


def test_a_choice_by_the_rows_shown_is_said_to_be_optimistic(visit, case):
    """Not one of one's own, and not a single tree."""
    assert case.summary["chosen_on_rows"]
    page, k = visit(case.report), case.summary["chosen"]
    assert "(chosen on these rows: optimistic)" in figures(page)[0]
    other = next(n for n in range(len(case.path)) if n != k)
    page.click(f'#heatmap td[data-point="{other}"]')
    assert "(optimistic if you choose by it)" in figures(page)[0]
    own = case.path.report(case.X, case.y, chosen=case.chosen)
    assert not own.summary["chosen_on_rows"]
    assert not case.path.report().summary["chosen_on_rows"]
    for report in (own, case.path.report(), case.chosen.report(case.X, case.y)):
        assert "optimistic" not in figures(visit(report))[0]


# -- numbers ---------------------------------------------------------------------------

NUMBERS = [
    ("1.908e+04", "19 080"), ("-1.908e+04", "-19 080"), ("12345.67", "12 345.67"),
    ("1000000", "1 000 000"), ("1e+06", "1 000 000"), ("2.5e+08", "250 000 000"),
    ("2024", "2024"), ("0.0001", "0.0001"), ("0", "0"), ("0.30690", "0.30690"),
    ("1e-05", "0.00001"), ("1e-07", "1e-07"), ("3.2e+12", "3.2e+12"), ("inf", "inf"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "plain"), NUMBERS)
def test_numbers_are_written_out_where_they_can_be_read(number, plain):
    """Digit for digit, thousands apart."""
    assert plain_number(number).replace("\u202f", " ") == plain


@pytest.fixture
def area_tree(rng):
    """Draw a tree of one cut whose numbers are large."""
    X = pd.DataFrame({"area": rng.uniform(0.0, 1e5, 80), "share": rng.random(80)})
    tree = drawn_tree(rng, X, ["a", "b"], depth=1)
    return replace(tree, coef=np.array([[0.4], [1.0]]), threshold=np.array([0.35])), X


def test_the_page_writes_numbers_out(visit, rng, area_tree):
    """Thousands apart in the drawing, the panel and what is read aloud."""
    tree, X = area_tree
    tree = replace(tree, coef=np.array([[1.0], [0.4]]))
    report = tree.report(X, drawn_labels(rng, tree, X))
    entry = report.summary["trees"][0]["nodes"][0]
    assert "e+" not in entry["question"]
    assert plain_number(entry["threshold"]) not in entry["question"]
    page = visit(report)
    assert page.text_content("#rules-text") == export_text(tree)
    for found in (
        page.text_content("#drawing"),
        page.text_content("#detail"),
        page.get_attribute(".hit", "aria-label"),
    ):
        assert "e+" not in found
        assert plain_number(entry["threshold"]) in found
    weight = page.locator("#detail [aria-label=Coefficients] tbody td").nth(2)
    assert weight.text_content() == plain_number(entry["terms"][1]["weight"])


# -- gaps ------------------------------------------------------------------------------


def test_counts_without_a_tree_are_seen(visit, case):
    """Ticks stand at numbers that trees use, and the line is a staircase."""
    page = visit(case.report)
    used = sorted({point["n_variables"] for point in case.summary["points"]})
    ticks = page.locator("#most-ticks span").all()
    assert [int(one.get_attribute("data-count")) for one in ticks] == used
    assert page.locator("#frontier .tick").count() == len(used)
    line = page.get_attribute("#frontier .frontier", "d")
    assert set(line) & set("MLHVC") == set("MHV")
    for n in range(used[0], used[-1] + 1):
        page.evaluate("document.getElementById('most').focus()")
        page.locator("#most").fill(str(n))
        told = text(page, "#most-none")
        assert told == "" if n in used else told.startswith(f"No tree uses {n};")


def test_a_gap_is_told(visit, rng):
    """Between 1 and 6 variables there is nothing."""
    X = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef"))
    tree = drawn_tree(rng, X, [0, 1], depth=1)
    path = drawn_path(rng, tree, X, 2, 1)
    few = replace(path.trees[1], coef=tree.coef * np.eye(6)[:, :1])
    path = replace(path, trees=(replace(path.trees[0], coef=tree.coef), few))
    page = visit(path.report(X, drawn_labels(rng, tree, X)))
    page.locator("#most").focus()
    page.locator("#most").fill("4")
    assert text(page, "#most-none") == "No tree uses 4; the best with fewer uses 1."


# -- edges, print, places --------------------------------------------------------------


def edge(page, selector):
    """Mean colour of the last pixels at the right edge of an element."""
    picture = page.locator(selector).screenshot()
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"), dtype=float)
    return pixels[10:-10, -5:-1].mean()


def test_an_edge_beyond_which_there_is_more_has_a_shadow(visit, case):
    """And none at the end, in light and in dark."""
    page = visit(case.report, 390)
    selector = "[aria-label='Classes and their recall']"
    frame = page.locator(selector)
    assert frame.evaluate("(one) => one.scrollWidth > one.clientWidth + 20")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        frame.evaluate("(one) => { one.scrollLeft = 0; }")
        before = edge(page, selector)
        frame.evaluate("(one) => { one.scrollLeft = one.scrollWidth; }")
        after = edge(page, selector)
        assert abs(before - after) > 20


def test_print_says_that_probabilities_are_not_calibrated(visit, case):
    """Hints on how to use the page are left out, this is not one."""
    page = visit(case.report, again=True)
    page.emulate_media(media="print")
    assert page.is_visible("text=not calibrated on rows held out")
    assert not page.is_visible(".hint >> nth=0")


@pytest.mark.parametrize("width", [1280, 390])
def test_bars_are_near_their_names(visit, case, width):
    """In the answer, where full bars have one length, and in the cuts."""
    page = visit(case.report, width)
    for row in page.locator("#answer .bars > div").all():
        name, bar = row.locator("dt"), row.locator(".meter")
        words = name.evaluate(
            "(one) => { const range = document.createRange();"
            " range.selectNodeContents(one);"
            " return range.getBoundingClientRect().right; }"
        )
        assert bar.bounding_box()["x"] - words < 30
    bars = page.locator("#answer .meter").all()
    assert len({round(bar.bounding_box()["width"]) for bar in bars}) == 1
    rows = page.evaluate(_NAMES_AND_BARS)
    assert len(rows) > 1
    assert all(0 < axis - name < 65 for name, axis in rows)


# Right end of the longest name, and zero of the bars, in units of the drawing.
_NAMES_AND_BARS = """() => [...document.querySelectorAll("#drawing .node")].map(
  (one) => {
    const names = [...one.querySelectorAll(".weight + text")];
    const ends = names.map((name) => name.getBBox()).map((box) => box.x + box.width);
    const axis = one.querySelector(".axis");
    return axis && [Math.max(...ends), axis.x1.baseVal.value];
  }).filter(Boolean)"""


# -- what if ---------------------------------------------------------------------------


def test_whole_numbers_step_in_whole_numbers(visit, case):
    """The slider and the field."""
    page, i = visit(case.report), list(case.X.columns).index("whole")
    slider = page.locator(f"#value-{i} + input[type=range]")
    assert page.get_attribute(f"#value-{i}", "step") == "1"
    for share in (0.13, 0.57, 0.9):
        box = slider.bounding_box()
        slider.click(position={"x": share * box["width"], "y": box["height"] / 2})
        assert float(page.input_value(f"#value-{i}")).is_integer()
    before = float(page.input_value(f"#value-{i}"))
    page.focus(f"#value-{i}")
    page.keyboard.press("ArrowUp")
    assert float(page.input_value(f"#value-{i}")) == before + 1
    other = list(case.X.columns).index("plain")
    assert page.get_attribute(f"#value-{other}", "step") == "any"


def test_without_rows_the_form_begins_at_a_typical_sample(visit, rng, case):
    """Medians and most frequent levels of training."""
    X = case.X.assign(colour=pd.Categorical(["green"] * 60 + ["red", "blue"] * 15))
    tree = drawn_tree(rng, X, ["a", "b"])
    page = visit(tree.report())
    for i, name in enumerate(X.columns):
        if name == "constant":
            continue
        if pd.api.types.is_float_dtype(X[name]) or name == "whole":
            value = float(page.input_value(f"#value-{i}"))
            near = (X[name].max() - X[name].min()) / 100
            slack = 0.5 if name == "whole" else near
            assert value == pytest.approx(X[name].median(), abs=slack)
            assert name != "whole" or value.is_integer()
        else:
            shown = page.locator(f"#value-{i} option:checked").text_content()
            counts = X[name].value_counts()
            assert counts[[str(v) == shown for v in counts.index]].max() == max(counts)
