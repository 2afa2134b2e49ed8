"""Bars: progress on standard error, if that is a terminal and rich is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

Update = Callable[[int, int | None], None]


def are_shown(quiet: bool) -> bool:
    """Whether bars can be drawn and are wanted."""
    return not quiet and sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def bar(label: str, *, shown: bool) -> Iterator[Update]:
    """Bar that is told how much is done, and of how much if that is known."""
    if not shown:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = (
        *Progress.get_default_columns(),
        TimeElapsedColumn(),
        TextColumn("{task.completed}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
