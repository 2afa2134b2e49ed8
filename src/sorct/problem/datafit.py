"""Datafit: what a tree's leaves are worth to its samples, and how leaves are renewed.

A datafit is a table of leaf payoffs, a rule that renews the leaves at fixed cuts, and a
loss of the root value V(x) = sum over leaves of reach x payoff. There are four:

- ``ExpectedCost``: a leaf has a label and pays what that costs; labels are renewed
  exactly (``labels.py``). The loss is V itself, so that the fit is <payoff, mass>.
- ``Entropy``: a leaf pays -log of the share of the sample's code in it; renewing it
  moves the tangent of the entropy to the masses of the moment. The loss is V.
- ``Residual`` (``residual.py``): a leaf pays its value, V is what the tree predicts of
  a quantity, and the loss is one of response - V. Values are stepped beside the cuts.
- ``Likelihood``: a leaf pays the probability that it gives to the sample's code, V is
  the probability that the tree gives to it, and the loss is -log V. Leaves give their
  label probability 1 ("pure") or learn a distribution, as logits beside the cuts.

A further one is an object like these and a number for its rule, with a branch in
``fill_payoff`` and ``fit_value`` here and in ``renew_leaves`` (``subproblem.py``); if
its leaves have gradients, in ``evaluate`` there. Its loss is a factor per sample in the
kernels (see ``kernels.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_apart, compiled_inside, larger, smaller

# Rules that renew the leaves. PURE and LEARNED have the loss -log V, RESIDUAL one of
# response - V; the other two V itself.
LABELS, TANGENT, PURE, LEARNED, RESIDUAL = 0, 1, 2, 3, 4

# Mass, as a share of a leaf's even part, that every code has in every leaf besides its
# own, so that logarithms are finite.
LITTLE = 1e-3
# A tangent that has changed by less than this is the same, and probabilities of leaves
# that steps beside the cuts can bring into place.
_SAME_TANGENT, _SAME_PROBA = 1e-9, 1e-2
# Mass that every leaf is given beside its own when it learns its distribution, spread
# over the codes as the whole sample is: no probability is 0. A share of the sample, so
# that weight 2 is a row twice.
PSEUDO = 2e-3


# No loss of a residual: its shape has no numbers.
_NO_SHAPE: FloatArray = np.zeros(0)


class Datafit(Protocol):
    """What a problem asks of a datafit."""

    @property
    def rule(self) -> int:
        """How leaves are renewed."""

    @property
    def first(self) -> int:
        """Label whose leaves come before all others; -1 if leaves have no order."""

    @property
    def shape(self) -> FloatArray:
        """Numbers of a loss of a residual for compiled code; none for other losses."""

    @property
    def unit(self) -> float:
        """Unit of the slopes of linear leaves; 0 where leaves have none."""

    @property
    def linear(self) -> bool:
        """Whether leaves have slopes."""

    def table(self, n_codes: int) -> FloatArray:
        """Payoff of every code at every label; empty where leaves have none."""

    def pseudo(self, share: FloatArray) -> FloatArray:
        """Mass of every code that each leaf has beside its own when it learns."""


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

    shape: ClassVar[FloatArray] = _NO_SHAPE
    unit: ClassVar[float] = 0.0
    linear: ClassVar[bool] = False

    @property
    def rule(self) -> int:
        """Leaves are labelled."""
        return LABELS

    def pseudo(self, share: FloatArray) -> FloatArray:
        """Nothing: leaves learn no distribution."""
        return np.zeros_like(share)

    @property
    def n_labels(self) -> int:
        """Number of labels that leaves can have."""
        return int(self.cost_matrix.shape[1])

    def table(self, n_codes: int) -> FloatArray:
        """Costs of every class under every label."""
        return self.cost_matrix

    def value(self, mass: FloatArray, label: IntArray, loss: float = 0.0) -> float:
        """Expected cost for given masses and labels."""
        # ``take`` is quicker than an index where arrays are small.
        return float((self.cost_matrix.take(label, axis=1) * mass).sum())

    def empty_value(self, share: FloatArray) -> float:
        """Fit of the best tree that treats all samples alike."""
        return float(self.label_cost(share).min())

    def best_value(self, mass: FloatArray) -> float:
        """Fit of given masses when every leaf has what suits it best."""
        return float((mass.T @ self.cost_matrix).min(axis=1).sum())

    def leaf_losses(self, mass: FloatArray, label: IntArray) -> FloatArray:
        """What every leaf adds to the fit."""
        return np.asarray((self.cost_matrix[:, label] * mass).sum(axis=0))

    def empty_labels(self, share: FloatArray) -> FloatArray | None:
        """Share of every label in the best tree without columns; None: the cheapest."""
        return None

    def leaf_labels(self, leaf_proba: FloatArray) -> IntArray:
        """Label of least expected cost for leaves with given distributions."""
        return np.asarray(np.argmin(self.cost_matrix.T @ leaf_proba, axis=0))

    def in_order(self, label: IntArray) -> IntArray:
        """Rearrange labels such that those which come first do."""
        if self.first < 0:
            return label
        return np.asarray(label[np.argsort(label != self.first, kind="stable")])

    def label_cost(self, share: FloatArray) -> FloatArray:
        """Expected cost of giving everybody the same label, for every label."""
        return np.asarray(share @ self.cost_matrix)


@dataclass(frozen=True)
class Likelihood(ExpectedCost):
    """Mean of -log of the probability that the tree gives to a sample's class.

    Costs act on decisions only, see ``Tree.predict``. Where leaves learn, the fit also
    has ``pseudo`` samples in every leaf,

        -sum_i w_i log V_i + sum_l sum_k pseudo_k log(share_k / proba_kl),

    which is 0 for a leaf that says what the whole sample says.

    Attributes
    ----------
    learned : bool
        Whether leaves learn distributions; else they are pure.
    """

    learned: bool = True

    @property
    def rule(self) -> int:
        """Leaves learn, or are pure."""
        return LEARNED if self.learned else PURE

    def pseudo(self, share: FloatArray) -> FloatArray:
        """A little, spread as the codes are."""
        return PSEUDO * share

    def value(self, mass: FloatArray, label: IntArray, loss: float = 0.0) -> float:
        """The loss, which masses do not tell."""
        return loss

    def empty_value(self, share: FloatArray) -> float:
        """Entropy of the classes."""
        return float(-np.sum(share * np.log(share)))

    def best_value(self, mass: FloatArray) -> float:
        """Entropy of the classes in the leaves."""
        return float(self.leaf_losses(mass, np.zeros(0, dtype=np.int64)).sum())

    def leaf_losses(self, mass: FloatArray, label: IntArray) -> FloatArray:
        """Entropy of the classes in every leaf, were its samples there alone."""
        padded = mass + LITTLE / mass.size
        return np.asarray(-np.sum(padded * np.log(padded / padded.sum(axis=0)), axis=0))

    def empty_labels(self, share: FloatArray) -> FloatArray | None:
        """Pure leaves get the shares of their classes."""
        return None if self.learned else share


@dataclass(frozen=True)
class Entropy:
    """Entropy of the codes in the leaves, -sum_kl M_kl log(M_kl / M_l).

    It is concave in the masses M, so its tangent lies above it: what lowers the one
    lowers the other. M has a little of every code in every leaf.
    """

    rule = TANGENT
    first = -1
    shape, unit, linear = _NO_SHAPE, 0.0, False

    def table(self, n_codes: int) -> FloatArray:
        """No labels, so no table of theirs."""
        return np.zeros((n_codes, 0))

    def pseudo(self, share: FloatArray) -> FloatArray:
        """Nothing: leaves learn no distribution."""
        return np.zeros_like(share)

    def value(self, mass: FloatArray, label: IntArray) -> float:
        """Entropy of given masses."""
        padded = mass + LITTLE / mass.size
        return float(-np.sum(padded * np.log(padded / padded.sum(axis=0))))


@compiled_inside
def fill_payoff(
    rule: int,
    table: FloatArray,
    label: IntArray,
    logit: FloatArray,
    payoff: FloatArray,
) -> None:
    """Payoffs of the leaves; those of a tangent stay until it is renewed."""
    for leaf in range(label.size):
        if rule == RESIDUAL:
            payoff[0, leaf] = logit[0, leaf]
        elif rule == LABELS:
            for k in range(payoff.shape[0]):
                payoff[k, leaf] = table[k, label[leaf]]
        elif rule == PURE:
            for k in range(payoff.shape[0]):
                payoff[k, leaf] = 1.0 if label[leaf] == k else 0.0
        elif rule == LEARNED:
            _fill_softmax(logit, leaf, payoff)


@compiled_inside
def _fill_softmax(logit: FloatArray, leaf: int, proba: FloatArray) -> None:
    """Distribution of a leaf from its logits."""
    highest, total = logit[0, leaf], 0.0
    for k in range(proba.shape[0]):
        highest = larger(highest, logit[k, leaf])
    for k in range(proba.shape[0]):
        proba[k, leaf] = math.exp(logit[k, leaf] - highest)
        total += proba[k, leaf]
    for k in range(proba.shape[0]):
        proba[k, leaf] /= total


@compiled_inside
def fit_value(
    rule: int,
    table: FloatArray,
    pseudo: FloatArray,
    share: FloatArray,
    payoff: FloatArray,
    mass: FloatArray,
    loss: float,
    label: IntArray,
    logit: FloatArray,
) -> float:
    """Fit of the tree: <payoff, mass> under the labels given, or a loss summed up."""
    value = 0.0
    if rule >= PURE:
        if rule == RESIDUAL:
            for leaf in range(label.size):
                value += pseudo[0] * (logit[0, leaf] * logit[0, leaf])
        if rule == LEARNED:
            for k in range(mass.shape[0]):
                for leaf in range(label.size):
                    value += pseudo[k] * math.log(share[k] / payoff[k, leaf])
        return value + loss
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
            change = larger(change, abs(cost - payoff[k, leaf]))
            payoff[k, leaf] = cost
    return change > _SAME_TANGENT


@compiled_inside
def fill_logit_gradient(
    pseudo: FloatArray, payoff: FloatArray, drawn: FloatArray, gradient: FloatArray
) -> None:
    """Derivatives of the fit with respect to the logits of the leaves.

    With the rows that a leaf answers for, R = payoff drawn, the derivative is
    payoff (R_l + pseudo_l) - (R + pseudo): 0 where the leaf says what its rows are.
    """
    for leaf in range(gradient.shape[1]):
        total = 0.0
        for k in range(gradient.shape[0]):
            total += payoff[k, leaf] * drawn[k, leaf] + pseudo[k]
        for k in range(gradient.shape[0]):
            own = payoff[k, leaf] * drawn[k, leaf] + pseudo[k]
            gradient[k, leaf] = payoff[k, leaf] * total - own


@compiled_inside
def renew_logits(
    pseudo: FloatArray, payoff: FloatArray, drawn: FloatArray, logit: FloatArray
) -> bool:
    """Let every leaf say what its rows are (an EM step); tell if that is news."""
    change = 0.0
    for leaf in range(logit.shape[1]):
        total = 0.0
        for k in range(logit.shape[0]):
            total += payoff[k, leaf] * drawn[k, leaf] + pseudo[k]
        for k in range(logit.shape[0]):
            proba = (payoff[k, leaf] * drawn[k, leaf] + pseudo[k]) / total
            change = larger(change, abs(proba - payoff[k, leaf]))
            logit[k, leaf] = math.log(proba)
    return change > _SAME_PROBA


@compiled_apart
def bound_value(shape: FloatArray, wanted: FloatArray, leaf: int) -> float:
    """Value of a leaf within its bounds that is nearest to what is wanted.

    If values must fall from left to right, all leaves count: the nearest falling
    sequence is, by the minimax formula of isotonic regression, the least over leaves
    before of the largest over leaves after of the mean between them.
    """
    value = wanted[leaf]
    if shape[6] > 0.0:
        value = shape[5]
        for first in range(leaf + 1):
            highest, total = shape[4], 0.0
            for last in range(first, wanted.size):
                total += wanted[last]
                if last >= leaf:
                    highest = larger(highest, total / (last - first + 1.0))
            value = smaller(value, highest)
    return float(smaller(larger(value, shape[4]), shape[5]))


@compiled_apart
def shift_payoff(
    unit: float, centre: FloatArray, cuts: FloatArray, payoff: FloatArray
) -> None:
    """Values of linear leaves where all columns are 0, from those at the mean."""
    n_branches = payoff.shape[1] - 1
    for leaf in range(cuts.shape[1] - n_branches):
        for j in range(centre.size):
            payoff[0, leaf] -= unit * centre[j] * cuts[j, n_branches + leaf]


@compiled_apart
def fill_value_gradient(
    ridge: float,
    unit: float,
    centre: FloatArray,
    logit: FloatArray,
    drawn: FloatArray,
    logit_gradient: FloatArray,
    gradient: FloatArray,
) -> None:
    """Derivatives in the values at the mean sample, and what they do to slopes.

    Slopes have no threshold: a leaf's value is in its place.
    """
    n_branches = logit.shape[1] - 1
    for leaf in range(logit.shape[1]):
        logit_gradient[0, leaf] = 2.0 * ridge * logit[0, leaf] - drawn[0, leaf]
    for leaf in range(gradient.shape[1] - n_branches):
        for j in range(centre.size):
            gradient[j, n_branches + leaf] += unit * centre[j] * drawn[0, leaf]
        gradient[centre.size, n_branches + leaf] = 0.0
