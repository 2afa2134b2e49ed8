"""Signals: a process that is interrupted, ended or killed ends in time, and in order.

Files are whole, old or new; nothing is left that the next writer does not take away.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sorct import Path as TreePath
from sorct import Tree
from sorct.tree.files import write_json
from tests.attacks.outcome import each_case
from tests.cli.tables import write_table

_PATIENCE = 15.0
_HEAD = """
import sys, time
import numpy as np
from sorct import SORCTClassifier, Tree, sorct_path
rng = np.random.default_rng(0)
y = np.arange(400) % 2
X = rng.normal(0.0, 1.0, (400, 6)) + y[:, np.newaxis]
clf = SORCTClassifier(n_starts=1, max_iter=5, tol=1.0).fit(X, y)
tree = clf.tree_
print("begun", flush=True)
"""
#: What children do for ever, with all the work in Python or in threads.
_WORK = {
    "fit": "while True: SORCTClassifier(n_starts=40, n_jobs=2).fit(X, y)",
    "path": "while True: sorct_path(X, y, alphas_local=[0.1], alphas_global=[0.0])",
    "save": "while True: tree.to_json('model.json')",
    # Python runs functions around a fork (logging has some) and drops what is raised in
    # them: in a program without a line of ours, one interrupt of eight. Only the hook
    # hears of it, so this one raises it again.
    "predict": """
import os
many = np.tile(X, (500, 1))
dropped = []
sys.unraisablehook = lambda told: dropped.append(told.exc_value)
while True:
    dropped.clear()
    child = os.fork()
    if child == 0:
        tree.predict(many[:50])
        os._exit(0)
    if dropped:
        raise dropped[0]
    tree.predict(many)
    os.waitpid(child, 0)
""",
}
_FIT = ["fit", "data.csv", "--target", "y", "--out", "model.json", "--depth", "3"]
_COMMAND = [sys.executable, "-m", "sorct", *_FIT]
_ANSWER = re.compile(r"sorct: interrupted: (nothing|model\.json) was written\.\n$")
_SIGNALS = ["SIGINT", "SIGTERM", "SIGKILL"]


def attack(rng, n_cases):
    """Send signals to children at random times."""
    return each_case(rng, n_cases, _check)


@cache
def _old_model():
    """A file that is there before."""
    kept = Path(__file__).parents[1] / "files" / "v0.1.0" / "tree.json"
    return json.loads(kept.read_text("utf-8"))


def _check(rng):
    kind = str(rng.choice([*_WORK, "command"]))
    name = str(rng.choice(_SIGNALS))
    wait = float(rng.uniform(0.0, 1.0) ** 2)
    with TemporaryDirectory(prefix="sorct-signals-") as folder:
        place = Path(folder)
        write_json(_old_model(), place / "model.json")
        process = _started(kind, place)
        try:
            time.sleep(wait + (0.4 if kind == "command" else 0.0))
            process.send_signal(getattr(signal, name))
            told = f"{kind}, {name} after {wait:.2f} s"
            code, err = _ended(process, told)
            good = _is_documented(kind, name, code, err)
            assert good, f"{told}: exit code {code}\n{err[-400:]}"
            _check_files(place, err)
        finally:
            process.kill()
            process.communicate()
    return f"{kind} {name}"


def _started(kind, place):
    if kind == "command":
        write_table(place / "data.csv", n=400)
        command = _COMMAND
    else:
        command = [sys.executable, "-c", _HEAD + _WORK[kind]]
    process = subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        preexec_fn=_hear_interrupts,
    )  # fmt: skip
    if kind != "command":
        assert process.stdout.readline() == "begun\n", process.communicate()[1]
    return process


def _hear_interrupts():
    """Undo what a shell does to programs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _ended(process, told):
    try:
        _, err = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{told}: runs on for {_PATIENCE:.0f} s") from None
    return process.returncode, err


def _is_documented(kind, name, code, err):
    """Whether a process ended as the signal, and our documents, say."""
    if name != "SIGINT":
        done = kind == "command" and code == 0
        return done or code == -getattr(signal, name)
    if kind == "command":
        if code == 130:
            return _ANSWER.search(err) is not None
        # Before Python is up, the signal ends the process; or all was done in time.
        return code in (-signal.SIGINT, 0) or (code == 1 and "KeyboardInterrupt" in err)
    return code in (-signal.SIGINT, 1) and "KeyboardInterrupt" in err


def _check_files(place, err):
    """The model is whole and what was said of it; the next writer leaves no other."""
    tree = Tree.from_json(place / "model.json")
    is_old = tree == Tree.from_dict(_old_model())
    if "nothing was written" in err:
        assert is_old, "a model was written after all"
    if "model.json was written" in err:
        assert not is_old, "no model was written after all"
    assert not isinstance(tree, TreePath)
    tree.to_json(place / "model.json")
    left = {path.name for path in place.iterdir()} - {"model.json", "data.csv"}
    assert not left, f"left behind: {left}"
