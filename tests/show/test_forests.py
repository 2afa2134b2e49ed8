"""Forests for people: what is told is what the forest computes."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import (
    Forest,
    SORCTForestClassifier,
    SORCTForestRegressor,
    distil,
    explain,
    export,
)
from sorct.show.forests import PartialCurve, direction, partial_curve
from sorct.show.notes import given_text


@pytest.fixture(scope="module")
def table():
    rng, n = np.random.default_rng(0), 120
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "town": rng.choice(["north", "<south>", "east"], n),
            "noise\n": rng.random(n),
        }
    )
    odds = (X.age - 50) / 8 + 2.0 * (X.town == "north")
    return X, np.where(odds + rng.logistic(0.0, 0.3, n) > 0.0, "yes", "no")


def test_names_and_levels_that_are_no_valid_text_are_told(forest):
    """Files can hold them, and pandas cannot as text."""
    plain = json.dumps(forest.to_dict())
    odd = json.loads(plain.replace("<south>", "\\ud800").replace("age", "\\udfff"))
    told = Forest.from_dict(odd)
    assert "\\udfff: in " in str(told)
    row = pd.DataFrame({"age": [50.0], "town": ["north"], "noise": [0.5]})
    row.columns = pd.Index(["\udfff", "town", "noise\n"], dtype=object)
    assert "\\udfff is 50" in str(explain(told, row))


def test_what_a_file_says_of_the_score_is_one_line_of_text(forest):
    """A terminal must not be told anything else."""
    told = replace(forest.training, oob_scoring="\x1b[2Jluck\n")
    assert "Out of bag: \\x1b[2Jluck\\n 0." in str(replace(forest, training=told))


@pytest.fixture(scope="module")
def forest(table):
    quick = {"gamma": 100.0, "n_starts": 1, "random_state": 0}
    return SORCTForestClassifier(4, 1, 0.0, 0.05, **quick).fit(*table).forest_


def test_a_curve_is_what_the_forest_predicts_for_such_a_row(forest):
    row = forest.encoder.typical_row()
    for name in ("age", "town"):
        curve = partial_curve(forest, name)
        for k, cell in enumerate(curve.at):
            row_k = row.assign(**{name: [float(cell) if name == "age" else cell]})
            told = forest.predict_proba(row_k)[0]
            np.testing.assert_allclose(curve.said[:, k], told, atol=2e-3)
    with pytest.raises(ValueError, match="There is no variable 'size'"):
        partial_curve(forest, "size")


def test_whole_numbers_are_shown_at_whole_numbers(forest):
    """Nobody is 33.5 years old in the table, so no such row is shown."""
    lower, upper = 18.0, 79.0
    for n_places in (5, 33, 200):
        curve = partial_curve(forest, "age", np.linspace(0.0, 1.0, n_places).tolist())
        whole = np.unique(np.round(np.linspace(lower, upper, n_places)))
        np.testing.assert_array_equal(curve.numbers, whole)
        assert curve.at == tuple(f"{x:.0f}" for x in whole)
        np.testing.assert_allclose(curve.places, (whole - lower) / (upper - lower))


def test_a_direction_is_that_of_the_whole_curve(forest, monkeypatch):
    """Text and page say the same, also of a fall between the places of the table."""
    assert {line.split(", ")[-1] for line in variable_lines(forest)} == {
        word for word in directions_of_page(forest) if word
    }
    bent = PartialCurve("age", ("",) * 33, np.array([[0.5] * 33, [0.5] * 33]))
    bent.said[1] = np.linspace(0.0, 1.0, 33)
    assert direction(forest, bent) == "raises yes" or '"yes"' in direction(forest, bent)
    bent.said[1, 3] += 0.4
    assert "both ways" in direction(forest, bent)
    calls = []

    def watched(forest, name, places=(0.0, 1.0)):
        calls.append(len(places))
        return partial_curve(forest, name, places)

    monkeypatch.setattr("sorct.show.forests.partial_curve", watched)
    str(forest)
    assert 33 in calls


def variable_lines(forest):
    """Lines of the summary that tell a direction."""
    lines = str(forest).splitlines()
    return [one for one in lines if re.search(r": in \d of .*, .*, ", one)]


def directions_of_page(forest):
    """What the page says of the variables."""
    return [one["direction"] for one in forest.report().summary["used"]]


def test_numbers_of_single_precision_are_as_short_as_they_were(forest, table):
    """0.221 and not 0.221000000834465."""
    row = table[0].iloc[0].to_dict() | {"noise\n": np.float32(0.221)}
    assert "noise\\n is 0.221;" in str(explain(forest, row))
    for number, told in (
        (0.1, "0.1"),
        (1 / 3, "0.333333333333333"),
        (2.5e9, "2500000000"),
    ):
        assert given_text(number) == told
    assert given_text(float(np.float32(87357.8))) == "87357.8"


def test_a_report_knows_the_rows_of_training(forest, table):
    """What is measured on these says little of new rows, so it is told."""
    X, y = table
    told = forest.report(X, y).summary["data"]
    assert told["is_training"]
    other = y.copy()
    other[:1] = np.where(y[:1] == "yes", "no", "yes")
    assert not forest.report(X, other).summary["data"]["is_training"]
    assert not forest.report(X[1:], y[1:]).summary["data"]["is_training"]
    assert not forest.report().summary["data"]["is_training"]
    assert not forest.report(X, y).summary["data"]["may_be_training"]
    more = np.resize(np.arange(len(y)), len(y) + 1)
    told = forest.report(X.iloc[more], y[more]).summary["data"]
    assert told["may_be_training"]
    assert not told["is_training"]


def test_the_summary_names_variables_trees_and_directions(forest):
    text = str(forest)
    assert text.startswith(
        f"Forest of 4 trees of depth 1, {len(forest.variables_used)}"
    )
    assert "age: in 4 of 4 trees" in text
    assert 'raises "yes"' in text or "raises class yes" in text or "raises yes" in text
    assert "noise\n" not in text
    # All three are in use.
    assert "were chosen with these rows" not in " ".join(text.split())


def test_an_explanation_adds_up(forest, table):
    X, _ = table
    told = explain(forest, X.iloc[3])
    assert told.predicted == forest.predict(X.iloc[[3]])[0]
    assert told.agreement == forest.agreement(X.iloc[[3]])[0]
    row, usual = X.iloc[[3]], forest.encoder.typical_row()
    here = forest.predict_proba(row)[0]
    code = list(forest.classes).index(told.predicted)
    assert told.proba[told.predicted] == pytest.approx(here[code])
    for one in told.influences:
        changed = row.assign(**{one.variable: usual[one.variable].to_numpy()})
        without = forest.predict_proba(changed)[0, code]
        assert one.without == pytest.approx(without)
        each = [
            tree.predict_proba(row)[0, code] - tree.predict_proba(changed)[0, code]
            for tree in forest.trees
        ]
        assert one.contribution == pytest.approx(np.mean(each))
    sizes = [abs(one.contribution) for one in told.influences]
    assert sizes == sorted(sizes, reverse=True)
    assert {one.variable for one in told.influences} == set(forest.variables_used)
    assert "of the 4 trees agree" in str(told)
    assert f"; {100 * told.agreement:.0f} % of the 4" in str(told)
    usual_row = explain(forest, forest.encoder.typical_row())
    assert str(usual_row).count(", as is typical") == len(forest.variables_used)
    assert told.to_dict()["n_trees"] == 4
    with pytest.raises(ValueError, match="reach is for single trees"):
        explain(forest, X.iloc[3], reach=0.5)


def test_a_quantity_is_told_in_its_units(table):
    X, _ = table
    y = 1000.0 * X.age + 5000.0 * (X.town == "north")
    model = SORCTForestRegressor(
        3, 1, 0.0, 0.01, gamma=60.0, n_starts=1, random_state=0
    )
    forest = model.fit(X, y).forest_
    assert "raises the prediction" in str(forest)
    told = explain(forest, X.iloc[0].to_dict())
    assert told.predicted == pytest.approx(model.predict(X[:1])[0])
    assert told.proba is None
    assert "standard deviation" in str(told)
    assert re.match(r"Predicted \d\d \d{3}(\.\d+)?; what the 3 trees", str(told))
    assert (
        "Out of bag: R² 0." in str(forest) or model.forest_.training.oob_score is None
    )
    assert "R2" not in str(forest)
    assert forest.report(X, y).summary["data"]["is_training"]
    assert not forest.report(X, y[::-1]).summary["data"]["is_training"]
    tree = distil(forest, X, n_starts=2, max_iter=300, tol=1e-3, random_state=0)
    near = np.corrcoef(tree.predict(X), forest.predict(X))[0, 1]
    assert near > 0.95


def test_trees_of_the_logarithm_are_told_as_such(table):
    """Contributions are differences of what the forest says, and not of its trees."""
    X, _ = table
    y = np.exp(0.05 * X.age + (X.town == "north"))
    model = SORCTForestRegressor(
        3, 1, 0.0, 0.01, link="log", gamma=60.0, n_starts=1, random_state=0
    ).fit(X, y)
    text = " ".join(str(model.forest_).split())
    assert "the geometric mean of what they say" in text
    row = X.iloc[[0]]
    told = explain(model.forest_, row)
    assert told.predicted == pytest.approx(model.predict(row)[0])
    one = next(one for one in told.influences if one.variable == "age")
    usual = model.predict(row.assign(age=one.typical))[0]
    assert one.without == pytest.approx(usual)
    assert one.contribution == pytest.approx(told.predicted - usual)


def test_the_distilled_tree_is_the_nearest_by_divergence(forest, table):
    """No worse than any tree of the forest, and without a label in sight."""
    X, _ = table
    found = distil(forest, X, depth=1, random_state=0)
    proba = forest.predict_proba(X)

    def divergence(tree):
        own = np.maximum(tree.predict_proba(X), 1e-12)
        return np.mean(np.sum(proba * np.log(np.maximum(proba, 1e-12) / own), axis=1))

    each = [divergence(tree) for tree in forest.trees]
    assert divergence(found.tree_) <= min(each) + 1e-6
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        distil(forest, X, np.ones((len(X), 1)))
    with pytest.raises(TypeError, match="pass its forest_"):
        distil(type("Model", (), {"forest_": forest})(), X)


def test_the_distilled_tree_reads_the_table_as_the_forest_does():
    """Numbers that are names, curves, new levels and missing cells."""
    rng, n = np.random.default_rng(1), 150
    X = pd.DataFrame(
        {
            "code": rng.choice([3, 5, 11], n),
            "tail": np.exp(rng.normal(0.0, 3.0, n)),
            "size": rng.random(n),
        }
    )
    y = (X["code"] == 5) ^ (X["tail"] > 1.0)
    model = SORCTForestClassifier(
        2, 2, 0.0, 0.01, gamma=100.0, n_starts=1, random_state=0,
        categorical_features=["code"], scaling={"tail": "quantile"},
        handle_unknown="error", handle_missing="typical",
    )  # fmt: skip
    forest = model.fit(X, y).forest_
    options = {"depth": 2, "n_starts": 1, "random_state": 0}
    tree = distil(forest, X, **options).tree_
    own, other = tree.encoder.variables, forest.encoder.variables
    assert [type(one) for one in own] == [type(one) for one in other]
    assert own[0].choices == other[0].choices == (3, 5, 11)
    plain = distil(forest, X, categorical_features=None, scaling="minmax", **options)
    kinds = [type(one) for one in plain.tree_.encoder.variables]
    assert kinds != [type(one) for one in own]
    assert (tree.encoder.unknown, tree.encoder.missing) == ("error", "typical")
    asked = distil(forest, X, handle_missing="error", **options).tree_
    assert asked.encoder.missing == "error"


def test_the_distilled_tree_decides_by_the_forests_costs_and_counts_rows_once():
    """Levels are as rare as in the table, however many classes there are."""
    rng, n = np.random.default_rng(0), 200
    X = pd.DataFrame(
        {"x": rng.normal(size=n), "c": ["a"] * 120 + ["b"] * 77 + 3 * ["d"]}
    )
    y = np.where(X["x"] + rng.normal(size=n) > 0.0, "p", "q")
    costs = [[0.0, 1.0], [10.0, 0.0]]
    model = SORCTForestClassifier(
        2, 1, 0.0, 0.01, gamma=50.0, n_starts=1, random_state=0, cost_matrix=costs
    ).fit(X, y)
    found = distil(model.forest_, X, depth=1, n_starts=1, random_state=0)
    assert (found.predict(X) == model.predict(X)).mean() > 0.95
    assert (found.predict(X) == "q").mean() > 0.6
    assert found.tree_.training.n_samples == n
    assert found.min_frequency == 5
    known = [one.encoder.variables[1].levels for one in (found.tree_, model.forest_)]
    assert known[0] == known[1]


def test_a_forest_is_distilled_on_rows_of_some_classes():
    """Costs of a class that no row may be of do not stand in the way."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    size = X["a"] + 0.3 * X["b"]
    y = np.where(size > 0.6, "p", np.where(size > -0.2, "q", "r"))
    model = SORCTForestClassifier(
        3, n_starts=1, random_state=0, loss="cost", gamma=400.0,
        cost_matrix=[[0, 1, 9], [1, 0, 9], [1, 1, 0]],
    ).fit(X, y)  # fmt: skip
    some = X[size > 1.2]
    assert (model.predict_proba(some)[:, 2] == 0.0).all()
    found = distil(model.forest_, some, alpha_local=0.1, n_starts=2, random_state=0)
    assert found.classes_.tolist() == ["p", "q"]


def test_the_python_module_says_what_the_forest_says(forest, table, tmp_path):
    X, _ = table
    for one in (forest, replace(forest, decision_cost=np.array([[0, 9.0], [1, 0]]))):
        space = {}
        exec(export.to_python(one, name="ask"), space)
        rows = [space["ask"](row) for row in X[:20].to_dict("records")]
        proba = np.array([list(told.values()) for _, told in rows])
        np.testing.assert_allclose(proba, one.predict_proba(X[:20]), atol=1e-12)
        assert [label for label, _ in rows] == one.predict(X[:20]).tolist()
        assert [p for p in space if not p.startswith("_")] == ["ask"]


def test_what_was_chosen_with_the_rows_out_of_bag_is_told(table):
    """The score flatters then."""
    model = SORCTForestClassifier(2, 1, alpha_global=0.0, max_features=1)
    text = " ".join(str(model.fit(*table).forest_).split())
    assert "1 of 3 variables" in text
    assert "The variables were chosen with these rows." in text


def test_quantiles_are_told_as_such(table):
    """R2 is the score of means; a prediction is no mean."""
    X, y = table[0], table[0]["age"] + np.where(table[1] == "yes", 10.0, 0.0)
    model = SORCTForestRegressor(
        2, 1, alpha_global=0.0, loss="quantile", quantile=0.9, leaf="constant"
    ).fit(X, y)
    told = "Predictions are quantiles: 90 % of such rows are expected to be below."
    text = str(model.forest_)
    assert told in text
    assert f"mean loss {model.forest_.training.oob_loss:.4g}" in text
    assert "R2" not in text
    assert told in str(explain(model.forest_, X.iloc[0]))
    assert told in str(explain(model.forest_.trees[0], X.iloc[0]))
