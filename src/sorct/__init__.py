"""Sparse optimal randomized trees, with scikit-learn's manners."""

import sys

# Nothing else is loaded here, neither typing nor __future__: the command line begins
# with this module, and an interrupt while it loads prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from sorct.data import datasets
    from sorct.data.options import PAPER
    from sorct.data.reading import read_table
    from sorct.estimators.bounds import PenaltyBounds, penalty_bounds
    from sorct.estimators.classifier import SORCTClassifier
    from sorct.estimators.compare.comparison import compare
    from sorct.estimators.cross_validated import SORCTClassifierCV
    from sorct.estimators.distil import distil
    from sorct.estimators.effort import InfeasibleError
    from sorct.estimators.forest import SORCTForestClassifier
    from sorct.estimators.forest_regressor import SORCTForestRegressor
    from sorct.estimators.path import PAPER_ALPHAS, sorct_path
    from sorct.estimators.regressor import SORCTRegressor
    from sorct.estimators.regressor_cv import SORCTRegressorCV
    from sorct.show import export, plotting
    from sorct.show.explanation import explain
    from sorct.show.text import export_text
    from sorct.tree.forest import Forest
    from sorct.tree.path import Path
    from sorct.tree.tree import Tree

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "PAPER_ALPHAS",
    "Forest",
    "InfeasibleError",
    "Path",
    "PenaltyBounds",
    "SORCTClassifier",
    "SORCTClassifierCV",
    "SORCTForestClassifier",
    "SORCTForestRegressor",
    "SORCTRegressor",
    "SORCTRegressorCV",
    "Tree",
    "__version__",
    "compare",
    "datasets",
    "distil",
    "explain",
    "export",
    "export_text",
    "penalty_bounds",
    "plotting",
    "read_table",
    "sorct_path",
]

# Where public names live. They are loaded when they are used: the command line must
# answer before scikit-learn is there.
_PLACES = {
    "PAPER": "sorct.data.options",
    "PAPER_ALPHAS": "sorct.estimators.path",
    "Forest": "sorct.tree.forest",
    "InfeasibleError": "sorct.estimators.effort",
    "Path": "sorct.tree.path",
    "PenaltyBounds": "sorct.estimators.bounds",
    "SORCTClassifier": "sorct.estimators.classifier",
    "SORCTClassifierCV": "sorct.estimators.cross_validated",
    "SORCTForestClassifier": "sorct.estimators.forest",
    "SORCTForestRegressor": "sorct.estimators.forest_regressor",
    "SORCTRegressor": "sorct.estimators.regressor",
    "SORCTRegressorCV": "sorct.estimators.regressor_cv",
    "Tree": "sorct.tree.tree",
    "compare": "sorct.estimators.compare.comparison",
    "distil": "sorct.estimators.distil",
    "explain": "sorct.show.explanation",
    "export_text": "sorct.show.text",
    "penalty_bounds": "sorct.estimators.bounds",
    "read_table": "sorct.data.reading",
    "sorct_path": "sorct.estimators.path",
}
# Users write sorct.plotting; which room a part lives in is our own business.
_PARTS = {
    "datasets": "sorct.data.datasets",
    "export": "sorct.show.export",
    "plotting": "sorct.show.plotting",
}


def __getattr__(name: str) -> "Any":
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_loaded(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _loaded(place: str) -> "ModuleType":
    from importlib import import_module

    return import_module(place)


def _part(name: str, place: str) -> "ModuleType":
    """Module ``sorct.<name>``: the public names of a part of a room."""
    module = type(sys)(f"{__name__}.{name}", f"The public names of ``{place}``.")

    def look_up(attribute: str) -> "Any":
        return getattr(_loaded(place), attribute)

    def listed() -> list[str]:
        return list(_loaded(place).__all__)

    vars(module).update(__getattr__=look_up, __dir__=listed)
    return sys.modules.setdefault(module.__name__, module)


globals().update({name: _part(name, place) for name, place in _PARTS.items()})
