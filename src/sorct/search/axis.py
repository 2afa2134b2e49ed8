"""Axis: trees whose cuts ask for one column each, the best that a short search finds.

A tree grown from the root down takes the cut that tells most by itself, which need not
be the one that lets the cuts below tell most. So the tree is improved: one cut after
the other gets the column and limit that are best for the cuts below it as they are, and
where nothing helps any more a cut is drawn anew, what is below it is grown again, and
the better tree is kept. What is minimised is minus the mean logarithm of the
probability of a row's class, and a price for every cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.data.level_rows import written_out
from sorct.data.samples import Rows
from sorct.tree.topology import Topology

# How often all cuts are improved in turn, at most, and what counts as a gain.
_SWEEPS, _GAIN = 8, 1e-9
# Weight of the classes' shares beside a leaf's own rows, where cuts above it compare.
_SHARE = 1e-3
# Numbers that are looked at together.
_AT_ONCE = 2_000_000
#: Rows times columns times cuts that all drawn trees may look at; most drawn trees.
WORK, MOST_DRAWN = 4_000_000, 30


@dataclass(frozen=True)
class AxisTree:
    """A complete tree of cuts in one column each.

    Attributes
    ----------
    column : array of shape (n_branches,)
        Column of every cut; -1 where there is none, and all rows go left.
    limit : array of shape (n_branches,)
    side : array of shape (n_branches,)
        1 where rows above the limit go left, -1 where those below do.
    """

    column: IntArray
    limit: FloatArray
    side: IntArray

    def without(self, t: int) -> AxisTree:
        """The tree without a cut and all below it."""
        topology, column = Topology.of_branches(self.column.size), self.column.copy()
        waiting = [t]
        while waiting:
            node = waiting.pop()
            if node < column.size:
                column[node] = -1
                waiting += topology.children(node)
        return replace(self, column=column)

    def with_cut(self, t: int, column: int, limit: float, side: int) -> AxisTree:
        """The tree with another cut."""
        found = AxisTree(self.column.copy(), self.limit.copy(), self.side.copy())
        found.column[t], found.limit[t], found.side[t] = column, limit, side
        return found

    @property
    def n_cuts(self) -> int:
        """Number of cuts."""
        return int(np.count_nonzero(self.column >= 0))


class _Sorted(NamedTuple):
    """Some columns of the rows at a node, each with its cells in rising order.

    Attributes
    ----------
    first : int
        The first of the columns.
    order : array of shape (n_columns, n)
        Places of the rows.
    cells : array of shape (n_columns, n)
    fits : array of shape (n_columns, n - 1)
        Where a limit may lie, between a cell and the next.
    """

    first: int
    order: IntArray
    cells: FloatArray
    fits: BoolArray

    def limit(self, j: int, i: int) -> float:
        """Midway between a cell and the next, so that no row lies on it."""
        return float(0.5 * (self.cells[j, i] + self.cells[j, i + 1]))


@dataclass(frozen=True)
class AxisSearch:
    """Rows to find a tree for.

    Attributes
    ----------
    X : array of shape (n_columns, n)
    codes : array of shape (n,)
    hot : array of shape (n, n_classes)
        Weight of a row in the column of its class; all sum to 1.
    topology : Topology
    price : float
        Of a cut.
    least : float
        Weight that both sides of a cut have at least.
    stop : array of one integer
        Not 0 once time is over: then the tree is what it is.
    """

    X: FloatArray
    codes: IntArray
    hot: FloatArray
    topology: Topology
    price: float
    least: float
    stop: IntArray

    @classmethod
    def of(
        cls,
        rows: Rows,
        n_classes: int,
        topology: Topology,
        least: float,
        n_stood: float,
        stop: IntArray,
    ) -> AxisSearch:
        """Rows that stand for ``n_stood``; a cut costs what the best gains by chance.

        Of n p possible cuts that mean nothing the best gains about log(n p) / n. Equal
        rows were merged, and n counts each of them.
        """
        X, codes = written_out(rows.X), rows.codes
        hot = np.zeros((codes.size, n_classes))
        hot[np.arange(codes.size), codes] = rows.weight / rows.weight.sum()
        price = float(np.log(max(len(X) * n_stood, 2.0)) / n_stood)
        return cls(X, codes, hot, topology, price, least, stop)

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of every row."""
        return np.asarray(self.hot.sum(axis=1))

    @cached_property
    def order(self) -> IntArray:
        """Rows from the smallest cell of a column to the largest, as X."""
        return np.argsort(self.X, axis=1, kind="stable")

    @property
    def grown(self) -> AxisTree:
        """The tree grown from the root down, each cut the one that tells most."""
        n_branches = self.topology.n_branches
        none = AxisTree(*(np.full(n_branches, k) for k in (-1, 0.0, 1)))
        return self._grown(none, 0, np.ones(self.codes.size, dtype=np.bool_))

    def best(self, most_drawn: int = MOST_DRAWN) -> AxisTree:
        """The best tree found, so many cuts being drawn anew at most."""
        tree, value = self._improved(self.grown)
        rng = np.random.default_rng(0)
        n_drawn = min(WORK // (self.X.size * tree.column.size + 1), most_drawn)
        for _ in range(n_drawn):
            if self.stop[0] != 0:
                break
            other, found = self._improved(self._redrawn(tree, rng))
            if found < value - _GAIN:
                tree, value = other, found
        return tree

    def settled(self, tree: AxisTree) -> AxisTree:
        """A tree, found on other rows, say, as these rows improve and prune it."""
        return self._pruned(self._improved(tree)[0])

    def value(self, tree: AxisTree) -> float:
        """What is minimised; infinite where a leaf has rows of too little weight.

        A cut may leave those below it too few, which were enough under another.
        """
        mass = self.masses(tree)
        size = mass.sum(axis=1)
        if ((size > 0.0) & (size < self.least - _GAIN)).any() and tree.n_cuts > 0:
            return np.inf
        return float(_entropy(mass).sum()) + self.price * tree.n_cuts

    def masses(self, tree: AxisTree) -> FloatArray:
        """Weight of the rows by leaf and class, (n_leaves, n_classes)."""
        leaf = self._leaf_of(tree, 0)
        found = np.empty((self.topology.n_leaves, self.hot.shape[1]))
        for k in range(found.shape[1]):
            found[:, k] = np.bincount(leaf, self.hot[:, k], len(found))
        return found

    # -- cuts ------------------------------------------------------------------------

    def _leaf_of(self, tree: AxisTree, root: int) -> IntArray:
        """Leaf that every row comes to from a node."""
        node = np.full(self.codes.size, root)
        for _ in range(self.topology.depth - self.topology.level(root)):
            node = self.topology.descend(node, self._goes_left(tree, node))
        return node - self.topology.n_branches

    def _goes_left(self, tree: AxisTree, node: IntArray) -> BoolArray:
        """Whether every row goes left at its node."""
        column = tree.column[node]
        cell = self.X[np.maximum(column, 0), np.arange(node.size)]
        left = tree.side[node] * (cell - tree.limit[node]) > 0.0
        return np.asarray(left | (column < 0))

    def _comes(self, tree: AxisTree, t: int) -> BoolArray:
        """Which rows come to a node."""
        comes = np.ones(self.codes.size, dtype=np.bool_)
        while t > 0:
            above = self.topology.parent(t)
            is_left = t == self.topology.children(above)[0]
            comes &= self._goes_left(tree, np.full(comes.size, above)) == is_left
            t = above
        return comes

    def _parts(self, rows: BoolArray, n_values: int) -> Iterator[_Sorted]:
        """Some columns at a time, so that memory does not go by their number.

        ``n_values`` are made of every cell. There are none of fewer than two rows.
        """
        n_rows = int(np.count_nonzero(rows))
        if n_rows < 2:
            return
        at_once = max(_AT_ONCE // (n_values * n_rows), 1)
        for first in range(0, len(self.X), at_once):
            yield self._part(rows, slice(first, first + at_once))

    def _part(self, rows: BoolArray, columns: slice) -> _Sorted:
        """Some columns of some rows, and where both sides have the least weight."""
        order, X = self.order[columns], self.X[columns]
        order = order[rows[order]].reshape(len(X), -1)
        cells = np.take_along_axis(X, order, axis=1)
        fits = cells[:, 1:] > cells[:, :-1]
        if self.least > 0.0:
            below = np.cumsum(self.weight[order], axis=1)
            size = below[:, :-1]
            fits &= (size >= self.least) & (below[:, -1:] - size >= self.least)
        return _Sorted(columns.start, order, cells, fits)

    def _telling(self, tree: AxisTree, t: int, rows: BoolArray) -> AxisTree:
        """The tree with the cut that tells most of the classes of some rows, if any."""
        whole, found = self.hot[rows].sum(axis=0), tree.without(t)
        least = float(_entropy(whole)) - self.price
        for part in self._parts(rows, self.hot.shape[1]):
            below = np.cumsum(self.hot[part.order], axis=1)[:, :-1]
            left = _entropy(below) + _entropy(whole - below)
            left = np.where(part.fits, left, np.inf)
            j, i = divmod(int(np.argmin(left)), left.shape[1])
            if left[j, i] < least:
                least = left[j, i]
                found = tree.with_cut(t, part.first + j, part.limit(j, i), 1)
        return found

    def _grown(self, tree: AxisTree, t: int, rows: BoolArray) -> AxisTree:
        """The tree with a node and all below it grown from there down."""
        if t >= self.topology.n_branches or self.stop[0] != 0:
            return tree
        tree = self._telling(tree, t, rows)
        return tree if tree.column[t] < 0 else self._grown_below(tree, t, rows)

    def _grown_below(self, tree: AxisTree, t: int, rows: BoolArray) -> AxisTree:
        """The tree with all below a cut grown anew, of the rows that come to it."""
        left = self._goes_left(tree, np.full(rows.size, t))
        yes, no = self.topology.children(t)
        return self._grown(self._grown(tree, yes, rows & left), no, rows & ~left)

    def _redrawn(self, tree: AxisTree, rng: np.random.Generator) -> AxisTree:
        """The tree with a cut drawn at random, and all below it grown again.

        Every level has the same chance: upper cuts are the ones that mislead.
        """
        has = np.flatnonzero(tree.column >= 0)
        has = has if has.size else np.zeros(1, dtype=np.int64)
        level = np.array([self.topology.level(t) for t in has.tolist()])
        chance = 1.0 / np.bincount(level)[level]
        t = int(rng.choice(has, p=chance / chance.sum()))
        rows, j = self._comes(tree, t), int(rng.integers(len(self.X)))
        part = self._part(rows, slice(j, j + 1))
        places = np.flatnonzero(part.fits[0])
        if places.size == 0:
            return tree
        limit = part.limit(0, int(rng.choice(places)))
        return self._grown_below(tree.with_cut(t, j, limit, 1), t, rows)

    def _fitting(self, tree: AxisTree, t: int) -> AxisTree:
        """The tree with the cut that suits those below it best, as they are."""
        rows, (yes, no) = self._comes(tree, t), self.topology.children(t)
        if yes >= self.topology.n_branches:
            return self._telling(tree, t, rows)
        mass = self.masses(tree) + _SHARE * self.hot.sum(axis=0)
        # A class may have no row here.
        says = -np.log(np.maximum(mass / mass.sum(axis=1, keepdims=True), 1e-300))
        dearer = says[self._leaf_of(tree, yes), self.codes]
        dearer = self.weight * (dearer - says[self._leaf_of(tree, no), self.codes])
        # What is saved beside all rows going left, by the rows up to a place going
        # right, or those from there on.
        whole, found = dearer[rows].sum(), tree
        most = max(whole, 0.0) + self.price
        for part in self._parts(rows, 2):
            saved = np.cumsum(dearer[part.order], axis=1)[:, :-1]
            saved = np.where(part.fits, np.stack([saved, whole - saved]), -np.inf)
            turned, j, i = np.unravel_index(int(np.argmax(saved)), saved.shape)
            if saved[turned, j, i] > most:
                most, side = saved[turned, j, i], -1 if turned else 1
                limit = part.limit(int(j), int(i))
                found = tree.with_cut(t, part.first + int(j), limit, side)
        return found

    # -- trees -----------------------------------------------------------------------

    def _improved(self, tree: AxisTree) -> tuple[AxisTree, float]:
        """The tree with one cut after the other improved, and its value."""
        value = self.value(tree)
        for _ in range(_SWEEPS):
            before = value
            for t in reversed(np.flatnonzero(self._is_open(tree)).tolist()):
                other = tree if self.stop[0] != 0 else self._fitting(tree, t)
                if other is tree:
                    continue
                found = self.value(other)
                if found < value - _GAIN:
                    tree, value = other, found
            if value >= before - _GAIN:
                break
        return tree, value

    def _is_open(self, tree: AxisTree) -> BoolArray:
        """Which nodes have a cut, or could have one below a cut."""
        has = tree.column >= 0
        below = [has[self.topology.parent(t)] for t in range(1, has.size)]
        return np.asarray(has | np.array([True, *below]))

    def _pruned(self, tree: AxisTree) -> AxisTree:
        """The tree without cuts that are not worth their price, from the leaves up."""
        value = self.value(tree)
        for t in reversed(np.flatnonzero(tree.column >= 0).tolist()):
            other = tree.without(t)
            found = self.value(other)
            if found < value:
                tree, value = other, found
        return tree


def _entropy(mass: FloatArray) -> FloatArray:
    """Minus the sum of log probabilities of classes with some masses, last axis."""
    size = mass.sum(axis=-1)
    own = mass * np.log(np.maximum(mass, 1e-300))
    return np.asarray(size * np.log(np.maximum(size, 1e-300)) - own.sum(axis=-1))
