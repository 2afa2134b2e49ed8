"""FrontierDisplay: accuracy against the number of variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.show.plotting._focus import focus
from sorct.show.plotting._grid import (
    ScoredGrid,
    path_grid,
    search_grid,
    tree_score,
)
from sorct.show.plotting._style import (
    BLUE,
    RED,
    SOFT,
    axes_for,
    bare,
    need_matplotlib,
    score_text,
)
from sorct.tree.path import Path
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

_SIZE = 6.4, 4.0


@dataclass(frozen=True)
class Mark:
    """A tree: how many variables it uses and how good it is."""

    n_variables: int
    score: float


@dataclass(eq=False)
class FrontierDisplay:
    """Accuracy against the number of variables, with the trees worth a look marked.

    The frontier joins the trees that no other tree on the path beats in these two
    things: for every number of variables, the best tree with at most so many. Relaxed
    trees are among them.
    ``Path.frontier`` looks at the sparsity of the cuts as well and may keep more.

    Make one with ``from_path`` or ``from_estimator``, then call ``plot``.

    Parameters
    ----------
    n_variables : array of shape (n_points,)
    score : array of shape (n_points,)
    score_name : str
    chosen : Mark or None
        Tree to mark.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_, line_ : Line2D
        All trees, and the frontier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import sorct_path
    >>> from sorct.show.plotting import FrontierDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> path = sorct_path(X, y, alphas_local=[0, 1, 8], alphas_global=0,
    ...                   random_state=0)
    >>> display = FrontierDisplay.from_path(path, X, y)
    >>> bool(display.score[display.frontier].max() == display.score.max())
    True
    """

    n_variables: IntArray
    score: FloatArray
    score_name: str
    chosen: Mark | None = None
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    points_: Line2D = field(init=False, repr=False)
    line_: Line2D = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls, path: Path, X: Any = None, y: Any = None, *, chosen: Tree | None = None
    ) -> Self:
        """Display of a path.

        Parameters
        ----------
        path : Path
        X, y : table and labels, or None
            Data to score the trees on, best such as they have not seen; None means
            the training sample, as expected. The score is accuracy or, where some
            errors cost more than others, minus the mean cost; of a quantity R².
        chosen : Tree or None
            Tree to mark, such as one that ``path.select`` gave.
        """
        display = cls._from_grid(path_grid(path, X, y, every=True))
        if chosen is not None:
            score = tree_score(chosen, X, y)
            display.chosen = Mark(len(chosen.variables_used), score)
        return display

    @classmethod
    def from_estimator(cls, search: Any) -> Self:
        """Display of a fitted search: scores on folds, and its choice.

        Parameters
        ----------
        search : SORCTClassifierCV or SORCTRegressorCV
        """
        return cls._from_grid(search_grid(search, every=True))

    @classmethod
    def _from_grid(cls, grid: ScoredGrid) -> Self:
        used = grid.frame["n_variables"].to_numpy(dtype=np.int64)
        score = grid.frame["score"].to_numpy(dtype=np.float64)
        chosen = None
        if grid.chosen is not None:
            chosen = Mark(int(used[grid.chosen]), float(score[grid.chosen]))
        return cls(used, score, grid.score_name, chosen)

    @property
    def frontier(self) -> IntArray:
        """Positions of the trees on the frontier, fewest variables first."""
        order = np.lexsort((-self.score, self.n_variables))
        best, kept = -np.inf, []
        for i in order:
            if self.score[i] > best:
                best = self.score[i]
                kept.append(i)
        return np.array(kept, dtype=np.intp)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a point per tree.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        """
        need_matplotlib("FrontierDisplay.plot")
        from matplotlib.ticker import MaxNLocator

        self.ax_ = axes_for(ax, _SIZE)
        self.figure_ = self.ax_.figure
        bare(self.ax_)
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set(xlabel="variables used")
        self.ax_.set_title(self.score_name, loc="left", fontsize="medium")
        (self.points_,) = self.ax_.plot(
            self.n_variables, self.score, "o", markersize=4.5, color=SOFT,
            markerfacecolor="white", zorder=2,
        )  # fmt: skip
        best = self.frontier
        (self.line_,) = self.ax_.plot(
            self.n_variables[best], self.score[best], "o-", color=BLUE, linewidth=1.6,
            markersize=5.5, drawstyle="steps-post", zorder=3,
        )  # fmt: skip
        self._set_limits()
        self._name_frontier()
        self._mark_choice()
        return self

    def _set_limits(self) -> None:
        """Leave room for a name above the best tree, and no more."""
        used, score = self.n_variables.astype(np.float64), self.score
        if self.chosen is not None:
            used = np.append(used, self.chosen.n_variables)
            score = np.append(score, self.chosen.score)
        focus(self.ax_, used, score, np.zeros(score.size), above=0.08)

    def _name_frontier(self) -> None:
        """Extend the last step of the frontier to the right; write "frontier" on one.

        It is written at the right end of the longest step, where there is most room.
        """
        best = self.frontier
        if best.size == 0:
            return
        ends = np.append(self.n_variables[best], self.n_variables.max())
        self.ax_.plot(
            ends[-2:], [self.score[best[-1]]] * 2, color=BLUE, linewidth=1.6, zorder=3
        )
        longest = int(np.argmax(np.diff(ends)))
        self.ax_.annotate(
            "frontier", (ends[longest + 1], self.score[best[longest]]),
            xytext=(-4, 4), textcoords="offset points", ha="right", va="bottom",
            color=BLUE, fontsize="small",
        )  # fmt: skip

    def _mark_choice(self) -> None:
        """Ring around the tree chosen, and above the axes what it stands for."""
        if self.chosen is None:
            return
        used, score = self.chosen.n_variables, self.chosen.score
        self.ax_.plot(
            used, score, "o", markersize=11, markerfacecolor="none", color=RED,
            markeredgewidth=1.8, zorder=4,
        )  # fmt: skip
        variables = f"{used} variable{'' if used == 1 else 's'}"
        self.ax_.set_title(
            f"ring: the tree chosen, {variables}, {score_text(score)}", loc="right",
            fontsize="small", color=RED,
        )  # fmt: skip
