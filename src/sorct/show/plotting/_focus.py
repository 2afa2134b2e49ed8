"""Focus: limits of a score axis such that differences between good trees can be seen.

The largest penalties leave no variable, and their trees are far worse than all others.
On an axis that reaches down to them the others would look alike; so they are marked at
the foot of the axis, with their score as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import FloatArray
from sorct.show.plotting._style import SOFT, score_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The worst score is not drawn to scale if the others would fill less than this share of
# the height.
_SQUEEZED = 0.4
# Room below, as a share of the span in view.
_BELOW = 0.15
# Room above the highest tick.
_EDGE = 0.02
_MOST_TICKS = 9
# Scores that are the same up to rounding.
_SAME = 1e-9


def focus(
    ax: Axes, x: FloatArray, score: FloatArray, error: FloatArray, above: float
) -> None:
    """Set limits that show all scores, except the worst one if it is far below.

    That one is marked at the foot of the axes. The highest tick is at the best score or
    the next round value above, so that the best can be read off.

    Parameters
    ----------
    ax : matplotlib Axes
    x, score, error : array of shape (n_points,)
        Places, scores, and what stands out above and below each.
    above : float
        Room above, as a share of the span in view.
    """
    if not np.isfinite(score).any():
        return
    shown = score >= lowest_in_view(score)
    low = float((score - error)[shown].min())
    high = float((score + error)[shown].max())
    span = high - low or 0.01
    foot = low - _BELOW * span
    ticks = _ticks(foot, high)
    ax.set_ylim(foot, max(high + above * span, ticks[-1] + _EDGE * span))
    ax.set_yticks(ticks)
    worst = np.isfinite(score) & ~shown
    if worst.any():
        _tell(ax, x[worst], foot, float(score[worst][0]))


def _ticks(foot: float, high: float) -> list[float]:
    """Round values from the foot to the first that is not below the highest score."""
    from matplotlib.ticker import MaxNLocator

    places = MaxNLocator(_MOST_TICKS, steps=[1, 2, 5, 10]).tick_values(foot, high)
    below = [float(tick) for tick in places if foot <= tick < high - _SAME]
    return [*below, float(min(tick for tick in places if tick >= high - _SAME))]


def lowest_in_view(score: FloatArray) -> float:
    """Least score that is shown to scale: the least, or the next if that is far off."""
    seen = np.unique(score[np.isfinite(score)])
    if seen.size < 3:
        return float(seen[0])
    squeezed = seen[-1] - seen[1] < _SQUEEZED * (seen[-1] - seen[0])
    return float(seen[1] if squeezed else seen[0])


def _tell(ax: Axes, x: FloatArray, foot: float, value: float) -> None:
    """Marks at the foot, and once the value."""
    level = np.full(x.size, foot)
    ax.plot(x, level, "v", color=SOFT, markersize=6, clip_on=False, zorder=5)
    ax.annotate(
        score_text(value), (float(x[-1]), foot), xytext=(0, 5),
        textcoords="offset points", ha="center", va="bottom", fontsize="small",
        color=SOFT, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip
