"""Verdict: paired tests on folds, and the one sentence that they allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from sorct._typing import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from sorct.estimators.rows import Data

AXIS, LINEAR, OBLIQUE = "CART", "L1 logistic", "sorct"
METHODS = (AXIS, LINEAR, OBLIQUE)
BASELINE = "most frequent class"
_COUNTED = {3: "three", 4: "four"}

# -- tests -------------------------------------------------------------------------


@dataclass(frozen=True)
class PairedTest:
    """Mean difference of paired scores, its standard error, t and two-sided p."""

    difference: float
    standard_error: float
    t: float
    p: float


@dataclass(frozen=True)
class Sizes:
    """Rows of the folds: to train on and to score on, on average."""

    n_train: float
    n_test: float

    @classmethod
    def of(cls, parts: Sequence[tuple[Data, Data]]) -> Sizes:
        """Sizes of training and test parts."""
        train, test = np.array([[len(a.y), len(b.y)] for a, b in parts]).mean(axis=0)
        return cls(float(train), float(test))


def corrected_t_test(
    difference: FloatArray, share: float, resolution: float
) -> PairedTest:
    """Corrected resampled t test of Nadeau and Bengio (2003).

    Parameters
    ----------
    difference : array of shape (n_folds,), one score less the other
    share : float
        Rows to score on over rows to train on; 0 gives the plain paired t test.
    resolution : float
        Step in which scores come. The variance over the folds is taken as no less than
        that of rounding to such steps, resolution^2 / 12: a few folds that happen to
        agree are not certain.
    """
    n_folds = len(difference)
    # Differences are taken from the first one: if all are equal, their variance is then
    # exactly 0, without rounding errors.
    about = difference - difference[0]
    mean = float(difference[0] + about.mean())
    variance = max(float(about.var(ddof=1)), resolution**2 / 12.0)
    error = float(np.sqrt((1.0 / n_folds + share) * variance))
    if error == 0.0:
        t = 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    else:
        t = mean / error
    return PairedTest(mean, error, t, float(2.0 * stats.t.sf(abs(t), n_folds - 1)))


def holm(p: FloatArray) -> FloatArray:
    """Adjusted p values by Holm's method.

    Of the k-th smallest of m, it is (m - k + 1) p, or that before it if larger.
    """
    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def all_tests(
    scores: pd.DataFrame,
    sizes: Sizes,
    methods: Sequence[str] = METHODS,
    baseline: str = BASELINE,
) -> pd.DataFrame:
    """All pairs: those of the methods, ours first, and each against the baseline.

    One row more or less moves a score by its scale, which is 1 for shares of rows and
    taken from the largest score for others, over the rows of a fold.
    """
    import pandas as pd

    share = sizes.n_test / sizes.n_train
    resolution = float(np.abs(scores.to_numpy()).max()) / sizes.n_test

    others = [method for method in methods if method != OBLIQUE]
    pairs = [(OBLIQUE, other) for other in others] + list(combinations(others, 2))
    families = [pairs, [(method, baseline) for method in methods]]
    rows: list[dict[str, Any]] = []
    for pairs in families:
        found = [
            corrected_t_test(
                (scores[one] - scores[other]).to_numpy(), share, resolution
            )
            for one, other in pairs
        ]
        adjusted = holm(np.array([test.p for test in found]))
        rows += [
            {"one": one, "other": other, **vars(test), "p_holm": float(p)}
            for (one, other), test, p in zip(pairs, found, adjusted, strict=True)
        ]
    return pd.DataFrame(rows)


# -- the sentence ------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What tests allow to be said, and no more."""

    frame: pd.DataFrame
    tests: pd.DataFrame
    kinds: dict[str, str]
    scoring: str
    level: float
    methods: Sequence[str] = METHODS
    baseline: str = BASELINE

    def sentence(self) -> str:
        """One sentence on which of the kinds the data support."""
        useful = self._useful()
        good = [m for m in useful if not self._ahead_of(m)]
        if not useful:
            return (
                f"These data support none of the {_COUNTED[len(self.methods)]}: no "
                "method is shown to be better than always answering the "
                f"{self.baseline}."
            )
        if len(good) == 1:
            return f"These data support {self.kinds[good[0]]}: {self._wins(good[0])}."
        advice = self._advice(good)
        if len(good) == len(self.methods):
            return f"There is no difference that these folds can show: {advice}."
        same = (
            f"between {' and '.join(good)} there is no difference that these folds can "
            f"show: {advice}."
        )
        text = "; ".join([*self._doubts(good), same])
        return text[0].upper() + text[1:]

    def _doubts(self, good: list[str]) -> list[str]:
        """What is said of methods that are not useful: behind another, or unproven."""
        out = [m for m in self.methods if m not in good]
        behind = [m for m in out if self._ahead_of(m)]
        against = " and ".join(f"{self.kinds[m]} ({self._why_not(m)})" for m in behind)
        said = [f"these data speak against {against}"] if behind else []
        return said + [self._why_not(m) for m in out if m not in behind]

    def _useful(self) -> list[str]:
        """Methods shown to be better than the baseline, or than one of these.

        Tests against the baseline and between methods are adjusted apart, so that one
        may be shown to be ahead of a useful method and not of the baseline.
        """
        shown = {m for m in self.methods if self._gap(m, self.baseline) is not None}
        while more := {a for m in shown for a in self._ahead_of(m)} - shown:
            shown |= more
        return [m for m in self.methods if m in shown]

    def _gap(self, one: str, other: str) -> tuple[float, float] | None:
        """How far one is ahead of another and the p value, if that is shown."""
        for row in self.tests.to_dict("records"):
            sign = {(one, other): 1.0, (other, one): -1.0}.get(
                (row["one"], row["other"])
            )
            if sign is not None:
                ahead = sign * row["difference"]
                shown = ahead > 0.0 and row["p_holm"] < self.level
                return (ahead, row["p_holm"]) if shown else None
        raise KeyError((one, other))

    def _ahead_of(self, method: str) -> list[str]:
        """Methods that are shown to be better."""
        others = [m for m in self.methods if m != method]
        return [m for m in others if self._gap(m, method) is not None]

    def _wins(self, method: str) -> str:
        """Why each of the others is ruled out, as parts of a sentence on the winner."""
        parts = []
        for other in self.methods:
            if other == method:
                continue
            gap = self._gap(method, other)
            parts.append(
                f"{method} is ahead of {other} by {self._size(gap)}"
                if gap is not None
                else f"for {other}, {self._why_not(other)}"
            )
        return ", and ".join(parts)

    def _why_not(self, method: str) -> str:
        better = self._ahead_of(method)
        if better:
            best = max(better, key=lambda m: self.frame["score"][m])
            return f"{method} is behind {best} by {self._size(self._gap(best, method))}"
        return f"{method} is not shown to be better than the {self.baseline}"

    def _size(self, gap: tuple[float, float] | None) -> str:
        assert gap is not None
        ahead, p = gap
        chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        if self.scoring in ("accuracy", "balanced_accuracy"):
            return f"{100.0 * ahead:.1f} points, {chance}"
        return f"{ahead:.3g}, {chance}"

    def _advice(self, methods: list[str]) -> str:
        """What to take of methods between which no difference is shown.

        The one with fewest variables, unless its score is more than a standard error
        below the best: then there is a choice to make.
        """
        score, used = self.frame["score"], self.frame["variables"].round(1)
        best = max(methods, key=lambda m: score[m])
        fewest = min(methods, key=lambda m: (used[m], -score[m]))
        if score[fewest] >= score[best] - self.frame["standard_error"][best]:
            rest = [f"{m} {used[m]:g}" for m in methods if m != fewest]
            return (
                f"take the one with fewest variables, {fewest} ({used[fewest]:g} on "
                f"average; {', '.join(rest)})"
            )
        return (
            f"take {fewest} for fewer variables ({used[fewest]:g} on average against "
            f"{used[best]:g}) or {best} for what may be a better score "
            f"({score[best]:.3f} against {score[fewest]:.3f})"
        )
