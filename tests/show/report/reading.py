"""Reading a page in a browser: what it shows, and moving to a place by keys."""

import json
import os
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from sorct import export_text
from tests.show.report.cases import drawn_labels, drawn_path, drawn_tree, mixed_table


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


# Focus the stop of the Tab key just before the next one that matches.
_STOP_BEFORE = """(selector) => {
  const stops = [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]",
  )].filter((one) => one.tabIndex >= 0 && !one.disabled
    && one.getClientRects().length > 0);
  const here = stops.indexOf(document.activeElement) + 1;
  const next = stops.findIndex((one, n) => n >= here && one.matches(selector));
  const place = next < 0 ? stops.findIndex((one) => one.matches(selector)) : next;
  if (place > 0) stops[place - 1].focus();
  return place;
}"""


def tab_to(page, selector):
    """Press Tab, from the stop before, and see that an element has the focus.

    ``assert_tab_reaches`` presses it all the way.
    """
    assert page.evaluate(_STOP_BEFORE, selector) > 0, f"{selector} is no stop of Tab"
    page.keyboard.press("Tab")
    assert page.evaluate("(one) => document.activeElement.matches(one)", selector)


def assert_tab_reaches(page, *selectors):
    """Press Tab from the top of the page until all of these have had the focus."""
    page.evaluate("document.activeElement.blur()")
    left = list(selectors)
    for _ in range(400):
        page.keyboard.press("Tab")
        reached = "(one) => document.activeElement.matches(one)"
        left = [one for one in left if not page.evaluate(reached, one)]
        if not left:
            return
    raise AssertionError(f"Tab never reaches {left}")


def text(page, selector):
    """Text of an element, with plain spaces."""
    return page.text_content(selector).replace("\u00a0", " ")


def percent(share):
    """A share as the page writes it: scripts round halves up, Python to even."""
    exact = Decimal(100 * share).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return f"{exact} %"


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
