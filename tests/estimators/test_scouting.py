"""Scouting: what is told of greedy trees before a path is traced."""

import numpy as np
import pytest

from sorct.data.options import TableOptions
from sorct.data.target import Classes
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model
from sorct.estimators.folds import PathTask
from sorct.estimators.rows import Data
from sorct.estimators.scouting import _Scout


def task_of(y, **options):
    """Paths of depth 2 by the likelihood."""
    table = TableOptions(scaling="minmax")
    model = Model(2, loss="log", preselect="greedy", table=table, **options)
    return PathTask(
        model, Classes(np.unique(y)), None, None, 2, Effort(random_state=0), ""
    )


@pytest.fixture
def corner(rng):
    """One in twelve rows is of the rare class, in a corner of two columns."""
    X = rng.random((400, 3))
    return X, ((X[:, 0] > 0.7) & (X[:, 1] > 0.7)).astype(int)


def test_rows_count_by_their_weights_and_those_of_their_classes(corner):
    """As they do in the scores that a greedy tree is compared with."""
    X, y = corner
    share = y.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    plain = _Scout.of(task_of(y), Data(X, y, None), 5)
    assert plain.empty == pytest.approx(-entropy)
    balanced = _Scout.of(task_of(y, class_weight="balanced"), Data(X, y, None), 5)
    factor = len(y) / (2.0 * np.bincount(y))
    weighted = _Scout.of(task_of(y), Data(X, y, factor[y]), 5)
    for one in (balanced, weighted):
        assert one.empty == pytest.approx(-np.log(2.0))
        assert one.value == pytest.approx(balanced.value)


def test_weight_2_is_the_row_twice(corner):
    """Also in what a cut costs."""
    X, y = corner
    rows = np.append(np.arange(400), np.arange(0, 400, 3))
    weight = 1.0 + (np.arange(400) % 3 == 0)
    one = _Scout.of(task_of(y), Data(X, y, weight), 5)
    two = _Scout.of(task_of(y), Data(X[rows], y[rows], None), 5)
    assert one == pytest.approx(two)


def test_what_is_near_is_told_by_what_there_is_to_gain():
    """A share of it, and not more."""
    assert _Scout(-0.31, -0.5).comes_near(-0.30, 0.06)
    assert not _Scout(-0.31, -0.5).comes_near(-0.30, 0.04)
