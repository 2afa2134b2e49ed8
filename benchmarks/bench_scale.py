"""From a laptop to a cluster: rows in memory, rows that stream, rows on workers.

Parts can be run one at a time, and leave a line each in ``results/scale.csv``:

    python -m benchmarks.bench_scale memory            # ours, CART, LightGBM
    python -m benchmarks.bench_scale stream 50000000   # files, 8 GB on disk
    python -m benchmarks.bench_scale workers 2000000   # two processes of Dask
    python -m benchmarks.bench_scale sparse            # text, 100 000 columns
    python -m benchmarks.bench_scale show              # table and picture

``SORCT_SCALE_FOLDER`` says where files are made; they are removed after, unless
``SORCT_SCALE_KEEP`` is set. ``python -m benchmarks.run scale`` runs all parts with at
most ``SORCT_SCALE_STREAM`` rows (2 000 000).
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.timing import print_table

ROWS = int(os.environ.get("SORCT_SCALE_ROWS", "1000000"))
STREAM = int(os.environ.get("SORCT_SCALE_STREAM", "2000000"))
COLUMNS, STREAM_COLUMNS, DEPTH, CLASSES = 50, 20, 2, 3
RESULTS = Path(__file__).parent / "results" / "scale.csv"
_PART = 1_000_000
_OPTIONS = f"depth={DEPTH}, alpha_local=0.02, random_state=0"
_FIELDS = (
    "part", "method", "rows", "columns", "seconds", "processor_seconds", "passes",
    "megabytes", "copies", "used", "accuracy", "objective", "load",
)  # fmt: skip

# A process of its own, so that the peak of its memory is that of one fit; the load
# tells how many processes wanted a core meanwhile, beside ours.
_CLOCK = """
import os, time, warnings
warnings.simplefilter("ignore")

def status(key):
    with open("/proc/self/status") as file:
        return int(next(l for l in file if l.startswith(key)).split()[1]) / 1024

class Clock:
    def __init__(self):
        self.memory = status("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        self.begun, self.spent = time.perf_counter(), time.process_time()

    def read(self):
        seconds = time.perf_counter() - self.begun
        spent = time.process_time() - self.spent
        return dict(
            seconds=round(seconds, 2), processor_seconds=round(spent, 2),
            load=round(os.getloadavg()[0], 1),
        )
"""
_IN_MEMORY = (
    _CLOCK
    + """
from sorct import SORCTClassifier
from sorct.datasets import make_planted_tree
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier
small = make_planted_tree(500, {p}, {depth}, {classes}, 3, random_state=0)
SORCTClassifier({depth}, n_starts=1, random_state=0).fit(small.X, small.y)
data = make_planted_tree({n}, {p}, {depth}, {classes}, 3, random_state=0)
clf = {method}
clock = Clock()
clf.fit(data.X, data.y)
told = clock.read()
told["copies"] = round((status("VmHWM") - clock.memory) / (data.X.nbytes / 2**20), 3)
told["accuracy"] = round(float((clf.predict(data.X) == data.y_clean).mean()), 4)
told["passes"] = getattr(clf, "n_passes_", "")
told["objective"] = getattr(clf, "objective_", "")
print(told)
"""
)
_STREAMED = (
    _CLOCK
    + """
import pandas as pd
from sorct import SORCTClassifier
clock = Clock()
clf = SORCTClassifier({options}).fit({files!r}, "y")
told = clock.read()
told["megabytes"] = round(status("VmHWM"))
told["passes"], told["objective"] = clf.n_passes_, clf.objective_
clf.tree_.to_json({model!r})
test = pd.read_parquet({test!r})
told["accuracy"] = round(clf.score(test.drop(columns="y"), test["y"]), 4)
print(told)
"""
)
_SPARSE = (
    _CLOCK
    + """
import numpy as np
from scipy import sparse
from sorct import SORCTClassifier
rng = np.random.default_rng(0)
n, p, length = {n}, {p}, 100
# Words by Zipf's law; twenty of them are more frequent in one of the classes.
share = 1.0 / np.arange(10, p + 10)
y = rng.integers(0, 2, 2 * n)
telling = rng.choice(np.arange(50, 2000), 20, replace=False)
words = rng.choice(p, (2 * n, length), p=share / share.sum())
own = telling[rng.integers(0, 10, (2 * n, 3)) + 10 * y[:, None]]
words[:, :3] = np.where(rng.uniform(size=own.shape) < 0.4, own, words[:, :3])
rows = np.repeat(np.arange(2 * n), length)
counts = np.ones(rows.size)
X = sparse.csr_array((counts, (rows, words.ravel())), (2 * n, p))
small = sparse.csr_array(X[:50, :50])
clf = SORCTClassifier(1, n_starts=1).fit(small, y[:50])
clf = SORCTClassifier({depth}, {alpha}, loss="log", random_state=0)
clock = Clock()
clf.fit(X[:n], y[:n])
told = clock.read()
told["megabytes"] = round(status("VmHWM"))
told["accuracy"] = round(clf.score(X[n:], y[n:]), 4)
told["objective"], told["used"] = clf.objective_, len(clf.tree_.encoder.names)
print(told)
"""
)
_METHODS = {
    "sorct": f"SORCTClassifier({_OPTIONS})",
    "CART, depth 6": "DecisionTreeClassifier(max_depth=6, random_state=0)",
    "LightGBM, 100 trees": "LGBMClassifier(n_jobs=os.cpu_count(), verbose=-1)",
}


def run() -> None:
    """Run all parts, the largest tables left out, and print what is known."""
    memory()
    for n_rows in [n for n in (10_000, 100_000, 1_000_000) if n < STREAM] + [STREAM]:
        stream(n_rows)
    workers(min(STREAM, 2_000_000))
    show()


# -- results ---------------------------------------------------------------------------


def _told(code: str) -> dict[str, object]:
    """What a process of its own prints last."""
    import ast

    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return dict(ast.literal_eval(out.stdout.strip().splitlines()[-1]))


def _keep(part: str, method: str, n_rows: int, columns: int, **told: object) -> None:
    """Keep a line of results; it takes the place of the one before."""
    new = {"part": part, "method": method, "rows": n_rows, "columns": columns, **told}
    key = [str(new[name]) for name in _FIELDS[:4]]
    lines = [line for line in results() if [line[k] for k in _FIELDS[:4]] != key]
    lines.append({name: str(new.get(name, "")) for name in _FIELDS})
    lines.sort(key=lambda line: (line["part"], int(line["rows"]), line["method"]))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    print(new, flush=True)


def results() -> list[dict[str, str]]:
    """All lines that are known."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def show() -> None:
    """Print the results that are known, and draw growth as a picture."""
    shown = [name for name in _FIELDS if name != "columns"]
    rows = [[line[name] for name in shown] for line in results()]
    print_table("Scale", shown, rows)
    draw(RESULTS.parents[2] / "docs" / "images" / "scale.png")


def draw(file: Path) -> None:
    """Processor seconds and megabytes by the number of rows."""
    from matplotlib.figure import Figure

    lines = [line for line in results() if line["part"] == "stream"]
    n_rows = np.array([int(line["rows"]) for line in lines])
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    spent = np.array([float(line["processor_seconds"]) for line in lines])
    left.loglog(n_rows, spent, "o-", label="fit")
    left.loglog(n_rows, spent[-1] * n_rows / n_rows[-1], "--", label="linear")
    left.set(xlabel="rows", ylabel="processor seconds")
    left.legend(frameon=False)
    held = np.array([float(line["megabytes"]) for line in lines])
    right.semilogx(n_rows, held, "o-", label="peak of the process")
    right.semilogx(n_rows, 8e-6 * STREAM_COLUMNS * n_rows, "--", label="the table")
    right.set(xlabel="rows", ylabel="megabytes", ylim=(0, 2048))
    right.legend(frameon=False)
    figure.savefig(file, dpi=120)


# -- in memory -------------------------------------------------------------------------


def memory() -> None:
    """Our default fit beside CART of depth 6 and LightGBM with 100 trees."""
    fill = {"p": COLUMNS, "depth": DEPTH, "classes": CLASSES, "n": ROWS}
    for name, method in _METHODS.items():
        told = _told(_IN_MEMORY.format(method=method, **fill))
        _keep("memory", name, ROWS, COLUMNS, **told)


def sparse(n_rows: int = 5_000, n_columns: int = 100_000) -> None:
    """Text as counts of words, depths 1 and 2."""
    for depth, alpha in ((1, 3000.0), (2, 3000.0)):
        told = _told(_SPARSE.format(n=n_rows, p=n_columns, depth=depth, alpha=alpha))
        _keep("sparse", f"depth {depth}", n_rows, n_columns, **told)


# -- in files --------------------------------------------------------------------------


@contextmanager
def _files(n_rows: int) -> Iterator[tuple[Path, str]]:
    """A folder with files for a while, and their glob; those kept are taken again."""
    kept = os.environ.get("SORCT_SCALE_KEEP")
    base = Path(kept or tempfile.mkdtemp(dir=os.environ.get("SORCT_SCALE_FOLDER")))
    try:
        base.mkdir(exist_ok=True)
        yield base, make_files(base / str(n_rows), n_rows)
    finally:
        if kept is None:
            shutil.rmtree(base)


def make_files(folder: Path, n_rows: int, seed: int = 0) -> str:
    """Parquet files of a planted tree, a million rows each; return a glob of them.

    Files that are there are left as they are. Beside them comes one to test on.
    """
    folder.mkdir(exist_ok=True)
    for k, first in enumerate(range(0, n_rows, _PART)):
        _make_file(folder / f"{k:04d}.parquet", min(_PART, n_rows - first), seed, k)
    _make_file(folder / "test.pq", 100_000, seed, 10**6)
    return str(folder / "*.parquet")


def _make_file(file: Path, n: int, seed: int, k: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet
    from sorct.datasets import make_planted_tree

    if file.exists():
        return
    planted = make_planted_tree(
        1000, STREAM_COLUMNS, DEPTH, CLASSES, 3, random_state=seed
    )
    rng = np.random.default_rng([seed, k])
    X = rng.uniform(size=(STREAM_COLUMNS, n))
    goes_left = planted.threshold[:, np.newaxis] < planted.coef.T @ X
    node = np.zeros(n, dtype=np.int64)
    for _ in range(DEPTH):
        node = 2 * node + np.where(goes_left[node, np.arange(n)], 1, 2)
    y = planted.leaf_class[node - planted.threshold.size]
    redrawn = rng.uniform(size=n) < 0.05
    y = np.where(redrawn, rng.integers(0, CLASSES, n), y)
    columns = {f"x{j}": column for j, column in enumerate(X)}
    draft = file.with_suffix(".draft")
    table = pa.table({**columns, "y": y})
    parquet.write_table(table, draft, row_group_size=2**17, use_dictionary=False)
    draft.rename(file)


def stream(n_rows: int) -> None:
    """Seconds, passes and megabytes of a fit on files."""
    with _files(n_rows) as (folder, files):
        told = _streamed(folder, files, n_rows)
    _keep("stream", "sorct", n_rows, STREAM_COLUMNS, **told)


def _streamed(folder: Path, files: str, n_rows: int) -> dict[str, object]:
    model = str(folder / f"{n_rows}.json")
    test = str(folder / str(n_rows) / "test.pq")
    return _told(
        _STREAMED.format(options=_OPTIONS, files=files, model=model, test=test)
    )


# -- on workers ------------------------------------------------------------------------


def workers(n_rows: int) -> None:
    """Two processes of Dask: the same tree, and what a pass costs beside the work."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from sorct import SORCTClassifier

    options = {"depth": DEPTH, "alpha_local": 0.02, "random_state": 0}
    with (
        _files(n_rows) as (folder, files),
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        alone = _streamed(folder, files, n_rows)
        frame = dd.read_parquet(files)
        begun = time.perf_counter()
        clf = SORCTClassifier(**options).fit(frame, "y")
        seconds = time.perf_counter() - begun
        n_passes = clf.n_passes_
        load = round(os.getloadavg()[0], 1)
        told = {"seconds": round(seconds, 2), "passes": n_passes, "load": load}
        _keep(
            "workers", "two workers", n_rows, STREAM_COLUMNS,
            objective=clf.objective_, **told,
        )  # fmt: skip
        gap = abs(clf.objective_ - float(str(alone["objective"])))
        print(f"objective apart from files: {gap:.1e} (bar 1e-9)")
        few = dd.from_pandas(frame.head(200), npartitions=2)
        SORCTClassifier(**options | {"n_starts": 1}).fit(few, "y")
        begun = time.perf_counter()
        small = SORCTClassifier(**options | {"n_starts": 1}).fit(few, "y")
        spent = time.perf_counter() - begun
        told = {"seconds": round(spent, 3), "passes": small.n_passes_, "load": load}
        _keep("workers", "few rows, one start", 200, STREAM_COLUMNS, **told)


def main(words: list[str]) -> None:
    """Run one part."""
    parts = {
        "memory": memory, "stream": stream, "workers": workers, "sparse": sparse,
        "show": show,
    }  # fmt: skip
    if not words or words[0] not in parts:
        raise SystemExit(f"Expected one of {', '.join(parts)}, got {words}.")
    part = parts[words[0]]
    part(*map(int, words[1:]))  # type: ignore[operator]


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(variable, None)
    main(sys.argv[1:])
