"""Files of versions before: they are read, predict, print and export as they did.

Every folder has a tree and a path that a released version wrote, and what that version
said of them; nothing in a folder is ever written again.
"""

import json
from pathlib import Path as Folder

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sorct.export import to_javascript, to_python, to_sql

from sorct import Path, Tree, export_text
from tests.golden.record import mixed_table

FOLDERS = sorted(Folder(__file__).parent.glob("v*"))


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request):
    """One version."""
    return request.param


@pytest.fixture
def said(folder):
    """What that version said."""
    return json.loads((folder / "expected.json").read_text("utf-8"))


def test_there_are_files():
    """The folders are where this test looks."""
    assert [folder.name for folder in FOLDERS] == ["v0.1.0"]


def test_a_tree_predicts_as_it_did(folder, said):
    """Probabilities to the last digits, labels exactly."""
    tree, (X, _) = Tree.from_json(folder / "tree.json"), mixed_table()
    expected = np.array(said["tree"]["proba"])
    proba = tree.predict_proba(X)[::25]
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-14)
    labels = tree.classes[expected.argmax(axis=1)]
    np.testing.assert_array_equal(tree.predict(X)[::25], labels)


def test_a_tree_reads_as_it_did(folder, said):
    """Rules and rounded rules, letter for letter."""
    tree, told = Tree.from_json(folder / "tree.json"), said["tree"]
    assert export_text(tree) == str(tree) == told["rules"]
    assert export_text(tree.round(2).tree, decimals=3) == told["rounded"]


@pytest.mark.parametrize("export", [to_sql, to_python, to_javascript])
def test_a_tree_is_exported_as_it_was(folder, said, export):
    """To the last digit of every number."""
    tree = Tree.from_json(folder / "tree.json")
    assert export(tree) == said["tree"][export.__name__.removeprefix("to_")]


def test_a_tree_keeps_its_record(folder, said):
    """Numbers, labels and what training said."""
    tree, told = Tree.from_json(folder / "tree.json"), said["tree"]
    for name in ("coef", "threshold", "leaf_class"):
        assert getattr(tree, name).tolist() == told[name]
    for name in ("objective", "cost", "recall"):
        assert tree.training[name] == told[name]


def test_a_path_is_the_path_it_was(folder, said):
    """Its table, its scores, its frontier and its choice."""
    path, told = Path.from_json(folder / "path.json"), said["path"]
    frame = path.to_frame().drop(columns="seconds")
    pd.testing.assert_frame_equal(frame, pd.DataFrame(told["frame"]), check_names=False)
    X, y = load_iris(return_X_y=True, as_frame=True)
    assert path.evaluate(X, y)["accuracy"].tolist() == told["accuracy"]
    assert path.frontier(X, y).index.tolist() == told["frontier"]
    assert export_text(path.select(X, y, max_features=2)) == told["selected"]


@pytest.mark.parametrize(("kind", "reader"), [("tree", Tree), ("path", Path)])
def test_what_is_read_is_written_back_the_same(folder, tmp_path, kind, reader):
    """No field of an old file is lost."""
    old = folder / f"{kind}.json"
    reader.from_json(old).to_json(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text("utf-8"))
    assert again == json.loads(old.read_text("utf-8"))
