"""PathDisplay: accuracy (or R²) and sparsity along one penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorct._typing import FloatArray
from sorct.data.wording import shown
from sorct.show.plotting._alpha_axis import alpha_places, set_alpha_axis
from sorct.show.plotting._focus import focus
from sorct.show.plotting._grid import (
    QUANTITIES,
    ScoredGrid,
    check_quantity,
    path_grid,
    search_grid,
)
from sorct.show.plotting._style import (
    BLUE,
    INK,
    RED,
    axes_for,
    bare,
    need_matplotlib,
    split,
)
from sorct.tree.path import Path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

_SIZE = 6.4, 4.4
_UPPER, _LOWER = (0.0, 0.56, 1.0, 0.44), (0.0, 0.0, 1.0, 0.44)


@dataclass(eq=False)
class PathDisplay:
    """Accuracy, and sparsity or the number of variables, against one penalty.

    The penalty is on a logarithmic axis; 0 stands apart on its left. Make one with
    ``from_path`` or ``from_estimator``, then call ``plot``.

    Parameters
    ----------
    frame : DataFrame
        A row per penalty, in rising order: ``alpha``, ``score``, ``error`` (standard
        error of the score, or NaN) and what can be shown below it: ``n_variables``,
        ``n_columns``, ``local_sparsity``, ``global_sparsity``, ``objective``, ``cost``.
    along : {"local", "global"}
        Which penalty it is.
    score_name : str
    chosen : float or None
        Penalty that a search chose.
    other : float or None
        Value of the other penalty; None where that is 0 and nothing else.
    names : dict from str to str
        Columns of the frame that can be shown below the score, and how they are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
    axes_ : tuple of two Axes, within ``ax_``
    figure_ : matplotlib Figure
    lines_ : tuple of two Line2D
        Score and quantity at the penalties above 0.
    zeros_ : tuple of two Line2D
        The same at penalty 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import sorct_path
    >>> from sorct.show.plotting import PathDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> path = sorct_path(X, y, alphas_local=[0, 0.1, 8], alphas_global=0,
    ...                   random_state=0)
    >>> PathDisplay.from_path(path, X, y).frame["alpha"].to_list()
    [0.0, 0.1, 8.0]
    """

    frame: pd.DataFrame
    along: str
    score_name: str
    chosen: float | None = None
    other: float | None = None
    names: dict[str, str] = field(default_factory=QUANTITIES.copy)
    ax_: Axes = field(init=False, repr=False)
    axes_: tuple[Axes, ...] = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    lines_: tuple[Line2D, ...] = field(init=False, repr=False)
    zeros_: tuple[Line2D, ...] = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: Path,
        X: Any = None,
        y: Any = None,
        *,
        along: str | None = None,
        other: float | None = None,
    ) -> Self:
        """Display of a path.

        Parameters
        ----------
        path : Path
        X, y : table and labels, or None
            Data to score the trees on, best such as they have not seen; None means
            the training sample, as expected. The score is accuracy or, where some
            errors cost more than others, minus the mean cost; of a quantity R².
        along : {"local", "global"} or None
            Which penalty to go along; None means the one with more values.
        other : float or None
            Value of the other penalty; None means its smallest.
        """
        return cls._from_grid(path_grid(path, X, y), along, other)

    @classmethod
    def from_estimator(
        cls, search: Any, *, along: str | None = None, other: float | None = None
    ) -> Self:
        """Display of a fitted search by cross-validation, scored on its folds.

        Parameters
        ----------
        search : SORCTClassifierCV or SORCTRegressorCV
        along : {"local", "global"} or None
            Which penalty to go along; None means the one with more values.
        other : float or None
            Value of the other penalty; None means the one that was chosen.
        """
        return cls._from_grid(search_grid(search), along, other)

    @classmethod
    def _from_grid(
        cls, grid: ScoredGrid, along: str | None, other: float | None
    ) -> Self:
        frame = grid.frame
        along = _checked_along(frame, along)
        across = "alpha_local" if along == "global" else "alpha_global"
        point = None if grid.chosen is None else frame.iloc[grid.chosen]
        if other is None:
            other = float(frame[across].min() if point is None else point[across])
        rows = frame[frame[across] == other]
        if rows.empty:
            raise ValueError(
                f"other must be one of the values of {across}, "
                f"{frame[across].unique().tolist()}, got {shown(other)}."
            )
        chosen = None
        if point is not None and point[across] == other:
            chosen = float(point[f"alpha_{along}"])
        rows = rows.rename(columns={f"alpha_{along}": "alpha"}).sort_values("alpha")
        told = other if frame[across].any() else None
        rows = rows.reset_index(drop=True)
        return cls(rows, along, grid.score_name, chosen, told, grid.names)

    def plot(self, ax: Axes | None = None, *, quantity: str = "n_variables") -> Self:
        """Draw the score above, the quantity below.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw, as two axes within it; None makes a figure.
        quantity : str, default="n_variables"
            A column of ``frame``: ``"n_variables"``, ``"n_columns"``,
            ``"local_sparsity"``, ``"global_sparsity"``, ``"objective"``, ``"cost"``,
            or what was measured on given data, such as ``"rmse"``.
        """
        need_matplotlib("PathDisplay.plot")
        check_quantity(quantity, self.names)
        self.ax_ = axes_for(ax, _SIZE)
        self.figure_ = self.ax_.figure
        self.axes_ = upper, lower = split(self.ax_, _UPPER, _LOWER)
        self.lines_ = self.zeros_ = ()
        self._draw_series(upper, "score", BLUE, "o")
        self._draw_errors(upper)
        self._draw_series(lower, quantity, RED, "s")
        upper.set_title(self.score_name, loc="left", fontsize="medium", color=BLUE)
        if quantity.startswith("n_"):
            lower.locator_params(axis="y", integer=True)
        lower.set_title(self.names[quantity], loc="left", fontsize="medium", color=RED)
        for ax in self.axes_:
            set_alpha_axis(ax, self._alpha, labelled=ax is lower)
        score = self.frame["score"].to_numpy(dtype=np.float64)
        focus(upper, alpha_places(self._alpha), score, self._error, above=0.08)
        lower.set_xlabel(self._axis_name)
        self._draw_choice()
        return self

    @property
    def _axis_name(self) -> str:
        """Penalty along the axis, and at what value of the other, if there are two."""
        if self.other is None:
            return f"alpha_{self.along}"
        across = "local" if self.along == "global" else "global"
        return f"alpha_{self.along}, with alpha_{across} = {self.other:.4g}"

    @property
    def _alpha(self) -> FloatArray:
        return self.frame["alpha"].to_numpy(dtype=np.float64)

    @property
    def _error(self) -> FloatArray:
        error = self.frame["error"].to_numpy(dtype=np.float64)
        return np.where(np.isnan(error), 0.0, error)

    def _draw_series(self, ax: Axes, column: str, colour: str, marker: str) -> None:
        bare(ax)
        above, place = self._alpha > 0.0, alpha_places(self._alpha)
        value = self.frame[column].to_numpy(dtype=np.float64)
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
        (line,) = ax.plot(place[above], value[above], linewidth=1.4, **look)
        (zero,) = ax.plot(place[~above], value[~above], linewidth=0.0, **look)
        self.lines_, self.zeros_ = (*self.lines_, line), (*self.zeros_, zero)

    def _draw_errors(self, ax: Axes) -> None:
        """Standard errors, where there are any."""
        if self._error.any():
            ax.errorbar(
                alpha_places(self._alpha), self.frame["score"], self._error, fmt="none",
                ecolor=BLUE, elinewidth=0.8, capsize=2, alpha=0.6,
            )  # fmt: skip

    def _draw_choice(self) -> None:
        """Line through both plots at the penalty that was chosen."""
        if self.chosen is None:
            return
        place = alpha_places(self._alpha)[self._alpha == self.chosen][0]
        for ax in self.axes_:
            ax.axvline(place, color=INK, linewidth=0.9, zorder=1)
        upper = self.axes_[0]
        early = place < np.sqrt(np.prod(upper.get_xlim()))
        upper.annotate(
            "chosen", (place, 0.0), xycoords=upper.get_xaxis_transform(),
            xytext=(4 if early else -4, 4), textcoords="offset points",
            ha="left" if early else "right", va="bottom", fontsize="small", color=INK,
        )  # fmt: skip


def _checked_along(frame: pd.DataFrame, along: str | None) -> str:
    """Penalty to go along: the one with more values if none is named."""
    if along is None:
        more = frame["alpha_global"].nunique() > frame["alpha_local"].nunique()
        return "global" if more else "local"
    if not isinstance(along, str) or along not in ("local", "global"):
        raise ValueError(
            f'along must be "local", "global" or None, got {shown(along)}.'
        )
    return along
