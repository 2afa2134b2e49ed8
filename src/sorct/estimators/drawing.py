"""Drawing: folds as a splitter draws them, and a word about classes of few rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.utils.multiclass import type_of_target

from sorct._typing import AnyArray, IntArray

_STRATIFIED = (StratifiedKFold, RepeatedStratifiedKFold, StratifiedGroupKFold)
# So many classes are named, those of the fewest rows.
_NAMED = 5

Fold = tuple[IntArray, IntArray]


def drawn(splitter: Any, X: Any, y: AnyArray, asked: str = "cv") -> list[Fold]:
    """Rows to train and to test on; of classes of few rows it is silent.

    ``asked`` is the option that says how many folds there are.
    """
    _refuse_more_than_rows(splitter, y, asked)
    with warnings.catch_warnings():
        # It names no class, and does not say what follows.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(X, y))


def _refuse_more_than_rows(splitter: Any, y: AnyArray, asked: str) -> None:
    """Refuse more folds than there are rows, or stratified ones than a class has."""
    if isinstance(splitter, _STRATIFIED):
        if type_of_target(y) not in ("binary", "multiclass"):
            return  # the splitter says so
        labels, counts = np.unique(y, return_counts=True)
        most, needed, cure = int(counts.max()), "a class of", ", or merge classes"
        order = np.argsort(-counts, kind="stable")
        got = _told_classes(labels[order], counts[order])
    elif isinstance(splitter, (KFold, RepeatedKFold)):
        most, needed, cure = len(y), "at least", ""
        got = f"there {'is' if most == 1 else 'are'} {most} (n_samples={most})"
    else:
        return
    n_folds = splitter.get_n_splits() // getattr(splitter, "n_repeats", 1)
    if most >= n_folds:
        return
    fewer = f"Take fewer folds ({asked}={most}){cure}."
    if most < 2:
        fewer = f"Two folds are the fewest there can be: take more rows{cure}."
    raise ValueError(
        f"{n_folds} folds ({asked}={n_folds}) need {needed} {n_folds} rows, but {got}. "
        f"{fewer}"
    )


def _told_classes(labels: AnyArray, counts: IntArray) -> str:
    """The first classes, and how many rows they have."""
    pairs = list(zip(labels.tolist(), counts.tolist(), strict=True))
    told = [
        f"class {label!r} has {count} row{'' if count == 1 else 's'}"
        for label, count in pairs[:_NAMED]
    ]
    more = len(pairs) - len(told)
    return ", ".join(told + ([f"and so have {more} more"] if more else []))


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
    names = _told_classes(labels[few], counts[few])
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
