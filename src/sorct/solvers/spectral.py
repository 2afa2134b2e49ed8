"""Spectral proximal gradient steps: Barzilai-Borwein lengths on the whole problem.

A step is accepted when the objective falls below the largest of the last few values
(Wright, Nowak and Figueiredo, 2009; Grippo, Lampariello and Lucidi, 1986).
"""

from sorct.problem.compilation import compiled_inside, larger, smaller
from sorct.problem.penalty import prox
from sorct.problem.subproblem import Gradient, Point, Simple
from sorct.solvers.work import (
    CHANGE,
    MOVE,
    SLOPE,
    Work,
    combine,
    dot,
    fill_slope,
    settle_logits,
    settle_thresholds,
)

SHORTEST_STEP, _LONGEST_STEP = 1e-12, 1e10


@compiled_inside
def propose_spectral(simple: Simple, point: Point, step: float, work: Work) -> None:
    """Fill the trial with the proximal gradient step."""
    p, n_branches = simple.centre.size, point.cuts.shape[1]
    move, slope, trial = work.vector[MOVE], work.vector[SLOPE], work.trial.cuts
    settled = False
    while not settled:
        for j in range(p):
            for t in range(n_branches):
                down = step * slope[j * n_branches + t]
                trial[j, t] = point.cuts[j, t] - down
        prox(simple.penalty, step, trial)
        for j in range(p):
            for t in range(n_branches):
                move[j * n_branches + t] = trial[j, t] - point.cuts[j, t]
        for i in range(p * n_branches, move.size):
            move[i] = -step * slope[i]
        settled = settle_thresholds(simple, point, work)
    if point.logit.size > 0:
        settle_logits(simple, point, work)


@compiled_inside
def next_step(work: Work, short: bool, step: float) -> float:
    """Barzilai-Borwein step: s.y / y.y if short, else s.s / s.y.

    The first step (``step`` is 0 before it) is such that no coordinate moves by more
    than 0.1.
    """
    slope, move, change = work.vector[SLOPE], work.vector[MOVE], work.vector[CHANGE]
    if step == 0.0:
        steepest = 1e-8
        for i in range(slope.size):
            steepest = larger(steepest, abs(slope[i]))
        return 0.1 / steepest
    sy, ss = dot(move, change), dot(move, move)
    if sy <= 1e-14 * ss:
        return smaller(2.0 * step, _LONGEST_STEP)
    length = sy / dot(change, change) if short else ss / sy
    return smaller(larger(length, SHORTEST_STEP), _LONGEST_STEP)


@compiled_inside
def learn_spectral(
    simple: Simple, gradient: Gradient, work: Work, short: bool, step: float
) -> float:
    """Renew the slope at the accepted point; return the length of the next step."""
    change, slope = work.vector[CHANGE], work.vector[SLOPE]
    combine(change, 0.0, -1.0, slope)
    fill_slope(simple, gradient, work)
    combine(change, 1.0, 1.0, slope)
    return next_step(work, short, step)
