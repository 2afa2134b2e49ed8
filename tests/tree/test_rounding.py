"""Rounding: few digits in original units, and what they cost is told."""

import json
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

from sorct import SORCTClassifier, Tree, explain
from sorct.show.text import cut_text
from sorct.tree.training import TrainingRecord
from tests.data.test_encoder import mixed_table
from tests.show.every_kind import OPTIONS, every_kind, tree_on
from tests.show.test_text import read_cut, with_cut, without_variables
from tests.tree.by_hand import only_cut, printed_terms
from tests.tree.test_tree import random_tree

all_digits = pytest.mark.parametrize("digits", [1, 2, 3, 4, 15])
offsets = pytest.mark.parametrize("offset", [0.0, 2e3, 1.7e9, -1.7e9])
CLASSES = np.array(["no", "yes", "maybe", "never"])


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng, 200)


def significant_digits(number):
    """Number of digits of a float, noise in the last places left out."""
    digits = Decimal(f"{number:.13g}").normalize().as_tuple().digits
    return len(digits)


def draw_tree(rng, offset, n_columns=3, spread=1.0, **options):
    """Random tree on numbers at some distance from zero, with its table."""
    span = 100.0 * 10.0 ** rng.uniform(-spread, spread, n_columns)
    X = offset + span * rng.random((200, n_columns))
    X = pd.DataFrame(X, columns=[f"v{j}" for j in range(n_columns)])
    return random_tree(rng, X, 2, CLASSES, **options), X


# -- digits ----------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_weights_have_so_many_digits(rng, table, digits):
    """As printed, the first being 1, numbers and categories alike."""
    tree = random_tree(rng, table, 3).round(digits).tree
    for t in range(tree.n_branches):
        terms, _ = printed_terms(tree, t)
        assert next(iter(terms.values())) == 1.0
        assert max(map(significant_digits, terms.values())) <= digits
        printed, _ = read_cut(cut_text(only_cut(tree, t)))
        assert list(printed.values()) == pytest.approx(list(terms.values()), rel=1e-13)


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
@offsets
def test_no_term_takes_the_place_of_the_first(rng, digits, offset):
    """Also where several weigh the same before, as at the bounds of training."""
    tree, _ = draw_tree(rng, offset)
    for sizes in ([1.0, 1.0, 1.0], [1.0, 0.999, -0.998], [-0.5, 0.4999, 1e-7]):
        named = zip(tree.encoder.column_names, rng.permutation(sizes), strict=True)
        exact = with_cut(tree, 0, dict(named), 0.1)
        short = exact.round(digits).tree
        (terms, _), (before, _) = printed_terms(short, 0), printed_terms(exact, 0)
        assert next(iter(terms)) == next(iter(before))
        assert max(map(significant_digits, terms.values())) <= digits
        for j, weight in terms.items():
            assert weight == pytest.approx(before[j], rel=10.0 ** (1 - digits))


def test_equal_terms_keep_their_order(rng):
    """Where a weight is round already, noise in its last bit changes nothing."""
    for k in range(1, 40):
        X = pd.DataFrame({"a": [0.0, 0.15 * k], "b": [0.0, 0.1 * k]})
        tree = random_tree(rng, X, 1, CLASSES[:2])
        tree = with_cut(tree, 0, {"a": 0.7, "b": 0.7}, 0.2).round(2).tree
        assert cut_text(tree.view.root).startswith("a + 1.5 b > ")


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_limits_have_one_digit_more_of_the_first_range(rng, digits):
    """Of a range of 720, tens, ones, tenths or hundredths."""
    X = pd.DataFrame({"a": np.linspace(3.0, 723.0, 50), "b": rng.random(50)})
    tree = with_cut(random_tree(rng, X, 1, CLASSES[:2]), 0, {"a": 1.0, "b": 0.3}, 0.21)
    tree = tree.round(digits).tree
    _, limit = printed_terms(tree, 0)
    steps = limit / 10.0 ** (2 - digits)
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert read_cut(cut_text(tree.view.root, 6))[1] == pytest.approx(limit, rel=1e-13)


@all_digits
def test_zeros_stay_zeros_and_nothing_else_vanishes(rng, table, digits):
    """The sparsity of a tree, and which variable is used where, are kept."""
    tree = random_tree(rng, table, 3)
    short = tree.round(digits).tree
    np.testing.assert_array_equal(short.coef != 0.0, tree.coef != 0.0)
    np.testing.assert_array_equal(np.sign(short.coef), np.sign(tree.coef))
    assert np.abs(short.coef).max() <= np.abs(tree.coef).max() * (1 + 1e-12)


@all_digits
@offsets
def test_rounding_again_changes_nothing(rng, digits, offset):
    """A tree of so many digits has so many digits."""
    tree, X = draw_tree(rng, offset)
    once = tree.round(digits).tree
    twice = once.round(digits).tree
    exact = 1e-6 if digits == 15 else 1e-7
    np.testing.assert_allclose(twice.coef, once.coef, rtol=0, atol=1e-13)
    np.testing.assert_allclose(twice.threshold, once.threshold, rtol=0, atol=exact)


def test_a_cut_without_variables_is_left_alone(rng, table):
    """It has a probability and no numbers to round."""
    tree = without_variables(random_tree(rng, table, 2), 0, 0.0123456789)
    short = tree.round(1).tree
    assert short.threshold[0] == tree.threshold[0]
    assert not short.coef[:, 0].any()


def test_constant_columns_are_no_trouble(rng):
    """They have no range and no weight."""
    X = pd.DataFrame({"a": rng.random(50), "seven": 7.0, "zero": 0.0})
    y = (X["a"] > 0.4).astype(int)
    tree = SORCTClassifier(depth=1, n_starts=2, random_state=0).fit(X, y).tree_
    short = tree.round(2, X, y)
    assert short.tree.variables_used == ("a",)
    assert short.accuracy_after > 0.95


# -- decisions -------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [8.0, 512.0])
def test_fifteen_digits_change_next_to_nothing(rng, table, gamma):
    """Probabilities stay within 1e-9, with numbers, years and categories."""
    tree = random_tree(rng, table, 3, CLASSES, gamma)
    short = tree.round(15).tree
    rows = mixed_table(rng, 500)
    change = np.abs(short.predict_proba(rows) - tree.predict_proba(rows)).max()
    assert change < 1e-9


@offsets
def test_three_digits_keep_decisions_far_from_zero(rng, offset):
    """What rounding a weight moves goes into the limit, not into the decisions."""
    for _ in range(5):
        tree, X = draw_tree(rng, offset, gamma=512.0)
        agree = (tree.round(3).tree.predict(X) == tree.predict(X)).mean()
        assert agree >= 0.98


def test_more_digits_come_closer(rng):
    """Each digit brings the probabilities about ten times closer."""
    tree, X = draw_tree(rng, 2e3, gamma=64.0)
    exact = tree.predict_proba(X)
    change = [
        np.abs(tree.round(digits).tree.predict_proba(X) - exact).max()
        for digits in (2, 4, 6, 8)
    ]
    assert all(b < 0.2 * a for a, b in zip(change, change[1:], strict=False))
    assert change[-1] < 1e-6


@all_digits
def test_accuracies_are_those_of_the_two_trees(rng, table, digits):
    """As scikit-learn measures them, on the data given."""
    tree = random_tree(rng, table, 2, CLASSES, 512.0)
    y = np.where(rng.random(200) < 0.8, tree.predict(table), "yes")
    short = tree.round(digits, table, pd.Series(y))
    assert short.accuracy_before == accuracy_score(y, tree.predict(table))
    assert short.accuracy_after == accuracy_score(y, short.tree.predict(table))
    assert type(short.accuracy_before) is type(short.accuracy_after) is float


@pytest.mark.parametrize("width", [0.9, 1.05, 1.9, 9.0])
def test_one_digit_leaves_a_single_limit_near_its_place(rng, width):
    """Whatever the range of its variable, within a twentieth of it."""
    X = pd.DataFrame({"a": width * rng.random(200)})
    tree = with_cut(random_tree(rng, X, 1, CLASSES[:2]), 0, {"a": 1.0}, 0.455)
    (before, after) = (printed_terms(one, 0)[1] for one in (tree, tree.round(1).tree))
    assert abs(after - before) <= 0.051 * width


def test_one_digit_keeps_a_question_of_one_level(rng, table):
    """The level still decides."""
    tree = random_tree(rng, table, 1, CLASSES[:2])
    tree = with_cut(tree, 0, {"city = Rome": 1.0}, 0.5 / tree.n_columns)
    np.testing.assert_array_equal(
        tree.round(1).tree.predict(table), tree.predict(table)
    )


def test_one_digit_can_cost_accuracy(rng):
    """And then the number after is the smaller one."""
    tree, X = draw_tree(rng, 0.0, n_columns=6, gamma=512.0)
    short = tree.round(1, X, tree.predict(X))
    assert short.accuracy_before == 1.0
    assert short.accuracy_after < 1.0


# -- the rounded tree ------------------------------------------------------------------


@pytest.mark.a_few(1)
@all_digits
def test_a_rounded_tree_is_a_tree(rng, table, tmp_path, digits):
    """It saves and loads to the last bit, prints, predicts and explains."""
    tree = random_tree(rng, table, 2).round(digits).tree
    tree.to_json(tmp_path / "short.json")
    again = Tree.from_json(tmp_path / "short.json")
    assert again == tree
    assert str(again) == str(tree)
    np.testing.assert_array_equal(again.predict_proba(table), tree.predict_proba(table))
    json.dumps(explain(again, table.iloc[0]).to_dict())


@pytest.mark.parametrize(("digits", "words"), [(1, "1 digit"), (3, "3 digits")])
def test_a_rounded_tree_says_so(rng, table, digits, words):
    """And no longer tells an objective or recall that are not its own."""
    tree = random_tree(rng, table, 2)
    told = replace(
        tree.training, alpha_local=0.5, recall=(1.0, 1.0, 1.0), search="found"
    )
    tree = replace(tree, training=told)
    short = tree.round(digits).tree
    assert f"\nThe tree itself was rounded to {words}; " in str(short)
    assert short.training == TrainingRecord(alpha_local=0.5, rounded=digits)
    assert "Search" not in str(short)
    assert "recall" not in str(short)
    assert tree.training == told


def test_rounding_leaves_the_tree_as_it_was(rng, table):
    """The rounded tree is another one."""
    tree = random_tree(rng, table, 2)
    before = tree.to_dict()
    short = tree.round(2)
    assert tree.to_dict() == before
    assert short.tree != tree
    assert (short.accuracy_before, short.accuracy_after) == (None, None)
    for name in ("leaf_class", "classes", "mass", "cost_matrix"):
        np.testing.assert_array_equal(getattr(short.tree, name), getattr(tree, name))


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize("digits", [0, 16, -1, 2.0, True, "2", None, np.nan])
def test_odd_digits_are_refused(rng, table, digits):
    """The message says what was expected and what was got."""
    tree = random_tree(rng, table, 1)
    words = re.escape(f"digits must be a whole number from 1 to 15, got {digits!r}.")
    with pytest.raises(ValueError, match=words):
        tree.round(digits)


def test_whole_numbers_of_numpy_are_digits(rng, table):
    """They give the same tree, that can be saved."""
    tree = random_tree(rng, table, 1)
    assert tree.round(np.int64(2)).tree.to_dict() == tree.round(2).tree.to_dict()
    assert type(tree.round(np.int64(2)).tree.training["rounded"]) is int


def test_data_without_labels_are_refused(rng, table):
    """Accuracy needs both."""
    tree = random_tree(rng, table, 1)
    for data in ({"X": table}, {"y": tree.predict(table)}):
        with pytest.raises(ValueError, match="both X and y or neither"):
            tree.round(2, **data)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree.round(2, table, ["no"])


# -- every kind of variable ------------------------------------------------------------


@pytest.mark.every_value
@pytest.mark.parametrize("categorical", ["whole", "dummies"])
@pytest.mark.parametrize("digits", [1, 2, 4, 8])
def test_every_kind_is_rounded_as_it_is_printed(rng, categorical, digits):
    """Weights by digits; threshold and missing cells by the range of the first."""
    X = every_kind(rng)
    tree = tree_on(rng, X, 3, replace(OPTIONS, categorical=categorical), density=0.5)
    for cut in tree.round(digits).tree.view.cuts:
        reading = cut.reading
        known = {
            i
            for summand, i in zip(reading.summands, reading.variables, strict=True)
            if not summand.is_missing
        }
        unit = 10.0 ** (np.floor(np.log10(reading.summands[0].span)) - digits)
        steps = [reading.threshold / unit]
        for summand, i, column, weight in zip(
            reading.summands,
            reading.variables,
            reading.columns,
            reading.weights,
            strict=True,
        ):
            # Of two levels, what one adds to the other is told.
            told = 2.0 * weight if column in reading.sided else weight
            if summand.is_missing and i in known:
                steps.append(weight / unit)
            else:
                exact = float(f"{told:.{digits}g}")
                assert told == pytest.approx(exact, rel=1e-9), summand.text
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-4)


@pytest.mark.parametrize("digits", [1, 3])
def test_rounding_every_kind_again_changes_nothing(rng, digits):
    """The printed tree is the stored one."""
    X = every_kind(rng)
    once = tree_on(rng, X, 3, density=0.5).round(digits).tree
    twice = once.round(digits).tree
    np.testing.assert_allclose(twice.coef, once.coef, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(twice.threshold, once.threshold, rtol=1e-7, atol=1e-9)
    first, second = ([cut_text(cut) for cut in one.view.cuts] for one in (once, twice))
    assert first == second


@pytest.mark.parametrize("digits", [3, 6])
def test_rounding_keeps_what_missing_cells_do(rng, digits):
    """Also of a column far from zero, whose weight is rounded by more than its span."""
    X = every_kind(rng, 200)
    tree = tree_on(rng, X, 2, gamma=16.0)
    after = tree.round(digits).tree
    gap = np.abs(tree.predict_proba(X) - after.predict_proba(X)).max()
    assert gap < 20.0 * 10.0**-digits


def test_the_limit_beside_one_of_two_sides_has_few_digits(rng):
    """The threshold is rounded as it is printed, and what is told is what counts."""
    X = pd.DataFrame({"z": rng.random(200), "sex": rng.choice(["f", "m"], 200)})
    tree = tree_on(rng, X, 1, n_classes=2)
    coef = np.array([[1.0], [-0.00123456], [0.00123456]])
    tree = replace(tree, coef=coef, threshold=np.array([0.1234567])).round(2).tree
    (cut,) = tree.view.cuts
    text = cut_text(cut)
    told, limit = re.search(r'\(sex: "?m"? \+(\S+)\) > (\S+)', text).groups()
    low, high = X["z"].min(), X["z"].max()
    rows = pd.DataFrame({"z": [0.5 * (low + high)] * 2, "sex": ["f", "m"]})
    sums = tree.encoder.encode(rows) @ tree.coef[:, 0] - cut.threshold
    exact = rows["z"] + [0.0, float(told)] - float(limit)
    np.testing.assert_allclose(sums * (high - low), exact, atol=1e-5)
    assert limit == str(round(float(limit), 3))
