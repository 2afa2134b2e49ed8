"""RecallDisplay: confusion matrix, and the recall of every class against its floor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import unique_labels

from sorct._typing import FloatArray
from sorct.data.target import Classes, label_column
from sorct.show.plotting._inputs import tree_of
from sorct.show.plotting._style import (
    BLUE,
    INK,
    PLAIN,
    RED,
    axes_for,
    bare,
    drawn_names,
    need_matplotlib,
    split,
)
from sorct.show.text import check_tree
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# Inches: a row, a cell, the panel of recalls, and what stands between and round them.
_ROW, _CELL, _PANEL, _BETWEEN, _AROUND = 0.42, 0.55, 2.4, 0.25, 1.3


@dataclass(eq=False)
class RecallDisplay:
    """Confusion matrix, and beside it the recall of every class and its floor.

    Make one with ``from_estimator``, ``from_tree`` or ``from_predictions``, then call
    ``plot``.

    Parameters
    ----------
    matrix : array of shape (n_classes, n_classes)
        Number of samples of the row's class that were given the column's.
    classes : list of str
    floor : array of shape (n_classes,) or None
        Floors under the expected recall in training; 0 means none.
    expected : array of shape (n_classes,) or None
        Expected recall on the training sample.
    expected_name : str
        How that is called: it is measured, too, where the likelihood was maximised.

    Attributes
    ----------
    recall : array of shape (n_classes,)
        Measured recall: NaN for classes without samples.
    ax_ : matplotlib Axes
    axes_ : tuple of two Axes, within ``ax_``
    figure_ : matplotlib Figure
    mesh_ : QuadMesh
        Rows of the matrix as shares.
    recall_, expected_, floor_ : Line2D
        Markers of the three rates; empty where there is nothing to show.

    Examples
    --------
    >>> from sorct.show.plotting import RecallDisplay
    >>> display = RecallDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> display.recall
    array([0.5, 1. ])
    """

    matrix: FloatArray
    classes: list[str]
    floor: FloatArray | None = None
    expected: FloatArray | None = None
    expected_name: str = "expected in training"
    ax_: Axes = field(init=False, repr=False)
    axes_: tuple[Axes, ...] = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    mesh_: QuadMesh = field(init=False, repr=False)
    recall_: Line2D = field(init=False, repr=False)
    expected_: Line2D = field(init=False, repr=False)
    floor_: Line2D = field(init=False, repr=False)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Any = None,
        floor: Any = None,
        expected: Any = None,
    ) -> Self:
        """Display of given predictions.

        Parameters
        ----------
        y_true, y_pred : array of shape (n_samples,)
        labels : sequence of labels, or None
            Classes in the order shown; None means all that occur, sorted.
        floor, expected : array of shape (n_classes,), or None
            Floors, and expected recalls in training, in the order of the classes.
        """
        y_true, y_pred = label_column(y_true), label_column(y_pred)
        check_consistent_length(y_true, y_pred)
        labels = unique_labels(y_true, y_pred) if labels is None else labels
        classes = Classes(column_or_1d(labels))
        true, given = (classes.known_codes(y) for y in (y_true, y_pred))
        matrix = confusion_matrix(true, given, labels=np.arange(len(classes)))
        floor, expected = (
            None if rate is None else _checked_rates(name, rate, len(classes))
            for name, rate in (("floor", floor), ("expected", expected))
        )
        names = drawn_names(classes.labels.tolist())
        return cls(matrix.astype(np.float64), names, floor, expected)

    @classmethod
    def from_tree(cls, tree: Tree, X: Any, y: Any) -> Self:
        """Display of a tree on given data, with the floors it was trained under.

        Parameters
        ----------
        tree : Tree
        X, y : table and labels
        """
        check_tree(tree)
        display = cls.from_predictions(
            y,
            tree.predict(X),
            labels=tree.classes,
            floor=tree.training.min_recall,
            expected=tree.training.recall,
        )
        if tree.training.by_log:
            display.expected_name = "on the training rows"
        return display

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> Self:
        """Display of a fitted classifier on given data; see ``from_tree``."""
        return cls.from_tree(tree_of(estimator), X, y)

    @property
    def recall(self) -> FloatArray:
        """Share of each class's samples that were given their class."""
        total = self.matrix.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.diag(self.matrix) / total)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the matrix on the left, the recalls on the right.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw, as two axes within it; None makes a figure.
        """
        need_matplotlib("RecallDisplay.plot")
        from sorct.show.plotting._scaled_text import text_width

        n_classes = len(self.classes)
        longest = max(text_width(name, 9.0) for name in self.classes) / 72.0
        inner = _CELL * n_classes + _BETWEEN + _PANEL
        foot = 0.6 * longest if longest > _CELL else 0.0
        size = longest + inner + _AROUND, foot + _ROW * n_classes + _AROUND
        self.ax_ = axes_for(ax, size)
        self.figure_ = self.ax_.figure
        matrix, panel = _CELL * n_classes / inner, _PANEL / inner
        self.axes_ = split(
            self.ax_, (0.0, 0.0, matrix, 1.0), (1.0 - panel, 0.0, panel, 1.0)
        )
        cell = _CELL
        if ax is not None:
            cell *= ax.get_window_extent().width / ax.figure.dpi / inner
        self._draw_matrix(self.axes_[0], leaning=longest > cell)
        self._draw_recall(self.axes_[1])
        return self

    def _draw_matrix(self, ax: Axes, *, leaning: bool) -> None:
        total = np.maximum(self.matrix.sum(axis=1, keepdims=True), 1.0)
        share, places = self.matrix / total, np.arange(len(self.classes))
        self.mesh_ = ax.pcolormesh(
            places, places, share, cmap=_shades(), vmin=0.0, vmax=1.0,
            edgecolors="white", linewidth=1.0,
        )  # fmt: skip
        for (i, j), count in np.ndenumerate(self.matrix):
            cell = ax.text(j, i, f"{count:.0f}", ha="center", va="center")
            cell.set(color="white" if share[i, j] > 0.5 else INK, fontsize="small")
        ax.set_yticks(places, self.classes, **PLAIN)
        ax.set_xticks(places, self.classes, **PLAIN)
        if leaning:
            for label in ax.get_xticklabels():
                label.set(rotation=35, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0, labelsize="small")
        ax.spines[:].set_visible(False)
        ax.invert_yaxis()
        ax.set(xlabel="predicted", ylabel="true class")

    def _draw_recall(self, ax: Axes) -> None:
        rows = np.arange(len(self.classes))
        nothing = np.full(rows.size, np.nan)
        (self.expected_,) = ax.plot(
            nothing if self.expected is None else self.expected, rows, "D", color=INK,
            markerfacecolor="white", markersize=6.5, label=self.expected_name,
        )  # fmt: skip
        (self.floor_,) = ax.plot(
            self._floors, rows, "|", color=RED, markersize=18, markeredgewidth=2.2,
            label="floor in training",
        )  # fmt: skip
        (self.recall_,) = ax.plot(
            self.recall, rows, "o", color=BLUE, markersize=6, label="measured"
        )
        self._write_recall(ax)
        self._frame_recall(ax)
        self._name_marks(ax)

    @property
    def _floors(self) -> FloatArray:
        """Floors above 0, else NaN."""
        if self.floor is None:
            return np.full(len(self.classes), np.nan)
        return np.where(self.floor > 0.0, self.floor, np.nan)

    @property
    def _marks(self) -> list[Line2D]:
        """Kinds of marks of which at least one is drawn."""
        marks = [self.recall_, self.expected_, self.floor_]
        return [mark for mark in marks if np.isfinite(mark.get_xdata()).any()]

    def _write_recall(self, ax: Axes) -> None:
        """Measured recalls in figures, and which are below their floors."""
        for row, recall in enumerate(self.recall):
            below = bool(recall < self._floors[row])
            text = "no samples" if np.isnan(recall) else f"{recall:.3f}"
            ax.annotate(
                f"{text} below floor" if below else text, (1.0, row),
                xycoords=ax.get_yaxis_transform(), xytext=(4, 0),
                textcoords="offset points", va="center", fontsize="small",
                color=RED if below else INK,
            )  # fmt: skip

    def _frame_recall(self, ax: Axes) -> None:
        """Limits that hold all marks, and lines to read along."""
        bare(ax)
        rates = [np.asarray(mark.get_xdata(), dtype=np.float64) for mark in self._marks]
        lowest = float(np.nanmin(np.append(0.6, rates)))
        left = max(np.floor(10.0 * lowest) / 10.0 - 0.1, 0.0)
        ax.set(xlim=(left - 0.02, 1.02), ylim=self.axes_[0].get_ylim())
        ax.set_yticks(range(len(self.classes)), [""] * len(self.classes))
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("recall")

    def _name_marks(self, ax: Axes) -> None:
        """Say below the axis what the marks are, if there are several."""
        from matplotlib.lines import Line2D

        names = []
        for mark in self._marks:
            name = Line2D([], [], label=str(mark.get_label()))
            name.update_from(mark)
            name.set_markersize(min(mark.get_markersize(), 10.0))
            names.append(name)
        if len(names) > 1:
            ax.legend(
                handles=names, loc="upper left", bbox_to_anchor=(0.0, 0.0),
                borderaxespad=3.6, frameon=False, fontsize="small",
            )  # fmt: skip


def _shades() -> Any:
    """White to blue: the more, the darker, in grey too."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("sorct_blue", ["#FFFFFF", BLUE])


def _checked_rates(name: str, rates: Any, n_classes: int) -> FloatArray:
    try:
        if np.iscomplexobj(rates):
            raise TypeError("they are complex")
        found = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error!s:.300}.") from error
    if found.shape != (n_classes,):
        raise ValueError(
            f"{name} must have one rate per class, shape ({n_classes},), got "
            f"{found.shape}."
        )
    return found
