"""Doors from Python into functions that only compiled code can call."""

import numpy as np

from sorct.problem import (
    constraints,
    datafit,
    elementary,
    evaluation,
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


def _enter(samples, sub, point, renewed, buffers, task):
    """Evaluate at a point through the one entry that everybody uses."""
    evaluator = evaluation.Evaluator(samples, sub, point, point, evaluation.never())
    for own, given in zip(evaluator.buffers, buffers, strict=True):
        own[:] = given
    evaluator.renewed[:] = renewed
    value = evaluator.ask(task)
    for own, given in zip(evaluator.buffers, buffers, strict=True):
        given[:] = own
    renewed[:] = evaluator.renewed
    return value


def accumulate(problem, tree, with_gradient, buffers):
    """Masses and gradients of the payoffs that the buffers hold.

    A tangent leaves payoffs as they are. Floors that demand nothing have no multipliers
    afterwards, so their gradients stay apart.
    """
    n_codes, n_leaves = buffers.mass.shape
    none = np.zeros(n_codes)
    reward = -buffers.second_payoff
    floors = constraints.Floors(reward, none + 1.0, none - 1e9, none, 1.0)
    sub = problem.flattened(problem.gamma)._replace(floors=floors)
    point = problem.point(tree)._replace(label=np.arange(n_leaves))
    renewed = buffers.has_second.astype(float)
    task = evaluation.GRADIENT if with_gradient else evaluation.VALUE
    _enter(problem.data.samples, sub, point, renewed, buffers, task)


@compiled
def log(x):
    return elementary.log(x)


@compiled
def fill_cdf(branch, n_branches, n):
    elementary.fill_cdf(branch, n_branches, n)


@compiled
def density(proba):
    return elementary.density(proba)


def evaluate(samples, sub, point, renewed, buffers):
    """Value of the penalised Lagrangian; fills the buffers."""
    return _enter(samples, sub, point, renewed, buffers, evaluation.GRADIENT)


@compiled
def _renew_leaves(sub, point, renewed, buffers, labelling, stop):
    return subproblem.renew_leaves(sub, point, renewed, buffers, labelling, stop)


def renew_leaves(sub, point, renewed, buffers, stop=0):
    n_codes, n_leaves = buffers.mass.shape
    n_labels = sub.floors.reward.shape[1]
    labelling = labels.make_labelling(n_labels, n_leaves, n_codes)
    return _renew_leaves(sub, point, renewed, buffers, labelling, np.array([stop]))


@compiled
def _residual(simple, point, gradient, scratch, wanted):
    return subproblem.residual(simple, point, gradient, scratch, wanted)


def residual(sub, point, buffers):
    gradient = subproblem.Gradient(buffers.gradient, buffers.logit_gradient)
    scratch, wanted = np.zeros(point.cuts.shape), np.zeros(point.logit.size)
    return _residual(sub.simple, point, gradient, scratch, wanted)


@compiled
def bound_value(shape, wanted, leaf):
    return datafit.bound_value(shape, wanted, leaf)


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
