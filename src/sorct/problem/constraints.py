"""Constraint: a floor under the mean reward of the samples of every code.

A sample of code k that ends in a leaf of label c earns ``reward[k, c]``. For given
labels the mean over a code is linear in the masses,

    attained_k = sum over leaves l of reward[k, label_l] mass[k, l] / share_k,

and shall be at least ``floor[k]``. Floors on recall are the reward 1 for the own label;
"class k may cost at most c" is minus its costs with the floor -c: other numbers, the
same code. A floor enters training through the augmented Lagrangian

    sum_k (renewed_k^2 - multiplier_k^2) / (2 stiffness),
    renewed_k = max(0, multiplier_k + stiffness (floor_k - attained_k)),

whose gradient in the masses is ``-renewed_k reward[k, label_l] / share_k``. The factor
``renewed_k`` is known only after all masses are, so the rest is what the kernels call
the second payoff.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled_inside, larger


class Floors(NamedTuple):
    """A constraint for compiled code, with the multipliers of the moment."""

    reward: FloatArray
    share: FloatArray
    floor: FloatArray
    multiplier: FloatArray
    stiffness: float


@dataclass(frozen=True)
class Constraint:
    """Floors under mean rewards.

    Attributes
    ----------
    floor : array of shape (n_codes,)
        Least mean reward of every code; minus infinity where nothing is demanded.
    reward : array of shape (n_codes, n_labels)
    """

    floor: FloatArray
    reward: FloatArray

    @classmethod
    def min_recall(cls, floor: FloatArray) -> Constraint:
        """Floors on the expected recall of every class; 0 demands nothing."""
        return cls(floor, np.eye(floor.size))

    @classmethod
    def none(cls, n_codes: int, n_labels: int | None = None) -> Constraint:
        """No demand on any code; by default every code is a label."""
        n_labels = n_codes if n_labels is None else n_labels
        return cls(np.zeros(n_codes), np.zeros((n_codes, n_labels)))

    @cached_property
    def on_recall(self) -> bool:
        """Whether the floors are on the recall of classes."""
        return np.array_equal(self.reward, np.eye(self.floor.size))

    def attained(
        self, mass: FloatArray, label: IntArray, share: FloatArray
    ) -> FloatArray:
        """Mean reward of every code for given masses and labels."""
        if not self._rewards:
            return np.zeros_like(share)
        return mean_reward(self.reward, mass, label, share)

    @cached_property
    def _rewards(self) -> bool:
        """Whether anything is rewarded."""
        return bool(self.reward.any())

    def violation(self, attained: FloatArray) -> float:
        """By how much the worst code misses its floor, 0 if all are met."""
        return max(float((self.floor - attained).max()), 0.0)

    def renewed(
        self, multiplier: FloatArray, stiffness: float, attained: FloatArray
    ) -> FloatArray:
        """Multipliers after a round; ``renew_multipliers`` is the compiled twin."""
        gap = self.floor - attained
        return np.asarray(np.maximum(0.0, multiplier + stiffness * gap))

    def floors(
        self, share: FloatArray, multiplier: FloatArray, stiffness: float
    ) -> Floors:
        """Compiled face of the constraint."""
        reward = np.ascontiguousarray(self.reward)
        return Floors(reward, share, self.floor, multiplier, float(stiffness))

    def raised(self, count: IntArray) -> Constraint:
        """Floors raised by a standard error of a mean over so many samples per code.

        A tree that meets them on these samples is likely to meet the old ones on all.
        The standard error is not known but bounded: by that of rewards that are either
        the least or the largest of the code. A floor is raised by at most half of what
        lies between it and the largest reward.
        """
        least, most = self.reward.min(axis=1), self.reward.max(axis=1)
        demanded = self.floor > least
        floor = np.where(demanded, self.floor, least)
        error = np.sqrt((floor - least) * np.maximum(most - floor, 0.0) / count)
        raised = np.minimum(floor + error, 0.5 * (most + floor))
        return replace(self, floor=np.where(demanded, raised, self.floor))


def mean_reward(
    reward: FloatArray, mass: FloatArray, label: IntArray, share: FloatArray
) -> FloatArray:
    """Mean of ``reward[k, label of the leaf]`` over the samples of every code k."""
    # A running sum takes the leaves in their order, as compiled code does.
    earned = reward.take(label, axis=1) * mass / share[:, np.newaxis]
    return np.asarray(np.add.accumulate(earned, axis=1)[:, -1])


def recall_of(mass: FloatArray, label: IntArray, share: FloatArray) -> FloatArray:
    """Expected share of every class that lands in a leaf of its own label."""
    return mean_reward(np.eye(share.size), mass, label, share)


@compiled_inside
def fill_attained(
    floors: Floors, mass: FloatArray, label: IntArray, attained: FloatArray
) -> None:
    """Mean reward of every code."""
    for k in range(attained.size):
        attained[k] = 0.0
    for leaf in range(label.size):
        for k in range(attained.size):
            earned = floors.reward[k, label[leaf]] * mass[k, leaf]
            attained[k] += earned / floors.share[k]


@compiled_inside
def renew_multipliers(
    value: float,
    floors: Floors,
    mass: FloatArray,
    label: IntArray,
    renewed: FloatArray,
) -> float:
    """Fill the renewed multipliers; return value plus the floors' Lagrangian terms."""
    fill_attained(floors, mass, label, renewed)
    for k in range(renewed.size):
        before, gap = floors.multiplier[k], floors.floor[k] - renewed[k]
        after = larger(0.0, before + floors.stiffness * gap)
        value += (after * after - before * before) / (2.0 * floors.stiffness)
        renewed[k] = after
    return value


@compiled_inside
def fill_second_payoff(
    floors: Floors, label: IntArray, second_payoff: FloatArray
) -> None:
    """Derivatives of minus the mean rewards with respect to every mass."""
    for k in range(floors.floor.size):
        for leaf in range(label.size):
            reward = floors.reward[k, label[leaf]]
            second_payoff[k, leaf] = -reward / floors.share[k]


@compiled_inside
def gradient_missing(renewed: FloatArray, has_second: IntArray) -> bool:
    """Whether a code has a multiplier now, but its gradient was not accumulated."""
    for k in range(renewed.size):
        if renewed[k] > 0.0 and has_second[k] == 0:
            return True
    return False


@compiled_inside
def add_second_gradient(
    renewed: FloatArray, second_gradient: FloatArray, gradient: FloatArray
) -> None:
    """Add the gradients of the second payoffs, each times its multiplier."""
    for k in range(renewed.size):
        if renewed[k] > 0.0:
            for t in range(gradient.shape[1]):
                for j in range(gradient.shape[0]):
                    gradient[j, t] += renewed[k] * second_gradient[k, j, t]
