"""Forests on the command line: trained as in Python, used by every verb or refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sorct import Forest, SORCTForestClassifier, SORCTForestRegressor, explain
from sorct.cli import main
from tests.cli.tables import small_table

FIT = "fit data.csv --target y --trees 3 --depth 1 --alpha-global 0.1 --n-starts 1"
FIT = [*FIT.split(), "--gamma", "100"]
OPTIONS = {
    "n_trees": 3, "depth": 1, "alpha_global": 0.1, "n_starts": 1, "gamma": 100.0,
    "random_state": 0, "categorical_features": ["c"],
}  # fmt: skip


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame.to_csv("data.csv", index=False)
    return frame


def test_a_forest_is_fitted_shown_and_used(table, capsys):
    """The file, the summary, predictions and explanations are those of Python."""
    assert main([*FIT, "--out", "model.json"]) == 0
    said = capsys.readouterr()
    forest, X = Forest.from_json("model.json"), table[["a", "b", "c"]]
    own = SORCTForestClassifier(**OPTIONS).fit(X, table["y"].to_numpy(str)).forest_
    assert forest == own
    assert (forest.training.target, forest.training.call[:9]) == ("y", "sorct fit")
    assert str(forest) in said.out
    assert "alpha_global 0.1." in said.out
    assert main(["show", "model.json"]) == 0
    assert capsys.readouterr().out == f"{forest}\n"
    assert main(["show", "model.json", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["summary"] == str(forest)
    assert Forest.from_dict(told["forest"]) == forest
    assert (
        main(["predict", "model.json", "data.csv", "--proba", "--out", "said.csv"]) == 0
    )
    found = pd.read_csv("said.csv")
    assert found["prediction"].tolist() == forest.predict(X).tolist()
    proba = found[["probability_no", "probability_yes"]].to_numpy()
    np.testing.assert_allclose(proba, forest.predict_proba(X), atol=1e-12)
    capsys.readouterr()
    assert main(["explain", "model.json", "data.csv", "--row", "3"]) == 0
    assert capsys.readouterr().out.endswith(f"{explain(forest, X.iloc[2])}\n")
    assert main([*FIT, "--out", "model.json", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["variables_used"]) == set(forest.variables_used)
    assert Forest.from_dict(told["forest"]) == forest


def test_limits_weights_and_choices_reach_the_forest(table, capsys):
    table.assign(w=1.0 + np.arange(len(table)) % 3).to_csv("data.csv", index=False)
    line = "fit data.csv --target y --trees 2 --depth 1 --gamma 100 --max-features 1"
    line += " --cv 2 --rule best --n-starts 1 --seed 5 --sample-weight w --jobs 2"
    line += " --class-weight yes=2 --out model.json"
    assert main(line.split()) == 0
    forest = Forest.from_json("model.json")
    own = SORCTForestClassifier(
        2, 1, gamma=100.0, max_features=1, n_folds=2, rule="best", n_starts=1,
        random_state=5, class_weight={"yes": 2.0}, categorical_features=["c"],
    )  # fmt: skip
    y, weight = table["y"].to_numpy(str), 1.0 + np.arange(len(table)) % 3
    own.fit(table[["a", "b", "c"]], y, weight)
    assert forest == own.forest_
    assert forest.variables_used == ("a",)
    assert "chosen by the loss on held-out rows" in capsys.readouterr().out


def test_fewest_is_a_rule_of_forests_around_a_race(table, capsys):
    """The rule arrives there; forests without a race, and trees, refuse it."""
    line = "fit data.csv --target y --rule fewest --depth 1"
    assert main([*line.split(), "--trees", "2"]) == 1
    assert "needs a race, and with 'depth' there is none" in capsys.readouterr().err
    assert main(line.split()) != 0
    assert "rule must be one of" in capsys.readouterr().err


def test_several_numbers_of_trees_are_chosen_from(table, capsys):
    line = "fit data.csv --target y --trees 2,4 --depth 1 --gamma 100 --alpha-global 0"
    line += " --cv 2 --n-starts 1 --out model.json"
    assert main(line.split()) == 0
    forest = Forest.from_json("model.json")
    assert forest.n_trees in (2, 4)
    assert "chosen by the loss on held-out rows" in capsys.readouterr().out


@pytest.mark.every_case
@pytest.mark.parametrize("given", [{}, {"leaf": "choose", "link": "log"}])
def test_a_quantity(table, capsys, given):
    frame = table.assign(y=9.0 + 3.0 * table["a"] + (table["c"] == "u"))
    frame.to_csv("data.csv", index=False)
    flags = [word for name, value in given.items() for word in (f"--{name}", value)]
    assert main([*FIT, *flags, "--out", "model.json"]) == 0
    forest, X = Forest.from_json("model.json"), frame[["a", "b", "c"]]
    own = SORCTForestRegressor(**OPTIONS, **given).fit(X, frame["y"])
    assert forest == own.forest_
    assert main(["predict", "model.json", "data.csv", "--out", "said.csv"]) == 0
    said = pd.read_csv("said.csv")["prediction"]
    np.testing.assert_allclose(said, forest.predict(X))


@pytest.mark.slow
def test_a_quantity_is_raced_for(table, capsys):
    """Nothing is given but the number of trees; the output says what was chosen."""
    frame = table.assign(y=9.0 + 3.0 * table["a"] + (table["c"] == "u"))
    frame.to_csv("data.csv", index=False)
    line = "fit data.csv --target y --trees 3 --out model.json"
    assert main(line.split()) == 0
    forest = Forest.from_json("model.json")
    assert forest.weights[0] == 0.5
    told, leaf = capsys.readouterr().out, forest.trees[0].leaf_kind
    assert f"A race chose the first tree: depth {forest.trees[0].depth}, {leaf}" in told
    assert forest.training.oob_score > 0.9


def test_policies_of_new_cells_hold_for_all_trees(table, capsys):
    assert main([*FIT, "--out", "model.json", "-q"]) == 0
    rows = table.assign(a=np.nan)
    rows.to_csv("gaps.csv", index=False)
    assert main(["predict", "model.json", "gaps.csv"]) == 1
    assert "missing" in capsys.readouterr().err
    line = "predict model.json gaps.csv --handle-missing typical --out said.csv"
    assert main(line.split()) == 0
    forest = Forest.from_json("model.json")
    usual = forest.encoder.variables[0].typical
    expected = forest.predict(rows.assign(a=usual)[["a", "b", "c"]])
    assert pd.read_csv("said.csv")["prediction"].tolist() == expected.tolist()


def test_the_report_is_that_of_python(table, capsys):
    assert main([*FIT, "--out", "model.json", "-q"]) == 0
    assert (
        main(["report", "model.json", "--data", "data.csv", "--out", "page.html"]) == 0
    )
    forest, X = Forest.from_json("model.json"), table[["a", "b", "c"]]
    own = forest.report(X.set_axis(range(1, 61)), table["y"]).html()
    assert Path("page.html").read_text("utf-8") == own
    assert main(["report", "model.json", "--point", "1", "--out", "page.html"]) == 1
    assert "is a model, not a path" in capsys.readouterr().err


@pytest.mark.parametrize("to", ["sql", "python", "js", "json", "onnx"])
def test_exports_are_those_of_python_and_replaced(table, to, capsys):
    from sorct import export

    if to == "onnx":
        pytest.importorskip("onnx")
    assert main([*FIT, "--out", "model.json", "-q"]) == 0
    line = ["export", "model.json", "--to", to, "--out", "out"]
    assert main(line) == main(line) == 0
    forest, data = Forest.from_json("model.json"), Path("out").read_bytes()
    if to == "json":
        assert Forest.from_dict(json.loads(data)) == forest
    elif to == "onnx":
        assert data == export.to_onnx(forest).SerializeToString()
    else:
        write = {"sql": "to_sql", "python": "to_python", "js": "to_javascript"}[to]
        assert data.decode() == getattr(export, write)(forest)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--min-recall 0.8", "--min-recall is for single trees"),
        ("--alphas-local 1,2", "--alphas-local is for single trees"),
        ("--calibration sigmoid", "--calibration is for single trees"),
        ("--paper", "--paper is for single trees"),
        ("--n-starts auto", "--n-starts takes a whole number"),
        ("--depth 1,2", "--depth takes one value with --trees"),
        ("--trees 0", "expected a whole number >= 1, got '0'"),
        ("--trees all", "expected a whole number >= 1, got 'all'"),
    ],
)
def test_flags_without_a_meaning_for_forests_are_refused(table, flags, message, capsys):
    """Before anything is read."""
    line = f"fit nothing.csv --target y --trees 2 {flags}"
    assert main(line.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("show model.json --decimals 2", 2, "--decimals is for rules of trees"),
        ("show model.json --levels all", 2, "--levels is for rules of trees"),
        ("show model.json --point 1", 1, "is a model, not a path"),
        ("explain model.json data.csv --reach 1", 2, "--reach is for single trees"),
        ("predict model.json data.csv --point 1", 1, "is a model, not a path"),
    ],
)
def test_verbs_refuse_what_forests_do_not_have(table, line, code, message, capsys):
    assert main([*FIT, "--out", "model.json", "-q"]) == 0
    assert main(line.split()) == code
    assert message in capsys.readouterr().err
