"""The command line ``sorct``: a verb parses, calls one function, writes one file.

This file answers at once; the program and the libraries under it take a second or two
to load, and somebody who presses Ctrl-C in that time gets one line, not a traceback.
Until the handler is set, only what Python has loaded anyway is used: ``_signal`` in
place of ``signal``, and annotations as text in place of those of ``__future__``.
"""

import _signal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["main"]


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None
        Words after ``sorct``; None means those of the process.
    """
    restore = _answer_interrupts()
    try:
        from sorct.cli.program import run
    except BaseException:
        restore()
        raise
    return run(argv, restore)


def _answer_interrupts() -> "Callable[[], object]":
    """Let an interrupt end the process with one line; returns what takes that back.

    Nothing has begun yet. A library that is being loaded may swallow an exception, so
    none is raised.
    """
    before = _signal.getsignal(_signal.SIGINT)
    if before in (None, _signal.SIG_IGN):
        # Work in the background, which the keyboard of others must not end.
        return bool
    try:
        _signal.signal(_signal.SIGINT, _leave)
    except ValueError:  # only the main thread is interrupted
        return bool
    return lambda: _signal.signal(_signal.SIGINT, before)


def _leave(*_: "Any") -> None:
    sys.stderr.write("sorct: interrupted: nothing was written.\n")
    sys.stderr.flush()
    os._exit(130)
