"""Path: the trees along a grid of penalties, and how to choose among them.

Like ``Tree``, it needs no compiler and no solver, is immutable, and is saved as JSON;
reading a file executes no code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from sorct._typing import AnyArray, BoolArray, FloatArray
from sorct.data.plain import is_finite_number
from sorct.data.target import data_given
from sorct.data.wording import shown
from sorct.tree.files import read_json, write_json
from sorct.tree.frontier import sparsest, unbeaten
from sorct.tree.storage import COMMON
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

    from sorct.show.report import Report

FORMAT = "sorct-path"
# Version 2 has relaxed trees.
VERSIONS = (1, 2)


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Best trees found for a grid of penalties, of classes or of a quantity.

    Attributes
    ----------
    alphas_local : array of shape (n_local,), in rising order
    alphas_global : array of shape (n_global,), in rising order
    trees : tuple of Tree
        One per grid point, the local axis outermost.
    seconds : array of shape (n_local * n_global,)
        What each took; two paths that differ in nothing else are equal.
    relaxed : tuple of Tree, or empty
        The relaxed tree of every point, in the same order: refitted on the variables of
        the point's own tree under a small share of its penalties.
    """

    alphas_local: FloatArray
    alphas_global: FloatArray
    trees: tuple[Tree, ...]
    seconds: FloatArray
    relaxed: tuple[Tree, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        object.__setattr__(self, "relaxed", tuple(self.relaxed))
        self._freeze()
        n_points = self.alphas_local.size * self.alphas_global.size
        if n_points == 0 or not n_points == len(self.trees) == self.seconds.size:
            raise ValueError(
                f"Expected {n_points} trees and seconds, one per pair of alphas and at "
                f"least one, got {len(self.trees)} and {self.seconds.size}."
            )
        if self.relaxed and len(self.relaxed) != n_points:
            raise ValueError(
                f"damaged sorct path: expected {n_points} relaxed trees or none, got "
                f"{len(self.relaxed)}."
            )
        pairs = list(product(self.alphas_local.tolist(), self.alphas_global.tolist()))
        for trees in (self.trees, self.relaxed):
            for tree, pair in zip(trees, pairs, strict=False):
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

    @property
    def offered(self) -> tuple[Tree, ...]:
        """All trees to choose from: those of the points, then the relaxed ones."""
        return self.trees + self.relaxed

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
        frame = frame_of(self.trees)
        return frame.assign(seconds=self.seconds).rename_axis("point")

    def evaluate(self, X: Any, y: Any) -> pd.DataFrame:
        """The frame with ``accuracy`` and ``recall_<class>`` on given data.

        Of a quantity it is ``r2``, ``rmse`` (root of the mean squared error) and
        ``mae`` (mean absolute error).

        Where errors have different costs, ``mean_cost`` is there as well. A label that
        the trees do not know counts as an error, but has no cost.
        The recall of a class that does not occur in ``y`` is NaN.
        """
        return evaluated(self.trees, self.to_frame(), X, y)

    # -- choosing --------------------------------------------------------------------

    def frontier(self, X: Any = None, y: Any = None) -> pd.DataFrame:
        """Points that no other point beats.

        A point is beaten if another is at least as good in all of three things, and
        better in one: expected cost on the training sample (or accuracy on given data;
        or mean cost on them, where errors have different costs; or R²),
        local sparsity, global sparsity. Of points that are equal in all three, the one
        with the largest penalties is kept.

        Parameters
        ----------
        X, y : table and labels, or None
            Data to measure accuracy on; best such as the trees have not seen.
        """
        frame = self._scored(X, y)
        sparse = frame[["local_sparsity", "global_sparsity"]].to_numpy()
        goods = np.column_stack([goodness(frame), sparse])
        return frame[unbeaten(goods)]

    def select(
        self,
        X: Any = None,
        y: Any = None,
        *,
        max_features: int | None = None,
        max_features_per_cut: int | None = None,
        max_cost: float | None = None,
        within: float = 0.0,
    ) -> Tree:
        """Tree of the grid point that suits best.

        Among the trees within the limits, relaxed ones included, the sparsest of those
        that are almost as good as the best: fewest variables, then fewest columns per
        cut, then the better one.

        Parameters
        ----------
        X, y : table and labels, or None
            If given, trees are compared by their accuracy (or mean cost, where errors
            have different costs; of a quantity R²) on these data, which they should
            not have seen; otherwise by the expected cost on the training sample, for
            which less sparsity is always better.
        max_features : int or None
            Most variables of the table that the tree may use.
        max_features_per_cut : int or None
            Most variables that any of its cuts may use.
        max_cost : float or None
            Most that its variables may cost together, by ``feature_cost``.
        within : float, default=0.0
            How far the accuracy (or cost, or R²) may be from that of the best tree
            within the limits, in the same units.
        """
        frame, trees = frame_of(self.offered), self.offered
        if data_given(X, y):
            frame = evaluated(trees, frame, X, y)
        limits = Limits(max_features, max_features_per_cut, max_cost)
        allowed = limits.allow(trees)
        if not is_finite_number(within) or within < 0:
            raise ValueError(
                f"within must be a finite number >= 0, got {shown(within)}."
            )
        places, good = np.flatnonzero(allowed), goodness(frame)[allowed]
        kept = frame[allowed]
        found = sparsest(good, kept["n_variables"], kept["local_sparsity"], within)
        return trees[int(places[found])]

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
            the one that ``select`` gives with the standard error of the best tree as
            ``within``: on the data or, without any, in training.
        title, rows, call
            As in ``Tree.report``.
        """
        from sorct.show.report import Report

        return Report.of_path(
            self, X, y, chosen=chosen, title=title, rows=rows, call=call
        )

    def _scored(self, X: Any, y: Any) -> pd.DataFrame:
        return self.evaluate(X, y) if data_given(X, y) else self.to_frame()

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
        return same and self.offered == other.offered

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``from_dict`` turns back into the same path."""
        plain = [tree.to_dict() for tree in self.offered]
        n_points = len(self.trees)
        parts = [
            {key: value for key, value in tree.items() if key not in COMMON}
            for tree in plain
        ]
        return {
            "format": FORMAT,
            "version": VERSIONS[1] if self.relaxed else VERSIONS[0],
            "alphas_local": self.alphas_local.tolist(),
            "alphas_global": self.alphas_global.tolist(),
            "seconds": self.seconds.tolist(),
            "common": {key: plain[0][key] for key in COMMON if key in plain[0]},
            "trees": parts[:n_points],
            **({"relaxed": parts[n_points:]} if self.relaxed else {}),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Path:
        """Check plain data and build the path."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(
                f"not a sorct path: expected an object of format {FORMAT!r}."
            )
        if data.get("version") not in VERSIONS or isinstance(data["version"], bool):
            raise ValueError(
                f"path of version {data.get('version')!r:.60}, expected {VERSIONS}; "
                "load it with the version of sorct that wrote it and save it again."
            )
        common, parts = data.get("common"), data.get("trees")
        if not isinstance(common, dict) or not isinstance(parts, list):
            raise ValueError("damaged sorct path: 'common' or 'trees' is missing.")
        relaxed = data.get("relaxed", [])
        if not isinstance(relaxed, list):
            raise ValueError("damaged sorct path: 'relaxed' must be a list.")
        if not all(isinstance(part, dict) for part in parts + relaxed):
            raise ValueError("damaged sorct path: a tree must be an object.")
        trees = [Tree.from_dict({**part, **common}) for part in parts + relaxed]
        for tree in trees:
            object.__setattr__(tree, "encoder", trees[0].encoder)
        return cls(
            _floats(data, "alphas_local"),
            _floats(data, "alphas_global"),
            tuple(trees[: len(parts)]),
            _floats(data, "seconds"),
            tuple(trees[len(parts) :]),
        )

    def to_json(self, file: str | os.PathLike[str]) -> None:
        """Write the path to a file, whole or not at all."""
        write_json(self.to_dict(), file)

    @classmethod
    def from_json(cls, file: str | os.PathLike[str]) -> Path:
        """Read a path from a file; nothing in it is executed."""
        data = read_json(file, "sorct path")
        try:
            return cls.from_dict(data)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error


def frame_of(trees: Sequence[Tree]) -> pd.DataFrame:
    """One row per tree."""
    import pandas as pd

    return pd.DataFrame([tree_row(tree) for tree in trees])


def evaluated(
    trees: Sequence[Tree], frame: pd.DataFrame, X: Any, y: Any
) -> pd.DataFrame:
    """The frame of some trees with what their target measures on given data."""
    import pandas as pd

    first = trees[0]
    table, y = first.encoder.read(X), first.target.read(y)
    check_consistent_length(X, y)
    found = [
        first.target.measures(first.cost_matrix, y, tree.predict_table(table))
        for tree in trees
    ]
    return pd.concat([frame, pd.DataFrame(found, index=frame.index)], axis=1)


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
        if not is_finite_number(value):
            raise ValueError(f"damaged sorct path: {key!r} of a tree must be a number.")
    told = tree.training.alpha_local, tree.training.alpha_global
    if told != alphas:
        raise ValueError(
            f"damaged sorct path: expected the tree of alphas {alphas}, got one of "
            f"{told}."
        )


def _floats(data: dict[str, Any], key: str) -> FloatArray:
    values = data.get(key)
    if not isinstance(values, list) or not all(map(is_finite_number, values)):
        raise ValueError(f"damaged sorct path: {key!r} must be a list of numbers.")
    return np.array(values, dtype=np.float64)


def goodness(frame: pd.DataFrame) -> FloatArray:
    """What trees are compared by, to be large.

    On given data the target's default score, accuracy, minus the mean cost or R² (see
    ``Path.evaluate``); without data minus the expected cost in training.
    """
    signs = {"mean_cost": -1.0, "r2": 1.0, "accuracy": 1.0, "cost": -1.0}
    name = next(name for name in signs if name in frame)
    return signs[name] * frame[name].to_numpy(dtype=np.float64)


@dataclass(frozen=True)
class Limits:
    """What a tree may use at most; None means no limit."""

    max_features: Any = None
    max_features_per_cut: Any = None
    max_cost: Any = None

    @property
    def on_variables(self) -> bool:
        """Whether the variables of the whole tree are limited."""
        return self.max_features is not None or self.max_cost is not None

    @property
    def on_trees(self) -> bool:
        """Whether those of the whole tree or of its cuts are."""
        return self.on_variables or self.max_features_per_cut is not None

    def check(self) -> None:
        """Refuse what is no limit."""
        for name in ("max_features", "max_features_per_cut"):
            limit = getattr(self, name)
            whole = isinstance(limit, Integral) and not isinstance(limit, bool)
            if limit is not None and (not whole or limit < 0):
                raise ValueError(
                    f"{name} must be a whole number >= 0 or None, got {shown(limit)}."
                )
        most = self.max_cost
        if most is not None and (not is_finite_number(most) or most < 0):
            raise ValueError(
                f"max_cost must be a finite number >= 0 or None, got {shown(most)}."
            )

    def check_with(self, feature_cost: Any) -> None:
        """Refuse, before training, what is no limit or lacks its prices."""
        self.check()
        if self.max_cost is not None and feature_cost is None:
            raise ValueError(
                "max_cost needs feature_cost, what every column costs to collect."
            )

    def allow(self, trees: tuple[Tree, ...]) -> BoolArray:
        """Which trees are within the limits; an error if none is."""
        self.check()
        costs = [tree.variables_cost for tree in trees]
        if self.max_cost is not None and None in costs:
            raise ValueError(
                "max_cost needs prices: train with feature_cost, what every column "
                "costs to collect."
            )
        used: dict[str, list[Any]] = {
            "max_features": [len(tree.variables_used) for tree in trees],
            "max_features_per_cut": [tree.most_variables_per_cut for tree in trees],
            "max_cost": costs,
        }
        asked = {name: getattr(self, name) for name in used}
        asked = {name: limit for name, limit in asked.items() if limit is not None}
        allowed = np.ones(len(trees), dtype=np.bool_)
        for name, limit in asked.items():
            allowed &= np.array(used[name]) <= limit
        if not allowed.any():
            raise ValueError(
                "No tree on the path is within "
                + " and ".join(f"{name}={limit}" for name, limit in asked.items())
                + "; the least are "
                + " and ".join(f"{min(used[name])}" for name in asked)
                + ". Raise the limits, add larger alphas, or trace the path within the "
                "limits: sorct_path(max_features=..., max_cost=...) refits trees."
            )
        return allowed


#: Anything goes.
NO_LIMITS = Limits()
