"""Following: how much it counts in a choice that rules can be followed by hand.

Soft cuts mix what leaves say, so that somebody who goes one way at every cut may come
to another class than ``predict``. For how many training rows that is so is known of
every tree.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorct._typing import BoolArray, FloatArray
from sorct.estimators.checks import check_real

# Share of the rows from which on rules count as followed.
_FOLLOWED = 0.99
# Trees that are not followed have to be ahead of others by more than this share of what
# trees gain over the sparsest.
_AHEAD = 0.1


@dataclass(frozen=True)
class Following:
    """What is asked of rules that people follow.

    Attributes
    ----------
    least : float
        Share of the training rows for which following them gives what is predicted.
    strict : bool
        Whether trees with a smaller share are left out where others are not, or only
        have to be better by far.
    """

    least: float = _FOLLOWED
    strict: bool = False

    @classmethod
    def of(cls, min_followed: Any) -> Following:
        """From the share asked for; None is the usual one, as a wish, no demand."""
        if min_followed is None:
            return cls()
        expected = "a share from 0 to 1, or None"
        check_real("min_followed", min_followed, expected)
        if min_followed > 1:
            raise ValueError(f"min_followed must be {expected}, got {min_followed}.")
        return cls(float(min_followed), strict=True)

    def met(self, followed: FloatArray) -> BoolArray:
        """Which trees are followed."""
        return np.asarray(followed >= self.least)

    def handicap(
        self, scores: FloatArray, followed: FloatArray, sparsest: float
    ) -> FloatArray:
        """What is taken off the scores of trees that are not followed.

        It is a share of what the best gain over the sparsest tree.
        """
        if self.strict:
            return np.where(self.met(followed), 0.0, np.inf)
        best = np.max(scores, where=np.isfinite(scores), initial=-np.inf)
        gain = best - sparsest
        off = _AHEAD * gain if np.isfinite(gain) else 0.0
        return np.where(self.met(followed), 0.0, max(off, 0.0))

    def warn_if_not_met(self, followed: float | None, stacklevel: int) -> None:
        """Say so where no tree has rules that can be followed as asked."""
        share = followed or 0.0
        if self.strict and share < self.least:
            warnings.warn(
                f"No tree compared is followed by hand for {self.least:g} of the "
                f"training rows (min_followed); tree_ is for {share:.4g}. Allow less, "
                "or trees of one cut (depths=1, two classes).",
                UserWarning,
                stacklevel=stacklevel + 1,
            )
