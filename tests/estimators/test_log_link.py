"""Trees of the logarithm: what they predict, what they refuse, and their files."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from sorct import SORCTRegressor, SORCTRegressorCV, Tree, export_text, sorct_path

QUICK = {"n_starts": 2, "tol": 1e-5, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """Factors multiply: the logarithm is a sum."""
    rng, n = np.random.default_rng(0), 200
    X = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "c": rng.random(n)})
    y = 1000.0 * np.exp(3.0 * X.a + 2.0 * X.b + 0.3 * rng.normal(size=n))
    return X, y.to_numpy()


@pytest.mark.parametrize(("depth", "leaf"), [(1, "constant"), (0, "linear")])
def test_it_is_the_tree_of_the_logarithm_times_a_factor(table, depth, leaf):
    """The factor of least squares, within the numbers of training."""
    X, y = table
    tree = SORCTRegressor(depth, 0.1, leaf=leaf, link="log", **QUICK).fit(X, y).tree_
    plain = SORCTRegressor(depth, 0.1, leaf=leaf, **QUICK).fit(X, np.log(y)).tree_
    told = np.clip(np.exp(plain.predict(X)), y.min(), y.max())
    factor = (told @ y) / (told @ told)
    told = np.clip(factor * told, y.min(), y.max())
    np.testing.assert_allclose(tree.predict(X), told, rtol=1e-9)
    np.testing.assert_array_equal(tree.coef, plain.coef)


def test_quantiles_need_no_factor(table):
    X, y = table
    given = {"loss": "quantile", "quantile": 0.9, **QUICK}
    tree = SORCTRegressor(1, 0.1, link="log", **given).fit(X, y).tree_
    plain = SORCTRegressor(1, 0.1, **given).fit(X, np.log(y)).tree_
    told = np.clip(np.exp(plain.predict(X)), y.min(), y.max())
    np.testing.assert_allclose(tree.predict(X), told, rtol=1e-9)


def test_no_number_is_told_beyond_those_of_training(table):
    X, y = table
    tree = SORCTRegressor(0, 0.1, leaf="linear", link="log", **QUICK).fit(X, y).tree_
    told = tree.predict(pd.DataFrame({"a": [-50.0, 50.0], "b": 0.5, "c": 0.5}))
    np.testing.assert_allclose(told, [y.min(), y.max()])


def test_leaves_are_told_in_the_units_of_y(table):
    X, y = table
    tree = SORCTRegressor(1, 0.1, link="log", **QUICK).fit(X, y).tree_
    leaf = tree.apply(X)
    for k in range(2):
        assert tree.leaf_mean[k] == pytest.approx(y[leaf == k].mean())
        gap = y[leaf == k] - tree.leaf_mean[k]
        assert tree.leaf_miss[k] == pytest.approx(np.sqrt((gap**2).mean()))
    np.testing.assert_allclose(tree.follow(X), tree.leaf_mean[leaf])
    assert tree.training.r2 == pytest.approx(r2_score(y, tree.predict(X)))
    assert "The tree is one of the logarithm." in export_text(tree)


def test_a_sum_of_logarithms_is_written_as_one(table):
    X, y = table
    tree = SORCTRegressor(0, 0.1, leaf="linear", link="log", **QUICK).fit(X, y).tree_
    line = next(one for one in export_text(tree).splitlines() if "≈" in one)
    assert line.startswith("≈ exp(")
    assert ") (±" in export_text(tree)


def test_files_tell_it_by_their_version(table):
    X, y = table
    tree = SORCTRegressor(1, 0.1, link="log", **QUICK).fit(X, y).tree_
    data = json.loads(json.dumps(tree.to_dict()))
    assert data["version"] == 5
    np.testing.assert_array_equal(Tree.from_dict(data).predict(X), tree.predict(X))
    for key, value in (("link", "sqrt"), ("log_spread", 0.0), ("low", -1.0)):
        with pytest.raises(ValueError, match=f"'{key}'"):
            Tree.from_dict({**data, "quantity": {**data["quantity"], key: value}})
    with pytest.raises(ValueError, match="'link'"):
        Tree.from_dict({**data, "version": 4})
    with pytest.raises(ValueError, match="'leaf_mean'"):
        Tree.from_dict({key: one for key, one in data.items() if key != "leaf_mean"})


def test_a_race_takes_the_logarithm_where_factors_multiply(table):
    X, y = table
    options = {"depths": 0, "leaf": "linear", "scaling": "auto", "cv": 2}
    options |= {"alphas_local": [0.1, 1.0], "relax": False, "n_solutions": 1}
    search = SORCTRegressorCV(**options, random_state=0).fit(X, y)
    assert search.best_params_["link"] == "log"
    assert "link log" in search.why_
    plain = SORCTRegressorCV(**options, link="identity", random_state=0).fit(X, y)
    assert plain.tree_.quantity.link == "identity"
    assert search.tree_.training.cv_r2 > plain.tree_.training.cv_r2 + 0.05


def test_intervals_do_not_cross_and_hold_their_share(table):
    X, y = table
    model = SORCTRegressor(1, 0.1, link="log", **QUICK).fit(X, y)
    low, high = model.interval(X, y).predict(X).T
    assert (low <= high).all()
    assert np.mean((y >= low) & (y <= high)) == pytest.approx(0.8, abs=0.05)
    with pytest.raises(ValueError, match="positive"):
        model.interval(X, y - y.max())


def test_what_has_no_logarithm_is_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="positive numbers, the least of y is"):
        SORCTRegressor(1, link="log").fit(X, y - y.min())
    with pytest.raises(ValueError, match="link must be one of"):
        SORCTRegressor(1, link="root").fit(X, y)


def test_rows_in_parts_give_the_same_tree(table, tmp_path):
    X, y = table
    file = tmp_path / "rows.csv"
    X.assign(y=y).to_csv(file, index=False)
    whole = SORCTRegressor(1, 0.1, link="log", **QUICK).fit(X, y)
    parts = SORCTRegressor(1, 0.1, link="log", **QUICK).fit(str(file), "y")
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-6)


def test_a_path_may_be_one_of_logarithms(table):
    X, y = table
    path = sorct_path(
        X, y, loss="square", depth=1, link="log", alphas_local=[0.1, 1.0],
        n_solutions=2, random_state=0,
    )  # fmt: skip
    assert all(tree.quantity.is_log for tree in path)
    assert path.evaluate(X, y)["r2"].max() > 0.5
