"""A table with every kind of variable, missing cells too, and trees drawn on it."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sorct import Tree
from sorct.data.encoder import TableEncoder
from sorct.data.options import TableOptions
from sorct.data.target import Classes

OPTIONS = TableOptions(
    scaling={
        "income": "quantile",
        "last": "quantile",
        "height": "bent",
        "visits": "bent",
        "met": "bent",
    }
)
CITIES = ["Paris", "Rome", "Oslo", "missing", "others"]


def every_kind(rng, n=120):
    """Numbers, curves, bent, clipped, dates, categories, orders; most with missing."""
    day = pd.Timestamp("2015-01-01")
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "debt": rng.normal(0.0, 1.0, n),
            "far": 1e6 + rng.normal(0.0, 1.0, n),
            "constant": np.full(n, 2.5),
            "income": np.exp(rng.normal(10.0, 1.5, n)).round(),
            "wild": np.where(np.arange(n) == 7, 1e9, rng.normal(5.0, 1.0, n)),
            "signup": day + pd.to_timedelta(rng.integers(0, 2000, n), unit="D"),
            "last": day + pd.to_timedelta((rng.random(n) ** 6 * 2000) // 1, unit="D"),
            "city": rng.choice([*CITIES, *map(str, range(9))], n, p=_shares()),
            "purpose": rng.choice(["car", "house", "tv"], n),
            "code": pd.Categorical(rng.choice([1, 2, 30], n)),
            "grade": _ordered(rng, n),
            "rank": _ordered(rng, n),
            "member": rng.random(n) < 0.4,
            "sex": rng.choice(["f", "m"], n),
            "height": rng.normal(1.7, 0.1, n),
            "visits": rng.integers(0, 40, n).astype(float),
            "met": day + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        },
        index=[f"row {k}" for k in range(n)],
    )
    for name in ("age", "far", "income", "signup", "last", "purpose", "rank", "visits"):
        X.loc[rng.random(n) < 0.2, name] = None
    return X


def _shares():
    """Some cities are rare."""
    return np.array([*[0.18] * 5, *[0.1 / 9] * 9])


def _ordered(rng, n):
    levels = ["low", "medium", "high"]
    return pd.Categorical(rng.choice(levels, n), categories=levels, ordered=True)


def tree_on(rng, X, depth=2, options=OPTIONS, density=1.0, gamma=64.0, n_classes=3):
    """Random tree on a table, every cut through the middle of the rows."""
    curves = {name: how for name, how in options.scaling.items() if name in X}
    encoder = TableEncoder.learn(X, replace(options, scaling=curves))
    scaled, n_cuts = encoder.encode(X), 2**depth - 1
    coef = rng.uniform(-1.0, 1.0, (encoder.n_columns, n_cuts))
    used = rng.random((len(encoder.variables), n_cuts)) <= density
    coef[~used[encoder.column_variable]] = 0.0
    if {"sex", "member"} <= {*encoder.names} and options.categorical == "whole":
        # What one level adds the other takes, as in most trees that are trained.
        own = encoder.columns_of(encoder.names.index("sex"))
        coef[own] = coef[own][:1] * [[1.0], [-1.0]]
        # These two never come out opposite, rounded or not.
        own = encoder.columns_of(encoder.names.index("member"))
        coef[own] = np.abs(coef[own])
    codes = np.arange(len(X)) % n_classes
    tree = Tree(
        encoder=encoder,
        coef=coef,
        threshold=np.median(scaled @ coef, axis=0) / encoder.n_groups,
        leaf_class=np.arange(2**depth) % n_classes,
        target=Classes(np.array(["low", "mid", "top"][:n_classes])),
        gamma=gamma,
        cost_matrix=1.0 - np.eye(n_classes),
        mass=np.full((n_classes, 2**depth), 1.0),
    )
    mass = np.eye(n_classes)[codes].T @ tree.leaf_reach(X) / len(X)
    return replace(tree, mass=mass)


def tree_of_one(rng, X, name, weights, threshold, options=OPTIONS):
    """Tree of one cut "sum of weights > threshold" on one variable, in scaled units."""
    tree = tree_on(rng, X, 1, options, n_classes=2)
    i = tree.encoder.names.index(name)
    coef = np.zeros(tree.coef.shape)
    coef[tree.encoder.columns_of(i), 0] = weights
    threshold = np.array([threshold / tree.encoder.n_groups])
    return replace(tree, coef=coef, threshold=threshold)


def scaled_sums(tree, X, cut):
    """Sum minus threshold of a cut for all rows, from the coefficients alone."""
    return tree.encoder.encode(X) @ tree.coef[:, cut.node] - cut.threshold


def cells_of(X, name):
    """Cells of a column as they come one by one."""
    return X[name].tolist()
