"""Trees and forests that an export must get right: kinds of columns, names, labels.

Every maker takes a random generator and returns a tree or forest and a table of rows.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from sorct.data.encoder import TableEncoder
from sorct.tree.calibration import Calibration, CurveMap
from sorct.tree.forest import Forest
from tests.data.test_encoder import mixed_table
from tests.show.export.real_tables import REAL
from tests.show.export.spoken import (
    curve_map,
    logistic_map,
    margin,
    n_maps,
    with_all,
    with_decision,
    with_maps,
    with_shares,
)
from tests.tree.test_tree import random_tree

#: Names and labels chosen to break out of quotes, comments, lines and templates.
NASTY = [
    'it\'s "quoted" \\',
    "new\nline\r\n-- */ \"\"\" '''",
    "</script><!-- ${alert(1)} `x` %s {0}",
    "'; DROP TABLE data; --",
    "Größe, 重さ 🌳 \u2028\u202e",
    "__proto__",
    "# coding: latin-1",
    " ",
]
#: Names that the exports use themselves.
TAKEN = [
    "score_1", "LEFT_1", "proba_0", "predicted_class", "label", "probabilities", "X",
    "row", "cut_1", "left_2", "constant", "t", "data", "sorct_left_2",
]  # fmt: skip


def numbers(rng, names, n=40):
    """Random numbers, one column per name."""
    return pd.DataFrame(rng.normal(1.0, 2.0, (n, len(names))), columns=names)


def iris(depth):
    """Maker of a tree on iris."""

    def make(rng):
        X = load_iris(as_frame=True).data.sample(40, random_state=1)
        labels = np.array(
            ["setosa", "versicolor", "virginica"][: 2 if depth == 1 else 3]
        )
        return random_tree(rng, X, depth, labels), X

    return make


def array(rng):
    """A plain array has names of its own making."""
    X = rng.normal(0.0, 5.0, (40, 4))
    return random_tree(rng, X, 3, np.array([-7, 0, 2**40])), X


def mixed(rng):
    """Numbers, text, categories and booleans."""
    X = mixed_table(rng, 45)
    return random_tree(rng, X, 3), X


def number_levels(rng):
    """Levels that are whole numbers, fractions and booleans."""
    X = pd.DataFrame(
        {
            "whole": pd.Categorical(rng.permutation(np.resize([-3, 10, 2**40], 42))),
            "fraction": pd.Categorical(rng.permutation(np.resize([0.1, 2.5, 1e9], 42))),
            "flag": rng.permutation(np.resize([True, False], 42)),
            "count": rng.integers(0, 9, 42),
        }
    )
    return random_tree(rng, X, 2, np.array([0.1, 1 / 3, 1e300])), X


def only_levels(rng):
    """No number in any cut."""
    X = mixed_table(rng, 42)[["city", "grade", "member"]]
    tree = random_tree(rng, X, 2, np.array([False, True]))
    coef = np.where(tree.coef == 0.0, 0.1, tree.coef)
    return replace(tree, coef=coef), X


def new_levels(rng):
    """Levels never seen in training count as the first."""
    X = mixed_table(rng, 42)
    tree = random_tree(rng, X, 2)
    encoder = TableEncoder(tree.encoder.variables, True, "first_level")
    X = X.assign(city=np.resize(["Oslo", "Rome", "Bonn", "Ur", "o'Ur"], 42))
    return replace(tree, encoder=encoder), X


def nasty(rng):
    """Hostile names, levels and labels."""
    X = numbers(rng, NASTY[:4], 48)
    for name in NASTY[4:]:
        X[name] = rng.permutation(np.resize(NASTY, 48))
    return random_tree(rng, X, 3, np.array(NASTY)), X


def taken(rng):
    """Names that collide with those of an export."""
    X = numbers(rng, TAKEN)
    return random_tree(rng, X, 2), X


def far(rng):
    """Columns far from zero whose span is a few dozen roundings wide."""
    far = np.array([1.6e9, -7e12, 0.1, 3e-7, 1e200]) * rng.uniform(1.0, 2.0, 5)
    X = far + np.spacing(far) * rng.integers(0, 60, (40, 5))
    X[0], X[1] = far, far + 60 * np.spacing(far)
    X = pd.DataFrame(X, columns=list("abcde"))
    return random_tree(rng, X, 2), X


def narrow(rng):
    """Spans as small and as large as numbers go."""
    X = rng.random((40, 3)) * np.array([1e-290, 1e290, 1.0])
    return random_tree(rng, X, 2), X


def constant(rng):
    """Columns that did not vary in training have no say, whatever their weight."""
    X = numbers(rng, ["a", "same", "b"]).assign(same=4.0)
    tree = random_tree(rng, X, 2)
    assert tree.coef[1].any()
    return tree, X.assign(same=rng.normal(0.0, 9.0, len(X)))


def idle(rng):
    """Of seven cuts two send all left or decide nothing, one tosses a coin."""
    X = numbers(rng, ["a", "b"])
    tree = random_tree(rng, X, 3, np.array([1, 2, 3, 4]), gamma=2000.0)
    coef, threshold = tree.coef.copy(), tree.threshold.copy()
    coef[:, [1, 2]] = 0.0
    threshold[[1, 2]] = [1e-4, -1.0]
    leaf_class = np.array([0, 0, 1, 2, 2, 3, 3, 2])
    tree = replace(tree, coef=coef, threshold=threshold, leaf_class=leaf_class)
    return tree, X


def certain(rng):
    """Scores so large that only 0 and 1 are left."""
    X = numbers(rng, ["a", "b", "c"])
    return random_tree(rng, X, 4, gamma=1e6), 50.0 * X


def steep(rng):
    """Scores for which exp() is still a number, but no product of several is."""
    X = numbers(rng, ["a", "b", "c"])
    return random_tree(rng, X, 4, gamma=4000.0), X


def nothing(rng):
    """All leaves have one class; the other has none."""
    X = mixed_table(rng, 30)[["city", "age"]]
    tree = random_tree(rng, X, 1, np.array(["no", "yes"]))
    return replace(tree, leaf_class=np.array([1, 1])), X


def coin(rng):
    """No variable but a constant, and equal chances: the first class is chosen."""
    X = pd.DataFrame({"a": np.full(12, 4.0)})
    tree = random_tree(rng, X, 1, np.array(["b", "a"]))
    return replace(tree, coef=np.zeros((1, 1)), threshold=np.zeros(1)), X


def spoken(make, *changes):
    """Maker of a tree whose leaves say more, decided and calibrated by changes."""

    def made(rng):
        tree, X = make(rng)
        for change in changes:
            tree = change(rng, tree)
        return tree, X

    return made


def curves(rng, tree):
    """Calibrate every class by straight lines."""
    return with_maps(rng, tree, curve_map)


def lines(rng, tree):
    """Calibrate every class by its log-odds."""
    return with_maps(rng, tree, logistic_map)


def both(rng, tree):
    """Calibrate the classes by either in turn."""
    return with_maps(rng, tree, curve_map, logistic_map)


def pure(rng, tree):
    """Some leaves say nothing of some classes."""
    return with_shares(rng, tree, 0.5)


def silent(rng, tree):
    """Every map says 0 up to the largest probability that occurs, or nearly."""
    flat = CurveMap((0.6, 0.9), (0.0, 1.0))
    return replace(tree, calibration=Calibration((flat,) * n_maps(tree)))


#: Trees whose leaves say more than a class.
SPOKEN = {
    "shares-mixed": spoken(mixed, with_shares),
    "shares-pure": spoken(iris(4), pure),
    "shares-idle": spoken(idle, with_shares),
    "shares-taken": spoken(taken, with_shares, both, with_decision),
    "shares-nothing": spoken(nothing, lambda rng, tree: constant_shares(tree)),
    "decision-two": spoken(only_levels, with_decision),
    "decision-nasty": spoken(nasty, with_decision),
    "curves-two": spoken(iris(1), curves),
    "curves-mixed": spoken(mixed, curves),
    "curves-silent": spoken(iris(3), silent),
    "lines-two": spoken(iris(1), lines),
    "lines-steep": spoken(steep, lines),
    "lines-nothing": spoken(nothing, lines, with_decision),
    "all-two": spoken(only_levels, with_all),
    "all-nasty": spoken(nasty, with_all),
    "all-holes": spoken(REAL["other-holes"], with_all),
    "all-typical": spoken(REAL["error-typical"], with_all),
    "all-array": spoken(REAL["real-array"], with_all),
    "all-coin": spoken(coin, with_all),
}


def constant_shares(tree):
    """All leaves say the same shares."""
    return replace(tree, leaf_proba=np.array([[0.3, 0.3], [0.7, 0.7]]))


def forest(make, n_trees=4):
    """Maker of a forest: trees with the same table, other cuts and leaves, weights."""

    def made(rng):
        tree, X = make(rng)
        trees = [_other(rng, tree, still=n == 1) for n in range(n_trees)]
        weights = rng.dirichlet(np.full(len(trees), 5.0))
        return Forest(tuple(trees), weights, tree.decision_cost), X

    return made


def _other(rng, tree, still):
    """A tree on the same table; a still one has no cut that decides anything."""
    cuts = rng.permutation(tree.n_branches)
    sign = np.zeros(cuts.size) if still else rng.choice([-1.0, 1.0], cuts.size)
    leaves = np.zeros(tree.n_leaves, int) if still else rng.permutation(tree.n_leaves)
    leaf_proba = tree.leaf_proba
    return replace(
        tree,
        coef=sign * tree.coef[:, cuts],
        threshold=np.ones(cuts.size) if still else sign * tree.threshold[cuts],
        leaf_class=tree.leaf_class[leaves],
        mass=tree.mass[:, leaves],
        leaf_proba=None if leaf_proba is None else leaf_proba[:, leaves],
        routed=None if tree.routed is None else tree.routed[:, leaves],
        decision_cost=None,
        calibration=None,
    )


#: Forests of every kind of variable and leaf.
FORESTS = {
    f"forest-{name}": forest(make)
    for name, make in {
        "iris": iris(2),
        "array": array,
        "levels": number_levels,
        "nasty": SPOKEN["decision-nasty"],
        "taken": SPOKEN["shares-taken"],
        "nothing": nothing,
        "holes": SPOKEN["all-holes"],
        "error": REAL["error-typical"],
        "missing": REAL["only-missing"],
    }.items()
}

MAKERS = {
    **{f"iris-{depth}": iris(depth) for depth in (1, 2, 3, 4)},
    **{
        make.__name__: make
        for make in (
            array, mixed, number_levels, only_levels, new_levels, nasty, taken, far,
            narrow, constant, idle, certain, steep, nothing, coin,
        )
    },
    **REAL,
    **SPOKEN,
    **FORESTS,
}  # fmt: skip

#: Trees that every language must get right in the quick suite: odd names above all.
EVERYWHERE = {"mixed", "nasty", "taken", "all-holes", "forest-nasty"}
LANGUAGES = ("python", "javascript", "onnx", "sql")


def is_repeated(name, language):
    """Whether only the slow suite has a language say what this tree predicts.

    All languages are written from one formula, so the quick suite gives every tree to
    one of them.
    """
    turn = list(MAKERS).index(name) % len(LANGUAGES)
    return name not in EVERYWHERE and LANGUAGES[turn] != language


def each_name(language, names=tuple(MAKERS)):
    """Names of trees as parameters of a test of a language."""
    return [
        pytest.param(
            name, marks=[pytest.mark.slow] if is_repeated(name, language) else []
        )
        for name in names
    ]


def each_tree(language):
    """Give a test every tree, as ``make``."""
    params = [
        pytest.param(MAKERS[name], id=name, marks=marks)
        for (name,), marks, _ in each_name(language)
    ]
    return pytest.mark.parametrize("make", params)


def as_frame(X):
    """Rows with the names that a tree knows them by."""
    if isinstance(X, pd.DataFrame):
        return X.reset_index(drop=True)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def renamed(tree, name):
    """The tree with another name for the first of its variables."""
    first, *others = tree.encoder.variables
    variables = (replace(first, name=name), *others)
    return replace(tree, encoder=TableEncoder(variables, tree.encoder.named))


def rows_of(X):
    """Rows as dicts of plain Python values."""
    frame = as_frame(X).astype(object)
    columns = {name: frame[name].to_list() for name in frame}
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def json_rows(X):
    """Rows as JSON has them: dates as text, null for what is missing."""
    return [
        {name: _in_json(value) for name, value in row.items()} for row in rows_of(X)
    ]


def _in_json(value):
    if pd.isna(value):
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value


def assert_near(tree, X, labels, proba, *, atol=1e-9):
    """As ``assert_same``, where most rows may be ties."""
    truth, labels = tree.predict_proba(X), np.array(labels)
    np.testing.assert_allclose(np.asarray(proba, dtype=float), truth, rtol=0, atol=atol)
    clear = margin(tree, truth) > 4 * atol
    assert labels[clear].tolist() == tree.predict(X)[clear].tolist()


def assert_same(tree, X, labels, proba, *, atol=1e-9):
    """Labels and probabilities are those of the tree; ties may be rounded."""
    truth = tree.predict_proba(X)
    np.testing.assert_allclose(np.asarray(proba, dtype=float), truth, rtol=0, atol=atol)
    better = margin(tree, truth)
    clear = (better > 4 * atol) | (better == 0.0)
    assert clear.mean() > 0.5, "hardly any row is worth comparing"
    expected = tree.predict(X).tolist()
    got = list(labels)
    assert [type(label) for label in got] == [type(label) for label in expected]
    for row in np.flatnonzero(clear):
        assert got[row] == expected[row], row
