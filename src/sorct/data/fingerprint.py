"""Fingerprint: a short text that is the same for data that say the same."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def fingerprint(value: Any) -> str:
    """Text that tells data from all others, whatever memory they lie in."""
    found = hashlib.sha256()
    for part in _parts(value):
        # Lengths tell where parts end.
        found.update(b"%d:" % len(part))
        found.update(part)
    return found.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """What a value is and holds, piece by piece."""
    yield type(value).__name__.encode()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        for entry in value.items():
            yield from _parts(entry)
    elif isinstance(value, (tuple, list)):
        yield str(len(value)).encode()
        for one in value:
            yield from _parts(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _parts(getattr(value, one.name))
    elif value is None or isinstance(value, (bool, int, float, str, np.generic)):
        yield repr(value).encode()
    else:
        yield pickle.dumps(value)
