"""What of many cases is quick: every value of a product occurs, a few are spread."""

from itertools import product

import pytest

from tests.conftest import cover, spread, usual


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


@pytest.mark.parametrize("n_cases", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("n_chosen", [1, 2, 3, 20])
def test_a_few_cases_are_as_many_as_asked_for(n_cases, n_chosen):
    """The first is one of them, and the last if there are two or more."""
    chosen = spread(n_cases, n_chosen)
    assert len(chosen) == n_cases
    assert sum(chosen) == min(n_cases, n_chosen)
    assert chosen[:1] == [True] * min(n_cases, 1)
    assert chosen[-1:] == [n_chosen > 1 or n_cases == 1] * min(n_cases, 1)


def test_a_third_of_the_cases_is_quick():
    """The first of two or three."""
    found = [sum(spread(n, usual(n))) for n in range(1, 11)]
    assert found == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
