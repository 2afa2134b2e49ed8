"""Subtrees: a part is fitted, the rest stays; rows taken make the same problem."""

from dataclasses import replace

import numpy as np
import pytest

from sorct.data.samples import MANY_ROWS, TrainingSet
from sorct.problem.evaluation import never
from sorct.search.subtrees import grow, place, random_tree, refit_nodes, regrow
from sorct.solvers.descent import leaf_masses

STEEP = 512.0
seeds = pytest.mark.parametrize("seed", range(5))


def nodes_reached(X, tree):
    """Which samples reach which node when each follows the more probable branch."""
    n_branches = tree.threshold.size
    reached = np.zeros((len(X), 2 * n_branches + 1), dtype=bool)
    reached[:, 0] = True
    for t in range(n_branches):
        left = X @ tree.coef[:, t] > X.shape[1] * tree.threshold[t]
        reached[:, 2 * t + 1] = reached[:, t] & left
        reached[:, 2 * t + 2] = reached[:, t] & ~left
    return reached


def below(t, depth, n_branches):
    """Cuts of the subtree at t, so many levels of it."""
    if depth == 0 or t >= n_branches:
        return []
    children = (below(2 * t + side, depth - 1, n_branches) for side in (1, 2))
    return [t, *sum(children, [])]


def assert_same_cuts(one, other, cuts):
    """Some cuts of two trees are equal to the last bit."""
    np.testing.assert_array_equal(one.coef[:, cuts], other.coef[:, cuts])
    np.testing.assert_array_equal(one.threshold[cuts], other.threshold[cuts])


@pytest.mark.parametrize("t", range(7))
@pytest.mark.parametrize("height", [None, 1])
def test_regrowing_touches_the_subtree_alone(rng, draw_case, t, height):
    """All other cuts and all labels stay to the bit; the subtree is another."""
    problem, _, tree = draw_case(n_classes=3, depth=3, gamma=STEEP)
    grown, _ = regrow(problem, tree, t, rng, never(), height)
    inside = below(t, height or 3, 7)
    assert_same_cuts(grown, tree, np.setdiff1d(np.arange(7), inside))
    np.testing.assert_array_equal(grown.leaf_class, tree.leaf_class)
    assert np.all((grown.coef != tree.coef)[:, inside].any(axis=0))
    assert np.all(np.abs(grown.coef) <= 1.0)
    assert np.all(np.abs(grown.threshold) <= 1.0)


@pytest.mark.parametrize("threshold", [-1.0, 1.0])
def test_a_subtree_that_no_sample_reaches_is_drawn(rng, draw_case, threshold):
    """Without samples there is nothing to evaluate; the tree is a tree."""
    problem, _, tree = draw_case(depth=2)
    tree.coef[:, 0], tree.threshold[0] = 0.0, threshold
    nobody = 2 if threshold < 0 else 1
    grown, n_evaluations = regrow(problem, tree, nobody, rng, never())
    assert n_evaluations == 0
    assert_same_cuts(grown, tree, [0, 3 - nobody])
    assert not np.array_equal(grown.coef[:, nobody], tree.coef[:, nobody])


@seeds
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_placed_cuts_lie_between_quantiles(draw_case, seed, depth):
    """At most 80 % of the weight that comes by lies below, at least 20 % not above."""
    rng = np.random.default_rng(seed)
    problem, truth, tree = draw_case(n=400, depth=depth)
    cuts = list(range(2**depth - 1))
    placed = place(problem, tree, cuts, rng)
    np.testing.assert_array_equal(placed.coef, tree.coef)
    reached = nodes_reached(truth.X, placed)
    for t in cuts:
        here = truth.weight * reached[:, t]
        gap = truth.X @ tree.coef[:, t] - 4 * placed.threshold[t]
        # The sample that the cut goes through may come to either side of it, here and
        # at the cuts above.
        little = depth * 2.0 / here.sum()
        assert here[gap < -1e-12].sum() / here.sum() <= 0.8 + little
        assert here[gap <= 1e-12].sum() / here.sum() >= 0.2 - little


def test_cuts_that_are_not_placed_stay(rng, draw_case):
    """To the last bit."""
    problem, _, tree = draw_case(depth=2)
    placed = place(problem, tree, [1], rng)
    assert_same_cuts(placed, tree, [0, 2])
    assert placed.threshold[1] != tree.threshold[1]


def hard_cost(truth, tree, label):
    """Mean cost of given labels when every sample follows the more probable branch."""
    leaf = nodes_reached(truth.X, tree)[:, tree.threshold.size :].argmax(axis=1)
    return np.average(truth.cost_matrix[truth.y, label[leaf]], weights=truth.weight)


def balanced_labels(truth, tree):
    """Cheapest label of every leaf when all classes weigh the same."""
    leaves = nodes_reached(truth.X, tree)[:, tree.threshold.size :]
    share = np.bincount(truth.y, truth.weight)
    weight = truth.weight / share[truth.y]
    cost = (leaves * weight[:, np.newaxis]).T @ truth.cost_matrix[truth.y]
    return cost.argmin(axis=1)


@seeds
@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 2), (2, 3), (3, 4)])
def test_refitting_node_by_node_never_raises_the_hard_cost(
    draw_case, seed, depth, n_classes
):
    """Each cut is kept unless a better one is found for its fixed subtrees.

    Cuts above are not yet changed then, so no sample's way to the node is, and the cost
    of the whole tree, under the labels it began with, falls or stays with every node.
    """
    rng = np.random.default_rng(seed)
    _, truth, tree = case = draw_case(depth=depth, n_classes=n_classes, gamma=STEEP)
    label = balanced_labels(truth, tree)
    refitted, _ = refit_nodes(case.problem, tree, rng, never())
    before, after = (hard_cost(truth, t, label) for t in (tree, refitted))
    assert after <= before + 1e-12
    np.testing.assert_array_equal(refitted.leaf_class, tree.leaf_class)


@seeds
def test_refitting_finds_a_cut_that_parts_two_classes(rng, draw_case, seed):
    """From a cut that mixes them on both sides, to another class on each."""
    X, y = rng.random((100, 4)), np.arange(100) % 2
    X[:, 0] = 0.6 * y + 0.4 * X[:, 0]
    options = {"depth": 1, "gamma": STEEP, "cost_matrix": 1.0 - np.eye(2)}
    problem, truth, tree = draw_case(n=100, X=X, y=y, **options)
    tree.coef[:, 0] = [0.3, 0.4, -0.4, 0.4]
    tree.threshold[0] = np.median(X @ tree.coef[:, 0]) / 4
    label = balanced_labels(truth, tree)
    refitted, _ = refit_nodes(problem, tree, np.random.default_rng(seed), never())
    assert set(label) == {0, 1}
    assert hard_cost(truth, tree, label) > 0.0
    assert hard_cost(truth, refitted, label) == 0.0


@seeds
def test_growing_fits_separable_classes(rng, draw_case, seed):
    """Three classes in a row, wherever the first cut goes, take one more on a side."""
    X, y = rng.random((200, 4)), np.arange(200) % 3
    X[:, 0] = 0.4 * y + 0.2 * X[:, 0]
    problem, truth, _ = draw_case(n=200, n_classes=3, gamma=STEEP, X=X, y=y)
    tree, n_evaluations = grow(problem, np.random.default_rng(seed), never())
    assert hard_cost(truth, tree, balanced_labels(truth, tree)) == 0.0
    assert n_evaluations > 0


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_random_trees_cover_the_classes_in_the_box(rng, draw_case, depth):
    """A constant column gets exact zeros."""
    X = np.column_stack([rng.random((120, 3)), np.zeros(120)])
    problem = draw_case(depth=depth, X=X).problem
    tree = random_tree(problem, rng)
    assert set(tree.leaf_class) == {0, 1}
    assert np.all(np.abs(tree.coef) <= 1.0)
    assert np.all(np.abs(tree.threshold) <= 1.0)
    assert tree.coef[:3].all()
    assert not tree.coef[3].any()


@pytest.mark.parametrize("n", [30, 500, 3000])
def test_rows_taken_make_the_problem_of_these_rows(rng, draw_case, n):
    """All rows, or some by a mask: masses and shares as from the data themselves."""
    problem, truth, tree = draw_case(n=n, n_classes=3)
    rows = problem.data.rows
    few = np.flatnonzero(rng.random(n) < 0.5)
    # Rows come in an order of their own; X tells which is which.
    number = {tuple(x): i for i, x in enumerate(truth.X)}
    mask = np.isin([number[tuple(x)] for x in rows.X.T], few)
    for taken, which in ((rows, np.arange(n)), (rows.take(mask), few)):
        found = TrainingSet.from_rows(taken, 3)
        part = truth.X[which], truth.y[which], truth.weight[which]
        expected = TrainingSet.from_data(*part, 3)
        close = {"rtol": 0, "atol": 1e-14}
        masses = [
            leaf_masses(replace(problem, data=data, gamma=STEEP), tree)
            for data in (found, expected)
        ]
        np.testing.assert_allclose(*masses, **close)
        for name in ("share", "centre", "variance"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), **close
            )


def test_a_problem_of_few_rows_is_its_own_subsampled(draw_case):
    """Not a copy, and the subsampled one is thin enough."""
    problem = draw_case(n=500).problem
    assert problem.subsampled is problem
    assert "rows" not in vars(problem.data), "rows were laid out for nothing"


@pytest.mark.parametrize("n", [16_385, 40_000])
def test_many_rows_are_subsampled_evenly(draw_case, n):
    """At most MANY_ROWS, the classes in nearly their shares; nothing else changes."""
    problem = draw_case(n=n, n_classes=3, alpha_local=0.5).problem
    subsampled = problem.subsampled
    n_rows = np.count_nonzero(subsampled.data.samples.weight)
    assert MANY_ROWS / 2 < n_rows <= MANY_ROWS
    np.testing.assert_allclose(subsampled.data.share, problem.data.share, atol=0.01)
    np.testing.assert_array_equal(subsampled.constraint.floor, problem.constraint.floor)
    for name in ("datafit", "penalty", "topology", "gamma"):
        assert getattr(subsampled, name) is getattr(problem, name)
    assert subsampled.subsampled is subsampled
