"""Quantities: from a user's table to a problem of regression, and back to a tree.

``fitting.py`` asks here where the target is a quantity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.large import LargeSet
from sorct.data.parts import PartedSet
from sorct.data.quantity import LINKS, Quantity
from sorct.data.samples import MANY_ROWS
from sorct.data.wording import shown
from sorct.estimators.call import versions
from sorct.estimators.checks import check_whole
from sorct.estimators.column_rules import paid_by_spread
from sorct.tree.following import clear_limits
from sorct.tree.topology import Topology
from sorct.tree.training import TrainingRecord
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.data.encoder import TableEncoder
    from sorct.data.samples import TrainingSet
    from sorct.estimators.column_rules import ColumnRules
    from sorct.estimators.fitting import Model, Prepared
    from sorct.problem.problem import Problem
    from sorct.problem.residual import Residual
    from sorct.solvers.solution import Solution
    from sorct.tree.params import Params

QUANTITY_LOSSES = ("square", "absolute", "huber", "quantile")
LEAVES = ("constant", "linear")
#: Depth where none is given.
USUAL_DEPTH = 2
_DEEPEST, _DEEPEST_IN_ORDER = 12, 6
# Level of a quantile that was not given.
_MEDIAN = 0.5
# A variable pays at least so much beside the mean.
_LEAST_PAID = 0.05


def check_quantity_model(model: Model) -> None:
    """Refuse what no tree of a quantity can be, before there are data."""
    if not isinstance(model.loss, str) or model.loss not in QUANTITY_LOSSES:
        raise ValueError(
            f"loss must be one of {QUANTITY_LOSSES}, got {shown(model.loss)}."
        )
    if not isinstance(model.leaf, str) or model.leaf not in LEAVES:
        raise ValueError(f"leaf must be one of {LEAVES}, got {shown(model.leaf)}.")
    level = model.quantile
    number = isinstance(level, Real) and not isinstance(level, bool)
    if not number or not 0.0 < level < 1.0:
        raise ValueError(
            "quantile must be a share between 0 and 1, such as 0.9, got "
            f"{shown(level)}."
        )
    if model.loss != "quantile" and float(level) != _MEDIAN:
        raise ValueError(
            f"quantile={shown(level)} needs loss='quantile', got "
            f"loss={shown(model.loss)}."
        )
    check_share(model.mixed)
    check_link(model.link)
    checked_depth(model.depth, model.leaf)


def check_link(link: Any) -> None:
    """Refuse what is no link."""
    if not isinstance(link, str) or link not in LINKS:
        raise ValueError(f"link must be one of {LINKS}, got {shown(link)}.")


def check_share(mixed: Any) -> None:
    """Refuse what is no share of the loss."""
    number = isinstance(mixed, (int, float, np.number)) and not isinstance(mixed, bool)
    if not number or not 0.0 <= float(mixed) <= 1.0:
        raise ValueError(
            f"mixed must be a share from 0 to 1, such as 0.1, got {shown(mixed)}."
        )


def checked_depth(depth: Any, leaf: str) -> Topology:
    """Tree of the depth asked for; a single leaf must be linear."""
    if depth is None:
        return Topology(USUAL_DEPTH)
    if isinstance(depth, (int, np.integer)) and depth == 0 and leaf == "linear":
        return Topology(0)
    expected = "a whole number >= 1 (or 0, a single leaf, with leaf='linear')"
    check_whole("depth", depth, expected, _DEEPEST)
    return Topology(int(depth))


def target_of(y: FloatArray, weight: FloatArray, model: Model) -> Quantity:
    """The target, centred as suits the loss."""
    return Quantity.learn(y, weight, centred_at(model), str(model.link))


def centred_at(model: Model) -> float | None:
    """Level of the quantile that suits the loss as centre; None: the mean does."""
    return {"absolute": 0.5, "quantile": model.quantile}.get(model.loss)


def datafit_of(model: Model) -> Residual:
    """The loss asked for."""
    from sorct.problem.residual import Residual

    linear = model.leaf == "linear"
    found = Residual.of(model.loss, float(model.quantile), linear=linear)
    return replace(found, mixed=float(model.mixed))


def problem_of_quantity(
    encoder: TableEncoder,
    target: Quantity,
    model: Model,
    rules: ColumnRules,
    topology: Topology,
    data: TrainingSet,
) -> Problem:
    """The problem of a table, without penalties yet."""
    from sorct.problem.constraints import Constraint
    from sorct.problem.penalty import Penalty
    from sorct.problem.problem import Problem

    start = encoder.group_start
    price = rules.price(encoder) * _paid(data.variance, start)
    penalty = Penalty.priced(start, price, rules.sign(encoder))
    ends = target.scaled(np.array([target.low, target.high]))
    return Problem(
        data,
        datafit_of(model).within(ends, falling=bool(rules.signs)),
        penalty.with_cuts(topology.n_branches),
        Constraint.none(1),
        topology,
        model.steepness(encoder.group_start.size - 1),
    )


def check_directions(signs: dict[str, int], topology: Topology) -> None:
    """Refuse trees whose leaves are too many to be kept in order."""
    if signs and topology.depth > _DEEPEST_IN_ORDER:
        raise ValueError(
            f"monotonic_cst needs a depth of at most {_DEEPEST_IN_ORDER}, got "
            f"{topology.depth}."
        )


def _paid(variance: FloatArray, start: IntArray) -> FloatArray:
    """What groups pay if every variable pays for what it can move.

    Columns are scaled by their range, so a column with a few large numbers moves most
    rows little per unit of its coefficient. Prices are multiplied by the standard
    deviation of a variable's columns, beside the mean of all: the LASSO on columns of
    unit variance, as is usual.
    """
    spread: FloatArray = np.sqrt(np.add.reduceat(variance, start[:-1]))
    if not spread.any():
        return np.ones(spread.size)
    return paid_by_spread(spread, float(spread.mean()), _LEAST_PAID)


def tree_of_quantity(
    prepared: Prepared,
    solution: Solution,
    alphas: tuple[float, float],
    status: str | None,
    search: str | None,
) -> Tree:
    """Bring a solution back to names and units."""
    from sorct.problem.residual import SLOPE_UNIT, cut_scores

    params, problem, target = solution.params, prepared.problem, prepared.target
    assert isinstance(target, Quantity)
    assert params.leaf_value is not None
    slopes = None
    if params.leaf_coef is not None:
        slopes = target.unit * SLOPE_UNIT * params.leaf_coef
    value = params.leaf_value + raised_by(prepared, params)
    seen = _seen(prepared, replace(params, leaf_value=value))
    tree = Tree(
        encoder=prepared.encoder,
        coef=params.coef,
        threshold=params.threshold,
        leaf_class=params.leaf_class,
        target=target,
        gamma=problem.gamma,
        cost_matrix=np.zeros((1, 1)),
        mass=solution.mass,
        leaf_value=target.origin + target.unit * value,
        leaf_coef=slopes,
        leaf_mean=target.centre + target.spread * seen.mean,
        leaf_miss=target.spread * seen.miss,
        routed=seen.routed,
        training=TrainingRecord(
            alpha_local=alphas[0],
            alpha_global=alphas[1],
            objective=solution.objective,
            cost=solution.cost,
            residual=solution.residual,
            n_iterations=solution.n_iterations,
            status=status or str(solution.status),
            n_samples=prepared.n_samples,
            n_told=_n_drawn(prepared),
            call=prepared.call,
            versions=versions(),
            search=search,
            loss=prepared.loss,
            quantile=prepared.quantile,
            r2=1.0 - seen.unexplained,
            **prepared.rules.record(target),
        ),
    )
    score = cut_scores(problem.data.rows, params, problem.gamma, problem.n_groups)
    limits = clear_limits(tree, score, tree.followed_limits)
    return replace(tree, followed_at=limits) if limits.any() else tree


def _n_drawn(prepared: Prepared) -> int | None:
    """Rows that are looked at for what leaves are told, if not all of them are."""
    data = prepared.problem.data
    drawn = isinstance(data, (LargeSet, PartedSet)) and prepared.n_counted > MANY_ROWS
    return int(data.rows.weight.size) if drawn else None


@dataclass(frozen=True)
class _Seen:
    """What the training rows in every leaf are, each on the likelier side of all cuts.

    In units of the spread, on the rows that searches look at: their mean response, the
    root mean square of what they miss it by (of linear leaves: what the leaf says), and
    their share of all. ``unexplained`` is the share of the variance that predictions
    leave.
    """

    mean: FloatArray
    miss: FloatArray
    routed: FloatArray
    unexplained: float


def raised_by(prepared: Prepared, params: Params) -> float:
    """What all leaves of a tree of the logarithm say more, so that means are right.

    A tree of the mean logarithm says too little of the mean. The factor of least
    squares on the training rows is put into the leaves. Medians and quantiles need
    none: the logarithm keeps them.
    """
    from sorct.problem.residual import leaf_reach, predicted

    problem, target = prepared.problem, prepared.target
    rows = problem.data.rows
    assert isinstance(target, Quantity)
    if not target.is_log or prepared.loss in ("absolute", "quantile"):
        return 0.0
    assert rows.response is not None
    reach = leaf_reach(rows, params, problem.gamma, problem.n_groups)
    said = target.unit * predicted(rows, params, reach)
    # The largest is 1: squares of numbers of any size are finite.
    low, high = (end - target.origin for end in target.log_ends)
    told = np.exp(np.clip(said, low, high) - high)
    y = np.exp(target.unit * rows.response - high)
    factor = (rows.weight @ (told * y)) / (rows.weight @ told**2)
    return float(np.log(factor)) / target.unit


def raising(
    target: Quantity, said: FloatArray, response: FloatArray, weight: FloatArray
) -> FloatArray:
    """Derivative of ``raised_by`` in what a tree says of every row, per weight.

    With t = exp(said) and the factor f = sum w t y / sum w t^2, that of log f is
    w t y / sum w t y - 2 w t^2 / sum w t^2; numbers that are clipped do not move.
    """
    low, high = (end - target.origin for end in target.log_ends)
    linked = target.unit * said
    told = np.exp(np.clip(linked, low, high) - high)
    mixed, square = told * np.exp(target.unit * response - high), told**2
    moved = mixed / (weight @ mixed) - 2.0 * square / (weight @ square)
    return np.where((linked > low) & (linked < high), moved, 0.0)


def _seen(prepared: Prepared, params: Params) -> _Seen:
    """Look where rows go, and what they are there."""
    from sorct.problem.residual import leaf_reach, predicted, said_by_leaves

    problem, target = prepared.problem, prepared.target
    rows = problem.data.rows
    assert isinstance(target, Quantity)
    assert rows.response is not None
    reach = leaf_reach(rows, params, problem.gamma, problem.n_groups)
    weight, n_leaves = rows.weight / rows.weight.sum(), len(reach)
    y = target.in_spreads(rows.response)
    gap = (y - target.in_spreads(predicted(rows, params, reach))) ** 2
    leaf = _by_hand(reach, problem.topology)
    mass = np.bincount(leaf, weight, n_leaves)
    soft = reach @ (weight * y) / np.maximum(reach @ weight, 1e-300)
    own = np.bincount(leaf, weight * y, n_leaves) / np.maximum(mass, 1e-300)
    mean = np.where(mass > 0.0, own, soft)
    said = mean[leaf]
    if params.leaf_coef is not None:
        own_sum = np.take_along_axis(
            said_by_leaves(rows, params), leaf[np.newaxis], axis=0
        )[0]
        said = target.in_spreads(own_sum)
    square = np.bincount(leaf, weight * (y - said) ** 2, n_leaves)
    miss = np.sqrt(square / np.maximum(mass, 1e-300))
    whole = float(weight @ (y - weight @ y) ** 2)
    unexplained = float(weight @ gap) / whole if whole > 0.0 else 0.0
    routed = np.asarray(mass, dtype=np.float64)[np.newaxis]
    return _Seen(mean, miss, routed, unexplained)


def _by_hand(reach: FloatArray, topology: Topology) -> IntArray:
    """Leaf of rows that take the likelier side at every cut."""
    passing = np.zeros((topology.n_nodes, reach.shape[1]))
    passing[topology.n_branches :] = reach
    for t in reversed(range(topology.n_branches)):
        yes, no = topology.children(t)
        passing[t] = passing[yes] + passing[no]
    node = np.zeros(reach.shape[1], dtype=np.int64)
    every = np.arange(reach.shape[1])
    for _ in range(topology.depth):
        left = topology.descend(node, np.ones(node.size, dtype=np.bool_))
        right = topology.descend(node, np.zeros(node.size, dtype=np.bool_))
        node = np.where(passing[left, every] > passing[right, every], left, right)
    return node - topology.n_branches
