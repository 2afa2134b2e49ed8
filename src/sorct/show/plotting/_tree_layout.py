"""Tree layout: where the parts of a tree stand, in points, x to the right and y down.

Samples come in on the left, a band per class, and flow through columns of cuts to the
leaves on the right. Every node owns a strip of height that no other node of its column
enters, and every column is as wide as its widest text: nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sorct._typing import FloatArray
from sorct.show.plotting._tree_parts import DrawnCut, DrawnLeaf, DrawnTerm

#: Width of a line of text: its letters, size and weight.
Measure = Callable[[str, float, str], float]
Parts = dict[int, DrawnCut | DrawnLeaf]

FONT, SMALL = 9.0, 7.5
#: Height of a line, width of all bars, and of the words "yes" and "no".
LINE, BAR, ANSWER = 13.0, 60.0, 20.0
#: Length of a flow between columns, and height between the two that leave a cut.
FLOW, FORK = 68.0, 14.0
PAD, MARGIN = 7.0, 10.0
#: Length of the bars of a leaf.
MIX_BAR = 30.0
# Height between strips, and between classes that come in.
_APART, _NEAR = 14.0, 4.0
# Classes of a smaller share come in at one place, where they are more than so many.
_LITTLE, _MOST_SMALL = 5e-3, 3
# Thickness of all samples together: so much, so much more per leaf, at most so much.
_THICKNESS = 76.0, 12.0, 220.0


@dataclass(frozen=True)
class Box:
    """A rectangle: left edge, middle height, width, height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Layout:
    """Places of everything.

    Attributes
    ----------
    width, height : float
        Of the whole drawing.
    thickness : float
        Of a band that all samples flow through.
    boxes : dict from node to Box
    sources : list of Box
        Where the samples of every class come in, small ones at one place; the label
        stands left of it.
    numbers : dict from cut to float
        Width of its numbers.
    note : list of str
        Lines at the foot.
    """

    width: float
    height: float
    thickness: float
    boxes: dict[int, Box]
    sources: list[Box]
    numbers: dict[int, float]
    note: list[str]


# -- what is written -----------------------------------------------------------------


def shown_terms(cut: DrawnCut, max_terms: int) -> tuple[DrawnTerm, ...]:
    """Terms that get a line: at most so many, or one more, instead of "1 more"."""
    few = len(cut.terms) <= max_terms + 1
    return cut.terms if few else cut.terms[:max_terms]


def more_text(cut: DrawnCut, max_terms: int) -> str:
    """What is said of the terms left out, or nothing."""
    shown = shown_terms(cut, max_terms)
    n_more = len(cut.terms) - len(shown)
    if n_more == 0:
        return ""
    total = sum(abs(term.size) for term in cut.terms)
    share = 100.0 * (1.0 - sum(abs(term.size) for term in shown) / total)
    told = f"{share:.0f} %" if share >= 0.5 else "under 1 %"
    return f"and {n_more} more ({told} of the weight)"


def source_groups(mass: FloatArray) -> list[list[int]]:
    """Classes by the places where they come in: those of next to nobody share one."""
    small = np.flatnonzero(mass < _LITTLE * mass.sum()).tolist()
    if len(small) <= _MOST_SMALL:
        return [[k] for k in range(mass.size)]
    return [*([k] for k in range(mass.size) if k not in small), small]


def source_texts(mass: FloatArray, classes: Sequence[str]) -> list[str]:
    """Classes with their shares of all samples; if there is but one, its name."""
    if len(classes) == 1:
        return list(classes)
    share = 100.0 * mass / mass.sum()
    return [
        f"{f'{len(own)} others' if own[1:] else classes[own[0]]}"
        f"  {share[own].sum():.0f} %"
        for own in source_groups(mass)
    ]


# -- where it stands -----------------------------------------------------------------


def lay_out(
    parts: Parts,
    classes: Sequence[str],
    max_terms: int,
    measure: Measure,
    note: str = "",
) -> Layout:
    """Place all parts of a tree, and a note at the foot; the root is the first part."""
    root = next(iter(parts))
    n_leaves = sum(isinstance(part, DrawnLeaf) for part in parts.values())
    base, each, most = _THICKNESS
    thickness = min(base + each * n_leaves, most)
    own = {t: _own_height(part, thickness, max_terms) for t, part in parts.items()}
    strip = _strips(parts, own)
    mass = parts[root].mass
    entering = [
        max(thickness * float(mass[own].sum()), LINE) + _NEAR
        for own in source_groups(mass)
    ]
    strip[root] = max(strip[root], sum(entering))
    middle: dict[int, float] = {}
    _place(parts, root, MARGIN, own, strip, middle)
    texts = source_texts(mass, classes)
    left = MARGIN + max(measure(text, FONT, "normal") for text in texts) + PAD
    sources = _sources(left, middle[root], strip[root] + 2 * MARGIN, entering)
    sizes = {t: _size(part, max_terms, measure) for t, part in parts.items()}
    columns = _columns(parts, sizes, left + FLOW)
    boxes = {t: Box(columns[t].x, middle[t], columns[t].width, own[t]) for t in parts}
    width = max(box.right for box in boxes.values()) + MARGIN
    foot = _broken(note, width - 2 * MARGIN, measure)
    return Layout(
        width=width,
        height=strip[root] + 2 * MARGIN + LINE * len(foot),
        thickness=thickness,
        boxes=boxes,
        sources=sources,
        numbers={t: columns[t].numbers for t in parts},
        note=foot,
    )


def _broken(text: str, width: float, measure: Measure) -> list[str]:
    """Small text in lines of a width, broken between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer, SMALL, "normal") <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _own_height(part: DrawnCut | DrawnLeaf, thickness: float, max_terms: int) -> float:
    """Height of a node by itself: its lines, or the samples that flow through."""
    band = thickness * float(part.mass.sum())
    if isinstance(part, DrawnLeaf):
        return max(LINE * (1 + len(part.lines)), band)
    n_lines = len(shown_terms(part, max_terms)) + bool(more_text(part, max_terms))
    return max(LINE * (2 + n_lines) + 2 * PAD, band + FORK + 2 * PAD)


def _strips(parts: Parts, own: dict[int, float]) -> dict[int, float]:
    """Height that every node and all below it need."""
    strip: dict[int, float] = {}
    for t, part in reversed(parts.items()):
        below = 0.0
        if isinstance(part, DrawnCut):
            below = strip[part.yes] + strip[part.no]
        strip[t] = max(own[t] + _APART, below)
    return strip


def _place(
    parts: Parts,
    t: int,
    top: float,
    own: dict[int, float],
    strip: dict[int, float],
    middle_out: dict[int, float],
) -> None:
    """Put a node between what is below it, all within its strip."""
    part = parts[t]
    middle_out[t] = top + strip[t] / 2
    if isinstance(part, DrawnLeaf):
        return
    first = top + (strip[t] - strip[part.yes] - strip[part.no]) / 2
    _place(parts, part.yes, first, own, strip, middle_out)
    _place(parts, part.no, first + strip[part.yes], own, strip, middle_out)
    wanted = (middle_out[part.yes] + middle_out[part.no]) / 2
    slack = (strip[t] - own[t]) / 2
    middle_out[t] = min(max(wanted, middle_out[t] - slack), middle_out[t] + slack)


def _sources(
    left: float, middle: float, height: float, entering: list[float]
) -> list[Box]:
    """Classes one below the other, level with the root as far as there is room."""
    half = sum(entering) / 2
    top = min(max(middle, MARGIN + half), height - MARGIN - half) - half
    boxes = []
    for size in entering:
        boxes.append(Box(left, top + size / 2, 0.0, size - _NEAR))
        top += size
    return boxes


@dataclass(frozen=True)
class _Size:
    """Width of a node: of its numbers, and of all its text."""

    numbers: float
    text: float


@dataclass(frozen=True)
class _Column:
    x: float
    width: float
    numbers: float


def _size(part: DrawnCut | DrawnLeaf, max_terms: int, measure: Measure) -> _Size:
    if isinstance(part, DrawnLeaf):
        head = measure(part.name, FONT, "bold") + PAD
        lines = [measure(line.text, FONT, "normal") for line in part.lines]
        widest = max([0.0, *lines]) + MIX_BAR + PAD
        return _Size(0.0, max(head + measure(part.share, FONT, "normal"), widest))
    shown = shown_terms(part, max_terms)
    numbers = max([0.0, *(measure(term.number, FONT, "normal") for term in shown)])
    names = max([0.0, *(measure(term.name, FONT, "normal") for term in shown)])
    more = measure(more_text(part, max_terms), FONT, "normal")
    question = measure(part.question, FONT, "bold")
    return _Size(numbers, max(numbers + PAD + names, more, question))


def _columns(parts: Parts, sizes: dict[int, _Size], x: float) -> dict[int, _Column]:
    """Column of every node: cuts by their level, all leaves together at the end."""
    level, columns = {next(iter(parts)): 0}, {}
    for t, part in parts.items():
        if isinstance(part, DrawnCut):
            level[part.yes] = level[part.no] = level[t] + 1
    cuts = [t for t, part in parts.items() if isinstance(part, DrawnCut)]
    for here in range(1 + max((level[t] for t in cuts), default=-1)):
        members = [t for t in cuts if level[t] == here]
        numbers = max(sizes[t].numbers for t in members)
        names = max(sizes[t].text - sizes[t].numbers for t in members)
        text = max(numbers + names, *(sizes[t].text for t in members))
        column = _Column(x, text + BAR + ANSWER + 4 * PAD, numbers)
        columns.update(dict.fromkeys(members, column))
        x = column.x + column.width + FLOW
    leaves = [t for t in parts if t not in columns]
    last = _Column(x, PAD + max(sizes[t].text for t in leaves), 0.0)
    return {**columns, **dict.fromkeys(leaves, last)}
