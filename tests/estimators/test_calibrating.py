"""Calibrated probabilities can be believed on rows that nobody has seen."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from sorct import InfeasibleError, SORCTClassifier, Tree
from sorct.estimators.calibrating import (
    MOST_POINTS,
    fitted_calibration,
    isotonic_map,
    sigmoid_map,
)
from sorct.tree.calibration import CurveMap, LogisticMap

kinds = pytest.mark.parametrize("kind", ["isotonic", "sigmoid"])
several = pytest.mark.parametrize("n_classes", [2, 3])


def model(**options):
    """Make a classifier with few starts."""
    return SORCTClassifier(**{"n_starts": 2, "random_state": 0, **options})


def noisy(rng, n, n_classes=2):
    """Draw a table in which no tree can be sure."""
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + 0.7 * X[:, 1] + 1.2 * rng.normal(size=n)
    limits = [0.5] if n_classes == 2 else [-0.8, 0.8]
    return X, np.array(["low", "mid", "top"])[np.digitize(score, limits)]


def brier(proba, y, classes):
    """Mean squared distance of probabilities from what happened."""
    return float(((proba - (y[:, np.newaxis] == classes)) ** 2).sum(axis=1).mean())


# -- fits ------------------------------------------------------------------------------


@pytest.mark.a_few(1)
@pytest.mark.every_value
@kinds
@several
def test_an_overconfident_tree_says_less_and_is_right(rng, kind, n_classes):
    """Log-loss and Brier score on fresh rows are better by far."""
    X, y = noisy(rng, 400, n_classes)
    fresh, truth = noisy(rng, 4000, n_classes)
    plain, calibrated = (
        model(loss="cost", calibration=one).fit(X, y) for one in (None, kind)
    )
    np.testing.assert_array_equal(plain.coef_, calibrated.coef_)
    before, after = (clf.predict_proba(fresh) for clf in (plain, calibrated))
    assert log_loss(truth, after) < 0.6 * log_loss(truth, before)
    assert brier(after, truth, plain.classes_) < brier(before, truth, plain.classes_)
    np.testing.assert_allclose(after.sum(axis=1), 1.0, atol=1e-12)
    assert after.min() > 0.0
    if kind == "sigmoid":
        # A level of a curve may lie on either side of 1/2 by chance.
        assert calibrated.score(fresh, truth) > plain.score(fresh, truth) - 0.02


@pytest.mark.a_few(1)
@pytest.mark.every_value
@kinds
@several
def test_files_keep_the_maps(rng, kind, n_classes):
    """To the last bit, through JSON."""
    X, y = noisy(rng, 200, n_classes)
    tree = model(calibration=kind, loss="log").fit(X, y).tree_
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert again == tree
    assert again.calibration == tree.calibration
    np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))
    assert len(tree.calibration.maps) == (1 if n_classes == 2 else n_classes)


@pytest.mark.slow
@pytest.mark.a_few(1)
@kinds
def test_the_same_seed_gives_the_same_maps(rng, kind):
    """With any number of jobs; another seed draws other folds."""
    X, y = noisy(rng, 200)
    one, two, other = (
        model(calibration=kind, random_state=seed, n_jobs=jobs).fit(X, y).tree_
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert one.calibration == two.calibration != other.calibration


@pytest.mark.every_value
@kinds
@pytest.mark.parametrize("loss", ["cost", "log"])
def test_costs_act_on_calibrated_probabilities(rng, kind, loss):
    """Under either loss the class of least expected cost is predicted."""
    X, y = noisy(rng, 300)
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    clf = model(calibration=kind, loss=loss, cost_matrix=costs).fit(X, y)
    cheapest = (clf.predict_proba(X) @ costs).argmin(axis=1)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[cheapest])


@pytest.mark.parametrize("loss", ["cost", "log"])
def test_floors_hold_for_what_is_predicted(rng, loss):
    """On the training rows, and so it is told."""
    X, y = noisy(rng, 300)
    clf = model(calibration="sigmoid", loss=loss, min_recall={"mid": 0.85}).fit(X, y)
    found = np.mean(clf.predict(X)[y == "mid"] == "mid")
    assert found >= 0.85
    assert clf.recall_[1] == pytest.approx(found)


def test_weighted_classes_are_calibrated_by_the_rows_themselves(rng):
    """Balanced training says too much of a rare class, calibrated it says its share."""
    X, y = noisy(rng, 600)
    rare = (y == "low") | (rng.uniform(size=600) < 0.15)
    X, y = X[rare], y[rare]
    share = np.mean(y == "mid")
    options = {"class_weight": "balanced", "loss": "log", "depth": 1}
    plain = model(**options).fit(X, y).predict_proba(X)[:, 1].mean()
    calibrated = model(calibration="sigmoid", **options).fit(X, y)
    assert plain > 2.0 * share
    assert calibrated.predict_proba(X)[:, 1].mean() == pytest.approx(share, rel=0.15)


def test_folds_may_lack_levels_and_gaps(rng):
    """What would be refused at prediction is taken from held-out rows."""
    X, y = noisy(rng, 120)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = ["once", *rng.choice(["u", "v"], 119)]
    frame.loc[3, "a"] = np.nan
    strict = {"handle_unknown": "error", "handle_missing": "error", "min_frequency": 1}
    clf = model(calibration="sigmoid", **strict).fit(frame, y)
    assert clf.tree_.calibration is not None
    assert clf.tree_.encoder.unknown == "error"


# -- maps ------------------------------------------------------------------------------


def said_and_true(rng, n, slope=1.0, shift=0.0):
    """Draw probabilities that are true once slope and shift are applied."""
    odds = rng.normal(0.0, 2.0, n)
    true = 1.0 / (1.0 + np.exp(-(slope * odds + shift)))
    return 1.0 / (1.0 + np.exp(-odds)), rng.uniform(size=n) < true


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.3, 1.0), (2.0, -1.0)])
def test_the_sigmoid_finds_slope_and_shift(rng, slope, shift):
    """Nothing to correct is slope 1 and shift 0."""
    found = sigmoid_map(*said_and_true(rng, 50_000, slope, shift), np.ones(50_000))
    assert isinstance(found, LogisticMap)
    assert found.slope == pytest.approx(slope, abs=0.06)
    assert found.shift == pytest.approx(shift, abs=0.06)


def test_a_sigmoid_is_never_infinite_and_never_falls(rng):
    """Separated rows, rows said the wrong way round, rows all said the same."""
    own, one = np.arange(100) >= 50, np.ones(100)
    apart = sigmoid_map(np.where(own, 0.9, 0.1), own, one)
    assert 0.98 < apart(np.array([0.9]))[0] < 1.0
    wrong = sigmoid_map(np.where(own, 0.1, 0.9), own, one)
    np.testing.assert_allclose(wrong(np.array([0.1, 0.9])), 0.5, atol=1e-9)
    flat = sigmoid_map(np.full(100, 0.3), np.arange(100) < 10, one)
    np.testing.assert_allclose(flat(np.array([0.3])), 0.1, atol=0.02)


def test_the_isotonic_map_is_scikit_learns_with_a_row_at_either_end(rng):
    """Between 0 and 1, so that no log-loss is infinite."""
    proba, own = said_and_true(rng, 60)
    proba = proba.round(6)
    found = isotonic_map(proba, own, np.ones(60))
    x, y = np.append(proba, [proba.min(), proba.max()]), np.append(own, [1, 0])
    np.testing.assert_allclose(
        found(proba), IsotonicRegression().fit(x, y).predict(proba), atol=1e-12
    )
    assert 0.0 < min(found.values) <= max(found.values) < 1.0


@pytest.mark.parametrize("n", [100, 1000, 100_000])
def test_a_curve_has_few_points_and_is_as_good(rng, n):
    """No more than an export can hold, none of them idle."""
    proba, own = said_and_true(rng, n, 0.5, -1.0)
    curve = isotonic_map(proba, own, np.ones(n))
    assert isinstance(curve, CurveMap)
    assert len(curve.points) <= MOST_POINTS
    values = np.array(curve.values)
    assert not ((values[:-2] == values[1:-1]) & (values[1:-1] == values[2:])).any()
    fresh, truth = said_and_true(rng, 50_000, 0.5, -1.0)
    best = IsotonicRegression(out_of_bounds="clip").fit(proba, own).predict(fresh)
    ours, theirs = (np.mean((p - truth) ** 2) for p in (curve(fresh), best))
    assert ours < theirs + 1e-3


@pytest.mark.parametrize("seed", [6, 8, 9])
def test_no_curve_lets_the_last_bit_of_what_is_said_decide(seed):
    """Rows that are told nearly the same stand together: exports differ by bits."""
    rng = np.random.default_rng(seed)
    proba = np.concatenate([[0.0], 1.6e-15 * rng.random(19), rng.random(20)])
    own = rng.random(40) < np.repeat([0.3, 0.7], 20)
    own[0] = False
    curve = isotonic_map(proba, own, np.ones(40))
    slope = np.diff(curve.values) / np.diff(curve.points)
    assert slope.max() <= 1e6


@kinds
def test_weights_are_repetitions(rng, kind):
    """Up to the rows that smooth the ends."""
    proba, own = said_and_true(rng, 400)
    weight = rng.integers(1, 4, 400)
    both = np.stack([1.0 - proba, proba])
    once = fitted_calibration(kind, both, own.astype(int), weight.astype(float))
    many = fitted_calibration(
        kind,
        np.repeat(both, weight, axis=1),
        np.repeat(own.astype(int), weight),
        np.ones(weight.sum()),
    )
    np.testing.assert_allclose(once(both), many(both), atol=1e-4)


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["platt", True, 5, ["isotonic"]])
def test_an_unknown_calibration_is_refused_before_the_data(given):
    """The data here would be refused as well."""
    with pytest.raises(ValueError, match="calibration must be None or one of"):
        model(calibration=given).fit(None, [1])


def test_a_class_of_one_row_is_refused(rng):
    """Nothing can be held out of it."""
    X, y = noisy(rng, 50)
    y[:] = "low"
    y[0] = "mid"
    with pytest.raises(ValueError, match="there is 1 of class 'mid'"):
        model(calibration="sigmoid").fit(X, y)


def test_directions_and_maps_of_several_classes_are_refused(rng):
    """Two classes keep their directions: maps never fall."""
    X, y = noisy(rng, 150, 3)
    options = {"monotonic_cst": [1, 0, 0, 0], "calibration": "isotonic"}
    with pytest.raises(ValueError, match="monotonic_cst needs two classes"):
        model(positive_class="top", **options).fit(X, y)
    X, y = noisy(rng, 150)
    clf = model(**options).fit(X, y)
    grid = np.zeros((50, 4))
    grid[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(clf.predict_proba(grid)[:, 1]) >= 0.0).all()


def test_a_fold_that_misses_a_floor_says_which(rng, monkeypatch):
    """The error names the fold and keeps the rates."""
    X, y = noisy(rng, 100)
    clf, fit = model(calibration="sigmoid"), SORCTClassifier.fit

    def refuse(self, *given, **more):
        if self is clf:
            return fit(self, *given, **more)
        raise InfeasibleError("Too high.", {"low": 0.5})

    monkeypatch.setattr(SORCTClassifier, "fit", refuse)
    with pytest.raises(InfeasibleError, match="Fold 0 of the calibration: Too") as got:
        clf.fit(X, y)
    assert got.value.recall == {"low": 0.5}
