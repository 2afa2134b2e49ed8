"""Interrupts: Ctrl-C soon after ``sorct`` was typed is answered with one line and 130.

Half of the interrupts come within 0.3 seconds, half within 1.5. Before Python runs a
line of ours there is nothing to be done: the signal ends the process, or Python prints
a traceback, in which no file of ours may be; or Python swallows it, and says so.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import sorct
from tests.attacks.outcome import each_case
from tests.cli.tables import QUICK, write_table

#: What pip writes (25 and later; earlier ones load ``re`` first).
_SCRIPT = """import sys
from sorct.cli import main
if __name__ == '__main__':
    sys.exit(main())
"""
_LINE = "sorct: interrupted: nothing was written.\n"
_SOON, _LATER = 0.3, 1.5
# No run is over by then.
_AT_WORK = 0.5
_SWALLOWED = re.compile("Exception ignored in|Failed checking if argv")
_PATIENCE = 60.0


def attack(rng, n_cases):
    """Interrupt the command line at random times."""
    with TemporaryDirectory(prefix="sorct-interrupts-") as folder:
        place = Path(folder)
        write_table(place / "data.csv")
        (place / "script").write_text(_SCRIPT)
        # Compiled, as pip installs them.
        _started(place, "--version").communicate()
        return each_case(rng, n_cases, lambda case: _check(case, place))


def _check(rng, place):
    wait = float(rng.uniform(0.0, _SOON if rng.random() < 0.5 else _LATER))
    process = _started(
        place, "fit", "data.csv", "--target", "y", "--out", "model.json", *QUICK
    )
    try:
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=_PATIENCE)[1]
    finally:
        process.kill()
        process.communicate()
    return _ending(process.returncode, err, wait, (place / "model.json").exists())


def _ending(code, err, wait, written):
    """How a run ended, which has to be one of the good ways."""
    told = f"after {wait:.3f} s: exit code {code}\n{err[-1500:]}"
    if "Traceback" in err:
        ours = str(Path(sorct.__file__).parent)
        assert ours not in err, told
    if code == 130:
        assert err.endswith(_LINE), told
        assert not written, told
        return "one line"
    if code == 0:
        assert wait > _AT_WORK or _SWALLOWED.search(err), told
        return "done" if wait > _AT_WORK else "swallowed by Python"
    assert code == -signal.SIGINT or "KeyboardInterrupt" in err, told
    return "before a line of ours"


def _started(place, *words):
    """Run the script as a shell in the foreground does."""
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(part for part in sys.path if part)
    (place / "model.json").unlink(missing_ok=True)
    return subprocess.Popen(
        [sys.executable, "script", *words], cwd=place, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**known, "PYTHONPATH": path}, preexec_fn=_hear_interrupts,
    )  # fmt: skip


def _hear_interrupts():
    """Undo what a shell does to programs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
