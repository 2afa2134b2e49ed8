"""Threads that work for a search, and the clock that stops them.

Compiled code holds no lock, so threads suffice. They are our own and not those of a
pool: an interrupt while a pool takes a task leaves it locked, and one while it starts
leaves threads that the interpreter waits for at its end. Even a single job runs in a
thread of its own, so that the calling thread can be interrupted and compiled code can
be told to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Thread, Timer, current_thread
from typing import TypeVar

from joblib import effective_n_jobs

from sorct._typing import IntArray

Result = TypeVar("Result")
Call = Callable[[], Result]
# Number of a call, its result, and what it raised.
_Outcome = tuple[int, object, BaseException | None]


# Seconds after which an idle thread looks whether it is still needed.
_LOOK = 1.0


class Workers:
    """A fixed number of threads; use as a context.

    Parameters
    ----------
    n_jobs : int or None, as in joblib
    stops : arrays of one integer
        Set on the way out, so that nothing goes on without the caller.
    """

    def __init__(self, n_jobs: int | None, *stops: IntArray) -> None:
        self._threads = [
            Thread(target=self._work, daemon=True)
            for _ in range(effective_n_jobs(n_jobs))
        ]
        self._stops = stops
        self._closed = False
        self._calls: SimpleQueue[tuple[int, Call[object]] | None] = SimpleQueue()
        self._done: SimpleQueue[_Outcome] = SimpleQueue()

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return len(self._threads)

    def __enter__(self) -> Workers:
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()
        for thread in self._threads:
            thread.join()

    def _close(self) -> None:
        """Tell all threads to end; if that is interrupted, ``_closed`` tells them."""
        self._closed = True
        for stop in self._stops:
            stop[0] = 1
        for _ in self._threads:
            self._calls.put(None)

    def run(self, calls: Iterable[Call[Result]]) -> Iterator[Result]:
        """Results of the calls, in their order; an error is raised in its turn.

        Calls are made when threads are free for them, so there may be any number. A
        call may make calls of its own: they run in its own thread, one by one.
        """
        if current_thread() in self._threads:
            for call in calls:
                yield call()
            return
        waiting = enumerate(calls)
        early: dict[int, tuple[object, BaseException | None]] = {}
        n_given = sum(self._give(waiting) for _ in range(self.n_threads + 1))
        n_taken = 0
        while n_taken < n_given:
            while n_taken not in early:
                number, result, error = self._done.get()
                early[number] = (result, error)
                n_given += self._give(waiting)
            result, error = early.pop(n_taken)
            n_taken += 1
            if error is not None:
                raise error
            yield result  # type: ignore[misc]

    def _give(self, waiting: Iterator[tuple[int, Call[object]]]) -> int:
        """Hand the next call to the threads; tell how many that was."""
        for task in waiting:
            self._calls.put(task)
            return 1
        return 0

    def _work(self) -> None:
        while (task := self._next()) is not None:
            k, call = task
            try:
                self._done.put((k, call(), None))
            except BaseException as error:
                # Also a SystemExit: whoever waits for this call would wait for ever.
                self._done.put((k, None, error))

    def _next(self) -> tuple[int, Call[object]] | None:
        """The next task; None when there will be no more."""
        while True:
            try:
                return self._calls.get(timeout=_LOOK)
            except Empty:
                # ``_close`` may have been interrupted before it put a None for us.
                if self._closed:
                    return None


def run_apart(call: Call[Result], stop: IntArray) -> Result:
    """Result of a call that runs in a thread of its own, as a whole.

    Compiled code that the main thread calls gets a thread each time; within this one
    it is called as it is. ``stop`` is set when the call is over or was interrupted.
    """
    with Workers(1, stop) as workers:
        return next(workers.run([call]))


@contextmanager
def deadline(seconds: float | None, stop: IntArray) -> Iterator[None]:
    """Set ``stop`` when the time is over."""
    if seconds is not None and seconds <= 0.0:
        stop[0] = 1
    if seconds is None or stop[0] != 0:
        yield
        return
    timer = Timer(min(max(seconds, 0.0), TIMEOUT_MAX), stop.fill, args=(1,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
