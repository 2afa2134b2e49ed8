"""Which tests are quick, and what tests of several rooms share.

Tests hold for any seed: try another with ``SORCT_TEST_SEED=7 pytest``. Of the cases of
a test the quick suite runs a third, spread over all; of tests marked ``a_few(n)`` n
cases, of tests marked ``every_value`` as many as every value needs to occur, of tests
marked ``every_case`` all. Of tests that need a browser or a server of a database it
runs those marked ``stands_for_all``.

Fixtures import what they need: the process that hands out tests to others reads this
file as well, and would load all libraries for nothing.
"""

from __future__ import annotations

import gc
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import numpy as np

    from tests.cases import Case


def cover(cases: list[set[object]]) -> list[bool]:
    """Whether each case is among a few that together hold all that any case holds.

    The case that adds most comes first; of equals, the first.
    """
    chosen = [False] * len(cases)
    missing = set().union(*cases)
    while missing:
        best = max(range(len(cases)), key=lambda k: len(cases[k] & missing))
        chosen[best] = True
        missing -= cases[best]
    return chosen


def spread(n_cases: int, n_chosen: int) -> list[bool]:
    """Whether each case is among so many that lie as far apart as they can.

    The first case and, unless it is alone, the last are among them.
    """
    last = max(n_cases - 1, 0)
    places = {round(k * last / max(n_chosen - 1, 1)) for k in range(n_chosen)}
    return [k in places for k in range(n_cases)]


def is_dear(item: pytest.Item) -> bool:
    """Whether a test opens pages in a browser or asks a server of a database."""
    fixtures = getattr(item, "fixturenames", ())
    params = item.callspec.params if hasattr(item, "callspec") else {}
    server = "server" in fixtures or params.get("database") == "postgresql"
    return "visit" in fixtures or server


def leave(items: list[pytest.Item], chosen: list[bool]) -> list[pytest.Item]:
    """Items that are chosen; the others are marked as slow."""
    for item, is_chosen in zip(items, chosen, strict=True):
        if not is_chosen:
            item.add_marker(pytest.mark.slow)
    return [item for item, is_chosen in zip(items, chosen, strict=True) if is_chosen]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the collector of garbage the modules and tests, which stay to the end.

    Otherwise it looks at all of them again and again. It comes less often afterwards,
    as fixtures of modules stay for long as well.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20)
        gc.enable()


def usual(n_cases: int) -> int:
    """How many of the cases of a test are quick: a third."""
    return math.ceil(n_cases / 3)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what repeats a promise that a quick test holds."""
    groups = defaultdict(list)
    for item in items:
        if is_dear(item) and not item.get_closest_marker("stands_for_all"):
            item.add_marker(pytest.mark.slow)
        if hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            groups[item.parent, item.originalname].append(item)
    for quick in groups.values():
        marked = quick[0].get_closest_marker
        if marked("every_value"):
            values = [set(enumerate(item.callspec._idlist)) for item in quick]
            quick = leave(quick, cover(values))
        if a_few := marked("a_few"):
            leave(quick, spread(len(quick), *a_few.args))
        elif not (marked("every_value") or marked("every_case")):
            leave(quick, spread(len(quick), usual(len(quick))))


@pytest.fixture(autouse=True)
def log_is_as_it_was() -> Iterator[None]:
    """The library leaves no trace in the settings of its log."""
    loggers = [logging.getLogger(name) for name in ("sorct", "sorct.experiments")]
    yield
    for logger in loggers:
        told = logger.level, logger.propagate, logger.disabled
        assert told == (logging.NOTSET, True, False), logger.name


@pytest.fixture
def rng() -> np.random.Generator:
    """Every test draws from its own stream."""
    from tests.cases import draw_stream

    return draw_stream()


@pytest.fixture
def draw_case(rng: np.random.Generator) -> Callable[..., Case]:
    """Draw a case from the stream of the test."""
    from tests.cases import draw_case

    return partial(draw_case, rng)


@pytest.fixture
def few_strengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the L1 rival of a comparison try five strengths in place of 25."""
    monkeypatch.setattr("sorct.estimators.compare.rivals._STRENGTHS", 5)


@pytest.fixture(scope="session")
def iris():
    """Load iris as a frame with named classes."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()


@pytest.fixture
def clouds(rng):
    """Draw two overlapping clouds."""
    import numpy as np

    y = np.arange(90) % 2
    return rng.normal(0.0, 1.0, (90, 3)) + 0.9 * y[:, np.newaxis], y
