"""Planted trees: whether the search finds a tree that is known to be there.

Half of the samples train, the noise-free labels of the other half judge. Of five values
of alpha_local the best by accuracy on a quarter of the training half is taken, the
sparser among equals, and fitted on the whole half. ``SORCT_PLANTED_SECONDS`` limits
each fit (by default 20 s per level below the first), ``SORCT_PLANTED_SEEDS`` the number
of trees.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from sorct.datasets import make_planted_tree

from benchmarks.timing import print_table
from sorct import SORCTClassifier

ALPHAS = (0.0, 2.0**-6, 2.0**-4, 2.0**-2, 2.0**-1)
N_INFORMATIVE, NOISE = 3, 0.05


@dataclass(frozen=True)
class Kind:
    """A size of planted tree and the accuracy it should be found with."""

    n_samples: int
    n_features: int
    depth: int
    n_classes: int
    bar: float


KINDS = (
    Kind(4_000, 20, 2, 3, 0.97),
    Kind(10_000, 20, 3, 3, 0.95),
    Kind(10_000, 20, 3, 8, 0.95),
    Kind(20_000, 30, 4, 4, 0.90),
)


def run() -> None:
    """Print accuracy, features per cut and CART's accuracy, mean over the seeds."""
    n_seeds = int(os.environ.get("SORCT_PLANTED_SEEDS", "5"))
    rows = []
    for kind in KINDS:
        found = Parallel(n_jobs=-1)(
            delayed(_one)(kind, seed) for seed in range(n_seeds)
        )
        accuracy, features, cart, alpha, seconds = np.array(found).T
        rows.append(
            [
                f"{kind.n_samples} x {kind.n_features}, depth {kind.depth}, "
                f"{kind.n_classes} classes",
                f"{accuracy.mean():.3f}",
                f"{accuracy.min():.3f}",
                f"{kind.bar:.2f}",
                f"{features.mean():.1f}",
                f"{features.max():.1f}",
                f"{cart.mean():.3f}",
                " ".join(f"{a:g}" for a in alpha),
                f"{seconds.mean():.0f}",
            ]
        )
        print(rows[-1], flush=True)
    header = [
        "planted tree", "accuracy", "worst", "bar", "features per cut", "most",
        "CART", "alphas", "s per tree",
    ]  # fmt: skip
    print_table("Planted trees (3 features per cut)", header, rows)


def _one(kind: Kind, seed: int) -> tuple[float, float, float, float, float]:
    begun = time.perf_counter()
    planted = make_planted_tree(
        kind.n_samples,
        kind.n_features,
        kind.depth,
        kind.n_classes,
        N_INFORMATIVE,
        NOISE,
        random_state=seed,
    )
    half = kind.n_samples // 2
    X, y = planted.X[:half], planted.y[:half]
    alpha = _choose_alpha(kind, X, y, seed)
    tree = _model(kind, alpha, seed).fit(X, y)
    accuracy = tree.score(planted.X[half:], planted.y_clean[half:])
    features = np.count_nonzero(tree.coef_) / (2**kind.depth - 1)
    cart = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(X, y)
    cart_accuracy = cart.score(planted.X[half:], planted.y_clean[half:])
    return accuracy, features, cart_accuracy, alpha, time.perf_counter() - begun


def _choose_alpha(kind: Kind, X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """Largest alpha whose accuracy is within a standard error of the best."""
    train_X, test_X, train_y, test_y = train_test_split(
        X, y, test_size=0.25, random_state=seed
    )
    scores = np.array(
        [
            _model(kind, alpha, seed).fit(train_X, train_y).score(test_X, test_y)
            for alpha in ALPHAS
        ]
    )
    error = np.sqrt(scores.max() * (1.0 - scores.max()) / len(test_y))
    good = np.flatnonzero(scores >= scores.max() - error)
    return ALPHAS[good[-1]]


def _model(kind: Kind, alpha: float, seed: int) -> SORCTClassifier:
    limit = float(os.environ.get("SORCT_PLANTED_SECONDS", 20 * (kind.depth - 1)))
    return SORCTClassifier(
        kind.depth, alpha, time_limit=limit, n_jobs=1, random_state=seed
    )
