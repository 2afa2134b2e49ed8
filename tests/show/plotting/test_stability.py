import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.model_selection import KFold
from sorct.plotting import StabilityDisplay

from sorct import SORCTClassifier


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def test_sizes_are_the_largest_coefficients_of_each_fold(iris):
    """Fitted by hand on the same folds; the estimator itself stays unfitted."""
    X, y = iris
    clf = SORCTClassifier(alpha_local=1.0, n_starts=3, random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    display = StabilityDisplay.from_estimator(clf, X, y, cv=folds)
    assert not hasattr(clf, "tree_")
    assert display.names == list(X.columns)
    for sizes, (train, _) in zip(display.sizes, folds.split(X), strict=True):
        tree = clone(clf).fit(X.iloc[train], y[train]).tree_
        expected = [max(abs(c) for c in row) for row in tree.coef]
        assert sizes.tolist() == expected
    assert display.n_used.tolist() == [sum(s > 0) for s in display.sizes.T]


def test_levels_count_for_their_variable(rng):
    """A variable of three levels is one row."""
    X = pd.DataFrame({"kind": rng.choice(list("abc"), 90), "noise": rng.random(90)})
    y = (X["kind"] == "c").to_numpy()
    clf = SORCTClassifier(alpha_local=0.5, n_starts=3, random_state=0)
    display = StabilityDisplay.from_estimator(clf, X, y, cv=3).plot()
    assert display.names == ["kind", "noise"]
    assert display.n_used.tolist() == [3, 0]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["kind"]
    assert display.ax_.get_xlabel() == "not shown: 1 never used"


def test_dots_are_the_sizes_most_used_variables_first():
    """Folds that do not use a variable have no dot; the count is written."""
    sizes = np.array([[0.0, 0.5, 0.1, 0.0], [0.3, 0.4, 0.0, 0.0]])
    display = StabilityDisplay(sizes, list("abcd")).plot()
    assert display.order.tolist() == [1, 0, 2]
    drawn = [dots.get_xdata().tolist() for dots in display.dots_]
    assert drawn == [[0.5, 0.4], [0.3], [0.1]]
    assert [text.get_text() for text in display.ax_.texts] == [
        "2 of 2",
        "1 of 2",
        "1 of 2",
    ]
    rows = [set(dots.get_ydata()) for dots in display.dots_]
    assert rows == [{0}, {1}, {2}]


def test_variables_left_out_are_counted():
    """Those that are used less, and those that never are."""
    display = StabilityDisplay(np.array([[0.3, 0.2, 0.1, 0.0]]), list("abcd"))
    display.plot(max_variables=1)
    assert len(display.dots_) == 1
    assert display.ax_.get_xlabel() == "not shown: 2 used less often, 1 never used"
    with pytest.raises(ValueError, match="max_variables must be a whole number >= 1"):
        display.plot(max_variables=0)


def test_trees_without_variables_are_no_error():
    """An empty plot that says so."""
    display = StabilityDisplay(np.zeros((2, 3)), list("abc")).plot()
    assert display.dots_ == []
    assert display.ax_.get_xlabel() == "not shown: 3 never used"


def test_hostile_names_are_plain_text():
    """Dollars make no formula, newlines no second line."""
    display = StabilityDisplay(np.ones((1, 2)), ["$x$", "a_b"]).plot()
    display.figure_.canvas.draw()
    labels = display.ax_.get_yticklabels()
    assert [label.get_text() for label in labels] == ["$x$", "a_b"]
    assert not any(label.get_parse_math() for label in labels)
