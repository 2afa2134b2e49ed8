"""Prediction of a million rows against scikit-learn's tree of the same depth."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import best_seconds, print_table
from sorct import SORCTClassifier

N_SAMPLES, N_FEATURES, DEPTH = 1_000_000, 50, 3


def run() -> None:
    """Print both times; the bar is a ratio of 1, ours dense and ours sparse.

    Ours uses all cores for a table of this size, scikit-learn's one by design.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_SAMPLES, N_FEATURES))
    y = (X[:2000] @ rng.normal(size=(N_FEATURES, 3))).argmax(axis=1)
    cart = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X[:2000], y)
    cart_seconds = best_seconds(lambda: cart.predict(X))
    rows = []
    for name, alpha in (("dense tree", 0.0), ("sparse tree", 0.02)):
        tree = SORCTClassifier(DEPTH, alpha_global=alpha, n_starts=2, random_state=0)
        tree.fit(X[:2000], y)
        seconds = best_seconds(lambda tree=tree: tree.predict(X))
        used = f"{len(tree.tree_.columns_used)} of {N_FEATURES}"
        ratio = f"{seconds / cart_seconds:.2f}"
        rows.append([name, used, f"{seconds:.3f}", f"{cart_seconds:.3f}", ratio])
    header = ["ours", "columns used", "ours (s)", "CART (s)", "ratio (bar 1.00)"]
    print_table(
        f"Predict {N_SAMPLES:,} rows x {N_FEATURES}, depth {DEPTH}", header, rows
    )
