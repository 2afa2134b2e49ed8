"""Starts: reproducible, alive, and the best tree without features in closed form."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from sorct.problem.datafit import ExpectedCost
from sorct.problem.evaluation import never
from sorct.search.starts import draw_start, empty_tree
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

STEEP = 512.0
sizes = pytest.mark.parametrize(
    ("depth", "n_classes"), [(1, 2), (2, 2), (2, 3), (2, 4), (3, 5)]
)


def same_tree(one, other):
    """Whether two trees are equal to the last bit."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("coef", "threshold", "leaf_class")
    )


def test_a_start_depends_on_its_seed_and_number_only(draw_case):
    """Drawn again it is the same; of another seed or number it is another."""
    problem = draw_case(gamma=STEEP).problem
    numbers = [(seed, k) for seed in (3, 4) for k in range(6)]
    starts = [draw_start(problem, seed, k, never()).params for seed, k in numbers]
    for start, (seed, k) in zip(starts, numbers, strict=True):
        assert same_tree(start, draw_start(problem, seed, k, never()).params)
    assert not any(same_tree(*pair) for pair in combinations(starts, 2))


@sizes
@pytest.mark.parametrize("k", range(6))
def test_starts_are_trees_of_the_problem(draw_case, depth, n_classes, k):
    """In the box, every class present, plain and annealed by turns."""
    case = draw_case(depth=depth, n_classes=n_classes, gamma=STEEP)
    start = draw_start(case.problem, 0, k, never())
    assert start.kind == ("plain", "annealed")[k % 2]
    assert start.params.coef.shape == case.tree.coef.shape
    assert np.all(np.abs(start.params.coef) <= 1.0)
    assert np.all(np.abs(start.params.threshold) <= 1.0)
    assert set(start.params.leaf_class) == set(range(n_classes))


@pytest.mark.parametrize("seed", range(10))
def test_the_first_cut_of_a_plain_start_separates_samples(draw_case, seed):
    """Between 10 and 90 per cent of the weight lie on its left."""
    problem, truth, _ = draw_case(n=400, depth=2)
    for k in range(0, 20, 2):
        params = draw_start(problem, seed, k, never()).params
        left = truth.X @ params.coef[:, 0] / 4 > params.threshold[0]
        assert 0.1 <= np.average(left, weights=truth.weight) <= 0.9


def draw_floors(rng, n_classes, total):
    """Floors of a given sum, one of them zero."""
    floor = rng.random(n_classes)
    floor[rng.integers(n_classes)] = 0.0
    return total * floor / floor.sum()


@sizes
@pytest.mark.parametrize("total", [0.0, 0.5, 0.9])
def test_the_empty_tree_is_the_linear_programs_optimum(
    rng, draw_case, depth, n_classes, total
):
    """No distribution over labels that meets the floors is cheaper.

    Without features all samples share it, and it is a class's recall.
    """
    floor = draw_floors(rng, n_classes, total) if total else np.zeros(n_classes)
    problem, truth, _ = draw_case(
        depth=depth, n_classes=n_classes, gamma=STEEP, floor=floor
    )
    tree, _ = empty_tree(problem)
    share = np.bincount(truth.y, truth.weight) / truth.weight.sum()
    program = linprog(
        share @ truth.cost_matrix,
        A_eq=np.ones((1, n_classes)),
        b_eq=[1.0],
        bounds=[(low, 1.0) for low in floor],
    )
    assert np.all(tree.coef == 0.0)
    assert set(tree.leaf_class) == set(range(n_classes))
    assert truth.cost(tree) == pytest.approx(program.fun, abs=1e-12)
    assert np.all(truth.recall(tree) >= floor - 1e-12)


@sizes
def test_the_empty_tree_comes_with_its_multipliers(rng, draw_case, depth, n_classes):
    """Under them, a solver finds nothing to do where features are too dear."""
    floor = draw_floors(rng, n_classes, 0.6)
    case = draw_case(
        depth=depth, n_classes=n_classes, gamma=STEEP, floor=floor, alpha_local=1e4
    )
    tree, multiplier = empty_tree(case.problem)
    assert np.all(multiplier >= 0.0)
    assert case.truth.residual(tree, multiplier) <= 1e-9
    solver = AugmentedLagrangian()
    solution = solver.solve(case.problem, tree, multiplier=multiplier)
    assert solution.params.coef.any() == 0
    np.testing.assert_allclose(solution.params.threshold, tree.threshold, atol=1e-9)


def test_the_empty_tree_of_equal_costs_predicts_the_majority(draw_case):
    """Its error is one minus the largest share."""
    problem, truth, _ = draw_case(n_classes=3, gamma=STEEP)
    equal = ExpectedCost(1.0 - np.eye(3))
    tree, _ = empty_tree(replace(problem, datafit=equal))
    share = np.bincount(truth.y, truth.weight) / truth.weight.sum()
    recall = truth.recall(tree)
    assert recall[np.argmax(share)] == pytest.approx(1.0, abs=1e-12)
    assert share @ recall == pytest.approx(share.max(), abs=1e-12)
