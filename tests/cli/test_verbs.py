"""The command line does what its verbs say; each is called as a user would."""

import io
import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pandas as pd
import pytest

from sorct import Path, SORCTClassifier, SORCTClassifierCV, Tree
from sorct.cli import main
from sorct.cli.completion import verbs_of
from sorct.cli.parser import build_parser
from tests.cli.tables import QUICK, write_table
from tests.show.every_kind import tree_of_one

PAGE = FilePath(__file__).parents[2] / "docs" / "cli.md"
FAST = ["--alphas-local", "0.1,1", "--cv", "2", "--n-solutions", "1"]
# One setting in place of a race of several.
ONE = ["--loss", "log", "--depth", "1", "--scaling", "auto"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model and a path."""
    place = tmp_path_factory.mktemp("cli")
    write_table(place / "data.csv")
    data = str(place / "data.csv")
    model, path = str(place / "model.json"), str(place / "path.json")
    assert main(["fit", data, "--target", "y", "--out", model, "-q", *QUICK]) == 0
    grid = ["--alphas-local", "0.1,1", "--n-solutions", "2", "--depth", "2"]
    grid += ["--alphas-global", "0,1"]
    assert main(["path", data, "--target", "y", "--out", path, "-q", *grid]) == 0
    return place


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run a line in the folder; gives exit code, standard output, standard error."""
    monkeypatch.chdir(folder)

    def call(line):
        code = main(shlex.split(line))
        return code, *capsys.readouterr()

    return call


def frame_of(folder):
    frame = pd.read_csv(folder / "data.csv")
    return frame.drop(columns="y"), frame["y"].to_numpy()


# -- fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "n_folds"),
    [
        pytest.param("", 10, marks=pytest.mark.slow, id="none"),
        ("--cv 2 --loss log --depth 1 --scaling auto", 2),
    ],
)
def test_fit_chooses_by_cross_validation_and_prints_rules(
    run, folder, options, n_folds
):
    """Without any penalty: rules, score, seed; nothing is written."""
    few = pd.read_csv(folder / "data.csv", usecols=["a", "y"], nrows=30)
    few.to_csv(folder / "few.csv", index=False)
    before = sorted(folder.iterdir())
    code, out, err = run(f"fit few.csv --target y {options}")
    assert code == 0
    assert out.startswith("Tree of depth 1")
    told = rf"(?m)^Log-loss in cross-validation \({n_folds} folds\): 0\.\d{{3}} "
    said = told + r"\(standard error "
    assert re.search(said + r"0\.\d{3}\); accuracy 0\.[89]\d{2}\.$", out)
    assert "minus" not in out
    assert "seed 0" in out
    assert "rule one-standard-error" in out.replace("\n  ", " ")
    assert err == ""
    assert sorted(folder.iterdir()) == before


def test_fit_gives_the_tree_of_the_library(run, folder):
    """The same penalties and seed, from Python and from the command line."""
    code, _, err = run(
        "fit data.csv --target y --alpha-local 0.1 --alpha-global 0.2 --depth 2 "
        "--gamma 64 --n-starts 3 --seed 5 --tol 1e-5 --max-iter 500 --out own.json"
    )
    assert code == 0, err
    X, y = frame_of(folder)
    options = {"gamma": 64.0, "n_starts": 3, "random_state": 5, "tol": 1e-5}
    ours = SORCTClassifier(2, 0.1, 0.2, max_iter=500, **options).fit(X, y)
    tree = Tree.from_json(folder / "own.json")
    np.testing.assert_array_equal(tree.coef, ours.coef_)
    np.testing.assert_array_equal(tree.threshold, ours.threshold_)
    assert tree.training["call"].startswith("sorct fit data.csv --target y --alpha-")
    assert tree.training["target"] == "y"


def test_fit_as_json_is_one_document_that_holds_the_tree(run):
    """Nothing else is on standard output, and the same seed gives the same bytes."""
    line = f"fit data.csv --target y --json --rule best {shlex.join(FAST + ONE)}"
    code, out, _ = run(line)
    assert code == 0
    found = json.loads(out)
    tree = Tree.from_dict(found["tree"])
    assert found["variables_used"] == list(tree.variables_used)
    assert found["rules"] == str(tree)
    assert tree.training["cv_rule"] == "best"
    assert run(line)[1] == out


def test_the_score_said_is_that_of_the_search(run, folder):
    """Folds are shuffled by the seed; the score and its error are kept."""
    from sklearn.model_selection import StratifiedKFold

    code, _, _ = run(
        f"fit data.csv --target y --out scored.json --seed 3 {shlex.join(FAST + ONE)}"
    )
    assert code == 0
    told = Tree.from_json(folder / "scored.json").training
    search = SORCTClassifierCV(
        1,
        alphas_local=[0.1, 1],
        loss="log",
        scaling="auto",
        n_solutions=1,
        cv=StratifiedKFold(2, shuffle=True, random_state=3),
        rule="one-standard-error",
        random_state=3,
    ).fit(*frame_of(folder))
    assert told["cv_score"] == search.best_score_
    error = search.cv_results_["se_score"][search.best_index_]
    assert told["cv_standard_error"] == error


def test_limits_on_variables_are_kept(run):
    """--max-features bounds the variables of the tree."""
    fast = shlex.join(["--alphas-local", "0.1,8", *FAST[2:], *ONE])
    code, out, _ = run(f"fit data.csv --target y --json --max-features 1 {fast}")
    assert code == 0
    assert len(json.loads(out)["variables_used"]) <= 1


def test_floors_of_one_class_go_before_those_of_all(run, folder):
    """A rate for all classes, another for one; both are in the tree."""
    code, _, err = run(
        "fit data.csv --target y --alpha-local 0.1 --n-starts 4 --min-recall 0.2 "
        "--min-recall no=0.3 --out floors.json"
    )
    assert code == 0, err
    tree = Tree.from_json(folder / "floors.json")
    assert tree.classes.tolist() == ["no", "yes"]
    assert tree.training["min_recall"] == [0.3, 0.2]


def test_costs_may_name_the_classes_in_any_order(run, folder):
    """Rows are true classes, columns predicted ones."""
    (folder / "costs.csv").write_text("true,yes,no\nyes,,2\nno,0.5,0\n")
    code, _, err = run(
        "fit data.csv --target y --alpha-local 0.1 --n-starts 2 "
        "--cost-matrix costs.csv --out costs.json"
    )
    assert code == 0, err
    tree = Tree.from_json(folder / "costs.json")
    # In the order no, yes: 0.5 for saying yes where no is true.
    assert tree.cost_matrix.tolist() == [[0.0, 0.5], [2.0, 0.0]]


def test_weights_come_from_a_column_that_is_no_variable(run, folder):
    """Weight 2 is the row twice."""
    X, y = frame_of(folder)
    weights = np.arange(len(y)) % 3
    X.assign(y=y, w=weights).to_csv(folder / "weights.csv", index=False)
    twice = X.assign(y=y).loc[np.repeat(np.arange(len(y)), weights)]
    twice.to_csv(folder / "twice.csv", index=False)
    quick = shlex.join(QUICK)
    for name, extra in (("weights", "--sample-weight w"), ("twice", "")):
        line = f"fit {name}.csv --target y {extra} {quick} --out {name}.json"
        assert run(line)[0] == 0
    one, two = (Tree.from_json(folder / f"{n}.json") for n in ("weights", "twice"))
    assert [v.name for v in one.encoder.variables] == ["a", "b", "c"]
    np.testing.assert_allclose(one.class_share, two.class_share, atol=1e-12)


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ("--drop c", ["a", "b"]),
        ("--drop a --drop c", ["b"]),
        ("--columns b,a", ["a", "b"]),
        ("--columns b --columns c", ["b", "c"]),
    ],
)
def test_columns_are_chosen_by_name(run, flags, names):
    """One by one or in a list."""
    code, out, _ = run(f"fit data.csv --target y --json {flags} {shlex.join(QUICK)}")
    assert code == 0
    variables = json.loads(out)["tree"]["variables"]
    assert [variable["name"] for variable in variables] == names


def test_quiet_says_nothing_if_there_is_a_file(run, folder):
    """Neither on standard output nor on standard error."""
    code, out, err = run(
        f"fit data.csv --target y -q --out quiet.json {shlex.join(QUICK)}"
    )
    assert (code, out, err) == (0, "", "")
    assert (folder / "quiet.json").exists()


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self):
        """Say that it is one."""
        return True


@pytest.mark.parametrize(
    "verb",
    [
        "fit --alpha-local 1 --n-starts 2",
        *(pytest.param(v, marks=pytest.mark.slow) for v in ("fit", "path", "compare")),
    ],
)
def test_bars_are_drawn_on_a_terminal_only(run, monkeypatch, verb):
    """On standard error; standard output is one JSON document all the same."""
    rich = pytest.importorskip("rich")
    monkeypatch.delenv("TERM", raising=False)
    console, error = rich.get_console(), Terminal()
    grid = "" if "alpha" in verb else "--alphas-local 1 --n-solutions 1"
    folds = {
        "fit": f"--cv 2 {shlex.join(ONE)}",
        "compare": "--folds 2 --cv 2 --depth 1",
    }.get(verb, "")
    line = f"{verb} data.csv --target y --json {grid} {folds}"
    monkeypatch.setattr("sys.stderr", error)
    code, out, _ = run(line)
    assert code == 0
    json.loads(out)
    assert "━" in error.getvalue()
    assert rich.get_console() is console
    assert not console.stderr
    monkeypatch.setattr("sys.stderr", io.StringIO())
    code, again, _ = run(line)
    assert (code, again) == (0, out)
    lines = sys.stderr.getvalue().splitlines()
    assert all(line.startswith("sorct: warning: ") for line in lines), lines
    monkeypatch.setattr("sys.stderr", Terminal())
    assert run(f"{line} -q")[0] == 0
    assert sys.stderr.getvalue() == ""


# -- show, predict, explain ------------------------------------------------------------


def test_show_prints_the_rules(run, folder):
    """As the library prints them."""
    tree = Tree.from_json(folder / "model.json")
    code, out, _ = run("show model.json")
    assert code == 0
    assert out.startswith(str(tree))
    code, out, _ = run("show model.json --json")
    assert Tree.from_dict(json.loads(out)["tree"]) == tree


def test_show_lists_a_path_and_prints_a_point_of_it(run, folder):
    """The frontier, all points, or the rules of one tree."""
    path = Path.from_json(folder / "path.json")
    _, out, _ = run("show path.json --all")
    lines = [line for line in out.splitlines() if line.lstrip()[:1].isdigit()]
    assert [int(line.split()[0]) for line in lines] == [0, 1, 2, 3]
    _, out, _ = run("show path.json --point 3")
    rules, _, score = out.strip().rpartition("\n\n")
    assert rules == str(path.trees[3])
    assert score.startswith("Accuracy in cross-validation (3 folds): ")
    _, out, _ = run("show path.json --json")
    assert json.loads(out)["frontier"] == path.frontier().index.tolist()


def test_a_refitted_tree_of_a_path_can_be_taken(run, folder):
    """By every verb that takes a point; and only where there is one."""
    path = Path.from_json(folder / "path.json")
    line = "path.json --point 2 --relaxed"
    assert path.relaxed[2] != path.trees[2]
    assert run(f"show {line}")[1].startswith(str(path.relaxed[2]))
    code, _, err = run(f"export {line} --to json --out relaxed.json")
    assert code == 0, err
    assert Tree.from_json(folder / "relaxed.json") == path.relaxed[2]
    assert "--relaxed" in run("show path.json")[1]
    code, _, err = run(f"report {line} --out relaxed.html --data data.csv")
    assert code == 0, err
    assert "choose one with --point" in run("show path.json --relaxed")[2]
    assert "leave out --relaxed" in run("show model.json --relaxed")[2]
    replace(path, relaxed=()).to_json(folder / "plain.json")
    assert "has no refitted trees" in run("show plain.json --point 1 --relaxed")[2]
    assert "--relaxed" not in run("show plain.json")[1]


def test_predict_gives_classes_and_probabilities(run, folder):
    """As the tree does; the target is ignored with a note."""
    tree = Tree.from_json(folder / "model.json")
    X, _ = frame_of(folder)
    code, out, err = run("predict model.json data.csv --proba --out pred.csv")
    assert (code, out) == (0, "")
    assert "ignored in data.csv: the target 'y'" in err
    table = pd.read_csv(folder / "pred.csv")
    columns = ["prediction", "probability_no", "probability_yes"]
    assert table.columns.tolist() == columns
    assert table["prediction"].tolist() == tree.predict(X).tolist()
    np.testing.assert_array_equal(table[columns[1:]], tree.predict_proba(X))


def test_predict_as_json(run, folder):
    """Classes, predictions, probabilities."""
    tree = Tree.from_json(folder / "model.json")
    X, _ = frame_of(folder)
    found = json.loads(run("predict model.json data.csv --json")[1])
    assert found["predictions"] == tree.predict(X).tolist()
    assert found["probabilities"] == tree.predict_proba(X).tolist()


def test_predict_keeps_the_columns_given_as_they_are_written(run, folder):
    """To the last character."""
    (folder / "rows.csv").write_text("id,c,b,a\n007,u,1.50,0.10\n008,v,2e0,-.5\n")
    code, out, err = run("predict model.json rows.csv --keep")
    assert (code, err) == (0, "")
    header, one, two = out.splitlines()
    assert header == "id,c,b,a,prediction"
    assert one.startswith("007,u,1.50,0.10,")
    assert two.startswith("008,v,2e0,-.5,")


def test_predict_needs_only_the_variables_that_the_tree_uses(run, folder):
    """Others may be absent, empty or new: they change nothing."""
    tree = Tree.from_json(folder / "model.json")
    X, _ = frame_of(folder)
    assert tree.variables_used == ("a", "c")
    X[["a", "c"]].assign(b="").to_csv(folder / "sparse.csv", index=False)
    code, out, err = run("predict model.json sparse.csv")
    assert code == 0, err
    assert out.split()[1:] == tree.predict(X).tolist()


def test_explain_counts_rows_from_1(run, folder):
    """And says so."""
    from sorct import explain

    tree = Tree.from_json(folder / "model.json")
    X, _ = frame_of(folder)
    code, out, _ = run("explain model.json data.csv --row 3")
    assert code == 0
    assert out.startswith("Row 3 of data.csv, counted from 1 without the header\n")
    assert str(explain(tree, X.iloc[[2]])) in out
    found = json.loads(run("explain model.json data.csv --row 3 --json")[1])
    assert found["row"] == 3
    assert found["predicted"] == tree.predict(X.iloc[[2]])[0]


def test_explain_looks_at_no_other_row(run, folder):
    """What another row lacks, or has wrong, is no matter; its own cells are named."""
    X, _ = frame_of(folder)
    X["a"] = X["a"].astype(object)
    X.loc[1, "a"], X.loc[4, "a"] = None, "much"
    X.to_csv(folder / "gap.csv", index=False)
    whole = run("explain model.json data.csv --row 3")[1]
    code, out, err = run("explain model.json gap.csv --row 3")
    assert code == 0, err
    assert out == whole.replace("data.csv", "gap.csv")
    err = run("explain model.json gap.csv --row 2")[2]
    assert "column 'a' has 1 missing cell(s), the first in row 2" in err
    err = run("explain model.json gap.csv --row 5")[2]
    assert "column 'a' must hold numbers, got 'much' in row 5" in err


def test_new_levels_are_taken_as_the_model_or_a_flag_says(run, folder):
    """As others, which add nothing; as an error; as the first level."""
    X, y = frame_of(folder)
    X.assign(y=np.where(X["c"] == "u", "yes", "no")).to_csv(
        folder / "level.csv", index=False
    )
    run(f"fit level.csv --target y --out level.json {shlex.join(QUICK)}")
    tree = Tree.from_json(folder / "level.json")
    assert "c" in tree.variables_used
    X.assign(c="w").to_csv(folder / "new.csv", index=False)
    code, out, _ = run("predict level.json new.csv")
    assert code == 0
    assert out.split()[1:] == tree.predict(X.assign(c="w")).tolist()
    code, out, err = run("predict level.json new.csv --handle-unknown error")
    assert (code, out) == (1, "")
    assert "'c' has the level 'w' in row 1" in err
    assert "--handle-unknown other" in err
    code, out, _ = run("predict level.json new.csv --handle-unknown first_level")
    assert code == 0
    assert set(out.split()[1:]) == {"yes"}


# -- path, report, export, datasets ---------------------------------------------------


def test_path_prints_its_frontier(run, folder):
    """And writes what the library reads."""
    path = Path.from_json(folder / "path.json")
    assert len(path) == 4
    assert path.trees[0].training["target"] == "y"
    code, out, _ = run(
        "path data.csv --target y --alphas-local 0.1,1 --n-solutions 1 --all"
    )
    assert code == 0
    assert "accuracy" in out
    assert "seed 0" in out


@pytest.mark.parametrize("name", ["model.json", "path.json"])
def test_report_writes_a_page(run, folder, name):
    """Of a model and of a path, on data or without; an older page is replaced."""
    code, out, err = run(f"report {name} --data data.csv --target y --out page.html")
    assert (code, out) == (0, ""), err
    page = (folder / "page.html").read_text("utf-8")
    assert "<html" in page
    code, _, err = run(f"report {name} --out page.html --title Bare")
    assert code == 0, err
    bare = (folder / "page.html").read_text("utf-8")
    assert "Bare" in bare
    assert len(bare) < len(page)


def test_the_target_of_training_is_known_to_the_report(run):
    """It need not be named again."""
    assert run("report model.json --data data.csv --out page.html")[0] == 0


@pytest.mark.parametrize(
    ("flag", "out", "said"),
    [
        ("--drop-missing target", [5], "1 of 60 rows have no target; left out"),
        ("--drop-missing", [3, 5], "2 of 60 rows have missing cells; left out"),
    ],
)
def test_a_report_can_leave_out_rows_with_gaps(run, folder, flag, out, said):
    """As training does; the rows kept are counted as in the file."""
    X, y = frame_of(folder)
    tree = Tree.from_json(folder / "model.json")
    shown = replace(tree, encoder=replace(tree.encoder, missing="typical"))
    shown.to_json(folder / "typical.json")
    X.loc[3, "b"], y[5] = None, None
    X.assign(y=y).to_csv(folder / "gaps.csv", index=False)
    line = "report typical.json --data gaps.csv --out page.html --force"
    code, _, err = run(line)
    assert code == 1
    assert "column 'y' has 1 missing cell(s), the first in row 6. " in err
    assert "leave such rows out (--drop-missing target)" in err
    code, _, err = run(f"{line} {flag}")
    assert code == 0, err
    assert said in err
    kept = np.delete(np.arange(60), out)
    rows = X.iloc[kept].set_axis(kept + 1)
    expected = shown.report(rows, y[kept].astype(str)).html()
    assert (folder / "page.html").read_text("utf-8") == expected


def test_export_writes_every_language(run, folder):
    """To standard output or a file, twice if need be."""
    export = pytest.importorskip("sorct.export")
    tree = Tree.from_json(folder / "model.json")
    writers = {
        "sql": export.to_sql,
        "python": export.to_python,
        "js": export.to_javascript,
        "javascript": export.to_javascript,
    }
    for language, write in writers.items():
        code, out, err = run(f"export model.json --to {language}")
        assert code == 0, err
        assert out.strip() == write(tree).strip()
        for _ in range(2):
            line = f"export model.json --to {language} --out tree.{language}"
            code, out, err = run(line)
            assert (code, out) == (0, ""), err
        text = (folder / f"tree.{language}").read_text("utf-8")
        assert text.strip() == write(tree).strip()
    _, out, _ = run("export model.json --to sql --table people")
    assert out.strip() == export.to_sql(tree, table="people").strip()


def test_export_to_json_takes_a_tree_from_a_path(run, folder):
    """The way from a path to a model."""
    code, _, err = run("export path.json --point 2 --to json --out point.json")
    assert code == 0, err
    path = Path.from_json(folder / "path.json")
    assert Tree.from_json(folder / "point.json") == path.trees[2]


def test_export_to_onnx_writes_a_model(run, folder):
    """What onnx reads."""
    onnx = pytest.importorskip("onnx")
    code, _, err = run("export model.json --to onnx --dtype float64 --out tree.onnx")
    assert code == 0, err
    onnx.checker.check_model(onnx.load(folder / "tree.onnx"))


def test_datasets_lists_18_and_writes_one(run, folder, monkeypatch):
    """With rows, classes, and whether each can be loaded now."""
    monkeypatch.delenv("SORCT_DATA", raising=False)
    code, out, _ = run("datasets --json")
    assert code == 0
    found = {one["name"]: one for one in json.loads(out)["datasets"]}
    assert len(found) == 18
    assert (found["iris"]["rows"], found["iris"]["loads"]) == (150, "yes")
    assert found["monks-1"]["loads"] == "no: needs a file"
    assert found["sonar"]["loads"] == "when online (OpenML)"
    assert "wisconsin" in run("datasets")[1]
    assert run("datasets iris --out iris.csv")[0] == 0
    table = pd.read_csv(folder / "iris.csv")
    assert table.shape == (150, 5)
    assert table.columns[-1] == "class"


def test_datasets_tells_a_file_that_holds_other_rows(run, tmp_path):
    """It is looked into."""
    (tmp_path / "monks-1.csv").write_text("a1,a2,a3,a4,a5,a6,class\n1,1,1,1,1,1,0\n")
    found = json.loads(run(f"datasets --json --folder {tmp_path}")[1])["datasets"]
    loads = {one["name"]: one["loads"] for one in found}
    assert loads["monks-1"] == "no: its file holds other rows"


@pytest.mark.usefixtures("few_strengths")
def test_compare_prints_methods_tests_and_a_sentence(run):
    """As text."""
    flags = "--folds 2 --cv 2 --depth 1 --alphas-local 1 --n-solutions 1 --paper"
    code, out, _ = run(f"compare data.csv --target y {flags}")
    assert code == 0
    for text in ("CART", "L1 logistic", "sorct", "most frequent class", "seed 0"):
        assert text in out
    header = next(line for line in out.splitlines() if line.startswith("method"))
    assert header.split("  ")[0] == "method"
    assert re.sub(" {2,}", "|", header) == (
        "method|accuracy|std. error|log-loss|AUC|variables|cuts"
    )
    assert out.count("clipped at 1e-6") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("few_strengths")
def test_compare_as_json_is_one_document(run):
    """With every fold."""
    flags = "--folds 2 --cv 2 --depth 1 --alphas-local 1 --n-solutions 1 --paper"
    _, out, _ = run(f"compare data.csv --target y --json {flags}")
    found = json.loads(out)
    assert len(found["folds"]) == 2 * 4
    assert found["sentence"].endswith(".")
    assert {"accuracy", "log_loss", "auc"} <= set(found["methods"][0])
    assert found["notes"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("few_strengths")
def test_compare_prints_the_score_that_is_asked_for(run):
    """Before those that are always there."""
    flags = "--folds 2 --cv 2 --depth 1 --alphas-local 1 --n-solutions 1 --paper"
    _, out, _ = run(f"compare data.csv --target y {flags} --scoring roc_auc")
    assert re.search("method +roc_auc +std. error +accuracy +log-loss +AUC", out)


@pytest.mark.slow
@pytest.mark.usefixtures("few_strengths")
def test_the_page_for_users_runs(tmp_path, monkeypatch, capsys):
    """Every line of its first example."""
    block = re.search(r"(?ms)^```\n(.*?)^```", PAGE.read_text("utf-8")).group(1)
    lines = [line.split("#")[0] for line in block.splitlines()]
    one = [*ONE[:3], "2", *ONE[4:]]  # for three classes
    small = {"fit": FAST + one, "path": ["--alphas-local", "1", "--alphas-global", "1"]}
    small["compare"] = ["--folds", "2", "--cv", "2", *FAST[:2], *FAST[4:], "--paper"]
    monkeypatch.chdir(tmp_path)
    for line in lines:
        words = shlex.split(line)[1:]
        more = small.get(words[0], [])
        if "--trees" in words:
            more = [
                "--depth",
                "2",
                "--gamma",
                "100",
                "--alpha-global",
                "0.1",
                "--n-starts",
                "1",
            ]
        assert main([*words, *more]) == 0, capsys.readouterr().err


def test_the_page_for_users_names_flags_that_exist():
    """All of them."""
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE.read_text("utf-8")))
    known = {
        f for verb in verbs_of(build_parser()) for g in verb.flags for f in g.names
    }
    assert flags <= known | {"--help"}


# -- the parser ------------------------------------------------------------------------


def test_help_names_every_verb(run):
    """And every verb has help of its own."""
    code, out, _ = run("--help")
    assert code == 0
    verbs = "fit show predict explain path report export compare datasets completion"
    for verb in verbs.split():
        assert f"\n    {verb}" in out
        code, text, _ = run(f"{verb} --help")
        assert code == 0
        assert text.startswith(f"usage: sorct {verb}")


def test_every_option_of_the_estimators_is_a_flag():
    """What Python can ask for, the command line can."""
    import inspect

    named = {"random_state": "seed", "n_jobs": "jobs", "depths": "depth"}
    named |= {"gammas": "gamma", "progress": "quiet", "monotonic_cst": "monotonic"}
    wanted = {
        named.get(name, name)
        for estimator in (SORCTClassifier, SORCTClassifierCV)
        for name in inspect.signature(estimator).parameters
    }
    args = build_parser().parse_args(["fit", "data.csv", "--target", "y"])
    assert wanted <= set(vars(args))


def test_the_version_is_that_of_the_package(run):
    """And goes to standard output."""
    from importlib.metadata import version

    assert run("--version")[:2] == (0, version("sorct") + "\n")


def test_show_names_every_level_if_asked(tmp_path, rng, capsys):
    """And says how to ask, where it counts some."""
    X = pd.DataFrame({"city": np.repeat(list("abcdefgh"), 10)})
    tree = tree_of_one(rng, X, "city", np.linspace(0.1, 0.8, 8), 0.5)
    file = str(tmp_path / "tree.json")
    tree.to_json(file)
    assert main(["show", file]) == 0
    few = capsys.readouterr().out
    assert "3 levels from +0.125 to +0.375" in few
    assert "\nNot all levels are told in full: sorct show --levels all does.\n" in few
    assert main(["show", file, "--levels", "all"]) == 0
    told = capsys.readouterr().out
    assert "c +0.375, b +0.25, a +0.125" in " ".join(told.replace("│", "").split())
    assert "--levels" not in told
