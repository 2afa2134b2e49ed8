"""Calibrating: maps from what trees say to what held-out rows show.

Trees of the same settings are trained without one fold each and asked about the rows of
that fold; maps are fitted to what they say, and applied to the tree of all rows. Rows
count by the users' own weights, whatever classes weighed in training.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sorct._typing import AnyArray, BoolArray, FloatArray, IntArray
from sorct.data.table import take_rows
from sorct.data.target import Classes
from sorct.estimators.checks import checked_samples
from sorct.estimators.effort import InfeasibleError
from sorct.tree.calibration import LITTLE, Calibration, CurveMap, LogisticMap, Map

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

#: Folds whose trees tell how far probabilities can be believed.
N_FOLDS = 5
#: A curve has at most so many points, so that people can read and export it.
MOST_POINTS = 64
# Log-odds nearer to each other than this tell nothing about a slope.
_FLAT = 1e-3
# Digits of what is said that an isotonic curve tells apart.
_DIGITS = 6

#: Trains a tree on a table, labels and weights.
Fit: TypeAlias = Callable[[Any, AnyArray, FloatArray], "Tree"]


@dataclass(frozen=True)
class HeldFolds:
    """Rows, and the folds in which they are held out; checked.

    Attributes
    ----------
    X : table
    y : array of shape (n,)
    weight : array of shape (n,), above 0
    target : Classes
    folds : list of pairs of rows to train on and rows to ask about
    """

    X: Any
    y: AnyArray
    weight: FloatArray
    target: Classes
    folds: list[tuple[IntArray, IntArray]]

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, seed: int) -> HeldFolds:
        """Draw stratified folds; a class that a fold would be without is refused."""
        X, y, weight = checked_samples(X, y, sample_weight)
        target = Classes.learn(y, weight)
        codes = target.codes(y)
        counts = np.bincount(codes, minlength=len(target))
        least = int(counts.min())
        if least < 2:
            label = target.labels.tolist()[int(np.argmin(counts))]
            raise ValueError(
                "calibration needs at least 2 rows of every class, one to train on and "
                f"one held out; there is {least} of class {label!r}. Leave the class "
                "out, or set calibration=None."
            )
        splitter = target.splitter(min(N_FOLDS, least), seed)
        return cls(X, y, weight, target, list(splitter.split(codes, codes)))

    def calibration(self, kind: str, fit: Fit) -> Calibration:
        """Maps of a kind, by trees that have not seen the rows they are asked about.

        ``fit`` trains a tree that refuses nothing which its fold has not shown.
        """
        proba = np.empty((len(self.target), len(self.y)))
        for k, (train, test) in enumerate(self.folds):
            try:
                tree = self._tree_of(fit, train)
            except InfeasibleError as error:
                message = f"Fold {k} of the calibration: {error}"
                raise InfeasibleError(message, error.recall) from error
            proba[:, test] = tree.predict_proba(take_rows(self.X, test)).T
        # Of a size near 1, so that a common factor of the weights changes nothing.
        weight = self.weight / self.weight.mean()
        return fitted_calibration(kind, proba, self.target.codes(self.y), weight)

    def _tree_of(self, fit: Fit, rows: IntArray) -> Tree:
        """Train on some rows, silently: the tree of all rows has warned."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(take_rows(self.X, rows), self.y[rows], self.weight[rows])


# -- maps ------------------------------------------------------------------------------


def fitted_calibration(
    kind: str, proba: FloatArray, codes: IntArray, weight: FloatArray
) -> Calibration:
    """Maps fitted to probabilities (n_classes, n) of rows, with weights near 1."""
    fitted = isotonic_map if kind == "isotonic" else sigmoid_map
    mapped = range(len(proba)) if len(proba) > 2 else [1]
    return Calibration(tuple(fitted(proba[k], codes == k, weight) for k in mapped))


def sigmoid_map(proba: FloatArray, own: BoolArray, weight: FloatArray) -> Map:
    """Platt's map: logistic regression on log-odds, never falling.

    As Platt proposed, it is fitted to (n + 1) / (n + 2) instead of 1 for the n rows of
    the class, and to 1 / (m + 2) instead of 0 for the m others: no slope is infinite.
    """
    from sklearn.linear_model import LogisticRegression

    inside = np.clip(proba, LITTLE, 1.0 - LITTLE)
    odds = np.log(inside / (1.0 - inside))
    n_own, n_other = float(weight[own].sum()), float(weight[~own].sum())
    share = np.where(own, (n_own + 1.0) / (n_own + 2.0), 1.0 / (n_other + 2.0))
    mean = float(np.average(share, weights=weight))
    level = float(np.log(mean / (1.0 - mean)))
    if np.ptp(odds) < _FLAT:
        return LogisticMap(1.0, level - float(np.average(odds, weights=weight)))
    fitted = LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000).fit(
        np.concatenate([odds, odds])[:, np.newaxis],
        np.repeat([True, False], odds.size),
        np.concatenate([weight * share, weight * (1.0 - share)]),
    )
    slope, shift = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    # Where more said means less found, nothing of what was said can be used.
    return LogisticMap(slope, shift) if slope > 0.0 else LogisticMap(0.0, level)


def isotonic_map(proba: FloatArray, own: BoolArray, weight: FloatArray) -> Map:
    """Isotonic regression with few points, none of them 0 or 1.

    At either end one row is added that speaks against it: a class that was never found
    among m rows has probability 1 / (m + 1) and not 0. What is said is rounded: points
    next to each other would let the last bit of a sum decide.
    """
    proba = np.round(proba, _DIGITS)
    ends = [proba.min(), proba.max()]
    x = np.concatenate([proba, ends])
    y = np.concatenate([own.astype(np.float64), [1.0, 0.0]])
    weight = np.concatenate([weight, [1.0, 1.0]])
    curve = _curve(x, y, weight)
    if len(curve.points) > MOST_POINTS:
        curve = _curve(*_grouped(x, y, weight))
    return curve


def _curve(x: FloatArray, y: FloatArray, weight: FloatArray) -> CurveMap:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(x, y, weight)
    points, values = fitted.X_thresholds_, fitted.y_thresholds_
    return CurveMap(tuple(points.tolist()), tuple(values.tolist()))


def _grouped(
    x: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means of neighbouring rows, in groups of about the same weight."""
    order = np.argsort(x, kind="stable")
    x, y, weight = x[order], y[order], weight[order]
    place = np.cumsum(weight) - 0.5 * weight
    group = np.minimum(MOST_POINTS * place / weight.sum(), MOST_POINTS - 1).astype(int)
    total = np.asarray(np.bincount(group, weight), dtype=np.float64)
    there = total > 0.0
    means = [np.bincount(group, weight * v)[there] / total[there] for v in (x, y)]
    return means[0], means[1], total[there]
