"""ResidualDisplay: predictions of a quantity against what was observed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length

from sorct._typing import FloatArray
from sorct.data.quantity import number_column
from sorct.data.wording import shown
from sorct.show.plotting._inputs import tree_of
from sorct.show.plotting._style import (
    BLUE,
    SOFT,
    axes_for,
    bare,
    need_matplotlib,
)
from sorct.show.text import check_tree
from sorct.show.values import short_number
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure, SubFigure

_SIZE = 4.8, 4.8
_KINDS = ("observed", "residual")


@dataclass(eq=False)
class ResidualDisplay:
    """Observed numbers, or what predictions miss them by, against predictions.

    On the dotted line a prediction is right.

    Make one with ``from_estimator``, ``from_tree`` or ``from_predictions``, then call
    ``plot``.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
    r2 : float
        Share of the variance that is explained.
    rmse : float
        Root of the mean squared error.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : PathCollection

    Examples
    --------
    >>> from sorct.show.plotting import ResidualDisplay
    >>> ResidualDisplay.from_predictions([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]).r2
    0.5
    """

    y_true: FloatArray
    y_pred: FloatArray
    r2: float
    rmse: float
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    points_: PathCollection = field(init=False, repr=False)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any) -> Self:
        """Display of given predictions.

        Parameters
        ----------
        y_true, y_pred : array of shape (n_samples,)
        """
        true, said = number_column(y_true), number_column(y_pred)
        check_consistent_length(true, said)
        rmse = float(np.sqrt(np.mean((true - said) ** 2)))
        return cls(true, said, float(r2_score(true, said)), rmse)

    @classmethod
    def from_tree(cls, tree: Tree, X: Any, y: Any) -> Self:
        """Display of a tree of a quantity on some rows, best such as it has not seen.

        Parameters
        ----------
        tree : Tree
        X, y : table and numbers
        """
        check_tree(tree)
        if not tree.of_quantity:
            raise TypeError(
                "Expected a tree of a quantity, got one of classes; use "
                "ReliabilityDisplay."
            )
        return cls.from_predictions(y, tree.predict(X))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> Self:
        """Display of a fitted regressor on some rows, best such as it has not seen.

        Parameters
        ----------
        estimator : fitted SORCTRegressor or SORCTRegressorCV
        X, y : table and numbers
        """
        return cls.from_tree(tree_of(estimator), X, y)

    def plot(self, ax: Axes | None = None, *, kind: str = "observed") -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None
        kind : {"observed", "residual"}, default="observed"
            What is drawn against predictions: observed numbers, or these minus the
            predictions.
        """
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ValueError(f"kind must be one of {_KINDS}, got {shown(kind)}.")
        need_matplotlib("ResidualDisplay.plot")
        self.ax_ = ax = axes_for(ax, _SIZE)
        self.figure_ = ax.figure
        bare(ax)
        against = self.y_true if kind == "observed" else self.y_true - self.y_pred
        self.points_ = ax.scatter(
            self.y_pred, against, s=12, color=BLUE, alpha=0.6, linewidths=0
        )
        if kind == "observed":
            ends = [
                min(self.y_pred.min(), self.y_true.min()),
                max(self.y_pred.max(), self.y_true.max()),
            ]
            ax.plot(ends, ends, color=SOFT, linestyle=":")
        else:
            ax.axhline(0.0, color=SOFT, linestyle=":")
        ax.set_xlabel("predicted")
        ax.set_ylabel("observed" if kind == "observed" else "observed minus predicted")
        error = short_number(self.rmse)
        ax.set_title(f"R² {self.r2:.3f}, root mean squared error {error}")
        return self
