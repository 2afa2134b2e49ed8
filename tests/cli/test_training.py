"""Scores and weights of the verbs that train."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

from sorct import Path, SORCTClassifier, SORCTClassifierCV
from sorct.cli import main, waiting
from sorct.cli.data import Training
from sorct.cli.parser import build_parser
from sorct.cli.waiting import tell_of_long_wait
from tests.cli.tables import QUICK, small_table

GRID = ["--alphas-local", "0.1,1,8", "--alphas-global", "0", "--n-solutions", "1"]
# A search without a race: what is said of scores does not depend on it.
ONE = ["--loss", "log", "--depth", "1", "--scaling", "auto", *GRID]


def test_accuracies_of_a_path_count_the_weights(tmp_path, monkeypatch, capsys):
    """As its costs do."""
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    weight = np.where(frame["a"] > 0, 9.0, 0.5)
    frame.assign(w=weight).to_csv("data.csv", index=False)
    line = ["path", "data.csv", "--target", "y", "--sample-weight", "w", "--all"]
    assert main([*line, "--out", "path.json", *GRID]) == 0
    out = capsys.readouterr().out
    said = [line.split()[-3] for line in out.splitlines() if re.match(r" *\d+  ", line)]
    X, y = frame[["a", "b", "c"]], frame["y"]
    trees = Path.from_json("path.json").trees
    true, plain = (
        [f"{accuracy_score(y, tree.predict(X), sample_weight=w):.3f}" for tree in trees]
        for w in (weight, None)
    )
    assert said == true
    assert true != plain


def test_a_path_tells_scores_on_rows_held_out(tmp_path, monkeypatch, capsys):
    """They are those of cross-validation with the same folds, trees are the same."""
    monkeypatch.chdir(tmp_path)
    small_table().to_csv("data.csv", index=False)
    line = ["path", "data.csv", "--target", "y", "--all", "--gamma", "512", *GRID]
    assert main([*line, "--cv", "2", "--out", "scored.json"]) == 0
    header = capsys.readouterr().out.splitlines()[2]
    assert header.split()[-4:] == ["held", "out", "std.", "error"]
    assert main([*line, "--cv", "0", "--out", "plain.json"]) == 0
    assert "held out" not in capsys.readouterr().out
    scored, plain = (Path.from_json(f"{n}.json").trees for n in ("scored", "plain"))
    frame = small_table()
    # What a search chooses by default is fixed for a path.
    search = SORCTClassifierCV(
        None,
        [tree.training.alpha_local for tree in scored],
        loss="cost",
        gamma=512.0,
        scaling="auto",
        cv=StratifiedKFold(2, shuffle=True, random_state=0),
        n_solutions=1,
        random_state=0,
    ).fit(frame[["a", "b", "c"]], frame["y"])
    # The relaxed trees follow.
    scores = search.cv_results_["mean_score"][: len(scored)]
    for tree, other, score in zip(scored, plain, scores, strict=True):
        np.testing.assert_array_equal(tree.coef, other.coef)
        assert tree.training.cv_score == score
        assert tree.training.cv_folds == 2
    assert main([*line, "--cv", "3", "--time-limit", "9"]) == 2


def never(*_, **__):
    """Stand for training that must not begin."""
    raise AssertionError("training has begun")


def test_a_score_that_no_fold_can_have_is_refused_at_once(
    tmp_path, monkeypatch, capsys
):
    """One rare class and more folds than it has rows: roc_auc is undefined."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SORCTClassifierCV, "fit", never)
    frame = small_table()
    frame["y"] = np.where(np.arange(len(frame)) < 2, "yes", "no")
    frame.to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--scoring", "roc_auc"]
    assert main(line) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("sorct: error: The scorer 'roc_auc' ")
    assert "use fewer folds" in err


def test_a_score_of_two_classes_is_refused_for_three(tmp_path, monkeypatch, capsys):
    """Before training, in one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SORCTClassifierCV, "fit", never)
    frame = small_table()
    frame["y"] = np.arange(len(frame)) % 3
    frame.to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--scoring", "roc_auc"]
    assert main(line) == 1
    err = capsys.readouterr().err
    assert "error: The scorer 'roc_auc' does not work with the classes 0, 1, 2" in err
    assert err.count("\n") == 1


def test_a_score_that_is_never_a_number_is_said_after_training(
    tmp_path, monkeypatch, capsys
):
    """If it could not be known before."""
    monkeypatch.chdir(tmp_path)
    small_table().to_csv("data.csv", index=False)
    monkeypatch.setattr("sorct.estimators.folds._checked_score", lambda _: np.nan)
    line = ["fit", "data.csv", "--target", "y", "--out", "out.json", "--cv", "2"]
    assert main([*line, "--scoring", "f1_macro", *ONE]) == 1
    err = capsys.readouterr().err
    assert "error: The scorer 'f1_macro' gives no number for any tree" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    "scoring",
    [
        "roc_auc",
        pytest.param("neg_log_loss", marks=pytest.mark.slow),
        pytest.param("matthews_corrcoef", marks=pytest.mark.slow),
    ],
)
def test_a_score_that_can_be_computed_is_taken(tmp_path, monkeypatch, capsys, scoring):
    """Probabilities or labels, whatever it needs; rows of weight 0 do not matter."""
    monkeypatch.chdir(tmp_path)
    frame = small_table().assign(w=1.0)
    frame.loc[:9, "w"] = 0.0
    frame.to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y", "--sample-weight", "w", "--json"]
    assert main([*line, "--scoring", scoring, "--cv", "2", *ONE]) == 0
    told = json.loads(capsys.readouterr().out)["tree"]["training"]
    assert told["cv_scoring"] == scoring


@pytest.mark.parametrize(
    "error", [KeyError("x"), RuntimeError("odd"), AssertionError(), TypeError("no")]
)
def test_whatever_goes_wrong_is_one_line(tmp_path, monkeypatch, capsys, error):
    """With the way to see more; a traceback only if it is asked for."""
    monkeypatch.chdir(tmp_path)
    small_table().to_csv("data.csv", index=False)

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(SORCTClassifier, "fit", fail)
    line = ["fit", "data.csv", "--target", "y", "--alpha-local", "1"]
    assert main(line) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"sorct: error: {type(error).__name__}")
    assert err.endswith("(SORCT_TRACEBACK=1 shows where)\n")
    assert err.count("\n") == 1
    monkeypatch.setenv("SORCT_TRACEBACK", "1")
    with pytest.raises(type(error)):
        main(line)


def test_a_tree_without_variables_is_warned_of(tmp_path, capsys):
    """It gives every row the same class: nobody asked for that."""
    file = tmp_path / "noise.csv"
    rows = "".join(f"{n % 7},{n % 5},{'ab'[n % 3 == 0]}\n" for n in range(40))
    file.write_text("x,z,y\n" + rows)
    assert main(["fit", str(file), "--target", "y", "--alpha-local", "8"]) == 0
    assert "warning: the tree uses no variable" in capsys.readouterr().err


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "long"),
    [
        (150, 4, 3, False),
        (569, 30, 2, False),
        (1000, 20, 2, False),
        (2000, 50, 7, True),
        (15524, 13, 3, True),
        (1055, 11, 27, True),
    ],
)
def test_a_long_wait_is_told_of_beforehand(capsys, n_rows, n_columns, n_classes, long):
    """By rows, columns and classes; not if it is quiet or has a limit."""
    line = ["fit", "data.csv", "--target", "y"]
    X = pd.DataFrame(np.zeros((n_rows, n_columns)))
    data = Training(X, np.arange(n_rows) % n_classes, None)
    for more in ([], ["-q"], ["--time-limit", "60"]):
        tell_of_long_wait(build_parser().parse_args([*line, *more]), data)
        err = capsys.readouterr().err
        assert err.count("may take some minutes; --time-limit 60 ends") == (
            long and not more
        )


def test_a_fit_tells_of_a_long_wait(tmp_path, monkeypatch, capsys):
    """Of a search, not of a tree whose penalties are fixed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waiting, "_LONG", 60 * 3 * 2)
    small_table().to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", "y"]
    assert main([*line, *ONE, "--cv", "2"]) == 0
    told = "note: 60 rows x 3 variables x 2 classes may take some minutes"
    assert told in capsys.readouterr().err
    assert main([*line, *QUICK]) == 0
    assert "minutes" not in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["fit", "path", "compare"])
def test_a_class_of_one_row_is_told_of_once(tmp_path, monkeypatch, capsys, verb):
    """However often folds are drawn; without a word of scikit-learn's."""
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame.loc[3, "y"] = "rare"
    frame.to_csv("data.csv", index=False)
    line = [verb, "data.csv", "--target", "y", *GRID, "--cv", "2", "--depth", "2"]
    line += {"fit": ["--loss", "log", "--scaling", "auto"], "path": []}.get(
        verb, ["--folds", "2"]
    )
    assert main(line) == 0
    err = capsys.readouterr().err
    assert err.count("warning: Class 'rare' has 1 row, fewer than there are") == 1
    assert "least populated" not in err


def test_missing_marks_are_added_to_the_usual_ones(tmp_path, capsys):
    """An empty cell stays missing whatever else is."""
    file = tmp_path / "gaps.csv"
    rows = "".join(f"{n},{'ab'[n > 20]}\n" for n in range(40))
    file.write_text("x,y\n?,a\n3,\n" + rows)
    flags = ["--alpha-local", "0", "--n-starts", "1", "--missing", "?"]
    assert main(["fit", str(file), "--target", "y", *flags]) == 1
    assert main(["fit", str(file), "--target", "y", "--drop-missing", *flags]) == 0
    assert "40 rows" in capsys.readouterr().out


@pytest.mark.parametrize(("limit", "ends"), [("1e6", False), ("1e-6", True)])
@pytest.mark.parametrize("target", ["y", "a"])
def test_a_time_limit_ends_what_is_chosen(
    tmp_path, monkeypatch, capsys, limit, ends, target
):
    """Of classes and of quantities; the line that says why tells of it."""
    monkeypatch.chdir(tmp_path)
    small_table().to_csv("data.csv", index=False)
    line = ["fit", "data.csv", "--target", target, "--time-limit", limit, "--json"]
    fixed = ["--scaling", "auto", "--depth", "1", *GRID, "--cv", "2"]
    task = ["--task", "quantity"] if target == "a" else ["--loss", "log"]
    assert main([*line, *fixed, *task]) == 0
    told = json.loads(capsys.readouterr().out)["why"]
    assert ("--time-limit ended the comparison" in told) == ends
