"""Interval: between which numbers a row is expected to lie, by two trees of one shape.

Two trees of two quantiles that are trained apart may cross. Here both have the cuts
(and slopes) of one tree, and only what their leaves say differs: for these cuts the
least mean quantile loss of both, with the lower number of every leaf at most its upper
one. Predictions mix leaves by the same shares, so they cannot cross anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.quantity import check_positive, number_column
from sorct.data.table import Table, as_table
from sorct.data.wording import shown
from sorct.estimators.checks import checked_samples
from sorct.tree.training import TrainingRecord
from sorct.tree.tree import Tree

# Rows that the numbers are found on, at most.
_MOST_ROWS = 4096
# Rows that must lie beyond each level, at least.
_BEYOND = 5


@dataclass(frozen=True)
class Interval:
    """Two trees of quantiles that do not cross.

    Attributes
    ----------
    low, high : Tree
        With the cuts of the tree that they were made from.
    levels : pair of float
        Shares of rows below each.
    """

    low: Tree
    high: Tree
    levels: tuple[float, float]

    def predict(self, X: Any) -> FloatArray:
        """Lower and upper number of every sample, of shape (n_samples, 2)."""
        return np.column_stack([self.low.predict(X), self.high.predict(X)])

    @classmethod
    def of(
        cls,
        tree: Tree,
        X: Any,
        y: Any,
        levels: Sequence[float] = (0.1, 0.9),
        sample_weight: Any = None,
    ) -> Interval:
        """Find what leaves say at two levels, from rows such as those of training.

        Rows that the tree was not trained on give shares that hold for new rows. Five
        rows at least must lie beyond each level: 50 for (0.1, 0.9). Of many rows at
        most 4096 are used, evenly spaced in y.
        """
        lower, upper = _checked_levels(levels)
        if tree.leaf_value is None:
            raise TypeError("An interval needs a tree of a quantity, got classes.")
        X, y, weight = checked_samples(as_table(X), y, sample_weight, number_column)
        if tree.quantity.is_log:
            check_positive(float(y.min()))
        _check_enough(len(y), lower, upper)
        table = tree.read(X, check_finite=False)
        values = leaf_quantiles(tree, table, y, weight, (lower, upper))
        # What is known of the tree's own leaves is not true of these.
        own = TrainingRecord(
            versions=tree.training.versions,
            target=tree.training.target,
            feature_cost=tree.training.feature_cost,
            n_samples=len(y),
            loss="quantile",
        )
        low, high = (
            replace(tree, leaf_value=value, training=replace(own, quantile=level))
            for value, level in zip(values, (lower, upper), strict=True)
        )
        return cls(low, high, (lower, upper))


def leaf_quantiles(
    tree: Tree,
    table: Table,
    y: FloatArray,
    weight: FloatArray,
    levels: tuple[float, float],
    most_rows: int = _MOST_ROWS,
) -> tuple[FloatArray, FloatArray]:
    """What leaves say at two levels, from rows that the encoder has read.

    Of many rows some are used, evenly spaced in y.
    """
    assert tree.leaf_value is not None
    order = np.argsort(y, kind="stable")
    some = order[:: -(-len(order) // most_rows)]
    reach = tree.leaf_reach_table(table)[some]
    mixed = tree.mixed_table(table)[some]
    offset = tree.quantity.linked(y)[some] - mixed + reach @ tree.leaf_value
    return _solved(reach, offset, weight[some], levels)


def _checked_levels(levels: Any) -> tuple[float, float]:
    given = np.asarray(levels, dtype=object)
    numbers = [one for one in given.ravel() if isinstance(one, (float, np.floating))]
    good = given.shape == (2,) and len(numbers) == 2 and 0 < numbers[0] < numbers[1] < 1
    if not good:
        raise ValueError(
            "levels must be two rising shares between 0 and 1, such as (0.1, 0.9), got "
            f"{shown(levels)}."
        )
    return float(numbers[0]), float(numbers[1])


def _check_enough(n_rows: int, lower: float, upper: float) -> None:
    """Refuse rows that are too few to know such levels."""
    needed = math.ceil(_BEYOND / min(lower, 1.0 - upper) - 1e-9)
    if n_rows < needed:
        raise ValueError(
            f"Levels ({lower:g}, {upper:g}) need at least {needed} rows, {_BEYOND} "
            f"beyond each of them, got {n_rows}. Pass more rows, or levels that are "
            "farther from 0 and 1."
        )


def _solved(
    reach: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    levels: tuple[float, float],
) -> tuple[FloatArray, FloatArray]:
    """Leaves of least quantile loss at both levels, the lower at most the upper.

    A linear program: what a row is above and below its prediction are variables.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array

    n, n_leaves = reach.shape
    share, centre = weight / weight.sum(), float(np.median(y))
    spread = float(np.ptp(y)) or 1.0
    scaled = (y - centre) / spread
    # Values of the lower and of the upper leaves, then rows above and below each.
    R, one = csr_array(reach), eye_array(n)
    none = csr_array((n, n_leaves))
    equal = block_array([[R, none, one, -one, None, None],
                         [none, R, None, None, one, -one]])  # fmt: skip
    same = eye_array(n_leaves)
    order = block_array([[same, -same, csr_array((n_leaves, 4 * n))]])
    costs = [np.zeros(2 * n_leaves)]
    for level in levels:
        costs += [level * share, (1.0 - level) * share]
    # A leaf that no row reaches says anything: within the range of the others.
    bounds = [(-2.0, 2.0)] * (2 * n_leaves) + [(0.0, None)] * (4 * n)
    found = linprog(
        np.concatenate(costs),
        A_ub=order,
        b_ub=np.zeros(n_leaves),
        A_eq=equal,
        b_eq=np.concatenate([scaled, scaled]),
        bounds=bounds,
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(f"The quantiles of leaves were not found: {found.message}")
    value = centre + spread * found.x[: 2 * n_leaves]
    low, high = value[:n_leaves], value[n_leaves:]
    # Rounding must not let them cross.
    return np.minimum(low, high), high
