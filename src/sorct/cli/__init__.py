"""The command line ``sorct``: a verb parses, calls one function, writes one file.

This file answers at once; the program and the libraries under it take a second or two
to load, and somebody who presses Ctrl-C in that time gets one line, not a traceback.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None
        Words after ``sorct``; None means those of the process.
    """
    return _program()(argv)


def _program() -> Callable[[Sequence[str] | None], int]:
    """The program; an interrupt while it loads ends the process with one line.

    Nothing has begun yet. A library that is being loaded may swallow an exception, so
    none is raised.
    """
    try:
        before = signal.signal(signal.SIGINT, _leave)
    except ValueError:  # only the main thread is interrupted
        before = None
    try:
        from sorct.cli.program import run
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    return run


def _leave(*_: Any) -> None:
    sys.stderr.write("sorct: interrupted: nothing was written.\n")
    sys.stderr.flush()
    os._exit(130)
