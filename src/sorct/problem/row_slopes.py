"""Row slopes: how the fit changes with the score of every cut, row by row.

The gradient in the coefficient of any column is the sum over rows of slope times cell,
also of columns that a problem leaves out: that is how to tell whether they matter.
"""

from __future__ import annotations

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.problem.datafit import Likelihood
from sorct.problem.problem import Problem
from sorct.tree.link import cdf
from sorct.tree.params import Params


def row_slopes(
    problem: Problem,
    params: Params,
    X: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> FloatArray:
    """Derivatives of the fit in a_t . x, shape (n, n_branches), without floors.

    X has the scaled rows (n, n_columns); their weights sum to 1.
    """
    topology = problem.topology
    sums = X @ params.coef / problem.n_groups - params.threshold
    left = cdf(problem.gamma * sums.T)
    reach = topology.reach(left)[: topology.n_branches]
    value = np.vstack([np.empty_like(reach), _leaf_values(problem, params)[:, codes]])
    slope = np.empty_like(reach)
    for t in reversed(range(topology.n_branches)):
        yes, no = topology.children(t)
        value[t] = left[t] * value[yes] + (1.0 - left[t]) * value[no]
        slope[t] = reach[t] * left[t] * (1.0 - left[t]) * (value[yes] - value[no])
    if isinstance(problem.datafit, Likelihood):
        # Minus the logarithm of what the tree gives the row's own class.
        slope /= -np.maximum(value[0], 1e-300)
    return np.asarray((slope * (weight * problem.gamma / problem.n_groups)).T)


def _leaf_values(problem: Problem, params: Params) -> FloatArray:
    """What every leaf (n_leaves, n_codes) adds for a row of a code that reaches it."""
    if not isinstance(problem.datafit, Likelihood):
        return np.asarray(problem.costs.cost_matrix[:, params.leaf_class].T)
    if params.leaf_proba is not None:
        return np.asarray(params.leaf_proba.T)
    return np.eye(problem.data.n_codes)[params.leaf_class]
