"""Work: what evaluations cost, and how much of it a search may do.

Work is counted in rows x columns x cuts x evaluations.
"""

from __future__ import annotations

from dataclasses import replace

from sorct.data.samples import Samples
from sorct.problem.problem import Problem
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

#: Work after which no search goes on for long: 20 seconds or so.
MAX_WORK = 4e10
#: Columns that are very many, and cuts that are.
WIDE, _MANY_CUTS = 1024, 63
# What a row and a column cost beside their product; what a core does in a second, and
# where columns or cuts are very many.
_PER_ROW, _PER_COLUMN = 24, 40
_PER_SECOND, _WIDE_PER_SECOND = 2e9, 7e8
# Iterations that a descent may always take.
_FEWEST = 200


def is_wide(problem: Problem) -> bool:
    """Whether columns or cuts are so many that a search has to be cut short."""
    wide = problem.data.n_columns > WIDE
    return wide or problem.topology.n_branches > _MANY_CUTS


def work_of(problem: Problem) -> float:
    """Work of an evaluation."""
    samples, n_branches = problem.data.samples, problem.topology.n_branches
    size = samples.weight.size * samples.width
    if is_wide(problem):
        size += _PER_ROW * samples.weight.size + _PER_COLUMN * samples.n_columns
    return float(size * n_branches)


def work_per_second(problem: Problem) -> float:
    """Work that a core does in a second, about."""
    return _WIDE_PER_SECOND if is_wide(problem) else _PER_SECOND


def bounded(solver: AugmentedLagrangian, problem: Problem) -> AugmentedLagrangian:
    """The solver, whose work has an end where columns or cuts are very many.

    Descents on rows in parts have one of their own.
    """
    if not is_wide(problem) or not isinstance(problem.data.samples, Samples):
        return solver
    most = max(int(MAX_WORK / work_of(problem)), _FEWEST)
    return replace(solver, max_iter=min(solver.max_iter, most))
