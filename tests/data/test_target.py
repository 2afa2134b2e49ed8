"""Target: codes and labels are each other's inverse, and leaves say what is in them."""

import json
import re
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from sorct.data.target import Classes, unequal

LABELS = [
    np.array(["no", "yes", "ünsure"]),
    np.array(["b", "a", "c"]),
    np.array(["b", "a"], dtype=object),
    np.array([-7, 0, 2**40]),
    np.array([3, 1, 2]),
    np.array([1, 2, 3], dtype=np.uint8),
    np.array([0.1, 1 / 3, 1e300]),
    np.array([False, True]),
    np.array([True, False]),
]
labels = pytest.mark.parametrize(
    "labels", LABELS, ids=lambda c: f"{c.dtype.str} {c.tolist()}"
)
FORMS = {
    "array": np.asarray,
    "list": list,
    "series": pd.Series,
    "objects": lambda y: np.array(y.tolist(), dtype=object),
    "category": lambda y: pd.Series(pd.Categorical(y)),
}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


# -- codes -----------------------------------------------------------------------------


@pytest.mark.every_value
@labels
@forms
def test_codes_are_the_inverse_of_labels(rng, labels, form):
    """Whatever the type of the labels, in order or not, and however y comes."""
    target, expected = Classes(labels), rng.integers(0, len(labels), 50)
    codes = target.codes(form(labels[expected]))
    np.testing.assert_array_equal(codes, expected)
    assert codes.dtype.kind == "i"
    np.testing.assert_array_equal(target.known_codes(form(labels[expected])), expected)
    assert len(target) == len(labels)


@labels
def test_other_labels_have_the_code_minus_one(rng, labels):
    """Larger, smaller and between the known ones, of their type and of another."""
    target = Classes(labels)
    for odd in ("zzz", "", "nn", -1000, 2**41, 0.2, 1e301, None):
        if odd in labels.tolist():
            continue
        y = np.array([labels.tolist()[0], odd, labels.tolist()[-1]], dtype=object)
        assert target.codes(y).tolist() == [0, -1, len(labels) - 1]
        with pytest.raises(ValueError, match="not among the classes") as caught:
            target.known_codes(y)
        assert repr([odd]) in str(caught.value)
    if labels.dtype.kind in "iufU":
        y = np.array([labels[0], labels[-1]])
        y = np.append(y, labels.dtype.type("~" if labels.dtype.kind == "U" else 77))
        assert target.codes(y).tolist() == [0, len(labels) - 1, -1]


def test_a_long_label_is_not_cut_to_the_length_of_the_known():
    """Text of another width is compared whole."""
    target = Classes(np.array(["aa", "bb"]))
    assert target.codes(np.array(["aa", "aaa", "bbbb"])).tolist() == [0, -1, -1]


@labels
def test_learning_finds_the_labels_in_order(rng, labels):
    """As ``np.unique`` has them; a repeated label counts once."""
    y = labels[rng.permutation(np.resize(np.arange(len(labels)), 40))]
    target = Classes.learn(y, np.ones(40))
    np.testing.assert_array_equal(target.labels, np.unique(labels))
    np.testing.assert_array_equal(target.labels[target.codes(y)], y)


def test_one_class_is_refused():
    """There is nothing to tell apart."""
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class: 'only'"):
        Classes.learn(np.array(["only"] * 5), np.ones(5))


def test_a_class_of_next_to_no_weight_is_refused():
    """Its recall would be lost in rounding; one of little weight is fine."""
    y = np.array(["a", "a", "b"])
    with pytest.raises(ValueError, match="leaves class 'b' next to nothing"):
        Classes.learn(y, np.array([1.0, 1.0, 1e-15]))
    assert len(Classes.learn(y, np.array([1.0, 1.0, 1e-12]))) == 2


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", 1, "b"], dtype=object),
        np.array([("a", 1), ("b", 2), ("a", 1)], dtype="O,O"),
        np.array(["2026", "2027", "2026"], dtype="M8[Y]"),
    ],
)
def test_labels_that_cannot_be_ordered_or_saved_are_refused(y):
    """At once, not when a file is written."""
    with pytest.raises(TypeError, match="y "):
        Classes.learn(y, np.ones(3))


@pytest.mark.parametrize(
    ("y", "told"),
    [
        ([datetime(2024, 1, 1), datetime(2024, 1, 2)], r"datetime\(2024, 1, 1, 0, 0\)"),
        (np.array(["2024-01-01", "2024-01-02"], "M8[s]"), "'2024-01-01T00:00:00'"),
    ],
)
def test_labels_that_are_times_are_shown_whole(y, told):
    """As they are written, not as numbers or with dots in the middle."""
    with pytest.raises(TypeError, match=rf"labels such as .*{told} of type datetime"):
        Classes.learn(np.asarray(y, dtype=getattr(y, "dtype", object)), np.ones(2))


def test_classes_that_occur_are_told():
    """By position."""
    target = Classes(np.array(["a", "b", "c"]))
    assert target.present(np.array(["c", "a", "c"])).tolist() == [True, False, True]


@labels
def test_a_label_is_found_by_how_it_is_written(labels):
    """With the type that it has in the table."""
    target = Classes(labels)
    for label in labels.tolist():
        assert target.find(str(label)) == label
        assert type(target.find(str(label))) is type(label)
    with pytest.raises(KeyError):
        target.find("never seen")


# -- leaves ----------------------------------------------------------------------------


def quoted(label):
    """A label that could be taken for an answer stands in quotes."""
    return f'"{label}"' if str(label) in ("yes", "no") else str(label)


@labels
def test_a_leaf_tells_its_class_its_share_and_its_mix(rng, labels):
    """Shares are per cent of all samples, the mix is per cent of the leaf."""
    target = Classes(labels)
    mass = rng.uniform(0.05, 0.2, len(labels))
    for code in range(len(labels)):
        text = target.leaf_text(code, mass)
        head, _, mix = text.partition("  (")
        assert head == quoted(labels[code])
        assert mix.startswith(f"{100 * mass.sum():.1f} % of samples: ")
        told = re.findall(r"(\d+) % ([^,)]+)", mix.partition(": ")[2])
        by_mass = np.argsort(-mass)
        assert [name for _, name in told] == [quoted(labels[k]) for k in by_mass]
        shares = 100 * mass[by_mass] / mass.sum()
        assert [int(share) for share, _ in told] == shares.round().astype(int).tolist()


def test_hand_values_of_a_leaf():
    """A quarter of all, of which 80 % are yes."""
    target = Classes(np.array(["no", "yes"]))
    assert target.leaf_text(1, np.array([0.05, 0.2])) == (
        '"yes"  (25.0 % of samples: 80 % "yes", 20 % "no")'
    )
    # Less than half a per cent of a leaf is not told, nor is the mix of an empty one.
    assert target.leaf_text(0, np.array([0.5, 0.002])) == (
        '"no"  (50.2 % of samples: 100 % "no")'
    )
    assert target.leaf_text(0, np.zeros(2)) == '"no"  (0.0 % of samples)'
    many = Classes(np.arange(6))
    assert many.leaf_text(0, np.full(6, 0.1)).count(" % ") == 1 + 4


def test_a_leaf_is_one_line_whatever_its_label():
    """Control characters are written out."""
    text = Classes(np.array(["a\nb", "c"])).leaf_text(0, np.array([0.5, 0.5]))
    assert text == "a\\nb  (100.0 % of samples: 50 % a\\nb, 50 % c)"


# -- scores ----------------------------------------------------------------------------


def test_the_mean_cost_is_that_of_its_formula(rng):
    """Minus the weighted mean over rows of W[true, predicted]."""
    costs = rng.random((3, 3)) * (1.0 - np.eye(3))
    true, predicted = rng.integers(0, 3, (2, 40))
    weight = rng.random(40)
    total = sum(w * costs[k, j] for w, k, j in zip(weight, true, predicted))  # noqa: B905
    worth = Classes.worth(costs, true, predicted)
    found = np.average(worth, weights=weight)
    assert found == pytest.approx(-total / weight.sum(), rel=1e-13)
    assert not Classes.worth(costs, true, true).any()


def test_a_label_that_is_no_class_is_wrong_and_costs_nothing():
    """Where errors cost the same it counts as one, else it is left out."""
    true, predicted = np.array([0, -1, 1]), np.array([0, 0, 0])
    assert Classes.worth(1.0 - np.eye(2), true, predicted).tolist() == [1, 0, 0]
    dear = np.array([[0.0, 1.0], [5.0, 0.0]])
    assert Classes.worth(dear, true, predicted).tolist() == [0, -5]


def test_the_default_score_goes_with_the_costs():
    """Accuracy where all errors cost the same, else minus the mean cost."""
    equal = 3.0 * (1.0 - np.eye(3))
    assert not unequal(equal)
    assert Classes.default_score(equal) == "accuracy"
    other = equal.copy()
    other[0, 1] = 2.0
    assert unequal(other)
    assert "cost" in Classes.default_score(other)


@pytest.mark.parametrize("repeats", [None, 2])
def test_every_fold_has_its_share_of_every_class(rng, repeats):
    """Stratified, shuffled by the seed, every row tested once per repeat."""
    y = rng.permutation(np.repeat(["a", "b"], [40, 10]))
    target = Classes.learn(y, np.ones(50))
    folds = list(Classes.splitter(5, 0, repeats).split(y, y))
    again = list(Classes.splitter(5, 0, repeats).split(y, y))
    for (train, test), (_, same) in zip(folds, again, strict=True):
        np.testing.assert_array_equal(test, same)
        assert np.bincount(target.codes(y[test])).tolist() == [8, 2]
        assert not set(train) & set(test)
    tested = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.bincount(tested), repeats or 1)
    for _, test in target.folds(5, y).split(y, y):
        assert np.bincount(target.codes(y[test])).tolist() == [8, 2]


# -- files -----------------------------------------------------------------------------


@labels
def test_classes_survive_json(labels):
    """With their type and their order."""
    target = Classes(labels)
    again = Classes.from_dict(json.loads(json.dumps(target.to_dict())))
    assert again == target
    assert again.labels.dtype == labels.dtype
    assert again.labels.tolist() == labels.tolist()


def test_classes_differ_by_order_and_by_type():
    """Equality is that of files."""
    assert Classes(np.array([1, 2])) != Classes(np.array([2, 1]))
    assert Classes(np.array([1, 2])) != Classes(np.array([1.0, 2.0]))
    assert Classes(np.array([1, 2])) != [1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "'labels' is missing"),
        ({"labels": ["a", "b"]}, "'dtype' is missing"),
        ({"labels": "ab", "dtype": "<U1"}, "'labels'"),
        ({"labels": ["a"], "dtype": "<U1"}, "fewer than two"),
        ({"labels": [], "dtype": "<U1"}, "fewer than two"),
        ({"labels": ["a", "a"], "dtype": "<U1"}, "same label"),
        ({"labels": ["a", 1], "dtype": "<U1"}, "mixed types"),
        ({"labels": [1, 2], "dtype": "<U1"}, "mixed types"),
        ({"labels": ["a", "bb"], "dtype": "<U1"}, "do not fit"),
        ({"labels": [1, 999], "dtype": "|i1"}, "label"),
        ({"labels": [1, 2], "dtype": "<M8[s]"}, "unknown label type"),
        ({"labels": [1, 2], "dtype": "i"}, "unknown label type"),
        ({"labels": ["a", "b"], "dtype": "<U999999999"}, "much longer"),
    ],
)
def test_damaged_plain_data_are_refused(data, words):
    """The message says what is wrong with the labels."""
    with pytest.raises(ValueError, match=words):
        Classes.from_dict(data)
