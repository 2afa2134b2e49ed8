"""Tree: predictions by the paper's formula, files exact to the last bit, or refused."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sorct import Tree
from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from sorct.tree.training import TrainingRecord
from tests.data.test_encoder import mixed_table
from tests.reference import Reference
from tests.tree.by_hand import cut_in_units

LABELS = [
    np.array(["no", "yes", "ünsure"]),
    np.array([-7, 0, 2**40]),
    np.array([1, 2, 3], dtype=np.uint8),
    np.array([0.1, 1 / 3, 1e300]),
    np.array([False, True]),
    np.array(["a", "bb", "ccc"], dtype=object),
]
labels = pytest.mark.parametrize("classes", LABELS, ids=lambda c: c.dtype.str)


def random_tree(rng, X, depth=2, classes=LABELS[0], gamma=64.0):
    """Random sparse cuts through the middle of a table."""
    encoder = TableEncoder.learn(X)
    n_branches, K = 2**depth - 1, len(classes)
    shape = (encoder.n_columns, n_branches)
    coef = rng.uniform(0.2, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    coef[1:][rng.random(coef[1:].shape) < 0.3] = 0.0
    threshold = (encoder.encode(X) @ coef).mean(axis=0) / encoder.n_columns
    mass = rng.random((K, n_branches + 1))
    return Tree(
        encoder=encoder,
        coef=coef,
        threshold=threshold,
        leaf_class=rng.permutation(np.arange(n_branches + 1) % K),
        target=Classes(classes),
        gamma=gamma,
        cost_matrix=rng.random((K, K)) * (1.0 - np.eye(K)),
        mass=mass / mass.sum(),
        training=TrainingRecord(objective=1 / 3, status="converged"),
    )


@pytest.fixture
def table(rng):
    """Numbers and categories."""
    return mixed_table(rng)


@pytest.fixture
def tree(rng, table):
    """Cut the table at random."""
    return random_tree(rng, table)


def truth_of(tree, X):
    """Hand the reference the scaled data; it needs no labels to predict."""
    K = len(tree.classes)
    nothing = {"y": None, "weight": None, "floor": None, "cost_matrix": np.eye(K)}
    return Reference(
        X=tree.encoder.encode(X), depth=tree.depth, gamma=tree.gamma, **nothing
    )


@pytest.mark.every_value
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("gamma", [8.0, 512.0, 1e6])
@pytest.mark.parametrize(
    "n", [1, 60, pytest.param(20_000, marks=pytest.mark.slow, id="blocks")]
)
def test_probabilities_are_the_papers(rng, depth, gamma, n):
    """Sums over leaves of products of cuts, for any number of rows."""
    X = mixed_table(rng, 60)
    tree = random_tree(rng, X, depth, LABELS[4], gamma)
    rows = X.iloc[rng.integers(0, 60, n)]
    truth = truth_of(tree, rows)
    exact = {"rtol": 0, "atol": 1e-15 * gamma + 1e-14}
    np.testing.assert_allclose(tree.leaf_reach(rows), truth.leaf_reach(tree), **exact)
    proba = tree.predict_proba(rows)
    np.testing.assert_allclose(proba, truth.predict_proba(tree), **exact)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(tree.predict(rows), proba[:, 1] > proba[:, 0])


@pytest.mark.a_few(1)
@pytest.mark.parametrize("n", [16_384, 16_385, 20_000])
def test_blocks_of_rows_change_nothing(rng, n):
    """Rows are done in blocks; each has the probabilities that it has alone."""
    X = mixed_table(rng, 60)
    tree, place = random_tree(rng, X, 3, LABELS[4]), rng.integers(0, 60, n)
    rows = X.iloc[place]
    exact = {"rtol": 0, "atol": 1e-14}
    for method in (tree.predict_proba, tree.leaf_reach):
        np.testing.assert_allclose(method(rows), method(X)[place], **exact)
    np.testing.assert_array_equal(tree.predict(rows), tree.predict(X)[place])


@pytest.mark.parametrize("t", range(7))
def test_cuts_in_units_agree_with_scaled_cuts(rng, table, t):
    """The sum w . x - limit is p times the scaled margin, categories included."""
    tree = random_tree(rng, table, depth=3)
    rows = mixed_table(rng, 500)
    weight, limit = cut_in_units(tree, t)
    in_units = tree.encoder.encode(rows)
    for name in ("age", "year"):
        in_units[:, tree.encoder.column_names.index(name)] = rows[name]
    margin = in_units @ weight - limit
    scaled = tree.encoder.encode(rows) @ tree.coef[:, t]
    np.testing.assert_allclose(margin, scaled - 7 * tree.threshold[t], atol=1e-12)
    np.testing.assert_array_equal(weight == 0.0, tree.coef[:, t] == 0.0)


def test_what_a_tree_uses_are_its_nonzero_rows(rng, table):
    """Columns by name, and the variables they belong to once each."""
    tree = random_tree(rng, table, depth=1)
    coef = np.zeros_like(tree.coef)
    coef[[0, 4, 5]] = 0.5
    sparse = replace(tree, coef=coef)
    assert sparse.columns_used == ("age", "grade = mid", "grade = high")
    assert sparse.variables_used == ("age", "grade")


def test_columns_in_another_order_are_matched_by_name(rng, tree, table):
    """A tree read from a file knows its variables by name."""
    shuffled = table[rng.permutation(table.columns)]
    proba, expected = tree.predict_proba(shuffled), tree.predict_proba(table)
    np.testing.assert_allclose(proba, expected, atol=1e-12)


@labels
def test_json_is_exact_to_the_last_bit(rng, table, tmp_path, classes):
    """Arrays, their dtypes, labels, names and predictions survive a file."""
    tree = random_tree(rng, table, classes=classes)
    tree.to_json(tmp_path / "model.json")
    again = Tree.from_json(str(tmp_path / "model.json"))
    for name, value in vars(tree).items():
        if isinstance(value, np.ndarray):
            assert getattr(again, name).dtype == value.dtype, name
            assert getattr(again, name).tolist() == value.tolist(), name
        else:
            assert getattr(again, name) == value, name
    assert again == tree
    assert str(again) == str(tree)
    assert os.listdir(tmp_path) == ["model.json"]
    proba = again.predict_proba(table)
    np.testing.assert_array_equal(proba, tree.predict_proba(table))
    np.testing.assert_array_equal(again.predict(table), tree.predict(table))


def test_trees_differ_by_a_single_bit(tree):
    """Equality is not about shapes."""
    threshold = tree.threshold.copy()
    threshold[0] = np.nextafter(threshold[0], 2.0)
    assert tree != replace(tree, threshold=threshold)


@pytest.mark.parametrize(
    "again", [lambda t: t, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_trees_are_immutable(tree, again):
    """Neither fields nor arrays can be written to."""
    tree = again(tree)
    with pytest.raises(FrozenInstanceError):
        tree.gamma = 1.0
    for value in vars(tree).values():
        assert not (isinstance(value, np.ndarray) and value.flags.writeable)
    with pytest.raises(ValueError, match="read-only"):
        tree.coef[0, 0] = 1.0


@pytest.mark.parametrize("shape", [None, (3,), (60, 3)])
def test_the_bayes_rule_is_its_formula(rng, table, shape):
    """argmin_c sum_k W[k, c] P_k(x) pi_k / s_k, priors of any sum."""
    tree = random_tree(rng, table, gamma=16.0)
    priors = None if shape is None else rng.random(shape)
    factor = 1.0
    if priors is not None:
        share = tree.mass.sum(axis=1)
        factor = priors / priors.sum(axis=-1, keepdims=True) / share
    costs = (tree.predict_proba(table) * factor) @ tree.cost_matrix
    chosen = tree.classes[costs.argmin(axis=1)]
    np.testing.assert_array_equal(tree.predict_bayes(table, priors), chosen)
    assert np.any(chosen != tree.predict(table))


@pytest.mark.parametrize("size", [1e10, 1e300, 1.7e308])
def test_finite_numbers_give_finite_probabilities(rng, size):
    """However far from the training sample."""
    tree = random_tree(rng, rng.random((30, 3)))
    proba = tree.predict_proba(size * rng.uniform(-1.0, 1.0, (50, 3)))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


# -- files that are not models ---------------------------------------------------------


def damage(tree, path, **fields):
    """Write a model with some fields replaced."""
    path.write_text(json.dumps({**tree.to_dict(), **fields}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"format": "sorct-tree", "vers', "truncated"),
        (b"", "truncated"),
        (b"a,b\n1,2\n", "expected JSON, got a file that begins with 'a,b'"),
        (b"\x80\x04\x95\xff\x00pickle", "not a sorct model"),
        (b'{"format": "xgboost"}', "not a sorct model"),
        (b"[1, 2]", "not a sorct model"),
        (b"null", "not a sorct model"),
        (
            b'{"format": "sorct-tree", "version": 99}',
            r"version 99, expected \(1, 2, 3, 4, 5\)",
        ),
        (b'{"format": "sorct-tree"}', r"version None, expected \(1, 2, 3, 4, 5\)"),
        (b'{"format": "sorct-tree", "version": 1}', "damaged.*missing"),
        (b"[" * 100_000, "not a sorct model"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_other_files_are_refused_by_name(tmp_path, content, words):
    """The message says which file and what is wrong with it."""
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"(?s)odd\.json.*{words}"):
        Tree.from_json(path)


def test_a_file_cut_anywhere_is_refused(tree, tmp_path):
    """No prefix of a model is a model."""
    path = tmp_path / "cut.json"
    tree.to_json(path)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.json"):
            Tree.from_json(path)


ODD = [None, True, -1, 0, 10**400, "x", [], [[]], {}, [None], ["x"], [[10**400]]]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:10])
def test_odd_fields_are_refused(tree, tmp_path, odd):
    """A field of the wrong type, shape or range never gets as far as predicting."""
    path = tmp_path / "odd.json"
    fine = {"training"} | ({"named", "version"} if odd is True else set())  # true == 1
    for name in sorted(set(tree.to_dict()) - fine):
        damage(tree, path, **{name: odd})
        with pytest.raises(ValueError, match=r"odd\.json.*model"):
            Tree.from_json(path)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("coef", lambda v: [row[:-1] for row in v], "2\\^depth - 1"),
        ("coef", lambda v: v[:-1], "'coef' has shape"),
        (
            "coef",
            lambda v: [[float("nan"), *v[0][1:]], *v[1:]],
            "'coef' must be finite",
        ),
        ("coef", lambda v: [v[0][:-1], *v[1:]], "'coef' must hold numbers"),
        ("threshold", lambda v: [*v, 0.0], "'threshold' has shape"),
        ("threshold", lambda v: [float("inf"), *v[1:]], "'threshold' must be finite"),
        ("leaf_class", lambda v: v[:-1], "'leaf_class'"),
        ("leaf_class", lambda v: [3, *v[1:]], "'leaf_class'"),
        ("mass", lambda v: v[:-1], "'mass' has shape"),
        ("cost_matrix", lambda v: v[0], "'cost_matrix' has shape"),
        ("variables", lambda v: v[:-1], "'coef' has shape"),
        ("variables", lambda v: [{"name": "age"}, *v[1:]], "'lower' is missing"),
        ("variables", lambda v: [{**v[0], "span": -1.0}, *v[1:]], "'age'"),
        ("variables", lambda v: [{**v[0], "span": 0}, *v[1:]], "constant variable"),
        ("variables", lambda v: [v[0], {**v[1], "levels": []}, *v[2:]], "'city'"),
        ("classes", lambda v: {**v, "labels": ["no", 1, "x"]}, "mixed types"),
        ("classes", lambda v: {**v, "dtype": "<M8"}, "label type"),
        ("classes", lambda v: {**v, "dtype": "<U1"}, "label"),
        ("classes", lambda v: {"dtype": "|i1", "labels": [1, 2, 999]}, "label"),
        ("unknown", lambda v: "guess", "'unknown' must be one of"),
        ("variables", lambda v: [v[0], {**v[1], "name": "age"}, *v[2:]], "same name"),
        ("classes", lambda v: {**v, "labels": ["no", "no", "x"]}, "same label"),
        ("training", lambda v: {**v, "recall": [1.0]}, "'recall' has shape"),
        ("training", lambda v: {**v, "objective": "low"}, "'objective'"),
        ("training", lambda v: {**v, "call": 3}, "'call' must be text"),
        ("named", lambda v: False, "numeric variables only"),
        ("gamma", lambda v: 1e300, "larger than 1e"),
        ("threshold", lambda v: [1e200, *v[1:]], "larger than 1e"),
        ("cost_matrix", lambda v: [[1e200] * len(v)] * len(v), "larger than 1e"),
        ("mass", lambda v: [[-1.0, 2.0, *row[2:]] for row in v], "not be negative"),
        ("variables", lambda v: [{**v[0], "span": 1e-310}, *v[1:]], "beyond what"),
        (
            "variables",
            lambda v: [{**v[0], "lower": 1e308, "span": 1e308}, *v[1:]],
            "beyond what",
        ),
    ],
)
def test_damage_is_named(tree, tmp_path, name, change, words):
    """The message says which part of the file is wrong, and which file."""
    path = tmp_path / "hurt.json"
    damage(tree, path, **{name: change(tree.to_dict()[name])})
    with pytest.raises(ValueError, match=rf"hurt\.json: damaged sorct model.*{words}"):
        Tree.from_json(path)


def test_a_message_about_a_damaged_file_is_short(tree):
    """Whatever stands in the file."""
    plain, long = tree.to_dict(), "x" * 100_000
    first = {**plain["variables"][0], "name": long, "span": -1.0}
    for part in ({"version": long}, {"variables": [first, *plain["variables"][1:]]}):
        with pytest.raises(ValueError, match="model") as caught:
            Tree.from_dict({**plain, **part})
        assert len(str(caught.value)) < 1000


def test_names_that_are_no_valid_text_can_be_predicted_for(rng):
    """Halves of surrogate pairs, which pandas does not look up in a list."""
    X = mixed_table(rng)
    names = pd.Index(["half \ud800", *X.columns[1:]], dtype=object)
    tree = random_tree(rng, X)
    data = tree.to_dict()
    data["variables"][0]["name"] = names[0]
    found = Tree.from_dict(data).predict_proba(X.set_axis(names, axis=1))
    np.testing.assert_array_equal(found, tree.predict_proba(X))


@pytest.mark.parametrize("step", ["open", "replace"])
def test_a_failed_write_keeps_the_old_file(rng, table, tmp_path, monkeypatch, step):
    """A full disk leaves the old model and nothing beside it."""
    old, new = (random_tree(rng, table) for _ in range(2))
    path = tmp_path / "model.json"
    old.to_json(path)

    def fail(self, *args, **kwargs):
        with open(self, "wb") as file:
            file.write(b"{")
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, step, fail)
        with pytest.raises(OSError, match="No space"):
            new.to_json(path)
    assert Tree.from_json(path) == old
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.parametrize(
    "levels", [pd.interval_range(0, 3), pd.date_range("2026", "2028", 3)]
)
def test_levels_that_no_file_can_hold_are_refused_before_training(rng, levels):
    """Intervals and dates, by the name of their column."""
    X = pd.DataFrame({"age": pd.Categorical(rng.permutation(levels.repeat(5)))})
    with pytest.raises(TypeError, match="'age' has levels .* of type"):
        TableEncoder.learn(X)


def test_labels_that_no_file_can_hold_are_refused(rng, table, tmp_path):
    """Before anything is written."""
    tree = random_tree(
        rng, table, classes=np.array([("a", 1), "b", None], dtype=object)
    )
    with pytest.raises(TypeError, match="strings, numbers or booleans"):
        tree.to_json(tmp_path / "model.json")
    assert not os.listdir(tmp_path)


def test_a_frame_and_its_values_predict_the_same(rng):
    """Names are optional where all columns are numbers."""
    X = pd.DataFrame(rng.random((30, 3)), columns=list("abc"))
    tree = random_tree(rng, X)
    by_name, by_place = tree.predict_proba(X), tree.predict_proba(X.to_numpy())
    np.testing.assert_allclose(by_name, by_place, atol=1e-12)


@pytest.mark.slow
def test_a_process_forked_while_a_thread_predicts_can_predict(rng, tmp_path):
    """Many rows take a lock, which nobody in the child would ever release."""
    random_tree(rng, rng.normal(size=(20, 3))).to_json(tmp_path / "tree.json")
    code = """
import os, signal
import numpy as np
from sorct import Tree
from sorct.tree import blocks as module
tree = Tree.from_json("tree.json")
many = np.zeros((module._MANY_ROWS, 3))
with module._BLAS[0]:  # as a thread that predicts would hold it
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        tree.predict(many)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert done.stdout == "0\n", done.stderr
