"""Golden fits by another version of the code and by this one, bit by bit.

``python -m tests.golden.compare FOLDER``: the folder is a checkout of the other version
(``git worktree add FOLDER b651b3a`` for the code before the house) whose requirements
this environment has. Compiled code rounds in its own way on every processor, so both
run on this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parents[2]


def main(folder):
    """Print what is the same of every fit, and how far objectives are apart."""
    other, ours = (_asked(Path(one)) for one in (folder, HERE))
    print(f"{'fit':18}{'coefficients':>14}{'thresholds':>12}{'labels':>8}  objectives")
    for name, one in ours.items():
        told = [one[key] == other[name][key] for key in ("coef", "threshold", "label")]
        same = [("other", "same")[alike] for alike in told]
        pairs = zip(one["objective"], other[name]["objective"], strict=True)
        apart = max(abs(a - b) / max(abs(b), 1e-300) for a, b in pairs)
        print(f"{name:18}{same[0]:>14}{same[1]:>12}{same[2]:>8}  {apart:.1e} apart")


def _asked(folder):
    """What a version of the code gives."""
    path = os.pathsep.join([str(folder / "src"), str(HERE)])
    words = [sys.executable, "-m", "tests.golden.compare", "--answer"]
    told = subprocess.run(
        words,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(told.stdout)


def _answer():
    """Fit the cells, a path and a choice by whatever version is imported."""
    warnings.simplefilter("ignore")
    import sorct

    if not hasattr(sorct, "PAPER"):
        # Version 0.1.0 has the paper's settings as its defaults.
        sorct.PAPER, sorct.PAPER_ALPHAS = {}, ()
    from sklearn.datasets import load_iris, load_wine

    from tests.golden.record import cells, fit

    found = {name: _told(fit(name)[0]) for name in cells()}
    more = {"relax": False} if sorct.PAPER else {}
    alphas = [0.0, *(2.0**k for k in range(-8, 8))]
    given = {"alphas_local": alphas, "n_solutions": 20, "random_state": 0}
    path = sorct.sorct_path(
        *load_iris(return_X_y=True),
        depth=2, alphas_global=0.0, **given, **more, **sorct.PAPER,
    )  # fmt: skip
    found["path of 17"] = _of_trees(path.trees, path.to_frame()["objective"])
    depths = {"depths": None} if sorct.PAPER else {}
    given["alphas_local"] = [0.0, 0.125, 0.5, 2.0]
    search = sorct.SORCTClassifierCV(cv=3, **depths, **given, **more, **sorct.PAPER)
    search.fit(*load_wine(return_X_y=True))
    objectives = search.cv_results_["objective"]
    found["choice"] = _of_trees([search.tree_], objectives)
    print(json.dumps(found))


def _told(clf):
    return _of_trees([clf.tree_], [clf.objective_])


def _of_trees(trees, objectives):
    """Numbers as they are: JSON keeps every bit of a float."""
    return {
        "coef": [tree.coef.tolist() for tree in trees],
        "threshold": [tree.threshold.tolist() for tree in trees],
        "label": [tree.leaf_class.tolist() for tree in trees],
        "objective": [float(one) for one in objectives],
    }


if __name__ == "__main__":
    _answer() if sys.argv[1] == "--answer" else main(sys.argv[1])
