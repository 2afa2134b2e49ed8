"""Best leaf labels for given cuts: exact, every class owns a leaf at least.

Every leaf takes its cheapest class. If a class is left without a leaf, one leaf per
class is chosen by an assignment on the extra cost of relabelling; whichever labelling
is best has such a choice, so the result is optimal (a transportation problem, Theorem 1
of the paper).
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside

# Above any cost.
_FAR = 1e300


class Labelling(NamedTuple):
    """Costs, scratch and result of labelling the leaves; allocated once per solve.

    ``cost[k, leaf]`` is what label k costs at the leaf, ``label`` the best choice. Row
    0 and column 0 of the assignment are sentinels, so its arrays are one longer.
    """

    cost: FloatArray
    label: IntArray
    pressure: FloatArray
    n_owned: IntArray
    extra: FloatArray
    row_price: FloatArray
    column_price: FloatArray
    distance: FloatArray
    owner: IntArray
    previous: IntArray
    done: BoolArray


def make_labelling(n_classes: int, n_leaves: int) -> Labelling:
    """Allocate the scratch memory for a tree."""
    return Labelling(
        np.zeros((n_classes, n_leaves)),
        np.zeros(n_leaves, dtype=np.int64),
        np.zeros(n_classes),
        np.zeros(n_classes, dtype=np.int64),
        np.zeros((n_classes, n_leaves)),
        np.zeros(n_classes + 1),
        np.zeros(n_leaves + 1),
        np.zeros(n_leaves + 1),
        np.zeros(n_leaves + 1, dtype=np.int64),
        np.zeros(n_leaves + 1, dtype=np.int64),
        np.zeros(n_leaves + 1, dtype=np.bool_),
    )


@compiled_inside
def _insert(cost: FloatArray, row: int, work: Labelling) -> None:
    """Give one more row its column, along the shortest path of exchanges."""
    owner, distance, done = work.owner, work.distance, work.done
    for c in range(owner.size):
        distance[c], done[c] = _FAR, False
    # Column 0 holds the row being inserted; owners are 1-based.
    owner[0], column = row, 0
    while owner[column] != 0:
        done[column] = True
        here, shortest, nearest = owner[column], _FAR, 0
        for c in range(1, owner.size):
            if not done[c]:
                price = work.row_price[here] + work.column_price[c]
                slack = cost[here - 1, c - 1] - price
                if slack < distance[c]:
                    distance[c], work.previous[c] = slack, column
                if distance[c] < shortest:
                    shortest, nearest = distance[c], c
        for c in range(owner.size):
            if done[c]:
                work.row_price[owner[c]] += shortest
                work.column_price[c] -= shortest
            else:
                distance[c] -= shortest
        column = nearest
    while column != 0:
        owner[column] = owner[work.previous[column]]
        column = work.previous[column]


@compiled_apart
def assign(cost: FloatArray, work: Labelling) -> None:
    """Give every row its own column at the least total cost (rows <= columns).

    Shortest augmenting paths with potentials, O(rows^2 columns). The row that owns
    column c is ``owner[c + 1] - 1``, where that is not negative.
    """
    for row in range(work.row_price.size):
        work.row_price[row] = 0.0
    for c in range(work.owner.size):
        work.column_price[c], work.owner[c] = 0.0, 0
    for row in range(1, work.row_price.size):
        _insert(cost, row, work)


@compiled_apart
def best_labels(work: Labelling) -> None:
    """Fill ``label`` with the cheapest labels among those with every class present."""
    cost, label, n_owned = work.cost, work.label, work.n_owned
    n_classes, n_leaves = cost.shape
    for k in range(n_classes):
        n_owned[k] = 0
    for leaf in range(n_leaves):
        label[leaf] = 0
        for k in range(1, n_classes):
            if cost[k, leaf] < cost[label[leaf], leaf]:
                label[leaf] = k
        n_owned[label[leaf]] += 1
    n_missing = 0
    for k in range(n_classes):
        n_missing += n_owned[k] == 0
    if n_missing == 0:
        return
    for leaf in range(n_leaves):
        for k in range(n_classes):
            work.extra[k, leaf] = cost[k, leaf] - cost[label[leaf], leaf]
    assign(work.extra, work)
    for leaf in range(n_leaves):
        if work.owner[leaf + 1] != 0:
            label[leaf] = work.owner[leaf + 1] - 1
