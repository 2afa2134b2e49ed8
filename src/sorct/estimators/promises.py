"""Promises: a floor under recall that new rows keep, with a stated probability.

The Neyman-Pearson umbrella (Tong, Feng and Li, 2018). Some rows of the class are held
out and the tree is trained without them. Whether a row is predicted to be of the class
depends on the weight of the class in the decision: for every row there is a critical
weight (``decisions.critical_weights``). Held-out rows and new ones of the class are
drawn alike, so the share of new rows that the m-th smallest of n held-out critical
weights lets through follows, if there are no ties, Beta(m, n + 1 - m), and with ties it
is larger. The least m with

    P[Beta(m, n + 1 - m) < floor] = P[Binomial(n, floor) >= m] <= 1 - confidence

keeps the promise, and there is one where floor^n <= 1 - confidence.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from scipy.special import betainc

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.held_out import Census, HeldOut, count_classes
from sorct.data.in_order import sum_of
from sorct.data.options import TableOptions
from sorct.data.sources import Source
from sorct.data.table import take_rows
from sorct.data.target import Classes, unequal
from sorct.data.wording import shown
from sorct.estimators.checks import checked_floor, checked_samples
from sorct.estimators.decisions import above, critical_weights
from sorct.estimators.effort import InfeasibleError
from sorct.estimators.fitting import Model
from sorct.tree.decision import predicted_codes

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# Half of the rows of the class are held out, but not more than so many times the number
# without which nothing can be promised: the limit is sharp enough then.
_ENOUGH = 20
# Of larger classes rows are drawn without shuffling the numbers of all, which take
# memory.
_MOST_SHUFFLED = 10_000_000
# Larger weights mean that the tree gives a row no probability at all.
_LARGEST = 1e60


class Kept(NamedTuple):
    """Table, labels and weights to train on."""

    X: Any
    y: AnyArray
    weight: FloatArray | None


# -- order statistics ------------------------------------------------------------------


def rows_needed(floor: float, confidence: float) -> int:
    """Held-out rows without which nothing can be promised: floor^n <= 1 - confidence.

    >>> rows_needed(0.9, 0.95)
    29
    """
    n = max(1, math.ceil(math.log1p(-confidence) / math.log(floor)))
    # The quotient is rounded; the condition itself decides.
    while betainc(n, 1, floor) > 1.0 - confidence:
        n += 1
    return n


def order_statistic(n: int, floor: float, confidence: float) -> int | None:
    """Least m for which the m-th smallest of n keeps the promise; None if none does."""
    m = np.arange(1, n + 1)
    fails = betainc(m, n + 1 - m, floor)
    good = np.flatnonzero(fails <= 1.0 - confidence)
    return int(m[good[0]]) if good.size else None


def promised_weight(
    critical: FloatArray,
    floor: float,
    confidence: float,
    others: FloatArray,
) -> float:
    """Weight of the class that keeps the promise, from held-out critical weights.

    It lies below the next of these, and of those of other rows.
    """
    m = order_statistic(critical.size, floor, confidence)
    if m is None:
        needed = rows_needed(floor, confidence)
        raise ValueError(
            f"A recall of {floor:g} with confidence {confidence:g} needs at least "
            f"{needed} held-out rows of the class, got {critical.size}."
        )
    edge = float(np.partition(critical, m - 1)[m - 1])
    return above(edge, np.append(critical, others))


# -- held-out rows ---------------------------------------------------------------------


@dataclass(frozen=True)
class Promise:
    """A floor under the recall of one class on new rows, and rows to keep it by.

    Attributes
    ----------
    X : table
        Held-out rows of the class.
    code : int
        Position of the class.
    floor, confidence : float
    table : TableOptions
        How held-out rows are read: nothing in them is refused.
    """

    X: Any
    code: int
    floor: float
    confidence: float
    table: TableOptions

    def decision(
        self, tree: Tree, costs: FloatArray, trained: FloatArray
    ) -> FloatArray | None:
        """Costs to decide by, given those without the promise; None: most probable.

        ``trained`` has the probabilities of training rows, (n_classes, n).
        """
        proba = self._said(tree)
        weight, k = np.ones(len(costs)), self.code
        critical = critical_weights(proba, costs, weight, k)
        others = critical_weights(trained, costs, weight, k)
        asked = self.floor, self.confidence
        weight[k] = max(1.0, promised_weight(critical, *asked, others))
        if weight[k] == 1.0 and not unequal(costs):
            return None
        decision = weight[:, np.newaxis] * costs
        if weight[k] > _LARGEST or not self._kept(proba, decision):
            self._refuse(tree, proba)
        return decision

    def warn_if_empty(self, recall: FloatArray, target: Classes) -> None:
        """Warn of a promise that is kept by saying the same of everybody."""
        if recall[self.code] > 0.0 and not np.delete(recall, self.code).any():
            warnings.warn(
                f"min_recall is kept only by predicting {target.labels[self.code]!s} "
                "for every training row: the tree does not tell enough rows apart. "
                "Lower the alphas or min_recall, or take loss='log' or "
                "class_weight='balanced'.",
                UserWarning,
                stacklevel=8,
            )

    def _said(self, tree: Tree) -> FloatArray:
        policies = self.table.handle_unknown, self.table.handle_missing
        encoder = replace(tree.encoder, unknown=policies[0], missing=policies[1])
        return replace(tree, encoder=encoder).predict_proba(self.X).T

    def _kept(self, proba: FloatArray, decision: FloatArray) -> bool:
        """Whether as many held-out rows are predicted as were counted on."""
        found = int((predicted_codes(proba, decision) == self.code).sum())
        return found >= self._asked(proba.shape[1])

    def _asked(self, n: int) -> int:
        return order_statistic(n, self.floor, self.confidence) or n

    def _refuse(self, tree: Tree, proba: FloatArray) -> None:
        label, n = tree.classes.tolist()[self.code], proba.shape[1]
        possible = int((proba[self.code] > 1.0 / _LARGEST).sum())
        raise InfeasibleError(
            f"A recall of {self.floor:g} for class {label!r} cannot be promised with "
            f"confidence {self.confidence:g}: {self._asked(n)} of {n} held-out rows of "
            f"the class would have to be predicted to be of it, and to only {possible} "
            "of them the tree gives any probability of being so. Take loss='log', "
            "calibration='sigmoid' or a smaller gamma, or lower min_recall.",
            {label: possible / n},
        )


def hold_out(
    X: Any, y: Any, sample_weight: Any, model: Model, seed: int
) -> tuple[Kept, Promise | None]:
    """Rows to train on, and the promise with the rows held out for it, if any is asked.

    The rows of the class that are left are weighted such that the class keeps its
    share of the sample.
    """
    if model.confidence is None:
        return Kept(X, y, sample_weight), None
    X, y, weight = checked_samples(X, y, sample_weight)
    target = Classes.learn(y, weight)
    code = _promised_class(model.min_recall, target)
    floor = float(checked_floor(model.min_recall, target)[code])
    own = np.flatnonzero(target.codes(y) == code)
    label = target.labels.tolist()[code]
    confidence = float(model.confidence)
    held = own[_chosen(own.size, weight[own], floor, confidence, label, seed)]
    kept = np.setdiff1d(np.arange(len(y)), held)
    left = np.setdiff1d(own, held)
    weight[left] *= own.size / left.size
    promise = Promise(
        take_rows(X, held), code, floor, confidence, model.table.forgiving
    )
    return Kept(take_rows(X, kept), y[kept], weight[kept]), promise


def hold_out_of_source(
    source: Source, model: Model, seed: int
) -> tuple[HeldOut, Promise]:
    """The same for a table that comes in batches; it takes two passes."""
    census: Census | None = sum_of(source.gather(count_classes))
    if census is None:
        raise ValueError("Expected at least one row, got none.")
    labels = np.array(census.labels)
    target = Classes.learn(labels, np.ones(labels.size))
    code = _promised_class(model.min_recall, target)
    floor, label = (
        float(checked_floor(model.min_recall, target)[code]),
        target.labels.tolist()[code],
    )
    ends = np.array([census.lightest[label], census.heaviest[label]])
    n_own, confidence = census.n_rows(label), float(model.confidence)
    rows = _chosen(n_own, ends, floor, confidence, label, seed)
    held = HeldOut(source, census, label, rows)
    table = model.table.forgiving
    return held, Promise(held.held(), code, floor, confidence, table)


def _promised_class(min_recall: Any, target: Classes) -> int:
    """Position of the one class that has a floor, which must be below 1."""
    floor = checked_floor(min_recall, target)
    codes = np.flatnonzero(floor)
    if codes.size != 1:
        raise ValueError(
            "confidence promises the recall of one class: expected min_recall to name "
            f"one with a floor above 0, such as {{{target.labels.tolist()[-1]!r}: "
            f"0.9}}, got {shown(min_recall)}, floors for {codes.size} classes."
        )
    code = int(codes[0])
    if floor[code] == 1.0:
        raise ValueError(
            "min_recall must be below 1 where it is promised with confidence (no "
            f"number of rows shows that all are found), got {shown(min_recall)}."
        )
    return code


def _chosen(
    n_own: int,
    weight: FloatArray,
    floor: float,
    confidence: float,
    label: Any,
    seed: int,
) -> IntArray:
    """Numbers of the rows of a class to hold out, drawn at random."""
    needed = rows_needed(floor, confidence)
    if n_own < needed + 1:
        raise ValueError(
            f"A recall of {floor:g} for class {label!r} with confidence {confidence:g} "
            f"needs at least {needed} rows of the class to set the limit by (n >= "
            "log(1 - confidence) / log(min_recall)) and others to train on, better as "
            f"many again; there are {n_own}. Lower the floor or the confidence, or "
            "gather more rows."
        )
    if (weight != weight[0]).any():
        raise ValueError(
            "confidence counts held-out rows, so sample_weight must be the same for "
            f"all rows of class {label!r}, or 0; got different weights. Use "
            "class_weight to make a class count more."
        )
    size, rng = max(needed, min(n_own // 2, _ENOUGH * needed)), default_rng(seed)
    if n_own > _MOST_SHUFFLED:
        return np.asarray(rng.choice(n_own, size, replace=False))
    return rng.permutation(n_own)[:size]
