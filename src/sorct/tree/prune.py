"""Prune: which parts of a tree decide nothing.

A cut decides nothing in three cases: all leaves below it have one label; it uses no
feature and sends every sample the same way; or no sample comes to it, because a cut of
that second kind lies above. Taking such cuts away changes no prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sorct._typing import BoolArray, FloatArray, IntArray
from sorct.tree.link import cdf
from sorct.tree.params import Params
from sorct.tree.topology import Topology

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

#: A node below which several classes remain.
SEVERAL = -1
#: What people see leaves out a branch that at most this share of samples comes to.
NOBODY = 1e-12


def only_child(
    coef: FloatArray,
    threshold: FloatArray,
    gamma: float,
    t: int,
    nobody: float = 0.0,
) -> int | None:
    """Child of cut t that every sample goes to, whatever its features, if any.

    A share of ``nobody`` of every sample may go elsewhere.
    """
    if coef[:, t].any():
        return None
    left, right = Topology.of_branches(threshold.size).children(t)
    proba = float(cdf(np.array([-gamma * threshold[t]]))[0])
    if proba >= 1.0 - nobody:
        return left
    return right if proba <= nobody else None


def only_children(
    coef: FloatArray, threshold: FloatArray, gamma: float, nobody: float = 0.0
) -> list[int | None]:
    """Child of every cut that every sample goes to, if any."""
    used = np.asarray(coef.any(axis=0))
    return [
        None if used[t] else only_child(coef, threshold, gamma, t, nobody)
        for t in range(threshold.size)
    ]


def node_classes(only: list[int | None], leaf_kind: IntArray) -> IntArray:
    """Kind of every node if all its samples end in leaves of one, else ``SEVERAL``.

    ``only`` has, for every cut, the child that all samples go to, or None; a kind is
    the class of leaves, or the number of what they say.
    """
    topology = Topology.of_branches(len(only))
    found = np.append(np.full(len(only), SEVERAL), leaf_kind)
    for t, child in reversed(list(enumerate(only))):
        left, right = topology.children(t)
        if child is not None:
            found[t] = found[child]
        elif found[left] == found[right]:
            found[t] = found[left]
    return found


def leaf_kinds(params: Params | Tree) -> IntArray:
    """Numbers of the leaves; those that say the same have the same number."""
    said = params.leaf_proba
    if params.leaf_value is not None:
        slopes = () if params.leaf_coef is None else params.leaf_coef
        said = np.vstack([params.leaf_value, *slopes])
    if said is None:
        return params.leaf_class
    # Adding 0 makes -0 the same as 0, which it equals.
    columns = [column.tobytes() for column in said.T + 0.0]
    number = {column: k for k, column in enumerate(dict.fromkeys(columns))}
    return np.array([number[column] for column in columns], dtype=np.int64)


def _missed(only: list[int | None]) -> BoolArray:
    """Cuts that no sample can come to."""
    topology = Topology.of_branches(len(only))
    missed = np.zeros(topology.n_nodes, dtype=np.bool_)
    for t, child in enumerate(only):
        for below in topology.children(t):
            missed[below] = missed[t] or (child is not None and below != child)
    return missed[: len(only)]


def pruned(params: Params, gamma: float) -> Params:
    """Tree with the same predictions, in which cuts that decide nothing are empty."""
    coef, threshold, n_branches = params.coef, params.threshold, params.threshold.size
    only = only_children(coef, threshold, gamma)
    classes = node_classes(only, leaf_kinds(params))[:n_branches]
    # Cuts without features are empty already, and their threshold may matter.
    idle = ((classes != SEVERAL) | _missed(only)) & coef.any(axis=0)
    if not idle.any():
        return params
    return replace(
        params,
        coef=np.where(idle, 0.0, coef),
        threshold=np.where(idle, -1.0, threshold),
    )
