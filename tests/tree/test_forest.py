"""Forests as plain data: files both ways, damage told in one sentence."""

import copy

import numpy as np
import pytest

from sorct import Forest, SORCTForestClassifier


@pytest.fixture(scope="module")
def forest(iris):
    X, y = iris
    model = SORCTForestClassifier(
        3, 2, max_features=2, alpha_global=0.2, n_starts=1, random_state=0
    )
    return model.fit(X, y).forest_


def test_files_both_ways(forest, iris, tmp_path):
    X, _ = iris
    forest.to_json(tmp_path / "forest.json")
    again = Forest.from_json(tmp_path / "forest.json")
    assert again == forest
    assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert again.training == forest.training
    assert again.trees[0].encoder is again.trees[-1].encoder
    assert not list(tmp_path.glob(".*"))


def test_columns_that_no_tree_uses_may_be_left_out(forest, iris):
    X, _ = iris
    used = list(forest.variables_used)
    assert len(used) < X.shape[1]
    assert np.array_equal(forest.predict(X[used]), forest.predict(X))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "sorct-tree", "not a sorct forest"),
        ("version", 99, "of version 99"),
        ("version", True, "of version True"),
        ("weights", [1.0], "'weights' has shape"),
        ("weights", [0.5, 0.6, 0.2], "sum to 1"),
        ("weights", [-1.0, 1.0, 1.0], "positive"),
        ("trees", [], "'trees' must be a list"),
        ("trees", [1, 2, 3], "no object"),
        ("common", None, "'common' is missing"),
        ("training", {"odd": 1}, "unknown entries"),
        ("training", {"oob_score": "x"}, "oob_score"),
        ("training", {"drop": {"a": None}}, "'a'"),
        ("decision_cost", [[0.0, -1.0, 1.0]] * 3, "between 0"),
    ],
)
def test_damaged_files_are_refused(forest, key, value, message):
    data = copy.deepcopy(forest.to_dict())
    data[key] = value
    with pytest.raises(ValueError, match=message):
        Forest.from_dict(data)


def test_other_files_are_refused(tmp_path):
    for text in ("[]", "{", "nothing"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ValueError, match=r"x\.json"):
            Forest.from_json(tmp_path / "x.json")
