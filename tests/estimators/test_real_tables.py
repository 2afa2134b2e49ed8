"""Tables as people have them: whole categories, missing cells, directions, prices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import (
    PAPER,
    SORCTClassifier,
    SORCTClassifierCV,
    Tree,
    explain,
    penalty_bounds,
    sorct_path,
)
from sorct.data.terms import OTHER


def raw_table(rng, n=240):
    """Numbers with a tail and holes, many levels, an order, dates; and a target."""
    income = rng.lognormal(3.0, 1.0, n)
    city = rng.choice([f"c{k}" for k in range(12)], n, p=[0.3, 0.3, *[0.04] * 10])
    grade = rng.choice(["low", "mid", "high"], n)
    X = pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 90, n),
            "city": city,
            "grade": pd.Categorical(grade, ["low", "mid", "high"], ordered=True),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "noise": rng.random(n),
        }
    )
    good = np.log(income) + 1.5 * (city == "c0") + 0.4 * (grade == "high")
    y = np.where(good + 0.2 * rng.normal(size=n) > 3.5, "yes", "no")
    X.loc[rng.choice(n, 30, replace=False), "income"] = np.nan
    X.loc[rng.choice(n, 10, replace=False), "city"] = None
    return X, y


@pytest.fixture(scope="module")
def fitted():
    """A tree on such a table."""
    X, y = raw_table(np.random.default_rng(0))
    clf = SORCTClassifier(alpha_local=0.02, n_starts=4, random_state=0).fit(X, y)
    return clf, X, y


def test_a_raw_table_is_taken_as_it_is(fitted):
    """Nothing to impute, to code or to drop; and it is learned."""
    clf, X, y = fitted
    assert clf.score(X, y) > 0.85
    assert np.isfinite(clf.predict_proba(X)).all()


def test_both_penalties_choose_variables(fitted):
    """Levels that are used together count once, in the cut and in the tree."""
    _, X, y = fitted
    for alphas in ((0.3, 0.0), (0.0, 0.3)):
        clf = SORCTClassifier(1, *alphas, n_starts=4, random_state=0).fit(X, y)
        tree = clf.tree_
        used = len(tree.variables_used)
        assert 0 < used < 6
        assert tree.local_sparsity == pytest.approx(100.0 * (6 - used) / 6)
        assert tree.global_sparsity == pytest.approx(100.0 * (6 - used) / 6)


def test_the_objective_counts_variables(fitted):
    """alpha_local mean of the largest coefficient of a variable in a cut, and so on."""
    _, X, y = fitted
    clf = SORCTClassifier(1, 0.05, 0.03, n_starts=4, random_state=0).fit(X, y)
    encoder, size = clf.tree_.encoder, np.abs(clf.coef_)
    own = [size[encoder.columns_of(i)] for i in range(6)]
    local = np.mean([part.max(axis=0) for part in own])
    whole = np.mean([part.max() for part in own])
    expected = clf.cost_ + 0.05 * local + 0.03 * whole
    assert clf.objective_ == pytest.approx(expected, rel=1e-9)


def test_names_of_levels_do_not_matter(fitted):
    """No level is a reference: renamed levels give the same predictions."""
    _, X, y = fitted
    other = X.assign(city=X["city"].map(lambda c: f"z{c[::-1]}", na_action="ignore"))
    proba = [
        SORCTClassifier(1, 0.05, n_starts=6, random_state=0).fit(T, y).predict_proba(T)
        for T in (X, other)
    ]
    np.testing.assert_allclose(proba[0], proba[1], atol=1e-3)


def test_rare_and_new_levels_are_pooled(fitted):
    """Levels with few rows share a column, and levels never seen are among them."""
    clf, X, _ = fitted
    city = clf.tree_.encoder.variables[2]
    counts = X["city"].value_counts()
    assert set(city.known.levels) == set(counts.index[counts >= 5])
    new, rare = X.head(5).assign(city="Mars"), X.head(5).copy()
    if OTHER in city.choices:
        rare["city"] = counts.index[counts < 5][0]
        np.testing.assert_array_equal(clf.predict_proba(new), clf.predict_proba(rare))
    strict = SORCTClassifier(1, n_starts=2, handle_unknown="error", random_state=0).fit(
        X, clf.predict(X)
    )
    with pytest.raises(ValueError, match=r"'city'.*never seen in training: 'Mars'"):
        strict.predict(new)
    strict.predict(X)


def test_missing_cells_where_training_had_none(fitted):
    """An error that names all columns and the way out; or the median."""
    clf, X, y = fitted
    holes = X.head(6).copy()
    holes["age"] = holes["age"].astype(float)
    holes.loc[holes.index[2], "age"] = np.nan
    with pytest.raises(ValueError, match=r"'age'.*handle_missing='typical'"):
        clf.predict(holes)
    lenient = SORCTClassifier(1, n_starts=2, handle_missing="typical", random_state=0)
    lenient.fit(X, y)
    filled = holes.fillna({"age": X["age"].median()})
    np.testing.assert_array_equal(
        lenient.predict_proba(holes), lenient.predict_proba(filled)
    )


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA])
def test_all_signs_of_missing_mean_the_same(fitted, hole):
    """None, NaN and NA."""
    clf, X, _ = fitted
    base = X.head(8).copy()
    base["income"] = np.nan
    other = base.astype({"income": object}).assign(income=[hole] * 8)
    other["income"] = other["income"].astype("Float64")
    np.testing.assert_array_equal(clf.predict_proba(other), clf.predict_proba(base))


def test_an_array_may_have_missing_cells(rng):
    """NaN and masked cells are the same."""
    X = rng.random((80, 3))
    y = (X[:, 0] > 0.5).astype(int)
    X[rng.random((80, 3)) < 0.2] = np.nan
    clf = SORCTClassifier(1, n_starts=3, random_state=0).fit(X, y)
    masked = np.ma.masked_invalid(X)
    again = SORCTClassifier(1, n_starts=3, random_state=0).fit(masked, y)
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(masked))


def test_a_wild_row_changes_no_more_than_a_row_may(rng):
    """One row with 1e7 in a column: the others are predicted as before."""
    X = rng.normal(50.0, 10.0, (300, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] > 65.0).astype(int)
    wild = np.vstack([X, [1e7, 50.0, 50.0]])
    plain, other = (
        SORCTClassifier(1, 0.05, n_starts=6, random_state=0).fit(T, t)
        for T, t in ((X, y), (wild, np.append(y, 1)))
    )
    assert np.mean(plain.predict(X) != other.predict(X)) <= 1 / 300
    assert plain.tree_.variables_used == other.tree_.variables_used


def test_the_tree_is_saved_whole(fitted, tmp_path):
    """Every kind of variable, and what leaves tell, survives the file.

    Files have version 3 for what leaves tell, version 2 for kinds of variables alone.
    """
    clf, X, _ = fitted
    clf.tree_.to_json(tmp_path / "tree.json")
    again = Tree.from_json(tmp_path / "tree.json")
    assert again == clf.tree_
    assert again.to_dict()["version"] == 3
    assert replace(again, routed=None).to_dict()["version"] == 2
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_prediction_needs_only_the_variables_used(fitted):
    """Columns that the tree does not use may be left out; others are asked for."""
    _, X, y = fitted
    clf = SORCTClassifier(1, 0.5, n_starts=3, random_state=0).fit(X, y)
    used = list(clf.tree_.variables_used)
    assert 0 < len(used) < 6
    np.testing.assert_array_equal(clf.predict_proba(X[used]), clf.predict_proba(X))
    np.testing.assert_array_equal(
        clf.tree_.predict_proba(X[used]), clf.predict_proba(X)
    )
    with pytest.raises(ValueError, match=used[0]):
        clf.predict(X.drop(columns=used[0]))
    with pytest.raises(ValueError, match="that the tree uses; missing: ") as told:
        clf.tree_.predict(X.drop(columns=used))
    asked = str(told.value).partition(". Got")[0]
    assert [name for name in X if repr(name) in asked] == used


def test_categories_can_be_named(rng):
    """By name, position or mask: numbers that are codes become levels."""
    X = pd.DataFrame({"code": rng.integers(0, 4, 120), "x": rng.random(120)})
    y = np.isin(X["code"], [0, 3]).astype(int)
    for given in (["code"], [0], [True, False]):
        clf = SORCTClassifier(
            1, n_starts=5, categorical_features=given, random_state=0
        ).fit(X, y)
        assert clf.score(X, y) == 1.0
        assert clf.tree_.encoder.variables[0].choices == (0, 1, 2, 3)
    with pytest.raises(ValueError, match="categorical_features must be.*'colour'"):
        SORCTClassifier(categorical_features=["colour"]).fit(X, y)


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("categorical", "codes"),
        ("handle_unknown", "ignore"),
        ("handle_missing", "drop"),
        ("scaling", "log"),
        ("scaling", {"age": "log"}),
        ("scaling", {"nobody": "minmax"}),
        ("min_frequency", 0),
        ("min_frequency", True),
        ("min_frequency", 2.5),
        ("monotonic_cst", {"age": 2}),
        ("monotonic_cst", {"nobody": 1}),
        ("monotonic_cst", {"city": 1}),
        ("monotonic_cst", [1, 0]),
        ("feature_cost", {"age": -1.0}),
        ("feature_cost", {"age": np.inf}),
        ("feature_cost", {"nobody": 1}),
        ("feature_cost", [0.0] * 6),
        ("positive_class", "perhaps"),
    ],
)
@pytest.mark.parametrize("door", [SORCTClassifier, SORCTClassifierCV, sorct_path])
def test_a_senseless_option_is_refused_by_name(fitted, option, value, door):
    """At every door, before any work."""
    _, X, y = fitted
    train = door if door is sorct_path else lambda X, y, **o: door(**o).fit(X, y)
    with pytest.raises(ValueError, match=f"^{option}"):
        train(X, y, **{option: value})


def test_bounds_know_the_table_too(fitted):
    """Above them no variable is worth its price; they depend on the reading."""
    _, X, y = fitted
    whole, dummies = (
        penalty_bounds(X, y),
        penalty_bounds(X.dropna(), y[X.notna().all(axis=1)], **PAPER),
    )
    assert whole.alpha_local > 0
    assert dummies.alpha_local > 0
    with pytest.raises(TypeError, match="no option 'colour'"):
        penalty_bounds(X, y, colour=1)


# -- directions ------------------------------------------------------------------------


def debt_table(seed, n_classes):
    """A target that rises and falls with two variables, here and there."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((150, 3)), columns=["debt", "income", "z"])
    wave = (X["debt"] - 0.5) * (X["z"] - 0.5) + 0.2 * np.sin(9 * X["debt"])
    y = (wave - 0.2 * X["income"] + 0.05 * rng.normal(size=150) > -0.1).astype(int)
    return X, y + ((X["z"] > 0.8) if n_classes == 3 else 0)


@pytest.mark.every_value
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_probabilities_keep_their_direction_everywhere(depth, n_classes, seed):
    """On grids of all three variables, also beyond the range of training."""
    if 2**depth < n_classes:
        pytest.skip("too few leaves")
    X, y = debt_table(seed, n_classes)
    clf = SORCTClassifier(
        depth, 0.001, n_starts=3, random_state=seed, positive_class=1,
        monotonic_cst={"debt": 1, "income": -1},
    ).fit(X, y)  # fmt: skip
    grid = np.linspace(-0.5, 1.5, 15)
    cube = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1)
    table = pd.DataFrame(cube.reshape(-1, 3), columns=X.columns)
    proba = clf.predict_proba(table)[:, 1].reshape(15, 15, 15)
    assert np.all(np.diff(proba, axis=0) >= -1e-12)
    assert np.all(np.diff(proba, axis=1) <= 1e-12)
    assert clf.tree_.training.monotonic == {"debt": 1, "income": -1}


def test_directions_cost_nothing_where_they_hold(rng):
    """A tree that has them anyway is found again; the mirrored wish is refused."""
    X = pd.DataFrame(rng.random((200, 2)), columns=["debt", "z"])
    y = (X["debt"] > 0.6).astype(int)
    free = SORCTClassifier(1, 0.01, n_starts=6, random_state=0).fit(X, y)
    held = SORCTClassifier(
        1, 0.01, n_starts=6, random_state=0, monotonic_cst=[1, 0]
    ).fit(X, y)
    assert held.objective_ == pytest.approx(free.objective_, rel=1e-6)
    against = SORCTClassifier(
        1, 0.01, n_starts=6, random_state=0, monotonic_cst={"debt": -1}
    ).fit(X, y)
    assert "debt" not in against.tree_.variables_used


def test_more_classes_need_a_name(fitted):
    """Which of three classes rises is the user's to say."""
    X, y = debt_table(0, 3)
    with pytest.raises(ValueError, match="monotonic_cst needs positive_class"):
        SORCTClassifier(monotonic_cst={"debt": 1}).fit(X, y)


# -- prices ----------------------------------------------------------------------------


def twins(rng):
    """Two columns that say the same, up to noise."""
    x = rng.random(200)
    X = pd.DataFrame({"mri": x, "age": x + 0.02 * rng.normal(size=200)})
    return X, (x > 0.5).astype(int)


def test_a_dear_variable_gives_way_to_a_cheap_one(rng):
    """Of two that say the same the cheap one is used."""
    X, y = twins(rng)
    for prices in ({"mri": 400, "age": 1}, {"mri": 400, "age": 0}, [400, 1]):
        clf = SORCTClassifier(
            1, 0.05, n_starts=6, random_state=0, feature_cost=prices
        ).fit(X, y)
        assert clf.tree_.variables_used == ("age",)
        assert clf.tree_.variables_cost == (
            prices[1] if isinstance(prices, list) else prices["age"]
        )


def test_equal_prices_change_nothing(rng):
    """Only proportions count."""
    X, y = twins(rng)
    plain, priced = (
        SORCTClassifier(1, 0.05, n_starts=4, random_state=0, feature_cost=c).fit(X, y)
        for c in (None, {"mri": 7.0, "age": 7.0})
    )
    np.testing.assert_array_equal(plain.coef_, priced.coef_)


def test_a_budget_limits_what_a_tree_may_cost(rng):
    """In cross-validation and on a path; without prices it is refused."""
    X, y = twins(rng)
    prices = {"mri": 400, "age": 1}
    search = SORCTClassifierCV(
        1, alphas_local=[0.01, 256.0], cv=2, n_solutions=1, feature_cost=prices,
        max_cost=100, loss="cost", scaling="auto", random_state=0,
    ).fit(X, y)  # fmt: skip
    assert search.tree_.variables_cost <= 100
    assert search.select(max_cost=1).variables_cost <= 1
    path = sorct_path(
        X, y, alphas_local=[0.0, 256.0], n_solutions=1, feature_cost=prices,
        random_state=0,
    )  # fmt: skip
    assert path.select(max_cost=1).variables_cost <= 1
    bare = sorct_path(X, y, alphas_local=[1.0], n_solutions=1, random_state=0)
    with pytest.raises(ValueError, match="max_cost needs prices"):
        bare.select(max_cost=1)
    with pytest.raises(ValueError, match="max_cost needs feature_cost"):
        SORCTClassifierCV(max_cost=1).fit(X, y)
    with pytest.raises(ValueError, match="max_cost needs feature_cost"):
        sorct_path(X, y, max_cost=1)
    with pytest.raises(ValueError, match="max_cost must be"):
        path.select(max_cost=-1)


def test_rules_say_what_is_promised_and_what_it_costs(rng):
    """Directions and the price of the variables that are used stand below the rules."""
    X, y = twins(rng)
    clf = SORCTClassifier(
        1, 0.05, n_starts=4, random_state=0, feature_cost={"mri": 400, "age": 3},
        monotonic_cst={"mri": 1, "age": 1},
    ).fit(X, y)  # fmt: skip
    told = str(clf.tree_)
    assert "The probability of 1 never falls as age grows." in told
    assert "The variables used cost 3 in all." in told


# -- what a first reader found ---------------------------------------------------------


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_a_column_of_nothing_but_missing_cells_does_no_harm(rng, tmp_path, dtype):
    """It is fitted, saved, explained, and may be left out."""
    X = pd.DataFrame(
        {"age": rng.random(60), "none": pd.Series([None] * 60, dtype=dtype)}
    )
    y = (X["age"] > 0.5).astype(int)
    tree = SORCTClassifier(1, 0.05, n_starts=3, random_state=0).fit(X, y).tree_
    tree.to_json(tmp_path / "tree.json")
    assert Tree.from_json(tmp_path / "tree.json") == tree
    assert explain(tree, X.iloc[0]).predicted == tree.predict(X[["age"]])[0]


def test_a_direction_binds_its_own_column_only(rng):
    """A variable that never varied has no column, and lends its sign to no other."""
    grade = pd.Categorical(["low"] * 120, ["low"], ordered=True)
    X = pd.DataFrame({"grade": grade, "age": rng.random(120)})
    y = (X["age"] < 0.5).astype(int)
    for sign in (1, -1):
        for T in (X, X[["age", "grade"]]):
            clf = SORCTClassifier(
                1, 0.05, n_starts=3, random_state=0, monotonic_cst={"grade": sign}
            ).fit(T, y)
            assert clf.score(T, y) > 0.95


def test_a_declared_order_has_a_place_for_levels_that_training_lacks(rng):
    """So a rare level does not end cross-validation; one not declared is refused."""
    levels = ["low", "mid", "high", "top"]
    grade = rng.choice(levels[:3], 90)
    y = (grade == "high").astype(int)
    grade[7] = "top"
    X = pd.DataFrame({"grade": pd.Categorical(grade, levels, ordered=True)})
    search = SORCTClassifierCV(
        1, alphas_local=[0.01], cv=3, n_solutions=1, loss="cost", random_state=0
    ).fit(X, y)
    assert search.tree_.encoder.variables[0].levels == tuple(levels)
    with pytest.raises(ValueError, match="'grade' has levels without a place.*'odd'"):
        search.predict(pd.DataFrame({"grade": ["odd"]}))


def test_whole_numbers_are_levels_however_they_are_written(rng):
    """Codes with gaps are floats in pandas; 1 and 1.0 are one, "x" is warned of."""
    code = np.resize([0.0, 1.0, 2.0, np.nan], 80)
    X = pd.DataFrame({"code": code, "age": rng.random(80)})
    clf = SORCTClassifier(1, n_starts=3, categorical_features=["code"], random_state=0)
    clf.fit(X, (code == 1.0).astype(int))
    variable = clf.tree_.encoder.variables[0]
    assert variable.take(["1", "1.0", 1]).tolist() == [1.0, 1.0, 1.0]
    with pytest.warns(UserWarning, match="'code' has levels of another type"):
        clf.predict(X.head(2).assign(code=["x", "y"]))


@pytest.mark.parametrize("cell", ["2019-01-02junk", 2019, 20190503, "2019-5-3", "soon"])
def test_a_date_is_a_date_at_every_door(fitted, cell):
    """Predict and explain refuse the same cells, by name."""
    clf, X, _ = fitted
    row = X.head(1).astype({"since": object}).assign(since=[cell])
    with pytest.raises(ValueError, match="'since' must hold dates.*got"):
        clf.predict(row)
    with pytest.raises(ValueError, match="'since' must hold dates.*got"):
        explain(clf.tree_, row.iloc[0].to_dict())


def test_columns_may_be_named_by_numbers(rng):
    """In every option for columns; a share and a NumPy number are frequencies."""
    X = pd.DataFrame({0: rng.random(60), 1: rng.random(60)})
    y = (X[0] > 0.5).astype(int)
    SORCTClassifier(
        1, n_starts=2, scaling={0: "minmax"}, monotonic_cst={0: 1},
        feature_cost={1: 2.0}, min_frequency=np.int64(3),
    ).fit(X, y)  # fmt: skip
    with pytest.raises(ValueError, match="min_frequency must be"):
        SORCTClassifier(min_frequency=float("inf")).fit(X, y)


def test_a_weight_of_two_is_the_row_twice_on_any_table(rng):
    """Pooled levels, wild cells, long tails, medians and the tree itself."""
    X, y = raw_table(rng, 120)
    X["wild"] = np.append(rng.normal(size=119), 1e7)
    weight = rng.integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    clf = SORCTClassifier(1, alpha_local=0.02, n_starts=2, random_state=0)
    weighted = clf.fit(X, y, sample_weight=weight).tree_
    twice = clf.fit(X.iloc[rows], y[rows]).tree_
    assert weighted.encoder == twice.encoder
    np.testing.assert_allclose(weighted.coef, twice.coef, atol=1e-6)
