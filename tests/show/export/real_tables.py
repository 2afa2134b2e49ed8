"""Trees on real tables: every kind of variable, with whatever prediction may meet.

Cells at prediction lie beyond the range of training, are missing, or are levels that
training never saw, wherever the tree takes that.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from sorct.data.encoder import TableEncoder
from sorct.data.options import TableOptions
from tests.tree.test_tree import random_tree


def real_table(rng, n=120):
    """Numbers with a long tail or wild cells, dates, and levels of every type."""
    wild = rng.normal(50.0, 9.0, n)
    wild[:2] = [9e4, -7e5]
    rare = rng.permutation(np.resize(["Oslo", "Rome", "Bonn", "Oslo", "Rome"], n))
    rare[:4] = ["Ur", "Uruk", "Ur", "it's"]
    day = rng.integers(0, 1500, n).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "height": rng.normal(170.0, 9.0, n),
            "wild": wild,
            "income": np.exp(rng.normal(3.0, 1.0, n)),
            "since": (np.datetime64("2019-12-30") + day).astype("datetime64[ns]"),
            "seen": (np.datetime64("2000-02-27") + day * 9).astype("datetime64[s]"),
            "city": rare,
            "code": pd.Categorical(rng.permutation(np.resize([-3, 10, 7], n))),
            "rate": pd.Categorical(rng.permutation(np.resize([0.1, 2.5, 1e9], n))),
            "member": rng.permutation(np.resize([True, False], n)).astype(object),
            "grade": pd.Categorical(
                rng.permutation(np.resize(["low", "mid", "high"], n)),
                categories=["low", "mid", "high"],
                ordered=True,
            ),
        }
    )


def with_holes(rng, X, share=0.15):
    """Take cells out of every column."""
    return X.mask(rng.random(X.shape) < share)


def tree_on(rng, X, options, depth=3, gamma=64.0):
    """Cut a table at random, as it is read with some options."""
    encoder = TableEncoder.learn(X, options)
    columns = pd.DataFrame(rng.random((20, encoder.n_columns)))
    tree = random_tree(rng, columns, depth, gamma=gamma)
    threshold = (encoder.encode(X) @ tree.coef).mean(axis=0) / encoder.n_groups
    return replace(tree, encoder=encoder, threshold=threshold)


def met_later(rng, X, tree):
    """Rows as prediction may meet them: beyond the range, new levels, holes."""
    options, n = tree.encoder, len(X)
    later = X.copy()
    for name in X.select_dtypes("number"):
        later[name] += rng.choice([-3.0, 0.0, 0.0, 3.0], n) * X[name].std()
    for name in X.select_dtypes("datetime"):
        shift = rng.choice([-5000, 0, 0, 5000], n).astype("timedelta64[D]")
        later[name] += shift
    if options.unknown != "error":
        for name, new in (("city", "Nim\nrud"), ("code", 11), ("rate", 0.3)):
            later[name] = X[name].astype(object).mask(rng.random(n) < 0.1, new)
    missing = [v.takes_missing or options.missing != "error" for v in options.variables]
    return later.mask((rng.random(X.shape) < 0.1) & missing)


def read_with(unknown, missing, categorical="whole"):
    """Maker of a tree and rows, for a way to read tables.

    ``missing`` is "never", "holes" for those of training, or "typical", which takes
    them also where training had none.
    """

    def make(rng):
        X = real_table(rng)
        if missing == "holes":
            X = with_holes(rng, X)
        elif missing == "typical":
            X[["wild", "seen", "code"]] = with_holes(rng, X[["wild", "seen", "code"]])
        options = TableOptions(
            categorical=categorical,
            handle_unknown=unknown,
            handle_missing="typical" if missing == "typical" else "error",
            scaling={"income": "quantile", "seen": "quantile", "height": "bent"},
        )
        tree = tree_on(rng, X, options)
        return tree, met_later(rng, X, tree)

    return make


def real_array(rng):
    """A plain array with a long tail, wild cells and holes."""
    X = real_table(rng)[["height", "wild", "income"]].to_numpy(copy=True)
    X[rng.random(len(X)) < 0.1, 1:] = np.nan
    tree = tree_on(rng, X, TableOptions(scaling="auto", handle_missing="typical"))
    X[rng.random(len(X)) < 0.1, 0] = np.nan
    return tree, X


def only_missing(rng):
    """What is known adds nothing, or never varied; what is missing does."""
    X = with_holes(rng, real_table(rng)).assign(same=4.0, only="one")
    X = X.mask(rng.random(X.shape) < 0.1)
    tree = tree_on(rng, X, TableOptions(handle_unknown="error"))
    coef = np.zeros_like(tree.coef)
    last = tree.encoder.first_column[1:] - 1
    coef[last] = rng.uniform(-9.0, 9.0, coef[last].shape)
    return replace(tree, coef=coef, threshold=0.01 * tree.threshold), X


REAL = {
    f"{unknown}-{missing}": read_with(unknown, missing)
    for unknown in ("other", "error", "first_level")
    for missing in ("never", "holes", "typical")
} | {
    "dummies-other": read_with("other", "holes", "dummies"),
    "dummies-error": read_with("error", "typical", "dummies"),
    "real-array": real_array,
    "only-missing": only_missing,
}
