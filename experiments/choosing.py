"""How to choose: rules of choice compared on rows that no rule has seen.

``SORCT_DATA=folder python -m experiments.choosing record pima,class1 0-4 FOLDER`` takes
three quarters of the training part of a split (or of a made-up table), traces paths of
several settings on four drawings of five folds and on all of these rows, and keeps in
the folder how every tree did on the folds and on the other quarter, the inner test. No
row of the test parts of the splits is looked at. ``... compare FOLDER`` then chooses by
each of the rules below and prints what they give on the inner tests: means over tables,
and differences to the present rule with their standard errors over tables.

Here the race tries all recorded settings on its first folds, at every second strength;
the real one leaves out some of them to save time.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

from experiments.peers import Problem
from sorct import SORCTClassifierCV
from sorct._typing import BoolArray, FloatArray
from sorct.data.planted import make_planted_tree
from sorct.data.table import as_table, has_numbers
from sorct.data.target import Classes
from sorct.estimators.checks import checked_cost_matrix, checked_topology
from sorct.estimators.choices import Settings
from sorct.estimators.contest import _with_settings
from sorct.estimators.folds import score_fold, trace_all, with_grid
from sorct.estimators.marks import Marks
from sorct.estimators.rows import Data
from sorct.estimators.scorers import DefaultScorer

N_FOLDS, N_DRAWINGS = 5, 4
# Rules that are followed by hand for a smaller share of rows were left out.
FOLLOWED = 0.99
SCALINGS = ("auto", "quantile", "standard")
# Order of simplicity, after depth.
LOSSES, GAMMAS = ("log", "cost"), ("auto", "gentle")


# -- recording -------------------------------------------------------------------------


def rows_of(table: str, split: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Training rows of a split, or rows made up or drawn for its number."""
    rng = np.random.RandomState(1000 + split)
    if table == "planted2":
        made = make_planted_tree(400, 8, 2, 2, 2, noise=0.1, random_state=rng)
        X, y = made.X, made.y
    elif table == "class1":
        X, y = make_classification(
            250, 10, n_informative=4, n_redundant=2, n_clusters_per_class=1,
            flip_y=0.15, random_state=rng,
        )  # fmt: skip
    elif table == "blobs3":
        X, y = make_classification(
            240, 7, n_informative=4, n_redundant=1, n_classes=3,
            n_clusters_per_class=1, flip_y=0.05, class_sep=1.3, random_state=rng,
        )  # fmt: skip
    elif table == "digits3":
        X, y = load_digits(return_X_y=True)
        some = rng.permutation(np.flatnonzero(np.isin(y, [3, 8, 9])))[:300]
        X, y = X[some][:, X[some].std(axis=0) > 0.5], y[some]
    else:
        problem = Problem.of(table, split)
        return problem.X_train, problem.classes[problem.y_train].astype(str)
    names = [f"x{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=names), np.asarray(y).astype(str)


def settings_for(n_classes: int, numbers: bool) -> list[Settings]:
    """The smallest depth and the next, in every scaling; and the expected cost."""
    depth, found = checked_topology(None, n_classes).depth, []
    for scaling in SCALINGS if numbers else SCALINGS[:1]:
        found.append(Settings("log", depth, "auto", scaling))
        if depth > 1 or not numbers:
            gentle = depth if depth > 1 else depth + 1
            found.append(Settings("log", gentle, "gentle", scaling))
        found.append(Settings("log", depth + 1, "auto", scaling))
    found.append(Settings("cost", depth, "auto", "auto"))
    if not numbers:
        found.append(Settings("cost", depth + 1, "auto", "auto"))
        found.append(Settings("log", depth + 2, "auto", "auto"))
    return found


def record(table: str, split: int) -> list[dict[str, Any]]:
    """How the trees of all settings do on folds and on the inner test."""
    X, y = rows_of(table, split)
    parts = train_test_split(X, y, test_size=0.25, random_state=100 + split)
    X, y = as_table(parts[0]), np.asarray(parts[2], dtype=object)
    search = SORCTClassifierCV(random_state=0, handle_missing="typical")
    target = Classes.learn(y, None)
    task = search._task(target, *search._checked_options())
    scorer = DefaultScorer(checked_cost_matrix(None, target), target, True)
    data = Data(X, y, None)
    test = Data(as_table(parts[1]), np.asarray(parts[3], dtype=object), None)
    test = test.part(np.flatnonzero(np.isin(test.y, target.labels)))
    folds = data.folds(target.splitter(N_FOLDS, 0, N_DRAWINGS))
    found = []
    for one in settings_for(len(target), has_numbers(X)):
        full = with_grid(_with_settings(task, one), data)
        marks = [score_fold(full.rough(), *fold, scorer, count=True) for fold in folds]
        tested = score_fold(full, data, test, scorer, count=True)
        path = trace_all(full, data)
        trees = path.offered
        found.append(
            {
                "settings": one,
                "scores": np.array([mark.scores for mark in marks]),
                "acc": np.array([_accuracy(mark) for mark in marks]),
                "followed_f": np.array([mark.followed for mark in marks]),
                "followed": np.array(
                    [t.training.followed or 0.0 for t in path.offered]
                ),
                "nvar": np.array([len(t.variables_used) for t in trees]),
                "npts": len(path),
                "t_ll": tested.scores,
                "t_acc": _accuracy(tested),
            }
        )
    return found


def _accuracy(marks: Marks) -> FloatArray:
    right = np.trace(marks.counts, axis1=1, axis2=2)
    return np.asarray(right / marks.counts.sum(axis=(1, 2)))


# -- rules -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A race and a choice.

    ``drawings`` of the folds are scored and ``first`` folds looked at first. Finalists
    are the leader and the best of the smallest trees; with ``top`` also what was the
    best at first, with ``everything`` all. Of trees that are behind the best by at most
    ``errors`` standard errors of the difference, fold by fold, the one with the fewest
    variables is taken, or with ``by_accuracy`` the most accurate on the folds.
    """

    drawings: int = 2
    first: int = 5
    top: bool = False
    everything: bool = False
    smooth: bool = False
    errors: float = 0.0
    by_accuracy: bool = False

    def choose(self, found: list[dict[str, Any]]) -> tuple[float, float, int]:
        """Log-loss and accuracy on the inner test, and variables, of the choice."""
        n_folds = self.drawings * N_FOLDS
        scores = np.hstack([one["scores"][:n_folds] for one in found])
        means = np.concatenate([self._means(one, n_folds) for one in found])
        n_trees = [one["nvar"].size for one in found]
        owner = np.repeat(np.arange(len(found)), n_trees)
        good = np.concatenate([one["followed"] for one in found]) >= FOLLOWED
        if not self.everything:
            good &= np.isin(owner, self._finalists(found))
        best = int(np.where(good, means, -np.inf).argmax())
        gaps = scores[:, [best]] - scores
        error = gaps.std(axis=0, ddof=1) * np.sqrt(self.drawings / n_folds)
        near = good & (means[best] - means <= self.errors * error + 1e-12)
        n_variables = np.concatenate([one["nvar"] for one in found])
        wanted = n_variables.astype(float)
        if self.by_accuracy:
            wanted = -np.hstack([one["acc"][:n_folds] for one in found]).mean(axis=0)
        places = np.flatnonzero(near)
        place = places[np.lexsort((-means[places], wanted[places].round(6)))[0]]
        told = [
            np.concatenate([one[key] for one in found]) for key in ("t_ll", "t_acc")
        ]
        return -told[0][place], told[1][place], int(n_variables[place])

    def _means(self, one: dict[str, Any], n_folds: int) -> FloatArray:
        means, n = one["scores"][:n_folds].mean(axis=0), one["npts"]
        return np.concatenate([self._smoothed(part) for part in (means[:n], means[n:])])

    def _smoothed(self, means: FloatArray) -> FloatArray:
        """Averages over neighbouring strengths."""
        if not self.smooth or means.size < 3:
            return means
        padded = np.pad(means, 1, mode="edge")
        return 0.25 * padded[:-2] + 0.5 * means + 0.25 * padded[2:]

    def _finalists(self, found: list[dict[str, Any]]) -> list[int]:
        heats = [_heat(one, self.first) for one in found]
        best = [heat.max() if heat.size else -np.inf for heat, _ in heats]
        top = int(np.argmax(best))
        empty = max(heat[-1] for heat, _ in heats)
        little = 0.02 * (best[top] - empty) if np.isfinite(empty) else 0.0
        near = []
        for k, (_, folds) in enumerate(heats):
            gaps = heats[top][1] - folds
            chance = gaps.std(ddof=1) / np.sqrt(gaps.size)
            if np.isfinite(best[k]) and gaps.mean() <= max(little, chance):
                near.append(k)
        order = sorted(range(len(found)), key=lambda k: -best[k])
        least = min(one["settings"].depth for one in found)
        small = [k for k in order if found[k]["settings"].depth == least]
        by_log = [k for k in small if found[k]["settings"].loss == "log"] or small
        leader = min(near, key=lambda k: _complexity(found[k]["settings"]))
        kept: list[int] = []
        for k in [leader, by_log[0], *order]:
            if all(abs(best[k] - best[other]) > 1e-6 for other in kept):
                kept.append(k)
        return kept[:2] + ([top] if self.top else [])


def _heat(one: dict[str, Any], n_folds: int) -> tuple[FloatArray, FloatArray]:
    """Mean scores at every second strength, and those of the folds at the best."""
    places = np.arange(one["npts"] - 1, -1, -2)[::-1]
    scores = one["scores"][:n_folds, places]
    good: BoolArray = one["followed_f"][:n_folds, places].mean(axis=0) >= FOLLOWED
    means = np.where(good, scores.mean(axis=0), -np.inf)
    return means, scores[:, int(means.argmax())]


def _complexity(one: Settings) -> tuple[int, ...]:
    gamma = GAMMAS.index(one.gamma)
    return one.depth, SCALINGS.index(one.scaling), LOSSES.index(one.loss), gamma


RULES = {
    "present": Rule(),
    "folds drawn four times": Rule(drawings=4),
    "ten first folds": Rule(first=10),
    "twenty first folds, drawn four times": Rule(first=20, drawings=4),
    "averages over neighbouring strengths": Rule(smooth=True),
    "no race": Rule(everything=True),
    "the top is a finalist": Rule(top=True),
    "a quarter of an error for fewer variables": Rule(errors=0.25),
    "half an error for fewer variables": Rule(errors=0.5),
    "top, and a quarter of an error": Rule(top=True, errors=0.25),
    "half an error for accuracy": Rule(errors=0.5, by_accuracy=True),
    "an error for accuracy": Rule(errors=1.0, by_accuracy=True),
}


def compared(folder: Path) -> Iterator[str]:
    """Lines of a table: every rule, its means, and how it differs from the first."""
    files = sorted(folder.glob("*.pkl"))
    rows = []
    for file in files:
        found = pickle.loads(file.read_bytes())
        for name, rule in RULES.items():
            rows.append((file.stem.rpartition("-")[0], name, *rule.choose(found)))
    table = pd.DataFrame(rows, columns=["table", "rule", "loss", "right", "variables"])
    means = table.groupby(["rule", "table"], sort=False).mean()
    first = means.loc[next(iter(RULES))]
    yield f"{len(files)} inner tests of {len(first)} tables"
    yield "| rule | log-loss | difference | accuracy % | difference | variables |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name in RULES:
        own = means.loc[name]
        gap, n = own - first, len(own)
        error = gap.std() / np.sqrt(n)
        yield (
            f"| {name} | {own['loss'].mean():.4f} | {gap['loss'].mean():+.4f} ± "
            f"{error['loss']:.4f} | {100 * own['right'].mean():.2f} | "
            f"{100 * gap['right'].mean():+.2f} ± {100 * error['right']:.2f} | "
            f"{own['variables'].mean():.1f} |"
        )


def main(arguments: list[str]) -> int:
    """Record or compare."""
    if arguments[0] == "compare":
        print("\n".join(compared(Path(arguments[1]))))
        return 0
    _, tables, splits, folder = arguments
    begin, end = map(int, splits.split("-"))
    for split in range(begin, end):
        for table in tables.split(","):
            file = Path(folder) / f"{table}-{split}.pkl"
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(pickle.dumps(record(table, split)))
                print(table, split, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
