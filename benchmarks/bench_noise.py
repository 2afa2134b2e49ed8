"""Columns that mean nothing: two variables that do, among up to 600, 700 rows.

Accuracy on new rows and variables kept, by default and by the one-standard-error rule,
beside the paper's setting and L1 logistic regression, each with its penalty chosen by
cross-validation. A second table: how far the sparser rule's choice moves with the seed.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV

import sorct
from benchmarks.timing import print_table
from sorct import PAPER, PAPER_ALPHAS, SORCTClassifierCV

N_ROWS, N_TEST = 700, 10_000
COLUMNS = (2, 50, 200, 600)
SEEDS = range(5)


def run() -> None:
    """Print both tables."""
    print_table(
        "Columns that mean nothing: accuracy on new rows (variables kept)",
        ("columns", "ours", "one standard error", "paper", "L1 logistic"),
        [_row(n_columns) for n_columns in COLUMNS],
    )
    print_table(
        "Variables kept by one standard error, 50 columns",
        ("seed", "variables"),
        [(str(seed), str(_n_kept(seed))) for seed in SEEDS],
    )


def _n_kept(seed: int) -> int:
    search = SORCTClassifierCV(rule="one-standard-error", random_state=seed)
    return len(search.fit(*draw(50, N_ROWS, seed=1)).tree_.variables_used)


def draw(n_columns: int, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two variables tell the class, but for some noise; the others tell nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n_rows) > 0.0).astype(int)


def _row(n_columns: int) -> list[str]:
    X, y = draw(n_columns, N_ROWS, seed=0)
    new = draw(n_columns, N_TEST, seed=1)
    search = SORCTClassifierCV(random_state=0).fit(X, y)
    paper = SORCTClassifierCV(
        depths=None, alphas_local=PAPER_ALPHAS, n_solutions=20, relax=False,
        random_state=0, **PAPER,
    ).fit(X, y)  # fmt: skip
    trees = search.tree_, search.select("one-standard-error"), paper.tree_
    told = [_told(tree, *new) for tree in trees]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        linear = LogisticRegressionCV(
            Cs=20, l1_ratios=(1,), solver="liblinear", scoring="neg_log_loss"
        ).fit(X, y)
    right = np.mean(linear.predict(new[0]) == new[1])
    return [str(n_columns), *told, f"{right:.3f} ({np.count_nonzero(linear.coef_)})"]


def _told(tree: sorct.Tree, X: np.ndarray, y: np.ndarray) -> str:
    return f"{np.mean(tree.predict(X) == y):.3f} ({len(tree.variables_used)})"
