"""Path: a grid of trees, and choosing among trees made by hand."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, recall_score

from sorct import Tree
from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from sorct.tree.path import Path
from sorct.tree.training import TrainingRecord
from tests.cases import draw_stream
from tests.data.test_encoder import mixed_table
from tests.tree.test_tree import random_tree

P = 5
NAMES = [f"x{j}" for j in range(P)]
MIDDLES = (np.arange(20) + 0.5) / 20
# All columns are equal, so that it does not matter which of them a cut uses.
ROWS = pd.DataFrame(dict.fromkeys(NAMES, MIDDLES))
LABELS = np.where(MIDDLES > 0.5, "yes", "no")
COLUMNS = [
    "alpha_local", "alpha_global", "objective", "cost", "local_sparsity",
    "global_sparsity", "n_columns", "n_variables", "residual", "seconds",
]  # fmt: skip


def training(alpha_local=0.0, alpha_global=0.0, cost=0.1):
    """What a path needs to know of how a tree was made."""
    return TrainingRecord(
        alpha_local=alpha_local,
        alpha_global=alpha_global,
        objective=2.0 * cost,
        cost=cost,
        residual=1e-7,
        status="converged",
    )


def hand_tree(*cuts, n_wrong=0, cost=0.1, alphas=(0.0, 0.0)):
    """A tree whose cuts use given columns and which errs on so many of ``ROWS``.

    The first column of the first cut decides: yes if it exceeds 0.5 + n_wrong / 20. All
    leaves on one side of that cut have one class, so that other cuts do not matter.
    """
    coef = np.zeros((P, len(cuts)))
    for t, cut in enumerate(cuts):
        coef[list(cut), t] = 1e-9
        coef[list(cut)[:1], t] = 1.0
    threshold = np.full(len(cuts), (0.5 + n_wrong / 20) / P)
    n_leaves = len(cuts) + 1
    return Tree(
        encoder=TableEncoder.learn(pd.DataFrame(dict.fromkeys(NAMES, [0.0, 1.0]))),
        coef=coef,
        threshold=threshold,
        leaf_class=np.repeat([1, 0], n_leaves // 2),
        target=Classes(np.array(["no", "yes"])),
        gamma=1e6,
        cost_matrix=0.5 * (1.0 - np.eye(2)),
        mass=np.full((2, n_leaves), 0.5 / n_leaves),
        training=training(*alphas, cost),
    )


def hand_path(*trees):
    """Trees in a row, as if traced under growing local penalties."""
    trees = [with_training(tree, alpha_local=float(k)) for k, tree in enumerate(trees)]
    n = len(trees)
    return Path(np.arange(n, dtype=float), np.zeros(1), trees, np.full(n, 0.25))


def mixed_path(rng, shape=(2, 3), table=None):
    """Random trees on a table with categories."""
    table = mixed_table(rng) if table is None else table
    local, spread = np.arange(shape[0]) / 4, np.arange(shape[1]) / 3
    trees = []
    for a, b in product(local.tolist(), spread.tolist()):
        tree = random_tree(rng, table)
        if trees:
            shared = {
                name: getattr(trees[0], name)
                for name in ("encoder", "target", "gamma", "cost_matrix")
            }
            tree = replace(tree, **shared)
        told = training(a, b, float(rng.random()))
        trees.append(replace(tree, training=told))
    return Path(local, spread, tuple(trees), rng.random(len(trees)))


def with_training(tree, **changes):
    """The same tree, made otherwise; None leaves an entry out."""
    return replace(tree, training=replace(tree.training, **changes))


@pytest.fixture(scope="module")
def path():
    """Six random trees, the same for all: nothing can change them."""
    return mixed_path(draw_stream())


# -- grid and frame --------------------------------------------------------------------


def test_trees_are_found_by_their_penalties(path):
    """The local axis is outermost; negative places count from the end."""
    for i, j in product(range(2), range(3)):
        tree = path.tree(i, j)
        assert tree is path.trees[3 * i + j]
        assert tree.training["alpha_local"] == path.alphas_local[i]
        assert tree.training["alpha_global"] == path.alphas_global[j]
        assert path.tree(i - 2, j - 3) is tree
    assert path.tree(1) is path.tree(1, 0)
    assert len(path) == 6
    assert list(path) == list(path.trees)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ((2, 0), "alphas_local has 2 values.*no number 2"),
        ((-3, 0), "alphas_local has 2 values.*no number -3"),
        ((0, 3), "alphas_global has 3 values.*no number 3"),
        ((0, -4), "alphas_global has 3 values.*no number -4"),
    ],
)
def test_places_beside_the_grid_are_refused(path, place, words):
    """The message says how many there are."""
    with pytest.raises(IndexError, match=words):
        path.tree(*place)


@pytest.mark.parametrize(
    ("n_local", "n_trees", "n_seconds"),
    [(2, 1, 2), (2, 2, 1), (1, 2, 1), (1, 1, 2), (0, 0, 0), (3, 0, 3), (1, 1, 0)],
)
def test_a_path_has_a_tree_and_seconds_for_every_pair(n_local, n_trees, n_seconds):
    """Fewer, more and none are refused."""
    trees = (hand_tree((0,)),) * n_trees
    words = f"Expected {n_local} trees and seconds.*got {n_trees} and {n_seconds}"
    with pytest.raises(ValueError, match=words):
        Path(np.arange(n_local), np.zeros(1), trees, np.zeros(n_seconds))


@pytest.mark.every_value
@pytest.mark.parametrize(
    "key", ["alpha_local", "alpha_global", "objective", "cost", "residual"]
)
@pytest.mark.parametrize(
    "odd",
    [None, np.nan, np.inf, -np.inf, "much", True, 10**400],
    ids=lambda odd: repr(odd)[:9],
)
def test_trees_must_say_what_the_frame_needs(path, key, odd):
    """A finite number; missing is odd too."""
    trees = (*path.trees[:-1], with_training(path.trees[-1], **{key: odd}))
    with pytest.raises(ValueError, match=f"'{key}' of a tree must be a number"):
        Path(path.alphas_local, path.alphas_global, trees, path.seconds)


@pytest.mark.parametrize("key", ["alpha_local", "alpha_global"])
def test_trees_must_be_of_their_penalties(path, key):
    """Another penalty than the grid point's is refused, as are trees out of order."""
    grid = path.alphas_local, path.alphas_global
    trees = (*path.trees[:-1], with_training(path.trees[-1], **{key: 7.0}))
    with pytest.raises(ValueError, match=r"expected the tree of alphas.*got one of"):
        Path(*grid, trees, path.seconds)
    with pytest.raises(ValueError, match=r"alphas \(0\.0, 0\.0\), got one of \(0\.25"):
        Path(*grid, path.trees[::-1], path.seconds)
    with pytest.raises(ValueError, match="expected the tree of alphas"):
        Path(path.alphas_local + 1.0, path.alphas_global, path.trees, path.seconds)


def test_the_frame_has_the_columns_promised(path):
    """In this order, one row per grid point, the local axis outermost."""
    frame = path.to_frame()
    assert list(frame.columns) == COLUMNS
    pairs = list(zip(frame["alpha_local"], frame["alpha_global"], strict=True))
    assert pairs == list(product(path.alphas_local, path.alphas_global))
    np.testing.assert_array_equal(frame["seconds"], path.seconds)
    for tree, (_, row) in zip(path, frame.iterrows(), strict=True):
        for name in ("objective", "cost", "residual"):
            assert row[name] == tree.training[name]
        per_cut = [np.mean(cut == 0.0) for cut in tree.coef.T]
        unused = [not row.any() for row in tree.coef]
        assert row["local_sparsity"] == pytest.approx(100.0 * np.mean(per_cut))
        assert row["global_sparsity"] == pytest.approx(100.0 * np.mean(unused))
        assert row["n_columns"] == len(tree.columns_used) == P + 2 - sum(unused)
        assert row["n_variables"] == len(tree.variables_used)


def test_a_variable_with_several_columns_counts_once(rng):
    """Columns 1 and 2 are the city, 4 and 5 the grade."""
    tree = random_tree(rng, mixed_table(rng), depth=1)
    coef = np.zeros_like(tree.coef)
    coef[[0, 1, 2, 4, 5]] = 0.5
    tree = replace(tree, coef=coef, training=training())
    path = Path([0.0], [0.0], (tree,), [0.0])
    frame = path.to_frame()
    assert frame["n_columns"].tolist() == [5]
    assert frame["n_variables"].tolist() == [3]
    assert path.select(max_features=3, max_features_per_cut=3) is path.trees[0]
    with pytest.raises(ValueError, match="max_features_per_cut=2; the least are 3"):
        path.select(max_features_per_cut=2)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("missing", [None, "no"])
def test_accuracy_and_recall_are_scikit_learns(rng, missing):
    """On any rows; a class that does not occur has no recall."""
    table = mixed_table(rng)
    path = mixed_path(rng, table=table)
    rows = mixed_table(rng, 90)
    y = rng.permutation(np.resize(path.classes, 90))
    if missing is not None:
        rows, y = rows[y != missing], y[y != missing]
    frame = path.evaluate(rows, y)
    pd.testing.assert_frame_equal(frame[COLUMNS], path.to_frame())
    assert list(frame.columns[10:]) == [
        "accuracy",
        *(f"recall_{k}" for k in path.classes),
        "mean_cost",
    ]
    place = {label: k for k, label in enumerate(path.classes)}
    for tree, (_, row) in zip(path, frame.iterrows(), strict=True):
        predicted = tree.predict(rows)
        costs = [
            tree.cost_matrix[place[one], place[other]]
            for one, other in zip(y, predicted, strict=True)
        ]
        assert row["mean_cost"] == pytest.approx(np.mean(costs))
        assert row["accuracy"] == accuracy_score(y, predicted)
        for label in path.classes:
            if label == missing:
                assert np.isnan(row[f"recall_{label}"])
                continue
            recall = recall_score(y, predicted, labels=[label], average="macro")
            assert row[f"recall_{label}"] == recall


@pytest.mark.parametrize("method", ["evaluate", "frontier", "select"])
def test_labels_must_go_with_the_rows(method):
    """Other numbers, two columns, or missing values are refused."""
    path = hand_path(hand_tree((0,)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        getattr(path, method)(ROWS, LABELS[:-1])
    with pytest.raises(ValueError, match="1d array"):
        getattr(path, method)(ROWS, np.c_[LABELS, LABELS])
    with pytest.raises(ValueError, match="NaN.*'x3'"):
        getattr(path, method)(ROWS.assign(x3=np.nan), LABELS)


# -- the frontier ----------------------------------------------------------------------


def brute_frontier(frame, good):
    """Points that none is better than, the last of those that are equal."""
    rows = frame.assign(good=good)[["good", "local_sparsity", "global_sparsity"]]
    points = [tuple(row) for row in rows.to_numpy()]
    kept = []
    for k, point in enumerate(points):
        beaten = any(
            other != point and all(o >= p for o, p in zip(other, point, strict=True))
            for other in points
        )
        if not beaten and point not in points[k + 1 :]:
            kept.append(k)
    return kept


def test_beaten_points_leave_the_frontier():
    """Cost, local and global sparsity; by hand."""
    path = hand_path(
        hand_tree((0, 1, 2), cost=0.10),  # best cost
        hand_tree((0, 1, 2), cost=0.11),  # as sparse as the first, dearer
        hand_tree((0, 1), cost=0.20),
        hand_tree((3, 4), cost=0.20),  # equal to the one before in all three
        hand_tree((0,), cost=0.50),
        hand_tree((), cost=0.50),  # sparser than the one before at no price
    )
    assert path.frontier().index.tolist() == [0, 3, 5]
    assert list(path.frontier().columns) == COLUMNS


def test_local_and_global_sparsity_count_apart():
    """Neither tree beats the other: fewer columns in all, or fewer per cut."""
    shared = hand_tree((0, 1), (0, 1), (0, 1))
    spread = hand_tree((0,), (1,), (2,))
    poor = hand_tree((0, 1), (1, 2), (2, 0))
    assert hand_path(shared, poor, spread).frontier().index.tolist() == [0, 2]


def test_the_frontier_is_that_of_brute_force(rng):
    """Random trees, by cost and by accuracy."""
    trees = []
    for _ in range(20):
        cuts = [rng.permutation(P)[: rng.integers(0, 4)].tolist() for _ in range(3)]
        n_wrong, cost = int(rng.integers(0, 4)), float(rng.integers(1, 5)) / 10
        trees.append(hand_tree(*cuts, n_wrong=n_wrong, cost=cost))
    path = hand_path(*trees)
    frame = path.evaluate(ROWS, LABELS)
    by_cost = brute_frontier(frame, -frame["cost"])
    by_accuracy = brute_frontier(frame, frame["accuracy"])
    assert path.frontier().index.tolist() == by_cost
    assert path.frontier(ROWS, LABELS).index.tolist() == by_accuracy
    pd.testing.assert_frame_equal(
        path.frontier(ROWS, LABELS), frame.loc[by_accuracy], check_exact=True
    )


# -- selecting -------------------------------------------------------------------------


@pytest.fixture
def ladder():
    """From five variables without an error to none; costs say something else."""
    return hand_path(
        hand_tree((0, 1, 2, 3, 4), n_wrong=0, cost=0.30),
        hand_tree((0, 1, 2), n_wrong=1, cost=0.10),
        hand_tree((0, 1), n_wrong=1, cost=0.15),
        hand_tree((0,), n_wrong=3, cost=0.25),
        hand_tree((), n_wrong=0, cost=0.50),
    )


def place(path, tree):
    """Where a tree is on its path."""
    return next(k for k, other in enumerate(path) if other is tree)


@pytest.mark.parametrize(
    ("options", "by_cost", "by_accuracy"),
    [
        ({}, 1, 0),
        ({"max_features": 4}, 1, 2),
        ({"max_features": 2}, 2, 2),
        ({"max_features": 1}, 3, 3),
        ({"max_features": 0}, 4, 4),
        ({"max_features_per_cut": 2}, 2, 2),
        ({"within": 0.049}, 1, 0),
        ({"within": 0.05}, 2, 2),
        ({"within": 0.151}, 3, 3),
        ({"within": 1.0}, 4, 4),
        ({"within": 0.1, "max_features": 2}, 3, 3),
        ({"within": 1.0, "max_features": 0}, 4, 4),
    ],
)
def test_the_sparsest_of_the_good_is_chosen(ladder, options, by_cost, by_accuracy):
    """By hand: cost without data, accuracy with."""
    assert place(ladder, ladder.select(**options)) == by_cost
    chosen = ladder.select(ROWS, LABELS, **options)
    assert place(ladder, chosen) == by_accuracy


def test_limits_per_cut_are_on_every_cut():
    """One cut of three variables is one too many."""
    wide = hand_tree((0,), (0, 1, 2), (1,), cost=0.1)
    narrow = hand_tree((0, 1), (2, 3), (4,), cost=0.4)
    path = hand_path(wide, narrow)
    assert place(path, path.select(max_features_per_cut=3)) == 0
    assert place(path, path.select(max_features_per_cut=2)) == 1
    assert place(path, path.select(max_features=3)) == 0


def test_ties_go_to_fewer_variables_then_columns_per_cut_then_the_better():
    """And in the end to the larger penalty."""
    many = hand_tree((0, 1), (2,), (0,))
    full = hand_tree((0, 1), (0, 1), (0, 1))
    thin, twin = hand_tree((0, 1), (0,), (1,)), hand_tree((1, 0), (0,), (1,))
    better = hand_tree((0, 1), (0,), (1,), cost=0.05)
    for trees, within, expected in [
        ((thin, many, full), 0.0, 0),
        ((many, full), 0.0, 1),
        ((full, thin, twin), 0.0, 2),
        ((better, thin, full), 0.1, 0),
    ]:
        path = hand_path(*trees)
        assert place(path, path.select(within=within)) == expected


@pytest.mark.parametrize("with_data", [False, True])
def test_limits_that_no_tree_meets_name_the_fewest(with_data):
    """So that a user knows by how much to raise them."""
    data = (ROWS, LABELS) if with_data else ()
    path = hand_path(hand_tree((0, 1, 2)), hand_tree((0, 1), (2,), (3,)))
    with pytest.raises(ValueError, match="max_features=2; the least are 3"):
        path.select(*data, max_features=2)
    with pytest.raises(ValueError, match="max_features_per_cut=1; the least are 2"):
        path.select(*data, max_features_per_cut=1)
    with pytest.raises(ValueError, match="Raise the limits"):
        path.select(*data, max_features=3, max_features_per_cut=2 - 1)


@pytest.mark.parametrize("name", ["max_features", "max_features_per_cut"])
@pytest.mark.parametrize("odd", [-1, 1.5, True, np.nan, np.inf, "two"])
def test_odd_limits_are_refused(ladder, name, odd):
    """The message names the limit and what it must be."""
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        ladder.select(**{name: odd})


@pytest.mark.parametrize("odd", [-0.1, np.nan, np.inf])
def test_an_odd_distance_is_refused(ladder, odd):
    """It is a number >= 0."""
    with pytest.raises(ValueError, match="within must be a finite number >= 0"):
        ladder.select(within=odd)


@pytest.mark.parametrize("method", ["frontier", "select"])
def test_rows_without_labels_are_refused(ladder, method):
    """And labels without rows."""
    with pytest.raises(ValueError, match="both X and y or neither"):
        getattr(ladder, method)(ROWS)
    with pytest.raises(ValueError, match="both X and y or neither"):
        getattr(ladder, method)(y=LABELS)


# -- immutable -------------------------------------------------------------------------


def copies(path):
    """The path, and what comes of copying it."""
    return path, pickle.loads(pickle.dumps(path)), copy.deepcopy(path)


@pytest.mark.parametrize("n", range(3), ids=["itself", "pickled", "copied"])
def test_a_path_cannot_be_changed(path, n):
    """Nor can its copies."""
    same = copies(path)[n]
    assert same == path
    for name in ("alphas_local", "alphas_global", "seconds"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(same, name)[0] = 1.0
    for name in ("alphas_local", "trees", "seconds"):
        with pytest.raises(FrozenInstanceError):
            setattr(same, name, getattr(same, name))
    assert isinstance(same.trees, tuple)


def test_what_a_path_was_made_of_can_be_changed():
    """The path has its own arrays and its own tuple."""
    local, trees, seconds = np.zeros(1), [hand_tree((0,))], np.ones(1)
    path = Path(local, np.zeros(1), trees, seconds)
    local[0] = seconds[0] = 9.0
    assert path.alphas_local.tolist() == [0.0]
    assert path.seconds.tolist() == [1.0]
    trees.append(hand_tree((1,)))
    assert len(path) == 1


def test_frames_are_copies(path):
    """Changing one changes neither the path nor the next."""
    before = path.to_frame()
    for frame in (path.to_frame(), path.frontier()):
        frame.loc[:, "cost"] = -1.0
    pd.testing.assert_frame_equal(path.to_frame(), before, check_exact=True)


def test_equality_is_of_all_trees_and_penalties(path):
    """Another tree, or another penalty, is another path; time does not count."""
    grid, seconds = (path.alphas_local, path.alphas_global), path.seconds
    assert path == Path(*grid, path.trees, seconds)
    assert path == Path(*grid, path.trees, seconds + 1.0)
    dearer = with_training(path.trees[-1], cost=7.0)
    assert path != Path(*grid, (*path.trees[:-1], dearer), seconds)
    moved = [
        with_training(tree, alpha_local=tree.training["alpha_local"] + 1.0)
        for tree in path
    ]
    assert path != Path(path.alphas_local + 1.0, path.alphas_global, moved, seconds)
    half = path.trees[:3], seconds[:3]
    assert path != Path(path.alphas_local[:1], path.alphas_global, *half)
    assert path != path.trees
    assert repr(path).startswith("<Path: 2 x 3 trees of depth 2")


def one_tree_path():
    """The smallest path."""
    return Path(np.zeros(1), np.zeros(1), (hand_tree([0]),), np.zeros(1))


@pytest.mark.parametrize("place", [1.5, "0", None, float("inf")])
def test_a_place_that_is_no_whole_number_is_refused(place):
    """A position is a whole number."""
    with pytest.raises(TypeError, match="positions in alphas_local"):
        one_tree_path().tree(place)
