"""Annealing: a tree from flat cuts to steep ones, by the entropy in its leaves.

At a small gamma the objective has few hills, but the expected cost of labelled leaves
then pulls a tree to the one that uses no feature. The entropy of the classes in the
leaves does not: it needs no labels, and a cut that parts two classes only a little
already lowers it. So a tree descends on the entropy first, gamma rising, and gets its
labels afterwards. Where a quantity is predicted the loss itself does as well: leaves
have values, and a cut that parts large from small a little already lowers it.
"""

from __future__ import annotations

from sorct._typing import IntArray
from sorct.problem.problem import Problem
from sorct.solvers.descent import Descent
from sorct.tree.params import Params

# The flattest gamma: so much, or this share of the problem's own where that is more.
_FLATTEST, _FLATTEST_SHARE, _FACTOR, _FACTOR_DEEP = 8.0, 1.0 / 64.0, 4.0, 2.0
# The descent at every gamma; the tangent is renewed every ten iterations.
_TOL, _ITERATIONS, _ITERATIONS_DEEP = 1e-4, 40, 72


def gamma_ladder(gamma: float, factor: float) -> list[float]:
    """Gammas up to the problem's own, from flat to steep."""
    ladder, flattest = [gamma], max(_FLATTEST, _FLATTEST_SHARE * gamma)
    while ladder[-1] > flattest * 1.001:
        ladder.append(max(ladder[-1] / factor, flattest))
    return ladder[::-1]


def anneal(
    problem: Problem, params: Params, stop: IntArray, skip: int = 0
) -> tuple[Params, int]:
    """Descend at every gamma; return the tree and the evaluations.

    The first gammas, the flattest, may be skipped. Deep trees take finer and longer
    steps.
    """
    deep = problem.topology.is_deep
    gammas = gamma_ladder(problem.gamma, _FACTOR_DEEP if deep else _FACTOR)
    n_iterations = _ITERATIONS_DEEP if deep else _ITERATIONS
    point, n_evaluations = problem.point(params), 0
    descent: Descent | None = None
    for gamma in gammas[min(skip, len(gammas) - 1) :]:
        sub = problem.flattened(gamma)
        if descent is None:
            descent = Descent.begun(problem, sub, point, _TOL, n_iterations, stop)
        else:
            descent.again(sub)
        descent.step()
        n_evaluations += descent.progress.n_evaluations
        if stop[0] != 0:
            break
    assert descent is not None
    params = problem.params(descent.point)
    descent.leave(problem)
    return params, n_evaluations
