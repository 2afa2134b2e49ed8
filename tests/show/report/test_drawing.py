"""The drawing of the tree, opened from disk in Chromium, by mouse and by keys."""

import numpy as np
import pandas as pd
import pytest

from sorct.show.text import plain_number
from tests.data.test_encoder import mixed_table
from tests.show.report.cases import drawn_labels, drawn_tree
from tests.show.report.reading import probabilities, tab_to, text
from tests.show.test_told_text import weak_tree


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
        size = plain_number(term["weight"].replace("−", "-"))
        assert weight == size.replace("-", "−", term["weight"][0] == "−")
        assert variable["name"] in name
        assert level < 0 or f"is {variable['levels'][level]}]" in name
    sides = page.locator("#detail .sides tbody tr").all_inner_texts()
    for row, side in zip(sides, ("yes", "no"), strict=True):
        assert row.split("\t")[:2] == [side, str(sum(entry["split"][side]))]
    drawn = page.locator("#detail .histogram rect").count()
    assert drawn == np.count_nonzero(entry["split"]["counts"])


@pytest.mark.parametrize(
    "by",
    ["mouse", *(pytest.param(k, marks=pytest.mark.slow) for k in ("Enter", "Space"))],
)
def test_a_cut_shows_its_coefficients_and_sides(visit, case, by):
    """Every cut of the tree, by a click or a key."""
    page, chosen = visit(case.report, again=True), case.summary["chosen"]
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


@pytest.mark.parametrize(("by", "width"), [("mouse", 1280), ("keys", 390)])
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
    page = visit(case.report, again=True)
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
    page, summary = visit(case.report, again=True), case.summary
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


@pytest.mark.parametrize(
    "depth", [4, *(pytest.param(d, marks=pytest.mark.slow) for d in (1, 2, 3))]
)
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


def test_cuts_that_move_probabilities_alone_are_drawn(visit, rng):
    """With expected shares, a line that says so, and words that do not meet."""
    X = mixed_table(rng, 200)
    tree = weak_tree(X, np.where(rng.random(200) < 0.2, "fraud", "legal"))
    page = visit(tree.report(X, tree.predict(X)))
    assert page.locator("#drawing .node").count() == 3
    assert "the cuts move the probability" in page.inner_text("#tree-note")
    assert page.locator("#drawing text", has_text="% of samples").count() == 2
    no, yes = (
        page.locator("#detail .histogram text", has_text=word).first.bounding_box()
        for word in ("no", "yes")
    )
    assert no["x"] + no["width"] <= yes["x"]
    page = visit(drawn_tree(rng, X, ["a", "b"]).report())
    assert not page.is_visible("#tree-note")
