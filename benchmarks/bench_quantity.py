"""The 17-point path of a quantity against IPOPT's warm solves, and a large table.

As in ``bench_path.py``: ours is the whole ``sorct_path`` with 20 carried solutions at
depth 2, IPOPT's time that of a few warm solves along the grid (building the model not
counted) times 17 x 20. One thread each, processor time. Then a default fit on diamonds
(40 000 rows) beside CART's grid search. The tables are those of the experiment on
quantities: ``SORCT_REAL``, or ``real`` in ``SORCT_DATA``.
"""

from __future__ import annotations

import os
import time

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.quantity_ipopt import QuantityModel
from benchmarks.timing import print_table
from experiments.real_tables import load
from experiments.regression import peer
from sorct import SORCTRegressorCV, sorct_path
from sorct.data.options import TableOptions
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.penalty import Strengths
from sorct.tree.params import Params

N_SOLUTIONS, SAMPLE = 20, (4, 8, 12)


def run() -> None:
    """Print times; the bars are a ratio of 30, and one of 5."""
    if not (os.environ.get("SORCT_REAL") or os.environ.get("SORCT_DATA")):
        print("quantity: nothing is measured, SORCT_REAL names no folder.")
        return
    header = ["table", "ours (s)", "IPOPT, one solve (s)", "IPOPT, 340 (s)", "ratio"]
    rows = [_compare(name) for name in ("concrete", "saratoga")]
    print_table("17-point path of a quantity (bar 30)", header, rows)
    header = ["table", "ours (s)", "CART's grid (s)", "ratio"]
    print_table("Default fit (bar 5)", header, [_default("diamonds")])


def _compare(name: str) -> list[str]:
    X, y = load(name)
    prepared = Prepared.of(
        X, y, None, Model(2, loss="square", of_quantity=True, table=TableOptions())
    )
    begun = time.process_time()
    path = sorct_path(
        X, y, loss="square", depth=2, n_solutions=N_SOLUTIONS, relax=False, n_jobs=1,
        random_state=0,
    )  # fmt: skip
    seconds, target, taken = time.process_time() - begun, prepared.target, []
    for k in SAMPLE:
        before, alpha = path.trees[k - 1], path.trees[k].training.alpha_local
        value = (before.leaf_value - target.centre) / target.spread
        start = Params(
            before.coef, before.threshold, before.leaf_class, leaf_value=value
        )
        model = QuantityModel(prepared.problem.at(Strengths(alpha)), keep_start=True)
        begun = time.process_time()
        model.solve(start)
        taken.append(time.process_time() - begun)
    one = float(np.mean(taken))
    total = one * len(path) * N_SOLUTIONS
    size = f"{name} {len(y)} x {prepared.encoder.n_columns}"
    cells = seconds, one, total
    return [size, *(f"{cell:.2f}" for cell in cells), f"{total / seconds:.0f}"]


def _default(name: str) -> list[str]:
    X, y = load(name)
    X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0)
    taken = []
    for model in (SORCTRegressorCV(random_state=0, n_jobs=1), peer("cart")):
        begun = time.process_time()
        model.fit(X, y)
        taken.append(time.process_time() - begun)
    ours, cart = taken
    return [f"{name} {len(y)} rows", f"{ours:.1f}", f"{cart:.1f}", f"{ours / cart:.1f}"]
