"""The whole page in Chromium: copies, training, any report on any screen."""

import json
import os
from itertools import product
from pathlib import Path as FilePath

import pytest
from sorct.export import to_sql

from sorct import SORCTClassifier, Tree, export_text
from tests.show.report.cases import (
    HOSTILE,
    SCRIPT,
    drawn_labels,
    drawn_path,
    drawn_tree,
    hostile_table,
    mixed_table,
)
from tests.show.report.reading import (
    assert_tab_reaches,
    percent,
    probabilities,
    tab_to,
    text,
)

ROOT = FilePath(__file__).parents[3]


# -- copies, training ------------------------------------------------------------------


def test_rules_sql_and_json_can_be_copied(visit, case):
    """Of the tree shown, by mouse and by keys; the JSON loads and predicts the same."""
    page = visit(case.report)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    points = 0, case.summary["chosen"], len(case.path) - 1
    for k, by in product(points, ("mouse", "keys")):
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


def test_tab_comes_by_all_that_can_be_used(visit, case):
    """From the top of the page: the grid, the form, a cut, the copies."""
    numeric = [
        i for i, v in enumerate(case.chosen.encoder.variables)
        if v.affine and v.name in case.chosen.variables_used
    ]  # fmt: skip
    assert_tab_reaches(
        visit(case.report), "#heatmap td", "#sample", f"#value-{numeric[-1]}",
        "[data-copy=Rules]", "[data-copy=SQL]", "[data-copy=JSON]",
    )  # fmt: skip


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
    page.click("#training summary")
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


@pytest.mark.stands_for_all
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


@pytest.mark.every_value
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
