"""A few cases of every attack; ``make attack`` runs them at full size."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pandas as pd
import pytest

from sorct.data.categorical import Categorical
from sorct.data.encoder import TableEncoder
from sorct.data.missing import WithMissing
from tests.attacks.__main__ import SIZES, main, run
from tests.attacks.runners import Case
from tests.show.export.databases import postgresql

#: Cases that take half a second or so; ``make test-slow`` has twice as many.
FEW = {
    "bad_calls": 4,
    "bad_lines": 6,
    "mutations": 120,
    "exports": 2,
    "injection": 1,
    "signals": 1,
    "interrupts": 1,
    "writers": 1,
}


@pytest.mark.parametrize(
    ("name", "times"),
    [
        # The others need browsers, databases or processes.
        ("bad_lines", 1),
        ("mutations", 1),
        *(pytest.param(name, 2, marks=pytest.mark.slow) for name in SIZES),
    ],
)
def test_a_few_cases_of_every_attack_hold(name, times):
    """The failures say what was seen."""
    n_cases = times * FEW[name]
    outcome = run(name, seed=0, n_cases=n_cases)
    assert outcome.failures == []
    assert outcome.tried == outcome.held == n_cases


def test_exports_are_held_to_what_tensors_of_text_can_tell():
    """Empty text was a new level in one row, a missing cell in another, both ""."""
    assert run("exports", seed=0, n_cases=1, first=978).failures == []


@pytest.mark.parametrize("case", [1042, 4920])
def test_single_precision_is_refused_where_a_leaf_would_say_something_else(case):
    """A column at -1610 with a span of 0.02, one at -65129 with a span of 1.2."""
    outcome = run("exports", seed=0, n_cases=1, first=case)
    assert outcome.failures == []
    assert outcome.ends["onnx float32 refused"] == 1


def test_every_tree_of_a_forest_without_variables_counts_in_sql():
    """The query had what the first of its two trees says, and no more."""
    assert run("exports", seed=0, n_cases=1, first=1948).failures == []


def test_a_level_of_training_that_is_empty_stays_one():
    """Were such a tree not refused, the attack would see that it differs."""
    category = Categorical("v", ("", "a"), None, separate=True)
    for variable, cells in [
        (category, ["", "a", None]),
        (replace(category, levels=("a", "b")), [None, "a", None]),
    ]:
        encoder = TableEncoder((WithMissing(variable),), True, "other", "error")
        rows = pd.DataFrame({"v": pd.Series(["", "a", None], dtype=object)})
        case = Case(SimpleNamespace(encoder=encoder), rows)
        seen = case.in_tensors.rows["v"].tolist()
        assert [None if pd.isna(cell) else cell for cell in seen] == cells


def test_a_case_can_be_repeated_without_the_others(monkeypatch):
    """It draws the same, whatever came before."""
    drawn = []

    def attack(rng, n_cases):
        from tests.attacks.outcome import each_case

        return each_case(rng, n_cases, lambda case: drawn.append(case.random()))

    monkeypatch.setattr("tests.attacks.__main__.attack_named", lambda name: attack)
    run("mutations", seed=3, n_cases=300)
    run("mutations", seed=3, n_cases=1, first=270)
    assert drawn[270] == drawn[300]


def test_what_does_not_hold_is_told_with_how_to_repeat_it(monkeypatch, capsys):
    """Exit code 1, and a line to type."""

    def attack(rng, n_cases):
        from tests.attacks.outcome import each_case

        def check(case):
            assert case.random() < 0.5, "too large"
            return "small"

        return each_case(rng, n_cases, check)

    monkeypatch.setattr("tests.attacks.__main__.attack_named", lambda name: attack)
    assert main(["writers", "--cases", "40", "--seed", "5"]) == 1
    out = capsys.readouterr().out
    assert "AssertionError: too large" in out
    line = next(line for line in out.splitlines() if line.startswith("python -m"))
    words = line.split("  ")[0].removeprefix("python -m tests.attacks ").split()
    assert main(words) == 1
    assert main(["writers", "--cases", "1", "--seed", "0"]) in (0, 1)


def _server_folder(place, process):
    """Folder of the server that an attack has started; None if it ended without."""
    while process.poll() is None:
        for file in place.glob("sorct-pg-*/data/postmaster.pid"):
            if "ready" in file.read_text():
                return file.parents[1]
        time.sleep(0.05)
    return None


@pytest.mark.slow
def test_an_attack_that_is_ended_stops_its_server():
    """SIGTERM, as whoever runs out of time would send it."""
    with postgresql():
        pass  # skips where there is none
    with TemporaryDirectory(prefix="sorct-ended-") as folder:
        os.chmod(folder, 0o755)  # the server is run by another user
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.attacks", "exports", "--cases", "5000"],
            env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.DEVNULL,
        )
        server = _server_folder(Path(folder), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
        # It is removed after the server has stopped, and not if that fails.
        assert server is not None
        assert not server.exists()
