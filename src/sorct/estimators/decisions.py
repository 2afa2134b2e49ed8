"""Decisions: from what a tree says of the training rows to what it predicts.

Under the likelihood, costs and floors act here: a class is predicted where its expected
cost is least, errors on class k costing ``weight[k]`` times as much. Raising the weight
of a class only ever adds rows that are predicted to be of it, so for every row there is
a critical weight, and a floor under the recall of a class is a quantile of the critical
weights of its rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.parts import Blocks, PartedSet, Parts, Sums
from sorct.data.samples import BLOCK, Samples, threads_for
from sorct.data.target import unequal
from sorct.tree.decision import predicted_codes

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.tree.tree import Tree

# Rounds in which the weights of several classes are adapted to each other.
_ROUNDS = 200
# A weight is set above the critical one of a row by at least so much, and at most by
# this factor.
_ABOVE, _FARTHEST = 1e-9, 2.0
_LEAST = 1e-300
# Shares of rows are sums of weights: a floor that is met exactly may seem to be missed.
_ROUNDING = 1e-9
# Blocks of rows that are looked at together, and nodes x rows: deep trees take fewer,
# so that what is known of them stays near the processor.
_BLOCKS, _NODE_ROWS = 256, 2**20
# What a tree of many nodes or columns is tried on, to know how long it takes to tell of
# all rows; and how much longer than that it may take.
_TRIED_ROWS, _SLACK = 512, 1.25


class Told(NamedTuple):
    """What a decision means for the training rows.

    Recall and precision of every class, the share of the rows that people who follow
    the rules by hand give the class predicted, and the share of the rows by class and
    leaf.
    """

    recall: FloatArray
    precision: FloatArray
    followed: float
    routed: FloatArray


@dataclass(frozen=True)
class Said:
    """What a tree says of training rows.

    Attributes
    ----------
    proba : array of shape (n_classes, n)
    codes : array of shape (n,)
    weight : array of shape (n,), sums to 1
    leaf : array of shape (n,)
        Leaf of every row by hand.
    score : array of shape (n_branches, n)
        Scores of the cuts.
    """

    proba: FloatArray
    codes: IntArray
    weight: FloatArray
    leaf: IntArray
    score: FloatArray

    @classmethod
    def of(cls, tree: Tree, problem: Problem, factor: FloatArray | None = None) -> Said:
        """Ask a tree about the rows of a problem.

        Where classes were weighted by a factor in training, it is taken back: rows
        count by the users' own weights.
        """
        # Of rows that come in parts, those of the search.
        parted = isinstance(problem.data, PartedSet)
        data = problem.data.subsampled if parted else problem.data
        return cls.of_samples(tree, data.samples, factor)

    @classmethod
    def of_samples(
        cls, tree: Tree, samples: Samples, factor: FloatArray | None = None
    ) -> Said:
        """Ask a tree about samples, of which some may only pad."""
        n, codes = samples.n_rows, samples.codes
        proba = np.empty((len(tree.classes), n))
        leaf, score = np.empty(n, dtype=np.int64), np.empty((tree.n_branches, n))
        n_nodes = tree.n_branches + tree.n_leaves
        at_once = min(max(_NODE_ROWS // (n_nodes * BLOCK), 1), _BLOCKS)
        for first in range(0, samples.n_blocks, at_once):
            some = range(first, min(first + at_once, samples.n_blocks))
            x = np.hstack([samples.block(b)[0] for b in some])
            begin = int(samples.start[first])
            rows = slice(begin, min(begin + x.shape[1], n))
            score[:, rows] = tree.scores(x[:, : rows.stop - begin].T)
            proba[:, rows] = tree.proba_of_scores(score[:, rows])
            leaf[rows] = tree.leaf_of_scores(score[:, rows])
        weight = samples.weight[:n]
        if factor is not None:
            weight = weight / factor[codes]
            weight /= weight.sum()
        return cls(proba, codes, weight, leaf, score)

    def predicted(self, decision_cost: FloatArray | None) -> IntArray:
        """Codes that a decision predicts."""
        return predicted_codes(self.proba, decision_cost)

    def recall(self, predicted: IntArray) -> FloatArray:
        """Share of every class that is predicted to be of it."""
        n_classes = len(self.proba)
        right = np.bincount(
            self.codes, self.weight * (predicted == self.codes), n_classes
        )
        return np.asarray(right / np.bincount(self.codes, self.weight, n_classes))

    def precision(self, predicted: IntArray) -> FloatArray:
        """Share of what is predicted to be of a class that is; 0 where nothing is."""
        n_classes = len(self.proba)
        right = np.bincount(
            self.codes, self.weight * (predicted == self.codes), n_classes
        )
        told = np.bincount(predicted, self.weight, n_classes)
        return np.asarray(right / np.where(told > 0.0, told, 1.0))

    def told(self, decision_cost: FloatArray | None, leaf_class: IntArray) -> Told:
        """What a decision means for these rows."""
        predicted = self.predicted(decision_cost)
        by_hand = leaf_class[self.leaf]
        # From 1 downwards: all weights sum to 1 but for a rounding.
        followed = float(1.0 - self.weight[by_hand != predicted].sum())
        routed = self.routed(leaf_class.size)
        return Told(self.recall(predicted), self.precision(predicted), followed, routed)

    def routed(self, n_leaves: int) -> FloatArray:
        """Share of the rows by class and leaf, as people follow the rules."""
        place = self.codes * n_leaves + self.leaf
        n_classes = len(self.proba)
        mass = np.bincount(place, self.weight, n_classes * n_leaves)
        return np.asarray(mass.reshape(n_classes, n_leaves))


@dataclass(frozen=True)
class _CountTold:
    """The question what a decision means for rows that come in parts."""

    tree: Tree
    decision_cost: FloatArray | None
    factor: FloatArray | None

    def __call__(self, samples: Samples) -> Sums:
        said = Said.of_samples(self.tree, samples)
        weight = (
            said.weight
            if self.factor is None
            else (said.weight / self.factor[said.codes])
        )
        predicted = said.predicted(self.decision_cost)
        n = len(said.proba)
        by_hand = self.tree.leaf_class[said.leaf]
        place = said.codes * self.tree.n_leaves + said.leaf
        right = weight * (predicted == said.codes)
        return Sums(
            right=np.bincount(said.codes, right, n),
            share=np.bincount(said.codes, weight, n),
            told=np.bincount(predicted, weight, n),
            unfollowed=weight[by_hand != predicted].sum(keepdims=True),
            routed=np.bincount(place, weight, n * self.tree.n_leaves),
        )


def told_by_parts(
    tree: Tree,
    parts: Parts,
    decision_cost: FloatArray | None,
    factor: FloatArray | None,
) -> Told:
    """What a decision means for rows that come in parts: one pass."""
    sums = parts.total(_CountTold(tree, decision_cost, factor))
    whole = float(sums["share"].sum())
    told = np.where(sums["told"] > 0.0, sums["told"], 1.0)
    routed = sums["routed"].reshape(-1, tree.n_leaves) / whole
    followed = 1.0 - float(sums["unfollowed"][0]) / whole
    return Told(sums["right"] / sums["share"], sums["right"] / told, followed, routed)


def seconds_to_tell(tree: Tree, samples: Blocks, n_rows: int) -> float:
    """How long it will take to tell of a tree like this what it means for all rows."""
    n_numbers = tree.n_branches + tree.n_leaves + tree.n_columns
    if n_rows * n_numbers <= _NODE_ROWS:
        return 0.0
    n_blocks = min(_TRIED_ROWS // BLOCK, samples.n_blocks)
    some = samples.part(0, n_blocks)
    begun = time.perf_counter()
    Said.of_samples(tree, some).told(None, tree.leaf_class)
    seconds = time.perf_counter() - begun
    return _SLACK * seconds * n_rows / some.n_rows / threads_for(n_rows)


def decision_for(
    said: Said, cost_matrix: FloatArray, floor: FloatArray
) -> tuple[FloatArray | None, FloatArray]:
    """Costs to decide by, and the recalls that they give; floors may be missed.

    None means the most probable class: where all errors cost the same and no floor is
    missed by it.
    """
    costs = cost_matrix if unequal(cost_matrix) else None
    recall = said.recall(said.predicted(costs))
    if meets(recall, floor):
        return costs, recall
    weight, best = np.ones(len(floor)), recall
    for _ in range(_ROUNDS):
        k = int(np.argmax(floor - recall))
        weight[k] = _weight_for(said, cost_matrix, weight, k, floor[k])
        weight /= np.exp(np.log(weight).mean())
        recall = said.recall(said.predicted(weight[:, np.newaxis] * cost_matrix))
        if (floor - recall).max() < (floor - best).max():
            best = recall
        if meets(recall, floor):
            return weight[:, np.newaxis] * cost_matrix, recall
    return None, best


def meets(recall: FloatArray, floor: FloatArray) -> bool:
    """Whether recalls are at least their floors, to rounding."""
    return bool((recall >= floor - _ROUNDING).all())


def _weight_for(
    said: Said, cost_matrix: FloatArray, weight: FloatArray, k: int, floor: float
) -> float:
    """Weight of class k that gives its rows the recall asked for."""
    own = said.codes == k
    critical = critical_weights(said.proba[:, own], cost_matrix, weight, k)
    order = np.argsort(critical)
    share = np.cumsum(said.weight[own][order])
    place = int(np.searchsorted(share, floor * share[-1] * (1.0 - 1e-12)))
    edge = float(critical[order[min(place, order.size - 1)]])
    return above(edge, critical_weights(said.proba, cost_matrix, weight, k))


def above(edge: float, critical: FloatArray) -> float:
    """Weight between the critical one of a row and the next that some row has.

    Halfway, by their logarithms: so that the limit lies between what rows have, and can
    be told with a few digits.
    """
    after = critical[critical > edge * (1.0 + 2.0 * _ABOVE)]
    following = min(float(after.min(initial=np.inf)) / edge, _FARTHEST**2)
    return edge * max(float(np.sqrt(following)), 1.0 + _ABOVE)


def critical_weights(
    proba: FloatArray, cost_matrix: FloatArray, weight: FloatArray, k: int
) -> FloatArray:
    """Least weight of class k with which it is predicted, for every row.

    With probabilities p, costs W and weights w of the others, class k is the cheapest
    when for every other class d

        sum_{j != k} w_j (W[j, k] - W[j, d]) p_j <= w_k W[k, d] p_k.
    """
    others = [j for j in range(len(cost_matrix)) if j != k]
    paid = weight[others, np.newaxis] * proba[others]
    needed = np.full(proba.shape[1], _LEAST)
    for d in others:
        extra = (cost_matrix[others, k] - cost_matrix[others, d]) @ paid
        price = np.maximum(cost_matrix[k, d] * proba[k], _LEAST)
        needed = np.maximum(needed, extra / price)
    return needed
