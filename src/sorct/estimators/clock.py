"""Clock: how long a search by cross-validation may take, and what is left of that.

Paths are traced in other threads and processes, which begin at different times: they
are told until when, by the clock of the machine. What is not traced by then is not
compared, so the time is shared out: some of it for a race between settings, more for
folds, and the rest for the tree of all rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from joblib import Parallel, delayed, effective_n_jobs

#: Shares of the time after which no other settings are tried, after which no fold is
#: waited for, and after which the path of all rows ends.
RACE, FOLDS, PATH = 0.4, 0.75, 0.93


@dataclass(frozen=True)
class SearchClock:
    """Time that a search may take.

    Attributes
    ----------
    limit : float or None
        Seconds; None means as many as it takes.
    now : callable
        Tells the time, in seconds.
    begun : float
        When the search began.
    """

    limit: float | None = None
    now: Callable[[], float] = time.time
    begun: float = field(default=0.0)

    @classmethod
    def of(cls, limit: float | None, n_jobs: int | None = None) -> SearchClock:
        """A clock that begins now.

        Compiling, which a machine does once, is over then, and processes that share the
        work, which import all of it first, are there.
        """
        if limit is None:
            return cls()
        _be_ready()
        n_workers = effective_n_jobs(n_jobs)
        if n_workers > 1:
            Parallel(n_jobs=n_jobs)(delayed(_be_ready)() for _ in range(n_workers))
        return cls(float(limit), begun=time.time())

    def until(self, share: float) -> float | None:
        """When this share of the time is over; None: never."""
        return None if self.limit is None else self.begun + share * self.limit

    def is_over(self, share: float) -> bool:
        """Whether this share of the time is over."""
        until = self.until(share)
        return until is not None and self.now() >= until

    def left(self, share: float = 1.0) -> float | None:
        """Seconds that are left of this share; None: no limit."""
        until = self.until(share)
        return None if until is None else max(until - self.now(), 0.0)

    def halfway(self, share: float) -> float | None:
        """When half of what is left of this share will be over; None: never."""
        left = self.left(share)
        return None if left is None else self.now() + 0.5 * left

    def part(self, share: float) -> SearchClock:
        """The same, for work that may take this share of the time."""
        if self.limit is None:
            return self
        return SearchClock(share * self.limit, self.now, self.begun)


def _be_ready() -> None:
    """Import what traces paths, and load or compile its code."""
    import pandas  # noqa: F401, ICN001

    from sorct.estimators import folds  # noqa: F401
    from sorct.search.warm_up import warm_up

    warm_up()
