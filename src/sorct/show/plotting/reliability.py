"""ReliabilityDisplay: whether what a tree says happens as often as it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from sorct._typing import FloatArray
from sorct.data.target import Classes, label_column
from sorct.data.wording import shown
from sorct.show.measures import N_BINS, Bins, base_rates, brier_score, log_loss
from sorct.show.plotting._inputs import tree_of
from sorct.show.plotting._style import (
    PLAIN,
    SOFT,
    axes_for,
    bare,
    class_fills,
    drawn_names,
    need_matplotlib,
    split,
)
from sorct.show.text import check_tree
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer, ErrorbarContainer
    from matplotlib.figure import Figure, SubFigure

# Inches of a figure; parts of it for the curve and the counts, from below.
_SIZE = 4.8, 5.6
_CURVE, _COUNTS = (0.0, 0.3, 1.0, 0.7), (0.0, 0.0, 1.0, 0.19)
_MARKS = "os^Dv<>ph"
_MOST_BINS = 1000


@dataclass(eq=False)
class ReliabilityDisplay:
    """Share of rows that are of a class, against the probability said; counts below.

    On the dotted line things happen as often as they are said to. Bars are intervals of
    95 %: with few rows in a bin much is luck. With two classes there is one curve, of
    the second; with more there is one for every class, against all others.

    Make one with ``from_estimator``, ``from_tree`` or ``from_predictions``, then call
    ``plot``.

    Parameters
    ----------
    curves : dict from class to Bins
    n_bins : int
    brier, log_loss : float
        Brier score and log-loss of the probabilities; the less, the better.
    base_brier, base_log_loss : float
        Those of always saying the shares of the classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    axes_ : tuple of two Axes, within ``ax_``
    figure_ : matplotlib Figure
    curves_ : dict from class to ErrorbarContainer
    bars_ : dict from class to BarContainer
        Number of rows in every bin.

    Examples
    --------
    >>> from sorct.show.plotting import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.4, 1])
    >>> display.curves["1"].seen
    array([0. , 0.5, 1. ])
    """

    curves: dict[str, Bins]
    n_bins: int
    brier: float
    log_loss: float
    base_brier: float
    base_log_loss: float
    ax_: Axes = field(init=False, repr=False)
    axes_: tuple[Axes, ...] = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    curves_: dict[str, ErrorbarContainer] = field(init=False, repr=False)
    bars_: dict[str, BarContainer] = field(init=False, repr=False)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_proba: Any, *, labels: Any = None, n_bins: int = N_BINS
    ) -> Self:
        """Display of given probabilities.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        y_proba : array of shape (n_samples,) or (n_samples, n_classes)
            Probabilities of the second of two classes, or of all.
        labels : sequence of labels, or None
            Classes in the order of the probabilities; None means those of ``y_true``,
            sorted.
        n_bins : int, default=10
            Bins of one width from 0 to 1.
        """
        y_true = label_column(y_true)
        labels = np.unique(y_true) if labels is None else column_or_1d(labels)
        classes = Classes(labels)
        proba = _checked_proba(y_proba, len(classes))
        check_consistent_length(y_true, proba)
        codes, n_classes = classes.known_codes(y_true), len(classes)
        names = drawn_names(labels.tolist())
        told = range(n_classes) if n_classes > 2 else [1]
        n_bins = _checked_bins(n_bins)
        base = base_rates(codes, n_classes)
        return cls(
            {names[k]: Bins.of(proba[:, k], codes == k, n_bins) for k in told},
            n_bins,
            brier_score(proba, codes),
            log_loss(proba, codes),
            brier_score(base, codes),
            log_loss(base, codes),
        )

    @classmethod
    def from_tree(cls, tree: Tree, X: Any, y: Any, *, n_bins: int = N_BINS) -> Self:
        """Display of a tree on given data.

        Parameters
        ----------
        tree : Tree
        X, y : table and labels
            Best rows that had no part in training or calibration.
        n_bins : int, default=10
        """
        check_tree(tree)
        proba = tree.predict_proba(X)
        return cls.from_predictions(y, proba, labels=tree.classes, n_bins=n_bins)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = N_BINS
    ) -> Self:
        """Display of a fitted classifier on given data; see ``from_tree``."""
        return cls.from_tree(tree_of(estimator), X, y, n_bins=n_bins)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves above, the numbers of rows below.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw, as two axes within it; None makes a figure.
        """
        need_matplotlib("ReliabilityDisplay.plot")
        self.ax_ = axes_for(ax, _SIZE)
        self.figure_ = self.ax_.figure
        self.axes_ = split(self.ax_, _CURVE, _COUNTS)
        self._draw_curves(self.axes_[0])
        self._draw_counts(self.axes_[1])
        return self

    def _fills(self) -> list[str]:
        n = len(self.curves)
        return [fill.colour for fill in class_fills(max(n, 2))][:n]

    def _draw_curves(self, ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], linestyle=":", color=SOFT, linewidth=1.2)
        self.curves_ = {}
        for n, ((name, bins), colour) in enumerate(
            zip(self.curves.items(), self._fills(), strict=True)
        ):
            # Rounding may put a bound on the wrong side by a bit.
            reach = [bins.seen - bins.low, bins.high - bins.seen]
            self.curves_[name] = ax.errorbar(
                bins.said, bins.seen, np.maximum(reach, 0.0), color=colour,
                marker=_MARKS[n % len(_MARKS)], markersize=5, linewidth=1.5,
                elinewidth=0.9, capsize=2.5, label=name,
            )  # fmt: skip
        bare(ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticklabels=[])
        (first, *others) = self.curves
        ax.set_ylabel("share of rows of the class" if others else _of(first), **PLAIN)
        ax.set_title(self._figures(), fontsize="small", loc="left", color=SOFT)
        if others:
            legend = ax.legend(frameon=False, fontsize="small", loc="upper left")
            for text in legend.get_texts():
                text.set(**PLAIN)

    def _figures(self) -> str:
        return (
            f"Brier score {self.brier:.3f} ({self.base_brier:.3f} by shares alone)"
            f"\nlog-loss {self.log_loss:.3f} ({self.base_log_loss:.3f})"
        )

    def _draw_counts(self, ax: Axes) -> None:
        width, n = 1.0 / self.n_bins, len(self.curves)
        self.bars_ = {}
        for k, ((name, bins), colour) in enumerate(
            zip(self.curves.items(), self._fills(), strict=True)
        ):
            left = width * (bins.place + 0.06 + 0.88 * k / n)
            self.bars_[name] = ax.bar(
                left, bins.counts, 0.88 * width / n, align="edge", color=colour
            )
        bare(ax)
        ax.set(xlim=self.axes_[0].get_xlim(), xlabel="probability said", ylabel="rows")
        ax.locator_params(axis="y", nbins=3, integer=True)


def _of(name: str) -> str:
    return f"share of rows that are {name}"


def _checked_proba(proba: Any, n_classes: int) -> FloatArray:
    """Probabilities of all classes, from those of the second of two if need be."""
    try:
        found = np.asarray(proba, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y_proba must hold numbers: {error!s:.300}.") from error
    if found.ndim == 1 and n_classes == 2:
        found = np.stack([1.0 - found, found], axis=1)
    if found.ndim != 2 or found.shape[1] != n_classes or n_classes < 2:
        raise ValueError(
            f"y_proba must have a column per class, shape (n_samples, {n_classes}), or "
            f"be that of the second of two classes, got shape {found.shape}."
        )
    if not (np.isfinite(found).all() and found.min() >= 0.0 and found.max() <= 1.0):
        raise ValueError("y_proba must lie between 0 and 1; pass predict_proba's.")
    return found


def _checked_bins(n_bins: Any) -> int:
    whole = isinstance(n_bins, (int, np.integer)) and not isinstance(n_bins, bool)
    if not whole or not 1 <= n_bins <= _MOST_BINS:
        raise ValueError(
            f"n_bins must be a whole number from 1 to {_MOST_BINS}, got "
            f"{shown(n_bins)}."
        )
    return int(n_bins)
