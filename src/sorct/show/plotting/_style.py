"""Style: one palette, one set of words and sizes for all plots.

Nothing here needs matplotlib until something is drawn: colours are plain strings, and
``axes_for`` imports it. Names of users become labels here and nowhere else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sorct.data.wording import printable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Paul Tol's high-contrast colours: told apart by the colour-blind and in grey.
BLUE, YELLOW, RED = "#004488", "#DDAA33", "#BB5566"
INK, SOFT, FAINT = "#222222", "#6E6E6E", "#D9D9D9"
# Light end of shades.
_LIGHT = "#C3D7EA"
#: Dark to light is less to more, for every eye and in grey.
COLOUR_MAP = "cividis"
# Scores of this size are no shares.
_LARGE = 10.0
#: Longest name that is drawn whole.
LONGEST_NAME = 40

# Paul Tol's muted colours, dark and light in turn.
_MUTED = (
    "#332288", "#DDCC77", "#CC6677", "#117733", "#88CCEE", "#882255", "#44AA99",
    "#AA4499", "#999933",
)  # fmt: skip
_HATCHES = (None, "////", "....", "xxxx", "\\\\\\\\")
#: Names of users are text and never formulas, whatever signs are in them.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


@dataclass(frozen=True)
class Fill:
    """How the samples of a class are filled."""

    colour: str
    hatch: str | None = None


def class_fills(n_classes: int) -> list[Fill]:
    """One fill per class; hatches tell those apart that have to share a colour."""
    colours = (BLUE, YELLOW, RED) if n_classes <= 3 else _MUTED
    return [
        Fill(colours[k % len(colours)], _HATCHES[k // len(colours) % len(_HATCHES)])
        for k in range(n_classes)
    ]


def shade(tone: float) -> Fill:
    """Fill of a place between the least number, which is light, and the largest."""
    ends = (_LIGHT, BLUE)
    light, dark = ([int(end[k : k + 2], 16) for k in (1, 3, 5)] for end in ends)
    mixed = (round(a + tone * (b - a)) for a, b in zip(light, dark, strict=True))
    return Fill("#" + "".join(f"{part:02X}" for part in mixed))


def drawn_names(
    names: Iterable[Any],
    longest: int = LONGEST_NAME,
    short_forms: Mapping[str, str] | None = None,
) -> list[str]:
    """Names on one line, distinct ones distinct.

    Long ones are shortened in the middle, unless they have a short form.
    """
    known = short_forms or {}
    whole = [printable(name) for name in names]
    whole = [name if name.strip() else f'"{name}"' for name in whole]
    short = {name: known.get(name) or shortened(name, longest) for name in whole}
    shared = Counter(short.values())
    for number, (name, text) in enumerate(short.items(), start=1):
        if shared[text] > 1:
            mark = f" #{number}"
            room = max(longest, len(text)) - len(mark)
            short[name] = shortened(text, room) + mark
    return [short[name] for name in whole]


def alpha_texts(alphas: Sequence[float]) -> list[str]:
    """Penalties as labels: powers of two as such if all are, else plain numbers."""
    exponents = [_exponent(alpha) for alpha in alphas if alpha > 0.0]
    if len(exponents) < 2 or None in exponents:
        return [f"{alpha:.3g}" for alpha in alphas]
    return ["0" if alpha == 0.0 else _power(_exponent(alpha)) for alpha in alphas]


def score_text(score: float) -> str:
    """A score to three decimals; a large one, which has units, to four digits."""
    return f"{score:.3f}" if abs(score) < _LARGE else f"{score:.4g}"


def _exponent(alpha: float) -> int | None:
    """Exponent of a power of two, or None."""
    mantissa, exponent = math.frexp(alpha)
    return exponent - 1 if mantissa == 0.5 else None


def _power(exponent: int | None) -> str:
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"2{raised}"


def need_matplotlib(caller: str) -> None:
    """Raise an error that names the extra where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} needs the package matplotlib; install it with "
            'pip install "sorct[plot]".'
        ) from error


def check_axes(ax: Any) -> None:
    """Refuse what cannot be drawn on."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be Axes of matplotlib, got {type(ax).__name__}.")


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Axes given, or those of a new figure of a size in inches."""
    if ax is not None:
        check_axes(ax)
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def bare(ax: Axes) -> None:
    """Take away the frame and leave faint lines to read values from."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(SOFT)
    ax.tick_params(color=SOFT, labelsize="small")
    ax.set_axisbelow(True)
    ax.grid(color=FAINT, linewidth=0.6)


def split(ax: Axes, *places: tuple[float, float, float, float]) -> tuple[Axes, ...]:
    """Axes within axes, which become invisible; places are parts of their box."""
    ax.set_axis_off()
    return tuple(ax.inset_axes(place) for place in places)
