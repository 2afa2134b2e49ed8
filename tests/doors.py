"""Doors from Python into functions that only compiled code can call."""

from sorct import problem
from sorct._compile import compiled


@compiled
def evaluate(samples, task, point, pressure, buffers):
    return problem.evaluate(samples, task, point, pressure, buffers)


@compiled
def relabel(task, point, pressure, buffers):
    return problem.relabel(task, point, pressure, buffers)


@compiled
def residual(task, point, buffers, row):
    return problem.residual(task, point, buffers, row)
