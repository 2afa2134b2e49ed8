"""The frontier's rows in, its tables and its figure out; nothing is fitted here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import real_tables
from experiments.figures import DPI, INK, OURS, PAPER, RIVAL, STYLE
from experiments.peers import LEAST, LIMITS, METHODS
from experiments.tables import DATASETS, markdown, written_whole

NAMES = {
    "ours": "S-ORCT",
    "ours-1se": "S-ORCT 1-SE",
    "l1": "L1 logistic",
    "rpart": "rpart",
    "cart": "CART",
    "forest": "forest",
    "boosting": "boosting",
    "ebm": "EBM",
    "ours-3": "S-ORCT",
    "l1-3": "L1 logistic",
    "cart-3": "CART",
    "ours-5": "S-ORCT",
    "l1-5": "L1 logistic",
    "cart-5": "CART",
    "ours-forest": "S-ORCT forest",
    "ours-forest-fewest": "S-ORCT forest, fewest",
    "ours-forest-3": "S-ORCT forest",
    "forest-3": "forest",
    "ours-forest-5": "S-ORCT forest",
    "forest-5": "forest",
    "ours-forest-10": "S-ORCT forest",
    "forest-10": "forest",
}
GROUPS = {
    "the paper's 18 sets": DATASETS,
    "eight real tables": real_tables.TABLES,
    "all": (*DATASETS, *real_tables.TABLES),
}
MEASURES = [
    "accuracy", "log_loss", "auc", "brier", "n_variables", "n_columns", "n_cuts",
    "seconds",
]  # fmt: skip
#: Points of accuracy that count as nothing lost.
NEAR = 1.0
#: Whom a method is held against: the sparse peers of its own size.
SPARSE: dict[int | None, tuple[str, ...]] = {
    None: ("l1", "rpart", "cart"),
    3: ("l1-3", "cart-3"),
    5: ("l1-5", "cart-5"),
    10: (),
}
#: Ours and whom it is shown beside on the same splits.
PAIRED = {
    "best score": ("ours", "l1", "cart", "rpart"),
    "sparsest within one standard error": ("ours-1se", "ours", "l1"),
    "at most 3 variables": ("ours-3", "l1-3", "cart-3"),
    "at most 5 variables": ("ours-5", "l1-5", "cart-5"),
    "forests": ("ours-forest", "ours", "forest"),
    "forests of the fewest variables": ("ours-forest-fewest", "ours-forest", "forest"),
    "forests of at most 3 variables": ("ours-forest-3", "forest-3"),
    "forests of at most 5 variables": ("ours-forest-5", "forest-5"),
    "forests of at most 10 variables": ("ours-forest-10", "forest-10"),
}
#: Methods joined by a line, sparsest first, and how they look.
FAMILIES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "S-ORCT": (
        ("ours-3", "ours-5", "ours-1se", "ours"),
        {"color": OURS, "marker": "o", "linestyle": "-", "zorder": 4},
    ),
    "L1 logistic": (
        ("l1-3", "l1-5", "l1"),
        {"color": RIVAL, "marker": "^", "linestyle": ":"},
    ),
    "CART": (
        ("cart-3", "cart-5", "cart"),
        {"color": INK, "marker": "X", "linestyle": "--"},
    ),
    "rpart": (("rpart",), {"color": INK, "marker": "P"}),
    "forest": (("forest",), {"color": PAPER, "marker": "s"}),
    "boosting": (("boosting",), {"color": PAPER, "marker": "D"}),
    "EBM": (("ebm",), {"color": PAPER, "marker": "v"}),
}


def load(folder: Path) -> pd.DataFrame:
    """Rows of all fits; accuracies become per cent."""
    frame = pd.read_csv(folder / "frontier.csv.gz")
    return frame.assign(accuracy=100.0 * frame["accuracy"])


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits per table and method, in the order of both."""
    groups = frame.groupby(["table", "method"])
    found = groups[MEASURES].mean()
    found.insert(0, "n_splits", groups.size())
    found["accuracy_se"] = groups["accuracy"].sem()
    order = [(t, m) for t in GROUPS["all"] for m in METHODS if (t, m) in found.index]
    return found.loc[order].reset_index()


def overall(means: pd.DataFrame) -> pd.DataFrame:
    """Means over the tables of each group; ``n_tables`` is what a method has of it."""
    rows = []
    for group, tables in GROUPS.items():
        part = means[means["table"].isin(tables)]
        for method in [m for m in METHODS if (part["method"] == m).any()]:
            own = part[part["method"] == method]
            row = {"group": group, "method": method, "n_tables": len(own)}
            rows.append({**row, **own[MEASURES].mean()})
    return pd.DataFrame(rows)


def standing(frame: pd.DataFrame) -> pd.DataFrame:
    """Each method against the best of the sparse peers, table by table.

    Compared on the splits that all of them have. Counts of tables: ``n_near``, accuracy
    at most `NEAR` points below the most accurate peer; ``n_ahead``, above it;
    ``n_log_loss``, log-loss below the lowest; ``n_fewer``, fewer variables than the L1
    logistic regression. A method is not among its own peers.
    """
    rows = []
    for method in METHODS:
        peers = [m for m in SPARSE[LIMITS.get(method)] if m != method]
        if not peers:
            continue
        row = {"method": method, "peers": peers, "n_tables": 0}
        row |= dict.fromkeys(("n_near", "n_ahead", "n_log_loss", "n_fewer"), 0)
        gaps = []
        for _, group in frame[frame["method"].isin([method, *peers])].groupby("table"):
            wide = group.pivot(index="split", columns="method")
            if not {method, *peers} <= set(wide["accuracy"].columns):
                continue
            mean = wide[["accuracy", "log_loss", "n_variables"]].dropna().mean()
            accuracy, loss, used = (
                mean[x] for x in ("accuracy", "log_loss", "n_variables")
            )
            gap = accuracy[method] - accuracy[peers].max()
            gaps.append(gap)
            row["n_tables"] += 1
            row["n_near"] += gap >= -NEAR
            row["n_ahead"] += gap > 0.0
            row["n_log_loss"] += loss[method] < loss[peers].min()
            row["n_fewer"] += used[method] < used[[m for m in peers if "l1" in m]].min()
        if gaps:
            rows.append({**row, "mean_gap": np.mean(gaps)})
    return pd.DataFrame(rows)


def paired(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Means over the splits that all of some methods have, a row per table.

    Then the means over the tables of each group. Columns are called measure_method.
    """
    own = frame[frame["method"].isin(methods)]
    wide = own.pivot(index=["table", "split"], columns="method")
    if not set(methods) <= set(own["method"]):
        return pd.DataFrame()
    wide = wide[["accuracy", "log_loss", "n_variables"]].dropna()
    wide = wide.set_axis(wide.columns.map("_".join), axis=1)
    found = wide.groupby("table").mean()
    found.insert(0, "n_splits", wide.groupby("table").size())
    found = found.reindex([t for t in GROUPS["all"] if t in found.index])
    for group, tables in GROUPS.items():
        part = found.loc[found.index.isin(tables)]
        if len(part):
            found.loc[f"mean over {group} ({len(part)})"] = part.mean()
    return found.rename_axis("dataset").reset_index()


def _paired_text(frame: pd.DataFrame, methods: Sequence[str]) -> str:
    found = paired(frame, methods)
    if found.empty:
        return "Not measured.\n"
    found["splits"] = [
        "" if name.startswith("mean over") else f" ({n:.0f})"
        for name, n in zip(found["dataset"], found["n_splits"], strict=True)
    ]
    cells = [("table (splits)", "{title}{splits}")]
    cells += [(NAMES[m], f"{{accuracy_{m}:.1f}}") for m in methods]
    cells += [(f"log-loss: {NAMES[m]}", f"{{log_loss_{m}:.3f}}") for m in methods[:2]]
    cells += [
        (f"variables: {NAMES[m]}", f"{{n_variables_{m}:.1f}}") for m in methods[:2]
    ]
    return markdown(found, cells)


def text(frame: pd.DataFrame) -> str:
    """The Markdown page of the frontier."""
    found = means(frame)
    wide = found.pivot(index="table", columns="method")
    wide = wide.set_axis(wide.columns.map("_".join), axis=1)
    wide = wide.reindex([t for t in GROUPS["all"] if t in wide.index]).reset_index()
    wide = wide.rename(columns={"table": "dataset"})
    parts = [_head(found)]
    for limit in SPARSE:
        methods = [m for m in NAMES if LIMITS.get(m) == limit]
        methods = [m for m in methods if (found["method"] == m).any()]
        title = "Size of its own choice" if limit is None else f"At {limit} variables"
        parts.append(f"## {title}\n")
        for heading, cell in (
            (
                "Accuracy in per cent ± SE, in brackets variables used",
                "{{accuracy_{0}:.1f}} ± {{accuracy_se_{0}:.1f}} "
                "({{n_variables_{0}:.1f}})",
            ),
            ("Log-loss, in brackets area under the curve",
             "{{log_loss_{0}:.3f}} ({{auc_{0}:.3f}})"),
        ):  # fmt: skip
            cells = [("table", "{title}")]
            cells += [(NAMES[m], cell.format(m)) for m in methods]
            parts.append(f"{heading}:\n\n{markdown(wide, cells)}")
    for size, methods in PAIRED.items():
        parts += [f"## On the same splits: {size}\n", _paired_text(frame, methods)]
    parts += ["## Means over the tables\n", _overall_text(overall(found))]
    parts += ["## Beside the sparse peers\n", _standing_text(standing(frame))]
    return "\n".join(parts)


def _head(found: pd.DataFrame) -> str:
    fewer = found.groupby("method")["n_splits"].max()
    fewer = [f"{NAMES[m]} {n}" for m, n in fewer.items() if n < found["n_splits"].max()]
    less = f" ({', '.join(fewer)} at most)" if fewer else ""
    return f"""# The frontier

Means over the splits: ten of each of the paper's sets, three of each real table{less}.
Log-loss with probabilities of at least {LEAST:g}; with several classes the area under
the curve is the mean of each class against the rest. EBM, boosting and forest use
nearly every variable. Nothing was chosen by test rows.
"""


def _label(method: str) -> str:
    limit = LIMITS.get(method)
    return NAMES[method] + (f", {limit} variables" if limit else "")


def _overall_text(frame: pd.DataFrame) -> str:
    frame = frame.assign(dataset=frame["method"].map(_label))
    cells = [("method", "{dataset}"), ("mean over", "{group} ({n_tables})")]
    cells += [("accuracy %", "{accuracy:.2f}"), ("log-loss", "{log_loss:.3f}")]
    cells += [("AUC", "{auc:.3f}"), ("Brier", "{brier:.3f}")]
    cells += [("variables", "{n_variables:.1f}"), ("columns", "{n_columns:.1f}")]
    cells += [("cuts", "{n_cuts:.1f}"), ("seconds", "{seconds:.1f}")]
    return markdown(frame, cells)


def _standing_text(frame: pd.DataFrame) -> str:
    names = [", ".join(NAMES[m] for m in peers) for peers in frame["peers"]]
    frame = frame.assign(dataset=frame["method"].map(_label), peers=names)
    cells = [("method", "{dataset}"), ("the best of", "{peers}")]
    cells += [("tables", "{n_tables}"), (f"within {NEAR:.1f} point", "{n_near}")]
    cells += [("more accurate", "{n_ahead}"), ("mean gap", "{mean_gap:+.2f}")]
    cells += [("lower log-loss", "{n_log_loss}")]
    cells += [("fewer variables than L1", "{n_fewer}")]
    note = "Tables on which a method is so near the best peer, on the same splits:\n"
    return f"{note}\n{markdown(frame, cells)}"


def draw(found: pd.DataFrame) -> Figure:
    """Accuracy and log-loss against variables used, means over the tables."""
    frame = overall(found)
    groups = [g for g in list(GROUPS)[:2] if (frame["group"] == g).any()]
    figure = Figure(figsize=(4.4 * len(groups) + 0.4, 6.6), layout="constrained")
    axes = figure.subplots(2, len(groups), squeeze=False, sharex="col")
    for column, group in zip(axes.T, groups, strict=True):
        rows = frame[frame["group"] == group].set_index("method")
        # A mean over fewer tables is no point of the same frontier.
        rows = rows[rows["n_tables"] == rows["n_tables"].max()]
        _panel(column[0], rows, "accuracy")
        _panel(column[1], rows, "log_loss")
        column[0].set_title(f"Means over {group}")
        column[1].set_xlabel("variables used")
    axes[0, 0].set_ylabel("accuracy, %")
    axes[1, 0].set_ylabel("log-loss")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure


def _panel(ax: Axes, rows: pd.DataFrame, measure: str) -> None:
    for name, (methods, look) in FAMILIES.items():
        shown = rows.loc[[m for m in methods if m in rows.index]]
        if len(shown):
            ax.plot(shown["n_variables"], shown[measure], label=name, **_look(look))
    ax.set_xscale("log")
    ticks = [2, 3, 5, 10, 20, 30]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()


def draw_forests(frame: pd.DataFrame) -> Figure:
    """Accuracy of forests and of the single tree on the same splits, table by table."""
    methods = dict(zip(PAIRED["forests"], (OURS, INK, PAPER), strict=True))
    found = paired(frame, list(methods)).iloc[::-1]
    figure = Figure(figsize=(6.4, 0.24 * len(found) + 1.2), layout="constrained")
    ax = figure.subplots()
    for method, colour in methods.items():
        marker, order = ("s", 2) if method == "forest" else ("o", 3)
        look = _look({"color": colour, "marker": marker, "zorder": order})
        ax.plot(
            found[f"accuracy_{method}"], found["dataset"], label=NAMES[method], **look
        )
    ax.grid(axis="y", alpha=0.3)
    ax.set_xlabel("accuracy on test rows, %")
    figure.legend(loc="outside upper center", ncols=len(methods))
    return figure


def _look(look: dict[str, Any]) -> dict[str, Any]:
    return {"markersize": 6.5, "markeredgecolor": "white", "linestyle": "none", **look}


def write_all(results: Path, output: Path) -> Sequence[Path]:
    """Write the tables and the figure, and return their files."""
    frame = load(results)
    found = means(frame)
    output.mkdir(parents=True, exist_ok=True)
    files = [output / f"frontier_tables.{suffix}" for suffix in ("csv", "md")]
    files.append(output / "frontier_peers.png")
    with written_whole(files[0]) as draft:
        found.to_csv(draft, index=False, float_format="%.6g", lineterminator="\n")
    with written_whole(files[1]) as draft:
        draft.write_text(text(frame), encoding="utf-8", newline="\n")
    with matplotlib.rc_context(STYLE), written_whole(files[2]) as draft:
        draw(found).savefig(draft, format="png", dpi=DPI)
    if set(PAIRED["forests"]) <= set(frame["method"]):
        files.append(output / "forests.png")
        with matplotlib.rc_context(STYLE), written_whole(files[3]) as draft:
            draw_forests(frame).savefig(draft, format="png", dpi=DPI)
    return files
