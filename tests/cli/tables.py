"""A small table for tests of the command line: 'a' decides, 'b' is noise, 'c' text."""

import numpy as np
import pandas as pd

# Flags of a fit that takes no time.
QUICK = ["--alpha-local", "1", "--n-starts", "2"]


def small_table(n=60, seed=0):
    """Draw the table; a little of the classes is wrong."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(0.0, 1.0, n).round(3),
            "b": rng.uniform(10.0, 20.0, n).round(2),
            "c": rng.choice(["u", "v"], n),
        }
    )
    noisy = frame["a"] + rng.normal(0.0, 0.3, n) > 0
    return frame.assign(y=np.where(noisy, "yes", "no"))


def write_table(path, **options):
    """Write it as CSV."""
    small_table(**options).to_csv(path, index=False)
