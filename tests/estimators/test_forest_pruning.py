"""Variables of a race that a forest has no use for are left out, if asked for."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, SORCTForestClassifier, SORCTForestRegressor
from sorct.estimators import forest_pruning, forest_raced
from sorct.estimators.forest_pruning import _fewest, _sizes_up_to, useful_variables
from sorct.estimators.forest_raced import Raced
from sorct.search.forest import said_by

QUICK = {"n_trees": 3, "n_starts": 1, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """Two variables of use and three that tell nothing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((150, 5)), columns=list("abcde"))
    y = np.where(X.b + X.d + 0.2 * rng.normal(size=150) > 1.0, "yes", "no")
    return X, y


@pytest.fixture
def raced(monkeypatch, table):
    """Forests whose race ends with a tree that uses all of them."""
    model = SORCTClassifier(1, 0.0, loss="log", gamma="gentle", random_state=0)
    tree = model.fit(*table).tree_
    assert len(tree.variables_used) == 5
    settings = {"relaxed": 1.0, "alpha_local": 0.0, "alpha_global": 0.0}
    model = SORCTForestClassifier()._model()
    found = Raced(tree, settings, pd.DataFrame(), model, True)
    monkeypatch.setattr(Raced, "of", lambda *asked, **more: found)
    return tree


def test_what_tells_nothing_is_left_out(table, raced):
    X, y = table
    fits = [
        SORCTForestClassifier(rule="fewest", n_jobs=n, **QUICK).fit(X, y)
        for n in (1, 2)
    ]
    forest = fits[0].forest_
    assert set(forest.variables_used) == {"b", "d"}
    assert set(forest.trees[0].variables_used) == {"b", "d"}
    assert forest.weights[0] == 0.5
    assert forest == fits[1].forest_
    every = SORCTForestClassifier(**QUICK).fit(X, y).forest_
    assert set(every.variables_used) == set("abcde")


def test_the_race_is_asked_for_its_best_tree(table, monkeypatch):
    """And not for the rule, which trees do not know."""
    asked = []

    class Search:
        cv = 5

        def __init__(self, **options):
            asked.append(options["rule"])

        def fit(self, *given):
            raise InterruptedError

    monkeypatch.setattr("sorct.estimators.cross_validated.SORCTClassifierCV", Search)
    for rule in ("fewest", None, "one-standard-error"):
        with pytest.raises(InterruptedError):
            SORCTForestClassifier(rule=rule, **QUICK).fit(*table)
    assert asked == ["best", "best", "one-standard-error"]


def test_the_loss_is_out_of_bag(table, raced, monkeypatch):
    """Against sums row by row, over the trees that have not seen a row."""
    seen = []

    def watched(whole, bags, order, variable):
        groups, rows = np.sort(order[:2]), whole.data.rows
        trees = zip(bags.problems, bags.anew(groups), strict=True)
        said = [said_by(problem, one, rows) for problem, one in trees]
        total = weight = 0.0
        for i, code in enumerate(rows.codes):
            new = [one[code, i] for b, one in enumerate(said) if bags.outside[b, i]]
            if new:
                total -= rows.weight[i] * np.log(np.mean(new))
                weight += rows.weight[i]
        assert 0.0 < weight < rows.weight.sum()
        seen.append((total / weight, order[:2].tolist()))
        return useful_variables(whole, bags, order, variable)

    def kept(sizes, losses):
        seen.append((sizes, losses))
        return _fewest(sizes, losses)

    monkeypatch.setattr(forest_raced, "N_BAGS", 4)
    monkeypatch.setattr(forest_raced, "useful_variables", watched)
    monkeypatch.setattr(forest_pruning, "_fewest", kept)
    SORCTForestClassifier(rule="fewest", **QUICK).fit(*table)
    (slow, first), (sizes, losses) = seen
    assert sorted(first) == [1, 3]
    assert sizes == [1, 2, 3, 4, 5]
    assert losses[1] == pytest.approx(slow, rel=1e-9)


def test_the_fewest_within_one_per_cent_of_the_least_loss():
    assert _fewest([1, 2, 3, 4], [0.9, 0.504, 0.5, 0.52]) == 2
    assert _fewest([1, 2, 3, 4], [0.9, 0.506, 0.5, 0.52]) == 3
    assert _fewest([2, 5], [0.0, 0.0]) == 2


def test_numbers_that_are_tried():
    assert _sizes_up_to(1) == [1]
    assert _sizes_up_to(10) == list(range(1, 11))
    many = _sizes_up_to(60)
    assert (len(many), many[0], many[-1]) == (10, 2, 60)
    assert many == sorted(set(many))
    assert len(set(_sizes_up_to(11))) == 10


def test_without_a_race_the_rule_is_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="needs a race, and with 'depth' there is"):
        SORCTForestClassifier(rule="fewest", depth=1).fit(X, y)
    with pytest.raises(ValueError, match="with 'selection' there is none"):
        SORCTForestClassifier(rule="fewest", selection="path").fit(X, y)
    with pytest.raises(ValueError, match="needs a race, and with 'depth' there is"):
        SORCTForestRegressor(rule="fewest", depth=1).fit(X, X.a)
    with pytest.raises(ValueError, match="rule must be one of"):
        SORCTForestRegressor(rule="paired").fit(X, X.a)
