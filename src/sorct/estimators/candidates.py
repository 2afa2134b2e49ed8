"""Candidates: trees that a search chooses from, and how it chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.data.wording import shown
from sorct.estimators.folds import PathTask
from sorct.estimators.following import Following
from sorct.estimators.marks import FoldScores
from sorct.estimators.quantity_choices import MOST_GAIN
from sorct.tree.frontier import sparsest
from sorct.tree.path import Limits, Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

# What the rule "paired" gives up for fewer variables, at least and at most, as a share
# of what the best tree gains: of classes over the sparsest, of a quantity over nothing.
_GIVEN_UP, _GIVEN_UP_QUANTITY = (0.005, 0.02), (0.01, 0.03)
RULES = ("best", "one-standard-error", "paired")


@dataclass(frozen=True)
class Candidates:
    """Trees of all rows, along paths of several settings, with scores on folds.

    Attributes
    ----------
    results : DataFrame
        A row per tree, path by path.
    paths : tuple of Path
    tasks : tuple of PathTask
        What the paths were traced for.
    following : Following or None
        What is asked of rules that people follow; None: nothing.
    """

    results: pd.DataFrame
    paths: tuple[Path, ...]
    tasks: tuple[PathTask | None, ...]
    following: Following | None

    @classmethod
    def of(
        cls, found: list[FoldScores], score_name: str, following: Following | None
    ) -> Candidates:
        """From the paths traced; raises where floors or scores leave none."""
        feasible = [one for one in found if one.error is None]
        if not feasible:
            assert found[0].error is not None
            raise found[0].error
        results = _joined([one.frame() for one in feasible])
        if results["mean_score"].isna().all():
            raise ValueError(
                f"The scorer {score_name!r} gives no number for any "
                "tree (NaN in some fold): there is nothing to choose by. Take another, "
                "such as 'balanced_accuracy', or fewer folds."
            )
        paths = tuple(one.scored_path(score_name) for one in feasible)
        return cls(results, paths, tuple(one.task for one in feasible), following)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """All trees, in the order of the results."""
        return tuple(tree for path in self.paths for tree in path.offered)

    def choose(self, rule: str, limits: Limits) -> int:
        """Row of the results by a rule, within limits."""
        allowed = limits.allow(self.trees)
        if self.following is not None:
            allowed = allowed & self._worth_following(self.following, allowed)
        return choose(self.results, rule, allowed)

    def _worth_following(self, following: Following, allowed: AnyArray) -> AnyArray:
        """Rows whose rules lead people where the tree does, or that are far better.

        A tree that people cannot follow stays only if its score, less a handicap, is
        ahead of the best that they can, by more than chance.
        """
        followed = self.results["followed"].to_numpy(dtype=np.float64)
        scores = np.where(allowed, self.results["mean_score"], np.nan)
        known = allowed & ~np.isnan(scores)
        good = known & following.met(followed)
        if not good.any():
            most = followed[known].max() if following.strict and known.any() else 0.0
            return np.asarray(allowed & (followed >= most))
        best = int(np.where(good, scores, -np.inf).argmax())
        fewest = self.results["n_variables"] == self.results["n_variables"][known].min()
        off = following.handicap(scores, followed, scores[known & fewest].max())
        ahead, spread = _paired(self.results, best)
        noise = spread * _error_share(self.results)
        return np.asarray(good | (known & (ahead > np.maximum(off, noise))))

    def place(self, index: int) -> tuple[int, int]:
        """Which path a row of the results belongs to, and which of its trees."""
        for n, path in enumerate(self.paths):
            if index < len(path.offered):
                return n, index
            index -= len(path.offered)
        raise IndexError(index)

    def with_tree(self, index: int, tree: Tree) -> Candidates:
        """The same with another tree in a row of the results."""
        n, place = self.place(index)
        trees, n_points = list(self.paths[n].offered), len(self.paths[n])
        trees[place] = tree
        path = replace(
            self.paths[n],
            trees=tuple(trees[:n_points]),
            relaxed=tuple(trees[n_points:]),
        )
        return replace(self, paths=(*self.paths[:n], path, *self.paths[n + 1 :]))


def choose(results: pd.DataFrame, rule: str, allowed: AnyArray) -> int:
    """Row of a table of scores by a rule, among those allowed.

    Among rows that the rule leaves, fewest variables come first, then fewest columns
    per cut, then the better score, then the last.
    """
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {shown(rule)}.")
    if rule == "paired":
        allowed = allowed & not_behind(results, allowed)
    kept = results[allowed]
    within: Any = {"one-standard-error": kept["se_score"], "paired": np.inf}
    columns = kept["mean_score"], kept["n_variables"], kept["local_sparsity"]
    return int(np.flatnonzero(allowed)[sparsest(*columns, within.get(rule, 0.0))])


def not_behind(results: pd.DataFrame, allowed: AnyArray) -> AnyArray:
    """Rows that are not clearly worse than the best of those allowed.

    Fold by fold, a tree is compared with the best: it is behind if the mean difference
    is more than one standard error of these differences. Folds that are hard for all
    trees do not blur that, as they do the standard error of a score. Where folds differ
    so much that nearly every tree would do, and where they hardly differ at all, shares
    of what the best gains are the limits (``_given_up``).
    """
    means = np.where(allowed, results["mean_score"], np.nan)
    if np.isnan(means).all():
        return allowed
    best = int(np.nanargmax(means))
    ahead, spread = _paired(results, best)
    noise = spread / np.sqrt(max(_n_folds(results), 1))
    little, much = _given_up(results, means, best)
    slack = np.clip(noise, little, much) + 1e-12 * np.abs(means[best])
    return np.asarray(-ahead <= slack)


def _paired(results: pd.DataFrame, row: int) -> tuple[FloatArray, FloatArray]:
    """By how much all are ahead of one, and how that differs from fold to fold."""
    names = [name for name in results if str(name).startswith("split")]
    scores = results[names].to_numpy(dtype=np.float64)
    gaps = scores - scores[row]
    spread = gaps.std(axis=1, ddof=1) if len(names) > 1 else np.zeros(len(gaps))
    return gaps.mean(axis=1), spread


def _n_folds(results: pd.DataFrame) -> int:
    return sum(str(name).startswith("split") for name in results)


def _error_share(results: pd.DataFrame) -> float:
    """Standard errors beside standard deviations; folds drawn again count once."""
    told = results[results["std_score"] > 0.0]
    return float((told["se_score"] / told["std_score"]).max()) if len(told) else 0.0


def _given_up(results: pd.DataFrame, means: AnyArray, best: int) -> tuple[float, float]:
    """What fewer variables may cost, at least and at most.

    Of classes a share of what the best tree gains over the sparsest. Of a quantity one
    of what it gains over always saying the mean, which is told by R²; but where little
    is left unexplained, a small gain is a large part of it.
    """
    if "mean_r2" in results and means[best] < 0.0:
        r2 = float(np.clip(results["mean_r2"].iloc[best], 0.0, 1.0 - 1e-9))
        gain = -means[best] * min(r2 / (1.0 - r2), MOST_GAIN)
        shares = _GIVEN_UP_QUANTITY
    else:
        sparsest = np.where(np.isnan(means), np.inf, results["n_variables"]).argmin()
        gain, shares = max(means[best] - means[sparsest], 0.0), _GIVEN_UP
    little, much = (share * gain for share in shares)
    return little, much


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    joined = pd.concat(frames, ignore_index=True)
    rank = joined["mean_score"].rank(method="min", ascending=False, na_option="bottom")
    return joined.assign(rank=rank.astype(int)).rename_axis("candidate")
