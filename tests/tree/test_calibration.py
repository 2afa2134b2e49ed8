"""Calibration: maps of probabilities by hand, kept in files, refused when damaged."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from sorct import Tree
from sorct.tree.calibration import LITTLE, Calibration, CurveMap, LogisticMap
from tests.tree.test_tree import random_tree

CURVE = CurveMap((0.1, 0.5, 0.6), (0.0, 0.2, 1.0))
LINE = LogisticMap(2.0, -1.0)


def test_a_straight_line_of_log_odds_by_hand():
    """Slope times log-odds plus shift, turned back into a probability."""
    p = np.array([0.2, 0.5, 0.9])
    expected = 1.0 / (1.0 + np.exp(-(2.0 * np.log(p / (1.0 - p)) - 1.0)))
    np.testing.assert_allclose(LINE(p), expected, rtol=1e-14)
    np.testing.assert_allclose(LogisticMap(1.0, 0.0)(p), p, rtol=1e-14)


def test_certain_probabilities_have_finite_log_odds():
    """Those nearer to 0 and 1 than a little count as a little away."""
    ends, near = LINE(np.array([0.0, 1.0])), LINE(np.array([LITTLE, 1.0 - LITTLE]))
    assert np.isfinite(ends).all()
    np.testing.assert_array_equal(ends, near)


def test_the_rounding_of_a_probability_is_not_blown_up():
    """Exports add up in another order, and must agree to 1e-9."""
    p = 1.0 - 10.0 ** np.linspace(-16, -6, 300)
    for slope in (0.05, 0.1, 0.3, 1.0):
        one = LogisticMap(slope, 0.5)
        assert np.abs(one(p) - one(np.nextafter(p, 0.0))).max() < 1e-9


def test_straight_lines_between_points():
    """Level beyond them."""
    p = np.array([0.0, 0.1, 0.3, 0.5, 0.55, 0.6, 1.0])
    expected = [0.0, 0.0, 0.1, 0.2, 0.6, 1.0, 1.0]
    np.testing.assert_allclose(CURVE(p), expected, atol=1e-14)
    np.testing.assert_array_equal(CurveMap((0.3,), (0.7,))(p), 0.7)


def test_two_classes_have_one_map():
    """That of the second; the first gets the rest."""
    proba = np.array([[0.8, 0.45], [0.2, 0.55]])
    found = Calibration((CURVE,))(proba)
    np.testing.assert_allclose(found, [[0.95, 0.4], [0.05, 0.6]], atol=1e-14)


def test_more_classes_are_divided_by_their_sum():
    """Where all maps say next to nothing, the tree's own word stands."""
    flat = CurveMap((0.6, 0.9), (0.0, 0.3))
    calibration = Calibration((flat, flat, LogisticMap(0.0, -30.0)))
    proba = np.array([[0.7, 0.5, 0.9], [0.2, 0.3, 0.0], [0.1, 0.2, 0.1]])
    found = calibration(proba)
    np.testing.assert_allclose(found[:, 1], proba[:, 1])
    np.testing.assert_allclose(found[:, [0, 2]], [[1, 1], [0, 0], [0, 0]], atol=1e-11)


@pytest.mark.parametrize("maps", [(CURVE,), (LINE,), (CURVE, LINE, CURVE)])
def test_plain_data_and_back(maps):
    """To the last bit, through text."""
    calibration = Calibration(maps)
    plain = json.loads(json.dumps(calibration.to_dict()))
    n_classes = 2 if len(maps) == 1 else len(maps)
    assert Calibration.from_dict(plain, n_classes) == calibration


def test_numbers_are_those_of_python():
    """Whatever they are learned as; exports write them as they print."""
    one = CurveMap(tuple(np.array([0.1, 0.2])), np.array([0.3, 0.4]))
    line = LogisticMap(np.float64(1.5), np.float32(2.0))
    assert repr(one) == "CurveMap(points=(0.1, 0.2), values=(0.3, 0.4))"
    assert repr(line) == "LogisticMap(slope=1.5, shift=2.0)"


def curve(points, values):
    """Plain data of a curve."""
    return {"points": points, "values": values}


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({}, "'slope' is missing"),
        ({"slope": 1.0}, "'shift' is missing"),
        ({"slope": "1", "shift": 0.0}, "'slope' is missing or of the wrong type"),
        ({"slope": float("inf"), "shift": 0.0}, "'slope' must be a finite number"),
        ({"slope": 1e76, "shift": 0.0}, "at most 1e"),
        ({"slope": 1.0, "shift": -1e76}, "at most 1e"),
        ({"points": [0.5]}, "'values' must hold numbers"),
        (curve([], []), "a curve has no points"),
        (curve([0.1, 0.2], [0.5]), "'values' has shape"),
        (curve([0.2, 0.2], [0.1, 0.2]), "'points' must rise"),
        (curve([0.2, 0.1], [0.1, 0.2]), "'points' must rise"),
        (curve([0.1, 0.2], [0.2, 0.1]), "'values' must not fall"),
        (curve([0.1, 0.2], [-0.1, 0.1]), r"'values' must lie in \[0, 1\]"),
        (curve([0.1, 0.2], [0.1, 1.1]), r"'values' must lie in \[0, 1\]"),
        (curve([0.1, 1.2], [0.1, 0.2]), r"'points' must lie in \[0, 1\]"),
        (curve([-0.1, 0.2], [0.1, 0.2]), r"'points' must lie in \[0, 1\]"),
        (curve([0.1, None], [0.1, 0.2]), "'points' must"),
        (curve([[0.1]], [0.1]), "'points' has shape"),
    ],
)
def test_a_damaged_map_is_refused(plain, message):
    """The error says what is wrong."""
    with pytest.raises(ValueError, match=message):
        Calibration.from_dict({"maps": [plain]}, 2)


@pytest.mark.parametrize(("n_maps", "n_classes"), [(2, 2), (0, 2), (1, 3), (4, 3)])
def test_the_number_of_maps_is_that_of_the_classes(n_maps, n_classes):
    """One for two classes."""
    plain = {"maps": [LINE.to_dict()] * n_maps}
    with pytest.raises(ValueError, match="a map per class, one for two classes"):
        Calibration.from_dict(plain, n_classes)


@pytest.mark.parametrize("maps", [None, {}, "x", [None], [[1, 2]]])
def test_maps_that_are_none_are_refused(maps):
    """A list of objects is expected."""
    with pytest.raises(ValueError, match="'maps'|a map per class"):
        Calibration.from_dict({"maps": maps}, 2)


def test_points_may_be_beyond_one_by_rounding():
    """Sums of a tree's probabilities are."""
    plain = curve([-1e-16, 1.0 + 2e-16], [0.0, 1.0])
    assert Calibration.from_dict({"maps": [plain]}, 2).maps[0].points[1] > 1.0


# -- trees -----------------------------------------------------------------------------


@pytest.fixture
def tree(rng):
    """Draw a tree of three classes whose leaves say more."""
    X = rng.normal(size=(40, 3))
    tree = random_tree(rng, X, 2)
    shares = rng.dirichlet(np.ones(3), 4).T
    return replace(
        tree,
        leaf_proba=shares,
        decision_cost=rng.uniform(0.5, 1.5, (3, 3)) * (1.0 - np.eye(3)),
        calibration=Calibration((CURVE, LINE, CURVE)),
        routed=shares / 4.0,
    )


def test_a_tree_predicts_by_what_leaves_say(rng, tree):
    """Shares by chance, then the maps, then the least expected cost."""
    X = rng.normal(size=(60, 3))
    own = tree.leaf_reach(X) @ tree.leaf_proba.T
    proba = tree.calibration(own.T).T
    np.testing.assert_allclose(tree.predict_proba(X), proba, atol=1e-13)
    cheapest = np.argmin(proba @ tree.decision_cost, axis=1)
    assert tree.predict(X).tolist() == tree.classes[cheapest].tolist()
    assert len(set(cheapest)) > 1


def test_files_of_version_three_come_back_the_same(rng, tree, tmp_path):
    """To the last bit; trees without such fields stay in an older version."""
    X = rng.normal(size=(20, 3))
    tree.to_json(tmp_path / "tree.json")
    again = Tree.from_json(tmp_path / "tree.json")
    assert again == tree
    assert again.to_dict()["version"] == 3
    np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))
    for name in ("leaf_proba", "decision_cost", "calibration", "routed"):
        alone = replace(tree, **_NOTHING | {name: getattr(tree, name)})
        plain = alone.to_dict()
        assert plain["version"] == 3
        assert set(plain) & set(_NOTHING) == {name}
        assert Tree.from_dict(plain) == alone != tree
    assert replace(tree, **_NOTHING).to_dict()["version"] == 1


_NOTHING = dict.fromkeys(("leaf_proba", "decision_cost", "calibration", "routed"))


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("leaf_proba", lambda a: [*a[:2], [2.0] * 4], "must sum to 1 in every leaf"),
        ("leaf_proba", lambda a: a[:2], "'leaf_proba' has shape (2, 4), expected"),
        ("leaf_proba", lambda a: [row[:3] for row in a], "'leaf_proba' has shape"),
        ("leaf_proba", lambda a: [[-x for x in row] for row in a], "between 0 and"),
        ("leaf_proba", lambda a: None, "'leaf_proba' must hold numbers"),
        ("decision_cost", lambda a: a[:2], "'decision_cost' has shape (2, 3)"),
        ("decision_cost", lambda a: [*a[:2], [-1.0] * 3], "between 0 and"),
        ("decision_cost", lambda a: [*a[:2], [1e76] * 3], "between 0 and"),
        ("decision_cost", lambda a: [*a[:2], ["x"] * 3], "must hold numbers"),
        ("routed", lambda a: a[:1], "'routed' has shape"),
        ("routed", lambda a: [*a[:2], [float("nan")] * 4], "'routed' must be finite"),
        ("calibration", lambda a: [], "'calibration' is missing or of the wrong type"),
        ("calibration", lambda a: {}, "'maps' is missing"),
        ("calibration", lambda a: {"maps": a["maps"][:2]}, "a map per class"),
    ],
)
def test_damage_to_what_leaves_say_is_refused(tree, key, change, message):
    """The error names the field."""
    plain = tree.to_dict()
    plain[key] = change(plain[key])
    message = f"damaged sorct model: .*{re.escape(message)}"
    with pytest.raises(ValueError, match=message):
        Tree.from_dict(plain)
