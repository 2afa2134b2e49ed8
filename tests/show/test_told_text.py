"""Rules of trees that know hard routes: what rows come by hand, and what to believe."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sorct import Tree, export_text
from sorct.data.target import Classes
from sorct.show.caveats import rare_classes
from sorct.show.plotting import TreeDisplay
from tests.data.test_encoder import mixed_table
from tests.show.test_text import follow, leaves_of, read_tree, with_cut
from tests.show.told_trees import told_tree
from tests.tree.test_tree import random_tree

LEAF = re.compile(
    r"^(\w+)  \(([\d.]+) % of (rows|samples)(?:: ([^;]*))?(?:; says (.*))?\)$"
)
CLASSES = np.array(["legal", "fraud", "other"])


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng, 200)


def labels_of(rng, tree, X, wrong=0.2):
    """Classes as the tree predicts them but for some; all occur."""
    y = np.array(tree.predict(X))
    odd = rng.random(len(y)) < wrong
    y[odd] = rng.choice(tree.classes, odd.sum())
    y[: len(tree.classes)] = tree.classes
    return y


def drawn(rng, X, n_classes=2, depth=2, gamma=512.0, **told):
    """A random tree with all that training says of it."""
    tree = random_tree(rng, X, depth, CLASSES[:n_classes], gamma)
    y = labels_of(rng, tree, X)
    codes = np.eye(n_classes)[tree.target.codes(y)]
    tree = replace(tree, mass=codes.T @ tree.leaf_reach(X) / len(y))
    return told_tree(tree, X, y, **told), y


def footer(text):
    """Lines below the rules, joined to one."""
    return " ".join(text.split("\n\n")[2].replace("\n  ", " ").split("\n"))


def shares_of(text):
    """Shares by class from "97 % a, 3 % b"."""
    return {name: int(part) for part, name in re.findall(r"(\d+) % (\w+)", text or "")}


# -- leaves ----------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_leaf_tells_the_rows_that_a_reader_sends_there(rng, table, depth, n_classes):
    """One by one, with the printed rules in hand."""
    tree, y = drawn(rng, table, n_classes, depth)
    root = read_tree(export_text(tree, decimals=12))
    sent = [follow(root, row) for _, row in table.iterrows()]
    assert set(sent) == set(leaves_of(root)), "a leaf that nobody comes to by hand"
    for leaf in leaves_of(root):
        label, share, _, mix, _ = LEAF.match(leaf).groups()
        here = y[np.array([one == leaf for one in sent])]
        assert float(share) == pytest.approx(100 * len(here) / len(y), abs=0.051)
        for name, part in shares_of(mix).items():
            assert part == pytest.approx(100 * (here == name).mean(), abs=0.51)
    by_hand = [leaf.split()[0] for leaf in sent]
    assert by_hand == tree.follow(table).tolist()


def test_a_leaf_tells_what_it_says_where_that_is_something_else(rng, table):
    """By more than a rounding of the share."""
    tree, _ = drawn(rng, table, depth=1)
    share = tree.routed / tree.routed.sum(axis=0)
    near = replace(tree, leaf_proba=share + np.array([[0.004], [-0.004]]) * [1, 1])
    assert "says" not in export_text(near)
    said = np.array([[0.25, 0.625], [0.75, 0.375]])
    text = export_text(replace(tree, leaf_proba=said))
    found = [LEAF.match(leaf).groups() for leaf in leaves_of_rows(text)]
    told = {label: shares_of(says) for label, _, _, _, says in found}
    codes = tree.leaf_class
    assert set(told) == set(CLASSES[codes])
    for leaf, k in enumerate(codes):
        if codes[0] != codes[1]:
            legal, fraud = 100 * said[:, leaf]
            expected = {"legal": legal, "fraud": fraud}
            assert told[CLASSES[k]] == pytest.approx(expected, abs=0.51)
    assert "says" not in export_text(replace(tree, leaf_proba=None))


def leaves_of_rows(text):
    """Texts of the leaves of printed rules that tell rows."""
    lines = text.split("\n\n")[1].split("\n")
    return [re.sub(r"^.*(?:yes: |no:  )", "", one) for one in lines if "% of" in one]


def test_soft_shares_are_told_on_request(rng, table):
    """As of trees that know no others, and with the line that says so."""
    tree, _ = drawn(rng, table, depth=2, gamma=32.0, leaves=False)
    old = replace(tree, routed=None, training=replace(tree.training, followed=None))
    line = "Shares are expected ones: a sample near a cut goes both ways in part."
    assert (
        export_text(old).split("\n\n")[1]
        == (export_text(tree, soft=True).split("\n\n")[1])
    )
    assert line in export_text(tree, soft=True)
    assert line in export_text(old)
    assert line not in export_text(tree)
    assert "% of rows" not in export_text(old)
    with pytest.raises(TypeError, match="soft must be True or False, got 'yes'"):
        export_text(tree, soft="yes")


def test_trees_of_files_print_as_before(rng, table):
    """A tree that knows nothing of hard routes, however rare a class is."""
    tree, _ = drawn(rng, table)
    tree = replace(tree, leaf_proba=None, routed=None, training=type(tree.training)())
    text = export_text(tree)
    for word in ("rows", "by hand", "rare", "calibrated", "predict"):
        assert word not in text


def test_nodes_that_no_hard_route_reaches_are_not_printed(rng, table):
    """Though soft routes come there; a line says which cuts are not shown."""
    tree, y = drawn(rng, table, depth=2, gamma=8.0)
    # Cut 3 sends everybody left by hand, but with probability 0.6 only.
    threshold = -np.log(0.6 / 0.4) / tree.gamma
    tree = told_tree(with_cut(tree, 2, {}, threshold), table, y)
    assert "cut 3:" in export_text(tree, soft=True).split("\n\n")[1]
    text = export_text(tree)
    assert "cut 3:" not in text.split("\n\n")[1]
    assert (
        "1 cut is not shown: by hand, no training row comes to one of its sides (cut "
        "3)." in text
    )


def weak_tree(table, y):
    """A tree of one cut: by hand all rows come to its right, and some softly do not."""
    tree = random_tree(np.random.default_rng(0), table, 1, CLASSES[:2], 8.0)
    tree = with_cut(tree, 0, {"age": 0.5}, 0.15)
    codes = np.eye(2)[tree.target.codes(y)]
    tree = replace(tree, mass=codes.T @ tree.leaf_reach(table) / len(y))
    return told_tree(tree, table, y, leaves=False)


def test_a_cut_that_moves_probabilities_alone_is_printed(rng, table):
    """With shares that are expected, and with a line that says so; the plot as well."""
    y = np.where(rng.random(200) < 0.2, "fraud", "legal")
    tree = weak_tree(table, y)
    assert len(set(tree.follow(table))) == 1
    name = tree.follow(table)[0]
    text, soft = export_text(tree), export_text(tree, soft=True)
    assert text.split("\n\n")[:2] == soft.split("\n\n")[:2]
    assert "1 cut and 2 leaves" in text
    assert "not shown" not in text
    line = (
        f"predict says {name} of all training rows: the cuts move the probability "
        "alone."
    )
    assert line in footer(text)
    assert "Shares are expected ones" in footer(text)
    assert line not in footer(soft)
    assert line in TreeDisplay.from_tree(tree).note
    assert len(TreeDisplay.from_tree(tree).parts) == 3


def test_variables_of_cuts_that_are_not_shown_are_told(rng, table):
    """They move the probability; it is said where to see how."""
    tree, y = drawn(rng, table, depth=2, gamma=8.0)
    for t, name, threshold in ((0, "year", 0.1), (1, "year", 0.12), (2, "age", 0.25)):
        tree = with_cut(tree, t, {name: 1.0}, threshold)
    tree = told_tree(tree, table, y)
    text = footer(export_text(tree))
    assert "by hand, no training row comes to one of its sides (cut " in text
    assert (
        "age stands in cuts that are not shown and moves the probability: see "
        "explain(tree, row) and export_text(tree, soft=True)." in text
    )
    assert "stands in cuts" not in footer(export_text(tree, soft=True))


# -- below the rules -------------------------------------------------------------------


def test_how_often_the_rules_can_be_followed_is_told(rng, table):
    """In per cent of the training rows; never 100 if it is not all."""
    tree, _ = drawn(rng, table, gamma=16.0)
    share = (tree.follow(table) == tree.predict(table)).mean()
    assert tree.training.followed == share
    line = (
        "Followed by hand, yes or no at each cut, the rules give predict's class for "
        "{} % of the training rows."
    )
    for given, told in ((0.998, "99.8"), (0.99999, "99.9"), (1.0, "100.0")):
        one = replace(tree, training=replace(tree.training, followed=given))
        assert line.format(told) in footer(export_text(one))
    unknown = replace(tree, training=replace(tree.training, followed=None))
    assert "by hand, yes or no" not in export_text(unknown)


def test_directions_are_told_of_variables_in_use(rng, table):
    """Of others nothing moves with them."""
    tree = random_tree(rng, table, 1, CLASSES[:2])
    tree = with_cut(tree, 0, {"age": 1.0}, 0.05)
    signs = {"age": 1, "year": 1}
    told = replace(tree.training, monotonic=signs, positive_class="fraud")
    text = footer(export_text(replace(tree, training=told)))
    assert "The probability of fraud never falls as age grows." in text
    assert "year grows" not in text


def test_how_predict_decides_is_told(rng, table):
    """By costs, or by weights that were found for floors; else nothing is said."""
    tree, _ = drawn(rng, table)
    assert "predict takes" not in footer(export_text(tree))
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    by_cost = replace(tree, decision_cost=costs, cost_matrix=costs)
    assert (
        "predict takes the class of least expected cost: fraud where its probability "
        "is above 20 %." in footer(export_text(by_cost))
    )
    told = replace(tree.training, min_recall=(0.0, 0.9))
    by_floor = replace(tree, decision_cost=costs, training=told)
    assert (
        "So that the floors on recall hold, predict says fraud where its probability "
        "is above 20 %." in footer(export_text(by_floor))
    )
    turned = replace(by_floor, decision_cost=costs.T)
    assert "legal where its probability is at least 20 %" in footer(export_text(turned))


@pytest.mark.parametrize("limit", [0.07, 0.2, 0.5, 0.81])
def test_the_limit_that_is_told_is_that_of_predict(rng, table, limit):
    """The rows above it, and no others, are given the class."""
    costs = np.array([[0.0, limit], [1.0 - limit, 0.0]])
    tree, _ = drawn(rng, table, gamma=16.0, cost=costs)
    found = re.search(
        r"cost: (\w+) where its probability is (above|at least) ([\d.]+) %",
        footer(export_text(tree)),
    )
    label, _, told = found.groups()
    proba = tree.predict_proba(table)[:, tree.classes.tolist().index(label)]
    clear = np.abs(proba - float(told) / 100) > 1e-3
    says = tree.predict(table) == label
    assert (says == (proba > float(told) / 100))[clear].all()
    assert float(told) <= 50.0


def test_weights_for_the_floors_of_several_classes_are_told(rng, table):
    """How much more errors on a class count."""
    tree, _ = drawn(rng, table, 3, cost=(1 - np.eye(3)) * np.array([[1.0], [3.0], [2]]))
    told = replace(tree.training, min_recall=(0.0, 0.9, 0.0))
    tree = replace(tree, cost_matrix=1 - np.eye(3))
    assert (
        "So that the floors on recall hold, predict takes the class of least expected "
        "cost, errors on the classes being weighted (legal: 1, fraud: 3, other: 2)."
    ) in footer(export_text(replace(tree, training=told)))


def test_calibration_is_told(rng, table):
    """Only where there is one."""
    line = "Probabilities are calibrated on held-out rows."
    tree, _ = drawn(rng, table, calibration="logistic")
    assert line in export_text(tree)
    assert line not in export_text(replace(tree, calibration=None))


def test_recall_is_called_expected_only_where_it_is(rng, table):
    """Floors bind it under the expected cost, else the classes that are predicted."""
    tree, _ = drawn(rng, table, recall=(0.9, 0.8))
    assert "\nRecall on the training sample: 0.900 of legal" in export_text(tree)
    told = replace(tree.training, loss="cost", min_recall=(0.75, 0.0))
    floor = export_text(replace(tree, training=told))
    line = (
        "\nExpected recall on the training sample: 0.900 of legal (floor 0.75), 0.800"
    )
    assert line in floor
    plain = export_text(replace(tree, training=replace(told, min_recall=None)))
    rate = tree.training.found[0]
    assert f"\nRecall on the training sample: {rate:.3f} of legal" in plain


# -- rare classes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "rare"),
    [
        ([0.85, 0.15], [1]),
        ([0.79, 0.21], []),
        ([0.02, 0.98], [0]),
        ([0.5, 0.5], []),
        ([0.1] * 10, []),
        ([0.6, 0.15, 0.05, 0.2], [2, 1]),
    ],
)
def test_a_class_is_rare_below_a_fifth_of_the_rows(share, rare):
    """Unless all classes are as small."""
    assert rare_classes(share) == rare


def with_shares(tree, share):
    """A tree of which the classes have given shares in training."""
    scale = np.array(share)[:, np.newaxis] / tree.class_share[:, np.newaxis]
    return replace(tree, mass=tree.mass * scale, routed=tree.routed * scale)


def test_what_accuracy_hides_is_told(rng, table):
    """What always naming the largest class gives, rates, and the options."""
    rates = {"cv_recall": (0.97, 0.5), "cv_precision": (0.9, 0.625)}
    tree = with_shares(drawn(rng, table, **rates)[0], [0.85, 0.15])
    told, text = tree.training, footer(export_text(tree))
    assert (
        "fraud (15.0 %) is a rare class: always predicting legal is right for 85.0 % "
        "of the training rows, so accuracy says little here." in text
    )
    pairs = ", ".join(
        f"{r:.3f} and {p:.3f} of {label}"
        for label, r, p in zip(CLASSES, told.found, told.precision, strict=False)
    )
    assert f"Recall and precision on the training rows: {pairs}." in text
    assert (
        "Recall and precision on held-out rows: 0.970 and 0.900 of legal, 0.500 and "
        "0.625 of fraud." in text
    )
    # A single tree has no scoring.
    chosen = 'SORCTClassifierCV(scoring="balanced_accuracy")'
    for option in ('class_weight="balanced"', "min_recall", chosen):
        assert option in text


def test_what_the_largest_class_gives_is_told_only_where_that_is_much(rng, table):
    """Of a rare class beside two of a middle size, accuracy still says little."""
    tree, _ = drawn(rng, table, 3)
    text = footer(export_text(with_shares(tree, [0.46, 0.13, 0.41])))
    assert "fraud (13.0 %) is a rare class: accuracy says little of it." in text
    assert "always predicting" not in text
    text = footer(export_text(with_shares(tree, [0.8, 0.1, 0.1])))
    assert "always predicting legal is right for 80.0 % of the training rows" in text


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("known", "advice"),
    [
        ({}, True),
        ({"min_recall": (0.0, 0.75), "found": (0.9, 0.75)}, False),
        ({"min_recall": (0.0, 0.75), "found": (0.9, 0.5)}, True),
        ({"min_recall": (0.75, 0.0), "found": (0.9, 0.5)}, True),
        ({"min_recall": (0.0, 0.75), "found": (0.9, 0.5), "confidence": 0.9}, False),
    ],
)
def test_no_more_is_advised_where_a_floor_is_met_or_promised(rng, table, known, advice):
    """Who asked for three quarters and has them needs no advice."""
    tree = with_shares(drawn(rng, table)[0], [0.85, 0.15])
    tree = replace(tree, training=replace(tree.training, **known))
    assert ("To find more of it:" in export_text(tree)) == advice


@pytest.mark.every_case
@pytest.mark.parametrize(("n_rows", "advice"), [(4, False), (5, True)])
def test_weights_are_not_advised_for_a_handful_of_rows(rng, table, n_rows, advice):
    """They would make a class of what may be chance."""
    tree = with_shares(drawn(rng, table)[0], [1 - n_rows / 200, n_rows / 200])
    told = replace(tree.training, n_samples=200)
    text = footer(export_text(replace(tree, training=told)))
    assert "To find more of it: " in text
    assert ("class_weight" in text) == advice


def test_a_class_that_is_never_predicted_has_no_precision(rng, table):
    """A dash in place of nought, in training and held out; but not if always wrong."""
    rates = {"cv_recall": (1.0, 0.0), "cv_precision": (0.85, 0.0)}
    tree = with_shares(drawn(rng, table, **rates)[0], [0.85, 0.15])
    told = replace(tree.training, found=(1.0, 0.0), precision=(0.85, 0.0))
    text = footer(export_text(replace(tree, training=told)))
    assert text.count("0.000 and \u2013 of fraud") == 2
    told = replace(told, found=(0.9, 0.0), precision=(0.9 * 0.85 / 0.9, 0.0))
    text = footer(export_text(replace(tree, training=told)))
    assert text.count("0.000 and 0.000 of fraud") == 1


def test_recall_is_told_once(rng, table):
    """Beside precision where a class is rare; by itself where there is a floor."""
    tree = with_shares(drawn(rng, table, recall=(0.9, 0.8))[0], [0.85, 0.15])
    assert "Recall on the training sample" not in export_text(tree)
    told = replace(tree.training, min_recall=(0.0, 0.75))
    text = footer(export_text(replace(tree, training=told)))
    assert (
        "Recall on the training sample: 0.900 of legal, 0.800 of fraud (floor 0.75)."
        in text
    )


def test_classes_that_are_numbers_are_called_classes(rng, table):
    """A number beside another would be a riddle."""
    tree, y = drawn(rng, table, cost=np.array([[0.0, 1.0], [4.0, 0.0]]))
    tree = replace(tree, target=Classes(np.array([0, 1])))
    tree = with_shares(told_tree(tree, table, 1 * (y == "fraud")), [0.85, 0.15])
    rules, text = export_text(tree).split("\n\n")[1], footer(export_text(tree))
    assert re.search(r"(yes|no): +[01]  \([\d.]+ % of rows: \d+ % class [01]\b", rules)
    assert "class 1 (15.0 %) is a rare class: always predicting class 0 is " in text
    assert re.search(r"[\d.]{5} and [\d.]{5} of class 0, ", text)
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    text = footer(export_text(replace(tree, decision_cost=costs)))
    assert "class 1 where its probability is above 20 %" in text


def test_what_it_means_that_a_leaf_says_something_is_told(rng, table):
    """Only where one does."""
    tree, _ = drawn(rng, table, depth=1)
    said = replace(tree, leaf_proba=np.array([[0.25, 0.625], [0.75, 0.375]]))
    line = "What a leaf says is the probability of rows that are there for certain"
    assert line in footer(export_text(said))
    assert line not in footer(export_text(replace(tree, leaf_proba=None)))


def test_a_class_without_weight_in_the_decision_is_no_obstacle(rng, table):
    """Nothing is divided by it."""
    tree, _ = drawn(rng, table, 3, cost=(1 - np.eye(3)) * np.array([[0.0], [3.0], [2]]))
    told = replace(tree.training, min_recall=(0.0, 0.9, 0.0))
    tree = replace(tree, cost_matrix=1 - np.eye(3), training=told)
    assert "(legal: 0, fraud: 1.5, other: 1)" in footer(export_text(tree))


def test_without_a_rare_class_nothing_is_said_of_it(rng, table):
    """Nor of rates that are not known."""
    tree, _ = drawn(rng, table)
    assert "rare" not in export_text(with_shares(tree, [0.6, 0.4]))
    unknown = replace(tree.training, found=None, precision=None, loss="cost")
    text = footer(export_text(replace(with_shares(tree, [0.1, 0.9]), training=unknown)))
    assert "legal (10.0 %) is a rare class" in text
    assert "precision on" not in text


def test_everything_told_survives_a_file(rng, table, tmp_path):
    """The rules of a tree that was saved and read are the same."""
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    tree, _ = drawn(rng, table, calibration="curve", cost=costs)
    tree.to_json(tmp_path / "tree.json")
    assert export_text(Tree.from_json(tmp_path / "tree.json")) == export_text(tree)
