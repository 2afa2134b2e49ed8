"""The logistic CDF F that turns the score of a cut into the probability of going left.

This is the NumPy form, used for prediction and for drawing starts. Training uses the
compiled twin in ``problem/elementary.py``; a test holds the two to the last digit.
Another CDF would replace ``cdf`` and ``quantile`` here, ``fill_cdf`` and ``density``
there, and the line that writes it in every export and in the report's page.
"""

import numpy as np

from sorct._typing import FloatArray


def cdf(score: FloatArray) -> FloatArray:
    """F(u) = 1 / (1 + exp(-u)), for scores of any size."""
    proba = np.negative(score)
    # Where exp overflows to infinity, F is 0 to the last bit.
    with np.errstate(over="ignore"):
        np.exp(proba, out=proba)
    proba += 1.0
    return np.divide(1.0, proba, out=proba)


def quantile(proba: FloatArray) -> FloatArray:
    """F^-1(q) = log(q / (1 - q)), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(proba) - np.log1p(-proba)
