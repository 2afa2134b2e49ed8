import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.metrics import confusion_matrix, recall_score
from sorct.plotting import RecallDisplay

from sorct import SORCTClassifier


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def written(display):
    """All that stands in the two panels."""
    return [text.get_text() for ax in display.axes_ for text in ax.texts]


def test_matrix_and_recalls_are_scikit_learns(rng):
    """Counts in the cells, recalls at the dots."""
    labels = np.array(["b", "a", "c"])
    true, given = labels[rng.integers(0, 3, 50)], labels[rng.integers(0, 3, 50)]
    display = RecallDisplay.from_predictions(true, given, labels=labels).plot()
    expected = confusion_matrix(true, given, labels=labels)
    assert np.array_equal(display.matrix, expected)
    share = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(display.mesh_.get_array(), share)
    recall = recall_score(true, given, labels=labels, average=None)
    np.testing.assert_allclose(display.recall_.get_xdata(), recall)
    assert written(display)[:9] == [str(n) for n in expected.ravel()]


def test_floors_and_expected_recalls_are_those_of_training(iris):
    """Classes without a floor have no mark."""
    clf = SORCTClassifier(min_recall={"virginica": 0.95}, n_starts=3, random_state=0)
    clf.fit(*iris)
    display = RecallDisplay.from_estimator(clf, *iris).plot()
    assert np.isnan(display.floor_.get_xdata()[:2]).all()
    assert display.floor_.get_xdata()[2] == 0.95
    np.testing.assert_array_equal(display.expected_.get_xdata(), clf.recall_)
    assert display.classes == ["setosa", "versicolor", "virginica"]


def test_a_recall_below_its_floor_is_named():
    """And only that one."""
    display = RecallDisplay.from_predictions(
        ["a", "a", "b", "b"], ["a", "b", "b", "b"], floor=[0.6, 1.0]
    ).plot()
    below = [text for text in written(display) if "below floor" in text]
    assert below == ["0.500 below floor"]


def test_a_class_without_samples_has_no_recall():
    """The row stays, without a dot."""
    display = RecallDisplay.from_predictions(["a"], ["a"], labels=["a", "b"]).plot()
    assert display.recall[0] == 1.0
    assert np.isnan(display.recall[1])
    assert "no samples" in written(display)


def test_rates_out_of_view_there_are_none(rng):
    """The axis holds all recalls and floors, however low."""
    floor, expected = [0.05, 0.9], [0.1, 0.95]
    display = RecallDisplay.from_predictions(
        [0, 0, 1], [1, 1, 1], floor=floor, expected=expected
    ).plot()
    low, high = display.axes_[1].get_xlim()
    for rate in (*floor, *expected, *display.recall):
        assert low < rate < high


def test_hostile_class_names_are_plain_text():
    """Dollars make no formula, newlines no second line."""
    labels = ["$x$", "a\nb", ""]
    display = RecallDisplay.from_predictions(labels, labels, labels=labels).plot()
    display.figure_.canvas.draw()
    for axis in (display.axes_[0].xaxis, display.axes_[0].yaxis):
        ticks = axis.get_ticklabels()
        assert [tick.get_text() for tick in ticks] == ["$x$", "a\\nb", '""']
        assert not any(tick.get_parse_math() for tick in ticks)


def test_wrong_inputs_are_refused():
    """Each message says what was expected."""
    with pytest.raises(ValueError, match="floor must have one rate per class"):
        RecallDisplay.from_predictions(["a", "b"], ["a", "b"], floor=[0.5])
    with pytest.raises(ValueError, match=r"not among the classes: \['c'\]"):
        RecallDisplay.from_predictions(["c"], ["a"], labels=["a", "b"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RecallDisplay.from_predictions(["a", "b"], ["a"])
