"""Tree pen: draws the parts of a tree where the layout puts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sorct._typing import FloatArray
from sorct.show.plotting._style import FAINT, INK, SOFT, class_fills, shade
from sorct.show.plotting._tree_layout import (
    ANSWER,
    BAR,
    FLOW,
    FONT,
    FORK,
    LINE,
    MARGIN,
    MIX_BAR,
    PAD,
    SMALL,
    Box,
    Layout,
    Parts,
    more_text,
    shown_terms,
    source_groups,
    source_texts,
)
from sorct.show.plotting._tree_parts import DrawnCut, DrawnLeaf, DrawnTerm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

Place = tuple[float, float]

# Thinner flows, as a share of all samples, are not drawn.
_THINNEST = 1e-4
# Thinner ones, in points, have no edge.
_THIN = 3.0
_BAR_COLOUR = "#4D4D4D"
_BAR_HEIGHT = 7.0


@dataclass(frozen=True, eq=False)
class TreePen:
    """Draws a tree into axes whose units are those of its layout.

    ``tones`` has a place from 0 to 1 for every node of a tree of a quantity, from the
    lowest leaf to the highest; where there are classes it is empty.
    """

    ax: Axes
    layout: Layout
    parts: Parts
    classes: list[str]
    max_terms: int
    tones: dict[int, float]

    def _write(self, x: float, y: float, text: str, **options: Any) -> None:
        from sorct.show.plotting._scaled_text import ScaledText

        units = options.pop("units", FONT)
        self.ax.add_artist(ScaledText(x, y, text, units, **{"color": INK, **options}))

    def _fill(self, corner: Place, width: float, height: float, **look: Any) -> Any:
        from matplotlib.patches import Rectangle

        return self.ax.add_artist(Rectangle(corner, width, height, **look))

    def _look(self, t: int, k: int, size: float) -> dict[str, Any]:
        """How the samples of a class in a node are filled.

        Thin bands need all their colour.
        """
        fill = class_fills(len(self.classes))[k]
        if t in self.tones:
            fill = shade(self.tones[t])
        return {
            "facecolor": fill.colour,
            "hatch": fill.hatch,
            "edgecolor": "white",
            "linewidth": 0.3 if size > _THIN else 0.0,
        }

    # -- flows -----------------------------------------------------------------------

    def draw_bands(self) -> dict[tuple[int, int], PathPatch]:
        """What flows into every node, class by class."""
        from matplotlib.patches import PathPatch

        bands = {}
        for t, starts in self._flows():
            box, mass = self.layout.boxes[t], self.parts[t].mass
            ends = self._stack(t, box.y - self.layout.thickness * mass.sum() / 2)
            for k, (start, y) in enumerate(zip(starts, ends, strict=True)):
                if mass[k] < _THINNEST:
                    continue
                size = self.layout.thickness * float(mass[k])
                band = PathPatch(
                    _band(start, (box.x, y), size), **self._look(t, k, size)
                )
                bands[t, k] = band
                self.ax.add_artist(band)
        return bands

    def _flows(self) -> Iterator[tuple[int, list[Place]]]:
        """Nodes, with the places that their classes come from."""
        root = next(iter(self.parts))
        yield root, self._starts(self.parts[root].mass)
        for t, part in self.parts.items():
            if isinstance(part, DrawnCut):
                right = self.layout.boxes[t].right
                for child, top in self._exits(t, part).items():
                    yield child, [(right, y) for y in self._stack(child, top)]

    def _starts(self, mass: FloatArray) -> list[Place]:
        """Upper ends of the classes where they come in."""
        places: dict[int, Place] = {}
        for box, own in zip(self.layout.sources, source_groups(mass), strict=True):
            sizes = self.layout.thickness * mass[own]
            tops = box.y - sizes.sum() / 2 + sizes.cumsum() - sizes
            places |= {k: (box.x, y) for k, y in zip(own, tops.tolist(), strict=True)}
        return [places[k] for k in range(mass.size)]

    def _exits(self, t: int, cut: DrawnCut) -> dict[int, float]:
        """Upper ends of what leaves a cut."""
        yes, no = self._size(cut.yes), self._size(cut.no)
        top = self.layout.boxes[t].y - (yes + FORK + no) / 2
        return {cut.yes: top, cut.no: top + yes + FORK}

    def _size(self, t: int) -> float:
        """Thickness of all that flows into a node."""
        return self.layout.thickness * float(self.parts[t].mass.sum())

    def _stack(self, t: int, top: float) -> list[float]:
        """Upper ends of the bands of a node, one class below the other."""
        mass = self.parts[t].mass
        return [float(y) for y in top + self.layout.thickness * (mass.cumsum() - mass)]

    def draw_sources(self) -> None:
        """Class names where their samples come in."""
        mass = next(iter(self.parts.values())).mass
        texts = source_texts(mass, self.classes)
        for box, text in zip(self.layout.sources, texts, strict=True):
            self._write(box.x - PAD, box.y, text, ha="right")

    # -- cuts ------------------------------------------------------------------------

    @cached_property
    def _reach(self) -> tuple[float, float]:
        """Sizes of the longest bars to the left and to the right."""
        sizes = [
            term.size
            for part in self.parts.values()
            if isinstance(part, DrawnCut)
            for term in shown_terms(part, self.max_terms)
        ]
        return max([0.0, *(-size for size in sizes)]), max([0.0, *sizes])

    def draw_cuts(self) -> dict[int, list[Rectangle]]:
        """Cards with terms, bars and the question."""
        bars = {}
        for t, part in self.parts.items():
            if isinstance(part, DrawnCut):
                self._draw_card(self.layout.boxes[t])
                bars[t] = self._draw_terms(t, part)
                self._draw_answers(t, part)
        return bars

    def _draw_card(self, box: Box) -> None:
        from matplotlib.patches import FancyBboxPatch

        card = FancyBboxPatch(
            (box.x, box.top), box.width, box.height, facecolor="white",
            edgecolor=SOFT, linewidth=0.8, boxstyle="round,pad=0,rounding_size=4",
        )  # fmt: skip
        self.ax.add_artist(card)

    def _draw_terms(self, t: int, cut: DrawnCut) -> list[Rectangle]:
        """Number of the cut, its terms and, as under a sum, its question."""
        box, shown = self.layout.boxes[t], shown_terms(cut, self.max_terms)
        more = more_text(cut, self.max_terms)
        n_lines = len(shown) + bool(more)
        x, y = box.x + PAD, box.y - LINE * (n_lines + 1) / 2
        self._write(x, y, f"cut {cut.number}", color=SOFT, units=SMALL)
        bars = [
            self._draw_term(t, term, y + LINE * row)
            for row, term in enumerate(shown, start=1)
        ]
        if more:
            self._write(x, y + LINE * n_lines, more, color=SOFT)
        self._write(x, y + LINE * (n_lines + 1), cut.question, weight="bold")
        if shown:
            self._draw_lines(box, y + LINE / 2, len(shown), n_lines)
        return bars

    def _zero(self, box: Box) -> float:
        """Place of zero among the bars."""
        left, right = self._reach
        return box.right - 2 * PAD - ANSWER - BAR * right / (left + right)

    def _draw_term(self, t: int, term: DrawnTerm, y: float) -> Rectangle:
        box, numbers = self.layout.boxes[t], self.layout.numbers[t]
        x = box.x + PAD + numbers
        self._write(x, y, term.number, ha="right")
        self._write(x + (PAD / 2 if numbers else 0.0), y, term.name)
        width = BAR * term.size / sum(self._reach)
        corner = self._zero(box), y - _BAR_HEIGHT / 2
        bar: Rectangle = self._fill(corner, width, _BAR_HEIGHT, color=_BAR_COLOUR, lw=0)
        return bar

    def _draw_lines(self, box: Box, top: float, n_shown: int, n_lines: int) -> None:
        """Zero of the bars, and the line under the terms."""
        zero = self._zero(box)
        below = top + LINE * n_lines
        end = box.right - 2 * PAD - ANSWER
        for x, y in (
            ((zero, zero), (top, top + LINE * n_shown)),
            ((box.x + PAD, end), (below, below)),
        ):
            self.ax.plot(x, y, color=SOFT, linewidth=0.6, solid_capstyle="butt")

    def _draw_answers(self, t: int, cut: DrawnCut) -> None:
        """Yes and no, where their samples leave."""
        x = self.layout.boxes[t].right - PAD / 2
        exits = self._exits(t, cut)
        for child, word in ((cut.yes, "yes"), (cut.no, "no")):
            y = exits[child] + self._size(child) / 2
            self._write(x, y, word, ha="right", color=SOFT)

    # -- leaves ----------------------------------------------------------------------

    def draw_leaves(self) -> None:
        """Class, share of samples and class mix."""
        for t, part in self.parts.items():
            if isinstance(part, DrawnLeaf):
                self._draw_leaf(t, part)

    def _draw_leaf(self, t: int, leaf: DrawnLeaf) -> None:
        from sorct.show.plotting._scaled_text import text_width

        box = self.layout.boxes[t]
        x, y = box.x + PAD, box.y - LINE * len(leaf.lines) / 2
        self._write(x, y, leaf.name, weight="bold")
        width = text_width(leaf.name, FONT, "bold")
        self._write(x + width + PAD, y, leaf.share, color=SOFT)
        for row, line in enumerate(leaf.lines, start=1):
            middle = y + LINE * row
            if line.code is not None:
                if t in self.tones:
                    self._draw_track(x, middle)
                size = MIX_BAR * (line.end - line.begin)
                corner = x + MIX_BAR * line.begin, middle - 3.5
                self._fill(corner, size, 7.0, **self._look(t, line.code, size))
            self._write(x + MIX_BAR + PAD / 2, middle, line.text)

    def _draw_track(self, x: float, y: float) -> None:
        """A faint line from the least to the largest number."""
        self._fill((x, y - 0.6), MIX_BAR, 1.2, facecolor=FAINT, linewidth=0.0)

    # -- the foot --------------------------------------------------------------------

    def draw_note(self) -> None:
        """What is said below the tree."""
        lines = self.layout.note
        top = self.layout.height - MARGIN - LINE * len(lines)
        for row, line in enumerate(lines):
            y = top + LINE * (row + 0.5)
            self._write(MARGIN, y, line, color=SOFT, units=SMALL)


def _band(start: Place, end: Place, size: float) -> Path:
    """Band of a height that swings from one place to another, then runs level."""
    from matplotlib.path import Path

    (x0, y0), (x1, y1) = start, end
    bend, middle = x0 + FLOW, x0 + FLOW / 2
    upper = [(x0, y0), (middle, y0), (middle, y1), (bend, y1), (x1, y1)]
    lower = [(x, y + size) for x, y in reversed(upper)]
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, Path.LINETO, Path.LINETO, *curve]
    return Path([*upper, *lower, upper[0]], [*codes, Path.CLOSEPOLY])
