"""Result tables in, the paper's figures out; nothing is fitted here.

The numbers are those of `experiments.tables`; this file only draws them. One palette
throughout, dark to light, so that series differ in grey as well, and each has its own
line and marker. Penalty 0 stands apart on the left of an otherwise logarithmic axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from experiments.tables import (
    GLOBAL_2,
    GRID,
    L1,
    LOCAL_1,
    LOCAL_2,
    PAPER_TABLES,
    TITLES,
    PaperTable,
    cart_rows,
    compare_with_cart,
    compare_with_paper,
    l1_path,
    load_results,
    mean_and_se,
    written_whole,
)

# Paul Tol's high-contrast colours: told apart by the colour-blind and in grey.
OURS, PAPER, RIVAL, INK = "#004488", "#DDAA33", "#BB5566", "#000000"
SERIES: dict[str, dict[str, Any]] = {
    "S-ORCT": {"color": OURS, "marker": "o", "linestyle": "-", "zorder": 3},
    "paper": {
        "color": PAPER, "marker": "s", "linestyle": "--", "zorder": 2,
        "markersize": 5.5, "markerfacecolor": "#FAF3E3",
    },
    L1: {"color": RIVAL, "marker": "^", "linestyle": ":", "zorder": 2.5},
    "CART": {
        "color": INK, "marker": "X", "linestyle": "none", "zorder": 4,
        "markersize": 8.0, "markeredgecolor": "white",
    },
}  # fmt: skip
BAND = 0.25
INTERVAL: dict[str, Any] = {
    "color": OURS,
    "fmt": "o",
    "elinewidth": 1.6,
    "capsize": 1.8,
}
COLOUR_MAP = "cividis"
HEATMAPS = {
    "accuracy": "accuracy, %",
    "local_sparsity": "unused per cut, %",
    "global_sparsity": "unused in tree, %",
}
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.labelsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
}
DPI = 140

Pairs = dict[str, tuple[Axes, Axes]]

# Place of each penalty on an axis: the exponent, with 0 a little left of the least.
PLACES = np.array([-13.6, *range(-12, 4)])
TICKS = {
    -13.6: "0", -12: "$2^{-12}$", -8: "$2^{-8}$", -4: "$2^{-4}$", 0: "$2^{0}$",
    3: "$2^{3}$",
}  # fmt: skip


def place(alpha: pd.Series) -> np.ndarray:
    """Where penalties stand on an axis."""
    return np.interp(alpha, GRID, PLACES)


def penalty_axis(ax: Axes) -> None:
    """Label an axis of penalties, the break after 0 hinted at by a thin line."""
    ax.set_xlim(PLACES[0] - 0.7, PLACES[-1] + 0.5)
    ax.set_xticks(list(TICKS), list(TICKS.values()))
    ax.axvline(-12.8, color="#AAAAAA", linewidth=0.6, linestyle=(0, (1, 2)))


def name_penalty(figure: Figure, table: PaperTable) -> None:
    """Say below all panels which penalty varies."""
    figure.supxlabel(f"{table.part} penalty (alpha_{table.part})", fontsize=9.0)


def along_penalty(ax: Axes, alpha: pd.Series, values: pd.Series, series: str) -> None:
    """Draw a series against the penalty; the point at 0 is not joined to the others."""
    x, y, style = place(alpha), values.to_numpy(), SERIES[series]
    is_zero = (alpha == 0.0).to_numpy()
    ax.plot(x[~is_zero], y[~is_zero], **style)
    ax.plot(x[is_zero], y[is_zero], **style)


def add_band(ax: Axes, alpha: pd.Series, mean: pd.Series, se: pd.Series) -> None:
    """Shade one standard error to both sides; at 0, a bar."""
    x, is_zero = place(alpha), (alpha == 0.0).to_numpy()
    low, high = (mean - se).to_numpy(), (mean + se).to_numpy()
    band: dict[str, Any] = {"color": OURS, "alpha": BAND, "linewidth": 0.0, "zorder": 1}
    ax.fill_between(x[~is_zero], low[~is_zero], high[~is_zero], **band)
    for middle, bottom, top in zip(
        x[is_zero], low[is_zero], high[is_zero], strict=True
    ):
        ax.fill_between([middle - 0.3, middle + 0.3], bottom, top, **band)


def shape_of(n_panels: int) -> tuple[int, int]:
    """Rows and columns for a number of panels."""
    n_columns = 3 if n_panels == 6 else min(n_panels, 4)
    return -(-n_panels // n_columns), n_columns


def new_figure(n_columns: int, height: float) -> Figure:
    """An empty figure, wide enough for a legend above even a single column."""
    size = (max(2.75 * n_columns + 0.3, 5.8), height + 0.6)
    return Figure(figsize=size, layout="constrained")


def pair_grid(datasets: Sequence[str], labels: tuple[str, str]) -> tuple[Figure, Pairs]:
    """A figure with two stacked axes per data set over a common axis of penalties.

    Parameters
    ----------
    datasets : sequence of str
        One pair each, the upper axes with its printed name.
    labels : (str, str)
        What the upper and the lower axes show, said once per row.
    """
    n_rows, n_columns = shape_of(len(datasets))
    figure = new_figure(n_columns, 2.9 * n_rows)
    outer = figure.add_gridspec(n_rows, n_columns)
    pairs = {}
    for number, dataset in enumerate(datasets):
        inner = outer[divmod(number, n_columns)].subgridspec(2, 1, height_ratios=(3, 2))
        upper = figure.add_subplot(inner[0], title=TITLES.get(dataset, dataset))
        lower = figure.add_subplot(inner[1])
        for ax, label in zip((upper, lower), labels, strict=True):
            penalty_axis(ax)
            ax.set_ylabel(label if number % n_columns == 0 else "")
        upper.tick_params(labelbottom=False)
        pairs[dataset] = (upper, lower)
    return figure, pairs


def add_legend(figure: Figure, names: Sequence[str], note: str = "") -> None:
    """One legend above all panels; `note` says what a band or a bar means."""
    handles = [Line2D([], [], label=name, **SERIES[name]) for name in names]
    if note:
        handles.append(Patch(color=OURS, alpha=BAND, linewidth=0.0, label=note))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))


def draw_against_penalty(comparison: pd.DataFrame, table: PaperTable) -> Figure:
    """Accuracy and sparsity against the penalty, ours and the paper's, per data set."""
    share = "unused per cut, %" if table == LOCAL_2 else "unused, %"
    names = list(comparison["dataset"].unique())
    figure, pairs = pair_grid(names, ("accuracy, %", share))
    for dataset, axes in pairs.items():
        rows = comparison[comparison["dataset"] == dataset]
        for ax, measure in zip(axes, ("accuracy", "sparsity"), strict=True):
            along_penalty(ax, rows["alpha"], rows[f"paper_{measure}"], "paper")
            along_penalty(ax, rows["alpha"], rows[measure], "S-ORCT")
            add_band(ax, rows["alpha"], rows[measure], rows[f"{measure}_se"])
        axes[1].set_ylim(-6, 106)
        axes[1].set_yticks([0, 50, 100])
    name_penalty(figure, table)
    add_legend(figure, ("S-ORCT", "paper"), "±1 standard error")
    return figure


def draw_cart(comparison: pd.DataFrame, table: PaperTable) -> Figure:
    """Intervals of the difference to CART against the penalty, per data set."""
    names = list(comparison["dataset"].unique())
    figure, pairs = pair_grid(names, ("accuracy, points", "unused, points"))
    for dataset, axes in pairs.items():
        rows = comparison[comparison["dataset"] == dataset]
        for ax, measure in zip(axes, ("accuracy", "global_sparsity"), strict=True):
            centre = rows[f"{measure}_difference"]
            ends = [centre - rows[f"{measure}_low"], rows[f"{measure}_high"] - centre]
            ax.axhline(0.0, color=INK, linewidth=0.9, linestyle="--")
            bars = ax.errorbar(place(rows["alpha"]), centre, yerr=ends, **INTERVAL)
    bars.set_label(f"S-ORCT − {comparison['rival'].iloc[0]}, mean and 95 % interval")
    name_penalty(figure, table)
    zero = Line2D(
        [], [], color=INK, linestyle="--", linewidth=0.9, label="no difference"
    )
    figure.legend(handles=[bars, zero], loc="outside upper center", ncols=2)
    return figure


def surface(rows: pd.DataFrame, measure: str) -> np.ndarray:
    """Means over the splits, local penalties by global ones; NaN where not known."""
    table = rows.pivot_table(measure, "alpha_local", "alpha_global", aggfunc="mean")
    return table.reindex(index=GRID, columns=GRID).to_numpy()


def draw_heatmaps(grid: pd.DataFrame) -> Figure:
    """Accuracy, local and global sparsity over both penalties, a row per data set."""
    names = [name for name in TITLES if (grid["dataset"] == name).any()]
    size = (9.6, 2.6 * len(names) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    all_axes = figure.subplots(len(names), 3, squeeze=False)
    for dataset, axes in zip(names, all_axes, strict=True):
        rows = grid[grid["dataset"] == dataset]
        for ax, (measure, label) in zip(axes, HEATMAPS.items(), strict=True):
            limits = {} if measure == "accuracy" else {"vmin": 0.0, "vmax": 100.0}
            # Not square by force: the layout makes no room for labels then.
            look: dict[str, Any] = {
                "origin": "lower",
                "cmap": COLOUR_MAP,
                "aspect": "auto",
                **limits,
            }
            image = ax.imshow(surface(rows, measure), **look)
            label_heatmap(ax, f"{TITLES[dataset]}: {label}")
            bar = figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
            bar.outline.set_visible(False)
        axes[0].set_ylabel("local penalty")
    for ax in all_axes[-1]:
        ax.set_xlabel("global penalty")
    return figure


def label_heatmap(ax: Axes, title: str) -> None:
    """Title and ticks of one heatmap; a white line sets penalty 0 apart."""
    # Without the least exponent: its label would touch that of 0.
    exponents = (-9, -5, -1, 3)
    steps = [0, *(exponent + 13 for exponent in exponents)]
    labels = ["0", *(f"$2^{{{exponent}}}$" for exponent in exponents)]
    ax.set_xticks(steps, labels)
    ax.set_yticks(steps, labels)
    ax.set_title(title)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.axvline(0.5, color="white", linewidth=2.0)
    ax.axhline(0.5, color="white", linewidth=2.0)


def draw_frontier(results: dict[str, pd.DataFrame]) -> Figure:
    """Accuracy against the share of unused columns: ours, the rivals', the paper's."""
    comparison = compare_with_paper(results, LOCAL_1)
    rivals = results["rivals"]
    shown = {
        "paper": (comparison, "paper_sparsity", "paper_accuracy"),
        L1: (l1_path(rivals), "global_sparsity", "accuracy"),
        "S-ORCT": (comparison, "sparsity", "accuracy"),
        "CART": (cart_means(rivals), "global_sparsity", "accuracy"),
    }
    names = list(comparison["dataset"].unique())
    n_rows, n_columns = shape_of(len(names))
    figure = new_figure(n_columns, 2.2 * n_rows)
    all_axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for number, (dataset, ax) in enumerate(zip(names, all_axes, strict=False)):
        for series, (frame, x, y) in shown.items():
            rows = frame[frame["dataset"] == dataset].sort_values([x, y])
            ax.plot(rows[x], rows[y], **SERIES[series])
        ax.set(title=TITLES.get(dataset, dataset), xlim=(-4, 104))
        ax.set_ylabel("accuracy, %" if number % n_columns == 0 else "")
    for ax in all_axes[len(names) :]:
        ax.remove()
    figure.supxlabel("columns unused, %", fontsize=9)
    add_legend(figure, list(SERIES))
    return figure


def cart_means(rivals: pd.DataFrame) -> pd.DataFrame:
    """Means of CART over the splits, one row per data set."""
    return mean_and_se(cart_rows(rivals), ["dataset"], ["accuracy", "global_sparsity"])


def figures(results: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Name and drawing of every figure for which there are results."""
    for table in PAPER_TABLES:
        comparison = compare_with_paper(results, table)
        if len(comparison):
            yield table.name, draw_against_penalty(comparison, table)
    if "grid" in results:
        yield "heatmaps", draw_heatmaps(results["grid"])
    if "rivals" not in results:
        return
    for table in (LOCAL_1, GLOBAL_2):
        comparison = compare_with_cart(results, (table,))
        if len(comparison):
            yield f"cart_depth{table.depth}", draw_cart(comparison, table)
    if len(LOCAL_1.pick(results)):
        yield "frontier", draw_frontier(results)


def draw_all(
    results_folder: Path | str, output_folder: Path | str, suffix: str = "png"
) -> list[Path]:
    """Draw every figure for which there are results.

    Parameters
    ----------
    results_folder : path
        Folder of ``<part>.csv.gz``; missing parts are skipped.
    output_folder : path
        Made if need be. Existing files are replaced.
    suffix : str, default="png"
        Any format that matplotlib writes.

    Returns
    -------
    list of Path
        The files written.
    """
    results, folder = load_results(results_folder), Path(output_folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with matplotlib.rc_context(STYLE):
        for name, figure in figures(results):
            written.append(folder / f"{name}.{suffix}")
            with written_whole(written[-1]) as draft:
                figure.savefig(draft, format=suffix, dpi=DPI)
    return written
