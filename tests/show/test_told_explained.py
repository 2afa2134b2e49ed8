"""Explanations of trees that say shares, decide by costs, and are calibrated."""

import json

import numpy as np
import pandas as pd
import pytest

from sorct import explain
from tests.show.test_counterfactual import ROUNDING, draw_numbers, with_values
from tests.show.test_told_text import drawn, labels_of
from tests.show.told_trees import told_tree

COSTS = {
    2: np.array([[0.0, 1.0], [2.0, 0.0]]),
    3: np.array([[0, 1, 2], [5, 0, 1], [1, 3, 0]]),
}
kinds = pytest.mark.parametrize(
    ("n_classes", "with_costs", "calibration"),
    [(2, False, None), (2, True, None), (2, True, "logistic"), (2, False, "curve"),
     (3, True, None), (3, False, "logistic"), (3, True, "curve")],
)  # fmt: skip


@pytest.fixture
def numbers(rng):
    """Numbers of several sizes."""
    return draw_numbers(rng, 120)


@pytest.mark.a_few(1)
@kinds
def test_an_explanation_gives_what_predict_gives(
    rng, numbers, n_classes, with_costs, calibration
):
    """Class and probabilities, of every row."""
    cost = COSTS[n_classes] if with_costs else None
    tree, _ = drawn(
        rng, numbers, n_classes, 2, 32.0, cost=cost, calibration=calibration
    )
    for n in range(0, 120, 9):
        row = numbers.iloc[[n]]
        found = explain(tree, row)
        assert found.predicted == tree.predict(row)[0]
        assert list(found.proba.values()) == tree.predict_proba(row)[0].tolist()
        assert found.by_hand == tree.follow(row)[0]
        assert found.calibrated == (calibration is not None)
        assert json.loads(json.dumps(found.to_dict()))["predicted"] == found.predicted


@pytest.mark.a_few(1)
@kinds
def test_flips_are_those_of_predict(rng, numbers, n_classes, with_costs, calibration):
    """The value gives the class told, and none that is nearer on a fine grid does."""
    cost = COSTS[n_classes] if with_costs else None
    tree, _ = drawn(
        rng, numbers, n_classes, 2, 256.0, cost=cost, calibration=calibration
    )
    n_found = 0
    for n in range(0, 120, 12):
        row = numbers.iloc[n]
        found = explain(tree, row)
        for flip in found.flips:
            variable = tree.encoder.variables[tree.encoder.names.index(flip.variable)]
            ends = variable.decode(0.0), variable.decode(1.0)
            grid = np.linspace(*ends, 800)
            rows = with_values(row, flip.variable, grid)
            flipped = grid[clearly_other(tree, rows, found.predicted)]
            if flip.value is None:
                assert flipped.size == 0
                continue
            n_found += 1
            changed = with_values(row, flip.variable, [flip.value])
            assert tree.predict(changed)[0] == flip.to != found.predicted
            change = abs(flip.value - row[flip.variable])
            far = np.abs(flipped - row[flip.variable])
            assert np.all(far >= (1 - ROUNDING) * change)
    assert n_found > 0


def clearly_other(tree, rows, before):
    """Where another class is better than the one before by more than a hair."""
    worth = tree.predict_proba(rows)
    if tree.decision_cost is not None:
        worth = -worth @ tree.decision_cost
    k = tree.classes.tolist().index(before)
    return worth.max(axis=1) > worth[:, k] + 1e-3


def test_what_the_leaf_says_is_told(rng, numbers):
    """By class; of leaves that have only a class nothing is told."""
    tree, _ = drawn(rng, numbers, 3, 2, 2000.0)
    for n in range(5):
        found = explain(tree, numbers.iloc[n])
        said = np.array(list(found.leaf_says.values()))
        columns = np.abs(tree.leaf_proba - said[:, np.newaxis]).max(axis=0)
        (leaf,) = np.flatnonzero(columns == 0.0)[:1]
        assert tree.classes[tree.leaf_class[leaf]] == found.leaf
        assert f"; it says legal {said[0]:.4g}, fraud" in str(found)
    plain, _ = drawn(rng, numbers, 3, 2, leaves=False)
    found = explain(plain, numbers.iloc[0])
    assert found.leaf_says is None
    assert "it says" not in str(found)
    assert "by the tree's routes, not calibrated" in str(found)


def test_words_say_where_probabilities_and_class_come_from(rng, numbers):
    """Calibrated or not; by costs; and what a reader of the rules would find."""
    tree, _ = drawn(rng, numbers, 2, 1, 32.0, cost=COSTS[2], calibration="logistic")
    text = str(explain(tree, numbers.iloc[0]))
    assert "Probability calibrated on held-out rows: legal" in text
    assert "predict takes the class of least expected cost: fraud where" in text
    assert "not calibrated" not in text
    told = [explain(tree, numbers.iloc[n]) for n in range(60)]
    differ = [one for one in told if one.by_hand != one.predicted]
    for one in told:
        line = f"Followed by hand, the rules give {one.by_hand} here"
        assert (line in str(one)) == (one in differ)
    assert differ, "costs move the limit away from the cut"


def test_categories_flip_as_predict_does(rng):
    """Every level is tried."""
    X = pd.DataFrame({"colour": rng.choice(list("abcd"), 150), "x": rng.random(150)})
    tree, y = drawn(rng, X, 2, 2, 32.0, cost=COSTS[2])
    tree = told_tree(tree, X, labels_of(rng, tree, X), cost=COSTS[2])
    for n in range(10):
        row = X.iloc[n]
        found = explain(tree, row)
        (flip,) = [one for one in found.flips if one.variable == "colour"]
        rows = with_values(row, "colour", list("abcd"))
        others = set(np.array(list("abcd"))[tree.predict(rows) != found.predicted])
        assert (flip.value in others) if others else flip.value is None
