"""Parquet files of a planted tree, made for ``bench_scale`` and removed after it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

COLUMNS, DEPTH, CLASSES = 20, 2, 3
_PART = 1_000_000


def base() -> Path:
    """Folder of all files."""
    given = os.environ.get("SORCT_SCALE_FOLDER") or tempfile.gettempdir()
    return Path(given) / "sorct-scale"


def make_files(n_rows: int, seed: int = 0) -> tuple[Path, list[str]]:
    """Files of a million rows each, or one of fewer; and their folder.

    Files that are there are left as they are, so that larger tables have the smaller
    ones in them. Beside them comes one to test on, ``test.pq``.
    """
    folder = base() / (str(n_rows) if n_rows < _PART else "millions")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for k, first in enumerate(range(0, n_rows, _PART)):
        files.append(folder / f"{k:04d}.parquet")
        _make_file(files[-1], min(_PART, n_rows - first), seed, k)
    _make_file(folder / "test.pq", 100_000, seed, 10**6)
    return folder, [str(file) for file in files]


def _make_file(file: Path, n: int, seed: int, k: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet
    from sorct.datasets import make_planted_tree

    if file.exists():
        return
    planted = make_planted_tree(1000, COLUMNS, DEPTH, CLASSES, 3, random_state=seed)
    rng = np.random.default_rng([seed, k])
    X = rng.uniform(size=(COLUMNS, n))
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
