"""What the command line says of loss, steepness and promises reaches the library."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from sorct import PAPER, Path, SORCTClassifier, Tree
from sorct.cli import main
from sorct.cli.model_options import grid, promises, searched_model, single_model
from sorct.cli.parser import build_parser
from sorct.cli.printing import race_table
from sorct.estimators.path import PAPER_ALPHAS
from tests.cli.tables import small_table, write_table

TWO, THREE = np.array(["no", "yes"]), np.array(["a", "b", "c"])


def parsed(line):
    """Arguments of a line of ``fit`` or ``path``."""
    verb, *rest = shlex.split(line)
    return build_parser().parse_args([verb, "data.csv", "--target", "y", *rest])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a line beside the small table; exit code, standard output and error."""
    write_table(tmp_path / "data.csv")
    monkeypatch.chdir(tmp_path)

    def call(line):
        verb, *rest = shlex.split(line)
        return main([verb, "data.csv", "--target", "y", *rest]), *capsys.readouterr()

    return call


# -- loss and steepness ----------------------------------------------------------------


def test_only_what_was_given_is_passed_on():
    """The library has its own defaults."""
    assert single_model(parsed("fit")) == searched_model(parsed("fit")) == {}
    assert single_model(parsed("path --gamma auto")) == {"gamma": "auto"}
    line = "path --gamma 64 --loss log --depth 2"
    assert single_model(parsed(line)) == {"gamma": 64.0, "loss": "log", "depth": 2}
    assert grid(parsed("path --alphas-local 1,2"), TWO) == {"alphas_local": [1.0, 2.0]}


def test_the_paper_trains_by_cost_with_its_steepness_and_penalties():
    """Unless something else is said."""
    paper = {"loss": "cost", "gamma": 512.0, "followable": False}
    assert single_model(parsed("fit --paper")) == paper
    assert searched_model(parsed("fit --paper")) == {
        **paper, "depths": None, "n_solutions": 20, "relax": False,
    }  # fmt: skip
    line = "fit --paper --loss log --gamma auto --followable"
    other = {"loss": "log", "gamma": "auto", "followable": True}
    assert single_model(parsed(line)) == other
    assert searched_model(parsed(f"{line} --relax --n-solutions 3 --depth 2")) == {
        **other, "depths": 2, "n_solutions": 3, "relax": True,
    }  # fmt: skip
    both = {"alphas_local": PAPER_ALPHAS, "alphas_global": PAPER_ALPHAS}
    local = both | {"alphas_global": 0.0}
    assert grid(parsed("fit --paper")) == local
    assert grid(parsed("path --paper"), TWO) == local
    assert grid(parsed("path --paper --depth 2"), TWO) == both
    assert grid(parsed("path --paper"), THREE) == both
    line = "path --paper --alphas-local 1 --alphas-global 2"
    assert grid(parsed(line), THREE) == {"alphas_local": [1.0], "alphas_global": [2.0]}


@pytest.mark.parametrize("flags", ["--loss log", "--loss log --gamma 256", "--paper"])
def test_fit_with_fixed_penalties_gives_the_tree_of_the_library(run, flags):
    """By the likelihood, with a steepness of its own, and as in the paper."""
    line = f"fit --alpha-local 0.5 --n-starts 2 --out m.json {flags}"
    code, _, err = run(line)
    assert code == 0, err
    tree = Tree.from_json("m.json")
    options = {"loss": "log"}
    if "256" in flags:
        options["gamma"] = 256.0
    if flags == "--paper":
        options = PAPER
    frame = small_table()
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    ours = SORCTClassifier(alpha_local=0.5, n_starts=2, random_state=0, **options)
    ours.fit(X, y)
    np.testing.assert_array_equal(tree.coef, ours.coef_)
    np.testing.assert_array_equal(tree.predict_proba(X), ours.predict_proba(X))
    assert tree.training.loss == options.get("loss", "cost")
    assert tree.gamma == ours.tree_.gamma


def test_a_path_by_the_likelihood(run):
    """All of its trees; the steepness is the library's."""
    line = "path --alphas-local 0.1,1 --alphas-global 0 --cv 0 --loss log --out p.json"
    code, out, err = run(line)
    assert code == 0, err
    assert "log-loss and accuracy are those of training" in out
    assert re.search("per cut +log-loss +accuracy", out)
    path = Path.from_json("p.json")
    assert [tree.training.loss for tree in path] == ["log", "log"]
    assert {tree.gamma for tree in path} == {3 * 64.0}


@pytest.mark.every_case
@pytest.mark.parametrize("folds", ["0", "2"])
@pytest.mark.parametrize(
    "limit", ["--max-features 1", "--max-cost 2 --feature-cost a=2"]
)
def test_trees_of_a_path_keep_to_a_limit(run, tmp_path, folds, limit):
    """Scored on folds or not: they are the relaxed ones, which the limit binds."""
    line = f"path {limit} --cv {folds} --alphas-local 0,1 --n-solutions 2"
    code, _, err = run(f"{line} --out path.json")
    assert code == 0, err
    path, cost = Path.from_json(tmp_path / "path.json"), {"a": 2.0, "b": 1.0, "c": 1.0}
    assert not path.relaxed
    for tree in path.trees:
        used = tree.variables_used
        spent = sum(cost[name] for name in used) if "cost" in limit else 2 * len(used)
        assert 0.0 < spent <= 2.0


@pytest.mark.parametrize(
    ("flags", "cure"),
    [("--no-relax", "leave out --no-relax"), ("--paper", "add --relax to --paper")],
)
def test_a_limit_on_trees_that_a_path_has_not_is_refused(run, flags, cure):
    """It would limit nothing."""
    code, _, err = run(f"path --max-features 1 {flags}")
    assert code == 2
    assert "--max-features of a path limits its relaxed trees" in err
    assert cure in err


def test_the_path_of_the_paper(run):
    """Its grid and its steepness."""
    assert run("path --paper --cv 0 --n-solutions 2 --out p.json -q")[0] == 0
    path = Path.from_json("p.json")
    np.testing.assert_array_equal(path.alphas_local, PAPER_ALPHAS)
    np.testing.assert_array_equal(path.alphas_global, [0.0])
    assert {(t.gamma, t.training.loss) for t in path} == {(512.0, "cost")}
    assert path.relaxed == ()


@pytest.mark.slow
def test_trees_are_refitted_unless_that_is_not_wanted(run):
    """Every point of a path has a relaxed tree, and a search compares them too."""
    line = "path --alphas-local 0.1,1 --cv 0 --out p.json -q --force --n-solutions 1"
    for flag, n_relaxed in (("", 2), ("--relax", 2), ("--no-relax", 0)):
        assert run(f"{line} {flag}")[0] == 0
        assert len(Path.from_json("p.json").relaxed) == n_relaxed
    line = "fit --alphas-local 0.1,1 --cv 2 --loss log --depth 1 --scaling auto "
    line += "--n-solutions 1"
    assert " and 4 trees compared by log-loss on 2 folds." in run(line)[1]
    assert " and 2 trees compared by " in run(f"{line} --no-relax")[1]
    code, _, err = run("fit --alpha-local 1 --no-relax")
    assert code == 2
    assert "--relax cannot be combined with --alpha-local" in err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit --alpha-local 1 --loss choose", "--loss cannot be 'choose' with fixed"),
        ("fit --alpha-local 1 --gamma choose", "--gamma cannot be 'choose' with fixed"),
        (
            "fit --alpha-local 1 --gamma auto,64",
            "--gamma takes one value with fixed",
        ),
        ("path --loss choose", "--loss cannot be 'choose' for a path"),
        ("path --gamma 1,2", "--gamma takes one value for a path"),
        ("fit --gamma steep", "expected auto or a finite number > 0, got 'steep'"),
        ("fit --gamma 0", "expected auto or a finite number > 0, got '0'"),
        ("fit --loss squared", "invalid choice: 'squared'"),
    ],
)
def test_what_makes_no_sense_is_refused(run, line, words):
    """In one line, with exit code 2."""
    code, out, err = run(line)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


# -- promises --------------------------------------------------------------------------


def test_promises_are_passed_on_where_given():
    """Names of classes become labels; nothing is said of what was not given."""
    assert promises(parsed("fit"), TWO) == {}
    line = "fit --class-weight balanced --calibration isotonic --confidence 0.95"
    assert promises(parsed(line), TWO) == {
        "class_weight": "balanced", "calibration": "isotonic", "confidence": 0.95,
    }  # fmt: skip
    line = "fit --class-weight 1=5 --class-weight 0=0.5"
    assert promises(parsed(line), np.array([0, 1])) == {"class_weight": {1: 5, 0: 0.5}}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--n-starts 5", "--n-starts needs --alpha-local or"),
        ("--alpha-local 1 --confidence 0.9", "--confidence needs --min-recall"),
        ("--alpha-local 1 --confidence 1", "expected a number between 0 and 1"),
        ("--alpha-local 1 --class-weight yes", "expected balanced, or a class and"),
        ("--alpha-local 1 --class-weight yes=-1", "expected balanced, or a class and"),
        (
            "--alpha-local 1 --class-weight balanced --class-weight yes=2",
            "--class-weight takes balanced or weights of classes",
        ),
        ("--alpha-local 1 --calibration platt", "invalid choice: 'platt'"),
    ],
)
def test_promises_that_cannot_be_kept_are_refused(run, flags, words):
    """Before the table is read."""
    code, _, err = run(f"fit {flags}")
    assert code == 2
    assert words in err


# -- what a search tried ---------------------------------------------------------------


def race(n):
    return pd.DataFrame(
        {
            "loss": ["cost", "log"] * (n // 2),
            "depth": 1,
            "gamma": ["auto", 16384.0] * (n // 2),
            "scaling": "auto",
            "first_folds": [2, 5] * (n // 2),
            "first_score": [-np.inf, *np.linspace(-0.5, -0.25, n - 1)],
            "finalist": [False, True] * (n // 2),
            "score": [np.nan, -0.625] * (n // 2),
        }
    )


def test_a_race_is_a_table_of_all_settings():
    """Most folds first; scores of some and of all folds stand apart, a dash is none."""
    lines = race_table(race(2), "minus the log-loss").splitlines()
    assert re.split(" {2,}", lines[0]) == [
        "loss", "depth", "gamma", "scaling", "log-loss", "folds", "on all folds",
    ]  # fmt: skip
    assert [line.split() for line in lines[1:-1]] == [
        ["log", "1", "16384", "auto", "0.5000", "5", "0.6250"],
        ["cost", "1", "auto", "auto", "-", "2"],
    ]
    assert lines[-1].startswith("- no tree of it is feasible")
    many = race_table(race(20), "accuracy").splitlines()
    assert [line.split()[6:] for line in many[1:-1]].count(["-0.6250"]) == 10
    assert "accuracy" in many[0]
    assert len(many) == 1 + 20 + 1
    # Scores on fewer folds are not compared with those on more.
    told = [line.split()[4:6] for line in many[1:-1]]
    told = [
        (int(folds), -np.inf if score == "-" else float(score)) for score, folds in told
    ]
    assert told == sorted(told, reverse=True)
    assert len({folds for folds, _ in told}) == 2


def test_what_a_search_tells_is_printed(run):
    """The table of what was tried, why this was taken, how it did; for machines too."""
    line = "fit --alphas-local 0.1,1 --depth 1 --cv 2 --n-solutions 1"
    code, out, err = run(line)
    assert (code, err) == (0, "")
    head = "What was tried; what was behind at once has fewer folds and stands last:"
    assert f"\n{head}\n\nloss " in out
    told = json.loads(run(f"{line} --json")[1])
    assert told["why"] in out.replace("\n  ", " ")
    assert {one["loss"] for one in told["race"]} == {"log", "cost"}
    fixed = run(f"{line} --loss log --scaling auto")[1].replace("\n  ", " ")
    assert "What was tried" not in fixed
    assert "Chosen by the rule one-standard-error: loss log, depth 1, " in fixed
