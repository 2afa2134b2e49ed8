"""Files that stream: the tree of the table in memory, whatever batches it comes in."""

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sorct import SORCTClassifier, SORCTClassifierCV, SORCTRegressor, sorct_path
from sorct.data import encoder as encoders
from sorct.data import samples
from sorct.data.parts import OutOfTimeError
from sorct.data.samples import TrainingSet
from sorct.data.sources import FileSource
from sorct.data.table_parts import TableParts
from sorct.estimators.checkpoint import Checkpoint
from sorct.estimators.fitting import Model
from sorct.estimators.promises import hold_out, hold_out_of_source
from sorct.estimators.streaming import Streamed
from sorct.estimators.why import OUT_OF_TIME
from tests.estimators.large_tables import (
    QUICK,
    draw_table,
    shrink,
    small_limits,  # noqa: F401
)

pytestmark = pytest.mark.usefixtures("small_limits")


@pytest.fixture(scope="module")
def table():
    """Table, labels, and both in one frame."""
    X, y = draw_table()
    return X, y, X.assign(y=y)


def write_parts(frame, folder, n_parts, kind="parquet"):
    """Write a frame as several files; return a glob of them."""
    folder.mkdir(exist_ok=True)
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        part, file = frame.iloc[rows], folder / f"{k:02d}.{kind}"
        part.to_parquet(file) if kind == "parquet" else part.to_csv(file, index=False)
    return str(folder / f"*.{kind}")


def assert_same_tree(one, other):
    """One tree, which may be mirrored where searches began elsewhere."""
    assert one.objective_ == pytest.approx(other.objective_, abs=1e-9)
    assert one.tree_.encoder == other.tree_.encoder
    assert np.count_nonzero(one.coef_) == np.count_nonzero(other.coef_)
    X = draw_table()[0]
    proba = one.predict_proba(X), other.predict_proba(X)
    np.testing.assert_allclose(*proba, atol=1e-3)


#: Files whose parts are read and drawn from as those of CSV are.
FURTHER_FILES = ["parquet", "dataset", "order"]


@pytest.fixture(scope="module")
def fitted(table, tmp_path_factory):
    """The tree of files in two parts."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        files = write_parts(table[2], tmp_path_factory.mktemp("two"), 2)
        return SORCTClassifier(**QUICK).fit(files, "y")


def test_files_give_the_tree_of_the_table_in_memory(table, fitted):
    """Every kind of variable; objective to 1e-9, the same encoder, the same zeros."""
    X, y, _ = table
    whole = SORCTClassifier(**QUICK).fit(X, y)
    assert_same_tree(fitted, whole)
    assert fitted.status_ == "converged"
    assert 2 < fitted.n_passes_ <= 100
    assert fitted.tree_.training.n_samples == len(y)
    assert fitted.tree_.training.target == "y"
    for name in ("found", "precision", "followed", "recall"):
        found, expected = (getattr(c.tree_.training, name) for c in (fitted, whole))
        np.testing.assert_allclose(found, expected, atol=1e-3, err_msg=name)
    routed = (np.sort(one.tree_.routed, axis=1) for one in (fitted, whole))
    np.testing.assert_allclose(*routed, atol=1e-3)
    assert list(fitted.feature_names_in_) == list(X.columns)
    assert (fitted.predict(X) == whole.predict(X)).mean() > 0.999


def test_what_is_told_of_very_many_rows_is_what_is_predicted(table):
    """Recall and precision are added up part by part, of rows in memory as well."""
    X, y, _ = table
    found = SORCTClassifier(**QUICK).fit(X, y)
    told, predicted = found.tree_.training, found.predict(X)
    for k, label in enumerate(found.classes_):
        right = np.count_nonzero((predicted == label) & (y == label))
        asked = np.count_nonzero(y == label), np.count_nonzero(predicted == label)
        assert told.found[k] == pytest.approx(right / asked[0], abs=1e-12)
        assert told.precision[k] == pytest.approx(right / max(asked[1], 1), abs=1e-12)
    by_hand = found.tree_.follow(X) == predicted
    assert told.followed == pytest.approx(by_hand.mean(), abs=1e-12)


@pytest.mark.parametrize(
    "kind",
    ["csv", *(pytest.param(k, marks=pytest.mark.slow) for k in FURTHER_FILES)],
)
def test_any_files_give_the_same_tree(table, fitted, tmp_path, kind):
    """Other parts, another order of the rows, CSV, a Dataset of pyarrow."""
    frame, given = table[2], None
    if kind == "order":
        frame = frame.sample(frac=1.0, random_state=1)
    files = write_parts(frame, tmp_path / "x", 3, "csv" if kind == "csv" else "parquet")
    if kind == "dataset":
        given = pyarrow.dataset.dataset(files.rpartition("/")[0], format="parquet")
    assert_same_tree(SORCTClassifier(**QUICK).fit(given or files, "y"), fitted)


def test_few_rows_are_fitted_in_memory(table, tmp_path, monkeypatch):
    """A table whose rows all come to the search needs no passes after the first two."""
    monkeypatch.setattr(samples, "MANY_ROWS", 5000)
    X, y, frame = table
    found = SORCTClassifier(**QUICK).fit(write_parts(frame, tmp_path / "x", 3), "y")
    whole = SORCTClassifier(**QUICK).fit(X, y)
    assert found.n_passes_ == 2
    assert found.objective_ == pytest.approx(whole.objective_, abs=1e-12)


def test_the_rows_of_the_search_are_those_of_memory(table, tmp_path):
    """Drawn by their keys: same rows, same weights, rare classes whole."""
    X, y, frame = table
    source = FileSource(write_parts(frame, tmp_path / "x", 5), "y")
    streamed = Streamed.of(source, Model(depth=2))
    data = streamed.prepared.problem.data
    encoder, target = streamed.prepared.encoder, streamed.prepared.target
    columns, codes = encoder.columns(X), target.codes(y)
    whole = TrainingSet.from_columns(columns, codes, np.ones(len(y)), len(target))
    np.testing.assert_array_equal(data.rows.codes, whole.rows.codes)
    np.testing.assert_array_equal(data.rows.X, whole.rows.X)
    np.testing.assert_allclose(data.rows.weight, whole.rows.weight, rtol=1e-12)
    for name in ("share", "centre", "variance"):
        np.testing.assert_allclose(
            getattr(data, name), getattr(whole, name), atol=1e-13
        )
    rare = target.labels.tolist().index("rare")
    assert np.count_nonzero(data.rows.codes == rare) == 12
    assert data.rows.weight.size <= 400


OPTIONS = {
    "log": {"loss": "log"},
    "floor": {"min_recall": {"yes": 0.9}},
    "log floor": {"loss": "log", "min_recall": {"yes": 0.9}},
    "balanced": {"class_weight": "balanced"},
    "direction": {"monotonic_cst": {"plain": 1}, "positive_class": "yes"},
    "prices": {"feature_cost": {"plain": 2.0}, "loss": "log"},
    "costs": {"cost_matrix": [[0, 1], [5, 0]], "loss": "log"},
    "promise": {"loss": "log", "min_recall": {"yes": 0.94}, "confidence": 0.9},
    "promised cost": {"min_recall": {"yes": 0.94}, "confidence": 0.9},
}


@pytest.fixture(scope="module")
def two_classes(table):
    """The table without its rare class."""
    X, y, frame = table
    return X[y != "rare"], y[y != "rare"], frame[frame["y"] != "rare"]


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    ("name", "n_parts"),
    [("promise", 1), *((name, 1 + 2 * (k % 2)) for k, name in enumerate(OPTIONS))],
)
def test_every_loss_and_floor_streams(two_classes, tmp_path, name, n_parts):
    """Objectives are those of the table in memory; floors hold on all rows."""
    X, y, frame = two_classes
    options = QUICK | {"depth": 1, "tol": 1e-8} | OPTIONS[name]
    files = write_parts(frame, tmp_path / "x", n_parts)
    found = SORCTClassifier(**options).fit(files, "y")
    whole = SORCTClassifier(**options).fit(X, y)
    assert found.objective_ == pytest.approx(whole.objective_, abs=1e-9)
    if "floor" in name:
        yes = found.classes_.tolist().index("yes")
        assert found.recall_[yes] >= 0.9 - 1e-5
        if "log" in name:
            assert (found.predict(X[y == "yes"]) == "yes").mean() >= 0.9 - 1e-9
    else:
        np.testing.assert_allclose(found.recall_, whole.recall_, atol=1e-5)
    if "promise" in name:
        decisions = [one.tree_.decision_cost for one in (found, whole)]
        np.testing.assert_allclose(*decisions, rtol=1e-5)
        assert found.tree_.training.confidence == 0.9
        assert found.tree_.training.n_samples == whole.tree_.training.n_samples


def test_rows_held_out_of_files_are_those_held_out_in_memory(two_classes, tmp_path):
    """Whatever batches they come in; nobody else sees them."""
    X, y, frame = two_classes
    model = Model(1, min_recall={"yes": 0.8}, confidence=0.9)
    kept, own = hold_out(X, y, None, model, 5)
    for n_parts in (1, 4):
        source = FileSource(write_parts(frame, tmp_path / str(n_parts), n_parts), "y")
        left, promise = hold_out_of_source(source, model, 5)
        order = ["plain", "tail"]
        held = (one.X.sort_values(order, ignore_index=True) for one in (promise, own))
        pd.testing.assert_frame_equal(*held, check_dtype=False)
        assert sum(left.gather(lambda batch: batch.n_rows)) == len(kept.y)
        assert sum(left.gather(lambda batch: batch.weights.sum())) == pytest.approx(
            kept.weight.sum()
        )


def test_a_promise_on_files_is_refused_as_in_memory(two_classes, tmp_path):
    """Too few rows of the class, or different weights: before training begins."""
    frame = two_classes[2]
    files = write_parts(frame, tmp_path / "x", 2)
    asked = {"min_recall": {"yes": 0.999}, "confidence": 0.99}
    with pytest.raises(ValueError, match="needs at least 4603 rows of the class"):
        SORCTClassifier(**QUICK, **asked).fit(files, "y")
    weighted = frame.assign(w=1.0 + np.arange(len(frame)) % 2)
    asked = {"min_recall": {"yes": 0.8}, "confidence": 0.9}
    with pytest.raises(ValueError, match="sample_weight must be the same for"):
        SORCTClassifier(**QUICK, **asked).fit(
            write_parts(weighted, tmp_path / "w", 2), "y", "w"
        )


def test_weights_come_from_a_column(table, tmp_path):
    """Weights of rows, of which those of weight 0 are left out."""
    X, y, frame = table
    weight = np.arange(len(frame)) % 3
    found = SORCTClassifier(**QUICK | {"depth": 1, "loss": "log"}).fit
    whole = SORCTClassifier(**QUICK | {"depth": 1, "loss": "log"}).fit
    some = frame["y"] != "rare"
    files = write_parts(frame.assign(w=weight)[some], tmp_path / "x", 3)
    assert_same_tree(found(files, "y", "w"), whole(X[some], y[some], weight[some]))


def test_whole_weights_count_rows(table, tmp_path):
    """As in memory; of other weights only proportions mean something."""
    frame = table[2]
    weight = 1.0 + np.arange(len(frame)) % 3
    for times, counted in ((1.0, weight.sum()), (0.3, len(frame))):
        part = frame.assign(w=times * weight)
        files = write_parts(part, tmp_path / str(times), 2)
        prepared = Streamed.of(FileSource(files, "y", "w"), Model(depth=2)).prepared
        assert prepared.n_counted == counted


@pytest.mark.slow
def test_a_calibrated_tree_streams(table, tmp_path):
    """Maps come from the rows of the search."""
    frame = table[2][table[2]["y"] != "rare"]
    files = write_parts(frame, tmp_path / "x", 3)
    options = QUICK | {"depth": 1, "loss": "log", "n_starts": 1}
    found = SORCTClassifier(**options, calibration="sigmoid").fit(files, "y")
    assert found.tree_.calibration is not None
    proba = found.predict_proba(frame.drop(columns="y"))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.slow
def test_a_path_is_found_on_some_rows_and_finished_on_all(table, tmp_path):
    """Objectives along the path are those of the table in memory."""
    X, y, frame = table
    grid = {"alphas_local": [0.05, 0.5], "alphas_global": 0, "n_solutions": 2}
    options = grid | {"depth": 1, "random_state": 0, "loss": "log"}
    frame, rows = frame[frame["y"] != "rare"], y != "rare"
    found = sorct_path(write_parts(frame, tmp_path / "x", 2), "y", **options)
    whole = sorct_path(X[rows], y[rows], **options)
    for trees in ("trees", "relaxed"):
        for one, other in zip(
            getattr(found, trees), getattr(whole, trees), strict=True
        ):
            told = one.training, other.training
            assert told[0].objective == pytest.approx(told[1].objective, abs=1e-7)


@pytest.mark.parametrize("limit", ["max_features", "max_cost"])
def test_limits_hold_on_files(two_classes, tmp_path, limit):
    """Variables are exchanged on the search's rows; objectives are those of memory."""
    X, y, frame = two_classes
    options = {
        "alphas_local": [0.05], "alphas_global": 0, "n_solutions": 2, "depth": 1,
        "random_state": 0, "loss": "log", "tol": 1e-8, limit: 2,
        "feature_cost": dict.fromkeys(X.columns, 1.0),
    }  # fmt: skip
    found = sorct_path(write_parts(frame, tmp_path / "x", 2), "y", **options)
    whole = sorct_path(X, y, **options)
    (one,), (other,) = found.relaxed, whole.relaxed
    assert len(one.variables_used) == 2
    assert one.variables_used == other.variables_used
    there = pytest.approx(other.training.objective, abs=1e-9)
    assert one.training.objective == there


@pytest.mark.slow
def test_a_choice_on_files_keeps_its_limits_and_promises(two_classes, tmp_path):
    """The tree of all rows has no more variables than asked for, and its promise."""
    frame = two_classes[2]
    search = SORCTClassifierCV(
        depths=1, loss="log", scaling="auto", alphas_local=[0.01], alphas_global=[0],
        cv=2, n_solutions=2, max_features=2, min_recall={"yes": 0.8}, confidence=0.9,
        random_state=0,
    ).fit(write_parts(frame, tmp_path / "x", 2), "y")  # fmt: skip
    assert len(search.tree_.variables_used) == 2
    assert search.tree_.training.confidence == 0.9
    assert 400 < search.tree_.training.n_samples < len(frame)


def test_settings_chosen_on_some_rows_are_trained_with_on_all(table, tmp_path):
    """Cross-validation sees the search's rows; the tree is that of all rows."""
    X, y, frame = table
    frame, rows = frame[frame["y"] != "rare"], y != "rare"
    files = write_parts(frame, tmp_path / "x", 2)
    search = SORCTClassifierCV(
        depths=1, loss="log", scaling="auto", alphas_local=[0.05, 0.5],
        alphas_global=[0], cv=2, n_solutions=2, relax=False, random_state=0,
    ).fit(files, "y")  # fmt: skip
    assert search.tree_.training.n_samples == rows.sum()
    assert search.path_.trees[0].training.n_samples <= 400
    assert search.tree_.training.cv_score is not None
    strength = search.best_params_["alpha_local"]
    whole = SORCTClassifier(1, strength, loss="log", random_state=0)
    objective = whole.fit(X[rows], y[rows]).objective_
    assert search.objective_ == pytest.approx(objective, abs=1e-7)
    timed = clone(search).set_params(time_limit=1e6).fit(files, "y")
    assert timed.tree_ == search.tree_
    timed.set_params(time_limit=1e-3).fit(files, "y")
    assert OUT_OF_TIME in timed.why_
    assert timed.tree_.training.n_samples == rows.sum()


def test_the_tree_of_all_rows_has_the_variables_of_a_greedy_tree(rng, tmp_path):
    """As all trees have among which it was chosen; the penalty is that of few."""
    X = pd.DataFrame(rng.random((1500, 8))).add_prefix("x")
    y = np.where(X["x0"] > 0.5, X["x1"] > 0.4, 2 * (X["x2"] > 0.6)).astype(int)
    y = np.where(rng.random(1500) < 0.05, rng.integers(3, size=1500), y)
    files = write_parts(X.assign(y=y), tmp_path / "x", 2)
    search = SORCTClassifierCV(
        depths=3, loss="log", scaling="auto", cv=2, n_solutions=1, preselect="greedy",
        tol=1e-3, max_iter=200, random_state=0,
    ).fit(files, "y")  # fmt: skip
    assert search.tree_.training.n_samples == 1500
    assert set(search.tree_.variables_used) == {"x0", "x1", "x2"}


def test_long_categories_stream_too(table, fitted, tmp_path, monkeypatch):
    """Levels as places of columns: the same tree, also from what a checkpoint keeps."""
    monkeypatch.setattr(encoders, "LONG", 1)
    files, folder = write_parts(table[2], tmp_path / "x", 2), tmp_path / "kept"
    found = SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    assert found.tree_.encoder.long_categories
    assert_same_tree(found, fitted)
    again = SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    np.testing.assert_array_equal(again.coef_, found.coef_)


# -- checkpoints -----------------------------------------------------------------------


class Killed(Exception):  # noqa: N818
    """What ends a process."""


#: Kept once, before the first pass of the finish is.
EARLIER = ["survey", "draw", "search"]


@pytest.mark.parametrize(
    "after",
    [
        3,
        *(
            pytest.param(k, marks=pytest.mark.slow)
            for k in ("survey", "draw", "search")
        ),
    ],
)
def test_a_fit_that_was_ended_goes_on_to_the_same_tree(
    table, fitted, tmp_path, monkeypatch, after
):
    """Killed at any point: nothing is made twice, and the tree is the same."""
    files, folder = write_parts(table[2], tmp_path / "x", 2), tmp_path / "kept"
    names = {"survey": "keep_plain", "draw": "keep_arrays", "search": "keep_search"}
    name = names.get(after, "keep")
    keep, kept = getattr(Checkpoint, name), []

    def kill(self, *arguments):
        keep(self, *arguments)
        kept.append(arguments)
        if name != "keep" or len(kept) == after:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, name, kill)
        with pytest.raises(Killed):
            SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    n_made = len(list(folder.glob("pass-*")))
    assert n_made == (after if name == "keep" else 0)
    found = SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    np.testing.assert_array_equal(found.coef_, fitted.coef_)
    assert found.objective_ == fitted.objective_
    assert found.n_passes_ == fitted.n_passes_
    assert found.tree_ == fitted.tree_
    assert not list(folder.glob("*.partial"))


def test_a_fit_that_time_has_ended_goes_on_to_the_same_tree(
    table, fitted, tmp_path, monkeypatch
):
    """What it asked about the tree that it ended with is not taken for other sums."""
    files, folder = write_parts(table[2], tmp_path / "x", 2), tmp_path / "kept"
    made, gathered = [], TableParts._gathered

    def late(self, task, stop):
        made.append(stop)
        if stop is not None and len(made) > 3:
            raise OutOfTimeError
        return gathered(self, task, stop)

    with monkeypatch.context() as patch:
        patch.setattr(TableParts, "_gathered", late)
        with pytest.warns(ConvergenceWarning):
            SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    assert len(made) > 4
    found = SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    assert found.tree_ == fitted.tree_
    assert found.objective_ == fitted.objective_


def test_long_options_tell_checkpoints_apart(table, tmp_path):
    """Also where the text of the call shortens them."""
    frame = table[2].rename(columns={name: 90 * name for name in table[0]})
    files, folder = write_parts(frame, tmp_path / "x", 2), tmp_path / "kept"
    names = [name for name in frame if name != "y"]
    prices = dict.fromkeys(names, 1.0)
    SORCTClassifier(**QUICK, feature_cost=prices).fit(files, "y", checkpoint=folder)
    prices = {**prices, names[0]: 9.0}
    with pytest.raises(ValueError, match="another fit: options changed"):
        SORCTClassifier(**QUICK, feature_cost=prices).fit(files, "y", checkpoint=folder)


def test_a_checkpoint_wants_whole_files(table, tmp_path):
    """Filters and tables in memory cannot be told apart."""
    write_parts(table[2], tmp_path / "x", 2)
    files = pyarrow.dataset.dataset(tmp_path / "x")
    some = files.filter(pyarrow.dataset.field(files.schema.names[0]) > 0.0)
    memory = pyarrow.dataset.dataset(files.to_table())
    for given in (some, memory):
        with pytest.raises(ValueError, match="checkpoint needs whole files"):
            SORCTClassifier(**QUICK).fit(given, "y", checkpoint=tmp_path / "kept")


def test_a_checkpoint_belongs_to_one_fit(table, tmp_path):
    """Other options, other files: refused, with what changed."""
    files, folder = write_parts(table[2], tmp_path / "x", 2), tmp_path / "kept"
    SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    with pytest.raises(ValueError, match="another fit: call, options changed"):
        SORCTClassifier(**QUICK | {"depth": 3}).fit(files, "y", checkpoint=folder)
    write_parts(table[2].iloc[:600], tmp_path / "x", 2)
    with pytest.raises(ValueError, match="another fit: files changed"):
        SORCTClassifier(**QUICK).fit(files, "y", checkpoint=folder)
    with pytest.raises(ValueError, match="checkpoint is for tables that come"):
        SORCTClassifier(**QUICK).fit(table[0], table[1], checkpoint=folder)


# -- errors ----------------------------------------------------------------------------


def test_what_cannot_be_read_is_told(table, tmp_path):
    """Messages say what was expected, what was got and what to do."""
    files, fit = write_parts(table[2], tmp_path / "x", 2), SORCTClassifier(**QUICK).fit
    with pytest.raises(FileNotFoundError, match="No file 'nowhere"):
        fit("nowhere/*.parquet", "y")
    with pytest.raises(ValueError, match="no column 'z' in the files"):
        fit(files, "z")
    with pytest.raises(TypeError, match="name of the target column"):
        fit(files, table[1])
    with pytest.raises(TypeError, match="sample_weight must be the name of a column"):
        fit(files, "y", np.ones(3))
    gaps = table[2].assign(y=table[2]["y"].where(np.arange(len(table[2])) != 600))
    with pytest.raises(ValueError, match="y contains NaN"):
        fit(write_parts(gaps, tmp_path / "z", 2), "y")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ValueError, match="Expected files of one kind"):
        fit(tmp_path / "notes.txt", "y")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_that_differ_are_refused_in_any_order(rng, tmp_path, kind):
    """Their columns, or what a column has; numbers without fractions are numbers."""
    X = pd.DataFrame(rng.normal(0.0, 1.0, (120, 2)), columns=["a", "b"])
    X["y"] = X["a"] + X["b"] + rng.normal(0.0, 0.1, 120)
    others = {
        "fewer": X.drop(columns="b"),
        "texts": X.assign(b="often"),
        "whole": X.assign(b=np.arange(120)),
        "none": X.assign(b=np.nan),
    }
    paths = {}
    for name, table in {"plain": X, **others}.items():
        paths[name] = str(tmp_path / f"{name}.{kind}")
        write = table.to_parquet if kind == "parquet" else table.to_csv
        write(paths[name], index=False)
    model = SORCTRegressor(1, 0.01, n_starts=1, tol=1e-3, random_state=0)
    for name, message in (("fewer", "'b', which"), ("texts", "'b' has (numbers|text)")):
        for pair in ((paths["plain"], paths[name]), (paths[name], paths["plain"])):
            with pytest.raises(ValueError, match=message):
                model.fit(list(pair), "y")
    for name in ("whole", "none"):
        pair = [paths["plain"], paths[name]]
        one, two = (model.fit(given, "y").tree_ for given in (pair, pair[::-1]))
        np.testing.assert_allclose(one.coef, two.coef, atol=1e-6)
    with pytest.raises(ValueError, match="numbers with fractions.*SORCTRegressor"):
        SORCTClassifier(1, 0.1).fit(paths["plain"], "y")


def test_time_that_is_up_leaves_a_tree(table, tmp_path):
    """A limit that no pass can keep ends with the tree that the search found.

    Whoever called hears that reading took all of it.
    """
    files = write_parts(table[2], tmp_path / "x", 2)
    with pytest.warns(UserWarning, match="no time is left for a search") as told:
        found = SORCTClassifier(**QUICK, time_limit=1e-3).fit(files, "y")
    assert told[0].filename == __file__
    assert found.status_ == "time_limit"
    assert found.predict(table[0].iloc[:3]).shape == (3,)


def test_memory_does_not_hold_the_table(tmp_path):
    """Batches are read one after another: none is kept."""
    frame = pd.DataFrame({"x": np.arange(5000.0), "y": np.arange(5000) % 2})
    source = FileSource(write_parts(frame, tmp_path / "x", 5), "y")
    sizes = list(source.gather(lambda batch: batch.n_rows))
    assert sum(sizes) == 5000
    assert max(sizes) <= 512


def test_whole_numbers_of_csv_files_are_classes_as_written(rng, tmp_path):
    """And of the tree of the same table in memory."""
    X = pd.DataFrame({"a": rng.normal(0.0, 1.0, 200)})
    X["y"] = (X["a"] + rng.normal(0.0, 0.5, 200) > 0.0).astype(int)
    X.to_csv(tmp_path / "t.csv", index=False)
    model = SORCTClassifier(1, 0.01, n_starts=1, random_state=0)
    found = model.fit(tmp_path / "t.csv", "y").tree_
    known = model.fit(X[["a"]], X["y"]).tree_
    assert found.classes.dtype == known.classes.dtype
    np.testing.assert_allclose(found.coef, known.coef, atol=1e-6)


def test_a_damaged_row_is_named_with_its_file(rng, tmp_path, monkeypatch):
    """Also where it stands far behind what was looked at first."""
    monkeypatch.setattr("sorct.data.sources._LOOKED_AT", 2000)
    X = pd.DataFrame(rng.normal(0.0, 1.0, (3000, 2)), columns=["a", "b"])
    X.assign(y=np.where(X["a"] > 0.0, "u", "v")).to_csv(tmp_path / "t.csv", index=False)
    with (tmp_path / "t.csv").open("a") as file:
        file.write("1.0,2.0,u,too much\n")
    with pytest.raises(ValueError, match=r"File '.*t\.csv' cannot be read: .* 3 col"):
        SORCTClassifier(1, 0.1).fit(tmp_path / "t.csv", "y")
