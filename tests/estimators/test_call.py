"""The call: what was asked for, without data and without what changes nothing."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sorct import SORCTClassifier, SORCTClassifierCV, Tree, sorct_path
from sorct.estimators.call import call_text, versions


def demanded(X, *, depth=None, alphas=(0.0, 1.0), n_jobs=None, random_state=None):
    """Stand-in for a function with options."""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "demanded()"),
        ({"depth": None, "alphas": (0.0, 1.0)}, "demanded()"),
        ({"depth": 2}, "demanded(depth=2)"),
        ({"depth": np.int64(2)}, "demanded(depth=2)"),
        ({"alphas": np.array([0.5])}, "demanded(alphas=[0.5])"),
        ({"X": [[1.0]], "n_jobs": 4}, "demanded()"),
        ({"random_state": demanded}, "demanded(random_state=<function>)"),
        ({"alphas": list(range(1000))}, "demanded(alphas=<list>)"),
    ],
)
def test_only_what_differs_from_the_defaults_is_told(given, text):
    """Data, threads and addresses in memory are not."""
    assert call_text(demanded, given) == text


def test_versions_name_what_training_rests_on():
    """Python and the packages, each with a version."""
    assert set(versions()) == {"python", "sorct", "numpy", "scikit-learn", "numba"}
    assert all(versions().values())


def test_a_tree_knows_its_call_and_is_equal_however_it_was_asked_for(tmp_path):
    """Through fit, path and cross-validation, and through a file."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    options = {"n_starts": 2, "random_state": 0}
    one = SORCTClassifier(alpha_local=1, n_jobs=2, **options).fit(X, y).tree_
    two = SORCTClassifier(alpha_local=1.0, **options).fit(X, y).tree_
    text = "SORCTClassifier(alpha_local=1, n_starts=2, random_state=0)"
    assert one.training["call"] == text
    assert one.training["n_samples"] == 150
    assert two.training["call"] != text
    assert one == two
    one.to_json(tmp_path / "tree.json")
    assert Tree.from_json(tmp_path / "tree.json").training["call"] == text
    grid = {"alphas_local": [1, 8], "alphas_global": 0, "n_solutions": 2}
    path = sorct_path(X, y, random_state=0, **grid)
    given = {"depths": None, "loss": "cost", "scaling": "auto"}
    search = SORCTClassifierCV(random_state=0, cv=2, **given, **grid).fit(X, y)
    start = "sorct_path(alphas_local=[1, 8], alphas_global=0, n_solutions=2"
    assert path.trees[0].training["call"] == f"{start}, random_state=0)"
    start = "SORCTClassifierCV(depths=None, alphas_local=[1, 8], alphas_global=0, loss="
    assert search.tree_.training["call"].startswith(start)
    assert search.path_ == path
