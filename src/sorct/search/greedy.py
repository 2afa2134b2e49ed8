"""Greedy: trees whose cuts ask for one column each, grown from the root down.

Where classes are told by a few limits, one column after the other, such trees are hard
to beat, and hard to find from elsewhere: a penalty on coefficients makes every steep
cut dear, however few columns it asks for. So a search may begin with them, on their
variables alone and under penalties as weak as few variables need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.level_rows import written_out
from sorct.data.samples import Rows
from sorct.problem.datafit import PSEUDO
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction, used_groups
from sorct.problem.thresholds import clip_thresholds
from sorct.search.polish import ROUGH
from sorct.solvers.solution import Solution
from sorct.tree.params import Params

# Coefficients of the cuts that a search begins with: as steep as may be, and gentler.
_SHARES = (1.0, 0.25, 0.0625)


@dataclass(frozen=True)
class Greedy:
    """The problem on the variables of a greedy tree alone, and trees to begin with.

    Attributes
    ----------
    restriction : Restriction
    trees : tuple of Params
        Of the problem's part: greedy trees of one level of cuts, of two, and so on up
        to the problem's depth.
    """

    restriction: Restriction
    trees: tuple[Params, ...]

    @classmethod
    def of(cls, problem: Problem) -> Greedy | None:
        """Grow a tree to the depth of the problem; None if no cut helps."""
        grown = _grown(problem.data.rows, problem.topology.depth)
        trees = [
            _as_params(problem, grown, level)
            for level in range(1, problem.topology.depth + 1)
        ]
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

    def still(self, stop: IntArray | None = None) -> list[Solution]:
        """Solutions of the whole problem that are these trees as they are."""
        solver, small = replace(ROUGH, max_iter=1, max_rounds=1), self.restriction
        found = [solver.solve(small.part, one, stop=stop) for one in self.trees]
        return [replace(one, params=small.up(one.params)) for one in found]


def _grown(rows: Rows, depth: int) -> Any:
    """scikit-learn's tree for the codes of rows, by entropy.

    A leaf has at least the weight that leaves are given beside their own. Cuts are kept
    that gain more than the best of all n p possible ones may by chance, log(n p) / n.
    """
    from sklearn.tree import DecisionTreeClassifier

    X = written_out(rows.X).T
    grower = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=depth,
        min_weight_fraction_leaf=PSEUDO,
        # Entropy is in bits there.
        ccp_alpha=np.log2(X.size) / len(X),
        random_state=0,
    )
    return grower.fit(X, rows.codes, rows.weight).tree_


def _as_params(problem: Problem, grown: Any, level: int) -> Params:
    """So many levels of a tree of scikit-learn, whose left is our right.

    A side on which nothing is cut any more goes left at cuts without columns.
    """
    topology, penalty = problem.topology, problem.penalty
    coef = np.zeros((problem.data.n_columns, topology.n_branches))
    threshold = np.full(topology.n_branches, -1.0)
    own = np.zeros(topology.n_nodes, dtype=np.int64)
    for t in range(topology.n_branches):
        node, (left, right) = own[t], topology.children(t)
        column = grown.feature[node]
        if topology.level(t) >= level or column < 0:
            own[left] = own[right] = node
            continue
        sign = 1.0 if penalty.upper[column] > 0.0 else -1.0
        coef[column, t] = sign
        threshold[t] = clip_thresholds(sign * grown.threshold[node] / problem.n_groups)
        sides = grown.children_right[node], grown.children_left[node]
        own[left], own[right] = sides[:: int(sign)]
    leaf = own[topology.n_branches :]
    return Params(coef, threshold, *_said(problem, grown, leaf))


def _said(
    problem: Problem, grown: Any, leaf: IntArray
) -> tuple[IntArray, FloatArray | None]:
    """Labels, and distributions if they learn some, of leaves that are nodes grown."""
    share, weight = problem.data.share, grown.weighted_n_node_samples[leaf]
    mass = weight * grown.value[leaf, 0].T
    padded = mass + problem.datafit.pseudo(share)[:, np.newaxis]
    label = np.argmin(problem.costs.cost_matrix.T @ mass, axis=0)
    if not problem.learns_leaves:
        return label, None
    return label, padded / padded.sum(axis=0)
