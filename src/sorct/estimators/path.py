"""Trace: ``sorct_path``, from a user's table to the path of trees.

The paper's grid is the default. The work itself is in ``sweep.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sorct._typing import FloatArray
from sorct.data.options import TableOptions
from sorct.data.wording import shown
from sorct.estimators.call import call_text
from sorct.estimators.checks import MOST_STARTS, check_whole
from sorct.estimators.fitting import Effort, Model, Prepared
from sorct.solvers.solution import Status
from sorct.tree.path import Path
from sorct.tree.topology import smallest_depth

if TYPE_CHECKING:
    from sorct.search.sweep import SweepCallback

#: The paper's strengths: 0 and 2^-12 to 2^3.
PAPER_ALPHAS = (0.0, *(2.0**r for r in range(-12, 4)))


def sorct_path(
    X: Any,
    y: Any,
    *,
    depth: int | None = None,
    alphas_local: Any = None,
    alphas_global: Any = None,
    n_solutions: int = 20,
    cost_matrix: Any = None,
    min_recall: float | Mapping[Any, float] | None = None,
    gamma: float = 512.0,
    tol: float = 1e-6,
    max_iter: int = 2000,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    categorical: str = "whole",
    categorical_features: Any = "from_dtype",
    min_frequency: float = 5,
    handle_unknown: str = "other",
    handle_missing: str = "error",
    scaling: Any = "auto",
    monotonic_cst: Any = None,
    positive_class: Any = None,
    feature_cost: Any = None,
    sample_weight: Any = None,
    callback: SweepCallback | None = None,
) -> Path:
    """Best trees for a grid of penalties, each found from its neighbours.

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_variables)
    y : array of shape (n_samples,)
    depth : int or None
        Depth of the trees; None means the smallest with a leaf for every class.
    alphas_local, alphas_global : sequence of float, float or None
        Strengths, put in rising order. None means the paper's: 0 and 2^-12, ..., 2^3.
        At depth 1 both penalties are the same and ``alphas_global`` is 0 by default.
    n_solutions : int, default=20
        Trees that are carried from grid point to grid point.
    time_limit : float or None
        Seconds after which the points left get the best of the trees found so far.
    n_jobs : int or None
        Threads, as in joblib. The result does not depend on it.
    callback : callable or None
        Called after every grid point with its progress (``n_done``, ``n_points``,
        ``alpha_local``, ``alpha_global``, ``objective``, ``seconds``); returning True
        ends the work as ``time_limit`` would.
    cost_matrix, min_recall, gamma, tol, max_iter, random_state, categorical,
    categorical_features, min_frequency, handle_unknown, handle_missing, scaling,
    monotonic_cst, positive_class, feature_cost
        As in ``SORCTClassifier``.
    sample_weight : array of shape (n_samples,) or None

    Returns
    -------
    Path

    Raises
    ------
    InfeasibleError
        If no tree meets ``min_recall``.

    Notes
    -----
    The objective never falls when a penalty grows: no point has a tree that the tree of
    another point would beat. That is not a proof that there is no better tree;
    ``SORCTClassifier`` searches longer at one point.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import sorct_path
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> path = sorct_path(X, y, alphas_local=[0.1, 1, 8], alphas_global=0,
    ...                   random_state=0)
    >>> len(path.select(max_features=2).variables_used) <= 2
    True
    """
    call = call_text(sorct_path, locals())
    table = TableOptions(
        categorical, categorical_features, min_frequency, handle_unknown,
        handle_missing, scaling,
    )  # fmt: skip
    model = Model(
        depth, cost_matrix, min_recall, gamma, table, monotonic_cst, positive_class,
        feature_cost,
    )  # fmt: skip
    effort = Effort(tol, max_iter, time_limit, n_jobs, random_state)
    model.check()
    effort.check()
    check_whole("n_solutions", n_solutions, most=MOST_STARTS)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {shown(callback)}.")
    path_alphas(alphas_local, alphas_global, depth, None)
    if y is None:
        raise ValueError(
            "sorct_path requires y to be passed, but the target y is None."
        )
    seed = effort.seed()
    prepared = Prepared.of(X, y, sample_weight, model, call)
    local, linf = path_alphas(
        alphas_local, alphas_global, prepared.problem.topology.depth, None
    )
    path = trace(prepared, local, linf, n_solutions, effort, seed, callback)
    warn_if_slow(path, effort)
    return path


def path_alphas(
    alphas_local: Any, alphas_global: Any, depth: Any, y: Any
) -> tuple[FloatArray, FloatArray]:
    """Strengths of both axes, checked; at depth 1 one of them is enough.

    Where no depth is given, that of the smallest tree for the classes in y counts.
    """
    if depth is None and y is not None:
        depth = smallest_depth(len(np.unique(y)))
    default = (0.0,) if depth == 1 else PAPER_ALPHAS
    return (
        checked_alphas("alphas_local", alphas_local, PAPER_ALPHAS),
        checked_alphas("alphas_global", alphas_global, default),
    )


def trace(
    prepared: Prepared,
    alphas_local: FloatArray,
    alphas_global: FloatArray,
    n_solutions: int,
    effort: Effort,
    seed: int,
    callback: SweepCallback | None = None,
) -> Path:
    """Sweep over the grid of a prepared problem; all arguments are checked."""
    from sorct.search.sweep import Grid, Sweep

    grid = Grid(tuple(alphas_local.tolist()), tuple(alphas_global.tolist()))
    seconds = effort.seconds_left(prepared.seconds)
    sweep = Sweep(effort.solver(), int(n_solutions), effort.n_jobs, seconds)
    swept = sweep.run(prepared.problem, grid, seed, callback)
    first = swept.solutions[0]
    if not first.feasible:
        late = " before time_limit" if first.status is Status.TIME_LIMIT else ""
        tried = f"a pool of {n_solutions} solutions and their moves{late}"
        prepared.refuse(first, tried, "n_solutions")
    trees = [
        prepared.tree(solution, (strengths.alpha_local, strengths.alpha_global))
        for solution, strengths in zip(swept.solutions, grid.strengths, strict=True)
    ]
    return Path(alphas_local, alphas_global, tuple(trees), swept.seconds)


def warn_if_slow(path: Path, effort: Effort, stacklevel: int = 3) -> None:
    """Warn, for the caller's caller, of trees that have not converged."""
    told = [tree.training for tree in path]
    slow = [one.residual or 0.0 for one in told if one.status == Status.MAX_ITER]
    if slow:
        warnings.warn(
            f"{len(slow)} of {len(path)} trees on the path have a residual above "
            f"tol={effort.tol}, the worst being {max(slow):.1e}. Raise max_iter (it is "
            f"{effort.max_iter}) or tol; floors on recall that leave hardly any room "
            "can also be the cause.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def checked_alphas(name: str, alphas: Any, default: tuple[float, ...]) -> FloatArray:
    """Strengths in rising order, each once."""
    if alphas is None:
        return np.array(default)
    try:
        given = np.atleast_1d(np.asarray(alphas))
    except ValueError:
        given = np.empty((0, 0))
    good = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iuf"
    if not good or not np.isfinite(given).all() or given.min() < 0:
        raise ValueError(
            f"{name} must be one or several finite numbers >= 0, got {shown(alphas)}."
        )
    return np.unique(given.astype(np.float64))
