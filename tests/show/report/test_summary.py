"""The report as a plain dict: everything promised is in it, and every figure holds."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, recall_score
from sorct.export import to_sql

from sorct import SORCTClassifier, Tree, export_text
from tests.show.report.cases import drawn_labels, drawn_path, drawn_tree
from tests.tree.by_hand import printed_terms, reads_left

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
    first, *others = path.trees
    again = [replace(one, coef=first.coef, mass=first.mass) for one in others[:2]]
    path = replace(path, trees=(first, *again, *others[2:]))
    summary = path.report(table, labels).summary
    kinds = [point["tree"] for point in summary["points"]]
    assert kinds[:4] == [0, 0, 0, 1]
    assert len(summary["trees"]) == max(kinds) + 1


def test_training_is_told_whole(iris):
    """Call, versions, constraints, residual, search and objective of a fit."""
    X, y = iris
    clf = SORCTClassifier(min_recall={"setosa": 0.8}, n_starts=2, random_state=0)
    tree = clf.fit(X, y).tree_
    summary = tree.report(X, y).summary
    told = summary["points"][0]["training"]
    assert told == dict(tree.training)
    wanted = {"call", "versions", "min_recall", "recall", "residual", "objective"}
    assert wanted | {"cost", "search", "status", "n_samples"} <= set(told)
    assert "min_recall={'setosa': 0.8}" in summary["call"]
    assert summary["data"] == {
        "n_training": 150,
        "class_share": [pytest.approx(1 / 3, abs=1e-6)] * 3,
        "n_variables": 4,
        "n_columns": 4,
        "n_groups": 4,
        "n_shown": 150,
        "class_counts": [50, 50, 50],
        "baseline": pytest.approx(1 / 3),
        "baseline_class": 0,
        "is_training": True,
        "may_be_training": False,
    }
    assert not tree.report(X[1:], y[1:]).summary["data"]["is_training"]
    assert summary["points"][0]["expected_recall"] == pytest.approx(
        clf.recall_, abs=1e-5
    )


def test_rows_that_may_contain_those_of_training_are_known(rng, iris):
    """As where training held rows back; it is ruled out if leaves get fewer rows."""
    X, y = iris
    some = np.sort(rng.permutation(150)[:120])
    tree = SORCTClassifier(n_starts=2, random_state=0).fit(X.iloc[some], y[some]).tree_

    def overlap(X, y, tree=tree):
        told = tree.report(X, y).summary["data"]
        return told["is_training"], told["may_be_training"]

    assert overlap(X.iloc[some], y[some]) == (True, False)
    assert overlap(X, y) == (False, True)
    assert overlap(X.iloc[some[1:]], y[some[1:]]) == (False, False)
    # As many rows or more, but other ones: a class, or a leaf, has fewer of them.
    rest = np.flatnonzero(y != y[some[0]])
    assert overlap(X.iloc[np.resize(rest, 400)], y[np.resize(rest, 400)])[1] is False
    rounded = tree.round(3).tree
    assert overlap(X, y, rounded) == (False, True)
    # With weights masses count no rows, and tell nothing of them.
    weight = rng.uniform(0.1, 9.0, 120)
    model = SORCTClassifier(n_starts=2, random_state=0)
    weighed = model.fit(X.iloc[some], y[some], sample_weight=weight).tree_
    assert overlap(X.iloc[some], y[some], weighed) == (False, True)


def test_the_call_can_be_told_by_the_caller(path):
    """As the command line does."""
    assert path.report(call="sorct path data.csv").summary["call"] == (
        "sorct path data.csv"
    )


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


@pytest.mark.a_few(1)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_every_row_is_counted_in_the_leaf_that_it_comes_to_by_hand(rng, table, depth):
    """By class; leaves that the drawing joins are one."""
    tree = drawn_tree(rng, table, ["a", "b", "c"], depth)
    y = drawn_labels(rng, tree, table)
    shown = tree.report(table, y).summary["trees"][0]
    leaves = [entry for entry in shown["nodes"] if "label" in entry]
    leaf = leaf_by_hand(tree, shown["nodes"], table)
    for entry in leaves:
        here = y[leaf == shown["nodes"].index(entry)]
        assert entry["found"]["counts"] == [(here == k).sum() for k in tree.classes]
        assert set(tree.leaf_class[entry["leaves"]]) == {entry["label"]}
    below = np.concatenate([entry["leaves"] for entry in leaves])
    assert sorted(below) == list(range(2**depth))


def test_listed_rows_of_a_leaf_end_in_it(path, table, labels):
    """The names in a leaf are rows that come there by hand."""
    report = path.report(table, labels, rows=30)
    tree, shown = path.trees[0], report.summary["trees"][0]
    for entry in (entry for entry in shown["nodes"] if "label" in entry):
        for place in entry["found"]["listed"]:
            name = report.summary["samples"][place]["name"]
            assert tree.apply(table.loc[[name]])[0] in entry["leaves"]


def test_histograms_count_the_sums_of_the_rows_that_come_by(path, table, labels):
    """Sum minus limit as printed, by class, and where the rows go from there."""
    summary = path.report(table, labels).summary
    for tree, point in zip(path, summary["points"], strict=True):
        nodes = summary["trees"][point["tree"]]["nodes"]
        leaf = leaf_by_hand(tree, nodes, table)
        for n, entry in enumerate(nodes):
            if "label" in entry:
                continue
            here = np.isin(leaf, leaves_under(nodes, n))
            margin, split = margins(tree, entry["node"], table), entry["split"]
            low, high = min([0.0, *margin[here]]), max([0.0, *margin[here]])
            edges = np.linspace(low, high if high > low else 1.0, 29)
            for k, label in enumerate(tree.classes):
                own = margin[here & (labels == label)]
                assert split["counts"][k] == np.histogram(own, edges)[0].tolist()
                for side in ("yes", "no"):
                    below = np.isin(leaf, leaves_under(nodes, entry[side]))
                    assert split[side][k] == (below & (labels == label)).sum()


def leaf_by_hand(tree, nodes, X):
    """Place in the list of nodes of the leaf that each row comes to by hand."""
    places = {
        leaf: n
        for n, entry in enumerate(nodes)
        if "label" in entry
        for leaf in entry["leaves"]
    }
    return np.array([places[leaf] for leaf in tree.apply(X)])


def leaves_under(nodes, n):
    """Places of the leaves below a node."""
    if "label" in nodes[n]:
        return [n]
    return leaves_under(nodes, nodes[n]["yes"]) + leaves_under(nodes, nodes[n]["no"])


def margins(tree, t, X):
    """Sum minus limit of a cut, worked out from the raw table."""
    terms, limit = printed_terms(tree, t)
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


def test_a_relaxed_tree_is_shown_in_the_place_of_its_point(path):
    """It says that it is one; before, it was refused."""
    told = replace(path.trees[4].training, relaxed=0.125)
    relaxed = (*path.trees[:4], replace(path.trees[4], training=told), *path.trees[5:])
    both = replace(path, relaxed=relaxed)
    summary = both.report(chosen=relaxed[4]).summary
    assert summary["chosen"] == 4
    assert summary["points"][4]["training"]["relaxed"] == 0.125


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


@pytest.mark.every_value
@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("costs", [1.0 - np.eye(3), np.arange(9.0).reshape(3, 3)])
def test_a_report_begins_with_the_tree_that_select_gives(
    path, table, labels, with_data, costs
):
    """Within the standard error of the best, whatever the costs."""
    costs = costs * (1.0 - np.eye(3))
    trees = tuple(replace(tree, cost_matrix=costs) for tree in path.trees)
    path, data = replace(path, trees=trees), (table, labels) if with_data else ()
    summary = path.report(*data).summary
    best = max(summary["points"], key=lambda point: point["good"])
    selected = path.select(*data, within=best["good_error"])
    assert path.trees[summary["chosen"]] is selected


@pytest.mark.a_few(2)
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


# -- all kinds of trees ----------------------------------------------------------------


@pytest.mark.a_few(1)
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
