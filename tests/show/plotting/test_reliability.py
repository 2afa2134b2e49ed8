"""Reliability: what was said, what was seen, and of how many rows."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Text
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss
from sorct.plotting import RecallDisplay, ReliabilityDisplay, TreeDisplay

from sorct.tree.calibration import Calibration, LogisticMap
from tests.data.test_encoder import mixed_table
from tests.show.test_told_text import drawn


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture
def said(rng):
    """Probabilities of the second of two classes, and labels that suit them a bit."""
    proba = rng.beta(0.7, 0.9, 300)
    return np.where(rng.random(300) < proba**1.5, "sick", "healthy"), proba


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng, 150)


@pytest.mark.parametrize("n_bins", [1, 5, 10, 37])
def test_the_curve_is_scikit_learns(said, n_bins):
    """Means of what was said and seen in bins of one width, empty ones left out."""
    y, proba = said
    display = ReliabilityDisplay.from_predictions(y, proba, n_bins=n_bins)
    ((name, bins),) = display.curves.items()
    seen, mean = calibration_curve(y == "sick", proba, n_bins=n_bins)
    assert name == "sick"
    np.testing.assert_allclose(bins.seen, seen)
    np.testing.assert_allclose(bins.said, mean)
    assert bins.counts.sum() == len(y)
    for n, share, low, high in zip(
        bins.counts, bins.seen, bins.low, bins.high, strict=True
    ):
        test = binomtest(round(n * share), int(n)).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((test.low, test.high), abs=1e-12)


def test_scores_are_scikit_learns(said, rng):
    """Brier score and log-loss, and what the shares of the classes alone give."""
    y, proba = said
    display = ReliabilityDisplay.from_predictions(y, proba)
    sick = y == "sick"
    assert display.brier == pytest.approx(brier_score_loss(sick, proba))
    assert display.log_loss == pytest.approx(log_loss(sick, proba))
    base = np.full(len(y), sick.mean())
    assert display.base_brier == pytest.approx(brier_score_loss(sick, base))
    assert display.base_log_loss == pytest.approx(log_loss(sick, base))
    many = rng.dirichlet(np.ones(4), 80)
    true = rng.integers(0, 4, 80)
    display = ReliabilityDisplay.from_predictions(true, many)
    assert display.log_loss == pytest.approx(log_loss(true, many))
    assert display.brier == pytest.approx(((many - np.eye(4)[true]) ** 2).sum() / 80)


def test_what_is_drawn_is_what_was_counted(said):
    """Points, intervals, bars, and the scores in words."""
    y, proba = said
    display = ReliabilityDisplay.from_predictions(y, proba).plot()
    bins = display.curves["sick"]
    line, _, (bars,) = display.curves_["sick"].lines
    np.testing.assert_allclose(line.get_xdata(), bins.said)
    np.testing.assert_allclose(line.get_ydata(), bins.seen)
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.stack([bins.low, bins.high], axis=1))
    heights = [bar.get_height() for bar in display.bars_["sick"]]
    assert heights == bins.counts.tolist()
    for bar, said_here in zip(display.bars_["sick"], bins.said, strict=True):
        assert bar.get_x() <= said_here + 0.1
        assert bar.get_x() + bar.get_width() >= said_here - 0.1
    title = display.axes_[0].get_title(loc="left")
    assert f"Brier score {display.brier:.3f}" in title
    assert f"log-loss {display.log_loss:.3f}" in title


def test_of_several_classes_each_has_a_curve(rng, table):
    """With its name, against all others."""
    tree, y = drawn(rng, table, 3, 2, 32.0)
    display = ReliabilityDisplay.from_tree(tree, table, y).plot()
    assert list(display.curves) == tree.classes.tolist()
    proba = tree.predict_proba(table)
    for k, (name, bins) in enumerate(display.curves.items()):
        seen, _ = calibration_curve(y == name, proba[:, k], n_bins=10)
        np.testing.assert_allclose(bins.seen, seen)
    legend = display.axes_[0].get_legend().get_texts()
    assert [text.get_text() for text in legend] == tree.classes.tolist()


def test_probabilities_are_those_that_are_predicted(rng, table):
    """With leaves that say shares, and calibrated."""
    tree, y = drawn(rng, table, 2, 2, 32.0)
    plain = ReliabilityDisplay.from_tree(tree, table, y)
    turned = replace(tree, calibration=Calibration((LogisticMap(0.2, 1.0),)))
    mapped = ReliabilityDisplay.from_tree(turned, table, y)
    assert plain.log_loss == pytest.approx(
        log_loss(y == "legal", tree.predict_proba(table)[:, 0])
    )
    assert mapped.log_loss == pytest.approx(
        log_loss(y == "legal", turned.predict_proba(table)[:, 0])
    )
    assert mapped.log_loss != plain.log_loss


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        ([0.5, 1.5], "between 0 and 1"),
        ([0.5, np.nan], "between 0 and 1"),
        (["a", "b"], "must hold numbers"),
        ([[0.5, 0.2, 0.3]] * 2, r"shape \(n_samples, 2\).*got shape \(2, 3\)"),
    ],
)
def test_what_are_no_probabilities_is_refused(proba, message):
    """The message says what was expected."""
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions([0, 1], proba)


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True, "ten", 10**6])
def test_odd_numbers_of_bins_are_refused(n_bins):
    """By name."""
    with pytest.raises(ValueError, match="n_bins must be a whole number from 1"):
        ReliabilityDisplay.from_predictions([0, 1], [0.1, 0.9], n_bins=n_bins)


def test_names_are_no_formulas():
    """Whatever signs are in them, they are drawn as they are."""
    labels = ["a$_{b}$", "$\\frac{1}$", "c_d"]
    every = ReliabilityDisplay.from_predictions(
        labels, np.full((3, 3), 1 / 3), labels=labels
    )
    two = ReliabilityDisplay.from_predictions(labels[:2], [0.1, 0.9], labels=labels[:2])
    for display, shown in ((every, labels), (two, labels[1:2])):
        figure = display.plot().figure_
        figure.draw_without_rendering()
        texts = figure.findobj(Text)
        for label in shown:
            found = [text for text in texts if label in text.get_text()]
            assert found
            assert not any(text.get_parse_math() for text in found)


# -- trees -----------------------------------------------------------------------------


def leaf_masses(display):
    """Shares by class of the leaves drawn, largest leaf first."""
    leaves = [part for part in display.parts.values() if hasattr(part, "code")]
    return np.array(sorted((leaf.mass.tolist() for leaf in leaves), key=sum))


def written(display):
    """All that is written in a drawing."""
    return {text.get_text() for text in display.plot().ax_.texts}


def test_a_drawing_shows_the_rows_of_hard_routes(rng, table):
    """Of training and of other rows; soft ones on request."""
    tree, y = drawn(rng, table, 2, 1, 32.0)
    hard, soft = TreeDisplay.from_tree(tree), TreeDisplay.from_tree(tree, soft=True)
    by_size = tree.routed.T[np.argsort(tree.routed.sum(axis=0))]
    np.testing.assert_allclose(leaf_masses(hard), by_size)
    by_size = tree.mass.T[np.argsort(tree.mass.sum(axis=0))]
    np.testing.assert_allclose(leaf_masses(soft), by_size)
    assert any("% of rows" in text for text in written(hard))
    assert any("% of samples" in text for text in written(soft))
    some = TreeDisplay.from_tree(tree, table[:40], y[:40])
    leaf = tree.apply(table[:40])
    counts = [
        [((leaf == n) & (y[:40] == c)).mean() for c in tree.classes] for n in (0, 1)
    ]
    np.testing.assert_allclose(leaf_masses(some), sorted(counts, key=sum))


def test_a_drawing_tells_what_leaves_say_if_that_is_something_else(rng, table):
    """Of the class of the leaf."""
    tree, _ = drawn(rng, table, 2, 1, 32.0)
    said = np.array([[0.6, 0.3], [0.4, 0.7]])
    texts = written(TreeDisplay.from_tree(replace(tree, leaf_proba=said)))
    for leaf, k in enumerate(tree.leaf_class):
        assert f"says {100 * said[k, leaf]:.0f} % {tree.classes[k]}" in texts
    share = tree.routed / tree.routed.sum(axis=0)
    texts = written(TreeDisplay.from_tree(replace(tree, leaf_proba=share)))
    assert not any("says" in text for text in texts)


def test_recalls_of_training_are_called_what_they_are(rng, table):
    """Measured where the likelihood was maximised, else expected."""
    tree, y = drawn(rng, table, 2, recall=(0.9, 0.8))
    display = RecallDisplay.from_tree(tree, table, y).plot()
    assert display.expected_.get_label() == "on the training rows"
    cost = replace(tree, training=replace(tree.training, loss="cost"))
    display = RecallDisplay.from_tree(cost, table, y).plot()
    assert display.expected_.get_label() == "expected in training"
