"""Workers: threads that end with whoever asked for them, however that ends."""

from functools import partial
from threading import current_thread

import numpy as np
import pytest

from sorct.problem.compilation import call_apart
from sorct.search.workers import Workers, run_apart


class Interrupted:
    """A queue into which nobody can put anything any more."""

    def put(self, _task):
        """Ctrl-C, at the worst moment."""
        raise KeyboardInterrupt

    def get(self, timeout):
        """Nothing: what was put before is elsewhere."""
        raise AssertionError("a thread that should have ended asks for work")


def test_threads_end_though_leaving_is_interrupted():
    """Nobody can tell them, so they look."""
    stop = np.zeros(1, dtype=np.int64)
    workers = Workers(3, stop)
    with pytest.raises(KeyboardInterrupt), workers:  # noqa: PT012
        assert list(workers.run([partial(pow, 2, k) for k in range(5)]))[-1] == 16
        workers._calls = Interrupted()
    assert stop[0] == 1
    for thread in workers._threads:
        thread.join(30.0)
        assert not thread.is_alive()


def test_threads_end_if_starting_them_is_interrupted(monkeypatch):
    """Those that had started."""
    workers = Workers(3)

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(workers._threads[2], "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        workers.__enter__()
    for thread in workers._threads[:2]:
        thread.join(30.0)
        assert not thread.is_alive()


def test_calls_are_made_when_threads_are_free():
    """However many there are: the next is asked for when one is done."""
    asked = []

    def calls():
        for k in range(1000):
            asked.append(k)
            yield partial(abs, k)

    with Workers(2) as workers:
        results = workers.run(calls())
        assert [next(results) for _ in range(10)] == list(range(10))
        assert len(asked) <= 10 + 3


@pytest.mark.every_case
@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_what_a_call_raises_is_raised_to_whoever_asked(kind):
    """Whatever it is: nobody waits for a thread that has ended."""
    workers = Workers(2)

    def fails():
        raise kind("on purpose")

    with pytest.raises(kind, match="on purpose"), workers:
        list(workers.run([partial(abs, -1), fails, partial(abs, -2)]))
    assert not any(thread.is_alive() for thread in workers._threads)


def test_a_call_runs_apart_with_all_that_it_calls():
    """One thread for all of it: compiled code needs none of its own there."""
    stop, threads = np.zeros(1, dtype=np.int64), []

    def call():
        threads.append(current_thread())
        call_apart(lambda: threads.append(current_thread()))
        return stop[0]

    assert run_apart(call, stop) == 0
    assert stop[0] == 1
    assert threads[0] is threads[1] is not current_thread()


def test_what_runs_apart_may_raise():
    """To whoever waits for it."""
    with pytest.raises(ZeroDivisionError):
        run_apart(partial(divmod, 1, 0), np.zeros(1, dtype=np.int64))
