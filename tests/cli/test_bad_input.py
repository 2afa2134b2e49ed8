"""Bad input: one clear line, the right exit code, nothing left behind."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sorct.cli.program
from sorct import SORCTClassifierCV, Tree
from sorct.cli import main, training
from tests.cli.tables import QUICK, small_table, write_table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, a model, and everything that can be wrong with a file."""
    place = tmp_path_factory.mktemp("bad")
    write_table(place / "data.csv")
    line = ["fit", str(place / "data.csv"), "--target", "y", "-q", *QUICK]
    assert main([*line, "--out", str(place / "model.json")]) == 0
    files = {
        "empty.csv": "",
        "blank.csv": "\n \n",
        "header.csv": "a,b,y\n",
        "ragged.csv": "a,b,y\n1,2,u\n3,v\n4,5,u\n",
        "wide.csv": "a,b,y\n1,2,u,9\n3,4,v,9\n",
        "quote.csv": 'a,b,y\n1,"2,u\n3,4,v\n',
        "double.csv": "a,a,y\n1,2,u\n3,4,v\n",
        "one-class.csv": "a,y\n1,u\n2,u\n3,u\n",
        "no-target.csv": "a,y\n1,u\n2,\n3,v\n",
        "alone.csv": "y\nu\nv\nu\nv\n",
        "quantity.csv": "a,y\n" + "".join(f"{k},{k / 7}\n" for k in range(60)),
        "ids.csv": "id,y\n" + "".join(f"p{k},{k % 2}\n" for k in range(1500)),
        "prices-text.csv": "column,price\na,much\n",
        "prices-ragged.csv": "column,price\na,1,2\n",
        "prices-other.csv": "column,price\nz,1\n",
        "prices-twice.csv": "a,1\na,2\n",
        "few.csv": "a,y\n1,u\n2,v\n3,u\n4,v\n",
        "infinite.csv": "a,y\n1,u\ninf,v\n3,u\n4,v\n",
        "weight.csv": "a,w,y\n1,1,u\n2,x,v\n3,1,u\n",
        "other.json": '{"name": "left-pad", "version": 1}',
        "list.json": "[1, 2]",
        "future.json": '{"format": "sorct-tree", "version": 99}',
        "text.json": "model: yes",
        "rows.csv": "a,b,c\n1,2,u\n2,3,v\n",
        "rows-text.csv": "a,b,c\n1,2,u\nmany,3,v\n",
        "rows-gap.csv": "a,b,c\n1,2,u\n,3,v\n",
        "rows-short.csv": "b,c\n2,u\n3,v\n",
        "costs-labels.csv": ",no,maybe\nno,0,1\nmaybe,1,0\n",
        "costs-text.csv": ",no,yes\nno,0,much\nyes,1,0\n",
        "costs-ragged.csv": ",no,yes\nno,0\nyes,1,0\n",
        "costs-diagonal.csv": ",no,yes\nno,3,1\nyes,1,0\n",
        "costs-twice.csv": ",no,yes\nno,0,1\nno,0,1\n",
        "notes.txt": "do not lose me",
        "kept.csv": "a,b,c,prediction\n1,2,u,yes\n",
    }
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")
    whole = (place / "model.json").read_text()
    (place / "cut.json").write_text(whole[: len(whole) // 2])
    (place / "latin.csv").write_bytes("a,y\n1,caf\xe9\n2,th\xe9\n".encode("latin-1"))
    (place / "sheet.csv").write_bytes(b"PK\x03\x04 and so on")
    (place / "folder").mkdir()
    return place


FIT = f"fit {{}} --target y --out out.json {shlex.join(QUICK)}"
FAILURES = {
    "missing file": (FIT.format("nowhere.csv"), "no file nowhere.csv"),
    "a folder": (FIT.format("folder"), "folder is a folder"),
    "empty": (FIT.format("empty.csv"), "empty.csv is empty"),
    "blank": (FIT.format("blank.csv"), "blank.csv is empty"),
    "only a header": (FIT.format("header.csv"), "header line but no rows"),
    "short row": (FIT.format("ragged.csv"), "ragged.csv, line 3: got 2 cells"),
    "long rows": (FIT.format("wide.csv"), "wide.csv, line 2: got 4 cells"),
    "open quote": (FIT.format("quote.csv"), "quote.csv cannot be read as CSV"),
    "same names": (FIT.format("double.csv"), "same name: 'a'"),
    "one class": (FIT.format("one-class.csv"), "one class only, u"),
    "missing class": (FIT.format("no-target.csv"), "column 'y' has 1 missing cell(s)"),
    "no variables": (FIT.format("alone.csv"), "no column to train on"),
    "a quantity": (
        FIT.format("quantity.csv") + " --task classes",
        "60 distinct values in 60 rows",
    ),
    "infinity": (FIT.format("infinite.csv"), "infinity"),
    "latin": (FIT.format("latin.csv"), "--encoding cp1252"),
    "a spreadsheet": (FIT.format("sheet.csv"), "save it as CSV"),
    "few rows": (
        "fit few.csv --target y --out out.json",
        "5 folds need a class with at least as many rows, the largest has 2",
    ),
    "unknown target": (
        FIT.format("data.csv").replace("target y", "target Y"),
        "no column 'Y' in data.csv; did you mean 'y'?",
    ),
    "unknown column": (FIT.format("data.csv --drop z"), "no column 'z' in data.csv"),
    "target dropped": (FIT.format("data.csv --drop y"), "'y' is the target"),
    "weights of text": (
        FIT.format("weight.csv --sample-weight w"),
        "column 'w' must hold numbers, got 'x' in row 2",
    ),
    "weight is the target": (
        FIT.format("data.csv --sample-weight y"),
        "'y' cannot be target and weight",
    ),
    "scaling of no column": (
        FIT.format("data.csv --scaling B=minmax"),
        "no column 'B' in what is trained on, as --scaling says; did you mean 'b'?",
    ),
    "direction of no column": (
        FIT.format("data.csv --monotonic z=+1"),
        "no column 'z' in what is trained on, as --monotonic says",
    ),
    "direction of levels": (
        FIT.format("data.csv --monotonic c=+1"),
        "--monotonic names columns whose levels have no order: 'c'",
    ),
    "no such positive class": (
        FIT.format("data.csv --monotonic a=+1 --positive-class maybe"),
        "no class 'maybe' in the target, as --positive-class says",
    ),
    "price of no column": (
        FIT.format("data.csv --feature-cost z=1"),
        "no column 'z' in what is trained on, as --feature-cost says",
    ),
    "no price at all": (
        FIT.format("data.csv --feature-cost a=0 --feature-cost b=0 --feature-cost c=0"),
        "--feature-cost must not be 0 for all columns",
    ),
    "prices nowhere": (FIT.format("data.csv --feature-cost nowhere.csv"), "no file"),
    "prices of text": (
        FIT.format("data.csv --feature-cost prices-text.csv"),
        "the price of column 'a' must be a number >= 0, got 'much'",
    ),
    "ragged prices": (
        FIT.format("data.csv --feature-cost prices-ragged.csv"),
        "prices-ragged.csv, line 2: got 3 cell(s), expected two",
    ),
    "prices of others": (
        FIT.format("data.csv --feature-cost prices-other.csv"),
        "no column 'z' in the table",
    ),
    "prices twice": (
        FIT.format("data.csv --feature-cost prices-twice.csv"),
        "two prices of column 'a'",
    ),
    "out is the prices": (
        FIT.format("data.csv --feature-cost prices-text.csv").replace(
            "out.json", "prices-text.csv --force"
        ),
        "prices-text.csv is read here",
    ),
    "only ids": (
        FIT.format("ids.csv"),
        "no column to train on beside 'y'; left out: 'id' (it has another value",
    ),
    "floors too high": (
        FIT.format("data.csv --min-recall 1"),
        "--min-recall could not be met",
    ),
    "unknown class": (
        FIT.format("data.csv --min-recall fraud=0.9"),
        "no class 'fraud' in the target",
    ),
    "costs of others": (
        FIT.format("data.csv --cost-matrix costs-labels.csv"),
        "must name every class once, 'no', 'yes'; got 'no', 'maybe'",
    ),
    "costs of text": (
        FIT.format("data.csv --cost-matrix costs-text.csv"),
        "predicting 'yes' for 'no' must be a number >= 0, got 'much'",
    ),
    "ragged costs": (
        FIT.format("data.csv --cost-matrix costs-ragged.csv"),
        "the row of 'no' has 2 cells, expected 3",
    ),
    "cost of being right": (
        FIT.format("data.csv --cost-matrix costs-diagonal.csv"),
        "predicting 'no' for 'no' must be 0 or nothing, got '3'",
    ),
    "costs twice": (
        FIT.format("data.csv --cost-matrix costs-twice.csv"),
        "first column must name every class once",
    ),
    "costs nowhere": (
        FIT.format("data.csv --cost-matrix nowhere.csv"),
        "no file nowhere.csv",
    ),
    "no folder": (
        "fit data.csv --target y --out nowhere/model.json",
        "There is no folder",
    ),
    "out is a folder": ("fit data.csv --target y --out folder", "folder is a folder"),
    "out is another file": (
        "fit data.csv --target y --out notes.txt",
        "notes.txt exists and is not a model that sorct wrote",
    ),
    "out is the input": (
        "fit data.csv --target y --out data.csv --force",
        "data.csv is read here",
    ),
    "path over a model": (
        "path data.csv --target y --out model.json",
        "model.json exists and is not a path that sorct wrote",
    ),
    "model of another program": (
        "show other.json",
        "other.json is not a file of sorct",
    ),
    "a list": ("show list.json", "list.json is not a file of sorct"),
    "a later version": ("show future.json", "version 99"),
    "no JSON": ("show text.json", "begins with 'model: yes'"),
    "truncated": ("show cut.json", "truncated"),
    "a table for a model": ("predict data.csv rows.csv", "is not a file of sorct"),
    "model is a folder": ("show folder", "folder is a folder"),
    "a point of a model": ("show model.json --point 1", "leave out --point"),
    "text for a number": (
        "predict model.json rows-text.csv --out pred.csv",
        "column 'a' must hold numbers, got 'many' in row 2",
    ),
    "missing cell in a row": (
        "predict model.json rows-gap.csv --out pred.csv",
        "column 'a' has 1 missing cell(s), the first in row 2. Training had none: fill "
        "them in, or add --handle-missing typical",
    ),
    "column not there": (
        "predict model.json rows-short.csv --out pred.csv",
        "no column 'a' in rows-short.csv",
    ),
    "predictions over rows": (
        "predict model.json rows.csv --out rows.csv",
        "rows.csv is read here",
    ),
    "predictions twice": ("predict model.json kept.csv --keep", "already"),
    "row not there": (
        "explain model.json rows.csv --row 3",
        "has 2 rows, counted from 1",
    ),
    "report of others": (
        "report other.json --out page.html",
        "other.json is not a file of sorct",
    ),
    "report on other classes": (
        "report model.json --data rows.csv --target c --out page.html",
        "target 'c' is 'u' in row 1, no class of the model",
    ),
    "export of others": ("export other.json --to sql", "not a file of sorct"),
    "folder of data sets": (
        "datasets iris --out nowhere/iris.csv",
        "There is no folder",
    ),
}


def told(line, folder, capsys, monkeypatch):
    """Run a line in a folder, check that it changed nothing, give code and line."""
    monkeypatch.chdir(folder)
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    code = main(shlex.split(line))
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
    out, err = capsys.readouterr()
    assert out == ""
    *others, last = err.splitlines()
    assert all(
        other.startswith(("sorct: note:", "sorct: warning:")) for other in others
    )
    assert last.startswith("sorct: error: ")
    return code, last


@pytest.mark.parametrize("case", FAILURES)
def test_what_cannot_be_done_is_said_in_one_line(case, made, capsys, monkeypatch):
    """Exit code 1, and nothing is written."""
    line, message = FAILURES[case]
    code, said = told(line, made, capsys, monkeypatch)
    assert code == 1
    assert message in said


MISUSES = {
    "no verb": ("", "a verb is missing"),
    "unknown verb": ("train data.csv", "invalid choice: 'train'"),
    "no target": ("fit data.csv", "--target"),
    "no file": ("fit --target y", "DATA"),
    "unknown flag": ("fit data.csv --target y --colour red", "--colour"),
    "misspelt flag": (
        "fit data.csv --targt y",
        "there is no flag --targt; did you mean --target?",
    ),
    "a flag of other verbs": (
        "predict model.json rows.csv --drop-missing",
        "sorct predict has no flag --drop-missing, but fit, path, report, compare have",
    ),
    "rows to leave out without data": (
        "report model.json --drop-missing --out p.html",
        "--drop-missing needs --data",
    ),
    "abbreviated flag": ("fit data.csv --targ y", "--target"),
    "half a class": (
        "fit data.csv --target y --depth 1.5",
        "whole number >= 0, got '1.5'",
    ),
    "no depth": ("fit data.csv --target y --depth 0", "whole number >= 1, got '0'"),
    "negative penalty": (
        "fit data.csv --target y --alpha-local=-1",
        "finite number >= 0, got '-1'",
    ),
    "a rate above 1": ("fit data.csv --target y --min-recall no=2", "rate from 0 to 1"),
    "a rate of text": ("fit data.csv --target y --min-recall high", "rate from 0 to 1"),
    "unknown encoding": ("fit data.csv --target y --encoding klingon", "no encoding"),
    "long delimiter": ("fit data.csv --target y --delimiter ;;", "one character"),
    "a flag of trees with a forest": (
        "fit data.csv --target y --trees 3 --scoring accuracy",
        "--scoring is for single trees; leave out --scoring or --trees",
    ),
    "unknown scorer": ("fit data.csv --target y --scoring luck", "no scorer 'luck'"),
    "starts without penalties": (
        "fit data.csv --target y --n-starts 3",
        "--n-starts needs --alpha-local or --alpha-global",
    ),
    "folds with penalties": (
        "fit data.csv --target y --alpha-local 1 --cv 3",
        "--cv cannot be combined with --alpha-local or --alpha-global, which fix the "
        "penalties; leave out --cv, or both of these",
    ),
    "two depths with penalties": (
        "fit data.csv --target y --alpha-local 1 --depth 1,2",
        "--depth takes one value",
    ),
    "unknown treatment": (
        "fit data.csv --target y --categorical c",
        "invalid choice: 'c'",
    ),
    "no frequency": ("fit data.csv --target y --min-frequency 0", "rows >= 1"),
    "half a row": ("fit data.csv --target y --min-frequency 1.5", "rows >= 1"),
    "nan rows": ("path data.csv --target y --min-frequency nan", "rows >= 1"),
    "unknown level policy": (
        "fit data.csv --target y --handle-unknown skip",
        "invalid choice: 'skip'",
    ),
    "unknown gap policy": (
        "predict model.json rows.csv --handle-missing median",
        "invalid choice: 'median'",
    ),
    "unknown scaling": (
        "fit data.csv --target y --scaling a=log",
        "expected auto, minmax, standard, quantile, bent, or one of these for a column",
    ),
    "a direction of 2": ("fit data.csv --target y --monotonic a=2", "+1 or -1"),
    "no direction": ("path data.csv --target y --monotonic a", "such as debt=+1"),
    "class without directions": (
        "compare data.csv --target y --positive-class yes",
        "--positive-class needs --monotonic",
    ),
    "negative price": (
        "fit data.csv --target y --feature-cost a=-1",
        "a finite number >= 0, such as mri=400",
    ),
    "limit without prices": (
        "fit data.csv --target y --max-cost 3",
        "--max-cost needs --feature-cost",
    ),
    "limit with fixed penalties": (
        "fit data.csv --target y --feature-cost a=2 --max-cost 3 --alpha-local 1",
        "--max-cost cannot be combined with --alpha-local",
    ),
    "two depths of a path": ("path data.csv --target y --depth 1,2", "takes one value"),
    "jobs": ("fit data.csv --target y --jobs 0", "other than 0"),
    "onnx on a terminal": ("export model.json --to onnx", "needs --out FILE"),
    "table for python": ("export model.json --to python --table t", "--to sql only"),
    "target without data": (
        "report model.json --target y --out p.html",
        "needs --data",
    ),
    "a page on a terminal": ("report model.json", "--out"),
    "row 0": ("explain model.json rows.csv --row 0", "whole number >= 1, got '0'"),
    "unknown data set": ("datasets mnist", "no data set 'mnist'"),
    "unknown shell": ("completion tcsh", "invalid choice: 'tcsh'"),
}


@pytest.mark.parametrize("case", MISUSES)
def test_wrong_usage_is_said_in_one_line(case, made, capsys, monkeypatch):
    """Exit code 2, and nothing is written."""
    line, message = MISUSES[case]
    code, said = told(line, made, capsys, monkeypatch)
    assert code == 2
    assert message in said


def test_an_interrupt_is_one_line_and_130(made, capsys, monkeypatch):
    """And leaves nothing behind."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SORCTClassifierCV, "fit", interrupt)
    monkeypatch.chdir(made)
    before = sorted(made.iterdir())
    assert main(["fit", "data.csv", "--target", "y", "--out", "new.json"]) == 130
    assert capsys.readouterr() == ("", "sorct: interrupted: nothing was written.\n")
    assert sorted(made.iterdir()) == before


def test_an_interrupt_after_the_file_is_written_says_so(made, capsys, monkeypatch):
    """It came while the rules were printed."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "_print_unless_quiet", interrupt)
    monkeypatch.chdir(made)
    line = ["fit", "data.csv", "--target", "y", "--out", "new.json", *QUICK]
    assert main(line) == 130
    assert capsys.readouterr() == ("", "sorct: interrupted: new.json was written.\n")
    assert Tree.from_json("new.json").classes.tolist() == ["no", "yes"]


def test_work_in_the_background_does_not_listen_to_the_keyboard(monkeypatch, capsys):
    """A shell lets it ignore interrupts, also while it loads."""
    pressed = []

    class Pressed:
        def find_spec(self, name, *_):
            if name == "sorct.cli.program":
                pressed.append(name)
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    # Loaded anew, for this test alone.
    monkeypatch.setattr(sorct.cli, "program", sorct.cli.program)
    monkeypatch.delitem(sys.modules, "sorct.cli.program")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert main(["--version"]) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == ["sorct.cli.program"]
    assert capsys.readouterr().out == f"{sorct.__version__}\n"


def test_the_command_line_listens_to_interrupts_before_it_loads_anything():
    """Whatever is loaded earlier is time in which Ctrl-C prints a traceback."""
    code = "import sys; before = set(sys.modules); import sorct.cli; "
    code += "print(*sorted(set(sys.modules) - before))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    ours = {"sorct", "sorct.cli", "sorct.datasets", "sorct.export", "sorct.plotting"}
    assert set(told.stdout.decode().split()) <= ours


def test_a_disk_that_is_full_leaves_nothing_behind(made, capsys, monkeypatch):
    """The old model stays as it was."""

    def full(self, mode="r", *options, **others):
        if mode != "xb":
            return open(self, mode, *options, **others)
        with open(self, "wb") as file:
            file.write(b"{")
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "open", full)
    line = f"fit data.csv --target y --out model.json {shlex.join(QUICK)}"
    code, said = told(line, made, capsys, monkeypatch)
    assert code == 1
    assert "No space left on device" in said


def test_force_replaces_any_file(tmp_path, monkeypatch):
    """And a file of the same kind needs no force."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    (tmp_path / "old.json").write_text("precious")
    line = ["fit", "data.csv", "--target", "y", "--out", "old.json", "-q", *QUICK]
    assert main(line) == 1
    assert main([*line, "--force"]) == 0
    assert main(line) == 0
    assert json.loads((tmp_path / "old.json").read_text())["format"] == "sorct-tree"


def test_a_link_stays_and_a_device_is_not_replaced(tmp_path, monkeypatch):
    """What a link points to is replaced; /dev/null remains what it is."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    (tmp_path / "store").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "store" / "model.json")
    line = ["fit", "data.csv", "--target", "y", "-q", *QUICK, "--out"]
    assert main([*line, "link.json"]) == 0
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "store" / "model.json").is_file()
    assert main([*line, "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()


def test_columns_that_look_wrong_are_warned_of(tmp_path, monkeypatch, capsys):
    """Ids, row numbers, numbers with a stray word: a line each; commas are read."""
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    n = len(frame)
    words = [str(k) for k in range(n - 1)]
    frame.assign(
        id=[f"p{k}" for k in range(n)],
        row=range(1, n + 1),
        price=[f"{k},5" for k in range(n)],
        age=["unknown", *words],
    ).to_csv("odd.csv", index=False)
    assert main(["fit", "odd.csv", "--target", "y", *QUICK]) == 0
    err = capsys.readouterr().err.splitlines()
    for name, kind, text in [
        ("id", "note", "is left out: it has another value in every row, like an id"),
        ("row", "note", "is left out: it counts the rows (--keep row keeps it)"),
        ("price", "note", ": '0,5' is read as 0.5."),
        ("age", "warning", "the others are 'unknown', first in row 1"),
    ]:
        start = f"sorct: {kind}: column {name!r}"
        assert any(line.startswith(start) and text in line for line in err), name
    assert len(err) == 4


def test_rows_with_gaps_can_be_left_out(tmp_path, monkeypatch, capsys):
    """If asked for, and it is said how many."""
    monkeypatch.chdir(tmp_path)
    frame = small_table()
    frame.loc[[3, 7], "b"] = None
    frame.loc[5, "y"] = "?"
    frame.to_csv("gaps.csv", index=False)
    line = ["fit", "gaps.csv", "--target", "y", "--missing", "?", "--missing", ""]
    assert main([*line, *QUICK, "--drop-missing", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "3 of 60 rows have missing cells; left out" in err
    assert json.loads(out)["n_samples"] == 57


@pytest.mark.parametrize(
    ("flags", "n_rows", "said"),
    [
        ("--drop-missing target", 59, "1 of 60 rows have no target; left out"),
        (
            "--drop-missing target --sample-weight w",
            58,
            "2 of 60 rows have no target or no weight; left out",
        ),
        ("--drop-missing=any", 56, "4 of 60 rows have missing cells; left out"),
    ],
)
def test_rows_without_a_target_can_be_left_out_alone(
    tmp_path, monkeypatch, capsys, flags, n_rows, said
):
    """Other missing cells keep their rows; the errors name the flag."""
    monkeypatch.chdir(tmp_path)
    frame = small_table().assign(w=1.0)
    frame.loc[[3, 7], "b"] = None
    frame.loc[5, "y"] = None
    frame.loc[9, "w"] = None
    frame.to_csv("gaps.csv", index=False)
    line = ["fit", "gaps.csv", "--target", "y", *QUICK]
    assert main([*line, "--sample-weight", "w"]) == 1
    err = capsys.readouterr().err
    assert err.count("or leave such rows out (--drop-missing target).") == 2
    keep = [] if "w" in flags.split() else ["--keep", "w"]
    assert main([*line, *shlex.split(flags), *keep, "--json"]) == 0
    out, err = capsys.readouterr()
    assert said in err
    assert json.loads(out)["n_samples"] == n_rows


def test_drop_missing_takes_no_file_for_its_value(tmp_path, monkeypatch, capsys):
    """It may stand before the table, as ever."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    assert main(["fit", "--drop-missing", "data.csv", "--target", "y", *QUICK]) == 0
    frame = small_table().assign(y=None)
    frame.to_csv("none.csv", index=False)
    line = ["fit", "none.csv", "--drop-missing", "target", "--target", "y", *QUICK]
    assert main(line) == 1
    assert "every row has no target" in capsys.readouterr().err


def test_warnings_of_the_library_are_lines(tmp_path, monkeypatch, capsys):
    """With flags in place of the names of options."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    line = ["fit", "data.csv", "--target", "y", "--alpha-local", "0.1"]
    assert main([*line, "--max-iter", "1", "--n-starts", "1"]) == 0
    err = capsys.readouterr().err
    assert err.startswith("sorct: warning: The residual is ")
    assert "Raise --max-iter" in err
    assert err.count("\n") == 1
