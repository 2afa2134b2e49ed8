"""Text rules: what is printed is the tree, in the user's names and units."""

import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, Tree
from sorct.rules import cut_text, leaf_text
from tests.test_encode import mixed_table
from tests.test_tree import random_tree

TERM = re.compile(r"([+-] |)([\d.e+-]+) (\[\w+ = \w+\]|[a-z]+)(?= [+>-])")
SHARE = re.compile(r"\(([\d.]+) % of samples(?:: (.*))?\)$")
MANY = np.array([f"class{k:02d}" for k in range(16)])
depths = pytest.mark.parametrize("depth", [1, 2, 3, 4])
classes = pytest.mark.parametrize("n_classes", [2, 16])


def read_tree(text):
    """Read a printed tree: a leaf's text, or a cut's text with its yes and no."""
    body = re.sub(r"\n[│ ]*│    (?=\S)", " ", text.split("\n\n")[1])
    lines = iter(re.sub(r"(?m)^[│ ]*(├─ yes: |└─ no:  )", "", body).split("\n"))

    def read_node():
        line = next(lines)
        return line if SHARE.search(line) else (line, read_node(), read_node())

    root = read_node()
    assert next(lines, None) is None, "there are lines after the tree"
    return root


def cuts_of(node):
    """Texts of the cuts of a printed tree."""
    return (
        [] if isinstance(node, str) else [node[0], *cuts_of(node[1]), *cuts_of(node[2])]
    )


def leaves_of(node):
    """Texts of the leaves of a printed tree."""
    return [node] if isinstance(node, str) else leaves_of(node[1]) + leaves_of(node[2])


def follow(node, row):
    """Leaf that a reader with a pocket calculator reaches."""
    while not isinstance(node, str):
        total = sum(
            float(size) * (-1.0 if sign == "- " else 1.0) * printed_value(name, row)
            for sign, size, name in TERM.findall(node[0])
        )
        node = node[1] if total > float(node[0].rsplit(">", 1)[1]) else node[2]
    return node


def printed_value(name, row):
    """Value of a printed name: a number, or whether a variable has a level."""
    variable, _, level = name.strip("[]").partition(" = ")
    return float(str(row[variable]) == level) if level else float(row[variable])


def leaves_below(tree, node):
    """Positions of the leaves below a node."""
    if node >= tree.n_branches:
        return [node - tree.n_branches]
    return leaves_below(tree, 2 * node + 1) + leaves_below(tree, 2 * node + 2)


def visible_nodes(tree, node=0):
    """Cuts between several classes, and the nodes below them with one each."""
    if len({tree.leaf_class[leaf] for leaf in leaves_below(tree, node)}) == 1:
        return [], [node]
    (cuts, leaves), (more, others) = (
        visible_nodes(tree, 2 * node + side) for side in (1, 2)
    )
    return [node, *cuts, *more], leaves + others


def check_that_rules_lead_where_the_tree_does(tree, rows, most):
    """Compare with a reader on the samples, most of them, that no cut splits in two."""
    root, reach = read_tree(str(tree)), tree.leaf_reach(rows)
    decided = reach.max(axis=1) > 0.9
    assert decided.mean() > most
    found = [follow(root, row) for _, row in rows[decided].iterrows()]
    text_of = {
        leaf: leaf_text(tree, node)
        for node in visible_nodes(tree)[1]
        for leaf in leaves_below(tree, node)
    }
    assert found == [text_of[leaf] for leaf in reach[decided].argmax(axis=1)]
    assert [text.split()[0] for text in found] == list(tree.predict(rows[decided]))


def fields_of(tree):
    """What a tree is made of."""
    return {field.name: getattr(tree, field.name) for field in fields(tree)}


def without_variables(tree, t, threshold):
    """Empty one cut of a tree."""
    coef, thresholds = tree.coef.copy(), tree.threshold.copy()
    coef[:, t], thresholds[t] = 0.0, threshold
    return Tree(**{**fields_of(tree), "coef": coef, "threshold": thresholds})


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng, 300)


@pytest.fixture
def fitted(rng, table):
    """Train a sparse tree on a rule with a number and a category."""
    score = table["age"] / 72 + (table["city"] == "Rome") + rng.normal(0, 0.05, 300)
    y = np.array(["young", "old", "Roman"])[np.digitize(score, [0.8, 1.3])]
    model = SORCTClassifier(alpha_global=0.5, n_starts=5, random_state=0)
    return model.fit(table, y).tree_


@depths
@classes
def test_every_node_that_decides_is_printed_once(rng, table, depth, n_classes):
    """The others are part of the leaf in their place; the head line counts."""
    tree = random_tree(rng, table, depth, MANY[: min(n_classes, 2**depth)])
    root, (cuts, leaves) = read_tree(str(tree)), visible_nodes(tree)
    assert sorted(cuts_of(root)) == sorted(cut_text(tree, t) for t in cuts)
    assert sorted(leaves_of(root)) == sorted(leaf_text(tree, node) for node in leaves)
    head = str(tree).splitlines()[0]
    assert f"depth {depth} " in head
    assert re.search(rf"{len(cuts)} cuts? and {len(leaves)} leaves", head)


@depths
@classes
def test_a_printed_leaf_adds_up_the_leaves_in_it(rng, table, depth, n_classes):
    """Its class is theirs, its share the sum of theirs."""
    tree = random_tree(rng, table, depth, MANY[: min(n_classes, 2**depth)])
    for node in visible_nodes(tree)[1]:
        below = leaves_below(tree, node)
        text = leaf_text(tree, node)
        assert {text.split()[0]} == set(tree.classes[tree.leaf_class[below]])
        share = 100 * tree.mass[:, below].sum()
        assert float(SHARE.search(text)[1]) == pytest.approx(share, abs=0.0501)


@depths
def test_a_cut_names_exactly_the_columns_it_uses(rng, table, depth):
    """Numbers by name, categories as [variable = level], nothing else."""
    tree = random_tree(rng, table, depth)
    for t in range(tree.n_branches):
        used = [tree.encoder.column_names[j] for j in np.flatnonzero(tree.coef[:, t])]
        shown = [f"[{name}]" if "=" in name else name for name in used]
        printed = [name for _, _, name in TERM.findall(cut_text(tree, t))]
        assert sorted(printed) == sorted(shown)


def test_the_tree_names_exactly_the_variables_it_uses(fitted):
    """Head line and cuts together."""
    cuts = " ".join(cuts_of(read_tree(str(fitted))))
    names = {name.strip("[]").split(" = ")[0] for _, _, name in TERM.findall(cuts)}
    assert names == set(fitted.variables_used) >= {"age", "city"}
    assert len(names) < 5
    assert f"using {len(names)} of 5 variables" in str(fitted).splitlines()[0]


def test_every_class_has_a_leaf_and_shares_sum_to_all(fitted):
    """Each leaf starts with its class; shares sum to 100 up to rounding."""
    leaves = leaves_of(read_tree(str(fitted)))
    assert {text.split()[0] for text in leaves} == {"young", "old", "Roman"}
    shares = [float(SHARE.search(text)[1]) for text in leaves]
    assert sum(shares) == pytest.approx(100.0, abs=0.05 * len(shares))


def test_classes_inside_a_leaf_sum_to_all(rng, table):
    """Per cent by class, largest first."""
    tree = random_tree(rng, table, 3)
    for leaf in leaves_of(read_tree(str(tree))):
        parts = SHARE.search(leaf)[2].split(", ")
        shares = [float(part.split(" % ")[0]) for part in parts]
        assert sum(shares) == pytest.approx(100.0, abs=0.5 * len(shares))
        assert shares == sorted(shares, reverse=True)


@depths
@classes
def test_printed_rules_lead_where_the_tree_does(rng, table, depth, n_classes):
    """Numbers and categories, on new rows; the class is the one predicted."""
    classes = MANY[: min(n_classes, 2**depth)]
    tree = random_tree(rng, table, depth, classes, gamma=512.0)
    check_that_rules_lead_where_the_tree_does(tree, mixed_table(rng, 200), 0.3)


@pytest.mark.parametrize("offset", [0.0, 2e3, 1e6, 1.7e9])
def test_digits_suffice_for_columns_far_from_zero(rng, offset):
    """Years and time stamps vary little beside their size; their rules still hold."""
    rows = pd.DataFrame(offset + 100.0 * rng.random((200, 2)), columns=["begin", "end"])
    tree = random_tree(rng, rows, 1, MANY[:2], gamma=512.0)
    check_that_rules_lead_where_the_tree_does(tree, rows, 0.6)


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (-0.5, "always yes"),
        (-0.003, "0.548"),
        (0.0, "0.5"),
        (0.004, "0.436"),
        (1.0, "always no"),
    ],
)
def test_a_cut_without_variables_says_so(rng, table, threshold, words):
    """All samples go to yes, the left, with one probability, F(-64 mu)."""
    tree = without_variables(random_tree(rng, table, 1, MANY[:2]), 0, threshold)
    text, yes, no = read_tree(str(tree))
    assert re.search(f"no variable.*{words}", text)
    assert (yes, no) == (leaf_text(tree, 1), leaf_text(tree, 2))


@depths
@pytest.mark.parametrize(("threshold", "child"), [(-1.0, 1), (1.0, 2)])
def test_a_cut_that_sends_all_one_way_is_passed_by(rng, table, depth, threshold, child):
    """At F(-+2048), 1 or 0 to the last bit, the child stands in its parent's place."""
    tree = random_tree(rng, table, depth, MANY[: 2**depth], gamma=2048.0)
    root = read_tree(str(without_variables(tree, 0, threshold)))
    cuts, leaves = visible_nodes(tree, child)
    assert sorted(cuts_of(root)) == sorted(cut_text(tree, t) for t in cuts)
    assert sorted(leaves_of(root)) == sorted(leaf_text(tree, node) for node in leaves)


def test_the_search_is_told_below_the_tree(fitted):
    """After an empty line, in one line; a tree of no search tells none."""
    *_, empty, last = str(fitted).split("\n")
    assert empty == ""
    assert last == f"Search: {fitted.training['search']}."
    silent = Tree(**{**fields_of(fitted), "training": {}})
    assert str(fitted) == f"{silent}\n\n{last}"
