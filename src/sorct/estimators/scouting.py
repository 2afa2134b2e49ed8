"""Scouting: whether greedy trees are worth a path, told before one is traced.

First by their value on the rows themselves, which every cut has a price in; then by
their scores on folds, as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import entr

from sorct._typing import FloatArray
from sorct.data.table import as_table
from sorct.estimators.effort import InfeasibleError
from sorct.estimators.folds import PathTask, scores_of
from sorct.estimators.rows import Data
from sorct.estimators.scorers import DefaultScorer
from sorct.search.axis import MOST_DRAWN
from sorct.tree.path import Path

# Shares of what the best gains over always saying the classes' shares, by which greedy
# trees may be behind it before they are improved, and then.
_FAR_GROWN, _FAR_IMPROVED = 0.15, 0.05


def worth_scoring(
    task: PathTask, rows: Data, depths: Sequence[int], scorer: Any, best: float
) -> list[int]:
    """Depths at which greedy trees may come near the best score so far.

    Scores other than minus the log-loss are not foretold: then all depths may.
    """
    found = [depth for depth in depths if depth > 1]
    if not (isinstance(scorer, DefaultScorer) and scorer.is_log_loss):
        return found
    _, counts = np.unique(rows.y, return_counts=True)
    gain = best + float(entr(counts / counts.sum()).sum())
    for far, most_drawn in ((_FAR_GROWN, 0), (_FAR_IMPROVED, MOST_DRAWN)):
        pairs = zip(found, _values(task, rows, found, most_drawn), strict=True)
        found = [depth for depth, value in pairs if value >= best - far * gain]
    return found


def _values(
    task: PathTask, data: Data, depths: Sequence[int], most_drawn: int
) -> list[float]:
    """About what greedy trees of some depths will score by minus the log-loss.

    It is their value on the rows themselves, which every cut has a price in.
    """
    from sorct.search.greedy import greedy_value

    problems = [task.of_depth(depth).forgiving(data).problem for depth in depths]
    return [-greedy_value(problem, most_drawn) for problem in problems]


def score_greedy(
    task: PathTask, train: Data, test: Data, scorer: Any, depths: Sequence[int]
) -> FloatArray:
    """Scores of greedy trees as they are, by depth; NaN for others.

    A tree that misses the floors has none, and nor has one without cuts.
    """
    scores = np.full(max(depths), np.nan)
    for depth in depths:
        prepared = task.of_depth(depth).forgiving(train)
        greedy = prepared.greedy(prepared.problem)
        solution = None if greedy is None else greedy.still()
        if solution is None or not solution.feasible:
            continue
        try:
            tree = prepared.tree(solution, (0.0, 0.0))
        except InfeasibleError:
            continue
        path = Path(np.zeros(1), np.zeros(1), (tree,), np.zeros(1))
        table = tree.encoder.read(as_table(test.X), check_finite=False)
        scores[depth - 1] = scores_of(path, table, test, scorer)[0]
    return scores
