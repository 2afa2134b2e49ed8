"""The report as a file: complete, safe whatever the names, no larger than promised."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path as FilePath

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from sorct import Tree, explain, export_text, sorct_path
from tests.show.report.cases import (
    HOSTILE,
    SCRIPT,
    Elements,
    data_in,
    drawn_labels,
    drawn_path,
    drawn_tree,
    hostile_table,
    random_rows,
    sql_in,
)

LARGEST = 2_000_000


def test_the_page_is_the_summary_and_has_all_sections(path, table, labels):
    """The script reads the whole dict; every part of the page has its place."""
    report = path.report(table, labels, title="A title")
    page, data = report.html(), data_in(report.html())
    assert json.loads(data.pop("common")) == report.summary["common"]
    trees = [dict(tree) for tree in report.summary["trees"]]
    assert sql_in(page) == [tree.pop("sql") for tree in trees]
    assert data.pop("trees") == trees
    assert data == {k: report.summary[k] for k in data}
    assert json.loads(report.json()) == report.summary
    for name in ("tradeoff", "tree", "whatif", "rules", "training", "most", "heatmap"):
        assert f'id="{name}"' in page
    assert Elements(page).texts["h1"].strip() == "A title"
    chosen = path.trees[report.summary["chosen"]]
    assert export_text(chosen) in Elements(page).texts["pre"]


def test_labels_of_the_copied_json_keep_their_type(rng, table):
    """A script reads 1.0 as 1 and 2**60 + 1 as 2**60: the page keeps the text."""
    for classes in ([0.0, 1.0], [2**60 + 1, 2**60 + 3], [False, True]):
        tree = drawn_tree(rng, table, classes)
        common = data_in(tree.report().html())["common"]
        assert isinstance(common, str)
        assert Tree.from_dict({**tree.to_dict(), **json.loads(common)}) == tree


def test_the_same_input_gives_the_same_file(path, table, labels, tmp_path):
    """Byte for byte, from equal objects."""
    for name in ("a.html", "b.html"):
        again = type(path).from_dict(path.to_dict())
        again.report(table.copy(), labels.copy()).write_html(tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


# -- hostile names ---------------------------------------------------------------------


def hostile_report(rng):
    """Report in which every name is hostile."""
    X = hostile_table(rng)
    tree = drawn_tree(rng, X, HOSTILE)
    path = drawn_path(rng, tree, X)
    return path.report(X, drawn_labels(rng, tree, X), title=SCRIPT, call=SCRIPT)


def test_hostile_names_make_no_element(rng, path, table, labels):
    """The page has the very tags of a harmless one."""
    page = hostile_report(rng).html()
    harmless = path.report(table, labels, title="x").html()
    assert Elements(page).tags == Elements(harmless).tags
    assert page.count("</script") == harmless.count("</script") == 3
    assert Elements(page).texts["h1"].strip() == SCRIPT
    for name in HOSTILE:
        assert name not in page or not set(name) & set("<>")


def test_hostile_names_are_told_as_they_are(rng):
    """Escaped where they could not be seen, else letter for letter."""
    report = hostile_report(rng)
    names = [variable["name"] for variable in data_in(report.html())["variables"]]
    assert names[:4] == HOSTILE[:4]
    assert "line\\nbreak\\r\\n\\ttab" in names
    assert "\\u2028\\u2029\\u202e\\ufeff" in names
    assert "(blank)" in names
    assert data_in(report.html())["call"] == SCRIPT


@pytest.mark.parametrize("text", [*HOSTILE, "]]>", "\x00\x1b[31m"])
def test_json_inside_cannot_end_its_script(rng, text):
    """Whatever the names, the page's data hold no character of markup."""
    X = pd.DataFrame({text: rng.normal(size=20), "b": [text or "x", "y"] * 10})
    tree = drawn_tree(rng, X, [text or "x", "y"], depth=1)
    page = tree.report(X, drawn_labels(rng, tree, X), title=text).html()
    inside = re.search(r'id="report-data">(.*)</script>\n<script type', page, re.S)
    assert not set("<>&") & set(inside[1])
    assert json.loads(inside[1]) == data_in(page)


def test_a_title_that_is_no_text_can_be_written(path, tmp_path):
    """Halves of characters are escaped, what is no string becomes one."""
    for title, told in (("\ud800", "\\ud800"), (2024, "2024"), (" ", "(blank)")):
        path.report(title=title).write_html(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text("utf-8")
        assert Elements(page).texts["title"].strip() == told


def test_nothing_is_loaded_from_anywhere(rng, path, table, labels):
    """No address but that of the SVG name space, and a policy that allows none."""
    for report in (path.report(table, labels), hostile_report(rng)):
        page = report.html()
        assert re.findall(r"https?://[^\"'\s]*", page) == ["http://www.w3.org/2000/svg"]
        assert "default-src 'none'" in page
        assert not re.search(r"<(img|iframe|object|embed|base)\b|@import|url\(", page)


def test_a_tree_that_sql_cannot_express_still_has_a_report(rng):
    """SQL has no columns without a name; the reason is told."""
    X = pd.DataFrame({"": rng.normal(size=30)})
    tree = drawn_tree(rng, X, ["a", "b"], depth=1)
    shown = tree.report(X, drawn_labels(rng, tree, X)).summary["trees"][0]
    assert shown["sql"] == ""
    assert "names" in shown["no_sql"]


# -- files and arguments ---------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(path, tmp_path, monkeypatch):
    """A full disk leaves the file of before and nothing else."""
    report, file = path.report(), tmp_path / "report.html"
    report.write_html(file)
    assert file.read_text("utf-8") == report.html()
    file.write_text("before")

    def fail(self, *args, **kwargs):
        assert self.read_text("utf-8") == report.html()
        raise OSError("disk full")

    monkeypatch.setattr(FilePath, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.write_html(file)
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert file.read_text() == "before"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[0.0]]}, "both X and y or neither"),
        ({"y": [0]}, "both X and y or neither"),
        ({"rows": -1}, "rows must be a whole number >= 0, got -1"),
        ({"rows": 1.5}, "rows must be a whole number >= 0, got 1.5"),
        ({"rows": True}, "rows must be a whole number >= 0, got True"),
        ({"rows": "all"}, "rows must be a whole number >= 0, got 'all'"),
    ],
)
def test_bad_arguments_are_refused(path, arguments, message):
    """With one sentence, by trees and paths alike."""
    for thing in (path, path.trees[0]):
        with pytest.raises(ValueError, match=message):
            thing.report(**arguments)


def test_data_of_another_kind_are_refused(rng, path, table, labels):
    """Unknown labels, wrong columns, wrong lengths, a tree of another path."""
    with pytest.raises(ValueError, match=r"none of the classes \['low', 'mid'"):
        path.report(table, np.zeros(len(table), dtype=int))
    with pytest.raises(ValueError, match="missing: 'plain'"):
        path.report(table.drop(columns="plain"), labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        path.report(table, labels[:-1])
    with pytest.raises(ValueError, match="NaN"):
        path.report(table.assign(plain=np.nan), labels)
    other = drawn_tree(rng, table, ["low", "mid", "top"])
    with pytest.raises(ValueError, match="chosen must be a tree of the path"):
        path.report(table, labels, chosen=other)


def test_a_report_says_what_it_is(path):
    """In one line."""
    assert repr(path.report(title="Iris")) == "<Report: Iris, 6 trees; use write_html>"
    assert "one tree" in repr(path.trees[0].report())


# -- size ------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_full_path_of_breast_cancer_is_under_two_megabytes():
    """As promised, with a hundred rows."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    path = sorct_path(X, y, n_solutions=2, random_state=0)
    assert len(path) == 17
    assert len(path.report(X, y).html().encode()) < LARGEST


@pytest.mark.slow
def test_a_grid_of_17_by_17_is_under_two_megabytes(rng, iris):
    """Of distinct trees of depth 2 that use every variable, more than a path has."""
    X, y = iris
    tree = drawn_tree(rng, X, ["setosa", "versicolor", "virginica"])
    path = drawn_path(rng, tree, X, 17, 17)
    for one in path.trees:
        object.__setattr__(one, "coef", tree.coef * rng.uniform(0.9, 1, (4, 3)))
    report = path.report(X, y)
    assert len(report.summary["trees"]) == 289
    assert len(report.html().encode()) < LARGEST


# -- the page's own predictions --------------------------------------------------------

_IN_NODE = """
const {cases} = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(({report, rows}) => rows.map((values) => {
  const tree = report.trees[0], reach = nodeReach(report, tree.model, values);
  const route = routeOf(report, tree, values);
  const proba = classProba(report, tree.model, reach);
  return {proba, best: firstLargest(proba), cuts: route.map((n) => tree.nodes[n].cut)};
}))));
"""


def test_the_page_predicts_as_the_tree_does(rng, table):
    """The script's probabilities and route, run in Node, for rows far and near."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    cases, wanted = [], []
    for depth, n_classes, density, gamma in (
        (1, 2, 1.0, 8.0), (2, 3, 1.0, 512.0), (3, 8, 0.3, 64.0), (4, 5, 1.0, 2048.0),
        (2, 2, 0.0, 8.0),
    ):  # fmt: skip
        tree = drawn_tree(rng, table, range(n_classes), depth, density, gamma)
        rows, frame = random_rows(rng, tree, 200)
        cases.append({"report": data_in(tree.report().html()), "rows": rows})
        wanted.append((tree, frame))
    script = (files("sorct.show.report") / "templates" / "model.js").read_text("utf-8")
    done = subprocess.run(
        [node, "-e", script + _IN_NODE],
        input=json.dumps({"cases": cases}),
        capture_output=True,
        text=True,
        check=True,
    )
    for answers, (tree, frame) in zip(json.loads(done.stdout), wanted, strict=True):
        proba = np.array([answer["proba"] for answer in answers])
        assert np.abs(proba - tree.predict_proba(frame)).max() < 1e-9
        best = tree.classes[[answer["best"] for answer in answers]]
        assert (best == tree.predict(frame)).all()
        for k in range(4):
            steps = explain(tree, frame.iloc[[k]]).steps
            cuts = [cut for cut in answers[k]["cuts"] if cut is not None]
            assert cuts == [step.cut for step in steps]


@pytest.mark.every_value
@pytest.mark.parametrize("name", ["title", "call"])
@pytest.mark.parametrize("kind", ["path", "tree"])
def test_titles_and_calls_may_be_anything(path, name, kind):
    """Also what has no truth value."""
    model = path if kind == "path" else path.trees[0]
    for odd in (3, b"bytes", np.arange(3), pd.DataFrame({"a": [1]})):
        assert model.report(**{name: odd}).html()
