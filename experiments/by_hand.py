"""By hand: how often somebody who follows the printed rules gets the predicted class.

``SORCT_DATA=folder python -m experiments.by_hand [TABLE ...]`` fits the default search
on the training part of the first split of every table of the frontier, and prints the
share of training rows on which yes or no at each cut leads to the class of ``predict``:
as the tree tells it, and counted anew from ``apply`` and ``predict`` alone, with the
class that most rows of a leaf are given (``counted``). What is finished is kept in
``results/by_hand.csv``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pandas as pd

from experiments.frontier import Config
from experiments.peers import Problem
from sorct import SORCTClassifierCV

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "by_hand.csv"


def row_of(table: str) -> dict[str, object]:
    """How far the default tree of a table can be followed on its training rows."""
    problem = Problem.of(table, 0)
    search = SORCTClassifierCV(random_state=0, handle_missing="typical")
    search.fit(problem.X_train, problem.classes[problem.y_train])
    tree = search.tree_
    leaf, said = search.apply(problem.X_train), search.predict(problem.X_train)
    rows = pd.crosstab(leaf, said)
    return {
        "table": table,
        "told": tree.training.followed,
        "counted": rows.max(axis=1).sum() / rows.to_numpy().sum(),
        "leaves_reached": len(rows),
        "depth": tree.depth,
        "variables": len(tree.variables_used),
    }


def main(tables: list[str]) -> None:
    """Fit what is missing, and print all."""
    known = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame({"table": []})
    for table in tables or Config.read(HERE / "config").tables:
        if table not in set(known["table"]):
            known = pd.concat([known, pd.DataFrame([row_of(table)])])
            draft = RESULTS.with_suffix(".partial")
            known.to_csv(draft, index=False, float_format="%.4f")
            os.replace(draft, RESULTS)
    print(known.to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1:])
