"""ContributionDisplay: what is drawn is what the values of a variable add."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sorct.plotting import ContributionDisplay, TreeDisplay

from tests.show.every_kind import every_kind, tree_of_one, tree_on


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture
def table(rng):
    """Every kind, missing cells too."""
    return every_kind(rng)


def sides(tree, display):
    """1 for cuts whose "yes" is left, else -1."""
    cuts = {cut.number: cut for cut in tree.view.cuts}
    return [1.0 if cuts[k].reading.is_left else -1.0 for k in display.cuts]


def test_values_add_what_their_terms_say(rng, table):
    """For every variable and cut, missing cells too; above 0 speaks for yes."""
    tree = tree_on(rng, table, 2)
    for i, variable in enumerate(tree.encoder.variables):
        if variable.name == "constant":
            continue
        display = ContributionDisplay.from_tree(tree, variable.name)
        cuts = [tree.cut_numbers.index(number) for number in display.cuts]
        terms = [tree.view.nodes[node].terms[i] for node in cuts]
        cells = display.values.tolist()
        if variable.choices is not None:
            cells = list(variable.choices)
        elif display.values.dtype.kind == "M":
            # Days are whole: lines are compared where they begin.
            cells = [str(display.values[0])]
        for term, side, added in zip(
            terms, sides(tree, display), display.added, strict=True
        ):
            wanted = [side * term.value(cell) for cell in cells]
            np.testing.assert_allclose(added[: len(cells)], wanted, atol=1e-9)
        if variable.takes_missing and variable.choices is None:
            wanted = [
                side * term.value(None)
                for side, term in zip(sides(tree, display), terms, strict=True)
            ]
            np.testing.assert_allclose(display.missing, wanted)


def test_lines_bend_where_the_curve_does(rng, table):
    """No point of a curve is cut off."""
    tree = tree_of_one(rng, table, "income", [0.8, 0.1], 0.3)
    display = ContributionDisplay.from_tree(tree, "income").plot()
    income = tree.encoder.variables[tree.encoder.names.index("income")].known
    found = np.interp(income.at, display.values, display.added[0])
    np.testing.assert_allclose(found, 0.8 * np.array(income.place), atol=0.02)
    (line,) = display.marks_
    np.testing.assert_array_equal(line.get_ydata(), display.added[0])


def test_every_kind_is_drawn(rng, table):
    """A line per cut, or its bars; the title names the variable."""
    tree = tree_on(rng, table, 2)
    for name in table.columns.drop("constant"):
        display = ContributionDisplay.from_tree(tree, name).plot()
        assert len(display.marks_) == len(display.cuts) == 3
        assert f"what {name} adds" in display.ax_.get_title("left")
        texts = [text.get_text() for text in display.ax_.texts]
        assert ("missing" in texts) == (display.missing is not None)


def test_levels_that_add_least_are_counted(rng, table):
    """The largest are shown, what speaks most for yes first."""
    tree = tree_of_one(rng, table, "city", [0.1, -0.5, 0.2, 0.0, 0.4, 0.3], 0.5)
    display = ContributionDisplay.from_tree(tree, "city").plot(max_levels=3)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == ["Paris", "other", '"others"']
    assert "3 levels that add less are not shown" in display.ax_.get_xlabel()
    with pytest.raises(
        ValueError, match="max_levels must be a whole number >= 1, got 0"
    ):
        display.plot(max_levels=0)


def test_the_legend_covers_no_bar():
    """Though cuts have bars in every corner; it is not cut off either."""
    added = np.array([np.full(8, 1.0), np.full(8, -1.0), np.full(8, 0.9)])
    levels = np.array(list("abcdefgh"), dtype=object)
    display = ContributionDisplay("city", [1, 2, 3], levels, added).plot()
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    bars = [bar.get_window_extent() for bars in display.marks_ for bar in bars]
    assert not any(legend.overlaps(bar) for bar in bars)
    assert legend.x1 <= display.figure_.bbox.x1


@pytest.mark.parametrize("odd", ["constant", "strange", 3, None])
def test_a_variable_that_is_not_used_is_refused(rng, table, odd):
    """Those that are used are named."""
    tree = tree_of_one(rng, table, "age", [1.0, 0.0], 0.5)
    with pytest.raises(ValueError, match=r"one that the tree uses: 'age'; got"):
        ContributionDisplay.from_tree(tree, odd)


# -- terms in the drawing of a tree ----------------------------------------------------


def test_ordered_levels_are_drawn_in_their_order(rng, table):
    """Whatever a missing cell adds: it comes last."""
    tree = tree_of_one(rng, table, "rank", [1.0, 0.3], 0.2)
    display = ContributionDisplay.from_tree(tree, "rank").plot()
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    levels = tree.encoder.variables[tree.variables_at()[0]].known.levels
    assert names == [*levels, "missing"]


def drawn(tree):
    """Rows and question of the only cut."""
    cut, *_ = TreeDisplay.from_tree(tree).parts.values()
    return [(term.number, term.name) for term in cut.terms], cut.question


def test_a_category_has_a_row_per_weight(rng, table):
    """Levels of equal weight share one; what adds nothing has none."""
    tree = tree_of_one(rng, table, "purpose", [0.5, 0.5, -0.25, 0.0], 0.2)
    rows, question = drawn(tree)
    assert rows == [("+ 1", "purpose: car, house"), ("− 0.5", "purpose: tv")]
    assert question == "sum > 0.4 ?"


def test_a_long_variable_leaves_room_for_its_levels(rng):
    """Some are whole, those in quotes have both, and what is counted is told."""
    long = "Location_of_the_Information_that_was_Breached"
    levels = ["Network Server", '"Laptop, Paper"', *"cdefghijkl"]
    X = pd.DataFrame({long: np.repeat([one.strip('"') for one in levels], 10)})
    places = [sorted(set(X[long])).index(one.strip('"')) for one in levels]
    weights = np.zeros(12)
    weights[places[:11]] = 1.0
    weights[places[1]] = 0.5
    (all_but, quoted), _ = drawn(tree_of_one(rng, X, long, weights, 0.7))
    assert quoted[1].endswith(': "Laptop, Paper"')
    assert re.search(r"…\w+: Network Server, c and 8 more$", all_but[1])
    assert max(len(all_but[1]), len(quoted[1])) <= 52


@pytest.mark.parametrize(
    ("name", "weights", "threshold", "question"),
    [
        ("purpose", [1.0, 1.0, 0.0, 0.0], 0.5, "is car or house ?"),
        ("grade", [1.0], 0.2, "is medium or above ?"),
        ("rank", [1.0, 0.0], 0.7, "is high (missing: no) ?"),
    ],
)
def test_a_plain_question_is_asked_of_its_variable(
    rng, table, name, weights, threshold, question
):
    """In the words of the rules."""
    tree = tree_of_one(rng, table, name, weights, threshold)
    assert drawn(tree) == ([("", name)], question)


def test_what_missing_adds_stands_beside_its_variable(rng, table):
    """With its sign."""
    tree = tree_of_one(rng, table, "income", [1.0, -0.25], 1.5)
    assert drawn(tree) == ([("", "curve(income) (missing: −0.25)")], "> 1.5 ?")
