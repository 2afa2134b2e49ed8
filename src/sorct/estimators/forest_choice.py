"""Forest choice: which penalty and how many trees, by losses on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ForestChoice:
    """Points of a path of penalties and numbers of trees, and the one that is taken.

    Attributes
    ----------
    alphas : array of shape (n_points,)
        Global penalties.
    n_variables : array of shape (n_points,)
        Variables that each selects on all rows.
    n_trees : tuple of int, rising
    loss, error : array of shape (n_points, len(n_trees))
        Mean loss on held-out rows, and the standard error of its difference from the
        least.
    chosen : tuple of two int
        Place of the penalty and of the number of trees.
    """

    alphas: FloatArray
    n_variables: IntArray
    n_trees: tuple[int, ...]
    loss: FloatArray
    error: FloatArray
    chosen: tuple[int, int]

    @classmethod
    def of(
        cls,
        alphas: FloatArray,
        n_variables: IntArray,
        n_trees: Sequence[int],
        losses: FloatArray,
        weight: FloatArray,
        rule: str,
    ) -> ForestChoice:
        """Choose by losses of shape (n_points, len(n_trees), n_rows).

        The least mean loss, or the fewest variables within one standard error of it,
        and of these the fewest trees.
        """
        loss = np.asarray(np.average(losses, axis=2, weights=weight))
        best = np.unravel_index(int(np.argmin(loss)), loss.shape)
        gap = losses - losses[best] - (loss - loss[best])[..., np.newaxis]
        error = np.linalg.norm(weight * gap, axis=2) / weight.sum()
        chosen = int(best[0]), int(best[1])
        if rule != "best":
            close = np.argwhere(loss - loss[best] <= error).tolist()
            chosen = min(
                ((point, size) for point, size in close),
                key=lambda place: (n_variables[place[0]], place[1], place[0]),
            )
        return cls(alphas, n_variables, tuple(n_trees), loss, error, chosen)

    @property
    def cv_loss(self) -> float:
        """Mean loss of what was chosen."""
        return float(self.loss[self.chosen])

    def frame(self) -> pd.DataFrame:
        """One row per penalty and number of trees."""
        import pandas as pd

        rows = [
            {
                "alpha_global": float(self.alphas[point]),
                "n_trees": size,
                "n_variables": int(self.n_variables[point]),
                "mean_loss": float(self.loss[point, place]),
                "standard_error": float(self.error[point, place]),
                "chosen": (point, place) == self.chosen,
            }
            for point in range(len(self.alphas))
            for place, size in enumerate(self.n_trees)
        ]
        return pd.DataFrame(rows)
