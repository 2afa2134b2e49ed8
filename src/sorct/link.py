"""The logistic CDF F that turns the score of a cut into the probability of going left.

This is the NumPy form, used for prediction and for drawing starts. Training uses the
compiled twin in ``_kernels.py``; a test holds the two to the last digit. To try another
CDF, replace ``cdf`` and ``quantile`` here and ``fill_cdf`` and ``density`` there.
"""

import numpy as np

from sorct._typing import FloatArray

# exp(709) is the largest that fits in a float64; F is 0 or 1 long before.
_LARGEST = 708.0


def cdf(score: FloatArray) -> FloatArray:
    """F(u) = 1 / (1 + exp(-u)), for scores of any size."""
    bounded = np.clip(score, -_LARGEST, _LARGEST)
    np.negative(bounded, out=bounded)
    np.exp(bounded, out=bounded)
    bounded += 1.0
    return np.divide(1.0, bounded, out=bounded)


def quantile(proba: FloatArray) -> FloatArray:
    """F^-1(q) = log(q / (1 - q)), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(proba) - np.log1p(-proba)
