"""What to put beside the tree of a race: members of a forest compared on inner tests.

``SORCT_DATA=folder python -m experiments.forest_members record pima,wine 0:7 FOLDER``
takes 70 per cent (drawn with seed 7) of the training part of split 0 of each table,
lets the race of ``SORCTClassifierCV`` choose, grows forests of several kinds on bags
from its variables, and keeps what they say of the other 30 per cent, the inner test. No
row of the test part is looked at. ``... compare FOLDER`` then prints, for several ways
to put members together, accuracy, log-loss and variables: means over tables, and
differences from the default (the race's tree and bags one cut deeper, half for each)
with their standard errors over tables. docs/design/0014-forests.md has the figures and
what follows.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.peers import Problem, log_loss
from sorct import SORCTClassifierCV, SORCTForestClassifier
from sorct._typing import FloatArray, IntArray
from sorct.data.bags import ALL, BOOTSTRAP, HALF
from sorct.data.samples import TrainingSet
from sorct.estimators.fitting import STEEPNESS
from sorct.estimators.forest_pruning import _fewest, _sizes_up_to
from sorct.estimators.forest_raced import Raced, RacedFit
from sorct.estimators.forest_setting import LEAST, with_setting
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.search.forest import Grove, out_of_bag, said_by
from sorct.search.workers import Workers
from sorct.solvers.solution import Status
from sorct.tree.forest import Forest, ForestRecord, of_one_steepness

N_TREES, N_FOLDS, TEST_SHARE = 24, 5, 0.3
SCALINGS = ("auto", "quantile", "standard")


@dataclass(frozen=True)
class Kind:
    """Trees beside that of the race, or that tree again.

    ``deeper`` cuts than it, under a ``share`` of its penalty, with a steepness by name
    (None: its own), on bags or on all rows; ``scaling`` None is that of the race.
    """

    deeper: int = 1
    share: float = 0.125
    steepness: str | None = "auto"
    bag: str = BOOTSTRAP
    scaling: str | None = None

    @property
    def n_trees(self) -> int:
        """All rows give one tree."""
        return 1 if self.bag == ALL else N_TREES


#: The race's settings again, on all rows.
AGAIN = Kind(0, 1.0, None, ALL)
KINDS = {
    "deeper": Kind(),
    "same": Kind(0),
    "two deeper": Kind(2),
    "gentle": Kind(steepness="gentle"),
    "own": Kind(steepness=None),
    "halves": Kind(bag=HALF),
    "same, half": Kind(0, 0.5),
    "same, none": Kind(0, 0.0),
    "deeper, half": Kind(1, 0.5),
    "deeper, none": Kind(1, 0.0),
    "again": AGAIN,
}


@dataclass
class Member:
    """What a kind of trees says of an inner test, and of rows new to its trees."""

    each: FloatArray
    unseen: FloatArray
    known: np.ndarray
    codes: IntArray
    weight: FloatArray

    @property
    def proba(self) -> FloatArray:
        """Mean of the trees, (n_test, n_classes)."""
        return np.asarray(self.each.mean(axis=0))

    @property
    def loss(self) -> float:
        """Log-loss of training rows by the trees that have not seen them."""
        own = self.unseen[self.codes, np.arange(self.codes.size)][self.known]
        losses = -np.log(np.maximum(own, 1e-6))
        return float(np.average(losses, weights=self.weight[self.known]))


# -- recording -------------------------------------------------------------------------


@dataclass
class _MemberFit(RacedFit):
    """Trees of one kind; what they say of rows they have not seen is kept."""

    kind: Kind
    names: list[str]

    def run(self) -> Forest:
        """The trees, each counting alike."""
        params, tree, whole = self.raced.params, self.raced.tree, self.prepared.problem
        self.alpha_local = params["relaxed"] * params["alpha_local"]
        self.alpha_global = 0.0
        per_group = tree.gamma / tree.encoder.n_groups
        if self.kind.steepness is not None:
            per_group = STEEPNESS[self.kind.steepness]
        depth = tree.depth + self.kind.deeper
        problem = with_setting(whole, depth, per_group * whole.n_groups)
        self.prepared = replace(self.prepared, problem=problem)
        given = self.plan.n_draws, self.plan.n_starts, self.seed, self.workers
        n_trees, bag = self.kind.n_trees, self.kind.bag
        grove = Grove.drawn(problem, n_trees, bag, *given, self.hard)
        grove = grove.at(Strengths(self.kind.share * self.alpha_local, LEAST))
        found = grove.anew(self._own_groups())
        rows = problem.data.rows
        unseen, known = out_of_bag(grove.said(found, rows), grove.outside)
        if bag == ALL:
            unseen, known = self._held_out(grove), np.ones(rows.codes.size, dtype=bool)
        self.kept = unseen, known, rows.codes, rows.weight
        pairs = zip(grove.problems, found, strict=True)
        trees = of_one_steepness(tuple(self._tree(*pair) for pair in pairs))
        return Forest.of(trees, None, ForestRecord(status=str(Status.CONVERGED)))

    def _own_groups(self) -> IntArray:
        names = list(self.prepared.encoder.names)
        at = [names.index(name) for name in self.names]
        return np.flatnonzero(np.isin(self.prepared.group_variable, at))

    def _held_out(self, grove: Grove) -> FloatArray:
        """What trees without a fold say of its rows."""
        (problem,), groups = grove.problems, self._own_groups()
        rows, n_codes = problem.data.rows, problem.data.n_codes
        said = np.zeros((n_codes, rows.codes.size))
        n_folds = max(2, min(N_FOLDS, int(np.bincount(rows.codes).min())))
        splitter = self.prepared.target.splitter(n_folds, self.seed)
        for inside, outside in splitter.split(rows.codes[:, np.newaxis], rows.codes):
            data = TrainingSet.from_rows(rows.take(inside), n_codes)
            part = replace(grove, problems=(replace(problem, data=data),))
            (tree,) = part.anew(groups)
            said[:, outside] = said_by(part.problems[0], tree, rows.take(outside))
        return said


class _MemberForest(SORCTForestClassifier):
    """A forest whose race is over and whose trees are of one kind."""

    def given(self, raced: Raced, kind: Kind, names: list[str]) -> _MemberForest:
        scaling = kind.scaling or raced.params["scaling"]
        self._race = replace(raced, params={**raced.params, "scaling": scaling})
        self._kind, self._names = kind, names
        return self

    def _raced(self, *_: Any) -> Raced:
        return self._race

    def _grown(
        self, prepared: Any, model: Any, effort: Any, seed: int, plan: Any, raced: Any
    ) -> Forest:
        self.cv_results_, hard = None, never()
        with Workers(1, hard, hard) as workers:
            given = plan, prepared, model, seed, 1, workers, hard, hard, raced
            fit = _MemberFit(*given, self._kind, self._names)
            found = fit.run()
        self.kept = fit.kept
        return found


def record(table: str, split: int, seed: int) -> dict[str, Any]:
    """The race and all members on one inner split of the training part of a split."""
    problem = Problem.of(table, split)
    X, X_test, y, y_test = train_test_split(
        problem.X_train, problem.classes[problem.y_train], test_size=TEST_SHARE,
        random_state=seed, stratify=problem.y_train,
    )  # fmt: skip
    usual = {"random_state": 0, "handle_missing": "typical"}
    search = SORCTClassifierCV(loss="log", rule="best", **usual).fit(X, y)
    tree = search.tree_
    found = search.best_params_, search.cv_results_, search._model
    raced = Raced(tree, *found, True)

    def member(kind: Kind, names: list[str]) -> tuple[Member, Forest]:
        fit = _MemberForest(**usual).given(raced, kind, names).fit(X, y)
        trees = fit.forest_.trees
        each = np.array([tree.predict_proba(X_test) for tree in trees])
        return Member(each, *fit.kept), fit.forest_

    names = list(tree.variables_used)
    members = {name: member(kind, names) for name, kind in KINDS.items()}
    for scaling in SCALINGS:
        if scaling != search.best_params_["scaling"]:
            for name, kind in (("scaled", Kind()), ("again", AGAIN)):
                own = replace(kind, scaling=scaling)
                members[f"{name}, {scaling}"] = member(own, names)
    forest = members["deeper"][1]
    place = {name: k for k, name in enumerate(forest.encoder.names)}
    order = sorted(names, key=lambda name: -forest.importances[place[name]])
    pruned = {
        size: [member(kind, order[:size])[0] for kind in (Kind(), AGAIN)]
        for size in _sizes_up_to(len(order))[:-1]
    }
    rules = ("best", "one-standard-error", "paired")
    trees = {rule: search.select(rule) for rule in rules}
    return {
        "y": np.searchsorted(tree.classes, y_test),
        "race": tree.predict_proba(X_test),
        "rules": {k: (t.predict_proba(X_test), len(t.variables_used))
                  for k, t in trees.items()},
        "finalists": _finalists(search, X_test),
        "members": {name: one for name, (one, _) in members.items()},
        "n_variables": len(names),
        "pruned": pruned,
    }  # fmt: skip


def _finalists(search: SORCTClassifierCV, X: pd.DataFrame) -> list[FloatArray]:
    """What the best trees of the other settings traced in full say."""
    found, first = search._candidates, 0
    chosen, _ = found.place(search.best_index_)
    said = []
    for k, path in enumerate(found.paths):
        last = first + len(path.offered)
        best = int(np.nanargmax(found.results["mean_score"].to_numpy()[first:last]))
        if k != chosen:
            said.append(path.offered[best].predict_proba(X))
        first = last
    return said


# -- comparing -------------------------------------------------------------------------


def ways(one: dict[str, Any]) -> dict[str, tuple[FloatArray, int]]:
    """Probabilities of the inner test and variables, by every way to join members."""
    race, members, n = one["race"], one["members"], one["n_variables"]
    said = {name: member.proba for name, member in members.items()}
    deeper = said["deeper"]
    scaled = [said[name] for name in said if name.startswith("scaled")]
    again = [said[name] for name in said if name.startswith("again, ")]

    def half(*beside: FloatArray) -> FloatArray:
        return np.asarray(0.5 * race + 0.5 * np.mean(beside, axis=0))

    def in_turn(*names: str) -> FloatArray:
        """As many trees as by default, of kinds in turn."""
        step = N_TREES // len(names)
        parts = [members[k].each[i * step :][:step] for i, k in enumerate(names)]
        return np.asarray(np.concatenate(parts).mean(axis=0))

    found = {"default": half(deeper), "race's tree": race}
    for share in (0.25, 0.35, 0.65, 0.75):
        found[f"race's tree counts {share}"] = share * race + (1 - share) * deeper
    found["mean of log-odds"] = _log_odds(race, deeper)
    depths = in_turn("same", "deeper", "two deeper")
    found["three depths in turn"] = half(depths)
    found["three depths, log-odds"] = _log_odds(race, depths)
    for name in KINDS.keys() - {"again", "deeper"}:
        found[f"bags {name}"] = half(said[name])
    found["depths, penalties in turn"] = half(
        in_turn("same, half", "same, none", "deeper, half", "deeper, none")
    )
    found["bags of all scalings"] = half(deeper, *scaled)
    found["race's settings in all scalings"] = np.mean([race, *again], axis=0)
    found["finalists"] = np.mean([race, *one["finalists"]], axis=0)
    first = np.mean([race, *one["finalists"]], axis=0)
    found["finalists and bags"] = 0.5 * first + 0.5 * deeper
    for names in (("deeper",), ("same", "deeper"), ("same", "deeper", "two deeper")):
        weights = stacked([members[k] for k in ("again", *names)])
        parts = [race, *(said[k] for k in names)]
        mixed = np.tensordot(weights, parts, axes=1)
        found[f"stacked: {', '.join(names)}"] = mixed
    told = {name: (proba, n) for name, proba in found.items()}
    for worth in (0.0, 0.0025, 0.005, 0.01):
        told[f"fewest variables within {100 * worth:g} %"] = _pruned(one, worth)
    for rule in ("paired", "one-standard-error"):
        told[f"tree by {rule}"] = one["rules"][rule]
    return told


def _pruned(one: dict[str, Any], worth: float) -> tuple[FloatArray, int]:
    """The forest of ``rule="fewest"``, which gives up 1 % of the out-of-bag loss."""
    pruned, n = one["pruned"], one["n_variables"]
    losses = [bags.loss for bags, _ in pruned.values()]
    losses.append(one["members"]["deeper"].loss)
    size = _fewest([*pruned, n], losses, worth)
    if size == n:
        return 0.5 * one["race"] + 0.5 * one["members"]["deeper"].proba, n
    bags, first = pruned[size]
    return 0.5 * first.proba + 0.5 * bags.proba, size


def _log_odds(*parts: FloatArray) -> FloatArray:
    """Mean of logarithms, those of probabilities below 1e-4 being that."""
    total = np.exp(np.mean([np.log(np.maximum(one, 1e-4)) for one in parts], axis=0))
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def stacked(members: list[Member], n_rounds: int = 500) -> FloatArray:
    """Weights >= 0 that sum to 1, by the log-loss of rows new to the trees.

    Each round of expectation and maximisation lowers it.
    """
    codes, known = members[0].codes, np.all([one.known for one in members], axis=0)
    own = np.array([one.unseen[codes, np.arange(codes.size)] for one in members])
    own, weight = np.maximum(own[:, known], 1e-6), members[0].weight[known]
    found = np.full(len(members), 1.0 / len(members))
    for _ in range(n_rounds):
        part = found[:, np.newaxis] * own
        found = (part / part.sum(axis=0)) @ weight / weight.sum()
    return np.asarray(found)


def compare(folder: Path) -> pd.DataFrame:
    """A row per way: means over tables, and differences from the default."""
    rows = []
    for file in sorted(folder.glob("*.pkl")):
        one = pickle.loads(file.read_bytes())
        for way, (proba, n) in ways(one).items():
            right = 100.0 * np.mean(proba.argmax(axis=1) == one["y"])
            table = file.stem.rsplit("-", 2)[0]
            rows.append((way, table, right, log_loss(one["y"], proba), n))
    names = ["accuracy", "log_loss", "n_variables"]
    frame = pd.DataFrame(rows, columns=["way", "table", *names])
    means = frame.groupby(["way", "table"], sort=False)[names].mean()
    gaps = means - means.loc["default"].reindex(means.index, level="table")
    told = means.groupby("way", sort=False).mean()
    for name in names[:2]:
        own = gaps[name].groupby("way", sort=False)
        told[f"{name} - default"], told[f"{name} error"] = own.mean(), own.sem()
    return told


def main(arguments: list[str]) -> None:
    """Record or compare."""
    if arguments[:1] == ["compare"]:
        with pd.option_context("display.width", 200, "display.max_columns", 10):
            print(compare(Path(arguments[1])).round(4))
        return
    tables, drawings, folder = arguments[1:]
    warnings.simplefilter("ignore")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for drawing in drawings.split(","):
        split, seed = map(int, drawing.split(":"))
        for table in tables.split(","):
            file = Path(folder) / f"{table}-{split}-{seed}.pkl"
            if not file.exists():
                file.write_bytes(pickle.dumps(record(table, split, seed)))
                print(table, split, seed, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
