"""Plots of trees, paths and what they do, in scikit-learn's manner.

Every display is made from a fitted estimator, a tree or a path, holds the numbers it
shows, and is drawn by ``plot``, into axes of yours if you pass ``ax``. Only ``plot``
needs matplotlib, which ``pip install "sorct[plot]"`` brings.
"""

from sorct.plotting.frontier import FrontierDisplay
from sorct.plotting.heatmap import HeatmapDisplay
from sorct.plotting.path import PathDisplay
from sorct.plotting.recall import RecallDisplay
from sorct.plotting.stability import StabilityDisplay
from sorct.plotting.tree import TreeDisplay

__all__ = [
    "FrontierDisplay",
    "HeatmapDisplay",
    "PathDisplay",
    "RecallDisplay",
    "StabilityDisplay",
    "TreeDisplay",
]
