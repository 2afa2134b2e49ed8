"""Result tables in, the paper's tables out, as CSV and Markdown; nothing is fitted.

First come the numbers, functions from data frames to data frames (the figures read them
too), then the files. Accuracies and sparsities are in per cent throughout. The spread
of the paper's figures over its ten splits is not printed; it is taken to be ours, so a
difference has the standard error ``sqrt(2 se^2 + unit^2 / 12)`` with ``se`` that of our
mean and ``unit`` the last printed digit, which matters only where our spread is zero.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sorct.datasets import names

from experiments.config import PARTS
from experiments.protocol import L1
from experiments.rivals import paired_interval
from sorct.estimators.path import PAPER_ALPHAS

DATASETS = names()
TITLES = {name: name.capitalize() for name in DATASETS}
GRID = PAPER_ALPHAS
MEASURES = ("accuracy", "sparsity", "global_sparsity")
PRINTED_UNIT = {"sparsity": 1.0, "accuracy": 0.1}
CART_METHODS = ("rpart", "scikit-learn CART")
# The mean over the other sixteen is the one that peers have been measured on.
LEFT_OUT = ("creditapproval", "ozone")

Page = Callable[[pd.DataFrame], str]
logger = logging.getLogger("sorct.experiments")


@dataclass(frozen=True)
class PaperTable:
    """One of the paper's tables: the penalty that varies, and the depth."""

    part: str
    depth: int

    @property
    def name(self) -> str:
        """Name in files, here and in ``paper.toml``."""
        return f"{self.part}_depth{self.depth}"

    @property
    def title(self) -> str:
        """Name for people."""
        return f"{self.part.capitalize()} penalty, depth {self.depth}"

    def pick(self, results: dict[str, pd.DataFrame]) -> pd.DataFrame:
        """Our rows, one per data set, ``alpha`` and split; none without results."""
        if self.part not in results:
            return pd.DataFrame(columns=["dataset", "alpha", "split", *MEASURES])
        frame = results[self.part].query("depth == @self.depth")
        alpha, sparsity = frame[f"alpha_{self.part}"], frame[f"{self.part}_sparsity"]
        return frame.assign(alpha=alpha, sparsity=sparsity)


LOCAL_1, LOCAL_2 = PaperTable("local", 1), PaperTable("local", 2)
GLOBAL_2 = PaperTable("global", 2)
PAPER_TABLES = (LOCAL_1, LOCAL_2, GLOBAL_2)


def load_results(folder: Path | str) -> dict[str, pd.DataFrame]:
    """Read the parts that exist; accuracies become per cent.

    Raises
    ------
    ValueError
        If a fit is there twice: it would count twice in every mean.
    """
    results = {}
    for part in PARTS:
        path = Path(folder) / f"{part}.csv.gz"
        if not path.exists():
            logger.warning("No %s: what needs it is skipped.", path)
            continue
        frame = pd.read_csv(path)
        keys = ["dataset", "depth", "split", "method"]
        if part != "selection":  # there the penalties are results
            keys += ["alpha_local", "alpha_global", "C"]
        keys = [key for key in keys if key in frame]
        twice = frame[frame.duplicated(keys)]
        if len(twice):
            raise ValueError(
                f"Expected one row per fit in {path}, got {len(twice)} more, the first "
                f"{twice.iloc[0][keys].to_dict()}; remove the older ones."
            )
        results[part] = frame.assign(accuracy=100.0 * frame["accuracy"])
    return results


def load_paper() -> pd.DataFrame:
    """The paper's figures: table, dataset, alpha, paper_sparsity, paper_accuracy."""
    with Path(__file__).with_name("paper.toml").open("rb") as file:
        tables = tomllib.load(file)
    frames = [
        pd.DataFrame({"table": table, "dataset": dataset, "alpha": GRID, **figures})
        for table, datasets in tables.items()
        for dataset, figures in datasets.items()
    ]
    names = {name: f"paper_{name}" for name in PRINTED_UNIT}
    return pd.concat(frames, ignore_index=True).rename(columns=names)


def mean_and_se(
    frame: pd.DataFrame, keys: Sequence[str], measures: Sequence[str]
) -> pd.DataFrame:
    """Mean over the splits, its standard error (``*_se``) and the number of splits."""
    groups = frame.groupby(list(keys), sort=False)[list(measures)]
    count, se = groups.size().rename("n_splits"), groups.sem().add_suffix("_se")
    return in_order(pd.concat([count, groups.mean(), se], axis=1).reset_index())


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort by data set as the paper does, then by penalty if there is one."""
    place = frame["dataset"].map({name: k for k, name in enumerate(TITLES)})
    keys = ["place", "alpha"] if "alpha" in frame else ["place"]
    frame = frame.assign(place=place).sort_values(keys, kind="stable")
    return frame.drop(columns="place").reset_index(drop=True)


def add_differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``*_difference`` (ours minus the paper's) and ``*_difference_in_se``."""
    frame = frame.copy()
    for name, unit in PRINTED_UNIT.items():
        se = np.sqrt(2.0 * frame[f"{name}_se"] ** 2 + unit**2 / 12.0)
        frame[f"{name}_difference"] = frame[name] - frame[f"paper_{name}"]
        frame[f"{name}_difference_in_se"] = frame[f"{name}_difference"] / se
    return frame


def compare_with_paper(
    results: dict[str, pd.DataFrame], table: PaperTable
) -> pd.DataFrame:
    """One row per data set and grid point: ours, the paper's, and the difference."""
    ours = mean_and_se(table.pick(results), ["dataset", "alpha"], list(PRINTED_UNIT))
    paper = load_paper().query("table == @table.name").drop(columns="table")
    return in_order(add_differences(ours.merge(paper, on=["dataset", "alpha"])))


def summarise(comparison: pd.DataFrame) -> pd.DataFrame:
    """Averages over the grid per data set, and how many points lie over 2 se apart.

    The last row, ``all``, has the means of the data sets and the sums of the counts.
    """
    groups = comparison.groupby("dataset", sort=False)
    frame = groups.size().rename("n_points").to_frame()
    for name in PRINTED_UNIT:
        for column in (name, f"paper_{name}", f"{name}_difference"):
            frame[column] = groups[column].mean()
        apart = comparison[f"{name}_difference_in_se"].abs() > 2.0
        frame[f"n_{name}_apart"] = apart.groupby(comparison["dataset"]).sum()
    counts = [column for column in frame if column.startswith("n_")]
    frame.loc["all"] = {**frame.mean(), **frame[counts].sum()}
    return frame.astype(dict.fromkeys(counts, int)).reset_index()


def cart_rows(rivals: pd.DataFrame) -> pd.DataFrame:
    """Rows of CART, of the paper's program where there are two."""
    method = next((x for x in CART_METHODS if (rivals["method"] == x).any()), None)
    return rivals[rivals["method"] == method]


def compare_with_cart(
    results: dict[str, pd.DataFrame], tables: Sequence[PaperTable] = (LOCAL_1, GLOBAL_2)
) -> pd.DataFrame:
    """Paired difference to CART, with its 95 % interval, per data set and grid point.

    As in the paper the trees of depth 1 are those with a local penalty and the trees of
    depth 2 those with a global one. ``accuracy`` and ``global_sparsity`` each have
    ``*_difference``, ``*_low`` and ``*_high``.
    """
    cart, rows = cart_rows(results["rivals"]), []
    ours = pd.concat([table.pick(results) for table in tables])
    pairs = ours.merge(cart, on=["dataset", "split"], suffixes=("", "_cart"))
    counts = pairs.groupby(["dataset", "alpha"])["split"].transform("size")
    groups = pairs[counts > 1].groupby(["dataset", "alpha"], sort=False)
    for (dataset, alpha), group in groups:
        row = {"dataset": dataset, "alpha": alpha, "n_splits": len(group)}
        row["rival"] = group["method_cart"].iloc[0]
        for name in ("accuracy", "global_sparsity"):
            pair = (group[name].to_numpy(), group[f"{name}_cart"].to_numpy())
            ends = (f"{name}_difference", f"{name}_low", f"{name}_high")
            row |= dict(zip(ends, paired_interval(*pair), strict=True))
        rows.append(row)
    return in_order(pd.DataFrame(rows, columns=None if rows else ["dataset"]))


def l1_path(rivals: pd.DataFrame) -> pd.DataFrame:
    """Means of L1 logistic regression over the splits, per data set and ``C``."""
    rows = rivals[rivals["method"] == L1]
    return mean_and_se(rows, ["dataset", "C"], ["accuracy", "global_sparsity"])


def accuracy_at(path: pd.DataFrame, sparsity: pd.Series) -> np.ndarray:
    """Accuracy along a path of one data set, linear in between; NaN beyond its ends.

    Points of equal sparsity are averaged first.
    """
    points = path.groupby("global_sparsity")["accuracy"].mean()
    return np.interp(sparsity, points.index, points, left=np.nan, right=np.nan)


def compare_with_l1(results: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Our accuracy at depth 1 beside that of L1 logistic regression, equally sparse."""
    ours = mean_and_se(
        LOCAL_1.pick(results), ["dataset", "alpha"], ["global_sparsity", "accuracy"]
    )
    path, parts = l1_path(results["rivals"]), []
    for dataset, points in ours.groupby("dataset", sort=False):
        rival = path[path["dataset"] == dataset]
        if rival.empty:
            continue
        l1_accuracy = accuracy_at(rival, points["global_sparsity"])
        difference = points["accuracy"] - l1_accuracy
        parts.append(points.assign(l1_accuracy=l1_accuracy, difference=difference))
    return pd.concat(parts, ignore_index=True) if parts else ours.iloc[:0]


def selection_rows(results: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Every method with its penalty chosen in the training part, CART as it is."""
    ours, rivals = results["selection"], results.get("rivals")
    if rivals is None:
        return ours
    l1 = rivals[rivals["method"] == f"{L1} CV"].assign(method=L1)
    return pd.concat([ours, l1, cart_rows(rivals)], ignore_index=True)


def selection_means(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits per data set and method, penalties chosen beforehand."""
    used = ["n_columns", "n_variables", "global_sparsity", "local_sparsity"]
    return mean_and_se(frame, ["dataset", "method"], ["accuracy", *used])


def selection_overall(means: pd.DataFrame) -> pd.DataFrame:
    """Means over the data sets that every method has, without `LEFT_OUT` and with.

    ``n_fewer_columns`` counts the data sets on which a method uses fewer columns than
    L1 logistic regression, on average over the splits.
    """
    rows = []
    for sets, without in (("without " + ", ".join(LEFT_OUT), LEFT_OUT), ("all", ())):
        wide = means[~means["dataset"].isin(without)]
        wide = wide.pivot(index="dataset", columns="method")
        wide = wide[["accuracy", "n_columns"]].dropna()
        columns = wide["n_columns"]
        for method in means["method"].unique():
            row = {"sets": sets, "method": method, "n_sets": len(wide)}
            row["accuracy"] = wide["accuracy"][method].mean()
            row["n_columns"] = columns[method].mean()
            fewer = columns[method] < columns[L1] if L1 in columns else None
            row["n_fewer_columns"] = np.nan if fewer is None else fewer.sum()
            rows.append(row)
    return pd.DataFrame(rows)


def penalty_label(alpha: float) -> str:
    """Return ``0`` or ``2^r``."""
    return "0" if alpha == 0.0 else f"2^{round(np.log2(alpha))}"


def markdown(frame: pd.DataFrame, cells: Sequence[tuple[str, str]]) -> str:
    """Lay out a table with one line per row; `cells` are headings and templates.

    Templates are filled from the columns of the frame, from ``title``, the printed name
    of the data set, and from ``penalty``. What is missing becomes a dash.
    """
    lines = [[heading for heading, _ in cells], ["---", *["---:"] * (len(cells) - 1)]]
    for row in frame.to_dict("records"):
        row["title"] = TITLES.get(row["dataset"], row["dataset"])
        row["penalty"] = penalty_label(row.get("alpha", 0.0))
        line = [re.sub(r"[+-]?\bnan\b", "–", text.format(**row)) for _, text in cells]
        lines.append([re.sub(r"^– ± – \(–\)$", "–", cell) for cell in line])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def blocks(frame: pd.DataFrame, cells: Sequence[tuple[str, str]]) -> str:
    """One headed table per data set."""
    return "\n".join(
        f"### {TITLES.get(dataset, dataset)}\n\n{markdown(group, cells)}"
        for dataset, group in frame.groupby("dataset", sort=False)
    )


def paper_text(table: PaperTable, comparison: pd.DataFrame) -> str:
    """The Markdown page of one of the paper's tables."""
    columns = (("unused % ± SE", "sparsity", 0), ("accuracy % ± SE", "accuracy", 1))
    cells = [("penalty", "{penalty}")]
    for heading, name, digits in columns:
        cells += [
            (heading, f"{{{name}:.1f}} ± {{{name}_se:.1f}}"),
            ("(paper)", f"({{paper_{name}:.{digits}f}})"),
            ("difference", f"{{{name}_difference:+z.1f}}"),
            ("in SE", f"{{{name}_difference_in_se:+z.1f}}"),
        ]
    fewest, most = comparison["n_splits"].min(), comparison["n_splits"].max()
    splits = f"{most}" if fewest == most else f"{fewest} to {most}"
    head = f"""# {table.title}

Means over {splits} splits, the paper's in brackets; differences are ours minus the
paper's. The paper does not print its spread, so it is taken to be ours: the standard
error (SE) of a difference is √2 times that of our mean, with the rounding of the
paper's figure added (a variance of u²/12, u = 1 or 0.1 being the last digit printed).
"""
    return f"{head}\n{blocks(comparison, cells)}"


def summary_text(summary: pd.DataFrame) -> str:
    """One line per data set and table: averages over the penalties, ours and theirs."""
    cells = [("data set", "{title}")]
    for heading, name in (("unused %", "sparsity"), ("accuracy %", "accuracy")):
        cells += [
            (heading, f"{{{name}:.1f}}"),
            ("(paper)", f"({{paper_{name}:.1f}})"),
            ("difference", f"{{{name}_difference:+z.1f}}"),
            ("apart", f"{{n_{name}_apart}} of {{n_points}}"),
        ]
    head = """# Summary

Averages over the penalties, the paper's in brackets; differences are ours minus the
paper's. *Apart*: penalties at which the difference exceeds two standard errors.
"""
    pages = [
        f"## {title}\n\n{markdown(group, cells)}"
        for title, group in summary.groupby("table", sort=False)
    ]
    return "\n".join([head, *pages])


def cart_text(frame: pd.DataFrame) -> str:
    """The Markdown page of the comparison with CART."""
    counts, cells, lines = [("data set", "{title}")], [("penalty", "{penalty}")], frame
    for heading, name in (("accuracy", "accuracy"), ("unused", "global_sparsity")):
        low, high = frame[f"{name}_low"], frame[f"{name}_high"]
        for sign, hit in (
            ("+", low > 0),
            ("0", (low <= 0) & (high >= 0)),
            ("−", high < 0),
        ):
            lines = lines.assign(**{heading + sign: hit.astype(int)})
            counts.append((f"{heading} {sign}", f"{{{heading + sign}}}"))
        interval = f"[{{{name}_low:+z.1f}}, {{{name}_high:+z.1f}}]"
        cells.append((f"{heading} %", f"{{{name}_difference:+z.1f}} {interval}"))
    head = f"""# S-ORCT minus CART ({frame["rival"].iloc[0]})

Means of the paired differences in test accuracy and in the share of unused columns,
with 95 % intervals (Student's t), in points; local penalty at depth 1, global penalty
at depth 2. First the number of penalties at which the interval lies above zero (+),
contains it (0) or lies below (−).
"""
    signs = [heading[1:-1] for _, heading in counts[1:]]
    lines = lines.groupby("dataset", sort=False)[signs].sum().reset_index()
    return "\n".join([head, markdown(lines, counts), blocks(frame, cells)])


def l1_text(frame: pd.DataFrame) -> str:
    """The Markdown page of the comparison with L1 logistic regression."""
    head = f"""# {L1} regression, equally sparse

Our mean accuracy at each local penalty (depth 1) beside that of the rival at the same
mean share of unused columns, interpolated along its path; a dash where the path does
not reach it. First the mean difference and how often it is in our favour.
"""
    known = frame.dropna(subset="difference").assign(ahead=frame["difference"] > 0.0)
    groups = known.groupby("dataset", sort=False)
    lines = groups["ahead"].agg(n="size", n_ahead="sum").reset_index()
    lines["mean"] = groups["difference"].mean().to_numpy()
    counts = [("data set", "{title}"), ("difference", "{mean:+z.1f}")]
    counts += [("in our favour", "{n_ahead} of {n}")]
    cells = [("penalty", "{penalty}"), ("unused %", "{global_sparsity:.1f}")]
    cells += [("accuracy % ± SE", "{accuracy:.1f} ± {accuracy_se:.1f}")]
    cells += [(L1, "{l1_accuracy:.1f}"), ("difference", "{difference:+z.1f}")]
    return "\n".join([head, markdown(lines, counts), blocks(frame, cells)])


def selection_text(means: pd.DataFrame) -> str:
    """The Markdown page of the models chosen by cross-validation."""
    methods = list(means["method"].unique())
    wide = means.pivot(index="dataset", columns="method")
    wide = in_order(wide.set_axis(wide.columns.map("_".join), axis=1).reset_index())
    cells = [("data set", "{title}")]
    for x in methods:
        accuracy = f"{{accuracy_{x}:.1f}} ± {{accuracy_se_{x}:.1f}}"
        cells.append((x, f"{accuracy} ({{n_columns_{x}:.1f}})"))
    overall = selection_overall(means)
    means_cells = [("method", "{dataset}"), ("mean over", "{n_sets} sets ({sets})")]
    means_cells += [("accuracy %", "{accuracy:.1f}"), ("columns", "{n_columns:.1f}")]
    means_cells += [(f"sets with fewer columns than {L1}", "{n_fewer_columns:.0f}")]
    head = """# Penalties chosen by cross-validation on the training sample

Test accuracy in per cent, mean ± standard error over the splits, and in brackets the
mean number of columns used; then means over the data sets that every method has.
"""
    below = markdown(overall.rename(columns={"method": "dataset"}), means_cells)
    return "\n".join([head, markdown(wide, cells), below])


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a name to write to, renamed to `path` once the writing has succeeded."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_all(results_folder: Path | str, output_folder: Path | str) -> list[Path]:
    """Write every table for which there are results, and return the files written.

    Parameters
    ----------
    results_folder : path
        Folder of ``<part>.csv.gz``, the parts being `PARTS`; missing ones are skipped.
    output_folder : path
        Made if need be. Existing files are replaced.
    """
    results, folder, written = load_results(results_folder), Path(output_folder), []
    folder.mkdir(parents=True, exist_ok=True)

    def write(name: str, frame: pd.DataFrame, draw: Page) -> None:
        if frame.empty:
            return
        with written_whole(folder / f"{name}.csv") as draft:
            frame.to_csv(draft, index=False, float_format="%.6g", lineterminator="\n")
        with written_whole(folder / f"{name}.md") as draft:
            draft.write_text(draw(frame), encoding="utf-8", newline="\n")
        written.extend(folder / f"{name}.{suffix}" for suffix in ("csv", "md"))

    summaries = []
    for table in PAPER_TABLES:
        comparison = compare_with_paper(results, table)
        write(table.name, comparison, partial(paper_text, table))
        if len(comparison):
            summaries.append(summarise(comparison).assign(table=table.title))
    if summaries:
        write("summary", pd.concat(summaries), summary_text)
    if "rivals" in results:
        write("cart", compare_with_cart(results), cart_text)
        write("l1", compare_with_l1(results), l1_text)
    if "selection" in results:
        means = selection_means(selection_rows(results))
        write("selection", means, selection_text)
    return written
