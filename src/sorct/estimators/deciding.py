"""Deciding: a tree of classes gets its decision, and is told what that means.

Under the likelihood, and where probabilities are calibrated, floors on recall are met
here, by the costs that a class is predicted by; a promise is kept here as well. Of very
many rows sums are asked for, part by part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data import samples
from sorct.data.parts import PartedSet, SampleParts
from sorct.data.samples import Samples
from sorct.estimators.decisions import (
    Said,
    Told,
    decision_for,
    meets,
    seconds_to_tell,
    told_by_parts,
)
from sorct.tree.decision import predicted_codes
from sorct.tree.following import best_limits, clear_limits
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.estimators.fitting import Prepared
    from sorct.estimators.promises import Promise

# How often floors are raised for some rows until all rows meet them.
_RAISES = 6
# Nobody follows a tree of more cuts by hand: they are read at even odds.
_MOST_READ = 31


@dataclass(frozen=True)
class Decider:
    """Decides for trees of a prepared problem."""

    prepared: Prepared

    def decided(self, tree: Tree, promise: Promise | None) -> Tree:
        """The tree with its decision, and what that means for the training rows."""
        said = None if self._many_rows else self._said(tree)
        costs, recall = None, np.array(tree.training.recall)
        # A tree that was trained by expected cost has the costs in what it says. One of
        # likelihood, or with calibrated probabilities, needs them when it decides.
        by_costs = self.prepared.by_log or tree.calibration is not None
        if promise is not None:
            equal = 0.5 * (1.0 - np.eye(len(self.prepared.classes)))
            # Of very many rows, those held out tell alone: files and tables in memory
            # hold out the same, and need not see the same others.
            trained = equal[:, :0] if said is None else said.proba
            costs = tree.cost_matrix if by_costs else equal
            costs = promise.decision(tree, costs, trained)
            recall = self._told(tree, said, costs).recall
            promise.warn_if_empty(recall, self.prepared.classes)
        elif by_costs:
            costs, recall = self._by_costs(tree, said)
        tree = _labelled(replace(tree, decision_cost=costs, followed_at=None))
        tree = self._read(tree, said, promised=promise is not None)
        if said is not None:
            said = replace(said, leaf=tree.leaf_of_scores(said.score))
        found = self._told(tree, said, costs)
        told = replace(
            tree.training,
            recall=tuple(recall.tolist()),
            found=tuple(found.recall.tolist()),
            precision=tuple(found.precision.tolist()),
            followed=found.followed,
            confidence=None if promise is None else promise.confidence,
        )
        return replace(tree, routed=found.routed, training=told)

    def _read(self, tree: Tree, said: Said | None, *, promised: bool) -> Tree:
        """The tree with cuts read where most rows come to what is predicted.

        Of very many rows, those of the search tell where. A promise has set its limit
        between rows that are not of training, and it stays there.
        """
        if not self.prepared.followable or tree.n_branches > _MOST_READ:
            return tree
        if said is None:
            some = self.prepared.problem.subsampled
            said = Said.of(tree, some, self.prepared.factor)
        limits = tree.followed_limits
        if tree.n_branches > 1:
            predicted = said.predicted(tree.decision_cost)
            limits = best_limits(tree, said.score, predicted, said.weight)
        if not promised:
            limits = clear_limits(tree, said.score, limits)
        return replace(tree, followed_at=limits) if limits.any() else tree

    @property
    def _in_memory(self) -> bool:
        return not isinstance(self.prepared.problem.data, PartedSet)

    @property
    def _many_rows(self) -> bool:
        """Whether what a tree means for all rows is told part by part."""
        data = self.prepared.problem.data
        return not self._in_memory or data.blocks.n_rows > samples.MANY_ROWS

    def _said(self, tree: Tree) -> Said:
        """What a tree says of the rows; of those that come in parts, the search's."""
        return Said.of(tree, self.prepared.problem, self.prepared.factor)

    def _told(self, tree: Tree, said: Said | None, costs: FloatArray | None) -> Told:
        """What a decision means for all rows; said is what is known of them already."""
        if said is not None:
            return said.told(costs, tree.leaf_class)
        rows: Any = self.prepared.problem.data.all_rows
        parts = SampleParts(rows) if isinstance(rows, Samples) else rows
        return told_by_parts(tree, parts, costs, self.prepared.factor)

    def seconds_to_tell(self) -> float:
        """How long it will take, about, to tell of a tree what it means for all rows.

        Reading rows that come in parts is in ``telling``.
        """
        problem, n_classes = self.prepared.problem, len(self.prepared.classes)
        topology, data = problem.topology, problem.data
        shape = data.n_columns, topology.n_branches
        tree = Tree(
            encoder=self.prepared.encoder,
            coef=np.ones(shape),
            threshold=np.zeros(topology.n_branches),
            leaf_class=np.arange(topology.n_leaves) % n_classes,
            target=self.prepared.target,
            gamma=problem.gamma,
            cost_matrix=problem.costs.cost_matrix,
            mass=np.zeros((n_classes, topology.n_leaves)),
        )
        rows = data.blocks if self._in_memory else data.subsampled.samples
        return seconds_to_tell(tree, rows, self.prepared.n_samples)

    def _by_costs(
        self, tree: Tree, said: Said | None
    ) -> tuple[FloatArray | None, FloatArray]:
        """Costs to decide by, such that the floors are met, and the recalls.

        Of rows that come in parts, those of the search decide. Where all rows then
        miss a floor, it is raised for the search's by as much.
        """
        raised = self.prepared.floor
        said = self._said(tree) if said is None else said
        for _ in range(_RAISES):
            costs, recall = decision_for(said, tree.cost_matrix, raised)
            good = meets(recall, raised)
            if self._in_memory or not good:
                break
            recall = self._told(tree, None, costs).recall
            good = meets(recall, self.prepared.floor)
            if good:
                break
            gap = np.maximum(self.prepared.floor - recall, 0.0)
            raised = np.minimum(raised + 1.5 * gap, 0.5 * (1.0 + raised))
        if not good:
            self.prepared.refuse(recall, "any weights of the classes")
        return costs, recall


def _labelled(tree: Tree) -> Tree:
    """The tree with leaves of the classes that ``predict`` gives rows there for sure.

    Costs, floors and calibration may make it another class than the most probable one.
    """
    plain = tree.decision_cost is None and tree.calibration is None
    if plain or tree.leaf_proba is None:
        return tree
    codes = predicted_codes(tree.calibrated(tree.leaf_proba), tree.decision_cost)
    return replace(tree, leaf_class=codes)
