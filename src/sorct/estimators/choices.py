"""Choices: which settings of its trees a race tries, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.data.options import BENT
from sorct.data.table import has_numbers
from sorct.tree.params import MIXED

if TYPE_CHECKING:
    from sorct.estimators.fitting import Model

#: Settings that are traced in full.
FINALISTS = 2
DEEPEST = 4
# Scalings that are tried on a table with numbers.
_SCALINGS = ("auto", "quantile", "standard", BENT)
# Variables up to which lines are bent: every number has a column for each part.
_MOST_BENT = 100


@dataclass(frozen=True)
class Settings:
    """What a path is traced with; ``categorical`` None leaves that to the table."""

    loss: str
    depth: int
    gamma: Any
    scaling: Any
    class_weight: Any = None
    leaf: str = "constant"
    mixed: float = MIXED
    link: str = "identity"
    categorical: str | None = None
    preselect: str = "none"

    @property
    def by_log(self) -> bool:
        """Whether the likelihood is maximised."""
        return self.loss == "log"

    def are_those_of(self, model: Model) -> bool:
        """Whether a model has these settings."""
        names = ("loss", "depth", "gamma", "class_weight", "leaf", "mixed", "link")
        alike = all(
            getattr(self, name) == getattr(model, name)
            for name in (*names, "preselect")
        )
        table, read = model.table, (None, model.table.categorical)
        return alike and self.scaling == table.scaling and self.categorical in read


@dataclass(frozen=True)
class Choices:
    """Values of every axis that may be chosen; one value means that it is fixed.

    ``log_depth`` is the largest depth at which the likelihood can keep the promises
    that were asked for; None if any can. ``every_depth`` says that all depths are tried
    from the start, as those that a user listed are.
    """

    losses: tuple[str, ...]
    depths: tuple[int, ...]
    gammas: tuple[Any, ...]
    scalings: tuple[Any, ...]
    log_depth: int | None = None
    every_depth: bool = False
    class_weights: tuple[Any, ...] = (None,)
    leaves: tuple[str, ...] = ("constant",)
    shares: tuple[float, ...] = (MIXED,)
    links: tuple[str, ...] = ("identity",)
    categoricals: tuple[str | None, ...] = (None,)
    preselects: tuple[str, ...] = ("none",)
    # What is simpler leads if it is behind the best by no more than so many standard
    # errors, or by little.
    errors: float = 1.0

    # Settings that are traced in full, and whether the smallest tree is one of them;
    # whether settings and strengths that promise nothing are left out early.
    n_finalists: int = FINALISTS
    keeps_smallest = True
    thrifty = True
    # A gain counts for at most so many times what is left to gain beyond the best.
    most_gain = np.inf
    # Share of what there is to gain by which settings that are less simple than the
    # leader may be behind it on the first of these folds and still run on the others.
    patience = 0.0
    # Scores that differ by less than this share of it are of the same trees.
    same = 1e-4

    @property
    def all(self) -> list[Settings]:
        """Every combination."""
        every = product(
            self.losses, self.depths, self.gammas, self.scalings, self.class_weights,
            self.leaves, self.shares, self.links, self.categoricals, self.preselects,
        )  # fmt: skip
        return self._possible([Settings(*one) for one in every])

    @property
    def first(self) -> list[Settings]:
        """Settings that are tried before anything is known."""
        depths = sorted(self.depths)
        rest = depths[0], self.gammas[0], self.scalings[0], self.class_weights[0]
        simple = self._possible([Settings(loss, *rest) for loss in self.losses])[0]
        simple = replace(simple, preselect=self.preselects[0])
        found = [replace(simple, depth=d) for d in depths[: self._n_depths]]
        found += [replace(simple, gamma=gamma) for gamma in self.gammas]
        found += [replace(simple, scaling=scaling) for scaling in self.scalings]
        found += [replace(simple, class_weight=one) for one in self.class_weights]
        return fresh_of(self._possible(found), [])

    @property
    def _n_depths(self) -> int:
        """Depths that are tried from the start."""
        return len(self.depths) if self.every_depth else 1

    def _possible(self, settings: list[Settings]) -> list[Settings]:
        """Settings without those that are too deep for the likelihood."""
        most = self.log_depth
        if most is None:
            return settings
        return [one for one in settings if not one.by_log or one.depth <= most]

    def next(self, tried: list[Settings], best: Settings) -> list[Settings]:
        """Settings worth trying, given what was tried and which was the best."""
        found = self._deeper(best)
        if best.preselect != self.preselects[0]:
            found += [replace(best, class_weight=one) for one in self.class_weights]
            return fresh_of(found, tried)
        if best.scaling == BENT:
            # Bends and further cuts do similar things: neither tells of the other.
            found += self._deeper(replace(best, scaling=self.scalings[0]))
        found += [replace(best, scaling=scaling) for scaling in self.scalings]
        fresh = fresh_of(self._possible(found), tried)
        if fresh:
            return fresh
        found = [replace(best, loss=loss, gamma=self.gammas[0]) for loss in self.losses]
        found += [replace(best, gamma=gamma) for gamma in self._steepnesses(best)]
        found += [replace(best, class_weight=one) for one in self.class_weights]
        return fresh_of(self._possible(found), tried)

    @property
    def greedy(self) -> Settings | None:
        """Settings that begin with a greedy tree, as deep and steep as may be."""
        if self.preselects[-1] == self.preselects[0] or max(self.depths) < 2:
            return None
        gamma = "steep" if self.gammas == ("auto",) else self.gammas[-1]
        simple = replace(self.first[0], gamma=gamma, preselect=self.preselects[-1])
        return replace(simple, depth=max(self.depths))

    def _steepnesses(self, best: Settings) -> tuple[Any, ...]:
        """Values of gamma to try beside the best settings.

        A gentle bound keeps probabilities from 0 and 1, as a small table needs; the
        expected cost knows no probabilities.
        """
        if self.gammas != ("auto",):
            return self.gammas
        return ("gentle", "steep") if best.by_log else ("steep",)

    def _deeper(self, best: Settings) -> list[Settings]:
        """The next depth, by another loss where the likelihood cannot go."""
        deeper = sorted(depth for depth in self.depths if depth > best.depth)
        found = [replace(best, depth=depth) for depth in deeper[:1]]
        if self._possible(found):
            return found
        return [replace(one, loss=loss) for one in found for loss in self.losses]


def fresh_of(settings: list[Settings], tried: list[Settings]) -> list[Settings]:
    """Settings that were not tried, each once; a scaling may have no hash."""
    found: list[Settings] = []
    for one in settings:
        if one not in tried and one not in found:
            found.append(one)
    return found


def scalings_for(X: Any) -> tuple[str, ...]:
    """Scalings of the numbers of a table to choose from."""
    if not has_numbers(X):
        return ("auto",)
    if X.shape[1] <= _MOST_BENT:
        return _SCALINGS
    return tuple(one for one in _SCALINGS if one != BENT)
