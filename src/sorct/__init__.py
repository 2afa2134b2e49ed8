"""Sparse optimal randomized classification trees, with scikit-learn's manners."""

from sorct.bounds import PenaltyBounds, penalty_bounds
from sorct.comparison import compare
from sorct.estimators import SORCTClassifier
from sorct.estimators_cv import SORCTClassifierCV
from sorct.explanation import explain
from sorct.path import Path
from sorct.prepare import InfeasibleError
from sorct.rules import export_text
from sorct.trace import sorct_path
from sorct.tree import Tree

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
    "explain",
    "export_text",
    "penalty_bounds",
    "sorct_path",
]
