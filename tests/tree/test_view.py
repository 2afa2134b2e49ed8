"""View: what is shown of a tree is the tree, cut for cut and leaf for leaf."""

from dataclasses import replace
from itertools import groupby

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from sorct.tree.view import Cut, Leaf, View
from tests.data.test_encoder import mixed_table
from tests.show.every_kind import (
    OPTIONS,
    cells_of,
    every_kind,
    scaled_sums,
    tree_of_one,
    tree_on,
)
from tests.tree.by_hand import (
    cut_in_units,
    leaves_below,
    printed_terms,
    reads_left,
    visible_nodes,
)
from tests.tree.test_tree import random_tree

CLASSES = np.array([f"class {k}" for k in range(8)])
depths = pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
gammas = pytest.mark.parametrize("gamma", [8.0, 64.0, 2048.0])


def table_with_a_constant(rng, n=60):
    """Numbers, categories, and a column that never varies."""
    return mixed_table(rng, n).assign(constant=3.5)


def some_tree(rng, X, depth, n_classes=3, gamma=64.0):
    """Random tree in which some cuts are idle: empty, one-way, or between one class."""
    tree = random_tree(rng, X, depth, CLASSES[:n_classes], gamma)
    coef, threshold = tree.coef.copy(), tree.threshold.copy()
    for t in np.flatnonzero(rng.random(tree.n_branches) < 0.3):
        coef[:, t] = 0.0
        threshold[t] = rng.choice([-1.0, -0.01, 0.0, 0.02, 1.0])
    leaf_class = rng.integers(0, n_classes, tree.n_leaves)
    return replace(tree, coef=coef, threshold=threshold, leaf_class=leaf_class)


def proba_left(tree, cut, row):
    """F(gamma (sum of the terms - threshold) / p), from raw values."""
    if cut.left_proba is not None:
        assert not cut.terms
        return cut.left_proba
    names = tree.encoder.names
    total = sum(term.value(row[names[i]]) for i, term in cut.terms.items())
    return float(expit(tree.gamma * (total - cut.threshold) / tree.n_columns))


def proba_by_routes(tree, view, row):
    """Class probabilities added up over the routes of a view."""
    left = {cut.number: proba_left(tree, cut, row) for cut in view.cuts}
    proba = np.zeros(len(tree.classes))
    for route in view.routes():
        sides = [
            left[t] if goes_left else 1.0 - left[t] for t, goes_left in route.steps
        ]
        proba[route.code] += np.prod(sides)
    return proba


@pytest.mark.a_few(1)
@pytest.mark.every_value
@depths
@gammas
def test_routes_and_cuts_give_the_probabilities(rng, depth, gamma):
    """Products along routes, added up by class, are ``predict_proba``."""
    X = table_with_a_constant(rng)
    for n_classes in (2, 3, 8):
        tree = some_tree(rng, X, depth, n_classes, gamma)
        exact, shown = View.of(tree, nobody=0.0), tree.view
        rows = table_with_a_constant(rng, 5)
        expected = tree.predict_proba(rows)
        for n, (_, row) in enumerate(rows.iterrows()):
            found = proba_by_routes(tree, exact, row)
            np.testing.assert_allclose(found, expected[n], rtol=0, atol=1e-12)
            # What people see leaves out branches of at most 1e-12 of a sample.
            found = proba_by_routes(tree, shown, row)
            np.testing.assert_allclose(
                found, expected[n], rtol=0, atol=1e-12 * (1 + tree.n_branches)
            )


@depths
def test_masses_of_children_add_up(rng, depth):
    """Where no branch is left out; the root has all."""
    tree = random_tree(rng, table_with_a_constant(rng), depth, CLASSES[: 2**depth])
    view = tree.view
    np.testing.assert_allclose(view.root.mass, tree.mass.sum(axis=1))
    for cut in view.cuts:
        below = view.nodes[cut.left].mass + view.nodes[cut.right].mass
        np.testing.assert_allclose(below, cut.mass, rtol=1e-12)
    total = sum(leaf.mass for leaf in view.leaves)
    np.testing.assert_allclose(total, tree.class_share, rtol=1e-12)


@depths
def test_leaves_stand_for_all_leaves_of_their_class_below(rng, depth):
    """Their masses and places are those of the tree, and none is in two."""
    tree = some_tree(rng, table_with_a_constant(rng), depth)
    seen = []
    for leaf in tree.view.leaves:
        assert list(leaf.leaves) == leaves_below(tree, leaf.node)
        mass = tree.mass[:, list(leaf.leaves)].sum(axis=1)
        np.testing.assert_allclose(leaf.mass, mass, rtol=1e-12)
        seen += leaf.leaves
    assert len(seen) == len(set(seen))


def test_other_masses_can_be_shown(rng):
    """Those of new rows, in place of the training sample's."""
    tree = random_tree(rng, table_with_a_constant(rng), 3)
    mass = rng.random(tree.mass.shape)
    for leaf in View.of(tree, mass=mass).leaves:
        np.testing.assert_allclose(leaf.mass, mass[:, list(leaf.leaves)].sum(axis=1))


@depths
def test_a_reading_is_the_cut_times_a_positive_number(rng, depth):
    """Or its opposite, where "yes" is right; the first weight is 1."""
    tree = some_tree(rng, table_with_a_constant(rng), depth)
    for cut in tree.view.cuts:
        reading = cut.reading
        assert reading.is_left == reads_left(tree, cut.node)
        if not cut.terms:
            continue
        side = 1.0 if reading.is_left else -1.0
        weight, threshold = cut_in_units(tree, cut.node)
        lead = side * weight[reading.columns[0]]
        assert lead > 0.0
        assert reading.weights[0] == 1.0
        np.testing.assert_allclose(
            np.array(reading.weights) * lead,
            side * weight[list(reading.columns)],
            rtol=1e-12,
        )
        scale = np.abs(weight).max() * 2020.0
        assert reading.threshold * lead == pytest.approx(
            side * threshold, rel=1e-12, abs=1e-14 * scale
        )


@depths
def test_a_reading_has_every_column_of_its_cut_once(rng, depth):
    """Largest weight in scaled units first, with the variable that it belongs to."""
    tree = some_tree(rng, table_with_a_constant(rng), depth)
    for cut in tree.view.cuts:
        terms, threshold = printed_terms(tree, cut.node)
        assert list(cut.reading.columns) == list(terms)
        assert list(cut.reading.weights) == pytest.approx(list(terms.values()))
        if terms:
            assert cut.reading.threshold == pytest.approx(threshold, rel=1e-10)
        for summand, j in zip(cut.reading.summands, cut.reading.columns, strict=True):
            assert summand.weight == tree.coef[j, cut.node]
            assert summand.is_level == (" = " in tree.encoder.column_names[j])
        used = {int(tree.encoder.column_variable[j]) for j in terms}
        assert set(cut.terms) == set(cut.reading.variables) == used


@depths
def test_nodes_come_in_reading_order(rng, depth):
    """A cut, all below "yes", all below "no", as a reader of the text meets them."""
    tree = some_tree(rng, table_with_a_constant(rng), depth)
    nodes = tree.view.nodes

    def read(number):
        node = nodes[number]
        if isinstance(node, Leaf):
            return [number]
        assert {node.yes, node.no} == {node.left, node.right}
        assert node.node == number
        assert node.number == tree.cut_numbers[number]
        return [number, *read(node.yes), *read(node.no)]

    assert list(nodes) == read(tree.view.root.node)
    assert len(tree.view.leaves) == len(tree.view.cuts) + 1
    cuts = tree.view.cuts
    assert [cut.number for cut in cuts] == list(range(1, len(cuts) + 1))
    assert sorted(tree.cut_numbers) == list(range(1, tree.n_branches + 1))


@depths
def test_a_tree_without_idle_cuts_is_shown_whole(rng, depth):
    """Cuts between several classes, and leaves that have one each."""
    tree = random_tree(rng, mixed_table(rng), depth, CLASSES[:3])
    cuts, leaves = visible_nodes(tree)
    assert {cut.node for cut in tree.view.cuts} == set(cuts)
    assert {leaf.node for leaf in tree.view.leaves} == set(leaves)


@depths
def test_what_is_shown_decides_something(rng, depth):
    """No cut sends all one way, and none has one class on both sides."""
    tree = some_tree(rng, table_with_a_constant(rng), depth)
    view = tree.view
    for cut in view.cuts:
        if cut.left_proba is not None:
            assert 1e-12 < cut.left_proba < 1.0 - 1e-12
        sides = [view.nodes[child] for child in (cut.left, cut.right)]
        codes = [node.code for node in sides if isinstance(node, Leaf)]
        assert len(codes) < 2 or codes[0] != codes[1]


@pytest.mark.parametrize("code", [0, 1])
def test_a_tree_of_one_class_is_a_leaf(rng, code):
    """There is one route, without a step."""
    tree = random_tree(rng, mixed_table(rng), 3, CLASSES[:2])
    tree = replace(tree, leaf_class=np.full(8, code))
    assert isinstance(tree.view.root, Leaf)
    assert (tree.view.cuts, len(tree.view.leaves)) == ([], 1)
    (route,) = tree.view.routes()
    assert (route.code, route.steps) == (code, ())
    np.testing.assert_allclose(tree.view.root.mass, tree.class_share)


def test_routes_come_from_left_to_right(rng):
    """Their leaves are numbered in that order, whichever way a cut reads."""
    tree = random_tree(rng, mixed_table(rng), 3, CLASSES)
    tree = replace(tree, leaf_class=np.arange(8))
    routes = tree.view.routes()
    assert [route.code for route in routes] == list(range(8))
    for leaf, route in enumerate(routes):
        bits = [not goes_left for _, goes_left in route.steps]
        assert int("".join(str(int(bit)) for bit in bits), 2) == leaf


def test_a_constant_column_has_no_say_whatever_its_weight(rng):
    """It is named in no cut; a cut of such columns alone has one probability."""
    X = pd.DataFrame({"a": rng.random(30), "constant": 7.0})
    tree = random_tree(rng, X, 2, CLASSES[:4])
    coef = np.array([[0.0, 1.0, -1.0], [1.0, 0.5, 0.5]])
    tree = replace(tree, coef=coef, threshold=np.array([0.01, 0.2, -0.3]))
    root = tree.view.root
    assert isinstance(root, Cut)
    assert root.left_proba == pytest.approx(expit(-0.64), rel=1e-14)
    assert {i for cut in tree.view.cuts for i in cut.terms} == {0}
    for _, row in X.iloc[:5].iterrows():
        expected = tree.predict_proba(row.to_frame().T)[0]
        found = proba_by_routes(tree, tree.view, row)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# -- every kind of variable ------------------------------------------------------------


def as_read(cut, X, encoder):
    """Sum minus threshold as a cut reads, from raw cells."""
    reading = cut.reading
    total = np.full(len(X), -reading.threshold - reading.base)
    for i, term in cut.terms.items():
        raw = np.array([term.raw(cell) for cell in cells_of(X, encoder.names[i])])
        place = {summand.column: k for k, summand in enumerate(term.summands())}
        for summand, own, weight in zip(
            reading.summands, reading.variables, reading.weights, strict=True
        ):
            if own == i:
                total += weight * raw[:, place[summand.column]]
    return total


@pytest.mark.every_value
@pytest.mark.parametrize("categorical", ["whole", "dummies"])
@pytest.mark.parametrize("unknown", ["other", "error"])
def test_raw_cells_of_every_kind_give_the_sum_as_it_reads(rng, categorical, unknown):
    """Missing ones too: the cut as read is the cut divided by one number."""
    X = every_kind(rng)
    options = replace(OPTIONS, categorical=categorical, handle_unknown=unknown)
    tree = tree_on(rng, X, 3, options)
    scaled = tree.encoder.encode(X).T
    for cut in tree.view.cuts:
        lead = cut.reading.summands[0].raw_weight
        # The column far from zero costs digits.
        margins = cut.reading.margins(scaled[list(cut.reading.columns)])
        for found in (as_read(cut, X, tree.encoder), margins):
            np.testing.assert_allclose(
                found * lead, scaled_sums(tree, X, cut), atol=1e-7
            )
        assert (lead > 0.0) == cut.reading.is_left
        assert cut.reading.weights[0] == 1.0


def test_what_is_missing_comes_after_its_variable(rng):
    """However much it weighs; a cut is not read in units of what is missing."""
    X = every_kind(rng)
    tree = tree_on(rng, X, 3)
    coef = tree.coef.copy()
    missing = [name.endswith("is missing") for name in tree.encoder.column_names]
    coef[missing] *= 50.0
    for cut in replace(tree, coef=coef).view.cuts:
        reading = cut.reading
        known = [
            (i, s)
            for i, s in zip(reading.variables, reading.summands, strict=True)
            if not s.is_missing
        ]
        # Parts of a bent number stand together, where the largest of them would.
        firsts = [
            (i, s)
            for k, (i, s) in enumerate(known)
            if s.part is None or i not in [own for own, _ in known[:k]]
        ]
        sizes = [abs(s.weight) for _, s in firsts]
        assert sizes == sorted(sizes, reverse=True)
        bent = [i for i, s in known if s.part is not None]
        assert [i for i, _ in groupby(bent)] == list(dict.fromkeys(bent))
        seen = set()
        for summand, i in zip(reading.summands, reading.variables, strict=True):
            assert i in seen or not summand.is_missing
            seen.add(i)


def test_pieces_have_every_summand_once_and_a_variable_once(rng):
    """Of a category with what each level adds; levels of the paper stand alone."""
    X = every_kind(rng)
    for categorical in ("whole", "dummies"):
        tree = tree_on(rng, X, 2, replace(OPTIONS, categorical=categorical))
        for cut in tree.view.cuts:
            reading = cut.reading
            places = [k for piece in reading.pieces for k in piece.places]
            assert sorted(places) == list(range(len(reading.summands)))
            bent = {"height", "visits", "met"}
            names = [p.name for p in reading.pieces if p.name not in bent]
            assert {p.name for p in reading.pieces} >= bent
            whole = categorical == "whole"
            assert (len(set(names)) == len(names)) is whole
            assert any(piece.levels for piece in reading.pieces) is whole
            for piece in reading.pieces:
                i = tree.encoder.names.index(piece.name)
                lead = reading.summands[0].raw_weight
                for level, weight in piece.levels:
                    exact = cut.terms[i].value(level)
                    assert (weight + piece.base) * lead == pytest.approx(exact)


@pytest.mark.parametrize("weight", [0.0, 0.25])
def test_a_missing_cell_may_add_nothing(rng, weight):
    """Raw columns far from zero are still read in their own units."""
    X = every_kind(rng)
    tree = tree_of_one(rng, X, "far", [1.0, weight], 0.5)
    (cut,) = tree.view.cuts
    assert [summand.text for summand in cut.reading.summands][0] == "far"
    np.testing.assert_allclose(
        as_read(cut, X, tree.encoder) * cut.reading.summands[0].raw_weight,
        scaled_sums(tree, X, cut),
        atol=1e-8,
    )
