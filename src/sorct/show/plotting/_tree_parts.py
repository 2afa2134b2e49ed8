"""Tree parts: the cuts and leaves of a tree with the words and numbers to be drawn.

They are those of the printed rules; cuts that decide nothing, or of which one side gets
next to nobody, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sorct._typing import FloatArray
from sorct.data.wording import readable, shortened
from sorct.show.cuts import cut_text, missing_text, plain_question
from sorct.show.folds import Fold, folds
from sorct.show.numbers import printed_threshold, printed_weight
from sorct.show.plotting._style import drawn_names
from sorct.tree.reading import Piece, Reading
from sorct.tree.view import Cut, Leaf, View

# Letters of a variable with its levels at most, and of it alone at least.
_MOST_LETTERS, _LEAST_NAME = 52, 16
# Shares that differ by no more may read the same.
_ROUNDING = 0.01
# Classes of a leaf that get a line of their own; one more is written out as well, for
# "1 others" would take a line too.
_MOST_CLASSES = 3
# A class with a smaller share of its leaf is left out; a leaf with a smaller share of
# all samples names no classes.
_LITTLE, _NOBODY = 5e-3, 5e-4


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
    short : str
        A short form of the name; empty where a long one is cut in the middle.
    """

    name: str
    number: str
    size: float
    short: str = ""


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


@dataclass(frozen=True)
class LeafLine:
    """A line below the name of a leaf, with a bar before it if there is one.

    Attributes
    ----------
    text : str
    code : int or None
        Position of the class whose colour the bar has, None where there is no bar.
    begin, end : float
        Ends of the bar, as shares of the room that it has.
    """

    text: str
    code: int | None = None
    begin: float = 0.0
    end: float = 0.0


@dataclass(frozen=True, eq=False)
class DrawnLeaf(Leaf):
    """A leaf with the words that are written there.

    Attributes
    ----------
    name : str
        What it says.
    share : str
        How many samples it has.
    lines : tuple of LeafLine
    """

    name: str = ""
    share: str = ""
    lines: tuple[LeafLine, ...] = ()

    @classmethod
    def of(
        cls, leaf: Leaf, name: str, lines: Sequence[LeafLine], hard: bool
    ) -> DrawnLeaf:
        """A leaf of a view with its words; ``hard`` if whole rows were counted."""
        fields = {key: getattr(leaf, key) for key in Leaf.__dataclass_fields__}
        rows = "rows" if hard else "samples"
        share = f"{100 * leaf.mass.sum():.1f} % of {rows}"
        return cls(**fields, name=name, share=share, lines=tuple(lines))


def class_leaf(leaf: Leaf, classes: Sequence[str], *, hard: bool) -> DrawnLeaf:
    """A leaf with its class, and the classes in it.

    Where leaves say shares, what it says of its class follows if that is not what its
    rows are.
    """
    lines, share = _mix_lines(leaf, classes), float(leaf.mass.sum())
    if leaf.says is not None and share > 0.0 and lines:
        said, own = float(leaf.says[leaf.code]), float(leaf.mass[leaf.code] / share)
        if abs(said - own) > _ROUNDING:
            text = f"says {100 * said:.0f} % {classes[leaf.code]}"
            lines.append(LeafLine(text))
    return DrawnLeaf.of(leaf, classes[leaf.code], lines, hard)


def _mix_lines(leaf: Leaf, classes: Sequence[str]) -> list[LeafLine]:
    """Lines on the classes in a leaf, largest first."""
    share = float(leaf.mass.sum())
    if share <= _NOBODY:
        return []
    part = leaf.mass / share
    order = sorted(range(part.size), key=lambda k: -part[k])
    order = [k for k in order if part[k] >= _LITTLE]
    n_told = len(order) if len(order) <= _MOST_CLASSES + 1 else _MOST_CLASSES
    told, rest = order[:n_told], order[n_told:]
    lines = [
        LeafLine(f"{100 * part[k]:.0f} % {classes[k]}", k, 0.0, float(part[k]))
        for k in told
    ]
    if rest:
        text = f"{100 * part[rest].sum():.0f} % {len(rest)} others"
        lines.append(LeafLine(text))
    return lines


def tree_parts(
    view: View, write: Callable[[Leaf], DrawnLeaf]
) -> dict[int, DrawnCut | DrawnLeaf]:
    """Nodes that are drawn, by number, the root first; a cut before what is below."""
    nodes = view.nodes
    terms = {number: _terms(node) for number, node in nodes.items()}
    short_forms = {term.name: term.short for own in terms.values() for term in own}
    drawn = drawn_names(short_forms, short_forms=short_forms)
    names = dict(zip(short_forms, drawn, strict=True))
    return {
        number: write(node)
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
    own_unit = first.points or first.part or first.origin is not None
    return not others and not own_unit


def _piece_terms(reading: Reading, piece: Piece) -> list[DrawnTerm]:
    side = 1.0 if reading.is_left else -1.0
    if piece.levels:
        unit = abs(reading.summands[0].raw_weight)
        return [
            DrawnTerm(
                f"{readable(piece.name)}: {fold.names}",
                " to ".join(_spaced(number) for number in dict.fromkeys(fold.numbers)),
                unit * max(fold.low, fold.high, key=abs),
                _short_form(readable(piece.name), fold),
            )
            for fold in folds(reading, piece)
            if fold.low != 0.0 or fold.high != 0.0
        ]
    k = piece.places[0]
    summand, weight = reading.summands[k], reading.weights[k]
    size = printed_weight(reading, k)
    number = "" if k == 0 else _spaced(f"{'-' if weight < 0 else ''}{size}")
    text = summand.text
    if piece.missing is not None:
        missing = missing_text(reading, piece).replace("-", "−", 1)
        text += f" (missing: {missing})"
    return [DrawnTerm(text, number, side * summand.weight)]


def _short_form(variable: str, fold: Fold) -> str:
    """A variable and levels that have room beside it, neither cut through the other."""
    letters = max(_LEAST_NAME, _MOST_LETTERS - 2 - len(fold.names))
    variable = shortened(variable, letters)
    return f"{variable}: {fold.short(_MOST_LETTERS - 2 - len(variable))}"


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
