"""Proximal steps for one row of coefficients: compiled, in place, exact.

For a row v over all cuts, the minimiser over x in [-1, 1]^B of

    1/2 ||x - v||^2 + local ||x||_1 + spread ||x||_inf

is the composition soft threshold -> l-inf prox -> clip, in this order: each step keeps
the subdifferential of the ones before it. Zeros are exact zeros.
"""

from sorct._typing import FloatArray
from sorct.problem.compilation import compiled


@compiled
def soft_threshold(row: FloatArray, amount: float) -> None:
    """Prox of amount * l1: sign(v) max(|v| - amount, 0)."""
    for t in range(row.size):
        size = abs(row[t]) - amount
        if size <= 0.0:
            row[t] = 0.0
        elif row[t] > 0.0:
            row[t] = size
        else:
            row[t] = -size


@compiled
def largest_after_prox(row: FloatArray, amount: float) -> float:
    """Find the size tau >= 0 to which the prox of amount * l-inf cuts the row.

    tau solves sum_t max(|v_t| - tau, 0) = amount. Entries below the running value of
    tau leave the sum until none does, which takes a finite number of rounds.
    """
    total = 0.0
    for t in range(row.size):
        total += abs(row[t])
    if total <= amount:
        return 0.0
    n_active = row.size
    tau = (total - amount) / n_active
    while True:
        total, n_above = 0.0, 0
        for t in range(row.size):
            if abs(row[t]) > tau:
                total += abs(row[t])
                n_above += 1
        # Rounding may bring an entry back; only a shorter list goes on.
        if n_above >= n_active or n_above == 0:
            return tau
        n_active = n_above
        tau = (total - amount) / n_active


@compiled
def clip(row: FloatArray, limit: float) -> None:
    """Projection on [-limit, limit]."""
    for t in range(row.size):
        if row[t] > limit:
            row[t] = limit
        elif row[t] < -limit:
            row[t] = -limit


@compiled
def prox_row(row: FloatArray, local: float, spread: float) -> None:
    """Prox of local * l1 + spread * l-inf + box [-1, 1]."""
    if local > 0.0:
        soft_threshold(row, local)
    if spread > 0.0:
        clip(row, largest_after_prox(row, spread))
    clip(row, 1.0)
