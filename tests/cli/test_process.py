"""The command line as a process: exit codes, pipes, folders that are not one's own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.tables import QUICK, write_table

KEPT = Path(__file__).parents[1] / "files" / "v0.1.0" / "tree.json"

# Imports all, then runs in a child what every line of its input holds; the child ends
# as any interpreter does. Prints how it ended.
PARENT = """
import json, os, runpy, sys
import sorct.cli.program, sorct.cli.verbs
sorct.cli.program.build_parser()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
job = json.loads(line)
for number, name in ((1, "out"), (2, "err")):
    os.dup2(os.open(job[name], os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
sys.argv = ["sorct", *job["line"]]
exec(job["before"])
runpy.run_module("sorct", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run lines in a folder with a table: exit code, standard output and error.

    Results are read as UTF-8; the streams are those of a locale that knows ASCII only.
    """
    folder = tmp_path_factory.mktemp("process")
    write_table(folder / "data.csv")
    out, err = folder / "out.txt", folder / "err.txt"
    paths = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "ascii"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def call(*line, before=""):
            job = {"line": line, "before": before, "out": str(out), "err": str(err)}
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            code = int(process.stdout.readline())
            return code, out.read_text("utf-8"), err.read_text("utf-8")

        yield call
        process.stdin.close()


@pytest.fixture(scope="module")
def written(run):
    """Have a process write a model; what it says of it."""
    line = ["fit", "data.csv", "--target", "y", "--json", "--out", "model.json", *QUICK]
    code, out, err = run(*line)
    assert code == 0, err
    return out, err


@pytest.mark.slow
def test_results_are_utf_8_also_where_the_locale_is_not(run):
    """Rules are drawn with lines that ASCII does not have."""
    code, out, err = run("show", str(KEPT))
    assert (code, err) == (0, "")
    assert "├─ yes" in out


@pytest.mark.slow
def test_notes_are_apart_from_results(written):
    """One JSON document on standard output, one line on standard error."""
    out, err = written
    found = json.loads(out)
    assert found["out"] == "model.json"
    assert "├─ yes" in found["rules"]
    assert err.startswith("sorct: note: the model is in model.json;")
    assert err.count("\n") == 1


def test_the_exit_code_is_that_of_main(run):
    """With a line on standard error and nothing on standard output."""
    code, out, err = run("show")
    assert (code, out) == (2, "")
    assert err.startswith("sorct: error: ")
    assert err.count("\n") == 1


LEAVING = """
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
"""


@pytest.mark.usefixtures("written")
@pytest.mark.slow
def test_a_reader_that_leaves_is_no_failure(run):
    """As in ``sorct show model.json | head -1``: quiet, and 0."""
    assert run("show", "model.json")[1] != ""
    assert run("show", "model.json", before=LEAVING) == (0, "", "")


# As nobody if we are root, who may write everywhere; no work can be done. It calls main
# itself: nobody may read this Python, so only what was imported before can be used.
AS_NOBODY = """
import sorct.cli.training as training
training._fit_chosen = training._training = None
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(sorct.cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_read_only_folder_is_refused_before_any_work(run):
    """Before anything is read, too."""
    with TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        line = ["fit", "data.csv", "--target", "y", "--out", f"{name}/model.json"]
        code, _, err = run(*line, before=AS_NOBODY)
        assert os.listdir(name) == []
    assert code == 1
    assert f"{name} cannot be written to (Permission denied)" in err
    assert err.count("\n") == 1
