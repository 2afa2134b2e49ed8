"""Planted trees: samples of a tree that is known, to see whether it is found again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sorct._typing import FloatArray, IntArray

_TASKS = ("classification", "regression")


@dataclass(frozen=True)
class PlantedTree:
    """Samples of a planted tree, and the tree.

    Attributes
    ----------
    X : array of shape (n_samples, n_features), uniform in [0, 1]
    y : array of shape (n_samples,), labels, a share of them redrawn
    y_clean : array of shape (n_samples,), labels as the tree gives them
    coef : array of shape (n_features, n_branches)
    threshold : array of shape (n_branches,)
        A sample goes left at cut t when ``x @ coef[:, t] > threshold[t]``; nodes are
        numbered from top to bottom and from left to right.
    leaf_class : array of shape (n_leaves,)
    leaf_value : array of shape (n_leaves,) or None
        What leaves say, where a quantity was asked for; ``y`` and ``y_clean`` are
        numbers then.
    """

    X: FloatArray
    y: IntArray | FloatArray
    y_clean: IntArray | FloatArray
    coef: FloatArray
    threshold: FloatArray
    leaf_class: IntArray
    leaf_value: FloatArray | None = None


def make_planted_tree(
    n_samples: int,
    n_features: int,
    depth: int,
    n_classes: int,
    n_informative: int,
    noise: float = 0.05,
    random_state: Any = None,
    task: str = "classification",
) -> PlantedTree:
    """Draw samples of a random tree with sparse oblique cuts.

    Features are uniform. Every cut combines ``n_informative`` features with weights of
    random sign and size in [0.4, 1] and halves the samples that reach it. Leaves are
    labelled in turn: 0, 1, ..., n_classes - 1, 0, ...

    Parameters
    ----------
    n_samples, n_features : int
    depth : int
    n_classes : int, at most 2**depth
        Leaves of one class have one value, where a quantity is asked for.
    n_informative : int, at most n_features
    noise : float
        Share of the labels that is redrawn uniformly (possibly as they were); of a
        quantity, standard deviation of what is added, in those of the response.
    random_state : int, RandomState or None
    task : {"classification", "regression"}, default="classification"
        With "regression" leaves say numbers, evenly spaced from 0 to 1 in random order.
    """
    if task not in _TASKS:
        raise ValueError(f"task must be one of {_TASKS}, got {task!r}.")
    _check_planted(n_samples, n_features, depth, n_classes, n_informative, noise)
    rng = check_random_state(random_state)
    n_branches = 2**depth - 1
    X = rng.uniform(size=(n_samples, n_features))
    coef, threshold = np.zeros((n_features, n_branches)), np.zeros(n_branches)
    # Rows that come to the nodes not yet cut, in the order in which nodes are numbered:
    # from top to bottom and from left to right. At the end these nodes are the leaves.
    waiting = deque([np.arange(n_samples)])
    for t in range(n_branches):
        chosen = rng.choice(n_features, n_informative, replace=False)
        sign = rng.choice([-1.0, 1.0], n_informative)
        coef[chosen, t] = sign * rng.uniform(0.4, 1.0, n_informative)
        here = waiting.popleft()
        score = X[here] @ coef[:, t]
        # Between the two samples in the middle, so that none lies on the cut.
        threshold[t] = np.sort(score)[[score.size // 2 - 1, score.size // 2]].mean()
        goes_left = score > threshold[t]
        waiting += [here[goes_left], here[~goes_left]]
    leaf_class = np.arange(n_branches + 1) % n_classes
    y_clean = np.empty(n_samples, dtype=np.int64)
    for label, rows in zip(leaf_class, waiting, strict=True):
        y_clean[rows] = label
    if task == "regression":
        leaf_value = rng.permutation(np.linspace(0.0, 1.0, n_classes))[leaf_class]
        clean = np.empty(n_samples)
        for value, rows in zip(leaf_value, waiting, strict=True):
            clean[rows] = value
        y = clean + noise * clean.std() * rng.standard_normal(n_samples)
        return PlantedTree(X, y, clean, coef, threshold, leaf_class, leaf_value)
    redrawn = rng.uniform(size=n_samples) < noise
    y = np.where(redrawn, rng.randint(n_classes, size=n_samples), y_clean)
    return PlantedTree(X, y, y_clean, coef, threshold, leaf_class)


def _check_planted(
    n_samples: int,
    n_features: int,
    depth: int,
    n_classes: int,
    n_informative: int,
    noise: float,
) -> None:
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}.")
    if n_samples < 2**depth:
        raise ValueError(
            f"n_samples must be at least 2**depth = {2**depth}, got {n_samples}."
        )
    if not 2 <= n_classes <= 2**depth:
        raise ValueError(
            f"n_classes must lie between 2 and 2**depth = {2**depth}, got {n_classes}."
        )
    if not 1 <= n_informative <= n_features:
        raise ValueError(
            f"n_informative must lie between 1 and n_features = {n_features}, got "
            f"{n_informative}."
        )
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise must lie between 0 and 1, got {noise}.")
