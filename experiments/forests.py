"""Which forest: schemes to share a budget of variables, at equal numbers of them.

``python -m experiments.forests [TABLE ...]`` compares, on inner splits of training rows
(70 and 30 per cent of the training part of a split; test rows are not looked at),
forests of 15 trees under the likelihood that use at most 3, 5, 10 and any number of
variables. Depth and steepness are those with the least out-of-bag log-loss of the
forest without penalties, for all schemes alike:

- ``bagging``: every tree pays for its own variables;
- ``free``: what earlier trees use is free for later ones;
- ``joint``: all trees are polished together, a variable being paid once;
- ``importance``: the variables that matter most to the forest without penalties;
- ``tree``: the variables of single trees on all rows;

each once as it is (``... as is``) and once with its trees grown anew on the variables
that it selected; and two that only differ in how trees are made on what ``joint``
selects: ``mixture`` fits the likelihood of the mean, ``boosting`` adds trees to the
log-odds (two classes only). It prints one row per scheme and number of variables.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.peers import Encoded, log_loss
from experiments.peers import Problem as Split
from experiments.run import HERE
from sorct import SORCTClassifier
from sorct._typing import IntArray
from sorct.data.bags import BOOTSTRAP, all_rows
from sorct.data.options import TableOptions
from sorct.data.samples import Rows
from sorct.estimators.fitting import Model, Prepared
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.problem.problem import Problem
from sorct.problem.restriction import Restriction
from sorct.search.forest import IN_FOREST, Grove, out_of_bag
from sorct.search.strongest import emptying_strength
from sorct.search.workers import Workers
from sorct.solvers.jointly import JointPolish
from sorct.tree.params import Params

TABLES = ("sonar", "ionosphere", "wisconsin", "pima", "seeds", "wine", "penguins",
          "affairs")  # fmt: skip
N_TREES, N_STARTS, LIMITS = 15, 3, (3, 5, 10, 1000)
SHARES = 2.0 ** np.arange(-8.0, 0.5, 0.75)
POLISH = JointPolish(IN_FOREST, tol=1e-3, max_rounds=8)
# Next to nothing, so that coefficients that nothing needs are 0.
LEAST = Strengths(0.0, 1e-3)


class Trial:
    """One inner split of a table: the forest without penalties, and what it is for."""

    def __init__(self, table: str, number: int, workers: Workers) -> None:
        split = Split.of(table, number)
        X, X_new, y, y_new = train_test_split(
            split.X_train,
            split.y_train,
            test_size=0.3,
            random_state=number,
            stratify=split.y_train,
        )
        self.y_new, self.encoded = y_new, Encoded.of(X, X_new)
        self.y, self.n_classes = y, len(split.classes)
        best = np.inf
        smallest = max(int(np.ceil(np.log2(len(np.unique(y))))), 1)
        for depth in (smallest, smallest + 1):
            for gamma in ("gentle", "auto"):
                prepared = _prepared(X, y, depth, gamma)
                found = _grove(prepared.problem, len(y), number, workers)
                dense = found.at(LEAST).grown()
                loss = _oob_loss(found, dense, all_rows(prepared.problem.data))
                if loss < best:
                    best, self.grove, self.dense = loss, found, dense
                    self.problem, self.name = prepared.problem, f"{depth} {gamma}"
                    new = prepared.encoder.encode(X_new).T
        self.new = Rows(new, y_new, np.full(len(y_new), 1.0 / len(y_new)))
        self.top = emptying_strength(self.problem, number, of_global=True)

    def score(self, grove: Grove, params: Sequence[Params]) -> tuple[float, float]:
        """Accuracy and log-loss of the mean of the trees on new rows."""
        proba = np.zeros((len(self.y_new), self.n_classes))
        found = grove.said(params, self.new).mean(axis=0).T
        proba[:, np.unique(self.y)] = found
        right = float((proba.argmax(axis=1) == self.y_new).mean())
        return right, log_loss(self.y_new, proba)

    def anew(self, groups: IntArray) -> tuple[Grove, list[Params]]:
        """Trees grown on some groups alone."""
        return self.grove, self.grove.at(LEAST).anew(groups)


def _prepared(X: pd.DataFrame, y: IntArray, depth: int, gamma: str) -> Prepared:
    table = TableOptions.of(SORCTClassifier(handle_missing="typical"))
    model = Model(depth=depth, loss="log", gamma=gamma, table=table)
    return Prepared.of(X, y, None, model)


def _grove(problem: Problem, n: int, seed: int, workers: Workers) -> Grove:
    options = BOOTSTRAP, n, N_STARTS, seed, workers, never()
    return Grove.drawn(problem, N_TREES, *options)


def _oob_loss(grove: Grove, params: Sequence[Params], rows: Rows) -> float:
    proba, known = out_of_bag(grove.said(params, rows), grove.outside)
    own = np.maximum(proba[rows.codes, np.arange(rows.codes.size)], 1e-6)
    return float(-np.average(np.log(own[known]), weights=rows.weight[known]))


Point = tuple[Grove, list[Params]]


def bagging(trial: Trial) -> Iterator[Point]:
    """Every tree under a penalty of its own."""
    for share in SHARES:
        grove = trial.grove.at(Strengths(0.0, share * trial.top))
        yield grove, grove.grown()


def free(trial: Trial) -> Iterator[Point]:
    """What earlier trees use is free for later ones."""
    for share in SHARES:
        grove = trial.grove.at(Strengths(0.0, share * trial.top))
        yield grove, grove.grown_in_turn()


def joint(trial: Trial) -> Iterator[Point]:
    """All trees under one penalty, each point from the one before."""
    params = trial.dense
    for share in SHARES:
        grove = trial.grove.at(Strengths(0.0, share * trial.top))
        params = list(grove.polished(params, POLISH).params)
        yield grove, params


def importance(trial: Trial) -> Iterator[Point]:
    """Variables that matter most to the forest without penalties."""
    order = _importance_order(trial)
    for k in (10, 5, 3):
        yield trial.anew(np.sort(order[:k]))


def _importance_order(trial: Trial) -> IntArray:
    spread = np.sqrt(trial.problem.data.variance)[:, np.newaxis]
    moved = sum((np.abs(one.coef) * spread).sum(axis=1) for one in trial.dense)
    starts = trial.problem.penalty.start[:-1]
    return np.argsort(-np.add.reduceat(moved, starts), kind="stable")


def tree(trial: Trial) -> Iterator[Point]:
    """Single trees on all rows, as if they were forests."""
    one = Grove((trial.problem,), trial.grove.outside[:1], 3 * N_STARTS, 0,
                trial.grove.workers, trial.grove.stop)  # fmt: skip
    for share in SHARES:
        grove = one.at(Strengths(0.0, share * trial.top))
        yield grove, grove.grown()


SCHEMES = (bagging, free, joint, tree)


def rows_of(table: str, number: int, workers: Workers) -> Iterator[dict[str, object]]:
    """What every scheme gives on one inner split."""
    trial = Trial(table, number, workers)
    told = {"table": table, "split": number, "setting": trial.name}

    def row(name: str, k: int, point: Point, seconds: float) -> dict[str, object]:
        accuracy, loss = trial.score(*point)
        size = point[0].used(point[1]).size
        return {**told, "scheme": name, "most": k, "variables": size,
                "accuracy": accuracy, "log_loss": loss, "seconds": seconds}  # fmt: skip

    yield row("none", LIMITS[-1], (trial.grove, trial.dense), 0.0)
    for scheme in SCHEMES:
        begun = time.process_time()
        points = list(scheme(trial))
        seconds = time.process_time() - begun
        for k in LIMITS[:-1]:
            within = [p for p in points if 0 < p[0].used(p[1]).size <= k]
            if not within:
                continue
            yield row(f"{scheme.__name__} as is", k, within[0], seconds)
            begun = time.process_time()
            anew = trial.anew(within[0][0].used(within[0][1]))
            yield row(scheme.__name__, k, anew, seconds + time.process_time() - begun)
            if scheme is joint:
                yield row("joint relaxed", k, _relaxed(*within[0]), seconds)
                yield row("mixture", k, _mixture(*anew), seconds)
    for k, point in zip((10, 5, 3), importance(trial), strict=True):
        yield row("importance", k, point, 0.0)
    yield from _boosted(trial, told)


def _relaxed(grove: Grove, params: list[Params]) -> Point:
    return grove, grove.relaxed(params, grove.used(params))


def _mixture(grove: Grove, params: list[Params], n_rounds: int = 5) -> Point:
    """Raise the likelihood of the mean: rows belong to trees that say them best."""
    groups = grove.used(params)
    for _ in range(n_rounds):
        problems = []
        for b, problem in enumerate(grove.problems):
            rows = problem.data.rows
            said = grove.said(params, rows)[:, rows.codes, np.arange(rows.codes.size)]
            part = said[b] / np.maximum(said.sum(axis=0), 1e-12)
            weight = np.maximum(rows.weight * part, 1e-9)
            data = type(problem.data).from_rows(
                rows._replace(weight=weight), problem.data.n_codes
            )
            problems.append(replace(problem, data=data))
        step = replace(grove.at(LEAST), problems=tuple(problems))
        params = step.relaxed(params, groups, 1.0)
    return grove, params


def _boosted(trial: Trial, told: dict[str, object]) -> Iterator[dict[str, object]]:
    """Log-odds as a sum of small trees of a quantity, on what matters most."""
    from sorct import SORCTRegressor

    if trial.n_classes != 2:
        return
    data = all_rows(trial.problem.data)
    order = _importance_order(trial)
    for k in LIMITS[:-1]:
        begun = time.process_time()
        groups = np.sort(order[:k])
        small = Restriction.of(trial.problem, groups).columns
        odds, new = np.zeros(data.codes.size), np.zeros(len(trial.y_new))
        for n in range(N_TREES):
            proba = 1.0 / (1.0 + np.exp(-odds))
            bend = np.maximum(proba * (1.0 - proba), 1e-3)
            step = (data.codes - proba) / bend
            one = SORCTRegressor(1, n_starts=2, random_state=n, scaling="minmax")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one.fit(data.X[small].T, step, data.weight * bend)
            odds += 0.5 * one.predict(data.X[small].T)
            new += 0.5 * one.predict(trial.new.X[small].T)
        proba = 1.0 / (1.0 + np.exp(-new))
        both = np.column_stack([1.0 - proba, proba])
        yield {**told, "scheme": "boosting", "most": k, "variables": groups.size,
               "accuracy": float((both.argmax(axis=1) == trial.y_new).mean()),
               "log_loss": log_loss(trial.y_new, both),
               "seconds": time.process_time() - begun}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Compare, write all rows and print the means."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.forests", description=__doc__
    )
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "forests.csv")
    options = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []
    with Workers(1, never()) as workers:
        for table in options.tables:
            for number in range(options.splits):
                rows += rows_of(table, number, workers)
                print(table, number, file=sys.stderr, flush=True)
                pd.DataFrame(rows).to_csv(options.out, index=False)
    found = pd.DataFrame(rows)
    columns = ["variables", "accuracy", "log_loss", "seconds"]
    print(found.groupby(["most", "scheme"])[columns].mean().round(4).to_string())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
