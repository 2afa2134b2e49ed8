"""Sparse optimal randomized classification trees, with scikit-learn's manners."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sorct.estimators.bounds import PenaltyBounds, penalty_bounds
from sorct.estimators.classifier import SORCTClassifier
from sorct.estimators.compare.comparison import compare
from sorct.estimators.cross_validated import SORCTClassifierCV
from sorct.estimators.fitting import InfeasibleError
from sorct.estimators.path import sorct_path
from sorct.show.explanation import explain
from sorct.show.text import export_text
from sorct.tree.path import Path
from sorct.tree.tree import Tree

__version__ = "0.1.0"

__all__ = [
    "InfeasibleError",
    "Path",
    "PenaltyBounds",
    "SORCTClassifier",
    "SORCTClassifierCV",
    "Tree",
    "__version__",
    "compare",
    "datasets",
    "explain",
    "export",
    "export_text",
    "penalty_bounds",
    "plotting",
    "sorct_path",
]


def _short_name(name: str, place: str) -> ModuleType:
    """Module ``sorct.<name>``: what is public in a room, loaded when it is used."""

    def look_up(attribute: str) -> Any:
        return getattr(import_module(place), attribute)

    module = ModuleType(f"{__name__}.{name}", f"The public names of ``{place}``.")
    module.__getattr__ = look_up  # type: ignore[method-assign]
    module.__dir__ = lambda: import_module(place).__all__  # type: ignore[method-assign]
    return sys.modules.setdefault(module.__name__, module)


if TYPE_CHECKING:
    from sorct.data import datasets
    from sorct.show import export, plotting
else:
    # Which room a part lives in is our own business: users write sorct.plotting.
    datasets = _short_name("datasets", "sorct.data.datasets")
    export = _short_name("export", "sorct.show.export")
    plotting = _short_name("plotting", "sorct.show.plotting")
