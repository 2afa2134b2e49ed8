"""Path: the trees along a grid of penalties, and how to choose among them.

Like ``Tree``, it needs no compiler and no solver, is immutable, and is saved as JSON;
reading a file executes no code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import accuracy_score, recall_score
from sklearn.utils import check_consistent_length

from sorct._typing import AnyArray, BoolArray, FloatArray
from sorct.data.target import label_column, mean_cost
from sorct.data.wording import shown
from sorct.tree.files import read_json, write_json
from sorct.tree.frontier import unbeaten
from sorct.tree.storage import COMMON
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

    from sorct.show.report import Report

FORMAT, VERSION = "sorct-path", 1


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Best trees found for a grid of penalties.

    Attributes
    ----------
    alphas_local : array of shape (n_local,), in rising order
    alphas_global : array of shape (n_global,), in rising order
    trees : tuple of Tree
        One per grid point, the local axis outermost.
    seconds : array of shape (n_local * n_global,)
        What each took; two paths that differ in nothing else are equal.
    """

    alphas_local: FloatArray
    alphas_global: FloatArray
    trees: tuple[Tree, ...]
    seconds: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        self._freeze()
        n_points = self.alphas_local.size * self.alphas_global.size
        if n_points == 0 or not n_points == len(self.trees) == self.seconds.size:
            raise ValueError(
                f"Expected {n_points} trees and seconds, one per pair of alphas and at "
                f"least one, got {len(self.trees)} and {self.seconds.size}."
            )
        pairs = product(self.alphas_local.tolist(), self.alphas_global.tolist())
        for tree, pair in zip(self.trees, pairs, strict=True):
            _check_training(tree, pair)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def _freeze(self) -> None:
        for name in ("alphas_local", "alphas_global", "seconds"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def tree(self, i: int, j: int = 0) -> Tree:
        """Tree of ``alphas_local[i]`` and ``alphas_global[j]``."""
        shape = self.alphas_local.size, self.alphas_global.size
        for place, size, axis in zip((i, j), shape, ("local", "global"), strict=True):
            if not isinstance(place, Integral):
                raise TypeError(
                    f"Expected whole numbers, positions in alphas_{axis}, got "
                    f"{shown(place)}."
                )
            if not -size <= place < size:
                raise IndexError(
                    f"alphas_{axis} has {size} values, there is no number {place}."
                )
        return self.trees[(i % shape[0]) * shape[1] + j % shape[1]]

    def __len__(self) -> int:
        return len(self.trees)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    @property
    def classes(self) -> AnyArray:
        """Labels of the classes."""
        return self.trees[0].classes

    # -- tables ----------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One row per grid point, the local axis outermost.

        Returns
        -------
        DataFrame
            Columns ``alpha_local``, ``alpha_global``, ``objective``, ``cost`` (expected
            cost on the training sample), ``local_sparsity``, ``global_sparsity`` (per
            cent of columns unused, per cut and in the whole tree), ``n_columns`` and
            ``n_variables`` used, ``residual``, ``seconds``.
        """
        import pandas as pd

        frame = pd.DataFrame([tree_row(tree) for tree in self.trees])
        return frame.assign(seconds=self.seconds).rename_axis("point")

    def evaluate(self, X: Any, y: Any) -> pd.DataFrame:
        """The frame with ``accuracy`` and ``recall_<class>`` on given data.

        Where errors have different costs, ``mean_cost`` is there as well. A label that
        the trees do not know counts as an error, but has no cost.
        The recall of a class that does not occur in ``y`` is NaN.
        """
        table = self.trees[0].encoder.read(X)
        y = label_column(y)
        check_consistent_length(X, y)
        predicted = [tree.predict_table(table) for tree in self.trees]
        frame = self.to_frame()
        frame["accuracy"] = [accuracy_score(y, labels) for labels in predicted]
        recall = np.array(
            [
                recall_score(
                    y, labels, labels=self.classes, average=None, zero_division=np.nan
                )
                for labels in predicted
            ]
        )
        for k, label in enumerate(self.classes.tolist()):
            frame[f"recall_{label}"] = recall[:, k]
        if self.trees[0].has_unequal_costs:
            target, costs = self.trees[0].target, self.trees[0].cost_matrix
            true = target.codes(y)
            known = true >= 0
            frame["mean_cost"] = [
                mean_cost(costs, true[known], target.codes(labels)[known])
                for labels in predicted
            ]
        return frame

    # -- choosing --------------------------------------------------------------------

    def frontier(self, X: Any = None, y: Any = None) -> pd.DataFrame:
        """Points that no other point beats.

        A point is beaten if another is at least as good in all of three things, and
        better in one: expected cost on the training sample (or accuracy on given data;
        or mean cost on them, where errors have different costs),
        local sparsity, global sparsity. Of points that are equal in all three, the one
        with the largest penalties is kept.

        Parameters
        ----------
        X, y : table and labels, or None
            Data to measure accuracy on; best such as the trees have not seen.
        """
        frame = self._scored(X, y)
        sparse = frame[["local_sparsity", "global_sparsity"]].to_numpy()
        goods = np.column_stack([_goodness(frame), sparse])
        return frame[unbeaten(goods)]

    def select(
        self,
        X: Any = None,
        y: Any = None,
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        within: float = 0.0,
    ) -> Tree:
        """Tree of the grid point that suits best.

        Among the trees within the limits, the sparsest of those that are almost as good
        as the best: fewest variables, then fewest columns per cut, then the better one.

        Parameters
        ----------
        X, y : table and labels, or None
            If given, trees are compared by their accuracy (or mean cost, where errors
            have different costs) on these data, which they should not have seen;
            otherwise by the expected cost on the training sample, for which less
            sparsity is always better.
        max_features : int or None
            Most variables of the table that the tree may use.
        max_features_per_cut : int or None
            Most variables that any of its cuts may use.
        within : float, default=0.0
            How far the accuracy (or cost) may be from that of the best tree within the
            limits, in the same units.
        """
        frame = self._scored(X, y)
        allowed = within_limits(self.trees, max_features, max_features_per_cut)
        if not _is_finite(within) or within < 0:
            raise ValueError(
                f"within must be a finite number >= 0, got {shown(within)}."
            )
        good = np.where(allowed, _goodness(frame), -np.inf)
        near = np.flatnonzero(good >= good.max() - within - 1e-12)
        return self.trees[int(sparsest(frame, near, good))]

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        chosen: Tree | None = None,
        title: str | None = None,
        rows: int = 100,
        call: str | None = None,
    ) -> Report:
        """Interactive page about the path: one HTML file that needs no network.

        Parameters
        ----------
        X, y : table and labels, or None
            Data to show the trees on, best such as they have not seen.
        chosen : Tree or None
            The tree of the path to begin with and to compare others with. None means
            the one with the fewest variables whose accuracy on the data is within a
            standard error of the best; without data, whose expected accuracy is.
        title, rows, call
            As in ``Tree.report``.
        """
        from sorct.show.report import Report

        return Report.of_path(
            self, X, y, chosen=chosen, title=title, rows=rows, call=call
        )

    def _scored(self, X: Any, y: Any) -> pd.DataFrame:
        if (X is None) != (y is None):
            raise ValueError("Expected both X and y or neither, got one of them.")
        return self.to_frame() if X is None else self.evaluate(X, y)

    # -- text and files --------------------------------------------------------------

    def __repr__(self) -> str:
        used = [len(tree.variables_used) for tree in self.trees]
        return (
            f"<Path: {self.alphas_local.size} x {self.alphas_global.size} trees of "
            f"depth {self.trees[0].depth}, {min(used)} to {max(used)} variables>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Path):
            return False
        same = all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("alphas_local", "alphas_global")
        )
        return same and self.trees == other.trees

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``from_dict`` turns back into the same path."""
        plain = [tree.to_dict() for tree in self.trees]
        return {
            "format": FORMAT,
            "version": VERSION,
            "alphas_local": self.alphas_local.tolist(),
            "alphas_global": self.alphas_global.tolist(),
            "seconds": self.seconds.tolist(),
            "common": {key: plain[0][key] for key in COMMON if key in plain[0]},
            "trees": [
                {key: value for key, value in tree.items() if key not in COMMON}
                for tree in plain
            ],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Path:
        """Check plain data and build the path."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(
                f"not a sorct path: expected an object of format {FORMAT!r}."
            )
        if data.get("version") != VERSION:
            raise ValueError(
                f"path of version {data.get('version')!r:.60}, expected {VERSION}; "
                "load it with the version of sorct that wrote it and save it again."
            )
        common, parts = data.get("common"), data.get("trees")
        if not isinstance(common, dict) or not isinstance(parts, list):
            raise ValueError("damaged sorct path: 'common' or 'trees' is missing.")
        if not all(isinstance(part, dict) for part in parts):
            raise ValueError("damaged sorct path: a tree must be an object.")
        trees = [Tree.from_dict({**part, **common}) for part in parts]
        for tree in trees:
            object.__setattr__(tree, "encoder", trees[0].encoder)
        return cls(
            _floats(data, "alphas_local"),
            _floats(data, "alphas_global"),
            tuple(trees),
            _floats(data, "seconds"),
        )

    def to_json(self, file: str | os.PathLike[str]) -> None:
        """Write the path to a file, whole or not at all."""
        write_json(self.to_dict(), file)

    @classmethod
    def from_json(cls, file: str | os.PathLike[str]) -> Path:
        """Read a path from a file; nothing in it is executed."""
        data = read_json(file, "path")
        try:
            return cls.from_dict(data)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error


def tree_row(tree: Tree) -> dict[str, float | None]:
    """What the frame says of a tree."""
    told = tree.training
    return {
        "alpha_local": told.alpha_local,
        "alpha_global": told.alpha_global,
        "objective": told.objective,
        "cost": told.cost,
        "local_sparsity": tree.local_sparsity,
        "global_sparsity": tree.global_sparsity,
        "n_columns": len(tree.columns_used),
        "n_variables": len(tree.variables_used),
        "residual": told.residual,
    }


def _check_training(tree: Tree, alphas: tuple[float, float]) -> None:
    """Refuse a tree that does not say what the frame needs, or is of other alphas."""
    for key, value in tree_row(tree).items():
        if not _is_finite(value):
            raise ValueError(f"damaged sorct path: {key!r} of a tree must be a number.")
    told = tree.training.alpha_local, tree.training.alpha_global
    if told != alphas:
        raise ValueError(
            f"damaged sorct path: expected the tree of alphas {alphas}, got one of "
            f"{told}."
        )


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return abs(value) <= float(np.finfo(np.float64).max)


def _floats(data: dict[str, Any], key: str) -> FloatArray:
    values = data.get(key)
    if not isinstance(values, list) or not all(_is_finite(value) for value in values):
        raise ValueError(f"damaged sorct path: {key!r} must be a list of numbers.")
    return np.array(values, dtype=np.float64)


def _goodness(frame: pd.DataFrame) -> FloatArray:
    """What is to be large: accuracy or minus the cost on given data, else in training.

    Where errors have different costs, these decide.
    """
    if "mean_cost" in frame:
        return -frame["mean_cost"].to_numpy(dtype=np.float64)
    if "accuracy" in frame:
        return frame["accuracy"].to_numpy(dtype=np.float64)
    return -frame["cost"].to_numpy(dtype=np.float64)


def check_limit(name: str, limit: Any) -> None:
    """Refuse what is not a whole number >= 0."""
    whole = isinstance(limit, Integral) and not isinstance(limit, bool)
    if not whole or limit < 0:
        raise ValueError(
            f"{name} must be a whole number >= 0 or None, got {shown(limit)}."
        )


def within_limits(
    trees: tuple[Tree, ...], max_features: Any, max_features_per_cut: Any
) -> BoolArray:
    """Which trees use at most so many variables, in all and in every cut."""
    limits = {
        "max_features": (max_features, [len(t.variables_used) for t in trees]),
        "max_features_per_cut": (
            max_features_per_cut,
            [t.most_variables_per_cut for t in trees],
        ),
    }
    allowed = np.ones(len(trees), dtype=np.bool_)
    for name, (limit, used) in limits.items():
        if limit is None:
            continue
        check_limit(name, limit)
        allowed &= np.array(used) <= limit
    if not allowed.any():
        fewest = {name: min(used) for name, (_, used) in limits.items()}
        raise ValueError(
            f"No tree on the path has at most max_features={max_features} variables "
            f"and max_features_per_cut={max_features_per_cut} per cut; the fewest are "
            f"{fewest['max_features']} and {fewest['max_features_per_cut']}. Raise the "
            "limits, or add larger alphas to the path."
        )
    return allowed


def sparsest(frame: pd.DataFrame, among: Any, good: FloatArray) -> int:
    """Position with the fewest variables, then columns per cut, then the better."""
    variables = frame["n_variables"].to_numpy()[among]
    local = frame["local_sparsity"].to_numpy()[among]
    order = np.lexsort((-among, -good[among], -local, variables))
    return int(among[order[0]])
