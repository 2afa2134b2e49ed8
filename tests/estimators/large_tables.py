"""Tables that count as large: every kind of column, and few rows that a search sees."""

import numpy as np
import pandas as pd
import pytest

from sorct.data import parts, samples, sources

#: A quick fit of some depth, the same for all.
QUICK = {"depth": 2, "alpha_local": 0.05, "n_starts": 2, "random_state": 0}


def draw_table(n=900, seed=0):
    """Every kind of column, three of which decide the class; a rare class as well."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "plain": rng.normal(size=n),
            "tail": rng.lognormal(0.0, 2.0, n),
            "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "text": rng.choice(["u", "v", "w"], n),
            "truth": rng.random(n) < 0.4,
            "day": pd.Timestamp("2020-05-01")
            + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
        }
    )
    score = X["plain"] + 1.5 * (X["text"] == "u") - X["truth"]
    y = np.where(score + rng.normal(0.0, 0.4, n) > 0.5, "yes", "no").astype(object)
    y[:12] = "rare"
    return X, y


def shrink(patch):
    """Let a few hundred rows be many, and batches have fewer."""
    patch.setattr(samples, "MANY_ROWS", 600)
    patch.setattr(parts, "PART_BLOCKS", 1)
    patch.setattr(sources, "BATCH_ROWS", 512)


@pytest.fixture
def small_limits(monkeypatch):
    """A few hundred rows are many, and a batch has fewer."""
    shrink(monkeypatch)
