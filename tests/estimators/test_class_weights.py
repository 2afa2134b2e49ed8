"""Weights of classes act in training, and on nothing that is told of the tree."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score
from sklearn.utils.class_weight import compute_class_weight

from sorct import SORCTClassifier, Tree
from sorct.data.target import Classes
from sorct.estimators.class_weights import class_factors

losses = pytest.mark.parametrize("loss", ["cost", "log"])


def model(**options):
    """Make a classifier with few starts."""
    return SORCTClassifier(**{"n_starts": 2, "random_state": 0, **options})


@pytest.fixture
def rare(rng):
    """Draw a class of one row in twenty, which overlaps with the other."""
    y = np.repeat(["fraud", "good"], [40, 760])
    shift = np.where(y == "fraud", 1.5, 0.0)[:, np.newaxis]
    return rng.normal(0.0, 1.0, (800, 3)) + shift * [1.0, 1.0, 0.0], y


def same_cuts(one, other):
    """Two fits have the same cuts and leaves, to the last bit."""
    for name in ("coef_", "threshold_", "leaf_class_", "objective_", "cost_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


# -- training --------------------------------------------------------------------------


@losses
def test_a_weight_of_the_class_is_a_weight_of_its_rows(rare, loss):
    """Training sees the product; shares and masses do not."""
    X, y = rare
    own = np.where(y == "fraud", 8.0, 1.0)
    options = {"depth": 2, "loss": loss, "alpha_local": 0.01}
    by_class = model(class_weight={"fraud": 8.0}, **options).fit(X, y)
    by_row = model(**options).fit(X, y, sample_weight=own)
    same_cuts(by_class, by_row)
    share = by_class.tree_.class_share
    np.testing.assert_allclose(share, [0.05, 0.95])
    np.testing.assert_allclose(by_class.recall_, by_row.recall_, atol=1e-12)
    assert by_row.tree_.class_share[0] > 0.25


@losses
def test_weights_of_classes_and_rows_are_multiplied(rare, rng, loss):
    """As in scikit-learn."""
    X, y = rare
    weight = rng.integers(1, 4, len(y)).astype(float)
    both = model(class_weight={"fraud": 4, "good": 0.5}, loss=loss)
    both.fit(X, y, sample_weight=weight)
    product = np.where(y == "fraud", 4.0, 0.5) * weight
    same_cuts(both, model(loss=loss).fit(X, y, sample_weight=product))
    told = np.bincount(y == "good", weight) / weight.sum()
    np.testing.assert_allclose(both.tree_.class_share, told)


@losses
def test_balanced_classes_weigh_the_same_in_sum(rare, loss):
    """And weight 2 is still the row twice."""
    X, y = rare
    weight = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    options = {"class_weight": "balanced", "loss": loss}
    weighted = model(**options).fit(X, y, sample_weight=weight)
    twice = model(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    same_cuts(weighted, twice)
    share, factor = weighted.tree_.class_share, weighted.tree_.training.class_weight
    np.testing.assert_allclose(share * factor, 0.5)


def test_factors_are_those_of_scikit_learn(rng):
    """Without weights of rows; with a mapping up to a common factor."""
    y = rng.choice(list("abc"), 200, p=[0.7, 0.2, 0.1])
    target = Classes(np.array(list("abc")))
    for given in ("balanced", {"a": 0.5, "c": 3.0}):
        found = class_factors(given, target, target.codes(y), np.ones(200))
        expected = compute_class_weight(given, classes=target.labels, y=y)
        np.testing.assert_allclose(found / found[0], expected / expected[0])


@losses
def test_a_rare_class_is_found_once_it_counts(rare, loss):
    """Without weights the tree finds next to none of it."""
    X, y = rare
    options = {"depth": 1, "loss": loss, "alpha_local": 0.1}
    plain = model(**options).fit(X, y).predict(X)
    balanced = model(class_weight="balanced", **options).fit(X, y).predict(X)
    found = [recall_score(y, p, pos_label="fraud") for p in (plain, balanced)]
    assert found[0] < 0.5 < 0.7 < found[1]


# -- what is told ----------------------------------------------------------------------


@losses
def test_what_is_told_counts_rows_by_their_own_weights(rare, rng, loss):
    """Precision, recall, rows that follow the rules, rows in the leaves."""
    X, y = rare
    weight = rng.uniform(0.5, 2.0, len(y))
    clf = model(class_weight="balanced", loss=loss, depth=2)
    tree = clf.fit(X, y, sample_weight=weight).tree_
    told, predicted, leaf = tree.training, tree.predict(X), tree.apply(X)
    rates = {"average": None, "sample_weight": weight, "zero_division": 0.0}
    np.testing.assert_allclose(told.precision, precision_score(y, predicted, **rates))
    if loss == "log":
        np.testing.assert_allclose(told.recall, recall_score(y, predicted, **rates))
    follows = tree.follow(X) == predicted
    assert told.followed == pytest.approx(np.average(follows, weights=weight))
    for k, label in enumerate(tree.classes):
        counts = np.bincount(leaf, weight * (y == label), tree.n_leaves)
        np.testing.assert_allclose(tree.routed[k], counts / weight.sum(), atol=1e-12)
        soft = (weight * (y == label)) @ tree.leaf_reach(X) / weight.sum()
        np.testing.assert_allclose(tree.mass[k], soft, atol=1e-10)


def test_priors_replace_the_weighted_shares(rare):
    """The shares of the sample as priors undo the weights."""
    X, y = rare
    options = {"depth": 1, "loss": "log"}
    plain = model(**options).fit(X, y)
    balanced = model(class_weight="balanced", **options).fit(X, y)
    undone = balanced.predict_bayes(X, priors=[0.05, 0.95])
    assert np.mean(balanced.predict(X) == plain.predict(X)) < 0.9
    assert np.mean(undone == plain.predict(X)) > 0.98


def test_files_keep_the_weights_and_refuse_bad_ones(rare):
    """Priors are read as before."""
    X, y = rare
    tree = model(class_weight="balanced", depth=1).fit(X, y).tree_
    again = Tree.from_dict(tree.to_dict())
    assert again == tree
    assert again.training.class_weight == tree.training.class_weight
    priors = [0.3, 0.7]
    one, two = (t.predict_bayes(X, priors) for t in (tree, again))
    np.testing.assert_array_equal(one, two)
    data = tree.to_dict()
    data["training"]["class_weight"] = [0.0, 1.0]
    with pytest.raises(ValueError, match="class_weight"):
        Tree.from_dict(data)


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["equal", 3, True, [1.0, 2.0], {"fraud": 0.0}, {"fraud": -1}, {"fraud": "many"}]
    + [{"fraud": np.inf}, {"fraud": np.nan}, {"fraud": True}],
)
def test_what_is_no_weighting_is_refused_before_the_data(given):
    """The data here would be refused as well."""
    with pytest.raises(ValueError, match=r"class_weight must be None, \"balanced\" or"):
        model(class_weight=given).fit(None, [1])


def test_classes_that_are_not_there_are_refused(rare):
    """And so are weights beside which a class is nothing."""
    with pytest.raises(ValueError, match="class_weight names class 'theft'"):
        model(class_weight={"theft": 2.0}).fit(*rare)
    with pytest.raises(ValueError, match="class_weight leaves class 'good' next to"):
        model(class_weight={"fraud": 1e20}).fit(*rare)
