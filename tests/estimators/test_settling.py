"""Searches whose tree is calibrated, or promises a recall on new rows."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, SORCTClassifierCV, Tree, explain
from sorct.estimators.promises import order_statistic

FEW = {"depths": 1, "alphas_local": [1.0, 8.0], "scaling": "auto", "n_solutions": 1,
       "cv": 2, "random_state": 0}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    """Two overlapping classes, a fifth of the rows of the second; a useless column."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(400) % 5 == 0, "fraud", "fine")
    X = rng.normal(size=(400, 3)) + 1.5 * np.outer(y == "fraud", [1.0, 1.0, 0.0])
    return pd.DataFrame(X, columns=list("abc")), y


@pytest.mark.a_few(1)
@pytest.mark.parametrize("loss", ["log", "cost"])
def test_a_search_calibrates_the_tree_it_chooses(table, loss):
    """The choice is the same; probabilities are mapped, ranks and path kept."""
    plain = SORCTClassifierCV(loss=loss, **FEW).fit(*table)
    mapped = SORCTClassifierCV(loss=loss, calibration="sigmoid", **FEW).fit(*table)
    assert mapped.best_index_ == plain.best_index_
    np.testing.assert_array_equal(mapped.coef_, plain.coef_)
    before, after = (m.predict_proba(table[0])[:, 1] for m in (plain, mapped))
    assert not np.allclose(before, after)
    order = np.argsort(before)
    assert (np.diff(after[order]) >= 0.0).all()
    # As many in sum as there are: what Platt's map is fitted for, on held-out rows.
    assert after.mean() == pytest.approx(0.2, abs=0.02)
    assert any(tree is mapped.tree_ for tree in mapped.path_.offered)
    read = Tree.from_dict(mapped.tree_.to_dict())
    np.testing.assert_array_equal(read.predict_proba(table[0])[:, 1], after)


def test_a_search_promises_recall_by_rows_it_has_not_seen(table):
    """Held-out rows are found as often as the order statistic asks."""
    X, y = table
    search = SORCTClassifierCV(
        loss="log", min_recall={"fraud": 0.8}, confidence=0.9, **FEW
    ).fit(X, y)
    assert search.tree_.training.confidence == 0.9
    n_held = 400 // 5 // 2
    assert search.tree_.training.n_samples == 400 - n_held
    found = (search.predict(X[y == "fraud"]) == "fraud").sum()
    # Of the rows held out at least so many are found, by the promise.
    assert found >= order_statistic(n_held, 0.8, 0.9)
    assert search.recall_[list(search.classes_).index("fraud")] > 0.0


def test_a_promise_is_told_and_not_as_a_floor(table):
    """Training rows need not meet it; folds told of another decision."""
    promise = {"min_recall": {"fraud": 0.8}, "confidence": 0.9}
    tree = SORCTClassifierCV(loss="log", **promise, **FEW).fit(*table).tree_
    text = " ".join(str(tree).split())
    assert "at least 0.8 of fraud is found, with probability 0.9" in text
    assert "So that the promise is kept, predict says" in text
    assert "(floor" not in text
    assert "held-out rows:" not in text
    assert tree.training.cv_recall is tree.training.cv_accuracy is None
    floored = SORCTClassifierCV(
        loss="log", min_recall=promise["min_recall"], **FEW
    ).fit(*table)
    text = str(floored.tree_)
    assert "Promise" not in text
    assert "(floor 0.8)" in text


@pytest.mark.parametrize("kind", ["isotonic", "sigmoid"])
@pytest.mark.parametrize("options", [{}, {"min_recall": {"second": 0.9}}])
def test_leaves_say_what_is_predicted_there_for_certain(rng, kind, options):
    """Calibrated, and by the decision; so do text and explanations."""
    X = rng.uniform(size=(400, 3))
    level = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=400)
    y = np.select([level > 1.3, level > 0.8], ["third", "second"], "first")
    tree = SORCTClassifier(
        depth=2, loss="log", alpha_local=4.0, calibration=kind, random_state=0,
        n_starts=3, **options,
    ).fit(X, y).tree_  # fmt: skip
    says = tree.calibration(tree.leaf_proba)
    worth = says if tree.decision_cost is None else -tree.decision_cost.T @ says
    np.testing.assert_array_equal(tree.leaf_class, worth.argmax(axis=0))
    for leaf in tree.view.leaves:
        own = tree.calibration(leaf.proba[:, np.newaxis])[:, 0]
        np.testing.assert_allclose(leaf.says, own, rtol=0.0, atol=1e-15)
    for row in X[:20]:
        told = explain(tree, row)
        says = [[one.says.tolist(), tree.classes[one.code]] for one in tree.view.leaves]
        assert [list(told.leaf_says.values()), told.leaf] in says


def test_what_cannot_be_promised_is_refused_before_any_work(table, monkeypatch):
    """Too few rows of the class, or no floor to be confident of."""
    monkeypatch.setattr("sorct.estimators.contest.Contest.run", pytest.fail)
    with pytest.raises(ValueError, match="needs at least 299 rows of the class"):
        SORCTClassifierCV(
            min_recall={"fraud": 0.99}, confidence=0.95, **FEW
        ).fit(*table)  # fmt: skip
    with pytest.raises(ValueError, match="confidence"):
        SORCTClassifierCV(confidence=0.95, **FEW).fit(*table)
    with pytest.raises(ValueError, match="calibration must be None or one of"):
        SORCTClassifierCV(calibration="platt", **FEW).fit(*table)


def test_a_promise_in_a_search_is_that_of_a_single_fit(table):
    """The same rows are held out for the same seed, with one point to choose from."""
    X, y = table
    promised = {"min_recall": {"fraud": 0.8}, "confidence": 0.9, "loss": "log"}
    one = {**FEW, "alphas_local": 4.0}
    search = SORCTClassifierCV(relax=False, **promised, **one).fit(X, y)
    single = SORCTClassifier(depth=1, alpha_local=4.0, random_state=0, **promised)
    single.fit(X, y)
    np.testing.assert_allclose(search.coef_, single.coef_, atol=1e-5)
    np.testing.assert_allclose(
        search.tree_.decision_cost, single.tree_.decision_cost, rtol=1e-3
    )
