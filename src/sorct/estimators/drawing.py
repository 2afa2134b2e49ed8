"""Drawing: folds as a splitter draws them, and a word about classes of few rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from sorct._typing import AnyArray, IntArray

_STRATIFIED = (StratifiedKFold, RepeatedStratifiedKFold, StratifiedGroupKFold)
# So many classes are named, those of the fewest rows.
_NAMED = 5

Fold = tuple[IntArray, IntArray]


def drawn(splitter: Any, X: Any, y: AnyArray) -> list[Fold]:
    """Rows to train and to test on; of classes of few rows it is silent."""
    with warnings.catch_warnings():
        # It names no class, and does not say what follows.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(X, y))


def warn_of_few(splitter: Any, y: AnyArray, folds: list[Fold]) -> None:
    """Name classes with fewer rows than there are stratified folds, once."""
    if not isinstance(splitter, _STRATIFIED):
        return
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    everywhere = np.ones(labels.size, dtype=np.bool_)
    for _, test in folds:
        everywhere &= np.bincount(codes[test], minlength=labels.size) > 0
    few = np.flatnonzero(~everywhere)
    if few.size == 0:
        return
    few = few[np.argsort(counts[few], kind="stable")]
    named, sizes = labels.tolist(), counts.tolist()
    told = [
        f"class {named[k]!r} has {sizes[k]} row{'' if sizes[k] == 1 else 's'}"
        for k in few[:_NAMED].tolist()
    ]
    more = few.size - len(told)
    told += [f"and so have {more} more"] if more else []
    names = ", ".join(told)
    single = ""
    if counts[few[0]] == 1:
        single = ", and a class of 1 row is in no training part where it is scored"
    warnings.warn(
        f"{names[:1].upper()}{names[1:]}, fewer than there are folds: some folds have "
        f"none of {'it' if few.size == 1 else 'them'} to score{single}. Leave such "
        "rows out, or merge the class with another.",
        UserWarning,
        stacklevel=3,
    )
