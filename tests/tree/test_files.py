"""Files are written whole or not at all, by any number of writers at once."""

import json
import os
import re
import subprocess
import sys
from threading import Thread

import pytest

from sorct.tree import files
from sorct.tree.files import read_json, write_json, write_text

LONG = {"values": list(range(20_000))}


def dead_process():
    """Number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def partial_of(folder, name, pid):
    """Leave behind what a writer with a process number would, if it were killed."""
    with files.replacing(folder / name) as partial:
        partial.write_text("{}")
        left = partial.name.replace(f"-{os.getpid()}-", f"-{pid}-")
    (folder / name).unlink()
    (folder / left).write_text("half")
    return left


@pytest.mark.parametrize("times", [8, pytest.param(25, marks=pytest.mark.slow)])
def test_many_writers_and_readers_of_one_file_never_meet_half_of_it(tmp_path, times):
    """Nobody fails, and whoever reads sees a whole document."""
    path, errors = tmp_path / "model.json", []
    write_json(LONG, path)

    def work():
        try:
            for _ in range(times):
                write_json(LONG, path)
                assert read_json(path, "model") == LONG
        except Exception as error:
            errors.append(error)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert os.listdir(tmp_path) == ["model.json"]


def test_what_a_killed_writer_left_is_taken_away(tmp_path):
    """By the next writer of the same file; what others are writing stays."""
    dead = partial_of(tmp_path, "model.json", dead_process())
    alive = partial_of(tmp_path, "model.json", os.getppid())
    other = partial_of(tmp_path, "other.json", dead_process())
    write_json({}, tmp_path / "model.json")
    assert dead not in os.listdir(tmp_path)
    assert {alive, other, "model.json"} <= set(os.listdir(tmp_path))


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "model [1] (*).json"])
def test_any_name_that_the_disk_takes_is_good(tmp_path, name):
    """Names of the longest kind and signs that mean something in patterns."""
    write_json({"a": 1}, tmp_path / name)
    assert json.loads((tmp_path / name).read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == [name]


def test_the_file_is_for_whom_new_files_are(tmp_path):
    """Its rights are those of any new file, not of a private one."""
    write_json({}, tmp_path / "ours")
    (tmp_path / "plain").write_text("")
    ours, plain = ((tmp_path / n).stat().st_mode for n in ("ours", "plain"))
    assert ours == plain


def test_a_place_that_cannot_be_written_to_is_named_as_it_was_given(tmp_path):
    """And not by the name of the file that is written first."""
    with pytest.raises(
        IsADirectoryError, match=f"a folder: {re.escape(str(tmp_path))}$"
    ):
        write_text("", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere to write to"):
        write_text("", tmp_path / "nowhere" / "tree.json")
