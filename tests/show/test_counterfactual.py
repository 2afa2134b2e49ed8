"""Flips: the smallest change of one variable, against trying every value."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import Tree, explain
from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from tests.data.test_encoder import mixed_table
from tests.show.test_text import with_cut, without_variables
from tests.tree.test_tree import random_tree

CLASSES = np.array(["no", "yes", "maybe", "never"])
SHAPES = [(1, 2), (2, 2), (2, 4), (3, 2), (3, 3), (3, 4)]
shapes = pytest.mark.parametrize(("depth", "n_classes"), SHAPES)
gammas = pytest.mark.parametrize("gamma", [8.0, 2000.0])
# A change is rounded up to three digits.
ROUNDING = 0.0101


def draw_numbers(rng, n=60):
    """Numbers of several sizes, near zero and far from it."""
    places, widths = np.array([0.0, -5.0, 2e3]), np.array([1.0, 30.0, 100.0])
    return pd.DataFrame(places + widths * rng.random((n, 3)), columns=list("abc"))


def with_values(row, name, values):
    """Rows that differ from one row in one variable."""
    rows = {other: [value] * len(values) for other, value in row.items()}
    return pd.DataFrame({**rows, name: values})


def check_numbers(tree, row, fine=1500):
    """Compare every flip of a row of numbers with the values on a fine grid.

    What is only a hair more probable than the class before may be missed.
    """
    found = explain(tree, row)
    k = tree.classes.tolist().index(found.predicted)
    for flip in found.flips:
        variable = next(v for v in tree.encoder.variables if v.name == flip.variable)
        lower, span = variable.affine
        ends = lower, lower + span
        grid = np.linspace(*ends, fine)
        proba = tree.predict_proba(with_values(row, flip.variable, grid))
        flipped = grid[proba.max(axis=1) > proba[:, k] + 1e-3]
        if flip.value is None:
            assert flip.to is None
            assert flipped.size == 0
            continue
        assert ends[0] <= flip.value <= ends[1]
        (label,) = tree.predict(with_values(row, flip.variable, [flip.value]))
        assert label == flip.to != found.predicted
        change = abs(flip.value - row[flip.variable])
        assert np.all(np.abs(flipped - row[flip.variable]) >= (1 - ROUNDING) * change)
    return found


@pytest.mark.a_few(1)
@pytest.mark.every_value
@shapes
@gammas
def test_no_smaller_change_of_a_number_flips(rng, depth, n_classes, gamma):
    """The value flips, none nearer does, and None means none in the range."""
    X = draw_numbers(rng)
    tree = random_tree(rng, X, depth, CLASSES[:n_classes], gamma)
    found = [check_numbers(tree, X.iloc[n]) for n in range(6)]
    values = [flip.value for one in found for flip in one.flips]
    assert any(value is not None for value in values)
    assert [flip.variable for flip in found[0].flips] == list(tree.variables_used)


@pytest.mark.a_few(1)
@pytest.mark.every_value
@shapes
@gammas
def test_flips_of_a_value_outside_the_range_lie_inside(rng, depth, n_classes, gamma):
    """A value from far away goes no farther into the range than it must."""
    X = draw_numbers(rng)
    tree = random_tree(rng, X, depth, CLASSES[:n_classes], gamma)
    for n in range(6):
        away = rng.uniform(0.1, 3.0, 3) * rng.choice([-1.0, 1.0], 3)
        check_numbers(tree, X.iloc[n] + away * (X.max() - X.min()))


def test_a_value_outside_the_range_may_flip_at_its_end():
    """Where all of the range is of another class, its end is the nearest."""
    tree = two_leaves(limit=12.0, upper=10.0)
    assert explain(tree, {"x": 20.0}).predicted == "high"
    (flip,) = explain(tree, {"x": 20.0}).flips
    assert (flip.now, flip.value, flip.to) == (20.0, 10.0, "low")
    (flip,) = explain(tree, {"x": 11.0}).flips
    assert (flip.value, flip.to) == (None, None)


@pytest.mark.parametrize("far", [11.0, 1e3, 1e6])
def test_how_far_outside_a_value_is_does_not_matter(far):
    """The flip is as near to the range's end as it can be."""
    (flip,) = explain(two_leaves(limit=6.0, upper=10.0), {"x": far}).flips
    assert flip.value == pytest.approx(6.0, abs=0.1)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("offset", [2e3, 1.7e9, -1.7e9])
def test_flips_hold_far_from_zero(rng, offset):
    """Years and time stamps: the value as a float really flips."""
    X = pd.DataFrame(offset + 100.0 * rng.random((60, 2)), columns=["begin", "end"])
    tree = random_tree(rng, X, 2, CLASSES[:3], 512.0)
    for n in range(6):
        check_numbers(tree, X.iloc[n])


def two_leaves(limit, upper, gamma=512.0, sign=1.0):
    """Tree of one cut: "high" where x is above a limit, x being from 0 to upper."""
    X = pd.DataFrame({"x": [0.0, 0.5, upper]})
    return Tree(
        encoder=TableEncoder.learn(X),
        coef=np.array([[sign]]),
        threshold=np.array([sign * limit / upper]),
        leaf_class=np.array([0, 1] if sign > 0 else [1, 0]),
        target=Classes(np.array(["high", "low"])),
        gamma=gamma,
        cost_matrix=1.0 - np.eye(2),
        mass=np.full((2, 2), 0.25),
    )


@pytest.mark.a_few(2)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("limit", [3.5, 5.0, 2.0, 0.1, 7.25])
def test_a_limit_that_is_a_round_number_is_crossed(sign, limit):
    """At the limit both classes are equally probable; the value lies beyond it."""
    tree = two_leaves(limit, 10.0, sign=sign)
    for now in (0.0, 1.0, 3.0, 6.0, 9.9):
        found = explain(tree, {"x": now})
        (flip,) = found.flips
        assert found.predicted == ("high" if now > limit else "low")
        assert (flip.value > limit) == (now < limit)
        assert flip.to == tree.predict(pd.DataFrame({"x": [flip.value]}))[0]
        assert abs(flip.value - limit) <= ROUNDING * abs(limit - now)


@pytest.mark.parametrize(("x", "to"), [(0.0, None), (5.0, "low"), (10.0, "low")])
def test_a_sample_on_the_border_flips_with_little(x, to):
    """Of two equally probable classes the first is predicted; below is the other."""
    tree = two_leaves(x, 10.0)
    found = explain(tree, {"x": x})
    (flip,) = found.flips
    assert (found.predicted, flip.to) == ("high", to)
    if to:
        assert x - 1e-6 < flip.value < x


def test_a_readable_value_has_few_digits(rng):
    """Three digits of the change are enough for most."""
    X = draw_numbers(rng)
    tree = random_tree(rng, X, 2, CLASSES[:2], 64.0)
    changes = [
        f"{abs(flip.value - flip.now):.12g}"
        for n in range(20)
        for flip in explain(tree, X.iloc[n].round(0)).flips
        if flip.value is not None
    ]
    digits = [len(change.replace(".", "").strip("0")) for change in changes]
    assert np.mean(np.array(digits) <= 4) > 0.9


# -- levels ----------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.every_value
@shapes
@gammas
def test_a_level_flips_as_the_tree_predicts(rng, depth, n_classes, gamma):
    """The first level of another class, in their order, or None if there is none."""
    X = mixed_table(rng)
    tree = random_tree(rng, X, depth, CLASSES[:n_classes], gamma)
    levels = {"city": ["Bonn", "Oslo", "Rome"], "member": [False, True]}
    levels["grade"] = ["low", "mid", "high"]
    for n in range(6):
        found = explain(tree, X.iloc[n])
        by_name = {flip.variable: flip for flip in found.flips}
        for name in set(by_name) & set(levels):
            rows = with_values(X.iloc[n], name, levels[name]).astype(X.dtypes)
            classes = tree.predict(rows)
            others = [
                pair
                for pair in zip(levels[name], classes, strict=True)
                if pair[1] != found.predicted
            ]
            flip = by_name[name]
            assert flip.now == X.iloc[n][name]
            assert (flip.value, flip.to) == (others[0] if others else (None, None))


def test_levels_of_any_kind_come_back_as_they_are(rng):
    """Whole numbers, booleans and text keep their types."""
    X = pd.DataFrame(
        {
            "number": pd.Categorical(rng.permutation(np.resize([3, 1, 2], 60))),
            "truth": rng.permutation(np.resize([True, False], 60)),
            "text": rng.permutation(np.resize(["1", "2nd"], 60)),
        }
    )
    tree = random_tree(rng, X, 1, CLASSES[:2])
    kinds = {"number": int, "truth": bool, "text": str}
    for column, (name, kind) in zip(
        ["number = 3", "truth = True", "text = 2nd"], kinds.items(), strict=True
    ):
        one = with_cut(tree, 0, {column: 1.0}, 0.5 / tree.n_columns)
        (flip,) = explain(one, X.iloc[0]).flips
        assert flip.variable == name
        assert type(flip.value) is kind
        assert type(flip.now) is kind
        assert flip.now != flip.value


# -- what is not there -----------------------------------------------------------------


def test_only_variables_that_count_have_flips(rng):
    """A constant column and an unused one have none; a tree without variables, no."""
    X = draw_numbers(rng).assign(constant=7.0)
    tree = random_tree(rng, X, 1, CLASSES[:2])
    one = with_cut(tree, 0, {"b": 1.0}, 0.5 / tree.n_columns)
    assert [flip.variable for flip in explain(one, X.iloc[0]).flips] == ["b"]
    assert explain(without_variables(tree, 0, 0.001), X.iloc[0]).flips == ()


def test_a_class_that_always_wins_has_no_flip(rng):
    """However the numbers change, within their ranges."""
    X = draw_numbers(rng)
    tree = random_tree(rng, X, 2, CLASSES[:2])
    tree = replace(tree, threshold=np.full(3, -2.0), leaf_class=np.array([1, 0, 0, 0]))
    found = explain(tree, X.iloc[0])
    assert {(flip.value, flip.to) for flip in found.flips} == {(None, None)}
    assert [flip.now for flip in found.flips] == X.iloc[0].tolist()


def test_a_cut_that_hardly_turns_is_no_place_to_try():
    """Its border lies beyond all numbers: no overflow is told, other borders stay."""
    from sorct.show.counterfactual import _places_along

    places = _places_along(np.array([3.0, -2e6]), np.array([1e-310, 4e6]))
    assert np.isfinite(places).all()
    assert 0.5 in places
