"""Memory held while fitting, in copies of X (the user's own one included)."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import print_table

_CODE = """
import resource, threading, time
import numpy as np
from sorct import SORCTClassifier
rng = np.random.default_rng(0)
small = rng.uniform(size=(500, 50))
SORCTClassifier(2, n_starts=1, random_state=0).fit(small, small[:, 0] > 0.5)

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

before = resident()
X = rng.uniform(size=({n}, 50))
y = (X[:, 0] + X[:, 1] > 1).astype(int)
peak = [0]
done = threading.Event()

def watch():
    while not done.is_set():
        peak[0] = max(peak[0], resident())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
SORCTClassifier(2, n_starts=2, max_iter=20, tol=1e-1, random_state=0).fit(X, y)
done.set()
watcher.join()
print((peak[0] - before) / X.nbytes)
"""


def run() -> None:
    """Print the peak for two sizes; the bar is 3 copies."""
    rows = []
    for n_samples in (200_000, 400_000):
        code = _CODE.replace("{n}", str(n_samples))
        out = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            check=True,
        )
        rows.append([f"{n_samples} x 50", f"{float(out.stdout):.2f}"])
    header = ["N x p", "copies of X at the peak (bar 3.00)"]
    print_table("Memory while fitting", header, rows)
