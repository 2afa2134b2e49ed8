"""Race: settings compete on folds, and only those that may win run to the end.

Settings are what a path of penalties is traced with: the loss, the depth, the steepness
and how numbers are scaled. They are first tried on two folds with a coarse grid, few
solutions and not too many rows. Settings next to the best so far are tried as long as
that pays: a deeper tree, another scaling, then another loss and steeper cuts. The best
and the simplest are then traced in full, on every fold and on all rows. Nothing here
depends on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.estimators.fitting import InfeasibleError

if TYPE_CHECKING:
    import pandas as pd

#: Folds that all settings are tried on, and settings that are traced in full.
FIRST_FOLDS, FINALISTS = 2, 2
DEEPEST = 4
# Settings count as equally good if they differ by less than this share of what the best
# gain over a tree that is next to empty.
_LITTLE = 0.02


@dataclass(frozen=True)
class Settings:
    """What a path is traced with."""

    loss: str
    depth: int
    gamma: Any
    scaling: Any

    @property
    def text(self) -> str:
        """In a few words."""
        scaling = "" if self.scaling == "auto" else f", {self.scaling} scaling"
        steep = "" if self.gamma == "auto" else f", gamma {self.gamma}"
        return f"loss={self.loss}, depth {self.depth}{steep}{scaling}"


@dataclass(frozen=True)
class Choices:
    """Values of every axis that may be chosen; one value means that it is fixed.

    ``log_depth`` is the largest depth at which the likelihood can keep the promises
    that were asked for; None if any can.
    """

    losses: tuple[str, ...]
    depths: tuple[int, ...]
    gammas: tuple[Any, ...]
    scalings: tuple[Any, ...]
    log_depth: int | None = None

    @property
    def all(self) -> list[Settings]:
        """Every combination."""
        every = product(self.losses, self.depths, self.gammas, self.scalings)
        return self._possible([Settings(*one) for one in every])

    @property
    def first(self) -> list[Settings]:
        """Settings that are tried before anything is known."""
        simple = Settings(
            self.losses[0], self.depths[0], self.gammas[0], self.scalings[0]
        )
        found = [replace(simple, depth=depth) for depth in self.depths[:2]]
        found += [replace(simple, scaling=scaling) for scaling in self.scalings]
        return self._possible(list(dict.fromkeys(found)))

    def _possible(self, settings: list[Settings]) -> list[Settings]:
        """Settings without those that are too deep for the likelihood."""
        if self.log_depth is None or "cost" not in self.losses:
            return settings
        most = self.log_depth
        return [one for one in settings if one.loss != "log" or one.depth <= most]

    def next(self, tried: list[Settings], best: Settings) -> list[Settings]:
        """Settings worth trying, given what was tried and which was the best."""
        deeper = [depth for depth in self.depths if depth > best.depth]
        found = [replace(best, depth=depth) for depth in deeper[:1]]
        found += [replace(best, scaling=scaling) for scaling in self.scalings]
        fresh = [one for one in found if one not in tried]
        if fresh:
            return self._possible(fresh)
        found = [replace(best, loss=loss, gamma="auto") for loss in self.losses]
        steeper = ("auto", "steep") if self.gammas == ("auto",) else self.gammas
        if best.loss == "cost":
            found += [replace(best, gamma=gamma) for gamma in steeper]
        fresh = [one for one in dict.fromkeys(found) if one not in tried]
        return self._possible(fresh)


@dataclass
class Heat:
    """How settings did on the first folds: an array per fold, one entry per strength.

    Strengths rise, so the last tree is next to empty.
    """

    settings: Settings
    scores: list[Any]
    finalist: bool = False

    @property
    def _means(self) -> FloatArray:
        if any(isinstance(one, InfeasibleError) for one in self.scores):
            return np.full(1, -np.inf)
        means = np.mean(self.scores, axis=0)
        return np.where(np.isnan(means), -np.inf, means)

    @property
    def best(self) -> float:
        """Best mean score over the folds; minus infinity if there is none."""
        return float(self._means.max())

    @property
    def empty(self) -> float:
        """Mean score of the sparsest tree."""
        return float(self._means[-1])


@dataclass
class Race:
    """A race under way.

    ``try_out`` scores settings on the first folds.
    """

    choices: Choices
    try_out: Callable[[list[Settings]], list[list[Any]]]
    heats: list[Heat] = field(default_factory=list)

    def run(self) -> list[Settings]:
        """Try settings until nothing more seems worth it; return the finalists."""
        waiting = self.choices.first
        while waiting:
            for settings, scores in zip(waiting, self.try_out(waiting), strict=True):
                self.heats.append(Heat(settings, scores))
            tried = [heat.settings for heat in self.heats]
            waiting = self.choices.next(tried, self.leader.settings)
        chosen = self._finalists()
        for heat in self.heats:
            heat.finalist = heat.settings in chosen
        return chosen

    @property
    def leader(self) -> Heat:
        """The simplest of those that are as good as the best, but for a little."""
        top = max(self.heats, key=lambda heat: heat.best)
        gain = top.best - max(heat.empty for heat in self.heats)
        little = _LITTLE * gain if np.isfinite(gain) else 0.0
        near = [heat for heat in self.heats if heat.best >= top.best - little]
        return min(near, key=lambda heat: self._complexity(heat.settings))

    def _complexity(self, settings: Settings) -> tuple[int, ...]:
        """Depth first, then the order in which values are listed."""
        choices, gammas = self.choices, ("auto", *self.choices.gammas)
        return (
            settings.depth,
            choices.scalings.index(settings.scaling),
            choices.losses.index(settings.loss),
            gammas.index(settings.gamma) if settings.gamma in gammas else len(gammas),
        )

    def _finalists(self) -> list[Settings]:
        """The leader, and the best of the smallest trees, by likelihood if possible."""
        order = sorted(self.heats, key=lambda heat: -heat.best)
        smallest = self.choices.depths[0]
        simple = [h.settings for h in order if h.settings.depth == smallest]
        preferred = [s for s in simple if s.loss == "log"] or simple
        found = [self.leader.settings, preferred[0]]
        if len(set(found)) < FINALISTS:
            found += [heat.settings for heat in order if heat.settings not in found]
        return list(dict.fromkeys(found))[:FINALISTS]

    def frame(self) -> pd.DataFrame:
        """One row per settings: what was tried, how it did, and what became of it."""
        import pandas as pd

        rows = [
            {
                "loss": heat.settings.loss,
                "depth": heat.settings.depth,
                "gamma": heat.settings.gamma,
                "scaling": heat.settings.scaling,
                "first_score": heat.best,
                "finalist": heat.finalist,
            }
            for heat in self.heats
        ]
        return pd.DataFrame(rows).rename_axis("settings")
