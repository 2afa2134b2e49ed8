"""Explain: a route adds up, agrees with the tree, and can be checked by hand."""

import json
import os
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, Tree, explain, export_text
from sorct.data.encoder import TableEncoder
from sorct.data.options import PAPER_TABLE
from sorct.data.target import Classes
from sorct.show.text import cut_text
from tests.data.test_encoder import mixed_table
from tests.show.test_text import (
    read_tree,
    says_yes,
    with_cut,
    without_variables,
)
from tests.tree.by_hand import (
    cut_in_units,
    leaf_text,
    leaves_below,
    only_cut,
    span_of,
    visible_nodes,
)
from tests.tree.test_tree import labels, random_tree

CLASSES = np.array(["no", "yes", "maybe", "never"])


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng)


@pytest.fixture(
    scope="module",
    params=[
        (1, 2, 8.0),
        pytest.param((1, 2, 2e3), marks=pytest.mark.slow),
        pytest.param((2, 3, 8.0), marks=pytest.mark.slow),
        (2, 4, 2e3),
        (3, 4, 64.0),
        pytest.param((3, 2, 2e3), marks=pytest.mark.slow),
    ],
    ids=lambda case: "depth {}, {} classes, gamma {:g}".format(*case),
)
def case(request):
    """Explain some rows of a random tree, once for all that is true of them."""
    depth, n_classes, gamma = request.param
    rng = np.random.default_rng([int(os.environ.get("SORCT_TEST_SEED", "0")), depth])
    table = mixed_table(rng, 100)
    tree = random_tree(rng, table, depth, CLASSES[:n_classes], gamma)
    rows = [table.iloc[[n]] for n in range(12)]
    return tree, [(row, explain(tree, row)) for row in rows]


def leads_with(tree, t):
    """Column of the largest coefficient of a cut, which is printed first."""
    return int(np.argmax(np.abs(tree.coef[:, t])))


def proba_of_yes(tree, t, row):
    """By the formula: F(gamma (a . x / p - mu)), turned round with its first term."""
    x = tree.encoder.encode(row)[0]
    score = tree.gamma * (tree.coef[:, t] @ x / tree.n_columns - tree.threshold[t])
    sign = np.sign(tree.coef[leads_with(tree, t), t])
    return float(np.exp(-np.logaddexp(0.0, -sign * score)))


# -- one cut ---------------------------------------------------------------------------


def test_parts_add_up_to_the_margin(case):
    """Parts sum to the total; total - threshold is the scaled margin in units."""
    tree, explained = case
    for row, found in explained:
        x = tree.encoder.encode(row)[0]
        for step in found.steps:
            t = tree.cut_numbers.index(step.cut)
            added = step.base + sum(part.contribution for part in step.parts)
            assert added == pytest.approx(step.total, abs=1e-12)
            lead = leads_with(tree, t)
            unit = tree.coef[lead, t] / span_of(tree, lead)
            margin = tree.coef[:, t] @ x - tree.n_columns * tree.threshold[t]
            assert (step.total - step.threshold) * unit == pytest.approx(
                margin, abs=1e-12
            )


def test_the_former_name_of_the_threshold_still_works(case):
    """And says what it is called now."""
    step = case[1][0][1].steps[0]
    with pytest.warns(FutureWarning, match=r"now called Step\.threshold"):
        assert step.limit == step.threshold


def test_every_variable_of_a_cut_is_a_part_of_it(case):
    """Once each, with the value given, largest contribution first."""
    tree, explained = case
    for row, found in explained:
        for step in found.steps:
            used = tree.encoder.column_variable[
                tree.coef[:, tree.cut_numbers.index(step.cut)] != 0.0
            ]
            names = {tree.encoder.variables[i].name for i in used}
            assert sorted(part.variable for part in step.parts) == sorted(names)
            assert all(part.value == row[part.variable].iloc[0] for part in step.parts)
            sizes = [abs(part.contribution) for part in step.parts]
            assert sizes == sorted(sizes, reverse=True)


def test_a_part_is_weight_times_the_way_from_a_typical_value(case):
    """As printed: a number times its weight, or the weight of the level."""
    tree, explained = case
    for _, found in explained:
        for step in found.steps:
            weight, _ = cut_in_units(tree, tree.cut_numbers.index(step.cut))
            weight = weight / weight[leads_with(tree, tree.cut_numbers.index(step.cut))]
            of = dict(zip(tree.encoder.column_names, weight, strict=True))
            for part in step.parts:
                here, there = (
                    of[part.variable] * value
                    if part.variable in of
                    else of.get(f"{part.variable} = {value}", 0.0)
                    for value in (part.value, part.typical)
                )
                assert part.contribution == pytest.approx(here - there, abs=1e-11)


def test_typical_is_the_median_or_the_most_frequent_level(case):
    """Of the table that the tree was trained on."""
    tree, explained = case
    (_, found), *_ = explained
    parts = [part for step in found.steps for part in step.parts]
    for part in parts:
        i = tree.encoder.names.index(part.variable)
        assert part.typical == tree.encoder.variables[i].typical
    X = pd.DataFrame({"n": [3.0, 1.0, 9.5], "c": ["u", "v", "v"]})
    assert [v.typical for v in TableEncoder.learn(X).variables] == [3.0, "v"]


def test_the_probability_of_yes_is_the_logistic_function(case):
    """Of gamma times the margin, "yes" being the side of the first term."""
    tree, explained = case
    for row, found in explained:
        for step in found.steps:
            yes = proba_of_yes(tree, tree.cut_numbers.index(step.cut), row)
            expected = yes if step.answer == "yes" else 1.0 - yes
            assert step.proba == pytest.approx(expected, abs=1e-11)


def test_a_reader_of_the_question_comes_to_the_same_side(case):
    """With the values given and the numbers printed, wherever rounding allows."""
    tree, explained = case
    asked = 0
    for row, found in explained:
        for step in found.steps:
            first = leads_with(tree, tree.cut_numbers.index(step.cut))
            if abs(step.total - step.threshold) > 2e-3 * span_of(tree, first):
                above = step.total > step.threshold
                assert says_yes(step.question, row.iloc[0]) == above
                asked += 1
    assert asked > 6


# -- the route -------------------------------------------------------------------------


def test_answers_lead_through_the_printed_tree_to_the_leaf(case):
    """Cut by cut, the questions are those printed, and so is the leaf at the end."""
    tree, explained = case
    for _, found in explained:
        node = read_tree(str(tree))
        for step in found.steps:
            assert node[0] == f"cut {step.cut}: {step.question}"
            node = node[1] if step.answer == "yes" else node[2]
        assert node.split()[0].strip('"') == found.leaf


def test_the_route_is_that_of_the_rules(case):
    """Its probability is the reach of the leaf that people come to by hand."""
    tree, explained = case
    nodes = visible_nodes(tree)[1]
    for row, found in explained:
        reach, leaf = tree.leaf_reach(row)[0], tree.apply(row)[0]
        (node,) = [node for node in nodes if leaf in leaves_below(tree, node)]
        share = reach[leaves_below(tree, node)].sum()
        assert found.leaf_proba == pytest.approx(share, abs=1e-12)
        along = np.prod([step.proba for step in found.steps])
        assert found.leaf_proba == pytest.approx(along, abs=1e-11)
        assert found.leaf == leaf_text(tree, node).split()[0].strip('"')
        assert found.leaf == str(tree.follow(row)[0])


def test_probabilities_are_those_of_the_tree(case):
    """And the class is the one predicted."""
    tree, explained = case
    for row, found in explained:
        assert list(found.proba) == tree.classes.tolist()
        expected = tree.predict_proba(row)[0]
        np.testing.assert_array_equal(list(found.proba.values()), expected)
        assert found.predicted == tree.predict(row)[0]


def test_leaves_of_one_class_side_by_side_are_one_leaf(rng, table):
    """The cut between them is no step, and their probabilities add up."""
    tree = random_tree(rng, table, 2, CLASSES[:2], gamma=8.0)
    tree = replace(tree, leaf_class=np.array([0, 0, 1, 1]))
    found = explain(tree, table.iloc[0])
    assert [step.cut for step in found.steps] == [1]
    assert found.leaf == found.predicted
    assert found.leaf_proba == pytest.approx(found.proba[found.leaf], abs=1e-12)


def test_a_route_can_end_in_another_class_than_predicted():
    """Two leaves of one class can together outweigh the one where rules lead."""
    tree = Tree(
        encoder=TableEncoder.learn(pd.DataFrame({"a": [0.0, 1.0]})),
        coef=np.array([[1.0, 0.0, 1.0]]),
        # At a = 1 and gamma = 1: right F(0.2), and below that left F(0.1); the left cut
        # has no variable and gives its two leaves 1/2 each.
        threshold=np.array([1.2, 0.0, 0.9]),
        leaf_class=np.array([0, 1, 2, 1]),
        target=Classes(np.array(["a", "b", "c"])),
        gamma=1.0,
        cost_matrix=1.0 - np.eye(3),
        mass=np.full((3, 4), 1 / 12),
    )
    found = explain(tree, {"a": 1.0})
    right, left = 1.0 / (1.0 + np.exp([-0.2, -0.1]))
    assert found.predicted == "b"
    assert found.proba["b"] == pytest.approx((1 - right) / 2 + right * (1 - left))
    assert found.leaf_proba == pytest.approx(right * left)
    assert [step.answer for step in found.steps] == ["no", "yes"]
    assert found.leaf == "c"


# -- cuts without variables ------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "answer"), [(-0.003, "yes"), (0.004, "no")])
def test_a_cut_without_variables_has_no_parts(rng, table, threshold, answer):
    """Its answer has one probability for all; there is nothing to flip."""
    tree = random_tree(rng, table, 1, CLASSES[:2])
    tree = without_variables(tree, 0, threshold)
    found = explain(tree, table.iloc[0])
    (step,) = found.steps
    assert (step.parts, step.total, step.answer) == ((), 0.0, answer)
    assert step.proba == pytest.approx(1.0 / (1.0 + np.exp(-64.0 * abs(threshold))))
    assert (step.total > step.threshold) == (answer == "yes")
    assert found.flips == ()
    assert f"{answer} with probability {step.proba:.4g}" in str(found)
    assert "To change" not in str(found)


@pytest.mark.parametrize(("threshold", "node"), [(-1.0, 1), (1.0, 2)])
def test_a_cut_that_sends_all_one_way_is_no_step(rng, table, threshold, node):
    """The route begins below it, with the probabilities that count."""
    tree = random_tree(rng, table, 2, CLASSES)
    tree = without_variables(tree, 0, threshold)
    found = explain(tree, table.iloc[0])
    assert [step.cut for step in found.steps] == [1]
    assert found.steps[0].question == cut_text(only_cut(tree, node))
    assert found.leaf_proba == pytest.approx(tree.leaf_reach(table.iloc[:1]).max())
    alone = without_variables(random_tree(rng, table, 1, CLASSES[:2]), 0, threshold)
    found = explain(alone, table.iloc[0])
    assert found.steps == ()
    assert found.leaf_proba == pytest.approx(1.0, abs=1e-12)
    assert found.predicted == found.leaf == alone.predict(table.iloc[:1])[0]


# -- what a sample may be --------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda row: row.iloc[0],
        lambda row: dict(row.iloc[0]),
        lambda row: row.to_dict("records")[0],
        lambda row: row[row.columns[::-1]],
        lambda row: row.iloc[0][::-1],
        lambda row: {**row.iloc[0], "member": np.bool_(row["member"].iloc[0])},
    ],
)
def test_a_row_with_names_may_come_in_any_form(rng, table, make):
    """Frame, Series of objects, dict, in any order."""
    tree = random_tree(rng, table, 2)
    row = table.iloc[[7]]
    assert explain(tree, make(row)) == explain(tree, row)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: x.tolist(),
        lambda x: x[np.newaxis],
        lambda x: x.astype(object),
        lambda x: pd.Series(x, index=["x0", "x1", "x2"]),
        lambda x: pd.DataFrame([x], columns=["x0", "x1", "x2"]),
        lambda x: {"x2": x[2], "x0": x[0], "x1": x[1]},
    ],
)
def test_a_row_of_numbers_may_come_in_any_form(rng, named, make):
    """Whether the tree was trained on a frame or on an array."""
    X = rng.random((50, 3))
    train = pd.DataFrame(X, columns=["x0", "x1", "x2"]) if named else X
    tree = random_tree(rng, train, 2)
    assert explain(tree, make(X[7])) == explain(tree, train[7:8])


def test_columns_of_a_frame_count_by_place_where_names_were_made_up(rng):
    """As ``predict`` has it for a tree that was trained on an array."""
    X = rng.random((50, 3))
    tree = random_tree(rng, X, 2)
    row = pd.DataFrame(X[:1], columns=list("abc"))
    assert explain(tree, row) == explain(tree, row.iloc[0]) == explain(tree, X[0])


BAD = [
    (lambda X: X.iloc[:2], "Expected one sample, got 2"),
    (lambda X: X.iloc[:0], "Expected one sample, got 0"),
    (lambda X: X.iloc[0].drop("age"), "missing: 'age'"),
    (lambda X: {**X.iloc[0], "shoe": 43}, "not seen in training: 'shoe'"),
    (lambda X: {**X.iloc[0], "year": np.nan}, "contains NaN.*'year'"),
    (lambda X: {**X.iloc[0], "year": np.inf}, "contains infinity.*'year'"),
    (lambda X: {**X.iloc[0], "year": "old"}, "'year' was numeric in training"),
    (lambda X: {**X.iloc[0], "city": None}, "contains NaN.*'city'"),
    (lambda X: {**X.iloc[0], "city": "Paris"}, "'city' has levels.*'Paris'"),
    (lambda X: [1.0, 2.0, 3.0, 4.0, 5.0], "expected a pandas DataFrame"),
    (lambda X: X.iloc[0].tolist(), "must be numeric"),
    (lambda X: 3.0, "expected a pandas DataFrame"),
]


@pytest.mark.parametrize(("make", "words"), BAD)
def test_what_is_no_sample_is_refused(rng, table, make, words):
    """One error that says what is wrong."""
    tree = random_tree(rng, table, 2)
    with pytest.raises(ValueError, match=words):
        explain(tree, make(table))


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros((2, 3)), "Expected one sample, got 2"),
        (np.zeros(2), "Expected 3 columns as in training, got 2"),
        ({"x0": 1.0}, "Expected 3 columns as in training, got 1"),
        (3.0, "Expected 3 columns as in training, got 1"),
        ([0.0, np.nan, 0.0], "contains NaN.*'x1'"),
    ],
)
def test_what_is_no_row_of_numbers_is_refused(rng, x, words):
    """One error that says what is wrong, for a tree trained on an array."""
    tree = random_tree(rng, rng.random((50, 3)), 2)
    with pytest.raises(ValueError, match=words):
        explain(tree, x)


def test_an_unseen_level_counts_as_the_first_where_it_may(rng, table):
    """The value shown is the one given; it adds what the first level does."""
    options = replace(PAPER_TABLE, handle_unknown="first_level")
    tree = random_tree(rng, table, 1)
    tree = replace(tree, encoder=TableEncoder.learn(table, options))
    tree = with_cut(tree, 0, {"age": 0.7, "city = Rome": 0.5}, 0.1)
    row = {**table.iloc[0], "city": "Paris"}
    found = explain(tree, row)
    first = explain(tree, {**row, "city": "Bonn"})
    assert found.proba == first.proba
    added, expected = (
        {part.variable: part.contribution for part in one.steps[0].parts}
        for one in (found, first)
    )
    assert added == expected
    assert "Paris" in [part.value for part in found.steps[0].parts]


# -- plain data and text ---------------------------------------------------------------


def plain_types(value):
    """Types of everything in nested plain data."""
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    else:
        parts = value if isinstance(value, (list, tuple)) else []
    return {type(value)}.union(*map(plain_types, parts))


@pytest.mark.every_value
@labels
@pytest.mark.parametrize("kind", [dict, pd.Series, pd.DataFrame, np.asarray])
def test_to_dict_is_plain_json(rng, table, classes, kind):
    """Whatever the labels and however the sample came; a file gives it back."""
    if kind is np.asarray:
        table = table[["age", "year"]]
    tree = random_tree(rng, table, 2, classes)
    row = table.iloc[[0]]
    found = explain(tree, row if kind is pd.DataFrame else kind(row.iloc[0]))
    plain = found.to_dict()
    assert plain_types(plain) <= {str, int, float, bool, type(None), dict, list, tuple}
    again = json.loads(json.dumps(plain, allow_nan=False))
    assert set(again) == {
        "predicted", "proba", "steps", "leaf", "leaf_proba", "flips", "leaf_says",
        "by_hand", "decision", "calibrated", "by_likelihood",
    }  # fmt: skip
    assert again["predicted"] == found.predicted == tree.predict(row)[0]
    assert again["proba"] == {str(k): p for k, p in found.proba.items()}
    assert [step["total"] for step in again["steps"]] == [s.total for s in found.steps]
    assert [flip["value"] for flip in again["flips"]] == [f.value for f in found.flips]


HOSTILE = [
    "a\nb", "<script>", "x > 3", "`${y}`", "q\"uo'te", "naïve", "", "Age", "age",
    "\x00",
]  # fmt: skip


def test_no_name_spoils_an_explanation(rng):
    """Names stay on their line in text, and as they are in plain data."""
    X = pd.DataFrame(rng.random((40, len(HOSTILE))), columns=HOSTILE)
    X["level\n"] = rng.permutation(np.resize(["\u2028", "a\tb", "]"], 40))
    tree = random_tree(rng, X, 2, np.array(["<b>", "y\nz"]))
    found = explain(tree, X.iloc[0])
    assert {flip.variable for flip in found.flips} == set(tree.variables_used)
    assert all(line.isprintable() for line in str(found).split("\n"))
    ordinary = X.set_axis([f"v{j}" for j in range(X.shape[1])], axis=1)
    again = replace(tree, encoder=TableEncoder.learn(ordinary))
    lines = str(explain(again, ordinary.iloc[0])).count("\n")
    assert str(found).count("\n") == lines
    json.dumps(found.to_dict())


@pytest.mark.a_few(1)
@pytest.mark.parametrize("offset", [0.0, 2e3, 1.7e9])
def test_text_tells_on_which_side_of_the_limit_a_sum_is(rng, offset):
    """Also for columns far from zero: digits suffice to see the answer."""
    X = pd.DataFrame(offset + 100.0 * rng.random((40, 3)), columns=list("abc"))
    tree = random_tree(rng, X, 2, gamma=512.0)
    line = re.compile(
        r"sum +([-+][\d.e+-]+), threshold ([\d.e+-]+): (yes|no) with prob"
    )
    for n in range(20):
        found = explain(tree, X.iloc[n])
        told = line.findall(str(found))
        assert len(told) == len(found.steps)
        for (total, threshold, answer), step in zip(told, found.steps, strict=True):
            assert answer == step.answer
            assert (float(total) > float(threshold)) == (step.total > step.threshold)
            if step.proba > 0.5 + 1e-6:
                assert (float(total) > float(threshold)) == (answer == "yes")


def test_text_tells_all(case):
    """Class, probabilities, every cut with its parts, the leaf, every flip.

    Classes "yes" and "no" are quoted, since cuts are answered by these words.
    """

    def quoted(label):
        return f'"{label}"' if label in ("yes", "no") else label

    for _, found in case[1]:
        text = str(found)
        first = f"Predicted: {quoted(found.predicted)}\nProbability by the tree"
        assert text.startswith(first)
        for label, share in found.proba.items():
            told = f"{share:.4g}" if share >= 1e-4 or share == 0.0 else "<0.0001"
            assert f"{quoted(label)} {told}" in text.split("\n")[1]
        for step in found.steps:
            assert f"\nCut {step.cut}: {step.question}\n" in text
            for part in step.parts:
                beside, added = r"not \S+", r"[+-][\d.e-]+"
                if part.contribution == 0.0:
                    beside, added = r"(as is typical|which counts like \S+)", "0"
                said = rf"(?m)^  {part.variable} = \S+, {beside} +{added}$"
                assert re.search(said, text)
        assert f"Leaf: {quoted(found.leaf)}, by this route with probability " in text
        for flip in found.flips:
            value = f"{flip.value:.15g}" if type(flip.value) is float else flip.value
            said = re.escape(f"{value} gives {quoted(flip.to)}")
            if flip.value is None:
                said = "not by this variable alone"
            assert re.search(rf"(?m)^  {flip.variable} = \S+: {said}$", text)


def test_an_estimator_is_told_to_hand_over_its_tree():
    """Both to rules and to explanations."""
    for call in (export_text, lambda clf: explain(clf, [0.0])):
        with pytest.raises(TypeError, match="got a SORCTClassifier"):
            call(SORCTClassifier())
