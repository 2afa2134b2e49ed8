"""Searching: one tree at given penalties, for classifiers and regressors alike."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

from sorct.data.wording import printable
from sorct.estimators.checks import MOST_STARTS, check_whole
from sorct.estimators.deciding import Decider
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Prepared
from sorct.search.log import descents_text
from sorct.solvers.solution import Status

if TYPE_CHECKING:
    import pandas as pd

    from sorct.estimators.checkpoint import Checkpoint
    from sorct.problem.problem import Problem
    from sorct.search.log import SearchCallback, SearchResult
    from sorct.solvers.solution import Solution
    from sorct.tree.tree import Tree

# By how much predict may stay behind a floor before somebody is warned.
_MISSED = 0.1


def check_starts(n_starts: Any) -> None:
    """Refuse what is no number of starts."""
    if not (isinstance(n_starts, str) and n_starts == "auto"):
        expected = 'a whole number >= 1 or "auto"'
        check_whole("n_starts", n_starts, expected, MOST_STARTS)


def searched(
    prepared: Prepared,
    problem: Problem,
    effort: Effort,
    n_starts: Any,
    seed: int,
    callback: SearchCallback | None,
    memory: Checkpoint | None = None,
) -> SearchResult:
    """Search until runs agree, or follow a number of independent starts."""
    from sorct.search.chains import IteratedSearch
    from sorct.search.multistart import Multistart

    spent = prepared.seconds + prepared.telling
    if effort.time_limit is not None and not problem.of_quantity:
        begun = time.perf_counter()
        telling = Decider(prepared).seconds_to_tell()
        spent += telling + time.perf_counter() - begun
    seconds = effort.seconds_left(spent)
    solver = effort.solver()
    if n_starts == "auto":
        search = IteratedSearch(solver, effort.n_jobs, seconds, memory)
        return search.run(problem, seed, callback)
    starts = Multistart(solver, int(n_starts), effort.n_jobs, seconds, memory)
    return starts.run(problem, seed, callback)


def warn_if_slow(
    status: Status, best: Solution, effort: Effort, stacklevel: int
) -> None:
    """Warn of a tree that has not converged."""
    if status is not Status.MAX_ITER:
        return
    warnings.warn(
        f"The residual is {best.residual:.1e} after {best.n_iterations} iterations, "
        f"above tol={effort.tol}. {effort.advice(best.n_iterations)}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def warn_if_poor(
    tree: Tree, status: Status, best: Solution, effort: Effort, stacklevel: int
) -> None:
    """Warn of a tree that has not converged, or whose floors help nobody.

    The expected cost bounds the recall of a tree that decides at random; whoever asks
    for a class's most probable rows may get far fewer of them, even none.
    """
    warn_if_slow(status, best, effort, stacklevel + 1)
    told = tree.training
    if told.loss != "cost" or told.confidence is not None:
        return
    pairs = zip(tree.classes, told.min_recall or (), told.found or (), strict=False)
    for label, floor, found in pairs:
        if found < floor - _MISSED:
            warnings.warn(
                f"min_recall={floor:g} for class {printable(label)} holds for the "
                f"expected recall; predict finds {found:.1%} of its training rows. "
                'loss="log" lets what is predicted meet the floor; or weaken the '
                "penalties (docs/model.md).",
                UserWarning,
                stacklevel=stacklevel,
            )


def starts_frame(result: SearchResult) -> pd.DataFrame:
    """One row per descent."""
    import pandas as pd

    starts = result.starts
    columns = {
        "kind": [start.kind for start in starts],
        "run": [start.run for start in starts],
        "objective_before": [start.first for start in starts],
        "objective": [start.objective for start in starts],
        "feasible": [start.feasible for start in starts],
        "residual": [start.residual for start in starts],
        "status": [str(start.status) for start in starts],
        "evaluations": [start.n_evaluations for start in starts],
        "seconds": [start.seconds for start in starts],
    }
    return pd.DataFrame(columns, pd.RangeIndex(len(starts), name="start"))


def tried_text(result: SearchResult) -> str:
    """How many descents there were, and why not more, if so."""
    late, stopped = " before time_limit", " before the callback"
    short = {Status.TIME_LIMIT: late, Status.STOPPED: stopped}
    return f"{descents_text(len(result.starts))}{short.get(result.status, '')}"
