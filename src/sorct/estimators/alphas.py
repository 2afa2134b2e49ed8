"""Alphas: strengths of the penalties of a path, given or such as suit the data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.wording import shown
from sorct.estimators.fitting import Prepared

if TYPE_CHECKING:
    from sorct.search.greedy import Greedy
    from sorct.tree.params import Params

# Default strengths: the one that empties the tree, divided by powers of two, so that
# the first leaves a variable or a few. Steps are small where variables enter one by
# one.
_HALVINGS = (0.2, *(0.5 * r for r in range(1, 8)), *range(4, 13))
# Starts from which the strongest penalty is found; of a quantity also rows.
_STARTS, _STARTS_OF_QUANTITY, _STRENGTH_ROWS = 4, 2, 1000


def path_alphas(
    prepared: Prepared,
    alphas_local: Any,
    alphas_global: Any,
    seed: int,
    seconds: float | None = None,
    greedy: Greedy | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Strengths of both axes; where none are given, such as suit the data.

    They are looked for no longer than so many seconds, if told, and for trees on the
    variables of a greedy tree, if there is one.
    """
    alphas_local = checked_alphas("alphas_local", alphas_local)
    alphas_global = checked_alphas("alphas_global", alphas_global)
    suited = partial(default_alphas, prepared, seed, seconds=seconds, greedy=greedy)
    none = np.zeros(1)
    if alphas_local is None and alphas_global is not None and alphas_global.any():
        return none, alphas_global
    if alphas_local is None:
        return suited(), none if alphas_global is None else alphas_global
    if alphas_global is None:
        alphas_global = none if alphas_local.any() else suited(of_global=True)
    return alphas_local, alphas_global


def default_alphas(
    prepared: Prepared,
    seed: int,
    *,
    of_global: bool = False,
    seconds: float | None = None,
    greedy: Greedy | None = None,
) -> FloatArray:
    """Strengths below the one that empties the tree, in rising order.

    They are of ``alpha_local`` or, if ``of_global``, of ``alpha_global``.
    """
    from sorct.problem.evaluation import never
    from sorct.search.strongest import emptying_strength
    from sorct.search.workers import deadline, run_apart

    problem, n_starts = prepared.problem, _STARTS
    if problem.of_quantity and not problem.is_convex:
        # Strengths go by the spread of y: some rows tell them well enough.
        some = problem.subsampled
        problem = replace(some, data=some.data.fewer(_STRENGTH_ROWS))
        n_starts = _STARTS_OF_QUANTITY
    begins: tuple[Params, ...] = ()
    share = 1.0
    if greedy is not None:
        problem, begins = greedy.restriction.part, greedy.begins
        share = greedy.restriction.share
    stop = never()
    with deadline(seconds, stop):
        find = partial(
            emptying_strength, problem, seed, of_global=of_global, stop=stop,
            n_starts=n_starts, begins=begins,
        )  # fmt: skip
        strongest = run_apart(find, stop) / share
    if strongest <= 0.0:
        return np.zeros(1)
    return np.sort(strongest * 2.0 ** -np.array(_HALVINGS))


def checked_alphas(name: str, alphas: Any) -> FloatArray | None:
    """Strengths in rising order, each once; None stays None."""
    if alphas is None:
        return None
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
