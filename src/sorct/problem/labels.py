"""Best leaf labels for given cuts: exact, every class owns a leaf at least.

Every leaf takes its cheapest class. If a class is left without a leaf, every class is
given one leaf such that relabelling these leaves costs least in total: an assignment
problem. The other leaves keep their cheapest class. No labelling in which every class
has a leaf is cheaper (a transportation problem, Theorem 1 of the paper). With a
thousand classes that takes seconds, so it looks whether time is up.
"""

from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside

# Above any cost, and larger than any sum of costs or distance.
_FORBIDDEN, _FAR = 1e200, 1e300
# So few classes take no time: their leaves are labelled also when time is up.
_FEW = 64
# Rows of ``Labelling.column`` (numbers) and of ``Labelling.owner`` (positions); both
# have an entry per column of the assignment.
_POTENTIAL, _DISTANCE = 0, 1
_OWNER, _PREVIOUS, _DONE = 0, 1, 2


class Labelling(NamedTuple):
    """Costs, scratch and result of labelling the leaves; allocated once per solve.

    ``cost[k, leaf]`` is what label k costs at the leaf, ``plain`` the same where
    ``cost`` forbids some labels, ``label`` the best choice. Row 0 and column 0 of the
    assignment are sentinels, so its arrays are one longer; those with an entry per
    column share two arrays, in the order of the constants above.
    """

    cost: FloatArray
    plain: FloatArray
    extra: FloatArray
    label: IntArray
    n_owned: IntArray
    renewed: FloatArray
    row_potential: FloatArray
    column: FloatArray
    owner: IntArray


def make_labelling(n_labels: int, n_leaves: int, n_codes: int) -> Labelling:
    """Allocate the scratch memory for a tree."""
    return Labelling(
        np.zeros((n_labels, n_leaves)),
        np.zeros((n_labels, n_leaves)),
        np.zeros((n_labels, n_leaves)),
        np.zeros(n_leaves, dtype=np.int64),
        np.zeros(n_labels, dtype=np.int64),
        np.zeros(n_codes),
        np.zeros(n_labels + 1),
        np.zeros((2, n_leaves + 1)),
        np.zeros((3, n_leaves + 1), dtype=np.int64),
    )


@compiled_inside
def _insert(cost: FloatArray, row: int, work: Labelling) -> None:
    """Give one more row its column, along the shortest path of exchanges."""
    owner, column = work.owner, work.column
    n_columns = owner.shape[1]
    for c in range(n_columns):
        column[_DISTANCE, c], owner[_DONE, c] = _FAR, 0
    # Column 0 holds the row being inserted; owners are 1-based.
    owner[_OWNER, 0], at = row, 0
    while owner[_OWNER, at] != 0:
        owner[_DONE, at] = 1
        here, shortest, nearest = owner[_OWNER, at], _FAR, 0
        for c in range(1, n_columns):
            if owner[_DONE, c] == 0:
                potential = work.row_potential[here] + column[_POTENTIAL, c]
                slack = cost[here - 1, c - 1] - potential
                if slack < column[_DISTANCE, c]:
                    column[_DISTANCE, c], owner[_PREVIOUS, c] = slack, at
                if column[_DISTANCE, c] < shortest:
                    shortest, nearest = column[_DISTANCE, c], c
        for c in range(n_columns):
            if owner[_DONE, c] != 0:
                work.row_potential[owner[_OWNER, c]] += shortest
                column[_POTENTIAL, c] -= shortest
            else:
                column[_DISTANCE, c] -= shortest
        at = nearest
    while at != 0:
        owner[_OWNER, at] = owner[_OWNER, owner[_PREVIOUS, at]]
        at = owner[_PREVIOUS, at]


@compiled_inside
def too_late(n_labels: int, stop: IntArray) -> bool:
    """Whether time is up for a labelling that would take some."""
    return n_labels > _FEW and stop[0] != 0


@compiled_inside
def assign(cost: FloatArray, work: Labelling, stop: IntArray) -> bool:
    """Give every row its own column at the least total cost (rows <= columns).

    Shortest augmenting paths with potentials, O(rows^2 columns). The row that owns
    column c is ``owner[0, c + 1] - 1``, where that is not negative. False if time was
    up before all rows had theirs.
    """
    for row in range(work.row_potential.size):
        work.row_potential[row] = 0.0
    for c in range(work.owner.shape[1]):
        work.column[_POTENTIAL, c], work.owner[_OWNER, c] = 0.0, 0
    for row in range(1, work.row_potential.size):
        if too_late(cost.shape[0], stop):
            return False
        _insert(cost, row, work)
    return True


@compiled_apart
def best_labels(work: Labelling, stop: IntArray) -> bool:
    """Fill ``label`` with the cheapest labels among those with every class present.

    False if time was up before; then they mean nothing.
    """
    cost, label, n_owned = work.cost, work.label, work.n_owned
    n_labels, n_leaves = cost.shape
    for k in range(n_labels):
        n_owned[k] = 0
    for leaf in range(n_leaves):
        label[leaf] = 0
        for k in range(1, n_labels):
            if cost[k, leaf] < cost[label[leaf], leaf]:
                label[leaf] = k
        n_owned[label[leaf]] += 1
    n_missing = 0
    for k in range(n_labels):
        n_missing += n_owned[k] == 0
    if n_missing == 0:
        return True
    for leaf in range(n_leaves):
        for k in range(n_labels):
            work.extra[k, leaf] = cost[k, leaf] - cost[label[leaf], leaf]
    if not assign(work.extra, work, stop):
        return False
    for leaf in range(n_leaves):
        if work.owner[_OWNER, leaf + 1] != 0:
            label[leaf] = work.owner[_OWNER, leaf + 1] - 1
    return True


@compiled_inside
def _cost_with(work: Labelling, first: int, count: int, stop: IntArray) -> float:
    """Label the leaves, so many of the first label in front; return what that costs."""
    cost, plain = work.cost, work.plain
    for leaf in range(cost.shape[1]):
        for k in range(cost.shape[0]):
            allowed = (k == first) == (leaf < count)
            cost[k, leaf] = plain[k, leaf] if allowed else _FORBIDDEN
    if not best_labels(work, stop):
        return _FAR
    total = 0.0
    for leaf in range(cost.shape[1]):
        total += plain[work.label[leaf], leaf]
    return total


@compiled_apart
def best_ordered_labels(work: Labelling, first: int, stop: IntArray) -> bool:
    """The same among labellings in which the leaves of one label come first.

    Every number of such leaves is tried; the best one once more, for its labels. Tells
    whether there was time for that.
    """
    n_labels, n_leaves = work.cost.shape
    for leaf in range(n_leaves):
        for k in range(n_labels):
            work.plain[k, leaf] = work.cost[k, leaf]
    most = n_leaves - n_labels + 1
    least_cost, best = _FAR, 0
    for tried in range(most + 1):
        total = _cost_with(work, first, 1 + (tried if tried < most else best), stop)
        if total < least_cost:
            least_cost, best = total, tried
    return least_cost < _FORBIDDEN
