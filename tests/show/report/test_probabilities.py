"""What a report says of probabilities, decisions and rows: that of the tree itself."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix
from sklearn.metrics import log_loss as reference_log_loss

from tests.show.report.cases import drawn_labels, drawn_tree
from tests.show.told_trees import told_tree

COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 4.0, 0.0]])


def told(rng, table, n_classes, depth=2, **options):
    """A random tree whose leaves say shares, and labels."""
    tree = drawn_tree(rng, table, ["low", "mid", "top"][:n_classes], depth)
    y = drawn_labels(rng, tree, table)
    own = np.eye(n_classes)[tree.target.codes(y)]
    tree = replace(tree, mass=own.T @ tree.leaf_reach(table) / len(y))
    if options.pop("costs", False):
        options["cost"] = COSTS[:n_classes, :n_classes]
    return told_tree(tree, table, y, **options), y


@pytest.mark.a_few(2)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibration", [None, "logistic", "curve"])
@pytest.mark.parametrize("costs", [False, True])
def test_the_class_counted_is_the_one_predicted(
    rng, table, n_classes, calibration, costs
):
    """Whatever leaves say, however it is calibrated and decided."""
    tree, y = told(rng, table, n_classes, calibration=calibration, costs=costs)
    point = tree.report(table, y).summary["points"][0]
    predicted = tree.predict(table)
    assert point["accuracy"] == pytest.approx((predicted == y).mean())
    counts = confusion_matrix(y, predicted, labels=tree.classes)
    assert point["confusion"] == counts.tolist()
    assert point["training_accuracy"] == pytest.approx((predicted == y).mean())


@pytest.mark.a_few(1)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibration", [None, "logistic"])
def test_measures_are_scikit_learns(rng, table, n_classes, calibration):
    """Beside those of somebody who knows the shares of the classes alone."""
    tree, y = told(rng, table, n_classes, calibration=calibration)
    found = tree.report(table, y).summary["trees"][0]["probabilities"]
    share = np.array([(y == label).mean() for label in tree.classes])
    for begin, proba in (
        ("", tree.predict_proba(table)), ("base_", np.tile(share, (len(y), 1))),
    ):  # fmt: skip
        loss = reference_log_loss(y, proba, labels=tree.classes)
        assert found[f"{begin}log_loss"] == pytest.approx(loss, abs=1e-9)
        one = (
            brier_score_loss(y == tree.classes[1], proba[:, 1])
            if n_classes == 2
            else ((proba - np.eye(3)[tree.target.codes(y)]) ** 2).sum(axis=1).mean()
        )
        assert found[f"{begin}brier"] == pytest.approx(one)
    assert [bins["code"] for bins in found["bins"]] == [[1], [0, 1, 2]][n_classes - 2]
    for bins in found["bins"]:
        k = bins["code"]
        assert sum(bins["counts"]) == len(y)
        seen = np.average(bins["seen"], weights=bins["counts"])
        assert seen == pytest.approx(share[k], abs=1e-5)
        said = np.average(bins["said"], weights=bins["counts"])
        assert said == pytest.approx(tree.predict_proba(table)[:, k].mean(), abs=1e-5)


def test_rows_of_a_class_that_no_tree_knows_are_left_out(rng, table):
    """Of measures of probabilities; without data there are none."""
    tree, y = told(rng, table, 2)
    strange = y.astype(object)
    strange[:5] = "other"
    known = tree.report(table[5:], y[5:]).summary["trees"][0]["probabilities"]
    assert tree.report(table, strange).summary["trees"][0]["probabilities"] == known
    assert "probabilities" not in tree.report().summary["trees"][0]


@pytest.mark.a_few(1)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_leaves_have_the_rows_that_come_by_hand(rng, table, depth):
    """In the drawing's shares and in the rows shown; every leaf has some."""
    tree, y = told(rng, table, 3, depth)
    summary = tree.report(table, y).summary
    assert summary["trees"][0]["counted"] == "rows"
    leaf, nodes = tree.apply(table), summary["trees"][0]["nodes"]
    leaves = [entry for entry in nodes if "label" in entry]
    for entry in leaves:
        here = np.isin(leaf, entry["leaves"])
        assert here.any()
        counts = [(y[here] == label).sum() for label in tree.classes]
        assert entry["found"]["counts"] == counts
        np.testing.assert_allclose(entry["mass"], np.array(counts) / len(y), atol=1e-5)
        said = tree.leaf_proba[:, entry["leaves"][0]]
        np.testing.assert_allclose(entry["says"], said, atol=1e-5)
    assert sum(sum(entry["found"]["counts"]) for entry in leaves) == len(y)


def test_the_page_shows_them(visit, rng, table):
    """A point per bin, a table of them, and no section where there are no data."""
    tree, y = told(rng, table, 3)
    page, summary = visit(tree.report(table, y)), tree.report(table, y).summary
    bins = summary["trees"][0]["probabilities"]["bins"]
    points = sum(len(one["said"]) for one in bins)
    assert page.locator("#probabilities-body circle").count() == points
    rows = page.locator("#probabilities-body [aria-label=Points] tbody tr")
    assert rows.count() == points
    loss = page.locator("#probabilities-body [aria-label=Measures] td").nth(1)
    told_loss = summary["trees"][0]["probabilities"]["log_loss"]
    assert loss.text_content() == f"{told_loss:.3g}"
    assert "% of rows" in page.text_content("#drawing").replace("\u00a0", " ")
    bare = visit(replace(tree, routed=None).report())
    assert not bare.is_visible("#probabilities")
    assert "% of samples" in bare.text_content("#drawing").replace("\u00a0", " ")


def test_scaled_weights_are_told(visit, rng, table):
    """Numbers in every cell of the table of a cut."""
    tree, y = told(rng, table, 2, 1)
    page = visit(tree.report(table, y))
    cells = page.locator("#detail [aria-label=Coefficients] tbody td").all_inner_texts()
    assert cells
    for cell in cells:
        float(cell.replace("−", "-").replace("\u202f", ""))
