"""The compiled evaluation of a tree: what a descent asks of a problem.

It is half of all compiled code. Descents call it by its address, so that the two are
compiled apart from each other, at the same time (``search/warm_up.py``).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from numba import float64, int64, typeof

from sorct._typing import IntArray
from sorct.data.samples import Samples, TrainingSet
from sorct.problem.by_address import loader, n_words, storer
from sorct.problem.compilation import (
    address_of,
    call_apart,
    compiled,
    compiled_callee,
    entry_of,
)
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import ExpectedCost
from sorct.problem.kernels import make_buffers
from sorct.problem.labels import make_labelling
from sorct.problem.penalty import Penalty
from sorct.problem.problem import Problem
from sorct.problem.subproblem import Point, Subproblem, evaluate, renew_leaves
from sorct.tree.params import Params
from sorct.tree.topology import Topology

#: What can be asked: VALUE computes the objective and the masses of the trial, GRADIENT
#: its gradient as well. RENEW improves the leaves of the point, whose cuts must be
#: those that were evaluated last, and answers whether any leaf has changed. FORGET
#: makes the memory as it was at first, for another start.
VALUE, GRADIENT, RENEW, FORGET = 0, 1, 2, 3

#: Samples without rows, for tables that come in parts: whoever reads the parts puts the
#: sums over their rows into the buffers.
NO_ROWS = Samples(
    np.zeros(0),
    np.zeros(0),
    np.zeros(1, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    np.zeros(0),
    0,
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
)


def never() -> IntArray:
    """Return a ``stop`` that nobody sets."""
    return np.zeros(1, dtype=np.int64)


class Evaluator:
    """A subproblem on its samples, ready to be asked by compiled code.

    Parameters
    ----------
    samples : Samples
        ``NO_ROWS`` where ``buffers`` are filled from elsewhere.
    sub : Subproblem
    point, trial : Point
        The tree of the moment, whose leaves are renewed, and the one to be evaluated.
    stop : array of one integer
        Another thread sets it to 1 when time is up.

    Attributes
    ----------
    buffers : Buffers
        Masses and gradients of the last evaluation.
    renewed : array of shape (n_codes,)
        Multipliers after it; before it, those that are positive mark the codes whose
        mean rewards get gradients of their own.
    """

    def __init__(
        self,
        samples: Samples,
        sub: Subproblem,
        point: Point,
        trial: Point,
        stop: IntArray,
    ) -> None:
        n_leaves, n_codes = point.label.size, sub.floors.floor.size
        n_slopes = point.cuts.shape[1] - n_leaves + 1
        self.buffers = make_buffers(sub.centre.size, n_leaves - 1, n_codes, n_slopes)
        self.renewed = np.zeros(n_codes)
        labelling = make_labelling(sub.floors.reward.shape[1], n_leaves, n_codes)
        self.arguments = (
            samples, sub, point, trial, self.renewed, self.buffers, labelling, stop
        )  # fmt: skip
        self._memory: IntArray | None = None
        self._address, self._is_stored = 0, False
        self._known_rules: set[int] = set()

    def again(self, sub: Subproblem, stop: IntArray) -> None:
        """Ask of another subproblem of the same problem from now on."""
        self.arguments = (self.arguments[0], sub, *self.arguments[2:-1], stop)
        self._is_stored = False

    def stored(self) -> int:
        """Store the arguments once; return their address. Not for the main thread."""
        if not self._is_stored:
            self._store(self.arguments[1].rule)
            self._is_stored = True
        return self._address

    def _store(self, rule: int) -> None:
        """Store the arguments; look at their types at the first time of a rule."""
        if self._memory is None:
            self._memory = np.zeros(_n_words(), dtype=np.int64)
            self._address = int(self._memory.ctypes.data)
        if rule in self._known_rules:
            _store_unchecked()(self._address, self.arguments)
        else:
            _store_arguments(self._address, self.arguments)
            self._known_rules.add(rule)

    def ask(self, task: int) -> float:
        """Ask from Python: ``VALUE`` or ``GRADIENT``."""
        answer: list[float] = []
        call_apart(self._ask, task, answer)
        return answer[0]

    def _ask(self, task: int, answer: list[float]) -> None:
        address_of(_evaluation)
        answer.append(_evaluation.ctypes(self.stored(), task))


def smallest() -> tuple[Problem, Params]:
    """Return the smallest problem and a tree for it, to compile and try code on."""
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


@cache
def _kind() -> Any:
    """Type of the arguments."""
    problem, params = smallest()
    sub, point = problem.subproblem(), problem.point(params)
    evaluator = Evaluator(problem.data.samples, sub, point, point, never())
    return typeof(evaluator.arguments)


@cache
def _n_words() -> int:
    return n_words(_kind())


_load, _store = loader(_kind), storer(_kind)


def _answer(address: int, task: int) -> float:
    samples, sub, point, trial, renewed, buffers, labelling, stop = _load(address)
    if task == RENEW:
        changed = renew_leaves(sub, point, renewed, buffers, labelling, stop)
        return 1.0 if changed else 0.0
    if task == FORGET:
        for k in range(renewed.size):
            renewed[k] = 0.0
            for leaf in range(point.label.size):
                buffers.payoff[k, leaf] = 0.0
        # Where leaves are not stepped, nothing else overwrites it.
        for k in range(buffers.logit_gradient.shape[0]):
            for leaf in range(buffers.logit_gradient.shape[1]):
                buffers.logit_gradient[k, leaf] = 0.0
        return 0.0
    return evaluate(samples, sub, trial, renewed, task == GRADIENT, buffers)


@compiled
def _store_arguments(address: int, arguments: Any) -> None:
    _store(address, arguments)


@cache
def _store_unchecked() -> Callable[..., None]:
    """Return what stores arguments of types that were checked before."""
    return entry_of(_store_arguments, (int64, _kind()))


_evaluation = compiled_callee(float64(int64, int64), _answer)
#: What is compiled here, for Python and for other compiled code.
COMPILED = (_store_arguments, _evaluation)


def compile_store() -> None:
    """Compile what stores the arguments, or load it, without running it."""
    cast(Any, _store_arguments).compile((int64, _kind()))


def evaluation_address() -> int:
    """Return where the compiled evaluation is; compile or load it first."""
    return address_of(_evaluation)
