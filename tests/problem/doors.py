"""Doors from Python into functions that only compiled code can call."""

import numpy as np

from sorct.problem import labels, problem
from sorct.problem.compilation import compiled


@compiled
def _assign(cost, work):
    labels.assign(cost, work)


def assign(cost):
    """Column of every row."""
    work = labels.make_labelling(*cost.shape)
    _assign(cost, work)
    column = np.flatnonzero(work.owner[1:])
    return column[np.argsort(work.owner[1:][column])]


@compiled
def _best_labels(work):
    labels.best_labels(work)


def best_labels(cost):
    work = labels.make_labelling(*cost.shape)
    work.cost[:] = cost
    _best_labels(work)
    return work.label


@compiled
def evaluate(samples, task, point, pressure, buffers):
    return problem.evaluate(samples, task, point, pressure, buffers)


@compiled
def _relabel(task, point, pressure, mass, labelling):
    return problem.relabel(task, point, pressure, mass, labelling)


def relabel(task, point, pressure, buffers):
    labelling = labels.make_labelling(*buffers.mass.shape)
    return _relabel(task, point, pressure, buffers.mass, labelling)


@compiled
def residual(task, point, buffers, row):
    return problem.residual(task, point, buffers, row)
