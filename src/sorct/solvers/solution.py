"""Solution: a tree with its certificate, and how its training ended."""

from dataclasses import dataclass
from enum import StrEnum

from sorct._typing import FloatArray
from sorct.tree.params import Params

# A floor counts as met when it is missed by less than this.
FEASIBLE = 1e-5


class Status(StrEnum):
    """How training ended; ``sentence`` says it to people."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"
    INFEASIBLE = "infeasible"

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.CONVERGED: "The stationarity residual is at most tol.",
    Status.MAX_ITER: "max_iter was reached before the residual fell to tol.",
    Status.TIME_LIMIT: "time_limit was reached; this is the best tree so far.",
    Status.STOPPED: "The callback stopped the fit; this is the best tree so far.",
    Status.INFEASIBLE: "No tree was found that meets min_recall.",
}


@dataclass(frozen=True)
class Solution:
    """What one start led to.

    Attributes
    ----------
    params : Params
    objective, cost : float
        Penalised objective, and the expected cost alone.
    recall : array of shape (n_classes,), expected recall on the training sample
    violation : float
        By how much the worst floor is missed.
    attained : array of shape (n_classes,)
        Mean rewards that the constraint's floors are under: the recalls, where the
        floors are on recall.
    multiplier : array of shape (n_classes,)
        Multipliers of the floors: what a slightly higher floor would cost, per unit.
    residual : float
        Length of the proximal gradient step of the Lagrangian, 0 at a stationary point.
    mass : array of shape (n_classes, n_leaves), share of the sample by class and leaf
    norms : pair of float
        Parts of the penalty per unit of strength, see ``Penalty.norms``.
    status : Status
    first : float
        Objective (with the terms of missed floors) where the descent began.
    n_iterations, n_evaluations : int
        Steps of the solver, and passes over the training sample.
    """

    params: Params
    objective: float
    cost: float
    recall: FloatArray
    violation: float
    attained: FloatArray
    multiplier: FloatArray
    residual: float
    mass: FloatArray
    norms: tuple[float, float]
    status: Status
    first: float
    n_iterations: int
    n_evaluations: int

    @property
    def feasible(self) -> bool:
        """Whether every floor is met."""
        return self.violation <= FEASIBLE

    def better_than(self, other: "Solution") -> bool:
        """Feasible before infeasible, then the smaller violation or objective."""
        if self.feasible and other.feasible:
            return self.objective < other.objective
        return self.violation < other.violation
