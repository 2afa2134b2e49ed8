"""JavaScript export: run by Node, it predicts what the tree predicts."""

import itertools
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from sorct.export import to_javascript

from sorct.data.target import Classes
from tests.show.export.exported_trees import (
    MAKERS,
    NASTY,
    assert_near,
    assert_same,
    each_tree,
    json_rows,
    rows_of,
)
from tests.show.export.spoken import odd_trees

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

# One process for all trees. A line of its input names a tree's file, how to load it,
# the classes and the rows; a line of its output has every row's result as pairs, which
# JSON keeps in order, or the error's message.
HARNESS = """
import fs from "node:fs";
import { createRequire } from "node:module";
import readline from "node:readline";
import vm from "node:vm";

const loaders = {
  es: async (file) => (await import(file)).predict,
  commonjs: async (file) => createRequire(import.meta.url)(file).predict,
  script: async (file) => {
    const page = vm.createContext({});
    vm.runInContext(fs.readFileSync(file, "utf-8"), page);
    return page.predict;
  },
};
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { file, module, classes, rows } = JSON.parse(line);
  let results;
  try {
    const predict = await loaders[module](file);
    results = rows.map((row) => {
      try {
        const { label, proba } = predict(row);
        return { label, proba: classes.map((name) => proba[name]) };
      } catch (error) {
        return `${error.name}: ${error.message}`;
      }
    });
  } catch (error) {
    results = `not loaded: ${error.stack}`;
  }
  console.log(JSON.stringify(results));
}
"""
ENDINGS = {"es": "mjs", "commonjs": "cjs", "script": "js"}


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Start Node; returns a function that has it answer a line."""
    if NODE is None:
        pytest.skip("Node.js is not installed")
    main = tmp_path_factory.mktemp("node") / "main.mjs"
    main.write_text(HARNESS, "utf-8")
    with subprocess.Popen(
        [NODE, main], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def ask(question):
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


@pytest.fixture
def run(node, tmp_path):
    """Return a function that gives the exported function's results for some rows."""
    count = itertools.count()  # Node loads a file once only

    def run(tree, rows, module="es"):
        file = tmp_path / f"tree{next(count)}.{ENDINGS[module]}"
        file.write_text(to_javascript(tree, module=module), "utf-8")
        question = {"file": str(file), "module": module, "rows": rows}
        results = node({**question, "classes": tree.classes.tolist()})
        assert isinstance(results, list), results
        return results

    return run


def split(tree, results):
    """Labels and probabilities; JSON writes 1.0 as 1, so fractions are restored."""
    labels = [result["label"] for result in results]
    if tree.classes.dtype.kind == "f":
        labels = [float(label) for label in labels]
    return labels, [result["proba"] for result in results]


@pytest.mark.every_case
@each_tree("javascript")
def test_the_function_predicts_as_the_tree(rng, make, run):
    """Class and probabilities of every row, from raw values."""
    tree, X = make(rng)
    assert_same(tree, X, *split(tree, run(tree, json_rows(X))))


@pytest.mark.a_few(1)
@pytest.mark.parametrize("name", ["iris-1", "steep"])
def test_odd_numbers_of_maps_shares_and_costs(rng, name, run):
    """As large and as small as files may hold."""
    made, X = MAKERS[name](rng)
    for tree in odd_trees(rng, made):
        assert_near(tree, X, *split(tree, run(tree, json_rows(X))))


def test_the_text_says_what_is_predicted_and_how(rng):
    """Only where it is so."""
    made = (MAKERS[name](rng)[0] for name in ("mixed", "all-holes"))
    plain, told = (to_javascript(tree).replace("\n//", "") for tree in made)
    assert re.search(r"returns\s+the\s+most\s+probable\s+class\s+as\s+label", plain)
    assert re.search(r"the\s+class\s+of\s+least\s+expected\s+cost\s+as", told)
    for name in ("calibrated", "logistic", "cost", "leaf_1", "raw["):
        assert name not in plain
        assert name in told


@pytest.mark.parametrize("module", ["commonjs", "script"])
def test_other_ways_to_load_it(rng, run, module):
    """The same function as a CommonJS module and as a plain script."""
    tree, X = MAKERS["nasty"](rng)
    assert_same(tree, X, *split(tree, run(tree, json_rows(X), module)))


def test_values_that_cannot_be_used_are_refused_by_name(rng, run):
    """Missing, of another type, or a level never seen in training."""
    tree, X = MAKERS["mixed"](rng)
    good = rows_of(X)[0]
    bad = [{**good, "age": value} for value in (None, "41", True)]
    bad += [{**good, "city": value} for value in (None, "Ur", 3)]
    del good["age"]
    results = run(tree, [*bad, good])
    assert all(r.startswith("TypeError: ") for r in results), results
    named = [re.match(r"TypeError: (\w+)", result)[1] for result in results]
    assert named == ["age"] * 3 + ["city"] * 3 + ["age"]


def test_a_missing_level_is_refused_even_where_new_ones_are_not(rng, run):
    """The first level stands for new ones, not for none."""
    tree, X = MAKERS["new_levels"](rng)
    row = rows_of(X)[0]
    known, missing = run(tree, [row, {**row, "city": None}])
    assert "label" in known
    assert missing == "TypeError: city is missing."


@needs_node
def test_all_that_means_missing(rng, tmp_path):
    """null, undefined and NaN; dates may be objects, and text is no number."""
    tree, X = MAKERS["other-holes"](rng)
    row = json_rows(X.dropna())[0]
    code = """
const out = (name, cell) => {
  try {
    return predict({ ...row, [name]: cell }).proba;
  } catch (error) {
    return error.message;
  }
};
const cells = [null, undefined, NaN];
const missing = Object.keys(row).map((name) => cells.map((cell) => out(name, cell)));
const day = row.since;
const dates = [day, new Date(`${day}Z`), day.slice(0, 10)];
const bad = ["soon", 17, "31.12.2020", new Date("soon")];
const told = (cells) => cells.map((cell) => out("since", cell));
console.log(JSON.stringify({ missing, dates: told(dates), bad: told(bad) }));
"""
    (tmp_path / "tree.mjs").write_text(to_javascript(tree), "utf-8")
    head = f'import {{ predict }} from "./tree.mjs";\nconst row = {json.dumps(row)};\n'
    (tmp_path / "main.mjs").write_text(head + code, "utf-8")
    done = subprocess.run([NODE, "main.mjs"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    first = X.dropna().head(1)
    for name, outs in zip(row, found["missing"], strict=True):
        hole = first.assign(**{name: first[name].mask([True])})
        truth = tree.predict_proba(hole)[0]
        for out in outs:
            np.testing.assert_allclose(list(out.values()), truth, rtol=0, atol=1e-9)
    assert found["dates"][0] == found["dates"][1] == found["dates"][2]
    assert all(m.startswith("since must be a date") for m in found["bad"])


@pytest.mark.parametrize("module", ENDINGS)
def test_the_text_may_stand_in_a_script_element(rng, module):
    """No name, label or level ends the element or opens a comment of HTML."""
    tree, _ = MAKERS["nasty"](rng)
    assert not re.search(r"</|<!--|<script", to_javascript(tree, module=module), re.I)
    assert len(to_javascript(tree, module=module).splitlines()) < 400


def test_comments_stay_on_their_lines(rng):
    """Everything before the function is a comment, whatever is in the names."""
    tree, _ = MAKERS["nasty"](rng)
    assert any("\n" in name for name in NASTY)
    head = to_javascript(tree).split("function predict")[0]
    lines = re.split("[\n\r\u2028\u2029]", head.rstrip("\n"))
    assert all(line.startswith("// ") for line in lines)


@pytest.mark.parametrize(
    "name", ["", "a b", "class", "Math", "x\n", "9a", "naïve", "a-b"]
)
def test_a_name_that_is_none_is_refused(rng, name):
    """Reserved words and the globals that we use would break the function."""
    tree, _ = MAKERS["iris-1"](rng)
    with pytest.raises(ValueError, match="name must be a JavaScript name"):
        to_javascript(tree, name=name)


def test_an_unknown_module_kind_is_refused(rng):
    """The message lists the kinds."""
    tree, _ = MAKERS["iris-1"](rng)
    with pytest.raises(ValueError, match=r"module must be one of .*'es'.*got 'amd'"):
        to_javascript(tree, module="amd")


def test_whole_numbers_that_would_be_rounded_are_refused(rng):
    """2^53 + 1 is not a number of JavaScript."""
    tree, _ = MAKERS["iris-1"](rng)
    large = replace(tree, target=Classes(np.array([0, 2**53 + 1])))
    with pytest.raises(ValueError, match="JavaScript would round it"):
        to_javascript(large)


def test_the_text_can_be_written_to_a_file(rng):
    """Halves of surrogate pairs, which UTF-8 has no bytes for, are escaped."""
    tree, _ = MAKERS["iris-1"](rng)
    labels = np.array(["a", "half \ud800"], dtype=object)
    assert (
        to_javascript(replace(tree, target=Classes(labels))).encode().count(b"ud800")
        == 2
    )
