"""Warm up: have all compiled code ready before a clock starts."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from sorct.data.samples import TrainingSet
from sorct.problem.compilation import (
    call_apart,
    nothing_cached,
    start_helper,
    told_of_parts,
)
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import ExpectedCost
from sorct.problem.penalty import Penalty
from sorct.problem.problem import Problem
from sorct.solvers.descent import (
    forget_compiled,
    leaf_masses,
    prepare,
    prepare_evaluation,
)
from sorct.tree.params import Params
from sorct.tree.topology import Topology

logger = logging.getLogger("sorct")

# Functions that are compiled, one after the other; the last takes half of the time.
_N_PARTS = 60
# Seconds between two messages, at least.
_PAUSE = 1.0
# What the process does that compiles beside us, and the seconds that it may take.
_ELSEWHERE = "from sorct.search.warm_up import compile_evaluation as c; c()"
_PATIENCE = 300.0
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
        try:
            _evaluate_once()
        except Exception as error:
            # A full disk, a damaged or a locked file: code that does not load.
            forget_compiled(error)
            _evaluate_once()
    seconds = time.perf_counter() - begun
    if first_time:
        tell(f"compiled code ready after {seconds:.0f} s")
    return seconds


_WHAT = "compiling the kernels, once for this machine"


def _evaluate_once() -> None:
    """Have all that is compiled ready, and call it on the smallest problem."""
    problem, params = _smallest()
    sub, point = problem.subproblem(), problem.point(params)
    helper = start_helper(_ELSEWHERE) if nothing_cached() else None

    def wait() -> None:
        if helper is not None:
            with suppress(subprocess.TimeoutExpired):
                helper.wait(_PATIENCE)

    call_apart(prepare, problem.data.samples, sub, point, wait)
    leaf_masses(problem, params)


def compile_evaluation() -> None:
    """Compile, in a process that was started for it, what evaluates a tree."""
    problem, params = _smallest()
    sub, point = problem.subproblem(), problem.point(params)
    prepare_evaluation(problem.data.samples, sub, point)


def _smallest() -> tuple[Problem, Params]:
    """Two rows of two classes, and a cut between them."""
    codes = np.array([0, 1])
    data = TrainingSet.from_data(np.array([[0.0], [1.0]]), codes, np.ones(2), 2)
    problem = Problem(
        data,
        ExpectedCost(1.0 - np.eye(2)),
        Penalty.none(1),
        Constraint.none(2),
        Topology(1),
        32.0,
    )
    return problem, Params(np.ones((1, 1)), np.zeros(1), codes)
