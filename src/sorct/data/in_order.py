"""In order: work on many items by several threads, with results in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")
Item = TypeVar("Item")


def in_order(
    work: Callable[[Item], Found], items: Iterable[Item], n_threads: int
) -> Iterator[Found]:
    """Work on items by several threads; few items are held at a time.

    One thread is the caller's own.
    """
    if n_threads == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Found]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def sum_of(results: Iterable[Any]) -> Any:
    """Add results in the order given, without those that are None; None if all are."""
    total = None
    for result in results:
        if result is None:
            continue
        total = result if total is None else total + result
    return total
