"""The experiments' runner: what is interrupted goes on, what is odd is refused."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from experiments import protocol, run, tables  # noqa: E402
from experiments.config import PARTS, Config  # noqa: E402
from experiments.protocol import Split  # noqa: E402
from sorct import SORCTClassifierCV, datasets, sorct_path  # noqa: E402

ROOT = Path(run.__file__).parents[1]
PATH = {
    "alphas_local": [0, 0.125, 1],
    "alphas_global": [0],
    "n_solutions": 1,
    "min_recall": 0.1,
    "gamma": 512,
    "reference_level": "last",
}
KIND_OPTIONS = {
    "path": PATH,
    "rivals": {"n_folds": 2, "reference_level": "last"},
    "selection": {**PATH, "n_folds": 2},
}


def toml(value):
    """A value as TOML writes it; JSON does for numbers, texts and lists."""
    return json.dumps(value)


class Place:
    """A folder of configs and results of its own."""

    def __init__(self, folder):
        self.config, self.results = folder / "config", folder / "results"
        self.output = folder / "output"
        self.config.mkdir()

    def write(self, part="local", kind="path", names=("iris",), n_splits=2, **changes):
        """Write a config; None leaves a key or an option out."""
        top = {"kind": kind, "datasets": list(names), "n_splits": n_splits}
        options = KIND_OPTIONS.get(kind, PATH) | changes.pop("options", {})
        top |= changes
        lines = [f"{k} = {toml(v)}" for k, v in top.items() if v is not None]
        lines += ["[options]"]
        lines += [f"{k} = {toml(v)}" for k, v in options.items() if v is not None]
        (self.config / f"{part}.toml").write_text("\n".join(lines) + "\n")
        return self

    def arguments(self, *arguments):
        """What the command line gets."""
        folders = [
            f"--{name}={getattr(self, name)}"
            for name in ("config", "results", "output")
        ]
        return [*folders, "--n-jobs=1", *arguments]

    def run(self, *arguments):
        """Run in this process; the exit code."""
        return run.main(self.arguments(*arguments))

    def table(self, part="local"):
        """The long table of a part without what a clock measured."""
        frame = pd.read_csv(self.results / f"{part}.csv.gz")
        return frame.drop(columns="seconds")

    @property
    def units(self):
        """Files of the units done."""
        return sorted(self.results.glob("units/*/*.csv"))


@pytest.fixture
def place(tmp_path):
    """An empty place."""
    return Place(tmp_path)


@pytest.fixture
def nothing_fits(monkeypatch):
    """Fail if anything is fitted."""

    def work(*args, **options):
        pytest.fail("something was fitted")

    for kind in protocol.KINDS:
        monkeypatch.setitem(protocol.KINDS, kind, work)


# -- runs ------------------------------------------------------------------------------


def test_a_path_is_judged_on_the_test_rows(place):
    """Every row is the library's own, split by split."""
    assert place.write(n_splits=2).run("local", "--fit-only") == 0
    table = place.table()
    assert list(table.columns) == [name for name in run.COLUMNS if name != "seconds"]
    assert len(table) == 2 * 3
    for number, rows in table.groupby("split"):
        split = Split.of("iris", number)
        path = sorct_path(
            split.X_train,
            split.y_train,
            depth=2,
            alphas_local=[0, 0.125, 1],
            alphas_global=0,
            n_solutions=1,
            min_recall=0.1,
            random_state=number,
            relax=False,
            **protocol.SETTING,
        )
        frame = path.evaluate(split.X_test, split.y_test)
        recall = frame.filter(like="recall_").min(axis=1)
        assert set(rows["method"]) == {"S-ORCT"}
        assert set(rows["dataset"]) == {"iris"}
        assert set(rows["depth"]) == {2}
        for name in ("alpha_local", "n_variables", "accuracy", "objective"):
            np.testing.assert_allclose(rows[name], frame[name], rtol=1e-5)
        np.testing.assert_allclose(rows["least_recall"], recall, rtol=1e-5)


@pytest.mark.slow
def test_rivals_and_selection_are_gathered(place):
    """One row per method; L1 logistic regression at every strength."""
    place.write("rivals", "rivals", n_splits=1)
    place.write("selection", "selection", n_splits=1)
    assert place.run("rivals", "selection", "--fit-only") == 0
    rivals, chosen = place.table("rivals"), place.table("selection")
    assert {"L1 logistic", "L1 logistic CV"} <= set(rivals["method"])
    assert chosen["method"].tolist() == ["S-ORCT", "S-ORCT 1-SE"]
    assert chosen["alpha_local"].isin([0, 0.125, 1]).all()
    assert chosen["accuracy"].between(0.5, 1.0).all()


def test_a_selection_is_the_classifiers(place):
    """Penalties, depth and accuracy of either rule."""
    place.write("selection", "selection", names=["wisconsin"], n_splits=1)
    assert place.run("selection", "--fit-only") == 0
    rows = place.table("selection").set_index("method")
    split = Split.of("wisconsin", 0)
    search = SORCTClassifierCV(
        depths=1,
        alphas_local=[0, 0.125, 1],
        n_solutions=1,
        min_recall=0.1,
        cv=protocol.StratifiedKFold(2, shuffle=True, random_state=0),
        random_state=0,
        relax=False,
        **protocol.SETTING,
    ).fit(split.X_train, split.y_train)
    for rule, method in (("best", "S-ORCT"), ("one-standard-error", "S-ORCT 1-SE")):
        tree = search.select(rule)
        assert rows["alpha_local"][method] == tree.training["alpha_local"]
        accuracy = (tree.predict(split.X_test) == split.y_test).mean()
        assert rows["accuracy"][method] == pytest.approx(accuracy, rel=1e-5)


def test_several_gammas_can_be_chosen_from(place):
    """The rules may choose differently; either row is of its own tree."""
    options = {"gamma": [1, 512], "min_recall": None}
    place.write("selection", "selection", n_splits=1, options=options)
    assert place.run("selection", "--fit-only") == 0
    assert len(place.table("selection")) == 2


def test_a_second_run_fits_nothing_and_changes_nothing(
    place, nothing_fits, monkeypatch
):
    """The table is the same to the last byte, seconds included."""
    with monkeypatch.context() as real:
        real.setitem(protocol.KINDS, "path", protocol.path_rows)
        assert place.write().run("local", "--fit-only") == 0
    file = place.results / "local.csv.gz"
    before = file.read_bytes()
    assert place.run("local", "--fit-only") == 0
    assert file.read_bytes() == before


def test_only_what_is_missing_is_fitted(place, monkeypatch):
    """And the table is that of an uninterrupted run."""
    assert place.write(n_splits=3).run("local", "--fit-only") == 0
    whole = place.table()
    assert [unit.name for unit in place.units] == [f"iris-{k}.csv" for k in range(3)]
    place.units[1].unlink()
    (place.results / "local.csv.gz").unlink()
    fitted = []

    def rows(dataset, number, options):
        fitted.append((dataset, number))
        return protocol.path_rows(dataset, number, options)

    monkeypatch.setitem(protocol.KINDS, "path", rows)
    assert place.run("local", "--fit-only") == 0
    assert fitted == [("iris", 1)]
    pd.testing.assert_frame_equal(place.table(), whole, check_exact=True)


# ``python -m experiments.run``, which shells make deaf to Ctrl-C in the background.
LISTENING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("experiments.run", run_name="__main__")
"""


#: Long enough for a signal to come before the end.
LONGER = {"n_solutions": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of an uninterrupted run over fifteen splits."""
    place = Place(tmp_path_factory.mktemp("whole")).write(n_splits=15, options=LONGER)
    assert place.run("local", "--fit-only") == 0
    return place.table()


@pytest.mark.slow  # as a process; units are missing in this one above
@pytest.mark.parametrize(
    "sent", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"]
)
def test_a_run_that_was_killed_goes_on(place, whole, sent):
    """Killed after its first unit, then run again: the uninterrupted table."""
    place.write(n_splits=15, options=LONGER)
    command = [sys.executable, "-c", LISTENING, *place.arguments("--fit-only")]
    with subprocess.Popen(
        [*command, "local"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        while not place.units and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(sent)
    assert 1 <= len(place.units) < 15
    assert not (place.results / "local.csv.gz").exists()
    kept = {unit: unit.read_bytes() for unit in place.units}
    assert place.run("local", "--fit-only") == 0
    assert all(unit.read_bytes() == text for unit, text in kept.items())
    assert len(place.units) == 15
    assert not list(place.results.rglob("*.part"))
    pd.testing.assert_frame_equal(place.table(), whole, check_exact=True)


class Threads(ThreadPoolExecutor):
    """In place of processes, each of which would import everything again."""

    def __init__(self, n_jobs, mp_context):
        super().__init__(n_jobs)


@pytest.mark.parametrize(
    "pool", [Threads, pytest.param(run.ProcessPoolExecutor, marks=pytest.mark.slow)]
)
def test_the_number_of_processes_changes_nothing(place, tmp_path, monkeypatch, pool):
    """Two processes write what one writes, in the same order."""
    monkeypatch.setattr(run, "ProcessPoolExecutor", pool)
    names = ["iris", "wine"]
    assert place.write(names=names, n_splits=1).run("local", "--fit-only") == 0
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other").write(names=names, n_splits=1)
    assert other.run("local", "--fit-only", "--n-jobs=2") == 0
    pd.testing.assert_frame_equal(place.table(), other.table(), check_exact=True)


def test_another_config_is_fitted_anew(place):
    """Rows of other options are never taken for these."""
    assert place.write(n_splits=1).run("local", "--fit-only") == 0
    assert (
        place.write(n_splits=1, options={"gamma": 64}).run("local", "--fit-only") == 0
    )
    assert len(place.units) == 2
    assert len({unit.parent for unit in place.units}) == 2
    one, other = (pd.read_csv(unit)["objective"].tolist() for unit in place.units)
    assert one != other


def test_fewer_data_sets_and_splits(place):
    """What the command line asks for is what is run."""
    place.write(names=["iris", "wine", "balance"], n_splits=5)
    arguments = ["--datasets", "wine", "iris", "--n-splits=1", "--fit-only"]
    assert place.run(*arguments[:3], *arguments[3:], "--", "local") == 0
    assert [unit.name for unit in place.units] == ["iris-0.csv", "wine-0.csv"]
    assert sorted(set(place.table()["dataset"])) == ["iris", "wine"]


def test_the_run_is_noted(place):
    """What was fitted, with which versions, on what."""
    assert place.write(n_splits=1).run("local", "--fit-only") == 0
    note = json.loads((place.results / "runs.json").read_text())["local"]
    assert note["units"] == note["units_fitted"] == 1
    assert note["config"]["alphas_local"] == [0, 0.125, 1]
    assert {"sorct", "numpy", "numba", "scikit-learn", "python"} <= set(note)
    before = (place.results / "runs.json").read_bytes()
    assert place.run("local", "--fit-only") == 0
    assert (place.results / "runs.json").read_bytes() == before


def note_of(place, part="local"):
    """What is noted of the run of a part."""
    return json.loads((place.results / "runs.json").read_text())[part]


def test_a_run_in_two_parts_is_noted_as_one(place):
    """Seconds and units add up; the key tells that it is the same run."""
    assert place.write(n_splits=3).run("local", "--fit-only", "--n-splits=1") == 0
    first = note_of(place)
    assert (first["units_fitted"], first["units"]) == (1, 1)
    assert place.run("local", "--fit-only") == 0
    both = note_of(place)
    assert both["key"] == first["key"] == Config.read("local", place.config).key
    assert (both["units_fitted"], both["units"]) == (3, 3)
    assert both["seconds"] >= first["seconds"]


def slow_rows(dataset, number, options):
    """Rows of a unit that takes a while."""
    time.sleep(0.2)
    return protocol.path_rows(dataset, number, options)


@pytest.mark.slow
@pytest.mark.a_few(1)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_run_is_noted_whole(place, monkeypatch, error):
    """What was spent before the interruption is not forgotten."""

    def rows(dataset, number, options):
        if number == 2:
            raise error
        return slow_rows(dataset, number, options)

    place.write(n_splits=3)
    monkeypatch.setitem(protocol.KINDS, "path", rows)
    with pytest.raises(error):
        place.run("local", "--fit-only")
    assert len(place.units) == 2
    monkeypatch.setitem(protocol.KINDS, "path", slow_rows)
    assert place.run("local", "--fit-only") == 0
    note = note_of(place)
    assert (note["units_fitted"], note["units"]) == (3, 3)
    assert note["seconds"] >= 0.6


def test_another_config_is_noted_anew(place):
    """Seconds of other options are not these."""
    assert place.write(n_splits=2).run("local", "--fit-only") == 0
    first = note_of(place)
    place.write(n_splits=2, options={"gamma": 64})
    assert place.run("local", "--fit-only", "--n-splits=1") == 0
    other = note_of(place)
    assert other["key"] != first["key"]
    assert (other["units_fitted"], other["units"]) == (1, 1)


def test_other_parts_notes_are_kept(place):
    """Each part has its own."""
    place.write("local", n_splits=1).write("global", n_splits=1)
    assert place.run("local", "--fit-only") == 0
    first = note_of(place)
    assert place.run("global", "--fit-only") == 0
    assert note_of(place) == first
    assert note_of(place, "global")["key"] != first["key"]


# -- drawing ---------------------------------------------------------------------------


@pytest.mark.slow
def test_drawing_fits_nothing(place, nothing_fits, monkeypatch):
    """Tables and figures come from what is there."""
    with monkeypatch.context() as real:
        real.setitem(protocol.KINDS, "path", protocol.path_rows)
        assert place.write(n_splits=1).run("local", "--fit-only") == 0
    assert not place.output.exists()
    before = {file: file.read_bytes() for file in place.results.rglob("*.*")}
    assert place.run("local", "--draw-only") == 0
    assert {file: file.read_bytes() for file in place.results.rglob("*.*")} == before
    assert (place.output / "local_depth2.md").exists()


@pytest.mark.slow
def test_drawing_needs_no_data(place, nothing_fits, tmp_path, monkeypatch):
    """Results may have come from another machine."""
    monkeypatch.setattr(
        run.datasets, "load", lambda name: pytest.fail("data were read")
    )
    place.results.mkdir()
    assert place.write(names=["iris"]).run("local", "--draw-only") == 0


def test_results_can_be_drawn_as_tables(place):
    """What the runner writes is what the tables read."""
    assert place.write(n_splits=2).run("local", "--fit-only") == 0
    results = tables.load_results(place.results)
    frame = tables.LOCAL_2.pick(results)
    assert len(frame) == 6
    assert frame["accuracy"].between(0.0, 100.0).all()


# -- odd requests ----------------------------------------------------------------------


def assert_refused(place, capsys, *arguments, words):
    """Check for exit code 2, one line on the error stream and nothing written."""
    before = sorted(place.config.parent.rglob("*"))
    assert place.run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("experiments: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert sorted(place.config.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": "red"}, ["local.toml", "unknown ['colour']"]),
        ({"kind": None}, ["local.toml", "missing keys ['kind']"]),
        ({"kind": "magic"}, ["kind must be one of", "'magic'"]),
        ({"datasets": ["iris", "irises"]}, ["unknown data sets ['irises']"]),
        ({"datasets": "iris"}, ["datasets must be of type list"]),
        ({"datasets": 5}, ["datasets"]),
        ({"datasets": []}, ["data set"]),
        ({"datasets": ["iris", "iris"]}, ["iris"]),
        ({"n_splits": 0}, ["n_splits must be a whole number >= 1, got 0"]),
        ({"n_splits": 1.5}, ["n_splits must be of type int", "1.5"]),
        ({"n_splits": True}, ["n_splits must be a whole number >= 1, got True"]),
        ({"n_splits": "two"}, ["n_splits must be of type int", "two"]),
        ({"options": {"alpha": 1}}, ["unknown options ['alpha']", "alphas_local"]),
        ({"options": {"n_folds": 3}}, ["unknown options ['n_folds']"]),
        ({"options": {"reference_level": "middle"}}, ['"first" or "last"', "'middle'"]),
        ({"options": {"reference_level": None}}, ["missing", "reference_level"]),
        ({"options": {"n_solutions": 0}}, ["n_solutions"]),
        ({"options": {"alphas_local": [-1]}}, ["alphas_local"]),
        ({"options": {"min_recall": 2}}, ["min_recall"]),
        ({"options": {"gamma": 0}}, ["gamma must be a finite number > 0, got 0"]),
        ({"options": {"gamma": "auto"}}, ["gamma", "'auto'"]),
        ({"kind": "rivals", "options": {"n_folds": None}}, ["n_folds"]),
        ({"kind": "selection", "options": {"n_folds": None}}, ["n_folds"]),
        ({"kind": "selection", "options": {"gamma": []}}, ["gamma", "one or several"]),
        ({"kind": "selection", "options": {"gamma": [1, 0]}}, ["gamma", "got 0"]),
    ],
    ids=str,
)
def test_odd_configs_are_refused(place, capsys, nothing_fits, changes, words):
    """Before the first fit; the line says what was expected."""
    assert_refused(place.write(**changes), capsys, "local", words=words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"kind = ", ["local.toml", "not TOML"]),
        (b"", ["local.toml", "missing keys"]),
        (b'kind = "\xff"', []),
        (b'kind = "path"\ndatasets = []\nn_splits = 1\noptions = 3', ["options"]),
    ],
)
def test_files_that_are_no_config_are_refused(place, capsys, nothing_fits, text, words):
    """Whatever they hold."""
    (place.config / "local.toml").write_bytes(text)
    assert_refused(place, capsys, "local", words=words)


@pytest.mark.parametrize("part", ["local", "loca", "../local"])
def test_parts_without_a_config_are_refused(place, capsys, nothing_fits, part):
    """By the file that is not there."""
    assert_refused(place, capsys, part, words=["no config file", f"{part}.toml"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--datasets", "wine", "--"], ["wine"]),
        (["--datasets", "irises", "--"], ["Unknown data sets ['irises']"]),
        (["--datasets", "iris", "irises", "wines", "--"], ["['irises', 'wines']"]),
        (["--n-splits=0"], ["n_splits must be a whole number >= 1, got 0"]),
        (["--n-splits=-1"], ["n_splits must be a whole number >= 1, got -1"]),
        (["--n-jobs=0"], ["jobs"]),
        (["--n-jobs=-2"], ["jobs"]),
    ],
    ids=str,
)
def test_odd_requests_are_refused(place, capsys, nothing_fits, arguments, words):
    """What cannot be run is said before anything is fitted."""
    assert_refused(place.write(), capsys, *arguments, "local", words=words)


@pytest.mark.parametrize(
    "results",
    [[], ["--results={folder}/results"], ["--results=results"]],
    ids=["default", "by name", "relative"],
)
@pytest.mark.parametrize("limits", [["--datasets=iris"], ["--n-splits=1"]], ids=str)
def test_fewer_results_do_not_replace_the_full_ones(
    place, capsys, nothing_fits, monkeypatch, tmp_path, limits, results
):
    """The folder of the full results takes no others; another must be named."""
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.chdir(tmp_path)
    place.write(names=["iris", "wine"])
    before = sorted(tmp_path.rglob("*"))
    folders = [text.format(folder=tmp_path) for text in results]
    arguments = [*limits, *folders, f"--config={place.config}", "--n-jobs=1", "local"]
    assert run.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("experiments: ")
    assert err.count("\n") == 1
    assert "--results" in err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_data_file_is_known_before_the_first_fit(
    place, capsys, nothing_fits, monkeypatch, tmp_path
):
    """Even if it is needed last."""
    monkeypatch.setenv("SORCT_DATA", "")
    (tmp_path / "data").mkdir()
    place.write(names=["iris", "monks-1"])
    arguments = [f"--data={tmp_path / 'data'}", "local"]
    assert_refused(place, capsys, *arguments, words=["monks-1.csv"])
    arguments = [f"--data={tmp_path / 'nowhere'}", "local"]
    assert_refused(place, capsys, *arguments, words=["nowhere"])


def test_one_odd_part_stops_all(place, capsys, nothing_fits):
    """Nothing of the first is fitted if the second cannot run."""
    place.write("local").write("global", n_splits=0)
    assert_refused(place, capsys, "local", "global", words=["global: n_splits"])


def test_the_configs_at_hand_are_good():
    """Every part has one, of the paper's ten splits."""
    for part in PARTS:
        config = Config.read(part)
        assert config.n_splits == 10
        assert len(config.units) == 10 * len(config.datasets)
        assert set(config.datasets) <= set(datasets.names())


def test_help_is_short_and_names_the_parts(capsys):
    """As a stranger would ask for it."""
    with pytest.raises(SystemExit) as told:
        run.main(["--help"])
    assert told.value.code == 0
    out = capsys.readouterr().out
    assert all(part in out for part in PARTS)
