"""Suspects: columns that a tree should not train on, or not without a second look.

Names of rows (ids, row numbers) and constants are left out. A column that decides the
target by itself is named: often it is known only when the target is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import IntArray

if TYPE_CHECKING:
    import pandas as pd

# With fewer rows nothing is told from a pattern.
_FEWEST_ROWS = 10
# Names of whole numbers that name rows: id, customer_id, CustomerID.
_ID = re.compile(r"(?i:(.*[^a-z])?(id|uuid|index))|.*[a-z](Id|ID)")
# A column is named as a leak if it tells this share of the classes that the most
# frequent class alone does not tell.
_LEAK = 0.995
# So many rows are needed for that.
_LEAK_ROWS = 30
# A level must have so many rows on average.
_ROWS_PER_LEVEL = 10
# Correlation of the ranks of a column and of a quantity from which on it is named.
_ORDERED = 0.9995
# Rows that tell of most columns that they change and repeat.
_FIRST = 1000
# Rows that tell of most columns that they do not decide the target.
_SAMPLE = 20_000


def why_left_out(column: pd.Series[Any]) -> str | None:
    """Why a column is no variable: it names rows, or never changes; None if it does."""
    n_rows, n_missing = len(column), int(column.isna().sum())
    if n_missing == n_rows:
        return "all its cells are missing"
    if n_rows < 2:
        return None
    first = column.iloc[:_FIRST]
    if n_rows > _FIRST and 1 < first.nunique() < _FIRST:
        return None
    n_values = column.nunique()
    if n_values == 1 and n_missing == 0:
        return "all its cells are the same"
    if n_rows < _FEWEST_ROWS or n_values < n_rows:
        return None
    if column.dtype.kind in "iu":
        if bool((np.diff(column.to_numpy()) == 1).all()) and column.iloc[0] in (0, 1):
            return "it counts the rows"
        return "it is an id" if _ID.fullmatch(str(column.name)) else None
    if column.dtype.kind in "fbM" or column.dtype.name == "category":
        return None
    return "it has another value in every row, like an id"


# -- leaks -----------------------------------------------------------------------------


def leak(column: pd.Series[Any], target: pd.Series[Any]) -> str | None:
    """What to say of a column that decides the target by itself, if it does."""
    if len(column) > _SAMPLE:
        rows = np.random.default_rng(0).choice(len(column), _SAMPLE, replace=False)
        if _leak(column.iloc[rows], target.iloc[rows]) is None:
            return None
    return _leak(column, target)


def _leak(column: pd.Series[Any], target: pd.Series[Any]) -> str | None:
    import pandas as pd

    known = target.notna().to_numpy()
    classes, labels = pd.factorize(target[known])
    n_rows, n_classes = len(classes), len(labels)
    given, told = column[known], f"decides {str(target.name)!r} by itself"
    advice = "leave it out if it is known only when the target is"
    if n_classes > n_rows // _ROWS_PER_LEVEL and _orders(given, target[known]):
        return f"{told} (the one goes with the other, row by row); {advice}"
    if n_rows < _LEAK_ROWS or not 1 < n_classes <= n_rows // _ROWS_PER_LEVEL:
        return None
    codes, levels = pd.factorize(given)
    missing = (codes < 0).astype(np.intp)
    if n_classes == 2 and _skill(missing, classes, n_classes) > _LEAK:
        return f"{told} (it is enough to know whether it is missing); {advice}"
    few = n_classes <= len(levels) + 1 <= n_rows // _ROWS_PER_LEVEL
    if few and _skill(codes + 1, classes, n_classes) > _LEAK:
        one_to_one = len(levels) == n_classes and not missing.any()
        how = "one to one" if one_to_one else "each of its values has one class"
        return f"{told} ({how}); {advice}"
    if given.dtype.kind in "iufM" and _range_skill(given, classes, n_classes) > _LEAK:
        return f"{told} (each class has a range of its own); {advice}"
    return None


def _orders(column: pd.Series[Any], target: pd.Series[Any]) -> bool:
    """Whether a number puts the rows in the order of a quantity, or the reverse."""
    both = column.notna() & target.notna()
    if {column.dtype.kind, target.dtype.kind} - set("iuf") or both.sum() < _LEAK_ROWS:
        return False
    ranks = column[both].rank().corr(target[both].rank())
    return bool(abs(ranks) > _ORDERED)


def _skill(codes: IntArray, classes: IntArray, n_classes: int) -> float:
    """Share of the errors of the most frequent class that the best guess avoids."""
    counts = np.bincount(codes * n_classes + classes)
    counts = np.append(counts, np.zeros(-len(counts) % n_classes, dtype=np.intp))
    right = counts.reshape(-1, n_classes).max(axis=1).sum()
    base = np.bincount(classes).max()
    return float((right - base) / (len(classes) - base))


def _range_skill(column: pd.Series[Any], classes: IntArray, n_classes: int) -> float:
    """The same for a range of numbers for each class."""
    from sklearn.tree import DecisionTreeClassifier

    if column.dtype.kind == "M":
        column = (column - column.min()).dt.total_seconds()
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = np.flatnonzero(np.isfinite(values))
    y = classes[rows]
    if len(rows) < _LEAK_ROWS or len(np.unique(y)) < n_classes:
        return 0.0
    # Ranks: the tree knows single precision only.
    ranks = np.unique(values[rows], return_inverse=True)[1].reshape(-1, 1)
    stump = DecisionTreeClassifier(max_leaf_nodes=n_classes, random_state=0)
    codes = stump.fit(ranks, y).apply(ranks)
    return _skill(np.unique(codes, return_inverse=True)[1], y, n_classes)
