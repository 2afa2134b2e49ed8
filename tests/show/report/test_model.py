"""The page's own model, in Node: probabilities and classes are those of the tree."""

import json
import shutil
import subprocess
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

from sorct.tree.calibration import Calibration, LogisticMap
from tests.show.export.spoken import (
    curve_map,
    logistic_map,
    with_all,
    with_decision,
    with_maps,
    with_shares,
)
from tests.show.report.cases import data_in, drawn_tree, mixed_table, random_rows

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

HARNESS = """
const { report, rows } = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const model = report.trees[0].model;
console.log(JSON.stringify(rows.map((values) => {
  const proba = classProba(report, model, nodeReach(report, model, values));
  return [predictedClass(model, proba), proba];
})));
"""
CHANGES = {
    "class": lambda rng, tree: tree,
    "shares": with_shares,
    "decision": with_decision,
    "lines": lambda rng, tree: with_maps(rng, tree, logistic_map),
    "curves": lambda rng, tree: with_maps(rng, tree, curve_map),
    "all": with_all,
}


def answers(tree, rows):
    """Classes and probabilities that the script of the page gives."""
    templates = resources.files("sorct.show.report") / "templates"
    script = (templates / "model.js").read_text("utf-8") + HARNESS
    given = json.dumps({"report": data_in(tree.report().html()), "rows": rows})
    done = subprocess.run(
        [NODE, "-e", script], input=given.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    return [code for code, _ in found], np.array([proba for _, proba in found])


@pytest.mark.a_few(1)
@pytest.mark.every_value
@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c", "d"]], ids=len)
@pytest.mark.parametrize("change", CHANGES)
def test_it_gives_what_the_tree_gives(rng, change, classes):
    """To 1e-9 on rows of all kinds, half of them far outside of the training range."""
    X = mixed_table(rng)
    tree = CHANGES[change](rng, drawn_tree(rng, X, classes, depth=3))
    rows, frame = random_rows(rng, tree, 200)
    codes, proba = answers(tree, rows)
    np.testing.assert_allclose(proba, tree.predict_proba(frame), rtol=0, atol=1e-9)
    assert tree.classes[codes].tolist() == tree.predict(frame).tolist()


def test_certain_probabilities_have_the_log_odds_of_the_tree(rng):
    """Those next to 0 and 1 count as a little away from it, as in the tree."""
    X = mixed_table(rng)
    tree = drawn_tree(rng, X, ["a", "b"], gamma=1e6)
    tree = replace(tree, calibration=Calibration((LogisticMap(0.1, 0.2),)))
    rows, frame = random_rows(rng, tree, 100)
    _, proba = answers(tree, rows)
    assert 0.7 < proba.max() < 0.95
    np.testing.assert_allclose(proba, tree.predict_proba(frame), rtol=0, atol=1e-9)
