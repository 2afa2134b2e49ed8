"""Forest setting: depth, steepness and local penalty by the out-of-bag loss.

Forests without a shared budget are compared: their trees know nothing of each other, so
rows out of the bag are new to them. Settings that differ in depth and steepness are
compared under the same small share of the penalty that empties a tree; then that share
is moved up and down while the loss falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sorct.estimators.fitting import STEEPNESS
from sorct.estimators.forest_measures import out_of_bag_loss, unseen_rows
from sorct.tree.topology import Topology, smallest_depth

if TYPE_CHECKING:
    from sorct.estimators.forest_fitting import ForestFit
    from sorct.problem.problem import Problem
    from sorct.search.forest import Grove

#: Trees of a forest that settings and variables are chosen with, at most.
N_CHOOSING = 10
# Depths that are tried beside the smallest, by the number of classes.
_DEEPER, _DEEPER_MANY = 2, 1
# A larger tree must have a loss that is smaller by this share.
_WORTH = 0.01
# Shares of the strength that empties single trees, to choose the local penalty from,
# and which of them settings are compared with.
_LOCAL, _FIRST = (0.0, 2.0**-8, 2.0**-6, 2.0**-4, 2.0**-2), 2
# A penalty that hardly shrinks anything, but lets coefficients that do not help be 0.
LEAST = 1e-3


@dataclass(frozen=True)
class ForestSetting:
    """What a forest in the making leaves open, to be chosen."""

    fit: ForestFit

    def choose(self, problem: Problem) -> tuple[Problem, float]:
        """The problem with depth and steepness, and the local penalty."""
        plan = self.fit.plan
        asked, alpha = self._candidates(problem), plan.alpha_local
        if plan.kind == "all" or (len(asked) == 1 and alpha is not None):
            return asked[0], alpha or 0.0
        best, chosen = np.inf, (asked[0], 0.0)
        bags = self.fit.grove(problem, min(plan.n_trees[-1], N_CHOOSING))
        for candidate in asked:
            if self.fit.soft[0] != 0:
                break
            top = self._strongest(candidate) if alpha is None else 0.0
            loss = self._out_of_bag(bags, candidate, self._local(top, _FIRST))
            if loss < (1.0 - _WORTH) * best:
                best, chosen = loss, (candidate, top)
        found, top = chosen
        if alpha is None:
            alpha = self._best_local(bags, found, top, best)
        return found, alpha

    def _strongest(self, problem: Problem) -> float:
        """Local penalty from which on trees are empty."""
        from sorct.search.strongest import emptying_strength

        return emptying_strength(problem, self.fit.seed, stop=self.fit.soft)

    def _local(self, top: float, place: int) -> float:
        """Local penalty at a place of the grid, or as given."""
        given = self.fit.plan.alpha_local
        return float(top * _LOCAL[place]) if given is None else given

    def _best_local(
        self, bags: Grove, problem: Problem, top: float, best: float
    ) -> float:
        """The local penalty with the least out-of-bag loss, up or down the grid."""
        chosen = _FIRST
        for way in (1, -1):
            place = _FIRST + way
            while 0 <= place < len(_LOCAL) and self.fit.soft[0] == 0:
                loss = self._out_of_bag(bags, problem, self._local(top, place))
                if loss >= best:
                    break
                best, chosen, place = loss, place, place + way
        return self._local(top, chosen)

    def _out_of_bag(self, bags: Grove, candidate: Problem, alpha: float) -> float:
        """Loss of a forest without a shared budget on the rows that trees lack."""
        from sorct.problem.penalty import Strengths

        grove = self.fit.mixed(bags.under(candidate)).at(Strengths(alpha, LEAST))
        said = grove.said(grove.grown(), candidate.data.rows)
        return out_of_bag_loss(candidate, said, unseen_rows(candidate, grove))

    def _candidates(self, problem: Problem) -> list[Problem]:
        """Settings to choose from, the simplest first."""
        plan, prepared = self.fit.plan, self.fit.prepared
        depth = problem.topology.depth
        depths, gammas = [depth], [problem.gamma]
        # By likelihood, directions are known to hold for one cut only.
        directed = bool(prepared.rules.signs) and prepared.by_log
        if plan.open_depth and not directed:
            least, more = 1, _DEEPER
            if not problem.of_quantity:
                n_classes = len(prepared.target)  # type: ignore[arg-type]
                least = smallest_depth(n_classes)
                more = _DEEPER if n_classes == 2 else _DEEPER_MANY
            depths = list(range(least, least + more + 1))
        if plan.open_gamma:
            gammas = [STEEPNESS[name] * problem.n_groups for name in ("gentle", "auto")]
        return [with_setting(problem, d, gamma) for d in depths for gamma in gammas]


def with_setting(problem: Problem, depth: int, gamma: float) -> Problem:
    """The problem for another depth and steepness."""
    from sorct.problem.datafit import Likelihood

    datafit = problem.datafit
    if isinstance(datafit, Likelihood):
        datafit = replace(datafit, learned=2**depth > 2)
    topology, penalty = Topology(depth), problem.penalty
    if problem.of_quantity:
        penalty = penalty.with_cuts(topology.n_branches)
    return replace(
        problem, topology=topology, datafit=datafit, gamma=gamma, penalty=penalty
    )
