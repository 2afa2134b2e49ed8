"""PartialDisplay: what a forest says as one variable moves and all else is typical."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.estimators.checks import check_whole
from sorct.show.forests import partial_curve
from sorct.show.plotting._inputs import forest_of
from sorct.show.plotting._style import (
    BLUE,
    PLAIN,
    SOFT,
    Fill,
    axes_for,
    bare,
    class_fills,
    drawn_names,
    need_matplotlib,
)
from sorct.tree.forest import Forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

_SIZE = 5.2, 3.4
_POINTS = 65
_DAY = np.timedelta64(1, "D")


@dataclass(eq=False)
class PartialDisplay:
    """What a forest says at the values of one variable, all others being typical.

    Of two classes the probability of the second is drawn, of more that of each, of a
    quantity the prediction.

    Make one with ``from_estimator`` or ``from_forest``, then call ``plot``.

    Parameters
    ----------
    name : str
        Name of the variable.
    values : array of shape (n_values,)
        Numbers, dates, or names of levels.
    said : array of shape (n_curves, n_values)
    labels : list of str
        What every curve is of: classes, or "prediction".
    missing : array of shape (n_curves,) or None
        What is said where the cell is missing, if a number's may be.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    marks_ : list of Line2D or BarContainer
        The line or the bars of every curve.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTForestClassifier
    >>> from sorct.show.plotting import PartialDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SORCTForestClassifier(3, 2, 0.0, 0.1, gamma=100.0, random_state=0)
    >>> name = "petal width (cm)"
    >>> display = PartialDisplay.from_estimator(model.fit(X, y), name).plot()
    """

    name: str
    values: AnyArray
    said: FloatArray
    labels: list[str]
    missing: FloatArray | None = None
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    marks_: list[Line2D | BarContainer] = field(init=False, repr=False)

    @classmethod
    def from_forest(cls, forest: Forest, variable: str) -> Self:
        """Display of a variable in a forest.

        Parameters
        ----------
        forest : Forest
        variable : str
            Name of a variable of the table.
        """
        if not isinstance(forest, Forest):
            raise TypeError(f"Expected a Forest, got a {type(forest).__name__}.")
        curve = partial_curve(forest, variable, np.linspace(0.0, 1.0, _POINTS).tolist())
        rows, labels = slice(None), ["prediction"]
        if not forest.of_quantity:
            labels = drawn_names(forest.classes.tolist())
            if len(labels) == 2:
                rows, labels = slice(1, 2), labels[1:]
        values: AnyArray = np.array(curve.at, dtype=object)
        if curve.numbers is not None:
            values = curve.numbers
            one = forest.encoder.variables[forest.encoder.names.index(variable)]
            if one.origin is not None:
                days = np.floor(values).astype(np.int64) * _DAY
                values = np.datetime64(one.origin, "D") + days
        missing = None if curve.missing is None else curve.missing[rows]
        return cls(variable, values, curve.said[rows], labels, missing)

    @classmethod
    def from_estimator(cls, estimator: Any, variable: str) -> Self:
        """Display of a variable in the forest of a fitted estimator."""
        return cls.from_forest(forest_of(estimator), variable)

    def plot(self, ax: Axes | None = None, *, max_levels: int = 20) -> Self:
        """Draw a line, or of levels a row of bars, per curve.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        max_levels : int, default=20
            Most levels shown; of others the number is told.
        """
        need_matplotlib("PartialDisplay.plot")
        check_whole("max_levels", max_levels)
        self.ax_ = ax = axes_for(ax, _SIZE)
        self.figure_ = ax.figure
        bare(ax)
        n = len(self.labels)
        fills = [Fill(BLUE)] if n == 1 else class_fills(n)
        is_level = self.values.dtype.kind == "O"
        (name,) = drawn_names([self.name])
        what = self.labels[0] if n == 1 else "each class"
        said = what if self.labels == ["prediction"] else f"probability of {what}"
        self.marks_ = (self._bars if is_level else self._lines)(fills, max_levels)
        if is_level:
            ax.set_xlabel(said, **PLAIN)
        else:
            ax.set_xlabel(name, **PLAIN)
            ax.set_ylabel(said, **PLAIN)
        title = f"{name}, all else typical"
        ax.set_title(title, loc="left", fontsize="medium", **PLAIN)
        if n > 1:
            legend = ax.legend(self.marks_, self.labels, fontsize="small")
            for entry in legend.get_texts():
                entry.set(**PLAIN)
        return self

    def _lines(self, fills: list[Fill], _: int) -> list[Any]:
        found = []
        for k, fill in enumerate(fills):
            (line,) = self.ax_.plot(self.values, self.said[k], color=fill.colour)
            found.append(line)
            if self.missing is not None:
                self.ax_.axhline(
                    float(self.missing[k]), color=fill.colour, linestyle=":", alpha=0.7
                )
        if self.missing is not None:
            self.ax_.annotate(
                "dotted: missing", (1.0, 1.0), xycoords="axes fraction", ha="right",
                va="bottom", fontsize="small", color=SOFT,
            )  # fmt: skip
        return found

    def _bars(self, fills: list[Fill], max_levels: int) -> list[Any]:
        names = drawn_names(self.values[:max_levels].tolist())
        n, height = len(names), 0.8 / len(fills)
        found = []
        for k, fill in enumerate(fills):
            at = np.arange(n) + height * (k - (len(fills) - 1) / 2)
            bars = self.ax_.barh(
                at, self.said[k, :n], height=height, color=fill.colour, hatch=fill.hatch
            )
            found.append(bars)
        self.ax_.set_yticks(range(n), names, **PLAIN)
        self.ax_.set_ylim(n - 0.4, -0.6)
        self.ax_.grid(axis="y", visible=False)
        left = len(self.values) - n
        if left:
            self.ax_.annotate(
                f"not shown: {left} levels", (1.0, 1.0), xycoords="axes fraction",
                ha="right", va="bottom", fontsize="small", color=SOFT,
            )  # fmt: skip
        return found
