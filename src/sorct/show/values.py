"""Values: what a tree of a quantity says, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sorct.data.quantity import grouped
from sorct.data.wording import readable
from sorct.tree.view import Leaf, View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# Digits of the numbers of a linear leaf.
_DIGITS = 4
_SMALLEST, _LARGEST = 1e-4, 1e12
# A leaf that says something else than its rows are, by more of what they miss it by,
# tells both.
_APART = 0.25
_MIXED = (
    "≈ is the mean of the training rows that come to a leaf by hand, yes or no at each "
    "cut, and ± what they miss it by. predict mixes what leaves say by the "
    "probabilities of reaching them: a row near a cut goes both ways in part."
)
_MIXED_SUMS = (
    "± is what the training rows that come to a leaf by hand, yes or no at each cut, "
    "miss its sum by. predict mixes what leaves say by the probabilities of reaching "
    "them: a row near a cut goes both ways in part."
)


def leaf_value_parts(tree: Tree, leaf: Leaf) -> list[str]:
    """What a leaf says, how far off it is, and how many samples it has.

    In parts, between which a line may be broken.
    """
    of = "samples" if tree.routed is None else "rows"
    share = f"({100 * float(leaf.mass.sum()):.1f} % of {of})"
    *parts, last = says_parts(tree, leaf)
    return [*parts, f"{last}  {share}"]


def says_parts(tree: Tree, leaf: Leaf) -> list[str]:
    """The number or the sum that a leaf says, such as "≈ 212 000 (± 18 000)"."""
    assert leaf.value is not None
    if not leaf.terms:
        if leaf.mean is None:
            return [f"≈ {tree.quantity.value_text(leaf.value, leaf.miss)}"]
        text = f"≈ {tree.quantity.value_text(leaf.mean, leaf.miss)}"
        if abs(leaf.value - leaf.mean) > _APART * (leaf.miss or 0.0):
            text += f", says {tree.quantity.value_text(leaf.value)}"
        return [text]
    constant, parts = linear_parts(leaf)
    told = [f"(± {tree.quantity.value_text(leaf.miss)})"] if leaf.miss else []
    return [f"≈ {_number(constant)}", *parts, *told]


def linear_parts(leaf: Leaf) -> tuple[float, list[str]]:
    """Constant of a linear leaf, and its summands with their signs, the largest first.

    Sums begin at 0 of the raw columns, not at the ends of their ranges.
    """
    assert leaf.value is not None
    constant, parts = leaf.value, []
    summands = [one for term in leaf.terms.values() for one in term.summands()]
    for summand in sorted(summands, key=lambda one: -abs(one.weight)):
        if summand.weight == 0.0:
            continue
        constant -= summand.weight * (summand.lower / summand.span)
        sign = "-" if summand.raw_weight < 0 else "+"
        parts.append(f"{sign} {_number(abs(summand.raw_weight))} {summand.text}")
    return constant, parts


def _number(value: float) -> str:
    """Four digits, without powers of ten where that can be."""
    if not _SMALLEST <= abs(value) < _LARGEST:
        return f"{value:.{_DIGITS}g}"
    return grouped(value, math.floor(math.log10(abs(value))) - _DIGITS + 1)


def quantity_footer(tree: Tree, view: View) -> list[str]:
    """What is told below the rules of a quantity."""
    told, lines = tree.training, []
    if view.cuts:
        lines.append(_MIXED if tree.leaf_coef is None else _MIXED_SUMS)
    if any(", says " in " ".join(says_parts(tree, leaf)) for leaf in view.leaves):
        lines.append(
            "A leaf between flat cuts says more or less than its rows are: none "
            "reaches it alone."
        )
    if told.loss == "quantile" and told.quantile is not None:
        lines.append(
            f"Predictions are quantiles: {100 * told.quantile:g} % of such rows are "
            "expected to be below."
        )
    elif told.loss == "absolute":
        lines.append("Predictions are medians.")
    if told.r2 is not None:
        text = f"R² on the training rows is {told.r2:.3f}"
        if told.cv_r2 is not None:
            text += f", on held-out rows {told.cv_r2:.3f}"
        lines.append(f"{text}.")
    names = ", ".join(readable(name) for name in tree.variables_used)
    lines.append(f"Variables: {names or 'none'}.")
    for sign, word in ((1, "falls"), (-1, "rises")):
        signs = (told.monotonic or {}).items()
        which = " or ".join(readable(name) for name, given in signs if given == sign)
        if which:
            lines.append(f"The prediction never {word} as {which} grows.")
    if tree.variables_cost is not None:
        lines.append(f"The variables used cost {tree.variables_cost:.6g} in all.")
    return lines
