"""Random training problems, each with its slow truth and a random tree."""

import os
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sorct.data.samples import TrainingSet
from sorct.problem.constraints import Constraint
from sorct.problem.datafit import ExpectedCost
from sorct.problem.penalty import Penalty, Strengths
from sorct.problem.problem import Problem
from sorct.tree.params import Params
from sorct.tree.topology import Topology
from tests.reference import Reference


class Case(NamedTuple):
    """A problem as the library and as the reference see it, and some tree for it."""

    problem: Problem
    truth: Reference
    tree: Params


def problem_of(truth: Reference) -> Problem:
    """Hand the library the reference's problem."""
    strengths = Strengths(truth.alpha_local, truth.alpha_global)
    return Problem(
        TrainingSet.from_data(truth.X, truth.y, truth.weight, truth.n_classes),
        ExpectedCost(truth.cost_matrix),
        Penalty.of(strengths, truth.X.shape[1], 2**truth.depth - 1),
        Constraint.min_recall(truth.floor),
        Topology(truth.depth),
        truth.gamma,
    )


def draw_tree(
    rng: np.random.Generator, n_features: int, n_classes: int, depth: int, sparse: bool
) -> Params:
    """Cuts through the middle of the samples; all classes present if they can be."""
    n_branches = 2**depth - 1
    coef = rng.uniform(-1.0, 1.0, (n_features, n_branches))
    if sparse:
        coef[rng.random(coef.shape) < 0.6] = 0.0
        coef[rng.permutation(n_features)[: n_features // 2]] = 0.0
    middle = coef.sum(axis=0) / (2 * n_features)
    threshold = middle + rng.uniform(-0.05, 0.05, n_branches)
    return Params(coef, threshold, rng.permutation(np.arange(2**depth) % n_classes))


def draw_case(
    rng: np.random.Generator,
    n: int = 120,
    n_features: int = 4,
    n_classes: int = 2,
    depth: int = 2,
    gamma: float = 64.0,
    sparse: bool = False,
    **fields: object,
) -> Case:
    """Draw a case; classes are shifted clouds, so that cuts have something to find."""
    y = rng.permutation(np.arange(n) % n_classes)
    shift = rng.uniform(-0.3, 0.3, (n_classes, n_features))
    X = np.clip(0.5 + shift[y] + rng.normal(0.0, 0.15, (n, n_features)), 0.0, 1.0)
    costs = rng.uniform(0.5, 1.5, (n_classes, n_classes))
    truth = Reference(
        X=X,
        y=y,
        weight=rng.uniform(0.5, 2.0, n),
        cost_matrix=costs * (1.0 - np.eye(n_classes)),
        floor=np.zeros(n_classes),
        depth=depth,
        gamma=gamma,
    )
    truth = replace(truth, **fields)
    tree = draw_tree(rng, n_features, n_classes, depth, sparse)
    return Case(problem_of(truth), truth, tree)


def draw_stream() -> np.random.Generator:
    """A stream from its beginning; for fixtures that several tests share."""
    return np.random.default_rng(int(os.environ.get("SORCT_TEST_SEED", "0")))
