"""JSON Schema: it takes every file that we write, and refuses damaged shapes."""

import copy
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sorct.export import json_schema

from sorct import Forest, Path, SORCTClassifier, Tree
from sorct.tree.forest import ForestRecord
from tests.show.export.exported_trees import MAKERS, each_tree
from tests.show.valued import valued
from tests.tree.test_path import mixed_path

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

kinds = pytest.mark.parametrize("kind", ["tree", "path", "forest"])
READERS = {
    "tree": Tree.from_dict,
    "path": Path.from_dict,
    "forest": Forest.from_dict,
}
# What only a comparison of one entry with another can tell, or of numbers with rules.
BEYOND = re.compile(
    r"has shape|positions of classes|labels do not fit|label type|mass must be positive"
    r"|Expected \d+ trees|expected the tree of alphas|labels of mixed types"
    r"|'cost_matrix' must hold numbers"  # rows of several lengths
    r"|'mode' of"  # one of the levels
    r"|must rise|must go from 0 to 1|as many places as points|too steep"
    r"|of one plain kind"  # levels and rare ones
    r"|sum to 1|must not fall|a map per class"
    r"|'(leaf_proba|decision_cost|routed)' must hold numbers"  # rows of several lengths
)
ODD = [None, True, -1.5, "x", [], {}, [[]], [None], {"a": 1}]


@cache
def checker(kind):
    """Make one validator of a kind for all documents."""
    return jsonschema.Draft202012Validator(json_schema(kind))


def is_valid(kind, data):
    """Whether the schema takes plain data."""
    return checker(kind).is_valid(data)


def is_beyond(kind, data):
    """Whether the reader takes plain data, or refuses it for what no schema can say."""
    try:
        READERS[kind](data)
    except ValueError as error:
        return BEYOND.search(str(error)) is not None
    return True


def places(data, at=()):
    """Where something can be damaged: all entries of an object, the last of a list."""
    last = [len(data) - 1] if isinstance(data, list) and data else []
    for key in data if isinstance(data, dict) else last:
        yield (*at, key)
        yield from places(data[key], (*at, key))


def damaged(data, at):
    """Copies of plain data, each with one place hurt; they share all other places."""
    for odd in [*ODD, "removed"]:
        inner = hurt = copy.copy(data)
        for key in at[:-1]:
            inner[key] = copy.copy(inner[key])
            inner = inner[key]
        if odd == "removed":
            del inner[at[-1]]
        else:
            inner[at[-1]] = odd
        yield hurt


@pytest.fixture
def documents(rng):
    """A tree, and a path and a forest of a single one, as plain data."""
    path = mixed_path(rng)
    short = Path([0.0], [0.0], path.trees[:1], [1.0])
    tree = MAKERS["mixed"](rng)[0]
    told = ForestRecord(
        oob_score=0.5, oob_scoring="accuracy", drop={"a": 0.1}, n_samples=9, call="x"
    )
    costs = np.ones((len(tree.classes), len(tree.classes)))
    forest = Forest.of((tree,), costs, told)
    return {
        "tree": tree.to_dict(),
        "path": short.to_dict(),
        "forest": forest.to_dict(),
    }


@pytest.fixture
def real_documents(rng):
    """A tree on every kind of variable, and a path of it alone, as plain data."""
    tree = MAKERS["error-holes"](rng)[0]
    plain = tree.to_dict()
    told = dict.fromkeys(("alpha_local", "alpha_global", "cost", "residual"), 0.0)
    training = replace(tree.training, **told)
    path = Path([0.0], [0.0], (replace(tree, training=training),), [1.0])
    return {"tree": plain, "path": path.to_dict()}


@kinds
def test_it_is_a_schema_of_the_draft(kind):
    """Any validator can load it, without a network."""
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert not re.search(r'"\$ref": "(?!#/)', json.dumps(schema))


@pytest.mark.every_case
@each_tree("python")
def test_every_tree_is_valid(rng, make):
    """Whatever its columns, labels and depth."""
    tree, _ = make(rng)
    kind = "forest" if isinstance(tree, Forest) else "tree"
    assert is_valid(kind, json.loads(json.dumps(tree.to_dict())))


@pytest.mark.slow
def test_files_are_valid(rng, clouds, tmp_path):
    """A fitted tree and a path, from disk."""
    fitted = SORCTClassifier(n_starts=1, random_state=0).fit(*clouds)
    fitted.tree_.to_json(tmp_path / "tree")
    mixed_path(rng).to_json(tmp_path / "path")
    Forest.of((fitted.tree_,) * 3).to_json(tmp_path / "forest")
    for kind in READERS:
        data = json.loads((tmp_path / kind).read_text("utf-8"))
        jsonschema.validate(data, json_schema(kind))
        other = "path" if kind == "tree" else "tree"
        assert not is_valid(other, data)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "every"),
    [
        ("tree", 4),
        pytest.param("tree", 1, marks=pytest.mark.slow),
        pytest.param("path", 1, marks=pytest.mark.slow),
    ],
)
def test_what_the_reader_refuses_by_shape_the_schema_refuses(documents, kind, every):
    """Every place of a file, or one of several, removed or replaced by what is odd."""
    data = documents[kind]
    assert is_valid(kind, data)
    n_refused = 0
    for at in list(places(data))[::every]:
        for hurt in damaged(data, at):
            valid = is_valid(kind, hurt)
            n_refused += not valid
            assert not valid or is_beyond(kind, hurt), at
    assert n_refused > 200 / every


def test_a_path_of_every_kind_of_variable_is_valid(real_documents):
    """The parts of its trees are described as those of a tree."""
    assert real_documents["path"]["common"]["version"] == 2
    assert is_valid("path", real_documents["path"])


@pytest.mark.slow
def test_damage_to_variables_of_every_kind(real_documents):
    """Curves, bends, dates, whole and ordered ones, rare levels, missing cells."""
    kind, data = "tree", real_documents["tree"]
    assert data["version"] == 2
    assert is_valid(kind, data)
    spots = [("missing",), ("unknown",), ("version",)]
    for i, variable in enumerate(data["variables"]):
        spots += places(variable, ("variables", i))
    assert {at[-1] for at in spots} >= {
        "at", "place", "bends", "origin", "ordered", "separate", "pooled", "rare",
        "missing",
    }  # fmt: skip
    n_refused = 0
    for at in spots:
        for hurt in damaged(data, at):
            valid = is_valid(kind, hurt)
            n_refused += not valid
            assert not valid or is_beyond(kind, hurt), at
    assert n_refused > 200


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("all-holes", marks=pytest.mark.slow),
        pytest.param("all-two", marks=pytest.mark.slow),
        "lines-two",
        pytest.param("curves-mixed", marks=pytest.mark.slow),
    ],
)
def test_damage_to_what_leaves_say(rng, name):
    """Shares, costs and both kinds of maps; for two classes there is one map."""
    data = MAKERS[name](rng)[0].to_dict()
    assert data["version"] == 3
    assert is_valid("tree", data)
    ours = {"leaf_proba", "decision_cost", "calibration", "routed"} & set(data)
    spots = [at for key in ours for at in [(key,), *places(data[key], (key,))]]
    n_refused = 0
    for at in spots:
        for hurt in damaged(data, at):
            valid = is_valid("tree", hurt)
            n_refused += not valid
            assert not valid or is_beyond("tree", hurt), at
    assert n_refused > 8 * len(ours)


def test_a_path_of_trees_whose_leaves_say_more_is_valid(rng):
    """As files; they come back the same."""
    tree = MAKERS["all-holes"](rng)[0]
    told = dict.fromkeys(("alpha_local", "alpha_global", "cost", "residual"), 0.0)
    tree = replace(tree, training=replace(tree.training, objective=0.0, **told))
    path = Path([0.0], [0.0], (tree,), [1.0])
    data = json.loads(json.dumps(path.to_dict()))
    assert is_valid("path", data)
    assert Path.from_dict(data).trees == (tree,)


@pytest.mark.parametrize(
    "key", ["coef", "threshold", "leaf_class", "mass", "leaf_proba", "routed"]
)
def test_sizes_fit_one_depth(rng, key):
    """2^depth - 1 cuts and 2^depth leaves, everywhere."""
    data = MAKERS["shares-mixed"](rng)[0].to_dict()
    assert is_valid("tree", data)
    parts = data[key] if isinstance(data[key][0], list) else [data[key]]
    for part in parts:
        part.append(0)
    assert not is_valid("tree", data)


@pytest.mark.parametrize("odd", [None, [], {}, ["a"]])
def test_a_mode_is_of_a_plain_type(documents, odd):
    """That it is one of the levels, only the reader sees."""
    data = documents["tree"]
    variable = next(one for one in data["variables"] if "mode" in one)
    assert variable["mode"] in variable["levels"]
    variable["mode"] = odd
    assert not is_valid("tree", data)


def test_labels_have_the_type_that_is_told(documents):
    """Text is not a number."""
    data = documents["tree"]
    data["classes"]["dtype"] = "<i8"
    assert not is_valid("tree", data)


def test_an_unknown_kind_is_refused():
    """The message lists the kinds."""
    with pytest.raises(ValueError, match=r"kind must be one of .*'tree'.*got 'grove'"):
        json_schema("grove")


@pytest.mark.parametrize("log", [False, True], ids=["number", "logarithm"])
def test_it_takes_trees_of_a_quantity(rng, log):
    """Those of logarithms are told by their version and have more to tell."""
    made, _ = MAKERS["mixed"](rng)
    data = json.loads(json.dumps(valued(rng, made, linear=True, log=log).to_dict()))
    assert is_valid("tree", data)
    assert not is_valid("tree", {**data, "version": 4 if log else 5})
    assert not is_valid("tree", {**data, "quantity": {}})
