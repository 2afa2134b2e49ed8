"""Alpha axis: penalties on a logarithmic axis, with 0 set apart on the left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray
from sorct.show.plotting._style import SOFT, alpha_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Penalty 0 stands this many steps of the grid left of the smallest above it.
_STEPS_APART = 1.8
_MOST_LABELS = 7


def alpha_places(alphas: FloatArray) -> FloatArray:
    """Where penalties stand: at themselves, but for 0."""
    above = alphas[alphas > 0.0]
    if above.size == 0:
        return np.ones(alphas.size)
    step = float(np.median(above[1:] / above[:-1])) if above.size > 1 else 2.0
    return np.where(alphas > 0.0, alphas, above.min() / step**_STEPS_APART)


def set_alpha_axis(ax: Axes, alphas: FloatArray, *, labelled: bool) -> None:
    """Scale, ticks and limits of the x axis, and the line that sets 0 apart."""
    from matplotlib.ticker import FixedLocator, NullLocator

    places = alpha_places(alphas)
    ax.set_xscale("log")
    shown = labels_shown(alphas)
    ax.xaxis.set_major_locator(FixedLocator(places[shown].tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    texts = alpha_texts(alphas.tolist())
    ax.set_xticklabels([texts[i] if labelled else "" for i in shown])
    room = (places[-1] / places[0]) ** 0.04 if len(places) > 1 else 2.0
    ax.set_xlim(places[0] / room, places[-1] * room)
    if alphas[0] == 0.0 and len(places) > 1:
        wall = float(np.sqrt(places[0] * places[1]))
        ax.axvline(wall, color=SOFT, linewidth=0.8, linestyle=(0, (1, 3)))


def labels_shown(alphas: FloatArray) -> list[int]:
    """Penalties that get a label: 0, the largest, and some between, evenly."""
    first = int(alphas[0] == 0.0 and alphas.size > 1)
    n_above = alphas.size - first
    step = -(-n_above // _MOST_LABELS)
    return [*range(first), *reversed(range(alphas.size - 1, first - 1, -step))]
