"""Wording: names that come from users, made fit to be shown in one line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def printable(name: Any) -> str:
    """A name on one line, control characters escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def listed(values: Iterable[Any], most: int = 10) -> str:
    """Values in quotes, and how many more there are."""
    values = list(values)
    shown = ", ".join(repr(value) for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")
