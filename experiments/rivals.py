"""What S-ORCT is compared with: CART and the L1 logistic regression path.

Each rival takes a `Part`, one split into training and test rows with columns already
encoded in [0, 1], and gives an `Outcome`. CART is R's rpart where R is installed, else
scikit-learn's tree stopped and pruned as rpart does by default. Splitting, encoding and
writing results are left to the caller.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from sorct._typing import BoolArray, FloatArray, IntArray

R_SCRIPT = Path(__file__).with_name("rpart.R")
# The slowest part of the paper, Spam, takes rpart half a second.
R_SECONDS_PER_PART = 120.0

# rpart.control's defaults.
MIN_SPLIT, MIN_BUCKET, MAX_DEPTH, COMPLEXITY = 20, 7, 30, 0.01

# scikit-learn's C times the number of training rows: the weight of the mean loss
# against the L1 norm, so that one grid serves data sets of every size. With columns in
# [0, 1] the first keeps hardly any column, the last nearly all.
L1_STRENGTHS: FloatArray = 2.0 ** np.linspace(3.0, 15.0, 17)


@dataclass(frozen=True)
class Part:
    """One split of a data set: encoded columns in [0, 1], labels as integer codes."""

    X_train: FloatArray
    y_train: IntArray
    X_test: FloatArray
    y_test: IntArray


@dataclass(frozen=True)
class Outcome:
    """How a rival did on one part.

    Attributes
    ----------
    accuracy
        Share of test rows labelled right, from 0 to 1.
    global_sparsity
        Per cent of the columns that the model does not use anywhere.
    n_columns_used
        Number of columns that the model uses.
    seconds
        Wall time of the fit, without prediction and without handing data over.
    """

    accuracy: float
    global_sparsity: float
    n_columns_used: int
    seconds: float


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


def cart(parts: Sequence[Part]) -> tuple[str, list[Outcome]]:
    """CART on every part, and the name of what ran: rpart wherever it is installed."""
    if rpart_program() is not None:
        return "rpart", fit_rpart(parts)
    return "scikit-learn CART", [fit_cart(part) for part in parts]


@cache
def rpart_program() -> str | None:
    """Path of an Rscript that can load rpart, or None."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    try:
        tried = subprocess.run(
            [program, "--vanilla", "-e", "library(rpart)"],
            capture_output=True,
            timeout=60.0,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if tried.returncode == 0 else None


def fit_rpart(parts: Sequence[Part]) -> list[Outcome]:
    """R's rpart with default settings on every part, in one R process.

    Seconds include the ten-fold cross-validation that rpart runs by default; it
    tabulates errors and does not change the tree.

    Raises
    ------
    RuntimeError
        If R or rpart is missing, fails, or writes something else than asked for.
    """
    with TemporaryDirectory(prefix="sorct-rpart-") as name:
        folder = Path(name)
        for k, part in enumerate(parts):
            _write_part(part, folder / f"{k}.in")
        _run_r(folder, len(parts))
        return [_read_result(part, folder / f"{k}.out") for k, part in enumerate(parts)]


@dataclass(frozen=True)
class RpartTree:
    """What rpart makes of a part, probabilities of the test rows included."""

    labels: IntArray
    proba: FloatArray
    used: BoolArray
    n_cuts: int


def rpart_in_full(part: Part) -> RpartTree:
    """R's rpart with default settings, with all that is to be known of its tree."""
    n_classes = np.unique(part.y_train).size
    with TemporaryDirectory(prefix="sorct-rpart-") as name:
        folder = Path(name)
        _write_part(part, folder / "0.in")
        _run_r(folder, 1)
        used, labels, _ = _read_flags(part, folder / "0.out")
        more = np.fromfile(folder / "0.prob", dtype="<f8")
    n_cuts, proba = int(more[0]), more[1:].reshape(-1, n_classes, order="F")
    if len(proba) != len(part.X_test):
        raise RuntimeError("rpart wrote probabilities of another number of rows.")
    return RpartTree(labels.astype(np.int64), proba, used, n_cuts)


def _write_part(part: Part, path: Path) -> None:
    n_columns = part.X_train.shape[1]
    head = [len(part.X_train), len(part.X_test), n_columns]
    train, test = part.X_train.ravel(order="F"), part.X_test.ravel(order="F")
    np.concatenate([head, train, part.y_train, test]).astype("<f8").tofile(path)


def _run_r(folder: Path, n_parts: int) -> None:
    program = rpart_program()
    if program is None:
        raise RuntimeError(
            "fit_rpart needs Rscript and R's package rpart, and did not find both. "
            "Install them (Debian: r-base-core, r-cran-rpart) or use fit_cart."
        )
    limit = R_SECONDS_PER_PART * (1 + n_parts)
    try:
        done = subprocess.run(
            [program, "--vanilla", str(R_SCRIPT), str(folder)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(
            f"rpart was not done with {n_parts} parts after {limit:g} seconds."
        ) from error
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-10:])
        raise RuntimeError(f"{program} ended with code {done.returncode}:\n{last}")


def _read_result(part: Part, path: Path) -> Outcome:
    used, labels, seconds = _read_flags(part, path)
    return _outcome(part, labels, used, seconds)


def _read_flags(part: Part, path: Path) -> tuple[BoolArray, FloatArray, float]:
    """Columns used, labels of the test rows, seconds."""
    n_test, n_columns = part.X_test.shape
    expected = 1 + n_columns + n_test
    result = np.fromfile(path, dtype="<f8") if path.exists() else np.empty(0)
    if result.size != expected:
        raise RuntimeError(
            f"rpart was to write {expected} numbers ({n_columns} columns, {n_test} "
            f"test rows) to {path.name}, but wrote {result.size}."
        )
    used, labels = result[1 : 1 + n_columns], result[1 + n_columns :]
    if not (np.isin(used, (0.0, 1.0)).all() and np.isin(labels, part.y_train).all()):
        raise RuntimeError(
            f"rpart wrote flags or labels that do not exist: {path.name}."
        )
    return used == 1.0, labels, float(result[0])


def fit_cart(part: Part) -> Outcome:
    """scikit-learn's tree with rpart's default stopping and pruning.

    Where two splits are equally good rpart takes the first column and scikit-learn a
    random one (seed 0); scikit-learn also rounds columns to single precision.
    """
    begun = time.perf_counter()
    model = DecisionTreeClassifier(
        min_samples_split=MIN_SPLIT,
        min_samples_leaf=MIN_BUCKET,
        max_depth=MAX_DEPTH,
        # rpart never makes a split that leaves the Gini index as it was.
        min_impurity_decrease=1e-12,
        random_state=0,
    ).fit(part.X_train, part.y_train)
    grown = model.tree_
    is_leaf = _prune(grown, COMPLEXITY)
    seconds = time.perf_counter() - begun

    kept_as = _kept_ancestor(grown, is_leaf)
    split = ~is_leaf & (kept_as == np.arange(grown.node_count))
    used = np.isin(np.arange(part.X_train.shape[1]), grown.feature[split])
    leaf = kept_as[model.apply(part.X_test)]
    label = model.classes_[grown.value[:, 0].argmax(axis=1)]
    return _outcome(part, label[leaf], used, seconds)


def _prune(grown: Any, complexity: float) -> BoolArray:
    """Nodes to end at, by weakest-link pruning on the number of errors.

    The smallest of the subtrees that minimise errors + complexity * errors of the root
    * number of leaves: the one that cutting the weakest links one by one leads to.
    """
    right = grown.value[:, 0].max(axis=1) * grown.n_node_samples
    errors = grown.n_node_samples - np.rint(right)
    cost = errors + complexity * errors[0]
    is_leaf: BoolArray = grown.children_left < 0
    # Children are numbered after their parent.
    for node in np.flatnonzero(~is_leaf)[::-1]:
        below = cost[grown.children_left[node]] + cost[grown.children_right[node]]
        if below < cost[node] - 1e-9 * errors[0]:
            cost[node] = below
        else:
            is_leaf[node] = True
    return is_leaf


def _kept_ancestor(grown: Any, is_leaf: BoolArray) -> IntArray:
    """The node of the pruned tree that each grown node is part of."""
    kept_as = np.arange(grown.node_count)
    for node in np.flatnonzero(grown.children_left >= 0):
        if is_leaf[node] or kept_as[node] != node:
            kept_as[grown.children_left[node]] = kept_as[node]
            kept_as[grown.children_right[node]] = kept_as[node]
    return kept_as


def fit_l1_path(part: Part) -> list[Outcome]:
    """L1 logistic regression for each of `L1_STRENGTHS`, sparsest first."""
    outcomes = []
    begun = time.perf_counter()
    for model in _l1_models(part.X_train, part.y_train):
        outcomes.append(_l1_outcome(part, model, time.perf_counter() - begun))
        begun = time.perf_counter()
    return outcomes


def fit_l1_cv(part: Part, folds: int, seed: int) -> Outcome:
    """L1 logistic regression, its strength chosen on the training rows alone.

    The strength with most rows right in stratified cross-validation, the sparsest of
    these if there are several, then a fit to all training rows.
    """
    begun = time.perf_counter()
    right = np.zeros(len(L1_STRENGTHS), dtype=np.int64)
    X, y = part.X_train, part.y_train
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y)
    for inside, outside in splits:
        for k, model in enumerate(_l1_models(X[inside], y[inside])):
            right[k] += np.count_nonzero(model.predict(X[outside]) == y[outside])
    # argmax takes the first: strengths ascend.
    *_, model = _l1_models(X, y, L1_STRENGTHS[: right.argmax() + 1])
    return _l1_outcome(part, model, time.perf_counter() - begun)


def _l1_models(
    X: FloatArray, y: IntArray, strengths: FloatArray = L1_STRENGTHS
) -> Iterator[LogisticRegression]:
    """The model at each strength in turn: one object, refitted when asked for the next.

    liblinear is the fastest for two classes, but has no multinomial loss and penalises
    the intercept; scaled by 100, that has no visible effect. saga, started from the
    model before, serves three or more: along the path, multinomial loss is at best
    three points of accuracy above one-versus-rest on Car and Balance, one on Thyroid.
    """
    if np.unique(y).size == 2:
        model = LogisticRegression(
            l1_ratio=1.0,
            solver="liblinear",
            intercept_scaling=100.0,
            tol=1e-5,
            max_iter=20_000,
            random_state=0,
        )
    else:
        model = LogisticRegression(
            l1_ratio=1.0,
            solver="saga",
            warm_start=True,
            tol=1e-4,
            max_iter=20_000,
            random_state=0,
        )
    for strength in strengths:
        yield model.set_params(C=strength / len(y)).fit(X, y)


def _l1_outcome(part: Part, model: LogisticRegression, seconds: float) -> Outcome:
    used = np.any(model.coef_ != 0.0, axis=0)
    return _outcome(part, model.predict(part.X_test), used, seconds)


def _outcome(part: Part, labels: Any, used: BoolArray, seconds: float) -> Outcome:
    return Outcome(
        accuracy=float(np.mean(labels == part.y_test)),
        global_sparsity=float(100.0 * np.mean(~used)),
        n_columns_used=int(np.count_nonzero(used)),
        seconds=seconds,
    )


def paired_interval(
    a: Sequence[float] | FloatArray,
    b: Sequence[float] | FloatArray,
    level: float = 0.95,
) -> Interval:
    """Confidence interval of the mean of a - b by the paired t test, as R's ``t.test``.

    Of zero width where all differences are equal.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or first.size < 2:
        raise ValueError(
            "paired_interval expects two equally long sequences of two or more "
            f"numbers, got shapes {first.shape} and {second.shape}."
        )
    difference = first - second
    # About the first one, so that equal differences have no spread by rounding either.
    about = difference - difference[0]
    mean = float(difference[0] + about.mean())
    error = about.std(ddof=1) / np.sqrt(about.size)
    half = float(stats.t.ppf(0.5 + level / 2.0, about.size - 1) * error)
    return Interval(mean, mean - half, mean + half)
