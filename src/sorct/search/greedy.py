"""Greedy: trees whose cuts ask for one column each, where a search may begin.

Where classes are told by a few limits, one column after the other, such trees are hard
to beat, and hard to find from elsewhere: a penalty on coefficients makes every steep
cut dear, however few columns it asks for. So a search may begin with them, on their
variables alone and under penalties as weak as few variables need. They are grown from
the root down and improved (``axis.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.datafit import PSEUDO
from sorct.problem.evaluation import never
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction, used_groups
from sorct.problem.thresholds import clip_thresholds
from sorct.search.axis import MOST_DRAWN, AxisSearch, AxisTree
from sorct.search.polish import AS_IT_IS
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

# Coefficients of the cuts that a search begins with: as steep as may be, and gentler.
_SHARES = (1.0, 0.25, 0.0625)
# Rows on which cuts are drawn anew, at least and at most; cells of these, and of the
# rows that then improve what was found.
_DRAWN_ROWS, _DRAWN_CELLS, _CELLS = (200, 1000), 1_000_000, 4_000_000


@dataclass(frozen=True)
class Greedy:
    """The problem on the variables of a greedy tree alone, and trees to begin with.

    Attributes
    ----------
    restriction : Restriction
    trees : tuple of Params
        Of the problem's part: the first level of cuts of the greedy tree, the first
        two, and so on up to all.
    """

    restriction: Restriction
    trees: tuple[Params, ...]

    @classmethod
    def of(
        cls,
        problem: Problem,
        n_stood: float,
        most_drawn: int = MOST_DRAWN,
        stop: IntArray | None = None,
    ) -> Greedy | None:
        """Find a tree of the problem's depth; None if no cut helps.

        ``n_stood`` is the number of rows that those of the problem stand for.
        """
        looks = _Looks(problem, n_stood, never() if stop is None else stop)
        tree = looks.tree(most_drawn)
        told = _InUnits.of(problem, tree, looks.leaf_masses(tree).T)
        levels = range(1, problem.topology.depth + 1)
        trees = [told.params(level) for level in levels]
        groups = used_groups(problem, trees[-1])
        if groups.size == 0:
            return None
        small = Restriction.of(problem, groups)
        return cls(small, tuple(small.down(one) for one in trees))

    @property
    def begins(self) -> tuple[Params, ...]:
        """The trees as steep as may be, and gentler."""
        return tuple(one.flattened(share) for one in self.trees for share in _SHARES)

    @property
    def deepest(self) -> tuple[Params, ...]:
        """Of these, those with all levels."""
        return self.begins[-len(_SHARES) :]

    def still(self, stop: IntArray | None = None) -> Solution:
        """Solution of the whole problem that is the greedy tree as it is."""
        small = self.restriction
        found = AS_IT_IS.solve(small.part, self.trees[-1], stop=stop)
        return replace(found, params=small.up(found.params))


def greedy_value(
    problem: Problem,
    n_stood: float,
    most_drawn: int = MOST_DRAWN,
    stop: IntArray | None = None,
) -> float:
    """Log-loss of a greedy tree on its own rows and the price of its cuts.

    About what its log-loss is on other rows, since cuts cost what they gain by chance.
    """
    looks = _Looks(problem, n_stood, never() if stop is None else stop)
    return looks.many.value(looks.tree(most_drawn))


@dataclass(frozen=True)
class _Looks:
    """Searches on the rows of a problem, or on some of them.

    Attributes
    ----------
    problem : Problem
    n_stood : float
        Rows that those of the problem stand for.
    stop : array of one integer
    """

    problem: Problem
    n_stood: float
    stop: IntArray

    def tree(self, most_drawn: int) -> AxisTree:
        """The best tree found; cuts are drawn anew on few rows, if at all."""
        many, (least, most) = self.many, _DRAWN_ROWS
        if not most_drawn:
            return many.settled(many.grown)
        most = min(max(_DRAWN_CELLS // self.problem.data.n_columns, least), most)
        few = many if many.codes.size <= most else self.on(most)
        return many.settled(few.best(most_drawn))

    @cached_property
    def many(self) -> AxisSearch:
        """A search on all rows, unless there are very many columns."""
        return self.on(max(_CELLS // self.problem.data.n_columns, _DRAWN_ROWS[1]))

    def on(self, most: int) -> AxisSearch:
        """A search on at most so many of the rows, spaced evenly."""
        rows, problem = self.problem.data.rows, self.problem
        n, stood = rows.codes.size, self.n_stood
        if n > most:
            rows = rows.take(np.linspace(0, n - 1, most).astype(np.int64))
            stood *= most / n
        known = problem.data.n_codes, problem.topology, PSEUDO
        return AxisSearch.of(rows, *known, stood, self.stop)

    def leaf_masses(self, tree: AxisTree) -> FloatArray:
        """Weight of all rows by leaf and class; they are read in the tree's columns."""
        rows, problem = self.problem.data.rows, self.problem
        columns, place = np.unique(np.maximum(tree.column, 0), return_inverse=True)
        own = replace(tree, column=np.where(tree.column < 0, -1, place))
        known = problem.data.n_codes, problem.topology, PSEUDO
        some = rows._replace(X=rows.X[columns])
        return AxisSearch.of(some, *known, self.n_stood, self.stop).masses(own)


@dataclass(frozen=True)
class _InUnits:
    """An axis tree as one of a problem: what its nodes say, and in which units.

    ``mass`` is that of every node, by class.
    """

    problem: Problem
    tree: AxisTree
    mass: FloatArray

    @classmethod
    def of(cls, problem: Problem, tree: AxisTree, leaf_mass: FloatArray) -> _InUnits:
        """From masses of the leaves, (n_classes, n_leaves)."""
        topology = problem.topology
        below = [topology.leaves_below(node) for node in range(topology.n_nodes)]
        mass = np.stack([leaf_mass[:, one].sum(axis=1) for one in below], axis=1)
        return cls(problem, tree, mass)

    def params(self, level: int) -> Params:
        """So many levels of the tree.

        A side on which nothing is cut any more goes left at cuts without columns.
        """
        problem, tree, topology = self.problem, self.tree, self.problem.topology
        coef = np.zeros((problem.data.n_columns, topology.n_branches))
        threshold = np.full(topology.n_branches, -1.0)
        own = np.arange(topology.n_nodes)
        for t in range(topology.n_branches):
            if topology.level(t) >= level or tree.column[t] < 0 or own[t] != t:
                own[list(topology.children(t))] = own[t]
                continue
            coef[tree.column[t], t] = tree.side[t]
            threshold[t] = tree.side[t] * tree.limit[t] / problem.n_groups
        leaf = self.mass[:, own[topology.n_branches :]]
        return Params(coef, clip_thresholds(threshold), *self._said(leaf))

    def _said(self, mass: FloatArray) -> tuple[IntArray, FloatArray | None]:
        """Labels, and distributions if they learn some, of leaves with such masses."""
        problem = self.problem
        label = np.argmin(problem.costs.cost_matrix.T @ mass, axis=0)
        if not problem.learns_leaves:
            return label, None
        given = problem.datafit.pseudo(problem.data.share)
        padded = mass + given[:, np.newaxis]
        return label, padded / padded.sum(axis=0)
