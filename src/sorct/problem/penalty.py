"""Sparsity: the two penalties on the coefficients, in scale-free strengths.

    alpha_local mean_{j,t} |a_jt|  +  alpha_global mean_j max_t |a_jt|

The first empties single cuts, the second drops a column from the whole tree. Because
they are means, a strength means the same on every data set; the paper's grid value 2^r
is exactly alpha = 2^r. Both act on one row of ``coef`` at a time.
"""

from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray
from sorct.problem.compilation import compiled
from sorct.problem.prox import prox_row


@compiled
def penalty_value(coef: FloatArray, local: float, spread: float) -> float:
    """Compute local * sum |a_jt| + spread * sum_j max_t |a_jt|."""
    value = 0.0
    for j in range(coef.shape[0]):
        largest, total = 0.0, 0.0
        for t in range(coef.shape[1]):
            size = abs(coef[j, t])
            total += size
            largest = max(largest, size)
        value += local * total + spread * largest
    return value


@dataclass(frozen=True)
class Sparsity:
    """Local (l1) and global (l-infinity) sparsity of the cuts."""

    alpha_local: float = 0.0
    alpha_global: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha_local", "alpha_global"):
            strength = getattr(self, name)
            if not (np.isfinite(strength) and strength >= 0):
                raise ValueError(
                    f"{name} must be a finite number >= 0, got {strength!r}."
                )

    def scaled(self, share: float) -> "Sparsity":
        """Both strengths times a share."""
        return Sparsity(share * self.alpha_local, share * self.alpha_global)

    def local_weight(self, n_features: int, n_branches: int) -> float:
        """Weight of every |a_jt|: the paper's lambda^L."""
        return self.alpha_local / (n_features * n_branches)

    def spread_weight(self, n_features: int) -> float:
        """Weight of every max_t |a_jt|: the paper's lambda^G."""
        return self.alpha_global / n_features

    def value(self, coef: FloatArray) -> float:
        """Penalty of a coefficient matrix of shape (n_features, n_branches)."""
        p, n_branches = coef.shape
        local, spread = self.local_weight(p, n_branches), self.spread_weight(p)
        return float(penalty_value(coef, local, spread))

    def prox(self, coef: FloatArray, step: float) -> FloatArray:
        """Minimise ||x - coef||^2 / 2 + step * value(x) over x in [-1, 1]."""
        p, n_branches = coef.shape
        local, spread = self.local_weight(p, n_branches), self.spread_weight(p)
        result = np.array(coef, dtype=np.float64, order="C")
        for row in result:
            prox_row(row, step * local, step * spread)
        return result
