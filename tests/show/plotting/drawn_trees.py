"""Trees to draw: of any depth, with any names, without training."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from sorct.tree.tree import Tree


def long_names(n, length=30, word="variable"):
    """Distinct names of a length."""
    ends = [f" {word} {j}" for j in range(n)]
    return [("Mean Width of Measured " * 3)[: length - len(e)] + e for e in ends]


def draw_rows(rng, names, n_rows=300):
    """Random table with names."""
    return pd.DataFrame(rng.normal(3.0, 2.0, (n_rows, len(names))), columns=list(names))


def make_tree(rng, depth=2, classes=("no", "yes"), names=None, density=1.0, **fields):
    """Random tree on a random table; every class has a leaf if it can.

    A tenth of the samples is spread evenly, so that no leaf is left out of the picture.
    """
    names = long_names(5) if names is None else names
    X = draw_rows(rng, names)
    encoder = TableEncoder.learn(X)
    coef = rng.uniform(-1.0, 1.0, (len(names), 2**depth - 1))
    coef[rng.random(coef.shape) > density] = 0.0
    tree = Tree(
        encoder=encoder,
        coef=coef,
        threshold=encoder.encode(X).mean(axis=0) @ coef / len(names),
        leaf_class=np.arange(2**depth) % len(classes),
        target=Classes(np.asarray(list(classes))),
        gamma=64.0,
        cost_matrix=0.5 * (1.0 - np.eye(len(classes))),
        mass=np.zeros((len(classes), 2**depth)),
    )
    tree = replace(tree, **fields)
    mass = mass_of(tree, X, noisy_labels(tree, X, rng))
    return replace(tree, mass=0.9 * mass + 0.1 / mass.size)


def noisy_labels(tree, X, rng):
    """Labels that mostly are those which a tree predicts."""
    codes = np.argmax(tree.predict_proba(X), axis=1)
    wrong = rng.random(len(X)) < 0.2
    codes[wrong] = rng.integers(0, len(tree.classes), wrong.sum())
    return tree.classes[codes]


def mass_of(tree, X, y):
    """Share of the rows of each class that lands in each leaf, counted one by one."""
    mass = np.zeros((len(tree.classes), tree.n_leaves))
    for label, reach in zip(y, tree.leaf_reach(X), strict=True):
        mass[tree.classes.tolist().index(label)] += reach / len(X)
    return mass
