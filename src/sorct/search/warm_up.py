"""Warm up: have all compiled code ready before a clock starts."""

import logging
import time
from functools import cache

import numpy as np

from sorct.problem.compilation import nothing_cached
from sorct.problem.constraints import MinRecall
from sorct.problem.datafit import ExpectedCost
from sorct.problem.penalty import Sparsity
from sorct.problem.problem import Problem
from sorct.search.multistart import Multistart
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.tree.topology import Topology

logger = logging.getLogger("sorct")


@cache
def warm_up() -> float:
    """Compile what is not on disk yet, load the rest; return the seconds it took."""
    begun = time.perf_counter()
    if nothing_cached():
        logger.info("Compiling the kernels, once for this machine and version ...")
    cost = ExpectedCost.from_data(
        np.array([[0.0], [1.0]]), np.array([0, 1]), np.ones(2), 1.0 - np.eye(2)
    )
    problem = Problem(cost, Sparsity(), MinRecall(np.zeros(2)), Topology(1), 32.0)
    Multistart(AugmentedLagrangian(), n_starts=2).run(problem, seed=0)
    seconds = time.perf_counter() - begun
    logger.info("Compiled code ready after %.2f s.", seconds)
    return seconds
