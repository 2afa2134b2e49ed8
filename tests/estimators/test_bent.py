"""Trees of bent numbers: what they can say, directions, missing cells, the race."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from sorct import (
    SORCTClassifier,
    SORCTRegressor,
    SORCTRegressorCV,
    Tree,
    explain,
    export_text,
)
from sorct.data.quantity import Quantity

QUICK = {"n_starts": 2, "tol": 1e-6, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """A number that first helps and then hurts, and one that is of no use."""
    rng, n = np.random.default_rng(0), 300
    X = pd.DataFrame({"age": rng.uniform(0.0, 100.0, n), "none": rng.random(n)})
    X.age = np.sort(X.age)
    # The middle quartiles: flat between the second and the third.
    y = np.minimum(X.age, X.age[150]) - 2.0 * np.maximum(X.age - X.age[225], 0.0)
    return X, (y + rng.normal(size=n)).to_numpy()


def test_a_single_leaf_without_penalty_is_least_squares_on_the_parts(table):
    X, y = table
    model = SORCTRegressor(
        0, 0.0, leaf="linear", scaling="bent", **{**QUICK, "tol": 1e-9}
    ).fit(X, y)
    columns = model.tree_.encoder.encode(X)
    plain = LinearRegression().fit(columns, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(columns), atol=1e-4)
    assert r2_score(y, model.predict(X)) > 0.98


def test_parts_are_chosen_one_by_one(table):
    """Where the line is flat, its part is left out, and so is the idle number."""
    X, y = table
    given = {"leaf": "linear", "scaling": "bent", **QUICK}
    tree = SORCTRegressor(0, 2.0, **given).fit(X, y).tree_
    assert tree.variables_used == ("age",)
    names = tree.encoder.variables[0].column_names
    assert tree.columns_used == (*names[:2], names[3])


def test_rules_tell_parts_and_what_they_are(table):
    X, y = table
    given = {"leaf": "linear", "scaling": "bent", **QUICK}
    tree = SORCTRegressor(0, 2.0, **given).fit(X, y).tree_
    text = export_text(tree)
    parts = [f"({name})" for name in tree.columns_used]
    assert sorted(parts, key=text.index) == parts
    assert "(x from a to b) is how far x comes into that part" in text
    same = Tree.from_dict(tree.to_dict())
    np.testing.assert_array_equal(same.predict(X), tree.predict(X))


def test_a_cut_on_one_part_is_a_plain_question(table):
    X, y = table
    grown = SORCTClassifier(1, 1.0, scaling="bent", **QUICK)
    tree = grown.fit(X[["age"]], X.age > X.age[100]).tree_
    coef = np.where(np.arange(4)[:, np.newaxis] == 1, 1.0, 0.0)
    bends = tree.encoder.variables[0].bends
    tree = replace(tree, coef=coef, threshold=np.array([0.5 / 4]))
    middle = 0.5 * (bends[1] + bends[2])
    assert f"cut 1: age > {middle:.4g}" in export_text(tree)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("sign", [1, -1])
def test_directions_hold_over_all_parts(table, leaf, sign):
    X, y = table
    given = {"leaf": leaf, "scaling": "bent", "monotonic_cst": {"age": sign}, **QUICK}
    tree = SORCTRegressor(1, 0.01, **given).fit(X, sign * y).tree_
    along = pd.DataFrame({"age": np.linspace(-5.0, 105.0, 200), "none": 0.5})
    told = sign * tree.predict(along)
    assert np.ptp(told) > 0.0
    assert np.all(np.diff(told) >= -1e-9)


def test_missing_cells_have_a_say_of_their_own(table):
    X, y = table
    holes = X.copy()
    holes.iloc[::5] = np.nan
    given = {"leaf": "linear", "scaling": "bent", **QUICK}
    tree = SORCTRegressor(0, 0.01, **given).fit(holes, y).tree_
    lacking = pd.DataFrame({"age": [np.nan], "none": [np.nan]})
    assert tree.predict(lacking)[0] == pytest.approx(y[::5].mean(), abs=1.0)


@pytest.mark.parametrize("bent", [True, False])
def test_the_race_bends_numbers_only_where_that_pays(table, bent):
    X, y = table
    if not bent:
        y = X.age.to_numpy() + np.random.default_rng(1).normal(size=300)
    search = SORCTRegressorCV(depths=[0, 1], cv=3, n_solutions=2, random_state=0)
    search.fit(X, y)
    assert (search.best_params_["scaling"] == "bent") is bent
    assert set(search.race_["scaling"]) >= {"auto", "bent"}


def test_bent_numbers_race_at_once_and_quantiles_later(table):
    """Curves tell nothing of straight lines; quantiles are tried next to the best."""
    X, y = table
    found = SORCTRegressorCV()._choices(X, Quantity(0.0, 1.0, -1.0, 1.0)).first
    bent = [(one.depth, one.leaf) for one in found if one.scaling == "bent"]
    assert bent == [(0, "linear"), (1, "linear")]
    assert {one.scaling for one in found} == {"auto", "bent"}
    given = SORCTRegressorCV(scaling={"age": "quantile"})
    found = given._choices(X, Quantity(0.0, 1.0, -1.0, 1.0)).first
    assert all(one.scaling == {"age": "quantile"} for one in found)


def test_a_mapping_bends_single_columns(table):
    X, y = table
    tree = SORCTRegressor(1, 0.1, scaling={"age": "bent"}, **QUICK).fit(X, y).tree_
    assert [len(v.column_names) for v in tree.encoder.variables] == [4, 1]


def test_files_give_the_tree_of_the_table_in_memory(table, tmp_path):
    X, y = table
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = SORCTRegressor(0, 0.1, leaf="linear", scaling="bent", **QUICK)
    here = model.fit(X, y).tree_
    there = model.fit(str(tmp_path / "rows.parquet"), "y").tree_
    assert [v.bends for v in there.encoder.variables] == [
        v.bends for v in here.encoder.variables
    ]
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-5)


def test_changes_that_reach_a_value_are_found_between_bends(table):
    """The line falls in the last part alone: a smaller age is the nearest way up."""
    X, y = table
    given = {"leaf": "linear", "scaling": "bent", **QUICK}
    tree = SORCTRegressor(0, 0.1, **given).fit(X, y).tree_
    row = X.iloc[-1]
    goal = float(tree.predict(X.iloc[[-1]])[0]) + 10.0
    flip = next(one for one in explain(tree, row, reach=goal).changes if one.value)
    assert flip.variable == "age"
    assert flip.to == pytest.approx(goal, rel=1e-3)
    # Slopes of the last part are about -2: some five years less.
    assert row["age"] - flip.value == pytest.approx(5.0, abs=1.5)
