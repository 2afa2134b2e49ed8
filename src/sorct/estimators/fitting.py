"""Prepare: from a user's table to a problem, and from a solution back to a tree.

The estimators and the path share it: what is checked, and how names and units come
back, is the same for all. The compiler is loaded here, after the checks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from sklearn.utils import check_random_state

from sorct._typing import FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.options import PAPER_TABLE, TableOptions
from sorct.data.samples import TrainingSet
from sorct.data.target import Classes
from sorct.estimators.call import versions
from sorct.estimators.checks import (
    check_n_jobs,
    check_real,
    check_whole,
    checked_cost_matrix,
    checked_floor,
    checked_samples,
    checked_topology,
)
from sorct.estimators.column_rules import ColumnRules
from sorct.tree.training import TrainingRecord
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.problem.problem import Problem
    from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
    from sorct.solvers.solution import Solution


class InfeasibleError(ValueError):
    """No tree was found that meets the floors on recall.

    Attributes
    ----------
    recall : dict
        Expected recall of every class in the tree that came closest.
    """

    def __init__(self, message: str, recall: dict[Any, float]) -> None:
        super().__init__(message, recall)
        self.recall = recall

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Model:
    """What defines a tree but for the data and the penalties; as the user gave it."""

    depth: Any = None
    cost_matrix: Any = None
    min_recall: float | Mapping[Any, float] | None = None
    gamma: Any = 512.0
    table: TableOptions = PAPER_TABLE
    monotonic_cst: Any = None
    positive_class: Any = None
    feature_cost: Any = None

    def check(self) -> None:
        """Check what can be checked without data."""
        check_real("gamma", self.gamma, "a finite number > 0", positive=True)
        self.table.check()


@dataclass(frozen=True)
class Effort:
    """How hard to try; as the user gave it."""

    tol: Any = 1e-6
    max_iter: Any = 2000
    time_limit: Any = None
    n_jobs: Any = None
    random_state: Any = None

    def check(self) -> None:
        """Check all of it."""
        check_real("tol", self.tol, "a finite number > 0", positive=True)
        check_whole("max_iter", self.max_iter)
        check_n_jobs(self.n_jobs)
        if self.time_limit is not None:
            expected = "a number of seconds > 0 or None"
            check_real("time_limit", self.time_limit, expected, positive=True)

    def solver(self) -> AugmentedLagrangian:
        """Solver that ends where it was asked to."""
        from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

        return AugmentedLagrangian(float(self.tol), min(int(self.max_iter), 2**31))

    def seconds_left(self, spent: float) -> float | None:
        """Rest of the time limit, if there is one."""
        if self.time_limit is None:
            return None
        return max(float(self.time_limit) - spent, 0.0)

    def seed(self) -> int:
        """Draw the seed of the search."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class Prepared:
    """A checked table as a training problem, without penalties yet.

    Attributes
    ----------
    encoder : TableEncoder
    target : Classes
    problem : Problem
    n_samples : int
        Rows of positive weight.
    call : str
        How the user asked for a tree.
    seconds : float
        Time that preparing took, without loading the compiled code.
    rules : ColumnRules
        Directions and prices of columns.
    """

    encoder: TableEncoder
    target: Classes
    problem: Problem
    n_samples: int
    call: str
    seconds: float
    rules: ColumnRules

    @classmethod
    def of(
        cls, X: Any, y: Any, sample_weight: Any, model: Model, call: str = ""
    ) -> Prepared:
        """Check the data, encode them, lay them out for the kernels."""
        begun = time.perf_counter()
        X, y, weight = checked_samples(X, y, sample_weight)
        encoder = TableEncoder.learn(X, model.table, weight)
        target = Classes.learn(y, weight)
        codes = target.codes(y)
        topology = checked_topology(model.depth, len(target))
        cost_matrix = checked_cost_matrix(model.cost_matrix, target)
        floor = checked_floor(model.min_recall, target)
        rules = ColumnRules.of(
            model.monotonic_cst,
            model.positive_class,
            model.feature_cost,
            encoder,
            target,
        )
        if encoder.n_columns == 0:
            raise ValueError("Expected a column with at least two levels, got none.")
        begun += _load_compiled_code()
        from sorct.problem.constraints import Constraint
        from sorct.problem.datafit import ExpectedCost
        from sorct.problem.penalty import Penalty, Strengths
        from sorct.problem.problem import Problem

        columns, n_classes = encoder.columns(X), len(target)
        problem = Problem(
            TrainingSet.from_columns(columns, codes, weight, n_classes),
            ExpectedCost(cost_matrix, rules.positive),
            Penalty.of(
                Strengths(),
                encoder.n_columns,
                1,
                start=encoder.group_start,
                **rules.arrays(encoder),
            ),
            Constraint.min_recall(floor),
            topology,
            float(model.gamma),
        )
        seconds = time.perf_counter() - begun
        return cls(encoder, target, problem, len(codes), call, seconds, rules)

    def tree(
        self,
        solution: Solution,
        alphas: tuple[float, float],
        status: str | None = None,
        search: str | None = None,
    ) -> Tree:
        """Bring a solution back to names and units."""
        params, problem = solution.params, self.problem
        return Tree(
            encoder=self.encoder,
            coef=params.coef,
            threshold=params.threshold,
            leaf_class=params.leaf_class,
            target=self.target,
            gamma=problem.gamma,
            cost_matrix=problem.datafit.cost_matrix,
            mass=solution.mass,
            training=TrainingRecord(
                alpha_local=alphas[0],
                alpha_global=alphas[1],
                min_recall=tuple(problem.constraint.floor.tolist()),
                recall=tuple(solution.recall.tolist()),
                objective=solution.objective,
                cost=solution.cost,
                residual=solution.residual,
                n_iterations=solution.n_iterations,
                status=status or str(solution.status),
                n_samples=self.n_samples,
                call=self.call,
                versions=versions(),
                search=search,
                **self.rules.record(self.target),
            ),
        )

    def refuse(self, best: Solution, tried: str, effort: str) -> NoReturn:
        """Raise the error of floors that could not be met, naming what could help."""
        floor: FloatArray = self.problem.constraint.floor
        rates = {
            label: float(rate)
            for label, rate in zip(
                self.target.labels.tolist(), best.recall, strict=True
            )
        }
        shown = ", ".join(
            f"{label!r}: {rate:.4f} (asked {asked:g})"
            for (label, rate), asked in zip(rates.items(), floor, strict=True)
        )
        raise InfeasibleError(
            f"min_recall could not be met by {tried}. Best rates attained on the "
            f"training sample: {shown}. Lower min_recall, lower the alphas, or raise "
            f"depth, {effort} or time_limit.",
            rates,
        )


def _load_compiled_code() -> float:
    """Seconds that compiling or loading took: no time limit counts them."""
    begun = time.perf_counter()
    from sorct.search.warm_up import warm_up

    warm_up()
    return time.perf_counter() - begun
