"""What the paper's order of the grid does to its local table (depth 2).

The paper solves row by row, the global penalty innermost, and feeds every pair with the
solutions of the pair before. A row's first point, which is a cell of the local table,
is therefore fed with the sparse trees at the end of the row before. ``python -m
experiments.order`` prints accuracy, sparsity and objective of the first rows' first
points when that is done, without moves and without learning from neighbours.
"""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from experiments.protocol import READING, SETTING, Split
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.path import PAPER_ALPHAS
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.search.log import best_of
from sorct.search.polish import Polisher, without_idle_cuts
from sorct.search.starts import draw_start
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian

N_SOLUTIONS, N_SPLITS, N_ROWS = 20, 10, 3
ROUGH, END = AugmentedLagrangian(1e-4, 300), AugmentedLagrangian()


def first_points(dataset: str, number: int) -> np.ndarray:
    """Accuracy, sparsity (both in per cent) and objective of the rows' first points."""
    split, stop = Split.of(dataset, number), never()
    model = Model(2, None, 0.1, SETTING["gamma"], READING, loss=SETTING["loss"])
    prepared = Prepared.of(split.X_train, split.y_train, None, model)
    pool, found = None, []
    for local in PAPER_ALPHAS[:N_ROWS]:
        for whole in PAPER_ALPHAS:
            problem = prepared.problem.at(Strengths(local, whole))
            if pool is None:
                polisher = Polisher.of(problem, ROUGH)
                starts = [
                    draw_start(problem, number, n, stop) for n in range(N_SOLUTIONS)
                ]
                pool = [polisher.polish(start.params, stop) for start in starts]
            else:
                pool = [
                    ROUGH.solve(problem, tree.params, multiplier=tree.multiplier)
                    for tree in pool
                ]
            if whole == 0.0:
                best = best_of(pool)
                best = END.solve(problem, best.params, multiplier=best.multiplier)
                best = without_idle_cuts(problem, best)
                tree = prepared.tree(best, (local, whole))
                hits = tree.predict(split.X_test) == split.y_test
                row = [100.0 * hits.mean(), tree.local_sparsity, best.objective]
                found.append(row)
    return np.array(found)


def main() -> None:
    """Print means over the splits."""
    for dataset in ("iris", "seeds", "balance", "car"):
        calls = [delayed(first_points)(dataset, k) for k in range(N_SPLITS)]
        means = np.mean(Parallel(n_jobs=-1)(calls), axis=0)
        for alpha, row in zip(PAPER_ALPHAS, means, strict=False):
            accuracy, unused, objective = row
            print(
                f"{dataset:8s} alpha_local {alpha:<9.3g} accuracy {accuracy:5.1f}  "
                f"unused per cut {unused:4.1f}  objective {objective:.4f}"
            )


if __name__ == "__main__":
    main()
