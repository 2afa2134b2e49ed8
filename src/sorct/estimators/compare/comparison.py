"""Comparison: axis-parallel, linear or oblique? All methods on the same folds.

CART, linear models and our tree are trained on the same rows and scored on the same
rows. Which these are is in ``kinds.py``, how each is fitted in ``rivals.py``, what may
be concluded in ``verdict.py``; printing is left to others.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sorct.data.wording import listed, shown
from sorct.estimators.candidates import RULES
from sorct.estimators.checks import check_whole, checked_flag, checked_samples
from sorct.estimators.compare.kinds import (
    TASKS,
    ComparedClasses,
    ComparedQuantity,
    check_task,
)
from sorct.estimators.compare.rivals import Plan
from sorct.estimators.compare.verdict import OBLIQUE, Sizes, Verdict, all_tests
from sorct.estimators.drawing import drawn, warn_of_few
from sorct.estimators.progress import progress_bar
from sorct.estimators.rows import Data
from sorct.estimators.scorers import scorer_name

if TYPE_CHECKING:
    import pandas as pd


_MOST_REPEATS = 10_000
#: What is compared: classes, or a quantity.
Compared = ComparedClasses | ComparedQuantity


@dataclass(frozen=True)
class Comparison:
    """What several methods did on the same folds, and what that supports.

    Attributes
    ----------
    frame : DataFrame
        One row per method and one for the most frequent class (of a quantity: for its
        mean and its median): ``score`` (mean over the folds), ``standard_error`` (of
        the mean, folds taken as independent), ``accuracy``, ``log_loss`` and ``auc``
        (of a quantity ``r2``, ``rmse`` and ``mae``; means over the folds),
        ``variables`` (of the table, used on average), ``cuts`` (on average; of the
        logistic regression, its linear scores).
    tests : DataFrame
        One row per pair: ``one``, ``other``, ``difference`` of their scores,
        ``standard_error`` (corrected for folds that share training rows), ``t``,
        ``p`` and ``p_holm``.
    folds : DataFrame
        One row per fold and method: ``fold``, ``method``, ``variables``, ``cuts``,
        ``most_variables_per_cut``, ``score`` and the measures of ``frame``.
    sentence : str
        Which of the methods the data support.
    scoring : str
        What the scores are.
    n_variables : int
        Variables of the table.
    notes : tuple of str
        What has to be known of the measures, such as classes that folds lack.
    """

    frame: pd.DataFrame
    tests: pd.DataFrame
    folds: pd.DataFrame
    sentence: str
    scoring: str
    n_variables: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data: lists of rows, the sentence, what was scored."""
        return {
            "scoring": self.scoring,
            "n_variables": self.n_variables,
            "methods": self.frame.reset_index().to_dict("records"),
            "tests": self.tests.to_dict("records"),
            "folds": self.folds.to_dict("records"),
            "sentence": self.sentence,
            "notes": list(self.notes),
        }


def compare(
    X: Any,
    y: Any,
    *,
    task: str = "classes",
    folds: int = 10,
    repeats: int = 1,
    cv: int = 5,
    rule: str = "one-standard-error",
    scoring: Any = None,
    depths: int | Sequence[int] | None = None,
    alphas_local: Any = None,
    alphas_global: Any = None,
    n_solutions: int | None = None,
    options: Mapping[str, Any] | None = None,
    level: float = 0.05,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
) -> Comparison:
    """Compare CART, linear models and our tree on the same folds.

    Of classes the linear model is an L1 logistic regression; of a quantity there are
    the LASSO and ordinary least squares (OLS).

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_variables)
    y : array of shape (n_samples,)
    task : {"classes", "quantity"}, default="classes"
        What y is.
    folds, repeats : int, default=10 and 1
        Folds to score on (of classes stratified), and how often to draw them.
    cv : int, default=5
        Folds inside every training part, by which each method chooses its penalty.
    rule : {"best", "one-standard-error"}, default="one-standard-error"
        How it chooses: the best mean score, or the sparsest within one standard error.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn; None means accuracy, or R² of a quantity.
    depths : int, sequence of int or None, default=None
        Depths that our tree may have. None means 1 and 2 for two classes (a single
        cut is a linear rule), else the smallest with a leaf for every class; of a
        quantity they are chosen as ``SORCTRegressorCV`` does.
    alphas_local, alphas_global, n_solutions
        As in ``SORCTClassifierCV``; 20 solutions of classes, of a quantity as many as
        ``SORCTRegressorCV`` carries.
    options : mapping or None, default=None
        How our tree reads the table and what it knows of columns: further options of
        ``SORCTClassifierCV`` or ``SORCTRegressorCV``, such as ``sorct.PAPER`` or
        ``{"scaling": "minmax"}``.
    level : float, default=0.05
        Level of the tests behind the sentence.
    n_jobs : int or None, default=None
        As in ``SORCTClassifierCV``.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of all methods.
    progress : bool, default=False
        Whether to draw a progress bar (needs rich).

    Returns
    -------
    Comparison

    Notes
    -----
    Scores of folds depend on each other, because their training parts overlap. The
    plain paired t test forgets that and finds too many differences. With J folds of
    n_2 rows, n_1 rows being left to train on, the variance of a mean difference is
    taken as (1 / J + n_2 / n_1) s^2, s^2 being that over the folds, with J - 1 degrees
    of freedom (Nadeau and Bengio, Inference for the generalization error, Machine
    Learning 52, 2003). Folds with equal differences are no proof: s^2 is at least
    (h / n_2)^2 / 12, the variance of rounding to one row of n_2, where h is the
    largest score (near 1 for accuracies). The p values of the pairs of methods are
    adjusted by Holm's method, and so, apart, are those against the most frequent class
    (the mean).

    CART is scikit-learn's tree on all levels of a categorical variable, pruned by cost
    complexity; linear models have standardised columns, and the logistic regression is
    multinomial for three classes and more. Least squares has no penalty to choose.

    Log-loss and AUC are of the probabilities that each method gives, as they are; for
    the log-loss they are clipped at 1e-6, because CART says 0 where a leaf is pure. AUC
    of several classes is the mean of each against the rest; where the rows of a fold
    lack a class ``notes`` say so. Methods are judged by ``scoring`` alone.
    """
    _check(folds, repeats, cv, rule, level)
    _check_options(options)
    shown = checked_flag("progress", progress)
    check_task(task)
    read, kind = TASKS[task]
    X, y, _ = checked_samples(X, y, None, read)
    compared = kind.of(y)
    scoring = scoring or (compared.scoring if compared.of_quantity else None)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    asked = {
        "depths": depths,
        "n_solutions": n_solutions,
        "alphas_local": alphas_local,
        "alphas_global": alphas_global,
        "n_jobs": n_jobs,
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    ours = {**compared.usual, **asked, **(options or {})}
    plan = Plan(cv, rule, scoring, seed, ours, compared.of_quantity)
    plan.check_scorer(y, y)
    splits = compared.target.splitter(folds, seed, repeats)
    data = Data(X, y, None)
    pairs = drawn(splits, X, y, "folds")
    warn_of_few(splits, y, pairs)
    parts = [(data.part(train), data.part(test)) for train, test in pairs]
    rows = _run(parts, plan, compared, shown)
    name = scorer_name(scoring, compared.scoring)
    found = _summary(rows, Sizes.of(parts), level, name, compared)
    notes = compared.notes(parts)
    return Comparison(*found, n_variables=X.shape[1], notes=notes)


def _check_options(options: Mapping[str, Any] | None) -> None:
    """Refuse options that are arguments, since nobody knows which of two was meant."""
    double = sorted(set(options or {}) & set(inspect.signature(compare).parameters))
    if double:
        raise ValueError(
            f"options has {listed(double)}, which compare takes itself: "
            f"compare(X, y, {double[0]}=...)."
        )


def _check(folds: Any, repeats: Any, cv: Any, rule: Any, level: Any) -> None:
    check_whole("repeats", repeats, most=_MOST_REPEATS)
    for name, number in (("folds", folds), ("cv", cv)):
        check_whole(name, number, "a whole number >= 2")
        if number < 2:
            raise ValueError(
                f"{name} must be a whole number >= 2, got {shown(number)}."
            )
    # Rivals know no folds of ours: their rules look at scores alone.
    known = RULES[:2]
    if not isinstance(rule, str) or rule not in known:
        raise ValueError(f"rule must be one of {known}, got {shown(rule)}.")
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1, got {shown(level)}.")


# -- folds -------------------------------------------------------------------------


def _run(
    parts: list[tuple[Data, Data]], plan: Plan, compared: Compared, progress: bool
) -> list[dict[str, Any]]:
    """One row per fold and method."""
    fits = compared.methods | compared.baselines
    rows = []
    label = f"compare: {len(parts)} folds"
    with (
        _one_warning(),
        progress_bar(label, len(parts) * len(fits), shown=progress) as tick,
    ):
        for train, test in parts:
            plan.check_folds(train, test)
        for k, (train, test) in enumerate(parts):
            for method, fit in fits.items():
                found = fit(train, test, plan).row()
                rows.append({"fold": k, "method": method, **found})
                tick()
    return rows


@contextmanager
def _one_warning() -> Iterator[None]:
    """Give every warning once, although each fold may give it again."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    slow = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    if slow:
        warnings.warn(
            f"{len(slow)} fits did not converge in full; the first of their messages: "
            f"{slow[0].message}",
            ConvergenceWarning,
            stacklevel=4,
        )
    others = {
        str(one.message): one.category
        for one in caught
        if not issubclass(one.category, (ConvergenceWarning, DeprecationWarning))
    }
    for message, category in others.items():
        warnings.warn(message, category, stacklevel=4)


def _summary(
    rows: list[dict[str, Any]],
    sizes: Sizes,
    level: float,
    scoring: str,
    compared: Compared,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str, str]:
    """Frames, sentence and name of the score, as ``Comparison`` has them."""
    import pandas as pd

    folds = pd.DataFrame(rows)
    methods, baselines = list(compared.methods), list(compared.baselines)
    order = [*methods, *baselines]
    scores = folds.pivot(index="fold", columns="method", values="score")[order]
    shown = [*compared.measures, "variables", "cuts"]
    means = folds.groupby("method")[shown].mean().loc[order]
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    frame = pd.DataFrame(
        {
            "score": scores.mean(),
            "standard_error": error,
            **{name: means[name] for name in shown},
        },
        index=pd.Index(order, name="method"),
    )
    among = methods, baselines[0]
    tests = all_tests(scores, sizes, *among)
    kinds = compared.kinds(folds[folds["method"] == OBLIQUE])
    sentence = Verdict(frame, tests, kinds, scoring, level, *among).sentence()
    return frame, tests, folds, sentence, scoring
