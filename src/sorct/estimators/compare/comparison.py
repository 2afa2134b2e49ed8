"""Comparison: axis-parallel, linear or oblique? Three methods on the same folds.

CART, L1 logistic regression and our tree are trained on the same rows and scored on the
same rows. How each is fitted is in ``rivals.py``, what may be concluded in
``verdict.py``; printing is left to others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sorct.data.target import Classes
from sorct.data.wording import shown
from sorct.estimators.candidates import RULES
from sorct.estimators.checks import check_whole, checked_samples
from sorct.estimators.compare.measures import lacking
from sorct.estimators.compare.rivals import (
    Outcome,
    Plan,
    fit_baseline,
    fit_cart,
    fit_logistic,
    fit_tree,
)
from sorct.estimators.compare.verdict import (
    AXIS,
    BASELINE,
    LINEAR,
    METHODS,
    OBLIQUE,
    Sizes,
    Verdict,
    all_tests,
)
from sorct.estimators.folds import Data
from sorct.estimators.progress import progress_bar
from sorct.estimators.scorers import check_scorer, scorer_name

if TYPE_CHECKING:
    import pandas as pd


_MOST_REPEATS = 10_000


@dataclass(frozen=True)
class Comparison:
    """What three methods did on the same folds, and what that supports.

    Attributes
    ----------
    frame : DataFrame
        One row per method and one for the most frequent class: ``score`` (mean over
        the folds), ``standard_error`` (of the mean, folds taken as independent),
        ``accuracy``, ``log_loss`` and ``auc`` (means over the folds), ``variables``
        (of the table, used on average), ``cuts`` (on average; of the logistic
        regression, its linear scores).
    tests : DataFrame
        One row per pair: ``one``, ``other``, ``difference`` of their scores,
        ``standard_error`` (corrected for folds that share training rows), ``t``,
        ``p`` and ``p_holm``.
    folds : DataFrame
        One row per fold and method: ``fold``, ``method``, ``variables``, ``cuts``,
        ``most_variables_per_cut``, ``score``, ``accuracy``, ``log_loss``, ``auc``.
    sentence : str
        Which of the three the data support.
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
    folds: int = 10,
    repeats: int = 1,
    cv: int = 5,
    rule: str = "one-standard-error",
    scoring: Any = None,
    depths: int | Sequence[int] | None = None,
    alphas_local: Any = None,
    alphas_global: Any = None,
    n_solutions: int = 20,
    options: Mapping[str, Any] | None = None,
    level: float = 0.05,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
) -> Comparison:
    """Compare CART, L1 logistic regression and our tree on the same folds.

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_variables)
    y : array of shape (n_samples,)
    folds, repeats : int, default=10 and 1
        Stratified folds to score on, and how often to draw them.
    cv : int, default=5
        Folds inside every training part, by which each method chooses its penalty.
    rule : {"best", "one-standard-error"}, default="one-standard-error"
        How it chooses: the best mean score, or the sparsest within one standard error.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn; None means accuracy.
    depths : int, sequence of int or None, default=None
        Depths that our tree may have. None means 1 and 2 for two classes (a single
        cut is a linear rule), else the smallest with a leaf for every class.
    alphas_local, alphas_global, n_solutions
        As in ``SORCTClassifierCV``.
    options : mapping or None, default=None
        How our tree reads the table and what it knows of columns: further options of
        ``SORCTClassifierCV``, such as ``sorct.PAPER`` or ``{"scaling": "minmax"}``.
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
    largest score (near 1 for accuracies). The p values of the three pairs are adjusted
    by Holm's method, and so, apart, are those against the most frequent class.

    CART is scikit-learn's tree on all levels of a categorical variable, pruned by cost
    complexity; the logistic regression has standardised columns, and is multinomial
    for three classes and more.

    Log-loss and AUC are of the probabilities that each method gives, as they are; for
    the log-loss they are clipped at 1e-6, because CART says 0 where a leaf is pure. AUC
    of several classes is the mean of each against the rest; where the rows of a fold
    lack a class ``notes`` say so. Methods are judged by ``scoring`` alone.
    """
    _check(folds, repeats, cv, rule, level)
    X, y, _ = checked_samples(X, y, None)
    classes = Classes.learn(y, np.ones(len(y)))
    check_scorer(scoring, y, y)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    ours = {
        **(options or {}),
        "depths": _depths(depths, len(classes)),
        "alphas_local": alphas_local,
        "alphas_global": alphas_global,
        "n_solutions": n_solutions,
        "n_jobs": n_jobs,
    }
    plan = Plan(cv, rule, scoring, seed, ours)
    splits = classes.splitter(folds, seed, repeats)
    data = Data(X, y, None)
    parts = [(data.part(train), data.part(test)) for train, test in splits.split(X, y)]
    rows = _run(parts, plan, progress)
    found = _summary(rows, Sizes.of(parts), level, scorer_name(scoring), len(classes))
    notes = lacking(parts, len(classes))
    return Comparison(*found, n_variables=X.shape[1], notes=notes)


def _check(folds: Any, repeats: Any, cv: Any, rule: Any, level: Any) -> None:
    check_whole("repeats", repeats, most=_MOST_REPEATS)
    for name, number in (("folds", folds), ("cv", cv)):
        check_whole(name, number, "a whole number >= 2")
        if number < 2:
            raise ValueError(
                f"{name} must be a whole number >= 2, got {shown(number)}."
            )
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {shown(rule)}.")
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1, got {shown(level)}.")


def _depths(depths: Any, n_classes: int) -> Any:
    return (1, 2) if depths is None and n_classes == 2 else depths


# -- folds -------------------------------------------------------------------------


def _run(
    parts: list[tuple[Data, Data]], plan: Plan, progress: bool
) -> list[dict[str, Any]]:
    """One row per fold and method."""
    fits: dict[str, Callable[[Data, Data, Plan], Outcome]] = {
        AXIS: fit_cart,
        LINEAR: fit_logistic,
        OBLIQUE: fit_tree,
        BASELINE: fit_baseline,
    }
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
                found = vars(fit(train, test, plan))
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
    n_classes: int,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str, str]:
    """Frames, sentence and name of the score, as ``Comparison`` has them."""
    import pandas as pd

    folds = pd.DataFrame(rows)
    order = [*METHODS, BASELINE]
    scores = folds.pivot(index="fold", columns="method", values="score")[order]
    shown = ["accuracy", "log_loss", "auc", "variables", "cuts"]
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
    tests = all_tests(scores, sizes)
    kinds = _kinds(folds, n_classes)
    sentence = Verdict(frame, tests, kinds, scoring, level).sentence()
    return frame, tests, folds, sentence, scoring


def _kinds(folds: pd.DataFrame, n_classes: int) -> dict[str, str]:
    """What each method stands for; our tree may turn out to be of another kind."""
    ours = folds[folds["method"] == OBLIQUE]
    oblique = "oblique cuts"
    if (ours["most_variables_per_cut"] <= 1).all():
        oblique = "axis-parallel cuts (one variable in every cut of sorct's trees)"
    elif n_classes == 2 and (ours["cuts"] <= 1).all():
        oblique = "a linear rule (sorct's tree had a single cut in every fold)"
    return {AXIS: "axis-parallel cuts", LINEAR: "a linear rule", OBLIQUE: oblique}
