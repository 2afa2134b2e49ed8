"""Random trees: any depth, any kind of variable, any name, any scale; and rows."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sorct import Tree
from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from sorct.data.categorical import Categorical
from sorct.data.numeric import Numeric
from sorct.tree.training import TrainingRecord
from tests.attacks.texts import distinct_texts

_UNWRITABLE = 0.002
_LABELS = {
    "whole": lambda rng, n: np.unique(rng.integers(-(2**40), 2**40, 4 * n))[:n],
    "real": lambda rng, n: np.unique(_real(rng, n)),
    "truth": lambda rng, n: np.array([False, True]),
    "text": lambda rng, n: np.array(distinct_texts(rng, n, _UNWRITABLE), dtype=object),
}


def _real(rng, n):
    """Draw distinct numbers of any size, both signs, none of them twice."""
    return 10.0 ** rng.uniform(-300, 300, n) * rng.choice([-1.0, 1.0], n)


def random_number(rng, name, tame=False):
    """Draw a numeric variable: near, far from zero, tiny, huge, or constant."""
    wild = [] if tame else ["scaled", "far"]
    kind = rng.choice(["near", "whole", "constant", *wild])
    if kind == "constant":
        return Numeric(name, float(rng.normal()), 0.0)
    span = float(10.0 ** rng.uniform(-2, 2))
    if kind == "scaled":
        span = float(10.0 ** rng.uniform(-300, 300))
    lower = float(rng.normal() * span * 3)
    if kind == "far":
        lower = float(span * 10.0 ** rng.uniform(2, 13) * rng.choice([-1.0, 1.0]))
    if kind == "whole":
        lower, span = float(rng.integers(-50, 50)), float(rng.integers(1, 100))
    return Numeric.of_range(name, lower, lower + span)


def random_levels(rng, name):
    """Draw a categorical variable of text, truth, whole numbers or fractions."""
    kind, n = rng.choice(["text", "text", "truth", "whole", "real"]), rng.integers(2, 7)
    levels = [False, True]
    if kind == "text":
        levels = distinct_texts(rng, n, _UNWRITABLE)
    elif kind == "whole":
        size = int(10 ** rng.integers(1, 16))
        levels = sorted({int(v) for v in rng.integers(-size, size, n)} | {0, 1})
    elif kind == "real":
        levels = sorted({float(v) for v in rng.normal(0.0, 9.0, n)})
    return Categorical(name, tuple(levels))


def random_encoder(rng, n_variables=None):
    """Draw the variables of a table; an array has numbers only."""
    n = int(n_variables or rng.integers(1, 13))
    tame = bool(rng.random() < 0.5)
    if rng.random() < 0.15:
        numbers = tuple(random_number(rng, f"x{j}", tame) for j in range(n))
        return TableEncoder(numbers, named=False)
    variables = tuple(
        random_number(rng, name, tame)
        if rng.random() < 0.6
        else random_levels(rng, name)
        for name in distinct_texts(rng, n, _UNWRITABLE)
    )
    return TableEncoder(variables, True, str(rng.choice(["error", "first_level"])))


def random_rows(rng, encoder, n=8):
    """Draw raw rows: most in the range of training, some outside, ends included."""
    columns = {}
    for variable in encoder.variables:
        if variable.choices is not None:
            places = rng.integers(0, len(variable.choices), n)
            values = np.empty(n, dtype=object)
            values[:] = [variable.choices[place] for place in places]
            columns[variable.name] = pd.Series(values, dtype=object)
        else:
            place = rng.uniform(-0.25, 1.25, n)
            place[:2] = [0.0, 1.0]
            with np.errstate(over="ignore"):
                column = variable.lower + variable.span * place
            columns[variable.name] = np.nan_to_num(column)
    # As objects: pandas cannot hold halves of surrogate pairs as text.
    frame = pd.DataFrame(dict(enumerate(columns.values())))
    frame.columns = pd.Index(list(columns), dtype=object)
    return frame if encoder.named else frame.to_numpy(dtype=np.float64)


def random_cuts(rng, encoder, depth, rows):
    """Draw weights and thresholds: sparse, idle, of one column, or of all."""
    n_cuts = 2**depth - 1
    coef = rng.uniform(-1.0, 1.0, (encoder.n_columns, n_cuts))
    coef[rng.random(coef.shape) < rng.choice([0.0, 0.3, 0.7])] = 0.0
    coef[encoder.constant_columns] = 0.0
    middle = encoder.encode(rows).mean(axis=0) @ coef / encoder.n_columns
    threshold = middle + rng.normal(0.0, 0.05, n_cuts)
    idle = rng.random(n_cuts) < 0.1
    coef[:, idle] = 0.0
    threshold[idle] = rng.choice([-1.0, 1.0, 0.0, 1e-4], idle.sum())
    return coef, threshold


def random_tree(rng, max_depth=5, n_variables=None):
    """Draw a tree and rows for it."""
    encoder = random_encoder(rng, n_variables)
    if encoder.n_columns == 0:
        return random_tree(rng, max_depth, n_variables)
    depth, rows = int(rng.integers(1, max_depth + 1)), random_rows(rng, encoder)
    n_classes = int(rng.integers(2, 2 + min(6, 2**depth - 1)))
    labels = _LABELS[str(rng.choice(list(_LABELS)))](rng, n_classes)
    n_classes = len(labels)
    coef, threshold = random_cuts(rng, encoder, depth, rows)
    mass = rng.random((n_classes, 2**depth)) + 1e-3
    tree = Tree(
        encoder=encoder,
        coef=coef,
        threshold=threshold,
        leaf_class=rng.permutation(np.arange(2**depth) % n_classes),
        target=Classes(labels),
        gamma=float(rng.choice([0.5, 8.0, 64.0, 512.0, 4096.0, 1e5])),
        cost_matrix=0.5 * (1.0 - np.eye(n_classes)),
        mass=mass / mass.sum(),
        training=TrainingRecord(n_samples=99),
    )
    if rng.random() < 0.05:
        tree = replace(tree, leaf_class=np.zeros_like(tree.leaf_class))
    return tree, rows
