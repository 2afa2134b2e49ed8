"""Data sets: the 18 of the paper; ``make_planted_tree`` is public here as well.

A set of the paper comes from scikit-learn, a folder or OpenML, raw, and is handed out
only if its rows are the recorded ones. Encoding and scaling are the estimator's.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sorct.data.datasets_record import RECORD, DataSet
from sorct.data.planted import PlantedTree, make_planted_tree

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DataSet", "PlantedTree", "info", "load", "make_planted_tree", "names"]

Rows: TypeAlias = list[list[Any]]

# In each, class 0 occurs first, then class 1: the order of the recorded labels.
_BUNDLED = {
    "iris": "load_iris",
    "wine": "load_wine",
    "wisconsin": "load_breast_cancer",
}


def names() -> tuple[str, ...]:
    """Names of the paper's 18 data sets, in its order."""
    return tuple(RECORD)


def info(name: str) -> DataSet:
    """Recorded facts on a data set of the paper.

    Parameters
    ----------
    name : str, one of ``names()``
    """
    if name not in RECORD:
        raise ValueError(f"name must be one of {', '.join(RECORD)}; got {name!r}.")
    return RECORD[name]


def load(
    name: str, *, folder: str | os.PathLike[str] | None = None
) -> tuple[pd.DataFrame, pd.Series[str]]:
    """Load a data set of the paper: raw values, rows in the recorded order.

    iris, wine and wisconsin come from scikit-learn, balance is computed. Any other is
    read from ``<name>.csv`` in the folder or, if there is none, from OpenML through
    scikit-learn, which downloads it once; monks-1, monks-2 and monks-3 need the file.
    Rows with a missing value are dropped. docs/datasets.md has the particulars.

    Parameters
    ----------
    name : str, one of ``names()``
    folder : path, optional
        By default what the environment variable ``SORCT_DATA`` says.

    Returns
    -------
    X : DataFrame of shape (n_samples, n_predictors)
        Numeric predictors are float64; categorical ones are categories of text, in the
        order of ``info(name).levels``.
    y : Series of shape (n_samples,), labels as text, named "class"

    Raises
    ------
    FileNotFoundError
        The set is not at hand; the message says which file to get.
    ValueError
        The name is unknown, or the rows are not the recorded ones.
    """
    known = info(name)
    if name == "balance":
        return _checked(known, _weighed_rows(), "The computed set", "Report this.")
    if name in _BUNDLED:
        remedy = "Take the version of scikit-learn that was tested with sorct."
        return _checked(known, _bundled_rows(known), known.source, remedy)
    path = _path(name, folder)
    if path is not None and path.is_file():
        return _checked(known, _file_rows(known, path), str(path), _advice(known, path))
    if known.openml_id is None:
        raise FileNotFoundError(f"{_not_there(path)}. {_advice(known, path)}")
    copy = f"What OpenML gave for {name} (id {known.openml_id})"
    advice = f"A file of your own goes before it. {_advice(known, path)}"
    return _checked(known, _openml_rows(known, path), copy, advice)


def _path(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """Full path of the file of a set, None if no folder was named."""
    place = folder or os.environ.get("SORCT_DATA")
    if not place:
        return None
    whole = Path(place).expanduser().absolute()
    if not whole.is_dir():
        setting = "folder" if folder else "SORCT_DATA"
        raise FileNotFoundError(
            f"{setting} must name a folder, for {name}.csv among others; there is no "
            f"folder {whole}."
        )
    return whole / f"{name}.csv"


def _not_there(path: Path | None) -> str:
    return "No folder was named" if path is None else f"There is no file {path}"


def _advice(known: DataSet, path: Path | None) -> str:
    """Which file to get and where to put it."""
    if path is None:
        place = (
            f"{known.name}.csv in a folder of your own, named by folder=... or by the "
            "environment variable SORCT_DATA"
        )
    else:
        place = f"{path} (the folder that folder=... or SORCT_DATA named)"
    return (
        f"Get {known.source}. Put the line sorct.datasets.info({known.name!r}).header "
        "before its rows, commas between the values, and save the file as "
        f"{place}."
    )


def _weighed_rows() -> Rows:
    """Every balance with weights and distances from 1 to 5, and where it tips."""
    rows: Rows = []
    for a, b, c, d in product(range(1, 6), repeat=4):
        tip = "L" if a * b > c * d else "R" if a * b < c * d else "B"
        rows.append([a, b, c, d, tip])
    return rows


def _bundled_rows(known: DataSet) -> Rows:
    """Rows that scikit-learn brings along, its classes under our labels."""
    from sklearn import datasets

    X, y = getattr(datasets, _BUNDLED[known.name])(return_X_y=True)
    labels = _renamed(y.tolist(), list(known.class_counts))
    return [[*row, label] for row, label in zip(X.tolist(), labels, strict=True)]


def _file_rows(known: DataSet, path: Path) -> Rows:
    """Rows of a CSV file, as text."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = [row for row in csv.reader(file) if row] or [[""]]
    if header != known.header.split(","):
        raise ValueError(
            f"{path} must begin with the line {known.header!r}, got "
            f"{','.join(header)!r}. {_advice(known, path)}"
        )
    return rows


def _openml_rows(known: DataSet, path: Path | None) -> Rows:
    """Complete rows of OpenML's copy, columns by position, under our labels."""
    from sklearn.datasets import fetch_openml

    try:
        # This parser takes numbers as Python does; the faster one rounds otherwise.
        got = fetch_openml(data_id=known.openml_id, as_frame=True, parser="liac-arff")
    except Exception as error:
        # A download fails in the network, the archive, the cache or the parser.
        raise FileNotFoundError(
            f"{_not_there(path)}, and OpenML's copy of {known.name} (id "
            f"{known.openml_id}) could not be downloaded: {error}. Try again "
            f"when online, or do without OpenML. {_advice(known, path)}"
        ) from error
    columns = [got.data[name].tolist() for name in got.data]
    if got.target is not None:
        columns.append(got.target.tolist())
    rows = _complete(zip(*columns, strict=True))
    if not rows or len(columns) != len(known.levels) + 1:
        return rows
    return _relabelled(known, rows)


def _relabelled(known: DataSet, rows: Rows) -> Rows:
    """Rows with the recorded classes and, where OpenML renamed them, levels."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[-1] = _renamed(columns[-1], list(known.class_counts))
    categorical = [(j, x) for j, x in enumerate(known.levels.values()) if x]
    orders = known.first_seen.split()
    for (j, levels), order in zip(categorical, orders, strict=bool(orders)):
        columns[j] = _renamed(columns[j], [levels[int(digit)] for digit in order])
    return [list(row) for row in zip(*columns, strict=True)]


def _renamed(values: list[Any], labels: list[str]) -> list[Any]:
    """Values under the labels that first occur in the same places.

    Which rows share a value decides its label, not what a copy happens to call it.
    """
    distinct = list(dict.fromkeys(values))
    if len(distinct) != len(labels):
        return values
    label = dict(zip(distinct, labels, strict=True))
    return [label[value] for value in values]


def _complete(rows: Iterable[Iterable[Any]]) -> Rows:
    """Rows without NaN, None, an empty field or a question mark."""
    listed = [list(row) for row in rows]
    return [
        row
        for row in listed
        if all(value == value and value not in (None, "", "?") for value in row)
    ]


def _checked(
    known: DataSet, rows: Rows, origin: str, advice: str
) -> tuple[pd.DataFrame, pd.Series[str]]:
    """Predictors and classes, if the rows are the recorded ones."""
    import pandas as pd

    rows, width = _complete(rows), len(known.levels) + 1
    lengths = sorted({len(row) for row in rows} - {width}) or [width]
    expected = f"{known.n_samples} complete rows of {width} values"
    got = f"{len(rows)} complete rows of {' or '.join(map(str, lengths))} values"
    if got == expected:
        expected = f"rows with checksum {known.checksum}"
        try:
            rows = _typed(known, rows)
            got = f"rows with checksum {_checksum(rows)}"
        except ValueError as error:
            got = f"a value that is no number ({error})"
    if got != expected:
        raise ValueError(
            f"{origin} does not hold {known.name} as recorded: expected {expected}, "
            f"got {got}. Values and the order of rows count. {advice}"
        )
    *columns, labels = zip(*rows, strict=True)
    X = {
        name: pd.Categorical(column, categories=list(levels)) if levels else column
        for (name, levels), column in zip(known.levels.items(), columns, strict=True)
    }
    return pd.DataFrame(X), pd.Series(labels, name="class")


def _typed(known: DataSet, rows: Rows) -> Rows:
    """Numbers as float, zeros without a sign; levels and classes as text."""
    kinds = [*(str if levels else _number for levels in known.levels.values()), str]
    return [
        [kind(value) for kind, value in zip(kinds, row, strict=True)] for row in rows
    ]


def _number(value: Any) -> float:
    return float(value) + 0.0


def _checksum(rows: Rows) -> str:
    lines = ("\t".join(map(str, row)) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
