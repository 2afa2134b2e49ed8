"""Random training problems, each with its slow truth and a random tree.

Tests hold for any seed: try another with ``SORCT_TEST_SEED=7 pytest``. Of tests marked
``every_value`` the quick suite runs only as many cases as every value needs to occur,
of tests marked ``a_few(n)`` only n cases, spread over all. Of tests that need a browser
or a server of a database it runs those marked ``stands_for_all``.
"""

import gc
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import ExpectedCost
from sorct.problem.penalty import Penalty, Strengths
from sorct.problem.problem import Problem
from sorct.tree.params import Params
from sorct.tree.topology import Topology
from tests.reference import Reference


class Case(NamedTuple):
    """A problem as the library and as the reference see it, and some tree for it."""

    problem: Problem
    truth: Reference
    tree: Params


def problem_of(truth: Reference) -> Problem:
    """Hand the library the reference's problem."""
    strengths = Strengths(truth.alpha_local, truth.alpha_global)
    return Problem(
        TrainingSet.from_data(truth.X, truth.y, truth.weight, truth.n_classes),
        ExpectedCost(truth.cost_matrix),
        Penalty.of(strengths, truth.X.shape[1], 2**truth.depth - 1),
        Constraint.min_recall(truth.floor),
        Topology(truth.depth),
        truth.gamma,
    )


def draw_tree(
    rng: np.random.Generator, n_features: int, n_classes: int, depth: int, sparse: bool
) -> Params:
    """Cuts through the middle of the samples; all classes present if they can be."""
    n_branches = 2**depth - 1
    coef = rng.uniform(-1.0, 1.0, (n_features, n_branches))
    if sparse:
        coef[rng.random(coef.shape) < 0.6] = 0.0
        coef[rng.permutation(n_features)[: n_features // 2]] = 0.0
    middle = coef.sum(axis=0) / (2 * n_features)
    threshold = middle + rng.uniform(-0.05, 0.05, n_branches)
    return Params(coef, threshold, rng.permutation(np.arange(2**depth) % n_classes))


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

    Otherwise it looks at all of them again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what repeats a promise that a quick test holds."""
    groups = defaultdict(list)
    for item in items:
        if is_dear(item) and not item.get_closest_marker("stands_for_all"):
            item.add_marker(pytest.mark.slow)
        if any(item.get_closest_marker(name) for name in ("every_value", "a_few")):
            groups[item.nodeid.split("[")[0]].append(item)
    for group in groups.values():
        quick = [item for item in group if not item.get_closest_marker("slow")]
        if group[0].get_closest_marker("every_value"):
            values = [set(enumerate(item.callspec._idlist)) for item in quick]
            quick = leave(quick, cover(values))
        if a_few := group[0].get_closest_marker("a_few"):
            leave(quick, spread(len(quick), *a_few.args))


@pytest.fixture(autouse=True)
def log_is_as_it_was() -> Iterator[None]:
    """The library leaves no trace in the settings of its log."""
    loggers = [logging.getLogger(name) for name in ("sorct", "sorct.experiments")]
    yield
    for logger in loggers:
        told = logger.level, logger.propagate, logger.disabled
        assert told == (logging.NOTSET, True, False), logger.name


def draw_stream() -> np.random.Generator:
    """A stream from its beginning; for fixtures that several tests share."""
    return np.random.default_rng(int(os.environ.get("SORCT_TEST_SEED", "0")))


@pytest.fixture
def rng() -> np.random.Generator:
    """Every test draws from its own stream."""
    return draw_stream()


@pytest.fixture
def draw_case(rng: np.random.Generator) -> Callable[..., Case]:
    """Draw a case; classes are shifted clouds, so that cuts have something to find."""

    def draw(
        n: int = 120,
        n_features: int = 4,
        n_classes: int = 2,
        depth: int = 2,
        gamma: float = 64.0,
        sparse: bool = False,
        **fields: object,
    ) -> Case:
        y = rng.permutation(np.arange(n) % n_classes)
        shift = rng.uniform(-0.3, 0.3, (n_classes, n_features))
        X = np.clip(0.5 + shift[y] + rng.normal(0.0, 0.15, (n, n_features)), 0.0, 1.0)
        costs = rng.uniform(0.5, 1.5, (n_classes, n_classes))
        truth = Reference(
            X=X,
            y=y,
            weight=rng.uniform(0.5, 2.0, n),
            cost_matrix=costs * (1.0 - np.eye(n_classes)),
            floor=np.zeros(n_classes),
            depth=depth,
            gamma=gamma,
        )
        truth = replace(truth, **fields)
        tree = draw_tree(rng, n_features, n_classes, depth, sparse)
        return Case(problem_of(truth), truth, tree)

    return draw


@pytest.fixture
def few_strengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the L1 rival of a comparison try five strengths in place of 25."""
    monkeypatch.setattr("sorct.estimators.compare.rivals._STRENGTHS", 5)


@pytest.fixture(scope="session")
def iris():
    """Load iris as a frame with named classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()


@pytest.fixture
def clouds(rng):
    """Draw two overlapping clouds."""
    y = np.arange(90) % 2
    return rng.normal(0.0, 1.0, (90, 3)) + 0.9 * y[:, np.newaxis], y
