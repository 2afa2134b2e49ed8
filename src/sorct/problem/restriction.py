"""Restriction: a problem on some variables alone, with fewer columns to look at.

Trees go down to it and come up again unchanged: scores, penalties and bounds are the
same numbers, and only the units in which thresholds are told differ, since a cut's sum
is divided by the number of groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.problem import Problem
from sorct.problem.thresholds import clip_thresholds
from sorct.tree.params import Params


def used_groups(problem: Problem, params: Params) -> IntArray:
    """Groups of columns that some cut of a tree uses."""
    used = params.penalised.any(axis=1)
    starts = problem.penalty.start[:-1]
    return np.flatnonzero(np.logical_or.reduceat(used, starts))


@dataclass(frozen=True)
class Restriction:
    """A problem, the columns of some of its groups, and the problem on these alone."""

    whole: Problem
    groups: IntArray
    columns: IntArray
    part: Problem

    @classmethod
    def of(cls, problem: Problem, groups: IntArray) -> Restriction:
        """Keep some groups, at least one."""
        columns = problem.penalty.columns_of(groups)
        part = replace(
            problem,
            data=problem.data.some_columns(columns),
            penalty=problem.penalty.restricted(groups),
            gamma=problem.gamma * len(groups) / problem.n_groups,
        )
        return cls(problem, groups, columns, part)

    @property
    def share(self) -> float:
        """What a strength of 1 of the whole problem is in the part.

        Strengths multiply means over the groups, of which the part has fewer.
        """
        return self.part.n_groups / self.whole.n_groups

    def down(self, params: Params) -> Params:
        """A tree of the whole problem without the other columns."""
        threshold = params.threshold * (self.whole.n_groups / self.part.n_groups)
        slopes = params.leaf_coef
        return replace(
            params,
            coef=params.coef[self.columns],
            threshold=clip_thresholds(threshold),
            leaf_coef=None if slopes is None else slopes[self.columns],
        )

    def up(self, params: Params) -> Params:
        """A tree of the part as one of the whole problem."""
        threshold = params.threshold * (self.part.n_groups / self.whole.n_groups)
        slopes = params.leaf_coef
        return replace(
            params,
            coef=self._raised(params.coef),
            threshold=threshold,
            leaf_coef=None if slopes is None else self._raised(slopes),
        )

    def _raised(self, coef: FloatArray) -> FloatArray:
        """Coefficients of all columns; those that were left out are 0."""
        raised = np.zeros((self.whole.data.n_columns, coef.shape[1]))
        raised[self.columns] = coef
        return raised
