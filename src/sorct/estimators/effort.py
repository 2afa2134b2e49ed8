"""Effort: how exactly and how long to search, and the error if floors are not met."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state

from sorct.estimators.checks import check_n_jobs, check_real, check_whole

if TYPE_CHECKING:
    from sorct.solvers.augmented_lagrangian import AugmentedLagrangian


class InfeasibleError(ValueError):
    """No tree was found that meets the floors on recall, or the bounds on groups.

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
            expected = "a finite number of seconds > 0 or None"
            check_real("time_limit", self.time_limit, expected, positive=True)

    def solver(self) -> AugmentedLagrangian:
        """Solver that ends where it was asked to."""
        from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

        return AugmentedLagrangian(float(self.tol), min(int(self.max_iter), 2**31))

    def advice(self, n_iterations: int) -> str:
        """What to do about a tree whose descent ended so late with a residual."""
        if n_iterations >= self.max_iter:
            return f"Raise max_iter (it is {self.max_iter}) or tol."
        return (
            "More iterations would not help: steps have become too small to lower the "
            "objective any further. The tree can be used; raise tol to accept it. "
            "Where floors or bounds leave hardly any room, loosen them."
        )

    def seconds_left(self, spent: float) -> float | None:
        """Rest of the time limit, if there is one."""
        if self.time_limit is None:
            return None
        return max(float(self.time_limit) - spent, 0.0)

    def shared(self, n_trees: int) -> Effort:
        """Effort of one of several trees that share the time limit."""
        return self.part(1.0 / n_trees)

    def part(self, share: float) -> Effort:
        """Effort of work that may take this share of the time limit."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=share * float(self.time_limit))

    def seed(self) -> int:
        """Draw the seed of the search."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))
