"""Tree parts: the cuts and leaves of a tree as plain data, ready to be drawn.

Words and numbers are those of ``rules.py``; cuts that decide nothing are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from sorct._typing import FloatArray
from sorct.show.plotting._style import drawn_names
from sorct.show.text import (
    children,
    column_text,
    cut_terms,
    cut_text,
    is_leaf,
    leaves_below,
    printed_terms,
    shown_node,
)
from sorct.tree.tree import Tree


@dataclass(frozen=True)
class Term:
    """A column in a cut.

    Attributes
    ----------
    name : str
    number : str
        Sign and coefficient in original units, as printed; the first has none, it is 1.
    size : float
        Coefficient of the column scaled to [0, 1]; positive speaks for "yes".
    """

    name: str
    number: str
    size: float


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut, its question, and the nodes below it.

    Attributes
    ----------
    terms : tuple of Term, largest first
    question : str
    yes, no : int
        Numbers of the nodes that are drawn next.
    mass : array of shape (n_classes,)
        Share of all samples that comes here, by class.
    """

    terms: tuple[Term, ...]
    question: str
    yes: int
    no: int
    mass: FloatArray


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf, or several with one class.

    Attributes
    ----------
    label : int
        Position of its class.
    mass : array of shape (n_classes,)
        Share of all samples that ends here, by class.
    """

    label: int
    mass: FloatArray


def tree_parts(tree: Tree, mass: FloatArray) -> dict[int, Cut | Leaf]:
    """Nodes that are drawn, by number, the root first; a cut before what is below."""
    names = drawn_names(column_text(tree, j) for j in range(tree.n_columns))
    parts: dict[int, Cut | Leaf] = {}
    waiting = [shown_node(tree, 0)]
    while waiting:
        node = waiting.pop()
        here = mass[:, leaves_below(tree, node)].sum(axis=1)
        if is_leaf(tree, node):
            parts[node] = Leaf(int(tree.node_class[node]), here)
            continue
        yes, no = children(tree, node)
        terms, question = _terms(tree, node, names)
        parts[node] = Cut(terms, question, yes, no, here)
        waiting += [no, yes]
    return parts


def _terms(tree: Tree, t: int, names: list[str]) -> tuple[tuple[Term, ...], str]:
    """Terms and question of cut t."""
    weights, _ = cut_terms(tree, t)
    if not weights:
        return (), cut_text(tree, t).strip("()")
    numbers, limit = printed_terms(tree, t)
    first = next(iter(weights))
    turned = 1.0 if tree.coef[first, t] > 0 else -1.0
    sizes = turned * tree.coef[:, t]
    terms = tuple(
        Term(names[j], _number(number, weights[j], j == first), float(sizes[j]))
        for j, number in numbers.items()
    )
    return terms, _question(tree, t, limit)


def _number(size: str, weight: float, first: bool) -> str:
    if first:
        return ""
    return f"{'−' if weight < 0 else '+'} {size}"


def _question(tree: Tree, t: int, limit: str) -> str:
    """What is asked of the sum; of a level alone, whether it is so."""
    limit = limit.replace("-", "−")
    if tree.coef[:, t].astype(bool).sum() > 1:
        return f"sum > {limit} ?"
    return f"> {limit} ?" if ">" in cut_text(tree, t) else "true ?"
