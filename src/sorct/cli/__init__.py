"""The command line ``sorct``: a verb parses, calls one function, writes one file.

This file answers at once; the program and the libraries under it take a second or two
to load, and somebody who presses Ctrl-C in that time gets one line, not a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None
        Words after ``sorct``; None means those of the process.
    """
    with _leaving_at_once():
        from sorct.cli.program import run
    return run(argv)


@contextmanager
def _leaving_at_once() -> Iterator[None]:
    """Let an interrupt end the process with one line: nothing has begun yet.

    A library that is being loaded may swallow an exception, so none is raised.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(*_: Any) -> None:
    sys.stderr.write("sorct: interrupted: nothing was written.\n")
    sys.stderr.flush()
    os._exit(130)
