"""What `max_features` costs: training cost within a limit, beside the plain path's.

``SORCT_DATA=folder python -m experiments.limits`` traces, for every paper set (first
split), both losses and limits of one to five variables, a path whose relaxed trees keep
to the limit. It prints, and keeps in ``results/limits.csv``, the least training cost of
these trees beside the least of the plain path's points that happen to be within the
limit, and the cost of the tree that uses nothing.
"""

from __future__ import annotations

import sys

import pandas as pd
from joblib import Parallel, delayed

from experiments.peers import Problem
from experiments.run import HERE
from experiments.tables import written_whole
from sorct import datasets, sorct_path

LOSSES, LIMITS = ("cost", "log"), (1, 2, 3, 4, 5)
# Relative differences of costs below this are rounding.
_SAME = 1e-6


def row(table: str, loss: str, most: int) -> dict[str, object]:
    """Costs of one table under one loss and limit."""
    split = Problem.of(table, 0)
    path = sorct_path(
        split.X_train, split.y_train, loss=loss, max_features=most, n_solutions=6,
        random_state=0,
    )  # fmt: skip
    plain = [tree for tree in path if len(tree.variables_used) <= most]
    best = min(path.relaxed, key=lambda tree: tree.training.cost)
    return {
        "table": table,
        "loss": loss,
        "max_features": most,
        "cost": best.training.cost,
        "n_variables": len(best.variables_used),
        "path_cost": min((tree.training.cost for tree in plain), default=float("nan")),
        "empty_cost": path.trees[-1].training.cost,
    }


def main() -> int:
    """Fit, keep and sum up."""
    calls = [
        delayed(row)(table, loss, most)
        for table in datasets.names()
        for loss in LOSSES
        for most in LIMITS
    ]
    found = pd.DataFrame(Parallel(n_jobs=int((sys.argv[1:] or ["1"])[0]))(calls))
    with written_whole(HERE / "results" / "limits.csv") as file:
        found.to_csv(file, index=False, float_format="%.6g")
    worse = found["cost"] > found["path_cost"] * (1.0 + _SAME)
    helped = found["cost"] < found["empty_cost"] * (1.0 - _SAME)
    print(f"{len(found)} cells: {worse.sum()} worse than the path within the limit,")
    print(f"{(found['n_variables'] == 0).sum()} empty, {helped.sum()} below the empty")
    print(found[worse | (found["n_variables"] == 0)].to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
