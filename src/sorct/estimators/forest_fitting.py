"""Forest fitting: from a prepared table to a forest, step by step.

1. *Setting.* Depth, steepness and the local penalty that were left open are those with
   the least out-of-bag loss of a forest without a shared budget. Its trees know nothing
   of each other, so rows out of the bag are new to them.
2. *Variables, and how many trees* if several numbers are given. Single trees on all
   rows, along a path of global penalties, select variables for the forest. Which point
   of the path, and which number of trees, is best is found by cross-validation: once
   trees share a budget, what a tree uses depends on rows out of its bag, and the
   out-of-bag loss would flatter.
3. *Trees.* They are grown on the variables selected, each on its bag; or polished
   together under the penalty, if they are not to be relaxed.

Why this and not another scheme: docs/design/0014-forests.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.samples import Rows, TrainingSet
from sorct.data.target import unequal
from sorct.estimators.call import versions
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.forest_choice import ForestChoice
from sorct.estimators.forest_measures import (
    importances,
    losses_of,
    matters_most,
    out_of_bag_loss,
    out_of_bag_score,
    training_score,
    unseen_rows,
)
from sorct.estimators.forest_setting import LEAST, N_CHOOSING, ForestSetting
from sorct.estimators.limiting import allows
from sorct.solvers.solution import Status
from sorct.tree.forest import Forest, ForestRecord, of_one_steepness
from sorct.tree.path import Limits
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

    from sorct.problem.problem import Problem
    from sorct.search.forest import Grove
    from sorct.search.workers import Workers
    from sorct.tree.params import Params

# Shares of the strength that empties the forest, along a path.
_SHARES: FloatArray = 2.0 ** np.arange(-7.0, 0.0)
# Trees that are carried along that path.
_CARRIED = 8
# Trees that are grown before the out-of-bag loss is looked at again, and the share by
# which it must have fallen.
_BATCH, _FALLS = 5, 0.005
#: Rows that choices are made on, at most; trees are then grown on bags of all rows.
LOOK_ROWS = 4096
# Trees that are grown before the time is looked at again.
_AT_ONCE = 8
# Doublings of the local penalty until no cut has too many variables.
_DOUBLINGS = 16


@dataclass(frozen=True)
class ForestPlan:
    """How a forest is asked for, checked.

    Attributes
    ----------
    n_trees : tuple of int, rising
        Numbers of trees to choose from, mostly one.
    n_starts, n_folds : int
    kind : str
        How bags are drawn, see ``data/bags.py``.
    alpha_local : float or None
        None: chosen by the out-of-bag loss.
    alpha_global : float or None
        None: chosen by cross-validation.
    limits : Limits
        On the variables of the whole forest, and of a cut.
    relax : bool
        Whether trees are grown anew on the variables selected.
    rule : str
        How the number of variables is chosen.
    early_stopping, mixed : bool
        Whether trees that no longer help are left out; whether every other tree
        minimises the expected cost.
    open_depth, open_gamma : bool
        Whether depth and steepness are chosen.
    n_draws : float
        Rows that the training rows stand for.
    """

    n_trees: tuple[int, ...]
    n_starts: int
    n_folds: int
    kind: str
    alpha_local: float | None
    alpha_global: float | None
    limits: Limits
    relax: bool
    rule: str
    early_stopping: bool
    mixed: bool
    open_depth: bool
    open_gamma: bool
    n_draws: float


@dataclass
class ForestFit:
    """A forest in the making."""

    plan: ForestPlan
    prepared: Prepared
    model: Model
    seed: int
    n_jobs: int | None
    workers: Workers
    soft: IntArray
    hard: IntArray

    def run(self) -> Forest:
        """All three steps."""
        from sorct.problem.penalty import Strengths

        plan = self.plan
        self.choice: ForestChoice | None = None
        self.n_trees = plan.n_trees[-1]
        self.told: tuple[float, float] | None = None
        self.alpha_global = plan.alpha_global or 0.0
        data = self.prepared.problem.data
        self.look, self.alpha_local = ForestSetting(self).choose(
            self.prepared.problem.fewer(LOOK_ROWS)
        )
        problem = replace(self.look, data=data)
        self.prepared = replace(self.prepared, problem=problem)
        self.least = Strengths(self.alpha_local, LEAST)
        groups = self._groups()
        whole = self.grove(problem, self.n_trees, late=self.hard)
        if plan.relax or self.alpha_global == 0.0:
            params = self._grown(whole, groups)
        else:
            params = self._joint(whole, groups)
        whole = whole.some(0, len(params))
        weights = np.full(len(params), 1.0 / len(params))
        return self._forest(whole, self._all_thin(whole, params), weights)

    @property
    def results(self) -> pd.DataFrame | None:
        """What was chosen from; None where nothing was left to choose."""
        return None if self.choice is None else self.choice.frame()

    # -- bags ------------------------------------------------------------------------

    def grove(
        self, problem: Problem, n_trees: int, late: IntArray | None = None
    ) -> Grove:
        """Bags of a problem's rows; every other tree by the cost, if asked for."""
        from sorct.search.forest import Grove

        plan, n_rows = self.plan, self.prepared.problem.data.blocks.n_rows
        share = problem.data.blocks.n_rows / n_rows
        options = plan.kind, share * plan.n_draws, plan.n_starts, self.seed
        found = Grove.drawn(problem, n_trees, *options, self.workers, self.soft, late)
        return self.mixed(found)

    def mixed(self, grove: Grove) -> Grove:
        """The same bags, every other tree by the cost, if asked for."""
        from sorct.problem.datafit import ExpectedCost

        if not self.plan.mixed:
            return grove
        costs = self.prepared.problem.costs
        by_cost = ExpectedCost(costs.cost_matrix, costs.first)
        problems = tuple(
            replace(problem, datafit=by_cost) if b % 2 else problem
            for b, problem in enumerate(grove.problems)
        )
        return replace(grove, problems=problems)

    # -- variables -------------------------------------------------------------------

    def _groups(self) -> IntArray:
        """Groups of columns that the forest may use."""
        plan, problem = self.plan, self.look
        is_free = plan.alpha_global == 0.0 and not plan.limits.on_variables
        alphas = np.zeros(1) if is_free else self._alphas()
        offers = [np.arange(problem.n_groups)]
        if not is_free:
            offers = self._offers(problem, alphas)
        if plan.alpha_global is not None:
            by_penalty = plan.relax or plan.limits.on_variables
            alphas = alphas[-1:]
            offers = offers[-1:] if by_penalty else offers[:1]
        if len(offers) * len(plan.n_trees) == 1:
            return offers[0]
        return offers[self._choose(offers, alphas)]

    def _alphas(self) -> FloatArray:
        """Global penalties along the path; the first is none."""
        from sorct.search.strongest import emptying_strength

        asked = self.plan.alpha_global
        if asked is not None:
            return np.array([0.0, 0.25 * asked, asked] if asked > 0.0 else [0.0])
        top = emptying_strength(self.look, self.seed, of_global=True, stop=self.soft)
        return np.append(0.0, top * _SHARES)

    def _offers(self, problem: Problem, alphas: FloatArray) -> list[IntArray]:
        """Groups that every point of the path selects, within the limits.

        Without a penalty that is all of them.
        """
        from sorct.problem.restriction import used_groups
        from sorct.search.forest import IN_FOREST
        from sorct.search.sweep import Grid, Sweep

        sweep = Sweep(IN_FOREST, _CARRIED, self.n_jobs)
        grid = Grid((self.alpha_local,), tuple(alphas.tolist()))
        swept = sweep.run(problem, grid, self.seed, stop=self.soft)
        found = [np.arange(problem.n_groups)]
        found += [used_groups(problem, one.params) for one in swept.solutions[1:]]
        return [
            self._trimmed(groups, problem, solution.params)
            for groups, solution in zip(found, swept.solutions, strict=True)
        ]

    def _trimmed(self, groups: IntArray, problem: Problem, params: Params) -> IntArray:
        """The groups that matter most, as many as the limits allow."""
        limits, variable = self.plan.limits, self.prepared.group_variable
        if allows(self.prepared, limits, np.unique(variable[groups])):
            return groups
        order = matters_most(problem, params)
        kept: list[int] = []
        for group in order[np.isin(order, groups)].tolist():
            together = np.unique(variable[[*kept, group]])
            if allows(self.prepared, limits, together):
                kept.append(group)
        return np.array(sorted(kept), dtype=np.int64)

    def _choose(self, offers: Sequence[IntArray], alphas: FloatArray) -> int:
        """The point of the path with the least loss on held-out rows."""
        held = self._held_out(alphas)
        if held is None:
            return 0
        losses, weight = held
        sizes = np.array([groups.size for groups in offers])
        self.choice = ForestChoice.of(
            alphas, sizes, self.plan.n_trees, losses, weight, self.plan.rule
        )
        point, place = self.choice.chosen
        self.alpha_global, self.n_trees = float(alphas[point]), self.plan.n_trees[place]
        return point

    def _held_out(self, alphas: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Losses of held-out rows at every point, and weights; None without time.

        Of shape (n_points, len(n_trees), n_rows).
        """
        rows = self.look.data.rows
        found: list[FloatArray] = []
        weights: list[FloatArray] = []
        for inside, outside in self._folds(rows):
            losses = self._fold(rows.take(inside), rows.take(outside), alphas)
            if self.soft[0] != 0:
                break
            found.append(losses)
            weights.append(rows.weight[outside])
        if not found:
            return None
        return np.concatenate(found, axis=2), np.concatenate(weights)

    def _folds(self, rows: Rows) -> list[tuple[IntArray, IntArray]]:
        """Folds of the merged rows; every class stays in every training part."""
        n_folds, least = self.plan.n_folds, rows.codes.size
        if rows.response is None:
            least = int(np.bincount(rows.codes).min())
        if least < 2:
            return []
        splitter = self.prepared.target.splitter(min(n_folds, least), self.seed)
        return list(splitter.split(np.zeros((rows.codes.size, 1)), rows.codes))

    def _fold(self, inside: Rows, outside: Rows, alphas: FloatArray) -> FloatArray:
        problem, sizes = self.look, self.plan.n_trees
        data = TrainingSet.from_rows(inside, problem.data.n_codes)
        if len(sizes) == 1:
            sizes = (min(sizes[0], N_CHOOSING),)
        part = replace(problem, data=data)
        grove = self.grove(part, sizes[-1])
        known: dict[bytes, list[FloatArray]] = {}
        losses = []
        for groups in self._offered(part, alphas):
            key = groups.tobytes()
            if key not in known:
                trees = grove.at(self.least).anew(groups)
                said = grove.said(trees, outside)
                known[key] = [
                    losses_of(problem, said[:n].mean(axis=0), outside) for n in sizes
                ]
            losses.append(known[key])
        return np.array(losses)

    def _offered(self, part: Problem, alphas: FloatArray) -> list[IntArray]:
        """What the points of a path select on the rows of a fold."""
        if alphas.size == 1 and alphas[0] == 0.0 and not self.plan.limits.on_variables:
            return [np.arange(part.n_groups)]
        if self.plan.alpha_global is None:
            return self._offers(part, alphas)
        return self._offers(part, self._alphas())[-1:]

    # -- trees -----------------------------------------------------------------------

    def _grown(self, whole: Grove, groups: IntArray) -> list[Params]:
        """Trees on the variables selected: as many as help, or time allows, or all."""
        whole = replace(whole.at(self.least), stop=self.hard)
        if not self.plan.early_stopping or self.plan.kind == "all":
            return self._all_grown(whole, groups)
        problem, last = self.prepared.problem, np.inf
        params: list[Params] = []
        parts: list[FloatArray] = []
        for first in range(0, len(whole.problems), _BATCH):
            batch = whole.some(first, first + _BATCH)
            found = batch.anew(groups)
            params += found
            parts += list(batch.said(found, problem.data.rows))
            outside = unseen_rows(problem, whole)[: len(params)]
            loss = out_of_bag_loss(problem, np.array(parts), outside)
            if loss > (1.0 - _FALLS) * last:
                break
            last = loss
        return params

    def _all_grown(self, whole: Grove, groups: IntArray) -> list[Params]:
        """All trees, or those that were begun when time was up."""
        params: list[Params] = []
        for first in range(0, len(whole.problems), _AT_ONCE):
            if params and self.hard[0] != 0:
                break
            params += whole.some(first, first + _AT_ONCE).anew(groups)
        return params

    def _joint(self, whole: Grove, groups: IntArray) -> list[Params]:
        """Trees polished together under the penalty."""
        from sorct.problem.penalty import Strengths
        from sorct.search.forest import IN_FOREST
        from sorct.search.relax import RELAXED
        from sorct.solvers.jointly import JointPolish

        pair = Strengths(self.alpha_local, self.alpha_global)
        hard = replace(whole.at(pair), stop=self.hard)

        def polish(small: Grove) -> Sequence[Params]:
            start = small.eased(RELAXED).grown()
            end = small.polished(start, JointPolish(IN_FOREST))
            self.told = end.objective, end.residual
            return end.params

        return hard.on(groups, polish)

    def _all_thin(self, grove: Grove, params: Sequence[Params]) -> list[Params]:
        """All trees, such that no cut has too many variables."""
        most = self.plan.limits.max_features_per_cut
        if most is None or all(self._widest(one) <= most for one in params):
            return list(params)
        groups = grove.used(params)
        pairs = zip(grove.problems, params, strict=False)
        calls = [partial(self._thin, *pair, groups, int(most)) for pair in pairs]
        return list(self.workers.run(calls))

    def _thin(
        self, problem: Problem, params: Params, groups: IntArray, most: int
    ) -> Params:
        """A tree with short cuts near another; it may use what the forest uses.

        Cuts are shortened at once, and after a penalty has made them sparser: what is
        best of a long cut may be of little use alone.
        """
        from sorct.problem.restriction import Restriction
        from sorct.search.forest import IN_FOREST
        from sorct.search.per_cut import PerCut

        if self._widest(params) <= most:
            return params
        small = Restriction.of(problem.at(self.least), groups)
        still = replace(IN_FOREST, max_iter=1, max_rounds=1)
        variable = self.prepared.group_variable[groups]
        cuts = PerCut(small.part, IN_FOREST, variable, most, stop=self.hard)
        found = [
            cuts.within(still.solve(small.part, small.down(start)))
            for start in (params, self._sparser(problem, params, most))
        ]
        best = min(found, key=lambda one: one.cost)
        return self._cut_down(small.up(best.params), most)

    def _sparser(self, problem: Problem, params: Params, most: int) -> Params:
        """Raise the local penalty until cuts are short, or nothing would be left."""
        from sorct.problem.penalty import Strengths
        from sorct.problem.restriction import Restriction, used_groups
        from sorct.search.forest import IN_FOREST

        alpha = max(self.alpha_local, 1e-3)
        for _ in range(_DOUBLINGS):
            alpha *= 2.0
            groups = used_groups(problem, params)
            small = Restriction.of(problem.at(Strengths(alpha, 0.0)), groups)
            start = small.down(params)
            found = small.up(IN_FOREST.solve(small.part, start, stop=self.hard).params)
            if not found.penalised.any():
                break
            params = found
            if self._widest(params) <= most:
                break
        return params

    def _widest(self, params: Params) -> int:
        """Number of variables in the cut that uses most."""
        columns = self.prepared.encoder.column_variable
        used = params.penalised != 0.0
        return max(np.unique(columns[one]).size for one in used.T)

    def _cut_down(self, params: Params, most: int) -> Params:
        """Keep the largest coefficients of cuts, and leaves, with too many."""
        columns, coef = self.prepared.encoder.column_variable, params.penalised.copy()
        for t in range(coef.shape[1]):
            size = np.zeros(columns.max() + 1)
            np.maximum.at(size, columns, np.abs(coef[:, t]))
            kept = np.argsort(-size, kind="stable")[:most]
            coef[~np.isin(columns, kept), t] = 0.0
        cuts, slopes = np.split(coef, [params.coef.shape[1]], axis=1)
        own = None if params.leaf_coef is None else slopes
        return replace(params, coef=cuts, leaf_coef=own)

    # -- the forest ------------------------------------------------------------------

    def _forest(
        self,
        grove: Grove,
        params: Sequence[Params],
        weights: FloatArray,
        first: Tree | None = None,
    ) -> Forest:
        """The trees with names and units, or the first as it is, and what they say."""
        known = [] if first is None else [first]
        pairs = list(zip(grove.problems, params, strict=True))[len(known) :]
        trees = (*known, *(self._tree(problem, one) for problem, one in pairs))
        prepared = self.prepared
        costs = None
        if not prepared.problem.of_quantity:
            matrix = prepared.problem.costs.cost_matrix
            costs = matrix if unequal(matrix) else None
        score, loss = out_of_bag_score(prepared, grove, params, costs)
        drop, permutation = importances(prepared, grove, params, weights, self.seed)
        late = self.hard[0] != 0 or self.soft[0] != 0
        told = ForestRecord(
            alpha_local=self.alpha_local,
            alpha_global=self.alpha_global,
            objective=self.told[0] if self.told else None,
            residual=self.told[1] if self.told else None,
            oob_score=score,
            oob_loss=loss,
            oob_scoring=None if score is None else self._scoring,
            cv_loss=None if self.choice is None else self.choice.cv_loss,
            drop=drop,
            permutation=permutation,
            n_samples=prepared.n_samples,
            call=prepared.call,
            status=str(Status.TIME_LIMIT if late else Status.CONVERGED),
            loss=str(self.model.loss),
            versions=versions(),
        )
        forest = Forest(of_one_steepness(trees), weights, costs)
        told = replace(told, training_score=training_score(prepared, forest))
        return replace(forest, training=told)

    def _tree(self, problem: Problem, params: Params) -> Tree:
        """A tree of the forest with names and units; idle cuts are taken away."""
        from sorct.search.polish import without_idle_cuts
        from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

        still = AugmentedLagrangian(max_iter=1, max_rounds=1)
        found = without_idle_cuts(problem, still.solve(problem, params))
        own = replace(self.prepared, problem=problem)
        alphas = self.alpha_local, self.alpha_global
        tree = own.tree(found, alphas, str(Status.CONVERGED))
        told = replace(tree.training, call=None, versions=None)
        return replace(tree, training=told)

    @property
    def _scoring(self) -> str:
        return "R2" if self.prepared.problem.of_quantity else "accuracy"
