"""How sure one can be that no set is behind by more than a point."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from experiments.behind import differences, passes


def test_the_chance_to_pass_is_that_of_drawn_differences():
    """Independent normal differences, by simulation."""
    error = pd.Series([2.0, 0.5, 1.0])
    drawn = np.random.default_rng(0).normal(0.3, error, (200_000, 3))
    share = (drawn >= -1.0).all(axis=1).mean()
    assert passes(error, 0.3) == pytest.approx(share, abs=0.005)
    assert passes(pd.Series([1.0]), 0.0) == pytest.approx(norm.cdf(1.0))


def test_every_set_of_the_paper_is_compared():
    """With the better of the two, whichever that is."""
    found = differences()
    assert len(found) == 18
    assert set(found["better"]) == {"l1", "cart"}
    assert (found["standard_error"] > 0.0).all()
