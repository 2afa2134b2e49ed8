"""Scouting: whether greedy trees are worth a path, told before one is traced.

First by their log-loss on the rows themselves plus a price for every cut; then by their
scores on folds, without a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from sorct._typing import FloatArray
from sorct.data.table import as_table
from sorct.estimators.effort import InfeasibleError
from sorct.estimators.folds import PathTask, scores_of
from sorct.estimators.greedy_start import greedy_start, greedy_value_of
from sorct.estimators.rows import Data
from sorct.estimators.scorers import DefaultScorer
from sorct.search.axis import MOST_DRAWN
from sorct.tree.path import Path

# A greedy tree is given up if it is behind the best by more than these shares of what
# the best gains over always saying the classes' shares: as grown, and after its cuts
# were drawn anew. Paths that begin with such trees gain about as much again.
_FAR_AT_FIRST, _FAR = 0.15, 0.1


def worth_scoring(
    task: PathTask, rows: Data, depths: Sequence[int], scorer: Any, best: float
) -> list[int]:
    """Depths at which greedy trees may come near the best score so far.

    Scores other than minus the log-loss are not foretold: then all depths may.
    """
    found = [depth for depth in depths if depth > 1]
    if not (isinstance(scorer, DefaultScorer) and scorer.is_log_loss):
        return found
    for far, most_drawn in ((_FAR_AT_FIRST, 0), (_FAR, MOST_DRAWN)):
        scouts = [_Scout.of(task.of_depth(depth), rows, most_drawn) for depth in found]
        pairs = zip(found, scouts, strict=True)
        found = [depth for depth, one in pairs if one.comes_near(best, far)]
    return found


class _Scout(NamedTuple):
    """Estimates of minus the log-loss on new rows: of a greedy and of an empty tree.

    They are minus the log-loss on the rows themselves and minus a price for every cut.
    Rows count by their weights and those of their classes, as they do in scores.
    """

    value: float
    empty: float

    @classmethod
    def of(cls, task: PathTask, data: Data, most_drawn: int) -> _Scout:
        prepared = task.forgiving(data)
        value = greedy_value_of(prepared, most_drawn, task.seconds_left)
        return cls(-value, -float(entr(prepared.problem.data.share).sum()))

    def comes_near(self, best: float, far: float) -> bool:
        """Whether it is behind a score by no more than a share of what that gains."""
        return self.value >= best - far * (best - self.empty)


def score_greedy(
    task: PathTask, train: Data, test: Data, scorer: Any, depths: Sequence[int]
) -> FloatArray:
    """Scores of greedy trees as they are, by depth; NaN for others.

    A tree that misses the floors has none, and nor has one without cuts.
    """
    scores = np.full(max(depths), np.nan)
    for depth in depths:
        if task.is_late:
            break
        effort = task.timed_effort
        prepared = task.of_depth(depth).forgiving(train)
        greedy = greedy_start(prepared, effort)
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
