"""Measures: what the probabilities of a tree are worth on labelled rows.

Reliability is read off bins: where a tree says 30 %, of a hundred rows thirty should be
of the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

#: Bins of a reliability curve, all of one width.
N_BINS = 10
# Quantile of the normal distribution for intervals of 95 %.
_Z = 1.959963984540054


def leaf_says(tree: Tree) -> FloatArray:
    """What every leaf says of the classes, shape (n_classes, n_leaves)."""
    if tree.leaf_proba is not None:
        return tree.leaf_proba
    return np.asarray(np.eye(len(tree.classes))[:, tree.leaf_class])


def proba_of_reach(tree: Tree, reach: FloatArray) -> FloatArray:
    """Probabilities (n, n_classes) of rows that reach the leaves (n, n_leaves) so."""
    proba = leaf_says(tree) @ reach.T
    if tree.calibration is not None:
        proba = tree.calibration(proba)
    return np.asarray(proba.T)


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows by the probability that was said of a class; empty bins are left out.

    Attributes
    ----------
    said : array of shape (n_bins,)
        Mean probability said in every bin.
    seen : array of shape (n_bins,)
        Share of the bin's rows that are of the class.
    low, high : array of shape (n_bins,)
        Interval of 95 % for that share (Wilson's).
    counts : array of shape (n_bins,)
    place : array of shape (n_bins,)
        Which bin it is, from 0.
    """

    said: FloatArray
    seen: FloatArray
    low: FloatArray
    high: FloatArray
    counts: IntArray
    place: IntArray

    @classmethod
    def of(cls, proba: FloatArray, is_class: BoolArray, n_bins: int = N_BINS) -> Bins:
        """Count rows by what was said of them."""
        place = np.clip((proba * n_bins).astype(np.intp), 0, n_bins - 1)
        counts = np.bincount(place, minlength=n_bins)
        used = counts > 0
        n = counts[used]
        said, seen = (
            np.bincount(place, of.astype(np.float64), n_bins)[used] / n
            for of in (proba, is_class)
        )
        middle = (seen + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = (
            np.sqrt(seen * (1 - seen) / n + (_Z / (2 * n)) ** 2) * _Z / (1 + _Z**2 / n)
        )
        low, high = np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
        return cls(said, seen, low, high, n, np.flatnonzero(used))


def brier_score(proba: FloatArray, codes: IntArray) -> float:
    """Mean squared error of probabilities (n, n_classes), summed over the classes.

    With two classes that of one of them, as is usual: 0 is perfect, and 0.25 what
    always saying one half gives.
    """
    gap = proba - np.eye(proba.shape[1])[codes]
    total = float((gap**2).sum(axis=1).mean())
    return total / 2.0 if proba.shape[1] == 2 else total


def log_loss(proba: FloatArray, codes: IntArray) -> float:
    """Mean of minus the logarithm of what was said of the true class.

    As scikit-learn has it, a probability of 0 counts as the least number above.
    """
    least = np.finfo(np.float64).eps
    own = np.clip(proba[np.arange(len(codes)), codes], least, 1.0 - least)
    return float(-np.log(own).mean())


def base_rates(codes: IntArray, n_classes: int) -> FloatArray:
    """Probabilities of somebody who knows the shares of the classes and no more."""
    share = np.bincount(codes, minlength=n_classes) / len(codes)
    return np.broadcast_to(share, (len(codes), n_classes))
