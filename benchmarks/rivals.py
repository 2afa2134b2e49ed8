"""IPOPT's random starts on a cell, timed."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.cells import MIN_RECALL, Cell
from benchmarks.ipopt import PaperModel, random_points
from benchmarks.pyomo_ipopt import PyomoModel


def ipopt_starts(
    cell: Cell, make: type[PaperModel | PyomoModel], n_starts: int
) -> tuple[float, float, float]:
    """Seconds of one start (mean), of building and all, and the best objective."""
    n_classes = int(cell.y.max()) + 1
    starts = random_points(cell.X.shape[1], n_classes, cell.depth, n_starts)
    begun = time.perf_counter()
    model = make(
        cell.X,
        cell.y,
        cell.depth,
        alpha_local=cell.alpha_local,
        alpha_global=cell.alpha_global,
        min_recall=MIN_RECALL,
    )
    results = [model.solve(start) for start in starts]
    total = time.perf_counter() - begun
    feasible = [r.objective for r in results if r.violation < 1e-6]
    one = float(np.mean([r.seconds for r in results]))
    return one, total, min(feasible, default=np.inf)
