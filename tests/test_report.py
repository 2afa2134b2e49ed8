"""The report: a plain dict of all that is shown, and one page that holds it."""

import base64
import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path as FilePath

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, confusion_matrix, recall_score

from sorct import SORCTClassifier, Tree, explain, export_text, sorct_path
from sorct.export import to_sql
from sorct.rules import cut_terms, reads_left
from tests.report_cases import (
    HOSTILE,
    SCRIPT,
    drawn_labels,
    drawn_path,
    drawn_tree,
    hostile_table,
    mixed_table,
    random_rows,
)

LARGEST = 2_000_000


@pytest.fixture
def table(rng):
    """Draw a table of all kinds of columns."""
    return mixed_table(rng)


@pytest.fixture
def path(rng, table):
    """Draw a path of six trees with three classes."""
    tree = drawn_tree(rng, table, ["low", "mid", "top"])
    return drawn_path(rng, tree, table)


@pytest.fixture
def labels(rng, path, table):
    """Draw labels that the first tree mostly predicts."""
    return drawn_labels(rng, path.trees[0], table)


class Elements(HTMLParser):
    """Collects the tags and the text of a page as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self._open = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Keep the tag with the names of its attributes."""
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._open = dict(attrs).get("id", tag)

    def handle_data(self, data):
        """Keep the text by the id or tag it follows."""
        self.texts[self._open] = self.texts.get(self._open, "") + data


def data_in(page):
    """What the page's script reads."""
    return json.loads(Elements(page).texts["report-data"])


def sql_in(page):
    """Texts that the page holds compressed."""
    plain = zlib.decompress(base64.b64decode(Elements(page).texts["report-sql"]))
    return json.loads(plain)


# -- what is in it ---------------------------------------------------------------------


def test_every_tree_is_there_with_rules_sql_and_json(path, table, labels):
    """For every point of the grid, equal to what the library itself says."""
    summary = path.report(table, labels).summary
    assert len(summary["points"]) == len(path)
    for point, tree in zip(summary["points"], path, strict=True):
        shown = summary["trees"][point["tree"]]
        assert shown["rules"] == export_text(tree)
        assert shown["sql"] == to_sql(tree)
        plain = {**summary["common"], **shown["model"], "training": point["training"]}
        assert Tree.from_dict(plain) == tree


def test_points_with_the_same_tree_share_one_description(path, table, labels):
    """A path that repeats a tree describes it once."""
    for tree in path.trees[1:3]:
        object.__setattr__(tree, "coef", path.trees[0].coef)
        object.__setattr__(tree, "mass", path.trees[0].mass)
    summary = path.report(table, labels).summary
    assert [point["tree"] for point in summary["points"]] == [0, 0, 0, 1, 2, 3]
    assert len(summary["trees"]) == 4


def test_training_is_told_whole(iris):
    """Call, versions, constraints, residual, search and objective of a fit."""
    X, y = iris
    clf = SORCTClassifier(min_recall={"setosa": 0.8}, n_starts=2, random_state=0)
    tree = clf.fit(X, y).tree_
    summary = tree.report(X, y).summary
    told = summary["points"][0]["training"]
    assert told == tree.training
    wanted = {"call", "versions", "min_recall", "recall", "residual", "objective"}
    assert wanted | {"cost", "search", "status", "n_samples"} <= set(told)
    assert "min_recall={'setosa': 0.8}" in summary["call"]
    assert summary["data"] == {
        "n_training": 150,
        "class_share": [pytest.approx(1 / 3, abs=1e-6)] * 3,
        "n_variables": 4,
        "n_columns": 4,
        "n_shown": 150,
        "class_counts": [50, 50, 50],
    }
    assert summary["points"][0]["expected_recall"] == pytest.approx(
        clf.recall_, abs=1e-5
    )


def test_the_call_can_be_told_by_the_caller(path):
    """As the command line does."""
    assert path.report(call="sorct path data.csv").summary["call"] == (
        "sorct path data.csv"
    )


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


# -- figures ---------------------------------------------------------------------------


def test_accuracy_recalls_and_confusion_are_scikit_learns(path, table, labels):
    """Measured on the data shown."""
    points = path.report(table, labels).summary["points"]
    for point, tree in zip(points, path, strict=True):
        predicted = tree.predict(table)
        assert point["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
        assert point["confusion"] == confusion_matrix(labels, predicted).tolist()
        recall = recall_score(labels, predicted, average=None)
        assert point["recall"] == pytest.approx(recall)


def test_sparsity_is_the_trees(path, table, labels):
    """Variables and columns used, in the tree and per cut."""
    points = path.report(table, labels).summary["points"]
    for point, tree in zip(points, path, strict=True):
        assert point["n_variables"] == len(tree.variables_used)
        assert point["n_columns"] == len(tree.columns_used)
        assert point["most_per_cut"] == tree.most_variables_per_cut
        assert point["local_sparsity"] == tree.local_sparsity
        assert point["global_sparsity"] == tree.global_sparsity


def test_the_frontier_is_that_of_the_path(path, table, labels):
    """With data the very points of ``Path.frontier``."""
    summary = path.report(table, labels).summary
    assert summary["frontier"] == path.frontier(table, labels).index.tolist()


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_every_row_is_counted_in_its_most_probable_leaf(rng, table, depth):
    """By class; leaves that the drawing joins are one."""
    tree = drawn_tree(rng, table, ["a", "b", "c"], depth)
    y = drawn_labels(rng, tree, table)
    shown = tree.report(table, y).summary["trees"][0]
    leaves = [entry for entry in shown["nodes"] if "label" in entry]
    reach = tree.leaf_reach(table)
    joined = np.stack([reach[:, entry["leaves"]].sum(axis=1) for entry in leaves])
    for n, entry in enumerate(leaves):
        here = y[joined.argmax(axis=0) == n]
        assert entry["found"]["counts"] == [(here == k).sum() for k in tree.classes]
        assert set(tree.leaf_class[entry["leaves"]]) == {entry["label"]}
    below = np.concatenate([entry["leaves"] for entry in leaves])
    assert sorted(below) == list(range(2**depth))


def test_listed_rows_of_a_leaf_end_in_it(path, table, labels):
    """The names in a leaf are rows that most probably end there."""
    report = path.report(table, labels, rows=30)
    tree, shown = path.trees[0], report.summary["trees"][0]
    for entry in (entry for entry in shown["nodes"] if "label" in entry):
        for place in entry["found"]["listed"]:
            name = report.summary["samples"][place]["name"]
            reach = tree.leaf_reach(table.loc[[name]])[0]
            assert reach[entry["leaves"]].sum() >= reach.max()


def test_histograms_count_the_sums_of_the_rules(path, table, labels):
    """Sum minus limit as printed, by class, and which side of the cut it is."""
    for tree, shown in zip(
        path, path.report(table, labels).summary["trees"], strict=True
    ):
        for entry in (entry for entry in shown["nodes"] if "split" in entry):
            margin, split = margins(tree, entry["node"], table), entry["split"]
            edges = np.linspace(min(margin.min(), 0), max(margin.max(), 0), 29)
            if margin.min() == margin.max() == 0:
                continue
            for k, label in enumerate(tree.classes):
                own = margin[labels == label]
                assert split["counts"][k] == np.histogram(own, edges)[0].tolist()
                assert split["yes"][k] == (own > 0).sum()
                assert split["no"][k] == (own <= 0).sum()


def margins(tree, t, X):
    """Sum minus limit of a cut, worked out from the raw table."""
    terms, limit = cut_terms(tree, t)
    names = list(tree.encoder.column_names)
    dummies = pd.DataFrame(index=X.index)
    for variable in tree.encoder.variables:
        for level in getattr(variable, "levels", ()):
            dummies[f"{variable.name} = {level}"] = X[variable.name] == level
    raw = pd.concat([X, dummies.astype(float)], axis=1)
    total = -limit
    for j, weight in terms.items():
        total = total + weight * raw[names[j]].to_numpy(dtype=float)
    # A row most probably goes to "yes" just where the sum is over the limit.
    left = tree.encoder.encode(X) @ tree.coef[:, t] / tree.n_columns > tree.threshold[t]
    assert ((np.broadcast_to(total, len(X)) > 0) == (left == reads_left(tree, t))).all()
    return np.broadcast_to(total, len(X))


def test_the_default_choice_is_the_sparsest_within_a_standard_error(rng, table):
    """Of the best accuracy; with data, and without by what training expects."""
    tree = drawn_tree(rng, table, [0, 1])
    path, y = drawn_path(rng, tree, table, 5, 2), drawn_labels(rng, tree, table)
    accuracy = path.evaluate(table, y)["accuracy"].to_numpy()
    expected = [
        sum(tree.mass[tree.leaf_class, np.arange(tree.n_leaves)]) / tree.mass.sum()
        for tree in path
    ]
    for report, value, n in (
        (path.report(table, y), accuracy, len(y)),
        (path.report(), np.array(expected), 1),
    ):
        best = value.max()
        used = np.array([len(tree.variables_used) for tree in path], dtype=float)
        used[value < best - np.sqrt(best * (1 - best) / n) - 1e-9] = np.inf
        chosen = report.summary["chosen"]
        assert report.summary["by_default"]
        assert used[chosen] == used.min()


def test_a_choice_of_ones_own_is_kept(path, table, labels):
    """By the object, or one that equals it."""
    assert path.report(chosen=path.trees[4]).summary["chosen"] == 4
    again = Tree.from_dict(path.trees[3].to_dict())
    summary = path.report(table, labels, chosen=again).summary
    assert summary["chosen"] == 3
    assert not summary["by_default"]


def test_rows_listed_are_those_of_the_table(path, table, labels):
    """Raw numbers, levels by place, names of the index."""
    summary = path.report(table, labels, rows=20).summary
    assert len(summary["samples"]) == 20
    for sample in summary["samples"]:
        row = table.loc[sample["name"]]
        for variable, value in zip(summary["variables"], sample["values"], strict=True):
            told = row[variable["name"]]
            if "levels" in variable:
                assert variable["levels"][value] == str(told)
            else:
                assert value == told


@pytest.mark.parametrize("rows", [0, 1, 3, 7, 89, 90, 1000])
def test_no_more_rows_are_listed_than_allowed(path, table, labels, rows):
    """Every class by turns: none is left out while another has two."""
    samples = path.report(table, labels, rows=rows).summary["samples"]
    assert len(samples) == min(rows, len(table))
    counts = np.bincount([sample["code"] for sample in samples], minlength=3)
    if len(samples) >= 3:
        assert counts.min() >= 1


def test_without_rows_no_value_of_a_row_is_in_the_file(path, table, labels):
    """Only ranges, levels and counts."""
    page = path.report(table, labels, rows=0).html()
    assert "row 0" not in page
    values = table["plain"].sort_values().to_numpy()[1:-1]
    assert not any(repr(float(value)) in page for value in values)


def test_labels_that_the_tree_does_not_know_count_as_errors(path, table, labels):
    """As in ``Path.evaluate``; they are in no row of the confusion."""
    labels = labels.astype(object)
    labels[:5] = "other"
    point = path.report(table, labels).summary["points"][0]
    assert point["accuracy"] == path.evaluate(table, labels)["accuracy"][0]
    assert np.sum(point["confusion"]) == len(labels) - 5


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
        with open(self, "w") as half:
            half.write("half")
        raise OSError("disk full")

    monkeypatch.setattr(FilePath, "write_text", fail)
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


# -- all kinds of trees ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("depth", "n_classes"), [(1, 2), (1, 8), (2, 3), (3, 5), (4, 2), (4, 8)]
)
def test_trees_of_any_shape_have_a_report(rng, table, depth, n_classes):
    """Dense, sparse and without variables; with and without data."""
    classes = np.arange(n_classes) * 10
    for density in (1.0, 0.2, 0.0):
        tree = drawn_tree(rng, table, classes, depth, density)
        y = drawn_labels(rng, tree, table)
        for report in (tree.report(table, y), tree.report()):
            (shown,) = report.summary["trees"]
            nodes = shown["nodes"]
            cuts = [entry for entry in nodes if "label" not in entry]
            assert len(nodes) == 2 * len(cuts) + 1
            below = [entry[side] for entry in cuts for side in ("yes", "no")]
            assert sorted(below) == list(range(1, len(nodes)))
            for entry in cuts:
                both = [nodes[entry[side]]["mass"] for side in ("yes", "no")]
                assert np.sum(both, axis=0) == pytest.approx(entry["mass"], abs=1e-5)
            assert json.loads(report.json())["classes"] == [str(k) for k in classes]


def test_plain_arrays_and_lists_are_data_too(rng):
    """Rows are named by their number."""
    X = rng.normal(size=(40, 3))
    tree = drawn_tree(rng, X, [False, True], depth=1)
    y = drawn_labels(rng, tree, X)
    for table, labels in ((X, y), (X.tolist(), y.tolist()), (X, pd.Series(y))):
        summary = tree.report(table, labels, rows=40).summary
        assert [sample["name"] for sample in summary["samples"][:2]] == ["0", "1"]
        assert summary["points"][0]["accuracy"] == (tree.predict(X) == y).mean()
        assert summary["classes"] == ["False", "True"]


def test_a_class_without_rows_has_no_recall(rng, table):
    """It is not said to be 0."""
    tree = drawn_tree(rng, table, ["a", "b", "c"])
    y = np.where(np.arange(len(table)) % 2, "a", "b")
    assert tree.report(table, y).summary["points"][0]["recall"][2] is None


# -- size ------------------------------------------------------------------------------


def test_the_full_path_of_breast_cancer_is_under_two_megabytes():
    """As promised, with a hundred rows."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    path = sorct_path(X, y, n_solutions=2, random_state=0)
    assert len(path) == 17
    assert len(path.report(X, y).html().encode()) < LARGEST


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
  const route = routeOf(tree.nodes, shownReach(tree, reach));
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
    script = (files("sorct.report") / "templates" / "model.js").read_text("utf-8")
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
