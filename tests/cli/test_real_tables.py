"""A raw export goes through every verb; options for columns do what they say."""

import json

import numpy as np
import pandas as pd
import pytest

from sorct import PAPER, Path, SORCTClassifier, Tree, compare, read_table
from sorct.cli import main, streaming
from sorct.data.kinds import treatment
from tests.cli.tables import QUICK, small_table

N = 120
FIT = ["--target", "y", "--alpha-local", "0.01", "--n-starts", "2", "--depth", "1"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def raw_table():
    """Everything that an export can hold, in one table."""
    rng = np.random.default_rng(0)
    a = rng.normal(0.0, 1.0, N)
    days = pd.to_datetime("2020-01-05") + pd.to_timedelta(rng.integers(0, 900, N), "D")
    frame = pd.DataFrame(
        {
            "customer": [f"C-{k:04d}" for k in range(N)],
            "debt": [f"${3000 * value:,.2f}" for value in np.exp(3 * a)],
            "share": [f"{value:.1f}%" for value in rng.uniform(0.0, 100.0, N)],
            "since": days.strftime("%d/%m/%Y"),
            "city": [f"city{int(k)}" for k in rng.zipf(1.5, N) % 40],
            "job": rng.choice(["clerk", "boss", ""], N),
            "wild": np.where(np.arange(N) == 3, 9999999, rng.normal(5.0, 1.0, N)),
            "y": np.where(a + rng.normal(0.0, 0.3, N) > 0, "yes", " No"),
        }
    )
    frame.loc[[3, 9], "since"] = ""
    frame.loc[[4, 8, 20], "debt"] = "n/a"
    return frame


@pytest.fixture
def journey(tmp_path):
    """The raw table and a model of it."""
    raw_table().to_csv("raw.csv", index=False)
    assert main(["fit", "raw.csv", *FIT, "--out", "m.json", "-q"]) == 0
    return Tree.from_json("m.json")


def cleaned():
    """The same as Python reads it."""
    with pytest.warns(UserWarning, match="'customer' is left out"):
        frame = read_table("raw.csv", target="y")
    return frame.drop(columns="y"), frame["y"]


def test_every_variable_of_the_export_counts(journey):
    """Or the other tests here would show little."""
    assert set(journey.variables_used) == {
        "debt", "share", "since", "city", "job", "wild",
    }  # fmt: skip
    X, y = cleaned()
    model = SORCTClassifier(1, 0.01, n_starts=2, random_state=0).fit(X, y)
    assert model.tree_.encoder == journey.encoder
    np.testing.assert_array_equal(model.tree_.coef, journey.coef)


def test_all_columns_that_a_tree_lacks_are_named_at_once(journey, capsys):
    """Not one per run."""
    raw_table()[["share", "job", "customer"]].to_csv("few.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "m.json", "few.csv", "-q"]) == 1
    told = capsys.readouterr().err
    assert "There are no columns " in told
    asked = told.partition(" in few.csv")[0]
    assert all(repr(name) in asked for name in ("debt", "since", "city", "wild"))


def test_a_raw_export_goes_through_every_verb(journey, capsys):
    """Without an error, and what is predicted is what Python predicts."""
    expected = journey.predict_proba(cleaned()[0])
    capsys.readouterr()
    assert main(["predict", "m.json", "raw.csv", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    np.testing.assert_array_equal(told["probabilities"], expected)
    for line in (
        ["show", "m.json"],
        *(["explain", "m.json", "raw.csv", "--row", str(row)] for row in (1, 4, 5)),
        ["report", "m.json", "--data", "raw.csv", "--out", "page.html"],
        *(["export", "m.json", "--to", to, "--out", f"tree.{to}"]
          for to in ("sql", "python", "js", "json", "onnx")),
    ):  # fmt: skip
        assert main([*line, "-q"]) == 0, capsys.readouterr().err


def test_exported_python_predicts_the_same(journey, tmp_path):
    """On every row of the export, gaps and dates included."""
    assert main(["export", "m.json", "--to", "python", "--out", "tree.py", "-q"]) == 0
    X, _ = cleaned()
    space: dict = {}
    exec((tmp_path / "tree.py").read_text(), space)
    found = [space["predict"](row) for row in X.to_dict("records")]
    assert [label for label, _ in found] == journey.predict(X).tolist()
    for (_, chances), expected in zip(found, journey.predict_proba(X), strict=True):
        by_class = [chances[label] for label in journey.classes.tolist()]
        np.testing.assert_allclose(by_class, expected, rtol=1e-12, atol=1e-15)


# -- rows for a tree -------------------------------------------------------------------


def test_dates_of_rows_are_read_as_in_training(journey, capsys):
    """However they are written; what is no date is named with its row."""
    X, _ = cleaned()
    frame = raw_table().assign(since=X["since"].dt.strftime("%Y-%m-%d"))
    frame.to_csv("iso.csv", index=False)
    told = []
    for name in ("raw.csv", "iso.csv"):
        assert main(["predict", "m.json", name, "--proba", "-q"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    raw = raw_table()
    raw.loc[7, "since"] = "soon"
    raw.to_csv("odd.csv", index=False)
    assert main(["predict", "m.json", "odd.csv", "-q"]) == 1
    assert "column 'since' must hold dates, got 'soon' in row 8" in (
        capsys.readouterr().err
    )
    raw_table().assign(since=20240131).to_csv("numbers.csv", index=False)
    assert main(["predict", "m.json", "numbers.csv", "-q"]) == 1
    assert "must hold dates, got 20240131 in row 1" in capsys.readouterr().err


@pytest.mark.slow
def test_gaps_where_training_had_none(journey, capsys):
    """All columns in one line, or the typical cell if asked for."""
    X, _ = cleaned()
    gaps = raw_table()
    gaps.loc[[2, 5], "share"] = ""
    gaps.loc[6, "city"] = "NA"
    gaps.to_csv("gaps.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "m.json", "gaps.csv", "-q"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "column 'share' has 2 missing cell(s), the first in row 3" in err
    assert "column 'city' has 1 missing cell(s), the first in row 7" in err
    assert "--handle-missing typical" in err
    line = ["gaps.csv", "--handle-missing", "typical", "--json", "-q"]
    assert main(["predict", "m.json", *line]) == 0
    told = json.loads(capsys.readouterr().out)
    typical = {v.name: v.typical for v in journey.encoder.variables}
    X.loc[[2, 5], "share"], X.loc[6, "city"] = typical["share"], typical["city"]
    np.testing.assert_array_equal(told["probabilities"], journey.predict_proba(X))
    assert main(["explain", "m.json", *line[:3], "--row", "3"]) == 0


def test_a_word_that_stands_for_none_is_no_level(capsys):
    """Choices of a model hold None and 'other', which no cell of a file means."""
    frame = small_table().assign(c=["u", "v", None] * 20)
    X = frame[["a", "c"]].astype({"c": object})
    y = np.where(frame["c"] == "u", "yes", "no")
    model = SORCTClassifier(1, 0.01, n_starts=2, random_state=0).fit(X, y)
    model.tree_.to_json("m.json")
    pd.DataFrame({"a": 0.0, "c": ["None", "other", "u"]}).to_csv("r.csv", index=False)
    assert main(["predict", "m.json", "r.csv", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)["probabilities"]
    rows = pd.DataFrame({"a": 0.0, "c": ["new", "new", "u"]})
    np.testing.assert_array_equal(told, model.predict_proba(rows))


# -- options ---------------------------------------------------------------------------


def fitted(*flags, verb="fit"):
    """Tree of the small table with some flags."""
    small_table().assign(k=[1, 2, 3] * 20).to_csv("data.csv", index=False)
    quick = QUICK if verb == "fit" else ["--alphas-local", "0.1,1", "--cv", "0"]
    line = [verb, "data.csv", "--target", "y", *quick, "--out", "m.json", *flags]
    assert main([*line, "-q", "--force"]) == 0
    if verb == "fit":
        return Tree.from_json("m.json")
    return Path.from_json("m.json").trees[0]


def kinds(tree):
    return {v.name: treatment(v) for v in tree.encoder.variables}


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["fit", pytest.param("path", marks=pytest.mark.slow)])
def test_options_say_how_columns_become_variables(verb):
    """The same for a tree and for a path."""
    usual = {
        "a": "number, by range",
        "b": "number, by range",
        "c": "category, 2 levels",
        "k": "number, by range",
    }
    assert kinds(fitted(verb=verb)) == usual
    assert kinds(fitted("--categorical-features", "k", verb=verb)) == {
        **usual,
        "k": "category, 3 levels",
    }
    assert kinds(fitted("--scaling", "quantile", verb=verb))["a"] == (
        "number, by quantiles"
    )
    flags = ["--paper", "--scaling", "b=quantile"]
    paper = fitted(*flags, "--handle-missing", "typical", verb=verb)
    assert kinds(paper) == {
        **usual,
        "b": "number, by quantiles",
        "c": "dummies, 2 levels",
    }
    assert (paper.encoder.unknown, paper.encoder.missing) == ("error", "typical")
    pooled = fitted("--min-frequency", "0.5", "--handle-unknown", "error", verb=verb)
    assert kinds(pooled)["c"] == "category, 1 level + other"
    assert pooled.encoder.unknown == "error"


def test_the_order_of_levels_can_be_said(capsys):
    """In the command line as in Python; it is in the tree, and rows are read by it."""
    rng = np.random.default_rng(0)
    grade = rng.choice(["mid", "low", "high, or more"], N)
    table = pd.DataFrame({"a=b": grade, "x": rng.random(N), "y": grade == "low"})
    table.loc[:4, "a=b"] = ""
    table.to_csv("t.csv", index=False)
    said = ["--ordered", 'a=b=low, mid,"high, or more"']
    assert main(["fit", "t.csv", *FIT, *said, "--out", "m.json", "-q"]) == 0
    order = ["low", "mid", "high, or more"]
    tree = Tree.from_json("m.json")
    assert tree.encoder.variables[0].known.levels == tuple(order)
    frame = read_table("t.csv", ordered={"a=b": order})
    assert frame["a=b"].cat.ordered
    model = SORCTClassifier(1, 0.01, n_starts=2, random_state=0)
    expected = model.fit(frame[["a=b", "x"]], frame["y"]).tree_
    np.testing.assert_array_equal(expected.coef, tree.coef)
    capsys.readouterr()
    assert main(["predict", "m.json", "t.csv", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)["probabilities"]
    np.testing.assert_array_equal(told, tree.predict_proba(frame[["a=b", "x"]]))


@pytest.mark.parametrize(
    ("order", "code", "words"),
    [
        ("g", 2, "such as grade=low,mid,high"),
        ("g=low", 2, "such as grade=low,mid,high"),
        ("h=low,mid", 1, "There is no column 'h'"),
        ("g=low,low", 1, "two levels or more, each once"),
        ("g=low,high", 1, "levels that its order lacks: 'mid'; expected 'low', 'high'"),
    ],
)
def test_an_order_that_does_not_fit_is_refused(capsys, order, code, words):
    """With what was expected."""
    cells = {"g": ["low", "mid"] * 10, "x": range(20), "y": [0, 0, 1, 1] * 5}
    pd.DataFrame(cells).to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", *FIT, "--ordered", order]) == code
    assert words in capsys.readouterr().err
    if code == 1:
        name, levels = order.split("=")
        with pytest.raises(ValueError, match=words):
            read_table("t.csv", ordered={name: levels.split(",")})


def test_directions_and_prices_reach_the_tree():
    """And are kept in its record."""
    flags = ["--monotonic", "a=-1", "--positive-class", "no", "--feature-cost", "b=7"]
    told = fitted(*flags).training
    assert told.monotonic == {"a": -1}
    assert told.positive_class == "no"
    assert told.feature_cost == {"a": 1.0, "b": 7.0, "c": 1.0, "k": 1.0}


def test_prices_of_a_file():
    """In any order, with or without a header; a flag goes before the file."""
    for header in ("column,price\n", ""):
        with open("prices.csv", "w") as file:
            file.write(f"{header}c,2.5\na,4\ny,9\n")
        flags = ["--feature-cost", "prices.csv", "--feature-cost", "a=0"]
        told = fitted(*flags).training
        assert told.feature_cost == {"a": 0.0, "b": 1.0, "c": 2.5, "k": 1.0}


def test_a_tree_costs_no_more_than_it_may():
    """Chosen by cross-validation."""
    small_table().to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--alphas-local", "0,0.1,4", "-q"]
    line += ["--cv", "2", "--rule", "best", "--n-solutions", "1", "--out", "m.json"]
    prices = ["--feature-cost", "a=400", "--max-cost", "399"]
    assert main([*line, *prices]) == 0
    assert "a" not in Tree.from_json("m.json").variables_used


@pytest.mark.usefixtures("few_strengths")
@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.slow
def test_compare_takes_raw_tables_and_the_options(capsys):
    """As Python does."""
    frame = small_table()
    frame.loc[4, "b"] = None
    frame.to_csv("data.csv", index=False)
    line = ["compare", "data.csv", "--target", "y", "--folds", "2", "--cv", "2"]
    line += ["--alphas-local", "0.1,1", "--n-solutions", "1", "--depth", "1", "--paper"]
    assert main([*line, "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = compare(
        frame.drop(columns="y"), frame["y"].to_numpy(), folds=2, cv=2, depths=1,
        alphas_local=[0.1, 1], n_solutions=1, random_state=0,
        options={**PAPER, "relax": False},
    )  # fmt: skip
    assert told["methods"] == found.to_dict()["methods"]


# -- dry run ---------------------------------------------------------------------------


def test_a_dry_run_shows_how_each_column_is_treated(capsys, monkeypatch):
    """What training would do, in a table that fits the screen."""
    monkeypatch.setenv("COLUMNS", "110")
    raw_table().to_csv("raw.csv", index=False)
    line = ["fit", "raw.csv", *FIT, "--dry-run"]
    assert main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["columns"]
    assert {one["name"]: one["treated_as"] for one in told} == {
        "customer": None,
        "debt": "number, by quantiles",
        "share": "number, by range",
        "since": "date, by range",
        "city": "category, 6 levels + other",
        "job": "category, 2 levels",
        "wild": "number, clipped to 2.484..7.392",
        "y": None,
    }
    assert main(line) == 0
    out = capsys.readouterr().out
    for one in told:
        if one["treated_as"]:
            assert one["treated_as"] in out
    assert max(map(len, out.splitlines())) <= 110
    assert main([*line, "--paper"]) == 0
    assert "dummies" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "words"),
    [("--monotonic=city=1", "no order: 'city'"), ("--feature-cost=nope=3", "'nope'")],
)
def test_a_dry_run_refuses_what_training_would(tmp_path, capsys, option, words):
    """Directions and prices included."""
    file = tmp_path / "table.csv"
    rows = [f"{k % 7},{'ab'[k % 2]},{'xy'[k % 3 == 0]}" for k in range(40)]
    file.write_text("\n".join(["size,city,y", *rows]))
    assert main(["fit", str(file), "--target", "y", "--dry-run", option]) == 1
    assert words in capsys.readouterr().err


def test_levels_that_training_did_not_have_are_noted(tmp_path, monkeypatch, capsys):
    """With how many rows have them; known ones, blanks around them off, are not."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 80), "a": rng.normal(size=80)})
    table["y"] = np.where(table["sex"] == "f", "u", "v")
    table.to_csv("t.csv", index=False)
    line = "fit t.csv --target y --alpha-local 0.01 --depth 1 --out m.json -q"
    assert main(line.split()) == 0
    rows = pd.DataFrame({"sex": ["F", "f", "m", "x", "F"], "a": 0.0})
    rows.replace("f", " f ").to_csv("r.csv")
    rows.to_parquet("r.parquet")
    # From file to file, some rows at a time, as well.
    monkeypatch.setattr(streaming, "_BATCH_ROWS", 2)
    for words in (["r.csv"], ["r.parquet", "--out", "p.parquet"]):
        assert main(["predict", "m.json", *words]) == 0
        told = capsys.readouterr().err
        assert "levels without a weight of their own ('F', 'x') in 3 row(s)" in told
