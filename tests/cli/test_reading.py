"""The command line reads tables as people have them, in training and for a tree."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, Tree, read_table
from sorct.cli import main
from tests.cli.tables import QUICK, small_table


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def raw_export():
    """The small table as an export has it: money, shares, ids, spellings."""
    frame = small_table()
    n = len(frame)
    return pd.DataFrame(
        {
            "customer": [f"C-{k:04d}" for k in range(n)],
            "debt": [f"${1000 * value:,.2f}" for value in frame["a"]],
            "share": [f"{value:.2f}%" for value in frame["b"]],
            "kind": [f" {value}" for value in frame["c"]],
            "fixed": "x",
            "y": [[" no", "No"][k % 5 == 0] if v == "no" else v
                  for k, v in enumerate(frame["y"])],
        }
    )  # fmt: skip


def plain_export():
    """The same as Python has it."""
    frame = small_table()
    return pd.DataFrame(
        {
            "debt": [float(f"{1000 * value:.2f}") for value in frame["a"]],
            "share": [float(f"{value:.2f}e-2") for value in frame["b"]],
            "kind": frame["c"],
            "y": frame["y"],
        }
    )


FIT = ["--target", "y", *QUICK]


def test_a_raw_export_gives_the_same_tree_as_a_clean_table(capsys):
    """And each is told to the user; predictions are the same, too."""
    raw_export().to_csv("raw.csv", index=False)
    plain_export().to_csv("plain.csv", index=False)
    assert main(["fit", "raw.csv", *FIT, "--out", "raw.json"]) == 0
    err = capsys.readouterr().err
    for line in (
        "note: column 'customer' is left out: it has another value in every row, like "
        "an id (--keep customer keeps it).",
        "note: column 'fixed' is left out: all its cells are the same",
        "note: column 'share': '",
        "note: column 'y': 'No' is taken for 'no'.",
    ):
        assert f"sorct: {line}" in err
    assert main(["fit", "plain.csv", *FIT, "--out", "plain.json", "-q"]) == 0
    raw, plain = Tree.from_json("raw.json"), Tree.from_json("plain.json")
    assert raw.encoder == plain.encoder
    np.testing.assert_array_equal(raw.coef, plain.coef)
    capsys.readouterr()
    told = []
    for name in ("raw", "plain"):
        assert main(["predict", "plain.json", f"{name}.csv", "--proba", "-q"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert main(["explain", "plain.json", "raw.csv", "--row", "3"]) == 0
    line = ["report", "plain.json", "--data", "raw.csv", "--out", "page.html"]
    assert main(line) == 0


def test_python_reads_the_same():
    """The table of sorct.read_table is the one that is trained on."""
    raw_export().to_csv("raw.csv", index=False)
    with pytest.warns(UserWarning, match="left out"):
        found = read_table("raw.csv", target="y")
    pd.testing.assert_frame_equal(found, plain_export(), check_dtype=False)


def test_decimal_commas_of_rows_and_of_training(capsys):
    """Told by the file, in both."""
    frame = small_table()
    frame.to_csv("point.csv", index=False)
    frame.to_csv("comma.csv", index=False, sep=";", decimal=",")
    assert main(["fit", "comma.csv", *FIT, "--out", "m.json", "-q"]) == 0
    told = []
    for name in ("point", "comma"):
        assert main(["predict", "m.json", f"{name}.csv", "--proba", "-q"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    Path("one.csv").write_text("a;b;c\n1,234;15;u\n")
    assert main(["predict", "m.json", "one.csv", "-q"]) == 1
    assert "say which with --decimal . or --decimal ," in capsys.readouterr().err
    assert main(["predict", "m.json", "one.csv", "-q", "--decimal", ","]) == 0


def test_all_problems_of_rows_are_in_one_line(capsys):
    """A word for a number and a gap."""
    frame = small_table()
    noisy = frame.assign(y=np.where(frame["a"] + frame["b"] > 15, "yes", "no"))
    noisy.to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--alpha-local", "0.01", "-q"]
    assert main([*line, "--n-starts", "2", "--out", "m.json"]) == 0
    assert {"a", "b"} <= set(Tree.from_json("m.json").variables_used)
    rows = frame.astype({"a": object, "b": object})
    rows.loc[3, "a"], rows.loc[5, "b"] = "1,200 or so", None
    rows.to_csv("rows.csv", index=False)
    assert main(["predict", "m.json", "rows.csv", "-q"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "rows.csv has 2 problems." in err
    assert "column 'a' must hold numbers, got '1,200 or so' in row 4" in err
    assert "column 'b' has 1 missing cell(s), the first in row 6" in err


def test_all_problems_of_a_table_are_in_one_line(capsys):
    """Infinity, dates in doubt, nothing at all, the target: not one column per run."""
    frame = small_table().assign(day="01/02/2024", none=None)
    frame.loc[0, "day"] = "02/03/2024"
    frame.loc[1, "a"], frame.loc[2, "b"], frame.loc[3, "y"] = np.inf, None, None
    frame.to_csv("bad.csv", index=False)
    assert main(["fit", "bad.csv", *FIT, "-q", "--keep", "none"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("sorct: error: bad.csv has 4 problems. (1) ")
    assert err.count("\n") == 1
    for text in (
        "column 'a' has infinity in 1 cell(s), first in row 2",
        "column 'y' has 1 missing cell(s), the first in row 4",
        "say which with --dates day-first",
        "column 'none' has no cells; leave it out (--drop none)",
    ):
        assert text in err


def test_levels_of_a_model_are_found_as_they_are_written(capsys):
    """A level with blanks around it, or one that looks like a gap, is a level."""
    frame = small_table()
    level = np.where(frame["y"] == "yes", " NA", "-")
    X = frame[["a"]].assign(c=level)
    model = SORCTClassifier(alpha_local=0.1, n_starts=2, random_state=0)
    model.fit(X.drop(columns="a"), frame["y"]).tree_.to_json("m.json")
    X.to_csv("rows.csv", index=False)
    assert main(["predict", "m.json", "rows.csv", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)["predictions"]
    assert told == model.predict(X[["c"]]).tolist()


# -- dry run ---------------------------------------------------------------------------


def test_a_dry_run_shows_every_column_and_writes_nothing(tmp_path, capsys):
    """How it is read, its values, its gaps, and what there is to say."""
    raw_export().assign(day="2024-01-31").to_csv("raw.csv", index=False)
    line = ["fit", "raw.csv", *FIT, "--dry-run", "--out", "model.json", "--keep", "day"]
    assert main([*line, "--categorical-features", "day"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = {row.split()[0]: row for row in out.splitlines() if row}
    assert list(lines)[0] == "column"
    assert lines["customer"].split()[1:3] == ["left", "out"]
    assert "number, by range" in lines["debt"]
    assert "category, 2 levels" in lines["kind"]
    assert lines["y"].split()[1] == "target"
    assert "'No' is taken for" in lines["y"]
    assert max(map(len, out.splitlines())) <= 100
    assert out.endswith("60 rows.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["raw.csv"]


def test_a_dry_run_tells_machines(capsys):
    """One JSON document."""
    raw_export().to_csv("raw.csv", index=False)
    assert main(["fit", "raw.csv", *FIT, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True
    assert [one["name"] for one in told["columns"]] == list(raw_export().columns)
    assert told["problems"] == []


def test_a_dry_run_refuses_what_training_refuses(capsys):
    """After the table."""
    frame = small_table().assign(day="01/02/2024", b=None)
    frame.loc[0, "day"] = "02/03/2024"
    frame.to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", *FIT, "--dry-run", "--keep", "day,b"]) == 1
    out, err = capsys.readouterr()
    assert "day" in out
    assert err.startswith("sorct: error: t.csv has 2 problems.")
