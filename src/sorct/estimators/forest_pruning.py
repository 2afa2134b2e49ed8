"""Forest pruning: which variables of the race's tree a forest has a use for.

A race chooses the variables of a single tree by its score on folds, which hardly tells
apart those that add little. Forests of few variables are quickly grown: here variables
are left out, those first of which trees on bags make least, and the fewest are kept
with which the out-of-bag loss is next to the least. All that is compared has the race's
variables in common, so that being chosen with all rows flatters all of it alike.

What it gives and costs: docs/design/0014-forests.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import IntArray
from sorct.estimators.forest_measures import out_of_bag_loss, unseen_rows

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.search.forest import Grove

#: Trees on bags that numbers of variables are compared with.
N_BAGS = 24
# The loss may be larger by this share with fewer variables.
_WORTH = 0.01
# Numbers of variables that are tried, at most.
_SIZES = 10


def useful_variables(
    whole: Problem, bags: Grove, order: IntArray, variable: IntArray
) -> IntArray:
    """The first of the variables in an order, as many as are of use.

    Parameters
    ----------
    whole : Problem
        All rows that bags were drawn from.
    bags : Grove
    order : array of int
        Variables, those that matter most first.
    variable : array of shape (n_groups,)
        Variable that every group of columns belongs to.
    """
    sizes, losses = _sizes_up_to(order.size), []
    for size in sizes:
        groups = np.flatnonzero(np.isin(variable, order[:size]))
        said = bags.said(bags.anew(groups), whole.data.rows)
        losses.append(out_of_bag_loss(whole, said, unseen_rows(whole, bags)))
    return order[: _fewest(sizes, losses)]


def _sizes_up_to(n: int) -> list[int]:
    """Numbers from 1 to n, rising; some of them where there are many."""
    if n <= _SIZES:
        return list(range(1, n + 1))
    return [round(size) for size in np.linspace(2, n, _SIZES).tolist()]


def _fewest(sizes: list[int], losses: list[float], worth: float = _WORTH) -> int:
    """The smallest size whose loss is next to the least."""
    most = (1.0 + worth) * min(losses)
    return min(size for size, loss in zip(sizes, losses, strict=True) if loss <= most)
