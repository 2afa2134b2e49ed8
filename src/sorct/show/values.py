"""Values: what a tree of a quantity says, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sorct.data.quantity import grouped
from sorct.data.terms import Summand
from sorct.data.wording import readable
from sorct.show.numbers import rounded, thousands_apart
from sorct.tree.reading import ROUNDING
from sorct.tree.view import Leaf, View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# Digits of the numbers of a linear leaf.
_DIGITS = 4
_SMALLEST, _LARGEST = 1e-4, 1e12
# Most that rounding may move a sum of logarithms.
_OF_LOGARITHM = 5e-4
# Share of what its rows miss a sum by that rounding may move it.
_OF_MISS = 0.1
# Share of its largest term that it may be moved in any case.
_LEAST_ERROR = 1e-6
# A leaf that says something else than its rows are, by more of what they miss it by,
# tells both.
_APART = 0.25
_MEANS = (
    "≈ is the mean of the training rows that come to a leaf by hand, yes or no at each "
    "cut, and ± what they miss it by. "
)
_SUMS = (
    "± is what the training rows that come to a leaf by hand, yes or no at each cut, "
    "miss its sum by. "
)
_MIXED = (
    "predict mixes what leaves say by the probabilities of reaching them: a row near a "
    "cut goes both ways in part."
)


def leaf_value_parts(
    tree: Tree, leaf: Leaf, rows: bool, decimals: int | None = None
) -> list[str]:
    """What a leaf says, how far off it is, and how many samples it has.

    In parts, between which a line may be broken. ``rows`` says that whole rows were
    counted.
    """
    of = "rows" if rows else "samples"
    share = f"({100 * float(leaf.mass.sum()):.1f} % of {of})"
    *parts, last = says_parts(tree, leaf, decimals)
    return [*parts, f"{last}  {share}"]


@dataclass(frozen=True)
class LeafWords:
    """What is written of a leaf of a quantity.

    Attributes
    ----------
    value : str
        The number that its rows are on average; of a linear leaf, that it is a sum;
        where medians or quantiles are predicted, the number that it says.
    miss : str
        What its rows miss that by, if known; nothing beside medians and quantiles.
    says : str
        What the leaf itself says, where that is something else.
    """

    value: str
    miss: str
    says: str = ""


def leaf_words(tree: Tree, leaf: Leaf) -> LeafWords:
    """Words for a leaf."""
    assert leaf.value is not None
    middle = leaf_middle(leaf)
    value, miss = tree.quantity.value_parts(middle, leaf.miss)
    if leaf.terms:
        return LeafWords(f"sum, ≈ {value}", miss)
    own = float(tree.quantity.told(leaf.value))
    if not tree.tells_means:
        return LeafWords(f"≈ {tree.quantity.value_text(own)}", "")
    text, apart = tree.quantity.value_text(own), _APART * (leaf.miss or 0.0)
    same = abs(own - middle) <= apart or text == tree.quantity.value_text(middle)
    says = "" if same else f"says {text}"
    return LeafWords(f"≈ {value}", miss, says)


def leaf_middle(leaf: Leaf) -> float:
    """Mean of the rows in a leaf; what it says where that is not known."""
    return (leaf.value or 0.0) if leaf.mean is None else leaf.mean


def node_tones(view: View) -> dict[int, float]:
    """Where the mean of every node is between those of the leaves, from 0 to 1."""
    means = _node_means(view)
    ends = [means[leaf.node] for leaf in view.leaves]
    low, span = min(ends), max(ends) - min(ends)
    return {
        number: (mean - low) / span if span > 0.0 else 0.5
        for number, mean in means.items()
    }


def _node_means(view: View) -> dict[int, float]:
    """Mean of the rows that come to every node, from those of the leaves below."""
    found: dict[int, float] = {}
    # Nodes are in reading order: whatever is below a node comes after it.
    for number, node in reversed(view.nodes.items()):
        if isinstance(node, Leaf):
            found[number] = leaf_middle(node)
            continue
        below = [view.nodes[child] for child in (node.yes, node.no)]
        weight = [float(one.mass.sum()) + 1e-12 for one in below]
        means = [found[one.node] for one in below]
        found[number] = float(np.average(means, weights=weight))
    return found


def says_parts(tree: Tree, leaf: Leaf, decimals: int | None = None) -> list[str]:
    """The number or the sum that a leaf says, such as "≈ 212 000 (± 18 000)"."""
    words = leaf_words(tree, leaf)
    miss = [f"({words.miss})"] if words.miss else []
    if leaf.terms:
        parts = linear_parts(tree, leaf, decimals)
        if tree.quantity.is_log:
            parts = [f"exp({parts[0]}", *parts[1:]]
            parts[-1] += ")"
        return [f"≈ {parts[0]}", *parts[1:], *miss]
    text = " ".join([words.value, *miss])
    return [", ".join([text, words.says])] if words.says else [text]


def linear_parts(tree: Tree, leaf: Leaf, decimals: int | None = None) -> list[str]:
    """Constant of a linear leaf, and its summands with their signs, the largest first.

    Sums begin at 0 of the raw columns, not at the ends of their ranges.
    """
    assert leaf.value is not None
    constant, told = leaf.value, list[tuple[float, Summand]]()
    for summand, is_half in _by_size(leaf):
        # A missing cell that adds nothing stands in place of a number that begins at
        # an end of its range, and is told.
        if summand.raw_weight == 0.0:
            continue
        constant -= summand.begins
        weight = summand.raw_weight
        if is_half:
            # -a [no] + a [yes] is -a + 2a [yes].
            constant -= 0.5 * abs(weight)
            weight *= 2.0
            if weight < 0.0:
                continue
        told.append((weight, summand))
    error = _allowed_error(tree, leaf, told) / (len(told) + 1)
    parts = [thousands_apart(rounded(constant, error, decimals))]
    for weight, summand in told:
        sign = "-" if weight < 0 else "+"
        size = rounded(abs(weight), error / summand.largest, decimals)
        parts.append(f"{sign} {thousands_apart(size)} {summand.text}")
    return parts


def _allowed_error(tree: Tree, leaf: Leaf, told: list[tuple[float, Summand]]) -> float:
    """By how much rounding may move the sum of a leaf.

    A share of the largest term, as in cuts, and of what the sum misses its rows by.
    """
    most = max((abs(weight) * one.span for weight, one in told), default=0.0)
    error = ROUNDING * most
    if tree.quantity.is_log:
        return min(error, _OF_LOGARITHM)
    if leaf.miss is not None:
        error = min(error, _OF_MISS * leaf.miss)
    return max(error, _LEAST_ERROR * most)


def _by_size(leaf: Leaf) -> list[tuple[Summand, bool]]:
    """Summands of a linear leaf, largest first; parts of a number stay together.

    With each comes whether it is one of the two sides of a variable.
    """
    found: list[tuple[float, tuple[Summand, ...], bool]] = []
    for term in leaf.terms.values():
        parts = tuple(one for one in term.summands() if one.part is not None)
        if parts:
            found.append((max(abs(one.weight) for one in parts), parts, False))
        is_half = term.is_two_sided
        factor = 2.0 if is_half else 1.0
        others = (one for one in term.summands() if one.part is None)
        found += [(factor * abs(one.weight), (one,), is_half) for one in others]
    found.sort(key=lambda entry: -entry[0])
    return [(one, is_half) for _, own, is_half in found for one in own]


def short_number(value: float) -> str:
    """Four digits, without powers of ten where that can be."""
    if not _SMALLEST <= abs(value) < _LARGEST:
        return f"{value:.{_DIGITS}g}"
    return grouped(value, math.floor(math.log10(abs(value))) - _DIGITS + 1)


def quantity_footer(tree: Tree, view: View) -> list[str]:
    """What is told below the rules of a quantity."""
    told, quantity, lines = tree.training, tree.quantity, []
    if view.cuts:
        sums = "" if tree.leaf_coef is None else _SUMS
        lines.append(f"{_MEANS if tree.tells_means else sums}{_MIXED}")
    if quantity.is_log:
        mixed = " What leaves say is mixed by its logarithms." if view.cuts else ""
        low, high = map(quantity.value_text, (quantity.low, quantity.high))
        lines.append(
            f"The tree is one of the logarithm.{mixed} predict stays between the least "
            f"and the largest number of training, {low} and {high}."
        )
    if any(leaf_words(tree, leaf).says for leaf in view.leaves):
        lines.append(
            "A leaf between flat cuts says more or less than its rows are: none "
            "reaches it alone."
        )
    meant = meaning(tree)
    lines += [meant] if meant else []
    if told.r2 is not None:
        text = f"R² on the training rows is {told.r2:.3f}"
        if told.cv_r2 is not None:
            text += f", on held-out rows {told.cv_r2:.3f}"
        lines.append(f"{text}.")
    if told.n_told is not None and told.n_samples is not None:
        some, of = grouped(told.n_told, 0), grouped(told.n_samples, 0)
        lines.append(
            f"What is told of the training rows is of {some} of them, drawn from {of}."
        )
    names = ", ".join(readable(name) for name in tree.variables_used)
    lines.append(f"Variables: {names or 'none'}.")
    for sign, word in ((1, "falls"), (-1, "rises")):
        which = " or ".join(directed(tree, sign))
        if which:
            lines.append(f"The prediction never {word} as {which} grows.")
    if tree.variables_cost is not None:
        lines.append(f"The variables used cost {tree.variables_cost:.6g} in all.")
    return lines


def directed(tree: Tree, sign: int) -> list[str]:
    """Variables of the tree in which what it says was to rise (+1) or to fall (-1)."""
    signs, used = (tree.training.monotonic or {}).items(), set(tree.variables_used)
    return [readable(name) for name, one in signs if one == sign and name in used]


def meaning(tree: Tree) -> str:
    """What a prediction is, where it is no mean."""
    told = tree.training
    if told.loss == "quantile" and told.quantile is not None:
        return (
            f"Predictions are quantiles: {100 * told.quantile:g} % of such rows are "
            "expected to be below."
        )
    return "Predictions are medians." if told.loss == "absolute" else ""
