"""Sparse optimal randomized classification trees with scikit-learn's manners."""

from sorct.estimators import InfeasibleError, SORCTClassifier
from sorct.tree import Tree

__version__ = "0.1.0"

__all__ = ["InfeasibleError", "SORCTClassifier", "Tree", "__version__"]
