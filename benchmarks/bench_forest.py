"""Forests: 25 trees beside one default tree, and a large table beside random forest.

Processor seconds, so that other work on the machine counts little; of the large table,
where both may use all cores and ours other processes too, seconds on the clock. Both
of a pair are timed in the same run; the first fit of all, which loads the compiled
code, is not counted.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import print_table
from sorct import SORCTClassifier, SORCTForestClassifier

N_ROWS, N_COLUMNS, N_NEW = 100_000, 30, 20_000


def run() -> None:
    """Print both tables."""
    X, y = load_breast_cancer(return_X_y=True)
    SORCTClassifier(n_starts=1).fit(X[:50], y[:50])
    tree = _seconds(SORCTClassifier(random_state=0), X, y)
    models = {
        "one default tree": SORCTClassifier(random_state=0),
        "25 trees": SORCTForestClassifier(random_state=0),
        "25 trees, at most 5 variables": SORCTForestClassifier(
            max_features=5, random_state=0
        ),
    }
    rows = [(name, _seconds(model, X, y)) for name, model in models.items()]
    print_table(
        "Forests on breast cancer, processor seconds",
        ("model", "seconds", "times one tree"),
        [(name, f"{s:.2f}", f"{s / tree:.1f}") for name, s in rows],
    )
    print_table(
        f"{N_ROWS} x {N_COLUMNS}, all cores; accuracy is on new rows",
        ("model", "seconds", "accuracy", "variables"),
        _large(),
    )


def _seconds(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    begun = time.process_time()
    model.fit(X, y)
    return time.process_time() - begun


def _large() -> list[tuple[str, ...]]:
    """Five of thirty columns tell the class, by two cuts and some noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS + N_NEW, N_COLUMNS))
    score = np.where(X[:, 0] + X[:, 1] > 0.0, X[:, 2] - X[:, 3], X[:, 4])
    y = (score + 0.3 * rng.normal(size=len(X)) > 0.0).astype(int)
    models = {
        "25 trees of ours": SORCTForestClassifier(n_jobs=-1, random_state=0),
        "random forest, 100 trees": RandomForestClassifier(
            100, n_jobs=-1, random_state=0
        ),
    }
    rows = []
    for name, model in models.items():
        begun = time.perf_counter()
        model.fit(X[:N_ROWS], y[:N_ROWS])
        seconds = time.perf_counter() - begun
        right = model.score(X[N_ROWS:], y[N_ROWS:])
        used = N_COLUMNS
        if isinstance(model, SORCTForestClassifier):
            used = len(model.forest_.variables_used)
        cells = f"{seconds:.1f}", f"{right:.3f}", str(used)
        rows.append((name, *cells))
    return rows
