"""Spectral proximal gradient steps: Barzilai-Borwein lengths on the whole problem.

A step is accepted when the objective falls below the largest of the last few values
(Wright, Nowak and Figueiredo, 2009; Grippo, Lampariello and Lucidi, 1986).
"""

from sorct.problem.compilation import compiled_apart, compiled_inside
from sorct.problem.kernels import Buffers
from sorct.problem.problem import Point, Task
from sorct.problem.prox import prox_row
from sorct.solvers.work import Work, combine, dot, fill_slope, settle_levels

SHORTEST_STEP, _LONGEST_STEP = 1e-12, 1e10


@compiled_apart
def propose_spectral(task: Task, point: Point, step: float, work: Work) -> None:
    """Fill the trial with the proximal gradient step."""
    p, n_branches = point.coef.shape
    settled = False
    while not settled:
        for j in range(p):
            first, row = j * n_branches, work.row
            for t in range(n_branches):
                row[t] = point.coef[j, t] - step * work.slope[first + t]
            prox_row(row, step * task.local, step * task.spread)
            for t in range(n_branches):
                work.trial.coef[j, t] = row[t]
                work.move[first + t] = row[t] - point.coef[j, t]
        for i in range(p * n_branches, work.move.size):
            work.move[i] = -step * work.slope[i]
        settled = settle_levels(task, point, work)


@compiled_inside
def next_step(work: Work, short: bool, step: float) -> float:
    """Barzilai-Borwein step: s.y / y.y if short, else s.s / s.y.

    A step of 0 asks for a first one, which moves no coordinate by more than a tenth of
    its range.
    """
    if step == 0.0:
        largest = 1e-8
        for i in range(work.slope.size):
            largest = max(largest, abs(work.slope[i]))
        return 0.1 / largest
    sy, ss = dot(work.move, work.change), dot(work.move, work.move)
    if sy <= 1e-14 * ss:
        return min(2.0 * step, _LONGEST_STEP)
    length = sy / dot(work.change, work.change) if short else ss / sy
    return min(max(length, SHORTEST_STEP), _LONGEST_STEP)


@compiled_apart
def learn_spectral(
    task: Task, buffers: Buffers, work: Work, short: bool, step: float
) -> float:
    """Renew the slope at the accepted point; return the length of the next step."""
    combine(work.change, 0.0, -1.0, work.slope)
    fill_slope(task, buffers, work)
    combine(work.change, 1.0, 1.0, work.slope)
    return next_step(work, short, step)
