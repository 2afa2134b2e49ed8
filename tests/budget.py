"""How many examples a property is tried on; ``make test-slow`` tries more."""

import os

#: Times the number of the quick suite.
TIMES = int(os.environ.get("SORCT_TEST_EXAMPLES", "1"))


def examples(number: int) -> int:
    """Examples of a property that the quick suite tries on so many."""
    return TIMES * number
