"""Scaled text: letters that grow and shrink with the axes they stand in.

A drawing laid out around its text stays free of overlaps in axes of any size, zoomed or
resized. The only file of plots that imports matplotlib when it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from sorct.show.plotting._style import PLAIN

# Drawn without hinting, text is as wide as measured, up to 1 %: so much room is left.
_ROOM = 1.01


@contextmanager
def _no_hinting() -> Iterator[None]:
    """Draw letters without hinting, which would widen them by up to 20 %."""
    usual = rcParams["text.hinting"]
    rcParams["text.hinting"] = "no_hinting"
    try:
        yield
    finally:
        rcParams["text.hinting"] = usual


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of a line of text in points."""
    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return _ROOM * float(width)


class ScaledText(Text):
    """Text whose size is given in units of the axes' x data.

    Parameters
    ----------
    x, y : float
        Place in data units.
    text : str
    units : float
        Size of the font in data units.
    **options
        As for ``matplotlib.text.Text``.
    """

    def __init__(
        self, x: float, y: float, text: str, units: float, **options: Any
    ) -> None:
        super().__init__(x, y, text, **{"va": "center_baseline", **PLAIN, **options})
        self._units = units

    def draw(self, renderer: Any, *args: Any, **kwargs: Any) -> None:
        """Draw at the size that fits the axes now."""
        self._fit()
        with _no_hinting():
            super().draw(renderer, *args, **kwargs)

    def get_window_extent(self, *args: Any, **kwargs: Any) -> Bbox:
        """Box at the size that fits the axes now."""
        self._fit()
        with _no_hinting():
            return super().get_window_extent(*args, **kwargs)

    def _fit(self) -> None:
        if self.axes is None or self.figure is None:
            return
        (left, _), (right, _) = self.axes.transData.transform([(0.0, 0.0), (1.0, 0.0)])
        size = self._units * abs(float(right - left)) * 72.0 / self.figure.dpi
        if size != self.get_fontsize():
            self.set_fontsize(size)
