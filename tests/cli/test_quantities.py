"""The command line where the target is a quantity."""

import json
import pathlib
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_pinball_loss, r2_score

from sorct import Path, SORCTRegressor, Tree
from sorct.cli import main
from sorct.cli.data import Columns, _is_quantity
from sorct.estimators.compare import comparison

FIXED = ["--alpha-local", "0.5", "--depth", "1", "--n-starts", "2"]
CHOSEN = ["--alphas-local", "0.1,1", "--n-solutions", "1", "--cv", "2"]


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
    line += ["--link", "identity"]
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


@pytest.mark.every_case
@pytest.mark.parametrize("way", [["--alpha-local", "0.1", "--n-starts", "2"], CHOSEN])
@pytest.mark.parametrize("loss", ["absolute", "quantile"])
def test_a_tree_of_a_level_is_judged_by_its_loss(table, capsys, loss, way):
    """Beside the best constant; R² would say little of it."""
    line = ["fit", "data.csv", "--target", "price", "--loss", loss, *way]
    line += ["--depth", "1", "--leaf", "constant", "--link", "identity"]
    level = 0.8 if loss == "quantile" else 0.5
    more = ["--quantile", "0.8"] if loss == "quantile" else []
    assert main([*line, *more, "--out", "model.json"]) == 0
    found = capsys.readouterr().out
    said = " ".join(found.rpartition("Variables: ")[2].split())
    y, X = table["price"].to_numpy(), pd.read_csv("data.csv")
    predicted = Tree.from_json("model.json").predict(X.drop(columns="price"))
    constant = np.quantile(y, level, method="inverted_cdf")
    factor = 1.0 if loss == "quantile" else 2.0
    mine, other = (
        factor * mean_pinball_loss(y, told, alpha=level)
        for told in (predicted, np.full(y.size, constant))
    )
    assert f"always saying {constant:.4g}, " in said
    if loss == "absolute":
        assert f"the mean absolute error is {mine:.4g}; " in said
    else:
        share = 100 * (y <= predicted).mean()
        assert f"Of the training rows {share:.1f} % are not above the pred" in said
        assert (
            f"where 80 % are asked for. Their mean pinball loss is {mine:.4g}" in said
        )
    assert f", has {other:.4g}." in said
    assert "R²" not in said


def test_few_numbers_are_a_quantity_if_said_so(table, capsys):
    """A rating in halves has few values; a cell that is no number is named."""
    rated = table.drop(columns="price").assign(rating=np.resize([1.5, 2.0, 4.5], 80))
    rated.to_csv("rated.csv", index=False)
    line = ["fit", "rated.csv", "--target", "rating", "--task", "quantity", *FIXED]
    assert main(line) == 0
    assert "R² on the rows of training" in capsys.readouterr().out
    rated.astype(object).replace({4.5: "oops"}).to_csv("rated.csv", index=False)
    assert main(line) == 1
    assert "got 'oops' in row 3" in capsys.readouterr().err


GRID = ["--depth", "1", "--alphas-local", "0.5,50", "--n-solutions", "2"]


def test_a_path_is_traced_scored_and_shown(table, capsys):
    line = ["path", "data.csv", "--target", "price", "--out", "path.json", "--all"]
    assert main([*line, *GRID, "--cv", "2"]) == 0
    out = capsys.readouterr().out
    assert "held out is R² in cross-validation (2 folds)" in out
    path = Path.from_json("path.json")
    first = path.trees[0]
    r2 = r2_score(table["price"], first.predict(table.drop(columns="price")))
    assert f" {r2:.3f} {first.training.cv_r2:.3f} " in " ".join(out.split())
    assert main([*line, *GRID, "--cv", "0", "--leaf", "linear", "--force"]) == 0
    assert Path.from_json("path.json").trees[0].leaf_kind == "linear"
    assert main(["show", "path.json", "--point", "1"]) == 0
    assert "≈" in capsys.readouterr().out


def test_a_page_is_written_on_rows(table, capsys):
    line = ["fit", "data.csv", "--target", "price", "--out", "model.json", *FIXED]
    assert main([*line, "--quiet"]) == 0
    shown = ["report", "model.json", "--data", "data.csv", "--out", "page.html"]
    assert main(shown) == 0
    assert "Predicted and observed" in pathlib.Path("page.html").read_text()
    assert main([*shown, "--target", "zone", "--force"]) == 1
    assert "must hold numbers" in capsys.readouterr().err
    assert main(["predict", "model.json", "data.csv", "--proba"]) == 2


@pytest.mark.slow
def test_the_choice_stands_beside_the_baseline(table, capsys):
    line = ["fit", "data.csv", "--target", "price", *GRID, "--cv", "2"]
    assert main([*line, "--leaf", "constant", "--scaling", "auto"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Held-out rows are missed by" in out
    spread = f"{table['price'].std(ddof=0):.4g}"
    assert f"the mean, misses by {spread} (R² 0)" in out


def test_depth_zero_is_for_quantities(table, capsys):
    line = ["--depth", "0", "--leaf", "linear", "--alpha-local", "0.5"]
    assert main(["fit", "data.csv", "--target", "price", *line]) == 0
    assert "Tree of depth 0" in capsys.readouterr().out


@pytest.mark.slow
def test_compare_recognises_a_quantity(table, capsys, monkeypatch):
    """The race is left out, which takes long and is tried elsewhere."""
    run, plain = comparison.compare, {"leaf": "constant", "gamma": "auto"}

    def compare(*data, options, **more):
        return run(*data, options=options | plain, **more)

    monkeypatch.setattr(comparison, "compare", compare)
    line = ["compare", "data.csv", "--target", "price", "--folds", "2", "--cv", "2"]
    assert main([*line, *GRID, "--scaling", "auto"]) == 0
    said = capsys.readouterr()
    assert "is a quantity" in said.err
    head = said.out.splitlines()[2].split()
    assert head[:3] == ["method", "R²", "std."]
    assert {"RMSE", "MAE"} < set(head)
    for method in ("CART", "LASSO", "OLS", "sorct", "mean", "median"):
        assert f"\n{method} " in said.out
    assert main([*line, "--task", "classes"]) == 1
    assert "80 distinct values" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["$1,234.50", "$987.25", "$2,310.75"], "'y' is a quantity"),
        (["1", "2", "3", "4", "5"], "the 5 numbers of the target 'y' are taken for"),
        (["0", "1"], None),
        (["low", "high"], None),
    ],
)
def test_odd_targets_are_told_apart(tmp_path, monkeypatch, capsys, values, said):
    """Prices with signs, ratings, and two classes by number or name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.choice(values, 60)
    if said and "quantity" in said:
        y = [f"${1000 + 37.5 * k:,.2f}" for k in range(60)]
    frame = pd.DataFrame({"a": rng.normal(size=60).round(3), "y": y})
    frame.to_csv("odd.csv", index=False)
    line = ["fit", "odd.csv", "--target", "y", "--depth", "3", "--alpha-local", "1"]
    assert main([*line, "--n-starts", "1", "--out", "odd.json"]) == 0
    told = capsys.readouterr().err
    assert said in told if said else "quantity" not in told


@pytest.mark.parametrize(("n_values", "of_quantity"), [(20, False), (21, True)])
def test_many_whole_numbers_with_few_rows_each_are_a_quantity(n_values, of_quantity):
    """Such as body masses of animals; ages of thousands of people may be classes."""
    masses = pd.Series(3000 + 25 * np.repeat(np.arange(n_values), 4), name="mass")
    free = Columns(target="mass")
    assert _is_quantity(masses, free) is of_quantity
    ages = pd.Series(np.repeat(np.arange(n_values), 10), name="age")
    assert not _is_quantity(ages, free)


@pytest.fixture
def towns(tmp_path, monkeypatch):
    """Prices that towns have a say in, and a line does not tell."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(50.0, 150.0, 120).round()})
    frame["town"] = rng.choice(["north", "south", "east"], 120)
    frame["price"] = 2.0 * frame["size"] + 30.0 * (frame["town"] == "north")
    frame["price"] += rng.normal(0.0, 5.0, 120)
    frame.to_csv("towns.csv", index=False)
    return ["fit", "towns.csv", "--target", "price", "--depth", "1", "--quiet"]


@pytest.mark.a_few(2)
@pytest.mark.parametrize("chosen", [False, True])
def test_groups_are_bound(towns, capsys, chosen):
    """What is told of them is what the tree does, within the bounds."""
    more = ["--cv", "2", "--leaf", "linear"] if chosen else ["--alpha-local", "20"]
    bound = ["--groups", "town", "--group-bound", "1.5", "--out", "tree.json"]
    assert main([*towns[:-1], *more, *bound]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "By town, the mean of observed minus predicted is east " in told
    frame = pd.read_csv("towns.csv")
    told = Tree.from_json("tree.json").predict(frame[["size", "town"]])
    missed = frame["price"] - told
    assert missed.groupby(frame["town"]).mean().abs().max() <= 1.5 * (1.0 + 1e-9)


def test_of_many_groups_the_worst_are_told_of(towns, capsys):
    """And how many there are."""
    frame = pd.read_csv("towns.csv")
    frame["shop"] = [f"shop {k % 15}" for k in range(len(frame))]
    frame.to_csv("towns.csv", index=False)
    line = [*towns, "--alpha-local", "20", "--n-starts", "1", "--groups", "shop",
            "--group-measure", "error", "--group-bound", "90"]  # fmt: skip
    assert main(line) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(of 15 groups the 10 that are missed most)" in told
    assert told.count(" shop ") == 10


@pytest.mark.a_few(6)
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--groups", "town"], "--groups and --group-bound need each other"),
        (["--group-bound", "3"], "--groups and --group-bound need each other"),
        (["--group-measure", "error"], "needs --groups and --group-bound"),
        (["--groups", "twn", "--group-bound", "3"], "there is no variable 'twn'"),
        (["--groups", "town", "--group-bound", "0"], "expected a number above 0"),
        (
            ["--groups", "town", "--group-bound", "3", "--group-bound", "north=2"],
            "either one bound for all groups, or by name",
        ),
        (
            ["--groups", "town", "--group-bound", "west=3"],
            "--group-bound names groups that no row has",
        ),
        (
            [
                "--groups",
                "town",
                "--group-bound",
                "north=9",
                "--group-bound",
                "north=2",
            ],
            "more than one bound for 'north'",
        ),
        (["--trees", "3", "--groups", "town"], "--groups is for single trees"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(towns, capsys, more, said):
    """Before anything is trained."""
    fixed = [] if "--trees" in more else ["--alpha-local", "20"]
    with suppress(SystemExit):
        assert main([*towns, *fixed, *more]) in (1, 2)
    assert said in capsys.readouterr().err
