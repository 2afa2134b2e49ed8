"""Thresholds: those of a model lie in the box [-1, 1]. Only this file has the bounds.

Solvers use thresholds times the number of groups p (see ``Point``), so their box is
[-p, p].
"""

import numpy as np

from sorct._typing import FloatArray
from sorct.problem.compilation import compiled_inside, larger, smaller


def clip_thresholds(threshold: FloatArray | float, p: int = 1) -> FloatArray:
    """Put thresholds, one or many, into their box: the model's, or a solver's for p."""
    return np.asarray(np.minimum(np.maximum(threshold, -1.0 * p), 1.0 * p))


@compiled_inside
def clip_scaled(threshold: float, p: int) -> float:
    """Put a solver's threshold into its box."""
    return smaller(larger(threshold, -1.0 * p), 1.0 * p)


@compiled_inside
def leaves_box(threshold: float, p: int) -> bool:
    """Whether a solver's threshold is outside its box."""
    return abs(threshold) > p


@compiled_inside
def at_bound(threshold: float, p: int) -> bool:
    """Whether a solver's threshold is at a bound of its box, or beyond."""
    return abs(threshold) >= p
