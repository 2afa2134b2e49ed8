"""The command line as a process: exit codes, pipes, folders that are not one's own."""

import json
import os
import subprocess
import sys
from tempfile import TemporaryDirectory

import pytest

from tests.cli.tables import QUICK, write_table

SORCT = [sys.executable, "-m", "sorct"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and a model that a process wrote.

    Results are UTF-8, also where the locale knows no such letters.
    """
    place = tmp_path_factory.mktemp("process")
    write_table(place / "data.csv")
    line = ["fit", "data.csv", "--target", "y", "--json", "--out", "model.json", *QUICK]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*SORCT, *line], cwd=place, capture_output=True, env=env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.decode("utf-8"))
    assert found["out"] == "model.json"
    assert "├─ yes" in found["rules"]
    assert done.stderr.startswith(b"sorct: note: the model is in model.json;")
    assert done.stderr.count(b"\n") == 1
    return place


def test_the_exit_code_is_that_of_main(folder):
    """With a line on standard error and nothing on standard output."""
    done = subprocess.run([*SORCT, "show"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("sorct: error: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_is_no_failure(folder):
    """As in ``sorct show model.json | head -1``: quiet, and 0."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*SORCT, "show", "model.json"],
            cwd=folder,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


# What the module does, as nobody if it is root's, who may write everywhere; no work can
# be done. Everything is imported before, for nobody may read this Python.
AS_NOBODY = """
import os, sys, tempfile
import sorct.cli.program, sorct.cli.training as training, sorct.cli.verbs
sorct.cli.program.build_parser()
training._fit_chosen = training._training = None
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(sorct.cli.main(sys.argv[1:]))
"""


def test_a_read_only_folder_is_refused_before_any_work(folder):
    """Before anything is read, too."""
    with TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        line = ["fit", "data.csv", "--target", "y", "--out", f"{name}/model.json"]
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *line],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert os.listdir(name) == []
    assert done.returncode == 1
    assert f"{name} cannot be written to (Permission denied)" in done.stderr
    assert done.stderr.count("\n") == 1
