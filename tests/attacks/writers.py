"""Writers: many threads and processes write and read one file, and some are killed.

Whoever reads sees a whole document of one writer; in the end there is the file, and
what the killed left is taken away by the next writer.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from sorct.tree import files
from sorct.tree.files import read_json, write_json
from tests.attacks.outcome import each_case

_SIZE = 30_000
_MODULE = files.__file__
# The module alone, without what the package loads.
_WRITER = """
import runpy, sys
write_bytes = runpy.run_path(sys.argv[4])["write_bytes"]
name, mark, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
content = f'{{"mark": {mark}, "values": {[mark] * size}}}'.encode()
print("begun", flush=True)
while True:
    write_bytes(content, name)
"""


def attack(rng, n_cases):
    """Let writers and readers loose on one file, and kill some."""
    return each_case(rng, n_cases, _check)


def _check(rng):
    with TemporaryDirectory(prefix="sorct-writers-") as folder:
        file = Path(folder) / "model [1].json"
        write_json({"mark": 0, "values": [0] * _SIZE}, file)
        processes = [_started(file, mark) for mark in range(1, 3)]
        errors = []
        threads = [
            Thread(target=_thread, args=(file, mark, errors)) for mark in range(3, 6)
        ]
        for thread in threads:
            thread.start()
        try:
            for process in processes:
                time.sleep(float(rng.uniform(0.0, 0.15)))
                process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM]))
        finally:
            for process in processes:
                process.kill()
                process.communicate()
            for thread in threads:
                thread.join()
        assert not errors, errors[0]
        _whole(file)
        left = sorted(set(os.listdir(folder)) - {file.name})
        assert len(left) <= len(processes), f"left behind: {left}"
        write_json({"mark": 9, "values": [9] * _SIZE}, file)
        assert os.listdir(folder) == [file.name], f"not cleaned: {os.listdir(folder)}"
        return "left something" if left else "left nothing"


def _started(file, mark):
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(file), str(mark), str(_SIZE), _MODULE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdout.readline()
    return process


def _thread(file, mark, errors):
    """Write and read by turns."""
    try:
        for _ in range(8):
            write_json({"mark": mark, "values": [mark] * _SIZE}, file)
            _whole(file)
    except Exception as error:
        errors.append(error)


def _whole(file):
    found = read_json(file, "model")
    assert found["values"] == [found["mark"]] * _SIZE, "parts of two writers"
    json.dumps(found)
