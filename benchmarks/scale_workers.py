"""Parts of ``bench_scale`` on workers of Dask, and of fits that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import scale_code, scale_files
from benchmarks.bench_scale import OPTIONS, keep, streamed
from sorct import SORCTClassifier, Tree

_OPTIONS = {"depth": scale_files.DEPTH, "alpha_local": 0.02, "random_state": 0}
# Partitions of few rows that tell what a pass costs beside the work.
_PARTITIONS = 100
_SAME = 1e-9


@contextmanager
def _cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _compared(name: str, found: Tree, alone: Tree) -> None:
    """Objectives and coefficients beside those of an undisturbed fit on files."""
    told = [tree.training.objective or 0.0 for tree in (found, alone)]
    gap = abs(told[0] - told[1])
    apart = np.abs(found.coef - alone.coef).max()
    print(f"{name}: objective apart by {gap:.1e}, coefficients by {apart:.1e}")
    assert gap <= _SAME, f"expected at most {_SAME}"
    assert np.array_equal(found.coef == 0.0, alone.coef == 0.0), "other zeros"


@cache
def _alone(n_rows: int) -> tuple[dict[str, object], Tree]:
    """An undisturbed fit on files: what is told of it, and its tree."""
    told = streamed(n_rows)
    folder, _ = scale_files.make_files(n_rows)
    return told, Tree.from_json(folder / "model.json")


def two_workers(n_rows: int) -> None:
    """A fit on two workers beside one on files, in one run."""
    import dask.dataframe as dd

    alone, tree = _alone(n_rows)
    keep("workers", "files, one process", n_rows, scale_files.COLUMNS, **alone)
    _, files = scale_files.make_files(n_rows)
    with _cluster():
        frame = dd.read_parquet(files)
        begun = time.perf_counter()
        clf = SORCTClassifier(**_OPTIONS).fit(frame, "y")
        seconds = time.perf_counter() - begun
    keep(
        "workers", "two workers", n_rows, scale_files.COLUMNS,
        seconds=round(seconds, 2), passes=clf.n_passes_, objective=clf.objective_,
        load=round(os.getloadavg()[0], 1),
    )  # fmt: skip
    _compared("two workers", clf.tree_, tree)


def overhead() -> None:
    """What a pass over many partitions of hardly any rows takes."""
    import dask.dataframe as dd
    import pandas as pd

    from sorct.data.dask_source import DaskSource

    n_rows = 10 * _PARTITIONS
    table = pd.DataFrame(np.zeros((n_rows, 3)), columns=list("abc"))
    with _cluster() as client:
        for _ in range(3):
            begun = time.perf_counter()
            own = client.gather(
                client.map(len, [[k] for k in range(_PARTITIONS)], pure=False)
            )
            alone = time.perf_counter() - begun
            assert sum(own) == _PARTITIONS
        frame = dd.from_pandas(table.assign(y=0), npartitions=_PARTITIONS).persist()
        source = DaskSource(frame, "y")
        for _ in range(3):
            begun = time.perf_counter()
            assert sum(source.gather(_count)) == n_rows
            seconds = time.perf_counter() - begun
    told = {"a pass, 100 partitions": seconds, "100 empty tasks of Dask": alone}
    for name, spent in told.items():
        keep(
            "workers", name, n_rows, 3, seconds=round(spent, 3), passes=1,
            load=round(os.getloadavg()[0], 1),
        )  # fmt: skip


def _count(batch: Any) -> int:
    return int(batch.n_rows)


def kill_worker(n_rows: int) -> None:
    """One of two workers is killed while passes are made."""
    import dask.dataframe as dd

    alone, tree = _alone(n_rows)
    _, files = scale_files.make_files(n_rows)
    with _cluster() as client:
        pids = list(client.run(os.getpid).values())
        frame = dd.read_parquet(files)
        # Somewhere in the middle of the passes.
        timer = threading.Timer(
            0.5 * float(str(alone["seconds"])), os.kill, (pids[0], signal.SIGKILL)
        )
        timer.start()
        clf = SORCTClassifier(**_OPTIONS).fit(frame, "y")
        struck = not timer.is_alive()
        timer.cancel()
    assert struck, "the fit had ended before the worker was killed"
    keep(
        "killed", "a worker", n_rows, scale_files.COLUMNS,
        passes=clf.n_passes_, objective=clf.objective_,
    )  # fmt: skip
    _compared("a worker killed", clf.tree_, tree)


def kill_fit(n_rows: int) -> None:
    """A process is killed between passes; the next one goes on from its checkpoint."""
    _, tree = _alone(n_rows)
    kept = scale_files.base() / "checkpoint"
    shutil.rmtree(kept, ignore_errors=True)
    folder, files = scale_files.make_files(n_rows)
    fill = {"options": OPTIONS, "files": files, "kept": str(kept)}
    fill |= {"model": str(folder / "model.json"), "test": str(folder / "test.pq")}
    code = scale_code.STREAMED.format(**fill)
    fit = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    third = Path(kept) / "pass-0003.npz"
    while not third.exists() and fit.poll() is None:
        time.sleep(0.05)
    assert fit.poll() is None, "the fit had ended before it could be killed"
    fit.kill()
    fit.wait()
    told = streamed(n_rows, str(kept))
    shutil.rmtree(kept)
    keep("killed", "a fit, resumed", n_rows, scale_files.COLUMNS, **told)
    _compared("resumed", Tree.from_json(folder / "model.json"), tree)
