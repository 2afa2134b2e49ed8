"""Forest: trees that answer together, immutable, in the units of the user's table.

Plain data beside ``Tree``: all trees read the same table and predict the same target.
A forest says the weighted mean of what its trees say. With ``link="log"`` that is a
mean of logarithms, and the forest says its exp. It is saved as JSON, what trees have in
common being written once, and reading a file executes no code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.plain import expect, is_shallow, number, numbers
from sorct.data.quantity import Quantity
from sorct.data.table import Table, as_table
from sorct.data.target import Classes
from sorct.tree.decision import decision_scores, predicted_codes
from sorct.tree.files import read_json, write_json
from sorct.tree.importance import variable_importances
from sorct.tree.storage import COMMON
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.show.report import Report

FORMAT, VERSION = "sorct-forest", 1
_MOST_TREES = 10_000
_NUMBERS = (
    "alpha_local", "alpha_global", "objective", "residual", "oob_score", "oob_loss",
    "cv_loss", "training_score",
)  # fmt: skip
_TEXTS = ("call", "status", "loss", "target", "oob_scoring")


@dataclass(frozen=True)
class ForestRecord:
    """How a forest came about; not used in prediction.

    Attributes
    ----------
    alpha_local, alpha_global : float or None
        Strengths of the penalties that selected the variables.
    objective, residual : float or None
        Mean loss of the trees on their own rows plus the penalty, and how far the
        trees are from being stationary together, where they were polished so and not
        grown anew.
    oob_score, oob_loss, oob_scoring : float, float, str or None
        Score and mean loss of every row by the trees that have not seen it.
    cv_loss : float or None
        Mean loss on held-out rows, where the number of variables was chosen so.
    training_score : float or None
        Mean probability of a row's own class, or R2, on the rows of training: by it a
        report recognises them.
    drop, permutation : dict or None
        Importance of every variable used: what the mean loss rises by when the variable
        is held at its mean, on the training rows; and by how much the out-of-bag loss
        rises when its cells are exchanged among the rows.
    n_samples : int or None
    call, status, loss, target : str or None
    versions : dict or None
    """

    alpha_local: float | None = None
    alpha_global: float | None = None
    objective: float | None = None
    residual: float | None = None
    oob_score: float | None = None
    oob_loss: float | None = None
    oob_scoring: str | None = None
    cv_loss: float | None = None
    training_score: float | None = None
    drop: dict[str, float] | None = None
    permutation: dict[str, float] | None = None
    n_samples: int | None = None
    call: str | None = None
    status: str | None = None
    loss: str | None = None
    target: str | None = None
    versions: dict[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        return {key: value for key, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Any) -> ForestRecord:
        """Check plain data."""
        expect(isinstance(data, dict), "'training' must be an object")
        known = {f.name for f in fields(cls)}
        odd = sorted(set(map(str, data)) - known)
        expect(not odd, f"'training' has unknown entries {odd!s:.200}")
        for key in _NUMBERS:
            if key in data:
                number(data, key)
        for key in _TEXTS:
            expect(isinstance(data.get(key, ""), str), f"{key!r} must be text")
        whole = data.get("n_samples", 0)
        expect(type(whole) is int, "'n_samples' must be a whole number")
        for key in ("drop", "permutation", "versions"):
            expect(isinstance(data.get(key, {}), dict), f"{key!r} must be an object")
        for key in ("drop", "permutation"):
            for name in data.get(key, {}):
                number(data[key], name)
        expect(is_shallow(list(data.values())), "'training' is nested too deep")
        return cls(**data)


def of_one_steepness(trees: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The same trees with the steepness of the steepest.

    A cut of half the steepness is one with half the coefficients and threshold.
    """
    gamma = max(tree.gamma for tree in trees)
    return tuple(_with_steepness(tree, gamma) for tree in trees)


def _with_steepness(tree: Tree, gamma: float) -> Tree:
    share = tree.gamma / gamma
    if share == 1.0:
        return tree
    return replace(
        tree, coef=share * tree.coef, threshold=share * tree.threshold, gamma=gamma
    )


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Sparse randomized trees that answer together.

    Attributes
    ----------
    trees : tuple of Tree
        They have the same encoder, target and steepness.
    weights : array of shape (n_trees,)
        How much every tree counts; they sum to 1.
    decision_cost : array of shape (n_classes, n_classes) or None
        What ``predict`` goes by: the class of least expected cost. None: the most
        probable class.
    training : ForestRecord
        How the forest came about; not used in prediction.
    """

    trees: tuple[Tree, ...]
    weights: FloatArray
    decision_cost: FloatArray | None = None
    training: ForestRecord = field(default_factory=ForestRecord)

    @classmethod
    def of(
        cls,
        trees: tuple[Tree, ...],
        decision_cost: FloatArray | None = None,
        training: ForestRecord | None = None,
    ) -> Forest:
        """Trees that count alike."""
        weights = np.full(len(trees), 1.0 / len(trees))
        return cls(trees, weights, decision_cost, training or ForestRecord())

    # -- shape -----------------------------------------------------------------------

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def encoder(self) -> TableEncoder:
        """How all trees read a table."""
        return self.trees[0].encoder

    @property
    def target(self) -> Classes | Quantity:
        """What is predicted."""
        return self.trees[0].target

    @property
    def classes(self) -> AnyArray:
        """Labels of the classes as they were given."""
        return self.trees[0].classes

    @property
    def of_quantity(self) -> bool:
        """Whether the forest predicts a quantity, and no classes."""
        return self.trees[0].of_quantity

    @property
    def quantity(self) -> Quantity:
        """The quantity predicted."""
        return self.trees[0].quantity

    @property
    def variables_used(self) -> tuple[str, ...]:
        """Names of the variables that some tree uses."""
        return tuple(self.encoder.names[i] for i in self.variables_at())

    def variables_at(self) -> IntArray:
        """Positions of the variables that some tree uses."""
        return np.unique(np.concatenate([tree.variables_at() for tree in self.trees]))

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the columns that some tree uses."""
        used = {name for tree in self.trees for name in tree.columns_used}
        return tuple(name for name in self.encoder.column_names if name in used)

    @property
    def most_variables_per_cut(self) -> int:
        """Number of variables in the cut that uses most."""
        return max(tree.most_variables_per_cut for tree in self.trees)

    @cached_property
    def importances(self) -> FloatArray:
        """Mean over trees of ``variable_importances``; they sum to 1, or are all 0."""
        each = np.array([variable_importances(tree) for tree in self.trees])
        total = self.weights @ each
        return np.asarray(total / max(float(total.sum()), 1e-300))

    # -- prediction ------------------------------------------------------------------

    def completed(self, X: Any) -> Any:
        """The table with all columns of training, if it has those that are used."""
        return self.encoder.completed(as_table(X), self.variables_at())

    def read(self, X: Any) -> Table:
        """Check a table; columns that no tree uses may be left out."""
        return self.encoder.read(self.completed(X), check_finite=False)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, shape (n_samples, n_classes)."""
        return self.predict_of_table(self.read(X))

    def predict(self, X: Any) -> AnyArray:
        """Predict every sample: the most probable or cheapest class, or the mean."""
        said = self.predict_of_table(self.read(X))
        return said if self.of_quantity else np.take(self.classes, self.codes_of(said))

    def predict_of_table(self, table: Table) -> FloatArray:
        """Probabilities (n, n_classes) of a checked table, or predictions (n,)."""
        if self.of_quantity:
            mixed = np.zeros(table.n_samples)
            for weight, tree in zip(self.weights, self.trees, strict=True):
                mixed += weight * tree.mixed_table(table)
            return np.asarray(self.quantity.told(mixed))
        total = np.zeros((table.n_samples, len(self.classes)))
        for weight, tree in zip(self.weights, self.trees, strict=True):
            total += weight * tree.predict_proba_table(table)
        return total

    def codes_of(self, proba: FloatArray) -> IntArray:
        """Positions of the classes predicted for probabilities (n, n_classes)."""
        return predicted_codes(proba.T, self.decision_cost)

    def decision_function(self, X: Any) -> FloatArray:
        """Scores that ``predict`` goes by; see ``SORCTClassifier``."""
        return decision_scores(self.predict_proba(X).T, self.decision_cost)

    def agreement(self, X: Any) -> FloatArray:
        """Share of the trees, by weight, that alone predict what the forest does.

        Of a quantity, the standard deviation of what the trees say.
        """
        return self.agreement_of_table(self.read(X))

    def agreement_of_table(self, table: Table) -> FloatArray:
        """As ``agreement``, of a checked table."""
        said = self.predict_of_table(table)
        each = [tree.predict_table(table) for tree in self.trees]
        if self.of_quantity:
            spread = self.weights @ (np.array(each) - said) ** 2
            return np.asarray(np.sqrt(spread))
        label = np.take(self.classes, self.codes_of(said))
        return np.asarray(self.weights @ np.array([one == label for one in each]))

    # -- report ----------------------------------------------------------------------

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        rows: int = 100,
        call: str | None = None,
    ) -> Report:
        """Interactive page about the forest, in one file.

        Parameters
        ----------
        X, y : table and labels, or None
            Data to show the forest on: accuracy, reliability (of a quantity R² and
            errors), and how good it is where the trees agree.
        title : str or None
        rows : int, default=100
            Rows of X to list in the page, to start a what-if from. They are readable by
            whoever gets the file; 0 lists none.
        call : str or None
            How the forest was asked for, if not as ``training.call`` says.

        Returns
        -------
        Report
            ``write_html(file)`` writes it.
        """
        from sorct.show.report import Report

        return Report.of_forest(self, X, y, title=title, rows=rows, call=call)

    def said(self, scaled: FloatArray) -> FloatArray:
        """What is said of scaled samples (n, n_columns): (n_classes or 1, n)."""
        total = np.zeros((1 if self.of_quantity else len(self.classes), len(scaled)))
        for weight, tree in zip(self.weights, self.trees, strict=True):
            score = tree.scores(scaled)
            if self.of_quantity:
                own = tree.mixed_of_scores(score, tree.leaf_says(scaled))[np.newaxis]
            else:
                own = tree.proba_of_scores(score)
            total += weight * own
        return np.asarray(self.quantity.told(total)) if self.of_quantity else total

    # -- text and files --------------------------------------------------------------

    def __str__(self) -> str:
        from sorct.show.forests import forest_text

        return forest_text(self)

    def __repr__(self) -> str:
        what = "a quantity" if self.of_quantity else f"{len(self.classes)} classes"
        used, known = len(self.variables_used), len(self.encoder.names)
        return f"<Forest: {self.n_trees} trees, {used} of {known} variables, {what}>"

    def __eq__(self, other: object) -> bool:
        """Whether two forests are the same, however they were asked for."""
        if not isinstance(other, Forest):
            return False
        costs = [
            None if one.decision_cost is None else one.decision_cost.tolist()
            for one in (self, other)
        ]
        same = np.array_equal(self.weights, other.weights) and costs[0] == costs[1]
        return same and self.trees == other.trees

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``from_dict`` turns back into the same forest."""
        plain = [tree.to_dict() for tree in self.trees]
        version = max(tree["version"] for tree in plain)
        common = {key: plain[0][key] for key in COMMON if key in plain[0]}
        common["version"] = version
        if version > 1:
            common["missing"] = self.encoder.missing
        costs = self.decision_cost
        return {
            "format": FORMAT,
            "version": VERSION,
            "weights": self.weights.tolist(),
            **({} if costs is None else {"decision_cost": costs.tolist()}),
            "common": common,
            "trees": [
                {key: value for key, value in tree.items() if key not in COMMON}
                for tree in plain
            ],
            "training": self.training.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Forest:
        """Check plain data and build the forest."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(
                f"not a sorct forest: expected an object of format {FORMAT!r}."
            )
        if data.get("version") != VERSION or isinstance(data["version"], bool):
            raise ValueError(
                f"forest of version {data.get('version')!r:.60}, expected {VERSION}; "
                "load it with the version of sorct that wrote it and save it again."
            )
        try:
            return cls._from_parts(data)
        except ValueError as error:
            raise ValueError(f"damaged sorct forest: {error!s:.500}") from error

    @classmethod
    def _from_parts(cls, data: dict[str, Any]) -> Forest:
        common, parts = data.get("common"), data.get("trees")
        expect(isinstance(common, dict), "'common' is missing")
        good = isinstance(parts, list) and 0 < len(parts) <= _MOST_TREES
        expect(good, f"'trees' must be a list of 1 to {_MOST_TREES} trees")
        assert isinstance(common, dict)
        assert isinstance(parts, list)
        expect(all(isinstance(part, dict) for part in parts), "a tree is no object")
        trees = [Tree.from_dict({**part, **common}) for part in parts]
        shared = tuple(
            replace(tree, encoder=trees[0].encoder, target=trees[0].target)
            for tree in trees
        )
        weights = numbers(data, "weights", (len(trees),))
        good = bool(weights.min() > 0.0 and abs(weights.sum() - 1.0) < 1e-9)
        expect(good, "'weights' must be positive and sum to 1")
        costs = None
        if "decision_cost" in data:
            expect(not shared[0].of_quantity, "a quantity has no 'decision_cost'")
            n_classes = len(shared[0].classes)
            costs = numbers(data, "decision_cost", (n_classes, n_classes))
            modest = float(costs.min()) >= 0.0 and float(costs.max()) <= 1e75
            expect(modest, "'decision_cost' must lie between 0 and 1e75")
        training = ForestRecord.from_dict(data.get("training", {}))
        return cls(shared, weights, costs, training)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the forest to a file, whole or not at all."""
        write_json(self.to_dict(), path)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Forest:
        """Read a forest from a file; nothing in it is executed."""
        data = read_json(path, "sorct forest")
        try:
            return cls.from_dict(data)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
