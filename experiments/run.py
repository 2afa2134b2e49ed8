"""Run the experiments: config files in, one long table per part out.

Usage: ``python -m experiments.run [PART ...]``, see ``--help``. A unit is one split of
one data set; its rows are written to a file of their own as soon as they are there, so
a run that was killed goes on where it stopped. Tables and figures are made from the
long tables, last.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
from rich.progress import Progress, TimeElapsedColumn

import sorct
from experiments.config import PARTS, Config
from experiments.protocol import KINDS
from experiments.rivals import rpart_program
from experiments.tables import written_whole
from sorct import datasets
from sorct.estimators.checks import check_whole

HERE = Path(__file__).parent
COLUMNS = (
    "dataset", "depth", "split", "method", "alpha_local", "alpha_global", "C",
    "objective", "cost", "local_sparsity", "global_sparsity", "n_columns",
    "n_variables", "residual", "seconds", "accuracy", "least_recall",
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run the parts asked for; return 0, or 2 if the request makes no sense."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    if options.data is not None:
        os.environ["SORCT_DATA"] = str(options.data)
    try:
        check_whole("--n-jobs", options.n_jobs)
        configs = [
            Config.read(part, options.config).limited(
                options.datasets, options.n_splits
            )
            for part in options.parts or PARTS
        ]
        limited = options.datasets is not None or options.n_splits is not None
        if limited and options.results.resolve() == (HERE / "results").resolve():
            raise ValueError(
                "results on fewer data sets or splits would replace the full ones; "
                "name another folder by --results (and --output)."
            )
        if not options.draw_only:
            _check_data(configs)
    except (ValueError, OSError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    for config in configs:
        if not options.draw_only:
            run_part(config, options.results, options.n_jobs)
    if not options.fit_only:
        draw(options.results, options.output)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.run",
        description="Rerun section 4 of the paper: tables, figures, comparisons.",
    )
    parser.add_argument("parts", nargs="*", help=f"some of {PARTS}; default: all")
    parser.add_argument("--data", type=Path, help="folder of CSV files (SORCT_DATA)")
    parser.add_argument("--config", type=Path, default=HERE / "config")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--output", type=Path, default=HERE / "output")
    parser.add_argument("--datasets", nargs="+", help="only these data sets")
    parser.add_argument("--n-splits", type=int, help="fewer splits than the config's")
    parser.add_argument(
        "--n-jobs", type=int, default=os.cpu_count(), help="processes; default: all"
    )
    parser.add_argument("--draw-only", action="store_true", help="fit nothing")
    parser.add_argument("--fit-only", action="store_true", help="draw nothing")
    return parser


def _check_data(configs: list[Config]) -> None:
    """Load every data set once, so that a missing one is known before the first fit."""
    for name in dict.fromkeys(name for config in configs for name in config.datasets):
        datasets.load(name)


def run_part(config: Config, results: Path, n_jobs: int) -> Path:
    """Fit what is not there yet and gather the long table of a part."""
    folder = results / "units" / f"{config.part}-{config.key}"
    folder.mkdir(parents=True, exist_ok=True)
    left = [unit for unit in config.units if not _file(folder, *unit).exists()]
    begun = time.perf_counter()
    n_done = 0
    try:
        with _bar(
            config.part, len(config.units), len(config.units) - len(left)
        ) as tick:
            for _ in _finished(config, folder, left, n_jobs):
                n_done += 1
                tick()
    finally:
        if n_done:
            seconds = time.perf_counter() - begun
            _note(config, results, n_done, len(left), seconds, n_jobs)
    return _gather(config, folder, results)


def _finished(
    config: Config, folder: Path, left: list[tuple[str, int]], n_jobs: int
) -> Iterator[None]:
    """Fit the units left, in processes of one thread each; the longest first."""
    if n_jobs == 1:
        for unit in left:
            yield fit_unit(config, folder, *unit)
        return
    order = sorted(left, key=lambda unit: -datasets.info(unit[0]).n_samples)
    # A fresh interpreter per worker: compiled code and threads do not survive a fork.
    pool = ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"))
    try:
        waiting = [pool.submit(fit_unit, config, folder, *unit) for unit in order]
        for done in as_completed(waiting):
            yield done.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def fit_unit(config: Config, folder: Path, dataset: str, number: int) -> None:
    """Fit one split of one data set and write its rows."""
    frame = KINDS[config.kind](dataset, number, config.options)
    frame = frame.assign(
        dataset=dataset, depth=datasets.info(dataset).depth, split=number
    )
    with written_whole(_file(folder, dataset, number)) as path:
        frame.reindex(columns=COLUMNS).to_csv(path, index=False)


def _file(folder: Path, dataset: str, number: int) -> Path:
    return folder / f"{dataset}-{number}.csv"


def _gather(config: Config, folder: Path, results: Path) -> Path:
    """Write the units' rows as one compressed table."""
    frames = [pd.read_csv(_file(folder, *unit)) for unit in config.units]
    table = pd.concat(frames, ignore_index=True)
    # Six digits are more than ten splits can tell apart; penalties are powers of two.
    for name in table.columns.difference(["alpha_local", "alpha_global"]):
        if table[name].dtype.kind == "f":
            table[name] = [float(f"{value:.6g}") for value in table[name]]
    text = table.to_csv(index=False)
    target = results / f"{config.part}.csv.gz"
    with written_whole(target) as path:
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return target


def _note(
    config: Config,
    results: Path,
    n_units: int,
    n_left: int,
    seconds: float,
    n_jobs: int,
) -> None:
    """Keep what the run took, on what, with which versions."""
    file = results / "runs.json"
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    last = runs.get(config.part, {})
    if last.get("key") == config.key and n_left < len(config.units):
        # The rest of a run that was interrupted.
        seconds, n_units = seconds + last["seconds"], n_units + last["units_fitted"]
    runs[config.part] = {
        "date": date.today().isoformat(),
        "key": config.key,
        "units_fitted": n_units,
        "units": len(config.units),
        "seconds": round(seconds, 1),
        "processes": n_jobs,
        "config": {"kind": config.kind, **config.options},
        **versions(),
    }
    with written_whole(file) as path:
        path.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


def versions() -> dict[str, Any]:
    """What a run was made with."""
    import numba
    import numpy
    import sklearn

    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "sorct": sorct.__version__,
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
        "rpart": rpart_program() is not None,
    }


@contextmanager
def _bar(part: str, total: int, done: int) -> Iterator[Any]:
    """Progress with the time left."""
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        task = progress.add_task(part, total=total, completed=done)
        yield lambda: progress.advance(task)


def draw(results: Path, output: Path) -> None:
    """Make tables and figures of whatever results there are."""
    from experiments import figures, tables

    output.mkdir(parents=True, exist_ok=True)
    tables.write_all(results, output)
    figures.draw_all(results, output)


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    raise SystemExit(main())
