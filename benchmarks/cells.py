"""The cells that searches are compared on: data, depth and penalties.

The 84 cells of the best-known table need the paper's data sets: ``SORCT_DATA`` names a
folder with their CSV files and ``schema.json``, ``SORCT_BEST_KNOWN`` the table to
compare with (JSON, a list ``cells``), by default ``best_known.json`` beside the folder.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from sorct import PAPER, SORCTClassifier

MIN_RECALL = 0.1


@dataclass(frozen=True)
class Cell:
    """One data set with one pair of strengths."""

    name: str
    X: np.ndarray
    y: np.ndarray
    depth: int
    alpha_local: float
    alpha_global: float
    best_known: float = np.nan

    @property
    def title(self) -> str:
        """Name and strengths."""
        return f"{self.name} {self.alpha_local:g} {self.alpha_global:g}"

    def classifier(self, **options: Any) -> SORCTClassifier:
        """Our classifier for the cell, one thread."""
        options = {"random_state": 0, "n_jobs": 1, **options}
        alphas = self.alpha_local, self.alpha_global
        return SORCTClassifier(
            self.depth, *alphas, min_recall=MIN_RECALL, **PAPER, **options
        )

    def reached_by(self, objective: float) -> bool:
        """Whether an objective is within 2 % or 5e-4 of the best known."""
        return objective <= max(1.02 * self.best_known, self.best_known + 5e-4)


def nine_cells() -> list[Cell]:
    """Return iris, wine and breast cancer, 75 % stratified, scaled on that part."""
    loaders = {
        "iris": (datasets.load_iris, 2),
        "wine": (datasets.load_wine, 2),
        "breast cancer": (datasets.load_breast_cancer, 1),
    }
    alphas = ((0.0, 0.0), (2.0**-4, 0.0), (0.0, 2.0**-4))
    found = []
    for name, (load, depth) in loaders.items():
        X, y = load(return_X_y=True)
        X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
        X = MinMaxScaler().fit_transform(X)
        found += [Cell(name, X, y, depth, *pair) for pair in alphas]
    return found


def best_known_cells() -> list[Cell] | None:
    """Cells of the best-known table, or None if the data are not at hand."""
    if "SORCT_DATA" not in os.environ:
        return None
    folder = Path(os.environ["SORCT_DATA"])
    default = folder.parent / "best_known.json"
    table = Path(os.environ.get("SORCT_BEST_KNOWN", default))
    rows = json.loads(table.read_text(encoding="utf-8"))["cells"]
    return [
        Cell(
            row["dataset"],
            *_training_part(folder, row["dataset"]),
            row["depth"],
            float(row["alpha_local"]),
            float(row["alpha_global"]),
            row["objective"],
        )
        for row in rows
    ]


@cache
def _training_part(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Three quarters of a data set, dummies for categories, scaled to [0, 1]."""
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))[name]
    text = dict.fromkeys([*schema["categorical"], schema["target"]], str)
    table = pd.read_csv(folder / schema["file"], dtype=text, keep_default_na=False)
    X, y = table.drop(columns=schema["target"]), table[schema["target"]]
    X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0)
    columns = []
    for variable in X.columns:
        if variable in schema["categorical"]:
            levels = schema["levels"][variable][1:]
            columns += [(X[variable] == level).astype(float) for level in levels]
        else:
            columns.append(X[variable].astype(float))
    scaled = MinMaxScaler().fit_transform(np.column_stack(columns))
    return scaled, np.unique(y, return_inverse=True)[1]
