"""Progress: a bar for long work, drawn by rich on standard error when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    label: str, total: int, *, shown: bool
) -> Iterator[Callable[[], None]]:
    """Bar with the time left; yields a function to call after every step."""
    if not shown:
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress, TimeElapsedColumn
    except ImportError as error:
        raise ImportError(
            "progress=True needs the package rich; install it with "
            'pip install "sorct[progress]".'
        ) from error
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda: progress.advance(task)
