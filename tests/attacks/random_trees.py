"""Random trees: any depth, any kind of variable, any name, any scale; and rows."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sorct import Tree
from sorct.data.bent import Bent
from sorct.data.categorical import Categorical, Ordered
from sorct.data.dates import iso_date
from sorct.data.encoder import TableEncoder
from sorct.data.missing import WithMissing
from sorct.data.numeric import Curve, Numeric
from sorct.data.quantity import Quantity
from sorct.data.target import Classes
from sorct.tree.calibration import Calibration, CurveMap, LogisticMap
from sorct.tree.training import TrainingRecord
from tests.attacks.texts import distinct_texts, random_text

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


def random_curve(rng, name, tame=False):
    """Draw a numeric variable that is scaled along straight lines, or clipped."""
    range_of = random_number(rng, name, tame)
    places = np.sort(rng.uniform(0.02, 0.98, rng.integers(0, 7)))
    inside = [range_of.decode(p) for p in np.sort(rng.uniform(size=len(places)))]
    at = [range_of.lower, *inside, range_of.lower + range_of.span]
    plain = {"name": name, "at": at, "place": [0.0, *places.tolist(), 1.0]}
    try:
        return Curve.from_dict(plain)
    except ValueError:
        # Points that fall on each other, or lie too near for one over their distance.
        return range_of


def random_bent(rng, name, tame=False):
    """Draw a number that bends at some values."""
    range_of = random_number(rng, name, tame)
    inside = np.sort(rng.uniform(0.02, 0.98, rng.integers(1, 5)))
    bends = [range_of.decode(place) for place in (0.0, *inside, 1.0)]
    try:
        return Bent.from_dict({"name": name, "bends": bends})
    except ValueError:
        # Bends that fall on each other, or lie too near for one over their distance.
        return range_of


def random_date(rng, name):
    """Draw a date, scaled by its range or clipped."""
    origin = iso_date(float(rng.integers(-80_000, 80_000)), "1970-01-01")
    span = float(rng.integers(1, 10 ** int(rng.integers(1, 5))))
    if rng.random() < 0.6:
        return Numeric(name, 0.0, span, whole=True, origin=origin)
    points = np.unique(np.round([0.0, *rng.uniform(0.0, span, 4), span], 1))
    place = tuple(np.linspace(0.0, 1.0, len(points)).tolist())
    return Curve(name, tuple(points.tolist()), place, whole=True, origin=origin)


def _levels(rng):
    """Draw distinct levels of text, truth, whole numbers or fractions."""
    kind, n = rng.choice(["text", "text", "truth", "whole", "real"]), rng.integers(2, 7)
    if kind == "truth":
        return [False, True]
    if kind == "text":
        return distinct_texts(rng, n, _UNWRITABLE)
    if kind == "whole":
        size = int(10 ** rng.integers(1, 16))
        return sorted({int(v) for v in rng.integers(-size, size, n)} | {0, 1})
    return sorted({float(v) for v in rng.normal(0.0, 9.0, n)})


def random_levels(rng, name, unknown):
    """Draw a category: its levels together or apart, some pooled, or in order."""
    levels = _levels(rng)
    if rng.random() < 0.15:
        return Ordered(name, tuple(levels))
    separate = bool(rng.random() < 0.5)
    if rng.random() < 0.5 or levels == [False, True]:
        return Categorical(name, tuple(levels), separate=separate)
    kept, rare = levels[:-1], tuple(levels[-1:])
    # Only where new levels are refused, rare ones have to be known.
    rare = rare if unknown == "error" else ()
    return Categorical(name, tuple(kept), None, separate, pooled=True, rare=rare)


NUMBERS = {"number": random_number, "curve": random_curve, "bent": random_bent}


def random_variable(rng, name, tame, unknown):
    """Draw a variable of any kind; some had missing cells in training."""
    kinds = ["number", "curve", "bent", "date", "levels"]
    kind = rng.choice(kinds, p=[0.3, 0.15, 0.1, 0.1, 0.35])
    if kind == "levels":
        variable = random_levels(rng, name, unknown)
    elif kind == "date":
        variable = random_date(rng, name)
    else:
        variable = NUMBERS[kind](rng, name, tame)
    return WithMissing(variable) if rng.random() < 0.25 else variable


def random_encoder(rng, n_variables=None):
    """Draw the variables of a table; an array has numbers only."""
    n = int(n_variables or rng.integers(1, 13))
    tame = bool(rng.random() < 0.5)
    unknown = str(rng.choice(["error", "first_level", "other"]))
    missing = str(rng.choice(["error", "typical"]))
    if rng.random() < 0.15:
        numbers = [
            NUMBERS[rng.choice(list(NUMBERS), p=[0.6, 0.2, 0.2])](rng, f"x{j}", tame)
            for j in range(n)
        ]
        numbers = [WithMissing(v) if rng.random() < 0.2 else v for v in numbers]
        return TableEncoder(tuple(numbers), False, unknown, missing)
    variables = tuple(
        random_variable(rng, name, tame, unknown)
        for name in distinct_texts(rng, n, _UNWRITABLE)
    )
    return TableEncoder(variables, True, unknown, missing)


def _new_level(rng, levels):
    """Draw a level that a variable does not know, of the kind of its own."""
    if isinstance(levels[0], str):
        return next(t for t in iter(lambda: random_text(rng), None) if t not in levels)
    return type(levels[0])(max(levels) + 3)


def _random_choices(rng, variable, unknown, n):
    """Draw levels: known, pooled ones, and new ones where they are taken."""
    known = getattr(variable, "known", variable)
    levels = [*known.levels, *known.rare]
    takes_new = unknown != "error" and not isinstance(known, Ordered)
    takes_new = takes_new and not isinstance(levels[0], bool)
    cells = []
    for place in rng.integers(0, len(levels) + (2 if takes_new else 0), n):
        new = place >= len(levels)
        cells.append(_new_level(rng, levels) if new else levels[place])
    return cells


def _random_numbers(rng, variable, n):
    """Draw numbers: most in the range of training, some outside, ends included."""
    known = getattr(variable, "known", variable)
    low, high = known.decode(0.0), known.decode(1.0)
    place = rng.uniform(-0.25, 1.25, n)
    place[:2] = [0.0, 1.0]
    with np.errstate(over="ignore"):
        column = low + (high - low) * place
    if isinstance(known, Bent):
        column[2:4] = known.bends[1:3]
    if isinstance(known, Curve):
        column[2:4] = known.at[: len(column[2:4])]
    column = np.nan_to_num(column)
    if known.origin is None:
        return column
    days = np.floor(column).astype("timedelta64[D]")
    return (np.datetime64(known.origin, "D") + days).astype("datetime64[s]")


def random_rows(rng, encoder, n=8):
    """Draw raw rows, with missing cells where they are taken; the first has none."""
    columns = {}
    for variable in encoder.variables:
        if variable.choices is not None:
            values = np.empty(n, dtype=object)
            values[:] = _random_choices(rng, variable, encoder.unknown, n)
            column = pd.Series(values, dtype=object)
        else:
            column = pd.Series(_random_numbers(rng, variable, n))
        if variable.takes_missing or encoder.missing == "typical":
            holes = rng.random(n) < 0.2
            holes[0] = False
            column = column.mask(holes, None)
        columns[variable.name] = column
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
    middle = encoder.encode(rows).mean(axis=0) @ coef / encoder.n_groups
    threshold = middle + rng.normal(0.0, 0.05, n_cuts)
    idle = rng.random(n_cuts) < 0.1
    coef[:, idle] = 0.0
    threshold[idle] = rng.choice([-1.0, 1.0, 0.0, 1e-4], idle.sum())
    return coef, threshold


def random_shares(rng, tree):
    """Draw what leaves say: smooth, with zeros, pure, or the same several times."""
    kind = rng.choice(["smooth", "zeros", "tiny", "few"])
    n_classes, n_leaves = len(tree.classes), tree.n_leaves
    shares = rng.dirichlet(np.ones(n_classes), n_leaves).T + 1e-3
    if kind == "zeros":
        shares[rng.random(shares.shape) < 0.5] = 0.0
        shares[tree.leaf_class, np.arange(n_leaves)] += 0.2
    if kind == "tiny":
        shares *= 10.0 ** rng.uniform(-300, 0, shares.shape)
    shares = shares / shares.sum(axis=0)
    if kind == "few":
        shares = shares[:, rng.integers(0, 2, n_leaves)]
    return shares


def random_decision(rng, n_classes):
    """Draw costs: all kinds of sizes, some 0, seldom what is right costs as well."""
    cost = 10.0 ** rng.uniform(-2, 2, (n_classes, n_classes))
    cost[rng.random(cost.shape) < 0.1] = 0.0
    return cost * (1.0 if rng.random() < 0.2 else 1.0 - np.eye(n_classes))


def random_map(rng):
    """Draw a map: a line of log-odds or a curve, which may begin and end anywhere."""
    if rng.random() < 0.5:
        slope = float(rng.choice([rng.uniform(0.05, 3.0), rng.normal(), 0.0, 1.0]))
        return LogisticMap(slope, float(rng.normal(0.0, rng.choice([0.5, 5.0, 60.0]))))
    n = int(rng.integers(1, 12))
    points = np.sort(rng.choice(np.linspace(0.0, 1.0, 51), n, replace=False))
    values = np.sort(rng.uniform(0.0, 1.0, n))
    values[values < rng.choice([0.0, 0.3])] = 0.0
    return CurveMap(tuple(points.tolist()), tuple(values.tolist()))


def with_words(rng, tree):
    """Let the leaves of a tree say more than a class, calibrate it, give it costs."""
    n_classes, words = len(tree.classes), {}
    if rng.random() < 0.5:
        words["leaf_proba"] = random_shares(rng, tree)
        words["routed"] = tree.mass
    if rng.random() < 0.3:
        words["followed_at"] = rng.normal(0.0, 2.0, tree.n_branches)
    if rng.random() < 0.4:
        words["decision_cost"] = random_decision(rng, n_classes)
    if rng.random() < 0.4:
        n_maps = 1 if n_classes == 2 else n_classes
        words["calibration"] = Calibration(
            tuple(random_map(rng) for _ in range(n_maps))
        )
    return replace(tree, **words)


def random_tree(rng, max_depth=5, n_variables=None):
    """Draw a tree and rows for it; in half of them leaves say more than a class."""
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
    # Last, so that the trees drawn before are those that they always were.
    return (with_words(rng, tree) if rng.random() < 0.5 else tree), rows


def with_values(rng, tree, log=None):
    """Draw leaves that say numbers, or linear models, of any size for the same cuts.

    Some say logarithms: those of a fifth of the trees, if that is left open.
    """
    n_leaves, log = tree.n_leaves, rng.random() < 0.2 if log is None else log
    size = 10.0 ** (rng.uniform(-3, 6) if rng.random() < 0.7 else rng.uniform(-60, 60))
    size = rng.choice([0.1, 2.0]) if log else size
    value = size * (rng.normal(size=n_leaves) + rng.choice([0.0, 30.0]))
    value[rng.random(n_leaves) < 0.1] = value[0]
    words = {"leaf_value": value}
    if rng.random() < 0.5:
        slope = size * rng.normal(size=(tree.n_columns, n_leaves))
        slope[rng.random(slope.shape) < rng.choice([0.0, 0.5, 0.9])] = 0.0
        slope[tree.encoder.constant_columns] = 0.0
        words["leaf_coef"] = slope
    # Trees of logarithms always tell means.
    if rng.random() < 0.7 or log:
        words["leaf_mean"] = np.exp(value) if log else rng.normal(size=n_leaves) * size
        words["leaf_miss"] = rng.choice([0.0, 0.1, 1e-9], n_leaves) * size
        words["routed"] = rng.dirichlet(np.ones(n_leaves))[np.newaxis]
    ends = value.mean(), size, value.min(), value.max()
    target = Quantity(*map(float, ends))
    if log:
        target = Quantity(*map(float, np.exp(ends))).of_log(target)
    return replace(
        tree,
        leaf_class=np.zeros_like(tree.leaf_class),
        target=target,
        cost_matrix=np.zeros((1, 1)),
        mass=tree.mass.sum(axis=0, keepdims=True),
        **{"leaf_proba": None, "decision_cost": None, "calibration": None, **words},
    )


def first_leaf(tree):
    """The tree of depth 0 that one linear leaf is."""
    words = ("leaf_class", "leaf_value", "leaf_mean", "leaf_miss")
    arrays = {name: getattr(tree, name) for name in words}
    one = {name: array[:1] for name, array in arrays.items() if array is not None}
    one |= {"mass": np.ones((1, 1)), "routed": np.ones((1, 1))}
    coef, threshold = tree.coef[:, :0], tree.threshold[:0]
    slope = tree.leaf_coef[:, :1]
    return replace(tree, coef=coef, threshold=threshold, leaf_coef=slope, **one)


def random_model(rng, **options):
    """Draw a tree of classes or, one in four, of a quantity; and rows for it."""
    tree, rows = random_tree(rng, **options)
    if rng.random() < 0.75:
        return tree, rows
    tree = with_values(rng, tree)
    if tree.leaf_kind == "linear" and rng.random() < 0.2:
        tree = first_leaf(tree)
    return tree, rows
