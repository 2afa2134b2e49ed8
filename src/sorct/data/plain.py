"""Plain data: fields of an object read from JSON, checked one by one.

Every error is a ``ValueError`` that names the field; whoever reads a whole file says
which file it was.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from sorct._typing import FloatArray


def is_shallow(value: Any, depth: int = 8) -> bool:
    """Whether plain data are nested no deeper than so many levels."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return depth > 0 and all(is_shallow(one, depth - 1) for one in value)


def is_finite_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold; True is no number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def expect(condition: bool, message: str) -> None:
    """Raise the message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def field(data: dict[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    """Value of a key, which must be of a kind; True is no number."""
    value = data.get(key)
    good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    expect(good, f"{key!r} is missing or of the wrong type")
    return value


def number(data: dict[str, Any], key: str) -> float:
    """Finite number of a key."""
    value = field(data, key, (int, float))
    try:
        finite = bool(np.isfinite(float(value)))
    except OverflowError:
        finite = False
    expect(finite, f"{key!r} must be a finite number")
    return float(value)


def numbers(
    data: dict[str, Any], key: str, shape: tuple[int | None, ...]
) -> FloatArray:
    """Finite numbers of a key as an array of a shape; None means any size."""
    try:
        array = np.array(field(data, key, list), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{key!r} must hold numbers") from error
    right = array.ndim == len(shape) and all(
        want is None or got == want
        for got, want in zip(array.shape, shape, strict=True)
    )
    expect(right, f"{key!r} has shape {array.shape}, expected {shape}")
    expect(bool(np.isfinite(array).all()), f"{key!r} must be finite")
    return array
