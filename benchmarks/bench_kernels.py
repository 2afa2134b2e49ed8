"""One evaluation (mass matrix and gradient) against the BLAS products in it."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import best_seconds, print_table
from sorct.data.samples import HeldColumns, make_samples
from sorct.problem import kernels
from sorct.problem.compilation import compiled, unchecked_entry
from sorct.problem.kernels import make_buffers

SHAPES = ((426, 30, 1), (2829, 21, 3), (3450, 57, 1), (100_000, 50, 3))
# The expected cost has no loss of residuals.
_NO_SHAPE = np.zeros(0)


@compiled
def _accumulate(samples, cuts, slope, with_gradient, buffers):  # type: ignore
    """Door into what only compiled code can call."""
    kernels.accumulate(
        samples, cuts, slope, False, _NO_SHAPE, 1.0, with_gradient, buffers
    )


def run() -> None:
    """Print time and ratio for every shape; the bar is 1.5."""
    rows = []
    for n_samples, p, n_branches in SHAPES:
        ours, blas = _compare(n_samples, p, n_branches)
        times = [f"{1e6 * ours:.1f}", f"{1e6 * blas:.1f}"]
        rows.append([f"{n_samples} x {p}, {n_branches}", *times, f"{ours / blas:.2f}"])
    header = ["N x p, cuts", "ours (us)", "BLAS + exp (us)", "ratio (bar 1.50)"]
    print_table("One evaluation: mass matrix and gradient", header, rows)


def _compare(n_samples: int, p: int, n_branches: int) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    n_classes = 2 if n_branches == 1 else 3
    X = rng.uniform(size=(n_samples, p))
    codes = rng.integers(0, n_classes, n_samples)
    coef = rng.uniform(-1, 1, (p, n_branches))
    cuts = np.vstack([coef, (X @ coef).mean(axis=0)])
    samples = make_samples(HeldColumns(X.T), codes, np.ones(n_samples), n_classes)
    buffers = make_buffers(p, n_branches, n_classes)
    buffers.payoff[:] = rng.uniform(size=buffers.payoff.shape)
    score, pull = X @ coef, rng.normal(size=(n_samples, n_branches))

    def blas() -> None:
        X @ coef
        pull.T @ X
        np.exp(score)

    given = samples, cuts, 512.0 / p, True, buffers
    # As descents go in: numba's check of the types of all arrays takes a microsecond.
    accumulate = unchecked_entry(_accumulate, *given)

    def ours() -> None:
        accumulate(*given)

    return best_seconds(ours), best_seconds(blas)
