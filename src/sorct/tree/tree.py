"""Tree: a fitted tree, immutable, in the names and units of the user's table.

Everything that people see, and every prediction, reads this object and nothing else;
it needs no compiler and no solver. It is saved as JSON, and reading a file executes no
code.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.product import Product, make_product
from sorct.data.table import Table, as_table
from sorct.data.target import data_given
from sorct.tree.blocks import each_block
from sorct.tree.decision import checked_priors, predicted_codes
from sorct.tree.fields import TreeFields
from sorct.tree.files import read_json, write_json
from sorct.tree.following import followed_limits, limits_of_rounded
from sorct.tree.link import cdf
from sorct.tree.rounding import Rounded, check_digits, rounded_cuts
from sorct.tree.storage import tree_from_dict, tree_to_dict
from sorct.tree.sure_rows import SureRows
from sorct.tree.topology import Topology
from sorct.tree.view import View, cut_numbers

if TYPE_CHECKING:
    from sorct.show.report import Report


class Tree(TreeFields):
    """A fitted sparse randomized tree, of classes or of a quantity.

    Nodes are numbered as a heap: children of t are 2t + 1 and 2t + 2, branches first,
    then leaves from left to right. Cut t sends a sample left with probability
    F(gamma (coef[:, t] . x / n_groups - threshold[t])), x being scaled to [0, 1].

    Attributes
    ----------
    encoder : TableEncoder
    coef : array of shape (n_columns, n_branches), in scaled units
    threshold : array of shape (n_branches,)
    leaf_class : array of shape (n_leaves,), positions in ``classes``
    target : Classes or Quantity
        What is predicted; the labels of classes are ``classes``. Of a quantity there is
        one "class" in the arrays that have a row per class.
    gamma : float
    cost_matrix : array of shape (n_classes, n_classes)
    mass : array of shape (n_classes, n_leaves)
        Share of the training sample of each class that lands in each leaf, by the
        probabilities of soft routes.
    leaf_proba : array of shape (n_classes, n_leaves) or None
        What every leaf says of the classes; None where a leaf says its class.
    decision_cost : array of shape (n_classes, n_classes) or None
        What ``predict`` goes by: the class of least expected cost, column c being that
        of predicting class c. None: the most probable class.
    calibration : Calibration or None
        Maps from the tree's probabilities to those that held-out rows have shown.
    routed : array of shape (n_classes, n_leaves) or None
        Share of the training sample of each class that comes to each leaf when every
        row takes the more probable side at every cut, as people follow the rules.
    leaf_value : array of shape (n_leaves,) or None
        What every leaf says of a quantity; the prediction is the mean of that, leaves
        weighted by their probabilities. Where leaves have slopes it is for a sample
        whose scaled columns are all 0.
    leaf_coef : array of shape (n_columns, n_leaves) or None
        Slopes of linear leaves on scaled columns.
    leaf_mean, leaf_miss : array of shape (n_leaves,) or None
        Mean of the quantity over the training rows that people send to a leaf who
        follow the rules by hand, and the root mean square of what they miss it by (in
        linear leaves: what they miss the leaf's own number by).
    followed_at : array of shape (n_branches,) or None
        Score of every cut above which people go left who follow the rules by hand,
        where the training rows tell a better one than 0.
    training : TrainingRecord
        How the tree came about. Prediction does not use it, except that
        ``predict_bayes`` asks how classes were weighted.
    """

    @cached_property
    def view(self) -> View:
        """The tree as it is shown."""
        return View.of(self)

    @cached_property
    def cut_numbers(self) -> tuple[int, ...]:
        """Number of every cut as printed; those that people are shown come first."""
        return cut_numbers(self)

    # -- prediction ------------------------------------------------------------------

    def read(self, X: Any, *, check_finite: bool = True) -> Table:
        """Check a table; columns that the tree does not use may be left out."""
        X, used = as_table(X), self.variables_at()
        self.encoder.check_needed(X, used)
        whole = self.encoder.completed(X, used)
        return self.encoder.read(whole, check_finite=check_finite)

    def completed(self, X: Any) -> Any:
        """The table with all columns of training, if it has those that are used."""
        return self.encoder.completed(as_table(X), self.variables_at())

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, shape (n_samples, n_classes)."""
        return self.predict_proba_table(self.read(X, check_finite=False))

    def predict_proba_table(self, table: Table) -> FloatArray:
        """Probabilities for a table that the encoder has read."""
        proba = np.empty((len(self.classes), table.n_samples))
        each_block(
            lambda rows: self._fill_proba(table, rows, proba[:, rows]), table.n_samples
        )
        return proba.T

    def predict(self, X: Any) -> AnyArray:
        """Predict every sample.

        Of classes the most probable, or by ``decision_cost`` the cheapest; of a
        quantity the mean over leaves.
        """
        return self.predict_table(self.read(X, check_finite=False))

    def predict_table(self, table: Table) -> AnyArray:
        """Predict for a table that the encoder has read."""
        if self.of_quantity:
            return self._values(table)
        code = np.empty(table.n_samples, dtype=np.intp)

        def fill(rows: slice) -> None:
            code[rows] = self._codes(self._product(table, rows))

        each_block(fill, table.n_samples)
        return np.take(self.classes, code)

    def _codes(self, score: FloatArray) -> IntArray:
        """Codes of the classes predicted for scores of the cuts (n_branches, n)."""
        if self._sure_rows is None:
            return predicted_codes(self.proba_of_scores(score), self.decision_cost)
        code, rows = self._sure_rows(score)
        proba = self.proba_of_scores(score[:, rows])
        code[rows] = predicted_codes(proba, self.decision_cost)
        return code

    @cached_property
    def _sure_rows(self) -> SureRows | None:
        """What is known of rows far from all cuts."""
        return SureRows.of(self)

    def _values(self, table: Table) -> FloatArray:
        """Predicted quantity of every row."""
        return np.asarray(self.quantity.told(self.mixed_table(table)))

    def mixed_table(self, table: Table) -> FloatArray:
        """What leaves say of every row, mixed: with the link "log" a logarithm."""
        value = np.empty(table.n_samples)

        def fill(rows: slice) -> None:
            reach = self._leaf_reach(table, rows)
            value[rows] = np.sum(reach * self._said(table, rows), axis=0)

        each_block(fill, table.n_samples)
        return value

    def _said(self, table: Table, rows: slice) -> FloatArray:
        """What every leaf says of every row; (n_leaves, 1) if leaves are constant."""
        assert self.leaf_value is not None
        if self.leaf_coef is None:
            return self.leaf_value[:, np.newaxis]
        return self._leaf_product(table, rows)

    def values_of_scores(self, score: FloatArray, said: FloatArray) -> FloatArray:
        """Predicted quantities (n,) for scores of cuts and what leaves say."""
        return np.asarray(self.quantity.told(self.mixed_of_scores(score, said)))

    def mixed_of_scores(self, score: FloatArray, said: FloatArray) -> FloatArray:
        """What leaves say, mixed (n,): with the link "log" a logarithm."""
        return np.asarray(np.sum(self.reach_of_scores(score) * said, axis=0))

    def leaf_says(self, scaled: FloatArray) -> FloatArray:
        """What every leaf says of scaled samples (n, n_columns), (n_leaves, n)."""
        assert self.leaf_value is not None
        said = np.repeat(self.leaf_value[:, np.newaxis], len(scaled), axis=1)
        return said if self.leaf_coef is None else said + self.leaf_coef.T @ scaled.T

    def apply(self, X: Any) -> IntArray:
        """Leaf of every sample that takes the more probable side at every cut.

        Leaves are counted from left to right, from 0. That is how people follow the
        rules by hand; a cut is read where most come to what is predicted, which need
        not be where both sides are equally probable (``followed_limits``).
        """
        return self.apply_table(self.read(X, check_finite=False))

    def apply_table(self, table: Table) -> IntArray:
        """Leaves by hand for a table that the encoder has read."""
        leaf = np.empty(table.n_samples, dtype=np.int64)

        def fill(rows: slice) -> None:
            leaf[rows] = self.leaf_of_scores(self._product(table, rows))

        each_block(fill, table.n_samples)
        return leaf

    def leaf_of_scores(self, score: FloatArray) -> IntArray:
        """Leaf by hand at every cut, for scores (n_branches, n)."""
        node, topology = np.zeros(score.shape[1], dtype=np.int64), Topology(self.depth)
        for _ in range(self.depth):
            own = np.take_along_axis(score, node[np.newaxis], axis=0)[0]
            node = topology.descend(node, own > self.followed_limits[node])
        return node - self.n_branches

    @cached_property
    def followed_limits(self) -> FloatArray:
        """Score of every cut above which people who follow the rules go left."""
        return followed_limits(self) if self.followed_at is None else self.followed_at

    def follow(self, X: Any) -> AnyArray:
        """What people find who follow the rules, yes or no at each cut."""
        return self.follow_table(self.read(X, check_finite=False))

    def follow_table(self, table: Table) -> AnyArray:
        """What people find in a table that the encoder has read."""
        leaf = self.apply_table(table)
        if self.of_quantity:
            said = self.quantity.told(self._said(table, slice(0, table.n_samples)))
            if self.leaf_mean is not None and self.tells_means:
                # Where cuts are flat, no row gets what a single leaf says.
                said = self.leaf_mean[:, np.newaxis]
            said = np.broadcast_to(said, (self.n_leaves, table.n_samples))
            own = np.take_along_axis(said, leaf[np.newaxis], axis=0)
            return np.asarray(own[0])
        return np.take(self.classes, self.leaf_class[leaf])

    def leaf_reach(self, X: Any) -> FloatArray:
        """Probability of ending in every leaf, shape (n_samples, n_leaves)."""
        return self.leaf_reach_table(self.read(X, check_finite=False))

    def leaf_reach_table(self, table: Table) -> FloatArray:
        """Reach of the leaves for a table that the encoder has read."""
        reach = np.empty((self.n_leaves, table.n_samples))

        def fill(rows: slice) -> None:
            reach[:, rows] = self._leaf_reach(table, rows)

        each_block(fill, table.n_samples)
        return reach.T

    def predict_bayes(self, X: Any, priors: Any = None) -> AnyArray:
        """Class of least expected cost under given priors.

        With class probabilities P_k(x), shares s_k of the classes in training and
        priors pi_k, the class is the c with the least

            sum_k W[k, c] P_k(x) pi_k / s_k,

        W being the cost matrix. Without priors the factor pi_k / s_k is left out. Where
        all products vanish the priors alone decide.

        Parameters
        ----------
        X : table of shape (n_samples, n_variables)
        priors : array of shape (n_classes,) or (n_samples, n_classes), or None
            In the order of ``classes``; scaled to sum to 1.
        """
        proba = self.predict_proba(X)
        if priors is not None:
            given = checked_priors(priors, self.classes, len(proba))
            weighted = proba * (given / self._supposed_share)
            vanished = weighted.sum(axis=1, keepdims=True) <= 0.0
            proba = np.where(vanished, np.broadcast_to(given, proba.shape), weighted)
        code = np.argmin(proba @ self.cost_matrix, axis=1)
        return np.asarray(self.classes[code])

    def _fill_proba(self, table: Table, rows: slice, proba_out: FloatArray) -> None:
        self._fill_from_reach(self._leaf_reach(table, rows), proba_out)

    def _fill_from_reach(self, reach: FloatArray, proba_out: FloatArray) -> None:
        if self.leaf_proba is not None:
            np.matmul(self.leaf_proba, reach, out=proba_out)
        else:
            proba_out[:] = 0.0
            for leaf, k in enumerate(self.leaf_class):
                proba_out[k] += reach[leaf]
        if self.calibration is not None:
            proba_out[:] = self.calibrated(proba_out)

    def calibrated(self, proba: FloatArray) -> FloatArray:
        """Own probabilities (n_classes, n) as ``predict_proba`` tells them."""
        return proba if self.calibration is None else self.calibration(proba)

    def proba_of_scores(self, score: FloatArray) -> FloatArray:
        """Probabilities (n_classes, n) for scores of the cuts (n_branches, n)."""
        proba = np.empty((len(self.classes), score.shape[1]))
        self._fill_from_reach(self.reach_of_scores(score), proba)
        return proba

    def _leaf_reach(self, table: Table, rows: slice) -> FloatArray:
        return self.reach_of_scores(self._product(table, rows))

    def reach_of_scores(self, score: FloatArray) -> FloatArray:
        """Reach of every leaf (n_leaves, n) for scores of the cuts (n_branches, n)."""
        return Topology(self.depth).reach(cdf(score))[self.n_branches :]

    def scores(self, scaled: FloatArray) -> FloatArray:
        """Scores of the cuts for scaled samples (n, n_columns), (n_branches, n)."""
        sums = self.coef.T @ scaled.T / self.encoder.n_groups
        return np.asarray(self.gamma * (sums - self.threshold[:, np.newaxis]))

    @cached_property
    def _product(self) -> Product:
        """Scores gamma (coef . x / n_groups - threshold) of a table's rows."""
        weights = self.gamma / self.encoder.n_groups * self.coef
        threshold = self.gamma * self.threshold
        return make_product(self.encoder, weights, threshold, self.gamma)

    @cached_property
    def _leaf_product(self) -> Product:
        """What linear leaves say of a table's rows."""
        assert self.leaf_coef is not None
        assert self.leaf_value is not None
        # Relative to the spread, a slope and what it is multiplied by are moderate.
        largest = float(np.abs(self.leaf_coef).max()) / self.quantity.unit
        return make_product(self.encoder, self.leaf_coef, -self.leaf_value, largest)

    # -- for people ------------------------------------------------------------------

    def round(self, digits: int, X: Any = None, y: Any = None) -> Rounded:
        """Tree with weights and thresholds of few digits in original units.

        Cuts are rounded as the rules print them: the first variable of a cut has weight
        1, the others so many significant digits, and the threshold one more, counted
        from the size of the first variable's range.

        Parameters
        ----------
        digits : int, from 1 to 15
        X, y : table and labels, or None
            Data to measure the accuracy (of a quantity: R^2) on, before and after.

        Returns
        -------
        Rounded
            The new ``tree`` with ``accuracy_before`` and ``accuracy_after``. Its
            ``training`` no longer speaks of the objective, floors and expected recall,
            which have changed; ``mass`` is still that of the tree before.
        """
        check_digits(digits)
        has_data = data_given(X, y)
        coef, threshold = rounded_cuts(self, int(digits))
        told = self.training.after_rounding(int(digits))
        tree = replace(
            self,
            coef=coef,
            threshold=threshold,
            followed_at=limits_of_rounded(self),
            training=told,
        )
        if not has_data:
            return Rounded(tree)
        y, score = self.target.read(y), self.target.agreement
        before, after = (score(y, one.predict(X)) for one in (self, tree))
        return Rounded(tree, before, after)

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        rows: int = 100,
        call: str | None = None,
    ) -> Report:
        """Interactive page about the tree: one HTML file that needs no network.

        Parameters
        ----------
        X, y : table and labels, or None
            Data to show the tree on: accuracy, recalls (of a quantity R² and errors),
            what goes where.
        title : str or None
        rows : int, default=100
            Rows of X to list in the page, to start a what-if from. They are readable by
            whoever gets the file; 0 lists none.
        call : str or None
            How the tree was asked for, if not as ``training.call`` says.

        Returns
        -------
        Report
            ``write_html(file)`` writes it.
        """
        from sorct.show.report import Report

        return Report.of_tree(self, X, y, title=title, rows=rows, call=call)

    # -- text and files --------------------------------------------------------------

    def __str__(self) -> str:
        from sorct.show.text import export_text

        return export_text(self)

    def __repr__(self) -> str:
        used = len(self.columns_used)
        what = "a quantity" if self.of_quantity else f"{len(self.classes)} classes"
        return f"<Tree: depth {self.depth}, {used} of {self.n_columns} columns, {what}>"

    def __eq__(self, other: object) -> bool:
        """Whether two trees are the same, however they were asked for."""
        if not isinstance(other, Tree):
            return False
        one, two = (
            replace(tree, training=tree.training.without_origin()).to_dict()
            for tree in (self, other)
        )
        return one == two

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``from_dict`` turns back into the same tree."""
        return tree_to_dict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Tree:
        """Check plain data and build the tree."""
        return cls(**tree_from_dict(data))

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the tree to a file, whole or not at all."""
        write_json(self.to_dict(), path)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Tree:
        """Read a tree from a file; nothing in it is executed."""
        data = read_json(path, "sorct model")
        try:
            return cls.from_dict(data)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
