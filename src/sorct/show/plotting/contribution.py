"""ContributionDisplay: what the values of one variable add to the cuts of a tree.

Of a quantity: what they do to the prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.data.variables import Variable
from sorct.data.wording import by_itself, listed, shown
from sorct.estimators.checks import check_whole
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
from sorct.show.value_explanation import typical_columns
from sorct.tree.tree import Tree
from sorct.tree.view import Cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# Points of a line, evenly over the range and evenly along the curve.
_POINTS = 200
_PREDICTED = "added to the prediction, all else typical"
# Inches: a line plot, a row of bars, and what stands round them.
_LINES, _ROW, _BARS, _AROUND = (6.0, 3.6), 0.24, 3.4, 1.3


@dataclass(eq=False)
class ContributionDisplay:
    """What one variable adds to the sum of every cut that uses it.

    A number is a line over its range in training, bent where it is scaled along a
    curve; a category has a bar per level. A missing cell is a diamond beside the line,
    or a bar. Sums are in scaled units, in which ``TreeDisplay`` has its bars (of two
    levels one, for the difference): above 0 speaks for "yes".

    Of a quantity there is one line, or one bar per level: how far a value moves the
    prediction from that of a typical sample, all other variables being typical (their
    median, or most frequent level).

    Make one with ``from_estimator`` or ``from_tree``, then call ``plot``.

    Parameters
    ----------
    name : str
        Name of the variable.
    cuts : list of int
        Numbers of the cuts that use it, as printed; empty for a quantity.
    values : array of shape (n_values,)
        Numbers, dates, or names of levels.
    added : array of shape (n_cuts, n_values)
        What each value adds to the sum of each cut. Of a quantity there is one row, of
        what is added to the prediction.
    missing : array of shape (n_cuts,) or None
        What a missing cell adds; None for a category, and where none can be.
    ordered : bool, default=False
        Whether levels are drawn in their own order, and not by what they add.

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
    ordered: bool = False
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
        cuts = [] if tree.of_quantity else _cuts_with(tree, i)
        numbers = [cut.number for cut in cuts]
        own, add = tree.encoder.variables[i], _adding(tree, i, cuts)
        if own.choices is not None:
            levels = np.array([by_itself(one) for one in own.choices], dtype=object)
            added = add(own.encode_choices())
            return cls(own.name, numbers, levels, added, ordered=own.ordered)
        places = np.linspace(0.0, 1.0, _POINTS)
        along = [own.decode(place) for place in places]
        at = np.unique([*along, *np.linspace(along[0], along[-1], _POINTS)])
        missing = None
        if own.takes_missing:
            missing = add(own.encode(np.array([np.nan])))[:, 0]
        return cls(own.name, numbers, _as_dates(own, at), add(own.encode(at)), missing)

    @classmethod
    def from_estimator(cls, estimator: Any, variable: str) -> Self:
        """Display of a variable in the tree of a fitted estimator."""
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
        check_whole("max_levels", max_levels)
        if self.values.dtype == object:
            self._plot_levels(ax, max_levels)
        else:
            self._plot_lines(ax)
        self.figure_ = self.ax_.figure
        name = drawn_names([self.name])[0]
        what = "adds to the sum of a cut" if self.cuts else "adds to a typical sample"
        title = f"what {name} {what}"
        self.ax_.set_title(title, loc="left", fontsize="medium", **PLAIN)
        if len(self.cuts) > 1:
            self.ax_.legend(fontsize="small", frameon=False, **self._place_of_legend())
        return self

    def _place_of_legend(self) -> dict[str, Any]:
        """Beside bars, which leave no room; of lines, where there are none."""
        if self.values.dtype != object:
            return {}
        return {
            "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0
        }  # fmt: skip

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
        unit = "scaled units; above 0 for yes" if self.cuts else _PREDICTED
        ax.set_ylabel(unit, color=SOFT, fontsize="small")

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
        rows = np.sort(most) if self.ordered else rows
        n_bars = len(self.added)
        height = _ROW * len(rows) * max(0.6 * n_bars, 1.0) + _AROUND
        self.ax_ = ax = axes_for(ax, (_BARS + 2.5, height))
        bare(ax)
        ax.axvline(0.0, color=SOFT, linewidth=0.8)
        thick = 0.8 / n_bars
        self.marks_ = [
            ax.barh(
                np.arange(len(rows)) + thick * (k - (n_bars - 1) / 2),
                added[rows], 0.9 * thick, color=colour, label=label,
            )
            for k, (added, colour, label) in enumerate(self._each_cut())
        ]  # fmt: skip
        names = drawn_names([self.values[k] for k in rows])
        ax.set_yticks(range(len(rows)), names, **PLAIN)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.locator_params(axis="x", nbins=5)
        n_less = len(self.values) - len(rows)
        less = f" ({n_less} levels that add less are not shown)" if n_less else ""
        unit = "scaled units; to the right for yes" if self.cuts else _PREDICTED
        text = f"{unit}{less}"
        ax.set_xlabel(text, color=SOFT, fontsize="small")

    def _each_cut(self) -> list[tuple[FloatArray, str, str]]:
        """What is added in every cut, its colour and its name."""
        fills = class_fills(len(self.added))
        names = [f"cut {number}" for number in self.cuts] or ["prediction"]
        return [
            (added, fill.colour, name)
            for added, fill, name in zip(self.added, fills, names, strict=True)
        ]


def _place(tree: Tree, variable: Any) -> int:
    """Position of a variable that the tree uses."""
    used = tree.variables_at().tolist()
    if not tree.of_quantity:
        used = [i for i in used if _cuts_with(tree, i)]
    names = {tree.encoder.names[i]: int(i) for i in used}
    if not isinstance(variable, str) or variable not in names:
        raise ValueError(
            f"variable must be one that the tree uses: {listed(names) or 'none'}; got "
            f"{shown(variable)}."
        )
    return names[variable]


def _cuts_with(tree: Tree, i: int) -> list[Cut]:
    """Cuts that are shown and use a variable."""
    return [cut for cut in tree.view.cuts if i in cut.terms]


def _adding(tree: Tree, i: int, cuts: list[Cut]) -> Callable[[FloatArray], FloatArray]:
    """What encoded values (n, n_own_columns) of a variable add, a row per cut."""
    columns = tree.encoder.columns_of(i)
    if tree.of_quantity:
        return partial(_moved, tree, columns)
    side = np.array([1.0 if cut.reading.is_left else -1.0 for cut in cuts])
    weights = tree.coef[columns][:, [cut.node for cut in cuts]] * side
    return lambda encoded: np.asarray((encoded @ weights).T)


def _moved(tree: Tree, columns: slice, encoded: FloatArray) -> FloatArray:
    """How far values of a variable move the prediction of a typical sample."""
    typical = np.concatenate([typical_columns(one) for one in tree.encoder.variables])
    trial = np.repeat(typical[np.newaxis], len(encoded) + 1, axis=0)
    trial[1:, columns] = encoded
    found = tree.values_of_scores(tree.scores(trial), tree.leaf_says(trial))
    return np.asarray((found[1:] - found[0])[np.newaxis])


def _as_dates(variable: Variable, numbers: FloatArray) -> AnyArray:
    """Numbers of a date as seconds of the calendar, all others as they are."""
    if variable.origin is None:
        return numbers
    seconds = np.round(86400.0 * numbers).astype("timedelta64[s]")
    return np.asarray(np.datetime64(variable.origin, "s") + seconds)
