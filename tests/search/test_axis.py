"""Axis trees: cuts in one column each, against brute force and scikit-learn."""

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sorct.data.samples import TrainingSet
from sorct.search import axis
from sorct.search.axis import AxisSearch, AxisTree
from sorct.tree.topology import Topology


def search_on(X, y, depth=2, weight=None, least=0.0, stop=0):
    """A search on a table as it is."""
    weight = np.ones(len(y)) if weight is None else weight
    data = TrainingSet.from_data(X, y, weight, n_codes=int(y.max()) + 1)
    return AxisSearch.of(
        data.rows, data.n_codes, Topology(depth), least, weight.sum(), np.array([stop])
    )


def drawn(rng, n, p, n_classes=3):
    """Classes by two limits, and noise; few different cells, so that some are tied."""
    X = np.round(rng.random((n, p)), 1)
    y = np.where(X[:, 0] > 0.5, (X[:, 1] > 0.3) + 1, 0)
    return X, np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), y)


def loss(hot, groups):
    """Minus the sum of log probabilities where every group says what it is."""
    found = 0.0
    for rows in groups:
        mass = hot[rows].sum(axis=0)
        known = mass[mass > 0.0]
        found -= (known * np.log(known / mass.sum())).sum()
    return found


def cuts_of(X):
    """All columns and limits between cells."""
    for j, column in enumerate(X):
        cells = np.unique(column)
        yield from ((j, limit) for limit in 0.5 * (cells[1:] + cells[:-1]))


def best_by_force(search):
    """Least value of all trees of two levels."""

    def side(rows):
        whole = [loss(search.hot, [rows])]
        return min(
            whole
            + [
                loss(search.hot, [rows & above, rows & ~above]) + search.price
                for j, limit in cuts_of(search.X)
                for above in [search.X[j] > limit]
            ]
        )

    every = np.ones(search.codes.size, dtype=bool)
    return min(
        [loss(search.hot, [every])]
        + [
            side(above) + side(~above) + search.price
            for j, limit in cuts_of(search.X)
            for above in [search.X[j] > limit]
        ]
    )


def test_small_trees_are_the_best_there_are():
    """Of two levels, compared with all of them."""
    gaps, rng = [], np.random.default_rng(0)
    for _ in range(6):
        search = search_on(*drawn(rng, 40, 3))
        tree = search.settled(search.best())
        least = best_by_force(search)
        assert search.value(tree) >= least - 1e-12
        gaps.append(search.value(tree) - least)
    assert sum(gap < 1e-9 for gap in gaps) >= 5


def test_trees_grow_as_those_of_scikit_learn(rng):
    """Cut by cut, as long as they gain more than a cut costs."""
    X, y = rng.random((200, 4)), rng.integers(0, 3, 200)
    y = np.where(X[:, 2] > 0.4, y, 0)
    search = search_on(X, y, depth=3)
    other = DecisionTreeClassifier(
        criterion="entropy", max_depth=3, random_state=0,
        min_impurity_decrease=search.price / np.log(2.0),
    ).fit(search.X.T, search.codes)  # fmt: skip
    mass = search.masses(search.grown)
    mass = mass[mass.any(axis=1)]
    leaves = np.flatnonzero(other.tree_.children_left < 0)
    shares = other.tree_.weighted_n_node_samples[leaves] / 200
    expected = other.tree_.value[leaves, 0] * shares[:, np.newaxis]
    np.testing.assert_allclose(
        sorted(mass.tolist()), sorted(expected.tolist()), atol=1e-12
    )


@pytest.mark.parametrize("t", [0, 1])
def test_a_cut_fits_those_below_as_well_as_any(rng, t):
    """Every column, limit and side is tried, what is below saying what it said."""
    search = search_on(*drawn(rng, 60, 3), depth=3)
    tree = AxisTree(
        rng.integers(0, 3, 7), rng.uniform(0.2, 0.8, 7), rng.choice([-1, 1], 7)
    )
    mass = search.masses(tree) + 1e-3 * search.hot.sum(axis=0)
    says = -np.log(mass / mass.sum(axis=1, keepdims=True))

    def worth(one):
        leaf = search._leaf_of(one, 0)
        own = says[leaf, search.codes] @ search.hot.sum(axis=1)
        return own + search.price * one.n_cuts

    others = [
        tree.with_cut(t, j, limit, side)
        for (j, limit), side in product(cuts_of(search.X), (-1, 1))
    ]
    found = search._fitting(tree, t)
    empty = tree.with_cut(t, -1, 0.0, 1)
    if found is tree:
        # No cut that parts the rows is worth more than all going one way for nothing.
        turned = worth(tree.with_cut(t, 0, 2.0, 1)) - search.price
        assert min(map(worth, others)) >= min(worth(empty), turned) - 1e-12
    else:
        assert worth(found) <= min(map(worth, others)) + 1e-12


def test_what_is_kept_is_worth_its_price(rng):
    """Of noise hardly anything is; improving never makes a tree worse."""
    n_kept = 0
    for _ in range(10):
        noise = search_on(rng.random((200, 5)), rng.integers(0, 2, 200))
        n_kept += noise.settled(noise.best()).n_cuts > 0
    assert n_kept <= 3
    search = search_on(*drawn(rng, 200, 4), depth=3)
    tree = search.settled(search.best())
    assert search.value(tree) <= search.value(search.grown) + 1e-12
    for t in np.flatnonzero(tree.column >= 0).tolist():
        assert search.value(tree.without(t)) >= search.value(tree) - 1e-12


def test_a_tree_that_growth_does_not_find_is_found():
    """Both limits together tell everything, each by itself nothing."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 4))
    y = ((X[:, 1] > 0.5) ^ (X[:, 2] > 0.5)).astype(np.int64)
    search = search_on(X, y)
    tree = search.settled(search.best())
    assert set(tree.column.tolist()) == {1, 2}
    assert search.masses(tree).min(axis=1).sum() < 0.01


def test_weights_are_repetitions_and_sides_have_a_least_weight(rng):
    """Weight 2 is the row twice."""
    X, y = drawn(rng, 80, 3)
    twice = np.append(np.arange(80), np.arange(0, 80, 2))
    weight = np.ones(80)
    weight[::2] = 2.0
    trees = [
        one.settled(one.best())
        for one in (search_on(X, y, 3, weight), search_on(X[twice], y[twice], 3))
    ]
    for name in ("column", "limit", "side"):
        np.testing.assert_array_equal(*(getattr(tree, name) for tree in trees))
    heavy = search_on(X, y, 3, least=0.2)
    for tree in (heavy.grown, heavy.best()):
        mass = heavy.masses(tree).sum(axis=1)
        assert mass[mass > 0.0].min() >= 0.2


def test_equal_rows_count_one_by_one(rng):
    """A table of few different rows pays no more for a cut than one of many."""
    X = rng.integers(0, 2, (4000, 2)).astype(float)
    y = (X[:, 0] * X[:, 1] > 0.5).astype(np.int64)
    y = np.where(rng.random(4000) < 0.1, 1 - y, y)
    search = search_on(X, y)
    assert search.codes.size == 8
    assert search.price == pytest.approx(np.log(2 * 4000) / 4000)
    assert set(search.settled(search.best()).column.tolist()) == {0, 1, -1}


def test_no_row_lies_on_a_limit(rng):
    """It would go both ways; also where cuts are drawn, in columns of few levels."""
    for _ in range(10):
        X = np.column_stack([rng.integers(0, 2, (120, 2)), rng.random(120).round(1)])
        y = (X[:, 0] != X[:, 1]).astype(np.int64)
        y = np.where(rng.random(120) < 0.1, rng.integers(0, 3, 120), y)
        search = search_on(X, y, depth=3)
        tree = search.best()
        for t in np.flatnonzero(tree.column >= 0).tolist():
            assert (search.X[tree.column[t]] != tree.limit[t]).all()


def test_columns_are_looked_at_some_at_a_time(rng, monkeypatch):
    """However many, the tree is the same."""
    given = drawn(rng, 80, 7)
    whole = search_on(*given, depth=3)
    trees = [whole.best()]
    monkeypatch.setattr(axis, "_AT_ONCE", 500)
    trees.append(search_on(*given, depth=3).best())
    for name in ("column", "limit", "side"):
        np.testing.assert_array_equal(*(getattr(tree, name) for tree in trees))


def test_nothing_is_looked_for_when_time_is_over(rng):
    """The tree is without cuts then."""
    search = search_on(*drawn(rng, 80, 3), stop=1)
    assert search.settled(search.best()).n_cuts == 0
