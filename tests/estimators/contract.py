"""The checks of scikit-learn, by names that are short and quickly made."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator


def each_check(*estimators: BaseEstimator, shares: int = 1) -> Any:
    """Give a test every estimator with every check, as ``estimator`` and ``check``.

    Estimators that are slow to fit may be given every second or third check, each of
    them others: all estimators and checks then occur, and some of the pairs.

    Some checks give no seed: here every estimator has one, so that a test that passes
    passes again.

    scikit-learn's own ``parametrize_with_checks`` prints the estimator anew for every
    check, which takes half a second in every process that collects tests.
    """
    estimators = tuple(one.set_params(random_state=0) for one in estimators)
    cases = [
        pytest.param(given, check, id=f"{type(one).__name__}{number}-{_name(check)}")
        for number, one in enumerate(estimators)
        for given, check in islice(
            estimator_checks_generator(one, mark="xfail"), number % shares, None, shares
        )
    ]
    return pytest.mark.parametrize(("estimator", "check"), cases)


def _name(check: Callable[..., None]) -> str:
    """The function's name, with what it is called with."""
    if not isinstance(check, partial):
        return check.__name__
    given = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{check.func.__name__}({given})" if given else check.func.__name__
