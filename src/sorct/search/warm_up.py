"""Warm up: have all compiled code ready before a clock starts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from sorct.problem.compilation import (
    compiled_beside,
    empty_cache,
    nothing_cached,
    told_of_parts,
    without_collection,
)
from sorct.problem.evaluation import evaluation_address, smallest
from sorct.solvers.descent import forget_compiled, gradient_at

logger = logging.getLogger("sorct")

# Functions that this process compiles, one after the other; the last takes longest.
_N_PARTS = 46
# Seconds between two messages, at least.
_PAUSE = 1.0
_ready: list[float] = []


def warm_up(tell: Callable[[str], None] | None = None) -> float:
    """Compile what is not on disk yet, load the rest; return the seconds it took.

    Parameters
    ----------
    tell : callable or None
        Called about every second of a first compilation with a line for people, such as
        "compiling the kernels, once for this machine: part 20 of 60, 4 s". Without it
        the same lines go to the logger ``sorct`` at level INFO. Nothing is said where
        the code is on disk, which loads in less than a second.
    """
    if not _ready:
        _ready.append(_compile(tell or logger.info))
    return _ready[0]


def _compile(tell: Callable[[str], None]) -> float:
    begun, said = time.perf_counter(), 0.0

    def part_done(n_parts: int) -> None:
        nonlocal said
        seconds = time.perf_counter() - begun
        if seconds >= said + _PAUSE:
            said = seconds
            part = f"part {min(n_parts + 1, _N_PARTS)} of {_N_PARTS}"
            tell(f"{_WHAT}: {part}, {seconds:.0f} s")

    first_time = nothing_cached()
    if first_time and tell == logger.info:
        # A dozen seconds of silence would look like a hang: say it to everybody.
        logger.warning("%s and version; this takes some seconds.", _WHAT)
    elif first_time:
        tell(f"{_WHAT} ...")
    with told_of_parts(part_done):
        _compile_or_load()
    seconds = time.perf_counter() - begun
    if first_time:
        tell(f"compiled code ready after {seconds:.0f} s")
    return seconds


def _compile_or_load(may_empty: bool = True) -> None:
    """Make compiled code ready, whatever state the cache on disk is in."""
    try:
        _make_ready()
    except Exception as error:
        # A full disk or a locked file is an OSError: nothing can be kept on disk. Any
        # other error means that a file was damaged, and writing it anew helps.
        if may_empty and not isinstance(error, OSError):
            empty_cache(error)
            _compile_or_load(may_empty=False)
        else:
            forget_compiled(error)
            _evaluate_once()


def _make_ready() -> None:
    if nothing_cached():
        _compile_two_parts()
    _evaluate_once()


_DESCENT = """
from sorct.problem.compilation import without_collection
from sorct.solvers.descent import compile_descent

with without_collection():
    compile_descent()
"""
_WHAT = "compiling the kernels, once for this machine"


def _compile_two_parts() -> None:
    """Compile evaluation and descent at the same time: each is half of the work."""
    with compiled_beside(_DESCENT), without_collection():
        evaluation_address()


def _evaluate_once() -> None:
    """Call the one compiled entry on the smallest problem."""
    gradient_at(*smallest())
