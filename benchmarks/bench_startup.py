"""Start-up: an import, compiling once, and what every later process pays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.timing import print_table

_IMPORTS = """
import time
import sklearn.base, sklearn.utils.validation, sklearn.preprocessing
begun = time.perf_counter()
import sorct
print(time.perf_counter() - begun)
"""

_FIRST_FIT = """
import time
begun = time.perf_counter()
import numpy as np
from sorct import SORCTClassifier
from sorct.search.multistart import Multistart
imported = time.perf_counter()
from sorct.search.warm_up import warm_up
warm_up()
print(time.perf_counter() - imported)
"""


def run() -> None:
    """Print seconds beside their bars."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = {"NUMBA_CACHE_DIR": folder}
        compiling = _seconds(_FIRST_FIT, fresh)
        loading = min(_seconds(_FIRST_FIT, fresh) for _ in range(3))
    importing = min(_seconds(_IMPORTS, {}) for _ in range(3))
    rows = [
        ["import sorct after scikit-learn", f"{importing:.2f}", "0.3"],
        ["first fit on a machine: compile", f"{compiling:.1f}", "12"],
        ["first fit of a later process: load", f"{loading:.2f}", "1"],
    ]
    print_table("Start-up", ["what", "seconds", "bar"], rows)


def _seconds(code: str, environment: dict[str, str]) -> float:
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return float(out.stdout)
