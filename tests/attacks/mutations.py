"""Mutations: damaged files of models are refused, or what is read works."""

import json
import resource
from dataclasses import replace
from functools import cache
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory

import numpy as np
from sorct.export import to_javascript, to_python, to_sql

from sorct import Forest, Path, Tree, explain
from tests.attacks.mutated import mutated_bytes, mutated_data
from tests.attacks.outcome import each_case, refusal
from tests.attacks.random_forests import random_forest
from tests.attacks.random_trees import first_leaf, random_rows, with_values
from tests.show.export.spoken import curve_map, with_all, with_maps
from tests.show.report.cases import drawn_path, drawn_tree, hostile_table, mixed_table

_FILES = FilePath(__file__).parents[1] / "files" / "v0.1.0"
# A case may ask for so much memory in KiB, and one in so many is used in every way.
_MOST_KIB, _THOROUGH = 400_000, 12
_KINDS = {"sorct-path": Path, "sorct-forest": Forest, "sorct-tree": Tree}
#: What a model can be written as.
EXPORTS = (to_sql, to_python, to_javascript)
_RECORD = {
    "alpha_local": 0.1, "alpha_global": 0.0, "min_recall": [0.5, 0.0, 0.1],
    "recall": [0.9, 0.8, 0.7], "objective": 0.3, "cost": 0.2, "residual": 1e-8,
    "n_iterations": 12, "status": "converged", "n_samples": 90, "call": "sorct fit",
    "versions": {"sorct": "0.1.0"}, "search": "found twice", "cv_score": 0.9,
    "cv_standard_error": 0.01, "cv_scoring": "accuracy", "cv_folds": 5,
    "cv_rule": "best", "target": "y", "more": [1, {"a": None}],
}  # fmt: skip


@cache
def base_texts():
    """Good files of several kinds as JSON."""
    rng = np.random.default_rng(0)
    X = mixed_table(rng, 30)
    tree = drawn_tree(rng, X, ["a", "b", "c"])
    whole = {**tree.to_dict(), "training": _RECORD}
    narrow = drawn_tree(rng, X[["plain", "colour"]], [0, 1], depth=1)
    plain = drawn_tree(rng, X[["plain", "far"]].to_numpy(), [0.5, 1.5, 2.5])
    hostile = drawn_tree(rng, hostile_table(rng, 30), [False, True], depth=1)
    path = drawn_path(rng, narrow, X[["plain", "colour"]], 2, 2)
    # Drawn by a generator of their own, so that those above stay as they are.
    own = np.random.default_rng(1)
    spoken = [
        with_all(own, tree),
        with_all(own, narrow),
        with_maps(own, plain, curve_map),
    ]
    made = [tree, narrow, plain, hostile, path, *spoken]
    made += _of_quantities(own, [tree, narrow, plain, hostile], path)
    made += _forests(np.random.default_rng(2), made)
    texts = [json.dumps(whole), *(json.dumps(one.to_dict()) for one in made)]
    return [*texts, *((_FILES / f).read_text() for f in ("tree.json", "path.json"))]


def _of_quantities(rng, trees, path):
    """Trees of a quantity with the same cuts, one of a single leaf, and a path."""
    made = [with_values(rng, tree) for tree in trees * 2]
    linear = next(tree for tree in made if tree.leaf_kind == "linear")
    narrow = with_values(rng, path.trees[0])
    along = [replace(narrow, coef=t.coef, training=t.training) for t in path.trees]
    return [*made, first_leaf(linear), replace(path, trees=tuple(along))]


def _forests(rng, models):
    """A forest around every tree."""
    return [
        random_forest(rng, tree, random_rows(rng, tree.encoder))
        for tree in models
        if isinstance(tree, Tree)
    ]


def attack(rng, n_cases):
    """Damage files, read them, and use what can be read."""
    with TemporaryDirectory(prefix="sorct-attack-") as folder:
        file = FilePath(folder) / "model.json"
        return each_case(rng, n_cases, lambda case: _check(case, file))


def _check(rng, file):
    text = base_texts()[rng.integers(len(base_texts()))]
    before = _peak()
    try:
        model = _load(rng, text, file)
    except ValueError as error:
        end = refusal(error)
    else:
        end = _use(rng, model)
    assert _peak() - before < _MOST_KIB, f"{(_peak() - before) >> 10} MiB more"
    return end


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _load(rng, text, file):
    """Read a damaged file: by its bytes, or by its parts."""
    kind = next(kind for name, kind in _KINDS.items() if f'"{name}"' in text)
    if rng.random() < 0.3:
        file.write_bytes(mutated_bytes(rng, text.encode()))
        return kind.from_json(file)
    return kind.from_dict(mutated_data(rng, json.loads(text)))


def _use(rng, model):
    tree = model.trees[-1] if isinstance(model, Path) else model
    rows = random_rows(rng, tree.encoder, 4)
    _predict(tree, rows)
    if rng.random() * _THOROUGH > 1.0:
        return "predicted"
    assert str(tree)
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model, "not the same after being written and read"
    _show(rng, tree, rows)
    if isinstance(model, Path):
        _choose(model, rows)
    return "used"


def _predict(tree, rows):
    if tree.of_quantity:
        values = tree.predict(rows)
        if isinstance(tree, Tree):
            values = np.concatenate([values, tree.follow(rows)])
        assert np.isfinite(values).all(), "a prediction is no number"
        return
    proba, labels = tree.predict_proba(rows), tree.predict(rows)
    assert np.isfinite(proba).all(), "a probability is no number"
    assert np.abs(proba.sum(axis=1) - 1.0).max() < 1e-9, "not 1 in all"
    assert set(labels.tolist()) <= set(tree.classes.tolist())


def _show(rng, tree, rows):
    row = rows.iloc[[0]] if tree.encoder.named else rows[:1]
    assert str(explain(tree, row))
    if isinstance(tree, Forest):
        assert np.isfinite(tree.agreement(rows)).all()
    else:
        _predict(tree.round(int(rng.integers(1, 16))).tree, rows)
    given = (rows, some_y(tree, rows)) if rng.random() < 0.5 else ()
    assert tree.report(*given).html().startswith("<!")
    for export in EXPORTS:
        try:
            text = export(tree)
        except ValueError:
            continue
        text.encode()


def some_y(tree, rows):
    """Some target of rows."""
    if tree.of_quantity:
        return np.arange(float(len(rows)))
    return tree.classes[np.arange(len(rows)) % len(tree.classes)]


def _choose(path, rows):
    y = some_y(path.trees[0], rows)
    assert path.select() in path.trees
    assert len(path.frontier()) > 0
    assert len(path.evaluate(rows, y)) == len(path)
    assert path.select(rows, y) in path.trees
    assert path.report().html().startswith("<!")
