"""ContributionDisplay: what the values of one variable add to the cuts of a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.data.variables import Variable
from sorct.data.wording import listed, shown
from sorct.show.plotting._inputs import tree_of
from sorct.show.plotting._style import (
    INK,
    PLAIN,
    SOFT,
    axes_for,
    bare,
    class_fills,
    drawn_names,
    need_matplotlib,
)
from sorct.show.text import check_tree
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# Points of a line, evenly over the range and evenly along the curve.
_POINTS = 200
# Inches: a line plot, a row of bars, and what stands round them.
_LINES, _ROW, _BARS, _AROUND = (6.0, 3.6), 0.24, 3.4, 1.3


@dataclass(eq=False)
class ContributionDisplay:
    """What one variable adds to the sum of every cut that uses it.

    A number is a line over its range in training, bent where it is scaled along a
    curve; a category has a bar per level. A missing cell is a diamond beside the line,
    or a bar. Sums are in scaled units, as the bars of ``TreeDisplay``: above 0 speaks
    for "yes".

    Make one with ``from_estimator`` or ``from_tree``, then call ``plot``.

    Parameters
    ----------
    name : str
        Name of the variable.
    cuts : list of int
        Numbers of the cuts that use it, as printed.
    values : array of shape (n_values,)
        Numbers, dates, or names of levels.
    added : array of shape (n_cuts, n_values)
        What each value adds to the sum of each cut.
    missing : array of shape (n_cuts,) or None
        What a missing cell adds; None for a category, and where none can be.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    marks_ : list of Line2D or BarContainer
        The line or the bars of every cut.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier
    >>> from sorct.show.plotting import ContributionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=1.0, random_state=0).fit(X, y)
    >>> name = clf.tree_.variables_used[0]
    >>> display = ContributionDisplay.from_estimator(clf, name).plot()
    """

    name: str
    cuts: list[int]
    values: AnyArray
    added: FloatArray
    missing: FloatArray | None = None
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    marks_: list[Line2D | BarContainer] = field(init=False, repr=False)

    @classmethod
    def from_tree(cls, tree: Tree, variable: str) -> Self:
        """Display of a variable in a tree.

        Parameters
        ----------
        tree : Tree
        variable : str
            Name of a variable that the tree uses.
        """
        check_tree(tree)
        i = _place(tree, variable)
        cuts = [cut for cut in tree.view.cuts if i in cut.terms]
        own, encoder = tree.encoder.variables[i], tree.encoder
        side = np.array([1.0 if cut.reading.is_left else -1.0 for cut in cuts])
        weights = tree.coef[encoder.columns_of(i)][:, [cut.node for cut in cuts]] * side
        numbers = [cut.number for cut in cuts]
        if own.choices is not None:
            names = ["missing" if one is None else str(one) for one in own.choices]
            added = own.encode_choices() @ weights
            return cls(own.name, numbers, np.array(names, dtype=object), added.T)
        places = np.linspace(0.0, 1.0, _POINTS)
        along = [own.decode(place) for place in places]
        at = np.unique([*along, *np.linspace(along[0], along[-1], _POINTS)])
        added = own.encode(at) @ weights
        missing = None
        if own.takes_missing:
            missing = (own.encode(np.array([np.nan])) @ weights)[0]
        return cls(own.name, numbers, _as_dates(own, at), added.T, missing)

    @classmethod
    def from_estimator(cls, estimator: Any, variable: str) -> Self:
        """Display of a variable in the tree of a fitted classifier."""
        return cls.from_tree(tree_of(estimator), variable)

    def plot(self, ax: Axes | None = None, *, max_levels: int = 20) -> Self:
        """Draw a line or a row of bars per cut.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        max_levels : int, default=20
            Most levels shown, those that add most; of others the number is told.
        """
        need_matplotlib("ContributionDisplay.plot")
        if max_levels < 1:
            raise ValueError(f"max_levels must be at least 1, got {max_levels}.")
        if self.values.dtype == object:
            self._plot_levels(ax, max_levels)
        else:
            self._plot_lines(ax)
        self.figure_ = self.ax_.figure
        name = drawn_names([self.name])[0]
        title = f"what {name} adds to the sum of a cut"
        self.ax_.set_title(title, loc="left", fontsize="medium", **PLAIN)
        if len(self.cuts) > 1:
            self.ax_.legend(fontsize="small", frameon=False)
        return self

    def _plot_lines(self, ax: Axes | None) -> None:
        self.ax_ = ax = axes_for(ax, _LINES)
        bare(ax)
        ax.axhline(0.0, color=SOFT, linewidth=0.8)
        self.marks_ = []
        for added, colour, label in self._each_cut():
            self.marks_ += ax.plot(
                self.values, added, color=colour, label=label, linewidth=2.0
            )
        if self.missing is not None:
            self._plot_missing()
        ax.set_ylabel("scaled units; above 0 for yes", color=SOFT, fontsize="small")

    def _plot_missing(self) -> None:
        """Diamonds to the right of the lines, and the word above them."""
        beside = self.values[-1] + (self.values[-1] - self.values[0]) / 10
        assert self.missing is not None
        for (_, colour, _), added in zip(self._each_cut(), self.missing, strict=True):
            self.ax_.plot(
                [beside], [added], "D", color=colour, markersize=7,
                markeredgecolor="white",
            )  # fmt: skip
        self.ax_.annotate(
            "missing", (beside, 1.01), xycoords=self.ax_.get_xaxis_transform(),
            ha="center", va="bottom", fontsize="small", color=INK,
        )  # fmt: skip

    def _plot_levels(self, ax: Axes | None, max_levels: int) -> None:
        most = np.argsort(-np.abs(self.added).max(axis=0), kind="stable")[:max_levels]
        rows = most[np.argsort(-self.added[0, most], kind="stable")]
        height = _ROW * len(rows) * max(0.6 * len(self.cuts), 1.0) + _AROUND
        self.ax_ = ax = axes_for(ax, (_BARS + 2.5, height))
        bare(ax)
        ax.axvline(0.0, color=SOFT, linewidth=0.8)
        thick = 0.8 / len(self.cuts)
        self.marks_ = [
            ax.barh(
                np.arange(len(rows)) + thick * (k - (len(self.cuts) - 1) / 2),
                added[rows], 0.9 * thick, color=colour, label=label,
            )
            for k, (added, colour, label) in enumerate(self._each_cut())
        ]  # fmt: skip
        names = drawn_names([self.values[k] for k in rows])
        ax.set_yticks(range(len(rows)), names, **PLAIN)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        n_less = len(self.values) - len(rows)
        less = f" ({n_less} levels that add less are not shown)" if n_less else ""
        text = f"scaled units; to the right for yes{less}"
        ax.set_xlabel(text, color=SOFT, fontsize="small")

    def _each_cut(self) -> list[tuple[FloatArray, str, str]]:
        """What is added in every cut, its colour and its name."""
        fills = class_fills(len(self.cuts))
        return [
            (added, fill.colour, f"cut {number}")
            for added, fill, number in zip(self.added, fills, self.cuts, strict=True)
        ]


def _place(tree: Tree, variable: Any) -> int:
    """Position of a variable that the tree uses."""
    used = {i: tree.encoder.names[i] for cut in tree.view.cuts for i in cut.terms}
    for i, name in used.items():
        if name == variable:
            return i
    raise ValueError(
        f"variable must be one that the tree uses: {listed(used.values()) or 'none'}; "
        f"got {shown(variable)}."
    )


def _as_dates(variable: Variable, numbers: FloatArray) -> AnyArray:
    """Numbers of a date as seconds of the calendar, all others as they are."""
    origin = variable.to_dict().get("origin")
    if origin is None:
        return numbers
    seconds = np.round(86400.0 * numbers).astype("timedelta64[s]")
    return np.asarray(np.datetime64(origin, "s") + seconds)
