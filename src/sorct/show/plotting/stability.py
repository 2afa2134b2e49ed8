"""StabilityDisplay: which variables the trees of several folds use, and how much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.parallel import Parallel, delayed

from sorct._typing import FloatArray, IntArray
from sorct.data.quantity import Quantity, number_column
from sorct.data.table import as_table
from sorct.estimators.checks import check_n_jobs, check_whole
from sorct.estimators.rows import Data
from sorct.show.plotting._inputs import tree_of
from sorct.show.plotting._style import (
    BLUE,
    INK,
    PLAIN,
    SOFT,
    axes_for,
    bare,
    drawn_names,
    need_matplotlib,
)
from sorct.tree.importance import plain_weights
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# Inches: a row, the room for dots, and what stands round them.
_ROW, _DOTS, _AROUND = 0.25, 3.6, 1.3


@dataclass(eq=False)
class StabilityDisplay:
    """How often each variable is used over folds, and the sizes of its coefficients.

    A tree is fitted to the training part of every fold. The size of a variable in a
    tree is its largest coefficient there, over all cuts and levels, without sign and in
    scaled units: trees that differ by the order or direction of their cuts agree.
    Slopes of linear leaves are in standard deviations of the quantity.

    Make one with ``from_estimator``, then call ``plot``.

    Parameters
    ----------
    sizes : array of shape (n_folds, n_variables)
        0 where a tree does not use a variable.
    names : list of str
        Names of the variables.

    Attributes
    ----------
    n_used : array of shape (n_variables,)
        Number of folds whose tree uses a variable.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    dots_ : list of Line2D
        For every variable shown, its size in every fold that uses it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier
    >>> from sorct.show.plotting import StabilityDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=1.0, n_starts=5, random_state=0)
    >>> StabilityDisplay.from_estimator(clf, X, y, cv=3).n_used.max()
    np.int64(3)
    """

    sizes: FloatArray
    names: list[str]
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    dots_: list[Line2D] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, cv: Any = 5, n_jobs: int | None = None
    ) -> Self:
        """Fit copies of an estimator on folds.

        Parameters
        ----------
        estimator : SORCTClassifier, SORCTRegressor, or one with CV
            Need not be fitted, and stays as it is.
        X : DataFrame or array of shape (n_samples, n_variables)
        y : array of shape (n_samples,)
        cv : int, splitter or iterable, default=5
            Folds, as in scikit-learn; of classes stratified if a number.
        n_jobs : int or None
            Folds fitted at the same time, as in joblib.
        """
        if not isinstance(estimator, BaseEstimator):
            raise TypeError(
                "Expected a SORCTClassifier, SORCTRegressor or one with CV, got "
                f"{type(estimator).__name__}."
            )
        check_n_jobs(n_jobs)
        X, y = as_table(X), column_or_1d(y)
        check_consistent_length(X, y)
        target = None
        if is_regressor(estimator):
            target = Quantity.learn(number_column(y), np.ones(len(y)))
        folds = Data(X, y, None).folds(cv, target)
        trees = Parallel(n_jobs=n_jobs)(
            delayed(_fitted_tree)(estimator, train) for train, _ in folds
        )
        names = trees[0].encoder.names
        return cls(np.array([_sizes(tree) for tree in trees]), drawn_names(names))

    @property
    def n_used(self) -> IntArray:
        """Number of folds whose tree uses a variable."""
        return np.asarray((self.sizes > 0.0).sum(axis=0))

    @property
    def order(self) -> IntArray:
        """Variables that some fold uses: most often used first, then largest."""
        by_size = np.lexsort((-np.median(self.sizes, axis=0), -self.n_used))
        return np.asarray(by_size[self.n_used[by_size] > 0])

    def plot(self, ax: Axes | None = None, *, max_variables: int = 20) -> Self:
        """Draw a row per variable, a dot per fold.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        max_variables : int, default=20
            Most variables shown; of others the number is told.
        """
        need_matplotlib("StabilityDisplay.plot")
        from sorct.show.plotting._scaled_text import text_width

        check_whole("max_variables", max_variables)
        shown = self.order[:max_variables]
        longest = max([0.0, *(text_width(self.names[j], 9.0) for j in shown)]) / 72.0
        size = longest + _DOTS + _AROUND, _ROW * max(len(shown), 4) + _AROUND
        self.ax_ = axes_for(ax, size)
        self.figure_ = self.ax_.figure
        bare(self.ax_)
        self.dots_ = [self._draw_row(row, j) for row, j in enumerate(shown)]
        self._frame(shown)
        return self

    def _draw_row(self, row: int, j: int) -> Line2D:
        """Dots, the line from the smallest to the largest, and how many there are."""
        used = self.sizes[:, j][self.sizes[:, j] > 0.0]
        ax = self.ax_
        ax.plot([used.min(), used.max()], [row, row], color=SOFT, linewidth=1.2)
        (dots,) = ax.plot(
            used, np.full(used.size, row), "o", color=BLUE, markersize=5.5,
            markeredgecolor="white", markeredgewidth=0.5,
        )  # fmt: skip
        ax.plot(
            [float(np.median(used))], [row], "|", color=INK, markersize=12,
            markeredgewidth=1.6, zorder=1.9,
        )  # fmt: skip
        ax.annotate(
            f"{used.size} of {len(self.sizes)}", (1.0, row),
            xycoords=ax.get_yaxis_transform(), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize="small", color=INK,
        )  # fmt: skip
        return dots

    def _frame(self, shown: IntArray) -> None:
        ax = self.ax_
        ax.set_yticks(range(len(shown)), [self.names[j] for j in shown], **PLAIN)
        ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
        largest = max(self.sizes.max(initial=0.0), 1e-9)
        ax.set_xlim(-0.03 * largest, 1.06 * largest)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", visible=False)
        ax.set_title("size of coefficient in each fold", loc="left", fontsize="medium")
        ax.set_title("used in", loc="right", fontsize="small")
        ax.set_xlabel(self._left_out(len(shown)), color=SOFT, fontsize="small")

    def _left_out(self, n_shown: int) -> str:
        """What is said of the variables without a row."""
        n_less = self.order.size - n_shown
        n_never = self.sizes.shape[1] - self.order.size
        parts = [f"{n_less} used less often"] if n_less else []
        parts += [f"{n_never} never used"] if n_never else []
        return f"not shown: {', '.join(parts)}" if parts else ""


def _fitted_tree(estimator: Any, train: Data) -> Tree:
    return tree_of(clone(estimator).fit(train.X, train.y))


def _sizes(tree: Tree) -> FloatArray:
    """Largest coefficient of every variable of the table, without sign."""
    sizes = np.zeros(len(tree.encoder.variables))
    largest = np.abs(plain_weights(tree)).max(axis=1)
    np.maximum.at(sizes, tree.encoder.column_variable, largest)
    return sizes
