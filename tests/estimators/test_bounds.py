"""Bounds on the penalties: brute force over thresholds and labels, and the promises."""

import doctest
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import sorct.estimators.bounds
from sorct import PAPER, SORCTClassifier
from sorct.estimators.bounds import _most_variation, penalty_bounds
from tests.reference import Reference, prox_row

SHAPES = [(1, 2), (2, 2), (2, 3), (2, 4)]
shapes = pytest.mark.parametrize(
    ("depth", "n_classes"),
    [
        (1, 2),
        (2, 3),
        pytest.param(2, 2, marks=pytest.mark.slow),
        pytest.param(2, 4, marks=pytest.mark.slow),
    ],
)


def draw(rng, depth, n_classes, gamma=64.0):
    """Samples already in [0, 1], with random weights and costs."""
    n_samples, n_features = 12, 3
    X = rng.random((n_samples, n_features))
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    cost_matrix = rng.random((n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    return Reference(
        X,
        rng.permutation(np.arange(n_samples) % n_classes),
        rng.uniform(0.5, 2.0, n_samples),
        cost_matrix,
        np.zeros(n_classes),
        depth,
        gamma,
    )


def bounds_of(truth, **options):
    """The library's bounds for the reference's problem."""
    return penalty_bounds(
        truth.X,
        truth.y,
        truth.depth,
        gamma=truth.gamma,
        cost_matrix=truth.cost_matrix,
        sample_weight=truth.weight,
        **options,
    )


def empty_tree(truth, threshold, leaf_class):
    """A tree without columns."""
    coef = np.zeros((truth.X.shape[1], 2**truth.depth - 1))
    return SimpleNamespace(coef=coef, threshold=threshold, leaf_class=leaf_class)


def slope(truth, threshold, leaf_class):
    """Gradient of the expected cost in the coefficients at zero, times p."""
    tree = empty_tree(truth, threshold, leaf_class)
    payoff = truth.cost_matrix[:, leaf_class]
    return truth.X.shape[1] * truth.mass_gradient(tree, payoff)[0]


def l_inf(matrix):
    """Largest l-infinity norm of a row."""
    return np.abs(matrix).max()


def l_1(matrix):
    """Largest l1 norm of a row."""
    return np.abs(matrix).sum(axis=1).max()


def labellings(depth, n_classes):
    """All labels of the leaves by which every class owns one."""
    for labels in itertools.product(range(n_classes), repeat=2**depth):
        if len(set(labels)) == n_classes:
            yield np.array(labels)


def brute_force(truth, norm, rng):
    """Largest norm over thresholds in [-1, 1] and labels: a grid, then climbing."""
    n_branches = 2**truth.depth - 1
    levels = [
        -1.0,
        *(math.log(q / (1 - q)) / truth.gamma for q in (0.25, 0.5, 0.75)),
        1,
    ]
    found = []
    for labels in labellings(truth.depth, truth.n_classes):
        for threshold in itertools.product(levels, repeat=n_branches):
            found.append((norm(slope(truth, np.array(threshold), labels)), labels))
    starts = sorted(found, key=lambda pair: -pair[0])[:3]
    best = starts[0][0]
    for _, labels in starts:
        climbed = minimize(
            lambda u, labels=labels: -norm(slope(truth, u / truth.gamma, labels)),
            rng.normal(0.0, 1.0, n_branches),
            method="Nelder-Mead",
            bounds=[(-truth.gamma, truth.gamma)] * n_branches,
            options={"maxfev": 600},
        )
        best = max(best, -climbed.fun)
    return best


@pytest.mark.a_few(1)
@shapes
def test_the_local_bound_is_the_maximum_of_theorem_2(depth, n_classes, rng):
    """Up to e^-gamma, the least mass of a leaf that a class must own."""
    truth = draw(rng, depth, n_classes)
    bounds = bounds_of(truth, sigma=0.0)
    most = brute_force(truth, l_inf, rng)
    n_branches = 2**depth - 1
    assert bounds.alpha_local == pytest.approx(n_branches * most, rel=1e-9)
    assert bounds.column_slope.max() == pytest.approx(most, rel=1e-9)


@pytest.mark.a_few(1)
@shapes
def test_the_global_bound_is_above_the_maximum_of_theorem_2(depth, n_classes, rng):
    """Equal to it with two classes; at most 5/4 of it at depth 2, where l1 >= l-inf."""
    truth = draw(rng, depth, n_classes)
    bound = bounds_of(truth, sigma=1.0).alpha_global
    most = brute_force(truth, l_1, rng)
    assert most <= bound * (1.0 + 1e-9) <= 1.25 * most * (1.0 + 1e-8)
    if n_classes == 2:
        assert bound == pytest.approx(most, rel=1e-9)


def test_two_samples_by_hand():
    """Samples 0 and 1 of classes a, b: b counts, 0.5 * 1 / 2; density 4 / 4."""
    bounds = penalty_bounds([[0.0], [1.0]], ["a", "b"], sigma=0.0, gamma=4.0)
    assert (bounds.depth, bounds.column_names) == (1, ("x0",))
    assert bounds.alpha_local == pytest.approx(0.25)
    assert bounds.best_local == pytest.approx(0.25)


@pytest.mark.every_value
@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("depth", "n_classes"), [*SHAPES, (3, 5)])
def test_at_the_bounds_a_step_from_zero_stays_there(depth, n_classes, sigma, rng):
    """Whatever the thresholds and labels."""
    truth = draw(rng, depth, n_classes)
    bounds = bounds_of(truth, sigma=sigma)
    room, n_branches = 1.0 + 1e-12, 2**depth - 1
    for _ in range(100):
        threshold = np.clip(rng.normal(0.0, 2.0 / truth.gamma, n_branches), -1.0, 1.0)
        labels = rng.permutation(np.arange(2**depth) % n_classes)
        for row in slope(truth, threshold, labels):
            local = room * bounds.alpha_local / n_branches
            assert not prox_row(-row, local, room * bounds.alpha_global).any()


def test_just_below_the_bound_some_empty_tree_is_not_stationary(rng):
    """One cut, half of everybody each way: the steepest column enters."""
    truth = draw(rng, 1, 2)
    alpha = 0.999 * bounds_of(truth, sigma=0.0).alpha_local
    rows = slope(truth, np.zeros(1), np.array([0, 1]))
    assert any(prox_row(-row, alpha, 0.0).any() for row in rows)


def test_theorem_3_is_the_gradient_at_saturated_thresholds(rng):
    """By the proof's formula, and by the slope at mu = -1 and 1 for both labellings."""
    truth = draw(rng, 1, 2, gamma=3.0)
    bounds = bounds_of(truth)
    share = truth.weight / truth.weight.sum()
    of_class = [(truth.X * share[:, None])[truth.y == k].sum(axis=0) for k in (0, 1)]
    costs = (
        truth.cost_matrix[0, 1] * of_class[0] - truth.cost_matrix[1, 0] * of_class[1]
    )
    density = 3.0 * math.exp(-3.0) / (1.0 + math.exp(-3.0)) ** 2
    assert bounds.alpha_saturated == pytest.approx(np.abs(costs).max() * density)
    both = [np.array([0, 1]), np.array([1, 0])]
    seen = [l_inf(slope(truth, np.array([mu]), c)) for mu in (-1.0, 1.0) for c in both]
    assert bounds.alpha_saturated == pytest.approx(max(seen))


def test_theorem_3_is_for_one_cut_and_two_classes_and_next_to_nothing_if_steep(rng):
    """None elsewhere; about 1e-221 at gamma = 512, and 0 where exp underflows."""
    assert bounds_of(draw(rng, 2, 2)).alpha_saturated is None
    assert bounds_of(draw(rng, 2, 3)).alpha_saturated is None
    assert 0.0 < bounds_of(draw(rng, 1, 2, gamma=512.0)).alpha_saturated < 1e-218
    assert bounds_of(draw(rng, 1, 2, gamma=4096.0)).alpha_saturated == 0.0


def test_stationary_is_not_best():
    """Equal sums in both classes: nothing pulls at zero, yet a cut halves the cost."""
    X, y = np.array([[0.0], [0.5], [0.5], [1.0]]), np.array([0, 1, 1, 0])
    bounds = penalty_bounds(X, y, sigma=0.0)
    assert bounds.alpha_local == 0.0 < bounds.best_local
    truth = Reference(
        X, y, np.ones(4), 0.5 * (1 - np.eye(2)), np.zeros(2), 1, 512.0, 0.1
    )
    cut = SimpleNamespace(
        coef=np.ones((1, 1)), threshold=np.array([0.25]), leaf_class=np.array([1, 0])
    )
    empty = empty_tree(truth, np.ones(1), np.array([0, 1]))
    assert truth.objective(cut) < truth.objective(empty) - 0.02


@pytest.mark.every_value
@pytest.mark.parametrize("n_trees", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
@shapes
def test_at_the_best_bounds_no_tree_beats_the_same_without_columns(
    depth, n_classes, sigma, n_trees, rng
):
    """For coefficients of any size, drawn and then improved by a search."""
    drawn = draw(rng, depth, n_classes, gamma=16.0)
    bounds = bounds_of(drawn, sigma=sigma)
    alphas = {"alpha_local": bounds.best_local, "alpha_global": bounds.best_global}
    truth = Reference(**{**vars(drawn), **alphas})
    n_features, n_branches = truth.X.shape[1], 2**depth - 1
    for _ in range(n_trees):
        threshold = rng.normal(0.0, 2.0 / truth.gamma, n_branches)
        empty = empty_tree(truth, threshold, rng.permutation(2**depth) % n_classes)

        def gap(flat, empty=empty):
            coef = np.clip(flat.reshape(n_features, n_branches), -1.0, 1.0)
            tree = SimpleNamespace(**{**vars(empty), "coef": coef})
            return truth.objective(tree) - truth.objective(empty)

        start = rng.normal(size=n_features * n_branches) * 10.0 ** rng.uniform(-3, 0)
        found = minimize(gap, start, method="Nelder-Mead", options={"maxfev": 300})
        assert found.fun >= -1e-12


def test_the_classifier_ends_empty_above_the_best_bounds(rng):
    """In its own units: bounds go straight into the estimator."""
    X, y = rng.normal(3.0, 10.0, (30, 2)), rng.permutation(np.arange(30) % 3)
    bounds = penalty_bounds(X, y, 2)
    clf = SORCTClassifier(
        2, 1.01 * bounds.best_local, 1.01 * bounds.best_global, random_state=0
    ).fit(X, y)
    assert not clf.coef_.any()
    assert bounds.gamma == clf.tree_.gamma


def test_the_papers_options_are_taken_and_the_likelihood_is_not(rng):
    """Its steepness is 512; there are bounds for the expected cost alone."""
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    paper, usual = penalty_bounds(X, y, **PAPER), penalty_bounds(X, y)
    assert (paper.gamma, usual.gamma) == (512.0, 3 * 64.0)
    with pytest.raises(ValueError, match="needs loss=\"cost\", got 'log'"):
        penalty_bounds(X, y, loss="log")


def test_the_variation_of_a_tree_is_bounded_and_how_tightly():
    """Exact up to depth 3 and within 13 % up to depth 8, by recursion over (V, sum).

    most[v] is the largest sum of a tree of value v on a grid; a node mixes two subtrees
    of values v_left > v_right.
    """
    value = np.linspace(0.0, 1.0, 65)
    most = np.zeros(value.size)
    for depth in range(1, 9):
        deeper = most.copy()
        for low, high in itertools.combinations(range(value.size), 2):
            between = slice(low, high + 1)
            gap = value[high] - value[low]
            q = (value[between] - value[low]) / gap
            total = q * (1.0 - q) * gap + q * most[high] + (1.0 - q) * most[low]
            np.maximum(deeper[between], total, out=deeper[between])
        most = deeper
        bound = _most_variation(depth)
        assert most.max() <= bound * (1.0 + 1e-12)
        assert most.max() >= bound * (1.0 - 1e-12 if depth <= 3 else 0.87)


def test_sigma_splits_between_the_penalties(rng):
    """Nothing is left to a penalty without a share; both are linear in it."""
    truth = draw(rng, 2, 3)
    local, both, spread = (bounds_of(truth, sigma=s) for s in (0.0, 0.25, 1.0))
    assert local.alpha_global == local.best_global == 0.0
    assert spread.alpha_local == spread.best_local == 0.0
    assert both.alpha_local == pytest.approx(0.75 * local.alpha_local)
    assert both.alpha_global == pytest.approx(0.25 * spread.alpha_global)
    assert both.alpha_local <= both.best_local
    assert both.alpha_global <= both.best_global


def same(first, second):
    """Whether two results agree to rounding."""
    names = ("alpha_local", "alpha_global", "best_local", "best_global", "column_slope")
    return all(
        np.allclose(getattr(first, name), getattr(second, name), rtol=1e-12)
        for name in names
    )


def test_weights_units_and_order_change_nothing(rng):
    """Weight 2 is the sample twice, 0 none; units cancel; rows may be permuted."""
    X, y = rng.normal(size=(20, 3)), rng.permutation(np.arange(20) % 3)
    weight = rng.permutation(np.arange(20) % 3)
    weight[:3], y[:3] = 1, [0, 1, 2]
    weighted = penalty_bounds(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(20), weight)
    assert same(weighted, penalty_bounds(X[repeated], y[repeated]))
    assert same(weighted, penalty_bounds(X, y, sample_weight=10.0 * weight))
    scaled = X * [1000.0, 1.0, 1e-3] + [0.0, 5.0, 0.0]
    assert same(weighted, penalty_bounds(scaled, y, sample_weight=weight))
    order = rng.permutation(20)
    assert same(
        weighted, penalty_bounds(X[order], y[order], sample_weight=weight[order])
    )


def test_categories_become_columns_as_in_the_classifier():
    """One per level but the first; a constant column pulls at nothing."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"c": ["u", "v", "w", "v"], "one": 1.0, "x": [0, 1, 2, 4]})
    reading = {**PAPER, "gamma": 4.0}
    bounds = penalty_bounds(frame, [0, 1, 1, 0], sigma=0.0, **reading)
    assert bounds.column_names == ("c = v", "c = w", "one", "x")
    # Sums by class over 4 samples, costs 0.5: v 1 and 1, w 0 and 1, x 1 and 3/4.
    assert bounds.column_slope.tolist() == pytest.approx([0.0, 0.125, 0.0, 0.03125])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": -0.1}, r"sigma must be a number in \[0, 1\], got -0.1"),
        ({"sigma": 1.5}, r"sigma must be a number in \[0, 1\], got 1.5"),
        ({"sigma": math.nan}, "sigma must be"),
        ({"sigma": "half"}, "sigma must be"),
        ({"gamma": 0.0}, "gamma must be a finite number > 0"),
        ({"depth": 0}, "depth must be"),
        ({"depth": 1}, "too few for 3 classes"),
        ({"cost_matrix": [[0.0]]}, "cost_matrix must have shape"),
        ({"sample_weight": [1.0]}, "sample_weight must have shape"),
        ({"y": [0, 0, 0, 0]}, "at least 2 classes"),
        ({"y": [0, 1, 2]}, "inconsistent numbers of samples"),
        ({"X": [[0.0], [1.0], [np.inf], [2.0]]}, "infinity"),
    ],
)
def test_bad_input_gets_one_clear_error(options, message):
    """As in the classifier."""
    given = {"X": [[0.0], [1.0], [2.0], [3.0]], "y": [0, 1, 2, 0], **options}
    with pytest.raises(ValueError, match=message):
        penalty_bounds(**given)


def test_a_table_without_a_usable_level_is_refused():
    """A categorical column of one level has no column."""
    frame = pytest.importorskip("pandas").DataFrame({"c": ["u", "u"]})
    with pytest.raises(ValueError, match="nothing to cut on"):
        penalty_bounds(frame, [0, 1])


def test_the_example_runs():
    """What the docstring shows is what comes out."""
    failed, attempted = doctest.testmod(sorct.estimators.bounds)
    assert attempted > 0
    assert failed == 0
