"""MinRecall: a floor under the expected recall of every class.

The recall of class k is linear in the mass matrix once the leaves have labels:

    recall_k = sum over leaves l with label k of mass[k, l] / share_k

and the floor enters training through the augmented Lagrangian

    sum_k (pressure_k^2 - multiplier_k^2) / (2 stiffness),
    pressure_k = max(0, multiplier_k + stiffness (floor_k - recall_k)).
"""

from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.compilation import compiled


@compiled
def fill_recall(
    mass: FloatArray, share: FloatArray, leaf_class: IntArray, recall_out: FloatArray
) -> None:
    """Expected share of every class that lands in a leaf of its own label."""
    for k in range(recall_out.size):
        recall_out[k] = 0.0
    for leaf in range(leaf_class.size):
        k = leaf_class[leaf]
        recall_out[k] += mass[k, leaf] / share[k]


@dataclass(frozen=True)
class MinRecall:
    """Floors of shape (n_classes,); 0 means no demand on the class."""

    floor: FloatArray

    @classmethod
    def none(cls, n_classes: int) -> "MinRecall":
        """No demand on any class."""
        return cls(np.zeros(n_classes))

    def violation(self, recall: FloatArray) -> float:
        """By how much the worst class misses its floor, 0 if all are met."""
        return float(np.max(self.floor - recall, initial=0.0))
