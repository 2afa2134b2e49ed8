"""The quick part of a product of parameters leaves no value of any of them out."""

from itertools import product

import pytest

from tests.conftest import cover


@pytest.mark.parametrize("sizes", [(1,), (4,), (2, 3), (3, 3, 2), (5, 1, 4)], ids=str)
def test_few_cases_hold_every_value(sizes):
    """As many as the longest parameter has."""
    cases = [set(enumerate(case)) for case in product(*map(range, sizes))]
    chosen = [case for case, is_in in zip(cases, cover(cases), strict=True) if is_in]
    assert set().union(*chosen) == set().union(*cases)
    assert len(chosen) == max(sizes)


def test_what_has_no_combinations_is_whole():
    """Cases that have nothing in common are all needed."""
    assert cover([{(0, "a")}, {(0, "b")}, {(0, "c")}]) == [True] * 3
    assert cover([]) == []
