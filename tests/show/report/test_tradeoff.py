"""The frontier, the heatmap and the slider in Chromium: all the page follows."""

from dataclasses import replace

import pytest

from sorct import sorct_path
from tests.show.report.reading import assert_shows, tab_to, text


def test_a_point_of_the_frontier_shows_its_tree(visit, case):
    """By mouse; the heatmap and everything else follow."""
    page = visit(case.report, again=True)
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
    page, points = visit(case.report, again=True), case.summary["points"]
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
    page = visit(case.report, again=True)
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
    page = visit(case.report, again=True)
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


@pytest.mark.parametrize("by", ["mouse", pytest.param("keys", marks=pytest.mark.slow)])
def test_the_slider_finds_the_best_tree_with_so_many_variables(visit, case, by):
    """Most accurate among those with at most k."""
    page, points = visit(case.report, again=True), case.summary["points"]
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
    page = visit(case.report, again=True)
    page.select_option("#quantity", "n_variables")
    share = page.eval_on_selector_all(
        "#heatmap td[data-point]",
        "(all) => all.map((one) => parseFloat(one.style.getPropertyValue('--share')))",
    )
    counts = [point["n_variables"] for point in case.summary["points"]]
    order = sorted(set(counts))
    wanted = [100 * order.index(n) / (len(order) - 1) for n in counts]
    assert share == pytest.approx(wanted, abs=0.06)


_OVERLAPS = """() => {
  const word = document.querySelector(".chosen-mark").getBoundingClientRect();
  const marks = [...document.querySelectorAll("#frontier .point")];
  return marks.map((one) => one.getBoundingClientRect()).filter((box) =>
    box.left < word.right - 1 && word.left + 1 < box.right
    && box.top < word.bottom - 3 && word.top + 3 < box.bottom).length;
}"""


@pytest.mark.every_case
@pytest.mark.parametrize("width", [1300, 390])
def test_the_word_at_the_chosen_mark_covers_no_other(visit, rng, iris, width):
    """Though others are beside and above it: it stands where there is room."""
    path = sorct_path(*iris, alphas_global=0, n_solutions=1, random_state=0)
    for tree in (path.trees[0], path.trees[5], path.trees[-1]):
        page = visit(path.report(*iris, chosen=tree), width)
        assert page.evaluate(_OVERLAPS) == 0
        word = page.locator(".chosen-mark").bounding_box()
        chart = page.locator("#frontier svg").bounding_box()
        assert chart["x"] <= word["x"]
        assert word["x"] + word["width"] <= chart["x"] + chart["width"]


def test_charts_follow_the_width_of_the_window(visit, case):
    """Drawn anew, the tree shown still marked."""
    page = visit(case.report, again=True)
    page.click('#heatmap td[data-point="1"]')
    for width in (390, 700, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "() => document.querySelector('#frontier svg').viewBox.baseVal.width"
            " === Math.min(document.getElementById('frontier').clientWidth, 620)"
        )
        assert_shows(page, case, 1)


def test_the_trade_off_can_be_told_in_cost(visit, case):
    """A tick turns numbers of variables into their cost; without prices it is gone."""
    page = visit(case.report)
    assert not page.locator("#by-cost-label").is_visible()
    prices = {name: float(k) for k, name in enumerate(case.path.trees[0].encoder.names)}
    trees = tuple(
        replace(tree, training=replace(tree.training, feature_cost=prices))
        for tree in case.path.trees
    )
    path = replace(case.path, trees=trees)
    page = visit(path.report(case.X, case.y))
    assert "variables used" in text(page, "#frontier")
    page.check("#by-cost")
    assert "cost of the variables used" in text(page, "#frontier")
    dearest = max(tree.variables_cost for tree in trees)
    page.locator("#most").focus()
    page.locator("#most").press("End")
    assert text(page, "#most-value") == f"a cost of {dearest:g}"
    page.locator("#most").press("Home")
    least = min(tree.variables_cost for tree in trees)
    assert f"that cost {least:g}" in text(page, "#shown")
    page.uncheck("#by-cost")
    assert "cost of the variables used" not in text(page, "#frontier")
