"""Exports of a quantity: every language says what the tree predicts."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from sorct.export import to_javascript, to_onnx, to_python, to_sql

from sorct import Forest
from tests.show.export.databases import run_in_duckdb, run_in_sqlite
from tests.show.export.exported_trees import (
    MAKERS,
    SPOKEN,
    as_frame,
    each_name,
    is_repeated,
    json_rows,
    rows_of,
)
from tests.show.export.test_python import function_of
from tests.show.valued import valued

KEY = "number of the row"
NAMES = [name for name in MAKERS if name not in SPOKEN]


def tree_and_rows(rng, name):
    """A model of numbers on the rows of a maker.

    Every second has linear leaves, and every third is one of logarithms.
    """
    made, X = MAKERS[name](rng)
    kind = {"linear": NAMES.index(name) % 2 == 0, "log": NAMES.index(name) % 3 == 0}
    if not isinstance(made, Forest):
        return valued(rng, made, **kind), X
    trees = tuple(valued(rng, tree, **kind) for tree in made.trees)
    return Forest(trees, made.weights), X


def assert_said(found, tree, X, close=1e-9):
    said = tree.predict(X)
    size = max(float(np.abs(said).max()), 1.0)
    found = np.array(found, dtype=np.float64)
    np.testing.assert_allclose(found, said, rtol=0.0, atol=close * size)


@pytest.mark.every_case
@pytest.mark.parametrize("name", each_name("python", NAMES))
def test_python_says_what_the_tree_predicts(rng, name):
    tree, X = tree_and_rows(rng, name)
    predict = function_of(to_python(tree))
    assert_said([predict(row) for row in rows_of(X)], tree, X)


@pytest.mark.every_case
@pytest.mark.parametrize("name", each_name("sql", NAMES))
def test_sql_says_what_the_tree_predicts(rng, name):
    """In SQLite, and in DuckDB for every fourth tree."""
    tree, X = tree_and_rows(rng, name)
    database = run_in_duckdb if NAMES.index(name) % 4 == 0 else run_in_sqlite
    frame = as_frame(X).assign(**{KEY: np.arange(len(X))})
    names, rows = database(to_sql(tree, keep=[KEY]), frame)
    rows = sorted(rows, key=lambda row: row[names.index(KEY)])
    (value,) = [k for k, one in enumerate(names) if "predicted_value" in one]
    assert_said([row[value] for row in rows], tree, X)


@pytest.mark.every_case
@pytest.mark.parametrize("name", each_name("onnx", NAMES))
def test_onnx_says_what_the_tree_predicts(rng, name):
    pytest.importorskip("onnxruntime")
    from tests.show.export.test_onnx import feeds, in_days, session_of

    tree, X = tree_and_rows(rng, name)
    model = to_onnx(tree, dtype="float64")
    session = session_of(model)
    (value,) = session.run(None, feeds(session, in_days(model, X)))
    assert_said(value[:, 0], tree, X)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.parametrize(
    "repeated", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_javascript_says_what_the_trees_predict(rng, tmp_path, repeated):
    """All of them in one process."""
    names = [name for name in NAMES if is_repeated(name, "javascript") == repeated]
    made = [tree_and_rows(rng, name) for name in names]
    script = "const found = [];"
    for k, (tree, X) in enumerate(made):
        file = tmp_path / f"tree{k}.cjs"
        file.write_text(to_javascript(tree, module="commonjs"), "utf-8")
        (tmp_path / f"rows{k}.json").write_text(json.dumps(json_rows(X)), "utf-8")
        script += f"found.push(require('./rows{k}.json').map("
        script += f"require('./tree{k}.cjs').predict));"
    script += "console.log(JSON.stringify(found));"
    (tmp_path / "all.cjs").write_text(script, "utf-8")
    done = subprocess.run(
        ["node", str(tmp_path / "all.cjs")], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    for found, (tree, X) in zip(json.loads(done.stdout), made, strict=True):
        assert_said(found, tree, X)
