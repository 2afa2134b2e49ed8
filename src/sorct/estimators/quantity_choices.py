"""Choices of a quantity: which settings of its trees a race tries, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sorct.data.options import BENT
from sorct.estimators.choices import Choices, Settings, fresh_of
from sorct.estimators.race import LITTLE

# Depths at which every kind of leaf is tried before anything is known; of these, depths
# at which linear leaves are tried on logarithms, and along lines that bend.
_FIRST_DEPTHS, _FIRST_SHALLOW = 3, 2
#: What trees of a quantity gain counts for no more than so many times what they leave.
MOST_GAIN = 2.5


@dataclass(frozen=True)
class QuantityChoices(Choices):
    """The same for a quantity: leaves are constant or linear.

    Linear leaves are tried at the first depths and constant ones at the last of these,
    since neither tells of the other; then what is next to the best.
    """

    # Whether gentler and steeper cuts are tried, where steepness is left open.
    tries_steepness: bool = True

    keeps_smallest = False
    # The same settings end in trees of rather different errors from fold to fold.
    patience = LITTLE
    # Scores of one line and of a tree of two may be that close.
    same = 1e-6
    # Where little is left unexplained, a small gain is a large part of it.
    most_gain = MOST_GAIN

    @property
    def first(self) -> list[Settings]:
        """Every kind of leaf at the first depths, then logarithms and bent lines."""
        found, depths = [], sorted(self.depths)
        simple = Settings(
            self.losses[0],
            depths[0],
            self.gammas[0],
            self.scalings[0],
            mixed=self.shares[0],
            link=self.links[0],
            categorical=self.categoricals[0],
        )
        if not self.every_depth:
            depths = depths[:_FIRST_DEPTHS]
        for leaf in self.leaves:
            alone = self.every_depth or leaf == "linear" or len(self.leaves) == 1
            tried = depths if alone else depths[-1:]
            found += [replace(simple, leaf=leaf, depth=depth) for depth in tried]
            if leaf == "linear":
                tried = tried[:_FIRST_SHALLOW]
                logs = replace(simple, leaf=leaf, link=self.links[-1])
                found += [replace(logs, depth=depth) for depth in tried]
                if BENT in self.scalings:
                    bent = replace(simple, leaf=leaf, scaling=BENT)
                    found += [replace(bent, depth=depth) for depth in tried]
        return fresh_of(self._possible(found), [])

    def _possible(self, settings: list[Settings]) -> list[Settings]:
        """Settings without a single leaf that is constant."""
        return [one for one in settings if one.depth > 0 or one.leaf == "linear"]

    def next(self, tried: list[Settings], best: Settings) -> list[Settings]:
        """Deeper trees and other scalings, then other leaves, shares, steepnesses."""
        found = self._deeper(best)
        found += [replace(best, scaling=scaling) for scaling in self.scalings]
        found += [replace(best, link=link) for link in self.links]
        found += [replace(best, categorical=one) for one in self.categoricals]
        fresh = fresh_of(self._possible(found), tried)
        if fresh:
            return fresh
        found = [replace(best, leaf=leaf) for leaf in self.leaves]
        if best.depth > 0:
            found += [replace(best, mixed=share) for share in self.shares]
            free = self.tries_steepness and self.gammas == ("auto",)
            gammas = ("gentle", "steep") if free else self.gammas
            found += [replace(best, gamma=gamma) for gamma in gammas]
        return fresh_of(self._possible(found), tried)
