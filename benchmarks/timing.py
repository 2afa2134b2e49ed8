"""How we time: threads pinned, best of several, machine and versions named."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence

import numpy as np


def best_seconds(call: Callable[[], object], at_least: float = 0.2) -> float:
    """Shortest mean time of a call over several rounds, after one call to warm up."""
    call()
    begun = time.perf_counter()
    call()
    once = time.perf_counter() - begun
    n_calls = max(1, int(at_least / 5 / max(once, 1e-9)))
    rounds = []
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(n_calls):
            call()
        rounds.append((time.perf_counter() - begun) / n_calls)
    return min(rounds)


def geometric_mean(values: Sequence[float]) -> float:
    """Mean of ratios."""
    return float(np.exp(np.mean(np.log(values))))


def machine() -> str:
    """One line on where the numbers come from."""
    import casadi
    import numba
    import scipy
    import sklearn

    import sorct

    versions = {
        "python": platform.python_version(),
        "sorct": sorct.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "casadi": casadi.__version__,
    }
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{platform.machine()} {platform.system()}, one thread; {listed}"


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print columns wide enough for their longest entry."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells))
