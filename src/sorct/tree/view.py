"""View: one description of a fitted tree for everyone who shows it.

Text, explanations, plots, report and exports read a view instead of the tree's arrays.
It lists the nodes that decide something, in reading order: a cut, what is below "yes",
what is below "no".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.terms import Term
from sorct.tree.link import cdf
from sorct.tree.prune import (
    NOBODY,
    SEVERAL,
    leaf_kinds,
    node_classes,
    only_children,
)
from sorct.tree.reading import Reading, Terms
from sorct.tree.topology import Topology

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

#: A side of a cut that gets a smaller share of the training sample than this is not
#: shown: it would read "0.0 % of samples".
FEW = 5e-4
# But it is shown if it gets at least this share of some class, which may be a rare one.
_MUCH_OF_A_CLASS = 0.1


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut that is shown.

    Attributes
    ----------
    node : int
        Its place in the tree, from 0.
    number : int
        Its number as printed, from 1; see ``cut_numbers``.
    terms : dict from the position of a variable to its Term
        A sample goes left with probability F(gamma (sum of the terms - threshold) /
        n_groups).
    threshold : float
    reading : Reading
        The same as people read it, at the point where ``predict`` decides.
    left_proba : float or None
        Probability of going left if no variable has a say, else None.
    left, right : int
        Numbers of the nodes that are shown below.
    mass : array of shape (n_classes,)
        Share of the training sample that comes here, by class. Where a cut above is
        not shown (see ``View.of``), the samples of both its sides are counted here.
    """

    node: int
    number: int
    terms: Terms
    threshold: float
    reading: Reading
    left_proba: float | None
    left: int
    right: int
    mass: FloatArray

    @property
    def yes(self) -> int:
        """Node shown below "yes"."""
        return self.left if self.reading.is_left else self.right

    @property
    def no(self) -> int:
        """Node shown below "no"."""
        return self.right if self.reading.is_left else self.left


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf that is shown, or several below a cut that have one class.

    Attributes
    ----------
    node : int
    code : int
        Position of its class.
    leaves : range
        Positions of the leaves of the tree that it stands for.
    mass : array of shape (n_classes,)
        Share of the training sample that ends here, by class.
    proba : array of shape (n_classes,)
        What it says of the classes: 1 for its own where leaves have no distributions.
    says : array of shape (n_classes,) or None
        The same for people, calibrated if the tree is: probabilities of a row that is
        there for certain. None where leaves have no distributions.
    value : float or None
        What it says of a quantity, where one is predicted; with ``terms``, for a sample
        to which they add nothing.
    mean, miss : float or None
        What the training rows are on average that come here by hand, and what they miss
        it by (in linear leaves: the leaf's own number), if known.
    terms : dict from the position of a variable to its Term
        What variables add to the value of a linear leaf.
    """

    node: int
    code: int
    leaves: range
    mass: FloatArray
    proba: FloatArray
    value: float | None = None
    mean: float | None = None
    miss: float | None = None
    terms: Terms = field(default_factory=dict)
    says: FloatArray | None = None


@dataclass(frozen=True)
class Route:
    """A way from the root to a leaf: the cuts passed, and whether it goes left.

    ``proba`` is what the leaf says of every class; of a quantity it says ``value`` and
    what its ``terms`` add.
    """

    code: int
    steps: tuple[tuple[int, bool], ...]
    proba: tuple[float, ...] = ()
    value: float = 0.0
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, eq=False)
class View:
    """The nodes of a tree that decide something, by number, in reading order."""

    nodes: dict[int, Cut | Leaf]

    @classmethod
    def of(
        cls,
        tree: Tree,
        nobody: float = NOBODY,
        mass: Any = None,
        least: float = 0.0,
        hard: bool = False,
    ) -> View:
        """Describe a tree.

        Parameters
        ----------
        tree : Tree
        nobody : float
            Branches to which at most this share of every sample can come are left out.
            0 leaves out nothing that changes a probability in the last digit.
        mass : array of shape (n_classes, n_leaves) or None
            Shares by class and leaf; None means those of the training sample.
        least : float
            A cut is not shown if one of its sides gets less than this share of the
            samples, in training and in ``mass``, and less than a tenth of every class.
            The node on its other side is then shown in its place.
        hard : bool
            Whether shares of the training sample are those of hard routes, which the
            tree must then have: ``routed``, not ``mass``.
        """
        trained = tree.routed if hard and tree.routed is not None else tree.mass
        shares = trained if mass is None else mass
        return cls(_Walk(tree, nobody, (trained, shares), least).nodes())

    @property
    def root(self) -> Cut | Leaf:
        """The first node."""
        return next(iter(self.nodes.values()))

    @property
    def cuts(self) -> list[Cut]:
        """Cuts from top to bottom."""
        return [node for node in self.nodes.values() if isinstance(node, Cut)]

    @property
    def leaves(self) -> list[Leaf]:
        """Leaves from top to bottom."""
        return [node for node in self.nodes.values() if isinstance(node, Leaf)]

    def routes(self) -> tuple[Route, ...]:
        """Routes to all leaves, from left to right."""
        return tuple(self._routes(self.root, ()))

    def _routes(
        self, node: Cut | Leaf, steps: tuple[tuple[int, bool], ...]
    ) -> Iterator[Route]:
        if isinstance(node, Leaf):
            told = node.value or 0.0, tuple(node.terms.values())
            yield Route(node.code, steps, tuple(node.proba.tolist()), *told)
            return
        for child, goes_left in ((node.left, True), (node.right, False)):
            yield from self._routes(
                self.nodes[child], (*steps, (node.number, goes_left))
            )


def cut_numbers(tree: Tree) -> tuple[int, ...]:
    """Number of every cut of a tree, from 1, in reading order: first those shown.

    Whoever shows a tree calls its cuts by these, also where it shows more of them.
    """
    people = tree.mass if tree.routed is None else tree.routed
    found: dict[int, None] = {}
    for shares, least in ((people, FEW), (tree.mass, 0.0)):
        walk = _Walk(tree, NOBODY, (shares, shares), least)
        found |= dict.fromkeys(walk.cuts())
    found |= dict.fromkeys(range(tree.n_branches))
    numbers = np.empty(tree.n_branches, dtype=np.int64)
    numbers[list(found)] = np.arange(1, tree.n_branches + 1)
    return tuple(numbers.tolist())


class _Walk:
    """One walk through a tree, which leaves out cuts that decide nothing.

    ``sure`` has the child of a cut that every sample goes to; ``only`` also the child
    that is shown in place of a cut whose other side gets too few samples to be shown.
    Both have None for a cut that is shown. ``kind`` has the number of what a node says
    if all of its samples end in leaves that say the same. ``shares`` are those of the
    training sample and those that are shown, by class and leaf.
    """

    def __init__(
        self,
        tree: Tree,
        nobody: float,
        shares: tuple[FloatArray, FloatArray],
        least: float,
    ) -> None:
        self.tree, (self.trained, self.mass) = tree, shares
        self.topology = Topology(tree.depth)
        # A column that was constant in training has no say, whatever its weight.
        constant = tree.encoder.constant_columns[:, np.newaxis]
        self.coef = np.where(constant, 0.0, tree.coef)
        self.sure = only_children(self.coef, tree.threshold, tree.gamma, nobody)
        self.only = [
            self._crowded_child(t, least) if child is None else child
            for t, child in enumerate(self.sure)
        ]
        self.leaf_kind = leaf_kinds(tree)
        self.kind = node_classes(self.only, self.leaf_kind)

    def nodes(self) -> dict[int, Cut | Leaf]:
        """All nodes that are shown, by number, in reading order."""
        found: dict[int, Cut | Leaf] = {}
        waiting = [0]
        while waiting:
            place = self._shown(waiting.pop(), self.sure)
            number = self._shown(place, self.only)
            found[number] = node = self._node(number, self._mass_at(place))
            if isinstance(node, Cut):
                left, right = self.topology.children(number)
                waiting += [right, left] if node.yes == node.left else [left, right]
        return found

    def cuts(self) -> list[int]:
        """Places of the cuts that are shown, in reading order."""
        found, waiting = [], [0]
        while waiting:
            place = self._shown(waiting.pop(), self.only)
            if self.kind[place] == SEVERAL:
                found.append(place)
                left, right = self.topology.children(place)
                encoder = self.tree.encoder
                terms = encoder.terms(self.coef[:, place])
                yes_is_left = Reading.of(encoder, terms, 0.0).is_left
                waiting += [right, left] if yes_is_left else [left, right]
        return found

    def _crowded_child(self, t: int, least: float) -> int | None:
        """Child shown in place of cut t because the other gets too few samples."""
        children = self.topology.children(t)
        sizes = [self._size(child) for child in children]
        if least == 0.0 or not self.trained.any() or min(sizes) >= least:
            return None
        return children[int(np.argmax(sizes))]

    def _size(self, node: int) -> float:
        """Share of samples that comes to a node; infinite if much of a class does."""
        below, shares = self.topology.leaves_below(node), (self.trained, self.mass)
        for mass in shares:
            own, whole = mass[:, below].sum(axis=1), mass.sum(axis=1)
            if (own[whole > 0.0] >= _MUCH_OF_A_CLASS * whole[whole > 0.0]).any():
                return np.inf
        return max(float(mass[:, below].sum()) for mass in shares)

    @staticmethod
    def _shown(node: int, only: list[int | None]) -> int:
        """First node at or below a node that is shown, following ``only``."""
        while node < len(only):
            child = only[node]
            if child is None:
                break
            node = child
        return node

    def _mass_at(self, node: int) -> FloatArray:
        return np.asarray(self.mass[:, self.topology.leaves_below(node)].sum(axis=1))

    def _node(self, number: int, mass: FloatArray) -> Cut | Leaf:
        if self.kind[number] != SEVERAL:
            below = self.topology.leaves_below(number)
            leaves = range(self.topology.n_leaves)[below]
            like = int(np.flatnonzero(self.leaf_kind == self.kind[number])[0])
            code = int(self.tree.leaf_class[like])
            if self.tree.leaf_value is not None:
                return self._value_leaf(number, leaves, mass, like)
            says = self._says(like)
            return Leaf(number, code, leaves, mass, self._proba(like), says=says)
        return self._cut(number, mass)

    def _value_leaf(
        self, number: int, leaves: range, mass: FloatArray, like: int
    ) -> Leaf:
        """A leaf of a quantity; what several miss by is told as one number."""
        tree, terms = self.tree, {}
        assert tree.leaf_value is not None
        if tree.leaf_coef is not None:
            constant = tree.encoder.constant_columns
            terms = tree.encoder.terms(np.where(constant, 0.0, tree.leaf_coef[:, like]))
        value = float(tree.leaf_value[like])
        told = self._seen(slice(leaves.start, leaves.stop))
        return Leaf(number, 0, leaves, mass, np.ones(1), value, *told, terms)

    def _seen(self, own: slice) -> tuple[float | None, float | None]:
        """Mean and miss of the rows in some leaves together."""
        tree = self.tree
        if tree.leaf_mean is None or tree.leaf_miss is None:
            return None, None
        shares = self.trained if tree.routed is None else tree.routed
        weight = shares[0, own] + 1e-300
        mean = np.average(tree.leaf_mean[own], weights=weight)
        # Means of several leaves differ, which what they miss by includes.
        apart = tree.leaf_mean[own] - mean if tree.leaf_coef is None else 0.0
        missed = np.hypot(tree.leaf_miss[own], apart)
        # As a share of the largest, of which the square is finite whatever the units.
        most = float(missed.max()) or 1.0
        square = np.average((missed / most) ** 2, weights=weight)
        return float(mean), most * float(np.sqrt(square))

    def _proba(self, leaf: int) -> FloatArray:
        """What a leaf says of the classes."""
        if self.tree.leaf_proba is not None:
            return np.asarray(self.tree.leaf_proba[:, leaf])
        return np.asarray(np.eye(len(self.tree.classes))[self.tree.leaf_class[leaf]])

    def _says(self, leaf: int) -> FloatArray | None:
        """The same, calibrated; None where it is no more than a class."""
        tree = self.tree
        if tree.leaf_proba is None:
            return None
        return tree.calibrated(self._proba(leaf)[:, np.newaxis])[:, 0]

    def _cut(self, t: int, mass: FloatArray) -> Cut:
        tree, encoder = self.tree, self.tree.encoder
        terms = encoder.terms(self.coef[:, t])
        left, right = self.topology.children(t)
        proba = None
        if not terms:
            proba = float(cdf(np.array([-tree.gamma * tree.threshold[t]]))[0])
        threshold = encoder.n_groups * float(tree.threshold[t])
        moved = float(tree.followed_limits[t]) / tree.gamma
        followed = threshold + encoder.n_groups * moved if moved else threshold
        return Cut(
            node=t,
            number=tree.cut_numbers[t],
            terms=terms,
            threshold=threshold,
            reading=Reading.of(encoder, terms, followed),
            left_proba=proba,
            left=self._shown(left, self.only),
            right=self._shown(right, self.only),
            mass=mass,
        )
