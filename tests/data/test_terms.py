"""Terms: what is printed of them adds up to their value."""

import numpy as np
import pytest

from sorct.data.categorical import Categorical
from sorct.data.terms import OTHER


@pytest.mark.parametrize("unknown", ["other", "error", "first_level"])
@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("rare", [None, (), ("c",)], ids=["all", "pooled", "rare"])
def test_raw_columns_of_levels_add_up_to_the_value(separate, unknown, rare):
    """Known, rare and new levels; a new one may count as the first."""
    pooled = rare is not None
    variable = Categorical("v", ("a", "b"), None, separate, pooled, rare or ())
    n_columns = len(variable.column_names)
    term = variable.term(np.array([0.5, -2.0, 3.0])[-n_columns:], unknown)
    cells = ["a", "b", *(rare or ()), *([OTHER] if pooled else [])]
    cells += [] if unknown == "error" else ["new"]
    for cell in cells:
        weights = [summand.weight for summand in term.summands()]
        assert np.dot(weights, term.raw(cell)) == term.value(cell), cell
