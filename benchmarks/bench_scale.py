"""From a laptop to a cluster: rows in memory, rows that stream, rows on workers.

Sizes are set by the environment: ``SORCT_SCALE_ROWS`` (in memory, 1 000 000),
``SORCT_SCALE_STREAM`` (in files, 2 000 000; the full run is 50 000 000, 8 GB
on disk) and ``SORCT_SCALE_FOLDER`` (where files are made and removed after).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import print_table

ROWS = int(os.environ.get("SORCT_SCALE_ROWS", "1000000"))
STREAM = int(os.environ.get("SORCT_SCALE_STREAM", "2000000"))
COLUMNS, STREAM_COLUMNS, DEPTH, CLASSES = 50, 20, 2, 3
_PART = 1_000_000
_OPTIONS = f"depth={DEPTH}, alpha_local=0.02, random_state=0"

# A process of its own, so that the peak of its memory is that of one fit.
_PEAK = """
def peak():
    with open("/proc/self/status") as file:
        return int(next(l for l in file if l.startswith("VmHWM")).split()[1]) / 1024

def resident():
    with open("/proc/self/status") as file:
        return int(next(l for l in file if l.startswith("VmRSS")).split()[1]) / 1024
"""
_IN_MEMORY = (
    _PEAK
    + """
import time, numpy as np
from sorct import SORCTClassifier
from sorct.datasets import make_planted_tree
small = make_planted_tree(500, {p}, {depth}, {classes}, 3, random_state=0)
SORCTClassifier({depth}, n_starts=1, random_state=0).fit(small.X, small.y)
data = make_planted_tree({n}, {p}, {depth}, {classes}, 3, random_state=0)
before = resident()
begun = time.perf_counter()
clf = SORCTClassifier({options}).fit(data.X, data.y)
seconds = time.perf_counter() - begun
share = (clf.predict(data.X) == data.y_clean).mean()
print(seconds, (peak() - before) / (data.X.nbytes / 2**20), share, clf.n_passes_)
"""
)
_STREAMED = (
    _PEAK
    + """
import sys, time
from sorct import SORCTClassifier
begun = time.perf_counter()
clf = SORCTClassifier({options}).fit({files!r}, "y")
seconds = time.perf_counter() - begun
print(seconds, peak(), clf.n_passes_, clf.search_.seconds, repr(clf.objective_))
clf.tree_.to_json({model!r})
"""
)


def _numbers(code: str) -> list[float]:
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(word) for word in out.stdout.split()]


def run() -> None:
    """Print all parts."""
    _in_memory()
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("SORCT_SCALE_FOLDER")))
    try:
        _streamed(folder)
        _on_workers(folder)
    finally:
        shutil.rmtree(folder)


# -- in memory -------------------------------------------------------------------------


def _in_memory() -> None:
    """Our default fit beside CART of depth 6 and LightGBM with 100 trees."""
    from lightgbm import LGBMClassifier
    from sklearn.tree import DecisionTreeClassifier
    from sorct.datasets import make_planted_tree

    fill = {"p": COLUMNS, "depth": DEPTH, "classes": CLASSES, "options": _OPTIONS}
    ours, copies, share, n_passes = _numbers(_IN_MEMORY.format(n=ROWS, **fill))
    data = make_planted_tree(ROWS, COLUMNS, DEPTH, CLASSES, 3, random_state=0)
    rows = [["sorct", f"{ours:.1f}", "1.0", f"{share:.3f}", "-"]]
    rivals = {
        "CART, depth 6": DecisionTreeClassifier(max_depth=6, random_state=0),
        "LightGBM, 100 trees": LGBMClassifier(n_jobs=os.cpu_count(), verbose=-1),
    }
    for name, rival in rivals.items():
        begun = time.perf_counter()
        rival.fit(data.X, data.y)
        seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        found = rival.predict(data.X)
        spent = time.perf_counter() - begun
        right = f"{(found == data.y_clean).mean():.3f}"
        rows.append(
            [name, f"{seconds:.1f}", f"{seconds / ours:.1f}", right, f"{spent:.2f}"]
        )
    rows[0][-1] = f"{_predict_seconds(data):.2f}"
    print_table(
        f"{ROWS:,} x {COLUMNS} in memory, depth {DEPTH}, {n_passes:.0f} passes; "
        f"{copies:.2f} copies of X beside X at the peak (bar 1)",
        ["method", "fit (s)", "x ours", "share of clean labels", "predict (s)"],
        rows,
    )


def _predict_seconds(data: object) -> float:
    from sorct import SORCTClassifier

    clf = SORCTClassifier(DEPTH, alpha_local=0.02, n_starts=2, random_state=0)
    clf.fit(data.X[:5000], data.y[:5000])
    clf.predict(data.X)
    begun = time.perf_counter()
    clf.predict(data.X)
    return time.perf_counter() - begun


# -- in files --------------------------------------------------------------------------


def make_files(folder: Path, n_rows: int, seed: int = 0) -> str:
    """Parquet files of a planted tree, a million rows each; return a glob of them."""
    import pandas as pd
    from sorct.datasets import make_planted_tree

    planted = make_planted_tree(
        1000, STREAM_COLUMNS, DEPTH, CLASSES, 3, random_state=seed
    )
    folder.mkdir(exist_ok=True)
    for k, first in enumerate(range(0, n_rows, _PART)):
        rng = np.random.default_rng([seed, k])
        n = min(_PART, n_rows - first)
        X = rng.uniform(size=(n, STREAM_COLUMNS))
        goes_left = planted.threshold[:, np.newaxis] < planted.coef.T @ X.T
        node = np.zeros(n, dtype=np.int64)
        for _ in range(DEPTH):
            node = 2 * node + np.where(goes_left[node, np.arange(n)], 1, 2)
        y = planted.leaf_class[node - planted.threshold.size]
        redrawn = rng.uniform(size=n) < 0.05
        y = np.where(redrawn, rng.integers(0, CLASSES, n), y)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(STREAM_COLUMNS)])
        frame.assign(y=y).to_parquet(folder / f"{k:04d}.parquet", row_group_size=2**17)
    return str(folder / "*.parquet")


def _sizes() -> list[int]:
    sizes = [10_000, 100_000, 1_000_000, 10_000_000, 50_000_000]
    return [n for n in sizes if n < STREAM] + [STREAM]


def _streamed(folder: Path) -> None:
    """Growth: seconds, passes and megabytes by the number of rows."""
    rows, seconds_of = [], []
    for n_rows in _sizes():
        files = make_files(folder / str(n_rows), n_rows)
        model = str(folder / f"{n_rows}.json")
        code = _STREAMED.format(options=_OPTIONS, files=files, model=model)
        seconds, peak, n_passes, searched, objective = _numbers(code)
        seconds_of.append((n_rows, seconds))
        rows.append(
            [
                f"{n_rows:,}", f"{seconds:.1f}", f"{n_passes:.0f}", f"{peak:.0f}",
                f"{objective:.9f}",
            ]
        )  # fmt: skip
        if n_rows != STREAM:
            shutil.rmtree(folder / str(n_rows))
    header = ["rows", "fit (s)", "passes", "peak memory (MB; bar 2048)", "objective"]
    print_table(f"Parquet files, {STREAM_COLUMNS} columns", header, rows)
    print()
    longest = max(seconds for _, seconds in seconds_of)
    for n_rows, seconds in seconds_of:
        print(f"{n_rows:>12,} {'#' * max(int(50 * seconds / longest), 1)}")


# -- on workers ------------------------------------------------------------------------


def _on_workers(folder: Path) -> None:
    """Two processes of Dask: the same tree, and what a pass costs beside the work."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from sorct import SORCTClassifier, Tree

    files = str(folder / str(STREAM) / "*.parquet")
    alone = Tree.from_json(folder / f"{STREAM}.json")
    options = {"depth": DEPTH, "alpha_local": 0.02, "random_state": 0}
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        begun = time.perf_counter()
        clf = SORCTClassifier(**options).fit(dd.read_parquet(files), "y")
        seconds = time.perf_counter() - begun
        few = dd.read_parquet(files).partitions[0].head(2000, compute=False)
        begun = time.perf_counter()
        small = SORCTClassifier(**options | {"n_starts": 1}).fit(few, "y")
        overhead = (time.perf_counter() - begun) / max(small.n_passes_, 1)
    gap = abs(clf.objective_ - alone.training.objective)
    row = [
        f"{STREAM:,}", f"{seconds:.1f}", str(clf.n_passes_), f"{gap:.1e}",
        f"{overhead:.2f}",
    ]  # fmt: skip
    header = [
        "rows", "fit (s)", "passes", "objective apart from files (bar 1e-9)",
        "a pass over few rows (s)",
    ]  # fmt: skip
    print_table("dask.distributed, two workers", header, [row])


if __name__ == "__main__":
    run()
