"""Trees to draw: of any depth, with any names, without training."""

import numpy as np
import pandas as pd

from sorct.encode import TableEncoder
from sorct.tree import Tree


def long_names(n, length=30, word="variable"):
    """Distinct names of a length, wide letters included."""
    ends = [f" {word} {j}" for j in range(n)]
    return [("Mean Width of Measured " * 3)[: length - len(e)] + e for e in ends]


def make_tree(rng, depth=2, classes=("no", "yes"), names=None, density=1.0, **fields):
    """Random tree on a random table with names; every class has a leaf if it can."""
    names = long_names(5) if names is None else names
    X = pd.DataFrame(rng.normal(3.0, 2.0, (300, len(names))), columns=list(names))
    encoder = TableEncoder.learn(X)
    coef = rng.uniform(-1.0, 1.0, (len(names), 2**depth - 1))
    coef[rng.random(coef.shape) > density] = 0.0
    scaled = encoder.encode(X)
    tree = Tree(
        encoder=encoder,
        coef=coef,
        threshold=scaled.mean(axis=0) @ coef / len(names),
        leaf_class=np.arange(2**depth) % len(classes),
        classes=np.asarray(classes),
        gamma=64.0,
        cost_matrix=0.5 * (1.0 - np.eye(len(classes))),
        mass=np.full((len(classes), 2**depth), 1.0 / len(classes) / 2**depth),
        training={},
    )
    return with_samples(tree, X, rng, **fields)


def with_samples(tree, X, rng, **fields):
    """Tree with the masses of rows whose labels mostly are those it predicts."""
    from dataclasses import replace

    tree = replace(tree, **fields)
    codes = np.argmax(tree.predict_proba(X), axis=1)
    wrong = rng.random(len(X)) < 0.2
    codes[wrong] = rng.integers(0, len(tree.classes), wrong.sum())
    own = np.eye(len(tree.classes))[codes]
    return replace(tree, mass=own.T @ tree.leaf_reach(X) / len(X))
