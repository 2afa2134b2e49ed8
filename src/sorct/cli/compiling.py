"""Compiling: the one long wait of a first run, told on standard error as it goes on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sorct.cli.messages import say


class _Teller(logging.Handler):
    """Prints what the library logs: on a terminal in one line that is renewed."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._renewed = False

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, over the last one if that was one of progress."""
        progress = record.levelno == logging.INFO
        if not progress:
            self.end_line()
            say("note", record.getMessage())
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\033[Ksorct: note: {record.getMessage()}")
            sys.stderr.flush()
            self._renewed = True

    def end_line(self) -> None:
        """Leave the line that was renewed as it is."""
        if self._renewed:
            sys.stderr.write("\n")
        self._renewed = False


@contextmanager
def told(quiet: bool) -> Iterator[None]:
    """Print the library's log on standard error while something runs."""
    logger, teller = logging.getLogger("sorct"), _Teller()
    before = logger.level, logger.propagate
    if not quiet:
        logger.addHandler(teller)
    logger.setLevel(logging.ERROR if quiet else logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        teller.end_line()
        logger.removeHandler(teller)
        logger.setLevel(before[0])
        logger.propagate = before[1]
