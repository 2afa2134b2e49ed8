"""Warm up: where compiled code cannot be kept, or not be read, work goes on without.

In processes of their own, which choose their cache when they begin. A function of a
line stands for the real one, which takes half a minute to compile; ``make test-slow``
reads the real one, which this process has kept, and damages it once.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sorct.problem import compilation
from sorct.search.warm_up import warm_up

SOURCE = """
from sorct.problem.compilation import compiled

@compiled
def add_one(x):
    x[0] += 1.0
"""
#: Has the function compiled or loaded in place of ours; prints where it may be kept,
#: every warning, and what it has added.
CHILD = """
import logging, sys
import numpy as np
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s")
{before}
from sorct.problem import compilation
from sorct.search import warm_up
from small import add_one
x = np.zeros(1)
warm_up._evaluate_once = lambda: add_one(x)
warm_up.forget_compiled = lambda why: compilation.forget_cache([add_one], why)
warm_up.nothing_cached = lambda: False
{after}
warm_up.warm_up()
print("cache", compilation._CACHE_FOLDER)
print("added", x[0])
"""
REAL = """
import logging, sys
import numpy as np
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s")
{before}
from sorct.problem import compilation
from sorct.search import warm_up
warm_up.nothing_cached = lambda: False
{after}
from sorct import SORCTClassifier
X, y = np.arange(40.0).reshape(20, 2), np.arange(20) // 10
clf = SORCTClassifier(n_starts=1).fit(X, y)
print("cache", compilation._CACHE_FOLDER)
print("added", clf.score(X, y))
"""
NOWHERE = """
from pathlib import Path
def refuse(self, *_, **__):
    raise PermissionError(13, "Permission denied", str(self))
Path.mkdir = refuse
"""
NO_INODES = """
import errno, tempfile
def refuse(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")
tempfile.TemporaryFile = refuse
"""
NOBODY = """
import os, pwd
def refuse(uid):
    raise KeyError(uid)
pwd.getpwuid = refuse
os.environ.pop("HOME", None)
"""
FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
"""


#: Imports the compiler, then runs in a child what every line of its input holds.
PARENT = """
import json, os, sys, traceback
import numba, numpy
for line in sys.stdin:
    job = json.loads(line)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.close(read)
        os.close(write)
        os.environ["NUMBA_CACHE_DIR"] = job["cache"]
        numba.config.reload_config()
        sys.path.insert(0, job["folder"])
        code = 0
        try:
            exec(job["code"], {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        os._exit(code)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), told]), flush=True)
"""


@pytest.fixture(scope="module")
def parent():
    """Start one process that has the compiler imported, and nothing of ours."""
    paths = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def run(tmp_path, request, parent):
    """Return a function that runs a child and gives its lines."""
    child = getattr(request, "param", CHILD)
    (tmp_path / "small.py").write_text(SOURCE)
    job = {"folder": str(tmp_path), "cache": str(tmp_path / "cache")}

    def run(before="", after=""):
        code = child.format(before=before, after=after)
        parent.stdin.write(json.dumps({**job, "code": code}) + "\n")
        parent.stdin.flush()
        code, told = json.loads(parent.stdout.readline())
        assert code == 0, told
        *warnings, folder, added = told.splitlines()
        assert added == "added 1.0"
        return warnings, folder.removeprefix("cache ")

    return run


def _files(folder):
    """Files of compiled code."""
    return [path for path in Path(folder).rglob("*.nb*") if path.is_file()]


@pytest.mark.slow
def test_compiled_code_is_kept_and_read_again(run):
    """In silence; the second process writes nothing."""
    warnings, folder = run()
    assert warnings == []
    written = {path: path.stat().st_mtime_ns for path in _files(folder)}
    assert written
    assert run() == ([], folder)
    assert {path: path.stat().st_mtime_ns for path in _files(folder)} == written


@pytest.mark.parametrize(
    ("run", "kind", "content"),
    [
        pytest.param(CHILD, "nbi", None, id="index-cut"),
        pytest.param(CHILD, "nbc", None, id="code-cut", marks=pytest.mark.slow),
        pytest.param(CHILD, "nbi", b"", id="index-empty", marks=pytest.mark.slow),
        pytest.param(CHILD, "nbc", b"", id="code-empty", marks=pytest.mark.slow),
        pytest.param(CHILD, "nbc", bytes(100), id="code-zeros", marks=pytest.mark.slow),
    ],
    indirect=["run"],
)
def test_a_damaged_cache_is_told_and_written_anew_once(run, kind, content):
    """Whether the index or the code is empty, zeros or cut in half."""
    _, folder = run()
    damaged = [path for path in _files(folder) if path.suffix == f".{kind}"]
    for path in damaged:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    assert damaged
    (warning,), _ = run()
    assert warning.startswith(
        f"WARNING The cache of compiled code in {folder} is damaged"
    )
    assert run() == ([], folder)


@pytest.mark.slow
def test_a_damaged_cache_on_a_full_disk_is_done_without(run):
    """Both are told, and what is compiled is used all the same."""
    _, folder = run()
    for path in _files(folder):
        path.write_bytes(b"")
    (damaged, full), _ = run(after=FULL)
    assert damaged.startswith(f"WARNING The cache of compiled code in {folder} is dam")
    assert full.startswith(f"WARNING The cache of compiled code in {folder} cannot")


@pytest.mark.slow
@pytest.mark.parametrize("run", [REAL], indirect=True)
def test_the_real_code_is_read_and_if_damaged_compiled_again(run, tmp_path):
    """What this process has compiled serves another, which writes nothing."""
    warm_up()
    kept = compilation._CACHE_FOLDER
    copy = tmp_path / "cache" / kept.name
    shutil.copytree(kept, copy)
    written = {path: path.stat().st_mtime_ns for path in _files(copy)}
    assert run() == ([], str(copy))
    assert {path: path.stat().st_mtime_ns for path in _files(copy)} == written
    for path in written:
        if path.suffix == ".nbc":
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) // 2])
    (warning,), _ = run()
    assert warning.startswith(f"WARNING The cache of compiled code in {copy} is dam")
    assert run() == ([], str(copy))


@pytest.mark.slow
def test_a_full_disk_is_told_once(run):
    """No file may grow: what is compiled is used all the same."""
    (warning,), folder = run(after=FULL)
    assert warning.startswith(f"WARNING The cache of compiled code in {folder} cannot")
    assert "make room" in warning


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(NOWHERE, id="read-only", marks=pytest.mark.slow),
        pytest.param(NO_INODES, id="no inodes", marks=pytest.mark.slow),
    ],
)
def test_without_any_place_to_write_every_process_compiles(run, before):
    """And says so once."""
    (warning,), folder = run(before=before)
    assert warning.startswith("WARNING No folder for compiled code can be written")
    assert folder == "None"


@pytest.mark.slow
def test_a_user_without_a_home_needs_none(run):
    """Neither HOME nor an entry among the users."""
    warnings, folder = run(before=NOBODY)
    assert warnings == []
    assert folder != "None"
