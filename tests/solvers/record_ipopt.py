"""Best of twenty starts of IPOPT on the cells of ``test_ipopt.py``, kept in a file.

``python -m tests.solvers.record_ipopt`` renews ``ipopt_best.json`` beside this file; it
takes a minute. The numbers are IPOPT's alone: no change of ours can change them.
"""

import json
from pathlib import Path

from benchmarks.ipopt import PaperModel, random_points

FILE = Path(__file__).parent / "ipopt_best.json"


def twenty_starts(X, y, depth, **terms):
    """Objectives of all starts that end feasible."""
    model = PaperModel(X, y, depth, **terms)
    starts = random_points(X.shape[1], len(set(y.tolist())), depth, 20)
    results = [model.solve(start) for start in starts]
    return [result.objective for result in results if result.violation <= 1e-6]


def main():
    """Run IPOPT on every cell."""
    from tests.solvers.test_ipopt import CELLS, name_of, problem_of

    found = {}
    for cell in CELLS:
        X, y, depth, terms = problem_of(cell)
        objectives = twenty_starts(X, y, depth, **terms)
        found[name_of(cell)] = {
            "best": min(objectives),
            "n_feasible": len(objectives),
        }
    FILE.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
