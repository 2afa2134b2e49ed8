"""Dask: any partitions give the same tree, predictions are lazy, lost workers retry."""

import os
import signal
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from sorct import SORCTClassifier, SORCTClassifierCV
from sorct.data import dask_source
from tests.estimators.large_tables import (
    QUICK,
    draw_table,
    shrink,
    small_limits,  # noqa: F401
)

pytestmark = pytest.mark.usefixtures("loaded", "small_limits")


@pytest.fixture(scope="module")
def loaded():
    """Load Dask for these tests alone: it would take long wherever tests are collected.

    Its parts are names of this module from then on.
    """
    global da, dask, dd
    import dask
    import dask.array as da
    import dask.dataframe as dd


@pytest.fixture(scope="module")
def frame():
    """A table with its labels as a column."""
    X, y = draw_table()
    return X.assign(y=y.astype(str))


@pytest.fixture(scope="module")
def fitted(frame, loaded):
    """The tree of three partitions."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        table = dd.from_pandas(frame, npartitions=3)
        return SORCTClassifier(**QUICK).fit(table, "y")


def assert_same_tree(one, other):
    assert one.objective_ == pytest.approx(other.objective_, abs=1e-9)
    assert one.tree_.encoder == other.tree_.encoder
    np.testing.assert_array_equal(one.coef_ == 0.0, other.coef_ == 0.0)


def test_any_partitions_give_the_same_tree(frame, fitted):
    """Labels as a column or beside the table, weights of one."""
    assert fitted.n_passes_ > 2
    table = dd.from_pandas(frame, npartitions=8)
    labels, ones = table["y"], table["plain"] * 0.0 + 1.0
    found = SORCTClassifier(**QUICK).fit(table.drop(columns="y"), labels, ones)
    assert_same_tree(found, fitted)


@pytest.mark.slow
def test_a_partition_may_be_empty(frame):
    """It has no rows to count."""
    holes = dd.from_pandas(frame, npartitions=2).map_partitions(
        lambda part: part.iloc[:0] if part.index[0] == 0 else part
    )
    assert SORCTClassifier(**QUICK).fit(holes, "y").tree_.training.n_samples == 450


@pytest.mark.slow
def test_arrays_of_dask_are_taken_in_any_chunks(frame):
    """Chunks of rows and columns; the names are those of an array."""
    X, y = frame[["plain", "tail"]].to_numpy(), frame["y"].to_numpy(dtype=str)
    found = [
        SORCTClassifier(**QUICK).fit(
            da.from_array(X, chunks=chunks), da.from_array(y, chunks=333)
        )
        for chunks in ((500, 2), (200, 1))
    ]
    assert_same_tree(*found)
    assert found[0].tree_.encoder.names == ("x0", "x1")
    proba = found[0].predict_proba(da.from_array(X, chunks=(400, 1)))
    assert isinstance(proba, da.Array)
    np.testing.assert_allclose(proba.compute(), found[0].predict_proba(X))


def test_predictions_are_lazy_and_those_of_the_table(frame, fitted):
    """Nothing is computed before it is asked for."""
    X = frame.drop(columns="y")
    asked = []

    def seen(part):
        asked.append(len(part))
        return part

    table = dd.from_pandas(X, npartitions=4)
    watched = table.map_partitions(seen, meta=X.iloc[:0])
    classes, proba = fitted.predict(watched), fitted.predict_proba(watched)
    logs = fitted.predict_log_proba(watched)
    assert asked == []
    assert classes.compute().tolist() == fitted.predict(X).tolist()
    np.testing.assert_allclose(proba.compute(), fitted.predict_proba(X))
    np.testing.assert_allclose(logs.compute(), fitted.predict_log_proba(X))
    assert asked
    np.testing.assert_array_equal(fitted.apply(table).compute(), fitted.apply(X))


@pytest.mark.parametrize("room", [1e9, 1e3])
def test_partitions_are_read_once_more_and_then_held_if_there_is_room(
    frame, monkeypatch, room
):
    """Workers' memory decides; without workers nothing is held."""
    read = []

    def seen(part):
        read.append(len(part))
        return part

    monkeypatch.setattr(dask_source, "_memory", lambda: room)
    table = dd.from_pandas(frame, npartitions=2)
    watched = table.map_partitions(seen, meta=frame.iloc[:0])
    source = dask_source.DaskSource(watched, "y")
    counts = [sum(source.gather(_count_rows)) for _ in range(4)]
    assert counts == [len(frame)] * 4
    assert len([n for n in read if n]) == (4 if room == 1e9 else 8)


def _count_rows(batch):
    return batch.n_rows


@pytest.mark.slow
def test_a_pass_is_one_task_per_partition_of_kilobytes(frame, monkeypatch):
    """What comes back is one answer, however many rows and partitions there are."""
    sizes, asked = [], []
    compute, answer = dask.compute, dask_source._answer

    def weighed(*tasks, **options):
        answers = compute(*tasks, **options)
        sizes.append([len(tasks), max(map(_size, answers))])
        return answers

    def counted(*arguments):
        asked.append(arguments[1])
        return answer(*arguments)

    monkeypatch.setattr(dask, "compute", weighed)
    monkeypatch.setattr(dask_source, "_answer", counted)
    monkeypatch.setattr(dask_source, "_TOGETHER", 2)
    found = SORCTClassifier(**QUICK).fit(dd.from_pandas(frame, npartitions=5), "y")
    assert len(sizes) == found.n_passes_
    assert sorted(asked) == sorted([*range(5)] * found.n_passes_)
    assert all(n_tasks == 1 for n_tasks, _ in sizes)
    assert max(size for _, size in sizes[2:]) < 20_000


def _size(answer):
    if hasattr(answer, "items"):
        return sum(np.asarray(value).nbytes for value in answer.values())
    return 0


def test_what_does_not_fit_together_is_told(frame):
    """Labels of another library, other partitions, no such column."""
    table = dd.from_pandas(frame, npartitions=4)
    X, fit = table.drop(columns="y"), SORCTClassifier(**QUICK).fit
    with pytest.raises(TypeError, match="y must be a Series or Array of Dask"):
        fit(X, frame["y"])
    with pytest.raises(ValueError, match="partitions of X, 4, got 3"):
        fit(X, dd.from_pandas(frame["y"], npartitions=3))
    with pytest.raises(ValueError, match="No column 'z' in the table"):
        fit(table, "z")


# -- a cluster -------------------------------------------------------------------------


def die_once(part, place, at):
    """Count how often the first partition is read; once, end this worker."""
    if part.index[0] == 0:
        file = Path(place)
        n_before = len(file.read_text()) if file.exists() else 0
        file.write_text("x" * (n_before + 1))
        if n_before == at:
            os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("share", "at"), [(0.0, 4), (0.25, 1)], ids=["read", "held"])
def test_a_worker_that_is_lost_costs_a_retry(
    monkeypatch, frame, fitted, tmp_path, share, at
):
    """Two processes, one of which is killed in the middle of a pass: the same tree.

    Whether partitions are read in every pass, or once and held by the workers.
    """
    monkeypatch.setattr("sorct.data.dask_source._HELD", share)
    distributed = pytest.importorskip("distributed")
    place = tmp_path / "count"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        table = dd.from_pandas(frame, npartitions=3)
        table = table.map_partitions(die_once, str(place), at, meta=frame.iloc[:0])
        found = SORCTClassifier(**QUICK).fit(table, "y")
        assert len(place.read_text()) > at + 1
    assert_same_tree(found, fitted)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_backend_of_dask_chooses_what_one_process_chooses():
    """Paths of the folds run on workers, to the same tree."""
    distributed = pytest.importorskip("distributed")
    X, y = load_iris(return_X_y=True)
    few = {"alphas_local": [0.1, 1.0], "n_solutions": 1, "cv": 2, "loss": "cost"}
    clf = SORCTClassifierCV(depths=2, scaling="auto", relax=False, random_state=0)
    clf.set_params(**few)
    alone = clone(clf).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        found = clone(clf).fit(X, y)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    assert found.best_params_ == alone.best_params_
