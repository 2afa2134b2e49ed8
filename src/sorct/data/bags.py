"""Bags: the rows that the trees of a forest are trained on, one bag per tree.

A bag is drawn from the merged rows of a training set, class by class: every class has
as many draws as its rows, so that no tree lacks one, and keeps its share. So weight 2
is the row twice, the order of the rows does not matter, and bag k is the same whatever
the number of bags. Rows that were not drawn are out of the bag: the tree has not seen
them, and they tell how good the forest is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorct._typing import BoolArray, FloatArray
from sorct.data.samples import MANY_ROWS, Rows, TrainingSet, quotas

#: Ways to draw a bag: with replacement, half of the rows, or all of them.
BOOTSTRAP, HALF, ALL = "bootstrap", "half", "all"


class Bag(NamedTuple):
    """Rows of one tree, and which rows of the whole set it has not seen."""

    data: TrainingSet
    outside: BoolArray


def draw_bag(
    whole: TrainingSet, kind: str, n_draws: float, seed: int, number: int
) -> Bag:
    """Draw a bag from all rows, or from very many as many as a search looks at.

    ``n_draws`` is how many rows the merged ones stand for.
    """
    outside = np.ones(whole.blocks.n_rows, dtype=bool)
    if kind == ALL:
        return Bag(whole, ~outside)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    drawn = _draw(whole, kind, n_draws, rng)
    chosen = np.flatnonzero(drawn)
    rows = whole.taken(chosen)._replace(weight=drawn[chosen])
    outside[chosen] = False
    bag = rows.with_shares(whole.share)
    return Bag(TrainingSet.from_rows(bag, whole.n_codes), outside)


def _draw(
    whole: TrainingSet, kind: str, n_draws: float, rng: np.random.Generator
) -> FloatArray:
    """Weight of every row in a bag, 0 for those left out."""
    rows = whole.blocks
    codes, weight = rows.codes, rows.weight[: rows.n_rows]
    most = quotas(whole.share, MANY_ROWS)
    first = np.searchsorted(codes, np.arange(whole.n_codes + 1))
    drawn = np.zeros(codes.size)
    for k, (begin, end) in enumerate(zip(first, first[1:], strict=False)):
        own = weight[begin:end]
        if kind == HALF:
            n = min(-(-own.size // 2), int(most[k]))
            some = begin + rng.permutation(own.size)[:n]
            drawn[some] = weight[some]
        else:
            share = own / own.sum()
            asked = round(n_draws * own.size / codes.size)
            n = min(max(asked, 1), int(most[k]))
            drawn[begin:end] = rng.multinomial(n, share)
    return drawn


def all_rows(whole: TrainingSet) -> Rows:
    """Every row, however many there are."""
    return whole.taken(np.arange(whole.blocks.n_rows))
