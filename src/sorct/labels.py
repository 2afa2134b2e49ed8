"""Best leaf labels for given cuts: exact, every class owns a leaf at least.

Every leaf takes its cheapest class. If a class is left without a leaf, one leaf per
class is chosen by an assignment on the extra cost of relabelling; whichever labelling
is best has such a choice, so the result is optimal (a transportation problem, Theorem 1
of the paper).
"""

import numpy as np

from sorct._compile import compiled
from sorct._typing import FloatArray, IntArray


@compiled
def assign(cost: FloatArray) -> IntArray:
    """Give every row its own column at the least total cost (rows <= columns).

    Shortest augmenting paths with potentials, O(rows^2 columns).
    """
    n_rows, n_columns = cost.shape
    # Column 0 is a sentinel that holds the row being inserted; owners are 1-based.
    row_price, column_price = np.zeros(n_rows + 1), np.zeros(n_columns + 1)
    owner = np.zeros(n_columns + 1, dtype=np.int64)
    previous = np.zeros(n_columns + 1, dtype=np.int64)
    for row in range(1, n_rows + 1):
        owner[0] = row
        column = 0
        distance = np.zeros(n_columns + 1) + 1e300
        done = np.zeros(n_columns + 1, dtype=np.bool_)
        while owner[column] != 0:
            done[column] = True
            here, shortest, nearest = owner[column], 1e300, 0
            for c in range(1, n_columns + 1):
                if done[c]:
                    continue
                slack = cost[here - 1, c - 1] - row_price[here] - column_price[c]
                if slack < distance[c]:
                    distance[c], previous[c] = slack, column
                if distance[c] < shortest:
                    shortest, nearest = distance[c], c
            for c in range(n_columns + 1):
                if done[c]:
                    row_price[owner[c]] += shortest
                    column_price[c] -= shortest
                else:
                    distance[c] -= shortest
            column = nearest
        while column != 0:
            owner[column] = owner[previous[column]]
            column = previous[column]
    chosen = np.zeros(n_rows, dtype=np.int64)
    for c in range(1, n_columns + 1):
        if owner[c] != 0:
            chosen[owner[c] - 1] = c - 1
    return chosen


@compiled
def best_labels(cost: FloatArray) -> IntArray:
    """Cheapest labels with every class present.

    Parameters
    ----------
    cost : array of shape (n_classes, n_leaves)
        Cost of giving the label to the leaf; n_classes <= n_leaves.

    Returns
    -------
    array of shape (n_leaves,), codes of the classes
    """
    n_classes, n_leaves = cost.shape
    label = np.zeros(n_leaves, dtype=np.int64)
    n_owned = np.zeros(n_classes, dtype=np.int64)
    for leaf in range(n_leaves):
        for k in range(1, n_classes):
            if cost[k, leaf] < cost[label[leaf], leaf]:
                label[leaf] = k
        n_owned[label[leaf]] += 1
    n_missing = 0
    for k in range(n_classes):
        n_missing += n_owned[k] == 0
    if n_missing == 0:
        return label
    extra = np.empty((n_classes, n_leaves))
    for leaf in range(n_leaves):
        for k in range(n_classes):
            extra[k, leaf] = cost[k, leaf] - cost[label[leaf], leaf]
    chosen = assign(extra)
    for k in range(n_classes):
        label[chosen[k]] = k
    return label
