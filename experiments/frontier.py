"""The frontier: accuracy and log-loss against the number of variables, beside peers.

``python -m experiments.frontier [METHOD ...]`` fits what is missing, on the paper's 18
data sets and on eight real tables (folders: ``SORCT_DATA``, and ``real`` in it or
``SORCT_REAL``). A unit is one method on one split of one table; its row is written to a
file of its own at once, so a run that was killed goes on where it stopped. Rows that
``results/frontier.csv.gz`` has of methods or tables not asked for stay as they are.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from experiments import peers, real_tables
from experiments.peers import METHODS, Fitted, Problem
from experiments.run import HERE, versions
from experiments.tables import written_whole
from sorct import __version__, datasets
from sorct.estimators.checks import check_whole

PART = "frontier"
KEYS = ["table", "split", "method"]
#: The default with and without limits, and the number of what it chooses: raised
#: whenever that may be another tree, so that these are fitted anew.
OURS, DEFAULT = ("ours", "ours-1se", "ours-3", "ours-5"), 15
#: The same number for forests.
FOREST, FOREST_DEFAULT = "ours-forest", 9
#: Stands for every table that has no entry of its own.
ANY = "any"
COLUMNS = (
    *KEYS, "accuracy", "log_loss", "auc", "brier", "n_variables", "n_columns", "n_cuts",
    "seconds", "key",
)  # fmt: skip

Unit = tuple[str, int, str]


@dataclass(frozen=True)
class Config:
    """Which methods are fitted on which splits of which tables."""

    tables: tuple[str, ...]
    methods: tuple[str, ...]
    n_splits: int
    n_real_splits: int
    n_folds: int
    options: dict[str, dict[str, Any]]
    fewer_splits: dict[str, dict[str, int]]

    @classmethod
    def read(cls, folder: Path) -> Config:
        """Read and check the config file."""
        file = folder / f"{PART}.toml"
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {error}.") from error
        known = set(cls.__dataclass_fields__)
        if data.keys() != known:
            raise ValueError(
                f"{file}: missing keys {sorted(known - data.keys())}, unknown "
                f"{sorted(data.keys() - known)}."
            )
        names = {key: tuple(data[key]) for key in ("tables", "methods")}
        config = cls(**{**data, **names})
        config.check()
        return config

    def limited(self, methods: list[str] | None, tables: list[str] | None) -> Config:
        """The same with some methods and tables only."""
        config = replace(
            self,
            methods=tuple(methods or self.methods),
            tables=tuple(tables or self.tables),
        )
        config.check()
        return config

    def check(self) -> None:
        """Refuse what could not run, naming it."""
        known = {
            "tables": {*datasets.names(), *real_tables.TABLES},
            "methods": METHODS.keys(),
        }
        for key, names in known.items():
            given = getattr(self, key)
            odd = [name for name in given if name not in names]
            if odd or not given or len(set(given)) < len(given):
                raise ValueError(
                    f"{PART}: {key} must be some of {sorted(names)}, each once; "
                    f"got {list(given)}."
                )
        odd = [x for x in (*self.options, *self.fewer_splits) if x not in METHODS]
        if odd:
            raise ValueError(f"{PART}: there are no methods {odd}.")
        for name in ("n_splits", "n_real_splits", "n_folds"):
            check_whole(f"{PART}: {name}", getattr(self, name))
        for name, numbers in self.fewer_splits.items():
            for table, number in numbers.items():
                if table not in known["tables"] | {ANY}:
                    raise ValueError(f"{PART}: fewer_splits of {name}: no {table}.")
                check_whole(f"{PART}: fewer_splits of {name} on {table}", number)

    @property
    def units(self) -> list[Unit]:
        """Tables, numbers of splits and methods; table by table."""
        return [
            (table, split, method)
            for table in self.tables
            for method in self.methods
            for split in range(self._n_splits(table, method))
        ]

    def _n_splits(self, table: str, method: str) -> int:
        is_real = table in real_tables.TABLES
        usual = self.n_real_splits if is_real else self.n_splits
        fewer = self.fewer_splits.get(method, {})
        return min(usual, fewer.get(table, fewer.get(ANY, usual)))

    def key(self, method: str) -> str:
        """Changes with the method's options, ours with what the default chooses too.

        Who changes a method's code removes its units.
        """
        told = [method, self.n_folds, self.options.get(method, {})]
        if method.startswith("ours"):
            told.append(__version__)
        if method in OURS:
            told.append(DEFAULT)
        if method.startswith(FOREST):
            told.append(FOREST_DEFAULT)
        text = json.dumps(told, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 0, or 2 if the request makes no sense."""
    options = _parser().parse_args(arguments)
    if options.data is not None:
        os.environ["SORCT_DATA"] = str(options.data)
    try:
        check_whole("--n-jobs", options.n_jobs)
        config = Config.read(options.config).limited(options.methods, options.tables)
        if not options.draw_only:
            _check_data(config)
    except (ValueError, OSError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    if not options.draw_only:
        run(config, options.results, options.n_jobs)
    if not options.fit_only:
        from experiments import frontier_report

        frontier_report.write_all(options.results, options.output)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.frontier", description=__doc__
    )
    parser.add_argument(
        "methods", nargs="*", help=f"some of {', '.join(METHODS)}; default: all"
    )
    parser.add_argument("--tables", nargs="+", help="only these tables")
    parser.add_argument("--data", type=Path, help="folder of CSV files (SORCT_DATA)")
    parser.add_argument("--config", type=Path, default=HERE / "config")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--output", type=Path, default=HERE / "output")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--draw-only", action="store_true", help="fit nothing")
    parser.add_argument("--fit-only", action="store_true", help="draw nothing")
    return parser


def _check_data(config: Config) -> None:
    """Look for every table, so that a missing one is known before the first fit."""
    for table in config.tables:
        if table not in real_tables.TABLES:
            datasets.load(table)
        elif not (real_tables.folder() / f"{table}.csv").is_file():
            raise ValueError(f"There is no {real_tables.folder() / table}.csv.")


def run(config: Config, results: Path, n_jobs: int) -> Path:
    """Fit what is not there yet and gather the long table."""
    there = _gathered(config, results)
    left = [
        unit
        for unit in config.units
        if unit not in there and not _file(config, results, unit).exists()
    ]
    begun = time.perf_counter()
    n_done = 0
    try:
        for unit in _finished(config, results, left, n_jobs):
            n_done += 1
            seconds = time.perf_counter() - begun
            print(
                f"{n_done} of {len(left)}, {seconds:.0f} s: {' '.join(map(str, unit))}",
                file=sys.stderr,
                flush=True,
            )
    finally:
        file = _gather(config, results)
        if n_done:
            _note(config, results, n_done, time.perf_counter() - begun, n_jobs)
    return file


def _gathered(config: Config, results: Path) -> set[Unit]:
    """Units whose rows the long table has, made with the same options."""
    file = results / f"{PART}.csv.gz"
    if not file.exists():
        return set()
    table = _read(file)
    same = table["key"] == table["method"].map({m: config.key(m) for m in METHODS})
    return set(table.loc[same, KEYS].itertuples(index=False, name=None))


def _finished(
    config: Config, results: Path, left: list[Unit], n_jobs: int
) -> Iterator[Unit]:
    """Fit the units left, in processes of one thread each."""
    if n_jobs == 1:
        for unit in left:
            fit_unit(config, results, unit)
            yield unit
        return
    pool = ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"))
    try:
        waiting = {pool.submit(fit_unit, config, results, u): u for u in left}
        for done in as_completed(waiting):
            done.result()
            yield waiting[done]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def fit_unit(config: Config, results: Path, unit: Unit) -> None:
    """Fit one method on one split of one table and write its row.

    Rows of methods that share its fit are written, too.
    """
    table, split, method = unit
    if _file(config, results, unit).exists():
        return
    problem = Problem.of(table, split)
    fitted, seconds = peers.fit(
        method, problem, config.n_folds, **config.options.get(method, {})
    )
    for name, one in {method: fitted, **fitted.others}.items():
        row = {
            **dict(zip(KEYS, (table, split, name), strict=True)),
            **scores(problem, one),
            "seconds": seconds,
            "key": config.key(name),
        }
        file = _file(config, results, (table, split, name))
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(file) as path:
            pd.DataFrame([row], columns=COLUMNS).to_csv(path, index=False)


def scores(problem: Problem, fitted: Fitted) -> dict[str, Any]:
    """Figures of merit on the test rows, and sizes.

    The Brier score is half the squared distance to the true class' corner, so that with
    two classes it is the usual one; the area under the curve is the mean over the
    classes that test rows have, each against the rest.
    """
    y, proba = problem.y_test, fitted.proba
    labels = proba.argmax(axis=1) if fitted.labels is None else fitted.labels
    hot = y[:, None] == np.arange(len(problem.classes))
    mixed = [k for k in range(hot.shape[1]) if 0 < hot[:, k].sum() < len(y)]
    if hot.shape[1] == 2:
        mixed = [k for k in mixed if k == 1]
    areas = [roc_auc_score(hot[:, k], proba[:, k]) for k in mixed]
    return {
        "accuracy": float(np.mean(labels == y)),
        "log_loss": peers.log_loss(y, proba),
        "auc": float(np.mean(areas)) if areas else np.nan,
        "brier": float(0.5 * ((proba - hot) ** 2).sum(axis=1).mean()),
        "n_variables": fitted.n_variables,
        "n_columns": fitted.n_columns,
        "n_cuts": fitted.n_cuts,
    }


def _file(config: Config, results: Path, unit: Unit) -> Path:
    table, split, method = unit
    folder = results / "units" / f"{PART}-{method}-{config.key(method)}"
    return folder / f"{table}-{split}.csv"


def _read(file: Path) -> pd.DataFrame:
    """Rows as they were written; the key 7e5676555042 is no number."""
    return pd.read_csv(file, dtype={"key": str})


def _gather(config: Config, results: Path) -> Path:
    """Put the units' rows into the compressed table, in place of older ones."""
    target = results / f"{PART}.csv.gz"
    files = [_file(config, results, unit) for unit in config.units]
    frames = [_read(file) for file in files if file.exists()]
    if target.exists():
        kept = _read(target)
        keys = {method: config.key(method) for method in config.methods}
        stale = kept["method"].map(keys)
        frames.insert(0, kept[stale.isna() | (stale == kept["key"])])
    if not frames:
        return target
    table = pd.concat(frames, ignore_index=True).drop_duplicates(KEYS, keep="last")
    for name in table.select_dtypes("float"):
        table[name] = [float(f"{value:.6g}") for value in table[name]]
    table["n_cuts"] = table["n_cuts"].astype("Int64")
    table = table.sort_values(KEYS, kind="stable")
    results.mkdir(parents=True, exist_ok=True)
    with written_whole(target) as path:
        text = table.to_csv(index=False)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return target


def _note(
    config: Config, results: Path, n_units: int, seconds: float, n_jobs: int
) -> None:
    """Keep what each method took last, with which versions."""
    file = results / "runs.json"
    runs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    told = {key: value for key, value in asdict(config).items() if key != "tables"}
    runs[PART] = {
        "date": date.today().isoformat(),
        "units_fitted_last": n_units,
        "seconds_last": round(seconds, 1),
        "processes": n_jobs,
        "config": {**told, "methods": list(config.methods)},
        **versions(),
    }
    with written_whole(file) as path:
        path.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    raise SystemExit(main())
