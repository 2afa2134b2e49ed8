"""Files of paths: exact to the last bit, and refused if anything is wrong."""

import json
import pickle
from pathlib import Path as File

import numpy as np
import pandas as pd
import pytest

from sorct import Tree
from sorct.tree.path import Path
from tests.cases import draw_stream
from tests.data.test_encoder import mixed_table
from tests.tree.test_path import mixed_path, with_training


@pytest.fixture(scope="module")
def path():
    """Six random trees, the same for all: nothing can change them."""
    return mixed_path(draw_stream())


def test_a_saved_path_is_the_same(rng, path, tmp_path):
    """Trees, penalties and predictions, to the last bit."""
    path.to_json(tmp_path / "path.json")
    again = Path.from_json(tmp_path / "path.json")
    assert again == path
    np.testing.assert_array_equal(again.alphas_local, path.alphas_local)
    np.testing.assert_array_equal(again.alphas_global, path.alphas_global)
    np.testing.assert_array_equal(again.seconds, path.seconds)
    assert json.loads((tmp_path / "path.json").read_text())["seconds"] == (
        path.seconds.tolist()
    )
    rows = mixed_table(rng, 50)
    for one, other in zip(again, path, strict=True):
        assert one == other
        np.testing.assert_array_equal(
            one.predict_proba(rows), other.predict_proba(rows)
        )
    pd.testing.assert_frame_equal(again.to_frame(), path.to_frame(), check_exact=True)
    assert [file.name for file in tmp_path.iterdir()] == ["path.json"]
    assert Path.from_dict(path.to_dict()) == path


def test_half_a_file_is_refused(path, tmp_path):
    """However much of it is there, by its name."""
    file = tmp_path / "path.json"
    path.to_json(file)
    text = file.read_text()
    for share in (0.0, 0.1, 0.5, 0.99):
        file.write_text(text[: int(share * len(text))])
        with pytest.raises(ValueError, match=r"path\.json is not a sorct path.*trunca"):
            Path.from_json(file)


def without(data, key):
    """Plain data without one entry."""
    return {name: value for name, value in data.items() if name != key}


def in_tree(data, **changes):
    """Plain data with changes in the last tree."""
    *first, last = data["trees"]
    return {**data, "trees": [*first, {**last, **changes}]}


def in_training(data, **changes):
    """Plain data with changes in how the last tree was made."""
    return in_tree(data, training={**data["trees"][-1]["training"], **changes})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: [data], "not a sorct path"),
        (lambda data: {**data, "format": "sorct-tree"}, "not a sorct path"),
        (lambda data: without(data, "format"), "not a sorct path"),
        (lambda data: {**data, "version": 99}, r"version 99, expected \(1, 2\)"),
        (lambda data: without(data, "version"), "version None"),
        (lambda data: without(data, "common"), "'common' or 'trees'"),
        (lambda data: without(data, "trees"), "'common' or 'trees'"),
        (lambda data: {**data, "trees": [1]}, "tree must be an object"),
        (lambda data: {**data, "trees": []}, "Expected 6 trees"),
        (lambda data: {**data, "trees": data["trees"][1:]}, "Expected 6 trees.*got 5"),
        (lambda data: without(data, "alphas_local"), "'alphas_local' must be"),
        (lambda data: {**data, "alphas_global": [0, "1", 2]}, "'alphas_global' must"),
        (
            lambda data: {**data, "alphas_global": [0, 1, np.nan]},
            "'alphas_global' must",
        ),
        (
            lambda data: {**data, "alphas_global": [0, 1, 10**400]},
            "'alphas_global' must",
        ),
        (lambda data: {**data, "common": without(data["common"], "gamma")}, "gamma"),
        (
            lambda data: {**data, "common": without(data["common"], "classes")},
            "classes",
        ),
        (lambda data: in_tree(data, coef=[[0.0]]), "'coef' has shape"),
        (lambda data: in_tree(data, threshold=None), "'threshold'"),
        (lambda data: in_tree(data, leaf_class=[0, 1, 2, 9]), "'leaf_class'"),
        (lambda data: in_tree(data, training=None), "'training'"),
        (lambda data: in_tree(data, training={}), "'alpha_local' of a tree"),
        (lambda data: in_training(data, cost="dear"), "'cost'"),
        (lambda data: without(data, "seconds"), "'seconds' must be"),
        (lambda data: {**data, "seconds": [None] * 6}, "'seconds' must be"),
        (lambda data: {**data, "seconds": [0.5] * 5}, "Expected 6 trees and seconds"),
        (lambda data: in_training(data, residual=None), "'residual'"),
        (lambda data: in_training(data, alpha_local=9.0), "tree of alphas"),
        (lambda data: {**data, "trees": data["trees"][::-1]}, "tree of alphas"),
        (lambda data: in_training(data, objective=True), "'objective'"),
        (lambda data: in_training(data, cost=np.nan), "'cost'"),
    ],
)
def test_damaged_files_are_refused(path, tmp_path, damage, words):
    """A ValueError names the file and what is wrong with it."""
    file = tmp_path / "path.json"
    file.write_text(json.dumps(damage(path.to_dict())))
    with pytest.raises(ValueError, match=rf"path\.json.*{words}"):
        Path.from_json(file)


def test_a_tree_is_no_path_and_a_path_is_no_tree(path, tmp_path):
    """Either file is refused by the other's reader."""
    file = tmp_path / "model.json"
    path.trees[0].to_json(file)
    with pytest.raises(ValueError, match=r"model\.json.*not a sorct path"):
        Path.from_json(file)
    path.to_json(file)
    with pytest.raises(ValueError, match=r"model\.json.*not a sorct model"):
        Tree.from_json(file)


def test_reading_executes_nothing(path, tmp_path):
    """A pickle is no path, whatever it would do."""
    mark, file = tmp_path / "mark", tmp_path / "path.json"

    class Trap:
        def __reduce__(self):
            return File.touch, (mark,)

    file.write_bytes(pickle.dumps(Trap(), protocol=0))
    with pytest.raises(ValueError, match="not a sorct path"):
        Path.from_json(file)
    assert not mark.exists()


def test_a_missing_file_is_named(tmp_path):
    """As the system does."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Path.from_json(tmp_path / "nowhere.json")


def test_a_file_is_written_whole_or_not_at_all(path, tmp_path, monkeypatch):
    """What cannot be put in place leaves the old file and nothing else."""
    file = tmp_path / "path.json"
    file.write_text("old")

    def fail(*args):
        raise OSError("read-only")

    monkeypatch.setattr(File, "replace", fail)
    with pytest.raises(OSError, match="read-only"):
        path.to_json(file)
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [
        ("path.json", "old")
    ]


def test_a_path_that_cannot_be_saved_leaves_no_file(path, tmp_path):
    """NaN is no JSON."""
    odd = with_training(path.trees[0], n_iterations=np.nan)
    with pytest.raises(ValueError, match="JSON"):
        Path([0.0], [0.0], (odd,), [0.0]).to_json(tmp_path / "path.json")
    assert not list(tmp_path.iterdir())
