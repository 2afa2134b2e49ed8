"""From a laptop to a cluster: rows in memory, rows that stream, rows on workers.

Parts can be run one at a time, and leave their lines in ``results/scale.csv``:

    python -m benchmarks.bench_scale memory            # ours, CART, LightGBM
    python -m benchmarks.bench_scale predict           # ours, LightGBM, memory itself
    python -m benchmarks.bench_scale limits            # time_limit at every size
    python -m benchmarks.bench_scale wide              # 5000 columns, 5000 levels
    python -m benchmarks.bench_scale stream 50000000   # files, 8 GB on disk
    python -m benchmarks.bench_scale workers 2000000   # two processes of Dask
    python -m benchmarks.bench_scale killed 2000000    # a worker, and a fit, are killed
    python -m benchmarks.bench_scale sparse            # text, 100 000 columns
    python -m benchmarks.bench_scale show              # tables, picture, docs/scale.md
    python -m benchmarks.bench_scale all 50000000      # all, up to so many rows

``all`` goes on where it was ended: what was measured of the present ``src`` stays.
``SORCT_SCALE_FOLDER`` says where files are made (8.4 GB for 50 million rows);
``clean`` removes them, and so does ``all`` at its end. ``python -m benchmarks.run
scale`` is ``all`` with ``SORCT_SCALE_STREAM`` rows (2 000 000).
"""

from __future__ import annotations

import ast
import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import scale_code, scale_files, scale_tables
from benchmarks.timing import print_table

ROWS = int(os.environ.get("SORCT_SCALE_ROWS", "1000000"))
STREAM = int(os.environ.get("SORCT_SCALE_STREAM", "2000000"))
COLUMNS, DEPTH, CLASSES = 50, scale_files.DEPTH, scale_files.CLASSES
STREAM_COLUMNS = scale_files.COLUMNS
RESULTS = Path(__file__).parent / "results" / "scale.csv"
#: Numbers of rows whose growth is shown.
GROWTH = (10_000, 100_000, 1_000_000, 10_000_000, 50_000_000)
OPTIONS = f"depth={DEPTH}, alpha_local=0.02, random_state=0"
_FIELDS = (
    "part", "method", "rows", "columns", "seconds", "processor_seconds", "passes",
    "megabytes", "copies", "used", "accuracy", "objective", "load", "commit",
)  # fmt: skip
_METHODS = {
    "sorct": f"SORCTClassifier({OPTIONS})",
    "CART, depth 6": "DecisionTreeClassifier(max_depth=6, random_state=0)",
    "LightGBM, 100 trees": "LGBMClassifier(n_jobs=os.cpu_count(), verbose=-1)",
}


def run() -> None:
    """Run all parts, the largest tables left out, and print what is known."""
    everything(STREAM)


# -- results ---------------------------------------------------------------------------


def told_by(code: str) -> dict[str, object]:
    """What a process of its own prints last."""
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return dict(ast.literal_eval(out.stdout.strip().splitlines()[-1]))


def commit(what: str = "HEAD") -> str:
    """The code that is measured; ``HEAD:src`` stays the same when results are kept."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", what]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def keep(part: str, method: str, n_rows: int, columns: int, **told: object) -> None:
    """Keep a line of results; it takes the place of the one before."""
    new = {"part": part, "method": method, "rows": n_rows, "columns": columns, **told}
    new["commit"] = commit()
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
        return [{name: line.get(name) or "" for name in _FIELDS} for line in
                csv.DictReader(file)]  # fmt: skip


def show() -> None:
    """Print the results that are known; put them into the documentation."""
    rows = [[line[name] for name in _FIELDS] for line in results()]
    print_table("Scale", list(_FIELDS), rows)
    docs = RESULTS.parents[2] / "docs"
    draw(docs / "images" / "scale.png")
    scale_tables.write(results(), docs / "scale.md")


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


# -- parts -----------------------------------------------------------------------------


def memory() -> None:
    """Our default fit beside CART of depth 6 and LightGBM with 100 trees."""
    fill = {"p": COLUMNS, "depth": DEPTH, "classes": CLASSES, "n": ROWS}
    seconds = {}
    for name, method in _METHODS.items():
        told = told_by(scale_code.IN_MEMORY.format(method=method, **fill))
        keep("memory", name, ROWS, COLUMNS, **told)
        seconds[name] = float(str(told["seconds"]))
    ours = seconds.pop("sorct")
    for name, other in seconds.items():
        print(f"{name} takes {other / ours:.1f} times as long as ours")


def predict() -> None:
    """Prediction of very many rows, beside LightGBM's and reading them."""
    told = told_by(
        scale_code.PREDICT.format(
            n=ROWS, p=COLUMNS, depth=DEPTH, classes=CLASSES, options=OPTIONS,
            train=min(ROWS, 50_000),
        )
    )  # fmt: skip
    for name, line in told.items():
        assert isinstance(line, dict)
        keep("predict", name, ROWS, COLUMNS, **line)


def _limited(part: str, name: str, **asked: object) -> None:
    fill = {"p": 20, "classes": 2, "levels": 0, "limit": None, "options": ""} | asked
    told = told_by(scale_code.LIMITED.format(**fill))
    keep(part, name, int(str(fill["n"])), int(str(fill["p"])), **told)


def limits() -> None:
    """What a time limit of five seconds comes to, at every size."""
    shown = {"limit": 5, "options": "random_state=0"}
    _limited("limits", "few rows", n=5000, **shown)
    _limited("limits", "many rows", n=1_000_000, **shown)
    by_log = {**shown, "options": "random_state=0, loss='log'"}
    _limited("limits", "many rows, likelihood", n=300_000, classes=3, **by_log)
    _limited("limits", "2000 columns", n=3000, p=2000, **shown)
    _limited("limits", "5000 columns", n=2000, p=5000, **shown)
    _limited("limits", "100 classes", n=200_000, classes=100, **shown)
    _limited("limits", "1000 classes", n=5000, classes=1000, **shown)


def wide() -> None:
    """Many columns, classes and levels: memory and time of default fits."""
    shown = {"options": "random_state=0"}
    _limited("wide", "100 classes", n=10_000, classes=100, **shown)
    _limited("wide", "5000 columns", n=2000, p=5000, **shown)
    _limited("wide", "5000 levels", n=20_000, p=10, levels=5000, **shown)


def sparse(n_rows: int = 5_000, n_columns: int = 100_000) -> None:
    """Text as counts of words, depths 1 and 2."""
    for depth in (1, 2):
        told = told_by(
            scale_code.SPARSE.format(n=n_rows, p=n_columns, depth=depth, alpha=3000.0)
        )
        keep("sparse", f"depth {depth}", n_rows, n_columns, **told)


def streamed(n_rows: int, kept: str | None = None) -> dict[str, object]:
    """A fit on files in a process of its own."""
    folder, made = scale_files.make_files(n_rows)
    fill = {"options": OPTIONS, "files": made, "kept": kept}
    fill |= {"model": str(folder / "model.json"), "test": str(folder / "test.pq")}
    return told_by(scale_code.STREAMED.format(**fill))


def stream(n_rows: int) -> None:
    """Seconds, passes and megabytes of a fit on files."""
    keep("stream", "sorct", n_rows, STREAM_COLUMNS, **streamed(n_rows))


def workers(n_rows: int) -> None:
    """Two processes of Dask: the same tree, and what a pass costs beside the work."""
    from benchmarks.scale_workers import overhead, two_workers

    two_workers(n_rows)
    overhead()


def killed(n_rows: int) -> None:
    """A worker, and a whole fit, are killed on the way: the same tree."""
    from benchmarks.scale_workers import kill_fit, kill_worker

    kill_worker(n_rows)
    kill_fit(n_rows)


def files(n_rows: int) -> None:
    """Make the files of the largest table, of which the others are parts."""
    scale_files.make_files(n_rows)


def clean() -> None:
    """Remove all files that were made."""
    shutil.rmtree(scale_files.base(), ignore_errors=True)


def everything(most: int = 50_000_000) -> None:
    """All parts, but for those that were run with the present ``src`` already."""
    few = min(most, 2_000_000)
    steps: list[tuple[str, int, Callable[[], None]]] = [
        ("memory", 1, memory), ("predict", 1, predict), ("limits", 1, limits),
        ("wide", 1, wide), ("sparse", 1, sparse),
    ]  # fmt: skip
    sizes = sorted({n for n in GROWTH if n < most} | {most})
    steps += [("files", most, partial(files, most))]
    steps += [("stream", n, partial(stream, n)) for n in sizes]
    steps += [("workers", few, partial(workers, few))]
    steps += [("killed", few, partial(killed, few))]
    mark = RESULTS.parent / f"scale-{commit('HEAD:src')}.done"
    RESULTS.parent.mkdir(exist_ok=True)
    done = mark.read_text().split() if mark.exists() else []
    for name, n_rows, part in steps:
        if f"{name}:{n_rows}" in done:
            continue
        print(f"-- {name} {n_rows if n_rows > 1 else ''}", flush=True)
        part()
        with mark.open("a") as file:
            file.write(f"{name}:{n_rows}\n")
    show()
    clean()
    mark.unlink()


PARTS: dict[str, Callable[..., None]] = {
    "memory": memory, "predict": predict, "limits": limits, "wide": wide,
    "sparse": sparse, "files": files, "stream": stream, "workers": workers,
    "killed": killed, "show": show, "clean": clean, "all": everything,
}  # fmt: skip


def main(words: list[str]) -> None:
    """Run one part."""
    if not words or words[0] not in PARTS:
        raise SystemExit(f"Expected one of {', '.join(PARTS)}, got {words}.")
    PARTS[words[0]](*map(int, words[1:]))


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(variable, None)
    main(sys.argv[1:])
