"""The 17-point local path with 20 carried solutions against IPOPT's warm solves.

Ours is the whole ``sorct_path``: 20 starts, the pool carried over the grid, moves, and
neighbours learning from each other. IPOPT's time is that of a sample of warm solves
(building the model not counted, options that keep the start, as on a path they must)
times 17 x 20. Half of the sample follows our tree of penalty 0 along the grid, half
IPOPT's own from a random start. One thread each. Thyroid needs ``SORCT_DATA``.
"""

from __future__ import annotations

import os
import time

import numpy as np
from sklearn.preprocessing import MinMaxScaler
from sorct.datasets import info, load

from benchmarks.ipopt import IpoptResult, PaperModel, Point, random_points
from benchmarks.timing import print_table
from sorct import PAPER, Tree, sorct_path
from sorct.estimators.path import PAPER_ALPHAS

N_SOLUTIONS, MIN_RECALL = 20, 0.1


def run() -> None:
    """Print times and objectives; the bar is a ratio of 50 each."""
    rows = []
    for name in ("wisconsin", "thyroid"):
        if name == "thyroid" and "SORCT_DATA" not in os.environ:
            print("path: thyroid is not measured, SORCT_DATA names no folder.")
            continue
        rows.append(_compare(name))
    header = [
        "data set", "ours (s)", "IPOPT, one solve (s)", "sample", "IPOPT, 340 (s)",
        "ratio", "our objective", "IPOPT's",
    ]  # fmt: skip
    print_table("17-point local path, 20 solutions (bar 50)", header, rows)


def _compare(name: str) -> list[str]:
    X, y = load(name)
    scaled, depth = MinMaxScaler().fit_transform(X), info(name).depth
    codes = np.unique(y, return_inverse=True)[1]

    def trace() -> list[Tree]:
        path = sorct_path(
            scaled,
            codes,
            depth=depth,
            alphas_global=0,
            n_solutions=N_SOLUTIONS,
            min_recall=MIN_RECALL,
            n_jobs=1,
            random_state=0,
            **PAPER,
        )
        return list(path)

    trace()
    begun = time.perf_counter()
    trees = trace()
    seconds = time.perf_counter() - begun
    n_classes = codes.max() + 1
    (drawn,) = random_points(scaled.shape[1], n_classes, depth, 1)
    first = _model(scaled, codes, depth, 0.0, keep=False).solve(drawn).point
    warm = _follow(scaled, codes, depth, [_point(trees[0]), first])
    one = float(np.mean([result.seconds for result in warm]))
    total = one * len(PAPER_ALPHAS) * N_SOLUTIONS
    ours = np.mean([tree.training["objective"] for tree in trees[1:]])
    theirs = np.mean([result.objective for result in warm[::2]])
    return [
        f"{name} {scaled.shape[0]} x {scaled.shape[1]}, depth {depth}",
        f"{seconds:.2f}",
        f"{one:.3f}",
        f"{len(warm)}",
        f"{total:.0f}",
        f"{total / seconds:.0f}",
        f"{ours:.5f}",
        f"{theirs:.5f}",
    ]


def _follow(
    X: np.ndarray, y: np.ndarray, depth: int, points: list[Point]
) -> list[IpoptResult]:
    """Warm solves along the grid, in turn from each of the points."""
    results = []
    for alpha in PAPER_ALPHAS[1:]:
        model = _model(X, y, depth, alpha, keep=True)
        found = [model.solve(point) for point in points]
        points = [result.point for result in found]
        results += found
    return results


def _model(
    X: np.ndarray, y: np.ndarray, depth: int, alpha: float, *, keep: bool
) -> PaperModel:
    return PaperModel(
        X, y, depth, alpha_local=alpha, min_recall=MIN_RECALL, keep_start=keep
    )


def _point(tree: Tree) -> Point:
    """Our tree in IPOPT's terms."""
    share = np.eye(len(tree.classes))[:, tree.leaf_class]
    return Point(tree.coef, tree.threshold, share)
