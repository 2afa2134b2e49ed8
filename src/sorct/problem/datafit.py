"""Datafit: what a tree's leaves are worth to its samples, and how leaves are renewed.

A datafit is a table of leaf payoffs, a rule that renews the leaves at fixed cuts, and a
loss of the root value V(x) = sum over leaves of reach x payoff. Today there are two,
both with the loss V itself, so that the fit is <payoff, mass>:

- ``ExpectedCost``: a leaf has a label and pays what that costs; labels are renewed
  exactly (``labels.py``).
- ``Entropy``: a leaf pays -log of the share of the sample's code in it; renewing it
  moves the tangent of the entropy to the masses of the moment.

A further one is an object like these, a number for its rule and a branch in
``fill_payoff``, ``payoff_value`` and ``problem.renew_leaves``. One with another loss
also multiplies a factor per sample into the kernels (see ``kernels.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_inside

# Rules that renew the leaves.
LABELS, TANGENT = 0, 1

# Mass, as a share of a leaf's even part, that every code has in every leaf besides its
# own, so that logarithms are finite.
LITTLE = 1e-3
# A tangent that has changed by less than this is the same.
_SAME_TANGENT = 1e-9


class Datafit(Protocol):
    """What a problem asks of a datafit."""

    @property
    def rule(self) -> int:
        """How leaves are renewed."""

    @property
    def first(self) -> int:
        """Label whose leaves come before all others; -1 if leaves have no order."""

    def table(self, n_codes: int) -> FloatArray:
        """Payoff of every code at every label; empty where leaves have none."""

    def value(self, mass: FloatArray, label: IntArray) -> float:
        """Fit of given masses and labels."""


@dataclass(frozen=True)
class ExpectedCost:
    """Expected misclassification cost of a tree (paper, g).

    g = sum_{k,l} cost_matrix[k, label[l]] mass[k, l], with weights that sum to 1.

    Attributes
    ----------
    cost_matrix : array of shape (n_codes, n_labels)
        Cost of predicting the column's class for a sample of the row's code; for a
        classifier codes are the classes too.
    first : int
        Label whose leaves come before all others, from left to right; -1 if leaves have
        no order. With such an order every cut sends more of that label to its left, so
        that signs of coefficients are promises about its probability.
    """

    cost_matrix: FloatArray
    first: int = -1
    rule = LABELS

    @property
    def n_labels(self) -> int:
        """Number of labels that leaves can have."""
        return int(self.cost_matrix.shape[1])

    def table(self, n_codes: int) -> FloatArray:
        """Costs of every class under every label."""
        return self.cost_matrix

    def value(self, mass: FloatArray, label: IntArray) -> float:
        """Expected cost for given masses and labels."""
        return float(np.sum(self.cost_matrix[:, label] * mass))

    def in_order(self, label: IntArray) -> IntArray:
        """Rearrange labels such that those which come first do."""
        if self.first < 0:
            return label
        return np.asarray(label[np.argsort(label != self.first, kind="stable")])

    def label_cost(self, share: FloatArray) -> FloatArray:
        """Expected cost of giving everybody the same label, for every label."""
        return np.asarray(share @ self.cost_matrix)


@dataclass(frozen=True)
class Entropy:
    """Entropy of the codes in the leaves, -sum_kl M_kl log(M_kl / M_l).

    It is concave in the masses M, so its tangent lies above it: what lowers the one
    lowers the other. M has a little of every code in every leaf.
    """

    rule = TANGENT
    first = -1

    def table(self, n_codes: int) -> FloatArray:
        """No labels, so no table of theirs."""
        return np.zeros((n_codes, 0))

    def value(self, mass: FloatArray, label: IntArray) -> float:
        """Entropy of given masses."""
        padded = mass + LITTLE / mass.size
        return float(-np.sum(padded * np.log(padded / padded.sum(axis=0))))


@compiled_inside
def fill_payoff(
    rule: int, table: FloatArray, label: IntArray, payoff: FloatArray
) -> None:
    """Payoffs of labelled leaves; those of a tangent stay until it is renewed."""
    if rule == LABELS:
        for k in range(payoff.shape[0]):
            for leaf in range(label.size):
                payoff[k, leaf] = table[k, label[leaf]]


@compiled_inside
def payoff_value(
    rule: int,
    table: FloatArray,
    payoff: FloatArray,
    mass: FloatArray,
    label: IntArray,
) -> float:
    """<payoff, mass>, under the labels given where leaves are labelled."""
    value = 0.0
    for k in range(mass.shape[0]):
        for leaf in range(label.size):
            if rule == LABELS:
                value += table[k, label[leaf]] * mass[k, leaf]
            else:
                value += payoff[k, leaf] * mass[k, leaf]
    return value


@compiled_inside
def renew_tangent(mass: FloatArray, payoff: FloatArray) -> bool:
    """Fill payoffs -log(share of the code in the leaf); tell whether any changed."""
    n_codes, n_leaves = mass.shape
    little, change = LITTLE / n_leaves, 0.0
    for leaf in range(n_leaves):
        total = little
        for k in range(n_codes):
            total += mass[k, leaf]
        for k in range(n_codes):
            cost = math.log(total / (mass[k, leaf] + little / n_codes))
            change = max(change, abs(cost - payoff[k, leaf]))
            payoff[k, leaf] = cost
    return change > _SAME_TANGENT
