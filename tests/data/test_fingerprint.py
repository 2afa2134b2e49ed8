"""Fingerprints: the same for the same data, and for nothing else."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from sorct.data.fingerprint import fingerprint


@dataclass(frozen=True)
class Held:
    """Data in fields."""

    one: Any
    two: Any


class Pair(NamedTuple):
    """Data by place."""

    one: Any
    two: Any


def test_memory_does_not_matter():
    """Order in memory, views and copies."""
    table = np.arange(6.0).reshape(2, 3)
    same = table.copy(), np.asfortranarray(table), np.vstack([table, table])[:2]
    assert len({fingerprint(Held(one, {"a": (1, None)})) for one in same}) == 1


@pytest.mark.parametrize(
    "others",
    [
        (np.zeros(2), np.zeros((2, 1)), np.zeros(2, dtype=np.int64), np.zeros(3)),
        (np.zeros(2), np.array([0.0, -0.0]), np.array([0.0, 5e-324])),
        ([1, 2], (1, 2), ["1", 2], [12], [1, [2]], [[1], 2]),
        ({"a": 1}, {"b": 1}, {"a": 1.0}, {"a": True}, {}, None),
        (Held(1, 2), Held(2, 1), Pair(1, 2), Held(Held(1, 2), 2), Held(1, Held(2, 2))),
        (["ab", "c"], ["a", "bc"], ["abc", ""]),
        (np.array(["a"], dtype=object), np.array(["b"], dtype=object)),
    ],
)
def test_other_data_have_another(others):
    """Types, shapes, places and the last bit count."""
    assert len({fingerprint(one) for one in others}) == len(others)
