"""Call: how a tree was asked for, as text, and with which versions.

Options at their defaults are left out, and so are the data and what cannot change the
tree: threads and progress bars.
"""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

_LEFT_OUT = {"X", "y", "sample_weight", "n_jobs", "progress", "callback"}
# A value whose text is longer is told by its type.
_LONGEST = 300
_PACKAGES = ("sorct", "numpy", "scikit-learn", "numba")


def call_text(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Call of a function or class with the options given, such as "f(depth=2)"."""
    options = inspect.signature(function).parameters
    parts = [
        f"{name}={_value_text(given[name])}"
        for name, option in options.items()
        if name in given and name not in _LEFT_OUT
        if _value_text(given[name]) != _value_text(option.default)
    ]
    return f"{function.__name__}({', '.join(parts)})"


def _value_text(value: Any) -> str:
    """A value as one would write it; an object whose text names an address, by type."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    text = " ".join(repr(value).split())
    if " at 0x" in text or len(text) > _LONGEST:
        return f"<{type(value).__name__}>"
    return text


def versions() -> dict[str, str]:
    """Version of Python and of the packages that training rests on."""
    names = {name: _version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **names}


@cache
def _version(package: str) -> str:
    """Version of a package; asked once, since finding it reads files."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
