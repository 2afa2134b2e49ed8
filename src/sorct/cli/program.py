"""Program: one run of the command line, from its words to its exit code.

``run`` turns whatever goes wrong into one line on standard error and an exit code: 0
done, 1 the work failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from sorct.cli import compiling
from sorct.cli.messages import (
    UsageError,
    WorkError,
    in_flags,
    one_line,
    say,
    warnings_as_lines,
)
from sorct.cli.parser import build_parser, check_flags, with_values

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
_TRACEBACK = "SORCT_TRACEBACK"


def run(argv: Sequence[str] | None, begin: Callable[[], object]) -> int:
    """Run the command line and return its exit code; see ``sorct.cli.main``.

    ``begin`` is called where an interrupt is answered here.
    """
    try:
        code = _obey(argv, begin)
        sys.stdout.flush()
    except OSError as error:
        # What is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # Whoever read has seen enough.
            return DONE
        say("error", f"Standard output: {error.strerror}.")
        return FAILED
    if code == INTERRUPTED and argv is None:
        # Threads still at work are not waited for.
        sys.stderr.flush()
        os._exit(code)
    return code


def _obey(argv: Sequence[str] | None, begin: Callable[[], object]) -> int:
    out = _Place(None)
    try:
        begin()
        _speak_utf8()
        words = list(sys.argv[1:] if argv is None else argv)
        parser = build_parser()
        check_flags(parser, words)
        args = parser.parse_args(with_values(words))
        if args.verb is None:
            raise UsageError(
                "a verb is missing, such as fit or show (see sorct --help)"
            )
        out = _Place(getattr(args, "out", None))
        args.call = shlex.join(["sorct", *words])
        with warnings_as_lines(args.quiet), compiling.told(args.quiet):
            _verb(args)
    except SystemExit as end:
        # What argparse does after --help and --version.
        return DONE if end.code is None else int(end.code)
    except UsageError as error:
        say("error", error)
        return MISUSED
    except KeyboardInterrupt:
        written = f"{out.name} was" if out.has_changed() else "nothing was"
        say("interrupted", f"{written} written.")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get(_TRACEBACK):
            raise
        say("error", _explained(error))
        return FAILED
    return DONE


class _Place:
    """A file that a verb may write, as it was before."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self._before = self._now()

    def has_changed(self) -> bool:
        """Whether another file is there now: a file is written whole or not at all."""
        return self._now() != self._before

    def _now(self) -> tuple[int, int] | None:
        if not self.name or not os.path.isfile(self.name):
            # What a device or a pipe has taken cannot be seen.
            return None
        found = os.stat(self.name)
        return found.st_ino, found.st_mtime_ns


def _verb(args: Namespace) -> None:
    from sorct.cli import comparing, training, verbs

    module = {"fit": training, "path": training, "compare": comparing}.get(
        args.verb, verbs
    )
    getattr(module, args.verb)(args)


def _explained(error: BaseException) -> str:
    """One line for whatever went wrong."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"There is no file {error.filename}."
    if isinstance(error, IsADirectoryError) and error.filename:
        return f"{error.filename} is a folder; expected a file."
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}."
    if isinstance(error, MemoryError):
        return f"Not enough memory. {error}"
    text = one_line(error) or type(error).__name__
    if isinstance(error, WorkError):
        return text
    if not isinstance(error, (ValueError, ImportError)):
        text = f"{type(error).__name__}: {text} ({_TRACEBACK}=1 shows where)"
    return in_flags(text)


def _speak_utf8() -> None:
    """Rules and tables are UTF-8, whatever the locale says."""
    if sys.stdout is None:
        # Closed by the shell.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        encoding = str(getattr(stream, "encoding", "") or "").lower().replace("-", "")
        if hasattr(stream, "reconfigure") and encoding != "utf8":
            stream.reconfigure(encoding="utf-8")
