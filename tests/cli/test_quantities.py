"""The command line where the target is a quantity."""

import json

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTRegressor, Tree
from sorct.cli import main

FIXED = ["--alpha-local", "0.5", "--depth", "1", "--n-starts", "2"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A price of two columns, in a folder to work in."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(20, 200, 80), "zone": list("AB") * 40})
    frame["price"] = 9.5 * frame["size"] + 300 * (frame["zone"] == "A")
    frame["price"] += rng.normal(0, 20, 80)
    frame.to_csv("data.csv", index=False)
    return frame


def test_a_quantity_is_recognised_fitted_and_used(table, capsys):
    line = ["fit", "data.csv", "--target", "price", "--out", "model.json", *FIXED]
    assert main(line) == 0
    said = capsys.readouterr()
    assert "'price' is a quantity" in said.err
    assert "R² on the rows of training" in said.out
    tree, X = Tree.from_json("model.json"), table[["size", "zone"]]
    own = SORCTRegressor(
        1, 0.5, n_starts=2, random_state=0, categorical_features=["zone"]
    ).fit(X, table["price"])
    np.testing.assert_allclose(tree.predict(X), own.predict(X))
    assert main(["predict", "model.json", "data.csv", "--out", "said.csv"]) == 0
    found = pd.read_csv("said.csv")["prediction"]
    np.testing.assert_allclose(found, tree.predict(X))
    assert main(["predict", "model.json", "data.csv", "--json"]) == 0
    capsys.readouterr()
    line = ["explain", "model.json", "data.csv", "--reach", "1000", "--json"]
    assert main(line) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["predicted"] == pytest.approx(tree.predict(X)[0])
    assert [change["variable"] for change in told["changes"]] == ["size", "zone"]
    for to in ("sql", "python", "js", "json"):
        assert main(["export", "model.json", "--to", to]) == 0


def test_settings_are_chosen_by_cross_validation(table, capsys):
    line = ["fit", "data.csv", "--target", "price", "--task", "quantity", "--cv", "2"]
    line += ["--depth", "1", "--scaling", "auto", "--alphas-local", "0.5,5"]
    assert main([*line, "--n-solutions", "1", "--json"]) == 0
    said = capsys.readouterr()
    assert "is a quantity" not in said.err
    told = json.loads(said.out)
    assert "mean squared error" in told["why"]
    assert {row["leaf"] for row in told["race"]} == {"constant", "linear"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--min-recall", "0.5"], "--min-recall is for classes"),
        (["--loss", "log"], "--loss log is for classes"),
        (["--quantile", "0.9"], "--quantile needs --loss quantile"),
        (["--task", "classes"], "target 'price' has 80 distinct values"),
    ],
)
def test_what_does_not_suit_a_quantity_is_refused(table, capsys, more, said):
    assert main(["fit", "data.csv", "--target", "price", *FIXED, *more]) != 0
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["fit", "--leaf", "linear", "--alpha-local", "1"], "--leaf is for quantities"),
        (["fit", "--loss", "square", "--alpha-local", "1"], "is for quantities"),
        (["fit", "--task", "quantity", "--alpha-local", "1"], "must hold numbers"),
    ],
)
def test_what_does_not_suit_classes_is_refused(table, capsys, line, said):
    verb, *more = line
    assert main([verb, "data.csv", "--target", "zone", *more]) != 0
    assert said in capsys.readouterr().err


def test_verbs_that_know_no_quantity_say_so(table, capsys):
    assert main(["path", "data.csv", "--target", "price"]) == 1
    assert "sorct path is not there yet" in capsys.readouterr().err
    line = ["fit", "data.csv", "--target", "price", "--out", "model.json", *FIXED]
    assert main([*line, "--quiet"]) == 0
    assert main(["report", "model.json", "--out", "page.html"]) == 1
    assert "no page for a quantity" in capsys.readouterr().err
    assert main(["predict", "model.json", "data.csv", "--proba"]) == 2
