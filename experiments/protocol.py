"""The paper's protocol (section 4.1): splits, and what is fitted on one of them.

A split puts a random quarter of the rows aside for testing. Categorical columns become
0/1 columns without their last level: the paper does not say which level it left out,
but its sparsity figures fit this one and no other (see README.md). Everything else of
the protocol is in the config files.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split
from sorct.datasets import info, load

from experiments.rivals import (
    L1_STRENGTHS,
    Outcome,
    Part,
    cart,
    fit_l1_cv,
    fit_l1_path,
)
from sorct import PAPER, SORCTClassifierCV, sorct_path
from sorct.data.encoder import TableEncoder
from sorct.data.options import PAPER_TABLE
from sorct.tree.path import tree_row

TEST_SHARE = 0.25
L1, OURS = "L1 logistic", "S-ORCT"
RULES = {"best": OURS, "one-standard-error": f"{OURS} 1-SE"}

#: The paper's setting: loss, steepness and reading of a table, whatever the defaults; a
#: level that a training part lacks is the first.
SETTING = {**PAPER, "handle_unknown": "first_level"}
#: Its reading of a table alone.
READING = replace(PAPER_TABLE, handle_unknown="first_level")


@dataclass(frozen=True)
class Split:
    """Training and test rows of a data set, raw."""

    X_train: pd.DataFrame
    y_train: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series

    @classmethod
    def of(cls, dataset: str, number: int, reference_level: str = "last") -> Split:
        """Split of a number; ``reference_level`` is the level without a column."""
        X, y = _loaded(dataset)
        if reference_level == "last":
            X = X.apply(_turned)
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, random_state=number
        )
        return cls(X_train, y_train, X_test, y_test)

    @property
    def encoded(self) -> Part:
        """The same in [0, 1], scaled on the training rows, for the rivals."""
        encoder = TableEncoder.learn(self.X_train, READING)
        labels = np.unique(np.concatenate([self.y_train, self.y_test]))
        return Part(
            encoder.encode(self.X_train),
            np.searchsorted(labels, self.y_train),
            encoder.encode(self.X_test),
            np.searchsorted(labels, self.y_test),
        )


@cache
def _loaded(dataset: str) -> tuple[pd.DataFrame, pd.Series]:
    return load(dataset)


def _turned(column: pd.Series) -> pd.Series:
    """Levels in the opposite order, so that the last one becomes the reference."""
    if column.dtype.name != "category":
        return column
    return column.cat.set_categories(column.cat.categories[::-1])


def path_rows(dataset: str, number: int, options: dict[str, Any]) -> pd.DataFrame:
    """Trees along a grid of penalties, judged on the test rows."""
    model = dict(options)
    split = Split.of(dataset, number, model.pop("reference_level"))
    path = sorct_path(
        split.X_train,
        split.y_train,
        depth=info(dataset).depth,
        random_state=number,
        n_jobs=1,
        relax=False,
        **{**SETTING, **model},
    )
    frame = path.evaluate(split.X_test, split.y_test)
    recalls = frame.filter(like="recall_")
    frame = frame.drop(columns=recalls.columns).assign(least_recall=recalls.min(axis=1))
    return frame.assign(method=OURS)


def rival_rows(dataset: str, number: int, options: dict[str, Any]) -> pd.DataFrame:
    """CART, L1 logistic regression at every strength, and at the one of its folds."""
    part = Split.of(dataset, number, options["reference_level"]).encoded
    method, (outcome,) = cart([part])
    rows = [_row(method, outcome)]
    for strength, found in zip(L1_STRENGTHS, fit_l1_path(part), strict=True):
        rows.append({**_row(L1, found), "C": strength / len(part.y_train)})
    rows.append(_row(f"{L1} CV", fit_l1_cv(part, options["n_folds"], number)))
    return pd.DataFrame(rows)


def selection_rows(dataset: str, number: int, options: dict[str, Any]) -> pd.DataFrame:
    """Penalties chosen by cross-validation in the training part, by either rule."""
    model = dict(options)
    split = Split.of(dataset, number, model.pop("reference_level"))
    begun = time.perf_counter()
    search = SORCTClassifierCV(
        depths=info(dataset).depth,
        cv=StratifiedKFold(model.pop("n_folds"), shuffle=True, random_state=number),
        random_state=number,
        n_jobs=1,
        relax=False,
        **{**SETTING, **model},
    ).fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - begun
    rows = []
    for rule, method in RULES.items():
        tree = search.select(rule)
        rows.append(
            {
                **tree_row(tree),
                "method": method,
                "accuracy": (tree.predict(split.X_test) == split.y_test).mean(),
                "seconds": seconds,
            }
        )
    return pd.DataFrame(rows)


def _row(method: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "method": method,
        "accuracy": outcome.accuracy,
        "global_sparsity": outcome.global_sparsity,
        "n_columns": outcome.n_columns_used,
        "seconds": outcome.seconds,
    }


KINDS = {"path": path_rows, "rivals": rival_rows, "selection": selection_rows}
