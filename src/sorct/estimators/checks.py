"""Checks of what users hand in: one clear error each, before any work begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from sorct._typing import AnyArray, FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.plain import is_finite_number
from sorct.data.samples import MANY_ROWS
from sorct.data.table import (
    as_table,
    in_pandas,
    is_frame,
    refuse_gaps,
    refuse_masked,
    take_rows,
)
from sorct.data.target import Classes, plain_labels
from sorct.data.wording import listed, shown
from sorct.tree.topology import Topology, smallest_depth

_DEEPEST = 12
# Times that the rows of a search are held, about, beside all rows.
_SEARCH_COPIES = 3
_MOST_JOBS = 1024
# Sums of weights, of whatever many rows, are far from overflow up to this power of two.
_LARGEST_EXPONENT = 400
#: More starts, or trees along a path, than there is memory and time for.
MOST_STARTS = 1_000_000


def check_real(name: str, value: Any, expected: str, *, positive: bool = False) -> None:
    """Refuse what is not a finite number >= 0, or > 0 if it must be positive."""
    if not is_finite_number(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name} must be {expected}, got {shown(value)}.")


def check_whole(
    name: str,
    value: Any,
    expected: str = "a whole number >= 1",
    most: int | None = None,
    least: int = 1,
) -> None:
    """Refuse what is no whole number, too small, or more than one could wait for."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be {expected}, got {shown(value)}.")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}.")


def check_one_of(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse what is none of some words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {known}, got {shown(value)}.")


def checked_flag(name: str, value: Any) -> bool:
    """True or False, or 1 or 0; frames, for one, refuse to be either."""
    if not isinstance(value, (bool, np.bool_, Integral)) or value not in (0, 1):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse what joblib could not use."""
    if n_jobs is None:
        return
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, got {shown(n_jobs)}."
        )
    if int(n_jobs) > _MOST_JOBS:
        raise ValueError(
            f"n_jobs must be at most {_MOST_JOBS}, -1 for all cores, got "
            f"{shown(n_jobs)}."
        )


def require_target(y: Any, name: str) -> None:
    """Refuse to train without a target."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")


def _refuse_name(y: Any) -> None:
    """Refuse the name of a column: X does not hold the target."""
    if isinstance(y, str):
        raise ValueError(
            f"y must be the labels or numbers to learn, one per row, got the text "
            f"{shown(y)}. A name is taken beside files and tables that stream; of a "
            f"frame, pass X.drop(columns={shown(y)}) and X[{shown(y)}]."
        )


def label_samples(y: Any) -> AnyArray:
    """Labels of classes; a clear error for what are none."""
    refuse_masked(y, "y")
    _refuse_name(y)
    # What pandas knows to be missing is no number for scikit-learn, nor a label.
    if hasattr(y, "isna"):
        refuse_gaps(y, "labels")
    y = column_or_1d(y, warn=True)
    refuse_gaps(y, "labels")
    assert_all_finite(y, input_name="y")
    y = plain_labels(y)
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(
            f"{error} To predict a number take SORCTRegressor or SORCTRegressorCV, or "
            "sorct_path with loss='square'."
        ) from error
    return np.asarray(y)


def checked_samples(
    X: Any,
    y: Any,
    sample_weight: Any,
    read: Callable[[Any], AnyArray] = label_samples,
) -> tuple[Any, AnyArray, FloatArray]:
    """Table, target and weights of the rows with a weight above 0.

    ``read`` checks the target: labels of classes, or numbers.
    """
    refuse_masked(sample_weight, "sample_weight")
    X, y = as_table(X), read(y)
    check_consistent_length(X, y)
    if sample_weight is None:
        return X, y, np.ones(len(y))
    weight = _floats("sample_weight", sample_weight)
    if weight.shape != (len(y),):
        raise ValueError(
            f"sample_weight must have shape ({len(y)},), one weight per sample, got "
            f"{weight.shape}."
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not (weight > 0).any():
        bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
        found = f"{weight[bad[0]]:g} at row {bad[0]}" if bad.size else "zeros alone"
        raise ValueError(
            f"sample_weight must be finite, >= 0 and not all zero, got {found}."
        )
    kept = np.flatnonzero(weight > 0)
    size = np.frexp(weight.max())[1]
    if abs(size) > _LARGEST_EXPONENT:
        # Divided by a power of two, which is exact, so that no sum overflows.
        weight = np.ldexp(weight, -size)
    if len(kept) == len(weight):
        return X, y, weight
    return take_rows(X, kept), y[kept], weight[kept]


def _floats(name: str, values: Any) -> FloatArray:
    try:
        array = np.array(values)
        if array.dtype.kind == "c":
            raise TypeError("they are complex")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of numbers: {error!s:.300}."
        ) from error


def checked_topology(depth: Any, n_classes: int) -> Topology:
    """Tree of the depth asked for, or the smallest with a leaf for every class."""
    smallest = smallest_depth(n_classes)
    if depth is None:
        depth = smallest
    check_whole("depth", depth)
    if depth > _DEEPEST:
        raise ValueError(
            f"depth must be at most {_DEEPEST} (a complete tree has 2^depth leaves), "
            f"got {depth} for {n_classes} classes."
        )
    if depth < smallest:
        raise ValueError(
            f"A tree of depth {depth} has {2**depth} leaves, too few for {n_classes} "
            f"classes; the smallest depth that works is {smallest}."
        )
    return Topology(int(depth))


def check_memory(n_columns: int, n_classes: int, topology: Topology) -> None:
    """Refuse a tree that training has no memory for, before any work begins.

    A descent holds a gradient for every class and some fifty vectors of the size of the
    tree, and a search works on as many trees at a time as there are threads.
    """
    if not hasattr(os, "sysconf"):
        return
    n_numbers = (n_columns + 1) * topology.n_branches
    needed = 8.0 * n_numbers * (n_classes + 50)
    there = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise ValueError(
            f"A tree of depth {topology.depth} on {n_columns} columns with {n_classes} "
            f"classes needs {needed / 2**30:.1f} GB to train, but there are "
            f"{there / 2**30:.1f} GB. Leave out columns or levels (min_frequency), or "
            "join classes."
        )


def check_table_memory(n_rows: int, n_columns: int) -> None:
    """Refuse a table that is too large once it is laid out.

    All rows are laid out once, and those that a search looks at a few times more.
    """
    if not hasattr(os, "sysconf"):
        return
    needed = 8.0 * n_columns * (n_rows + _SEARCH_COPIES * min(n_rows, MANY_ROWS))
    there = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise ValueError(
            f"Laid out for training, {n_rows} rows have {n_columns} columns and take "
            f"{needed / 2**30:.1f} GB, but there are {there / 2**30:.1f} GB. Write the "
            'table as Parquet and fit its path, as in fit("table.parquet", "y"), which '
            "holds few rows at a time; or leave out columns."
        )


def checked_cost_matrix(cost_matrix: Any, classes: Classes) -> FloatArray:
    """Costs as a matrix; 0.5 off the diagonal where none are given."""
    n_classes = len(classes)
    if cost_matrix is None:
        return 0.5 * (1.0 - np.eye(n_classes))
    refuse_masked(cost_matrix, "cost_matrix")
    if isinstance(cost_matrix, Mapping):
        raise ValueError(
            "cost_matrix must be a square array, costs[i, j] being what it costs to "
            "predict class j for a row of class i, or a frame with the classes "
            f"{listed(classes.labels.tolist())} as labels of rows and columns, got the "
            f"mapping {shown(cost_matrix)}. How much the rows of a class count is for "
            "class_weight to say, which takes mappings."
        )
    if is_frame(cost_matrix):
        cost_matrix = _aligned(cost_matrix, classes)
    elif is_frame(foreign := in_pandas(cost_matrix)):
        cost_matrix = _aligned(_with_index(foreign, n_classes), classes)
    matrix = _floats("cost_matrix", cost_matrix)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost_matrix must have shape ({n_classes}, {n_classes}), one row and "
            f"column per class of {classes.labels.tolist()}, got {matrix.shape}."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        i, j = np.argwhere(~np.isfinite(matrix) | (matrix < 0))[0]
        raise ValueError(
            f"cost_matrix must be finite and >= 0 everywhere, got {matrix[i, j]:g} in "
            f"row {i}, column {j}."
        )
    if np.diag(matrix).any():
        raise ValueError(
            "cost_matrix must have a zero diagonal (a right prediction costs nothing), "
            f"got {np.diag(matrix).tolist()}."
        )
    return matrix


def _with_index(costs: Any, n_classes: int) -> Any:
    """A frame of a library without row labels, by those in its first column."""
    if costs.shape[1] != n_classes + 1:
        raise ValueError(
            "cost_matrix must have the labels of its rows, the true classes, in a "
            f"first column beside {n_classes} columns of costs, got columns "
            f"{listed(costs.columns)}; or pass an array in the order of the classes."
        )
    return costs.set_index(costs.columns[0])


def _aligned(costs: Any, classes: Classes) -> Any:
    """Costs of a labelled frame in the order of the classes.

    A frame whose rows and columns are merely counted has no labels.
    """
    axes = {"rows": costs.index, "columns": costs.columns}
    counted = [list(axis) == list(range(len(axis))) for axis in axes.values()]
    labels = classes.labels.tolist()
    if all(counted) and sorted(map(str, labels)) != sorted(map(str, costs.index)):
        return costs.to_numpy()
    order = []
    for where, axis in axes.items():
        place = {str(label): k for k, label in enumerate(axis)}
        if sorted(map(str, axis)) != sorted(map(str, labels)):
            raise ValueError(
                f"cost_matrix must have {where} labelled with the classes, "
                f"{listed(labels)}, in any order, got {listed(axis)}. Pass "
                "cost_matrix.to_numpy() if they are in the order of the classes."
            )
        order.append([place[str(label)] for label in labels])
    return costs.to_numpy()[np.ix_(*order)]


def checked_floor(min_recall: Any, classes: Classes) -> FloatArray:
    """Floor under the recall of every class, 0 where none is asked for."""
    labels = classes.labels.tolist()
    floor = np.zeros(len(labels))
    if isinstance(min_recall, Mapping):
        for label, rate in min_recall.items():
            if label not in labels:
                raise ValueError(
                    f"min_recall names class {shown(label)}, which is not among the "
                    f"classes {labels}."
                )
            floor[labels.index(label)] = _checked_rate(rate)
    elif min_recall is not None:
        floor[:] = _checked_rate(min_recall)
    return floor


def _checked_rate(rate: Any) -> float:
    number = isinstance(rate, Real) and not isinstance(rate, bool)
    if not number or not 0.0 <= rate <= 1.0:
        raise ValueError(
            "min_recall must be a rate in [0, 1] or a mapping from class to rate, got "
            f"{shown(rate)}."
        )
    return float(rate)


def check_confidence(confidence: Any, min_recall: Any) -> None:
    """Refuse what cannot be a promise, before there are data."""
    if confidence is None:
        return
    number = isinstance(confidence, Real) and not isinstance(confidence, bool)
    if not number or not 0.0 < confidence < 1.0:
        raise ValueError(
            "confidence must be None or a probability between 0 and 1, such as 0.95, "
            f"got {shown(confidence)}."
        )
    if min_recall is None:
        raise ValueError(
            "confidence needs min_recall, the floor to promise, such as "
            "min_recall={'fraud': 0.9}; got min_recall=None."
        )


def refuse_no_columns(encoder: TableEncoder) -> None:
    """Refuse a table in which nothing can be cut on."""
    if encoder.n_columns == 0:
        raise ValueError(
            "There is nothing to cut on: every column of X is a category of one level. "
            "Add a column whose values differ from row to row."
        )
