"""Doors from Python into functions that only compiled code can call."""

import numpy as np

from sorct.problem import (
    constraints,
    elementary,
    kernels,
    labels,
    penalty,
    penalty_face,
    subproblem,
)
from sorct.problem.compilation import compiled


@compiled
def _assign(cost, work, stop):
    return labels.assign(cost, work, stop)


def assign(cost, stop=0):
    """Column of every row; those that got one before time was up."""
    work = labels.make_labelling(*cost.shape, len(cost))
    _assign(cost, work, np.array([stop]))
    owner = work.owner[0, 1:]
    column = np.flatnonzero(owner)
    return column[np.argsort(owner[column])]


@compiled
def _best_labels(work, stop):
    return labels.best_labels(work, stop)


def best_labels(cost):
    work = labels.make_labelling(*cost.shape, len(cost))
    work.cost[:] = cost
    assert _best_labels(work, np.array([0]))
    return work.label


@compiled
def _best_ordered_labels(work, first, stop):
    return labels.best_ordered_labels(work, first, stop)


def best_ordered_labels(cost, first):
    work = labels.make_labelling(*cost.shape, len(cost))
    work.cost[:] = cost
    assert _best_ordered_labels(work, first, np.array([0]))
    return work.label


@compiled
def _accumulate(samples, cuts, slope, by_log, with_gradient, buffers):
    shape = buffers.pull[:0]
    kernels.accumulate(samples, cuts, slope, by_log, shape, 0.0, with_gradient, buffers)


def accumulate(samples, cuts, slope, with_gradient, buffers):
    _accumulate(samples, cuts, slope, False, with_gradient, buffers)


@compiled
def log(x):
    return elementary.log(x)


@compiled
def fill_cdf(branch, n_branches, n):
    elementary.fill_cdf(branch, n_branches, n)


@compiled
def density(proba):
    return elementary.density(proba)


@compiled
def _evaluate(samples, sub, point, renewed, with_gradient, buffers):
    return subproblem.evaluate(samples, sub, point, renewed, with_gradient, buffers)


def evaluate(samples, sub, point, renewed, buffers):
    return _evaluate(samples, sub, point, renewed, True, buffers)


@compiled
def _renew_leaves(sub, point, renewed, buffers, labelling, stop):
    return subproblem.renew_leaves(sub, point, renewed, buffers, labelling, stop)


def renew_leaves(sub, point, renewed, buffers, stop=0):
    n_codes, n_leaves = buffers.mass.shape
    n_labels = sub.floors.reward.shape[1]
    labelling = labels.make_labelling(n_labels, n_leaves, n_codes)
    return _renew_leaves(sub, point, renewed, buffers, labelling, np.array([stop]))


@compiled
def _residual(sub, point, buffers, scratch):
    return subproblem.residual(sub, point, buffers, scratch)


def residual(sub, point, buffers):
    return _residual(sub, point, buffers, np.zeros(point.cuts.shape))


@compiled
def _prox(rule, step, coef):
    penalty.prox(rule, step, coef)


def prox(rule, coef, step):
    """Proximal step, as a new array."""
    result = np.array(coef, dtype=np.float64, order="C")
    _prox(rule, step, result)
    return result


@compiled
def penalty_value(rule, coef):
    return penalty.penalty_value(rule, coef)


@compiled
def renew_multipliers(value, floors, mass, label, renewed):
    return constraints.renew_multipliers(value, floors, mass, label, renewed)


@compiled
def face_gradient(rule, coef, slope, face):
    return penalty_face.face_gradient(rule, coef, slope, face)


@compiled
def project_on_face(rule, coef, face, direction):
    penalty_face.project_on_face(rule, coef, face, direction)


@compiled
def move_on_face(rule, coef, direction, scale, trial, move):
    return penalty_face.move_on_face(rule, coef, direction, scale, trial, move)
