"""Behind: on which of the paper's sets the better of L1 and CART is ahead of our tree.

``python -m experiments.behind`` reads ``results/frontier.csv.gz`` and fits nothing. It
prints the mean difference of every set with its standard error, corrected for splits
that share rows (Nadeau and Bengio), and how probable it is that no set is behind by
more than a point, for a method that is just as good as the better one of each, or a
point better.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from experiments.real_tables import TABLES
from sorct.estimators.compare.verdict import corrected_t_test

RESULTS = Path(__file__).parent / "results" / "frontier.csv.gz"
#: Rows of a test part by those of its training part.
RATIO = 1 / 3


def differences() -> pd.DataFrame:
    """Mean difference to the better of L1 and CART by set, in points of accuracy."""
    rows = pd.read_csv(RESULTS, dtype={"key": str})
    rows = rows[~rows["table"].isin(TABLES)]
    right = 100.0 * rows.pivot_table(
        index=["table", "split"], columns="method", values="accuracy"
    )
    found = []
    for name, part in right[["ours", "l1", "cart"]].dropna().groupby("table"):
        better = part[["l1", "cart"]].mean().idxmax()
        gaps = (part["ours"] - part[better]).to_numpy()
        error = corrected_t_test(gaps, RATIO, 0.0).standard_error
        found.append((name, better, gaps.size, gaps.mean(), error))
    columns = ["set", "better", "splits", "difference", "standard_error"]
    return pd.DataFrame(found, columns=columns).set_index("set")


def passes(error: pd.Series[float], ahead: float, allowed: float = 1.0) -> float:
    """Probability that no set is seen behind by more, if all are ahead by so much."""
    return float(norm.cdf((ahead + allowed) / np.maximum(error, 1e-9)).prod())


def main() -> None:
    """Print the table and the two probabilities."""
    found = differences()
    print(found.sort_values("difference").round(2).to_string())
    for ahead in (0.0, 1.0):
        share = passes(found["standard_error"], ahead)
        print(f"ahead by {ahead:g} on each: none behind by a point in {share:.0%}")


if __name__ == "__main__":
    main()
