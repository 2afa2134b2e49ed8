"""Tree parts: the cuts and leaves of a tree with the words and numbers to be drawn.

They are those of the printed rules; cuts that decide nothing, or of which one side gets
next to nobody, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from sorct._typing import FloatArray
from sorct.data.terms import Summand
from sorct.show.plotting._style import drawn_names
from sorct.show.text import cut_text, printed_threshold, printed_weights
from sorct.tree.view import Cut, Leaf, View


@dataclass(frozen=True)
class DrawnTerm:
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
class DrawnCut:
    """A cut, its question, and the nodes below it.

    Attributes
    ----------
    terms : tuple of DrawnTerm, largest first
    question : str
    yes, no : int
        Numbers of the nodes that are drawn next.
    mass : array of shape (n_classes,)
        Share of all samples that comes here, by class.
    """

    terms: tuple[DrawnTerm, ...]
    question: str
    yes: int
    no: int
    mass: FloatArray


def tree_parts(view: View) -> dict[int, DrawnCut | Leaf]:
    """Nodes that are drawn, by number, the root first; a cut before what is below."""
    nodes = view.nodes
    texts = [s.text for n in nodes.values() for s in _summands(n)]
    names = dict(zip(texts, drawn_names(texts), strict=True))
    return {
        number: node if isinstance(node, Leaf) else _drawn(node, names)
        for number, node in nodes.items()
    }


def _summands(node: Cut | Leaf) -> tuple[Summand, ...]:
    return node.reading.summands if isinstance(node, Cut) else ()


def _drawn(cut: Cut, names: dict[str, str]) -> DrawnCut:
    reading = cut.reading
    side = 1.0 if reading.is_left else -1.0
    terms = tuple(
        DrawnTerm(names[s.text], _number(size, weight, k == 0), side * s.weight)
        for k, (s, weight, size) in enumerate(
            zip(reading.summands, reading.weights, _sizes(cut), strict=True)
        )
    )
    return DrawnCut(terms, _question(cut), cut.yes, cut.no, cut.mass)


def _sizes(cut: Cut) -> list[str]:
    return printed_weights(cut.reading) if cut.reading.summands else []


def _number(size: str, weight: float, first: bool) -> str:
    if first:
        return ""
    return f"{'−' if weight < 0 else '+'} {size}"


def _question(cut: Cut) -> str:
    """What is asked of the sum; of a level alone, whether it is so."""
    if not cut.reading.summands:
        return cut_text(cut).strip("()")
    threshold = printed_threshold(cut.reading).replace("-", "−")
    if len(cut.reading.summands) > 1:
        return f"sum > {threshold} ?"
    return "true ?" if is_a_level(cut.reading) else f"> {threshold} ?"
