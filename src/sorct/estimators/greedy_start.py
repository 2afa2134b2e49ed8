"""Greedy start: the tree of one column per cut that a path may begin with.

What such trees are is in ``search/greedy.py``; here is what a prepared table asks of
them: how many rows they are found on, and the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Prepared

if TYPE_CHECKING:
    from sorct.search.greedy import Greedy


def greedy_start(prepared: Prepared, effort: Effort) -> Greedy | None:
    """The problem on the variables of a greedy tree, if that is asked for.

    Of very many rows it is that of the search's rows. None also where no cut helps.
    """
    if prepared.preselect != "greedy":
        return None
    from sorct.problem.evaluation import never
    from sorct.search.greedy import Greedy
    from sorct.search.workers import deadline

    stop = never()
    with deadline(prepared.seconds_left(effort), stop):
        return Greedy.of(prepared.problem.subsampled, rows_seen(prepared), stop=stop)


def greedy_value_of(
    prepared: Prepared, most_drawn: int, seconds: float | None
) -> float:
    """About the log-loss of a greedy tree on other rows."""
    from sorct.problem.evaluation import never
    from sorct.search.greedy import greedy_value
    from sorct.search.workers import deadline

    stop = never()
    with deadline(seconds, stop):
        return greedy_value(prepared.problem, rows_seen(prepared), most_drawn, stop)


def rows_seen(prepared: Prepared) -> float:
    """Rows that those of a search stand for."""
    data = prepared.problem.data
    return float(prepared.n_counted * data.rows.codes.size / data.blocks.n_rows)
