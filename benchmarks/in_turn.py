"""Another version of the code, in turn with this one, fit by fit on one core.

``python -m benchmarks.in_turn FOLDER``: the folder is a checkout of the other version
(``git worktree add FOLDER COMMIT``) whose requirements this environment has. Figures
are processor seconds, and ratios of ours to the other's: of sums of medians and of
minima. Versions that run in turn see the same machine; runs of a benchmark do not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import print_table

_HERE = Path(__file__).parents[1]
SHARES = ("0 0", "0.0625 0", "0 0.0625")
STARTS = [
    f"starts {name} {share}" for name in ("iris", "wine", "cancer") for share in SHARES
]
PATHS = [f"path {name} 0 0" for name in ("iris", "wine", "cancer")]
PREDICTIONS = ["predict dense 0 0", "predict sparse 0 0.02"]
CHOICES = [f"choice {name} 0 0" for name in ("iris", "wine", "cancer")]


def main() -> None:
    """Ask both versions, or answer as one of them."""
    if sys.argv[1] == "--answer":
        _answer()
        return
    folders = {"other": Path(sys.argv[1]), "ours": _HERE}
    workers = {name: _worker(folder) for name, folder in folders.items()}
    for title, tasks, times in (
        ("Twenty starts", STARTS, 15),
        ("17-point paths", PATHS, 5),
        ("Prediction, 1 000 000 x 50", PREDICTIONS, 9),
        ("SORCTClassifierCV at the defaults of each", CHOICES, 3),
    ):
        _compare(title, tasks, times, workers)


def _compare(title: str, tasks: list[str], times: int, workers: dict[str, Any]) -> None:
    found: dict[tuple[str, str], list[float]] = {}
    for turn in range(times + 1):
        for task in tasks:
            for name in sorted(workers, reverse=bool(turn % 2)):
                seconds = _ask(workers[name], task)
                if turn:
                    found.setdefault((task, name), []).append(seconds)
    rows = []
    for task in tasks:
        ours, other = found[task, "ours"], found[task, "other"]
        least = min(ours) / min(other)
        middle = median(ours), median(other)
        rows.append(_row(task, *middle, middle[0] / middle[1], least))
    sums = {
        (name, kind.__name__): sum(kind(found[task, name]) for task in tasks)
        for name in workers
        for kind in (median, min)
    }
    ours, other = sums["ours", "median"], sums["other", "median"]
    least = sums["ours", "min"] / sums["other", "min"]
    rows.append(_row("all", ours, other, ours / other, least))
    header = ["what", "ours (ms)", "other (ms)", "medians", "minima"]
    print_table(f"{title}, ours in turn with the other version", header, rows)


def _row(
    task: str, ours: float, other: float, middle: float, least: float
) -> list[str]:
    times = [f"{1e3 * seconds:.1f}" for seconds in (ours, other)]
    return [task, *times, f"{middle:.3f}", f"{least:.3f}"]


# -- the two processes -----------------------------------------------------------------


def _worker(folder: Path) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(_HERE)]),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, __file__, "--answer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, {0}),
    )


def _ask(worker: subprocess.Popen[str], task: str) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(task + "\n")
    worker.stdin.flush()
    return float(json.loads(worker.stdout.readline()))


def _answer() -> None:
    """Do the tasks that come in, and say how many processor seconds each took."""
    import numpy as np
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    import sorct

    # Versions before the likelihood have the paper's settings as their defaults.
    paper = dict(getattr(sorct, "PAPER", {}))
    grid = {"relax": False} if paper else {}
    fixed = {"min_recall": 0.1, "random_state": 0, "n_jobs": 1, **paper}
    tables = {}
    for name in ("iris", "wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
        tables[name.removeprefix("breast_")] = MinMaxScaler().fit_transform(X), y
    fitted: dict[str, Any] = {}

    def starts(name: str, *alphas: float) -> None:
        depth = 1 if name == "cancer" else 2
        tree = sorct.SORCTClassifier(depth, *alphas, n_starts=20, **fixed)
        tree.fit(*tables[name])

    def path(name: str, *_: float) -> None:
        depth = 1 if name == "cancer" else 2
        sorct.sorct_path(
            *tables[name],
            depth=depth,
            alphas_local=[0.0, *(2.0**k for k in range(-8, 8))],
            alphas_global=0.0,
            n_solutions=20,
            **grid,
            **fixed,
        )

    def predict(name: str, _: float, alpha: float) -> None:
        if name not in fitted:
            rng = np.random.default_rng(0)
            X = rng.uniform(size=(1_000_000, 50))
            y = (X[:2000] @ rng.normal(size=(50, 3))).argmax(axis=1)
            tree = sorct.SORCTClassifier(3, 0.0, alpha, n_starts=2, **fixed)
            fitted[name] = tree.fit(X[:2000], y), X
        tree, X = fitted[name]
        tree.predict(X)

    def choice(name: str, *_: float) -> None:
        sorct.SORCTClassifierCV(random_state=0, n_jobs=1).fit(*tables[name])

    kinds = {"starts": starts, "path": path, "predict": predict, "choice": choice}
    for line in sys.stdin:
        kind, name, *alphas = line.split()
        begun = time.process_time()
        kinds[kind](name, *map(float, alphas))
        print(json.dumps(time.process_time() - begun), flush=True)


if __name__ == "__main__":
    main()
