"""Forest raced: the tree that a race chooses, and trees on bags beside it.

The race (``SORCTClassifierCV`` or ``SORCTRegressorCV``) chooses scaling, depth,
steepness, penalty, what the leaves of a quantity say and, within the limits, the
variables. Its tree is the first of the forest and counts as much as all
others together: these are grown on bags of rows from the same variables, one cut deeper
and under a small share of its penalty, so that they see what it had to leave out.
Variables that such a forest has no use for may be left out (``forest_pruning.py``).

Why so: docs/design/0014-forests.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import IntArray
from sorct.data.bags import ALL, HALF
from sorct.data.samples import MANY_ROWS
from sorct.estimators.finishing import params_of
from sorct.estimators.fitting import STEEPNESS, Model
from sorct.estimators.forest_fitting import LOOK_ROWS, ForestFit
from sorct.estimators.forest_pruning import N_BAGS, useful_variables
from sorct.estimators.forest_setting import LEAST, with_setting
from sorct.estimators.rows import Data
from sorct.estimators.tree_search import TreeSearch
from sorct.tree.forest import Forest
from sorct.tree.importance import variable_importances
from sorct.tree.params import Params
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

    from sorct.problem.problem import Problem
    from sorct.search.forest import Grove

#: The rule by which variables of little use to the forest are left out.
FEWEST = "fewest"
# How much the tree of the race counts.
_SHARE = 0.5
# Trees beside it are one cut deeper, but not deeper than this on their own account.
_DEEP = 3


@dataclass(frozen=True)
class Raced:
    """What a race has chosen.

    Attributes
    ----------
    tree : Tree
    params : dict
        Its settings, see ``SORCTClassifierCV.best_params_``.
    results : DataFrame
        What it was chosen from.
    model : Model
        The same as trees are trained with.
    whole : bool
        Whether the race has seen all rows: of very many it sees some.
    """

    tree: Tree
    params: dict[str, Any]
    results: pd.DataFrame
    model: Model
    whole: bool

    @classmethod
    def of(cls, search: TreeSearch, rows: Data, *, whole: bool) -> Raced:
        """Run the race on rows, which may be some of very many."""
        search.fit(rows.X, rows.y, rows.weight)
        model = search._model
        # Only a race that time has ended may lack it, and none has a limit here.
        assert model is not None
        found = search.tree_, search.best_params_, search.cv_results_, model
        return cls(*found, whole)


@dataclass
class RacedFit(ForestFit):
    """A forest around the tree of a race."""

    raced: Raced

    def run(self) -> Forest:
        """The tree of the race, and trees on bags."""
        from sorct.problem.penalty import Strengths
        from sorct.search.relax import RELAXED

        params, whole = self.raced.params, self.prepared.problem
        self.choice, self.told = None, None
        self.alpha_local = params["relaxed"] * params["alpha_local"]
        self.alpha_global = params["relaxed"] * params["alpha_global"]
        self.least = Strengths(RELAXED * self.alpha_local, LEAST)
        first = self._first_grove(whole)
        problem = with_setting(whole, self._depth, self._steepness * whole.n_groups)
        groups = self._useful_groups(problem)
        trees = self._first_tree(first, groups)
        self.prepared = replace(self.prepared, problem=problem)
        n_others = self.plan.n_trees[-1] - 1
        if n_others == 0:
            return self._forest(first, trees, np.ones(1), self._kept)
        bags = replace(self.grove(problem, n_others), greedy=self._greedy_rows)
        others = self._all_thin(bags, self._grown(bags, groups))
        weights = np.full(1 + len(others), (1.0 - _SHARE) / len(others))
        weights[0] = _SHARE
        grove = first.beside(bags.some(0, len(others)))
        return self._forest(grove, [*trees, *others], weights, self._kept)

    @property
    def results(self) -> pd.DataFrame:
        """What the race has chosen from."""
        return self.raced.results

    @property
    def _kept(self) -> Tree | None:
        """The tree of the race as it is, if that is one of all rows and variables."""
        if self._anew:
            return None
        tree = self.raced.tree
        told = replace(tree.training, call=None, versions=None)
        own = self.prepared
        return replace(tree, encoder=own.encoder, target=own.target, training=told)

    @property
    def _depth(self) -> int:
        """Depth of the trees on bags; directions hold for as many cuts as raced."""
        depth = self.raced.tree.depth
        return depth if self.prepared.rules.signs else max(depth, min(depth + 1, _DEEP))

    @property
    def _is_greedy(self) -> bool:
        """Whether the race began with greedy trees, so that those on bags do, too."""
        return bool(self.raced.model.preselect == "greedy")

    @property
    def _greedy_rows(self) -> float:
        """Rows that a bag stands for, if trees begin with greedy ones, or 0."""
        half = 0.5 if self.plan.kind == HALF else 1.0
        return half * min(self.plan.n_draws, MANY_ROWS) if self._is_greedy else 0.0

    @property
    def _steepness(self) -> float:
        """Steepness per group of the trees on bags; greedy ones need steep cuts."""
        if not self._is_greedy:
            return STEEPNESS["auto"]
        return self.raced.tree.gamma / self.raced.tree.encoder.n_groups

    def _groups(self) -> IntArray:
        """Groups of columns of the variables that the race has chosen."""
        used = self.raced.tree.variables_at()
        return np.flatnonzero(np.isin(self.prepared.group_variable, used))

    def _useful_groups(self, problem: Problem) -> IntArray:
        """All of them or, if asked for, those that the forest has a use for.

        ``problem`` is that of the trees on bags.
        """
        groups, variable = self._groups(), self.prepared.group_variable
        used = np.unique(variable[groups])
        self._anew = not self.raced.whole
        if self.plan.rule != FEWEST or used.size < 2:
            return groups
        look = problem.fewer(LOOK_ROWS)
        bags = self.grove(look, N_BAGS).at(self.least)
        order = self._order(bags, groups, used)
        kept = useful_variables(look, bags, order, variable)
        if kept.size == used.size:
            return groups
        self._anew = True
        return np.flatnonzero(np.isin(variable, kept))

    def _order(self, bags: Grove, groups: IntArray, used: IntArray) -> IntArray:
        """Variables by how much the trees on bags make of them, the most first."""
        pairs = zip(bags.problems, bags.anew(groups), strict=True)
        made = [variable_importances(self._tree(*pair)) for pair in pairs]
        return used[np.argsort(-np.mean(made, axis=0)[used], kind="stable")]

    def _first_grove(self, whole: Problem) -> Grove:
        """All rows of a problem, under what the race has chosen."""
        from sorct.problem.penalty import Strengths
        from sorct.search.forest import Grove

        tree = self.raced.tree
        per_group = tree.gamma / tree.encoder.n_groups
        problem = with_setting(whole, tree.depth, per_group * whole.n_groups)
        options = ALL, 1.0, self.plan.n_starts, self.seed, self.workers, self.hard
        grove = Grove.drawn(problem, 1, *options)
        grove = replace(grove, greedy=self._greedy_rows)
        return grove.at(Strengths(self.alpha_local, self.alpha_global))

    def _first_tree(self, grove: Grove, groups: IntArray) -> list[Params]:
        """The tree of the race; grown anew on other rows or variables than it had."""
        if self._anew:
            some = tuple(one.subsampled for one in grove.problems)
            return self._all_thin(grove, replace(grove, problems=some).anew(groups))
        tree = self.raced.tree
        if tree.of_quantity:
            # Leaves say numbers in units of y, which training has not.
            return [params_of(tree, self.prepared)]
        return [Params(tree.coef, tree.threshold, tree.leaf_class, tree.leaf_proba)]
