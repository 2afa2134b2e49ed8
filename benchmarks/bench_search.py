"""The default search against the best objectives known, and against IPOPT.

Three tables: objectives beside the best known (bar: within 2 % or 5e-4 in 95 % of the
cells, never worse than 10 %); the search with the time that CasADi + IPOPT takes for
one start beside the best of its twenty (bar: no worse in 95 % of the cells); and the
search beside IPOPT's twenty starts in time (bar: a tenth) and objective.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.cells import Cell, best_known_cells, nine_cells
from benchmarks.ipopt import PaperModel
from benchmarks.rivals import ipopt_starts
from benchmarks.timing import best_seconds, print_table

N_STARTS = 20
OWN_TABLE = Path(__file__).with_name("best_known.json")


def run() -> None:
    """Print the tables; ``SORCT_SEARCH`` picks some of them, separated by commas."""
    parts = {"known": _known, "equal": _equal_time, "affordable": _affordable}
    chosen = os.environ.get("SORCT_SEARCH", ",".join(parts)).split(",")
    cells = best_known_cells()
    if cells is None:
        print("Best known, equal time: not measured, SORCT_DATA is not set.")
        chosen = ["affordable"]
    else:
        nine_cells()[0].classifier(n_starts=1).fit(cells[0].X, cells[0].y)
    for name in chosen:
        if name == "affordable":
            _affordable()
        else:
            parts[name](cells)  # type: ignore[operator]


def _known(cells: list[Cell]) -> None:
    """Default settings beside the best known; better ones go to our own table."""
    own = _own_table()
    rows, excess, reached = [], [], []
    for cell in cells:
        begun = time.perf_counter()
        tree = cell.classifier().fit(cell.X, cell.y)
        seconds = time.perf_counter() - begun
        reached.append(cell.reached_by(tree.objective_))
        excess.append(tree.objective_ - cell.best_known)
        own[cell.title] = min(own.get(cell.title, np.inf), tree.objective_)
        rows.append(
            [
                cell.title,
                f"{cell.best_known:.6f}",
                f"{tree.objective_:.6f}",
                f"{100 * excess[-1] / cell.best_known:+.1f} %",
                "yes" if reached[-1] else "NO",
                f"{tree.search_.n_refound}/{tree.search_.n_runs}",
                f"{seconds:.2f}",
            ]
        )
    header = ["cell (alphas)", "best known", "ours", "excess", "reached", "runs", "s"]
    print_table("Default search beside the best known", header, rows)
    known = np.array([cell.best_known for cell in cells])
    better = np.sum(np.array(excess) < -np.maximum(1e-3 * known, 1e-5))
    misses = np.array(excess)[~np.array(reached)] / known[~np.array(reached)]
    print(
        f"reached in {100 * np.mean(reached):.1f} % of {len(cells)} cells (bar 95 %), "
        f"worst miss {100 * max(misses, default=0.0):.1f} % (bar 10 %), "
        f"better by more than 0.1 % in {better}"
    )
    text = json.dumps(dict(sorted(own.items())), indent=1)
    partial = OWN_TABLE.with_suffix(".partial")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(OWN_TABLE)


def _own_table() -> dict[str, float]:
    if not OWN_TABLE.exists():
        return {}
    return dict(json.loads(OWN_TABLE.read_text(encoding="utf-8")))


def _equal_time(cells: list[Cell]) -> None:
    """The time of one IPOPT start against the best of its twenty."""
    rows, no_worse = [], []
    for cell in cells:
        one, _, best = ipopt_starts(cell, PaperModel, N_STARTS)
        begun = time.perf_counter()
        tree = cell.classifier(time_limit=one).fit(cell.X, cell.y)
        seconds = time.perf_counter() - begun
        no_worse.append(tree.objective_ <= best + 1e-6)
        rows.append(
            [
                cell.title,
                f"{1e3 * one:.0f}",
                f"{1e3 * seconds:.0f}",
                f"{best:.6f}",
                f"{tree.objective_:.6f}",
                "" if no_worse[-1] else "WORSE",
            ]
        )
        print(f"  {cell.title}: {rows[-1][1:]}", flush=True)
    header = ["cell (alphas)", "one start (ms)", "ours (ms)", "IPOPT of 20", "ours", ""]
    print_table("The time of one IPOPT start", header, rows)
    print(
        f"no worse than IPOPT's best of {N_STARTS} in {100 * np.mean(no_worse):.1f} % "
        f"of {len(cells)} cells (bar 95 %)"
    )


def _affordable() -> None:
    """The whole default search against twenty starts of IPOPT."""
    rows = []
    for cell in nine_cells():
        tree = cell.classifier()
        seconds = best_seconds(lambda: tree.fit(cell.X, cell.y))  # noqa: B023
        _, total, best = ipopt_starts(cell, PaperModel, N_STARTS)
        rows.append(
            [
                cell.title,
                f"{1e3 * seconds:.0f}",
                f"{1e3 * total:.0f}",
                f"{seconds / total:.3f}",
                f"{tree.objective_:.6f}",
                f"{best:.6f}",
                "" if tree.objective_ <= best + 1e-6 else "WORSE",
            ]
        )
    header = [
        "cell (alphas)", "search (ms)", "IPOPT x 20 (ms)", "share (bar 0.1)",
        "ours", "IPOPT", "",
    ]  # fmt: skip
    print_table("The default search beside twenty starts of IPOPT", header, rows)
