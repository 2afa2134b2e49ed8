"""Displays of forests: bars and curves are those of the forest."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sorct.plotting import ImportanceDisplay, PartialDisplay, TreeDisplay

from sorct import SORCTClassifier
from tests.show.every_kind import every_kind
from tests.show.report.test_forests import forest_on


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    return forest_on(rng, every_kind(rng))


def test_bars_are_importances_and_texts_count_trees(forest):
    display = ImportanceDisplay.from_forest(forest).plot(max_variables=5)
    order = np.argsort(-forest.importances, kind="stable")[:5]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, forest.importances[order])
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [forest.encoder.names[i] for i in order]
    i = order[0]
    n_trees = sum(i in tree.variables_at() for tree in forest.trees)
    assert display.ax_.texts[0].get_text() == f"{n_trees} of 4"
    n_left = len(forest.variables_used) - 5
    assert f"{n_left} less important" in display.ax_.get_xlabel()
    drop = ImportanceDisplay.from_forest(forest, kind="drop")
    assert (drop.names[0], drop.importances[0]) == ("age", 0.5)
    with pytest.raises(ValueError, match="does not know its importances by perm"):
        ImportanceDisplay.from_forest(forest, kind="permutation")
    with pytest.raises(ValueError, match="kind must be one of"):
        ImportanceDisplay.from_forest(forest, kind="gini")


@pytest.mark.parametrize("name", ["age", "income", "signup", "city", "rank"])
def test_curves_are_what_is_predicted(forest, name):
    """For a typical row with that value; of dates and levels too."""
    display = PartialDisplay.from_forest(forest, name).plot()
    usual = forest.encoder.typical_row()
    for k in (0, len(display.values) // 2, len(display.values) - 1):
        value = display.values[k]
        if str(value) in ("missing", "other"):
            continue
        if isinstance(value, str):
            value = value.strip('"')
        if name == "rank":
            value = pd.Categorical([value], categories=["low", "medium", "high"])
        elif name == "signup":
            value = [pd.Timestamp(value)]
        proba = forest.predict_proba(usual.assign(**{name: value}))[0]
        np.testing.assert_allclose(display.said[:, k], proba, atol=2e-3)
    assert len(display.marks_) == 3
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == [
        "low", "mid", "top",
    ]  # fmt: skip
    if name == "age":
        proba = forest.predict_proba(usual.assign(age=[np.nan]))[0]
        np.testing.assert_allclose(display.missing, proba)


def test_one_curve_for_two_classes_and_for_a_quantity(rng):
    X = every_kind(rng)
    two = PartialDisplay.from_forest(forest_on(rng, X, n_classes=2), "debt").plot()
    assert (len(two.marks_), two.ax_.get_ylabel()) == (1, "probability of mid")
    number = forest_on(rng, X, of_quantity=True)
    one = PartialDisplay.from_forest(number, "purpose").plot(max_levels=2)
    assert one.ax_.get_xlabel() == "prediction"
    assert len(one.marks_[0]) == 2
    assert any("not shown" in text.get_text() for text in one.ax_.texts)


def test_other_things_are_refused(forest):
    tree = SORCTClassifier(n_starts=1).fit([[0], [1]] * 4, [0, 1] * 4)
    for display, more in ((ImportanceDisplay, ()), (PartialDisplay, ("age",))):
        with pytest.raises(TypeError, match="use from_forest"):
            display.from_estimator(forest, *more)
        with pytest.raises(TypeError, match="Expected a Forest"):
            display.from_forest("forest", *more)
        with pytest.raises(TypeError, match="SORCTForestClassifier"):
            display.from_estimator(tree, *more)
    with pytest.raises(ValueError, match="There is no variable"):
        PartialDisplay.from_forest(forest, "size")


def test_displays_of_a_tree_say_what_to_do_with_a_forest(forest):
    with pytest.raises(TypeError, match=r"Use from_predictions .* or from_tree"):
        TreeDisplay.from_estimator(forest)
    assert TreeDisplay.from_tree(forest.trees[0]).parts
