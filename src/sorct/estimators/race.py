"""Race: settings compete on folds, and only those that may win run to the end.

Settings are what a path of penalties is traced with: the loss, the depth, the steepness
and how numbers are scaled. They are first tried on some folds with a coarse grid, few
solutions and not too many rows. Settings next to the best so far are tried as long as
that pays: a deeper tree, another scaling, then another loss, gentler and steeper cuts.
What is behind the leader on the first of these folds is not tried on the others,
what was clearly behind at one depth is not tried at the next, and strengths far below
the one that was best for the leader are left out: weak penalties take longest. The best
and the simplest are then traced in full, on every fold and on all rows. Nothing here
depends on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.estimators.choices import Choices, Settings
from sorct.estimators.effort import InfeasibleError

if TYPE_CHECKING:
    import pandas as pd

    from sorct.estimators.marks import FoldScores

#: Folds that all settings are tried on, more where there are few rows: folds cost
#: little then, and two would tell little.
FIRST_FOLDS, MOST_FIRST_FOLDS = 2, 5
#: Settings count as equally good if they differ by less than chance may, or by less
#: than this share of what the best gain over a tree that is next to empty.
LITTLE = 0.02
# Settings that are behind by more than so many standard errors, and by more than this
# share of what there is to gain, are not traced in full.
_FAR_ERRORS, _FAR = 3.0, 0.05
# The same share for a greedy tree.
_FAR_GREEDY = 0.15
# Strengths of a coarse grid that are tried below the leader's best, and at least.
_WEAKER, _FEWEST = 2, 5


@dataclass
class Heat:
    """How settings did on the first folds: an array per fold, one entry per strength.

    Strengths rise, so the last tree is next to empty. A heat that is ``lost`` ended
    early: its scores are of fewer folds, and nobody asks for its place.
    """

    settings: Settings
    scores: list[Any]
    finalist: bool = False
    lost: bool = False

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
    def n_useful(self) -> int:
        """Number of strengths that are worth a look beside these, the strongest first.

        They reach a little below the one that was best.
        """
        return max(self.place_of_best + 1 + _WEAKER, _FEWEST)

    @property
    def place_of_best(self) -> int:
        """Which strength was the best, 0 being the strongest."""
        return self._means.size - 1 - int(self._means.argmax())

    def ends_at_best_of(self, n_strengths: int | None) -> bool:
        """Whether the weakest strength that was tried was the best of them.

        Then weaker ones may be better still, unless the grid has no more: it has not if
        fewer strengths were tried than ``n_strengths``, which were asked for.
        """
        cut_short = self._means.size == n_strengths
        return bool(cut_short and np.isfinite(self.best) and self._means.argmax() == 0)

    def is_behind(self, other: Heat, little: float, errors: float = 1.0) -> bool:
        """Whether the other one's best is better, by more than little and by chance.

        Chance is so many standard errors of the difference, fold by fold.
        """
        if not np.isfinite(self.best) or not np.isfinite(other.best):
            return self.best < other.best
        gaps = self._gaps(other)
        chance = gaps.std(ddof=1) / np.sqrt(gaps.size) if gaps.size > 1 else 0.0
        return bool(gaps.mean() > max(little, errors * chance))

    def is_far_behind(self, other: Heat, far: float) -> bool:
        """Whether the other one is better on every fold, and on average by far."""
        if not np.isfinite(self.best) or not np.isfinite(other.best):
            return self.best < other.best
        gaps = self._gaps(other)
        return bool((gaps > 0.0).all() and gaps.mean() > far)

    def _gaps(self, other: Heat) -> FloatArray:
        """By how much the other one's best is better, on the folds that both ran on."""
        n_folds = min(len(self.scores), len(other.scores))
        return other._at_best[:n_folds] - self._at_best[:n_folds]

    @property
    def _at_best(self) -> FloatArray:
        """Score on every fold at the strength whose mean is best."""
        return np.array(self.scores)[:, int(self._means.argmax())]

    @property
    def empty(self) -> float:
        """Mean score of the sparsest tree."""
        return float(self._means[-1])


@dataclass
class Race:
    """A race under way.

    ``try_out`` scores settings on some of the first folds, at so many of the strongest
    penalties of a coarse grid; None means all. Its last argument says on how many of
    the folds they were scored before; there are ``n_folds`` of them. No tree can have
    a score above ``most``. ``scout`` scores greedy trees as they are on the same folds,
    by depth, unless it is told without folds that they are far behind a score. When
    ``is_late`` says so, nothing more is tried, and ``ended`` that something was left;
    what ``try_out`` has no scores for was not tried.
    """

    choices: Choices
    try_out: Callable[[list[Settings], int | None, int], list[list[Any]]]
    heats: list[Heat] = field(default_factory=list)
    n_folds: int = 0
    most: float = np.inf
    scout: Callable[[Settings, float], list[Any]] = lambda *_: []
    is_late: Callable[[], bool] = lambda: False
    ended: bool = False
    _knows_greedy: bool = False

    def run(self) -> list[Settings]:
        """Try settings until nothing more seems worth it; return the finalists."""
        waiting, n_strengths = self.choices.first, None
        while waiting and not (self.heats and self.is_late()):
            self.heats += self._tried(waiting, n_strengths)
            if self.choices.thrifty:
                n_strengths = self.leader.n_useful
            waiting = self._next()
            if not waiting and not self.is_late():
                waiting, n_strengths = self._greedy(), None
        self.ended |= bool(waiting)
        chosen = self._finalists()
        for heat in self.heats:
            heat.finalist = heat.settings in chosen
        return chosen

    def _tried(self, waiting: list[Settings], n_strengths: int | None) -> list[Heat]:
        """Heats of settings; in full where few strengths seem to have been too few."""
        scored = zip(waiting, self.try_out(waiting, n_strengths, 0), strict=True)
        heats = [Heat(settings, scores) for settings, scores in scored if scores]
        self.ended |= len(heats) < len(waiting)
        if self.is_late():
            return heats
        short = [one for one in heats if one.ends_at_best_of(n_strengths)]
        kept = [one for one in heats if all(one is not other for other in short)]
        self._continue(kept, n_strengths)
        return kept + (
            self._tried([one.settings for one in short], None) if short else []
        )

    def _continue(self, heats: list[Heat], n_strengths: int | None) -> None:
        """Run heats on the folds left, but for those that are behind already."""
        if self.choices.thrifty and self.heats:
            leader, far = self.leader, self._share(_FAR)
            patience = self._share(self.choices.patience)
            order = self._complexity(leader.settings)
            for heat in heats:
                # What is less simple than the leader must be ahead of it to lead. One
                # fold tells little of a greedy tree, which was scouted before.
                simpler = self._complexity(heat.settings) < order
                behind = heat.is_far_behind(leader, far if simpler else patience)
                heat.lost = behind and not self._is_greedy(heat)
        left = [one for one in heats if not one.lost and len(one.scores) < self.n_folds]
        if left:
            settings, n_done = [one.settings for one in left], len(left[0].scores)
            scored = self.try_out(settings, n_strengths, n_done)
            for heat, scores in zip(left, scored, strict=True):
                heat.scores = [*heat.scores, *scores]

    def _next(self) -> list[Settings]:
        """Settings to try, without those that were clearly behind at another depth.

        There are none where what is left to gain is too little to lead by.
        """
        if self._is_over:
            return []
        leader, known = self.leader.settings, [heat.settings for heat in self.heats]
        while found := self.choices.next(known, leader):
            worth = [one for one in found if not self._is_hopeless(one, leader)]
            if worth:
                return worth
            known += found
        return []

    def _greedy(self) -> list[Settings]:
        """Settings that begin with a greedy tree, if one is near the leader as it is.

        Scoring greedy trees without a path takes hardly any time.
        """
        settings = self.choices.greedy
        if settings is None or self._is_over or self._knows_greedy:
            return []
        settings = replace(settings, class_weight=self.leader.settings.class_weight)
        self._knows_greedy = True
        scores = self.scout(settings, self.leader.best)
        if not scores:
            return []
        tried = [
            Heat(replace(settings, depth=depth), [one[[depth - 1]] for one in scores])
            for depth in sorted(self.choices.depths)
            if 1 < depth <= len(scores[0])
        ]
        top, little = max(tried, key=lambda heat: heat.best), self._share(LITTLE)
        found = next(heat for heat in tried if not heat.is_behind(top, little))
        far = self._share(_FAR_GREEDY)
        return [] if found.is_behind(self.leader, far) else [found.settings]

    @property
    def _is_over(self) -> bool:
        """Whether a perfect score would be too little ahead to lead."""
        return bool(
            self.choices.thrifty and self.most - self.leader.best < self._share(LITTLE)
        )

    def _is_hopeless(self, settings: Settings, leader: Settings) -> bool:
        """Whether settings differ from the leader's by what was behind elsewhere."""
        if not self.choices.thrifty or settings.depth != leader.depth:
            return False
        little = self._share(LITTLE)
        return any(
            own is not None and other is not None and other.is_behind(own, little)
            for depth in self.choices.depths
            for own in [self._heat(replace(leader, depth=depth))]
            for other in [self._heat(replace(settings, depth=depth))]
        )

    def _heat(self, settings: Settings) -> Heat | None:
        """How settings did, if they were tried."""
        return next((one for one in self.heats if one.settings == settings), None)

    @property
    def _running(self) -> list[Heat]:
        """Heats that were not lost."""
        return [heat for heat in self.heats if not heat.lost]

    @property
    def _top(self) -> Heat:
        return max(self._running, key=lambda heat: heat.best)

    def _share(self, share: float) -> float:
        """A share of what the best gains over a tree that is next to empty."""
        gain = self._top.best - max(heat.empty for heat in self._running)
        gain = min(gain, self._counted)
        return share * gain if np.isfinite(gain) else 0.0

    @property
    def _counted(self) -> float:
        """The most that the gain may be taken for, of which tolerances are shares."""
        left = self.most - self._top.best
        return self.choices.most_gain * left if np.isfinite(left) else np.inf

    @property
    def leader(self) -> Heat:
        """The simplest of those that are not clearly behind the best."""
        top, little = self._top, self._share(LITTLE)
        errors = self.choices.errors
        near = [one for one in self._running if not one.is_behind(top, little, errors)]
        return min(near, key=lambda heat: self._complexity(heat.settings))

    def place_of_best(self, settings: Settings) -> int | None:
        """Which strength of a coarse grid was the best, 0 being the strongest."""
        heat = self._heat(settings)
        if heat is None or not np.isfinite(heat.best):
            return None
        return heat.place_of_best

    def n_strengths(self, settings: Settings) -> int | None:
        """How many of the strongest penalties of a coarse grid settings may need."""
        if not self.choices.thrifty:
            return None
        heat = self._heat(settings)
        return None if heat is None else heat.n_useful

    def _complexity(self, settings: Settings) -> tuple[int, ...]:
        """Depth first, then the order in which values are listed."""
        choices, gammas = self.choices, ("auto", "gentle", *self.choices.gammas)
        return (
            settings.depth,
            choices.scalings.index(settings.scaling),
            choices.losses.index(settings.loss),
            gammas.index(settings.gamma) if settings.gamma in gammas else len(gammas),
            choices.class_weights.index(settings.class_weight),
            choices.leaves.index(settings.leaf),
            choices.shares.index(settings.mixed),
            choices.links.index(settings.link),
            choices.categoricals.index(settings.categorical),
            choices.preselects.index(settings.preselect),
        )

    def _finalists(self) -> list[Settings]:
        """Settings that are traced in full: the leader, and others beside it.

        In this order:

        - the best that begin with a greedy tree, if ahead of the leader;
        - the best of the smallest depth, by likelihood if possible;
        - where the leader is of that depth, or these are far behind, the best others
          (of classes alone).

        Of settings with the same score one is enough: bounds on steepness that no cut
        reaches make no difference. What is far behind the leader cannot be chosen.
        """
        order, leader = sorted(self._running, key=lambda heat: -heat.best), self.leader
        smallest = min(self.choices.depths)
        simple = [heat for heat in order if heat.settings.depth == smallest]
        preferred = [heat for heat in simple if heat.settings.by_log] or simple
        kept = preferred[:1] if self.choices.keeps_smallest else []
        if any(heat is leader for heat in preferred):
            kept = []
        greedy = [one for one in order if self._is_greedy(one)]
        ahead = [one for one in greedy if one.best > leader.best]
        found: list[Heat] = []
        for heat in [leader, *ahead, *kept, *order]:
            gaps = [abs(heat.best - one.best) for one in found]
            left = self.choices.keeps_smallest and self._is_far_behind(heat)
            if all(gap > self._share(self.choices.same) for gap in gaps) and not left:
                found.append(heat)
        found = found[: self.choices.n_finalists]
        found = [heat for heat in found if not self._is_far_behind(heat)]
        # Paths that keep to the variables of a greedy tree take little time, and more
        # rows than those of a first look help such trees most.
        far = self._share(_FAR_GREEDY)
        near = [one for one in greedy if not one.is_behind(leader, far)][:1]
        found += [one for one in near if all(one is not other for other in found)]
        return [heat.settings for heat in found]

    def _is_greedy(self, heat: Heat) -> bool:
        """Whether settings begin with a greedy tree, where that is a choice."""
        return heat.settings.preselect != self.choices.preselects[0]

    def _is_far_behind(self, heat: Heat) -> bool:
        """Whether settings cannot be chosen; without a score that is not known.

        Of classes, deeper trees than the leader's must be ahead of it: they take most
        of the time.
        """
        if not self.choices.thrifty or not np.isfinite(heat.best):
            return False
        leader = self.leader
        deeper = heat.settings.depth > leader.settings.depth
        if self.choices.keeps_smallest and deeper and heat.best < leader.best:
            return True
        return heat.is_behind(leader, self._share(_FAR), _FAR_ERRORS)

    def frame(self, traced: Sequence[FoldScores] = ()) -> pd.DataFrame:
        """One row per settings: what was tried, how it did, and what became of it."""
        import pandas as pd

        names = ["loss", "depth", "gamma", "scaling"]
        if len(self.choices.class_weights) > 1:
            names.append("class_weight")
        if len(self.choices.leaves) > 1:
            names.append("leaf")
        if len(self.choices.shares) > 1:
            names.append("mixed")
        if len(self.choices.links) > 1:
            names.append("link")
        if len(self.choices.categoricals) > 1:
            names.append("categorical")
        if len(self.choices.preselects) > 1:
            names.append("preselect")
        rows = [
            [
                *(getattr(heat.settings, name) for name in names),
                heat.best,
                len(heat.scores),
                heat.finalist,
                _score_in_full(heat.settings, traced),
            ]
            for heat in self.heats
        ]
        columns = [*names, "first_score", "first_folds", "finalist", "score"]
        return pd.DataFrame(rows, columns=columns).rename_axis("settings")


def _score_in_full(settings: Settings, traced: Sequence[FoldScores]) -> float:
    """Best score on all folds of settings that were traced in full; NaN of others."""
    for one in traced:
        if one.task is not None and settings.are_those_of(one.task.model):
            return one.best
    return np.nan
