"""Rounding: cuts with few digits in original units, for people and for paper.

Weights are rounded as the rules print them, the first being 1. Rounding a weight shifts
the sum; the shift in the middle of the variable's range is added to the threshold. That
is rounded last. What a missing cell adds in place of a variable is rounded like the
threshold.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.terms import Summand
from sorct.data.wording import shown
from sorct.tree.reading import Reading

if TYPE_CHECKING:
    from sorct.tree.tree import Tree


@dataclass(frozen=True)
class Rounded:
    """A rounded tree, and its accuracy on given data before and after (None without).

    Attributes
    ----------
    tree : Tree
    accuracy_before, accuracy_after : float or None
    """

    tree: Tree
    accuracy_before: float | None = None
    accuracy_after: float | None = None


def check_digits(digits: Any) -> None:
    """Refuse what is not a whole number from 1 to 15."""
    whole = isinstance(digits, (int, np.integer)) and not isinstance(digits, bool)
    if not whole or not 1 <= digits <= 15:
        raise ValueError(
            f"digits must be a whole number from 1 to 15, got {shown(digits)}."
        )


def rounded_cuts(tree: Tree, digits: int) -> tuple[FloatArray, FloatArray]:
    """Coefficients and thresholds of the tree with its cuts rounded."""
    coef, threshold = tree.coef.copy(), tree.threshold.copy()
    for t in range(tree.n_branches):
        if tree.coef[:, t].any():
            coef[:, t], threshold[t] = _rounded_cut(tree, t, digits)
    return coef, threshold


def _rounded_cut(tree: Tree, t: int, digits: int) -> tuple[FloatArray, float]:
    terms = tree.encoder.terms(tree.coef[:, t])
    n_groups = tree.encoder.n_groups
    reading = Reading.of(tree.encoder, terms, n_groups * float(tree.threshold[t]))
    if not terms:
        return tree.coef[:, t], float(tree.threshold[t])
    first = reading.summands[0]
    # The cut as read is the tree's divided by this; multiplied back it is as steep.
    scale = abs(first.weight) / first.span
    side = 1.0 if reading.is_left else -1.0
    unit = 10.0 ** (np.floor(np.log10(first.span)) - digits)
    coef = np.zeros(tree.n_columns)
    # What rounding moves in the middle of a variable, and what its columns add at 0.
    moved: defaultdict[int, float] = defaultdict(float)
    at_zero: defaultdict[int, float] = defaultdict(float)
    # Of two sides one is told; what the other adds is no part of the threshold.
    sided, untold, base = reading.sided, reading.untold, 0.0
    for summand, column, i, exact in _known_first(reading):
        if i in at_zero and summand.is_missing:
            weight = _to_unit(exact + moved[i], unit)
            coef[column] = side * scale * (weight - at_zero[i])
            continue
        # What is told of two sides is twice what each adds.
        told = 2.0 if column in sided else 1.0
        limit = told * first.span / summand.span
        weight = _to_digits(told * exact, digits, limit) / told
        if summand.member is None:
            moved[i] += (weight - exact) * (summand.lower + 0.5 * summand.span)
        most = abs(coef[reading.columns[0]]) or np.inf
        coef[column] = np.clip(side * scale * weight * summand.span, -most, most)
        at_zero[i] += weight * summand.lower
        base += weight if column in untold else 0.0
    threshold = _to_unit(reading.threshold + sum(moved.values()), unit) + base
    return coef, side * scale * (threshold - sum(at_zero.values())) / n_groups


def _known_first(reading: Reading) -> list[tuple[Summand, int, int, float]]:
    """Summands, columns, variables and weights; missing cells after their variables."""
    found = list(
        zip(
            reading.summands, reading.columns, reading.variables, reading.weights,
            strict=True,
        )
    )  # fmt: skip
    known = {i for summand, _, i, _ in found if not summand.is_missing}
    return sorted(found, key=lambda entry: entry[0].is_missing and entry[2] in known)


def _to_unit(number: float, unit: float) -> float:
    return float(f"{np.round(number / unit) * unit:.15g}")


def _to_digits(number: float, digits: int, most: float) -> float:
    """Number rounded to digits, towards zero where rounding would reach ``most``.

    A weight of that size would count as much as the first, and the cut would be read
    with another summand first.
    """
    nearest = float(f"{number:.{digits}g}")
    if abs(nearest) < most:
        return nearest
    down = Context(prec=digits, rounding=ROUND_DOWN)
    return float(down.create_decimal(f"{number:.15g}"))
