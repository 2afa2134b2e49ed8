"""Work on the rows of a table, block by block; large tables use all cores."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from joblib import cpu_count
from threadpoolctl import threadpool_limits

# Rows of a block, and of one of a table that has at least so many.
_ROWS, _MANY_ROWS = 16_384, 131_072
# Limiting the threads of BLAS concerns the whole process, so one prediction at a time
# may do it. A process that is forked meanwhile would inherit a lock that nobody opens:
# it begins with a new one.
_BLAS = [Lock()]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _BLAS.__setitem__(0, Lock()))


def each_block(work: Callable[[slice], None], n_samples: int) -> None:
    """Do the work for all rows.

    Blocks of a large table are larger: threads that call NumPy for short pieces
    wait for each other more than they compute.
    """
    size = _ROWS if n_samples < _MANY_ROWS else _MANY_ROWS
    blocks = [
        slice(first, min(first + size, n_samples))
        for first in range(0, n_samples, size)
    ]
    if n_samples < _MANY_ROWS:
        for rows in blocks:
            work(rows)
        return
    with (
        _BLAS[0],
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(cpu_count()) as pool,
    ):
        list(pool.map(work, blocks))
