"""What is written where: files of others stay, and a dash is standard output."""

import json
import shlex

import pandas as pd
import pytest

from sorct import Path, Tree
from sorct.cli import main
from sorct.cli.files import Output
from tests.cli.tables import QUICK, small_table, write_table

GRID = ["--alphas-local", "0.1,1", "--alphas-global", "1", "--n-solutions", "2"]
TITLE = "A classification tree as a function, written by sorct."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and a model."""
    place = tmp_path_factory.mktemp("files")
    write_table(place / "data.csv")
    line = ["fit", str(place / "data.csv"), "--target", "y", "-q", *QUICK]
    assert main([*line, "--out", str(place / "model.json")]) == 0
    return place


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run a line in the folder; gives exit code, standard output, standard error."""
    monkeypatch.chdir(folder)

    def call(line):
        code = main(shlex.split(line))
        return code, *capsys.readouterr()

    return call


def refused_then_forced(run, folder, line, name, content):
    """Exit codes as the line is, by force, and again over what was then written.

    The file of that content stays the first time, and is told of.
    """
    file = folder / name
    file.write_bytes(content)
    first, _, err = run(f"{line} --out {name}")
    assert f"{name} exists and is not a " in err
    assert "--force" in err
    assert file.read_bytes() == content
    forced = run(f"{line} --out {name} --force")[0]
    assert file.read_bytes() != content
    return first, forced, run(f"{line} --out {name}")[0]


OTHERS = {
    "a script": ("export model.json --to python", "# mine\nfrom sorct import Tree\n"),
    "a script that quotes us": (
        "export model.json --to python",
        f'import os\n"""{TITLE}"""\n',
    ),
    "another language": ("export model.json --to js", f'"""{TITLE}"""\n'),
    "a query": ("export model.json --to sql", "-- scores of sorct\nSELECT 1\n"),
    "JavaScript": ("export model.json --to js", "// by sorct\nlet x = 1;\n"),
    "a table": ("predict model.json data.csv", "id,truth,prediction\n1,yes,no\n"),
    "a longer header": ("predict model.json data.csv", "prediction,note\nyes,hm\n"),
    "other columns": (
        "predict model.json data.csv --keep",
        "a,b,prediction\n1,2,yes\n",
    ),
    "no probabilities": ("predict model.json data.csv --proba", "prediction\nyes\n"),
    "a page": ("report model.json", "<html><body>About sorct</body></html>"),
    "a page that quotes us": (
        "report model.json",
        "<!DOCTYPE html>\n<title>On pages</title>\n"
        '<meta name="generator" content="sorct">\n',
    ),
    "JSON with a tree in it": (
        f"fit data.csv --target y {shlex.join(QUICK)}",
        '{"notes": "mine", "tree": {"format": "sorct-tree"}}',
    ),
    "JSON with a path in it": (
        f"path data.csv --target y {shlex.join(GRID)}",
        '{"notes": "mine", "tree": {"format": "sorct-path"}}',
    ),
}


@pytest.mark.a_few(2)
@pytest.mark.parametrize("case", OTHERS)
def test_a_file_of_somebody_else_is_replaced_by_force_only(case, run, folder):
    """However much it speaks of sorct; what we wrote ourselves needs no force."""
    line, text = OTHERS[case]
    codes = refused_then_forced(
        run, folder, line, case.replace(" ", "-"), text.encode()
    )
    assert codes == (1, 0, 0)


def test_a_model_of_another_onnx_producer_stays(run, folder):
    """The producer is told by its field, not by a word."""
    pytest.importorskip("onnx")
    content = b"\x08\x09\x12\x07pytorch2\x05sorct"
    line = "export model.json --to onnx --dtype float64"
    assert refused_then_forced(run, folder, line, "other.onnx", content) == (1, 0, 0)


def test_parquet_of_other_columns_stays(run, folder):
    """Also if a name holds the word prediction, or the file is none of Parquet."""
    pytest.importorskip("pyarrow")
    mine = folder / "mine.parquet"
    pd.DataFrame({"my_prediction_2020": [1, 2]}).to_parquet(mine)
    for content in (mine.read_bytes(), b"prediction\n", b"PAR1prediction"):
        line = "predict model.json data.csv --keep"
        codes = refused_then_forced(run, folder, line, "mine.parquet", content)
        assert codes == (1, 0, 0)


def test_names_of_columns_with_line_breaks_are_compared_whole(run, folder):
    """A header may be longer than a line."""
    frame = small_table().assign(**{'od"d\nname,': 1})
    frame.to_csv(folder / "odd.csv", index=False)
    line = "predict model.json odd.csv --keep --out kept.csv"
    assert run(line)[0] == 0
    assert run(line)[0] == 0
    assert run(line.replace("odd.csv", "data.csv"))[0] == 1


def test_an_empty_file_is_nobodys(run, folder):
    """Such as mktemp makes."""
    (folder / "empty.sql").touch()
    assert run("export model.json --to sql --out empty.sql")[0] == 0


def test_only_the_head_of_a_large_file_is_read(tmp_path):
    """A file of a terabyte, most of it a hole, is looked at in no time."""
    with open(tmp_path / "large", "wb") as file:
        file.write(b'{\n "format": "sorct-tree"')
        try:
            file.truncate(2**40)
        except OSError:
            pytest.skip("the file system has no holes")
    assert Output.checked(str(tmp_path / "large"), "model").path is not None


# -- standard output -------------------------------------------------------------------


@pytest.mark.parametrize("quiet", ["", "-q"])
def test_a_dash_writes_the_model_to_standard_output(run, folder, quiet):
    """The model and nothing else, so that it can be redirected."""
    code, out, err = run(f"fit data.csv --target y --out - {quiet} {shlex.join(QUICK)}")
    assert (code, err) == (0, "")
    tree = Tree.from_dict(json.loads(out))
    assert str(tree) == str(Tree.from_json(folder / "model.json"))


@pytest.mark.a_few(1)
@pytest.mark.parametrize("quiet", ["", "-q"])
def test_a_dash_writes_the_path_to_standard_output(run, quiet):
    """As for a model."""
    code, out, err = run(f"path data.csv --target y --out - {quiet} {shlex.join(GRID)}")
    assert (code, err) == (0, "")
    assert len(Path.from_dict(json.loads(out))) == 2


@pytest.mark.parametrize(
    "line", ["fit data.csv --target y", "path data.csv --target y", "report model.json"]
)
def test_standard_output_takes_one_document(run, line):
    """Two would be read by nobody."""
    code, out, err = run(f"{line} --out - --json")
    assert (code, out) == (2, "")
    assert "--json and --out - both write to standard output" in err
