"""Text rules: what is printed is the tree, in the user's names and units."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import PAPER, SORCTClassifier, explain, export_text
from sorct.show.text import cut_text, people_view, rounded
from sorct.tree.training import TrainingRecord
from tests.data.test_encoder import mixed_table
from tests.tree.by_hand import (
    cut_in_units,
    leaf_text,
    leaves_below,
    only_cut,
    printed_terms,
    span_of,
    visible_nodes,
)
from tests.tree.test_tree import random_tree

TERM = re.compile(r"(?:^|([+-]) (\S+) )(\[\w+ is \w+\]|[a-z]+)(?= [+>-] )")
SHARE = re.compile(r"\(([\d.]+) % of (?:rows|samples)(?:: (.*?))?(?:; says (.*))?\)$")
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


def read_cut(text):
    """Read a printed cut: weights by printed name, and the limit."""
    if " > " not in text:
        return {f"[{text}]": 1.0}, 0.5
    terms = {
        name: float(f"{sign}{size or 1}") for sign, size, name in TERM.findall(text)
    }
    return terms, float(text.rsplit(" > ", 1)[1])


def says_yes(text, row):
    """Answer of a reader with a pocket calculator to a printed cut."""
    terms, limit = read_cut(text)
    return sum(w * printed_value(name, row) for name, w in terms.items()) > limit


def follow(node, row):
    """Leaf that a reader with a pocket calculator reaches."""
    while not isinstance(node, str):
        text = node[0].partition(": ")[2]
        node = node[1] if says_yes(text, row) else node[2]
    return node


def printed_value(name, row):
    """Value of a printed name: a number, or whether a variable has a level."""
    variable, _, level = name.strip("[]").partition(" is ")
    return float(str(row[variable]) == level) if level else float(row[variable])


def printed_cuts(tree, cuts):
    """Cuts as they stand in the printed tree: numbered from 1, from top to bottom."""
    in_order = sorted(cuts, key=lambda t: tree.cut_numbers[t])
    return [
        f"cut {number}: {cut_text(only_cut(tree, t))}"
        for number, t in enumerate(in_order, 1)
    ]


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


def with_cut(tree, t, column_coef, threshold):
    """Give a tree another cut t, of a few columns."""
    coef, thresholds = tree.coef.copy(), tree.threshold.copy()
    coef[:, t], thresholds[t] = 0.0, threshold
    for name, size in column_coef.items():
        coef[tree.encoder.column_names.index(name), t] = size
    return replace(tree, coef=coef, threshold=thresholds)


def without_variables(tree, t, threshold):
    """Empty one cut of a tree."""
    return with_cut(tree, t, {}, threshold)


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng, 300)


def sparse_tree(rng, table, **options):
    """Train a sparse tree on a rule with a number and a category."""
    score = table["age"] / 72 + (table["city"] == "Rome") + rng.normal(0, 0.05, 300)
    y = np.array(["young", "old", "Roman"])[np.digitize(score, [0.8, 1.3])]
    model = SORCTClassifier(
        alpha_global=0.5, n_starts=5, random_state=0, **PAPER, **options
    )
    return model.fit(table, y).tree_


@pytest.fixture
def fitted(rng, table):
    """A sparse tree."""
    return sparse_tree(rng, table)


@pytest.fixture
def floored(rng, table):
    """The same with floors."""
    return sparse_tree(rng, table, min_recall=0.5)


@pytest.mark.a_few(2)
@depths
@classes
def test_every_node_that_decides_is_printed_once(rng, table, depth, n_classes):
    """The others are part of the leaf in their place; the head line counts."""
    tree = random_tree(rng, table, depth, MANY[: min(n_classes, 2**depth)])
    root, (cuts, leaves) = read_tree(str(tree)), visible_nodes(tree)
    assert sorted(cuts_of(root)) == sorted(printed_cuts(tree, cuts))
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
    """Numbers by name, categories as [variable is level], largest term first."""
    tree = random_tree(rng, table, depth)
    for t in range(tree.n_branches):
        size = np.abs(tree.coef[:, t])
        used = [tree.encoder.column_names[j] for j in np.argsort(-size) if size[j]]
        shown = [
            f"[{name.replace(' = ', ' is ')}]" if " = " in name else name
            for name in used
        ]
        assert list(read_cut(cut_text(only_cut(tree, t)))[0]) == shown


@depths
def test_the_first_term_of_a_cut_counts_once(rng, table, depth):
    """It has no number and no sign; the others are in its units."""
    tree = random_tree(rng, table, depth)
    for t in range(tree.n_branches):
        terms, limit = read_cut(cut_text(only_cut(tree, t)))
        weight, level = cut_in_units(tree, t)
        lead = weight[np.argmax(np.abs(tree.coef[:, t]))]
        by_size = np.argsort(-np.abs(tree.coef[:, t]))[: len(terms)]
        assert next(iter(terms.values())) == 1.0
        np.testing.assert_allclose(
            [*terms.values(), limit],
            [*weight[by_size] / lead, level / lead],
            rtol=6e-4,
        )


def test_the_tree_names_exactly_the_variables_it_uses(fitted):
    """Head line, cuts and footer together."""
    used = {}
    for cut in cuts_of(read_tree(str(fitted))):
        number, _, text = cut.partition(": ")
        used[number] = {name.strip("[]").split(" is ")[0] for name in read_cut(text)[0]}
    names = set().union(*used.values())
    assert names == set(fitted.variables_used) >= {"age", "city"}
    assert len(names) < 5
    assert f"using {len(names)} of 5 variables" in str(fitted).splitlines()[0]
    (told,) = re.findall(r"(?m)^Variables: (.*)\.$", str(fitted))
    listed, _, counts = told.partition(" (")
    assert set(listed.split(", ")) == names
    counted = {number: str(len(variables)) for number, variables in used.items()}
    assert dict(re.findall(r"(cut \d+): (\d+)", counts)) == counted


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


@pytest.mark.a_few(2)
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
    ("number", "error", "text"),
    [
        (24850.3, 10.0, "24850"),
        (-123456.7, 100.0, "-123500"),
        (24850.3, 0.1, "24850.3"),
        (0.00012345, 0.0, "0.0001234"),
        (1.5e12, 1e9, "1.5e+12"),
        (1.25e-7, 1e-9, "1.25e-07"),
    ],
)
def test_numbers_are_written_out_where_people_can_read_them(number, error, text):
    """Not as 2.485e+04; very large and very small ones are not."""
    assert rounded(number, error) == text


@pytest.mark.parametrize("offset", [0.0, 2e3, 1.7e9])
def test_the_rounding_stated_is_kept(rng, offset):
    """All numbers together move no cut by 0.1 % of the range of its first term."""
    scale = 10.0 ** rng.uniform(-3.0, 3.0, 6)
    rows = pd.DataFrame(offset + scale * rng.random((50, 6)), columns=list("abcdef"))
    tree = random_tree(rng, rows, 3)
    assert "no cut by more than 0.1 % of its largest term." in str(tree)
    for t in range(tree.n_branches):
        exact, level = printed_terms(tree, t)
        terms, limit = read_cut(cut_text(only_cut(tree, t)))
        moved = abs(limit - level)
        for (j, weight), printed in zip(exact.items(), terms.values(), strict=True):
            moved += abs(printed - weight) * abs(rows.iloc[:, j]).max()
        assert moved <= 1.001e-3 * span_of(tree, next(iter(exact)))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_cuts_are_numbered_from_top_to_bottom(rng, table, depth):
    """In the order in which a reader meets them, and in explanations as well."""
    tree = random_tree(rng, table, depth, MANY[: 2**depth])
    numbers = [int(n) for n in re.findall(r"cut (\d+): ", str(tree).split("\n\n")[1])]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [cut.number for cut in people_view(tree).cuts] == numbers
    steps = [step.cut for step in explain(tree, table.iloc[0]).steps]
    assert steps == sorted(steps)


@pytest.mark.parametrize("decimals", [0, 1, 2, 6, np.int64(3)])
def test_decimals_are_as_asked_for(rng, table, decimals):
    """Half a unit at most is rounded off; what would vanish keeps one digit."""
    tree = random_tree(rng, table, 2)
    text = export_text(tree, decimals)
    assert re.search(rf"rounded to {decimals} decimals?, smaller ones to one", text)
    for cut in cuts_of(read_tree(text)):
        number, _, cut = cut.partition(": ")
        exact, level = printed_terms(
            tree, tree.cut_numbers.index(int(number.split()[1]))
        )
        terms, limit = read_cut(cut)
        exacts, printed = [*exact.values(), level], [*terms.values(), limit]
        for a, b in zip(exacts, printed, strict=True):
            small = abs(a) <= 0.5 * 10.0**-decimals
            assert b == pytest.approx(
                a, rel=0.5 if small else 0, abs=0.501 * 10.0**-decimals
            )
            assert b != 0.0
        for number in re.findall(r"(?<=[+>-] )-?[\d.e-]+", cut):
            if abs(float(number)) >= 10.0**-decimals:
                assert len(number.partition(".")[2]) == decimals


@pytest.mark.parametrize("decimals", [-1, 18, 1.5, True, "2", np.nan])
def test_odd_decimals_are_refused(fitted, decimals):
    """The message says what was expected and what was got."""
    with pytest.raises(ValueError, match="whole number from 0 to 17 or None, got"):
        export_text(fitted, decimals)


@pytest.mark.parametrize("size", [-0.7, 0.7])
def test_a_cut_of_one_number_is_a_plain_comparison(rng, table, size):
    """It reads "age > limit"; a negative weight swaps the branches."""
    tree = random_tree(rng, table, 1, MANY[:2])
    lower, upper = table["age"].min(), table["age"].max()
    limit = lower + 0.25 * (upper - lower)
    tree = with_cut(tree, 0, {"age": size}, 0.25 * size / tree.n_columns)
    text, yes, no = read_tree(str(tree))
    assert text == f"cut 1: age > {limit:.4g}"
    left, right = leaf_text(tree, 1), leaf_text(tree, 2)
    assert (yes, no) == ((left, right) if size > 0 else (right, left))


@pytest.mark.parametrize("size", [-0.7, 0.7])
@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "city is Rome"), (1.5, "[city is Rome] > 1.5"), (0.0, "[city is Rome] > 0")],
)
def test_a_cut_of_one_level_is_a_plain_question(rng, table, size, share, text):
    """It reads "city is Rome", unless the level does not decide it."""
    tree = random_tree(rng, table, 1, MANY[:2])
    threshold = share * size / tree.n_columns + 0.0  # not -0.0
    tree = with_cut(tree, 0, {"city = Rome": size}, threshold)
    cut, yes, no = read_tree(str(tree))
    assert cut == f"cut 1: {text}"
    left, right = leaf_text(tree, 1), leaf_text(tree, 2)
    assert (yes, no) == ((left, right) if size > 0 else (right, left))


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (-0.42, "always yes"),
        (-0.12, "always yes"),
        (-0.003, "0.548"),
        (0.0, "0.5"),
        (0.004, "0.436"),
        (0.12, "always no"),
        (0.42, "always no"),
    ],
)
def test_a_cut_without_variables_says_so(rng, table, threshold, words):
    """All samples go to yes, the left, with one probability, F(-64 mu)."""
    tree = without_variables(random_tree(rng, table, 1, MANY[:2]), 0, threshold)
    text, yes, no = read_tree(str(tree))
    assert re.search(f"no variable.*{words}", text)
    assert (yes, no) == (leaf_text(tree, 1), leaf_text(tree, 2))
    assert "\nVariables: none." in str(tree)


@pytest.mark.parametrize(("threshold", "child"), [(-0.44, 1), (0.44, 2), (1.0, 2)])
def test_a_cut_that_sends_all_but_nobody_one_way_is_passed_by(
    rng, table, threshold, child
):
    """At F(-+28), less than 1e-12 from 1 or 0, the leaf alone is left."""
    tree = without_variables(random_tree(rng, table, 1, MANY[:2]), 0, threshold)
    assert read_tree(str(tree)) == leaf_text(tree, child)
    assert "with 0 cuts and 1 leaf, using 0 of 5 variables" in str(tree).split("\n")[0]


def test_no_cut_is_printed_with_one_class_on_both_sides(rng, table):
    """Also where a cut below it sends all but nobody to that class."""
    tree = without_variables(random_tree(rng, table, 2, MANY[:2]), 1, -0.44)
    tree = replace(tree, leaf_class=np.array([0, 1, 0, 0]))
    assert read_tree(str(tree)).startswith(str(tree.classes[0]))
    assert cuts_of(read_tree(str(tree))) == []


@depths
@pytest.mark.parametrize(("threshold", "child"), [(-1.0, 1), (1.0, 2)])
def test_a_cut_that_sends_all_one_way_is_passed_by(rng, table, depth, threshold, child):
    """At F(-+2048), 1 or 0 to the last bit, the child stands in its parent's place."""
    tree = random_tree(rng, table, depth, MANY[: 2**depth], gamma=2048.0)
    root = read_tree(str(without_variables(tree, 0, threshold)))
    cuts, leaves = visible_nodes(tree, child)
    assert sorted(cuts_of(root)) == sorted(printed_cuts(tree, cuts))
    assert sorted(leaves_of(root)) == sorted(leaf_text(tree, node) for node in leaves)


def with_few_below(tree, node, share=4e-4):
    """Let so small a share of the samples come to a node, evenly over classes."""
    mass = np.ones_like(tree.mass)
    below = leaves_below(tree, node)
    mass[:, below] = 0.0
    mass *= (1.0 - share) / mass.sum()
    mass[:, below] = share / mass[:, below].size
    return replace(tree, mass=mass)


@pytest.mark.parametrize("node", [3, 4, 5, 6])
def test_a_leaf_that_would_read_as_nobody_is_not_printed(rng, table, node):
    """The other side stands in its place with all that comes; a line says so."""
    tree = random_tree(rng, table, 2, MANY[:4])
    tree = replace(tree, leaf_class=np.arange(4))
    few = with_few_below(tree, node)
    up, other = (node - 1) // 2, node + 1 if node % 2 else node - 1
    text = str(few)
    left = [t for t in range(3) if t != up]
    assert sorted(cuts_of(read_tree(text))) == sorted(printed_cuts(tree, left))
    assert " 0.0 % of samples" not in text
    mass = few.mass[:, leaves_below(few, up)].sum(axis=1)
    place = few.target.leaf_text(other - 3, mass)
    assert place in leaves_of(read_tree(text))
    assert (
        "\n1 cut is not shown: less than 0.05 % of the samples goes to one of its "
        "sides (cut 3).\n"
    ) in text
    assert "with 2 cuts and 3 leaves" in text.splitlines()[0]
    assert len(few.view.cuts) == 3, "others see all cuts"


def test_all_cuts_on_a_side_of_nobody_are_counted(rng, table):
    """The root and all below its empty side; what is left stands alone."""
    tree = random_tree(rng, table, 2, MANY[:4])
    tree = with_few_below(replace(tree, leaf_class=np.arange(4)), 1)
    assert "2 cuts are not shown: less than 0.05 % of the samples" in str(tree)
    assert "of their sides (cuts 2, 3)." in str(tree)
    assert cuts_of(read_tree(str(tree))) == printed_cuts(tree, [2])


def test_a_cut_with_one_class_left_on_both_sides_is_told(rng, table):
    """It would ask for nothing once the cut below it is passed by."""
    tree = random_tree(rng, table, 2, MANY[:2])
    tree = with_few_below(replace(tree, leaf_class=np.array([0, 1, 0, 0])), 4)
    assert read_tree(str(tree)).startswith(str(tree.classes[0]))
    assert "goes to one of its sides (cut 2)." in str(tree)
    same = "1 cut is not shown: without those, both sides have the same class (cut 1)."
    assert same in str(tree)


def test_a_rare_class_keeps_its_leaf(rng, table):
    """However few its samples are, if they end there."""
    tree = random_tree(rng, table, 1, MANY[:2])
    mass = np.array([[0.9998, 0.0], [0.0, 0.0002]])
    tree = replace(tree, leaf_class=np.array([0, 1]), mass=mass)
    assert len(cuts_of(read_tree(str(tree)))) == 1
    assert "not shown" not in str(tree)


def test_the_search_is_told_below_the_tree(fitted):
    """In one line, the last; a tree of no search tells none."""
    *_, last = str(fitted).split("\n")
    assert last == f"Search: {fitted.training['search']}."
    told = replace(fitted.training, search=None)
    assert str(fitted) == f"{replace(fitted, training=told)}\n{last}"


def test_expected_recall_is_told_with_its_floors(rng, table):
    """By class, to three decimals; a class without a floor has none."""
    tree = random_tree(rng, table, 2)
    told = TrainingRecord(recall=(0.9876, 0.5, 1.0), min_recall=(0.95, 0.0, 0.25))
    assert (
        "\nExpected recall on the training sample: "
        '"no" 0.988 (floor 0.95), "yes" 0.500, ünsure 1.000 (floor 0.25).\n'
    ) in str(replace(tree, training=told))
    assert "recall" not in str(replace(tree, training=TrainingRecord()))


def test_recall_told_is_that_of_training(fitted, floored):
    """Of the classes predicted; where the expected one has floors, that."""
    (told,) = re.findall(r"\nRecall on the training sample: (.*)\.", str(fitted))
    assert told_rates(told) == pytest.approx(
        dict(zip(fitted.classes, fitted.training.found, strict=True)), abs=6e-4
    )
    joined = str(floored).replace("\n  ", " ").replace(" (floor 0.5)", "")
    (told,) = re.findall(r"Expected recall on the training sample: (.*)\.", joined)
    rates = told_rates(told)
    for k, label in enumerate(floored.classes):
        right = floored.mass[k, floored.leaf_class == k].sum()
        assert rates[label] == pytest.approx(right / floored.mass[k].sum(), abs=6e-4)


def told_rates(text):
    """Rates by class from "0.9 of a, 0.8 of b"."""
    pairs = [part.split(" of ") for part in text.split(", ")]
    return {label: float(rate) for rate, label in pairs}


def test_no_name_breaks_a_line(rng):
    """Lines begin with a cut, a leaf, or a sign and its number, whatever the names."""
    names = [
        "a - b - c",
        "x > 3 > y",
        " + " * 3,
        "two\nlines",
        "\x1b[31mred",
        "[q is r]",
    ]
    rows = pd.DataFrame(rng.random((40, 7)), columns=[*names, ""])
    tree = random_tree(rng, rows, 3, np.array([f"{k}\n" for k in range(8)]))
    start = r"(?:[│ ]*[├└]─ (?:yes:|no: ) )?(?:cut \d+: |\d\\n  \()"
    rest = r"[│ ]*│    (?:[+-] [\d.e-]+ |> [\d.e-]+$)"
    lines = str(tree).split("\n\n")[1].split("\n")
    broken = [line for line in lines if not re.match(start, line)]
    assert broken
    assert all(re.match(rest, line) for line in broken)
    assert all(line.isprintable() for line in lines)
    cuts = sorted(printed_cuts(tree, range(7)))
    assert sorted(cuts_of(read_tree(str(tree)))) == cuts
