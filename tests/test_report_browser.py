"""The report as a reader meets it: opened from disk in Chromium, by mouse and keys.

Every page is watched: a message of the console, an error, a dialog or a request other
than the file itself fails the test that opened it.
"""

import json
import os
import shutil
from pathlib import Path as FilePath

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, Tree, explain, export_text
from sorct.export import to_sql
from tests.report_cases import (
    HOSTILE,
    SCRIPT,
    drawn_labels,
    drawn_path,
    drawn_tree,
    hostile_table,
    mixed_table,
    random_rows,
)

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the Python package playwright is not installed"
)

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
ROOT = FilePath(__file__).parents[1]


@pytest.fixture(scope="module")
def browser():
    """Start one browser for all tests."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("the program chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open reports from disk; afterwards nothing must have gone wrong or out."""
    contexts, wrong, requests = [], [], set()

    def open_report(report, width=1280, **options):
        file = tmp_path / f"report{len(contexts)}.html"
        report.write_html(file)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: requests.add(request.url))
        page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_report
    pages = {page.url.split("#")[0] for context in contexts for page in context.pages}
    for context in contexts:
        context.close()
    assert wrong == []
    assert {url for url in requests if not url.startswith("data:")} <= pages


class Case:
    """A path with its data and report, drawn once."""

    def __init__(self):
        rng = np.random.default_rng(int(os.environ.get("SORCT_TEST_SEED", "0")))
        self.X = mixed_table(rng)
        tree = drawn_tree(rng, self.X, ["low", "mid", "top"], gamma=32.0)
        self.path = drawn_path(rng, tree, self.X, 4, 3)
        self.y = drawn_labels(rng, tree, self.X)
        self.report = self.path.report(self.X, self.y, rows=12)
        self.summary = self.report.summary
        self.chosen = self.path.trees[self.summary["chosen"]]


@pytest.fixture(scope="module")
def case():
    """Draw a path on a table of all kinds of columns."""
    return Case()


def tab_to(page, selector):
    """Press Tab until an element that matches has the focus."""
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("(one) => document.activeElement.matches(one)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")


def text(page, selector):
    """Text of an element, with plain spaces."""
    return page.text_content(selector).replace("\u00a0", " ")


def percent(share):
    """A share as the page writes it."""
    return f"{100 * share:.1f} %"


def probabilities(page):
    """Probabilities of the what-if, to the last bit."""
    return page.eval_on_selector_all(
        "#answer [data-proba]", "(all) => all.map((one) => Number(one.dataset.proba))"
    )


def lit_cuts(page):
    """Numbers of the cuts on the route that is lit, from the top."""
    names = page.eval_on_selector_all(
        ".node.lit .hit", "(all) => all.map((one) => one.getAttribute('aria-label'))"
    )
    return [int(name.split(":")[0][4:]) for name in names if name.startswith("cut")]


# -- the tree --------------------------------------------------------------------------


def assert_detail(page, summary, point, n):
    """The panel has the coefficients and both sides of a cut."""
    tree = summary["trees"][summary["points"][point]["tree"]]
    entry, found = tree["nodes"][n], text(page, "#detail")
    assert found.startswith(f"Cut {entry['cut']}")
    rows = page.locator("#detail [aria-label=Coefficients] tbody tr").all_inner_texts()
    assert len(rows) == len(entry["terms"])
    for row, term in zip(rows, entry["terms"], strict=True):
        i, level = summary["columns"][term["column"]]
        variable = summary["variables"][i]
        name, weight, _ = row.split("\t")
        assert weight == term["weight"]
        assert variable["name"] in name
        assert level < 0 or f"is {variable['levels'][level]}]" in name
    sides = page.locator("#detail .sides tbody tr").all_inner_texts()
    for row, side in zip(sides, ("yes", "no"), strict=True):
        assert row.split("\t")[:2] == [side, str(sum(entry["split"][side]))]
    drawn = page.locator("#detail .histogram rect").count()
    assert drawn == np.count_nonzero(entry["split"]["counts"])


@pytest.mark.parametrize("by", ["mouse", "Enter", "Space"])
def test_a_cut_shows_its_coefficients_and_sides(visit, case, by):
    """Every cut of the tree, by a click or a key."""
    page, chosen = visit(case.report), case.summary["chosen"]
    tree = case.summary["trees"][case.summary["points"][chosen]["tree"]]
    cuts = [n for n, entry in enumerate(tree["nodes"]) if "label" not in entry]
    assert len(cuts) > 1
    for n in [*cuts[1:], cuts[0]]:
        node = f'.node[data-node="{n}"] .hit'
        if by == "mouse":
            page.click(node)
        else:
            page.focus("#drawing")
            tab_to(page, node)
            page.keyboard.press(by)
        assert page.get_attribute(node, "aria-pressed") == "true"
        assert page.locator('.hit[aria-pressed="true"]').count() == 1
        assert_detail(page, case.summary, chosen, n)


@pytest.mark.parametrize("by", ["mouse", "keys"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_leaf_tells_its_samples(visit, case, by, width):
    """In a tip inside the window, while it is pointed at or has the focus."""
    page, summary = visit(case.report, width), case.summary
    tree = summary["trees"][summary["points"][summary["chosen"]]["tree"]]
    assert not page.is_visible("#tip")
    page.focus("#drawing")
    for n, entry in enumerate(tree["nodes"]):
        if "label" not in entry:
            continue
        if by == "mouse":
            page.hover(f'.node[data-node="{n}"]')
        else:
            tab_to(page, f'.node[data-node="{n}"] .hit')
        found = text(page, "#tip")
        assert f"{sum(entry['found']['counts'])} sample" in found
        for place in entry["found"]["listed"]:
            assert summary["samples"][place]["name"] in found
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900
        described = f'.node[data-node="{n}"] [aria-describedby=tip]'
        assert page.locator("[aria-describedby=tip]").count() == 1
        assert page.locator(described).count() == 1
    if by == "keys":
        page.keyboard.press("Escape")
    else:
        page.mouse.move(2, 2)
    assert not page.is_visible("#tip")


def test_the_tip_of_a_leaf_at_the_lower_edge_is_in_the_window(visit, case):
    """It is then above the leaf."""
    page = visit(case.report)
    leaf = page.locator("#drawing .node").last
    leaf.evaluate("(one) => one.scrollIntoView({ block: 'end' })")
    box = leaf.bounding_box()
    assert box["y"] + box["height"] > 890
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    tip = page.locator("#tip").bounding_box()
    assert tip["y"] >= 0
    assert tip["y"] + tip["height"] <= box["y"]


def test_a_leaf_lists_samples_to_start_from(visit, case):
    """The panel of a leaf has a button for each, which fills the form."""
    page, summary = visit(case.report), case.summary
    tree = summary["trees"][summary["points"][summary["chosen"]]["tree"]]
    n, entry = next(
        (n, entry)
        for n, entry in enumerate(tree["nodes"])
        if entry.get("found", {}).get("listed")
    )
    page.click(f'.node[data-node="{n}"]')
    for place in entry["found"]["listed"]:
        page.click(f'#detail [data-sample="{place}"]')
        sample = summary["samples"][place]
        assert page.input_value("#sample") == str(place)
        row = case.X.loc[[sample["name"]]]
        wanted = case.chosen.predict_proba(row)[0]
        assert probabilities(page) == pytest.approx(wanted, abs=1e-9)
        assert page.get_attribute(f'.node[data-node="{n}"]', "class") == "node lit"


LONG = [
    f"{'Wide Mean of Measured Moments ' * 2}"[: 29 - len(str(k))] for k in range(12)
]


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_text_of_the_drawing_overlaps(visit, rng, depth):
    """With 30 letters in every name, text stays apart and inside its box."""
    names = [f"{name} {k}" for k, name in enumerate(LONG)]
    X = pd.DataFrame(rng.normal(1e4, 9e3, (80, 11)), columns=names[:11])
    X[names[11]] = rng.choice(
        [f"level of some length, number {k}" for k in range(4)], 80
    )
    classes = [f"class of a rather long name {k:2d}" for k in range(min(2**depth, 8))]
    tree = drawn_tree(rng, X, classes, depth, density=0.5)
    page = visit(tree.report(X, drawn_labels(rng, tree, X)))
    assert page.evaluate(_OVERLAPS) == []


_OVERLAPS = """() => {
  const all = [...document.querySelectorAll("#drawing text")];
  const boxes = all.map((one) => one.getBoundingClientRect());
  const found = [];
  const apart = (a, b) => a.right <= b.left + 0.5 || b.right <= a.left + 0.5
    || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
  boxes.forEach((a, m) => boxes.slice(0, m).forEach((b, n) => {
    if (!apart(a, b)) found.push([all[m].textContent, all[n].textContent]);
  }));
  all.forEach((one, m) => {
    const box = one.closest(".node")?.querySelector(".box").getBoundingClientRect();
    const inside = !box || (boxes[m].left >= box.left && boxes[m].right <= box.right
      && boxes[m].top >= box.top && boxes[m].bottom <= box.bottom);
    if (!inside) found.push(one.textContent);
  });
  document.querySelectorAll("#drawing .bar").forEach((bar) => {
    const a = bar.getBoundingClientRect();
    const hit = boxes.findIndex((b) => !apart(a, b));
    if (hit >= 0) found.push(["bar", all[hit].textContent]);
  });
  return all.length ? found : ["nothing drawn"];
}"""


# -- the trade-off ---------------------------------------------------------------------


_SHOWN = """() => {
  const cells = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].map(
    (row) => [...row.children].map((one) => one.textContent));
  const points = (those) => [...document.querySelectorAll(those)].map(
    (one) => Number(one.dataset.point));
  return {
    rules: document.getElementById("rules-text").textContent,
    figures: document.getElementById("figures").textContent,
    comparison: cells("comparison"), recalls: cells("recalls"),
    cells: points('#heatmap td[aria-selected="true"]'),
    marks: points('#frontier [aria-checked="true"]'),
    nodes: document.querySelectorAll("#drawing .node").length,
    training: document.getElementById("training").textContent,
  };
}"""


def assert_shows(page, case, k):
    """All of the page is about the tree of point k."""
    tree, point = case.path.trees[k], case.summary["points"][k]
    chosen = case.summary["points"][case.summary["chosen"]]
    shown = json.loads(json.dumps(page.evaluate(_SHOWN)).replace("\\u00a0", " "))
    assert shown["rules"] == export_text(tree)
    assert percent(point["accuracy"]) in shown["figures"]
    assert f"{point['n_variables']} of {len(case.X.columns)}" in shown["figures"]
    rows = {name: values for name, *values in shown["comparison"]}
    both = [percent(one["accuracy"]) for one in (point, chosen)]
    assert rows["accuracy on the data shown"] == both
    both = [str(one["n_variables"]) for one in (point, chosen)]
    assert rows["variables in the tree"] == both
    for c, (name, *values) in enumerate(shown["recalls"]):
        assert name == str(tree.classes[c])
        for value, one in zip(values, (point, chosen), strict=True):
            assert value.startswith(f"{percent(one['recall'][c])} (")
    assert shown["cells"] == [k]
    (mark,) = shown["marks"]
    for key in ("accuracy", "n_variables"):
        assert case.summary["points"][mark][key] == point[key]
    assert shown["nodes"] == len(case.summary["trees"][point["tree"]]["nodes"])
    assert percent(point["expected_recall"][0]) in shown["training"]
    row = case.X.loc[[case.summary["samples"][0]["name"]]]
    wanted = tree.predict_proba(row)[0]
    assert probabilities(page) == pytest.approx(wanted, abs=1e-9)


def test_a_point_of_the_frontier_shows_its_tree(visit, case):
    """By mouse; the heatmap and everything else follow."""
    page = visit(case.report)
    marks = page.locator("#frontier circle")
    assert marks.count() == len(places(case))
    for n in range(marks.count()):
        # Marks may overlap: it is the nearest that is picked.
        box = marks.nth(n).bounding_box()
        centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.click(*centre)
        assert_shows(page, case, int(marks.nth(n).get_attribute("data-point")))


def places(case):
    """Places of the frontier from left to right, and up."""
    points = case.summary["points"]
    return sorted({(point["n_variables"], point["accuracy"]) for point in points})


def test_arrow_keys_move_along_the_frontier(visit, case):
    """From the mark of the tree shown to either end, and no further."""
    page, points = visit(case.report), case.summary["points"]
    tab_to(page, "#frontier circle")
    assert (
        page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
    )
    page.keyboard.press("Home")
    for key, wanted in (
        ("ArrowRight", places(case)),
        ("ArrowDown", places(case)[::-1]),
    ):
        for place in [*wanted, wanted[-1]]:
            k = int(page.evaluate("document.activeElement.dataset.point"))
            assert (points[k]["n_variables"], points[k]["accuracy"]) == place
            assert_shows(page, case, k)
            page.keyboard.press(key)
    page.keyboard.press("End")
    assert page.locator("#frontier circle").last.get_attribute("aria-checked") == "true"


def test_a_cell_of_the_heatmap_shows_its_tree(visit, case):
    """Every one, by mouse, for every quantity on display."""
    page = visit(case.report)
    values = page.eval_on_selector_all(
        "#quantity option", "(all) => all.map((one) => one.value)"
    )
    assert set(values) >= {"accuracy", "n_variables", "local_sparsity"}
    for k in range(len(case.path)):
        page.select_option("#quantity", values[k % len(values)])
        page.click(f'#heatmap td[data-point="{k}"]')
        assert_shows(page, case, k)


def test_arrow_keys_move_in_the_heatmap(visit, case):
    """Down and across the grid, and not over its edge."""
    page = visit(case.report)
    n_local, n_global = case.path.alphas_local.size, case.path.alphas_global.size
    tab_to(page, "#heatmap td[data-point]")
    for _ in range(n_local):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert_shows(page, case, 0)
    row, column = 0, 0
    steps = ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"]
    steps += ["ArrowLeft", "ArrowUp", "ArrowUp", "ArrowUp", "End", "ArrowDown", "Home"]
    for key in steps:
        page.keyboard.press(key)
        row = min(
            max(row + {"ArrowDown": 1, "ArrowUp": -1}.get(key, 0), 0), n_local - 1
        )
        column += {"ArrowRight": 1, "ArrowLeft": -1, "Home": -9, "End": 9}.get(key, 0)
        column = min(max(column, 0), n_global - 1)
        k = row * n_global + column
        assert page.evaluate("document.activeElement.dataset.point") == str(k)
        assert_shows(page, case, k)


@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_the_slider_finds_the_best_tree_with_so_many_variables(visit, case, by):
    """Most accurate among those with at most k."""
    page, points = visit(case.report), case.summary["points"]
    counts = [point["n_variables"] for point in points]
    if by == "keys":
        tab_to(page, "#most")
        page.keyboard.press("Home")
    for most in range(min(counts), max(counts) + 1):
        if by == "mouse":
            box = page.locator("#most").bounding_box()
            share = (most - min(counts)) / (max(counts) - min(counts))
            x = box["x"] + 8 + share * (box["width"] - 16)
            page.mouse.click(x, box["y"] + box["height"] / 2)
        assert page.input_value("#most") == str(most)
        assert text(page, "#most-value").split()[0] == str(most)
        shown = page.get_attribute('#heatmap [aria-selected="true"]', "data-point")
        assert_shows(page, case, int(shown))
        allowed = [point for point in points if point["n_variables"] <= most]
        best = max(point["accuracy"] for point in allowed)
        assert points[int(shown)] in allowed
        assert points[int(shown)]["accuracy"] == best
        page.keyboard.press("ArrowRight")
        page.mouse.move(0, 0)


def test_the_heatmap_colours_what_is_asked_for(visit, case):
    """More variables, more colour."""
    page = visit(case.report)
    page.select_option("#quantity", "n_variables")
    share = page.eval_on_selector_all(
        "#heatmap td[data-point]",
        "(all) => all.map((one) => parseFloat(one.style.getPropertyValue('--share')))",
    )
    counts = [point["n_variables"] for point in case.summary["points"]]
    order = sorted(set(counts))
    wanted = [100 * order.index(n) / (len(order) - 1) for n in counts]
    assert share == pytest.approx(wanted, abs=0.06)


def test_charts_follow_the_width_of_the_window(visit, case):
    """Drawn anew, the tree shown still marked."""
    page = visit(case.report)
    page.click('#heatmap td[data-point="1"]')
    for width in (390, 700, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "() => document.querySelector('#frontier svg').viewBox.baseVal.width"
            " === Math.min(document.getElementById('frontier').clientWidth, 620)"
        )
        assert_shows(page, case, 1)


# -- what if ---------------------------------------------------------------------------


def test_the_form_has_the_variables_used(visit, case):
    """Those and no others, by name."""
    page = visit(case.report)
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


def test_probabilities_are_those_of_the_tree(visit, case, rng):
    """To 1e-9 for random rows, half of them far outside of the training range."""
    page = visit(case.report)
    for k in (0, 1, len(case.path) - 1):
        page.click(f'#heatmap td[data-point="{k}"]')
        tree = case.path.trees[k]
        rows, frame = random_rows(rng, tree, 200)
        answers = page.evaluate(_TRY_ALL, rows)
        proba = np.array([answer["proba"] for answer in answers])
        assert np.abs(proba - tree.predict_proba(frame)).max() < 1e-9
        predicted = [answer["predicted"] for answer in answers]
        assert predicted == tree.predict(frame).tolist()


def test_the_route_lights_up(visit, case, rng):
    """That of ``explain``, in the drawing and in words."""
    page = visit(case.report)
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
    assert probabilities(page) == pytest.approx(wanted, abs=1e-9)


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
    page = visit(case.report)
    tab_to(page, "#sample")
    page.keyboard.press("Home")
    assert text(page, "#sample option:checked") == "own values"
    for n, sample in enumerate(case.summary["samples"]):
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.id") == "sample"
        assert page.input_value("#sample") == str(n)
        wanted = case.chosen.predict_proba(case.X.loc[[sample["name"]]])[0]
        assert probabilities(page) == pytest.approx(wanted, abs=1e-9)


# -- copies, training ------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_rules_sql_and_json_can_be_copied(visit, case, by):
    """Of the tree shown; the JSON loads and predicts the same."""
    page = visit(case.report)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for k in (0, case.summary["chosen"], len(case.path) - 1):
        page.click(f'#heatmap td[data-point="{k}"]')
        copied = {}
        for name in ("Rules", "SQL", "JSON"):
            if by == "mouse":
                page.click(f"[data-copy={name}]")
            else:
                tab_to(page, f"[data-copy={name}]")
                page.keyboard.press("Enter")
            page.wait_for_function(f"() => copied.textContent === '{name} copied.'")
            copied[name] = page.evaluate("navigator.clipboard.readText()")
        tree = case.path.trees[k]
        assert copied["Rules"] == export_text(tree)
        assert copied["SQL"] == to_sql(tree)
        again = Tree.from_dict(json.loads(copied["JSON"]))
        assert again == tree
        assert (again.predict_proba(case.X) == tree.predict_proba(case.X)).all()


def test_copies_work_without_the_clipboard_interface(visit, case):
    """Where the browser refuses it, the text is selected and copied."""
    page = visit(case.report)
    page.context.grant_permissions(["clipboard-read"])
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(Error('no')); }"
    )
    page.click("[data-copy=JSON]")
    page.wait_for_function("() => copied.textContent === 'JSON copied.'")
    text = page.evaluate("navigator.clipboard.readText()")
    assert Tree.from_dict(json.loads(text)) == case.chosen
    assert page.locator("textarea").count() == 0


def test_labels_keep_their_type_when_copied(visit, rng, case):
    """Also those that a script would read as other numbers."""
    for classes in ([0.0, 1.0], [2**60 + 1, 2**60 + 3]):
        tree = drawn_tree(rng, case.X, classes)
        page = visit(tree.report())
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("[data-copy=JSON]")
        page.wait_for_function("() => copied.textContent === 'JSON copied.'")
        found = page.evaluate("navigator.clipboard.readText()")
        assert Tree.from_dict(json.loads(found)) == tree


def test_training_is_told(visit, iris):
    """Data, constraints and how well they are met, search, residual, versions, call."""
    X, y = iris
    clf = SORCTClassifier(min_recall={"setosa": 0.8}, n_starts=2, random_state=0)
    tree = clf.fit(X, y).tree_
    page = visit(tree.report(X, y))
    assert not page.is_visible("#tradeoff")
    found = text(page, "#training-body")
    told = tree.training
    for wanted in (told["call"], told["search"], told["status"], "150 rows"):
        assert wanted in found
    for name, version in told["versions"].items():
        assert f"{name} {version}" in found
    assert f"{told['residual']:.2g}".split("e")[0] in found
    rows = page.locator("[aria-label^='Classes and'] tbody tr").all_inner_texts()
    cells = rows[0].replace("\u00a0", " ").split("\t")
    expected = percent(told["recall"][0])
    recall = percent(tree.report(X, y).summary["points"][0]["recall"][0])
    assert cells == ["setosa", "33.3 %", "80.0 %", expected, "yes", "50", recall]
    confusion = page.locator("[aria-label=Confusion] tbody tr").all_inner_texts()
    assert len(confusion) == 3
    page.click("summary")
    assert "sepal length (cm)" in page.inner_text("[aria-label=Variables]")


# -- any report, any screen ------------------------------------------------------------


KINDS = [
    "hostile tree", "hostile path", "no variables", "no data", "no rows",
    "one row of penalties",
]  # fmt: skip


def report_of(kind, rng):
    """Draw a report of a kind."""
    if "hostile" in kind:
        X = hostile_table(rng)
        tree = drawn_tree(rng, X, HOSTILE[:8], depth=3)
        y = drawn_labels(rng, tree, X)
        if kind == "hostile path":
            return drawn_path(rng, tree, X, 3, 1).report(X, y, title=HOSTILE[-1])
        return tree.report(X, y, title=SCRIPT, call=SCRIPT)
    X = mixed_table(rng)
    if kind == "one row of penalties":
        return drawn_path(rng, drawn_tree(rng, X, [0, 1], depth=1), X, 17, 1).report()
    if kind == "no variables":
        tree = drawn_tree(rng, X, ["no", "yes"], depth=1, density=0.0)
        return tree.report(X, drawn_labels(rng, tree, X))
    tree = drawn_tree(rng, X, range(5), depth=4)
    if kind == "no data":
        return tree.report()
    return tree.report(X, drawn_labels(rng, tree, X), rows=0)


# What sticks out of the window without being in something that scrolls.
_TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const box = one.getBoundingClientRect();
  if (box.right <= innerWidth + 1) return false;
  let frame = one.parentElement;
  while (frame && !/auto|scroll|hidden/.test(getComputedStyle(frame).overflowX)) {
    frame = frame.parentElement;
  }
  return !frame || frame === document.body;
}).map((one) => one.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_all_kinds_fit_all_screens(visit, rng, kind):
    """Nothing wider than a phone, in dark; hostile names make no element."""
    page = visit(report_of(kind, rng), 390, color_scheme="dark")
    for width in (390, 800, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(_TOO_WIDE) == []
    for n in (0, page.locator("#drawing .node").count() - 1):
        page.click(f'.node[data-node="{n}"]')
        assert page.evaluate(_TOO_WIDE) == []
    assert page.locator("img, iframe, object, b, script:not([id])").count() == 1
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(18, 22, 29)"


def test_hostile_names_are_shown_as_they_are(visit, rng):
    """In the heading, the legend, the form and the rules, letter for letter."""
    page = visit(report_of("hostile tree", rng))
    assert page.text_content("h1") == SCRIPT
    assert page.title() == SCRIPT
    legend = page.locator("#legend li").all_text_contents()
    assert legend[:4] == HOSTILE[:4]
    assert "(blank)" in page.locator("#values label").all_text_contents()
    options = page.locator("#values select[data-variable] option").all_text_contents()
    assert SCRIPT in options
    page.click("[data-copy=SQL]")
    page.wait_for_function("() => copied.textContent.includes('could not be copied')")


def test_a_tree_without_variables_says_so(visit, rng):
    """There is nothing to change, and one answer."""
    page = visit(report_of("no variables", rng))
    assert "uses no variable" in text(page, "#values")
    assert sum(probabilities(page)) == pytest.approx(1.0)


def test_without_scripts_there_are_still_the_rules(visit, case):
    """In the page itself, for viewers that run nothing."""
    page = visit(case.report, java_script_enabled=False)
    assert page.inner_text("noscript pre") == export_text(case.chosen)


def test_the_page_prints(visit, case):
    """As a PDF, the variables unfolded and nothing scrolled away."""
    page = visit(case.report, color_scheme="dark")
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("document.querySelector('details').open")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not page.is_visible(".buttons")


@pytest.fixture(scope="module")
def axe():
    """Find the accessibility checker, from npm."""
    folder = os.environ.get("SORCT_AXE", ROOT / "node_modules" / "axe-core")
    file = FilePath(folder) / "axe.min.js"
    if not file.exists():
        pytest.skip("axe-core is not installed: npm install axe-core, or set SORCT_AXE")
    return file.read_text("utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["path", "hostile tree"])
def test_an_accessibility_check_finds_nothing_serious(
    visit, rng, case, axe, kind, scheme
):
    """With a leaf selected, its tip shown and everything unfolded."""
    report = case.report if kind == "path" else report_of(kind, rng)
    page = visit(report, color_scheme=scheme)
    page.evaluate(axe)
    page.click("summary")
    page.locator("#drawing .node").last.click()
    found = page.evaluate("axe.run().then((result) => result.violations)")
    serious = [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
