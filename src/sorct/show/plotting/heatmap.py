"""HeatmapDisplay: one thing over both penalties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import FloatArray
from sorct.show.plotting._alpha_axis import labels_shown
from sorct.show.plotting._grid import (
    ScoredGrid,
    check_quantity,
    path_grid,
    search_grid,
)
from sorct.show.plotting._style import (
    COLOUR_MAP,
    INK,
    alpha_texts,
    axes_for,
    need_matplotlib,
)
from sorct.tree.path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure, SubFigure

# Up to this many cells a side have their values written in them.
_MOST_WRITTEN = 9


@dataclass(eq=False)
class HeatmapDisplay:
    """A quantity over both penalties; those that are 0 are set apart.

    Make one with ``from_path`` or ``from_estimator``, then call ``plot``.

    Parameters
    ----------
    values : array of shape (n_local, n_global)
    alphas_local : array of shape (n_local,), in rising order
    alphas_global : array of shape (n_global,), in rising order
    name : str
        What the values are.
    chosen : tuple of two int, or None
        Place of the cell that a search chose.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    mesh_ : QuadMesh
    texts_ : list of Text
        Values in the cells; empty for large grids, which have a scale beside them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import sorct_path
    >>> from sorct.show.plotting import HeatmapDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> path = sorct_path(X, y, alphas_local=[0, 1], alphas_global=[0, 1, 8],
    ...                   random_state=0)
    >>> HeatmapDisplay.from_path(path, quantity="n_variables").values.shape
    (2, 3)
    """

    values: FloatArray
    alphas_local: FloatArray
    alphas_global: FloatArray
    name: str
    chosen: tuple[int, int] | None = None
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    mesh_: QuadMesh = field(init=False, repr=False)
    texts_: list[Any] = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls, path: Path, X: Any = None, y: Any = None, *, quantity: str = "score"
    ) -> Self:
        """Display of a path.

        Parameters
        ----------
        path : Path
        X, y : table and labels, or None
            Data to score the trees on, best such as they have not seen; None means
            the training sample, as expected. The score is accuracy or, where some
            errors cost more than others, minus the mean cost; of a quantity R².
        quantity : str, default="score"
            Or ``"accuracy"``, ``"n_variables"``, ``"n_columns"``, ``"local_sparsity"``,
            ``"global_sparsity"``, ``"objective"``, ``"cost"``. Of a quantity,
            ``"r2"`` and, if data are given, ``"rmse"`` and ``"mae"`` instead of
            ``"accuracy"``.
        """
        return cls._from_grid(path_grid(path, X, y), quantity)

    @classmethod
    def from_estimator(cls, search: Any, *, quantity: str = "score") -> Self:
        """Display of a fitted search by cross-validation.

        Parameters
        ----------
        search : SORCTClassifierCV or SORCTRegressorCV
        quantity : str, default="score"
            Mean score over the folds, or, of the trees trained on all rows,
            ``"n_variables"``, ``"n_columns"``, ``"local_sparsity"``,
            ``"global_sparsity"``, ``"objective"``, ``"cost"``.
        """
        return cls._from_grid(search_grid(search), quantity)

    @classmethod
    def _from_grid(cls, grid: ScoredGrid, column: str) -> Self:
        names = {"score": grid.score_name} | grid.names
        check_quantity(column, names)
        # Rows are in the order of the path, the local axis outermost.
        rows = np.unique(grid.frame["alpha_local"].to_numpy(dtype=np.float64))
        columns = np.unique(grid.frame["alpha_global"].to_numpy(dtype=np.float64))
        values = grid.frame[column].to_numpy(dtype=np.float64)
        chosen = None if grid.chosen is None else divmod(grid.chosen, columns.size)
        shape = rows.size, columns.size
        return cls(values.reshape(shape), rows, columns, names[column], chosen)

    def plot(self, ax: Axes | None = None, *, cmap: Any = COLOUR_MAP) -> Self:
        """Draw a cell per pair of penalties.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        cmap : str or Colormap, default="cividis"
        """
        need_matplotlib("HeatmapDisplay.plot")
        n_local, n_global = self.values.shape
        size = (1.8 + 0.3 * max(n_global, 6), 1.1 + 0.24 * max(n_local, 8))
        self.ax_ = axes_for(ax, size)
        self.figure_ = self.ax_.figure
        edges = np.arange(n_global + 1) - 0.5, np.arange(n_local + 1) - 0.5
        self.mesh_ = self.ax_.pcolormesh(*edges, self.values, cmap=cmap)
        self._draw_axes()
        self.texts_ = []
        if max(self.values.shape) <= _MOST_WRITTEN:
            self._write_values()
        else:
            self._draw_scale()
        self._draw_choice()
        return self

    def _draw_axes(self) -> None:
        ax = self.ax_
        for axis, alphas in (
            (ax.xaxis, self.alphas_global),
            (ax.yaxis, self.alphas_local),
        ):
            shown, texts = labels_shown(alphas), alpha_texts(alphas.tolist())
            axis.set_ticks(shown, [texts[i] for i in shown])
        ax.set(xlabel="alpha_global", ylabel="alpha_local")
        ax.tick_params(length=0, labelsize="small")
        ax.spines[:].set_visible(False)
        ax.set_title(self.name, loc="left", fontsize="medium")
        wall: dict[str, Any] = {"color": "white", "linewidth": 4.0}
        if self.alphas_global[0] == 0.0 and self.alphas_global.size > 1:
            ax.axvline(0.5, **wall)
        if self.alphas_local[0] == 0.0 and self.alphas_local.size > 1:
            ax.axhline(0.5, **wall)

    def _write_values(self) -> None:
        """Values in the cells, dark on light and light on dark."""
        shade = np.asarray(self.mesh_.norm(self.values), dtype=np.float64)
        whole = bool((self.values == np.round(self.values)).all())
        for (i, j), value in np.ndenumerate(self.values):
            text = f"{value:.0f}" if whole else f"{value:.3g}"
            colour = INK if shade[i, j] > 0.5 else "white"
            self.texts_.append(
                self.ax_.text(
                    j,
                    i,
                    text,
                    ha="center",
                    va="center",
                    color=colour,
                    fontsize="small",
                )  # fmt: skip
            )

    def _draw_scale(self) -> None:
        """Scale of colours, within the axes' own place so that nothing else moves."""
        beside = self.ax_.inset_axes((1.03, 0.0, 0.04, 1.0))
        bar = self.figure_.colorbar(self.mesh_, cax=beside)
        bar.outline.set_visible(False)
        beside.tick_params(labelsize="small")

    def _draw_choice(self) -> None:
        """Frame around the cell that was chosen."""
        if self.chosen is None:
            return
        from matplotlib.patches import Rectangle

        i, j = self.chosen
        for colour, width in (("white", 3.5), (INK, 1.5)):
            frame = Rectangle((j - 0.5, i - 0.5), 1.0, 1.0, fill=False)
            frame.set(edgecolor=colour, linewidth=width, zorder=4)
            self.ax_.add_patch(frame)
