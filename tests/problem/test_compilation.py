"""Compiled code: where it runs, where it is made, and what it refuses."""

import subprocess
import sys

import numpy as np
import pytest
from joblib import cpu_count
from numba.core.errors import TypingError

from sorct.problem.compilation import call_apart, compiled_beside
from sorct.problem.evaluation import VALUE, Evaluator, never, smallest

CHILD = """
import signal, threading
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
from sorct.problem.compilation import call_apart, compiled

@compiled
def work(x):
    while x[0] >= 0.0:
        x[0] += 1.0

x = np.array([-1.0])
call_apart(work, x)  # compiles, and ends at once
main, rng = threading.main_thread().ident, np.random.default_rng()
for _ in range(5):
    try:
        wait = rng.uniform(0.0, 0.1)
        threading.Timer(wait, signal.pthread_kill, [main, signal.SIGINT]).start()
        call_apart(work, np.zeros(1))
    except KeyboardInterrupt:
        print("interrupted")
"""


def run(place, code):
    """Run a file, as code on the command line cannot be cached."""
    (place / "child.py").write_text(code)
    command = [sys.executable, place / "child.py"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_ctrl_c_is_answered_while_compiled_code_runs(tmp_path):
    """Code that never ends is left to itself, and the process goes on.

    Called in the main thread it would hold the interrupt back for ever, or be ended by
    it with a segmentation fault.
    """
    done = run(tmp_path, CHILD)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted"] * 5


def test_an_error_of_a_call_apart_is_raised():
    """Whoever called hears of what numba cannot compile."""

    def fail():
        raise ValueError("told")

    with pytest.raises(ValueError, match="told"):
        call_apart(fail)


SLEEP = "import time; time.sleep(60)"


@pytest.mark.skipif(cpu_count() < 2, reason="a second core is needed")
def test_what_is_compiled_beside_is_there_afterwards(tmp_path):
    kept = tmp_path / "kept"
    with compiled_beside(f"open({str(kept)!r}, 'w').write('compiled')"):
        pass
    assert kept.read_text() == "compiled"


def test_an_error_does_not_wait_for_what_is_compiled_beside():
    with pytest.raises(KeyboardInterrupt), compiled_beside(SLEEP):
        raise KeyboardInterrupt


@pytest.mark.parametrize("wrong", [np.asfortranarray, np.int64])
def test_arrays_of_another_layout_or_type_are_never_misread(wrong):
    problem, params = smallest()
    sub, point = problem.subproblem(), problem.point(params)
    sub = sub._replace(table=wrong(np.arange(4.0).reshape(2, 2)))
    evaluator = Evaluator(problem.data.samples, sub, point, point, never())
    with pytest.raises(TypingError, match="Expected"):
        evaluator.ask(VALUE)
