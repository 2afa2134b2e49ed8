"""Sparse optimal randomized classification trees with scikit-learn's manners."""

__version__ = "0.1.0"
