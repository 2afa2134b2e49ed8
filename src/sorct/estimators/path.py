"""Trace: ``sorct_path``, from a user's table to the path of trees.

The work itself is in ``search/sweep.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

from sorct._typing import FloatArray
from sorct.data.options import TableOptions
from sorct.data.table import as_table
from sorct.data.wording import shown
from sorct.estimators.alphas import checked_alphas, path_alphas
from sorct.estimators.bound_problem import BoundProblem, within_bounds
from sorct.estimators.call import call_text
from sorct.estimators.checks import MOST_STARTS, check_whole
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.greedy_start import greedy_start
from sorct.estimators.group_bounds import AskedBounds, check_group_options
from sorct.estimators.points import decided, swept_points
from sorct.estimators.quantities import QUANTITY_LOSSES
from sorct.estimators.relaxing import Relaxing
from sorct.estimators.streaming import Streamed, comes_in_batches, source_of
from sorct.solvers.solution import Status
from sorct.tree.params import MIXED
from sorct.tree.path import NO_LIMITS, Limits, Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.search.greedy import Greedy
    from sorct.search.sweep import SweepCallback

#: The paper's strengths: 0 and 2^-12 to 2^3.
PAPER_ALPHAS = (0.0, *(2.0**r for r in range(-12, 4)))
# Share of a time limit for the sweep where trees are relaxed after it.
_SWEEP_SHARE = 0.7


def sorct_path(
    X: Any,
    y: Any,
    *,
    depth: int | None = None,
    alphas_local: Any = None,
    alphas_global: Any = None,
    n_solutions: int = 20,
    relax: bool = True,
    max_features: int | None = None,
    max_cost: float | None = None,
    cost_matrix: Any = None,
    min_recall: float | Mapping[Any, float] | None = None,
    loss: str = "cost",
    quantile: float = 0.5,
    leaf: str = "constant",
    mixed: float = MIXED,
    link: str = "identity",
    group_bounds: Any = None,
    group_measure: str = "residual",
    groups: Any = None,
    gamma: float | str = "auto",
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
    followable: bool = True,
    preselect: str = "none",
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
        Strengths, put in rising order. None means 17 local strengths that suit the
        data, downwards from just below what empties the tree, and 0 for the global one
        (or the other way round, if only ``alphas_local`` is given as 0). The paper's
        grid is ``sorct.PAPER_ALPHAS``.
    n_solutions : int, default=20
        Trees that are carried from grid point to grid point.
    relax : bool, default=True
        Whether every point also gets its relaxed tree (``path.relaxed``): refitted on
        the variables of its own tree under an eighth of its penalties, of a quantity
        under 1/64.
    max_features : int or None, default=None
        Most variables that a relaxed tree may use: where the tree of a point has more,
        the best of them are kept and exchanged for others as long as that pays.
    max_cost : float or None, default=None
        Most that the variables of a relaxed tree may cost together.
    time_limit : float or None
        Seconds after which the points left get the best of the trees found so far.
    n_jobs : int or None
        Threads, as in joblib. The result does not depend on it, unless ``time_limit``
        ends the search.
    callback : callable or None
        Called after every grid point with its progress (``n_done``, ``n_points``,
        ``alpha_local``, ``alpha_global``, ``objective``, ``seconds``); returning True
        ends the work as ``time_limit`` would.
    loss : str, default="cost"
        Of classes "cost" or "log", as in ``SORCTClassifier``; of a quantity "square",
        "absolute", "huber" or "quantile", as in ``SORCTRegressor``.
    quantile, leaf, mixed, link
        As in ``SORCTRegressor``, where a quantity is predicted.
    group_bounds, group_measure : as in ``SORCTRegressor``
        Every tree of the path lies within the bounds; a point whose penalties leave no
        such tree gets that of another point.
    groups : array of shape (n_samples,) or None
        Group of every row, for ``group_bounds``.
    preselect : {"none", "greedy"}, default="none"
        Of classes: "greedy" traces the path on the variables of a greedy tree alone,
        whose cuts ask for one column each, and begins with that tree; for tables where
        a few sharp limits tell the classes apart, with ``gamma="steep"`` and a depth of
        2 or more. Where no such cut helps, all variables are left.
    cost_matrix, min_recall, gamma, tol, max_iter, random_state, categorical,
    categorical_features, min_frequency, handle_unknown, handle_missing, scaling,
    monotonic_cst, positive_class, feature_cost, followable
        As in ``SORCTClassifier``.
    sample_weight : array of shape (n_samples,) or None

    Returns
    -------
    Path

    Raises
    ------
    InfeasibleError
        If no tree meets ``min_recall`` or ``group_bounds``.

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
        feature_cost, loss, followable, of_quantity=loss in QUANTITY_LOSSES,
        leaf=leaf, quantile=quantile, mixed=mixed, link=link, preselect=preselect,
    )  # fmt: skip
    effort = Effort(tol, max_iter, time_limit, n_jobs, random_state)
    limits = Limits(max_features, None, max_cost)
    _check_asked(model, effort, limits)
    _check_bounds(X, group_bounds, groups, model)
    check_whole("n_solutions", n_solutions, most=MOST_STARTS)
    _check_callback(callback)
    checked_alphas("alphas_local", alphas_local)
    checked_alphas("alphas_global", alphas_global)
    seed = effort.seed()
    prepared = _prepared(X, y, sample_weight, model, call)
    asked = AskedBounds(group_bounds, groups, group_measure)
    bound = _bound(prepared, X, y, sample_weight, asked)
    greedy = greedy_start(prepared, effort)
    given = alphas_local, alphas_global, seed, prepared.seconds_left(effort), greedy
    path = trace(
        prepared,
        *path_alphas(prepared, *given),
        n_solutions,
        effort,
        seed,
        callback,
        relax=relax,
        limits=limits,
        bound=bound,
        greedy=greedy,
    )
    warn_if_slow(path.trees, effort)
    return path


def _check_asked(model: Model, effort: Effort, limits: Limits) -> None:
    """Refuse what cannot be done before any work."""
    _refuse_of_classes(model)
    model.check()
    effort.check()
    limits.check_with(model.feature_cost)


def _check_bounds(X: Any, bounds: Any, groups: Any, model: Model) -> None:
    """Refuse bounds on groups that no path can have."""
    check_group_options(bounds, groups, in_batches=comes_in_batches(X))
    if bounds is not None and not model.of_quantity:
        raise ValueError(
            f"group_bounds is for quantities, with loss one of {QUANTITY_LOSSES}; got "
            f"loss={shown(model.loss)}. Leave it out, or bound recall by min_recall."
        )


def _check_callback(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {shown(callback)}.")


def _prepared(X: Any, y: Any, sample_weight: Any, model: Model, call: str) -> Prepared:
    """The problem of a table in memory, or of rows that come in parts."""
    if y is None:
        raise ValueError(
            "sorct_path requires y to be passed, but the target y is None."
        )
    source = source_of(X, y, sample_weight)
    if source is None:
        return Prepared.of(X, y, sample_weight, model, call)
    return Streamed.of(source, model, call).prepared


def _bound(
    prepared: Prepared, X: Any, y: Any, sample_weight: Any, asked: AskedBounds
) -> BoundProblem | None:
    """The problem with bounds on groups of its rows, if there are any."""
    if asked.bounds is None:
        return None
    rows = as_table(X), y, sample_weight
    return BoundProblem.of(prepared, prepared.problem, *rows, asked)


def _refuse_of_classes(model: Model) -> None:
    """Refuse for a quantity what only classes can have."""
    if not model.of_quantity:
        return
    for name in ("cost_matrix", "min_recall", "positive_class"):
        if getattr(model, name) is not None:
            raise ValueError(
                f"{name} is for classes; with loss={model.loss!r} a quantity is "
                "predicted. Leave it out."
            )
    if model.preselect != "none":
        raise ValueError(
            f'preselect is for classes and must be "none" with loss={model.loss!r}, '
            f"got {shown(model.preselect)}."
        )


def trace(
    prepared: Prepared,
    alphas_local: FloatArray,
    alphas_global: FloatArray,
    n_solutions: int,
    effort: Effort,
    seed: int,
    callback: SweepCallback | None = None,
    *,
    relax: bool = True,
    limits: Limits = NO_LIMITS,
    relax_to: float | None = None,
    brief: bool = False,
    bound: BoundProblem | None = None,
    greedy: Greedy | None = None,
) -> Path:
    """Sweep over the grid of a prepared problem; all arguments are checked.

    Relaxed trees are fitted under ``relax_to``, or a fixed share of their penalty. With
    a greedy tree the path has its variables alone, and begins with it.
    """
    from sorct.search.sweep import Grid, Sweep

    grid = Grid(tuple(alphas_local.tolist()), tuple(alphas_global.tolist()))
    seconds = prepared.seconds_left(effort)
    if seconds is not None:
        # Every tree of the path has to be told of, the first of which is counted.
        seconds = max(seconds - prepared.telling * (len(grid.strengths) - 1), 0.0)
        seconds *= _SWEEP_SHARE if relax else 1.0
    sweep = Sweep(
        effort.solver(), int(n_solutions), effort.n_jobs, seconds, brief,
        prepared.gentler,
    )  # fmt: skip
    given = grid, effort, seed, callback, greedy
    points, took = swept_points(prepared, sweep, *given)
    if bound is not None:
        points = within_bounds(bound, points, effort, prepared.begun)
    trees, points = decided(prepared, points)
    loosened = []
    if relax:
        relaxing = Relaxing(prepared, points, effort, seed)
        loosened = relaxing.trees(trees, limits, relax_to, bound)
    return Path(alphas_local, alphas_global, tuple(trees), took, tuple(loosened))


def warn_if_slow(trees: Sequence[Tree], effort: Effort, stacklevel: int = 3) -> None:
    """Warn, for the caller's caller, of trees that have not converged."""
    told = [tree.training for tree in trees]
    slow = [one for one in told if one.status == Status.MAX_ITER]
    if slow:
        worst = max(one.residual or 0.0 for one in slow)
        many = f"{len(slow)} of {len(told)} trees on the path have a residual above "
        many += f"tol={effort.tol}, the worst being {worst:.1e}"
        one = f"The tree has a residual of {worst:.1e}, above tol={effort.tol}"
        advice = effort.advice(max(one.n_iterations or 0 for one in slow))
        warnings.warn(
            f"{many if len(told) > 1 else one}. {advice}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
