"""ImportanceDisplay: which variables a forest uses, how much and in how many trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.wording import shown
from sorct.estimators.checks import check_whole
from sorct.show.plotting._inputs import forest_of
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
from sorct.tree.forest import Forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure, SubFigure

# Inches: a row, the room for bars, and what stands round them.
_ROW, _BARS, _AROUND = 0.28, 3.4, 1.3
_KINDS = {
    "cuts": "share of what moves the cuts",
    "drop": "rise of the loss when held at the mean",
    "permutation": "rise of the out-of-bag loss when cells are exchanged",
}


@dataclass(eq=False)
class ImportanceDisplay:
    """Importance of the variables of a forest, and how many trees use each.

    Make one with ``from_estimator`` or ``from_forest``, then call ``plot``.

    Parameters
    ----------
    names : list of str
        Variables that some tree uses, the most important first.
    importances : array of shape (n_variables,)
    n_trees : array of shape (n_variables,)
        Number of trees that use a variable.
    n_all : int
        Number of trees.
    kind : str
        What the importances are, see ``from_forest``.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : BarContainer

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTForestClassifier
    >>> from sorct.show.plotting import ImportanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SORCTForestClassifier(3, 2, 0.0, 0.1, gamma=100.0, random_state=0)
    >>> display = ImportanceDisplay.from_estimator(model.fit(X, y)).plot()
    """

    names: list[str]
    importances: FloatArray
    n_trees: IntArray
    n_all: int
    kind: str = "cuts"
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    bars_: BarContainer = field(init=False, repr=False)

    @classmethod
    def from_forest(cls, forest: Forest, *, kind: str = "cuts") -> Self:
        """Display of a forest.

        Parameters
        ----------
        forest : Forest
        kind : {"cuts", "drop", "permutation"}, default="cuts"
            How far a variable moves the cuts, as a share of all; what the loss rises by
            when it is held at its mean; or out of bag when its cells are exchanged.
        """
        if not isinstance(forest, Forest):
            raise TypeError(f"Expected a Forest, got a {type(forest).__name__}.")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ValueError(f"kind must be one of {tuple(_KINDS)}, got {shown(kind)}.")
        used = forest.variables_at()
        names = [forest.encoder.names[i] for i in used.tolist()]
        if kind == "cuts":
            sizes = forest.importances[used]
        else:
            told = getattr(forest.training, kind)
            if not told and names:
                raise ValueError(
                    f"This forest does not know its importances by {kind}: expected "
                    "one that was trained on bags of rows. Use kind='cuts'."
                )
            sizes = np.array([(told or {}).get(name, 0.0) for name in names])
        count = sum(np.isin(used, tree.variables_at()) for tree in forest.trees)
        order = np.argsort(-sizes, kind="stable")
        drawn = drawn_names(names)
        return cls(
            [drawn[k] for k in order.tolist()],
            sizes[order],
            np.asarray(count, dtype=np.int64)[order],
            forest.n_trees,
            kind,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, kind: str = "cuts") -> Self:
        """Display of a fitted forest estimator, see ``from_forest``."""
        return cls.from_forest(forest_of(estimator), kind=kind)

    def plot(self, ax: Axes | None = None, *, max_variables: int = 20) -> Self:
        """Draw a bar per variable.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        max_variables : int, default=20
            Most variables shown; of others the number is told.
        """
        need_matplotlib("ImportanceDisplay.plot")
        from sorct.show.plotting._scaled_text import text_width

        check_whole("max_variables", max_variables)
        names = self.names[:max_variables]
        n = len(names)
        longest = max([0.0, *(text_width(name, 9.0) for name in names)]) / 72.0
        size = longest + _BARS + _AROUND, _ROW * max(n, 4) + _AROUND
        self.ax_ = ax = axes_for(ax, size)
        self.figure_ = ax.figure
        bare(ax)
        self.bars_ = ax.barh(range(n), self.importances[:n], color=BLUE, height=0.6)
        for row in range(n):
            ax.annotate(
                f"{self.n_trees[row]} of {self.n_all}", (1.0, row),
                xycoords=ax.get_yaxis_transform(), xytext=(4, 0),
                textcoords="offset points", va="center", fontsize="small", color=INK,
            )  # fmt: skip
        ax.set_yticks(range(n), names, **PLAIN)
        ax.set_ylim(max(n, 1) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.set_title(_KINDS[self.kind], loc="left", fontsize="medium")
        ax.set_title("trees", loc="right", fontsize="small")
        left = len(self.names) - n
        told = f"not shown: {left} less important" if left else ""
        ax.set_xlabel(told, color=SOFT, fontsize="small")
        return self
