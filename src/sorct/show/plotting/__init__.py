"""Plots of trees, paths, forests and what they do, in scikit-learn's manner.

Every display is made from a fitted estimator, a tree or a path, holds the numbers it
shows, and is drawn by ``plot``, into axes of yours if you pass ``ax``. Only ``plot``
needs matplotlib, which ``pip install "sorct[plot]"`` brings.
"""

from sorct.show.plotting.contribution import ContributionDisplay
from sorct.show.plotting.frontier import FrontierDisplay
from sorct.show.plotting.heatmap import HeatmapDisplay
from sorct.show.plotting.importance import ImportanceDisplay
from sorct.show.plotting.partial import PartialDisplay
from sorct.show.plotting.path import PathDisplay
from sorct.show.plotting.recall import RecallDisplay
from sorct.show.plotting.reliability import ReliabilityDisplay
from sorct.show.plotting.residuals import ResidualDisplay
from sorct.show.plotting.stability import StabilityDisplay
from sorct.show.plotting.tree import TreeDisplay

__all__ = [
    "ContributionDisplay",
    "FrontierDisplay",
    "HeatmapDisplay",
    "ImportanceDisplay",
    "PartialDisplay",
    "PathDisplay",
    "RecallDisplay",
    "ReliabilityDisplay",
    "ResidualDisplay",
    "StabilityDisplay",
    "TreeDisplay",
]
