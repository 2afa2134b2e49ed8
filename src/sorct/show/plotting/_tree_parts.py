"""Tree parts: the cuts and leaves of a tree with the words and numbers to be drawn.

They are those of the printed rules; cuts that decide nothing, or of which one side gets
next to nobody, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sorct._typing import FloatArray
from sorct.data.wording import readable
from sorct.show.cuts import cut_text, missing_text, plain_question
from sorct.show.folds import folds
from sorct.show.numbers import printed_threshold, printed_weights
from sorct.show.plotting._style import drawn_names
from sorct.tree.reading import Piece, Reading
from sorct.tree.view import Cut, Leaf, View

# Shares that differ by no more may read the same.
_ROUNDING = 0.01


@dataclass(frozen=True)
class DrawnTerm:
    """A row in a cut: a column, or levels of a category that weigh the same.

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
    number : int
        As printed.
    terms : tuple of DrawnTerm, largest first
    question : str
    yes, no : int
        Numbers of the nodes that are drawn next.
    mass : array of shape (n_classes,)
        Share of all samples that comes here, by class.
    """

    number: int
    terms: tuple[DrawnTerm, ...]
    question: str
    yes: int
    no: int
    mass: FloatArray


@dataclass(frozen=True, eq=False)
class DrawnLeaf(Leaf):
    """A leaf, how its samples are called, and what it says if that is told."""

    rows: str = "samples"
    says: str = ""


def drawn_leaf(
    leaf: Leaf, hard: bool = False, classes: Sequence[str] | None = None
) -> DrawnLeaf:
    """A leaf with what it says of its class where it says something else than it has.

    ``classes`` are the names of the classes, None where leaves say no more than one.
    """
    share, says = float(leaf.mass.sum()), ""
    if classes is not None and share > 0.0:
        said, own = float(leaf.proba[leaf.code]), float(leaf.mass[leaf.code] / share)
        if abs(said - own) > _ROUNDING:
            says = f"says {100 * said:.0f} % {classes[leaf.code]}"
    fields = {name: getattr(leaf, name) for name in Leaf.__dataclass_fields__}
    return DrawnLeaf(**fields, rows="rows" if hard else "samples", says=says)


def tree_parts(
    view: View, hard: bool = False, classes: Sequence[str] | None = None
) -> dict[int, DrawnCut | Leaf]:
    """Nodes that are drawn, by number, the root first; a cut before what is below."""
    nodes = view.nodes
    terms = {number: _terms(node) for number, node in nodes.items()}
    texts = [term.name for own in terms.values() for term in own]
    names = dict(zip(texts, drawn_names(texts), strict=True))
    return {
        number: drawn_leaf(node, hard, classes)
        if isinstance(node, Leaf)
        else DrawnCut(
            node.number,
            tuple(replace(term, name=names[term.name]) for term in terms[number]),
            _question(node),
            node.yes,
            node.no,
            node.mass,
        )
        for number, node in nodes.items()
    }


def _terms(node: Cut | Leaf) -> list[DrawnTerm]:
    """Terms of a cut, largest first; of a category one per weight."""
    if isinstance(node, Leaf):
        return []
    reading = node.reading
    plain = plain_question(reading)
    if plain is not None and not _is_a_column(reading):
        size = max(abs(summand.weight) for summand in reading.summands)
        return [DrawnTerm(plain[0], "", size)]
    terms = [term for piece in reading.pieces for term in _piece_terms(reading, piece)]
    return sorted(terms, key=lambda term: -abs(term.size))


def _is_a_column(reading: Reading) -> bool:
    """Whether a cut asks for one column that has a name of its own."""
    (first, *others) = reading.summands
    return not others and not first.points and first.origin is None


def _piece_terms(reading: Reading, piece: Piece) -> list[DrawnTerm]:
    side = 1.0 if reading.is_left else -1.0
    if piece.levels:
        unit = abs(reading.summands[0].raw_weight)
        return [
            DrawnTerm(
                f"{readable(piece.name)}: {fold.names}",
                " to ".join(_spaced(number) for number in dict.fromkeys(fold.numbers)),
                unit * max(fold.low, fold.high, key=abs),
            )
            for fold in folds(reading, piece)
            if fold.low != 0.0 or fold.high != 0.0
        ]
    k = piece.places[0]
    summand, weight = reading.summands[k], reading.weights[k]
    size = printed_weights(reading)[k]
    number = "" if k == 0 else _spaced(f"{'-' if weight < 0 else ''}{size}")
    text = summand.text
    if piece.missing is not None:
        missing = missing_text(reading, piece).replace("-", "−", 1)
        text += f" (missing: {missing})"
    return [DrawnTerm(text, number, side * summand.weight)]


def _spaced(number: str) -> str:
    """A number with its sign apart."""
    return f"− {number[1:]}" if number.startswith("-") else f"+ {number}"


def _question(cut: Cut) -> str:
    """What is asked of the sum; of a variable alone, what is asked of it."""
    reading = cut.reading
    if not reading.summands:
        return cut_text(cut).strip("()")
    plain = plain_question(reading)
    if plain is not None:
        return "true ?" if _is_a_column(reading) else f"{plain[1]} ?"
    threshold = printed_threshold(reading).replace("-", "−")
    if len(_terms(cut)) > 1:
        return f"sum > {threshold} ?"
    return f"> {threshold} ?"
